"""How much a memory costs for each step of a true process, and where its online rule leads, exactly."""

from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import xlogy

from kullback.assess._chain import Chain, Tables, check_discount, tables_of
from kullback.models import FinitePair, FiniteProcess, MutableProcess
from kullback.runtime import as_numpy, computing

ProcessT = TypeVar("ProcessT", bound=FinitePair | MutableProcess)


class Rate(NamedTuple):
    """The relative entropy of a memory and the truth from p, in nats for each step.

    `value` is V = J − h ≥ 0, `cross` is J = E[log q(z' | z, x) − log p(z', x' | z, x)], and `entropy` is h, the entropy
    rate of the symbols.
    """

    value: float
    cross: float
    entropy: float


class RateParts(NamedTuple):
    """The two parts of V, for p that does not entangle the next memory with the next symbol.

    `exploitation` is E[D(q(z' | z, x), p(z' | z, x))]: how far the memory is from what is expected of it.
    `exploration` is E[−log p(x' | z, x)] − h: how much worse the prediction is than the best.
    """

    exploitation: float
    exploration: float


def rate(truth: FiniteProcess, process: FinitePair | MutableProcess) -> Rate:
    """Return lim (1/T)·D(q(z, x), p(z, x)) over T steps of the truth, exactly.

    The slides' form D(q, p) of (z', x') given (z, x) is this where symbols by themselves are a Markov chain, and less
    elsewhere; this is right for both. It is infinite where p gives no probability to what happens.

    Parameters
    ----------
    truth : FiniteProcess
        What makes the symbols.
    process : MutableProcess or FinitePair
        The memory and its model, of finitely many states: a table, or a network of few units.

    Examples
    --------
    >>> from kullback.models import TabularMemory, golden_mean
    >>> idle = TabularMemory(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    >>> round(rate(golden_mean(), idle).value, 4)  # log 2 − h
    0.231

    """
    tables = tables_of(process)
    chain = Chain.of(truth, tables.memory)
    cross = float((chain.flow * _cost(chain, tables)).sum()) if _is_finite(chain, tables) else np.inf
    return Rate(cross - truth.entropy_rate, cross, truth.entropy_rate)


def rate_parts(truth: FiniteProcess, process: FinitePair | MutableProcess) -> RateParts:
    """Return exploitation and exploration apart; they add up to `rate(truth, process).value`.

    They are apart only where p(z', x' | z, x) = p(z' | z, x)·p(x' | z, x); an entangled p is refused.
    """
    tables = tables_of(process)
    if not tables.is_independent:
        raise ValueError(
            "p entangles the next memory with the next symbol, so exploitation and exploration are not apart: ask for "
            "the rate, or let p(z', x' | z, x) be a product."
        )
    chain = Chain.of(truth, tables.memory)
    moves = chain.by_move(chain.flow, tables.memory.shape[:2])
    by_memory, by_symbol = moves.sum(axis=3), moves.sum(axis=2)
    exploitation = _excess(by_memory, tables.memory, tables.generative.sum(axis=3))
    return RateParts(exploitation, -float(xlogy(by_symbol, tables.generative.sum(axis=2)).sum()) - truth.entropy_rate)


def rate_gradient(truth: FiniteProcess, process: ProcessT) -> ProcessT:
    """Return the gradient of the rate in the parameters of the process, in its own shape.

    Of a `FinitePair` the parameters are logits, whose softmax its tables are: of q over z', of p over (z', x').
    """
    return mean_field(truth, process, 1.0)


