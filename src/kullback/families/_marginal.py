"""One column of several members, as a picture draws it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: What lies below and above the span of a column.
TAIL = 0.001
#: Rows of counts have totals of their own; of more totals than this some stand for all.
_TOTALS = 40


class Marginal(NamedTuple):
    """One column of K members.

    `density` takes points to an array of shape (K, points): a density, or the probabilities of whole numbers where the
    column is `discrete`. None says that the column cannot be drawn. `words` is a format for the `parameters`, each of
    shape (K,): "shape {shape}, rate {rate}"; a number behind a colon is how many digits are shown.
    """

    density: Callable[[NDArray[Any]], NDArray[Any]] | None
    words: str
    parameters: Mapping[str, NDArray[Any]]
    span: tuple[float, float] = (0.0, 0.0)
    discrete: bool = False
    angle: bool = False  # in radians, in a span of (−π, π)
    codes: int = 0  # how many categories the values 0, 1, … stand for

    @classmethod
    def of_law(cls, law: Any, words: str, parameters: Mapping[str, NDArray[Any]], discrete: bool = False) -> "Marginal":
        """Return the column of a frozen law of scipy whose parameters have shape (K, 1)."""
        span = float(law.ppf(TAIL).min()), float(law.ppf(1 - TAIL).max())
        return cls(law.pmf if discrete else law.pdf, words, parameters, span, discrete)

    @classmethod
    def of_table(
        cls, values: Sequence[float], shares: NDArray[Any], words: str, parameters: Mapping[str, NDArray[Any]]
    ) -> "Marginal":
        """Return the column of a few values, in ascending order, with probabilities of shape (K, values)."""
        known = np.asarray(values, dtype=float)

        def density(x: NDArray[Any]) -> NDArray[Any]:
            place = np.minimum(np.searchsorted(known, x), len(known) - 1)
            return np.where(known[place] == x, shares[:, place], 0.0)

        return cls(density, words, parameters, (float(known[0]), float(known[-1])), discrete=True)


def scipy_law(name: str, *parameters: Any, **more: Any) -> Any:
    """Return a frozen law of `scipy.stats`, which is imported here: it takes long, and only pictures need it."""
    from scipy import stats

    return getattr(stats, name)(*map(np.asarray, parameters), **more)


def normal_marginals(means: Any, variances: Any) -> list[Marginal]:
    """Return normal columns with means and variances of shape (K, n)."""
    means, deviations = np.asarray(means, dtype=float), np.sqrt(np.asarray(variances, dtype=float))
    return [
        Marginal.of_law(
            scipy_law("norm", mean[:, None], deviation[:, None]),
            "{mean} ± {deviation:3}",
            {"mean": mean, "deviation": deviation},
        )
        for mean, deviation in zip(means.T, np.broadcast_to(deviations, means.shape).T, strict=True)
    ]


def count_marginals(law: str, columns: Sequence[Sequence[NDArray[Any]]], totals: Any, name: str) -> list[Marginal]:
    """Return columns of counts, the average over rows with these totals.

    Each column has what the law of scipy takes after the total, of shape (K,); the first of these is called `name`.
    """
    found = []
    for parameters in columns:
        frozen = scipy_law(law, totals, *(each[:, None] for each in parameters))

        def density(x: NDArray[Any], frozen: Any = frozen) -> NDArray[Any]:
            return np.stack([frozen.pmf(value).mean(axis=1) for value in x], axis=1)

        span = (0.0, float(frozen.ppf(1 - TAIL).max()))
        found.append(Marginal(density, f"{name} {{{name}}}", {name: parameters[0]}, span, discrete=True))
    return found


def typical_totals(totals: NDArray[Any] | None, usual: float) -> NDArray[Any]:
    """Return the totals of rows, at most 40 of them that stand for all, or the usual one where there are none."""
    if totals is None or len(totals) == 0:
        return np.array([max(round(usual), 1.0)])
    return totals if len(totals) <= _TOTALS else np.quantile(totals, (np.arange(_TOTALS) + 0.5) / _TOTALS).round()
