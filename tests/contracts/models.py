"""One case or more for each model of the registry: how to make a random member, and how its points are drawn."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import multivariate_normal

from kullback.families import Categorical, DiagonalGaussian, Gaussian, Poisson, Product
from kullback.models import (
    CompoundDirichlet,
    FactorAnalysis,
    HelmholtzMachine,
    HiddenMarkovModel,
    LinearDynamicalSystem,
    Mixture,
    ProbabilisticPCA,
    RestrictedBoltzmannMachine,
)
from models.helmholtz.small_machine import random_machine
from tiers import each_member

K = 3


class Case(NamedTuple):
    """How to make a random member of a kind of model."""

    model: type
    make: Callable[[np.random.Generator], Any]
    #: a case that is like this one: `make test` asks that one all laws, and this one a few
    like: str | None = None
    #: log p(h | v) of one h for each row, from (model, batch, h); None for those whose posterior is known below
    log_posterior: Callable[[Any, Any, Any], Any] | None = None


def _spread(rng, n):
    root = rng.normal(size=(K, n, n))
    return root @ root.swapaxes(-1, -2) + np.eye(n)


def _components(name, rng):
    match name:
        case "Gaussian":
            return Gaussian(3 * rng.normal(size=(K, 2)), _spread(rng, 2))
        case "Product":
            return Product(
                [
                    DiagonalGaussian(3 * rng.normal(size=(K, 2)), rng.uniform(0.5, 2, (K, 2))),
                    Poisson(rng.uniform(1, 9, K)),
                    Categorical(rng.dirichlet(np.ones(3), K)),
                ]
            )
        case "FactorAnalysis":
            return FactorAnalysis(2 * rng.normal(size=(K, 3)), rng.normal(size=(K, 3, 1)), rng.uniform(0.3, 1, (K, 3)))
        case "CompoundDirichlet":
            return CompoundDirichlet(rng.uniform(0.5, 6, (K, 3)), trials=20)
    raise KeyError(name)


def mixture(name):
    """Return a maker of random mixtures of this family."""
    return lambda rng: Mixture(rng.dirichlet(np.full(K, 5.0)), _components(name, rng))


def factor_analysis(rng):
    """Return a random model of two factors in four columns."""
    return FactorAnalysis(rng.normal(size=4), rng.normal(size=(4, 2)), rng.uniform(0.3, 1, 4))


def probabilistic_pca(rng):
    """Return a random model of two factors in four columns."""
    return ProbabilisticPCA(rng.normal(size=4), rng.normal(size=(4, 2)), rng.uniform(0.3, 1))


def compound_dirichlet(rng):
    """Return a random model of four categories."""
    return CompoundDirichlet(rng.uniform(0.5, 6, 4), trials=20)


def hidden_markov(rng):
    """Return a random chain with Gaussian emissions."""
    initial, emissions = rng.dirichlet(np.full(K, 5.0)), _components("Gaussian", rng)
    return HiddenMarkovModel(initial, rng.dirichlet(np.full(K, 5.0), K), emissions)


def linear_dynamical_system(rng):
    """Return a random system of two states and three outputs."""
    noise, transition = _spread(rng, 2), 0.4 * rng.normal(size=(2, 2))
    first = (rng.normal(size=(3, 2)), noise[0], _spread(rng, 3)[0])
    return LinearDynamicalSystem(transition, *first, rng.normal(size=2), noise[1], offset=rng.normal(size=3))


#: A mixture asks all components alike: one of a family with matrices, one of several kinds of columns (categories
#: among them), and those whose components hide something themselves. Families have a contract of their own.
MIXTURES = {
    "Mixture of Gaussian": Case(Mixture, mixture("Gaussian")),
    "Mixture of Product": Case(Mixture, mixture("Product")),
    "Mixture of FactorAnalysis": Case(Mixture, mixture("FactorAnalysis"), like="FactorAnalysis"),
    "Mixture of CompoundDirichlet": Case(Mixture, mixture("CompoundDirichlet"), like="CompoundDirichlet"),
}

CASES = MIXTURES | {
    "FactorAnalysis": Case(FactorAnalysis, factor_analysis),
    "ProbabilisticPCA": Case(ProbabilisticPCA, probabilistic_pca, like="FactorAnalysis"),
    "CompoundDirichlet": Case(CompoundDirichlet, compound_dirichlet),
    "HiddenMarkovModel": Case(HiddenMarkovModel, hidden_markov),
    "LinearDynamicalSystem": Case(LinearDynamicalSystem, linear_dynamical_system),
}


def helmholtz_machine(rng):
    """Return a random machine of 4, 3 and 2 binary units."""
    return random_machine(int(rng.integers(2**31)))


def boltzmann_machine(rng):
    """Return a random machine of 4 and 3 binary units."""
    return RestrictedBoltzmannMachine(rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=3))


#: Models without a closed form: they are asked what every energy is asked, and nothing of statistics.
BY_GRADIENTS = {
    "HelmholtzMachine": Case(HelmholtzMachine, helmholtz_machine),
    "RestrictedBoltzmannMachine": Case(RestrictedBoltzmannMachine, boltzmann_machine, like="HelmholtzMachine"),
}
#: All models that have an energy.
ENERGIES = CASES | BY_GRADIENTS


def each_model(cases=CASES, quick=tuple(CASES)):
    """Return the names of cases as parameters of a test or of a fixture; `make test` asks those that are `quick`."""
    like = {name: case.like for name, case in ENERGIES.items() if case.like is not None}
    return each_member("models", {name: name for name in cases}, like, [name for name in cases if name not in quick])


# --- what is hidden: its names, its draws and its posterior ---------------------------------------------------


def renamed(model, rng):
    """Return the same distribution of the visible with other labels, or in another basis of the factors."""
    match model:
        case Mixture():
            turned = eqx.tree_at(lambda m: m.components, model, renamed(model.components, rng))
            return jax.tree.map(lambda leaf: leaf[np.array([2, 0, 1])], turned)
        case HiddenMarkovModel():
            order = np.array([2, 0, 1])
            emissions = jax.tree.map(lambda leaf: leaf[order], model.emissions)
            return HiddenMarkovModel(model.initial[order], model.transitions[np.ix_(order, order)], emissions)
        case LinearDynamicalSystem():
            return model.changed_basis(rng.normal(size=(2, 2)))
        case FactorAnalysis() | ProbabilisticPCA():
            q = model.loadings.shape[-1]
            basis, _ = np.linalg.qr(rng.normal(size=(*model.batch_shape, q, q)))
            return eqx.tree_at(lambda m: m.loadings, model, model.loadings @ basis)
    return model


def _inner(model):
    """Whether the components of a mixture hide something themselves."""
    return isinstance(model, Mixture) and hasattr(model.components, "sample_joint")


def _chosen(model, label):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[label], model.components)


def draw_all(model, key, shape):
    """Draw all that is hidden, and the visible: where components hide something, the label and that."""
    if not _inner(model):
        return model.sample_joint(key, shape)
    first, second = jax.random.split(key)
    label = jax.random.categorical(first, jnp.log(model.weights), shape=shape)
    inner, v = _chosen(model, label).sample_joint(second)
    return (label, inner), v


def energy_of(model, v, h):
    """Return −log p(h, v) of each row; for models with time each is a sequence of one step."""
    return model.energy(v[:, None], h[:, None]).reshape(len(v))


def energy_of_all(model, v, h):
    """Return −log p(h, v) of what `draw_all` draws."""
    if not _inner(model):
        return energy_of(model, v, h)
    label, inner = h
    return _chosen(model, label).energy(v, inner) - jnp.log(jnp.asarray(model.weights)[label])


def log_posterior(model, batch, h):
    """Return log p(h | v) of one h for each row."""
    own = next((case.log_posterior for case in CASES.values() if case.model is type(model)), None)
    if own is not None:
        return own(model, batch, h)
    found = model.posterior(batch)
    if isinstance(model, Mixture | HiddenMarkovModel):
        return jnp.log(found)[jnp.arange(len(h)), h]
    if isinstance(model, CompoundDirichlet):
        return found.log_prob(h)
    return jax.vmap(multivariate_normal.logpdf)(h, found.mean, found.covariance)
