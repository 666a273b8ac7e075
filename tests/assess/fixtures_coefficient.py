"""Singular models with known population coefficients: y = abx, a mixture of 1 → 2 components, reduced rank regression.

Population values t²·Var_t[K], t = n/log n, are by quadrature of Z(t) = E[e^{−tK}], which the sampler has no part in.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from kullback.assess import Settings
from kullback.assess._diagnostics import diagnose
from kullback.assess._estimated_coefficient import influence_coefficients, variance_form
from kullback.assess._tempered import begin_chains, draw_tempered, weighted_rows

ROWS = 1000
BETA = 1 / np.log(ROWS)
T = ROWS * BETA
#: Chains run for long: the quick compiling of the tests makes them four times as slow.
THOROUGH = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
    "xla_cpu_use_fusion_emitters": True,
}
LOG_TWO_PI = float(np.log(2 * np.pi))


class Fixture(NamedTuple):
    """A model, its data sets along the first axis, and the population coefficient."""

    log_likelihoods: Any
    log_prior: Any
    start: Any
    data: Any
    weight: Any
    population: float
    settings: Settings
    total: Any = None


def run(fixture, seed=0):
    """Return the variance form of each data set, None where the chains give no number."""
    functions = {"log_likelihoods": fixture.log_likelihoods}
    sampler = functions | {"log_prior": fixture.log_prior, "total": fixture.total, "settings": fixture.settings}
    thorough = functools.partial(jax.jit, compiler_options=THOROUGH)

    @thorough
    @jax.vmap
    def draw(key, data, weight):
        starts = begin_chains(key, jnp.asarray(fixture.start), fixture.settings.chains, 0.3)
        return draw_tempered(key, starts, jnp.asarray([BETA]), data, weight, **sampler).at(0)

    @thorough
    @jax.vmap
    def influences(positions, coefficients, data):
        return weighted_rows(positions, coefficients, data, **functions)

    sets = len(fixture.weight)
    draws = draw(jax.random.split(jax.random.key(seed), sets), fixture.data, fixture.weight)
    losses = np.asarray(draws.losses)
    coefficients = np.stack([influence_coefficients(each, BETA) for each in losses])
    positions = draws.positions.reshape(sets, coefficients.shape[1], -1)
    influence = np.asarray(influences(positions, coefficients, fixture.data))
    return [
        None if diagnose(each).problem else variance_form(each, row, weight, BETA)
        for each, row, weight in zip(losses, influence, np.asarray(fixture.weight), strict=True)
    ]


def held(forms, population, error):
    """Return how many bars of ±2 hold the population value."""
    return sum(abs(form.value - population) <= 2 * error(form) for form in forms if form is not None)


def normal_prior(w, data):
    return -0.5 * jnp.sum(jnp.square(w))


def variance_of(log_weight, k):
    """Return t²·Var K under weights."""
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = np.sum(weight * k)
    return T**2 * float(np.sum(weight * np.square(k - mean)))


# --- y = abx + noise, truth 0: λ = 1/2, m = 2


def product_rows(w, data):
    x, y = data
    return -0.5 * (jnp.square(y - w[0] * w[1] * x) + LOG_TWO_PI)


def product_total(w, data):
    x, y = data
    slope = w[0] * w[1]
    xx, xy, yy = jnp.sum(x * x), jnp.sum(x * y), jnp.sum(y * y)
    return -0.5 * (yy - 2 * slope * xy + slope**2 * xx + x.shape[0] * LOG_TWO_PI)


def product_population():
    """b is integrated out: Z(t) = E_a (1 + t·a²)^(−½), by the trapezoidal rule in log a."""
    u = np.linspace(-40, 3, 20001)
    a = np.exp(u)
    return moments_of_determinant(u - a**2 / 2, np.square(a)[None], 1)


def moments_of_determinant(log_weight, eigenvalues, outputs):
    """Return t²·Var K for Z(t) = E Π (1 + t·l)^(−outputs/2)."""
    scaled = eigenvalues / (1 + T * eigenvalues)
    log_z = log_weight - outputs / 2 * np.sum(np.log1p(T * eigenvalues), axis=0)
    weight = np.exp(log_z - log_z.max())
    weight /= weight.sum()
    first = outputs / 2 * np.sum(scaled, axis=0)  # −d log/dt of each
    second = np.square(first) + outputs / 2 * np.sum(np.square(scaled), axis=0)
    return float(T**2 * (np.sum(weight * second) - np.sum(weight * first) ** 2))


def product_fixture(sets=40, seed=0, draws=2000):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(sets, ROWS)), rng.normal(size=(sets, ROWS))
    weight, settings = np.ones((sets, ROWS)), Settings(4, draws, 400, 8)
    return Fixture(product_rows, normal_prior, np.zeros(2), data, weight, product_population(), settings, product_total)


# --- two components N(b, 1) for data of one, truth N(0, 1): λ = 3/4, m = 1

#: Data are rounded to tenths, and count by weight.
TENTHS = np.arange(-45, 46) / 10


def mixture_rows(w, data):
    odds, means = w[0], w[1:]
    away = -0.5 * (jnp.square(TENTHS[:, None] - means) + LOG_TWO_PI)
    return jnp.logaddexp(jax.nn.log_sigmoid(odds) + away[:, 0], jax.nn.log_sigmoid(-odds) + away[:, 1])


def mixture_prior(w, data):
    return jax.nn.log_sigmoid(w[0]) + jax.nn.log_sigmoid(-w[0]) + normal_prior(w[1:], data)


@functools.cache
def mixture_population():
    """By a grid of means, finer than half of the posterior's width 1/√t, and Gauss–Legendre for the weight."""
    means = np.linspace(-4.2, 4.2, 221)
    assert means[1] - means[0] < 0.5 / np.sqrt(T)
    shares, rule = np.polynomial.legendre.leggauss(16)
    nodes, probabilities = np.polynomial.hermite_e.hermegauss(24)
    probabilities = probabilities / probabilities.sum()

    @functools.partial(jax.jit, compiler_options=THOROUGH)
    def divergences(share):
        log_first = jnp.exp(means[:, None] * nodes - 0.5 * means[:, None] ** 2)  # p(x | b)/p(x | 0)
        mixed = share * log_first[:, None] + (1 - share) * log_first[None]
        return -jnp.log(mixed) @ probabilities

    k = np.stack([divergences(share) for share in (shares + 1) / 4])  # ≤ ½: labels may be exchanged
    square = np.square(means)
    log_weight = np.log(rule)[:, None, None] - 0.5 * (square[:, None] + square) - T * k
    return variance_of(log_weight, k)


