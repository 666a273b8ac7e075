"""What components say of each column: a density, moments, and words."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from kullback import families, models
from kullback.report._text import clean, number, short

#: Rows of counts have totals of their own; of more totals than this some stand for all.
_TOTALS = 40
#: Categories of a component that are told in words.
_CATEGORIES = 8


class Column(NamedTuple):
    """One column of K components. `density` takes points to an array of shape (K, points); None is not known."""

    density: Callable[[np.ndarray], np.ndarray] | None
    discrete: bool
    span: tuple[float, float]
    words: list[str]
    moments: tuple[np.ndarray, np.ndarray] | None = None  # means and variances, of columns whose numbers are sizes
    wraps: bool = False
    listed: bool = False  # whether the values are codes 0, 1, … of something
    categories: tuple[str, ...] = ()  # what the codes stand for, where that is known

    def law(self, x: np.ndarray) -> np.ndarray:
        """Return the density at points."""
        assert self.density is not None
        return self.density(x)

    def named(self, categories: Sequence[str] | None) -> "Column":
        """Return the column with the words that its codes stand for, if it has codes and there are words."""
        if not categories or not self.listed or len(categories) < self.span[1] + 1:
            return self
        count = int(self.span[1]) + 1
        known = tuple(clean(word) for word in categories[:count])
        return self._replace(categories=known, words=[_shares(row, known) for row in self.law(np.arange(count))])


def columns_of(components: Any, totals: np.ndarray | None) -> list[Column]:
    """Return the columns of K components; `totals` are those of the data's rows, for families of counts."""
    match components:
        case families.Product():
            return [column for part in components.parts for column in columns_of(part, totals)]
        case families.Independent():
            return [_single(components.columns, place) for place in range(components.event_shape[0])]
        case families.Gaussian() | families.DiagonalGaussian() | families.SphericalGaussian():
            means, covariances = gaussian_moments(components)
            spreads = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
            return [_normal(means[:, j], spreads[:, j]) for j in range(means.shape[1])]
        case families.Dirichlet():
            alpha = np.asarray(components.concentration)
            rest = alpha.sum(axis=1, keepdims=True) - alpha
            words = [_words("concentration", alpha[:, j]) for j in range(alpha.shape[1])]
            return [_smooth(stats.beta(alpha[:, [j]], rest[:, [j]]), words[j], (0, 1)) for j in range(len(words))]
        case families.Ising():
            up = (1 + np.asarray(components.expectation)[:, : components.event_shape[0]]) / 2
            return [_listed([-1, 1], np.stack([1 - p, p], axis=1), _words("probability of +1", p)) for p in up.T]
        case families.Multinomial():
            return _counts(np.asarray(components.probabilities), None, np.array([float(components.trials)]))
        case models.CompoundDirichlet():
            alpha = np.asarray(components.concentration)
            return _counts(alpha, alpha, _some(totals, float(components.trials)))
        case models.Counts():  # of any total
            found = np.asarray(components.probabilities)
            return _counts(found, None, _some(totals, float(np.mean(components.total))))
    return [_unknown(components) for _ in range(int(np.prod(components.event_shape)))]