def mean_field(truth: FiniteProcess, process: ProcessT, discount: float) -> ProcessT:
    """Return the mean of the online rule's update at fixed parameters, exactly, for a discount ρ in [0, 1].

    In the memory's parameters it is g_ρ = E[∇log q(z' | z, x)·(γ − J + ρ·h_ρ(s'))] with h_ρ = (I − ρ(P − 1π))⁻¹(c − J),
    c(s) = E[γ | s] and γ = log q(z' | z, x) − log p(z', x' | z, x): no division by 1 − ρ, and at ρ = 1 the gradient of
    the rate. In those of p it is −E[∇log p(z', x' | z, x)], whatever ρ. For ρ < 1 it is the gradient of nothing.

    Returns
    -------
    The process with directions in place of its parameters; what is no parameter is 0.

    Examples
    --------
    >>> from kullback.models import TabularMemory, golden_mean
    >>> idle = TabularMemory(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    >>> bool(np.abs(mean_field(golden_mean(), idle, 0.9).memory_logits).max() < 1e-12)  # no prediction gains by it
    True

    """
    check_discount(discount)
    tables = tables_of(process)
    chain = Chain.of(truth, tables.memory)
    if not _is_finite(chain, tables):
        raise ValueError("p gives no probability to what happens, so the rate is infinite and has no gradient.")
    shape: Any = tables.memory.shape[:2]
    score = chain.by_memory_move(chain.advantage(_cost(chain, tables), discount), shape)
    return pull_back(process, score, -chain.by_move(chain.flow, shape))


def pull_back(process: ProcessT, score: Float[np.ndarray, "z x w"], model: Float[np.ndarray, "z x w y"]) -> ProcessT:
    """Return the derivative of Σ score·log q + Σ model·log p in the parameters of a process, in its shape."""
    with computing():
        if isinstance(process, FinitePair):
            return _pull_back_pair(process, score, model)
        moving, rest = eqx.partition(process, process.trainable())

        def total(parameters: Any) -> Float[Array, ""]:
            pair = eqx.combine(parameters, rest).pair()
            return _weighted_log(score, pair.memory) + _weighted_log(model, pair.generative.transition)

        found = jax.grad(total)(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), moving))
        return as_numpy(eqx.combine(found, jax.tree.map(jnp.zeros_like, rest)))


def _pull_back_pair(pair: FinitePair, score: Any, model: Any) -> Any:
    """Softmax by hand: the derivative in logits is the weight less its sum times the probability."""
    q, p = (np.asarray(leaf, np.float64) for leaf in (pair.memory, pair.generative.transition))
    by_memory = score - score.sum(axis=2, keepdims=True) * q
    by_model = model - model.sum(axis=(2, 3), keepdims=True) * p
    generative = eqx.tree_at(
        lambda g: (g.start, g.transition), pair.generative, (np.zeros_like(pair.generative.start), by_model)
    )
    return eqx.tree_at(lambda both: (both.memory, both.generative), pair, (by_memory, generative))


def _weighted_log(weight: Float[np.ndarray, "..."], table: Float[Array, "..."]) -> Float[Array, ""]:
    there = weight != 0
    return jnp.sum(jnp.where(there, weight * jnp.log(jnp.where(there, table, 1)), 0))


def _cost(chain: Chain, tables: Tables) -> Float[np.ndarray, "n n"]:
    """Return γ(s, s') = log q(z' | z, x) − log p(z', x' | z, x), and 0 where no move leads: its flow may underflow."""
    (z, x), (w, y), there = chain.before, chain.after, chain.flow > 0
    q, p = tables.memory[z, x, w], tables.generative[z, x, w, y]
    return np.log(np.where(there, q, 1)) - np.log(np.where(there, p, 1))


def _is_finite(chain: Chain, tables: Tables) -> bool:
    moves = chain.by_move(chain.flow, tables.memory.shape[:2])
    return not ((moves > 0) & (tables.generative <= 0)).any()


def _excess(mass: Float[np.ndarray, "..."], q: Float[np.ndarray, "..."], p: Float[np.ndarray, "..."]) -> float:
    """Return Σ mass·(log q − log p), where a mass of 0 counts nothing."""
    return float((xlogy(mass, q) - xlogy(mass, p)).sum())
