"""Hidden Markov models against the sum over all paths. One shape of batch serves nearly all: compiling takes time."""

import itertools
import logging

import equinox as eqx
import jax
import numpy as np
import pytest
from hmmlearn.hmm import GaussianHMM

from contracts.quick import quick
from kullback.families import Batch, Categorical, DiagonalGaussian, Extent, Gaussian, Poisson, TimeIndex
from kullback.geometry import relative_entropy
from kullback.learning import combine, em_step, online_em_step
from kullback.models import HiddenMarkovModel
from kullback.models.hidden_markov._log_forward_backward import smooth_states as smooth_in_logarithms

K, T = 3, 6
PATHS = np.array(list(itertools.product(range(K), repeat=T)))
VALUES = 2 * np.random.default_rng(1).normal(size=(T, 2))
LEFT_TO_RIGHT = np.array([[0.5, 0.5, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]])


def random_model(seed=0, k=K, n=2, **other):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, n, n))
    emissions = Gaussian(2 * rng.normal(size=(k, n)), root @ root.swapaxes(-1, -2) + np.eye(n))
    chain = {"initial": rng.dirichlet(np.ones(k)), "transitions": rng.dirichlet(np.ones(k), k)}
    return HiddenMarkovModel(emissions=emissions, **(chain | other))


MODEL = random_model()


def padded(values, starts=(0,), ahead=0, weight=1.0, observed=None):
    """Return a batch of T rows, sequences that begin at these rows, and the last rows ahead; the rest is padding."""
    rows = len(values)
    place = np.arange(T)
    each = np.where(place < rows, weight, 0.0)
    first = np.isin(place, starts) | (place >= rows)
    values = np.concatenate([values, np.full((T - rows, *values.shape[1:]), 1e9)])
    return Batch(values, each, observed=observed, time=TimeIndex(first, (place >= rows - ahead) & (place < rows)))


@quick
def _ask(model, batch, carry):
    statistics, carried = model.expected_statistics(batch, carry)
    return model.log_likelihood(batch, carry), model.posterior(batch, carry=carry), statistics, carried


def ask(batch, carry=None, model=MODEL):
    """Return likelihood, posterior, statistics and carry; where row 0 begins, the carry is not looked at."""
    return _ask(model, batch, np.full(K, 1 / K) if carry is None else carry)


def enumerated(model, scores):
    """Return log p(h, v) of every path, in plain NumPy."""
    with np.errstate(divide="ignore"):
        initial, moves = np.log(model.initial), np.log(model.transitions)[PATHS[:, :-1], PATHS[:, 1:]].sum(axis=1)
    return initial[PATHS[:, 0]] + moves + scores[np.arange(T), PATHS].sum(axis=1)


def counted(weight):
    """Return the expected states and transitions under weights of the paths."""
    states = np.stack([np.bincount(PATHS[:, t], weight, K) for t in range(T)])
    pairs = sum(np.bincount(PATHS[:, t] * K + PATHS[:, t + 1], weight, K * K) for t in range(T - 1))
    return states, pairs.reshape(K, K)


def assert_same(a, b, rtol=1e-9, atol=1e-12):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


scores_of = quick(lambda emissions, batch: emissions.log_likelihood(batch))
merged = quick(lambda a, b: a.merge(b))
own = quick(lambda model, like: model.own_statistics(like))
maximized = quick(lambda model, statistics: model.maximize(statistics))
energy = quick(lambda model, v, h: model.energy(v, h))

# --- what the data says --------------------------------------------------------------------------------------


