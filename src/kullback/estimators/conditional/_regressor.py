"""Regression with any family: the whole distribution of targets given inputs."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators.conditional._estimator import CONSTRAINTS, ConditionalEstimator, learns_from_streams
from kullback.estimators.conditional._linear import LinearMethod
from kullback.estimators.conditional._targets import table_of_targets, target_family
from kullback.estimators.constraints import Interval, StrOptions
from kullback.families import ExponentialFamily


class Regressor(RegressorMixin, ConditionalEstimator):
    """The distribution of numbers given inputs: a mean and a spread, counts, angles, amounts, several at once.

    Parameters
    ----------
    family : str, class, member, or a list with one for each target
        The family of the targets: "gaussian", "poisson", "gamma", "exponential", "beta", "bernoulli", "von_mises",
        "categorical", "dirichlet", "multinomial" and so on.
    method : "linear", "network" or "trees"
        How its parameters follow the inputs. "linear" is a generalized linear model, fitted by Fisher scoring: the mean
        of Gaussians, the log of rates and of means of amounts, the log odds of 0 and 1. "network" is a neural network,
        "trees" are boosted trees; the last needs `fit`, the others learn from streams too.
    dispersion : "constant" or "linear"
        Whether the spread is one number (log σ of Gaussians, the shape of Gammas), or follows the inputs as well. It is
        for method="linear"; the others let everything follow.
    n_components : int
        With more than one the answer is a mixture (a mixture density network): for method="network".
    alpha : float
        Ridge penalty of linear coefficients: ½·alpha·Σ coefficient², against the sum of log-likelihoods.
    hidden_layer_sizes, solver, learning_rate, batch_size
        Of networks: their layers; "adam" or "natural", the natural gradient; the rate of Adam, or of boosted trees.
    max_depth, min_samples_leaf
        Of trees.
    max_iter, tol, validation_fraction, n_iter_no_change
        Iterations, epochs or rounds at most; None is 100, 300 and 500. A linear fit ends when it gains less than `tol`
        nats per row (1e-9 if it is None). Networks and trees leave a fraction of the rows out, keep what is best on it,
        and end after so many epochs or rounds without a gain (of 1e-4 and 0).
    missing : "error" or "indicator"
        Whether inputs may be missing: then they count as the mean, and an indicator says that they are missing.
    rate : float, function of the step, or None
        The weight of new rows in `partial_fit` of a linear fit. None counts all rows by what they tell, as a fit to all
        of them would; a number forgets old rows, and follows data that drifts.
    dtype : "float32" or "float64"
        What networks compute in.
    n_jobs : int or None
        Threads for trees; None is 1 for tables of less than 50,000 rows.
    warm_start, random_state, verbose
        As in scikit-learn.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        Of a linear fit, in the units of the inputs: a row for each free coordinate of the family that follows them, or
        one row without that axis if there is one.
    free_coefficients_ : ndarray of shape (n_coordinates, 1 + n_columns)
        All of them, the intercept first.

    Examples
    --------
    >>> import numpy as np
    >>> from kullback import Regressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> y = rng.poisson(np.exp(1 + 0.5 * X[:, 0]))
    >>> counts = Regressor("poisson").fit(X, y)
    >>> counts.coef_.round(1).tolist(), counts.predict([[0.0]]).round(1).tolist()
    ([0.5], [2.7])

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "family": [str, list, tuple, type, ExponentialFamily],
        "dispersion": [StrOptions({"constant", "linear"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        family: Any = "gaussian",
        *,
        method: str = "linear",
        dispersion: str = "constant",
        n_components: int = 1,
        alpha: float = 0.0,
        hidden_layer_sizes: Any = (64,),
        solver: str = "adam",
        learning_rate: float | None = None,
        batch_size: int = 128,
        max_depth: int = 3,
        min_samples_leaf: int = 20,
        max_iter: int | None = None,
        tol: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        missing: str = "error",
        rate: Any = None,
        dtype: str = "float32",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.family = family
        self.method = method
        self.dispersion = dispersion
        self.n_components = n_components
        self.alpha = alpha
        self.hidden_layer_sizes = hidden_layer_sizes
        self.solver = solver
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.missing = missing
        self.rate = rate
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @available_if(learns_from_streams)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Move towards some more rows: one step of online Fisher scoring, or one pass of the optimizer of a network.

        Of a linear fit the first rows, if they are 10 or more for each parameter, are fitted as `fit` does. The
        parameters are those of `fit`. A call that raises leaves the estimator as it was.
        """
        return self._learn_from(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean of the targets of each row; of categories the most probable one, of angles the direction."""
        return self.predict_distribution(X).point

    @property
    def coef_(self) -> np.ndarray:
        """The slopes of a linear fit: a row for each free coordinate that follows the inputs, or one row alone."""
        slopes = self.free_coefficients_[self._varies, 1:]
        return slopes[0] if len(slopes) == 1 else slopes

    @property
    def intercept_(self) -> Any:
        """The intercepts of a linear fit, in the order of `coef_`."""
        intercepts = self.free_coefficients_[self._varies, 0]
        return float(intercepts[0]) if len(intercepts) == 1 else intercepts

    @property
    def _varies(self) -> np.ndarray:
        return np.array(LinearMethod.varies(self, self._kind))

    def _check_targets(self) -> None:
        """Raise unless there are as many targets as were counted."""
        if self.n_targets_ != len(self.target_categories_):
            raise ValueError(f"n_targets_ is {self.n_targets_}: there are {len(self.target_categories_)} targets.")
        single = getattr(self, "target_is_single_", None)
        if not isinstance(single, (bool, np.bool_)) or (single and self.n_targets_ != 1):
            raise ValueError(f"target_is_single_ is {single!r}, with {self.n_targets_} targets.")

    def _known_targets(self, y: Any) -> np.ndarray:
        return self._encode_targets(y, first=False)

    def _restore_targets(self, found: np.ndarray) -> np.ndarray:
        return found[..., 0] if self._single else found

    def _check_learned(self, targets: np.ndarray) -> None:
        """Take all targets that their family allows."""

    def _encode_targets(self, y: Any, first: bool, classes: Any = None) -> np.ndarray:
        table, single = table_of_targets(y)
        if first:
            self.n_targets_ = table.shape[1]
            self.target_is_single_ = bool(single)
        elif table.shape[1] != self.n_targets_:
            raise ValueError(f"y has {table.shape[1]} columns, and the fit has seen {self.n_targets_}.")
        return table

    @property
    def _target_family(self) -> Any:
        return target_family(self.family, self.n_targets_)

    @property
    def _single(self) -> bool:
        return bool(self.target_is_single_)

    @property
    def _components(self) -> int:
        return int(self.n_components)

    @property
    def _dispersion(self) -> str:
        return self.dispersion

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
