"""The prior of a model when none is given: Dirichlet(1) for probabilities, weak conjugate ones from the data's scale.

Densities are in the free coordinates of the model, up to a constant. A learning coefficient depends on the prior, so
what it is stands beside every number: `ModelPrior.text`.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch
from kullback.families import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Gaussian,
    Independent,
    Multinomial,
    Product,
    SphericalGaussian,
)
from kullback.models import (
    CompoundDirichlet,
    CovarianceLeaf,
    FreeCoordinates,
    FreeParameter,
    MembersLeaf,
    PositiveLeaf,
    SimplexLeaf,
)
from kullback.numerics import Numeric

#: Means have so many standard deviations of the data.
_WIDE = 3.0
#: Gaussians of components and emissions have so much of them.
_NARROW = 0.5
#: First states of linear systems, in units of their own.
_WIDE_STATES = 10.0
_PROBABILITIES = (Bernoulli, Categorical, Multinomial)
_GAUSSIANS = (Gaussian, DiagonalGaussian, SphericalGaussian)
#: Parameters in units of the columns, and those in units of the states.
_OF_COLUMNS = ("mean", "loadings", "noise", "covariance", "variance", "observation", "observation_noise", "offset")
_LOCATIONS = ("mean", "offset")


class ColumnScale(eqx.Module):
    """Mean and standard deviation of each column, of what is observed."""

    mean: Float[Numeric, " n"]
    deviation: Float[Numeric, " n"]

    @classmethod
    def of(cls, batch: Batch) -> "ColumnScale":
        """Return where the rows of a batch lie."""
        values = np.asarray(batch.values, np.float64)
        values = values.reshape(len(values), -1)
        seen = np.ones(values.shape) if batch.observed is None else np.asarray(batch.observed).reshape(values.shape)
        weight = seen * np.asarray(batch.weight, np.float64)[:, None]
        mass = np.maximum(weight.sum(axis=0), 1e-300)
        mean = (weight * values).sum(axis=0) / mass
        return cls(mean, np.sqrt((weight * np.square(values - mean)).sum(axis=0) / mass))

    def check(self) -> None:
        """Raise where a column has no scale."""
        flat = np.flatnonzero(~(np.asarray(self.deviation) > 0))
        if flat.size:
            raise ValueError(
                f"column {flat[0]} of the data is constant: it has no scale for a prior, so leave it out or give "
                "log_prior."
            )

    def part(self, start: int, stop: int) -> "ColumnScale":
        """Return the scale of some columns."""
        return ColumnScale(self.mean[start:stop], self.deviation[start:stop])


class ModelPrior(eqx.Module):
    """The density of a prior in the free coordinates of a model, and what it is in words."""

    scale: ColumnScale
    #: For components or emissions the one member that is nearest to all rows, None for other parameters.
    references: tuple[Any, ...]
    text: str = eqx.field(static=True)

    @classmethod
    def of(cls, chart: FreeCoordinates, batch: Batch) -> "ModelPrior":
        """Return the default prior of a model, from the scale of the data."""
        scale = ColumnScale.of(batch)
        references, words = [], []
        for parameter in chart.parameters:
            reference = None
            if isinstance(parameter.leaf, MembersLeaf):
                members = _members(chart, parameter)
                reference = _nearest(members, batch)
                _check(members, scale, reference)
                words += _member_words(members)
            elif isinstance(parameter.leaf, SimplexLeaf):
                words.append("Dirichlet(1) for probabilities")
            else:
                if parameter.path[-1] in _OF_COLUMNS:
                    scale.check()
                words.append(_words(parameter))
            references.append(reference)
        return cls(scale, tuple(references), "; ".join(dict.fromkeys(words)))

    def log_density(self, chart: FreeCoordinates, vector: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the log density at these free coordinates, up to a constant."""
        terms = [
            self._term(parameter, reference, piece)
            for parameter, reference, piece in zip(chart.parameters, self.references, chart.pieces(vector), strict=True)
        ]
        return sum(terms, jnp.zeros((), vector.dtype))

    def _term(self, parameter: FreeParameter, reference: Any, piece: Array) -> Float[Array, ""]:
        leaf, name = parameter.leaf, parameter.path[-1] if parameter.path else ""
        value = leaf.from_free(piece)
        if isinstance(leaf, MembersLeaf):
            return jnp.sum(_member_density(value, reference, self.scale))
        if isinstance(leaf, SimplexLeaf):
            return leaf.log_volume(value)
        deviation = jnp.asarray(self.scale.deviation) if name in _OF_COLUMNS else jnp.ones(())
        if isinstance(leaf, CovarianceLeaf):
            covariance = leaf.one(value)
            wide = jnp.broadcast_to(jnp.square(deviation), covariance.shape[-1:])
            return _inverse_wishart(covariance, wide) + leaf.log_volume(value)
        if isinstance(leaf, PositiveLeaf):
            each = leaf.one(value)
            spread = jnp.square(deviation)
            spread = spread if each.shape[-1:] == spread.shape else jnp.mean(spread)
            return jnp.sum(_inverse_gamma(each, spread)) + leaf.log_volume(value)
        array = jnp.asarray(value)
        if name in _LOCATIONS:
            return _normal(array, jnp.asarray(self.scale.mean), _WIDE * deviation)
        if name == "initial_mean":
            return _normal(array, 0.0, _WIDE_STATES)
        rows = deviation if name not in _OF_COLUMNS else deviation[:, None]  # a row of loadings for each column
        return _normal(array, 0.0, rows)


