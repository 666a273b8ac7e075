"""Free coordinates of whole models: one flat vector of R^d for all that is learned.

What a model holds fixed has no coordinate, what its components share has one, and what is 0 of the probabilities of a
hidden Markov model stays 0: d is the number of parameters. The map is one to one between vectors and parameters;
parameters may still describe the same distribution, as those of factor models and linear systems in other bases do.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Model, replace
from kullback.models._counts import Counts
from kullback.models._free_leaves import (
    CovarianceLeaf,
    Leaf,
    MembersLeaf,
    PlainLeaf,
    PositiveLeaf,
    SimplexLeaf,
)
from kullback.models._mixture import Mixture
from kullback.models.factors import FactorAnalysis, ProbabilisticPCA
from kullback.models.hidden_markov import HiddenMarkovModel
from kullback.models.linear import PARAMETERS, LinearDynamicalSystem
from kullback.numerics import with_article

#: The transitions of a hidden Markov model with the end beside them.
_WITH_END = "transitions and ending"
_COVARIANCES = ("transition_noise", "observation_noise", "initial_covariance")


class FreeParameter(NamedTuple):
    """A parameter that is learned: where it stands in the model, and how it becomes free numbers."""

    path: tuple[str, ...]
    leaf: Leaf

    @property
    def name(self) -> str:
        """Its name, with that of what it is a part of."""
        return ".".join(self.path)


class FreeCoordinates(eqx.Module):
    """The chart of a model: its parameters as one vector of R^d, and back.

    >>> from kullback.families import Poisson
    >>> shop = Mixture(weights=[0.75, 0.25], components=Poisson(rate=[2.0, 20.0]))
    >>> chart = free_coordinates(shop)
    >>> [round(float(each), 3) for each in chart.vector(shop)]  # log odds, log rates
    [1.099, 0.693, 2.996]
    >>> chart.at([0.0, 1.0, 2.0]).weights.tolist()
    [0.5, 0.5]
    """

    template: Any
    parameters: tuple[FreeParameter, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return sum(parameter.leaf.size for parameter in self.parameters)

    def pieces(self, vector: Any) -> list[Float[Array, " part"]]:
        """Return the free numbers of each parameter."""
        vector = jnp.asarray(vector)
        if vector.shape != (self.size,):
            raise ValueError(f"vector has shape {vector.shape}: the model has {self.size} free coordinates.")
        sizes = [parameter.leaf.size for parameter in self.parameters]
        return jnp.split(vector, np.cumsum(sizes)[:-1])

    def vector(self, model: Model) -> Float[Array, " d"]:
        """Return the free coordinates of a model of this kind."""
        return self._read(model, "to_free")

    def at(self, vector: Any) -> Any:
        """Return the model with these free coordinates."""
        model = self.template
        for (path, leaf), piece in zip(self.parameters, self.pieces(vector), strict=True):
            model = _put(model, path, leaf.from_free(piece))
        return model

    def source(self, vector: Any) -> Float[Array, " d"]:
        """Return as many numbers of the parameters themselves, without those that follow from others."""
        return self._read(self.at(vector), "to_source")

    def log_volume(self, vector: Any) -> Float[Array, ""]:
        """Return log |det ∂(source)/∂(free)|."""
        model = self.at(vector)
        return sum((leaf.log_volume(_get(model, path)) for path, leaf in self.parameters), jnp.zeros(()))

    def _read(self, model: Model, what: str) -> Float[Array, " d"]:
        return jnp.concatenate([getattr(leaf, what)(_get(model, path)) for path, leaf in self.parameters])


def free_coordinates(model: Any) -> FreeCoordinates:
    """Return the chart of a model: families, mixtures, factor models, compounds, hidden Markov models, linear systems.

    Raise TypeError where a model has none.
    """
    chart = FreeCoordinates(model, tuple(_parameters(model)))
    if not chart.parameters:
        raise ValueError("all parameters of the model are fixed: there is nothing to be free.")
    return chart


@functools.singledispatch
def _parameters(model: Any) -> list[FreeParameter]:
    if not isinstance(model, MembersLeaf.members):
        raise TypeError(
            f"{with_article(type(model).__name__)} has no free coordinates: families, mixtures, factor models, "
            "compound Dirichlets, hidden Markov models and linear dynamical systems have them."
        )
    family: Any = model
    return [FreeParameter((), MembersLeaf(family.kind, family.batch_shape))]


@_parameters.register
def _(model: Mixture) -> list[FreeParameter]:
    weights = (
        []
        if model.fixed_weights or model.weights.shape == (1,)
        else [FreeParameter(("weights",), SimplexLeaf.of(model.weights))]
    )
    return weights + _members("components", model.components, model.tied)


@_parameters.register
def _(model: Counts) -> list[FreeParameter]:
    zeros = np.argwhere(np.asarray(model.probabilities) == 0)
    if zeros.size:
        place = ", ".join(map(str, zeros[0].tolist()))
        raise ValueError(
            f"probabilities[{place}] is 0: free coordinates do not exist on the boundary, fit with a prior."
        )
    return [FreeParameter(("probabilities",), SimplexLeaf.of(model.probabilities))]


@_parameters.register
def _(model: HiddenMarkovModel) -> list[FreeParameter]:
    found = []
    if "initial" not in model.fixed:
        found.append(FreeParameter(("initial",), SimplexLeaf.of(model.initial)))
    if "transitions" not in model.fixed:
        path = ("transitions",) if model.ending is None else (_WITH_END,)
        found.append(FreeParameter(path, SimplexLeaf.of(_get(model, path))))
    if "emissions" not in model.fixed:
        found += _members("emissions", model.emissions, model.tied)
    return [parameter for parameter in found if parameter.leaf.size]


@_parameters.register(FactorAnalysis)
@_parameters.register(ProbabilisticPCA)
def _(model: Any) -> list[FreeParameter]:
    return [
        FreeParameter(("mean",), PlainLeaf(model.mean.shape)),
        FreeParameter(("loadings",), PlainLeaf(model.loadings.shape)),
        FreeParameter(("noise",), PositiveLeaf(np.shape(model.noise))),
    ]


@_parameters.register
def _(model: LinearDynamicalSystem) -> list[FreeParameter]:
    found = []
    for name in PARAMETERS:
        value = getattr(model, name)
        if value is not None and name not in model.fixed:
            leaf = CovarianceLeaf if name in _COVARIANCES else PlainLeaf
            found.append(FreeParameter((name,), leaf(value.shape)))
    return found


def _members(name: str, members: Any, tied: tuple[str, ...]) -> list[FreeParameter]:
    """Return the parameters of components or emissions; what they share, once."""
    if not tied:
        return [FreeParameter((name, *path), leaf) for path, leaf in _parameters(members)]
    found = [FreeParameter((name, "mean"), PlainLeaf(members.mean.shape))]
    for shared in tied:
        value = getattr(members, shared)
        leaf = CovarianceLeaf if shared == "covariance" else PositiveLeaf
        found.append(FreeParameter((name, shared), leaf(value.shape[1:], value.shape[0])))
    return found


def _get(model: Any, path: tuple[str, ...]) -> Any:
    if path == (_WITH_END,):
        return jnp.concatenate([jnp.asarray(model.transitions), jnp.asarray(model.ending)[:, None]], axis=1)
    return functools.reduce(getattr, path, model)


def _put(model: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    if path == (_WITH_END,):
        return replace(model, transitions=value[:, :-1], ending=value[:, -1])
    return replace(model, **{path[0]: _put(getattr(model, path[0]), path[1:], value)})
