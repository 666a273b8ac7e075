"""Training and generalization errors where the truth is known: for theory, and for tests of what estimates them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from kullback.core import Estimate
from kullback.runtime import in_float64

#: Log ratios that are held at once.
_BLOCK = 2**22

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KnownTruth:
    """A model p(x | w) with the prior φ(w), and the truth q(x) that its data comes from.

    Rows are an array, or a tuple or dict of arrays, along the first axis. Parameters are arrays whose last axis is that
    of one w; the axes before it are points, draws or a grid.

    Parameters
    ----------
    log_p : callable
        log p(x | w) of each row, in terms of JAX: log_p(w, rows) has the shape (rows,).
    log_q : callable
        log q(x) of each row.
    log_prior : callable, optional
        log φ(w); the generalized log-likelihood needs it where a_n is not 0.

    Examples
    --------
    The mean w of N(w, 1), with the truth w = 0:

    >>> from kullback.assess import KnownTruth
    >>> problem = KnownTruth(lambda w, x: -0.5 * (x - w[0]) ** 2, lambda x: -0.5 * x**2)
    >>> x = np.random.default_rng(0).standard_normal(100_000)
    >>> problem.plug_in_error([0.1], x)  # K = w²/2
    Estimate(value=0.0050..., standard_error=0.0003...)

    """

    log_p: Callable[[Any, Any], Any]
    log_q: Callable[[Any], Any]
    log_prior: Callable[[Any], Any] | None = None

    @in_float64
    def training_error(self, w: ArrayLike, rows: Any) -> Floats:
        """Return K_n(w), the mean over rows of log q(x)/p(x | w). Its expectation is the relative entropy K(w)."""
        return self._log_ratios(w, rows).mean(axis=-1)

    @in_float64
    def generalized_log_likelihood(self, w: ArrayLike, rows: Any, a_n: float = 0.0) -> Floats:
        """Return Σ log p(x | w) + a_n·log φ(w): a_n = 0 is maximum likelihood, 1 the maximum of the posterior."""
        return np.sum(self._log_q(rows)) - self.generalized_ratio(w, rows, a_n)

    @in_float64
    def generalized_ratio(self, w: ArrayLike, rows: Any, a_n: float = 0.0) -> Floats:
        """Return R_n(w) = n·K_n(w) − a_n·log φ(w), which an estimate of w makes least."""
        total = self._log_ratios(w, rows).sum(axis=-1)
        if not np.isfinite(a_n):
            raise ValueError(f"a_n is {a_n}: it must be finite.")
        if a_n == 0:
            return total
        if self.log_prior is None:
            raise ValueError(f"a_n is {a_n} but log_prior is None: give KnownTruth the log density of the prior.")
        points, shape = _points(w)
        return total - a_n * np.asarray(jax.vmap(self.log_prior)(points), float).reshape(shape)

    @in_float64
    def log_evidence(self, w: ArrayLike, rows: Any, log_weights: ArrayLike | None = None) -> float:
        """Return log Z⁰_n = log ∫ φ(w)·e^{−n·K_n(w)} dw, over draws from the prior or a grid with its log weights."""
        return float(logsumexp(self._log_posterior(w, rows, log_weights)))

    @in_float64
    def posterior_log_weights(self, w: ArrayLike, rows: Any, log_weights: ArrayLike | None = None) -> Floats:
        """Return log weights of the posterior, normalized, over draws from the prior or a grid with its log weights."""
        joint = self._log_posterior(w, rows, log_weights)
        return joint - logsumexp(joint)

    @in_float64
    def plug_in_error(self, w: ArrayLike, fresh: Any, row_weights: ArrayLike | None = None) -> Estimate:
        """Return K(w), at an estimate the generalization error R_g of maximum likelihood.

        `fresh` are rows from q that the estimate has not seen; or nodes of a quadrature with its `row_weights`, which
        sum to 1, and then there is no standard error.
        """
        return _mean(self._log_ratios(w, fresh), row_weights)

    @in_float64
    def bayes_error(
        self,
        w: ArrayLike,
        fresh: Any,
        log_weights: ArrayLike | None = None,
        row_weights: ArrayLike | None = None,
    ) -> Estimate:
        """Return B_g, the relative entropy from q to the predictive density p*(x) = ∫ p(x | w) dposterior(w).

        `w` has the shape (draws, d): draws from the posterior, or points with its log weights. `fresh` and
        `row_weights` are as for `plug_in_error`. The standard error is that of the rows; that of draws is not in it.
        """
        ratios = self._log_ratios(w, fresh)
        weights = _log_weights(log_weights, ratios)
        return _mean(-logsumexp(weights[:, None] - ratios, axis=0), row_weights)

    def _log_posterior(self, w: ArrayLike, rows: Any, log_weights: ArrayLike | None) -> Floats:
        ratios = self._log_ratios(w, rows)
        return _log_weights(log_weights, ratios) - ratios.sum(axis=-1)

    def _log_q(self, rows: Any) -> Floats:
        count = _count(rows)
        log_q = np.asarray(self.log_q(rows), float)
        if log_q.shape != (count,):
            raise ValueError(
                f"log_q has answered with shape {log_q.shape} for {count} rows: it must give one number each."
            )
        if not np.all(np.isfinite(log_q)):
            raise ValueError("log_q is not finite at a row: rows must come from q.")
        return log_q

    def _log_ratios(self, w: ArrayLike, rows: Any) -> Floats:
        """Return log q(x)/p(x | w), of shape (…, rows)."""
        log_q = self._log_q(rows)
        points, shape = _points(w)
        step = max(1, _BLOCK // len(log_q))
        log_p = [
            np.asarray(jax.vmap(self.log_p, (0, None))(points[i : i + step], rows), float)
            for i in range(0, len(points), step)
        ]
        if log_p[0].shape[1:] != log_q.shape:
            raise ValueError(
                f"log_p has answered with shape {log_p[0].shape[1:]} for {len(log_q)} rows: "
                "it must give one number each."
            )
        ratios = log_q - np.concatenate(log_p)
        if np.isnan(ratios).any():
            at = points[np.isnan(ratios).any(axis=1)][0]
            raise ValueError(f"log_p is NaN at w = {at.tolist()}: it must be a number for every row.")
        return ratios.reshape(*shape, len(log_q))


def _points(w: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
    """Return parameters as (points, d), and the axes that the points had."""
    values = np.asarray(w, float)
    if values.ndim == 0 or values.size == 0 or not np.all(np.isfinite(values)):
        raise ValueError("w must be finite numbers, with the coordinates of one parameter along the last axis.")
    return values.reshape(-1, values.shape[-1]), values.shape[:-1]


def _count(rows: Any) -> int:
    counts = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves(rows)}
    if len(counts) != 1 or 0 in counts:
        raise ValueError("rows must be arrays with one and the same number of rows, 1 or more, along their first axis.")
    return counts.pop()


def _log_weights(log_weights: ArrayLike | None, ratios: Floats) -> Floats:
    """Return log weights of draws: equal ones where none are given."""
    if ratios.ndim != 2:
        raise ValueError(f"w must have the shape (draws, d): it stands for a distribution, and has {ratios.ndim} axes.")
    if log_weights is None:
        return np.full(len(ratios), -np.log(len(ratios)))
    weights = np.asarray(log_weights, float)
    if weights.shape != ratios.shape[:1] or np.isnan(weights).any() or abs(logsumexp(weights)) > 1e-6:
        raise ValueError("log_weights must have one entry for each draw of w, and their exponentials must sum to 1.")
    return weights


def _mean(values: Any, row_weights: ArrayLike | None) -> Estimate:
    """Return the mean over rows, the last axis."""
    count = values.shape[-1]
    if row_weights is not None:
        weights = np.asarray(row_weights, float)
        if weights.shape != (count,) or not abs(weights.sum() - 1) < 1e-6:
            raise ValueError("row_weights must have one entry for each row, and sum to 1.")
        return Estimate(values @ weights, 0 * values.sum(axis=-1))
    if count < 2:
        raise ValueError("fresh has one row: a standard error needs 2 or more.")
    return Estimate(values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(count))
