"""What a regressor and a classifier have in common: inputs and targets, a method, and distributions as answers."""

import abc
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kullback.core import Model
from kullback.estimators._check_fit import check_scale, check_total
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._model_estimator import ModelEstimator, all_or_nothing
from kullback.estimators._prequential import rows_again
from kullback.estimators._progress import Progress
from kullback.estimators._stream import check_stream
from kullback.estimators.conditional._credible import CredibleSets, TargetRange, find_sets, levels_of
from kullback.estimators.conditional._design import Design
from kullback.estimators.conditional._elsewhere import pairs_elsewhere
from kullback.estimators.conditional._file_check import check_conditional
from kullback.estimators.conditional._made_with import check_settings, settings_of
from kullback.estimators.conditional._method import Method, method_named
from kullback.estimators.conditional._predicted import PredictedDistribution
from kullback.estimators.conditional._quantiles import check_level
from kullback.estimators.conditional._targets import Targets, check_targets
from kullback.estimators.constraints import Interval, StrOptions, check_sample_weight
from kullback.estimators.data._columns import Shape
from kullback.estimators.data._encoding import Encoded
from kullback.estimators.data._families import runs
from kullback.estimators.data._fit_data import provider_of
from kullback.estimators.data._pairs import Pairs
from kullback.geometry import conformal_quantile
from kullback.models import ensemble_kind
from kullback.runtime import computing