# --- members of families ---------------------------------------------------------------------------------------


def _members(chart: FreeCoordinates, parameter: FreeParameter) -> Any:
    value = chart.template
    for name in parameter.path:
        value = getattr(value, name)
    return value


def _first(members: Any) -> Any:
    for _ in members.batch_shape:
        members = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], members)
    return members


def _nearest(members: Any, batch: Batch) -> Any:
    """Return the member that is nearest to all rows that miss nothing."""
    member = _first(members)
    if isinstance(member, CompoundDirichlet):
        return Dirichlet(np.ones(member.size))
    if batch.observed is not None:
        whole = np.asarray(batch.observed).reshape(len(batch.values), -1).all(axis=1)
        if not whole.any():
            raise ValueError("every row misses an entry: the data has no scale for a prior, so give log_prior.")
        batch = Batch(np.asarray(batch.values)[whole], np.asarray(batch.weight)[whole])
    rows = Batch(batch.values, batch.weight)
    return member.maximize(member.expected_statistics(rows)[0])


def _check(members: Any, scale: ColumnScale, reference: Any) -> None:
    if isinstance(members, Product):
        for part, other, columns in zip(members.parts, reference.parts, _column_parts(members, scale), strict=True):
            _check(part, columns, other)
    elif isinstance(members, _GAUSSIANS):
        scale.check()
    elif isinstance(members, Independent):
        _check(members.columns, scale, reference.columns)
    elif not isinstance(members, _PROBABILITIES) and not np.all(np.asarray(reference.interior)):
        raise ValueError(
            f"the {type(reference).__name__} nearest to the data lies at the edge of its family: it is no scale for a "
            "prior, so leave out columns that are constant, or give log_prior."
        )


def _column_parts(members: Product, scale: ColumnScale) -> list[ColumnScale]:
    ends = np.cumsum([kind.columns for kind in members.kinds])
    return [scale.part(end - kind.columns, end) for kind, end in zip(members.kinds, ends, strict=True)]


def _member_density(members: Any, reference: Any, scale: ColumnScale) -> Float[Array, "..."]:
    """Return the log density of each member, in free coordinates."""
    if isinstance(members, Product):
        parts = zip(members.parts, reference.parts, _column_parts(members, scale), strict=True)
        return sum((_member_density(*part) for part in parts), jnp.zeros(()))
    if isinstance(members, Independent):
        return jnp.sum(_member_density(members.columns, reference.columns, scale), axis=-1)
    if isinstance(members, _PROBABILITIES):
        return members.log_volume()
    if isinstance(members, _GAUSSIANS):
        return _gaussian(members, scale) + members.log_volume()
    family = members.hidden if isinstance(members, CompoundDirichlet) else members
    inner = jnp.sum(family.natural * reference.expectation, axis=-1)
    return inner - family.log_partition + family.log_volume("natural")


