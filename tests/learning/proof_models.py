"""Four models that are trained in different ways, each with an oracle: what proves that one loop serves them all.

All of it is of a module, so that it can be pickled and sent to workers; nothing here computes with JAX when it is
imported, so that a process may be forked after it.
"""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from kullback.families import DiagonalGaussian, Estimate, Model
from kullback.learning import (
    Alternate,
    Gradient,
    Loss,
    OnlineEM,
    Only,
    Optimizer,
    decaying_rate,
)
from kullback.models import HiddenMarkovModel


def tanh(x):
    """Functions inside of networks are leaves: `jnp.tanh` itself does not pickle."""
    return jnp.tanh(x)


def identity(x):
    return x


def network(inputs: int, outputs: int, key: Any, width: int = 16) -> Any:
    return eqx.nn.MLP(inputs, outputs, width, 1, activation=tanh, final_activation=identity, dtype=jnp.float32, key=key)


def weighted_mean(rows: Any, weight: Any) -> Any:
    return jnp.sum(rows * jnp.asarray(weight, rows.dtype)) / jnp.sum(jnp.asarray(weight, rows.dtype))


class _Proof(Model):
    """What these models have in common: nothing is imputed, and no posterior is shown."""

    def posterior(self, batch, key=None):
        raise NotImplementedError

    def impute(self, batch, key):
        raise NotImplementedError


# --- a variational autoencoder --------------------------------------------------------------------------


class VAE(_Proof):
    """p(v | h) = N(decoder(h), width²·I) with h ~ N(0, I); the encoder is a guess of the posterior."""

    encoder: Any
    decoder: Any
    log_width: Any

    def __init__(self, columns: int, latents: int, key: Any, width: int = 16):
        first, second = jax.random.split(key)
        self.encoder = network(columns, 2 * latents, first, width)
        self.decoder = network(latents, columns, second, width)
        self.log_width = jnp.zeros((), jnp.float32)

    def guess(self, v):
        found = self.encoder(v)
        middle = len(found) // 2
        return found[:middle], jnp.clip(found[middle:], -7, 7)

    def energy(self, v, h=None, inputs=None):
        assert h is not None, "h has no closed form to be summed out"
        return _normal(v, self.decoder(h), self.log_width) + _normal(h, jnp.zeros_like(h), 0.0)

    def drawn(self, v, key):
        """Return log p(h, v) − log q(h | v) for one h of the encoder's."""
        mean, log_scale = self.guess(v)
        h = mean + jnp.exp(log_scale) * jax.random.normal(key, mean.shape, mean.dtype)
        return _normal(h, mean, log_scale) - self.energy(v, h)

    def sample(self, key, shape=()):
        first, second = jax.random.split(key)
        h = jax.random.normal(first, (*shape, self.decoder.in_size), jnp.float32).reshape(-1, self.decoder.in_size)
        v = jax.vmap(self.decoder)(h)
        v = v + jnp.exp(self.log_width) * jax.random.normal(second, v.shape, v.dtype)
        return v.reshape(*shape, -1)

    def estimate_log_likelihood(self, batch, key=None, draws=1):
        """Return the logarithm of the mean of p(h, v) / q(h | v), and its standard error by the delta method."""

        def row(v, key):
            ratios = jax.vmap(lambda key: self.drawn(v, key))(jax.random.split(key, draws))
            ratios = ratios.astype(jnp.result_type(float))
            highest = jnp.max(ratios)
            scaled = jnp.exp(ratios - highest)
            mean = jnp.mean(scaled)
            return highest + jnp.log(mean), jnp.std(scaled) / mean / jnp.sqrt(draws)

        return Estimate(*jax.vmap(row)(jnp.asarray(batch.values), jax.random.split(key, len(batch.values))))


def _normal(x, mean, log_scale):
    """Return −log N(x; mean, scale²·I)."""
    return jnp.sum(0.5 * jnp.square((x - mean) * jnp.exp(-log_scale)) + log_scale + 0.5 * np.log(2 * np.pi), axis=-1)