#: What every constructor takes, besides what is to be foretold.
CONSTRAINTS: dict[str, list[Any]] = {
    "method": [StrOptions({"linear", "network", "trees"})],
    "alpha": [Interval(Real, 0.0, None, closed="left")],
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "solver": [StrOptions({"adam", "natural"})],
    "learning_rate": [None, Interval(Real, 0.0, None, closed="neither")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "max_depth": [Interval(Integral, 1, None, closed="left")],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [None, Interval(Integral, 1, None, closed="left")],
    "tol": [None, Interval(Real, 0.0, None, closed="left")],
    "validation_fraction": [Interval(Real, 0.0, 1.0, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "missing": [StrOptions({"error", "indicator"})],
    "rate": [None, Interval(Real, 0.0, 1.0, closed="right"), callable],
    "dtype": [StrOptions({"float32", "float64"})],
    "n_jobs": [None, Integral],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class ConditionalEstimator(ModelEstimator):
    """A distribution of targets given inputs. A subclass says what targets are, and what is predicted of them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    _design_attributes: ClassVar[tuple[str, ...]] = (
        "input_categories_",
        "input_indicators_",
        "input_center_",
        "input_scale_",
    )

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _encode_targets(self, y: Any, first: bool, classes: Any = None) -> np.ndarray:
        """Return targets as a table of numbers, NaN for missing ones; the first ones say what there is."""

    @property
    @abc.abstractmethod
    def _target_family(self) -> Any:
        """The family of the targets, or one for each."""

    @property
    @abc.abstractmethod
    def _single(self) -> bool:
        """Whether targets are one column, and predictions have one axis."""

    @abc.abstractmethod
    def _known_targets(self, y: Any) -> np.ndarray:
        """Return targets of rows after the fit as a table of numbers, of which any may be missing."""

    @abc.abstractmethod
    def _restore_targets(self, found: np.ndarray) -> np.ndarray:
        """Return a table of numbers as targets."""

    @abc.abstractmethod
    def _check_learned(self, targets: np.ndarray) -> None:
        """Raise where the rows of a fit have targets from which nothing can be learned."""

    @abc.abstractmethod
    def _check_targets(self) -> None:
        """Raise unless the attributes_ of targets, which came from a file, belong together."""

    @property
    def _names(self) -> np.ndarray | None:
        """The names of the classes, if the target is one."""
        return None

    @property
    def _components(self) -> int:
        """How many members are mixed."""
        return 1

    @property
    def _coupling(self) -> np.ndarray | None:
        """The matrix between coordinates in which coefficients are penalized; None is that of each for itself."""
        return None

    @property
    def _dispersion(self) -> str:
        """Whether spreads follow the inputs too."""
        return "linear"

    # --- learning ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs: arrays, frames of pandas and polars, tables of pyarrow; for linear fits also collections of
            Dask, with targets in the same blocks. Text becomes indicators of categories, true and false are 1 and 0.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets.
        sample_weight : array-like of shape (n_samples,) or None
            How often each row counts.

        Returns
        -------
        self

        """
        self._validate_params()
        self._method.check(self)
        first = not self._warm
        if not first:
            check_settings(self)
            self._check_single()
        provider = provider_of(X.table if isinstance(X, Encoded) else X)
        if provider is None:
            pairs: Any = self._pairs(X, y, sample_weight, first, least=2)
            self._check_learned(pairs.targets)
        else:
            pairs = pairs_elsewhere(self, provider, X, y, sample_weight, first)
        self._method.fit(self, pairs)
        return self

    def _learn_from(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Learn from some more rows, once; the first ones say what there is."""
        self._validate_once()
        self._method.check(self)
        self._check_single()
        first = FitRecord.of(self).n_batches_seen is None
        if not first:
            check_settings(self)
        pairs = self._pairs(X, y, sample_weight, first, least=2 if first else 0, classes=classes)
        if len(pairs):
            self._method.partial_fit(self, pairs, first)
        return self

    @property
    def rows_needed(self) -> int:
        """How many rows the first batch of a stream needs."""
        return 2

    def fit_stream(self, batches: Iterable[Any], passes: int = 1) -> Self:
        """Go through an iterable of pairs (X, y), or of triples with weights, by `partial_fit`.

        When the iterable raises, what was learned until then stays; before anything was, the estimator is as it was.
        """
        self._validate_params()
        learns_from_streams(self)
        check_stream(batches, passes)
        before = dict(vars(self))
        for attribute in [name for name in before if name.endswith("_") and not name.startswith("_")]:
            delattr(self, attribute)
        try:
            with Progress(self.verbose, None) as progress:
                progress.begin(0)
                for number in range(passes):
                    for batch in batches:
                        with rows_again(self, number > 0):
                            self._take_batch(batch)
                        progress.step(self.lower_bound_)
            if not self.has_started:
                raise ValueError(f"batches is empty: there was nothing to fit {type(self).__name__} to.")
        except BaseException:
            if not self.has_started:
                self.__dict__.update(before)
            raise
        return self

    def _take_batch(self, batch: Any) -> None:
        if not isinstance(batch, tuple) or len(batch) not in (2, 3):
            raise ValueError("batches must hold pairs (X, y), or triples (X, y, sample_weight).")
        X, y, *weight = batch
        self.partial_fit(X, y, sample_weight=weight[0] if weight else None)

    # --- questions --------------------------------------------------------------------------------------

    def predict_distribution(self, X: Any) -> PredictedDistribution:
        """Return the distribution of the targets of each row: its mean, variance, quantiles, density and draws."""
        table, model = self._question(X)
        free = [np.zeros((0, self._kind.size))]
        for start in range(0, len(table), _CHUNK):
            with computing(self._bits):
                found = self._method.free(model, self._design.matrix(table[start : start + _CHUNK]))
                free.append(np.asarray(found, dtype=np.float64))
            _check_finite(free[-1], start)
        return PredictedDistribution(self._kind, np.concatenate(free), self._single, self._names)

    def score_samples(self, X: Any, y: Any = None) -> np.ndarray:
        """Return the log density of the targets of each row given its inputs, in nats.

        Without targets it is what the model itself expects of it: −entropy.
        """
        check_is_fitted(self)
        if y is None:
            return -self.predict_distribution(X).entropy
        check_consistent_length(X, y)
        return self.predict_distribution(X).by_place.log_prob(self.to_target_array(y))

    def to_target_array(self, y: Any) -> np.ndarray:
        """Return targets as the model sees them, a table of numbers: classes by their places, NaN for missing ones.

        Those that the family does not allow are refused.
        """
        check_is_fitted(self)
        targets = self._encode_targets(y, first=False)
        self._targets.check(targets)
        return targets

    def sample(self, X: Any, n: int | None = None, random_state: Any = None) -> np.ndarray:
        """Draw targets given the inputs of each row: once, or n times on a first axis."""
        seed = self.random_state if random_state is None else random_state
        return self.predict_distribution(X).sample(n, seed)

    def credible_set(self, X: Any, level: float = 0.9) -> CredibleSets:
        """Return the smallest set of targets that has this probability, for each row: it may have several pieces.

        It holds if the model does; after `calibrate` it holds this share of new rows like those of the calibration,
        whether the model is right or not.
        """
        level = check_level("level", level)
        predicted = self.predict_distribution(X)
        known = getattr(self, "calibration_levels_", None)
        reached = level if known is None else min(conformal_quantile(known, level), 1 - 1e-9)
        return find_sets(predicted, max(reached, 1e-9), self._target_range, self.seed_)

    def calibrate(self, X: Any, y: Any) -> Self:
        """Let `credible_set` hold the share of rows that is asked for, by rows that were not learned from.

        It is split conformal prediction: for rows that are exchangeable with these the share is right on average,
        whatever the model. A fit forgets it.
        """
        check_is_fitted(self)
        check_consistent_length(X, y)
        targets = self.to_target_array(y)
        if np.isnan(targets).any():
            raise ValueError("y has missing targets: calibration needs all of them.")
        self.calibration_levels_ = np.sort(levels_of(self.predict_distribution(X).by_place, targets, self.seed_))
        return self

    @property
    def _target_range(self) -> TargetRange | None:
        """What the target can be, if there is one."""
        if len(self.target_categories_) > 1:
            return None
        return TargetRange.of(runs(self._target_family, 1)[0].family)

    # --- between attributes_ and models -----------------------------------------------------------------

    def to_model(self) -> Model:
        """Return the fitted p(y | x), with NumPy arrays. Its inputs are rows of the design: see `design_matrix`."""
        check_is_fitted(self)
        return self._method.to_model(self)

    def design_matrix(self, X: Any) -> np.ndarray:
        """Return the inputs of the model: numbers in units of their spread, and indicators of categories."""
        return self._design.matrix(self._question(X)[0])

    @property
    def design_names_(self) -> list[str]:
        """The names of the columns of `design_matrix`."""
        return self._design.names(self._labels(self.n_features_in_), getattr(self, "categories_", {}))

    @property
    def free_coefficients_(self) -> np.ndarray:
        """The coefficients of a linear fit in units of the inputs: a row for each coordinate, the intercept first."""
        if self.method != "linear":
            raise AttributeError(f"Only method='linear' has coefficients: this one is {self.method!r}.")
        return self._design.to_units(self.coefficients_)

    @property
    def design(self) -> Design:
        """How inputs become columns of numbers: `design_matrix` has them."""
        check_is_fitted(self)
        return self._design

    def _attributes(self, model: Any) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in self._method.arrays}

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        raise ValueError(f"{cls.__name__} cannot be made from a model alone: fit it, or load it from a file.")

    def check_attributes(self, numbers: int) -> None:
        """Raise unless attributes_ that came from a file, with so many numbers of the model, are those of one model."""
        self._check_targets()
        check_conditional(self)
        self._made_with = settings_of(self)

    def _shape_of(self, model: Any) -> dict[str, Any]:
        return {"n_features_in_": self.n_features_in_}

    def _n_parameters(self) -> int:
        return self._method.n_parameters(self)

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        return X

    @property
    def _bits(self) -> int:
        return 32 if self.method == "network" and self.dtype == "float32" else 64

    @property
    def _trees(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._method.trees

    def _tree_shapes(self) -> dict[str, Any]:
        return self._method.tree_shapes(self)

    @property
    def _method(self) -> Method:
        return method_named(self.method)

    @property
    def _targets(self) -> Targets:
        shape = Shape(len(self.target_categories_), self.target_categories_, int(self.target_total_))
        return Targets(self._target_family, shape)

    @property
    def _kind(self) -> Any:
        return ensemble_kind(self._targets.kind(self._components), getattr(self, "n_members_", 1))

    @property
    def _design(self) -> Design:
        return Design(*(getattr(self, name) for name in self._design_attributes))

    def __sklearn_is_fitted__(self) -> bool:
        return FitRecord.of(self).has_fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "indicator"
        tags.target_tags.required = True
        return tags

    # --- inside -----------------------------------------------------------------------------------------

    @property
    def _warm(self) -> bool:
        return self.warm_start and FitRecord.of(self).has_fit

    def _pairs(self, X: Any, y: Any, sample_weight: Any, first: bool, least: int, classes: Any = None) -> Pairs:
        """Return inputs and targets that count; the first ones say what columns and targets there are."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if first:
            self._forget()
            self._made_with = settings_of(self)
        table = self._read_table(X, first, first, least)
        check_consistent_length(table, y)
        targets = self._encode_targets(y, first, classes)
        table, targets, weight = self._counted(table, targets, sample_weight, first)
        if first:
            self._learn_columns(table, targets, weight)
        return Pairs(table, targets, weight, self._design.matrix)

    def _check_single(self) -> None:
        """Raise where there are several networks: they do not learn together."""
        if getattr(self, "n_members_", 1) > 1:
            raise ValueError(
                f"This is an ensemble of {self.n_members_} networks, which learns no more: go on with its members and "
                "combine them again."
            )

    def _counted(
        self, table: np.ndarray, targets: np.ndarray, sample_weight: Any, first: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the rows that count: those with a weight, and with a target that is there."""
        weight = None
        if sample_weight is not None and len(table):
            weight = check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight is all zero: there is nothing to learn from.")
            check_total(weight)
        kept = ~np.isnan(targets).all(axis=1) if len(targets) else np.zeros(0, bool)
        if weight is not None:
            kept &= weight > 0
        counted = np.where(kept[:, None], targets, np.nan)
        if first:
            check_targets(counted, self._target_family)
        else:
            self._targets.check(counted)
        self._check_inputs(np.where(kept[:, None], table, 0) if not kept.all() else table)
        if kept.all():
            return table, targets, weight
        if not kept.any():
            raise ValueError("y has no target that is there, in a row that counts: there is nothing to learn from.")
        return table[kept], targets[kept], None if weight is None else weight[kept]

    def _check_inputs(self, table: np.ndarray) -> None:
        """Raise where inputs are missing that must not be."""
        if self.missing == "indicator" or not np.isnan(np.sum(table)):
            return
        row, column = np.argwhere(np.isnan(table))[0]
        name = self._labels(table.shape[1])[column]
        raise ValueError(
            f"Input X contains NaN: row {row} lacks its entry in column {name}. Pass missing='indicator' to learn what "
            "a missing input tells, or impute X first."
        )

    def _learn_columns(self, table: np.ndarray, targets: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn what inputs and targets there are."""
        check_scale(table)
        known = getattr(self, "categories_", {})
        categories = [len(known.get(label, ())) for label in self._labels(table.shape[1])]
        design = Design.learn(table, weight, np.array(categories, dtype=np.int64), self.missing == "indicator")
        for name, value in zip(self._design_attributes, design, strict=True):
            setattr(self, name, value)
        found = Targets.learn(self._target_family, targets)
        shape = self._with_room(found.shape)
        self.target_categories_, self.target_total_ = shape.categories, int(shape.trials)

    def _with_room(self, shape: Shape) -> Shape:
        """Return the shape of targets, with room for categories that have not come yet."""
        return shape

    def _question(self, X: Any) -> tuple[np.ndarray, Any]:
        """Return the table to answer for, and the model that answers."""
        check_is_fitted(self)
        check_settings(self)
        with computing(64):
            table = self._read_table(X, first=False, learns=False, least=1)
            self._check_inputs(table)
        return table, self.to_model()

    def question_of_targets(self, y: Any, inputs: Any) -> tuple[Any, Pairs, Callable[[np.ndarray], Any]]:
        """Return the model and rows whose missing targets are to be found, and what makes answers of numbers."""
        if inputs is None:
            raise ValueError(
                f"inputs are missing: X has the targets of a {type(self).__name__}, and inputs its inputs."
            )
        table, model = self._question(inputs)
        targets = self._known_targets(y)
        check_consistent_length(table, targets)
        self._targets.check(targets)
        return model, Pairs(table, targets, None, self._design.matrix), self._restore_targets

    def _forget(self) -> None:
        """Begin anew: what an earlier fit has left goes, and there is a new seed."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))

    def _check_kinds(self, columns: Any) -> None:
        """Take columns of all kinds: text becomes indicators."""


def _check_finite(free: np.ndarray, start: int) -> None:
    """Raise where inputs, of rows from `start` on, have led to no numbers."""
    lost = ~np.isfinite(free).all(axis=1)
    if lost.any():
        raise ValueError(
            f"X is so large in row {start + int(np.argmax(lost))}, beside the rows that were learned from, that what "
            "is foretold is not finite: look at the units of the inputs."
        )


def learns_from_streams(estimator: Any) -> bool:
    """Return whether there is a `partial_fit`, or raise with the reason why not."""
    if estimator.method == "trees":
        raise AttributeError("method='trees' learns from all rows at once: use fit, or another method.")
    return True


#: Rows that are answered for at once.
_CHUNK = 32_768
