"""A start for learning a linear dynamical system: subspace identification, in NumPy."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kullback.models.linear._model import LinearDynamicalSystem

Matrix = NDArray[np.float64]

#: A start is stable: its states forget at least so much at each step.
_LARGEST = 0.99
#: The effect of an input is followed for so many steps.
_LAGS = 12


def subspace_start(
    values: Any,
    n_latents: int,
    lengths: Any = None,
    inputs: Any = None,
    offset: bool = True,
    horizon: int | None = None,
    rng: np.random.Generator | None = None,
) -> LinearDynamicalSystem:
    """Return a stable system whose states are what the past says of the future.

    Of all combinations of the last k rows, those are states that correlate most with combinations of the next k rows
    (canonical variates). With states at hand, A and C are regressions; what inputs do is taken away before. NaN marks
    missing entries: they are interpolated here. Sequences stand one below the other. With `rng` the states are shaken,
    for another start.

    >>> t = np.arange(400)
    >>> start = subspace_start(np.sin(0.5 * t)[:, None], n_latents=2)
    >>> angle = np.angle(np.linalg.eigvals(start.transition))
    >>> bool(np.allclose(np.abs(angle), 0.5, atol=0.02))
    True
    """
    values = np.asarray(values, dtype=float)
    lengths = [len(values)] if lengths is None else [int(length) for length in lengths if length > 0]
    filled = np.concatenate([_interpolate(part, values) for part in _split(values, lengths)])
    m = 0 if inputs is None else np.shape(inputs)[1]
    lags = min(_LAGS, len(filled) // (5 * m)) if m else 0
    delayed = _delay(np.asarray(inputs, dtype=float), lengths, lags + 1) if m else np.zeros((len(filled), 0))
    outside = np.concatenate([delayed, np.ones((len(filled), int(offset)))], axis=1)
    effect = np.linalg.lstsq(outside, filled, rcond=None)[0].T
    rest = filled - outside @ effect.T
    scale = np.sqrt(np.mean(rest**2, axis=0))
    scale = np.where(scale > 0, scale, 1)
    states, rows = _states(rest / scale, n_latents, lengths, horizon)
    if rng is not None:
        states = states + 0.5 * np.std(states, axis=0) * rng.normal(size=states.shape)
    a = _stable_transition(states, rows)
    c = _regression(states, (rest / scale)[rows])
    spread, q_noise, r_noise = _noises(a, c, states, rows, rest / scale)
    more: dict[str, Any] = (
        _input_matrices(a, scale[:, None] * c, effect[:, : m * (lags + 1)].reshape(len(c), lags + 1, m)) if m else {}
    )
    return LinearDynamicalSystem(
        a,
        scale[:, None] * c,
        q_noise,
        r_noise * scale[:, None] * scale,
        np.zeros(n_latents),
        spread,
        offset=effect[:, -1] if offset else None,
        **more,
    )


def _split(values: Matrix, lengths: list[int]) -> Iterator[Matrix]:
    """Go through the sequences."""
    end = 0
    for length in lengths:
        yield values[end : end + length]
        end += length


def _interpolate(part: Matrix, values: Matrix) -> Matrix:
    """Fill gaps with straight lines; a column without any entry with its mean over all sequences."""
    filled, time = part.copy(), np.arange(len(part))
    for j in range(part.shape[1]):
        seen = np.isfinite(part[:, j])
        if seen.any():
            filled[:, j] = np.interp(time, time[seen], part[seen, j])
        else:
            entries = values[np.isfinite(values[:, j]), j]
            filled[:, j] = entries.mean() if len(entries) else 0.0
    return filled


def _states(rest: Matrix, q: int, lengths: list[int], horizon: int | None) -> tuple[Matrix, NDArray[np.intp]]:
    """Return states of unit variance, and the rows they belong to."""
    n = rest.shape[1]
    least = -(-q // n)
    k = max(min(max(5, 2 * least), max(lengths) // 3) if horizon is None else horizon, least)
    windows, rows, end = [np.zeros((0, 2 * k, n))], [np.zeros(0, np.intp)], 0
    for length in lengths:
        if length >= 2 * k:
            part = np.lib.stride_tricks.sliding_window_view(rest[end : end + length], 2 * k, axis=0)
            windows.append(part.swapaxes(1, 2))
            rows.append(end + k + np.arange(len(part)))
        end += length
    both = np.concatenate(windows)
    if len(both) < 2 * q + 2:
        return _principal_states(rest, q)
    p, f = both[:, k - 1 :: -1].reshape(len(both), -1), both[:, k:].reshape(len(both), -1)
    white_p, white_f = _whitener(p.T @ p / len(p)), _whitener(f.T @ f / len(f))
    _, _, right = np.linalg.svd(white_f @ (f.T @ p / len(p)) @ white_p.T)
    return p @ (right[:q] @ white_p).T, np.concatenate(rows)


def _principal_states(rest: Matrix, q: int) -> tuple[Matrix, NDArray[np.intp]]:
    """Return the principal components of each row, and of the rows before, where sequences are too short for more."""
    parts = [np.roll(rest, shift, axis=0) for shift in range(-(-q // rest.shape[1]))]
    left, _, _ = np.linalg.svd(np.concatenate(parts, axis=1), full_matrices=True)
    states = left[:, :q] * np.sqrt(len(rest))
    return np.pad(states, ((0, 0), (0, q - states.shape[1]))), np.arange(len(rest))


def _delay(inputs: Matrix, lengths: list[int], count: int) -> Matrix:
    """Return the inputs of each row beside those of the rows before it; before a sequence there are none."""
    parts = []
    for part in _split(inputs, lengths):
        padded = np.concatenate([np.zeros((count - 1, part.shape[1])), part])
        parts.append([padded[count - 1 - lag : count - 1 - lag + len(part)] for lag in range(count)])
    return np.concatenate([np.concatenate(part, axis=1) for part in parts])


def _input_matrices(a: Matrix, c: Matrix, effect: NDArray[Any]) -> dict[str, Matrix]:
    """Return B and D from what inputs do to later rows: C Aʲ B after j ≥ 1 steps, and C B + D at once."""
    q, lags = a.shape[0], effect.shape[1] - 1
    if lags == 0:
        return {"input_transition": np.zeros((q, effect.shape[2])), "input_observation": effect[:, 0]}
    powers = np.concatenate([c @ np.linalg.matrix_power(a, j) for j in range(1, lags + 1)])
    later = np.concatenate([effect[:, j] for j in range(1, lags + 1)])
    b = np.linalg.lstsq(powers, later, rcond=1e-3)[0]
    return {"input_transition": b, "input_observation": effect[:, 0] - c @ b}


def _stable_transition(states: Matrix, rows: NDArray[np.intp]) -> Matrix:
    """Return A, the regression of a state on the one before, made stable."""
    later = _successors(rows)
    a = _regression(states[later - 1], states[later])
    radius = np.max(np.abs(np.linalg.eigvals(a)), initial=0.0)
    return a * (_LARGEST / radius) if radius > _LARGEST else a


def _successors(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places of states that follow another one."""
    return np.flatnonzero(np.diff(rows) == 1) + 1


