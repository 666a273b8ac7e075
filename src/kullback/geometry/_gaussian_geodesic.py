"""Geodesics of the multivariate Gaussian.

They are computed in the frame in which one end is the standard normal N(0, I): affine maps are isometries.

N(μ, FFᵀ) is lifted to the symmetric positive definite matrix G = EEᵀ of size 2n+1 with

        ⎡ F⁻ᵀ      0    0 ⎤
    E = ⎢ μᵀF⁻ᵀ    1    0 ⎥ ,     Z = S − ½μμᵀ,  S skew,
        ⎣ ZF⁻ᵀ    −μ    F ⎦

so that the first n rows of G hold Σ⁻¹ and Σ⁻¹μ, and S is free. With the distance ½‖log G‖ to the identity, going from
G to the Gaussian is a Riemannian submersion: the geodesics from N(0, I) are the images of exp(tA) with

        ⎡ −B   x    0  ⎤
    A = ⎢ xᵀ   0   −xᵀ ⎥          x the velocity of μ, B the velocity of Σ
        ⎣ 0   −x    B  ⎦

(Eriksen 1987; Calvo and Oller 1991). The logarithm goes back: of all lifts of a Gaussian it takes the one nearest
to the identity. There the upper right block C of log G is zero, and x and B are read off. That is shooting with
n(n−1)/2 unknowns in place of n(n+3)/2, and as a distance is minimized it cannot diverge: two to six Newton steps do.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax.linalg import SvdAlgorithm, svd
from jaxtyping import Array, Bool, Float

from kullback.numerics import pairs, whitener
from kullback.runtime import jit

#: A geodesic is followed in equal pieces, each seen from its own N(0, I): rounding grows with the exponential of the
#: length of a piece.
_PIECES = 8
#: More than any pair of Gaussians was seen to need. A halved step counts as one.
_STEPS = 60
#: A distance is given out when rounding moves the velocity by less than this share of it, hence the distance by less
#: than its square.
_ROUNDING = 1e-2
#: A geodesic is given out when it ends this near to its goal, in standard deviations of the goal.
_MISS = 1e-3


@jit
@functools.partial(jnp.vectorize, signature="(n),(n,n),(n),(n,n)->(n),(n,n)")
def gaussian_exponential(mean: Array, covariance: Array, velocity: Array, speed: Array) -> tuple[Array, Array]:
    """Follow the geodesic from N(μ, Σ), where they change with this velocity and speed; return them at its end."""
    low, w = jnp.linalg.cholesky(covariance), whitener(covariance)
    m, factor = _shoot(w @ velocity, w @ speed @ w.T)
    factor = low @ factor
    return mean + low @ m, factor @ factor.T


@jit
@functools.partial(jnp.vectorize, signature="(n),(n,n),(n),(n,n)->(n),(n,n),()")
def gaussian_logarithm(p_mean: Array, p_covariance: Array, q_mean: Array, q_covariance: Array) -> tuple[Array, ...]:
    """Return the velocity of the mean and the speed of the covariance on the geodesic from p to q, if it was found.

    It was found when, followed from p, it ends at q.
    """
    goal, factor, inverse, excess = _goal(p_mean, p_covariance, q_mean, q_covariance)
    x, b, _, found = _aim(goal, factor, inverse, excess)
    end, f = _shoot(x, b)
    f = inverse @ f
    miss = jnp.sum(jnp.square(inverse @ (end - goal))) + jnp.sum(jnp.square(f @ f.T - jnp.eye(goal.shape[0])))
    low = jnp.linalg.cholesky(p_covariance)
    return low @ x, low @ b @ low.T, found & (miss < _MISS**2)


@jit
@functools.partial(jnp.vectorize, signature="(n),(n,n),(n),(n,n)->(),()")
def gaussian_square(p_mean: Array, p_covariance: Array, q_mean: Array, q_covariance: Array) -> tuple[Array, Array]:
    """Return the square of the distance from p to q, and whether it was found."""
    found = _aim(*_goal(p_mean, p_covariance, q_mean, q_covariance))
    return found.square, found.found


def _goal(p_mean: Array, p_covariance: Array, q_mean: Array, q_covariance: Array) -> tuple[Array, Array, Array, Array]:
    """Return μ, F, F⁻¹ and FFᵀ − I, where q is N(μ, FFᵀ) when p is N(0, I)."""
    w, low = whitener(p_covariance), jnp.linalg.cholesky(q_covariance)
    inverse = whitener(q_covariance) @ jnp.linalg.cholesky(p_covariance)
    return w @ (q_mean - p_mean), w @ low, inverse, w @ (q_covariance - p_covariance) @ w.T


# --- from the velocity to the endpoint ------------------------------------------------------------------


def _shoot(x: Float[Array, " n"], b: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Follow the geodesic from N(0, I) with velocity (x, B) to t = 1; return μ and F, where Σ = FFᵀ.

    Along it Σ⁻¹μ̇ = x and Σ̇Σ⁻¹ + μxᵀ = B do not change. So at the end of a piece, in the frame in which that end is
    N(0, I), the velocity is Fᵀx and F⁻¹(B − μxᵀ)F.
    """

    def piece(carry: Any, _: None) -> tuple[Any, None]:
        mean, factor, x, b = carry
        step, f, inverse = _follow(x / _PIECES, b / _PIECES)
        turned = inverse @ (b - jnp.outer(step, x)) @ f
        return (mean + factor @ step, factor @ f, f.T @ x, 0.5 * (turned + turned.T)), None

    start = (jnp.zeros_like(x), jnp.eye(x.shape[0], dtype=x.dtype), x, b)
    (mean, factor, _, _), _ = jax.lax.scan(piece, start, None, length=_PIECES)
    return mean, factor


