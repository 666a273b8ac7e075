"""Several networks as one: the mixture of what they foretell."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Fixed
from kullback.families import OutputKind
from kullback.models._mixture import MixtureKind, log_shares
from kullback.models.conditional._conditional import Conditional


class Ensemble(eqx.Module):
    """Networks that answer with members of one kind; together they answer with the mixture of these members.

    Parameters of networks have no average that means anything, for their units stand in any order. Where the members
    are mixtures themselves, all components are those of one mixture.
    """

    networks: tuple[Callable[[Any], Any], ...]
    log_weights: Fixed
    kind: OutputKind = eqx.field(static=True)

    def __call__(self, x: Float[Array, " k"]) -> Float[Array, " size"]:
        """Return the free coordinates of the mixture for one row of inputs."""
        logs, components = [], []
        for network, log_weight in zip(self.networks, jnp.asarray(self.log_weights.value), strict=True):
            free = network(x)
            if isinstance(self.kind, MixtureKind):
                labels, several = self.kind.split(free)
                logs.append(log_weight + log_shares(labels))
                components.append(several.reshape(-1))
            else:
                logs.append(log_weight[None])
                components.append(free)
        shares = jnp.concatenate(logs)
        return jnp.concatenate([(shares[:-1] - shares[-1]).astype(components[0].dtype), *components])


def ensemble_kind(kind: OutputKind, members: int) -> OutputKind:
    """Return the kind of the mixtures of so many members of a kind."""
    if members == 1:
        return kind
    if isinstance(kind, MixtureKind):
        return MixtureKind(members * kind.n_components, kind.components)
    return MixtureKind(members, kind)


def ensemble(models: Sequence[Conditional], weights: Any) -> Conditional:
    """Return the mixture of several conditional models: p(v | x) = Σ α_m p_m(v | x).

    It is the nearest of all distributions to them, Σ α_m D(p_m, p) being least, and no smaller model.
    """
    kind = models[0].kind
    for place, model in enumerate(models):
        if model.kind != kind:
            raise ValueError(f"models[{place}] answers with {model.kind}, models[0] with {kind}: all must be alike.")
    if len(models) == 1:
        return models[0]
    logs = np.log(np.maximum(np.asarray(weights, dtype=np.float64), np.finfo(np.float32).tiny))
    networks = Ensemble(tuple(model.network for model in models), Fixed(logs), kind)
    return Conditional(networks, ensemble_kind(kind, len(models)))
