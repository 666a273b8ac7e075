"""Hidden Markov models: a hidden state that moves, and a distribution of the visible for each."""

from collections.abc import Callable
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Int, Num

from kullback.core import (
    Batch,
    ClosedFormModel,
    Completion,
    Extent,
    Key,
    Shape,
    TimeIndex,
    Want,
    as_key,
    as_shape,
    block_rows,
    by_blocks,
    map_rows,
    replace,
)
from kullback.models._mixture import align_components, average_embedding, distances, tie_parameter
from kullback.models.hidden_markov import _log_forward_backward as logarithms
from kullback.models.hidden_markov._blocks import forward_backward_blocks, without_time
from kullback.models.hidden_markov._chain import Chain, Observed, Smoothed
from kullback.models.hidden_markov._completion import complete_sequences, path_energy
from kullback.models.hidden_markov._forward_backward import (
    expected_transitions,
    filter_states,
    filtered_at,
    is_reliable,
    likelihoods,
    log_evidence,
    smooth_states,
)
from kullback.models.hidden_markov._matching import as_matrices, match_states
from kullback.models.hidden_markov._paths import draw_path, draw_path_given, most_probable_path
from kullback.models.hidden_markov._statistics import HiddenMarkovStatistics, shares, with_end
from kullback.models.hidden_markov._sweeps import Counted, backward_in_sum, forward, nothing_ahead
from kullback.models.hidden_markov._timeline import Timeline, sequence_starts, timeline
from kullback.models.hidden_markov._usage import stationary, usage, usage_until_the_end
from kullback.numerics import Numeric, as_parameter, check_probabilities, is_concrete, with_article
from kullback.runtime import jit

_PARAMETERS = ("initial", "transitions", "emissions")


