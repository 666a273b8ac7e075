"""Classification: the probabilities of classes given inputs."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import column_or_1d

from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators.conditional._classes import is_there, places_of, split_missing
from kullback.estimators.conditional._estimator import CONSTRAINTS, ConditionalEstimator, learns_from_streams
from kullback.estimators.data._columns import Shape


class Classifier(ClassifierMixin, ConditionalEstimator):
    """The probabilities of classes given inputs.

    Parameters
    ----------
    method : "linear", "network" or "trees"
        How log odds follow the inputs. "linear" is logistic regression, fitted by Fisher scoring; "network" is a neural
        network, "trees" are boosted trees; the last needs `fit`, the others learn from streams too.
    alpha : float
        Ridge penalty of linear coefficients: ½·alpha·Σ coefficient², against the sum of log-likelihoods. It is 1/C of
        scikit-learn's LogisticRegression.
    hidden_layer_sizes, solver, learning_rate, batch_size, max_depth, min_samples_leaf, max_iter, tol, \
validation_fraction, n_iter_no_change, missing, rate, dtype, n_jobs, warm_start, random_state, verbose
        As in `Regressor`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in order.
    coef_, intercept_ : ndarray
        Of a linear fit, in the units of the inputs, as in scikit-learn: those of the log odds of the second class of
        two, or a row for each class, which sum to 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kullback import Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> iris = Classifier().fit(X, y)
    >>> round(iris.score(X, y), 2), iris.predict_proba(X[:1]).round(2).tolist()
    (0.97, [[0.98, 0.02, 0.0]])

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    def __init__(
        self,
        method: str = "linear",
        *,
        alpha: float = 1.0,
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
        self.method = method
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
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Move towards some more rows: one step of online Fisher scoring, or one pass of the optimizer of a network.

        The first call needs `classes`, all that there will be, unless its rows have them all. A class that is not among
        them is refused later, and the estimator is as it was.
        """
        return self._learn_from(X, y, sample_weight, classes)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of `classes_`."""
        return self.predict_distribution(X).probabilities

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities, which are finite where these are too small for a number."""
        found = self.predict_distribution(X).by_place
        each = [found.log_prob(np.full(len(found), code)) for code in range(len(self.classes_))]
        return np.stack(each, axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds of the second class of two; of more classes their log probabilities."""
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        codes = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[codes]

    @property
    def coef_(self) -> np.ndarray:
        """The slopes of a linear fit: of the log odds of the second class of two, or one row for each class."""
        return self._by_class()[:, 1:]

    @property
    def intercept_(self) -> np.ndarray:
        """The intercepts of a linear fit, in the order of `coef_`."""
        return self._by_class()[:, 0]

    def _by_class(self) -> np.ndarray:
        """Return coefficients as scikit-learn has them; ours are those of log odds against the last class."""
        against_last = self.free_coefficients_
        if len(against_last) == 1:
            return -against_last
        each = np.concatenate([against_last, np.zeros_like(against_last[:1])])
        return each - each.mean(axis=0)

    def _check_targets(self) -> None:
        """Raise unless there is a name for each class; names of a file become text again."""
        classes = getattr(self, "classes_", None)
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) != self.target_categories_[0]:
            raise ValueError("classes_ is not a list with a name for each class.")
        if classes.dtype == object:
            self.classes_ = classes.astype(str)
        if len(np.unique(self.classes_)) != len(self.classes_):
            raise ValueError("classes_ has a class twice.")
        if not np.array_equal(np.unique(self.classes_), self.classes_):
            raise ValueError("classes_ is not in order.")

    def _encode_targets(self, y: Any, first: bool, classes: Any = None) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        _check_whole(y)
        check_classification_targets(y)
        if first:
            self.classes_ = np.unique(y) if classes is None else _unique(classes)
            if classes is not None and len(self.classes_) < 2:
                raise ValueError(f"classes has one class only, or none: {classes!r}. A Classifier needs two or more.")
            if len(self.classes_) < 2:
                raise ValueError(
                    f"y has one class only, {self.classes_.tolist()[0]!r}: a Classifier can't train when only one "
                    "class is present. If others are to come, pass classes= to partial_fit."
                )
        elif classes is not None and not np.array_equal(self.classes_, _unique(classes)):
            raise ValueError(f"classes is {classes!r}, and the first call of partial_fit had {self.classes_.tolist()}.")
        return places_of(self.classes_, y)[:, None].astype(np.float64)

    @property
    def _target_family(self) -> Any:
        return ["categorical"]

    @property
    def _single(self) -> bool:
        return True

    def _known_targets(self, y: Any) -> np.ndarray:
        there, known = split_missing(y)
        codes = np.full((len(there), 1), np.nan)
        if there.any():
            codes[there] = self._encode_targets(known, first=False)
        return codes

    def _restore_targets(self, found: np.ndarray) -> np.ndarray:
        return self.classes_[found[..., 0].astype(np.int64)]

    @property
    def _names(self) -> np.ndarray:
        return self.classes_

    @property
    def _coupling(self) -> np.ndarray | None:
        """What the squares of coefficients of all classes, less their mean, are in those against the last class."""
        others = len(self.classes_) - 1
        return None if others == 1 else np.eye(others) - 1 / (others + 1)

    def _check_learned(self, targets: np.ndarray) -> None:
        if len(np.unique(targets)) < 2:
            name = self.classes_.tolist()[int(targets[0, 0])]
            raise ValueError(
                f"y has one class only, {name!r}, among the rows that count: a Classifier can't train when only one "
                "class is present."
            )

    def _with_room(self, shape: Shape) -> Shape:
        return shape._replace(categories=np.array([len(self.classes_)], dtype=np.int64))

    def __sklearn_is_fitted__(self) -> bool:
        return super().__sklearn_is_fitted__() and hasattr(self, "classes_")


def _unique(classes: Any) -> np.ndarray:
    """Return different classes in order."""
    if isinstance(classes, str) or np.ndim(classes) != 1:
        raise ValueError(f"classes is {classes!r}: it must be a list of all classes.")
    return np.asarray(unique_labels(classes)) if len(classes) else np.zeros(0)


def _check_whole(y: np.ndarray) -> None:
    """Raise where names of classes are missing, or names and numbers are mixed."""
    if y.dtype != object:
        return
    there = [is_there(name) for name in y.tolist()]
    if not all(there):
        raise ValueError(f"y lacks the class of row {there.index(False)}: leave out rows without one.")
    kinds = {isinstance(name, str) for name in y.tolist()}
    if len(kinds) > 1:
        raise ValueError("y holds text and numbers: classes must all be text, or all numbers.")
