"""One case for each family: how to make members, how to sum over all their points, and their log-partition.

`moderate` makes a batch of members of ordinary size. `extreme` makes a batch of shape `BATCH` of the same kind
that spans what the family allows, 1e-6 to 1e6 where it can. `rule` is a quadrature rule in NumPy: points and
weights with Σ weight·f(point) = ∫ f, for moderate members. `log_partition` is ψ(θ) in as many digits as mpmath
is set to.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import mpmath as mp
import numpy as np
from scipy import stats

from kullback.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    ExponentialFamily,
    Gamma,
    Gaussian,
    Independent,
    Ising,
    Kind,
    Multinomial,
    Poisson,
    Product,
    SphericalGaussian,
    VonMises,
)
from tiers import each_member

#: The batch shape of extreme members; with the same for moderate ones a function compiles once for both.
BATCH = (2, 5)

Shape = tuple[int, ...]
Rule = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Case:
    """What the tests need to know about a family."""

    family: type[ExponentialFamily]
    moderate: Callable[[np.random.Generator, Shape], ExponentialFamily]
    extreme: Callable[[], ExponentialFamily]
    rule: Callable[[ExponentialFamily], Rule]
    log_partition: Callable[[Kind, list[Any]], Any]
    #: log of the base measure averaged over a member, from its expectation; None where it has no closed form
    log_base: Callable[[Kind, list[Any]], Any] | None = lambda kind, eta: mp.mpf(0)
    #: the same distribution in scipy, for a single member; and whether scipy can do the extreme ones
    reference: Callable[[ExponentialFamily], Any] | None = None
    reference_for_extreme: bool = True
    #: members on the boundary, without natural coordinates
    boundary: Callable[[], ExponentialFamily] | None = None
    #: the period of each source coordinate that is an angle, for comparisons
    period: Callable[[np.ndarray], np.ndarray] = lambda difference: difference
    #: a family that is like this one: `make test` asks that one all laws, and this one a few
    like: type[ExponentialFamily] | None = None


def single(member: ExponentialFamily, index: Any) -> ExponentialFamily:
    """Return one member of a batch, with NumPy leaves."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], member)


def _batched(rows: np.ndarray) -> np.ndarray:
    return rows.reshape(*BATCH, *rows.shape[1:])


def _uniform(rng: np.random.Generator, low: float, high: float, shape: Shape) -> np.ndarray:
    return np.exp(rng.uniform(np.log(low), np.log(high), shape))


def _spread(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers from 1e-6 to 1e6, both ends included."""
    value = 10.0 ** rng.uniform(-6, 6, shape)
    value.flat[0], value.flat[-1] = 1e-6, 1e6
    return value


# --- quadrature rules -----------------------------------------------------------------------------------------


def _affine_rule(mean: np.ndarray, factor: np.ndarray) -> Rule:
    """A grid of steps of 0.7 standard deviations: for a Gaussian it is exact to 1e-15 or so."""
    n = mean.shape[-1]
    line = 0.7 * np.arange(-12, 13)
    z = np.stack(np.meshgrid(*[line] * n, indexing="ij"), axis=-1).reshape(-1, n)
    points = mean + np.einsum("...ij,pj->p...i", factor, z)
    weight = 0.7**n * np.prod(np.diagonal(factor, axis1=-2, axis2=-1), axis=-1)
    return points, np.broadcast_to(weight, points.shape[:-1])


def _half_line(member: ExponentialFamily) -> Rule:
    """Equal steps in log x."""
    u = np.arange(-60.0, 7.0, 0.25)
    axes = (1,) * len(member.batch_shape)
    x = np.exp(u).reshape(-1, *axes)
    return x, 0.25 * x


def _sticks(axes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, 1 − x and the weights of equal steps in log x/(1−x)."""
    u = (np.arange(-84, 85) / 3).reshape(-1, *(1,) * axes)
    x, y = 1 / (1 + np.exp(-u)), 1 / (1 + np.exp(u))
    return x, y, x * y / 3


def _unit_interval(member: ExponentialFamily) -> Rule:
    x, _, weight = _sticks(len(member.batch_shape))
    return x, weight


def _triangle(member: ExponentialFamily) -> Rule:
    x, y, weight = _sticks(0)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(np.arange(len(x)), np.arange(len(x)), indexing="ij"))
    points = np.stack([x[a], y[a] * x[b], y[a] * y[b]], axis=-1)
    total = weight[a] * weight[b] * y[a]
    axes = (1,) * len(member.batch_shape)
    return points.reshape(-1, *axes, 3), total.reshape(-1, *axes)


