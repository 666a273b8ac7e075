"""Our classes with those private names of the peers that their tests use, made of public ones."""

import numpy as np
import sklearn.mixture._gaussian_mixture as theirs

import kullback
from kullback.estimators.hidden_markov import ConvergenceMonitor as Monitor


class GaussianMixture(kullback.GaussianMixture):
    """With the private names of scikit-learn's class."""

    def _set_parameters(self, params):
        self.weights_, self.means_, self.covariances_, self.precisions_cholesky_ = params

    def _initialize(self, X, resp):
        """Start from these responsibilities."""
        weights, means, _ = theirs._estimate_gaussian_parameters(X, resp, self.reg_covar, self.covariance_type)
        given = self.get_params() | {
            "n_components": resp.shape[1],
            "weights_init": weights / weights.sum(),
            "means_init": means,
            "max_iter": 0,
        }
        started = kullback.GaussianMixture(**given).fit(X)
        self.weights_, self.means_, self.covariances_ = started.weights_, started.means_, started.covariances_

    def _blank_mixture(self, rows):
        """Tell that a start is estimated from rows, as scikit-learn's start does."""
        self._estimates(rows.X)
        return super()._blank_mixture(rows)

    def _fit_restarts(self, data, *rest):
        """Tell of every M-step, as scikit-learn's does."""
        gather = data.gather

        def told(*args):
            self._estimates(np.zeros((2, 1)))
            return gather(*args)

        data.gather = told
        data.resident = lambda model: None  # steps that are gathered one by one can be counted
        return super()._fit_restarts(data, *rest)

    def _estimates(self, X):
        """Call the function that scikit-learn estimates parameters with: a test counts how often."""
        theirs._estimate_gaussian_parameters(X, np.ones((len(X), 1)), 1.0, "diag")


class BernoulliRBM(kullback.BernoulliRBM):
    """With the private names of scikit-learn's class."""

    def _mean_hiddens(self, v):
        return self.transform(v) if np.ndim(v) == 2 else self.transform(np.atleast_2d(v))[0]

    def _sample_hiddens(self, v, rng):
        means = self._mean_hiddens(v)
        return rng.uniform(size=means.shape) < means


class _Hmmlearn:
    """The private names of hmmlearn's classes."""

    def _init(self, X, lengths=None):
        """Start as a fit does, and learn nothing."""
        n_iter, self.n_iter = self.n_iter, 0
        try:
            self.fit(X, lengths)
        finally:
            self.n_iter = n_iter

    def _check(self):
        self.to_model()

    def _check_and_set_n_features(self, X):
        self._init(np.reshape(X, (-1, 1)) if isinstance(self, CategoricalHMM) else X)


class GaussianHMM(_Hmmlearn, kullback.GaussianHMM):
    """With hmmlearn's private names."""

    @property
    def _covars_(self):
        return self.covariances_


class CategoricalHMM(_Hmmlearn, kullback.CategoricalHMM):
    """With hmmlearn's private names."""


class PoissonHMM(_Hmmlearn, kullback.PoissonHMM):
    """With hmmlearn's private names."""


class MultinomialHMM(_Hmmlearn, kullback.MultinomialHMM):
    """With hmmlearn's private names."""


class ConvergenceMonitor(Monitor):
    """With the private name of hmmlearn's: how a line is printed."""

    _template = "{iter:>10d} {log_prob:>16.8f} {delta:>+16.8f}"
