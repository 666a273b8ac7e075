"""How sure a fit is: facts by hand, refits whose distance is known, and what is refused."""

import json
import re
import sys

import numpy as np
import pytest
import sklearn.mixture

import kullback
from kullback.estimators import assess_estimator
from kullback.estimators._assessment import Units, compare
from kullback.estimators._stability import SEEN_WITHIN, Refits, refit
from kullback.families import DiagonalGaussian
from kullback.models import Mixture

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(-4, 1, (60, 2)), RNG.normal(4, 1, (60, 2))])
APART = np.concatenate([RNG.normal(-4, 1, (20, 2)), RNG.normal(4, 1, (20, 2))])


@pytest.fixture(scope="module")
def mixture():
    return kullback.GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)


@pytest.fixture(scope="module")
def series():
    return kullback.GaussianHMM(2, random_state=0).fit(X, [40, 40, 40])


def test_losses_are_those_of_the_rows(mixture):
    facts = assess_estimator(mixture, X, held_out=APART, draws=0, refits=0).facts
    seen, apart = -mixture.score_samples(X), -mixture.score_samples(APART)
    for found, losses in ((facts["loss"]["data"], seen), (facts["loss"]["held_out"], apart)):
        error = np.std(losses, ddof=1) / np.sqrt(len(losses))
        assert found["value"] == pytest.approx(losses.mean())
        assert found["standard_error"] == pytest.approx(error)
        assert (found["lower"], found["upper"]) == pytest.approx(losses.mean() + 1.96 * error * np.array([-1, 1]))
    gap = facts["loss"]["gap"]
    assert gap["value"] == pytest.approx(seen.mean() - apart.mean())
    assert gap["lower"] < gap["value"] < gap["upper"]
    assert facts["parameters"] == 9
    assert facts["criteria"]["bic"] == pytest.approx(mixture.bic(X) / (2 * len(X)))
    assert json.loads(json.dumps(facts)) == facts  # plain numbers, lists and texts


@pytest.mark.slow
def test_of_several_sequences_the_unit_is_a_sequence(series):
    facts = assess_estimator(series, X, lengths=[40, 40, 40], draws=0, refits=0).facts
    totals = [-series.score(X[start : start + 40]) for start in (0, 40, 80)]
    assert (facts["unit"], facts["units"], facts["rows"]) == ("sequence", 3, 120)
    assert facts["loss"]["data"]["value"] == pytest.approx(np.mean(totals))


def test_sequences_are_compared_where_they_are_of_one_length():
    losses = np.random.default_rng(0).normal(100.0, 1.0, 40)
    alike = Units(losses[:20], np.full(20, 30), "sequence")
    notes = []
    found = compare(alike, Units(losses[20:], np.full(20, 30), "sequence"), notes)
    assert found["value"] == pytest.approx(losses[:20].mean() - losses[20:].mean())
    assert notes == []
    # a loss of 100 nats by 30 rows, and of 50 by 15, say nothing of overfitting
    assert compare(alike, Units(losses[20:] / 2, np.full(20, 15), "sequence"), notes) is None
    assert notes == [
        "There is no gap: the loss of a sequence grows with its length, and those of the data have 30 rows on average, "
        "those held out 15."
    ]
    lengths = np.random.default_rng(1).integers(10, 50, (2, 20))  # whose means differ by chance
    assert compare(*(Units(losses[:20], each, "sequence") for each in lengths), []) is not None


@pytest.mark.slow
def test_one_series_is_not_compared_with_several(series):
    quick = {"draws": 0, "refits": 0}
    for lengths, held_out, sentence in (
        ([40, 40, 40], X[:50], "^the held-out data is one series and the data has several sequences: their losses are"),
        (None, {"X": X[:50], "lengths": [20, 30]}, "^the data is one series and the held-out data has several sequen"),
    ):
        with pytest.raises(ValueError, match=sentence):
            assess_estimator(series, X, lengths=lengths, held_out=held_out, **quick)
    facts = assess_estimator(series, X, lengths=[40] * 3, held_out={"X": X[:60], "lengths": [20] * 3}, **quick).facts
    assert facts["loss"]["gap"] is None
    assert facts["loss"]["held_out"]["units"] == 3


@pytest.mark.slow
def test_one_series_has_its_future_left_out(series):
    facts = assess_estimator(series, X, draws=0).facts
    assert (facts["unit"], facts["units"]) == ("row", 120)
    assert facts["loss"]["data"]["value"] == pytest.approx(-series.score(X) / 120)
    assert facts["loss"]["future"]["units"] == 60
    assert facts["loss"]["out_of_bag"] is None
    assert facts["notes"] == ["There are no refits to resampled rows of models of sequences."]