def mixture_fixture(sets=40, seed=1, draws=8000):
    rng = np.random.default_rng(seed)
    places = np.clip(np.rint(rng.normal(size=(sets, ROWS)) * 10) + 45, 0, 90).astype(int)
    weight = np.stack([np.bincount(row, minlength=91) for row in places]).astype(float)
    data = np.zeros((sets, 1))
    return Fixture(
        mixture_rows, mixture_prior, np.zeros(3), data, weight, mixture_population(), Settings(4, draws, 400, 4)
    )


# --- reduced rank regression, 5 inputs, 5 outputs, 3 hidden, truth of rank 0: λ = 13/2, m = 2

INPUTS, OUTPUTS, HIDDEN = 5, 5, 3


def rank_map(w):
    first = w[: HIDDEN * INPUTS].reshape(HIDDEN, INPUTS)
    return w[HIDDEN * INPUTS :].reshape(OUTPUTS, HIDDEN) @ first


def rank_rows(w, data):
    x, y = data["x"], data["y"]
    return -0.5 * (jnp.sum(jnp.square(y - x @ rank_map(w).T), axis=-1) + OUTPUTS * LOG_TWO_PI)


def rank_total(w, data):
    slope = rank_map(w)
    cross = jnp.sum(slope * data["yx"])
    square = jnp.sum((slope @ data["xx"]) * slope)
    return -0.5 * (data["yy"] - 2 * cross + square + data["x"].shape[0] * OUTPUTS * LOG_TWO_PI)


def rank_population():
    """B is integrated out: Z(t) = E_A det(I + t·AAᵀ)^(−5/2), over the eigenvalues of a Wishart matrix."""
    u = np.linspace(-16, 4.2, 110)
    grids = np.stack([each.ravel() for each in np.meshgrid(u, u, u, indexing="ij")])
    order = (grids[0] < grids[1]) & (grids[1] < grids[2])
    logs = grids[:, order]
    values = np.exp(logs)
    apart = sum(np.log(np.abs(values[i] - values[j])) for i, j in ((0, 1), (0, 2), (1, 2)))
    power = (INPUTS - HIDDEN - 1) / 2 + 1  # and dl = l du
    log_weight = np.sum(power * logs - values / 2, axis=0) + apart
    return moments_of_determinant(log_weight, values, OUTPUTS)


def rank_fixture(sets=16, seed=2, draws=3000):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(sets, ROWS, INPUTS)), rng.normal(size=(sets, ROWS, OUTPUTS))
    data = {
        "x": x,
        "y": y,
        "xx": np.einsum("sni,snj->sij", x, x),
        "yx": np.einsum("sni,snj->sij", y, x),
        "yy": np.sum(np.square(y), axis=(1, 2)),
    }
    start = np.zeros(HIDDEN * (INPUTS + OUTPUTS))
    settings = Settings(4, draws, 400, 8)
    return Fixture(rank_rows, normal_prior, start, data, np.ones((sets, ROWS)), rank_population(), settings, rank_total)