def gaussian_moments(components: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and covariance matrices of Gaussians of any kind."""
    means = np.asarray(components.mean, dtype=float)
    n = means.shape[-1]
    if isinstance(components, families.Gaussian):
        return means, np.asarray(components.covariance, dtype=float)
    variance = np.asarray(components.variance, dtype=float)
    variance = variance[:, None] if isinstance(components, families.SphericalGaussian) else variance
    return means, variance[..., None] * np.eye(n)


def _single(members: Any, place: int) -> Column:
    """Return one column of a family of single numbers, batched over components and columns."""

    def of(name: str) -> np.ndarray:
        return np.asarray(getattr(members, name), dtype=float)[:, place]

    match members:
        case families.Bernoulli():
            p = of("probability")
            return _codes(np.stack([1 - p, p], axis=1), _words("probability", p))
        case families.Categorical():
            p = of("probabilities")
            return _codes(p, [_shares(row, tuple(map(str, range(len(row))))) for row in p])
        case families.Poisson():
            rate = of("rate")
            return _whole(stats.poisson(rate[:, None]), _words("rate", rate), (rate, rate))
        case families.Exponential():
            rate = of("rate")
            return _smooth(stats.expon(scale=1 / rate[:, None]), _words("rate", rate), (0, np.inf), True)
        case families.Gamma():
            shape, rate = of("shape"), of("rate")
            words = [f"shape {number(a)}, rate {number(b)}" for a, b in zip(shape, rate, strict=True)]
            return _smooth(stats.gamma(shape[:, None], scale=1 / rate[:, None]), words, (0, np.inf), True)
        case families.Beta():
            a, b = of("alpha"), of("beta")
            words = [f"α {number(one)}, β {number(other)}" for one, other in zip(a, b, strict=True)]
            return _smooth(stats.beta(a[:, None], b[:, None]), words, (0, 1), True)
        case families.VonMises():
            mean, concentration = of("mean"), of("concentration")
            words = [f"{number(m)} rad, κ {number(c)}" for m, c in zip(mean, concentration, strict=True)]
            density = stats.vonmises(concentration[:, None], loc=mean[:, None]).pdf
            return Column(density, False, (-np.pi, np.pi), words, wraps=True)
    return _unknown(members)


def _unknown(members: Any) -> Column:
    """Return a column of a family of which nothing is known here but its name: it has no picture."""
    words = [type(members).__name__] * members.batch_shape[0]
    return Column(None, False, (0.0, 0.0), words)


def _normal(means: np.ndarray, spreads: np.ndarray) -> Column:
    words = [f"{number(m)} ± {number(s, 3)}" for m, s in zip(means, spreads, strict=True)]
    return _smooth(stats.norm(means[:, None], spreads[:, None]), words, (-np.inf, np.inf), True)


def _smooth(law: Any, words: list[str], support: tuple[float, float], sizes: bool = False) -> Column:
    """Return a column with a density, from a law of shape (K, 1)."""
    low = max(float(law.ppf(0.001).min()), support[0])
    high = min(float(law.ppf(0.999).max()), support[1])
    moments = (np.ravel(law.mean()), np.ravel(law.var())) if sizes else None
    return Column(law.pdf, False, (low, high), words, moments)


def _whole(law: Any, words: list[str], moments: tuple[np.ndarray, np.ndarray] | None) -> Column:
    span = float(law.ppf(0.001).min()), float(law.ppf(0.999).max())
    return Column(law.pmf, True, span, words, moments)


def _codes(shares: np.ndarray, words: list[str]) -> Column:
    return _listed(range(shares.shape[1]), shares, words)._replace(listed=True)


def _shares(row: np.ndarray, names: tuple[str, ...]) -> str:
    """Return the names of categories and their shares: all that there are, or the largest."""
    there = np.flatnonzero(row > 0)
    largest = np.sort(there[np.argsort(-row[there], kind="stable")[:_CATEGORIES]])
    told = ", ".join(f"{short(names[place])}: {number(row[place], 2)}" for place in largest)
    rest = len(there) - len(largest)
    return f"{told}, … {rest:,} more" if rest else told


def _listed(values: Any, shares: np.ndarray, words: list[str]) -> Column:
    places = {float(value): place for place, value in enumerate(values)}

    def density(x: np.ndarray) -> np.ndarray:
        known = [shares[:, places[value]] if value in places else np.zeros(len(shares)) for value in x.tolist()]
        return np.stack(known, axis=1)

    return Column(density, True, (min(places), max(places)), words)


def _counts(rates: np.ndarray, alpha: np.ndarray | None, totals: np.ndarray) -> list[Column]:
    """Return binomial columns of rows with these totals on average, or with `alpha` beta-binomial ones."""
    columns = []
    for place in range(rates.shape[1]):
        if alpha is None:
            law, name = stats.binom(totals, rates[:, place, None]), "probability"
        else:
            rest = alpha.sum(axis=1) - alpha[:, place]
            law, name = stats.betabinom(totals, alpha[:, place, None], rest[:, None]), "concentration"

        def density(x: np.ndarray, law: Any = law) -> np.ndarray:
            return np.stack([law.pmf(value).mean(axis=1) for value in x], axis=1)

        high = float(law.ppf(0.999).max())
        columns.append(Column(density, True, (0.0, high), _words(name, rates[:, place])))
    return columns


def _some(totals: np.ndarray | None, usual: float) -> np.ndarray:
    if totals is None or len(totals) == 0:
        return np.array([max(round(usual), 1.0)])
    return totals if len(totals) <= _TOTALS else np.quantile(totals, (np.arange(_TOTALS) + 0.5) / _TOTALS).round()


def _words(name: str, values: np.ndarray) -> list[str]:
    return [f"{name} {number(value)}" for value in values]
