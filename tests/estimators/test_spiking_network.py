"""A network that learns a stream online: what it says does not depend on how the stream is cut, and it can go on."""

import copy

import jax
import numpy as np
import pandas as pd
import pytest
from jax.tree import leaves
from sklearn.exceptions import NotFittedError

import kullback
from kullback import SpikingNetwork
from kullback.core import Batch
from kullback.estimators.process import _follow, _spiking_network
from kullback.learning import Clock, step_once
from kullback.runtime import computing

SMALL = {"n_units": 6, "n_chains": 4, "random_state": 0}


def copies(lag, rows, seed=0, flips=0.1):
    """Return x' = x at a lag, flipped now and then."""
    rng = np.random.default_rng(seed)
    x, flipped = (rng.random(rows) < 0.5).astype(int), rng.random(rows) < flips
    for t in range(lag, rows):
        x[t] = (x[t - lag] + flipped[t]) % 2
    return x[:, None]


STREAM = copies(2, 1_200)


@pytest.fixture(scope="module")
def begun():
    """Return a network in the middle of a stream, with 8 rows that wait."""
    return SpikingNetwork(**SMALL).partial_fit(STREAM[:200], continues=True)


def assert_same(one, other):
    assert one.n_steps_ == other.n_steps_
    for name in ("network_", "optimizer_state_", "memory_"):
        for a, b in zip(leaves(getattr(one, name)), leaves(getattr(other, name)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_cut_of_a_stream_changes_no_bit(begun):
    whole, pieces = copy.deepcopy(begun), copy.deepcopy(begun)
    expected = whole.novelty(STREAM[200:500])
    cuts = np.split(STREAM[200:500], [0, 1, 2, 9, 9, 50, 51, 180])
    found = np.concatenate([pieces.novelty(piece) for piece in cuts])
    np.testing.assert_array_equal(found, expected)
    assert_same(whole, pieces)
    np.testing.assert_array_equal(whole.waiting_, pieces.waiting_)
    assert len(whole.waiting_) == 500 % 16
    learned = copy.deepcopy(begun).partial_fit(STREAM[200:500], continues=True)
    assert_same(learned, whole)


@pytest.mark.slow
def test_a_step_is_that_of_the_learner(begun):
    """Window by window, `step_once` of the learner says the same but for the last bits."""
    network = copy.deepcopy(begun)
    rows = np.concatenate([network.waiting_, STREAM[200:208]])[:, 0].astype(np.float32)
    novelty = network.novelty(STREAM[200:208])
    with computing(32):
        first = jax.tree.map(lambda leaf: leaf[0], (begun.network_, begun.optimizer_state_, begun.memory_))
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(begun.seed_), begun.n_steps_), 0)
        found = step_once(begun._learner, *first, [Batch(rows)], Clock(0, 0.0, key))
    np.testing.assert_allclose(network.to_model().memory_weights, found.model.memory_weights, rtol=1e-4, atol=1e-5)
    assert network.lower_bound_ == pytest.approx(float(found.info.value), rel=1e-5)
    assert novelty[0] > 0


def test_what_is_saved_goes_on_bit_for_bit(begun, tmp_path):
    begun.save(tmp_path / "m")
    loaded, going_on = kullback.load(tmp_path / "m"), copy.deepcopy(begun)
    np.testing.assert_array_equal(loaded.novelty(STREAM[200:400]), going_on.novelty(STREAM[200:400]))
    assert_same(loaded, going_on)
    np.testing.assert_array_equal(loaded.predict_next(), going_on.predict_next())


def test_the_state_does_not_grow(begun):
    def size(network):
        held = {name: value for name, value in vars(network).items() if name.endswith("_")}
        return sum(np.size(leaf) for name, value in held.items() for leaf in leaves(value) if "curve" not in name)

    longer = copy.deepcopy(begun).partial_fit(STREAM[:1_024], continues=True)
    assert size(longer) == size(begun)


