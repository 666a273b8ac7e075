"""Divergences between distributions, all in nats."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import ClosedFormModel, Estimate, Extent, Model
from kullback.families import Bernoulli, Categorical, ExponentialFamily, Ising
from kullback.numerics import Numeric, with_article
from kullback.runtime import in_given_precision

Family = TypeVar("Family", bound=ExponentialFamily)


def check_same_kind(p: ExponentialFamily, q: ExponentialFamily) -> None:
    """Raise unless the two are members of one family."""
    if p.kind != q.kind:
        raise ValueError(
            f"p and q must be of one family: p is {with_article(str(p.kind))}, q is {with_article(str(q.kind))}."
        )


@in_given_precision
def relative_entropy(p: Any, q: Any, like: Extent | None = None) -> Float[Array, "*batch"]:
    """D(p, q) = E_p[log p/q], in nats: exact, zero if and only if p and q are equal.

    For models with hidden variables it is the relative entropy of the joints p(h, v), by two cross-entropies. `like`
    says how much data it is over, one point by default: for models with time, `Extent.of_lengths(100)` is a sequence of
    100 steps.

    >>> from kullback.families import Poisson
    >>> round(float(relative_entropy(Poisson(rate=2.0), Poisson(rate=3.0))), 4)
    0.1891
    """
    if isinstance(p, ExponentialFamily) and isinstance(q, ExponentialFamily):
        check_same_kind(p, q)
        return p.relative_entropy(q)
    if isinstance(p, ClosedFormModel) and type(p) is type(q):
        own = p.own_statistics(Extent() if like is None else like)
        return q.cross_entropy(own) - p.cross_entropy(own)
    names = [with_article(type(each).__name__) for each in (p, q)]
    if isinstance(p, Model) and type(p) is type(q):
        raise ValueError(
            f"p and q are each {names[0]}, whose p(h, v) has no relative entropy in closed form: ask for that of what "
            "is visible, by kullback.relative_entropy(p, q, of='marginal')."
        )
    raise ValueError(f"p and q must be of one family or model: p is {names[0]}, q is {names[1]}.")


@in_given_precision
def entropy(p: ExponentialFamily) -> Float[Array, "*batch"]:
    """H(p) = −E_p[log p]."""
    return p.entropy


@in_given_precision
def cross_entropy(p: ExponentialFamily, q: ExponentialFamily) -> Float[Array, "*batch"]:
    """H(p, q) = −E_p[log q] = H(p) + D(p, q)."""
    return p.entropy + relative_entropy(p, q)


@in_given_precision
def jeffreys(p: ExponentialFamily, q: ExponentialFamily) -> Float[Array, "*batch"]:
    """J(p, q) = D(p, q) + D(q, p) = ⟨θ_p − θ_q, η_p − η_q⟩."""
    return relative_entropy(p, q) + relative_entropy(q, p)


@in_given_precision
def bregman(potential: Callable[[Array], Array], x: Float[Numeric, " d"], y: Float[Numeric, " d"]) -> Float[Array, ""]:
    """B_F(x, y) = F(x) − F(y) − ⟨∇F(y), x − y⟩ for a convex potential F.

    With ψ the log-partition, D(p, q) = B_ψ(θ_q, θ_p); with φ its conjugate, D(p, q) = B_φ(η_p, η_q).

    >>> import jax.numpy as jnp
    >>> float(bregman(lambda v: jnp.sum(v**2), jnp.array([1.0, 2.0]), jnp.array([0.0, 0.0])))
    5.0
    """
    x, y = jnp.asarray(x), jnp.asarray(y)
    value, slope = jax.value_and_grad(potential)(y)
    return potential(x) - value - slope @ (x - y)


@in_given_precision
def alpha_divergence(p: ExponentialFamily, q: ExponentialFamily, alpha: float) -> Float[Array, "*batch"]:
    """D_α(p, q) = 4/(1−α²)·(1 − ∫ p^((1−α)/2) q^((1+α)/2)); D(p, q) at α = −1 and D(q, p) at α = 1.

    The integral is exp(ψ(θ) − (1−α)/2·ψ(θ_p) − (1+α)/2·ψ(θ_q)) at θ = (1−α)/2·θ_p + (1+α)/2·θ_q. For |α| > 1 that
    point can lie outside the family: the integral diverges and the divergence is infinite.

    >>> from kullback.families import Exponential
    >>> round(float(alpha_divergence(Exponential(1.0), Exponential(4.0), 0.0)), 3)  # 4·(1 − 0.8)
    0.8
    """
    check_same_kind(p, q)
    if alpha == -1:
        return relative_entropy(p, q)
    if alpha == 1:
        return relative_entropy(q, p)
    a, b = (1 - alpha) / 2, (1 + alpha) / 2
    kind, theta = p.kind, a * p.natural + b * q.natural
    between = jax.jit(lambda t: kind.at("natural", t))(theta)  # traced: a point outside is not an error here
    inside = between.interior
    log_integral = between.log_partition - a * p.log_partition - b * q.log_partition
    return jnp.where(inside, -4 / (1 - alpha**2) * jnp.expm1(jnp.where(inside, log_integral, 0)), jnp.inf)


@in_given_precision
def jensen_shannon(p: ExponentialFamily, q: ExponentialFamily, key: Array | None = None, n: int = 100_000) -> Estimate:
    """JS(p, q) = ½D(p, m) + ½D(q, m) with m = ½p + ½q, between 0 and log 2.

    The mixture m is in no exponential family. Where the points can be listed (Bernoulli, Categorical, Ising) the sum
    is exact. Elsewhere it is the average over n points from each, drawn with `key`, with its standard error.

    >>> from kullback.families import Bernoulli
    >>> round(float(jensen_shannon(Bernoulli(0.0), Bernoulli(1.0)).value), 4)  # log 2
    0.6931
    """
    check_same_kind(p, q)
    points = _all_points(p)
    if points is not None:
        return _exact_jensen_shannon(p, q, points)
    if key is None:
        raise ValueError(f"key is None: for {type(p).__name__} the average is drawn, so pass key=jax.random.key(…).")
    first, second = jax.random.split(key)
    toward_p = _log_share(p, q, p.sample(first, (n,)))
    toward_q = _log_share(q, p, q.sample(second, (n,)))
    value = 0.5 * (jnp.mean(toward_p, axis=0) + jnp.mean(toward_q, axis=0))
    variance = 0.25 * (jnp.var(toward_p, axis=0, ddof=1) + jnp.var(toward_q, axis=0, ddof=1)) / n
    return Estimate(value, jnp.sqrt(variance))


def _log_share(p: ExponentialFamily, q: ExponentialFamily, x: Array) -> Array:
    """Return log p/m at points of p, m the equal mixture of p and q."""
    log_p, log_q = p.log_prob(x), q.log_prob(x)
    return jnp.log(2.0) - jnp.logaddexp(0.0, log_q - log_p)


def _exact_jensen_shannon(p: ExponentialFamily, q: ExponentialFamily, points: Array) -> Estimate:
    axes = (1,) * len(p.batch_shape)
    x = points.reshape(points.shape[0], *axes, *points.shape[1:])

    def part(a: ExponentialFamily, b: ExponentialFamily) -> Array:
        log_a = a.log_prob(x)
        possible = log_a > -jnp.inf
        term = jnp.exp(log_a) * (jnp.log(2.0) - jnp.logaddexp(0.0, b.log_prob(x) - jnp.where(possible, log_a, 0)))
        return jnp.sum(jnp.where(possible, term, 0), axis=0)

    value = 0.5 * (part(p, q) + part(q, p))
    return Estimate(value, jnp.zeros_like(value))


def _all_points(p: ExponentialFamily) -> Array | None:
    match p:
        case Bernoulli():
            return jnp.arange(2)
        case Categorical():
            return jnp.arange(p.size + 1)
        case Ising():
            n = p.event_shape[0]
            return jnp.asarray(2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1)
    return None