def _follow(x: Float[Array, " n"], b: Float[Array, "n n"]) -> tuple[Array, Array, Array]:
    """Return μ, F and F⁻¹ at t = 1.

    With E = exp(A/2), E₁ its first n rows and e the next one, Σ⁻¹ = E₁E₁ᵀ and Σ⁻¹μ = E₁e: a least-squares problem.
    The QR factorization of E₁ᵀ solves it without squaring its condition.
    """
    n = x.shape[0]
    root = _exponential(0.5 * _generator(x, b))
    q, r = jnp.linalg.qr(root[:n].T)
    factor = jax.scipy.linalg.solve_triangular(r, jnp.eye(n, dtype=x.dtype))
    return factor @ (q.T @ root[n]), factor, r


def _generator(x: Float[Array, " n"], b: Float[Array, "n n"]) -> Float[Array, "m m"]:
    """Return A."""
    column, zero, zeros = x[:, None], jnp.zeros((1, 1), x.dtype), jnp.zeros_like(b)
    return jnp.block([[-b, column, zeros], [column.T, zero, -column.T], [zeros, -column, b]])


@jax.custom_jvp
def _exponential(a: Float[Array, "m m"]) -> Float[Array, "m m"]:
    """Return exp(A) for a symmetric A, with a derivative that equal eigenvalues do not spoil."""
    logs, u = jnp.linalg.eigh(a)
    return (u * jnp.exp(logs)) @ u.T


@_exponential.defjvp
def _exponential_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (a,), (change,) = primals, tangents
    logs, u = jnp.linalg.eigh(a)
    # (eˣ − eʸ)/(x − y) = e^((x+y)/2)·sinh(h)/h with h = (x−y)/2
    h = 0.5 * (logs[:, None] - logs[None, :])
    safe = jnp.where(h == 0, 1, h)
    slope = jnp.exp(0.5 * (logs[:, None] + logs[None, :])) * jnp.where(h == 0, 1, jnp.sinh(safe) / safe)
    return (u * jnp.exp(logs)) @ u.T, u @ (slope * (u.T @ change @ u)) @ u.T


# --- from the endpoint to the velocity ------------------------------------------------------------------


class _Aim(NamedTuple):
    """The velocity (x, B) at N(0, I) that leads to a Gaussian, the square of its length, and whether it was found."""

    x: Float[Array, " n"]
    b: Float[Array, "n n"]
    square: Float[Array, ""]
    found: Bool[Array, ""]


