"""How the next setting to try is proposed, from the settings that were tried and their risks."""

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kullback.assess._space import Setting, Space
from kullback.assess._surrogate import expected_improvement
from kullback.runtime import computing


class Proposal(abc.ABC):
    """Draws settings of a space. Those that were drawn before may come again: the tuner leaves them out."""

    def __init__(self, space: Space, rng: np.random.Generator):
        self._space, self._rng = space, rng

    @abc.abstractmethod
    def draw(self, tried: NDArray[np.float64], risks: NDArray[np.float64], best: Setting | None) -> list[Setting]:
        """Return settings in the order of preference, given coordinates and risks of what was told so far."""

    def tell(self, coordinates: NDArray[np.float64], risk: float) -> None:  # noqa: B027, not every one has to
        """Take note of one more risk."""


class RandomSearch(Proposal):
    """Settings from the prior, which is even along each axis."""

    def draw(self, tried: NDArray[np.float64], risks: NDArray[np.float64], best: Setting | None) -> list[Setting]:
        """Return some draws."""
        return self._space.stratified(self._rng, 1)


class ExpectedImprovement(Proposal):
    """Settings λ drawn with q(λ) ∝ exp(β·EI(λ)), after a stratified start.

    β is in units of the largest EI. Of a small space all settings are candidates. Of a large one, half of them are
    drawn evenly and half near the best setting λ̂, which is q ∝ exp(β·EI(λ) − α·D(λ, λ̂)) there.
    """

    #: Settings of the start; β; candidates of a space that is too large to look at all of it.
    start, sharpness, candidates = 8, 50.0, 512

    def __init__(self, space: Space, rng: np.random.Generator):
        super().__init__(space, rng)
        self._waiting = space.stratified(rng, self.start)
        self._every = self._with_points(list(space.every())) if space.size <= self.candidates else None

    def draw(self, tried: NDArray[np.float64], risks: NDArray[np.float64], best: Setting | None) -> list[Setting]:
        """Return all candidates, by draws one after the other without putting back."""
        if self._waiting:
            return [self._waiting.pop()]
        if best is None:
            return self._space.stratified(self._rng, 1)
        candidates, points = self._every or self._with_points(self._drawn(best))
        gain = expected_improvement(tried, risks, points, self._space.groups, self._rng)
        # the largest of log q plus Gumbel noise is a draw from q, the next one a draw from what is left
        order = np.argsort(-(self.sharpness * gain / max(gain.max(), 1e-300) + self._rng.gumbel(size=len(gain))))
        return [candidates[place] for place in order]

    def _with_points(self, settings: list[Setting]) -> tuple[list[Setting], NDArray[np.float64]]:
        return settings, np.array([self._space.encode(setting) for setting in settings])

    def _drawn(self, best: Setting) -> list[Setting]:
        half = self.candidates // 2
        return self._space.stratified(self._rng, half) + self._space.near(best, self._rng, half)


class CrossEntropySearch(Proposal):
    """Settings from a distribution that moves to the best of each population: `search.CrossEntropy` on the cube."""

    population = 10

    def __init__(self, space: Space, rng: np.random.Generator):
        super().__init__(space, rng)
        self._told: list[tuple[NDArray[np.float64], float]] = []
        self._waiting: list[Setting] = []
        self._search: Any = None

    def draw(self, tried: NDArray[np.float64], risks: NDArray[np.float64], best: Setting | None) -> list[Setting]:
        """Return the next of a population."""
        if not self._waiting:
            with computing():
                search, state = self._started()
                points, state = search.ask(state)
            self._search = search, state
            self._waiting = [self._space.decode(np.clip(point, 0, 1)) for point in np.asarray(points)]
        return [self._waiting.pop()]

    def tell(self, coordinates: NDArray[np.float64], risk: float) -> None:
        """Move the distribution when a population is complete."""
        self._told.append((coordinates, risk))
        if len(self._told) < self.population:
            return
        points, values = map(np.array, zip(*self._told, strict=True))
        self._told = []
        with computing():
            search, state = self._started()
            self._search = search, search.tell(state, points, values)

    def _started(self) -> Any:
        if self._search is None:
            import jax

            from kullback.search import CrossEntropy

            mean = np.full(len(self._space.groups), 0.5)
            search = CrossEntropy(mean, 0.35, self.population, covariance="diagonal", elite=0.3)
            self._search = search, search.init(jax.random.key(int(self._rng.integers(2**31))))
        return self._search


#: The ways to propose settings, by name.
PROPOSALS: dict[str, type[Proposal]] = {
    "expected-improvement": ExpectedImprovement,
    "cross-entropy": CrossEntropySearch,
    "random": RandomSearch,
}
