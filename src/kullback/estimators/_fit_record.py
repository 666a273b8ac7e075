"""What a fit leaves besides the model: the attributes_ that count data and tell how it went, in one place."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from kullback.estimators._prequential import extend_prequential
from kullback.learning import StepInfo, extend_curve


class FitRecord(NamedTuple):
    """The bookkeeping of an estimator; each field is an attribute_ of that name, and None is one that is not there.

    Log-likelihoods are in nats per row: `lower_bounds` before each iteration of the last `fit`, `lower_bound` before
    the last step, whatever it was. `learning_curve` and `prequential` are those of a stream.
    """

    converged: bool | None = None
    n_iter: int | None = None
    lower_bound: float | None = None
    lower_bounds: list[float] | None = None
    n_points_seen: float | None = None
    n_batches_seen: int | None = None
    n_sequences_seen: float | None = None
    learning_curve: np.ndarray | None = None
    prequential: np.ndarray | None = None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Read the record of an estimator."""
        held = vars(estimator)
        return cls(*(held.get(f"{name}_") for name in cls._fields))

    @classmethod
    def combine(cls, records: Sequence["FitRecord"]) -> "FitRecord":
        """Return the record of a combination of fits: what they have seen together."""
        batches, points = (sum(numbers) for numbers in zip(*(record.counts for record in records), strict=True))
        sequences = [record.n_sequences_seen or 0.0 for record in records if record.n_sequences_seen is not None]
        converged = all(record.converged is not False for record in records)
        return cls(converged, 0, -np.inf, None, float(points), int(batches), sum(sequences) if sequences else None)

    def write(self, estimator: Any) -> None:
        """Make it the record of an estimator."""
        held = vars(estimator)
        for name, value in self._asdict().items():
            if value is None:
                held.pop(f"{name}_", None)
            else:
                held[f"{name}_"] = value

    @property
    def has_fit(self) -> bool:
        """Whether there is something to go on from."""
        return self.converged is not None or self.n_batches_seen is not None

    @property
    def counts(self) -> tuple[int, float]:
        """The batches and the points seen so far."""
        return self.n_batches_seen or 0, self.n_points_seen or 0.0

    @property
    def last_bound(self) -> float:
        """What the last `fit` has reached; the bound of a batch that came after it is not one to compare with."""
        return self.lower_bounds[-1] if self.lower_bounds and self.lower_bounds[-1] == self.lower_bound else -np.inf

    def foretell(self, steps: Sequence[StepInfo]) -> "FitRecord":
        """Return the record with batches of a stream that were foretold, by steps that it has counted already."""
        kept = self.prequential
        for info in steps:
            kept = extend_prequential(kept, float(info.value), float(info.mass))
        return self._replace(prequential=kept)

    def add_step(
        self, log_likelihood: float, points: float, sequences: float | None, foretold: bool = True
    ) -> "FitRecord":
        """Return the record after a step of a stream, towards so many points; was the model begun without them?"""
        seen = (self.n_points_seen or 0.0) + points
        if not np.isfinite(seen):
            raise ValueError("sample_weight is so large that all weights seen have no finite sum: divide it.")
        curve = np.zeros((0, 3)) if self.learning_curve is None else self.learning_curve
        return self._replace(
            lower_bound=log_likelihood,
            n_points_seen=seen,
            n_batches_seen=(self.n_batches_seen or 0) + 1,
            n_sequences_seen=None if sequences is None else (self.n_sequences_seen or 0.0) + sequences,
            learning_curve=extend_curve(curve, seen, log_likelihood, points),
            prequential=extend_prequential(self.prequential, log_likelihood, points) if foretold else self.prequential,
        )