def test_likelihood_posterior_and_counts_are_sums_over_all_paths():
    joint = enumerated(MODEL, np.asarray(scores_of(MODEL.emissions, Batch(VALUES))))
    total = np.logaddexp.reduce(joint)
    states, pairs = counted(np.exp(joint - total))
    likelihood, posterior, statistics, carry = ask(padded(VALUES))
    assert float(likelihood.sum()) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(posterior, states, rtol=1e-10)
    np.testing.assert_allclose(statistics.transitions, pairs, rtol=1e-10)
    np.testing.assert_allclose(statistics.initial, states[0], rtol=1e-10)
    np.testing.assert_allclose(statistics.emissions.mass, states.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(statistics.emissions.mean, states.T @ VALUES / states.sum(axis=0)[:, None], rtol=1e-10)
    np.testing.assert_allclose(carry, states[-1], rtol=1e-10)
    assert float(statistics.mass) == T
    assert float(statistics.log_likelihood) == pytest.approx(total, rel=1e-12)


def test_the_most_probable_path_is_the_best_of_all():
    joint = enumerated(MODEL, np.asarray(scores_of(MODEL.emissions, Batch(VALUES))))
    path, added = quick(lambda m, batch: m.viterbi(batch))(MODEL, padded(VALUES))
    assert path.tolist() == PATHS[joint.argmax()].tolist()
    assert float(added.sum()) == pytest.approx(joint.max(), rel=1e-12)
    assert float(energy(MODEL, VALUES, path)) == pytest.approx(-joint.max(), rel=1e-12)


def test_sequences_of_different_lengths_are_the_sum_of_each():
    whole = ask(padded(VALUES, (0, 1, 4)))
    cuts = [slice(0, 1), slice(1, 4), slice(4, 6)]
    parts = [ask(padded(VALUES[rows])) for rows in cuts]
    for place in (0, 1):
        joined = np.concatenate([part[place][: rows.stop - rows.start] for part, rows in zip(parts, cuts, strict=True)])
        np.testing.assert_allclose(whole[place], joined, rtol=1e-12)
    assert_same(merged(merged(parts[0][2], parts[1][2]), parts[2][2]), whole[2])
    np.testing.assert_allclose(whole[3], parts[2][3], rtol=1e-12)


def test_pieces_with_a_carry_are_the_whole():
    """Row 0 of the second piece continues; with all that follows ahead, nothing is lost."""
    whole = ask(padded(VALUES))
    early = ask(padded(VALUES, ahead=4))
    late = ask(padded(VALUES[2:], ()), early[3])
    np.testing.assert_allclose(late[0][:4], whole[0][2:], rtol=1e-10)
    assert_same(merged(early[2], late[2]), whole[2])
    np.testing.assert_allclose(late[3], whole[3], rtol=1e-12)
    filtering = quick(lambda m, batch, carry: m.filter(batch, carry))
    states, carry = filtering(MODEL, padded(VALUES), np.ones(K))
    np.testing.assert_allclose(states[1], early[3], rtol=1e-12)
    np.testing.assert_allclose(carry, whole[3], rtol=1e-12)
    for t in range(T):  # one at a time
        state, carry = filtering(MODEL, padded(VALUES[t : t + 1], (0,) if t == 0 else ()), np.asarray(carry))
        np.testing.assert_allclose(state[0], states[t], rtol=1e-12)


def test_without_steps_each_row_is_a_sequence_and_without_carry_row_0_begins_one():
    gather = quick(lambda m, batch: m.expected_statistics(batch))
    assert_same(gather(MODEL, Batch(VALUES)), ask(padded(VALUES, range(T)))[2:])
    assert_same(gather(MODEL, padded(VALUES, ())), ask(padded(VALUES))[2:])


def test_padding_is_not_looked_at_and_weights_multiply():
    few = VALUES[:4]
    plain, heavy = ask(padded(few)), ask(padded(few, weight=2.0))
    gather = quick(lambda m, batch: m.expected_statistics(batch))
    assert_same(plain[2:], gather(MODEL, Batch(few, time=TimeIndex.of_lengths([4]))))
    assert_same(heavy[2], quick(lambda s: s.scale(2.0))(plain[2]))


@pytest.mark.slow
def test_missing_rows_and_entries_are_marginalized():
    observed = np.ones((T, 2), bool)
    observed[2], observed[4, 0] = False, False
    batch = padded(VALUES, observed=observed)
    scores = np.asarray(scores_of(MODEL.emissions, batch))
    assert not scores[2].any()
    joint = enumerated(MODEL, scores)
    total = np.logaddexp.reduce(joint)
    states, pairs = counted(np.exp(joint - total))
    likelihood, posterior, statistics, _ = ask(batch)
    assert float(likelihood.sum()) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(posterior, states, rtol=1e-10)
    np.testing.assert_allclose(statistics.transitions, pairs, rtol=1e-10)
    # the entry (4, 0) given all else: a mixture over the last states of what each expects of it
    keys = jax.random.split(jax.random.key(0), 4000)
    drawn = np.asarray(quick(lambda m, b, keys: jax.vmap(lambda key: m.impute(b, key))(keys))(MODEL, batch, keys))
    np.testing.assert_array_equal(drawn[:, observed], np.broadcast_to(VALUES[observed], (4000, observed.sum())))
    mean, covariance = MODEL.emissions.mean, MODEL.emissions.covariance
    conditional = mean[:, 0] + covariance[:, 0, 1] / covariance[:, 1, 1] * (VALUES[4, 1] - mean[:, 1])
    for entry, expected in (((4, 0), states[4] @ conditional), ((2, 1), states[2] @ mean[:, 1])):
        here = drawn[(slice(None), *entry)]
        assert abs(here.mean() - expected) < 4.5 * here.std() / np.sqrt(4000)


def test_drawn_paths_have_the_posterior():
    batch = padded(VALUES)
    joint = enumerated(MODEL, np.asarray(scores_of(MODEL.emissions, batch)))
    expected = np.exp(joint - np.logaddexp.reduce(joint))
    keys = jax.random.split(jax.random.key(1), 20_000)
    paths = quick(lambda m, b, keys: jax.vmap(lambda key: m.sample_path(b, key))(keys))(MODEL, batch, keys)
    found = np.bincount(np.asarray(paths) @ K ** np.arange(T)[::-1], minlength=len(PATHS)) / len(keys)
    likely = expected > 1e-3
    deviation = np.sqrt(expected * (1 - expected) / len(keys))
    assert np.all(np.abs(found - expected)[likely] < 4.5 * deviation[likely])


def test_the_gradient_of_the_likelihood_is_the_expected_counts():
    batch, free = padded(VALUES), (MODEL.initial, MODEL.transitions)

    def likelihood(parameters):
        initial, transitions = parameters
        model = HiddenMarkovModel(initial, transitions, MODEL.emissions)
        return model.log_likelihood(batch).sum()

    slope = jax.jit(jax.grad(likelihood), compiler_options={"xla_backend_optimization_level": 0})(free)
    statistics = ask(batch)[2]
    np.testing.assert_allclose(slope[0] * MODEL.initial, statistics.initial, rtol=1e-9)
    np.testing.assert_allclose(slope[1] * MODEL.transitions, statistics.transitions, rtol=1e-9)


def test_long_batches_are_swept_block_by_block():
    """A stream that continues, sequences that end within blocks, rows ahead, padding; then a row that cannot be."""
    rows = 5000
    rng = np.random.default_rng(0)
    place = np.arange(rows)
    model = HiddenMarkovModel([1.0, 0.0, 0.0], LEFT_TO_RIGHT, Categorical(rng.dirichlet(np.ones(4), K)))
    model = eqx.tree_at(lambda m: m.emissions.probabilities, model, model.emissions.probabilities * [1, 1, 1, 0.0])
    steps = TimeIndex((place % 700 == 650) | (place > 4900), (place > 4800) & (place <= 4900))
    values, weight = rng.integers(0, 3, rows), np.where(place <= 4900, 2.0, 0.0)
    both = quick(lambda m, b, c: (m.expected_statistics(b, c), m._at_once(b, c, smooth_in_logarithms)))
    for value in (0, 3):
        values[3000] = value
        quickly, surely = both(model, Batch(values, weight, time=steps), np.array([0.2, 0.5, 0.3]))
        assert_same(quickly, surely)
        assert np.isfinite(float(quickly[0].log_likelihood)) == (value == 0)
        assert float(quickly[0].mass) == 2 * 4801


@pytest.mark.slow
def test_a_million_steps():
    rows = 1_000_000
    rng = np.random.default_rng(0)
    model = HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], DiagonalGaussian([[0.0], [1.0]], [[1e-4], [1e-4]]))
    batch = Batch(10 * rng.normal(size=(rows, 1)), time=TimeIndex(np.arange(rows) == 0))
    found = quick(lambda m, batch: m.expected_statistics(batch)[0])(model, batch)
    assert float(found.log_likelihood) < -1e5 * rows
    assert float(found.emissions.mass.sum()) == pytest.approx(rows, rel=1e-12)
    assert float(found.transitions.sum()) == pytest.approx(rows - 1, rel=1e-12)


