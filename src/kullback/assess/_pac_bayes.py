"""PAC-Bayes: how often a network with random weights errs on rows that nobody has seen, at most.

With probability 1 − δ over n rows, for all Gaussians Q over the weights at once, whatever they have learned from these
rows: kl(L̂(Q), L(Q)) ≤ (KL(Q ‖ P) + log(2√n/δ))/n, where the prior P has not seen them. Here Q is what makes the bound
least: the gradient goes down the bound itself, with a loss in place of errors that has one.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from kullback.assess._concentration import kl_inverse
from kullback.assess._interval import check_delta, check_entries, check_rows
from kullback.assess._prior_rows import check_apart, check_classes
from kullback.assess._random_weights import GaussianWeights
from kullback.core import Batch, Fixed, trainable_leaves
from kullback.learning import LIMIT, Epochs, Gradient, Loss, Minibatches, Optimizer, begin, decaying_adam, fit
from kullback.runtime import as_numpy, computing, filter_jit

#: Probabilities below this count as this: the loss that is learned from lies in [0, 1].
_LEAST_PROBABILITY = 1e-4
#: The share of delta for errors that are counted with drawn weights; the rest is for the rows.
_DRAWN_SHARE = 0.2
#: Rows of a block when errors are counted.
_BLOCK = 2_000


class PacBayesBound(NamedTuple):
    """A bound of the error rate of networks that are drawn from `posterior`, one for every row.

    Attributes
    ----------
    bound : float
        The expected error rate is at most this, with probability 1 − delta over rows and draws.
    pinsker : float
        The looser bound of (2.115), by Pinsker's inequality.
    error : float
        The share of errors among `draws` drawn answers to the rows.
    error_bound : float
        At most this is the rate over all draws: with it the bound is computed.
    relative_entropy : float
        KL(posterior ‖ prior), in nats.
    n, draws : int
        Rows that the bound is of, and answers that were drawn for them.
    delta : float
        The probability that it does not hold; a fifth of it is that of the draws.
    posterior, prior : GaussianWeights
        Networks with random weights.

    """

    bound: float
    pinsker: float
    error: float
    error_bound: float
    relative_entropy: float
    n: int
    draws: int
    delta: float
    posterior: GaussianWeights
    prior: GaussianWeights

    def error_rate(self, X: ArrayLike, y: ArrayLike, *, draws: int = 1, seed: int = 0) -> float:
        """Return the share of errors on other rows, each answered by networks of its own."""
        X, y = check_classes("X", X, y)
        return _count_errors(self.posterior, X, y, draws, seed) / (len(X) * draws)


def pac_bayes_kl(error: float, relative_entropy: float, n: int, delta: float = 0.05) -> float:
    """Return kl_inverse(error, (KL + log(2√n/δ))/n), at most which is the expected error rate under a posterior.

    `error` is the rate on n rows, on average over the posterior, and `relative_entropy` its KL to a prior that has not
    seen them. It holds for all posteriors at once with probability 1 − delta.

    >>> round(pac_bayes_kl(0.07, 100.0, 30_000), 4)
    0.0938
    """
    check_delta("delta", delta)
    check_entries("relative_entropy", relative_entropy, 0.0)
    check_rows("n", n, 1)
    return float(kl_inverse(error, (relative_entropy + math.log(2 * math.sqrt(n) / delta)) / n))


def pac_bayes_bound(
    network: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    prior_rows: tuple[ArrayLike, ArrayLike] | None = None,
    delta: float = 0.05,
    prior_scale: float = 0.03,
    epochs: int = 12,
    prior_epochs: int = 12,
    batch_rows: int = 256,
    learning_rate: float = 2e-3,
    draws: int = 10,
    seed: int = 0,
) -> PacBayesBound:
    """Learn Gaussian weights for a network by the bound of its error rate, and return both.

    Parameters
    ----------
    network : equinox.Module
        A function of a row that answers with a logit of class 1, or with one logit for each class. Its weights are
        where the prior begins, so it must not have learned from the rows X.
    X, y : array_like
        The rows that the bound is of, and their classes 0, 1, …
    prior_rows : tuple of array_like, optional
        Other rows, (X, y), for the prior to learn from: the bound gets better for most data if half of the rows are
        given for that. No row may be on both sides.
    delta : float
        The probability that the bound does not hold.
    prior_scale : float
        The standard deviation of the weights under the prior.
    epochs, prior_epochs : int
        Passes through the rows, and through those of the prior.
    batch_rows, learning_rate : int, float
        Of the steps by Adam.
    draws : int
        Answers that are drawn for every row, to count errors.
    seed : int
        Of the order of the rows, and of all draws.

    Returns
    -------
    PacBayesBound

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2_000, 2)).astype(np.float32)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> found = pac_bayes_bound(eqx.nn.Linear(2, 1, key=jax.random.key(0)), X, y, prior_scale=2.0, learning_rate=0.2)
    >>> found.error < found.bound < 0.2
    True

    """
    check_delta("delta", delta)
    _check_counts(epochs=epochs, prior_epochs=prior_epochs, batch_rows=batch_rows, draws=draws)
    for name, number in (("prior_scale", prior_scale), ("learning_rate", learning_rate)):
        if not (np.isfinite(number) and number > 0):
            raise ValueError(f"{name} is {number}: it must be a positive number.")
    X, y = check_classes("X", X, y)
    with computing(32):
        prior = GaussianWeights.around(jax.tree.map(_as_single, network), prior_scale)
        _check_network(prior, X, y)
        if prior_rows is not None:
            others = check_classes("prior_rows", *prior_rows)
            check_apart(X, y, *others)
            noisy = _NoisyNetwork(prior.mean, Fixed(prior.log_scale))
            learned = _learn(noisy, _noisy_loss, *others, prior_epochs, batch_rows, learning_rate, seed)
            prior = GaussianWeights(learned.mean, prior.log_scale)
        numbers = np.array([len(X), _log_term(len(X), delta)], np.float32)
        begun = _Bounded(prior, Fixed(prior), Fixed(numbers))
        posterior = _learn(begun, _quadratic_bound, X, y, epochs, batch_rows, learning_rate, seed + 1).posterior
    return _report(as_numpy(posterior), as_numpy(prior), X, y, delta, draws, seed + 2)


# --- learning -----------------------------------------------------------------------------------------------------


class _NoisyNetwork(eqx.Module):
    """A network that learns under the noise of a prior: what is left of it when weights waver."""

    mean: Any
    log_scale: Fixed

    def trainable(self) -> Any:
        return trainable_leaves(self)


class _Bounded(eqx.Module):
    """A posterior, its prior, and the number of rows and log(2√n/δ)."""

    posterior: GaussianWeights
    prior: Fixed
    numbers: Fixed

    def trainable(self) -> Any:
        return trainable_leaves(self)


def _noisy_loss(model: Any, batch: Batch, memory: Any, key: Any) -> Loss:
    return Loss(_bounded_loss(GaussianWeights(model.mean, model.log_scale.value), batch, key), memory)


def _quadratic_bound(model: Any, batch: Batch, memory: Any, key: Any) -> Loss:
    """Return (√(L̂ + c) + √c)², c = (KL + log(2√n/δ))/2n, which bounds the loss as kl_inverse(L̂, 2c) does."""
    n, log_term = model.numbers.value
    c = (model.posterior.relative_entropy(model.prior.value) + log_term) / (2 * n)
    loss = _bounded_loss(model.posterior, batch, key)
    return Loss(jnp.square(jnp.sqrt(loss + c) + jnp.sqrt(c)), memory)


def _bounded_loss(weights: GaussianWeights, batch: Batch, key: Any) -> Any:
    """Return the mean of −log p(class), cut off and divided so that it lies in [0, 1]."""
    log_prob = _log_prob(weights.answer(key, jnp.asarray(batch.inputs)), jnp.asarray(batch.values)[:, 0])
    most = -math.log(_LEAST_PROBABILITY)
    weight = jnp.asarray(batch.weight)
    return jnp.sum(weight * jnp.minimum(-log_prob, most)) / (most * jnp.sum(weight))


def _log_prob(answers: Any, y: Any) -> Any:
    """Return the log-probability of classes under logits: of class 1, or one for each class."""
    if answers.ndim == 1 or answers.shape[1] == 1:
        return jax.nn.log_sigmoid(jnp.where(y == 1, 1, -1) * answers.reshape(-1))
    return jnp.take_along_axis(jax.nn.log_softmax(answers), y[:, None], axis=1)[:, 0]


def _learn(
    model: Any, objective: Any, X: np.ndarray, y: np.ndarray, epochs: int, batch_rows: int, rate: float, seed: int
) -> Any:
    """Return the model after so many passes through the rows."""
    data = Minibatches(lambda rows: Batch(y[rows, None], inputs=X[rows]), len(X), batch_rows, seed)
    steps = epochs * -(-len(X) // batch_rows)
    optimizer = Optimizer(decaying_adam, learning_rate=rate, delay=max(steps / 4, 1), power=1.0)
    learner: Any = Gradient(objective, optimizer)
    rule = Epochs(epochs, keeps_best=False)
    place, reason = fit(learner, begin(learner, model, data, rule, seed), data, rule, seed=seed)
    if reason != LIMIT:  # the passes that were asked for
        raise ValueError(f"the bound was not learned: {reason}")
    return place.model


# --- the bound ----------------------------------------------------------------------------------------------------


def _report(
    posterior: GaussianWeights,
    prior: GaussianWeights,
    X: np.ndarray,
    y: np.ndarray,
    delta: float,
    draws: int,
    seed: int,
) -> PacBayesBound:
    n, count = len(X), len(X) * draws
    error = _count_errors(posterior, X, y, draws, seed) / count
    with computing():
        doubled = [jax.tree.map(_as_double, weights) for weights in (posterior, prior)]
        divergence = float(doubled[0].relative_entropy(doubled[1]))
    # answers of all rows are independent coins, of different rates: kl bounds their mean as it does for equal ones
    above = float(kl_inverse(error, math.log(1 / (_DRAWN_SHARE * delta)) / count))
    bound = pac_bayes_kl(above, divergence, n, (1 - _DRAWN_SHARE) * delta)
    pinsker = min(above + math.sqrt((divergence + _log_term(n, delta)) / (2 * n)), 1.0)
    return PacBayesBound(bound, pinsker, error, above, divergence, n, count, delta, posterior, prior)


def _log_term(n: int, delta: float) -> float:
    return math.log(2 * math.sqrt(n) / ((1 - _DRAWN_SHARE) * delta))


def _as_single(leaf: Any) -> Any:
    return jnp.asarray(leaf, np.float32) if eqx.is_inexact_array(leaf) else leaf


def _as_double(leaf: Any) -> Any:
    return np.asarray(leaf, np.float64) if eqx.is_inexact_array(leaf) else leaf


@filter_jit
def _errors(weights: GaussianWeights, key: Any, X: Any, y: Any, counted: Any) -> Any:
    answers = weights.answer(key, X)
    single = answers.ndim == 1 or answers.shape[1] == 1
    found = jnp.where(answers.reshape(-1) > 0, 1, 0) if single else jnp.argmax(answers, axis=1)
    return jnp.sum((found != y) & counted)


def _count_errors(weights: GaussianWeights, X: np.ndarray, y: np.ndarray, draws: int, seed: int) -> int:
    """Return how many of the drawn answers are wrong; each has weights of its own."""
    total, block = 0, min(_BLOCK, len(X))
    with computing(32):
        for place, first in enumerate(range(0, len(X), block)):
            rows = np.arange(first, first + block)
            counted, rows = rows < len(X), np.minimum(rows, len(X) - 1)
            for draw in range(draws):
                key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), place), draw)
                total += int(_errors(weights, key, X[rows], y[rows], counted))
    return total


# --- checks -------------------------------------------------------------------------------------------------------


def _check_network(weights: GaussianWeights, X: np.ndarray, y: np.ndarray) -> None:
    """Raise unless the network answers to a row with logits of all classes."""
    shape = jax.eval_shape(weights.answer, jax.random.key(0), X[:2]).shape
    logits = 1 if len(shape) == 1 else shape[1] if len(shape) == 2 else None
    if logits is None or y.max() >= max(logits, 2):
        raise ValueError(
            f"network answers with shape {shape[1:]} to a row and y has classes up to {y.max()}: "
            "it must answer with one logit for each class, or with that of class 1 where there are two."
        )


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not (float(count).is_integer() and count >= 1):
            raise ValueError(f"{name} is {count}: it must be a whole number, at least 1.")