def _circle(member: ExponentialFamily) -> Rule:
    x = (np.arange(256) * 2 * np.pi / 256 - np.pi).reshape(-1, *(1,) * len(member.batch_shape))
    return x, np.full_like(x, 2 * np.pi / 256)


def _listing(member: ExponentialFamily, points: np.ndarray) -> Rule:
    axes = (1,) * len(member.batch_shape)
    points = points.reshape(len(points), *axes, *points.shape[1:])
    return points, np.ones((len(points), *axes))


def _compositions(total: int, parts: int) -> np.ndarray:
    rows = itertools.product(range(total + 1), repeat=parts)
    return np.array([row for row in rows if sum(row) == total])


def _states(n: int) -> np.ndarray:
    return np.array(list(itertools.product([-1, 1], repeat=n)))


def _tensor(member: Product) -> Rule:
    batch = member.batch_shape
    points, weight = np.zeros((1, *batch, 0)), np.ones((1, *batch))
    for part in member.parts:
        x, w = CASES[type(part)].rule(part)
        x = x if part.event_shape else x[..., None]
        x, w = np.broadcast_to(x, (len(x), *batch, x.shape[-1])), np.broadcast_to(w, (len(w), *batch))
        left = np.broadcast_to(points[:, None], (len(points), len(x), *batch, points.shape[-1]))
        right = np.broadcast_to(x[None], (len(points), len(x), *batch, x.shape[-1]))
        points = np.concatenate([left, right], axis=-1).reshape(-1, *batch, points.shape[-1] + x.shape[-1])
        weight = (weight[:, None] * w[None]).reshape(-1, *batch)
    return points, weight


# --- Gaussians ------------------------------------------------------------------------------------------------


def _correlated(rng: np.random.Generator, scale: np.ndarray) -> np.ndarray:
    """Covariances with these standard deviations and moderate correlations."""
    n = scale.shape[-1]
    half = np.eye(n) + 0.4 * rng.standard_normal((*scale.shape[:-1], n, n))
    whole = half @ np.swapaxes(half, -1, -2)
    size = np.sqrt(np.diagonal(whole, axis1=-2, axis2=-1))
    return whole * (scale / size)[..., :, None] * (scale / size)[..., None, :]


def _gaussian(rng: np.random.Generator, shape: Shape, n: int = 2) -> Gaussian:
    scale = _uniform(rng, 0.5, 2.0, (*shape, n))
    return Gaussian(rng.normal(0, 1.5, (*shape, n)), _correlated(rng, scale))