class HiddenMarkovModel(ClosedFormModel):
    """p(h, v) = π(h₁) Π_t a(h_t, h_{t+1}) Π_t p(v_t | h_t) with hidden states h_t in {0, …, K−1}.

    `emissions` is one model batched over K, usually a family. Statistics are the expected counts of first states and of
    transitions N_hh', and those of the emissions, each row weighted by its posterior. The model nearest to them has
    a_hh' = N_hh' / Σ N_h·. What is 0 in π or A stays 0.

    `ending` is the probability that a sequence ends after a step in each state; rows of A then sum to 1 − ending. The
    likelihood of a sequence has that factor for its last row. Sequences end with the batch, unless rows `ahead` say
    that they go on. By itself such a model uses its states πᵀ(I − A)⁻¹ times in a sequence, whatever the lengths of
    the data. None is the usual model, of sequences of given lengths.

    `tied` names parameters that all emissions share (the covariance of Gaussians), `fixed` those of the model that stay
    as they are, of "initial", "transitions" (with the ending) and "emissions". The carry from batch to batch is the
    filtered distribution of the state.

    >>> from kullback.families import Poisson, TimeIndex
    >>> shop = HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], Poisson(rate=[2.0, 20.0]))
    >>> day = Batch([3, 9, 2, 17, 9, 25], time=TimeIndex.of_lengths([6]))
    >>> shop.viterbi(day)[0].tolist()
    [0, 0, 0, 1, 1, 1]
    """

    initial: Float[Numeric, " k"]
    transitions: Float[Numeric, "k k"]
    emissions: Any
    ending: Float[Numeric, " k"] | None
    tied: tuple[str, ...] = eqx.field(static=True)
    fixed: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        initial: Any,
        transitions: Any,
        emissions: ClosedFormModel,
        ending: Any = None,
        tied: tuple[str, ...] = (),
        fixed: tuple[str, ...] = (),
    ):
        self.initial, self.transitions = as_parameter(initial), as_parameter(transitions)
        self.ending = None if ending is None else as_parameter(ending)
        self.emissions = emissions
        self.tied, self.fixed = tuple(tied), tuple(fixed)
        count = getattr(emissions, "batch_shape", None)
        shapes = (self.initial.shape, self.transitions.shape, count)
        k = self.initial.shape[-1:]
        if shapes != (k, (*k, *k), k):
            raise ValueError(
                f"initial has shape {shapes[0]}, transitions {shapes[1]} and emissions batch shape {count}: they must "
                "be (K,), (K, K) and (K,)."
            )
        check_probabilities("initial", self.initial)
        if self.ending is None:
            check_probabilities("transitions", self.transitions)
        elif self.ending.shape != k:
            raise ValueError(f"ending has shape {self.ending.shape}: it needs one entry for each of the {k[0]} states.")
        elif is_concrete(self.transitions, self.ending):
            check_probabilities("transitions with ending", with_end(self.transitions, self.ending))
        for name in self.fixed:
            if name not in _PARAMETERS:
                raise ValueError(f"fixed is {self.fixed}: it may name {', '.join(_PARAMETERS)}.")
        for name in self.tied:
            if name not in ("covariance", "variance") or name not in vars(emissions):
                raise ValueError(f"tied is {self.tied}: only the covariance or variance of Gaussians can be shared.")

    @property
    def _chain(self) -> Chain:
        return Chain(jnp.asarray(self.initial), jnp.asarray(self.transitions))

    # --- what the data says -----------------------------------------------------------------------------

    def _scores(self, rows: Batch, line: Timeline, ending: bool = True) -> Float[Array, "rows k"]:
        """Return log p(v_t | h), with the end of a sequence."""
        scores = self.emissions.log_likelihood(rows).astype(jnp.asarray(self.initial).dtype)
        if self.ending is None or not ending:
            return scores
        return scores + jnp.where(line.ends[:, None], jnp.log(self.ending), 0)

    def _before(self, carry: Any) -> Float[Array, " k"]:
        return jnp.asarray(self.initial if carry is None else carry, jnp.asarray(self.initial).dtype)

    def _observed(self, batch: Batch, carry: Any, ending: bool = True) -> tuple[Observed, Timeline]:
        """Return what the rows say, and how they belong to sequences."""
        before = self._before(carry)
        line = timeline(batch, carry is None, before)
        if batch.distinct is not None and self._looks_up(batch):
            scores = self.emissions.log_likelihood(batch.distinct_rows()).astype(before.dtype)
            return Observed(scores, line.starts, before, jnp.asarray(batch.distinct.place)), line
        scores = map_rows(
            lambda rows, _, *part: self._scores(rows, Timeline(*part), ending), without_time(batch), *line
        )
        return Observed(scores, line.starts, before), line

    def _looks_up(self, batch: Batch) -> bool:
        """Whether scores are worked out once for each of the different rows: where a row ends, its score is its own."""
        return batch.distinct is not None and self.ending is None

    def log_likelihood(self, batch: Batch, carry: Any = None) -> Float[Array, " rows"]:
        """Return log p(v_t | v_1 … v_{t−1}) for each row; over a sequence they add up to its log-likelihood."""
        return log_evidence(self._chain, self._observed(batch, carry)[0])

    def leave_one_out(self, batch: Batch, carry: Any = None) -> Float[Array, "rows columns"]:
        """Return log p(v_t without an entry | v_1 … v_{t−1}) for each row and column."""
        observed, line = self._observed(batch, carry)
        states = filter_states(self._chain, observed).states
        before = jnp.concatenate([observed.before[None], states[:-1]])
        expected = jnp.where(line.starts[:, None], self.initial, before @ self._chain.transitions)
        ends = 0 if self.ending is None else jnp.where(line.ends[:, None], jnp.log(self.ending), 0)

        def one(rows: Batch, _: Array, score: Array) -> Array:
            return jax.nn.logsumexp(score[..., None] + self.emissions.leave_one_out(rows), axis=1)

        return map_rows(one, without_time(batch), jnp.log(expected) + ends)

    def posterior(self, batch: Batch, key: Any = None, carry: Any = None) -> Float[Array, "rows k"]:
        """Return p(h_t | v_1 … v_T) for each row. A row that no state can explain says nothing of the states."""
        observed, line = self._observed(batch, carry)
        return smooth_states(self._chain, observed, jnp.ones_like(line.counted), jnp.asarray(0)).share

    def filter(self, batch: Batch, carry: Any = None) -> tuple[Float[Array, "rows k"], Float[Array, " k"]]:
        """Return p(h_t | v_1 … v_t) for each row, and what the next batch carries on: batches may have one row."""
        observed, line = self._observed(batch, carry, ending=False)
        states = filter_states(self._chain, observed).states
        return states, jnp.where(line.last >= 0, states[line.last], observed.before)

    def viterbi(self, batch: Batch) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
        """Return the most probable path of states, and what each row adds to its log joint probability."""
        return most_probable_path(self._chain, self._observed(batch, None)[0])

    def sample_path(self, batch: Batch, key: Array) -> Int[Array, " rows"]:
        """Draw paths of states given the data, last row first."""
        observed, _ = self._observed(batch, None)
        return draw_path_given(self._chain, filter_states(self._chain, observed).states, observed.starts, key)

    def energy(self, v: Any, h: Any = None, inputs: None = None) -> Float[Array, "..."]:
        """Return −log p(h, v) for sequences v with paths h, whose last axis is time; without h, −log p(v)."""
        v = jnp.asarray(v)
        if h is None:
            shape = v.shape[: v.ndim - len(self.emissions.event_shape)]
            rows = v.reshape(-1, *self.emissions.event_shape)
            time = TimeIndex(np.arange(rows.shape[0]) % shape[-1] == 0)  # XLA ends the process at an iota here
            return -jnp.sum(self.log_likelihood(Batch(rows, time=time)).reshape(shape), axis=-1)
        h = jnp.asarray(h)
        rows = v.reshape(h.size, *v.shape[h.ndim :])
        scores = self.emissions.log_likelihood(Batch(rows))[jnp.arange(h.size), h.ravel()].reshape(h.shape)
        moves = jnp.log(self.transitions)[h[..., :-1], h[..., 1:]]
        total = jnp.log(self.initial)[h[..., 0]] + jnp.sum(moves, axis=-1) + jnp.sum(scores, axis=-1)
        return -total if self.ending is None else -total - jnp.log(self.ending)[h[..., -1]]

    def expected_statistics(self, batch: Batch, carry: Any = None) -> tuple[HiddenMarkovStatistics, Float[Array, " k"]]:
        """Return expected counts and the emissions' statistics, and the filtered state of the last row that counts."""
        if self._looks_up(batch):
            return self._in_sum(batch, carry)
        if batch.values.shape[0] <= block_rows(batch):
            return self._at_once(batch, carry, smooth_states)
        before = self._before(carry)
        line = timeline(batch, carry is None, before)
        found, transitions, states, sound = forward_backward_blocks(
            self._chain, before, without_time(batch), line, self._scores, self._block_statistics
        )
        return jax.lax.cond(
            sound,
            lambda: (replace(found, transitions=transitions), states),
            lambda: self._at_once(batch, carry, logarithms.smooth_states),
        )

    def _in_sum(self, batch: Batch, carry: Any) -> tuple[HiddenMarkovStatistics, Float[Array, " k"]]:
        """Return the statistics of a batch of few different rows."""
        chain = self._chain
        observed, line = self._observed(batch, carry)
        last = jnp.maximum(line.last, 0)
        seen, peak = likelihoods(observed)
        past, _ = forward(chain, seen, line.starts, observed.before)
        found = backward_in_sum(chain, seen, line.starts, line.counted, past, nothing_ahead(chain.initial))

        def quickly() -> tuple[Array, ...]:
            moves = expected_transitions(chain, observed.before, found.moves, found.ahead)
            return jnp.log(found.total) + peak, found.begun, moves, found.share, filtered_at(past, seen, last)

        def surely() -> tuple[Array, ...]:
            again = logarithms.smooth_states(chain, observed, line.counted, last)
            begun = line.starts.astype(again.share.dtype) @ again.share
            share = jnp.zeros_like(found.share).at[observed.place].add(again.share)
            return again.evidence, begun, again.transitions, share, again.states

        evidence, begun, moves, share, states = jax.lax.cond(is_reliable(found.least), quickly, surely)
        gathered = HiddenMarkovStatistics(
            jnp.sum(line.counted),
            _weighted_sum(line.counted, evidence),
            begun,
            moves,
            None,
            by_blocks(self._emission_statistics, batch.distinct_rows(share)),
        )
        return gathered, jnp.where(line.last >= 0, states, observed.before)

    def _at_once(
        self, batch: Batch, carry: Any, smooth: Callable[..., Smoothed]
    ) -> tuple[HiddenMarkovStatistics, Float[Array, " k"]]:
        observed, line = self._observed(batch, carry)
        found = smooth(self._chain, observed, line.counted, jnp.maximum(line.last, 0))
        gathered = self._statistics(without_time(batch), line, found.share, found.evidence, found.transitions)
        return gathered, jnp.where(line.last >= 0, found.states, observed.before)

    def _block_statistics(
        self, rows: Batch, line: Timeline, found: Counted, evidence: Float[Array, " rows"]
    ) -> HiddenMarkovStatistics:
        """Return the statistics of a block, but for the transitions."""
        return self._statistics(rows, line, found.share, evidence, jnp.zeros_like(found.moves))

    def _statistics(
        self,
        rows: Batch,
        line: Timeline,
        share: Float[Array, "rows k"],
        evidence: Float[Array, " rows"],
        transitions: Float[Array, "k k"],
    ) -> HiddenMarkovStatistics:
        """Return the statistics of rows with their weighted posterior."""
        return HiddenMarkovStatistics(
            jnp.sum(line.counted),
            _weighted_sum(line.counted, evidence),
            line.starts.astype(share.dtype) @ share,
            transitions,
            None if self.ending is None else line.ends.astype(share.dtype) @ share,
            by_blocks(self._emission_statistics, rows.weighted(share)),
        )

    def _emission_statistics(self, batch: Batch) -> Any:
        inner, _ = self.emissions.expected_statistics(batch)
        # the emissions' own log-likelihoods are not asked for: the compiler leaves them out
        return replace(inner, log_likelihood=jnp.zeros_like(inner.mass))

    @property
    def featured(self) -> ClosedFormModel:
        """The emissions."""
        emissions: ClosedFormModel = self.emissions
        return emissions

    def blank_carry(self) -> Float[Array, " k"]:
        """Return the distribution of the state before anything was seen; a row that begins a sequence ignores it."""
        return jnp.asarray(self.initial)

    # --- what the model says ----------------------------------------------------------------------------

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        """Draw first steps of sequences."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Int[Array, "..."], Num[Array, "..."]]:
        """Draw first states, and the points they belong to."""
        key, shape = as_key(key), as_shape(shape)
        first, second = jax.random.split(key)
        h = jax.random.categorical(first, jnp.log(self.initial), shape=shape)
        return h, jax.tree.map(lambda leaf: jnp.asarray(leaf)[h], self.emissions).sample(second)

    def sample_states(self, key: Key, length: int) -> Int[Array, " steps"]:
        """Draw the states of one sequence; after its end, if there is one, stands K."""
        key = as_key(key)
        return draw_path(self._chain, key, length)

    def sample_sequence(self, key: Key, length: int) -> tuple[Int[Array, " steps"], Num[Array, "steps ..."]]:
        """Draw the states and the values of one sequence. With an `ending` it is cut where it ends.

        A longer sequence drawn with the same key has the same states to begin with.
        """
        key = as_key(key)
        first, second = jax.random.split(key)
        h = self.sample_states(first, length)
        if self.ending is not None:
            h = h[: int(jnp.sum(h < self.initial.shape[0]))]

        def emit(rows: Batch, block: Array) -> Array:
            own = self.emissions.sample(jax.random.fold_in(second, block), rows.values.shape[:1])
            return own[jnp.arange(own.shape[0]), rows.values]

        return h, map_rows(emit, Batch(h))

    def predict(self, distribution: Any, steps: int) -> Float[Array, "steps k"]:
        """Return the distribution of the state 1, …, `steps` steps later: pA, pA², … What has ended is not in it."""

        def step(p: Array, _: None) -> tuple[Array, Array]:
            p = p @ jnp.asarray(self.transitions)
            return p, p

        start = jnp.asarray(distribution, jnp.asarray(self.initial).dtype)
        return jax.lax.scan(step, start, None, length=steps)[1]

    def forecast(self, distribution: Any, steps: int) -> Float[Array, "steps ..."]:
        """Return the mean of the visible 1, …, `steps` steps later, for emissions that have a mean."""
        if not hasattr(self.emissions, "mean"):
            raise ValueError(f"emissions is {with_article(type(self.emissions).__name__)}: a forecast needs a mean.")
        return jnp.tensordot(self.predict(distribution, steps), jnp.asarray(self.emissions.mean), axes=1)

    @property
    def stationary(self) -> Float[Array, " k"]:
        """The share of each state in the long run: p = pA. Where several solve that, the one reached from π."""
        if self.ending is not None:
            raise ValueError("a model with an ending has no stationary distribution: its sequences end.")
        return stationary(self._chain)

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows ..."]:
        """Draw the missing entries: a path of states given all that is observed, then the entries given both."""
        return self.impute_joint(batch, key)[1]

    def impute_joint(self, batch: Batch, key: Array) -> tuple[Int[Array, " rows"], Num[Array, "rows ..."]]:
        """Draw a path of states given all that is observed, and the missing entries given both."""
        first, second = jax.random.split(key)

        def fill(rows: Batch, block: Array, h: Array) -> Array:
            own = self.emissions.impute(rows, jax.random.fold_in(second, block))
            return own[jnp.arange(own.shape[0]), h]

        h = self.sample_path(batch, first)
        return h, map_rows(fill, without_time(batch), h)

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Return paths, missing entries or both: of least energy, or drawn. Each row has the energy of its sequence."""
        observed, _ = self._observed(batch, None)
        return complete_sequences(self, self._chain, observed, batch, want, temperature, key)

    def path_energy(self, batch: Batch, h: Int[Array, " rows"]) -> Float[Array, " rows"]:
        """Return for each row −log p(h, v) of its sequence, of what is observed of it."""
        return path_energy(self._chain, self._observed(batch, None)[0], h)

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...] | None:
        """Those of the emissions."""
        levels: tuple[tuple[float, ...], ...] | None = self.emissions.visible_levels
        return levels

    def conditional_embedding(self, batch: Batch) -> Any:
        """Return what the emissions expect of each row, by the probabilities of the states given all rows."""

        def fill(rows: Batch, _: Array, share: Array) -> Any:
            return average_embedding(self.emissions, rows, share)

        return map_rows(fill, without_time(batch), self.posterior(batch))

    def from_embedding(self, embedding: Any) -> Num[Array, "rows ..."]:
        """Return the rows with these embeddings, as the emissions do."""
        return self.emissions.from_embedding(embedding)

    def conditional_mode(self, batch: Batch) -> Num[Array, "rows ..."]:
        """Return what the states of the most probable path emit most probably, given what is observed."""

        def fill(rows: Batch, _: Array, h: Array) -> Array:
            own = self.emissions.conditional_mode(rows)
            return own[jnp.arange(own.shape[0]), h]

        return map_rows(fill, without_time(batch), self.viterbi(batch)[0])

    def own_statistics(self, like: Extent) -> HiddenMarkovStatistics:
        """Return expected counts and the emissions' own statistics over sequences of these lengths.

        States are used as often as the chain visits them from its start, not as in the long run.
        """
        chain = self._chain
        if like.time is None:
            first, weight, before = jnp.ones(1, bool), jnp.reshape(like.mass, 1), chain.initial
        else:
            weight = jnp.asarray(like.weight)
            first = sequence_starts(like.time, weight, like.carry is None)
            weight = jnp.where(like.time.lookahead, 0, weight)
            before = chain.initial if like.carry is None else jnp.asarray(like.carry)
        count = usage if self.ending is None else usage_until_the_end
        begun, left, used = count(chain, first, before, weight.astype(chain.initial.dtype))
        return HiddenMarkovStatistics(
            jnp.sum(used),
            jnp.zeros_like(used[0]),
            begun,
            left[:, None] * chain.transitions,
            None if self.ending is None else used * self.ending,
            self.emissions.own_statistics(Extent(used)),
        )

    # --- the nearest model ------------------------------------------------------------------------------

    def maximize(self, statistics: HiddenMarkovStatistics, prior: Any = None) -> Self:
        """Return the model with these counts and statistics. What has no mass stays as it is, and so do zeros."""
        if prior is not None:
            statistics = prior.added_to(statistics, self)
        initial, transitions, ending, emissions = self.initial, self.transitions, self.ending, self.emissions
        if "initial" not in self.fixed:
            initial = shares(statistics.initial, initial)
        if "transitions" not in self.fixed:
            onward = shares(with_end(statistics.transitions, statistics.ending), with_end(transitions, ending))
            transitions, ending = onward[:, : len(initial)], None if ending is None else onward[:, -1]
        if "emissions" not in self.fixed:
            mass = jnp.asarray(statistics.emissions.mass)
            emissions = emissions.maximize(statistics.emissions)
            for name in self.tied:
                emissions = tie_parameter(emissions, name, shares(mass, jnp.full_like(mass, 1 / len(mass))))
        return replace(self, initial=initial, transitions=transitions, ending=ending, emissions=emissions)

    def cross_entropy(self, statistics: HiddenMarkovStatistics) -> Float[Array, ""]:
        """Return −E[log π] − E[log a] − E[log p(v | h)], times the mass."""
        moves = xlogy(with_end(statistics.transitions, statistics.ending), with_end(self.transitions, self.ending))
        states = -jnp.sum(xlogy(statistics.initial, self.initial)) - jnp.sum(moves)
        return states + jnp.sum(self.emissions.cross_entropy(statistics.emissions))

    def aligned_to(self, reference: Self) -> Self:
        """Return the same model with its states in the order of those they are nearest to.

        Emissions and transitions are matched together: states may look alike and differ in what follows them.
        """
        if self.initial.shape != reference.initial.shape:
            raise ValueError(
                f"the models have {self.initial.shape[0]} and {reference.initial.shape[0]} states: they can only be "
                "matched one to one."
            )
        apart, *rest = as_matrices(
            distances(reference.emissions, self.emissions),
            *_transitions_and_usage(reference),
            *_transitions_and_usage(self),
        )
        order = match_states(apart, (rest[0], rest[1]), (rest[2], rest[3]))
        emissions = jax.tree.map(lambda leaf: leaf[order], self.emissions)
        return replace(
            self,
            initial=self.initial[order],
            transitions=self.transitions[np.ix_(order, order)],
            ending=None if self.ending is None else self.ending[order],
            emissions=align_components(emissions, reference.emissions),
        )


def _weighted_sum(weight: Float[Array, " rows"], evidence: Float[Array, " rows"]) -> Float[Array, ""]:
    """Add up what rows are worth. A row that does not count may be impossible."""
    return jnp.sum(jnp.where(weight > 0, weight * evidence, 0))


@jit
def _transitions_and_usage(model: HiddenMarkovModel) -> tuple[Float[Array, "k j"], Float[Array, " k"]]:
    """Return where each state leads, and the share of each in the steps of sequences."""
    used = model.own_statistics(Extent.of_lengths(100)).emissions.mass
    return jnp.asarray(with_end(model.transitions, model.ending)), used / jnp.sum(used)
