"""Dreams as data: proportions, positions and weights, and models that are combined by them against all states."""

import json

import jax
import numpy as np
import pytest
from scipy import stats

from kullback.core import Batch
from kullback.learning import (
    LIMIT,
    Dreams,
    Epochs,
    Gradient,
    Minibatches,
    NaturalWakeSleep,
    Optimizer,
    ReweightedWakeSleep,
    WithDreams,
    begin,
    combine_by_dreams,
    fit,
    load_place,
    mixture_excess,
    save_place,
)
from learning import proof_data
from learning import proof_models as proof
from models.helmholtz.small_machine import VISIBLE, joint_table, places, random_machine

ONE, OTHER = random_machine(0), random_machine(2)  # their guesses are good enough for likelihoods of 300 draws
P, Q = joint_table(ONE).sum(axis=1), joint_table(OTHER).sum(axis=1)


def constant(on):
    """Return a machine that draws one pattern only: models can be told apart by what they draw."""
    return type(ONE)([np.r_[np.zeros((1, 4)), np.full((1, 4), 50.0 if on else -50.0)]], [0.0], [np.zeros((5, 1))])


def rows_of(chunk):
    return np.asarray(chunk.batches.values)


# --- data -----------------------------------------------------------------------------------------------------


def test_models_dream_in_proportion_to_their_weights_in_an_order_that_says_nothing():
    dreams = Dreams([constant(True), constant(False)], [3.0, 1.0], rows=64, steps=100, seed=1)
    rows = np.concatenate([rows_of(dreams.steps(first, 20))[:, 0, :, 0] for first in range(0, 100, 20)])
    assert rows.shape == (100, 64)
    assert abs(rows.sum() - 4800) < 5 * np.sqrt(6400 * 3 / 16)
    assert 0.5 < np.var(rows.sum(axis=1)) / 12 < 2  # counts are binomial, not the same in all batches
    assert stats.chisquare(rows.sum(axis=0)).pvalue > 1e-3
    only = Dreams([constant(True), constant(False)], [0.0, 1.0], rows=64, steps=1)
    assert not rows_of(only.steps(None, 1)).any()


def test_dreams_have_the_law_of_the_mixture():
    dreams = Dreams([ONE, OTHER], [1.0, 2.0], rows=5000, steps=2)
    rows = rows_of(dreams.steps(None, 2)).reshape(-1, 4)
    assert stats.chisquare(np.bincount(places(rows), minlength=16), 10_000 * (P + 2 * Q) / 3).pvalue > 1e-3


def test_what_a_step_dreams_depends_on_its_number_only():
    dreams = Dreams([ONE, OTHER], None, rows=8, steps=6, seed=3)
    whole = dreams.steps(None, 64)
    assert (whole.position, whole.epoch_ends, len(whole.active)) == (6, True, 6)
    assert np.asarray(whole.batches.weight).shape == (6, 1, 8)
    first = dreams.steps(None, 4)
    assert (first.position, first.epoch_ends) == (4, False)
    again = Dreams([ONE, OTHER], None, rows=8, steps=6, seed=3)
    rest = again.steps(json.loads(json.dumps(first.position)), 4)
    assert (rest.position, rest.epoch_ends) == (6, True)
    np.testing.assert_array_equal(np.concatenate([rows_of(first), rows_of(rest)]), rows_of(whole))
    assert np.any(rows_of(again.steps(6, 6)) != rows_of(whole))  # the next epoch dreams anew
    assert np.any(rows_of(Dreams([ONE, OTHER], None, 8, 6, seed=4).steps(None, 6)) != rows_of(whole))


def table(rows=10):
    values = np.random.default_rng(0).integers(0, 2, (rows, 4)).astype(float)
    return Minibatches(proof_data.Table(values), rows, 4, seed=2)


def test_dreams_beside_data_have_their_share_of_the_weight():
    both = WithDreams(table(), constant(True), share=0.75, rows=6)
    chunk, plain = both.steps(None, 8), table().steps(None, 8)
    values, weight = rows_of(chunk), np.asarray(chunk.batches.weight)
    np.testing.assert_array_equal(values[:, :, :4], rows_of(plain))
    assert np.all(values[:, :, 4:] == 1)
    np.testing.assert_allclose(weight[:, :, :4], 0.25 * plain.batches.weight, rtol=1e-12)
    assert weight.sum(axis=2).ravel().tolist() == [4, 4, 2]  # the last batch is filled up
    np.testing.assert_allclose(weight[:, :, 4:].sum(axis=2) / weight.sum(axis=2), 0.75, rtol=1e-12)
    nothing = WithDreams(table(), constant(True), share=0.0, rows=6).steps(None, 8)
    np.testing.assert_array_equal(rows_of(nothing), rows_of(plain))
    assert both.start().values.shape == (10, 4)


def test_dreams_beside_data_go_on_from_a_position():
    both = WithDreams(table(), ONE, 0.5, rows=6, seed=1)
    whole = both.steps(None, 3)
    first = both.steps(None, 1)
    rest = WithDreams(table(), ONE, 0.5, rows=6, seed=1).steps(json.loads(json.dumps(first.position)), 2)
    np.testing.assert_array_equal(np.concatenate([rows_of(first), rows_of(rest)]), rows_of(whole))
    assert rest.position == whole.position
    assert whole.epoch_ends