def _gaussian(members: Any, scale: ColumnScale) -> Float[Array, "*batch"]:
    """Return log N(μ; m, (3s)²) + log IW(Σ; n + 2, diag (s/2)²), or the same of variances.

    Components are narrower than all of the data. Means do not depend on covariances: a component without rows would
    otherwise be a funnel that no step fits.
    """
    mean = jnp.asarray(members.mean)
    deviation = jnp.asarray(scale.deviation)
    wide = jnp.square(_NARROW * deviation)
    normal = -0.5 * jnp.sum(jnp.square((mean - jnp.asarray(scale.mean)) / (_WIDE * deviation)), axis=-1)
    if isinstance(members, Gaussian):
        return _inverse_wishart(jnp.asarray(members.covariance), wide) + normal
    variance = jnp.asarray(members.variance)
    if isinstance(members, SphericalGaussian):
        return _inverse_gamma(variance, jnp.mean(wide)) + normal
    return jnp.sum(_inverse_gamma(variance, wide), axis=-1) + normal


def _inverse_wishart(covariance: Float[Array, "*batch n n"], wide: Float[Array, " n"]) -> Float[Array, "*batch"]:
    """Return the log density of n + 2 degrees of freedom: its mean is diag(wide)."""
    n = covariance.shape[-1]
    root = jnp.linalg.cholesky(covariance)
    scaled = jnp.broadcast_to(jnp.diag(jnp.sqrt(wide)), covariance.shape)
    half = jax.scipy.linalg.solve_triangular(root, scaled, lower=True)
    log_root = jnp.sum(jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)), axis=-1)
    return -(2 * n + 3) * log_root - 0.5 * jnp.sum(jnp.square(half), axis=(-2, -1))


def _inverse_gamma(variance: Array, wide: Array) -> Array:
    """Return the same of one variance."""
    return -2.5 * jnp.log(variance) - 0.5 * wide / variance


def _normal(value: Array, center: Any, deviation: Any) -> Float[Array, ""]:
    return -0.5 * jnp.sum(jnp.square((value - center) / deviation))


def _member_words(members: Any) -> list[str]:
    if isinstance(members, Product):
        return [words for part in members.parts for words in _member_words(part)]
    if isinstance(members, Independent):
        return _member_words(members.columns)
    if isinstance(members, _PROBABILITIES):
        return ["Dirichlet(1) for probabilities"]
    if isinstance(members, _GAUSSIANS):
        return [
            f"normal for means (mean of the data, {_WIDE:g} of its standard deviations)",
            f"inverse Wishart for covariances (by {_NARROW:g} of its standard deviations, n + 2 degrees of freedom)",
        ]
    if isinstance(members, CompoundDirichlet):
        return ["conjugate for the Dirichlet, one row like Dirichlet(1)"]
    return [f"conjugate for {type(members).__name__}, one row like the mean of the data"]


def _words(parameter: FreeParameter) -> str:
    name = parameter.path[-1]
    where = "the columns' variances" if name in _OF_COLUMNS else "the unit matrix"
    if isinstance(parameter.leaf, CovarianceLeaf):
        return f"inverse Wishart for {name} (mean {where})"
    if isinstance(parameter.leaf, PositiveLeaf):
        return f"inverse Gamma for {name} (mean {where})"
    if name in _LOCATIONS:
        return f"normal for {name} (mean of the data, {_WIDE:g} of its standard deviations)"
    if name == "initial_mean":
        return f"normal for {name} (0, standard deviation {_WIDE_STATES:g})"
    return f"normal for {name} (0, {'one standard deviation of each column' if name in _OF_COLUMNS else 'variance 1'})"
