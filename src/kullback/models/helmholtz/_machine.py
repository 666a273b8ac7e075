"""The Helmholtz machine: a directed model of binary layers, and a network that guesses what is hidden."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch, Completion, Estimate, Key, Model, Shape, Want, as_key, as_shape, keep_observed
from kullback.models._importance import average_weights, effective_size
from kullback.models.helmholtz import _exact, _guess
from kullback.models.helmholtz._layers import Units, draw, log_prob, logits
from kullback.numerics import Numeric, as_parameter, is_concrete

#: Entries of all matrices together at most: JAX counts those of an array in 32 bits.
_MOST_PARAMETERS = 2**31 - 1


class Recognition(NamedTuple):
    """Draws of the hidden layers of each row, from the recognition network, and what each of them is worth.

    `layers[i]` has the axes (rows, draws, units). `log_weight` is log p(v, h) − log q(h | v): the mean of its
    exponential over draws is p(v), on average. The log odds of both networks are those of the draws.
    """

    layers: tuple[Units, ...]
    log_weight: Float[Array, "rows draws"]
    generation_logits: tuple[Units, ...]
    recognition_logits: tuple[Units, ...]

    @property
    def weights(self) -> Float[Array, "rows draws"]:
        """The share of each draw among those of its row: w / Σ w."""
        return jax.nn.softmax(self.log_weight, axis=-1)

    @property
    def hidden(self) -> Float[Array, "rows draws hidden"]:
        """All hidden units of a draw in one vector, the lowest layer first."""
        return jnp.concatenate(self.layers, axis=-1)

    def log_likelihood(self) -> Estimate:
        """Return the logarithm of the mean weight of each row, with its standard error."""
        return average_weights(self.log_weight)

    def effective_size(self) -> Float[Array, " rows"]:
        """Return how many equal draws those of a row are worth: (Σ w)² / Σ w²."""
        return effective_size(self.log_weight)


class HelmholtzMachine(Model):
    """Binary layers v = h⁰, h¹, …, h^L: each is drawn given the one above it; a second network goes the other way.

    p(v, h) = p(h^L)·∏ p(hⁱ | hⁱ⁺¹), where the log odds of the units of hⁱ are (hⁱ⁺¹, 1)·`generation[i]` and those of
    h^L are `top`. The guess of what is hidden is q(h | v) = ∏ q(hⁱ⁺¹ | hⁱ), with log odds (hⁱ, 1)·`recognition[i]`. The
    last row of a matrix has the biases. Where h is one vector, as in `energy`, the lowest hidden layer comes first.

    Examples
    --------
    >>> machine = HelmholtzMachine.start([0.9, 0.1, 0.5], hidden=(2,), key=0)
    >>> v = np.array([[1.0, 0.0, 1.0]])
    >>> found = machine.estimate_log_likelihood(Batch(v), 0, draws=1000)
    >>> bool(abs(found.value - machine.log_likelihood(Batch(v))) < 5 * found.standard_error)
    True

    """

    generation: tuple[Float[Numeric, "_ _"], ...]
    top: Float[Numeric, " _"]
    recognition: tuple[Float[Numeric, "_ _"], ...]

    def __init__(self, generation: Sequence[Any], top: Any, recognition: Sequence[Any]):
        self.generation = tuple(as_parameter(weights) for weights in generation)
        self.top = as_parameter(top)
        self.recognition = tuple(as_parameter(weights) for weights in recognition)
        _check_shapes(self.generation, self.top, self.recognition)

    @classmethod
    def start(cls, means: Any, hidden: Sequence[int], key: Key, dtype: Any = None) -> Self:
        """Return a machine to begin with: visible biases are log odds of `means`, weights have variance 1/inputs."""
        dtype = jnp.result_type(float) if dtype is None else dtype
        means = jnp.clip(jnp.asarray(means, dtype), 0.01, 0.99)
        sizes, key = (len(means), *hidden), as_key(key)

        pairs = list(itertools.pairwise(sizes))
        shapes = [(above + 1, below) for below, above in pairs] + [(below + 1, above) for below, above in pairs]
        count = sum(int(inputs) * int(units) for inputs, units in shapes)
        if count > _MOST_PARAMETERS:
            raise ValueError(
                f"hidden is {tuple(hidden)}, of {sizes[0]} columns: the matrices would have {count:,} entries, and "
                f"up to {_MOST_PARAMETERS:,} can be counted, so take fewer units."
            )
        ends = np.cumsum([inputs * units for inputs, units in shapes])
        drawn = jax.random.normal(key, (int(ends[-1]) if len(ends) else 0,), dtype)  # one draw, for it compiles once
        parts = [part.reshape(shape) for part, shape in zip(jnp.split(drawn, ends[:-1]), shapes, strict=False)]
        matrices = [(part / max(len(part) - 1, 1) ** 0.5).at[-1].set(0) for part in parts]
        generation, recognition = matrices[: len(pairs)], matrices[len(pairs) :]
        if generation:
            generation[0] = generation[0].at[-1].set(jnp.log(means) - jnp.log1p(-means))
        return cls(generation, jnp.zeros(sizes[-1], dtype), recognition)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many units each layer has, the visible one first."""
        return (*(weights.shape[1] for weights in self.generation), len(self.top))

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        """All entries are 0 or 1."""
        return ((0.0, 1.0),) * self.sizes[0]

    @property
    def hidden_levels(self) -> tuple[tuple[float, ...], ...]:
        """All hidden units are 0 or 1."""
        return ((0.0, 1.0),) * sum(self.sizes[1:])

    # --- the joint --------------------------------------------------------------------------------------

    def log_prob(self, v: Any, h: Any) -> Float[Array, "..."]:
        """Return log p(v, h); h has all hidden units in one vector."""
        v, layers = jnp.asarray(v), self.split(jnp.asarray(h))
        found = log_prob(layers[-1], jnp.asarray(self.top))
        for weights, below, above in zip(self.generation, (v, *layers[:-1]), layers, strict=True):
            found = found + log_prob(below, logits(weights, above))
        return found

    def recognition_log_prob(self, v: Any, h: Any) -> Float[Array, "..."]:
        """Return log q(h | v)."""
        v, layers = jnp.asarray(v), self.split(jnp.asarray(h))
        below = (v, *layers[:-1])
        parts = [
            log_prob(units, logits(weights, under))
            for weights, under, units in zip(self.recognition, below, layers, strict=True)
        ]
        return sum(parts[1:], start=parts[0])

    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, "..."]:
        """Return −log p(v, h), or −log p(v): h is summed out by going through its states, of up to 20 hidden units."""
        if h is not None:
            return -self.log_prob(v, h)
        v = jnp.asarray(v, self.top.dtype)
        return -_exact.log_likelihood(self, v.reshape(-1, v.shape[-1])).reshape(v.shape[:-1])

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log p(v) for each row, exactly, of up to 20 hidden units; missing entries are summed out."""
        return _exact.log_likelihood(self, jnp.asarray(batch.values, self.top.dtype), batch.observed)

    def fisher(self, network: str, v: Any = None) -> tuple[Float[Array, "_ _ _"], ...]:
        """Return the Fisher matrix of a network, which has one block for each unit and nothing else, layer by layer.

        Parameters
        ----------
        network : "generation" or "recognition"
            F_j = E[σ′(a_j)·(h, 1)(h, 1)ᵀ] over the layer h that unit j follows, under p, or under data and q.
        v : array of rows, for the recognition network
            The data.

        Returns
        -------
        One array for each matrix of weights; for the generation network one more, that of `top`, with blocks of 1 × 1.

        """
        if network == "generation":
            return _exact.generation_fisher(self)
        if network == "recognition" and v is not None:
            return _exact.recognition_fisher(self, jnp.asarray(v, self.top.dtype))
        raise ValueError(
            f"network is {network!r}, v {'missing' if v is None else 'given'}: ask for 'generation', or for "
            "'recognition' with rows v."
        )

    def split(self, h: Float[Array, "*rows hidden"]) -> tuple[Units, ...]:
        """Return the layers of hidden units that are in one vector."""
        return tuple(jnp.split(h, np.cumsum(self.sizes[1:-1]), axis=-1))

    # --- draws ------------------------------------------------------------------------------------------

    def recognize(self, key: Key, v: Any, draws: int = 1, observed: Any = None) -> Recognition:
        """Draw the hidden layers of each row from q(h | v), with the weights p(v, h) / q(h | v).

        Of missing entries the network sees a guess, and the weights have p of what is observed: they stay right.
        """
        key, v = as_key(key), jnp.asarray(v, self.top.dtype)
        seen = v if observed is None else self.fill(v, observed)
        above, hidden, recognized = seen[:, None], [], []
        for place, weights in enumerate(self.recognition):
            log_odds = logits(weights, above)  # those of the first layer are the same for all draws
            recognized.append(log_odds)
            wide = jnp.broadcast_to(log_odds, (log_odds.shape[0], draws, log_odds.shape[2]))
            above = draw(jax.random.fold_in(key, place), wide)
            hidden.append(above)
        generated = [logits(weights, units) for weights, units in zip(self.generation, hidden, strict=True)]
        log_weight = self._first_log_prob(v[:, None], generated[0], observed)
        for units, log_odds in zip(hidden[:-1], generated[1:], strict=True):
            log_weight = log_weight + log_prob(units, log_odds)
        log_weight = log_weight + log_prob(hidden[-1], jnp.asarray(self.top))
        for units, log_odds in zip(hidden, recognized, strict=True):
            log_weight = log_weight - log_prob(units, log_odds)
        return Recognition(tuple(hidden), log_weight, tuple(generated), tuple(recognized))

    @staticmethod
    def _first_log_prob(v: Array, log_odds: Array, observed: Any) -> Array:
        if observed is None:
            return log_prob(v, log_odds)
        each = v * log_odds - jax.nn.softplus(log_odds)
        return jnp.sum(jnp.where(jnp.asarray(observed)[:, None], each, 0), axis=-1)

    def fill(self, v: Any, observed: Any) -> Float[Array, "rows visible"]:
        """Return rows with probabilities in place of missing entries: what the recognition network is shown."""
        return _guess.fill(self, jnp.asarray(v, self.top.dtype), jnp.asarray(observed))

    def dream(self, key: Key, shape: Shape = ()) -> tuple[Units, ...]:
        """Draw all layers from the model, the visible one first."""
        key, shape = as_key(key), as_shape(shape)
        found = [draw(jax.random.fold_in(key, 0), jnp.broadcast_to(jnp.asarray(self.top), (*shape, len(self.top))))]
        for place, weights in enumerate(reversed(self.generation), 1):
            found.append(draw(jax.random.fold_in(key, place), logits(weights, found[-1])))
        return tuple(reversed(found))

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Array, Array]:
        """Draw (h, v)."""
        v, *hidden = self.dream(key, shape)
        return jnp.concatenate(hidden, axis=-1), v

    def sample(self, key: Key, shape: Shape = ()) -> Units:
        """Draw visible points."""
        return self.dream(key, shape)[0]

    def posterior(self, batch: Batch, key: Any = None, draws: int = 64) -> Recognition:
        """Return draws of what is hidden, with their weights."""
        return self.recognize(0 if key is None else key, batch.values, draws, batch.observed)

    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 64) -> Estimate:
        """Return log p(v) of what is observed, by importance: on average at most the true one, nearer with draws."""
        v = jnp.asarray(batch.values, self.top.dtype)
        return average_weights(_guess.log_weights(self, as_key(0 if key is None else key), v, draws, batch.observed))

    def estimate_surprises(self, batch: Batch, key: Any = None, draws: int = 64) -> Float[Array, "rows visible"]:
        """Return −log p(entry | the rest of its row) in nats, by importance: Σ ω / p(entry | h) over draws of h."""
        return _guess.surprises(self, as_key(0 if key is None else key), batch, draws)

    def impute(self, batch: Batch, key: Array) -> Units:
        """Draw what is missing: hidden units by their weights among many draws, then the entries given those."""
        if batch.observed is None:
            return jnp.asarray(batch.values)
        first, second = jax.random.split(as_key(key))
        log_odds = logits(self.generation[0], _guess.resample(self, first, batch)[0])
        return keep_observed(batch, draw(second, log_odds))

    def conditional_mean(self, batch: Batch) -> Units:
        """Return rows with the probabilities of missing entries: those given hidden draws, averaged by weights."""
        return _guess.expect(self, batch)

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion | None:
        """Return the missing part of rows, by many draws and, at temperature 0, by turning units while it pays.

        None where all states are few enough to go through them.
        """
        return _guess.complete(self, batch, want, temperature, key)

    # --- means, layer by layer --------------------------------------------------------------------------

    def upward_means(self, v: Any) -> tuple[Units, ...]:
        """Return the probabilities of hidden units, layer by layer, with those of the layer below in place of units."""
        found = [jnp.asarray(v, self.top.dtype)]
        for weights in self.recognition:
            found.append(jax.nn.sigmoid(logits(weights, found[-1])))
        return tuple(found[1:])

    def downward_means(self, units: Any, layer: int) -> Units:
        """Return the probabilities of visible units, given those of a hidden layer (1 is the lowest)."""
        found = jnp.asarray(units, self.top.dtype)
        for weights in reversed(self.generation[:layer]):
            found = jax.nn.sigmoid(logits(weights, found))
        return found


def _check_shapes(generation: tuple[Any, ...], top: Any, recognition: tuple[Any, ...]) -> None:
    if not generation:
        raise ValueError("generation is empty: a Helmholtz machine has one hidden layer at least.")
    if np.ndim(top) != 1 or len(generation) != len(recognition):
        raise ValueError(
            f"there are {len(generation)} matrices of generation, {len(recognition)} of recognition, and top has shape "
            f"{np.shape(top)}: there must be as many of both, and one bias for each unit of the top layer."
        )
    shapes = [np.shape(weights) for weights in generation]
    if any(len(shape) != 2 for shape in shapes):
        raise ValueError(f"generation has arrays of the shapes {shapes}: they must be matrices.")
    sizes = [*(shape[1] for shape in shapes), len(top)]
    if not all(sizes):
        raise ValueError(f"the layers have {sizes} units: a layer of 0 units says nothing, so leave it out.")
    if is_concrete(top) and not np.isfinite(np.asarray(top)).all():
        raise ValueError("top has entries that are not finite.")
    for place, (below, above) in enumerate(itertools.pairwise(sizes)):
        pairs = (
            ("generation", generation[place], (above + 1, below)),
            ("recognition", recognition[place], (below + 1, above)),
        )
        for name, weights, shape in pairs:
            if np.shape(weights) != shape:
                raise ValueError(
                    f"{name}[{place}] has shape {np.shape(weights)}: between layers of {sizes} units it is {shape}."
                )
            if is_concrete(weights) and not np.isfinite(np.asarray(weights)).all():
                raise ValueError(f"{name}[{place}] has entries that are not finite.")