def test_gaps_of_data_stay_and_dreams_have_none():
    observed = np.random.default_rng(1).random((10, 4)) < 0.5

    def prepare(rows):
        return Batch(np.ones((len(rows), 4)), observed=observed[rows])

    chunk = WithDreams(Minibatches(prepare, 10, 5, shuffle=False), ONE, 0.5, rows=3).steps(None, 2)
    seen = np.asarray(chunk.batches.observed)
    np.testing.assert_array_equal(seen[:, 0, :5], observed.reshape(2, 5, 4))
    assert seen[:, 0, 5:].all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: WithDreams(table(), ONE, 1.0, 4), r"share is 1.0: the share of dreams must be in \[0, 1\)"),
        (lambda: WithDreams(table(), ONE, 0.5, 4).steps([None, -1], 1), "it is none of data with dreams"),
        (lambda: WithDreams(table(), ONE, 0.5, 4).steps("there", 1), "it is none of data with dreams"),
        (lambda: Dreams([ONE], None, 4, 4).steps(-1, 1), "position is -1: it is none of dreams"),
        (lambda: Dreams([ONE], [1.0, 2.0], 4, 4), r"weights has shape \(2,\): there are 1 models"),
        (lambda: combine_by_dreams([], NaturalWakeSleep()), "models is empty: there is nothing to combine"),
        (lambda: mixture_excess([ONE], None, ONE, points=1), "points is 1: a standard error takes two at least"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# --- combination ------------------------------------------------------------------------------------------------


def apart(law, other):
    return law @ np.log(law / other)


@pytest.mark.slow
def test_the_excess_of_the_mixture_is_that_of_all_states():
    mixture = 0.3 * P + 0.7 * Q
    for model, law in ((ONE, P), (OTHER, Q)):
        found = mixture_excess([ONE, OTHER], [0.3, 0.7], model, draws=300, points=1000, seed=5)
        assert abs(found.value - apart(mixture, law)) < 5 * found.standard_error
        assert 0 < found.standard_error < 0.1


@pytest.mark.slow
def test_one_machine_comes_back_and_two_are_combined_nearer_than_their_parameters_are_averaged():
    learner = NaturalWakeSleep(batch=128)
    alone = combine_by_dreams([ONE], learner, rows=128, steps=150, seed=1, draws=300, points=1000)
    law = joint_table(alone.model).sum(axis=1)
    assert abs(alone.excess.value - apart(P, law)) < 5 * alone.excess.standard_error
    assert apart(P, law) < 0.01
    start = type(ONE).start(np.full(4, 0.5), (6, 2), 0)  # larger: a machine of the same size cannot be both
    both = combine_by_dreams([ONE, OTHER], learner, [1, 3], start=start, rows=128, steps=600, draws=300, points=1000)
    mixture, law = (P + 3 * Q) / 4, joint_table(both.model).sum(axis=1)
    assert abs(both.excess.value - apart(mixture, law)) < 5 * both.excess.standard_error
    same = combine_by_dreams([ONE, OTHER], learner, [1, 3], rows=128, steps=600, draws=300, points=1000)
    averaged = jax.tree.map(lambda a, b: (a + 3 * b) / 4, ONE, OTHER)
    average = apart(mixture, joint_table(averaged).sum(axis=1))
    assert apart(mixture, law) < apart(mixture, joint_table(same.model).sum(axis=1)) + 0.01
    assert apart(mixture, law) < 0.02
    assert apart(mixture, joint_table(same.model).sum(axis=1)) < 0.5 * average
    assert len(Dreams([ONE, OTHER], None, 8, 6).start().values) == 4096
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(both.model))


@pytest.mark.slow
def test_other_models_are_combined_by_dreams_too():
    """A restricted Boltzmann machine, whose likelihoods are exact, and an autoencoder that has to estimate them."""
    truth = proof.rbm_truth()
    found = combine_by_dreams([truth], proof.rbm_learner(), start=proof.rbm_start(), rows=64, steps=1000, points=2000)
    _, law = proof.exact_probabilities(truth)
    _, other = proof.exact_probabilities(found.model)
    assert abs(found.excess.value - apart(law, other)) < 5 * found.excess.standard_error
    assert apart(law, other) < 0.1 < apart(law, proof.exact_probabilities(proof.rbm_start())[1])
    model = proof.VAE(4, 2, jax.random.key(3))
    start = proof.VAE(4, 2, jax.random.key(4))
    again = combine_by_dreams([model], proof.vae_learner(), start=start, rows=64, steps=500)
    before = mixture_excess([model], None, start, seed=1)
    assert again.excess.value < 0.3 * before.value


@pytest.mark.slow
def test_a_fit_with_dreams_goes_on_from_its_file_at_the_same_bits(tmp_path):
    learner, rule = Gradient(ReweightedWakeSleep(3), Optimizer(learning_rate=0.01)), Epochs(4)

    def run(place=None, stop=None):
        data = WithDreams(table(64), OTHER, 0.5, rows=8, seed=1)
        start = begin(learner, ONE, data, rule, seed=2)
        place = start if place is None else load_place(place, start)
        return fit(learner, place, data, rule, chunk=4, seed=2, callback=lambda at: "half" if at.step == stop else None)

    whole, reason = run()
    half, _ = run(stop=24)
    save_place(tmp_path / "place", half)
    assert reason == LIMIT
    assert proof_data.equal_bits(run(tmp_path / "place")[0], whole)


@pytest.mark.slow
def test_a_combination_that_leads_out_of_the_numbers_says_so():
    learner = Gradient(proof.contrast, Optimizer(_far, learning_rate=1.0), proof.persistent_chains)
    with pytest.raises(ValueError, match="the combination has failed: 5 moves in a row"):
        combine_by_dreams([proof.rbm_start()], learner, rows=8, steps=8)


def _far(learning_rate):
    import optax

    return optax.scale(np.inf * learning_rate)


def test_patterns_are_counted_as_they_are_listed():
    assert places(VISIBLE).tolist() == list(range(16))
