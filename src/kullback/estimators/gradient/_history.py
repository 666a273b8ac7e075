"""What the epochs of a fit were worth, and what a fit that was stopped needs to go on."""

from typing import Any, Self

from kullback.estimators._progress import Progress
from kullback.learning import Best, Place, StepInfo

#: The parts of an unfinished fit that a file holds as JSON; networks are beside them.
_PARTS = ("position", "rule", "best_step", "failures", "bounds", "scores", "errors", "total", "mass")


class History:
    """Takes in steps: `bounds` has the mean of each epoch; `scores` and `errors` those of the validation part."""

    def __init__(self, progress: Progress):
        self.bounds: list[float] = []
        self.scores: list[float] = []
        self.errors: list[float] = []
        self._progress = progress
        self._total, self._mass = 0.0, 0.0

    @classmethod
    def resume(cls, progress: Progress, unfinished: dict[str, Any]) -> Self:
        """Return the history of a fit that was stopped."""
        found = cls(progress)
        found.bounds, found.scores, found.errors = (list(unfinished[name]) for name in ("bounds", "scores", "errors"))
        found._total, found._mass = unfinished["total"], unfinished["mass"]
        return found

    def add(self, infos: list[StepInfo]) -> None:
        """Take in the steps of a chunk; those that were left out do not count."""
        for info in infos:
            if info.finite:
                self._total, self._mass = self._total + info.value * info.mass, self._mass + info.mass

    def close(self, place: Place) -> None:
        """Keep the mean if an epoch has ended here: of data that is one batch, each step is one."""
        if (place.position is None or place.position[1] == 0) and self._mass:
            self.bounds.append(self._total / self._mass)
            self._progress.step(self.bounds[-1])
            self._total, self._mass = 0.0, 0.0

    def unfinished(self, place: Place) -> dict[str, Any]:
        """Return what a fit needs to go on from here, as JSON can hold it, besides networks and states."""
        best = None if place.best is None else place.best.step
        lists = list(self.bounds), list(self.scores), list(self.errors)
        values = place.position, place.rule, best, place.failures, *lists, self._total, self._mass
        return dict(zip(_PARTS, values, strict=True))


def is_unfinished(value: Any) -> bool:
    """Whether a value, which may come from a file, is what `History.unfinished` returns."""
    if not isinstance(value, dict) or set(value) != set(_PARTS) or not isinstance(value["rule"], dict):
        return False
    lists = all(isinstance(value[name], list) and all(map(_is_real, value[name])) for name in _PARTS[4:7])
    numbers = _is_real(value["total"]) and _is_real(value["mass"]) and value["mass"] >= 0
    steps = value["best_step"] is None or _is_count(value["best_step"])
    rule = value["rule"]
    known = set(rule) == {"epochs", "best", "waited", "total", "mass"}
    amounts = known and all(_is_real(each) or (each is None and name == "best") for name, each in rule.items())
    return lists and numbers and steps and amounts and _is_count(value["failures"])


def place_of(
    unfinished: dict[str, Any], last: Any, best: Any, state: Any, memory: Any, counts: tuple[Any, ...]
) -> Place:
    """Return the place at which a fit was stopped; `counts` are its steps, its points and its curve."""
    found = None if unfinished["best_step"] is None else Best(best, unfinished["best_step"])
    step, points, curve = counts
    return Place(
        last,
        state,
        (memory,),
        found,
        unfinished["position"],
        step,
        points,
        unfinished["rule"],
        curve,
        unfinished["failures"],
    )


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
