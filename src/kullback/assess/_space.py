"""Spaces of settings: numbers, whole numbers and choices, by name, and the unit cube that a search sees of them."""

import abc
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A setting: a value for each name.
Setting = dict[str, Any]

_FORMS = (
    "(low, high) for numbers, (low, high, 'log') for numbers that spread over magnitudes, "
    "range(…) or (low, high, 'log-integer') for whole numbers, or a list of choices"
)


class Parameter(abc.ABC):
    """One axis of a space: how its values lie in the unit cube."""

    #: How many coordinates a value has, and how many values there are: None where they are numbers of an interval.
    columns: int = 1
    levels: int | None = None

    @abc.abstractmethod
    def encode(self, value: Any) -> NDArray[np.float64]:
        """Return the coordinates of a value; raise ValueError where it is not one of this axis."""

    @abc.abstractmethod
    def decode(self, coordinates: NDArray[np.float64]) -> Any:
        """Return the value nearest to some coordinates."""

    @abc.abstractmethod
    def at(self, share: float) -> Any:
        """Return the value below which this share of the axis lies; shares are in [0, 1)."""

    def every(self) -> list[Any]:
        """Return all values of an axis that has levels."""
        assert self.levels is not None
        return [self.at((level + 0.5) / self.levels) for level in range(self.levels)]


class Interval(Parameter):
    """Numbers between two, evenly or evenly in their logarithms."""

    def __init__(self, low: float, high: float, log: bool):
        self._log = log
        self._low, self._high = low, high
        self._ends = (math.log(low), math.log(high)) if log else (low, high)

    def encode(self, value: Any) -> NDArray[np.float64]:
        """Return where it lies between the ends."""
        number = _number(value)
        if number is None or not self._low <= number <= self._high:
            raise ValueError(f"is {value!r}: it must be a number from {self._low:g} to {self._high:g}")
        place = math.log(number) if self._log else number
        return np.array([(place - self._ends[0]) / (self._ends[1] - self._ends[0])])

    def decode(self, coordinates: NDArray[np.float64]) -> float:
        """Return the number there, inside the interval."""
        return self.at(float(coordinates[0]))

    def at(self, share: float) -> float:
        """Return the number there."""
        place = self._ends[0] + share * (self._ends[1] - self._ends[0])
        return float(min(max(math.exp(place) if self._log else place, self._low), self._high))


class LogIntegers(Parameter):
    """Whole numbers that spread over magnitudes: each has the share of its half units to both sides."""

    def __init__(self, low: int, high: int):
        self._low, self._high, self.levels = low, high, high - low + 1
        self._ends = math.log(low - 0.5), math.log(high + 0.5)

    def encode(self, value: Any) -> NDArray[np.float64]:
        """Return where its logarithm lies between the ends."""
        number = _number(value)
        if number is None or number != round(number) or not self._low <= number <= self._high:
            raise ValueError(f"is {value!r}: it must be a whole number from {self._low} to {self._high}")
        return np.array([(math.log(number) - self._ends[0]) / (self._ends[1] - self._ends[0])])

    def decode(self, coordinates: NDArray[np.float64]) -> int:
        """Return the whole number there."""
        return self.at(float(coordinates[0]))

    def at(self, share: float) -> int:
        """Return the whole number there."""
        number = round(math.exp(self._ends[0] + share * (self._ends[1] - self._ends[0])))
        return int(min(max(number, self._low), self._high))

    def every(self) -> list[int]:
        """Return all of them."""
        return list(range(self._low, self._high + 1))


class Levels(Parameter):
    """Values in an order, of which neighbors are alike: whole numbers, or numbers of a list that increase."""

    def __init__(self, values: Any):
        self._values, self.levels = values, len(values)
        self._places = {float(each): place for place, each in enumerate(values)}

    def encode(self, value: Any) -> NDArray[np.float64]:
        """Return its place, from 0 to 1."""
        place = self._places.get(value) if _number(value) is not None else None
        if place is None:
            raise ValueError(f"is {value!r}: it must be one of {list(self._values)!r}")
        return np.array([place / max(len(self._values) - 1, 1)])

    def decode(self, coordinates: NDArray[np.float64]) -> Any:
        """Return the value nearest to a place."""
        place = round(float(coordinates[0]) * (len(self._values) - 1))
        return self._values[min(max(place, 0), len(self._values) - 1)]

    def at(self, share: float) -> Any:
        """Return the value there."""
        return self._values[min(max(int(share * len(self._values)), 0), len(self._values) - 1)]


class Choices(Parameter):
    """Values without an order: an indicator for each, of such a length that two values are at distance 1."""

    def __init__(self, values: list[Any]):
        self._values, self.columns, self.levels = values, len(values), len(values)

    def encode(self, value: Any) -> NDArray[np.float64]:
        """Return indicators."""
        indicators = np.zeros(self.columns)
        place = next((place for place, known in enumerate(self._values) if _same(value, known)), None)
        if place is None:
            raise ValueError(f"is {value!r}: it must be one of {self._values!r}")
        indicators[place] = math.sqrt(0.5)
        return indicators

    def decode(self, coordinates: NDArray[np.float64]) -> Any:
        """Return the value with the largest indicator."""
        return self._values[int(np.argmax(coordinates))]

    def at(self, share: float) -> Any:
        """Return the value there, in the order of the list."""
        return self._values[min(max(int(share * self.columns), 0), self.columns - 1)]


