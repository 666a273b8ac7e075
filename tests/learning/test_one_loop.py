"""A VAE, an RBM with chains, an HMM that goes on and two players train through one loop, each against an oracle."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow as pa
import pytest
from hmmlearn.hmm import GaussianHMM
from pyarrow import csv, parquet

from kullback.families import Batch
from kullback.learning import (
    LIMIT,
    NO_GAIN,
    Epochs,
    Minibatches,
    Stream,
    begin,
    fit,
    load_place,
    save_place,
)
from kullback.runtime import filter_jit
from learning import proof_data
from learning import proof_models as proof
from tiers import slow

ROWS = {"vae": proof.two_clusters, "rbm": proof.rbm_rows, "hmm": proof.hmm_rows, "gan": proof.gan_rows}


def diagonal_gaussian(rows, fitted_to):
    """Return the mean log-likelihood of the Gaussian with independent columns that is nearest to other rows."""
    mean, scale = fitted_to.mean(axis=0), fitted_to.std(axis=0)
    return float((-0.5 * np.square((rows - mean) / scale) - np.log(scale) - 0.5 * np.log(2 * np.pi)).sum(axis=1).mean())


@filter_jit
def vae_estimate(model, rows, key):
    return model.estimate_log_likelihood(Batch(rows), key, draws=50)


def vae_value(model, rows):
    return float(vae_estimate(model, rows, jax.random.key(5)).value.mean())


def rbm_value(model, rows):
    states, p = proof.exact_probabilities(model)
    places = (rows @ 2.0 ** np.arange(rows.shape[1])[::-1]).astype(int)
    assert np.array_equal(states[places], rows)
    return float(np.log(p[places]).mean())


def as_hmmlearn(model):
    other = GaussianHMM(2, covariance_type="diag", init_params="")
    other.startprob_, other.transmat_ = np.asarray(model.initial), np.asarray(model.transitions)
    other.means_, other.covars_ = np.asarray(model.emissions.mean), np.asarray(model.emissions.variance)
    return other


def hmm_value(model, rows):
    return as_hmmlearn(model).score(rows) / len(rows)


def gan_value(model, rows):
    drawn = np.asarray(model.sample(jax.random.key(9), (1000,)))
    return -float(np.abs(drawn.mean() - rows.mean()) + np.abs(drawn.std() - rows.std()))


def vae_goal(rows, test):
    return diagonal_gaussian(test, rows) + 2  # the two clusters are worth log 2 less: there is more than this to gain


def rbm_goal(rows, test):
    return rbm_value(proof.rbm_truth(), test) - 0.05


def hmm_goal(rows, test):
    """Return what batch EM reaches from the same start, by hmmlearn."""
    other = as_hmmlearn(proof.hmm_start())
    other.tol, other.n_iter = 1e-6, 200
    return other.fit(rows).score(test) / len(test) - 0.01


def gan_goal(rows, test):
    return -0.3  # nats do not enter: mean and standard deviation, of which the start is 2 away


class Case(NamedTuple):
    """A learner, how well a model does on some rows, what it should reach, and where its data comes from."""

    learner: Any
    start: Callable[[], Any]
    value: Callable[[Any, np.ndarray], float]
    goal: Callable[[np.ndarray, np.ndarray], float]
    epochs: int
    file: str
    dtype: Any = np.float64
    goes_on: bool = False

    def table(self, rows):
        if self.goes_on:
            batches = [proof_data.prepared(part, goes_on=True) for part in np.split(rows, len(rows) // SIZE)]
            return Stream.of(batches, self.epochs)
        return Minibatches(proof_data.Table(rows.astype(self.dtype)), len(rows), SIZE, seed=1)

    def stream(self, path):
        shuffle = 0 if self.goes_on else 256
        return Stream(proof_data.FileBatches(path, SIZE, self.dtype, self.goes_on, shuffle), self.epochs)


#: Rows of a batch, steps of a chunk, and rows in all: an epoch is a whole number of chunks.
SIZE, CHUNK, TRAIN = 64, 16, 2048
CASES = {
    "vae": Case(
        proof.vae_learner(), lambda: proof.VAE(4, 2, jax.random.key(0)), vae_value, vae_goal, 8, "csv", np.float32
    ),
    "rbm": Case(proof.rbm_learner(), proof.rbm_start, rbm_value, rbm_goal, 40, "parquet"),
    "hmm": Case(proof.hmm_learner(), proof.hmm_start, hmm_value, hmm_goal, 3, "csv", goes_on=True),
    "gan": Case(
        proof.gan_learner(), lambda: proof.GAN(jax.random.key(1)), gan_value, gan_goal, 30, "parquet", np.float32
    ),
}


def write(path, rows):
    table = pa.table({f"c{place}": column for place, column in enumerate(rows.T.astype(np.float64))})
    (csv.write_csv if path.suffix == ".csv" else parquet.write_table)(table, path)


@pytest.mark.parametrize("name", ["vae", "rbm", "hmm", slow("gan")])
def test_each_model_learns_from_a_table_as_well_as_its_oracle_allows(name):
    case, rows, test = CASES[name], ROWS[name](TRAIN), ROWS[name](1000, seed=1)
    data, rule, start = case.table(rows), Epochs(case.epochs), case.start()
    place, reason = fit(case.learner, begin(case.learner, start, data, rule), data, rule, chunk=CHUNK)
    assert reason == LIMIT
    assert place.step == case.epochs * TRAIN // SIZE
    assert place.points == case.epochs * TRAIN
    goal = case.goal(rows, test)
    assert case.value(start, test) < goal < case.value(place.model, test)


@pytest.mark.parametrize("name", ["vae", "rbm", "hmm", slow("gan")])
def test_each_model_learns_from_a_file_with_patience_and_goes_on_from_a_checkpoint(name, tmp_path):
    case, part = CASES[name], ROWS[name](1000, seed=2)
    path, checkpoint = tmp_path / f"rows.{case.file}", tmp_path / "place"
    write(path, ROWS[name](TRAIN))
    rule, values, seen = Epochs(case.epochs, patience=2, tolerance=0.02), [], []

    def validate(model):
        values.append(case.value(model, part))
        return values[-1]

    def callback(place):
        seen.append(place.step)
        if len(seen) == 3:  # in the middle of an epoch
            save_place(checkpoint, place, {"data": name})

    data = case.stream(path)
    start = begin(case.learner, case.start(), data, rule)
    place, reason = fit(case.learner, start, data, rule, validate=validate, callback=callback, chunk=CHUNK)
    assert reason in (NO_GAIN, LIMIT)
    gains = [values[epoch] - max(values[:epoch]) for epoch in range(1, len(values))]
    waited = [one < 0.02 and other < 0.02 for one, other in zip(gains[1:], gains[:-1], strict=True)]
    assert waited.index(True) == len(waited) - 1 if reason == NO_GAIN else not any(waited[:-1])
    assert place.best.step == (np.argmax(values) + 1) * TRAIN // SIZE
    assert case.value(place.found, part) == max(values) > case.value(start.model, part)
    before, expected = load_place(checkpoint, start, {"data": name}), list(values)
    del values[:]
    assert before.step == 3 * CHUNK
    anew = case.stream(path)
    again, why = fit(case.learner, before, anew, rule, validate=validate, chunk=CHUNK)
    assert (why, values) == (reason, expected[1:])
    assert proof_data.equal_bits(again, place)


def test_patience_ends_a_fit_and_the_best_model_is_kept():
    # steps are far too large: after the first epochs the model is thrown about
    case, rows, part = CASES["rbm"], ROWS["rbm"](TRAIN), ROWS["rbm"](500, seed=2)
    learner, data, rule, values = proof.rbm_learner(1.0), case.table(rows), Epochs(60, patience=3), []

    def validate(model):
        values.append(rbm_value(model, part))
        return values[-1]

    place, reason = fit(learner, begin(learner, case.start(), data, rule), data, rule, validate=validate, chunk=CHUNK)
    assert reason == NO_GAIN
    assert len(values) == np.argmax(values) + 4 < 60
    assert rbm_value(place.found, part) == max(values) > rbm_value(place.model, part)


@pytest.mark.slow
def test_the_importance_sampled_log_likelihood_is_that_of_draws_from_the_prior():
    model, rows = proof.VAE(4, 2, jax.random.key(3)), proof.two_clusters(5) / 2
    found = jax.jit(lambda key: model.estimate_log_likelihood(Batch(rows), key, draws=4000))(jax.random.key(0))
    h = np.random.default_rng(0).normal(size=(200_000, 2))
    for layer in model.decoder.layers:
        h = h @ np.asarray(layer.weight, float).T + np.asarray(layer.bias, float)
        h = np.tanh(h) if layer is model.decoder.layers[0] else h
    away = np.square(rows[:, None] - h).sum(axis=-1) / 2 + 2 * np.log(2 * np.pi)
    expected, error = np.log(np.exp(-away).mean(axis=1)), np.exp(-away).std(axis=1) / np.exp(-away).mean(axis=1)
    spread = np.hypot(found.standard_error, error / np.sqrt(len(h)))
    assert np.all(spread < 0.05)
    assert np.all(np.abs(found.value - expected) < 5 * spread)


def test_a_network_in_32_bits_stays_in_32_bits_where_64_are_the_default():
    assert jax.numpy.zeros(()).dtype == np.float64
    case = CASES["vae"]
    data, rule = case.table(ROWS["vae"](TRAIN)), Epochs(1)
    place, _ = fit(case.learner, begin(case.learner, case.start(), data, rule), data, rule, chunk=CHUNK)
    numbers = [leaf for leaf in jax.tree.leaves((place.model, place.state, place.best.model)) if hasattr(leaf, "dtype")]
    assert len(numbers) > 20
    assert {leaf.dtype.name for leaf in numbers} == {"float32", "int32"}  # the optimizer counts its steps


@pytest.mark.parametrize(
    ("rows", "width", "count"), [(10, 3, 10), (70_000, 3, 2**16), (50_000, 784, 10_699), (3, 10**7, 1)]
)
def test_a_start_has_rows_from_all_over_the_table_and_not_too_many_numbers(rows, width, count):
    asked = []

    def prepare(places):
        asked.append(places)
        return Batch(np.broadcast_to(np.zeros(width, np.float32), (len(places), width)), np.ones(len(places)))

    start = Minibatches(prepare, rows, 32).start()
    assert len(start.values) == count
    places = asked[-1]
    assert places[0] == 0
    assert np.all(np.diff(places) >= rows // count)
    assert places[-1] >= rows - 1 - rows / count
