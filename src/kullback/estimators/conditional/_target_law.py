"""The distribution of one target, for each of many rows: moments, distribution function, quantiles."""

import abc
from typing import Any

import jax
import numpy as np

from kullback.estimators.conditional._quantiles import find_quantiles
from kullback.estimators.data._rows import padded_size
from kullback.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Gaussian,
    Independent,
    Product,
    ScalarFamily,
    SphericalGaussian,
    VonMises,
)


class TargetLaw(metaclass=abc.ABCMeta):
    """One target given inputs, a distribution for each row."""

    discrete: bool
    #: Whether there are moments and quantiles.
    ordered: bool = True
    #: Whether points are angles, of which a quantile is one of turns from the opposite of the mean.
    angle: bool = False

    @property
    def probabilities(self) -> np.ndarray | None:
        """The probabilities of categories, or of 0 and 1, of shape (rows, categories); None of other targets."""
        return None

    @property
    @abc.abstractmethod
    def mean(self) -> np.ndarray:
        """The means; of angles the mean directions."""

    @property
    @abc.abstractmethod
    def variance(self) -> np.ndarray:
        """The variances; of angles the circular ones."""

    @abc.abstractmethod
    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return P(X ≤ x) of each row, at one x for each."""

    def quantile(self, level: float) -> np.ndarray:
        """Return the smallest x with P(X ≤ x) ≥ level, of each row."""
        return find_quantiles(self.cdf, level, self.mean, np.sqrt(self.variance), self.discrete)


class MemberLaw(TargetLaw):
    """A family of numbers, one member for each row."""

    def __init__(self, member: ScalarFamily):
        self._member, self.discrete = member, member.support.discrete

    @property
    def mean(self) -> np.ndarray:
        return np.asarray(self._member.mean, dtype=np.float64)  # type: ignore[attr-defined]

    @property
    def variance(self) -> np.ndarray:
        return np.asarray(self._member.variance, dtype=np.float64)  # type: ignore[attr-defined]

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._member.cdf(x))

    def quantile(self, level: float) -> np.ndarray:
        found = super().quantile(level)
        return np.minimum(found, 1.0) if isinstance(self._member, Beta) else found  # not beyond by rounding

    @property
    def probabilities(self) -> np.ndarray | None:
        return np.stack([1 - self.mean, self.mean], axis=1) if isinstance(self._member, Bernoulli) else None


class AngleLaw(MemberLaw):
    """Angles: intervals lie around the mean direction and may pass ±π."""

    angle = True

    def quantile(self, level: float) -> np.ndarray:
        around = VonMises(np.zeros_like(np.asarray(self._member.mean)), self._member.concentration)  # type: ignore[attr-defined]
        start = np.zeros_like(self.mean)
        turned = find_quantiles(
            lambda x: np.asarray(around.cdf(np.clip(x, -np.pi, np.pi))) + (x >= np.pi) - (x <= -np.pi),
            level,
            start,
            np.full_like(start, 0.5),
            False,
        )
        return self.mean + np.clip(turned, -np.pi, np.pi)


class NormalLaw(TargetLaw):
    """One coordinate of Gaussians."""

    discrete = False

    def __init__(self, mean: Any, variance: Any):
        self._mean, self._variance = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)

    @property
    def mean(self) -> np.ndarray:
        return self._mean

    @property
    def variance(self) -> np.ndarray:
        return self._variance

    def cdf(self, x: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr

        return ndtr((x - self._mean) / np.sqrt(self._variance))

    def quantile(self, level: float) -> np.ndarray:
        from scipy.special import ndtri

        return self._mean + np.sqrt(self._variance) * ndtri(level)


class MixedLaw(TargetLaw):
    """Mixtures: for each row some laws, and their weights."""

    def __init__(self, weights: np.ndarray, laws: list[TargetLaw]):
        self._weights, self._laws = weights, laws
        self.discrete, self.ordered = laws[0].discrete, laws[0].ordered

    @property
    def probabilities(self) -> np.ndarray | None:
        each = [law.probabilities for law in self._laws if law.probabilities is not None]
        if not each:
            return None
        return np.sum(self._weights[:, :, None] * np.stack(each, axis=1), axis=1)

    @property
    def mean(self) -> np.ndarray:
        return np.sum(self._weights * np.stack([law.mean for law in self._laws], axis=-1), axis=-1)

    @property
    def variance(self) -> np.ndarray:
        means = np.stack([law.mean for law in self._laws], axis=-1)
        inside = np.stack([law.variance for law in self._laws], axis=-1)
        return np.sum(self._weights * (inside + (means - self.mean[:, None]) ** 2), axis=-1)

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return np.sum(self._weights * np.stack([law.cdf(x) for law in self._laws], axis=-1), axis=-1)


class MixedAngleLaw(TargetLaw):
    """Mixtures of angles, which average as points of the circle."""

    discrete, angle = False, True

    def __init__(self, weights: np.ndarray, laws: list[TargetLaw]):
        self._weights, self._laws = weights, laws
        each = [(1 - law.variance) * np.exp(1j * law.mean) for law in laws]
        self._average = np.sum(weights * np.stack(each, axis=-1), axis=-1)

    @property
    def mean(self) -> np.ndarray:
        return np.angle(self._average)

    @property
    def variance(self) -> np.ndarray:
        return 1 - np.abs(self._average)

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return np.sum(self._weights * np.stack([law.cdf(x) for law in self._laws], axis=-1), axis=-1)

    def quantile(self, level: float) -> np.ndarray:
        start = self._turned(self.mean - np.pi)

        def share(turn: np.ndarray) -> np.ndarray:
            return self._turned(self.mean + np.clip(turn, -np.pi, np.pi)) - start + (turn > np.pi) - (turn < -np.pi)

        zero = np.zeros_like(self.mean)
        return self.mean + np.clip(find_quantiles(share, level, zero, zero + 0.5, False), -np.pi, np.pi)

    def _turned(self, x: np.ndarray) -> np.ndarray:
        """Return P(−π < X ≤ x), which goes on growing turn by turn."""
        turns = np.floor((x + np.pi) / (2 * np.pi))
        return turns + self.cdf(x - 2 * np.pi * turns)


def mix_laws(weights: np.ndarray, laws: list[TargetLaw]) -> TargetLaw:
    """Return the law of mixtures of these, with weights of shape (rows, laws)."""
    return MixedAngleLaw(weights, laws) if laws[0].angle else MixedLaw(weights, laws)


class FirstRows(TargetLaw):
    """The law of the first rows of more: the others were filled up, so that little is compiled."""

    def __init__(self, law: TargetLaw, rows: int):
        self._law, self._rows = law, rows
        self.discrete, self.ordered, self.angle = law.discrete, law.ordered, law.angle

    @property
    def probabilities(self) -> np.ndarray | None:
        found = self._law.probabilities
        return None if found is None else found[: self._rows]

    @property
    def mean(self) -> np.ndarray:
        return self._law.mean[: self._rows]

    @property
    def variance(self) -> np.ndarray:
        return self._law.variance[: self._rows]

    def cdf(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        return self._law.cdf(np.concatenate([x, np.repeat(x[:1], padded_size(len(x)) - len(x))]))[: self._rows]

    def quantile(self, level: float) -> np.ndarray:
        return self._law.quantile(level)[: self._rows]


class DrawnLaw(TargetLaw):
    """Where there is no distribution function: moments, and draws of each row, of shape (draws, rows)."""

    def __init__(self, mean: np.ndarray, variance: np.ndarray, draws: np.ndarray, discrete: bool):
        self._mean, self._variance = mean, variance
        self._draws, self.discrete = np.sort(np.asarray(draws, dtype=np.float64), axis=0), discrete

    @property
    def mean(self) -> np.ndarray:
        return self._mean

    @property
    def variance(self) -> np.ndarray:
        return self._variance

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return (self._draws <= x).mean(axis=0)

    def quantile(self, level: float) -> np.ndarray:
        return self._draws[min(int(np.ceil(level * len(self._draws))) - 1, len(self._draws) - 1)]


#: Draws of each row that stand for a law without a distribution function.
_DRAWS = 2048


def laws_of_columns(member: Any) -> list[TargetLaw]:
    """Return the law of each column of members, one for each row.

    Categories have none, for their numbers are names; asking one of them raises.
    """
    match member:
        case Product():
            return [law for part in member.parts for law in laws_of_columns(part)]
        case Independent():
            columns: Any = member.columns
            places = range(member.event_shape[0])
            return [_scalar_law(jax.tree.map(lambda leaf, at=at: np.asarray(leaf)[:, at], columns)) for at in places]
        case Gaussian() | DiagonalGaussian() | SphericalGaussian():
            variances = np.broadcast_to(np.asarray(member.column_variances), np.shape(member.mean))
            both = zip(np.asarray(member.mean).T, variances.T, strict=True)
            return [NormalLaw(mean, variance) for mean, variance in both]
        case Dirichlet():
            alpha = np.asarray(member.concentration)
            total = alpha.sum(axis=-1)
            return [MemberLaw(Beta(a, total - a)) for a in alpha.T]
        case ScalarFamily():
            return [_scalar_law(member)]
    drawn = np.asarray(member.sample(jax.random.key(0), (_DRAWS,)), dtype=np.float64)
    means, variances = np.asarray(member.mean), np.asarray(member.variance)
    return [
        DrawnLaw(means[:, at], variances[:, at], drawn[..., at], member.support.discrete)
        for at in range(drawn.shape[-1])
    ]


def _scalar_law(member: ScalarFamily) -> TargetLaw:
    if isinstance(member, Categorical):
        return _Names(member)
    return AngleLaw(member) if isinstance(member, VonMises) else MemberLaw(member)


class _Names(TargetLaw):
    """Categories: they have no order, and so none of this."""

    discrete, ordered = True, False

    def __init__(self, member: Categorical):
        self._member = member

    @property
    def probabilities(self) -> np.ndarray:
        return np.asarray(self._member.probabilities, dtype=np.float64)

    @property
    def mean(self) -> np.ndarray:
        raise self._refusal("mean")

    @property
    def variance(self) -> np.ndarray:
        raise self._refusal("variance")

    def cdf(self, x: np.ndarray) -> np.ndarray:
        raise self._refusal("distribution function")

    def quantile(self, level: float) -> np.ndarray:
        raise self._refusal("quantile")

    @staticmethod
    def _refusal(what: str) -> TypeError:
        return TypeError(f"Categories have no {what}, for their numbers are names: see probabilities, or the mode.")
