"""Hidden Markov models that emit any family, for tables of any kind of columns."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import jax
import numpy as np

from kullback.estimators._columns import (
    Shape,
    attribute_names,
    check_categories,
    check_family,
    check_table,
    chosen_family,
    family_of,
    has_discrete,
    indicators,
    named_family,
    plain_components,
    shape_of,
    with_attributes,
)
from kullback.estimators._family_mixture import N_CATEGORIES
from kullback.estimators._hidden_markov import HMM_CONSTRAINTS, LAG, HiddenMarkovEstimator, check_hidden_markov
from kullback.estimators._hmm_starts import RANDOM_STARTS, StateStart
from kullback.estimators._labeled import labeled
from kullback.estimators._sequences import Sequences
from kullback.estimators.constraints import Interval
from kullback.models import HiddenMarkovModel
from kullback.runtime import computing


class HMM(HiddenMarkovEstimator):
    """A hidden Markov model whose states emit any family, for tables of any kind of columns.

    Parameters
    ----------
    n_components : int
        The number of states.
    family : str or list of str
        A name for all columns together or for each of them, or 'auto', as in `Mixture`: 'gaussian', 'poisson', …
    n_categories : int, list of int or None
        As in `Mixture`.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet priors.
    params, init_params : str
        What is learned, and what is started: 's' for startprob, 't' for transmat, 'e' for emissions.
    reg_covar : float
        The variance of a data point itself, for Gaussian columns: it keeps variances above it.
    algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag
        As in `GaussianHMM`; the start is chosen as in `CategoricalHMM` if a column is discrete.

    Attributes
    ----------
    startprob_, transmat_, and one for each parameter of the family
        For instance `rate_` of 'poisson'. With mixed columns the names carry the number of the part, as in `rate_1_`:
        runs of columns of one family are one part.
    family_
        The name of the family of all columns, or a list with one for each.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([np.stack([rng.normal(m, 1, 200), rng.poisson(c, 200)], 1) for m, c in ((0, 2), (5, 20))])
    >>> hmm = HMM(n_components=2, family=["gaussian", "poisson"], random_state=0).fit(X)
    >>> np.sort(hmm.rate_1_.ravel()).round().tolist()
    [2.0, 20.0]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HMM_CONSTRAINTS,
        "family": [str, list, tuple],
        "n_categories": N_CATEGORIES,
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        family: str | Sequence[str] = "gaussian",
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        reg_covar: float = 1e-6,
        n_init: int = 1,
        rate: Any = None,
        lag: int = LAG,
        n_categories: Any = None,
    ):
        self.n_components = n_components
        self.family = family
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.reg_covar = reg_covar
        self.n_init = n_init
        self.rate = rate
        self.lag = lag
        self.n_categories = n_categories

    @property
    def _families(self) -> Any:
        return named_family(self.family, getattr(self, "family_", None))

    def _sequences(self, X: Any, lengths: Any, sample_weight: Any, first: bool, inputs: Any = None) -> Sequences:
        if first:
            self.family_ = chosen_family(self.family, X)
        return super()._sequences(X, lengths, sample_weight, first, inputs)

    def _all_sequences(self, X: Any, lengths: Any, sample_weight: Any, inputs: Any = None) -> Any:
        data = super()._all_sequences(X, lengths, sample_weight, inputs)
        self.family_ = chosen_family(self.family, X)  # what came here of a Dask collection has lost its types
        return data

    def _shape(self) -> Shape:
        return Shape(self.n_features_in_, np.asarray(self.n_categories_), int(self.n_trials_))

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        check_family(self._families, X.shape[1])
        check_table(X, self._families)
        if len(X):
            many = Shape.of(X, self._families).categories
            if not first and hasattr(self, "n_categories_"):
                check_categories(many, self.n_categories_)
        return X

    def _read_off(self, X: np.ndarray) -> None:
        """Keep the numbers of categories and of trials."""
        if "e" in self.init_params or not hasattr(self, "n_categories_"):
            shape = Shape.of(X, self._families).knowing(self.n_categories)
            self.n_categories_, self.n_trials_ = shape.categories, shape.trials

    def _emissions_now(self) -> Any:
        return with_attributes(plain_components(self._families, self._shape(), self.n_components), self)

    def _emission_attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        values = [np.asarray(leaf) for leaf in jax.tree.leaves(emissions)]
        return dict(zip(attribute_names(emissions), values, strict=True))

    def _started_emissions(self, data: Sequences, start: StateStart) -> Any:
        blank = plain_components(self._families, self._shape(), self.n_components)
        if not self._starts("e", attribute_names(blank)[0]):
            return self._emissions_now()
        return labeled(blank, data, start.shares)

    def _emission_prior(self, emissions: Any) -> None:
        """Return nothing: families have no common prior."""

    def _emission_held(self, emissions: Any) -> None:
        """Return nothing: they are learned or not as a whole."""

    def _emission_means(self, emissions: Any) -> np.ndarray:
        with computing():
            return np.asarray(emissions.column_means).reshape(self.n_components, -1)

    def _seen_by_kmeans(self, X: np.ndarray) -> np.ndarray:
        seen = indicators(X, self._families, self.n_categories_)
        spread = seen.std(axis=0)
        return seen / np.where(spread > 0, spread, 1.0)

    def _shown(self, X: np.ndarray) -> np.ndarray:
        return self._seen_by_kmeans(X)

    def _emission_parameters(self) -> dict[str, int]:
        return {"e": self.n_components * self._emissions_now().size}

    @property
    def _random_starts(self) -> int:
        return RANDOM_STARTS if has_discrete(self._families) else 0

    @property
    def _emission_remedy(self) -> None:
        return None

    @property
    def _tied(self) -> tuple[str, ...]:
        return ()

    @property
    def _emission_letters(self) -> str:
        return "e"

    @property
    def _width(self) -> float:
        return self.reg_covar

    def _entries_of(self, values: np.ndarray) -> np.ndarray:
        return values

    def _shape_of(self, model: HiddenMarkovModel) -> dict[str, Any]:
        shape = shape_of(model.emissions)
        told = {"n_features_in_": shape.n, "n_categories_": shape.categories, "n_trials_": shape.trials}
        return {**told, "family_": family_of(model.emissions)}

    @classmethod
    def _parameters_of(cls, model: HiddenMarkovModel) -> dict[str, Any]:
        check_hidden_markov(model)
        return {"n_components": len(model.initial), "family": family_of(model.emissions)}
