"""The digamma function's differences and inverses: what Gamma, Beta and Dirichlet need."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, gammaln, polygamma
from jaxtyping import Array, Float

from kullback.numerics._rising import digamma_rise, trigamma_fall
from kullback.numerics._types import Numeric

#: From here on asymptotic series are good to rounding.
_MANY = 20.0


def trigamma(x: Any) -> Array:
    """Return ψ′(x), the derivative of the digamma function."""
    return polygamma(1, x)


@jax.custom_jvp
def inverse_digamma(y: Any) -> Array:
    """Return the x > 0 with digamma(x) = y, by Newton steps from an asymptotic start."""
    y = jnp.asarray(y)
    x = jnp.where(y >= -2.22, jnp.exp(y) + 0.5, -1 / (jnp.minimum(y, -2.22) - digamma(jnp.ones_like(y))))
    return jax.lax.fori_loop(0, 5, lambda _, x: x - (digamma(x) - y) / trigamma(x), x)


@inverse_digamma.defjvp
def _inverse_digamma_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    x = inverse_digamma(primals[0])
    return x, tangents[0] / trigamma(x)


# --- Gamma: log k − digamma(k) = s ----------------------------------------------------------------------


def log_gap(k: Array) -> Array:
    """Return log k − digamma(k) > 0, by its asymptotic series where the difference would cancel."""
    large = k > _MANY
    z = 1 / jnp.where(large, k, _MANY) ** 2
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132)))) + 0.5 / jnp.where(large, k, _MANY)
    small = jnp.where(large, 1, k)
    return jnp.where(large, series, jnp.log(small) - digamma(small))


def trigamma_excess(k: Array) -> Array:
    """Return k·trigamma(k) − 1 > 0, likewise."""
    large = k > _MANY
    small = jnp.where(large, 1, k)
    return jnp.where(large, _late_excess(jnp.where(large, k, _MANY)), small * trigamma(small) - 1)


def _late_excess(k: Array) -> Array:
    z = 1 / k
    square = z * z
    tail = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square * (1 / 30 - square * 5 / 66))))
    return z / 2 + tail


@jax.custom_jvp
def gamma_shape(s: Any) -> Array:
    """Return the k > 0 with log k − digamma(k) = s > 0: the shape of a Gamma with log E[x] − E[log x] = s."""
    s = jnp.asarray(s)
    start = (3 - s + jnp.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)

    def step(_: Any, k: Array) -> Array:  # Newton on 1/k, in which the left side is nearly linear at both ends
        return 1 / (1 / k - (log_gap(k) - s) / (k * trigamma_excess(k)))

    return jax.lax.fori_loop(0, 8, step, start)


@gamma_shape.defjvp
def _gamma_shape_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    k = gamma_shape(primals[0])
    return k, -tangents[0] * k / trigamma_excess(k)


# --- Dirichlet: digamma(α_i) − digamma(Σα) = η_i --------------------------------------------------------


def log_means(alpha: Float[Numeric, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return E[log x_i] = digamma(α_i) − digamma(Σα), with all its digits even when one α_i is nearly the sum."""
    return -digamma_rise(alpha, _rest(jnp.asarray(alpha)))


def log_beta(alpha: Float[Numeric, "*batch k"]) -> Float[Array, "*batch"]:
    """Return Σ log Γ(α_i) − log Γ(Σα), with the largest α_i and the sum taken together."""
    alpha = jnp.asarray(alpha)
    largest = jax.nn.one_hot(jnp.argmax(alpha, axis=-1), alpha.shape[-1], dtype=bool)
    top = jnp.sum(jnp.where(largest, alpha, 0), axis=-1)
    rest = jnp.sum(jnp.where(largest, 0, alpha), axis=-1)
    short = rest < top / 2
    integral = _integral(digamma, top, jnp.where(short, rest, 0))
    gap = jnp.where(short, integral, gammaln(top + rest) - gammaln(top))
    return jnp.sum(jnp.where(largest, 0, gammaln(jnp.where(largest, 1, alpha))), axis=-1) - gap