def test_components_are_as_far_as_they_have_moved():
    fit = Mixture([0.4, 0.6], DiagonalGaussian(np.array([[0.0], [10.0]]), np.ones((2, 1))))
    moved = [
        Mixture([0.4, 0.6], DiagonalGaussian(np.array([[0.0], [10.0 + shift]]), np.ones((2, 1))))
        for shift in (0.5, 0.9, 3.0, 4.0)
    ]
    found = Refits(moved, None).stability(fit)
    assert [each["relative_entropy"] for each in found["components"]] == pytest.approx([0, (0.9**2 + 3**2) / 4])
    assert [each["seen"] for each in found["components"]] == [1.0, 0.5]  # half a nat is a shift of one deviation
    assert found["unstable"] == [1]
    assert SEEN_WITHIN == 0.5
    assert Refits(moved, None).stability(fit.components) is None


@pytest.mark.slow
def test_refits_see_what_is_there_and_not_what_is_not(mixture):
    found = refit(mixture, X, 20, 0)
    assert found.stability(mixture.to_model())["unstable"] == []
    order = [float(model.components.mean[0, 0]) for model in found.models]
    assert np.ptp(np.sign(order)) == 0  # lined up with the fit
    three = kullback.GaussianMixture(3, covariance_type="diag", random_state=0).fit(X)
    assert refit(three, X, 20, 0).stability(three.to_model())["unstable"]


def test_refits_that_have_all_seen_a_row_still_say_how_stable_components_are(mixture):
    facts = assess_estimator(mixture, X, draws=0, refits=2).facts
    assert facts["stability"]["refits"] == 2
    assert facts["loss"]["out_of_bag"] is None
    assert re.fullmatch(
        r"There is no loss out of bag: \d+ of 120 rows stood in all 2 resamples: ask for more refits\.", *facts["notes"]
    )


def test_batches_are_what_the_model_scores():
    rows = np.where(RNG.random((30, 3)) < 0.5, 0.2, 0.7)
    rows[3, 1] = np.nan
    bits = kullback.BernoulliMixture(2, binarize=0.5, random_state=0).fit(rows)
    batch = bits.to_batch(rows)
    np.testing.assert_allclose(bits.to_model().log_likelihood(batch), bits.score_samples(rows), atol=1e-5)
    assert set(np.unique(np.asarray(batch.values)[np.asarray(batch.observed)])) == {0.0, 1.0}


@pytest.mark.slow
def test_batches_of_sequences_are_what_the_model_scores(series):
    found = series.to_model().log_likelihood(series.to_batch(X, [40, 40, 40]))
    assert np.sum(found) == pytest.approx(series.score(X, [40, 40, 40]), rel=1e-5)


