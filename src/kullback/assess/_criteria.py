"""Criteria: what a model would lose on new rows, by the data it has seen.

WAIC and LOO are of the Bayes predictive, the mean over the posterior; what an estimator shows is the plug-in, one fit.
Of a model with too many components the first hardly rises, the second does: they are columns of their own.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from kullback.assess._diagnostics import diagnose
from kullback.assess._estimate import EstimatedCoefficient
from kullback.assess._estimated_coefficient import draw_posterior, estimate_from_draws
from kullback.assess._paired import Mean
from kullback.assess._posterior import as_batch, as_posterior, number_of_sequences
from kullback.assess._row_losses import RowLosses, as_weight, paired_difference
from kullback.assess._sampling import check_sampling
from kullback.assess._tempered import Draws, Posterior, Settings, row_log_likelihoods
from kullback.core import Batch, Model
from kullback.runtime import in_float64

#: Numbers of the table of draws by rows that are held at once.
_MOST_NUMBERS = 2**26
#: Inverse temperatures of a ladder are at most so much apart.
_RATIO = 1.6
#: Above this k̂ a row's leave-one-out loss is not known from the draws.
HIGH_PARETO_K = 0.7


@dataclasses.dataclass(frozen=True)
class LeaveOneOut(RowLosses):
    """Pareto-smoothed leave-one-out losses, and k̂ of each row."""

    pareto_k: Float[np.ndarray, " rows"] = dataclasses.field(default_factory=lambda: np.zeros(0))

    @property
    def high_pareto_k(self) -> float:
        """The share of rows whose loss is not known from the draws."""
        return float(np.mean(self.pareto_k > HIGH_PARETO_K))


def waic(log_likelihoods: Any, weight: Any = None) -> RowLosses:
    """Return the widely applicable information criterion of each row, in nats.

    It is −log of the mean likelihood over draws of the posterior, plus the variance of the log-likelihood.

    Parameters
    ----------
    log_likelihoods : array, (draws, rows)
        The log-likelihood of each row under each draw.
    weight : array, optional
        How often each row counts.

    """
    table = _table(log_likelihoods)
    predictive = logsumexp(table, axis=0) - np.log(len(table))
    variance = table.var(axis=0, ddof=1)
    weight = as_weight(weight, table.shape[1])
    return RowLosses(variance - predictive, weight, float(np.sum(weight * variance)))


def psis_loo(log_likelihoods: Any, weight: Any = None, relative_efficiency: float = 1.0) -> LeaveOneOut:
    """Return leave-one-out losses of the Bayes predictive by Pareto-smoothed importance sampling.

    Parameters
    ----------
    log_likelihoods : array, (draws, rows)
        The log-likelihood of each row under each draw.
    weight : array, optional
        How often each row counts.
    relative_efficiency : float
        Effective draws per draw.

    """
    check_sampling("arviz_stats")
    from arviz_stats.base import array_stats

    table = _table(log_likelihoods)
    # it is given log-likelihoods, and takes them for log ratios by itself: their negatives would be wrong unnoticed
    found, pareto_k = array_stats.psislw(table.T, r_eff=relative_efficiency)
    weights = np.asarray(found) - logsumexp(found, axis=1, keepdims=True)
    loss = -logsumexp(weights + table.T, axis=1)
    weight = as_weight(weight, table.shape[1])
    predictive = logsumexp(table, axis=0) - np.log(len(table))
    return LeaveOneOut(loss, weight, float(np.sum(weight * (loss + predictive))), np.asarray(pareto_k))


def _table(log_likelihoods: Any) -> Float[np.ndarray, "draws rows"]:
    table = np.asarray(log_likelihoods, np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(f"log_likelihoods has shape {table.shape}: it needs a row for each of two draws or more.")
    if not np.all(np.isfinite(table)):
        raise ValueError("log_likelihoods are not all finite: leave out rows that a draw cannot have.")
    return table


@dataclasses.dataclass(frozen=True)
class Criteria:
    """What a model loses, in nats per row, by several criteria; None where chains give no number.

    Of the plug-in: `training` (on the rows it has seen), `bic`/n. Of the Bayes predictive: `waic`, `loo`, `wbic`/n.
    `parameters` is d, beside `coefficient`: twice the estimated learning coefficient is what d should be replaced by.
    """

    rows: float
    parameters: int
    training: RowLosses
    bic: float
    waic: RowLosses | None
    loo: LeaveOneOut | None
    wbic: float | None
    coefficient: EstimatedCoefficient
    prior: str
    problem: str | None

    def __str__(self) -> str:
        """Return a small table."""
        lines = [f"n = {self.rows:g}, {self.parameters} parameters", "nats per row   plug-in     Bayes"]
        lines.append(f"on the data    {_cell(self.training.mean)}")
        lines.append(f"BIC, WBIC      {_cell(self.bic)}  {_cell(self.wbic)}")
        for name, found in (("WAIC", self.waic), ("LOO", self.loo)):
            lines.append(f"{name:<14} {'':>9}  {_cell(None if found is None else found.mean)}")
        if self.loo is not None:
            lines.append(f"k̂ above {HIGH_PARETO_K}: {100 * self.loo.high_pareto_k:.2g} % of the rows")
        lines.append(self.problem or str(self.coefficient))
        return "\n".join(lines)


def _cell(value: float | None) -> str:
    return f"{'–':>9}" if value is None else f"{value:9.4f}"


@in_float64
def criteria(
    model: Model,
    data: Any,
    *,
    log_prior: Callable[[Any], Any] | None = None,
    chains: int = 4,
    draws: int = 3000,
    warm_up: int = 800,
    leapfrogs: int = 8,
    seed: int = 0,
) -> Criteria:
    """Return the criteria of a fitted model: draws at β = 1 for WAIC and LOO, at 1/log n for WBIC and 2λ̂.

    Both are ends of one ladder of temperatures, whose chains change places.

    Parameters
    ----------
    model : Model
        A fitted model with free coordinates.
    data : Batch or array
        The rows it was fitted to. Where they are sequences, the unit is a sequence; one series alone is refused: its
        rows foretell each other.
    log_prior : callable, optional
        The log density of a prior, as a function of the model; by default weak ones from the data's scale.
    chains, draws, warm_up, leapfrogs, seed : int
        As for `estimate_learning_coefficient`.

    """
    batch = as_batch(data)
    refuse_one_series(batch)
    posterior = as_posterior(model, batch, log_prior=log_prior)
    settings = Settings(chains, draws, warm_up, leapfrogs)
    weight, rows = np.asarray(posterior.weight, np.float64), posterior.rows
    fitted = -np.asarray(posterior.log_likelihoods(jnp.asarray(posterior.start), posterior.data))
    training = RowLosses(np.where(weight > 0, fitted, 0.0), weight)
    size = len(posterior.start)
    bic = training.mean + size * np.log(rows) / (2 * rows)
    betas = _ladder(rows)
    found = draw_posterior(posterior, betas, settings, seed)
    coefficient = estimate_from_draws(posterior, found[0], betas[0])
    wbic = None if coefficient.wbic is None else coefficient.wbic / rows
    bayes = _bayes_losses(posterior, found[-1])
    problem = bayes[2] or coefficient.problem
    return Criteria(rows, size, training, float(bic), *bayes[:2], wbic, coefficient, posterior.prior, problem)


def _ladder(rows: float) -> list[float]:
    """Return inverse temperatures from 1/log n to 1, so that neighbors overlap."""
    if rows < 3:
        raise ValueError(f"the data has {rows:g} rows or sequences: criteria need three or more.")
    warmest = 1 / np.log(rows)
    return np.geomspace(warmest, 1.0, 2 + int(np.log(1 / warmest) / np.log(_RATIO))).tolist()


def _bayes_losses(posterior: Posterior, found: Draws) -> tuple[RowLosses | None, LeaveOneOut | None, str | None]:
    """Return WAIC and LOO, or the sentence why there are none."""
    diagnosed = diagnose(np.asarray(found.losses))
    if diagnosed.problem is not None:
        return None, None, diagnosed.problem
    positions = found.positions.reshape(-1, found.positions.shape[-1])
    seen = np.asarray(posterior.weight) > 0
    thin = -(-len(positions) * len(seen) // _MOST_NUMBERS)
    drawn = row_log_likelihoods(positions[::thin], posterior.data, log_likelihoods=posterior.log_likelihoods)
    table, weight = np.asarray(drawn)[:, seen], np.asarray(posterior.weight, np.float64)[seen]
    efficiency = min(diagnosed.effective_draws / len(positions), 1.0)
    return waic(table, weight), psis_loo(table, weight, efficiency), None


def refuse_one_series(batch: Batch) -> None:
    """Raise where the rows are one series: leaving single rows out of it says nothing of the future."""
    if number_of_sequences(batch) == 1:
        raise ValueError(
            "the data is one series: a row that is left out is foretold by those after it, so ask prequential_loss or "
            "leave_future_out, or give several sequences."
        )


def compare_criteria(candidates: Mapping[str, Criteria], criterion: str = "waic") -> dict[str, Mean]:
    """Return what each candidate loses more than the best one per row, paired by row, with the standard error.

    `criterion` is 'training', 'waic' or 'loo'. Candidates must be of the same rows.
    """
    if criterion not in ("training", "waic", "loo"):
        raise ValueError(f"criterion is {criterion!r}: by row there are 'training', 'waic' and 'loo'.")
    losses = {name: getattr(each, criterion) for name, each in candidates.items()}
    missing = [name for name, each in losses.items() if each is None]
    if missing or not losses:
        which = f"{missing[0]} has no {criterion}: {candidates[missing[0]].problem}" if missing else "nothing is given."
        raise ValueError(f"there is nothing to compare: {which}")
    best = min(losses, key=lambda name: losses[name].mean)
    reference = losses[best]
    return {name: paired_difference(each.rows, reference.rows, reference.weight) for name, each in losses.items()}
