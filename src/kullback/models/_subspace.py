"""A start for learning a linear dynamical system: subspace identification, in NumPy."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kullback.models._linear_dynamical_system import LinearDynamicalSystem

Matrix = NDArray[np.float64]

#: A start is stable: its states forget at least so much at each step.
_LARGEST = 0.99


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
    (canonical variates). With states at hand, A, B and C, and the noises, are regressions. NaN marks missing entries:
    they are interpolated here. Sequences stand one below the other. With `rng` the states are shaken, for another
    start.

    >>> t = np.arange(400)
    >>> start = subspace_start(np.sin(0.5 * t)[:, None], n_latents=2)
    >>> angle = np.angle(np.linalg.eigvals(start.transition))
    >>> bool(np.allclose(np.abs(angle), 0.5, atol=0.02))
    True
    """
    values = np.asarray(values, dtype=float)
    lengths = [len(values)] if lengths is None else [int(length) for length in lengths if length > 0]
    n = values.shape[1]
    filled = np.concatenate([_interpolated(part, values) for part in _parts(values, lengths)])
    known = None if inputs is None else np.asarray(inputs, dtype=float)
    columns = ([] if known is None else [known]) + ([np.ones((len(filled), 1))] if offset else [])
    outside = np.concatenate([np.zeros((len(filled), 0)), *columns], axis=1)
    effect = np.linalg.lstsq(outside, filled, rcond=None)[0].T
    rest = filled - outside @ effect.T
    scale = np.sqrt(np.mean(rest**2, axis=0))
    scale = np.where(scale > 0, scale, 1)
    m = 0 if known is None else known.shape[1]
    states, rows = _states(rest / scale, n_latents, lengths, horizon)
    if rng is not None:
        states = states + 0.5 * np.std(states, axis=0) * rng.normal(size=states.shape)
    a, b, noise = _moving(states, rows, None if known is None else known)
    c, left = _regression(states, (rest / scale)[rows])
    more = {"input_transition": b, "input_observation": effect[:, :m]} if m else {}
    return LinearDynamicalSystem(
        a,
        scale[:, None] * c,
        noise,
        _sound(left, np.ones(n)) * scale[:, None] * scale,
        np.zeros(n_latents),
        _sound(np.cov(states.T, bias=True).reshape(n_latents, n_latents), np.ones(n_latents)),
        offset=effect[:, m] if offset else None,
        **more,
    )


def _parts(values: Matrix, lengths: list[int]) -> Iterator[Matrix]:
    """Go through the sequences."""
    end = 0
    for length in lengths:
        yield values[end : end + length]
        end += length


def _interpolated(part: Matrix, values: Matrix) -> Matrix:
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


def _moving(states: Matrix, rows: NDArray[np.intp], inputs: Matrix | None) -> tuple[Matrix, Matrix | None, Matrix]:
    """Return A, B and Q: the regression of a state on the one before and the input; A is made stable."""
    q = states.shape[1]
    later = np.flatnonzero(np.diff(rows) == 1) + 1
    z = states[later - 1] if inputs is None else np.concatenate([states[later - 1], inputs[rows[later]]], axis=1)
    coefficients, _ = _regression(z, states[later])
    a, b = coefficients[:, :q], coefficients[:, q:]
    radius = np.max(np.abs(np.linalg.eigvals(a)), initial=0.0)
    a = a * (_LARGEST / radius) if radius > _LARGEST else a
    away = states[later] - z @ np.concatenate([a, b], axis=1).T
    return a, None if inputs is None else b, _sound(away.T @ away / max(len(later), 1), np.ones(q))


def _regression(z: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    """Return the coefficients of y on z, and the covariance that is left."""
    coefficients = np.asarray(np.linalg.lstsq(z, y, rcond=None)[0].T, dtype=np.float64)
    away = y - z @ coefficients.T
    return coefficients, away.T @ away / max(len(y), 1)


def _whitener(matrix: Matrix) -> Matrix:
    """Return W with W M Wᵀ = I on what M spans, 0 elsewhere."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-8 * max(values[-1], np.finfo(float).tiny)
    whitener: Matrix = (vectors * np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)).T
    return whitener


def _sound(covariance: Matrix, variance: Matrix) -> Matrix:
    """Return a covariance that leaves EM room to move: no direction has less than a hundredth of the variance."""
    sound: Matrix = 0.5 * (covariance + covariance.T) + 0.01 * np.diag(variance)
    return sound