# --- what the model says -------------------------------------------------------------------------------------


def test_own_statistics_are_those_of_all_paths():
    states, pairs = counted(np.exp(enumerated(MODEL, np.zeros((T, K)))))
    mine = own(MODEL, Extent.of_lengths(T, weight=2.0))
    np.testing.assert_allclose(mine.initial, 2 * MODEL.initial, rtol=1e-12)
    np.testing.assert_allclose(mine.transitions, 2 * pairs, rtol=1e-12)
    np.testing.assert_allclose(mine.emissions.mass, 2 * states.sum(axis=0), rtol=1e-12)
    assert float(mine.mass) == pytest.approx(2 * T)


def test_own_statistics_of_pieces_start_from_the_carry():
    whole = own(MODEL, Extent.of_lengths(T))
    place = np.arange(T)
    early = own(MODEL, Extent(2.0, TimeIndex(place == 0, place >= 2), np.ones(T)))
    carry = MODEL.initial @ MODEL.transitions
    late = own(MODEL, Extent(4.0, TimeIndex(place >= 4), np.where(place < 4, 1.0, 0.0), carry))
    assert_same(merged(early, late), whole)


def test_relative_entropy_is_the_sum_over_all_paths():
    other = random_model(5)
    p, q = (enumerated(model, np.zeros((T, K))) for model in (MODEL, other))
    apart = np.asarray(MODEL.emissions.relative_entropy(other.emissions))
    expected = np.sum(np.exp(p) * (p - q + apart[PATHS].sum(axis=1)))
    found = quick(lambda a, b: relative_entropy(a, b, Extent.of_lengths(T)))(MODEL, other)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_sampled_sequences_have_the_models_counts():
    h, v = quick(lambda m, key: m.sample_sequence(key, 20_000))(MODEL, jax.random.key(0))
    used = np.bincount(h, minlength=K) / len(h)
    moves = np.bincount(h[:-1] * K + h[1:], minlength=K * K).reshape(K, K)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), MODEL.transitions, atol=0.03)
    values, vectors = np.linalg.eig(MODEL.transitions.T)
    lasting = np.real(vectors[:, np.argmax(np.real(values))])
    found = np.asarray(MODEL.stationary)
    np.testing.assert_allclose(found, lasting / lasting.sum(), rtol=1e-12)
    np.testing.assert_allclose(used, found, atol=0.03)
    for k in range(K):
        here = np.asarray(v)[np.asarray(h) == k]
        assert np.all(np.abs(here.mean(axis=0) - MODEL.emissions.mean[k]) < 5 * here.std(axis=0) / np.sqrt(len(here)))