def _noises(
    a: Matrix, c: Matrix, states: Matrix, rows: NDArray[np.intp], values: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """Return the covariance Π of a state in the long run, and the noises Q = Π − A Π Aᵀ and R = Cov(v) − C Π Cᵀ.

    What the past says of a state is less than the state, but it has the same covariance with the row before:
    A Π Cᵀ. The Π that comes nearest to that, and to the covariance of what the past says, is the one.
    """
    q, later = a.shape[0], _successors(rows)
    known = states.T @ states / len(states)
    if len(later):
        seen = states[later].T @ values[rows[later - 1]] / len(later)
        i, j = np.triu_indices(q)
        units = np.zeros((len(i), q, q))
        units[np.arange(len(i)), i, j] = units[np.arange(len(i)), j, i] = 1
        design = (a @ units @ c.T).reshape(len(i), -1).T
        change = np.linalg.lstsq(design, (seen - a @ known @ c.T).ravel(), rcond=1e-3)[0]
        spread = _floor_eigenvalues(known + np.tensordot(change, units, axes=1))
    else:
        spread = _floor_eigenvalues(known)
    total = values.T @ values / len(values)
    return spread, _floor_eigenvalues(spread - a @ spread @ a.T), _floor_eigenvalues(total - c @ spread @ c.T)


def _regression(z: Matrix, y: Matrix) -> Matrix:
    """Return the coefficients of y on z."""
    return np.asarray(np.linalg.lstsq(z, y, rcond=None)[0].T, dtype=np.float64)


def _whitener(matrix: Matrix) -> Matrix:
    """Return W with W M Wᵀ = I on what M spans, 0 elsewhere."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-8 * max(values[-1], np.finfo(float).tiny)
    whitener: Matrix = (vectors * np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)).T
    return whitener


def _floor_eigenvalues(covariance: Matrix) -> Matrix:
    """Return the nearest covariance that leaves EM room to move: no direction has less than 0.03."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    sound: Matrix = (vectors * np.maximum(values, 0.03)) @ vectors.T
    return 0.5 * (sound + sound.T)
