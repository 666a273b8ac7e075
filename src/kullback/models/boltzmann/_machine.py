"""The restricted Boltzmann machine: two layers, each independent given the other."""

from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch, Completion, Estimate, Key, Model, Shape, Want, as_key, as_shape, keep_observed
from kullback.models.boltzmann import _completion, _draws, _exact, _path, _surprises
from kullback.models.kernels import Annealed
from kullback.numerics import Numeric, as_parameter, check_finite, draw_binary, normal

#: Means of binary columns are kept so far from 0 and 1 where a machine begins.
_EDGE = 1e-3


class RestrictedBoltzmannMachine(Model):
    """p(h, v) = e^(−E(v, h)) / Z with binary hidden units, and visible ones that are binary or Gaussian.

    Binary: E = −b·v − vᵀWh − c·h. Given h, units of v have the log odds b + Wh.
    Gaussian, with standard deviations σ: E = Σ (v − b)²/2σ² − ((v − b)/σ²)ᵀWh − c·h. Given h, v is N(b + Wh, σ²): W and
    b are in the units of v, and another origin of v changes b alone.

    Given v, hidden units have the log odds Wᵀv + c, or Wᵀ(v − b)/σ² + c. Summed over h, the free energy is
    F(v) = −b·v − Σ softplus(Wᵀv + c), or Σ (v − b)²/2σ² − Σ softplus(Wᵀ(v − b)/σ² + c). −F lacks log Z: where the
    smaller layer has up to 24 units it is found by going through its states, otherwise it is estimated.

    Parameters
    ----------
    weights : array of shape (visible, hidden)
        W.
    visible_bias, hidden_bias : arrays
        b and c.
    log_scale : array, optional
        log σ of Gaussian visible units; None for binary ones.

    Examples
    --------
    >>> machine = RestrictedBoltzmannMachine(weights=[[2.0], [2.0]], visible_bias=[-1.0, -1.0], hidden_bias=[0.0])
    >>> states = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> np.round(np.exp(machine.log_likelihood(Batch(states))), 3).tolist()  # both or neither, more often than one
    [0.127, 0.197, 0.197, 0.479]

    """

    weights: Float[Numeric, "visible hidden"]
    visible_bias: Float[Numeric, " visible"]
    hidden_bias: Float[Numeric, " hidden"]
    log_scale: Float[Numeric, " visible"] | None

    normalized: ClassVar[bool] = False

    def __init__(self, weights: Any, visible_bias: Any, hidden_bias: Any, log_scale: Any = None):
        self.weights, self.visible_bias = as_parameter(weights), as_parameter(visible_bias)
        self.hidden_bias = as_parameter(hidden_bias)
        self.log_scale = None if log_scale is None else as_parameter(log_scale)
        shape = np.shape(self.weights)
        if len(shape) != 2:
            raise ValueError(f"weights has shape {shape}: it must be a matrix, a row for each visible unit.")
        parts = [("visible_bias", self.visible_bias, shape[:1]), ("hidden_bias", self.hidden_bias, shape[1:])]
        if self.log_scale is not None:
            parts.append(("log_scale", self.log_scale, shape[:1]))
        for name, value, expected in parts:
            if np.shape(value) != expected:
                raise ValueError(f"{name} has shape {np.shape(value)}: with weights of shape {shape} it is {expected}.")
            check_finite(name, value)
        check_finite("weights", self.weights)

    @classmethod
    def start(cls, means: Any, hidden: int, key: Key, scale: Any = None, dtype: Any = None) -> Self:
        """Return a machine to begin with: visible units as independent as data with these means, weights near 0.

        `scale` has the standard deviations of Gaussian visible units.
        """
        dtype = jnp.result_type(float) if dtype is None else dtype
        means = jnp.asarray(means, dtype)
        weights = 0.01 * jax.random.normal(as_key(key), (len(means), hidden), dtype)
        nothing = jnp.zeros(hidden, dtype)
        if scale is None:
            means = jnp.clip(means, _EDGE, 1 - _EDGE)
            return cls(weights, jnp.log(means) - jnp.log1p(-means), nothing)
        scale = jnp.asarray(scale, dtype)
        return cls(weights * scale[:, None], means, nothing, jnp.log(scale))

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        """Binary entries are 0 or 1; Gaussian ones may have any value."""
        return ((0.0, 1.0) if self.log_scale is None else (),) * len(self.visible_bias)

    @property
    def hidden_levels(self) -> tuple[tuple[float, ...], ...]:
        """All hidden units are 0 or 1."""
        return ((0.0, 1.0),) * len(self.hidden_bias)

    # --- the joint --------------------------------------------------------------------------------------

    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, "..."]:
        """Return E(v, h), or the free energy F(v) = −log Σ_h e^(−E): minus the log density, up to log Z."""
        v = self.as_visible(v)
        log_odds = self.hidden_logits(v)
        each = jax.nn.softplus(log_odds) if h is None else jnp.asarray(h, log_odds.dtype) * log_odds
        return self.visible_energy(v) - jnp.sum(each, axis=-1)

    def visible_energy(self, v: Float[Array, "... visible"]) -> Float[Array, "..."]:
        """Return the energy of visible units with all hidden ones at 0: −b·v, or Σ (v − b)²/2σ²."""
        if self.log_scale is None:
            return -(v @ self.visible_bias)
        return 0.5 * jnp.sum(jnp.square((v - self.visible_bias) * jnp.exp(-self.log_scale)), axis=-1)

    def hidden_logits(self, v: Float[Array, "... visible"]) -> Float[Array, "... hidden"]:
        """Return the log odds of hidden units given v."""
        return self.statistic(v) @ self.weights + self.hidden_bias

    def statistic(self, v: Float[Array, "... visible"]) -> Float[Array, "... visible"]:
        """Return what the weights multiply: v, or (v − b)/σ²."""
        if self.log_scale is None:
            return v
        return (v - self.visible_bias) * jnp.exp(-2 * self.log_scale)

    def visible_location(self, h: Float[Array, "... hidden"]) -> Float[Array, "... visible"]:
        """Return the log odds of binary visible units given h, or the means of Gaussian ones: b + Wh."""
        return h @ jnp.asarray(self.weights).T + self.visible_bias

    def visible_mean(self, h: Float[Array, "... hidden"]) -> Float[Array, "... visible"]:
        """Return E[v | h]."""
        location = self.visible_location(h)
        return jax.nn.sigmoid(location) if self.log_scale is None else location

    def as_visible(self, v: Any) -> Float[Array, "... visible"]:
        """Return points as arrays of the type that the machine computes in."""
        return jnp.asarray(v, jnp.asarray(self.visible_bias).dtype)

    # --- the constant -----------------------------------------------------------------------------------

    @property
    def enumerable(self) -> bool:
        """Whether log Z is found by going through all states of a layer, unless it is asked for otherwise."""
        return _exact.smaller_layer(self) <= _exact.ENUMERATED

    def exact_log_partition(self) -> Float[Array, ""]:
        """Return log Z by going through all states of the smaller layer, of up to 24 binary units."""
        return _exact.log_partition(self)

    def anneal_log_partition(
        self, key: Key, chains: int = 100, temperatures: int = 1000, base: _path.Base | None = None
    ) -> Annealed:
        """Return log Z by annealed importance sampling, with a standard error, and whether it is to be trusted.

        Chains begin as independent visible units: those of `base`, or what the machine's own units are on average.
        """
        return _path.anneal(self, as_key(key), chains, temperatures, base)

    def log_partition(self, key: Any = None, chains: int = 100, temperatures: int = 1000) -> Estimate:
        """Return log Z: exactly where a layer has up to 20 binary units, and estimated otherwise."""
        if self.enumerable:
            exact = self.exact_log_partition()
            return Estimate(exact, jnp.zeros_like(exact))
        return self.anneal_log_partition(0 if key is None else key, chains, temperatures).estimate

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log p(v) of what is observed of each row, exactly: where a layer has up to 24 units.

        Rows that lack entries need few hidden units, for these are gone through.
        """
        return self.unnormalized(batch) - self.exact_log_partition()

    def unnormalized(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log p(v) + log Z of what is observed of each row: −F(v), and what is missing is summed out."""
        v = self.as_visible(batch.values)
        return -self.energy(v) if batch.observed is None else _exact.log_sums(self, v, jnp.asarray(batch.observed))

    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 100) -> Estimate:
        """Return log p(v) of what is observed of each row, with the error of log Z, and of sums over missing entries.

        `draws` is how many chains there are where something has to be estimated.
        """
        first, second = jax.random.split(as_key(0 if key is None else key))
        constant, mass = self.log_partition(first, draws), self.estimate_unnormalized(batch, second, draws)
        error = jnp.sqrt(mass.standard_error**2 + constant.standard_error**2)
        return Estimate(mass.value - constant.value, error)

    def estimate_unnormalized(self, batch: Batch, key: Any = None, draws: int = 100) -> Estimate:
        """Return log p(v) + log Z: missing entries are summed out exactly where hidden units are few."""
        if batch.observed is None or len(self.hidden_bias) <= _exact.ENUMERATED:
            exact = self.unnormalized(batch)
            return Estimate(exact, jnp.zeros_like(exact))
        key, v = as_key(0 if key is None else key), self.as_visible(batch.values)
        return _path.anneal_rows(self, key, v, jnp.asarray(batch.observed), draws).estimate

    def surprises(self, batch: Batch) -> Float[Array, "rows visible"]:
        """Return −log p(entry | the rest of its row) in nats: of one entry no constant is needed.

        Of other entries that are missing guesses of means are seen; NaN where the entry itself is missing.
        """
        v = self.as_visible(batch.values)
        if batch.observed is None:
            return _surprises.surprises(self, v)
        observed = jnp.asarray(batch.observed)
        return jnp.where(observed, _surprises.surprises(self, self.fill(v, observed)), jnp.nan)

    # --- draws ------------------------------------------------------------------------------------------

    def draw_hidden(self, key: Array, v: Float[Array, "... visible"]) -> Float[Array, "... hidden"]:
        """Draw h given v."""
        return draw_binary(key, self.hidden_logits(v))

    def draw_visible(self, key: Array, h: Float[Array, "... hidden"]) -> Float[Array, "... visible"]:
        """Draw v given h."""
        location = self.visible_location(h)
        if self.log_scale is None:
            return draw_binary(key, location)
        noise = normal(key, location.shape, location.dtype)
        return location + jnp.exp(self.log_scale) * noise

    def sweep(self, key: Key, v: Any) -> Float[Array, "... visible"]:
        """Return chains after a step of Gibbs sampling: h given v, then v given h."""
        first, second = jax.random.split(as_key(key))
        return self.draw_visible(second, self.draw_hidden(first, self.as_visible(v)))

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "... visible"]:
        """Draw visible points: exactly where a layer has up to 14 units, otherwise by parallel tempering."""
        return _draws.sample(self, as_key(key), as_shape(shape))

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Array, Array]:
        """Draw (h, v)."""
        first, second = jax.random.split(as_key(key))
        v = self.sample(first, shape)
        return self.draw_hidden(second, jnp.asarray(v)), v

    def posterior(self, batch: Batch, key: Any = None) -> Float[Array, "rows hidden"]:
        """Return the probabilities of hidden units: exact where nothing is missing, otherwise means over chains."""
        if batch.observed is None:
            return jax.nn.sigmoid(self.hidden_logits(self.as_visible(batch.values)))
        return _draws.hidden_means(self, as_key(0 if key is None else key), batch)

    def fill(self, v: Any, observed: Any) -> Float[Array, "rows visible"]:
        """Return rows with guesses of means in place of missing entries: by mean field."""
        return _draws.mean_field(self, self.as_visible(v), jnp.asarray(observed))

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows visible"]:
        """Draw what is missing, by chains of Gibbs sampling in which what is observed stays."""
        if batch.observed is None:
            return self.as_visible(batch.values)
        return _draws.clamped(self, as_key(key), self.as_visible(batch.values), jnp.asarray(batch.observed))

    def conditional_mean(self, batch: Batch) -> Float[Array, "rows visible"]:
        """Return rows with what is missing at its mean, given what is observed: means given h, along chains."""
        if batch.observed is None:
            return self.as_visible(batch.values)
        return keep_observed(batch, _draws.visible_means(self, jax.random.key(0), batch))

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion | None:
        """Return the missing part of rows: h in closed form where nothing is missing, otherwise by descent or chains.

        None where all states are few enough to go through them.
        """
        return _completion.complete(self, batch, want, temperature, key)
