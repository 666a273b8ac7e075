"""Special functions and their inverses, accurate over the whole range and differentiable."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import digamma, i0e, i1e, polygamma
from jaxtyping import Array, Float

from kullback.families._types import Numeric


def trigamma(x: Any) -> Array:
    """Return ψ′(x), the derivative of the digamma function."""
    return polygamma(1, x)


@jax.custom_jvp
def inverse_digamma(y: Any) -> Array:
    """Return the x > 0 with digamma(x) = y, by Newton steps from an asymptotic start."""
    y = jnp.asarray(y)
    x = jnp.where(y >= -2.22, jnp.exp(y) + 0.5, -1 / (jnp.minimum(y, -2.22) - digamma(jnp.ones_like(y))))
    for _ in range(5):
        x = x - (digamma(x) - y) / trigamma(x)
    return x


@inverse_digamma.defjvp
def _inverse_digamma_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    x = inverse_digamma(primals[0])
    return x, tangents[0] / trigamma(x)


# --- Gamma: log k − digamma(k) = s ----------------------------------------------------------------------


@jax.custom_jvp
def gamma_shape(s: Any) -> Array:
    """Return the k > 0 with log k − digamma(k) = s > 0: the shape of a Gamma with log E[x] − E[log x] = s."""
    s = jnp.asarray(s)
    k = (3 - s + jnp.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(8):
        # Newton on 1/k, in which the left side is nearly linear at both ends
        k = 1 / (1 / k - (jnp.log(k) - digamma(k) - s) / (k * k * (trigamma(k) - 1 / k)))
    return k


@gamma_shape.defjvp
def _gamma_shape_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    k = gamma_shape(primals[0])
    return k, tangents[0] / (1 / k - trigamma(k))


# --- Dirichlet: digamma(α_i) − digamma(Σα) = η_i --------------------------------------------------------


@jax.custom_jvp
def dirichlet_concentration(eta: Float[Numeric, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return the α > 0 with digamma(α_i) − digamma(Σα) = η_i.

    Given the total A, α_i(A) = digamma⁻¹(η_i + digamma(A)): one equation log Σ α_i(A) = log A is left. It is
    solved by Newton steps in log A, kept inside a bracket that shrinks with every step.
    """
    eta = jnp.asarray(eta)
    slack = -jnp.expm1(jax.nn.logsumexp(eta, axis=-1))  # 1 − Σ exp η_i, near (K−1)/2A for large A
    start = jnp.log((eta.shape[-1] - 1) / 2) - jnp.log(jnp.maximum(slack, jnp.finfo(eta.dtype).tiny))
    far = jnp.asarray(60.0, eta.dtype)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        low, high, u, _, count = state
        total = jnp.exp(u)
        alpha = inverse_digamma(eta + digamma(total)[..., None])
        value = jnp.log(jnp.sum(alpha, axis=-1)) - u
        slope = total * trigamma(total) * jnp.sum(1 / trigamma(alpha), axis=-1) / jnp.sum(alpha, axis=-1) - 1
        low, high = jnp.where(value > 0, u, low), jnp.where(value > 0, high, u)
        newton = u - value / slope
        inside = (newton > low) & (newton < high) & jnp.isfinite(newton)
        # outside the bracket: halve it, but take no more than a factor e⁴ while one end is open
        middle = jnp.clip((low + high) / 2, u - 4, u + 4)
        following = jnp.where(inside, newton, middle)
        return low, high, following, jnp.abs(following - u), count + 1

    def going(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[3] > 4 * jnp.finfo(eta.dtype).eps * (1 + jnp.abs(state[2]))) & (state[4] < 100)

    state = (start - far, start + far, start, jnp.full_like(start, jnp.inf), jnp.asarray(0))
    _, _, u, _, _ = jax.lax.while_loop(going, step, state)
    return inverse_digamma(eta + digamma(jnp.exp(u))[..., None])


@dirichlet_concentration.defjvp
def _dirichlet_concentration_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    alpha = dirichlet_concentration(primals[0])
    return alpha, solve_dirichlet_fisher(alpha, tangents[0])


def solve_dirichlet_fisher(alpha: Float[Array, "*batch k"], vector: Any) -> Float[Array, "*batch k"]:
    """Solve (diag(ψ′(α)) − ψ′(Σα)) x = vector, in O(K)."""
    inverse = 1 / trigamma(alpha)
    direct = inverse * vector
    return direct + inverse * jnp.sum(direct, axis=-1, keepdims=True) / dirichlet_slack(alpha)


def dirichlet_slack(alpha: Float[Array, "*batch k"]) -> Float[Array, "*batch 1"]:
    """Return 1/ψ′(Σα) − Σ 1/ψ′(α_i) > 0, what keeps the Fisher matrix definite."""
    return 1 / trigamma(jnp.sum(alpha, axis=-1, keepdims=True)) - jnp.sum(
        1 / trigamma(alpha), axis=-1, keepdims=True
    )


# --- von Mises: the ratio A(κ) = I₁(κ)/I₀(κ) ------------------------------------------------------------

#: A(κ) = 1 − Σ c_j κ^−j for large κ.
_RATIO = (1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32, 1073 / 1024, 103 / 32, 375733 / 32768)
_LARGE = 100.0


def _ratio_series(kappa: Any) -> Array:
    z = 1 / kappa
    value = jnp.zeros_like(z)
    for c in reversed(_RATIO):
        value = z * (value + c)
    return 1 - value


def _ratio_series_slope(kappa: Any) -> Array:
    z = 1 / kappa
    value = jnp.zeros_like(z)
    for j, c in reversed(list(enumerate(_RATIO, start=1))):
        value = z * (value + j * c)
    return z * value


@jax.custom_jvp
def bessel_ratio(kappa: Any) -> Array:
    """Return A(κ) = I₁(κ)/I₀(κ) for κ ≥ 0, the mean length of a von Mises variable."""
    kappa = jnp.asarray(kappa)
    large = kappa > _LARGE
    small = jnp.where(large, 1, kappa)
    return jnp.where(large, _ratio_series(jnp.where(large, kappa, 2 * _LARGE)), i1e(small) / i0e(small))


def bessel_ratio_slope(kappa: Any) -> Array:
    """Return A′(κ) = 1 − A/κ − A², without the cancellation at both ends."""
    kappa = jnp.asarray(kappa)
    large, tiny = kappa > _LARGE, kappa < 1e-3
    middle = jnp.where(large | tiny, 1, kappa)
    ratio = bessel_ratio(middle)
    return jnp.where(
        large,
        _ratio_series_slope(jnp.where(large, kappa, 2 * _LARGE)),
        jnp.where(tiny, 0.5 - 3 * jnp.square(kappa) / 16, 1 - ratio / middle - jnp.square(ratio)),
    )


@bessel_ratio.defjvp
def _bessel_ratio_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    return bessel_ratio(primals[0]), bessel_ratio_slope(primals[0]) * tangents[0]


@jax.custom_jvp
def inverse_bessel_ratio(r: Any) -> Array:
    """Return the κ ≥ 0 with A(κ) = r, for 0 ≤ r < 1, by Newton steps."""
    r = jnp.asarray(r)
    kappa = r * (2 - jnp.square(r)) / ((1 - r) * (1 + r))
    for _ in range(8):
        kappa = jnp.maximum(kappa - (bessel_ratio(kappa) - r) / bessel_ratio_slope(kappa), 0)
    return kappa


@inverse_bessel_ratio.defjvp
def _inverse_bessel_ratio_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    kappa = inverse_bessel_ratio(primals[0])
    return kappa, tangents[0] / bessel_ratio_slope(kappa)
