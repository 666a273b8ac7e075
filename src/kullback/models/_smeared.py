"""What a width of the data points adds to the moments: points N(v, width·I) in place of v move the states with them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.families._linalg import whitener
from kullback.models._kalman import Dynamics, Filtered, smoother_gain, times, turned
from kullback.models._linear_paths import Line, summed
from kullback.models._linear_statistics import Sums


class Smear(NamedTuple):
    """Summed covariances, by points that move, of the states and their rows: v with h, and v."""

    sums: Sums
    cross: Float[Array, "n q"]
    late: Float[Array, "n n"]


def smeared(
    dynamics: Dynamics,
    line: Line,
    filtered: Filtered,
    seeing: Float[Array, "rows q n"],
    filling: Float[Array, "rows n n"],
    from_state: Float[Array, "rows n q"],
) -> Smear:
    """Return what points of width 1 add.

    `seeing` is CᵀR⁻¹ over the observed entries of each row: the filter's mean moves with the row by K = P CᵀR⁻¹, and on
    to the next by F = (I − K C)A. Smoothed means are s_t = Φ_t m_t + (what comes later), so that
    Cov(s_t) = Φ_t M_t Φ_tᵀ + E_t with M_t = F M Fᵀ + K Kᵀ going forward, and going backward
    E_{t−1} = J(Φ K Kᵀ Φᵀ + E_t)Jᵀ and Φ_{t−1} = (I − J A) + J Φ F. Rows themselves are filling·v + from_state·s.
    """
    a, q = dynamics.transition, dynamics.transition.shape[0]
    eye, none = jnp.eye(q, dtype=a.dtype), jnp.zeros_like(a)
    gain = times(filtered.updated.covariance, seeing)
    ahead = filtered.predicted.covariance
    # I − K C = P (P⁻)⁻¹
    factor = whitener(ahead)
    kept = times(times(filtered.updated.covariance, turned(factor)), factor)
    closed = jnp.where(line.start[:, None, None], 0, times(kept, a))
    before = (line.before or dynamics.initial).covariance
    known = jnp.concatenate([before[None], filtered.updated.covariance[:-1]])
    back = jnp.where(line.start[:, None, None], 0, smoother_gain(dynamics, known, ahead))

    def forward(moved: Array, row: Any) -> tuple[Array, Array]:
        on, k = row
        now = times(times(on, moved), on.T) + times(k, k.T)
        return now, now

    _, moved = jax.lax.scan(forward, none, (closed, gain))

    def backward(later: tuple[Array, Array], row: Any) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        ends, on, k, j = row
        phi, spread = jnp.where(ends, eye, later[0]), jnp.where(ends, none, later[1])
        pushed = times(phi, k)
        earlier = times(times(j, times(pushed, pushed.T) + spread), j.T)
        return (eye - times(j, a) + times(times(j, phi), on), earlier), (phi, spread)

    ends = jnp.concatenate([line.start[1:], jnp.ones(1, bool)])
    _, (phi, spread) = jax.lax.scan(backward, (eye, none), (ends, closed, gain, back), reverse=True)
    covariance = times(times(phi, moved), turned(phi)) + spread
    earlier = jnp.concatenate([none[None], moved[:-1]])
    alone = times(times(times(phi, closed), earlier), turned(eye - times(back, a)))
    lag = jnp.tensordot(line.moved, alone + times(covariance, turned(back)), axes=1)
    first = times(times(back[0], covariance[0]), back[0].T)
    with_values = times(phi, gain)  # Cov(s_t, v_t)
    cross = times(filling, turned(with_values)) + times(from_state, covariance)
    mixed = times(times(filling, turned(with_values)), turned(from_state))
    late = times(filling, turned(filling)) + mixed + turned(mixed)
    late = late + times(times(from_state, covariance), turned(from_state))
    total = [jnp.tensordot(line.counted, part, axes=1) for part in (cross, late)]
    return Smear(summed(line, covariance, first, lag), *total)