def test_scores_are_of_rows_given_those_before_and_learn_nothing(begun):
    found = begun.score_samples(STREAM[:100])
    assert found[0] == 0
    assert (found[1:] < 0).all()
    assert begun.score(STREAM[:100]) == pytest.approx(found.sum())
    first = begun.score_next(STREAM[:40])
    second = begun.score_next(STREAM[40:100], carry=first.carry)
    np.testing.assert_allclose(np.concatenate([first[0], second[0]]), found, rtol=1e-5, atol=1e-6)
    expected = begun.predict_next(STREAM[:40])
    assert expected.sum() == pytest.approx(1)
    assert np.log(expected[STREAM[40, 0]]) == pytest.approx(found[40], rel=1e-4)
    parts = begun.score(STREAM[:40]) + begun.score_samples(STREAM[:80], [40, 40])[40:].sum()
    assert begun.score(STREAM[:80], [40, 40]) == pytest.approx(parts)
    assert begun.sample(7, random_state=1)[0].shape == (7, 1)


def test_long_tables_are_scored_in_parts(begun, monkeypatch):
    expected, expected_states, _ = begun.score_next(STREAM[:200], [120, 80])
    asked = []

    def score_rows(model, carry, rows, *others):
        asked.append(len(rows))
        return _follow.score_rows(model, carry, rows, *others)

    monkeypatch.setattr(_spiking_network, "MOST_ROWS", 64)
    monkeypatch.setattr(_spiking_network, "score_rows", score_rows)
    found, states, carry = begun.score_next(STREAM[:200], [120, 80])
    assert asked == [64] * 4
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states, expected_states, atol=1e-6)
    assert int(carry.rows) == 200


def test_a_constant_stream_is_no_news():
    network = SpikingNetwork(**SMALL, learning_rate=0.05)
    network.partial_fit(np.zeros((2_000, 1)), continues=True)
    found = network.novelty(np.zeros((64, 1)))
    assert 0 <= found.min() <= found.max() < 0.01


@pytest.mark.slow
def test_a_constant_column_of_numbers_has_no_nan():
    network = SpikingNetwork(**SMALL, family="gaussian").fit(np.full((200, 1), 7.0))
    assert np.isfinite(network.novelty(np.full((64, 1), 7.0))).all()


def test_a_row_out_of_all_proportion_is_news_and_the_stream_goes_on():
    counts = np.random.default_rng(0).poisson(4.0, (600, 1))
    network = SpikingNetwork(**SMALL, family="poisson", learning_rate=0.05).partial_fit(counts[:400], continues=True)
    assert network.n_failures_ == 0
    before = copy.deepcopy(network)
    assert network.novelty([[10**9]])[0] > 1e6  # the window that holds it has no finite step
    network.partial_fit(counts[401:416], continues=True)
    assert (network.n_steps_, network.n_failures_) == (before.n_steps_ + 1, 1)
    for a, b in zip(leaves(network.network_), leaves(before.network_), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(network.replica_nats_, before.replica_nats_)
    network.partial_fit(counts[416:432], continues=True)
    assert network.n_failures_ == 0
    assert network.novelty(counts[432:])[16:].mean() < 4
    with pytest.raises(ValueError, match="numbers that are not finite"):  # five in a row are no outliers
        network.novelty(np.where(np.arange(160)[:, None] % 16 == 5, 10**9, 4))
    with pytest.raises(ValueError, match="numbers that are not finite"):  # nor is it one if nothing else was learned
        SpikingNetwork(**SMALL, learning_rate=1e40).fit(STREAM[:40])


@pytest.mark.slow
def test_numbers_of_any_size_are_learned_and_those_out_of_range_are_refused():
    X = np.random.default_rng(0).normal(size=(100, 2))
    plain = SpikingNetwork(**SMALL, family="gaussian").fit(X)
    for size in (2.0**660, 2.0**-660):  # whose squares are out of range
        scaled = SpikingNetwork(**SMALL, family="gaussian").fit(size * X)
        expected = plain.score_samples(X)[1:] - 2 * np.log(size)
        np.testing.assert_allclose(scaled.score_samples(size * X)[1:], expected, rtol=1e-6)
    far = np.where(np.arange(100)[:, None] == 70, 1e30, X)
    for ask in (plain.score, plain.novelty, plain.predict_next):
        with pytest.raises(ValueError, match=r"Entry \[70, 0\] of X is 1e\+30"):
            ask(far)
    with pytest.raises(ValueError, match=r"Entry \[70, 0\] of the stream"):
        SpikingNetwork(**SMALL, family="gaussian").fit(far)
    with pytest.raises(ValueError, match="column 0 of X holds numbers of size"):
        SpikingNetwork(**SMALL, family="gaussian").fit(1e300 * X)


@pytest.mark.slow
def test_a_lag_is_learned_and_bursts_are_news():
    x = copies(3, 24_000)
    network = SpikingNetwork(12, random_state=0, n_init=2).fit(x[:20_000])
    assert -network.score(x[20_000:]) / 4_000 < 0.40  # 0.325 with everything known, 0.693 without memory
    assert network.replica_nats_.shape == (2,)
    x[22_000:22_100, 0] = np.random.default_rng(1).integers(2, size=100)
    novelty = network.novelty(x[20_000:])
    assert novelty[2_000:2_100].mean() > 1.5 * novelty[:2_000].mean()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "poisson", ["gaussian", "categorical"]])
