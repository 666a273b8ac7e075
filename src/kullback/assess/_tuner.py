"""Ask for a setting, tell its risk: a search over a space that knows nothing of what is tuned."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from kullback.assess._proposals import PROPOSALS
from kullback.assess._space import Setting, Space

#: After so many draws in vain, of settings that were all asked for before, any other one is looked for, by so many.
_IN_VAIN, _ANY = 20, 4096


class Tuner:
    """Proposes settings to try. `ask` for one, evaluate it, `tell` its risk, in any order and number.

    Parameters
    ----------
    space : dict
        What to tune, by name: `(low, high)` for numbers, `(low, high, "log")` for numbers that spread over magnitudes,
        `range(…)` or `(low, high, "log-integer")` for whole numbers, or a list of choices. Numbers of a list that
        increase are taken as ordered: neighbors are alike.
    method : "expected-improvement", "cross-entropy" or "random"
        Expected improvement, by a Gaussian process on the ranks of the risks, is for up to some hundred evaluations.
        Cross-entropy takes populations of 10, and is for hundreds of them.
    seed : int
        The same seed proposes the same settings, if the same risks are told.

    Examples
    --------
    >>> tuner = Tuner({"C": (1e-3, 1e3, "log"), "kernel": ["linear", "rbf"]}, seed=0)
    >>> for _ in range(12):
    ...     setting = tuner.ask()
    ...     tuner.tell(setting, (math.log10(setting["C"]) - 1) ** 2 + (setting["kernel"] == "linear"))
    >>> tuner.best["kernel"], abs(math.log10(tuner.best["C"]) - 1) < 0.5
    ('rbf', True)

    """

    def __init__(self, space: Any, method: str = "expected-improvement", *, seed: Any = 0):
        if method not in PROPOSALS:
            raise ValueError(f"method is {method!r}: it must be one of {', '.join(map(repr, PROPOSALS))}.")
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ValueError(f"seed is {seed!r}: it must be a whole number, 0 or more.")
        self.space = Space(space)
        self.settings: list[Setting] = []
        self.risks: list[float] = []
        self._points: list[np.ndarray] = []
        self._seen: set[bytes] = set()
        self._rng = np.random.default_rng(seed)
        self._proposal = PROPOSALS[method](self.space, self._rng)

    @property
    def best(self) -> Setting | None:
        """The setting with the least risk so far; None where nothing was told, or nothing but failures."""
        if not self.risks or not math.isfinite(min(self.risks)):
            return None
        return self.settings[int(np.argmin(self.risks))]

    @property
    def exhausted(self) -> bool:
        """Whether all settings of the space were asked for or told."""
        return len(self._seen) >= self.space.size

    def ask(self) -> Setting:
        """Return a setting to try: one that was neither asked for nor told before."""
        if self.exhausted:
            raise ValueError(
                f"All {self.space.size:g} settings of the space were tried: there is none left to ask for."
            )
        for _ in range(_IN_VAIN):
            for setting in self._drawn():
                if self._is_new(setting):
                    return setting
        return next(filter(self._is_new, self._anything()))

    def tell(self, setting: Setting, risk: float) -> None:
        """Take note of the risk of a setting, the smaller the better; NaN and inf say that it failed."""
        point = self.space.encode(setting)
        if isinstance(risk, bool) or not isinstance(risk, (int, float, np.integer, np.floating)) or risk == -math.inf:
            raise ValueError(f"risk is {risk!r}: it must be a number, or NaN or inf for a setting that failed.")
        self._seen.add(point.tobytes())
        self.settings.append(dict(setting))
        self.risks.append(math.inf if math.isnan(risk) else float(risk))
        self._points.append(point)
        self._proposal.tell(point, self.risks[-1])

    def _anything(self) -> Iterator[Setting]:
        """Yield settings of the space, any, until there is a new one among them: of a finite space at last all."""
        yield from self.space.stratified(self._rng, _ANY)
        if self.space.size == math.inf:  # intervals that are narrower than their numbers are apart
            raise ValueError("No new setting was found: the space has hardly any, so give lists of choices instead.")
        yield from self.space.every()

    def _drawn(self) -> list[Setting]:
        points = np.array(self._points).reshape(len(self._points), len(self.space.groups))
        return self._proposal.draw(points, np.array(self.risks), self.best)

    def _is_new(self, setting: Setting) -> bool:
        key = self.space.encode(setting).tobytes()
        if key in self._seen:
            return False
        self._seen.add(key)
        return True