def _aim(
    mean: Float[Array, " n"],
    factor: Float[Array, "n n"],
    inverse: Float[Array, "n n"],
    excess: Float[Array, "n n"],
) -> _Aim:
    """Return the velocity at N(0, I) of the geodesic that is at N(μ, Σ) at t = 1, given μ, F, F⁻¹ and Σ − I.

    Close to N(0, I) the geodesic equations μ̈ = Σ̇Σ⁻¹μ̇ and Σ̈ = Σ̇Σ⁻¹Σ̇ − μ̇μ̇ᵀ are solved to second order, because the
    logarithm of a matrix near I loses its relative accuracy.
    """
    n = mean.shape[0]
    reach = jnp.sum(jnp.square(mean)) + 0.5 * jnp.sum(jnp.square(excess))
    close = reach < np.finfo(mean.dtype).eps ** (2 / 3)
    near_x = mean - 0.5 * excess @ mean
    near_b = excess - 0.5 * (excess @ excess - jnp.outer(mean, mean))

    a, square, found = _nearest_logarithm(mean, factor, inverse)
    near_square = jnp.sum(jnp.square(near_x)) + 0.5 * jnp.sum(jnp.square(near_b))
    return _Aim(
        jnp.where(close, near_x, a[:n, n]),
        jnp.where(close, near_b, a[n + 1 :, n + 1 :]),
        jnp.where(close, near_square, square),
        jnp.logical_or(close, found),
    )


def _nearest_logarithm(mean: Array, factor: Array, inverse: Array) -> tuple[Array, Array, Array]:
    """Return log G of the lift that is nearest to I, its squared distance, and whether it was found.

    Derivatives are those of the implicit function C(S) = 0. The squared distance has none in S, so they are left out.
    """
    end, found = _search(*jax.lax.stop_gradient((mean, factor, inverse)))
    a = _logarithm(_lift(mean, factor, inverse, end.skew))
    # one more Newton step, for the last digits and for the derivative of S
    better = end.skew + end.newton @ _corner(a)
    return _logarithm(_lift(mean, factor, inverse, better)), 0.25 * jnp.sum(jnp.square(a)), found


class _Point(NamedTuple):
    """A lift S, its squared distance, the matrix that takes C to the Newton step, that step, and what it promises."""

    skew: Float[Array, " k"]
    square: Float[Array, ""]
    newton: Float[Array, "k k"]
    step: Float[Array, " k"]
    decrease: Float[Array, ""]
    rounding: Float[Array, ""]

    def promises_less(self, share: Any) -> Bool[Array, ""]:
        return self.decrease <= self.rounding + (self.rounding + share) * self.square


