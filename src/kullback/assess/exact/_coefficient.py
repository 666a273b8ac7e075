"""A learning coefficient: what singular learning theory says of evidence and generalization."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kullback.assess.exact._newton import NewtonCertificate
from kullback.assess.exact._rational import as_fraction


@dataclass(frozen=True)
class ChartCertificate:
    """The first chart that attains the coefficient with its multiplicity, and the coordinates that do."""

    chart: int
    coordinates: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Coefficient:
    """The real log canonical threshold λ of K with its multiplicity m, exactly.

    With the prior φ and t → ∞, −log ∫ φ e^{−tK} dw = λ log t − (m − 1) log log t + O(1). In a regular model with d
    parameters λ = d/2 and m = 1.

    Attributes
    ----------
    value : Fraction
        λ.
    multiplicity : int
        m.
    certificate : NewtonCertificate, ChartCertificate or str
        Why: numbers that can be checked, or the theorem and the case of it.
    at : str
        Where K vanishes: the coefficient is that of a neighborhood. The global one is the least over the zeros of K
        that the prior can reach.

    """

    value: Fraction
    multiplicity: int
    certificate: NewtonCertificate | ChartCertificate | str
    at: str

    def __repr__(self) -> str:
        doubt = ""
        if isinstance(self.certificate, NewtonCertificate) and not self.certificate.proved:
            doubt = ", nondegenerate by search only"
        return f"Coefficient({self.value}, multiplicity={self.multiplicity}, at={self.at!r}{doubt})"

    @classmethod
    def of_charts(cls, k: ArrayLike, h: ArrayLike) -> "Coefficient":
        """Return the coefficient of a resolution: in each chart K = u^(2k) and φ·|Jacobian| = u^h, up to units.

        λ is the least (h_i + 1)/(2·k_i) over charts and coordinates with k_i > 0, and m the most coordinates of one
        chart that attain it.

        Parameters
        ----------
        k, h : array-like of shape (d,) or (charts, d)
            Whole numbers ≥ 0, and rational numbers > −1.

        Examples
        --------
        >>> Coefficient.of_charts(k=[1, 1], h=[0, 0])
        Coefficient(1/2, multiplicity=2, at='the zeros of K in the charts')

        """
        candidates = []
        for chart, (powers, jacobian) in enumerate(check_charts(k, h)):
            poles = {i: (b + 1) / (2 * a) for i, (a, b) in enumerate(zip(powers, jacobian, strict=True)) if a}
            for value in set(poles.values()):
                coordinates = tuple(i for i, pole in poles.items() if pole == value)
                candidates.append((value, -len(coordinates), chart, coordinates))
        if not candidates:
            raise ValueError("k is 0 in all charts: K vanishes nowhere, and has no learning coefficient.")
        value, multiplicity, chart, coordinates = min(candidates)
        return cls(value, -multiplicity, ChartCertificate(chart, coordinates), "the zeros of K in the charts")

    def log_evidence(self, n: ArrayLike) -> Any:
        """Return −λ log n + (m − 1) log log n: log Z⁰_n up to a term that stays bounded in probability.

        >>> round(float(Coefficient.of_charts([1, 1], [0, 0]).log_evidence(1_000)), 3)
        -1.521
        """
        n = _check_count(n, 2)
        return -float(self.value) * np.log(n) + (self.multiplicity - 1) * np.log(np.log(n))

    def bayes_error(self, n: ArrayLike) -> Any:
        """Return λ/n: to first order, the expected relative entropy from the truth to the Bayes predictive density.

        >>> float(Coefficient.of_charts([1, 1], [0, 0]).bayes_error(1_000))
        0.0005
        """
        return float(self.value) / _check_count(n, 1)


def _check_count(n: ArrayLike, least: int) -> np.ndarray:
    values = np.asarray(n, float)
    bad = ~((values >= least) & np.isfinite(values))
    if bad.any():
        raise ValueError(f"n is {values[bad].flat[0]:g}: it must be {least} or more data points.")
    return values


def check_charts(k: ArrayLike, h: ArrayLike) -> list[tuple[list[int], list[Fraction]]]:
    """Return (k, h) of each chart as exact numbers, or raise."""
    powers, jacobians = _table("k", k), _table("h", h)
    if [len(row) for row in powers] != [len(row) for row in jacobians]:
        raise ValueError("k and h have different shapes: give both for each coordinate of each chart.")
    charts = []
    for a, b in zip(powers, jacobians, strict=True):
        exact_k = [as_fraction("k", value) for value in a]
        exact_h = [as_fraction("h", value) for value in b]
        for value in exact_k:
            if value < 0 or value.denominator != 1:
                raise ValueError(f"k has the entry {value}: it must be a whole number, 0 or more, for K = u^(2k).")
        for value in exact_h:
            if value <= -1:
                raise ValueError(f"h has the entry {value}: it must be above −1, or the prior has no integral.")
        charts.append(([int(value) for value in exact_k], exact_h))
    return charts


def _table(name: str, value: Any) -> list[Sequence[Any]]:
    rows: list[Any] = list(value) if np.iterable(value) else []
    if rows and not any(np.iterable(row) for row in rows):
        rows = [rows]
    if not rows or len({np.shape(row) for row in rows}) != 1 or np.ndim(rows[0]) != 1 or not len(rows[0]):
        raise ValueError(f"{name} must have one row of numbers for each chart, all of one length.")
    return rows