def _rest(alpha: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return Σα − α_i as a sum of the others: nothing is subtracted."""
    zero = jnp.zeros_like(alpha[..., :1])
    before = jnp.cumsum(jnp.concatenate([zero, alpha[..., :-1]], axis=-1), axis=-1)
    after = jnp.cumsum(jnp.concatenate([zero, alpha[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before + after


def _integral(of: Any, x: Array, step: Array) -> Array:
    """Return ∫ of(t) dt from x to x + step ≤ 1.5·x by Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(10)
    places = x[..., None] + jnp.asarray((1 + nodes) / 2, x.dtype) * step[..., None]
    return step * (of(places) @ jnp.asarray(weights / 2, x.dtype))


def trigamma_gaps(alpha: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return ψ′(α_i) − ψ′(Σα), with all its digits even when one α_i is nearly the sum."""
    return trigamma_fall(alpha, _rest(alpha))


@jax.custom_jvp
def dirichlet_concentration(eta: Float[Numeric, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return the α > 0 with digamma(α_i) − digamma(Σα) = η_i.

    Given the total A, all but the largest are α_i(A) = digamma⁻¹(η_i + digamma(A)). With R their sum, the largest
    is A − R and one equation digamma(A) − digamma(A − R) = −η_max is left. It is solved by Newton steps in log A,
    kept inside a bracket that shrinks with every step.
    """
    eta = jnp.asarray(eta)
    largest = jax.nn.one_hot(jnp.argmax(eta, axis=-1), eta.shape[-1], dtype=bool)
    top = jnp.max(eta, axis=-1)

    def others(u: Array) -> Array:
        return jnp.where(largest, 0, inverse_digamma(eta + digamma(jnp.exp(u))[..., None]))

    def mismatch(u: Array) -> Array:  # positive left of the root
        rest = jnp.sum(others(u), axis=-1)
        left = jnp.exp(u) - rest
        gap = digamma_rise(jnp.where(left > 0, left, 1), rest)
        return jnp.where(left > 0, jnp.log(gap) - jnp.log(-top), 1.0)

    slack = -jnp.expm1(jax.nn.logsumexp(eta, axis=-1))  # 1 − Σ exp η_i, near (K−1)/2A for large A
    start = jnp.log((eta.shape[-1] - 1) / 2) - jnp.log(jnp.maximum(slack, np.finfo(eta.dtype).tiny))
    far = jnp.asarray(60.0, eta.dtype)

    def step(state: Any) -> Any:
        low, high, u, _, count = state
        value, slope = jax.jvp(mismatch, (u,), (jnp.ones_like(u),))
        low, high = jnp.where(value > 0, u, low), jnp.where(value > 0, high, u)
        newton = u - value / slope
        inside = (newton > low) & (newton < high)
        # outside the bracket: halve it, but go no further than a factor e² while one end is open
        middle = jnp.clip((low + high) / 2, u - 2, u + 2)
        following = jnp.where(inside, newton, middle)
        return low, high, following, jnp.abs(following - u), count + 1

    def going(state: Any) -> Array:
        return jnp.any(state[3] > 4 * np.finfo(eta.dtype).eps * (1 + jnp.abs(state[2]))) & (state[4] < 80)

    state = (start - far, start + far, start, jnp.full_like(start, jnp.inf), jnp.asarray(0))
    _, _, u, _, _ = jax.lax.while_loop(going, step, state)
    small = others(u)
    rest = jnp.sum(small, axis=-1)
    total = jnp.exp(u)
    left = jnp.where(rest < total / 2, total - rest, inverse_digamma(top + digamma(total)))
    return jnp.where(largest, left[..., None], small)


@dirichlet_concentration.defjvp
def _dirichlet_concentration_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    alpha = dirichlet_concentration(primals[0])
    inverse = 1 / trigamma(alpha)
    direct = inverse * tangents[0]
    return alpha, direct + inverse * jnp.sum(direct, axis=-1, keepdims=True) / dirichlet_slack(alpha)


def dirichlet_slack(alpha: Float[Array, "*batch k"]) -> Float[Array, "*batch 1"]:
    """Return 1/ψ′(Σα) − Σ 1/ψ′(α_i) > 0, what keeps the Fisher matrix diag(ψ′(α_i)) − ψ′(Σα) definite."""
    largest = jax.nn.one_hot(jnp.argmax(alpha, axis=-1), alpha.shape[-1], dtype=bool)
    top = jnp.max(alpha, axis=-1)
    rest = jnp.sum(jnp.where(largest, 0, alpha), axis=-1)

    def others(of: Any) -> Array:
        return jnp.sum(jnp.where(largest, 0, of(alpha)), axis=-1)

    few = trigamma_fall(top, rest) / (trigamma(top) * trigamma(top + rest)) - others(lambda x: 1 / trigamma(x))
    # 1/ψ′(x) is x less a shortfall: where some are large, the shortfalls are what is left
    short = (rest < top / 2) & (top > _MANY)
    big = jnp.where(short, top, _MANY)
    rise = _integral(lambda x: _slope(_late_shortfall, x), big, jnp.where(short, rest, 0))
    many = others(trigamma_shortfall) - jnp.where(short, rise, trigamma_shortfall(top + rest) - trigamma_shortfall(top))
    return jnp.where(jnp.maximum(top, rest) > _MANY, many, few)[..., None]


def trigamma_shortfall(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return x − 1/ψ′(x), between 0 and ½."""
    excess = trigamma_excess(x)
    return x * (excess / (1 + excess))


def _late_shortfall(x: Array) -> Array:
    """Return the same for large x."""
    excess = _late_excess(x)
    return x * (excess / (1 + excess))


def _slope(of: Any, x: Array) -> Array:
    return jax.jvp(of, (x,), (jnp.ones_like(x),))[1]
