"""Sequences of a linear dynamical system as one big Gaussian: the oracle for everything that is exact."""

import dataclasses

import numpy as np
from scipy.stats import multivariate_normal

from kullback.models import LinearDynamicalSystem


def random_system(rng, q=2, n=3, m=0, offset=False, **more):
    """Return a stable system with full noises; with inputs where m > 0."""

    def spread(size):
        root = rng.normal(size=(size, size)) / np.sqrt(size)
        return root @ root.T + 0.3 * np.eye(size)

    a = rng.normal(size=(q, q))
    a *= 0.8 / np.max(np.abs(np.linalg.eigvals(a)))
    b, d = (rng.normal(size=(q, m)), rng.normal(size=(n, m))) if m else (None, None)
    away = 3 * rng.normal(size=n) if offset else None
    parts = (rng.normal(size=(n, q)), spread(q), spread(n), rng.normal(size=q), spread(q))
    return LinearDynamicalSystem(a, *parts, b, d, away, **more)


@dataclasses.dataclass
class Dense:
    """Mean and covariance of (h₁ … h_T, v₁ … v_T) of one sequence, or (h₀, h₁ …) where it continues from a carry."""

    mean: np.ndarray
    covariance: np.ndarray
    steps: int  # of h
    q: int
    n: int
    carried: bool

    def h(self, t):
        """Places of the state of row t; −1 is the carried one."""
        return np.arange(self.q) + (t + self.carried) * self.q

    def v(self, t):
        """Places of the row t."""
        return np.arange(self.n) + self.steps * self.q + t * self.n

    def given(self, values, observed):
        """Return the log-likelihood of what is observed, the Gaussian given it, and how it moves with it."""
        rows = len(values)
        places = np.concatenate([self.v(t)[observed[t]] for t in range(rows)]).astype(int)
        seen = np.concatenate([values[t][observed[t]] for t in range(rows)])
        inner, cross = self.covariance[np.ix_(places, places)], self.covariance[:, places]
        gain = np.linalg.solve(inner, cross.T).T if len(places) else cross
        mean = self.mean + gain @ (seen - self.mean[places])
        covariance = self.covariance - gain @ cross.T
        log_likelihood = multivariate_normal.logpdf(seen, self.mean[places], inner) if len(places) else 0.0
        return log_likelihood, dataclasses.replace(self, mean=mean, covariance=covariance), gain


def dense(model, rows, inputs=None, carry=None):
    """Return the joint Gaussian of a sequence of so many rows, by sums over all ways the noise takes."""
    a, c = np.asarray(model.transition), np.asarray(model.observation)
    n, q = c.shape
    carried = carry is not None
    steps = rows + carried
    power = [np.linalg.matrix_power(a, k) for k in range(steps + 1)]
    first = carry if carried else (model.initial_mean, model.initial_covariance)
    noise = [np.asarray(first[1])] + [np.asarray(model.transition_noise)] * (steps - 1)
    push = [np.asarray(first[0])]
    for s in range(1, steps):
        row = s - carried
        push.append(np.zeros(q) if model.input_transition is None else model.input_transition @ inputs[row])
    mean_h = np.concatenate([sum(power[t - s] @ push[s] for s in range(t + 1)) for t in range(steps)])
    zero = np.zeros((q, q))
    mix = np.block([[power[t - s] if s <= t else zero for s in range(steps)] for t in range(steps)])
    big = np.zeros((steps * q, steps * q))
    for s in range(steps):
        big[s * q : (s + 1) * q, s * q : (s + 1) * q] = noise[s]
    cov_h = mix @ big @ mix.T
    see = np.kron(np.eye(rows, steps, int(carried)), c)
    mean_v = see @ mean_h
    for t in range(rows):
        if model.input_observation is not None:
            mean_v[t * n : (t + 1) * n] += model.input_observation @ inputs[t]
        if model.offset is not None:
            mean_v[t * n : (t + 1) * n] += model.offset
    cov_v = see @ cov_h @ see.T + np.kron(np.eye(rows), model.observation_noise)
    covariance = np.block([[cov_h, cov_h @ see.T], [see @ cov_h, cov_v]])
    return Dense(np.concatenate([mean_h, mean_v]), covariance, steps, q, n, carried)


class Moments:
    """Mass, first and second moments around 0, gathered one by one."""

    def __init__(self, size):
        self.mass, self.first, self.second = 0.0, np.zeros(size), np.zeros((size, size))

    def add(self, weight, mean, covariance):
        self.mass += weight
        self.first = self.first + weight * mean
        self.second = self.second + weight * (covariance + np.outer(mean, mean))

    @property
    def mean(self):
        return self.first / max(self.mass, 1e-300)

    @property
    def spread(self):
        return self.second / max(self.mass, 1e-300) - np.outer(self.mean, self.mean)


class DenseStatistics:
    """The three blocks of the statistics, from conditioned Gaussians of sequences."""

    def __init__(self, model):
        q, n = model.transition.shape[0], model.observation.shape[0]
        self.b = 0 if model.input_transition is None else model.input_transition.shape[1]
        self.d = 0 if model.input_observation is None else model.input_observation.shape[1]
        self.initial, self.transition = Moments(q), Moments(2 * q + self.b)
        self.emission, self.log_likelihood = Moments(q + self.d + n), 0.0

    def add(self, gaussian, rows, weight, inputs=None):
        """Count the first `rows` rows of a sequence."""

        def moments(first, u, last):
            places = np.concatenate([first, last])
            mean, covariance = gaussian.mean[places], gaussian.covariance[np.ix_(places, places)]
            k, size = len(first), len(places) + len(u)
            outside = np.r_[0:k, k + len(u) : size]
            full_mean, full = np.zeros(size), np.zeros((size, size))
            full_mean[outside], full_mean[k : k + len(u)] = mean, u
            full[np.ix_(outside, outside)] = covariance
            return full_mean, full

        for t in range(rows):
            if t == 0 and not gaussian.carried:
                place = gaussian.h(0)
                self.initial.add(weight, gaussian.mean[place], gaussian.covariance[np.ix_(place, place)])
            else:
                u = inputs[t] if self.b else np.zeros(0)
                self.transition.add(weight, *moments(gaussian.h(t - 1), u, gaussian.h(t)))
            self.emission.add(weight, *moments(gaussian.h(t), inputs[t] if self.d else np.zeros(0), gaussian.v(t)))


def assert_statistics(found, dense_statistics, rtol=1e-9, atol=1e-10):
    """Compare all blocks."""
    for name in ("initial", "transition", "emission"):
        one, other = getattr(found, name), getattr(dense_statistics, name)
        np.testing.assert_allclose(one.mass, other.mass, rtol=1e-12, err_msg=name)
        if other.mass > 0:
            np.testing.assert_allclose(one.mean, other.mean, rtol=rtol, atol=atol, err_msg=name)
            np.testing.assert_allclose(one.spread, other.spread, rtol=rtol, atol=atol, err_msg=name)