class Space:
    """Named axes. `groups` says to which of them each coordinate of the cube belongs."""

    def __init__(self, space: Any):
        if not isinstance(space, Mapping) or not space:
            raise ValueError(
                f"space is {space!r}: it must be a dict with a line for each parameter to tune, each {_FORMS}."
            )
        self._axes = {name: _parameter(name, spec) for name, spec in space.items()}
        axes = list(self._axes.values())
        self.groups: NDArray[np.int_] = np.repeat(np.arange(len(axes)), [axis.columns for axis in axes])
        levels = [axis.levels for axis in axes if axis.levels is not None]
        #: How many settings there are; inf where an axis has no levels.
        self.size: float = math.prod(levels) if len(levels) == len(axes) else math.inf

    @property
    def names(self) -> list[str]:
        """The names of the axes."""
        return list(self._axes)

    def encode(self, setting: Any) -> NDArray[np.float64]:
        """Return the coordinates of a setting; refuse one that is not in the space."""
        if not isinstance(setting, Mapping) or set(setting) != set(self._axes):
            raise ValueError(f"setting is {setting!r}: it must have a value for each of {', '.join(self._axes)}.")
        parts = []
        for name, axis in self._axes.items():
            try:
                parts.append(axis.encode(setting[name]))
            except ValueError as error:
                raise ValueError(f"setting[{name!r}] {error}.") from None
        return np.concatenate(parts)

    def decode(self, coordinates: NDArray[np.float64]) -> Setting:
        """Return the setting nearest to some coordinates."""
        return {name: axis.decode(coordinates[place]) for (name, axis), place in self._places()}

    def _places(self) -> Iterator[tuple[tuple[str, Parameter], slice]]:
        begin = 0
        for name, axis in self._axes.items():
            yield (name, axis), slice(begin, begin + axis.columns)
            begin += axis.columns

    def stratified(self, rng: np.random.Generator, count: int) -> list[Setting]:
        """Draw settings of which each axis is covered evenly (a Latin hypercube)."""
        strata = rng.permuted(np.tile(np.arange(count), (len(self._axes), 1)), axis=1)
        shares = (strata + rng.random(strata.shape)) / count
        return [
            {name: axis.at(float(share)) for (name, axis), share in zip(self._axes.items(), column, strict=True)}
            for column in shares.T
        ]

    def near(self, setting: Setting, rng: np.random.Generator, count: int, width: float = 0.1) -> list[Setting]:
        """Draw settings around one: coordinates differ by a Gaussian of this width, a choice changes in one of five."""
        center, drawn = self.encode(setting), []
        for point in np.clip(center + width * rng.standard_normal((count, len(center))), 0, 1):
            moved = self.decode(point)
            for name, axis in self._axes.items():
                if isinstance(axis, Choices):
                    moved[name] = axis.at(rng.random()) if rng.random() < 0.2 else setting[name]
            drawn.append(moved)
        return drawn

    def every(self) -> Iterator[Setting]:
        """Yield all settings of a space whose size is finite."""
        for values in itertools.product(*(axis.every() for axis in self._axes.values())):
            yield dict(zip(self._axes, values, strict=True))


def _parameter(name: Any, spec: Any) -> Parameter:
    """Return the axis that a line of a space stands for; refuse what is none."""
    where = f"space[{name!r}]"
    if not isinstance(name, str):
        raise ValueError(f"space has the key {name!r}: keys must be names of parameters.")
    if isinstance(spec, range):
        if len(spec) == 0:
            raise ValueError(f"{where} is {spec!r}: it has no whole number.")
        return Levels(spec if spec.step > 0 else spec[::-1])
    if isinstance(spec, list):
        return _listed(where, spec)
    if isinstance(spec, tuple) and len(spec) in (2, 3):
        return _between(where, spec)
    raise ValueError(f"{where} is {spec!r}: it must be {_FORMS}.")


def _listed(where: str, values: list[Any]) -> Parameter:
    if not values:
        raise ValueError(f"{where} is an empty list: give at least one choice.")
    for one, other in itertools.combinations(range(len(values)), 2):
        if _same(values[one], values[other]):
            raise ValueError(f"{where} has {values[one]!r} twice: choices must differ.")
    numbers = [_number(value) for value in values]
    if any(number is not None and not math.isfinite(number) for number in numbers):
        raise ValueError(f"{where} is {values!r}: numbers must be finite.")
    found = [number for number in numbers if number is not None]
    ordered = len(found) == len(values) and all(low < high for low, high in itertools.pairwise(found))
    return Levels(values) if ordered else Choices(values)


def _between(where: str, spec: tuple[Any, ...]) -> Parameter:
    scale = spec[2] if len(spec) == 3 else "linear"
    if scale not in ("linear", "log", "log-integer"):
        raise ValueError(f"{where} has the scale {scale!r}: it must be 'linear', 'log' or 'log-integer'.")
    low, high = map(_number, spec[:2])
    if low is None or high is None or not math.isfinite(low) or not math.isfinite(high) or not low < high:
        raise ValueError(f"{where} is {spec!r}: it needs two finite numbers, the lower one first.")
    if scale != "linear" and low <= 0:
        raise ValueError(f"{where} is {spec!r}: numbers on a scale of logarithms must be above 0.")
    if scale == "log-integer":
        if low != round(low) or high != round(high):
            raise ValueError(f"{where} is {spec!r}: the ends must be whole numbers.")
        return LogIntegers(int(low), int(high))
    return Interval(low, high, scale == "log")


def _number(value: Any) -> float | None:
    """Return a real number, None for anything else; a truth value is none."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return float(value) if real else None


def _same(one: Any, other: Any) -> bool:
    """Say whether two values are one: arrays and other objects are by identity, for `==` may mean anything there."""
    plain = (str, bool, int, float, tuple, type(None), np.generic)
    return one is other or (
        isinstance(one, plain) and isinstance(other, plain) and type(one) is type(other) and bool(one == other)
    )
