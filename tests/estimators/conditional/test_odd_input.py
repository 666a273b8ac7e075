"""What a person may get wrong with a regressor or classifier: each is one sentence, and nothing is mixed up."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import kullback
from estimators import forged
from kullback import Classifier, Regressor
from kullback.estimators.conditional._target_law import MemberLaw
from kullback.families import Beta, Categorical

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X @ [1.0, -2.0] + RNG.normal(size=60)
NAMES = np.where(Y > 0, "yes", "no")


@pytest.fixture
def linear():
    return Regressor().fit(X, Y)


@pytest.mark.parametrize(("name", "value"), [("family", "gamma"), ("method", "network"), ("dispersion", "linear")])
def test_a_parameter_that_makes_the_model_is_not_changed_after_the_fit(linear, name, value, tmp_path):
    """Coefficients of a Gaussian would be taken for those of a gamma, which has as many."""
    linear.save(tmp_path / "m")
    for one in (linear, kullback.load(tmp_path / "m"), pickle.loads(pickle.dumps(linear)), copy.copy(linear)):
        before = one.coefficients_.copy()
        one.set_params(**{name: value})
        for ask in (one.predict, lambda X, one=one: one.partial_fit(X, np.abs(Y))):
            with pytest.raises(ValueError, match=f"^{name} is '{value}', and the model was fitted with"):
                ask(X)
        with pytest.raises(ValueError, match=f"{name} is '{value}'"):
            one.set_params(warm_start=True).fit(X, np.abs(Y))
        assert np.array_equal(one.coefficients_, before)


def test_it_may_be_changed_before_a_fit_that_begins_anew(linear):
    before = linear.coef_
    assert np.array_equal(linear.set_params(family="diagonal_gaussian").fit(X, Y).coef_, before)


def test_a_number_that_is_missing_only_after_the_fit_counts_as_the_mean():
    model = Regressor(missing="indicator").fit(X, Y)
    asked = np.array([[np.nan, 1.0]])
    assert np.allclose(model.predict(asked), model.predict([[X[:, 0].mean(), 1.0]]), rtol=1e-12)


def test_a_category_that_is_missing_only_after_the_fit_is_no_category():
    frame = pd.DataFrame({"a": np.where(X[:, 0] > 1, np.nan, X[:, 0]), "t": NAMES})
    model = Regressor(missing="indicator").fit(frame, Y)
    with pytest.raises(ValueError, match="X lacks its category in row 0, column 1"):
        model.predict(frame.assign(t=None))


@pytest.mark.parametrize("sizes", [(0,), (2.5,), (3, "b"), 10**12])
def test_layers_have_whole_numbers_of_units(sizes):
    with pytest.raises(ValueError, match="hidden_layer_sizes is .* a whole number of units"):
        Regressor(method="network", hidden_layer_sizes=sizes).fit(X, Y)


@pytest.mark.parametrize(("shift", "scale"), [(1e9, 1.0), (0.0, 1e-30), (0.0, 1e100)])
def test_networks_refuse_targets_that_their_numbers_do_not_hold(shift, scale):
    with pytest.raises(ValueError, match="^y .* float32: .* dtype='float64'"):
        Regressor(method="network").fit(X, shift + scale * Y)


@pytest.mark.parametrize("method", ["linear", "trees"])
def test_targets_without_a_density_in_numbers_are_refused(method):
    with pytest.raises(ValueError, match="^y spreads over .* use other units"):
        Regressor(method=method).fit(X, 1e-150 * Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(60).astype("datetime64[D]"), "y holds times"),
        (np.arange(60).astype("timedelta64[s]"), "y holds times"),
        (np.zeros((60, 0)), "y has no columns"),
    ],
)
def test_targets_that_are_no_numbers(y, message):
    with pytest.raises(ValueError, match=message):
        Regressor().fit(X, y)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([], "A Classifier needs two"),
        (["no"], "A Classifier needs two"),
        ("noyes", "must be a list of all classes"),
        ({"no", "yes"}, "must be a list of all classes"),
    ],
)
def test_classes_are_a_list_of_two_or_more(classes, message):
    with pytest.raises(ValueError, match=message):
        Classifier().partial_fit(X, NAMES, classes=classes)


@pytest.mark.parametrize(
    ("entry", "message"), [(None, "y lacks the class of row 3"), (np.nan, "of row 3"), (1, "y holds text and numbers")]
)
def test_classes_that_are_missing_or_mixed(entry, message):
    y = NAMES.astype(object)
    y[3] = entry
    with pytest.raises(ValueError, match=message):
        Classifier().fit(X, y)


@pytest.mark.parametrize("kind", ["string", "category", "object"])
def test_missing_names_of_classes_are_named_or_completed_whatever_pandas_holds_them_in(kind):
    X, names = np.arange(20.0)[:, None], np.where(np.arange(20) % 3 > 0, "a", "b")
    fitted, gaps = Classifier().fit(X, names), pd.Series(names).astype(kind).mask(X[:, 0] > 15)
    for ask in (Classifier().fit, fitted.score_samples):
        with pytest.raises(ValueError, match="y lacks the class of row 16"):
            ask(X, gaps)
    expected = np.where(X[:, 0] > 15, fitted.predict(X), names)
    np.testing.assert_array_equal(kullback.complete(fitted, gaps, inputs=X).v, expected)
    assert np.all(fitted.predict_distribution(X).log_prob(gaps)[16:] == 0)


@pytest.mark.parametrize("method", ["network", "trees"])
def test_targets_that_are_alike_are_not_blamed_on_numbers_nor_on_rows_that_are_held_out(method):
    X = np.arange(20.0).reshape(10, 2) ** 2
    with pytest.raises(ValueError, match=r"y is 0\.3 in all rows that are learned from: a distribution"):
        Regressor("beta", method=method).fit(X, np.full(10, 0.3))
    with pytest.raises(ValueError, match="in all rows that are learned from"):  # one of two is held out
        Regressor(method=method).fit(X[:2], [1.0, 2.0])


def test_quantiles_of_shares_are_shares():
    law = MemberLaw(Beta(np.array([0.05, 0.2, 5.0]), np.array([0.05, 0.2, 0.1])))
    for level in (1e-9, 1 - 1e-9):
        found = law.quantile(level)
        assert ((found >= 0) & (found <= 1)).all()


def test_a_network_without_hidden_layers_is_read_again(tmp_path):
    model = Regressor(hidden_layer_sizes=()).fit(X, Y)
    model.save(tmp_path / "m")
    assert np.array_equal(kullback.load(tmp_path / "m").predict(X), model.predict(X))


def test_what_is_forged_is_refused(tmp_path):
    """A few files that were once read: each lacks something, or holds what does not belong together."""
    model = Classifier().partial_fit(X, NAMES)
    model.save(tmp_path / "m")
    header, arrays = forged.opened(tmp_path / "m")
    information = arrays["attributes.information_"] + np.triu(np.ones(len(model.information_)), 1)
    cases = {
        "seed_": forged.without(header, arrays, "attributes", "seed_"),
        "classes_": (forged.changed(header, "attributes", "classes_", {"strings": ["yes", "no"]}), arrays),
        "n_batches_seen_": (forged.changed(header, "attributes", "n_batches_seen_", 10**400), arrays),
        "information_": (header, {**arrays, "attributes.information_": information}),
    }
    for name, case in cases.items():
        forged.write(tmp_path / "m", *case)
        assert f"is damaged: {name} is " in forged.refusal(tmp_path / "m")


def test_degrees_are_not_taken_for_radians_without_a_word():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="taken as radians: convert degrees"):
        Regressor("von_mises").fit(rng.normal(size=(50, 1)), rng.uniform(0, 360, 50))


def unchanged(model, learn, message):
    """Assert that learning is refused with this sentence, and leaves every attribute_ as it was."""
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=message):
        learn()
    assert pickle.dumps(vars(model)) == before


@pytest.mark.parametrize("method", ["linear", "network"])
def test_a_category_that_the_fit_has_not_seen_is_refused_everywhere(method):
    """It has probability 0, and a gradient of 0: a network went on as if its row had not been there."""
    seen, other = np.arange(60) % 3, np.where(np.arange(60) == 7, 3, np.arange(60) % 3)
    model = Regressor("categorical", method=method, random_state=0).partial_fit(X, seen)
    for ask in (model.partial_fit, model.calibrate, model.score_samples):
        unchanged(model, lambda ask=ask: ask(X, other), "^y has category 3 in row 7: the fit knows 3, from 0")
    gaps = np.where(np.arange(60) == 0, np.nan, other)[:, None]
    unchanged(model, lambda: kullback.complete(model, gaps, inputs=X), "^y has category 3 in row 7")


def test_a_member_makes_room_for_categories_that_are_to_come():
    model = Regressor(Categorical(np.full(5, 0.2))).partial_fit(X, np.arange(60) % 3)
    assert model.predict_distribution(X[:1]).probabilities[0, 4] < 0.01
    for _ in range(20):
        model.partial_fit(X, np.full(60, 4))
    assert (model.predict(X) == 4).all()
    unchanged(model, lambda: model.partial_fit(X, np.full(60, 5)), "^y has category 5 in row 0: the fit knows 5")
    with pytest.raises(ValueError, match="^y has category 5 in row 5: the fit knows 5"):
        Regressor(Categorical(np.full(5, 0.2))).fit(X, np.arange(60) % 6)


def test_a_category_that_is_too_large_is_one_of_y():
    with pytest.raises(ValueError, match=r"^y holds 1e\+09: categories are"):
        Regressor("categorical").fit(X, np.where(np.arange(60) == 7, 1e9, 0))


def test_counts_of_another_total_are_refused():
    rows = RNG.multinomial(5, [0.2, 0.3, 0.5], 60)
    model = Regressor("multinomial").fit(X, rows)
    for ask in (model.partial_fit, model.score_samples):
        unchanged(model, lambda ask=ask: ask(X, rows + 1), r"^y\[0\] sums to 8: .* every row must sum to 5")


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
@pytest.mark.parametrize("value", [1e150, 1e300])
def test_a_target_of_a_stream_beyond_all_others_is_refused_in_a_sentence(family, value):
    """It was an OverflowError without a word of the data."""
    positive = np.exp(Y / 4)
    model = Regressor(family).fit(X, positive)
    far = np.where(np.arange(60) == 7, value, positive)
    unchanged(model, lambda: model.partial_fit(X, far), "^(The new rows have a log-likelihood of|A step has led to)")


def test_inputs_beyond_the_numbers_of_a_network_are_named():
    model = Regressor(method="network", max_iter=1, validation_fraction=0).fit(X, Y)
    with pytest.raises(ValueError, match="^X is so large in row 2"):
        model.predict(X[:4] * np.array([[1.0], [1.0], [1e200], [1.0]]))


def test_quantiles_of_counts_far_out_take_no_longer_than_others():
    """Sums of as many terms as the root of a rate took minutes; the normal distribution is as good there."""
    model = Regressor("poisson").fit(X, RNG.poisson(np.exp(X[:, 0])))
    model.coefficients_ = np.array([[np.log(1e14), 0.0, 0.0]])
    predicted = model.predict_distribution(X[:2])
    assert np.allclose(predicted.quantile(0.975), 1e14 + 1.959964 * 1e7, rtol=0, atol=10)
    assert np.allclose(predicted.cdf([1e14, 1e14]), 0.5, atol=1e-7)