def minus_elbo(model, batch, memory, key):
    """Return minus the evidence lower bound, of one draw for each row."""
    v = jnp.asarray(batch.values)
    return Loss(-weighted_mean(jax.vmap(model.drawn)(v, jax.random.split(key, len(v))), batch.weight))


def vae_learner(learning_rate: float = 1e-2) -> Gradient:
    return Gradient(minus_elbo, Optimizer(optax.adam, learning_rate=learning_rate))


def two_clusters(rows: int, seed: int = 0) -> np.ndarray:
    """Return points of 4 numbers around two centers: far from what one Gaussian can say."""
    rng = np.random.default_rng(seed)
    centers = np.where(rng.random((rows, 1)) < 0.5, [[2.0, -2.0, 1.0, 0.0]], [[-2.0, 2.0, -1.0, 0.0]])
    return (centers + 0.4 * rng.normal(size=(rows, 4))).astype(np.float32)


# --- a restricted Boltzmann machine ---------------------------------------------------------------------

CHAINS = 64


class RBM(_Proof):
    """p(h, v) ∝ exp(vᵀWh + aᵀv + bᵀh) with entries 0 and 1: few enough to count all states."""

    coupling: Any
    visible: Any
    hidden: Any
    normalized = False

    def energy(self, v, h=None, inputs=None):
        field = v @ self.coupling + self.hidden
        if h is None:
            return -(v @ self.visible) - jnp.sum(jnp.logaddexp(0, field), axis=-1)
        return -(v @ self.visible) - jnp.sum(h * field, axis=-1)

    def sweep(self, v, key):
        """Return the visible of chains after one draw of the hidden and of the visible."""
        first, second = jax.random.split(key)
        h = jax.random.bernoulli(first, jax.nn.sigmoid(v @ self.coupling + self.hidden)).astype(v.dtype)
        return jax.random.bernoulli(second, jax.nn.sigmoid(h @ self.coupling.T + self.visible)).astype(v.dtype)

    def sample(self, key, shape=()):
        start = jnp.zeros((*shape, len(self.visible)))
        return jax.lax.fori_loop(0, 200, lambda turn, v: self.sweep(v, jax.random.fold_in(key, turn)), start)

    def estimate_log_likelihood(self, batch, key=None, draws=1):
        states = jnp.asarray(list(itertools.product([0.0, 1.0], repeat=len(self.visible))))
        exact = -self.energy(jnp.asarray(batch.values)) - jax.nn.logsumexp(-self.energy(states))
        return Estimate(exact, jnp.zeros_like(exact))


def contrast(model, batch, chains, key):
    """Return the free energy of the data less that of chains, each divided by its own count."""
    after = jax.lax.fori_loop(0, 5, lambda turn, v: model.sweep(v, jax.random.fold_in(key, turn)), chains)
    phases = weighted_mean(model.energy(jnp.asarray(batch.values)), batch.weight), jnp.mean(model.energy(after))
    return Loss(phases[0] - phases[1], after)


def persistent_chains(model, start, key):
    return jax.random.bernoulli(key, 0.5, (CHAINS, len(model.visible))).astype(jnp.asarray(model.visible).dtype)


def rbm_learner(learning_rate: float = 2e-2) -> Gradient:
    return Gradient(contrast, Optimizer(optax.adam, learning_rate=learning_rate), persistent_chains)


def rbm_start(seed: int = 0) -> RBM:
    rng = np.random.default_rng(seed)
    return RBM(rng.normal(0, 0.1, (6, 3)), np.zeros(6), np.zeros(3))


def rbm_truth() -> RBM:
    coupling = [
        [3.0, -2.0, 0.0],
        [3.0, 0.0, -2.0],
        [-2.0, 3.0, 0.0],
        [0.0, 3.0, -2.0],
        [-2.0, 0.0, 3.0],
        [0.0, -2.0, 3.0],
    ]
    return RBM(np.array(coupling), -0.5 * np.ones(6), -np.ones(3))