def test_without_the_sampler_the_rest_is_there(mixture, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    facts = assess_estimator(mixture, X, refits=0).facts
    assert facts["criteria"]["bic"] is not None
    assert facts["criteria"]["waic"] is facts["coefficient"] is None
    assert facts["notes"] == [
        "Arviz-stats is not installed, and draws from the posterior need it: pip install 'kullback[sampling]'."
    ]


def test_what_cannot_be_assessed_is_refused(mixture):
    with pytest.raises(ValueError, match="^the data has 6 rows and the model 9 parameters: give more rows, or a"):
        assess_estimator(mixture, X[:6])
    with pytest.raises(ValueError, match="^the data has 1 row: an interval needs two or more.$"):
        assess_estimator(mixture, X[:1])
    with pytest.raises(ValueError, match="^the held-out data has 1 row: an interval"):
        assess_estimator(mixture, X, held_out=X[:1])
    with pytest.raises(ValueError, match="^the held-out data has 1 column and the model 2: give the columns of th"):
        assess_estimator(mixture, X, held_out=X[:, :1])
    with pytest.raises(ValueError, match="GaussianMixture instance is not fitted yet"):
        assess_estimator(kullback.GaussianMixture(), X)
    letters = kullback.CategoricalMixture(1, n_categories=[3], random_state=0).fit(np.array([[0.0], [1.0]] * 10))
    with pytest.raises(ValueError, match="^row 2 of the held-out data is impossible under the model: its loss is inf"):
        assess_estimator(letters, np.array([[0.0], [1.0]] * 10), held_out=np.array([[0.0], [2.0]]))


def test_what_a_model_does_not_take_is_refused(mixture):
    line = kullback.Regressor(random_state=0).fit(X[:, :1], X[:, 1])
    quick = {"draws": 0, "refits": 0}
    for estimator, given, sentence in (
        (mixture, {"X": X, "y": X[:, 0]}, "^the data has y, and a GaussianMixture takes X: leave the rest out.$"),
        (mixture, {"X": X, "held_out": {"X": APART, "rows": 3}}, "^the held-out data has rows, and a GaussianMixture"),
        (mixture, {"X": None}, "^the data has no X: a GaussianMixture is assessed by tables of X.$"),
        (mixture, {"X": X, "held_out": "new.csv"}, "^the held-out data has no X"),
        (line, {"X": X[:, :1]}, "^the data has no y: a Regressor is assessed by tables of X and y.$"),
        (line, {"X": X[:, :1], "y": X[:, 1], "held_out": APART[:, :1]}, "^the held-out data has no y"),
        (mixture, {"X": np.full((20, 2), np.nan)}, "^of the data all rows lack every entry: there is nothing to"),
        (mixture, {"X": X[:0]}, "^the data has 0 rows: an interval needs two or more.$"),
    ):
        with pytest.raises(ValueError, match=sentence):
            assess_estimator(estimator, **given, **quick)
    for options, sentence in (
        ({"refits": -1}, "^refits is -1: it must be a whole number, 2 or more, or 0 to leave them out.$"),
        ({"refits": 1}, "^refits is 1: it must be a whole number, 2 or more, or 0 to leave them out.$"),
        ({"refits": 2.5}, "^refits is 2.5: it must be a whole number"),
        ({"draws": 3}, "^draws is 3: it must be a whole number, 4 or more, or 0 to leave them out.$"),
        ({"seed": -1}, "^seed is -1: it must be a whole number, 0 or more.$"),
        ({"seed": None}, "^seed is None: it must be a whole number, 0 or more.$"),
    ):
        with pytest.raises(ValueError, match=sentence):
            assess_estimator(mixture, X, **{**quick, **options})


def test_what_is_no_estimator_of_the_library_is_refused(mixture):
    foreign = sklearn.mixture.GaussianMixture(2, random_state=0).fit(X)
    for other, name in ((foreign, "GaussianMixture"), (mixture.to_model(), "Mixture"), ("m.safetensors", "str")):
        with pytest.raises(TypeError, match=f"^estimator is a {name} of .*: give a fitted estimator of kullback.$"):
            assess_estimator(other, X)
    with pytest.raises(TypeError, match="^estimator is the class GaussianMixture: give an instance, fitted.$"):
        assess_estimator(kullback.GaussianMixture, X)


def test_rows_that_say_nothing_do_not_count(mixture):
    gaps = np.where((np.arange(len(X)) < 3)[:, None], np.nan, X)
    facts = assess_estimator(mixture, gaps, draws=0, refits=0).facts
    assert facts["loss"]["data"]["value"] == pytest.approx(-mixture.score(X[3:]))
    assert facts["rows"] == facts["units"] == 117
    assert facts["notes"] == ["3 of the 120 rows of the data lack every entry, and are left out."]
    line = kullback.Regressor(random_state=0).fit(X[:, :1], X[:, 1])
    facts = assess_estimator(line, X[:, :1], gaps[:, 1], draws=0, refits=0).facts
    assert facts["loss"]["data"]["value"] == pytest.approx(-line.score_samples(X[3:, :1], X[3:, 1]).mean())
    assert facts["notes"] == ["3 of the 120 rows of the data lack their target, and are left out."]


def test_held_out_rows_that_the_model_has_seen_are_named(mixture):
    mixed = np.concatenate([X[:10], APART])
    facts = assess_estimator(mixture, X, held_out=mixed, draws=0, refits=0).facts
    assert facts["notes"] == ["Of the 50 held-out rows 10 are in the data too: they are no test of the model."]
    for kind in (np.float32, np.int64):  # the same numbers, of another type
        whole = np.round(X, 2) if kind is np.float32 else np.round(100 * X)
        facts = assess_estimator(mixture, whole, held_out=whole[:10].astype(kind), draws=0, refits=0).facts
        assert facts["notes"] == ["Of the 10 held-out rows 10 are in the data too: they are no test of the model."]
    letters = np.array([[0.0], [1.0]] * 10)  # rows that are alike by chance
    alike = kullback.CategoricalMixture(1, random_state=0).fit(letters)
    assert assess_estimator(alike, letters, held_out=letters[:9], draws=0, refits=0).facts["notes"] == []


@pytest.mark.slow
def test_networks_are_assessed_by_their_losses():
    symbols = np.random.default_rng(0).integers(0, 3, (100, 1))
    network = kullback.SpikingNetwork(random_state=0).partial_fit(symbols)
    facts = assess_estimator(network, symbols, draws=100, refits=5).facts
    assert facts["loss"]["data"]["value"] == pytest.approx(-network.score(symbols) / 100, rel=1e-5)
    assert facts["parameters"] is facts["loss"]["future"] is None
    assert [note.split(" of ")[-1] for note in facts["notes"]] == [
        "networks, whose refits take long.",
        "a SpikingNetwork.",
    ]


@pytest.mark.slow
def test_of_a_regular_model_the_coefficient_is_half_its_parameters():
    rows = np.random.default_rng(3).normal(2.0, 3.0, (300, 1))
    alone = kullback.GaussianMixture(1, random_state=0).fit(rows)
    facts = assess_estimator(alone, rows, refits=0, draws=800).facts
    found = facts["coefficient"]
    assert abs(found["value"] - 1.0) < 3 * found["standard_error"]
    assert facts["criteria"]["waic"]["value"] == pytest.approx(alone.aic(rows) / 600, abs=0.005)
    assert facts["criteria"]["loo"]["value"] == pytest.approx(facts["criteria"]["waic"]["value"], abs=0.001)
    assert facts["criteria"]["loo"]["high_pareto_k"] == 0
    assert len(facts["pareto_k"]) == 300
    assert facts["problem"] is None
    assert facts["notes"] == []