def _search(mean: Array, factor: Array, inverse: Array) -> tuple[_Point, Array]:
    """Minimize the squared distance over the lifts by Newton's method; say whether the minimum was found.

    The gradient is −2C and the Hessian −2·dC/dS, so a full step promises a decrease of CᵀH⁻¹C with H = −dC/dS.
    """
    eps = np.finfo(mean.dtype).eps

    def look(skew: Array) -> _Point:
        root = _lift(mean, factor, inverse, skew)
        u, logs = _spectrum(root)
        a = _assemble(u, logs)
        c = _corner(a)
        curvature, axes = jnp.linalg.eigh(-_slope(u, logs))
        size = jnp.abs(curvature)  # downhill also where the distance is not convex
        newton = (axes / jnp.maximum(size, eps * jnp.max(size))) @ axes.T
        step = newton @ c
        rounding = jnp.square(16 * eps) * jnp.exp(logs[0])
        return _Point(skew, 0.25 * jnp.sum(jnp.square(a)), newton, step, c @ step, rounding)

    def step(state: tuple[_Point, Array, Array]) -> tuple[_Point, Array, Array]:
        here, length, count = state
        there = look(here.skew + length * here.step)
        noise = 4 * jnp.sqrt(there.rounding * there.square)
        better = there.square <= here.square - 1e-4 * length * here.decrease + noise
        point = jax.tree.map(lambda new, old: jnp.where(better, new, old), there, here)
        return point, jnp.where(better, 1.0, 0.5 * length), count + 1

    def wanting(state: tuple[_Point, Array, Array]) -> Array:
        return ~state[0].promises_less(eps**2) & (state[2] < _STEPS)

    n = mean.shape[0]
    zero, far = jnp.zeros(n * (n - 1) // 2, mean.dtype), jnp.asarray(np.finfo(mean.dtype).max)
    # the first look is a step of length zero from a point that is worse than any
    start = _Point(zero, far, jnp.zeros((zero.size, zero.size), mean.dtype), zero, far, jnp.zeros_like(far))
    end, _, _ = jax.lax.while_loop(wanting, step, (start, jnp.zeros_like(far), jnp.zeros((), int)))
    return end, end.promises_less(eps) & (end.rounding < _ROUNDING**2)


def _lift(mean: Array, factor: Array, inverse: Array, skew: Array) -> Float[Array, "m m"]:
    """Return E."""
    n = mean.shape[0]
    i, j = pairs(n)
    upper = jnp.zeros((n, n), mean.dtype).at[i, j].set(skew)
    z = upper - upper.T - 0.5 * jnp.outer(mean, mean)
    left = jnp.concatenate([jnp.eye(n, dtype=mean.dtype), mean[None, :], z]) @ inverse.T
    zeros = jnp.zeros((n, n), mean.dtype)
    middle = jnp.concatenate([zeros[0], jnp.ones(1, mean.dtype), -mean])
    right = jnp.concatenate([zeros, zeros[:1], factor])
    return jnp.concatenate([left, middle[:, None], right], axis=1)


def _corner(a: Float[Array, "m m"]) -> Float[Array, " k"]:
    """Return the upper right block C, a skew matrix, by its entries i < j."""
    n = (a.shape[0] - 1) // 2
    i, j = pairs(n)
    return a[i, n + 1 + j]


# --- the logarithm of EEᵀ -------------------------------------------------------------------------------


@jax.custom_jvp
def _logarithm(root: Float[Array, "m m"]) -> Float[Array, "m m"]:
    """Return log EEᵀ for a lift E."""
    return _assemble(*_spectrum(root))


@_logarithm.defjvp
def _logarithm_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (root,), (change,) = primals, tangents
    u, logs = _spectrum(root)
    inverse = _swap(root.T)
    return _assemble(u, logs), u @ _turn(u.T @ change @ inverse @ u, logs) @ u.T


def _spectrum(root: Float[Array, "m m"]) -> tuple[Array, Array]:
    """Return the eigenvectors of EEᵀ and the logarithms of its eigenvalues, the largest first.

    The eigenvalues come in pairs λ, 1/λ around a 1 in the middle, and only the large ones are accurate.
    """
    # the other algorithm, on a batch, waits for ever for the thread it runs on when there is only one (jaxlib 0.9)
    u, values, _ = svd(root, algorithm=SvdAlgorithm.QR)
    half = 2 * jnp.log(values[: (root.shape[0] - 1) // 2])
    return u, jnp.concatenate([half, jnp.zeros(1, root.dtype), -half[::-1]])


def _assemble(u: Float[Array, "m m"], logs: Float[Array, " m"]) -> Float[Array, "m m"]:
    """Return log EEᵀ from the large eigenvalues: exchanging the outer blocks changes its sign."""
    n = (logs.shape[0] - 1) // 2
    large = (u[:, :n] * logs[:n]) @ u[:, :n].T
    return large - _swap(large)


def _swap(matrix: Float[Array, "m m"]) -> Float[Array, "m m"]:
    """Exchange the first and the last n rows, and columns."""
    n = (matrix.shape[0] - 1) // 2
    order = np.concatenate([np.arange(n + 1, 2 * n + 1), [n], np.arange(n)])
    return matrix[order][:, order]


def _turn(rate: Float[Array, "... m m"], logs: Float[Array, " m"]) -> Float[Array, "... m m"]:
    """Return the change of log EEᵀ as E becomes (I + rate)E, both in its eigenvectors.

    It is rate_ij·φ(l_i − l_j) + rate_ji·φ(l_j − l_i) with φ(u) = u/(eᵘ − 1) and l the logarithms.
    """
    u = logs[:, None] - logs[None, :]
    safe = jnp.where(u == 0, 1, u)
    phi = jnp.where(u == 0, 1, safe / jnp.expm1(safe))
    return rate * phi + jnp.swapaxes(rate * phi, -1, -2)


def _slope(u: Float[Array, "m m"], logs: Float[Array, " m"]) -> Float[Array, "k k"]:
    """Return dC/dS: S enters E by a left factor I + N, with S in the lower left block of N."""
    n = (logs.shape[0] - 1) // 2
    i, j = pairs(n)
    first, last = u[:n], u[n + 1 :]
    rate = last[i][:, :, None] * first[j][:, None, :] - last[j][:, :, None] * first[i][:, None, :]
    change = (first @ _turn(rate, logs) @ last.T)[:, i, j]
    return 0.5 * (change + change.T)
