"""Imputation as a step of a scikit-learn pipeline."""

from typing import Any, Self

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from kullback.estimators._imputation import ImputeMethod, check_method
from kullback.estimators._table_estimator import TableEstimator
from kullback.estimators.mixtures._gaussian_mixture import GaussianMixture


class Imputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill in missing entries by a model of the table that is fitted first: for pipelines, in place of an imputer.

    Parameters
    ----------
    estimator : estimator of tables, optional
        What learns the table: a mixture, a factor model, or any other of this library that imputes. The default is one
        Gaussian.
    method : "mean", "draw" or "mode"
        What to fill in, as in `impute` of the estimator.
    random_state : int, RandomState or None
        The seed of the estimator and of draws, where it is not None.

    Attributes
    ----------
    estimator_ : the fitted estimator

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [2.0, 4.1], [3.0, np.nan], [4.0, 7.9], [np.nan, 10.0]])
    >>> Imputer().fit_transform(X).round(1).tolist()
    [[1.0, 2.0], [2.0, 4.1], [3.0, 6.0], [4.0, 7.9], [5.1, 10.0]]

    """

    def __init__(self, estimator: Any = None, *, method: ImputeMethod = "mean", random_state: Any = None):
        self.estimator = estimator
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn a model of the table, from all that is observed of it."""
        check_method(self.method, None)
        fitted = self._estimator().fit(X)
        validate_data(self, X, reset=True, skip_check_array=True)
        self.estimator_ = fitted
        return self

    def transform(self, X: Any) -> Any:
        """Return X with its missing entries filled in; what is there stays as it is."""
        check_is_fitted(self)
        check_method(self.method, None)
        if getattr(X, "ndim", 2) == 2:  # what is no table, the estimator refuses
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.estimator_.impute(X, method=self.method, random_state=self.random_state)

    def _estimator(self) -> TableEstimator:
        if self.estimator is None:
            made: Any = GaussianMixture(1)
        elif isinstance(self.estimator, TableEstimator):
            made = clone(self.estimator)
        else:
            raise ValueError(
                f"estimator is {self.estimator!r}: it must be an estimator of tables of this library, such as "
                "GaussianMixture or FactorAnalysis."
            )
        return made if self.random_state is None else made.set_params(random_state=self.random_state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
