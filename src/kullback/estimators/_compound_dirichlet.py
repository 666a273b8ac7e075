"""Counts whose probabilities vary from row to row."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback import models
from kullback.estimators._estimator import Estimator
from kullback.estimators._model_estimator import check_kind
from kullback.estimators.constraints import Interval
from kullback.estimators.data._columns import check_table
from kullback.estimators.data._fit_data import RowData


class CompoundDirichlet(Estimator):
    """Rows of counts: multinomial, with probabilities of their own for each row, drawn from one Dirichlet.

    Mixtures of them are `Mixture(family="compound_dirichlet")`.

    Parameters
    ----------
    tol, max_iter, random_state, verbose, rate
        As in `GaussianMixture`.
    trials : int
        The total of a row that `sample` draws.

    Attributes
    ----------
    concentration_
        The parameters of the Dirichlet, one for each column.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.array([rng.multinomial(50, rng.dirichlet([2.0, 5.0, 1.0])) for _ in range(1000)])
    >>> CompoundDirichlet().fit(X).concentration_.round(0).tolist()
    [2.0, 5.0, 1.0]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "rate": [Interval(Real, 0.0, 1.0, closed="right"), callable, None],
        "trials": [Interval(Integral, 1, None, closed="left")],
    }

    _families = "compound_dirichlet"

    def __init__(
        self,
        *,
        tol: float = 1e-7,
        max_iter: int = 2000,
        random_state: Any = None,
        verbose: int = 0,
        rate: Any = None,
        trials: int = 100,
    ):
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.rate = rate
        self.trials = trials

    def to_model(self) -> models.CompoundDirichlet:
        """Return the fitted model, with NumPy arrays."""
        check_is_fitted(self, "concentration_")
        return models.CompoundDirichlet(np.asarray(self.concentration_, dtype=np.float64), self.trials)

    def _attributes(self, model: models.CompoundDirichlet) -> dict[str, Any]:
        return {"concentration_": model.concentration}

    def _shape_of(self, model: models.CompoundDirichlet) -> dict[str, Any]:
        return {"n_features_in_": model.concentration.shape[-1]}

    @classmethod
    def _parameters_of(cls, model: models.CompoundDirichlet) -> dict[str, Any]:
        check_kind(model, models.CompoundDirichlet, cls)
        return {"trials": model.trials}

    def _start(self, data: RowData, random: np.random.RandomState) -> models.CompoundDirichlet:
        """Begin with the average proportions, and as much concentration as there are columns."""
        total = sum(np.nan_to_num(values).sum(axis=0) for _, values, _ in data.to_start_from.chunks())
        share = (total + 0.5) / np.sum(total + 0.5)
        return models.CompoundDirichlet(share * len(share), self.trials)

    @property
    def _least_rows(self) -> int:
        return 2

    def _n_parameters(self) -> int:
        return len(self.concentration_)

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if X.shape[1] < 2:
            raise ValueError(f"X has {X.shape[1]} feature(s): a minimum of 2 is required, the counts of a row.")
        check_table(X, self._families)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