def test_the_stationary_distribution_is_reached_from_the_start_when_there_are_several():
    model = HiddenMarkovModel([0.3, 0.7], np.eye(2), Poisson([1.0, 2.0]))
    np.testing.assert_allclose(model.stationary, [0.3, 0.7], rtol=1e-12)
    swapping = HiddenMarkovModel([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], Poisson([1.0, 2.0]))
    np.testing.assert_allclose(swapping.stationary, [0.5, 0.5], rtol=1e-12)


def test_forecasts_follow_the_chain():
    start = np.array([1.0, 0.0, 0.0])
    expected = np.stack([start @ np.linalg.matrix_power(MODEL.transitions, t) for t in (1, 2, 3)])
    np.testing.assert_allclose(MODEL.predict(start, 3), expected, rtol=1e-12)
    np.testing.assert_allclose(MODEL.forecast(start, 3), expected @ MODEL.emissions.mean, rtol=1e-12)


# --- learning ------------------------------------------------------------------------------------------------


def test_twenty_steps_of_em_are_those_of_hmmlearn():
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    truth, start = random_model(3), random_model(4)
    _, X = quick(lambda m, key: m.sample_sequence(key, 2200))(truth, jax.random.key(0))
    X, lengths = np.asarray(X), [1, 999, 700, 500]
    peer = GaussianHMM(
        K, "full", n_iter=20, tol=-np.inf, init_params="", covars_prior=0, covars_weight=-3, means_weight=0
    )
    peer.startprob_, peer.transmat_ = start.initial, start.transitions
    peer.means_, peer.covars_ = start.emissions.mean, start.emissions.covariance
    batch = Batch(X, time=TimeIndex.of_lengths(lengths))
    assert float(quick(lambda m, b: m.log_likelihood(b).sum())(start, batch)) == pytest.approx(
        peer.score(X, lengths), rel=1e-10
    )
    peer.fit(X, lengths)
    model, history = start, []
    for _ in range(20):
        model, report = em_step(model, batch)
        history.append(float(report.value) * len(X))
    np.testing.assert_allclose(history, list(peer.monitor_.history)[-20:], rtol=1e-9)
    np.testing.assert_allclose(model.initial, peer.startprob_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.transitions, peer.transmat_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.emissions.mean, peer.means_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.emissions.covariance, peer.covars_, rtol=1e-7, atol=1e-9)


