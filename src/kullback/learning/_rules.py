"""When a fit ends. The state of a rule is JSON, so that a checkpoint can hold it."""

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

#: Why a fit ended: there is little left to gain, there are no more steps or epochs, the data is over, or the validation
#: part has not gained for some epochs.
CONVERGED, LIMIT, DATA_ENDED, NO_GAIN = "converged", "limit", "data ended", "no gain"


#: What a rule remembers, by name: counts and values, None where there is none yet.
RuleState: TypeAlias = dict[str, float | None]


def check_at_least_one(name: str, value: int | None) -> None:
    """Raise unless a number that may be None is 1 or more: a fit that counts to 0 would never end."""
    if value is not None and not value >= 1:
        raise ValueError(f"{name} is {value!r}: it must be 1 or more, or None.")


#: After so many steps without a value there is nothing to learn; numbers that are not finite end a fit sooner.
_WITHOUT_VALUE = 8


class Entry(NamedTuple):
    """What a rule sees of a step. `validation` is there where an epoch ends and a part was kept for it."""

    step: int
    points: float
    value: float
    mass: float
    epoch_ends: bool = False
    validation: float | None = None


class Verdict(NamedTuple):
    """The state of a rule after a step, the reason to end here or None, and whether the model is the best so far."""

    state: RuleState
    reason: str | None = None
    better: bool = False


class Bounds(NamedTuple):
    """Within which a rule ends no fit, so that several steps may be taken before it is asked again.

    These are steps that change the value by more than `tolerance`, from `before` on, and at most `most` of them. With
    `falling` they must raise it. Values are compared in units of 1/`scale`. Its numbers are arrays: a compiled loop
    reads them.
    """

    before: Any
    tolerance: Any
    most: Any
    falling: Any = np.bool_(True)
    scale: Any = np.float64(1.0)

    @classmethod
    def of(
        cls, before: float | None, tolerance: float, most: int | None, falling: bool = True, scale: float = 1.0
    ) -> "Bounds":
        """Return bounds of numbers; None is no value before, and no limit of steps."""
        start, steps = -np.inf if before is None else before, np.iinfo(np.int32).max if most is None else most
        return cls(np.float64(start), np.float64(tolerance), np.int32(steps), np.bool_(falling), np.float64(scale))

    def are_far(self, before: Any, value: Any) -> Any:
        """Whether a step from one value to another is inside the bounds, and not because of how they were scaled."""
        gain = (value - before) * self.scale
        rounding = (self.scale != 1) * 8 * np.finfo(value.dtype).eps * abs(value) * self.scale
        return ~((gain < self.tolerance + rounding) & (self.falling | (-gain < self.tolerance + rounding)))


class Rule(Protocol):
    """Says when a fit ends. `every_step` is False for a rule that only ends a fit with an epoch."""

    @property
    def every_step(self) -> bool:
        """Whether the fit may end after any step, and not only with an epoch."""

    def init(self) -> RuleState:
        """Return the state to begin with."""

    def update(self, state: RuleState, entry: Entry) -> Verdict:
        """Take in a step."""

    def bounds(self, state: RuleState) -> Bounds | None:
        """Return within which the next steps do not end the fit, or None to be asked after each of them."""


class GainBelow:
    """Ends when the value changes by less than `tolerance` from step to step, or after `most` steps.

    With `falling` a value that falls has converged too. A step without points is counted, and says nothing of the
    value. `before` is what an earlier fit has reached in `done` steps.
    """

    every_step = True

    def __init__(
        self,
        tolerance: float,
        most: int | None = None,
        falling: bool = True,
        before: float = -np.inf,
        done: int = 0,
    ):
        check_at_least_one("most", most)
        self._tolerance, self._most, self._falling = tolerance, most, falling
        self._before, self._done = before, done

    def init(self) -> RuleState:
        """Return the value before the first step, and how many steps there were."""
        return {"value": self._before if np.isfinite(self._before) else None, "steps": self._done}

    def update(self, state: RuleState, entry: Entry) -> Verdict:
        """Compare the value with the one before."""
        before, steps = state["value"], (state["steps"] or 0) + 1
        if entry.mass == 0:  # no points, no value: a turn without data, or one that goes back
            nothing = before is None and steps > _WITHOUT_VALUE
            return Verdict({**state, "steps": steps}, CONVERGED if nothing else LIMIT if steps == self._most else None)
        after: RuleState = {"value": entry.value if np.isfinite(entry.value) else None, "steps": steps}
        if before is not None:
            gain = entry.value - before
            if (gain if self._falling else abs(gain)) < self._tolerance:
                return Verdict(after, CONVERGED)
        return Verdict(after, LIMIT if steps == self._most else None)

    def bounds(self, state: RuleState) -> Bounds:
        """Return the tolerance, and the steps that are left."""
        left = None if self._most is None else int(self._most - (state["steps"] or 0))
        return Bounds.of(state["value"], self._tolerance, left, self._falling)


class Epochs:
    """Ends after `most` epochs, or when `patience` of them in a row have gained less than `tolerance`.

    What gains is the value of the validation part where there is one, and the mean of the epoch's steps otherwise. The
    model of the best epoch is the one to keep, unless `keeps_best` is False: in a game of two no epoch is the best.
    """

    every_step = False

    def __init__(
        self, most: int | None = None, patience: int | None = None, tolerance: float = 0.0, keeps_best: bool = True
    ):
        check_at_least_one("most", most)
        check_at_least_one("patience", patience)
        self._most, self._patience, self._tolerance = most, patience, tolerance
        self._keeps_best = keeps_best

    def init(self) -> RuleState:
        """Return that there were no epochs."""
        return {"epochs": 0, "best": None, "waited": 0, "total": 0.0, "mass": 0.0}

    def update(self, state: RuleState, entry: Entry) -> Verdict:
        """Take in a step, and at the end of an epoch compare it with the best."""
        total, mass = (state["total"] or 0) + entry.value * entry.mass, (state["mass"] or 0) + entry.mass
        if not entry.epoch_ends:
            return Verdict({**state, "total": total, "mass": mass})
        value = entry.validation if entry.validation is not None else total / mass if mass else -np.inf
        best = state["best"]
        better = self._keeps_best and bool(np.isfinite(value)) and (best is None or value > best)
        gained = better and (best is None or value > best + self._tolerance)
        epochs, waited = (state["epochs"] or 0) + 1, 0 if gained else (state["waited"] or 0) + 1
        after: RuleState = {
            "epochs": epochs,
            "best": value if better else best,
            "waited": waited,
            "total": 0.0,
            "mass": 0.0,
        }
        if epochs == self._most:
            return Verdict(after, LIMIT, better)
        return Verdict(after, NO_GAIN if waited == self._patience else None, better)

    def bounds(self, state: RuleState) -> None:
        """Return none: what an epoch was worth is seen when it ends."""