def exact_probabilities(model: RBM) -> tuple[np.ndarray, np.ndarray]:
    """Return all visible states and their probabilities, by a sum over all joint states in NumPy: the oracle."""
    W, a, b = (np.asarray(leaf, float) for leaf in (model.coupling, model.visible, model.hidden))
    visible = np.array(list(itertools.product([0.0, 1.0], repeat=len(a))))
    hidden = np.array(list(itertools.product([0.0, 1.0], repeat=len(b))))
    mass = np.exp(visible @ W @ hidden.T + (visible @ a)[:, None] + hidden @ b).sum(axis=1)
    return visible, mass / mass.sum()


def rbm_rows(rows: int, seed: int = 0) -> np.ndarray:
    """Draw rows of the true machine, exactly."""
    states, p = exact_probabilities(rbm_truth())
    return states[np.random.default_rng(seed).choice(len(p), rows, p=p)]


# --- a hidden Markov model that goes on from batch to batch ---------------------------------------------


def hmm_start() -> HiddenMarkovModel:
    emissions = DiagonalGaussian(np.array([[-0.5], [0.5]]), np.ones((2, 1)))
    return HiddenMarkovModel(np.array([0.5, 0.5]), np.array([[0.8, 0.2], [0.2, 0.8]]), emissions)


def hmm_learner(rate: Any = None) -> OnlineEM:
    return OnlineEM(decaying_rate(0.6, 1.0) if rate is None else rate)


def hmm_rows(rows: int, seed: int = 0) -> np.ndarray:
    """Draw a sequence that stays in its state for long."""
    rng = np.random.default_rng(seed)
    state = np.cumsum(rng.random(rows) < 0.05) % 2
    return (np.where(state, 2.0, -1.0) + rng.normal(0, np.where(state, 0.5, 1.0)))[:, None]


# --- two players ----------------------------------------------------------------------------------------


class GAN(_Proof):
    """Numbers that a generator makes of noise, and a critic that tells them from data."""

    generator: Any
    critic: Any
    normalized = False

    def __init__(self, key: Any):
        first, second = jax.random.split(key)
        self.generator, self.critic = network(1, 1, first), network(1, 1, second)

    def energy(self, v, h=None, inputs=None):
        return -self.critic(v)[..., 0]

    def sample(self, key, shape=()):
        noise = jax.random.normal(key, (int(np.prod(shape)), 1), jnp.float32)
        return jax.vmap(self.generator)(noise).reshape(*shape, 1)

    def estimate_log_likelihood(self, batch, key=None, draws=1):
        raise NotImplementedError


def critic_loss(model, batch, memory, key):
    v = jnp.asarray(batch.values)
    true, false = jax.vmap(model.critic)(v)[:, 0], jax.vmap(model.critic)(model.sample(key, v.shape[:1]))[:, 0]
    return Loss(weighted_mean(jax.nn.softplus(-true) + jax.nn.softplus(false), batch.weight))


def generator_loss(model, batch, memory, key):
    false = jax.vmap(model.critic)(model.sample(key, batch.values.shape[:1]))[:, 0]
    return Loss(weighted_mean(jax.nn.softplus(-false), batch.weight))


def critic_of(model):
    return model.critic


def generator_of(model):
    return model.generator


def critic_player(learning_rate: float = 1e-2) -> Only:
    return Only(Gradient(critic_loss, Optimizer(optax.adam, learning_rate=learning_rate, b1=0.5)), critic_of)


def gan_learner(learning_rate: float = 1e-2) -> Alternate:
    optimizer = Optimizer(optax.adam, learning_rate=learning_rate / 2, b1=0.5)
    return Alternate(critic_player(learning_rate), Only(Gradient(generator_loss, optimizer), generator_of), (2, 1))


def gan_rows(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(1.5, 0.6, (rows, 1)).astype(np.float32)