def _extreme_scales(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of one order in each coordinate, of any order between them."""
    scale = _spread(rng, (*BATCH, n))
    return scale * rng.uniform(0.5, 3, scale.shape) * rng.choice([-1, 1], scale.shape), scale


def _extreme_gaussian() -> Gaussian:
    rng = np.random.default_rng(1)
    mean, scale = _extreme_scales(rng, 2)
    return Gaussian(mean, _correlated(rng, scale))


def _gaussian_log_partition(kind: Kind, theta: list[Any]) -> Any:
    n = round(float(mp.sqrt(9 + 8 * len(theta)) - 3) / 2)
    precision = mp.matrix(n, n)
    places = [(i, i) for i in range(n)] + list(itertools.combinations(range(n), 2))
    for (i, j), entry in zip(places, theta[n:], strict=True):
        precision[i, j] = precision[j, i] = -2 * entry
    shift = mp.matrix(theta[:n])
    quadratic = (shift.T * mp.lu_solve(precision, shift))[0]
    return (n * mp.log(2 * mp.pi) + quadratic - mp.log(mp.det(precision))) / 2


def _diagonal(rng: np.random.Generator, shape: Shape) -> DiagonalGaussian:
    return DiagonalGaussian(rng.normal(0, 1.5, (*shape, 2)), _uniform(rng, 0.3, 4.0, (*shape, 2)))


def _extreme_diagonal() -> DiagonalGaussian:
    mean, scale = _extreme_scales(np.random.default_rng(2), 2)
    return DiagonalGaussian(mean, scale**2)


def _diagonal_log_partition(kind: Kind, theta: list[Any]) -> Any:
    n = len(theta) // 2
    return sum(-(a**2) / (4 * b) + mp.log(mp.pi / -b) / 2 for a, b in zip(theta[:n], theta[n:], strict=True))


def _spherical(rng: np.random.Generator, shape: Shape) -> SphericalGaussian:
    return SphericalGaussian(rng.normal(0, 1.5, (*shape, 2)), _uniform(rng, 0.3, 4.0, shape))


def _extreme_spherical() -> SphericalGaussian:
    mean, scale = _extreme_scales(np.random.default_rng(3), 1)
    return SphericalGaussian(mean * np.array([1.0, -0.7]), scale[..., 0] ** 2)


def _spherical_log_partition(kind: Kind, theta: list[Any]) -> Any:
    *shift, b = theta
    return sum(-(a**2) / (4 * b) + mp.log(mp.pi / -b) / 2 for a in shift)


def _diagonal_rule(member: Any) -> Rule:
    mean = np.asarray(member.mean)
    variance = np.asarray(member.variance)
    scale = np.sqrt(np.broadcast_to(variance if variance.ndim == mean.ndim else variance[..., None], mean.shape))
    return _affine_rule(mean, scale[..., None] * np.eye(mean.shape[-1]))


# --- counts and categories ------------------------------------------------------------------------------------


def _probabilities(rng: np.random.Generator, shape: Shape, k: int) -> np.ndarray:
    p = rng.dirichlet(np.full(k, 3.0), shape) + 0.02
    return p / p.sum(axis=-1, keepdims=True)


def _rare(k: int) -> np.ndarray:
    """Probabilities of 1e-6 at every place, alone and at all places but one, and some in between."""
    share = np.arange(1.0, k) / np.sum(np.arange(1.0, k))
    rows = []
    for place in range(k):
        rows.append(np.insert((1 - 1e-6) * share, place, 1e-6))
        rows.append(np.insert(1e-6 * np.arange(1.0, k), place, 1 - 1e-6 * np.sum(np.arange(1.0, k))))
    ladder = 10.0 ** np.linspace(-6, 0, k)
    rows += [ladder / ladder.sum(), ladder[::-1] / ladder.sum()] * 2
    return _batched(np.array(rows[:10]))


def _softmax_log_partition(kind: Kind, theta: list[Any]) -> Any:
    trials = dict(kind.structure).get("trials", 1)
    return trials * mp.log(1 + sum(mp.exp(t) for t in theta))


_UNIT = np.array([1e-6, 1e-5, 1e-3, 0.1, 0.4, 0.6, 0.9, 0.999, 1 - 1e-5, 1 - 1e-6])
_WITH_ZEROS = np.array([[0.5, 0.0, 0.5], [0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])


# --- spins and products ---------------------------------------------------------------------------------------


_PAIRS = ((0, 1), (1, 2), (3, 0))


def _ising(rng: np.random.Generator, shape: Shape) -> Ising:
    return Ising(rng.normal(0, 0.5, (*shape, 4)), rng.normal(0, 0.5, (*shape, 3)), _PAIRS)


def _extreme_ising() -> Ising:
    rng = np.random.default_rng(4)
    biases, couplings = rng.uniform(-3, 3, (10, 4)), rng.uniform(-1, 1, (10, 3))
    biases[0], couplings[0] = [3, -3, 3, -3], [-1, -1, -1]
    biases[1], couplings[1] = [1e-3, -1e-3, 1e-3, 3], [1e-3, 1e-3, 1e-3]
    biases[2], couplings[2] = [0.3, -0.2, 0.1, 0.4], [3, -3, 3]
    return Ising(_batched(biases), _batched(couplings), _PAIRS)


def _ising_log_partition(kind: Kind, theta: list[Any]) -> Any:
    pairs = dict(kind.structure)["interactions"]
    n = len(theta) - len(pairs)
    total = mp.mpf(0)
    for x in itertools.product([-1, 1], repeat=n):
        statistics = [*x, *(x[i] * x[j] for i, j in pairs)]
        total += mp.exp(sum(t * s for t, s in zip(theta, statistics, strict=True)))
    return mp.log(total)


def _product(rng: np.random.Generator, shape: Shape) -> Product:
    counts = Poisson(_uniform(rng, 0.5, 6.0, shape))
    return Product([_gaussian(rng, shape, 1), counts, Categorical(_probabilities(rng, shape, 3))])


def _extreme_product() -> Product:
    rng = np.random.default_rng(5)
    mean, scale = _extreme_scales(rng, 1)
    counts = Poisson(_spread(rng, BATCH))
    return Product([Gaussian(mean, scale[..., None] ** 2), counts, Categorical(_rare(3))])


def _product_sum(name: str) -> Callable[[Kind, list[Any]], Any]:
    def total(kind: Kind, vector: list[Any]) -> Any:
        result, start = mp.mpf(0), 0
        for part in dict(kind.structure)["kinds"]:
            result += getattr(CASES[part.family], name)(part, vector[start : start + part.size])
            start += part.size
        return result

    return total


def _side_by_side(member: Independent) -> Product:
    """Return the same columns as parts of a product."""
    axis = len(member.batch_shape)
    columns = range(member.event_shape[0])
    return Product([jax.tree.map(lambda leaf, i=i: np.take(leaf, i, axis), member.columns) for i in columns])


def _column_sum(name: str) -> Callable[[Kind, list[Any]], Any]:
    def total(kind: Kind, vector: list[Any]) -> Any:
        column = dict(kind.structure)["column"]
        pieces = [vector[start : start + column.size] for start in range(0, len(vector), column.size)]
        return sum(getattr(CASES[column.family], name)(column, piece) for piece in pieces)

    return total


# --- the table ------------------------------------------------------------------------------------------------


def _mixed(seed: int, width: int) -> np.ndarray:
    """Columns of numbers from 1e-6 to 1e6: all small, all large, one of them, and mixed."""
    small, large = np.full(width, 1e-6), np.full(width, 1e6)
    one_large, one_small = small.copy(), large.copy()
    one_large[0], one_small[-1] = 1e6, 1e-6
    inside = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, (6, width))
    return np.moveaxis(_batched(np.concatenate([[small, large, one_large, one_small], inside])), -1, 0)


def _turn(difference: np.ndarray) -> np.ndarray:
    """Differences of (angle, concentration): the angle to the nearest turn."""
    angle = difference[..., :1]
    return np.concatenate([angle - 2 * np.pi * np.round(angle / (2 * np.pi)), difference[..., 1:]], axis=-1)


_ALL = [
    Case(
        Gaussian,
        _gaussian,
        _extreme_gaussian,
        lambda g: _affine_rule(np.asarray(g.mean), np.linalg.cholesky(g.covariance)),
        _gaussian_log_partition,
        reference=lambda g: stats.multivariate_normal(g.mean, g.covariance),
        reference_for_extreme=False,
    ),
    Case(
        DiagonalGaussian,
        _diagonal,
        _extreme_diagonal,
        _diagonal_rule,
        _diagonal_log_partition,
        reference=lambda g: stats.multivariate_normal(g.mean, np.diag(g.variance)),
        reference_for_extreme=False,
        like=Gaussian,
    ),
    Case(
        SphericalGaussian,
        _spherical,
        _extreme_spherical,
        _diagonal_rule,
        _spherical_log_partition,
        reference=lambda g: stats.multivariate_normal(g.mean, g.variance * np.eye(len(g.mean))),
        like=Gaussian,
    ),
    Case(
        Bernoulli,
        lambda rng, shape: Bernoulli(rng.uniform(0.1, 0.9, shape)),
        lambda: Bernoulli(_batched(_UNIT)),
        lambda b: _listing(b, np.arange(2)),
        lambda kind, theta: mp.log(1 + mp.exp(theta[0])),
        reference=lambda b: stats.bernoulli(b.probability),
        boundary=lambda: Bernoulli(np.array([0.0, 1.0])),
        like=Categorical,
    ),
    Case(
        Categorical,
        lambda rng, shape: Categorical(_probabilities(rng, shape, 4)),
        lambda: Categorical(_rare(4)),
        lambda c: _listing(c, np.arange(np.shape(c.probabilities)[-1])),
        _softmax_log_partition,
        reference=lambda c: stats.rv_discrete(values=(np.arange(len(c.probabilities)), c.probabilities)),
        boundary=lambda: Categorical(_WITH_ZEROS),
    ),
    Case(
        Multinomial,
        lambda rng, shape: Multinomial(5, _probabilities(rng, shape, 3)),
        lambda: Multinomial(5, _rare(3)),
        lambda m: _listing(m, _compositions(m.trials, 3)),
        _softmax_log_partition,
        log_base=None,
        reference=lambda m: stats.multinomial(m.trials, m.probabilities),
        boundary=lambda: Multinomial(4, _WITH_ZEROS),
        like=Categorical,
    ),
    Case(
        Poisson,
        lambda rng, shape: Poisson(_uniform(rng, 0.5, 6.0, shape)),
        lambda: Poisson(_batched(np.geomspace(1e-6, 1e6, 10))),
        lambda p: _listing(p, np.arange(60)),
        lambda kind, theta: mp.exp(theta[0]),
        log_base=None,
        reference=lambda p: stats.poisson(p.rate),
        boundary=lambda: Poisson(np.array([0.0])),
        like=Gamma,
    ),
    Case(
        Exponential,
        lambda rng, shape: Exponential(_uniform(rng, 0.3, 3.0, shape)),
        lambda: Exponential(_batched(np.geomspace(1e-6, 1e6, 10))),
        _half_line,
        lambda kind, theta: -mp.log(-theta[0]),
        reference=lambda e: stats.expon(scale=1 / e.rate),
        like=Gamma,
    ),
    Case(
        Gamma,
        lambda rng, shape: Gamma(_uniform(rng, 0.7, 5.0, shape), _uniform(rng, 0.3, 3.0, shape)),
        lambda: Gamma(*_mixed(6, 2)),
        _half_line,
        lambda kind, theta: mp.loggamma(theta[0]) - theta[0] * mp.log(-theta[1]),
        log_base=lambda kind, eta: -eta[0],
        reference=lambda g: stats.gamma(g.shape, scale=1 / g.rate),
    ),
    Case(
        Beta,
        lambda rng, shape: Beta(_uniform(rng, 1.0, 6.0, shape), _uniform(rng, 1.0, 6.0, shape)),
        lambda: Beta(*_mixed(7, 2)),
        _unit_interval,
        lambda kind, theta: sum(map(mp.loggamma, theta)) - mp.loggamma(sum(theta)),
        log_base=lambda kind, eta: -sum(eta),
        reference=lambda b: stats.beta(b.alpha, b.beta),
        like=Gamma,
    ),
    Case(
        Dirichlet,
        lambda rng, shape: Dirichlet(_uniform(rng, 1.0, 6.0, (*shape, 3))),
        lambda: Dirichlet(np.moveaxis(_mixed(8, 3), 0, -1)),
        _triangle,
        lambda kind, theta: sum(map(mp.loggamma, theta)) - mp.loggamma(sum(theta)),
        log_base=lambda kind, eta: -sum(eta),
        reference=lambda d: stats.dirichlet(d.concentration),
        reference_for_extreme=False,
        like=Gamma,
    ),
    Case(
        VonMises,
        lambda rng, shape: VonMises(rng.uniform(-3, 3, shape), _uniform(rng, 0.3, 8.0, shape)),
        lambda: VonMises(_batched(np.linspace(-3, 2.9, 10)), _batched(np.geomspace(1e-6, 1e6, 10))),
        _circle,
        lambda kind, theta: mp.log(2 * mp.pi * mp.besseli(0, mp.hypot(*theta))),
        reference=lambda v: stats.vonmises(v.concentration, loc=v.mean),
        period=_turn,
        like=Gamma,
    ),
    Case(
        Ising,
        _ising,
        _extreme_ising,
        lambda i: _listing(i, _states(i.event_shape[0])),
        _ising_log_partition,
        like=Categorical,
    ),
    Case(
        Product,
        _product,
        _extreme_product,
        _tensor,
        _product_sum("log_partition"),
        log_base=None,
        boundary=lambda: Product([Bernoulli(np.array([1.0, 0.5])), Poisson(np.array([2.0, 0.0]))]),
    ),
    Case(
        Independent,
        lambda rng, shape: Independent(Categorical(_probabilities(rng, (*shape, 2), 3))),
        lambda: Independent(Categorical(np.stack([_rare(3), _rare(3)[::-1, ::-1]], axis=-2))),
        lambda member: _tensor(_side_by_side(member)),
        _column_sum("log_partition"),
        log_base=_column_sum("log_base"),
        boundary=lambda: Independent(Categorical(np.stack([_WITH_ZEROS, _WITH_ZEROS[::-1]], axis=-2))),
    ),
]

#: A second case where the first does not go all ways: columns whose nearest member needs Newton steps.
_MORE = {
    "Independent Gamma": Case(
        Independent,
        lambda rng, shape: Independent(
            Gamma(_uniform(rng, 0.7, 5.0, (*shape, 2)), _uniform(rng, 0.3, 3.0, (*shape, 2)))
        ),
        lambda: Independent(Gamma(*(np.stack([a, a[::-1, ::-1]], axis=-1) for a in _mixed(9, 2)))),
        lambda member: _tensor(_side_by_side(member)),
        _column_sum("log_partition"),
        log_base=_column_sum("log_base"),
        like=Independent,
    ),
}

CASES: dict[Any, Case] = {case.family: case for case in _ALL} | _MORE


def name_of(key: Any) -> str:
    """Return the name of a case: that of its family, or its own."""
    return key if isinstance(key, str) else key.__name__


#: The cases that are like others, by their names.
LIKE = {name_of(key): case.like.__name__ for key, case in CASES.items() if case.like is not None}


def each_family(cases: Mapping[str, Any] | None = None, slow: Iterable[str] = ()) -> list[Any]:
    """Return cases, by default the keys of those above, as parameters of a test or of a fixture."""
    return each_member("families", cases or {name_of(key): key for key in CASES}, LIKE, slow)