def test_online_em_with_rate_one_is_batch_em():
    batch = Batch(VALUES, point_variance=0.1, time=TimeIndex.of_lengths([4, 2]))
    assert_same(online_em_step(MODEL, batch, np.float64(1.0))[0], em_step(MODEL, batch)[0])
    assert_same(online_em_step(MODEL, batch, np.float64(0.0))[0], MODEL)


class Pretended:
    """A prior that adds the same to all counts, and nothing to the emissions."""

    def __init__(self, each):
        self.each = each

    def added_to(self, statistics, model):
        more = (statistics.initial + self.each, statistics.transitions + self.each)
        return type(statistics)(
            statistics.mass, statistics.log_likelihood, *more, statistics.ending, statistics.emissions
        )


def test_zeros_stay_zero_and_states_without_mass_stay():
    model = random_model(initial=[1.0, 0.0, 0.0], transitions=LEFT_TO_RIGHT)
    statistics = ask(padded(VALUES), model=model)[2]
    for prior in (None, Pretended(0.5), Pretended(-0.5)):
        found = quick(lambda m, s, prior=prior: m.maximize(s, prior))(model, statistics)
        assert not np.any(np.asarray(found.transitions)[LEFT_TO_RIGHT == 0])
        np.testing.assert_allclose(found.transitions.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(found.initial, [1.0, 0.0, 0.0])
        assert np.all(np.asarray(found.transitions) >= 0)
    assert_same(maximized(model, quick(lambda s: s.scale(0.0))(statistics)), model, rtol=0, atol=0)


def test_what_is_fixed_stays_and_what_is_tied_is_shared():
    statistics = ask(padded(VALUES))[2]
    free = maximized(MODEL, statistics)
    held = maximized(random_model(fixed=("initial", "emissions")), statistics)
    assert_same((held.initial, held.emissions), (MODEL.initial, MODEL.emissions), rtol=0, atol=0)
    assert_same(held.transitions, free.transitions)
    assert_same(maximized(random_model(fixed=("transitions",)), statistics).transitions, MODEL.transitions, rtol=0)
    tied = maximized(random_model(tied=("covariance",)), statistics).emissions.covariance
    share = statistics.emissions.mass / statistics.emissions.mass.sum()
    expected = np.einsum("k,kij->ij", share, free.emissions.covariance)
    np.testing.assert_allclose(tied, np.broadcast_to(expected, tied.shape), rtol=1e-10)


@pytest.mark.parametrize("k", [3, 8])
def test_names_of_the_states_make_no_difference_to_combination(k):
    """Two states look alike and differ only in what follows them."""
    model = random_model(k=k)
    mean, covariance = np.array(model.emissions.mean), np.array(model.emissions.covariance)
    mean[1], covariance[1] = mean[0], covariance[0]
    model = HiddenMarkovModel(model.initial, model.transitions, Gaussian(mean, covariance))
    order = np.random.default_rng(0).permutation(k)
    turned = HiddenMarkovModel(
        model.initial[order], model.transitions[np.ix_(order, order)], Gaussian(mean[order], covariance[order])
    )
    assert_same(turned.aligned_to(model), model)
    assert_same(combine([model, turned], like=Extent.of_lengths(10)), model, rtol=1e-8)


# --- chains that end -----------------------------------------------------------------------------------------

ENDING = np.array([0.1, 0.0, 0.4])
ABSORBED = random_model(ending=ENDING, transitions=MODEL.transitions * (1 - ENDING)[:, None])


def test_a_sequence_that_ends_has_the_factor_of_its_end():
    scores = np.array(scores_of(MODEL.emissions, Batch(VALUES)))
    with np.errstate(divide="ignore"):
        scores[-1] += np.log(ENDING)
    joint = enumerated(ABSORBED, scores)
    total = np.logaddexp.reduce(joint)
    states, pairs = counted(np.exp(joint - total))
    likelihood, posterior, statistics, _ = ask(padded(VALUES), model=ABSORBED)
    assert float(likelihood.sum()) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(posterior, states, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(statistics.transitions, pairs, rtol=1e-10)
    np.testing.assert_allclose(statistics.ending, states[-1], rtol=1e-10, atol=1e-15)
    path = PATHS[joint.argmax()]
    assert float(energy(ABSORBED, VALUES, path)) == pytest.approx(-joint.max(), rel=1e-12)
    cut = ask(padded(VALUES, ahead=2), model=ABSORBED)  # it goes on: no end is counted
    assert not cut[2].ending.any()
    whole = ask(padded(VALUES, (0, 2)), model=ABSORBED)
    np.testing.assert_allclose(whole[2].ending.sum(), 2, rtol=1e-12)


def test_a_chain_that_ends_uses_its_states_until_then():
    used, pairs, p = np.zeros(K), np.zeros((K, K)), np.array(ABSORBED.initial)
    for _ in range(2000):  # far beyond any length that has a probability
        used, pairs, p = used + p, pairs + p[:, None] * ABSORBED.transitions, p @ ABSORBED.transitions
    for like in (Extent(2.0), Extent.of_lengths([3, 5])):
        mine = own(ABSORBED, like)
        np.testing.assert_allclose(mine.emissions.mass, 2 * used, rtol=1e-10)
        np.testing.assert_allclose(mine.transitions, 2 * pairs, rtol=1e-10)
        np.testing.assert_allclose(mine.ending, 2 * used * ENDING, rtol=1e-10)
        assert_same(maximized(ABSORBED, mine), ABSORBED)
    assert float(mine.ending.sum()) == pytest.approx(2, rel=1e-10)
    assert_same(combine([ABSORBED, ABSORBED]), ABSORBED)


def test_drawn_sequences_end_by_themselves():
    draw = quick(lambda m, keys: jax.vmap(lambda key: m.sample_states(key, 200))(keys))
    states = np.asarray(draw(ABSORBED, jax.random.split(jax.random.key(0), 4000)))
    lengths = (states < K).sum(axis=1)
    expected = float(own(ABSORBED, Extent(1.0)).mass)
    assert abs(lengths.mean() - expected) < 4.5 * lengths.std() / np.sqrt(len(lengths))
    h, v = ABSORBED.sample_sequence(jax.random.key(3), 200)
    assert len(h) == len(v) < 200
    assert np.all(h < K)


# --- errors --------------------------------------------------------------------------------------------------


def test_the_model_says_what_is_wrong():
    emissions = Poisson([1.0, 2.0])
    with pytest.raises(ValueError, match="they must be"):
        HiddenMarkovModel([0.5, 0.5], np.eye(3), emissions)
    with pytest.raises(ValueError, match="transitions.1. sums to 0.9"):
        HiddenMarkovModel([0.5, 0.5], [[0.5, 0.5], [0.5, 0.4]], emissions)
    with pytest.raises(ValueError, match="transitions with ending.1. sums to 1.1"):
        HiddenMarkovModel([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], emissions, ending=[0.0, 0.1])
    with pytest.raises(ValueError, match="one entry for each"):
        HiddenMarkovModel([0.5, 0.5], np.eye(2), emissions, ending=[0.0])
    with pytest.raises(ValueError, match="fixed is"):
        HiddenMarkovModel([0.5, 0.5], np.eye(2), emissions, fixed=("weights",))
    with pytest.raises(ValueError, match="tied is"):
        HiddenMarkovModel([0.5, 0.5], np.eye(2), emissions, tied=("covariance",))
    with pytest.raises(ValueError, match="forecast needs a mean"):
        HiddenMarkovModel([0.5, 0.5], np.eye(2), Categorical([[0.5, 0.5], [0.9, 0.1]])).forecast([1.0, 0.0], 2)
    with pytest.raises(ValueError, match="no stationary"):
        _ = ABSORBED.stationary
    with pytest.raises(ValueError, match="matched one to one"):
        MODEL.aligned_to(random_model(k=2))


def test_energies_of_many_sequences_of_one_step():
    """Rows that all begin a sequence, known when the function is compiled: XLA once ended the process here."""
    chain = HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], Poisson([2.0, 20.0]))
    v = np.arange(300).reshape(300, 1) % 7
    expected = -np.log(0.5 * np.exp(Poisson([2.0, 20.0]).log_prob(v)).sum(axis=1))
    np.testing.assert_allclose(quick(lambda m, v: m.energy(v))(chain, v), expected, rtol=1e-9)
