"""Variational autoencoders at the front door. The table is made of two hidden numbers, so its answers are known."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import kullback
from kullback.cli._column_kinds import choose_families
from kullback.estimators import FitCallback

FAMILY = ["gaussian", "gaussian", "poisson", "bernoulli"]


def table(rows, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    X = np.column_stack(
        [
            2 * z + 0.3 * rng.normal(size=rows),
            5 - z + 0.3 * rng.normal(size=rows),
            rng.poisson(np.exp(1 + 0.7 * z)),
            rng.random(rows) < 1 / (1 + np.exp(-3 * z)),
        ]
    )
    return np.where(rng.random(X.shape) < missing, np.nan, X)


def autoencoder(**options):
    settings = {"n_latents": 1, "family": FAMILY, "hidden": (8,), "random_state": 0, "max_iter": 40}
    return kullback.VariationalAutoencoder(**(settings | {"learning_rate": 0.01} | options))


def fitted(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return autoencoder(**options).fit(X)


@pytest.fixture(scope="module")
def model():
    return fitted(table(400, missing=0.2))


@pytest.mark.slow
def test_there_is_no_relative_entropy_of_a_likelihood_that_is_not_known(model):
    with pytest.raises(ValueError, match="whose likelihood is not known exactly"):
        kullback.relative_entropy(model, model, of="marginal")
    with pytest.raises(ValueError, match="no relative entropy in closed form"):
        kullback.relative_entropy(model, model)


@pytest.mark.slow
def test_hidden_numbers_and_missing_entries_are_found(model):
    X = table(300, seed=1)
    z = model.transform(X)
    assert abs(np.corrcoef(z[:, 0], X[:, 0])[0, 1]) > 0.95
    lacking = X.copy()
    lacking[:, 0] = np.nan
    filled = model.impute(lacking, method="mean")
    np.testing.assert_array_equal(filled[:, 1:], X[:, 1:])
    residual = np.sqrt(np.mean((filled[:, 0] - X[:, 0]) ** 2))
    assert residual < 0.5 * X[:, 0].std()
    back = model.inverse_transform(z)
    assert np.corrcoef(back[:, 1], X[:, 1])[0, 1] > 0.9
    assert list(model.get_feature_names_out()) == ["variationalautoencoder0"]


@pytest.mark.slow
def test_scores_are_those_of_a_density_and_have_errors(model):
    """It is better than independent columns, and over draws of those the mean ratio of both densities is 1."""
    X = table(300, seed=1)
    scores, errors = model.score_samples(X, draws=20, return_std=True)
    assert errors.shape == scores.shape
    assert np.all(errors > 0)
    assert model.score(X) == pytest.approx(scores.mean(), abs=0.1)
    alone = kullback.Mixture(1, family=["gaussian", "gaussian", "poisson", "bernoulli"]).fit(X)
    assert model.score(X) > alone.score(X) + 1
    drawn = alone.sample(2000)[0]
    ratio = np.exp(model.score_samples(drawn) - alone.score_samples(drawn))
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(len(drawn))


@pytest.mark.slow
def test_a_row_has_the_same_score_wherever_it_stands(model):
    X = table(9, seed=2, missing=0.3)
    np.testing.assert_array_equal(model.score_samples(X)[::-1], model.score_samples(X[::-1]))


@pytest.mark.slow
def test_files_hold_everything(model, tmp_path):
    X = table(40, seed=3, missing=0.2)
    model.save(tmp_path / "model.safetensors")
    loaded = kullback.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    again = kullback.load(tmp_path / "model.safetensors").partial_fit(X)
    np.testing.assert_array_equal(loaded.partial_fit(X).transform(X), again.transform(X))


def test_two_columns_of_numbers_are_learned_saved_and_imputed(tmp_path):
    X = table(100)[:, :2]
    model = fitted(X, family="auto", hidden=(4,), max_iter=2)
    model.save(tmp_path / "model.safetensors")
    loaded = kullback.load(tmp_path / "model.safetensors")
    lacking = np.where([True, False], X[:4], np.nan)
    filled = model.impute(lacking, method="mean")
    np.testing.assert_array_equal(filled[:, 0], X[:4, 0])
    np.testing.assert_array_equal(loaded.impute(lacking, method="mean"), filled)
    assert model.family_ == "diagonal_gaussian"


@pytest.mark.slow
def test_columns_with_one_covariance_may_lack_entries():
    X = table(60, missing=0.2)[:, :2]
    joined = fitted(X, family="gaussian", hidden=(4,), max_iter=2)
    assert joined.family_ == "gaussian"
    assert np.isfinite(joined.score_samples(X)).all()
    assert np.isfinite(joined.impute(X, method="mean")).all()


def test_the_command_chooses_the_families_of_the_class():
    for kinds in (["number"] * 2, ["truth"] * 2, ["number", "words"]):
        by_command = autoencoder(family="auto")
        choose_families(by_command, dict(zip("ab", kinds, strict=True)), {})
        by_class = autoencoder(family="auto")
        by_class._choose_families(kinds)
        assert by_command.get_params()["family"] == by_class.family_


class StopAfter(FitCallback):
    """Ends a fit after so many epochs."""

    def __init__(self, epochs, resume_from=None):
        self.epochs, self.resume_from = epochs, resume_from

    def step(self, snapshot, history):
        self.stopped = len(history) >= self.epochs
        return self.stopped


@pytest.mark.slow
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    X = table(200, missing=0.2)
    whole = fitted(X, max_iter=6)
    stopped = fitted(X, max_iter=6).set_callback(StopAfter(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped.fit(X).save(tmp_path / "stopped.safetensors")
        resumed = kullback.load(tmp_path / "stopped.safetensors")
        assert resumed.n_iter_ == 2
        resumed.set_callback(StopAfter(99, (resumed.to_model(), list(resumed.lower_bounds_)))).fit(X)
    assert resumed.lower_bounds_ == whole.lower_bounds_
    np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))


@pytest.mark.slow
def test_streams_learn_as_tables_do():
    stream = autoencoder().fit_stream([table(100, seed) for seed in range(4)], passes=10)
    assert stream.n_points_seen_ == 4000
    X = table(300, seed=9)
    assert abs(np.corrcoef(stream.transform(X)[:, 0], X[:, 0])[0, 1]) > 0.9


@pytest.mark.slow
def test_sites_are_combined_by_dreams():
    sites = [fitted(table(300, seed)) for seed in (1, 2)]
    together = kullback.combine(sites, random_state=0)
    excess, error = together.combination_excess_
    assert excess < 0.3 + 3 * error
    X = table(300, seed=9)
    assert together.score(X) > min(site.score(X) for site in sites) - 0.3


@pytest.mark.slow
def test_frames_with_text_come_back_as_frames():
    rng = np.random.default_rng(0)
    size = rng.normal(size=200)
    frame = pd.DataFrame({"size": size, "shop": np.where(size > 0, "large", "small"), "open": size > -1})
    frame.loc[::7, "shop"] = None
    model = fitted(frame, family="auto")
    assert model.family_ == ["gaussian", "categorical", "bernoulli"]
    lacking = pd.DataFrame({"size": [2.0, -2.0], "shop": [None, None], "open": [True, False]})
    assert list(model.impute(lacking, method="mean")["shop"]) == ["large", "small"]
    drawn = model.impute(lacking, n=2, random_state=0)
    assert all(set(each["shop"]) <= {"large", "small"} for each in drawn)


@pytest.mark.slow
def test_what_is_hidden_and_missing_is_completed(model):
    X = table(5, seed=4)
    X[:, 0] = np.nan
    found = kullback.complete(model, X, want="h")
    np.testing.assert_allclose(found.h, model.transform(X), atol=1e-4)
    both = kullback.complete(model, X)
    assert np.isfinite(both.v).all()
    assert np.isfinite(both.energy).all()


BAD = {
    "constant": (lambda X: X * [1, 0, 1, 1], {}, "Column 1 of X is 0 in all rows"),
    "nothing": (lambda X: np.where(np.arange(4) == 2, np.nan, X), {}, "Column 2 of X has no entries"),
    "rounded": (lambda X: X + [1e9, 0, 0, 0], {}, "Column 0 of X loses its differences"),
    "not a count": (lambda X: X + [0, 0, 0.5, 0], {}, "for family 'poisson' it must be a count"),
    "layers": (lambda X: X, {"hidden": (8, 0)}, "hidden is \\(8, 0\\)"),
    "families": (lambda X: X, {"family": ["gaussian", "poisson"]}, "family has 2 names"),
    "draws": (lambda X: X, {"draws": 0}, "'draws' parameter"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told_in_a_sentence(name):
    change, options, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence):
        autoencoder(**options).fit(change(table(20)))


@pytest.mark.slow
def test_networks_that_broke_down_have_no_score():
    X = table(60)[:, :2]
    with pytest.warns(ConvergenceWarning, match="not finite, the last at step"):
        broken = autoencoder(family="auto", learning_rate=1e10, hidden=(4,), max_iter=3).fit(X)
    for question in (broken.score_samples, broken.score):
        with pytest.raises(ValueError, match="no answer that is finite"):
            question(X)


@pytest.mark.slow
def test_numbers_of_another_width_are_refused(model):
    with pytest.raises(ValueError, match="X has 3 columns: the model has 1 hidden numbers"):
        model.inverse_transform(np.zeros((2, 3)))