def test_columns_of_other_families(family):
    rng = np.random.default_rng(0)
    state = np.cumsum(rng.random(2_000) < 0.05) % 2
    column = rng.poisson(2 + 20 * state) if family == "poisson" else 1e4 + 100 * rng.normal(5 * state, 1)
    X = np.column_stack([column, state if isinstance(family, list) else column[::-1]])
    network = SpikingNetwork(**SMALL, family=family).fit(X)
    scores = network.score_samples(X)
    assert np.isfinite(scores).all()
    plain = SpikingNetwork(**SMALL, family=family).fit(X[:64])
    assert scores.sum() > plain.score(X)
    assert network.sample(5)[0].shape == (5, 2)
    assert np.isfinite(network.predict_next(X)).all()
    assert not np.isnan(network._row_surprises(X)[1:]).any()


def test_what_cannot_be_is_refused_with_a_sentence(begun):
    network = copy.deepcopy(begun)
    for X, words in (
        ([[2]], "the fit knows 2 categories"),
        ([[np.nan]], "is missing"),
        ([[0, 1]], "X has 2 features"),
        ([[0.5]], "for family 'categorical'"),
    ):
        for ask in (network.novelty, network.partial_fit, network.score):
            with pytest.raises(ValueError, match=words):
                ask(np.array(X))
    assert_same(network, begun)
    for X, words in ((STREAM[:1], "2 rows or more"), (STREAM[:0], "no rows")):
        with pytest.raises(ValueError, match=words):
            SpikingNetwork().fit(X)
    with pytest.raises(ValueError, match="not for SpikingNetwork"):
        SpikingNetwork(family="gamma").fit(STREAM + 1.0)
    with pytest.raises(ValueError, match="numbers in memory"):
        SpikingNetwork(n_units=10**6).fit(STREAM)
    with pytest.raises(NotFittedError):
        SpikingNetwork().novelty(STREAM)
    with pytest.raises(ValueError, match="no series is open"):
        SpikingNetwork(**SMALL).fit(STREAM[:100]).predict_next()
    with pytest.raises(ValueError, match="cannot be combined"):
        kullback.combine([begun, begun])
    with pytest.raises(ValueError, match="only given those before it"):
        kullback.relative_entropy(begun, begun, of="marginal")
    with pytest.raises(ValueError, match="a SpikingMemory, whose p\\(h, v\\) has no relative entropy in closed form"):
        kullback.relative_entropy(begun, begun, of="conditional")


def test_words_are_symbols():
    words = pd.DataFrame({"w": np.array(["a", "b"])[STREAM[:200, 0]]})
    network = SpikingNetwork(**SMALL).fit(words)
    assert network.categories_ == {"w": ["a", "b"]}
    with pytest.raises(ValueError, match="'c'"):
        network.novelty(pd.DataFrame({"w": ["c"]}))
