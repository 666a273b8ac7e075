"""The ladder of costs for each step, in the long run."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import entr, logsumexp, softmax

from kullback.assess._chain import check_symbols
from kullback.assess._costs import Costs, sense_groups
from kullback.assess._rate import rate, rate_gradient
from kullback.models import FiniteGenerative, FinitePair, FiniteProcess, merge_beliefs

#: Beliefs about the truth are the same where they agree to so many digits.
_DIGITS = 9
#: So many words with different pasts are followed, and so many beliefs about the truth.
_MOST_WORDS, _MOST_BELIEFS = 2**17, 2**11
#: Rates are found to this, and beliefs iterated so often at most.
_TOLERANCE, _MOST_TURNS = 1e-9, 100_000


def cost_rates(
    truth: FiniteProcess, generative: FiniteGenerative, senses: Any = None, restarts: int = 6, seed: int = 0
) -> Costs:
    """Return lim 1/T of `costs` over T steps, for a given p, in nats for each step.

    `free` is found by following the truth's and p's beliefs along all words, until the excess of the next symbol no
    longer changes; `online` by the same closed form as in `costs`, iterated over memory and belief about the truth to
    its fixed point; the others by descending the exact rate of memories that do not change with time. A limit that
    is not reached is refused.

    Parameters are those of `costs`.
    """
    check_symbols(truth, generative.symbols)
    if restarts < 1:
        raise ValueError(f"restarts is {restarts}: it must be 1 at least.")
    table = np.asarray(generative.transition, np.float64)
    if (table <= 0).any():
        raise ValueError("p gives no probability to some moves: rates in the long run are for p without zeros.")
    groups = [group for group in (np.arange(truth.symbols), sense_groups(truth, senses)) if group is not None]
    ladder = [_least_rate(truth, generative, group, restarts, seed) for group in groups]
    return Costs(_free_rate(truth, np.asarray(generative.start), table), _online_rate(truth, table), *ladder)


def _free_rate(truth: FiniteProcess, start: Float[np.ndarray, "z x"], table: Float[np.ndarray, "z x w y"]) -> float:
    """Return the limit of E[log q(x' | past) − log p(x' | past)], over beliefs (last symbol, of u, of z)."""
    u, symbols = truth.states, truth.symbols
    joint = np.einsum("u,uxv->xv", truth.stationary, truth.transition)
    mass = joint.sum(axis=1)
    seen = np.flatnonzero(mass > 0)
    rows = np.column_stack([seen, joint[seen] / mass[seen, None], (start / start.sum(axis=0)).T[seen]])
    mass, value = mass[seen], np.inf
    while len(mass) <= _MOST_WORDS:
        ahead = np.einsum("nu,uxv->nxv", rows[:, 1 : 1 + u], truth.transition)
        moved = np.einsum("nz,nzwx->nxw", rows[:, 1 + u :], np.moveaxis(table, 1, 0)[np.rint(rows[:, 0]).astype(int)])
        q, p = ahead.sum(axis=2), moved.sum(axis=2)
        before, value = value, float(mass @ (-entr(q) - q * np.log(p)).sum(axis=1))
        if abs(before - value) < _TOLERANCE:
            return value
        weight = (mass[:, None] * q).ravel()
        last = np.broadcast_to(np.arange(symbols)[:, None], (*q.shape, 1))
        both = np.concatenate([last, ahead / np.where(q > 0, q, 1)[..., None], moved / p[..., None]], axis=2)
        rows, mass = merge_beliefs(both.reshape(len(weight), -1)[weight > 0], weight[weight > 0])
    raise ValueError("p forgets too slowly to find its rate in the long run: take `costs` of some steps.")


def _online_rate(truth: FiniteProcess, table: Float[np.ndarray, "z x w y"]) -> float:
    """Return the gain of W(z, b, x) = −log Σ_{z'} exp(−E[log q(x' | b) − log p(z', x' | z, x) + W(z', b', x')])."""
    beliefs, symbol, following, after = _belief_graph(truth)
    log_p = np.moveaxis(np.log(table), 1, 0)[symbol]  # (b, z, z', x')
    expected = np.einsum("bx,bzwx->bzw", following, log_p) + entr(following).sum(axis=1)[:, None, None]
    value = np.zeros((len(beliefs), len(table)))
    for _ in range(_MOST_TURNS):
        later = np.einsum("bx,bxw->bw", following, value[after])
        found = -logsumexp(expected - later[:, None, :], axis=2)
        gain = found - value
        # half of a step: the truth may be periodic
        value = (value + found) / 2
        value = value - value[0, 0]
        if gain.max() - gain.min() < _TOLERANCE / 10:
            return float((gain.max() + gain.min()) / 2)
    raise ValueError("the online rate does not settle: take `costs` of some steps.")


def _belief_graph(
    truth: FiniteProcess,
) -> tuple[Float[np.ndarray, "b u"], Int[np.ndarray, " b"], Float[np.ndarray, "b x"], Int[np.ndarray, "b x"]]:
    """Return what can be believed of the hidden state after a symbol, the symbol, q(x' | b), and the next belief."""
    found: dict[tuple[float, ...], int] = {}
    rows: list[tuple[int, Float[np.ndarray, " u"]]] = []

    def place(symbol: int, belief: Float[np.ndarray, " u"]) -> int:
        name = (symbol, *np.round(belief, _DIGITS))
        if name not in found:
            if len(rows) >= _MOST_BELIEFS:
                raise ValueError(
                    f"more than {_MOST_BELIEFS} different beliefs about the truth's hidden state arise: take `costs` "
                    "of some steps."
                )
            found[name] = len(rows)
            rows.append((symbol, belief))
        return found[name]

    def follow(belief: Float[np.ndarray, " u"]) -> tuple[Float[np.ndarray, " x"], list[int | None]]:
        joint = np.einsum("u,uxv->xv", belief, truth.transition)
        chance = joint.sum(axis=1)
        return chance, [place(x, joint[x] / chance[x]) if chance[x] > 0 else None for x in range(truth.symbols)]

    follow(truth.stationary)
    chances: list[Float[np.ndarray, " x"]] = []
    nexts: list[list[int]] = []
    while len(nexts) < len(rows):
        chance, later = follow(rows[len(nexts)][1])
        chances.append(chance)
        nexts.append([0 if each is None else each for each in later])
    symbol, belief = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    return belief, symbol, np.array(chances), np.array(nexts)


def _least_rate(
    truth: FiniteProcess, generative: FiniteGenerative, groups: Int[np.ndarray, " x"], restarts: int, seed: int
) -> float:
    """Return the least rate of memories q(z' | z, o), by descents from several starts."""
    k, senses = generative.memories, int(groups.max()) + 1
    rng, sensed = np.random.default_rng(seed), np.eye(senses)[groups]

    def value(flat: Float[np.ndarray, " d"]) -> tuple[float, Float[np.ndarray, " d"]]:
        memory = softmax(flat.reshape(k, senses, k), axis=-1)[:, groups]
        pair = FinitePair(np.maximum(memory, 1e-300), generative)
        slope = np.asarray(rate_gradient(truth, pair).memory)
        return rate(truth, pair).value, np.einsum("zxw,xo->zow", slope, sensed).ravel()

    starts = rng.normal(size=(restarts, k * senses * k))
    return min(float(minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun) for start in starts)
