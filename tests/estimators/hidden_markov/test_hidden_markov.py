"""Hidden Markov models: weights, what is missing, combination, borders, and what goes wrong."""

import copy
import itertools
import pickle

import jax
import numpy as np
import pytest
from scipy.stats import multinomial, multivariate_normal, poisson
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import kullback

# Few sizes, so that few functions are compiled: three states, two columns, 120 rows.
from estimators.hidden_markov_data import (
    CASES,
    COVARS,
    FLAT,
    KINDS,
    LENGTHS,
    MEANS,
    MOVES,
    RATES,
    START,
    SYMBOLS,
    K,
    N,
    assert_same,
    counts,
    parameters_of,
    reals,
    started,
    stream,
    symbols,
    tallies,
)
from kullback.families import Categorical, Independent, Poisson
from kullback.models import HiddenMarkovModel
from tiers import slow, slow_among


# --- weights, and what is missing ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", slow_among(CASES, "GaussianHMM", "PoissonHMM"))
def test_a_weight_is_a_number_of_copies(name):
    make, emissions = CASES[name]
    X = make()
    parts = np.split(X, np.cumsum(LENGTHS)[:-1])
    weight = [2, 1, 3, 0]
    copies = [part for part, w in zip(parts, weight, strict=True) for _ in range(w)]
    one = started(kullback, name, emissions, n_iter=3).fit(X, LENGTHS, sample_weight=weight)
    other = started(kullback, name, emissions, n_iter=3).fit(np.concatenate(copies), [len(part) for part in copies])
    assert_same(one, other, rtol=1e-9)
    assert one.n_points_seen_ == other.n_points_seen_
    np.testing.assert_allclose(one.monitor_.history, other.monitor_.history, rtol=1e-10)


def test_the_start_counts_with_weights():
    """Two sequences, one of them alone in each cluster: the weight is the share of the states."""
    X = np.concatenate([np.random.default_rng(0).normal(m, 0.1, (60, 2)) for m in (0, 9)])
    model = kullback.GaussianHMM(2, n_iter=0, random_state=0).fit(X, [60, 60], sample_weight=[8.0, 1.0])
    assert model.startprob_.max() == pytest.approx(9 / 11)


@pytest.mark.parametrize(
    ("weight", "words"),
    [([1.0], "there are 4 sequences"), ([1, 1, 1, -1], "not negative"), ([0] * 4, "not all zero")],
)
def test_weights_that_make_no_sense_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        started(kullback, "GaussianHMM", CASES["GaussianHMM"][1]).fit(reals(), LENGTHS, sample_weight=weight)


def enumerated(X, density):
    """Return log p(X) and the posteriors by going through all paths; `density` says log p(x | h)."""
    total, share = 0.0, np.zeros((len(X), K))
    for path in np.ndindex(*(K,) * len(X)):
        p = START[path[0]] * np.prod([MOVES[a, b] for a, b in itertools.pairwise(path)])
        p *= np.exp(sum(density(x, h) for x, h in zip(X, path, strict=True)))
        total += p
        share[np.arange(len(X)), path] += p
    return np.log(total), share / total


def test_missing_entries_are_marginalized():
    X = reals(6)
    X[1], X[3, 0], X[4, 1] = np.nan, np.nan, np.nan

    def log_prob(x, h):
        there = ~np.isnan(x)
        if not there.any():
            return 0.0
        return multivariate_normal(MEANS[h][there], COVARS["full"][h][np.ix_(there, there)]).logpdf(x[there])

    known = [[log_prob(x, h) for h in range(K)] for x in X]

    model = started(
        kullback, "GaussianHMM", {"means_": MEANS, "covars_": COVARS["full"]}, covariance_type="full", n_iter=1
    )
    likelihood, posterior = enumerated(range(6), lambda place, h: known[place][h])
    found = model.score_samples(X)
    np.testing.assert_allclose(found[0], likelihood, rtol=1e-12)
    np.testing.assert_allclose(found[1], posterior, atol=1e-12)


@pytest.mark.parametrize("name", ["PoissonHMM", "CategoricalHMM", slow("MultinomialHMM")])
def test_a_row_that_is_missing_says_nothing(name):
    make, emissions = CASES[name]
    X = make(6).astype(float)
    model = started(kullback, name, emissions, **({"n_trials": 6} if "Multi" in name else {}))

    laws = {
        "PoissonHMM": lambda x, h: poisson(RATES[h]).logpmf(x).sum(),
        "CategoricalHMM": lambda x, h: np.log(SYMBOLS[h, int(x[0])]),
        "MultinomialHMM": lambda x, h: multinomial(6, SYMBOLS[h]).logpmf(x),
    }
    known = [[laws[name](x, h) for h in range(K)] for x in X]

    def density(place, h):
        return 0.0 if place in (2, 5) else known[place][h]

    X[2] = X[5] = np.nan
    likelihood, posterior = enumerated(range(6), density)
    found = model.score_samples(X)
    np.testing.assert_allclose(found[0], likelihood, rtol=1e-12)
    np.testing.assert_allclose(found[1], posterior, atol=1e-12)
    filtered = model.filter(X)
    np.testing.assert_allclose(filtered[5], filtered[4] @ MOVES, rtol=1e-12)


@pytest.mark.parametrize("name", slow_among(CASES, "GaussianHMM", "MultinomialHMM"))
def test_learning_goes_on_where_rows_are_missing(name):
    make, emissions = CASES[name]
    X = make().astype(float)
    X[::7] = np.nan
    X[50] = np.nan  # all of the sequence of one row
    model = started(kullback, name, emissions, n_iter=10, tol=-np.inf).fit(X, LENGTHS)
    assert (np.diff(model.monitor_.history) > -1e-6).all()
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())


def test_imputed_entries_are_drawn_and_the_rest_stays():
    X = reals()
    X[3:9], X[20, 1] = np.nan, np.nan
    model = started(kullback, "GaussianHMM", {"means_": MEANS, "covars_": 0.01 * COVARS["diag"]})
    filled = model.impute(X, LENGTHS, random_state=0)
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X[there])
    near = np.abs(filled[3:9, None, :] - MEANS).max(axis=2).min(axis=1)
    assert (near < 0.6).all()
    np.testing.assert_array_equal(model.impute(X, LENGTHS, random_state=0), filled)
    assert not np.array_equal(model.impute(X, LENGTHS, random_state=1), filled)


@pytest.mark.slow
def test_a_row_of_tallies_is_missing_as_a_whole():
    X = tallies().astype(float)
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="X\\[4\\] lacks some counts"):
        kullback.MultinomialHMM(2).fit(X)
    X[4] = np.nan
    model = started(kullback, "MultinomialHMM", CASES["MultinomialHMM"][1], n_iter=1).fit(X)
    assert model.impute(X, random_state=0)[4].sum() == 6


# --- combination ---------------------------------------------------------------------------------------------
def permuted(model, order):
    """Return the same model with its states in another order."""
    other = clone(model)
    other.startprob_, other.transmat_ = model.startprob_[order], model.transmat_[np.ix_(order, order)]
    for name in ("means_", "covariances_", "lambdas_", "emissionprob_", "totals_"):
        if hasattr(model, name):
            setattr(other, name, getattr(model, name)[order])
    return other


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_permuted_copies_give_the_model_back(name):
    model = stream(name, n_iter=2).fit(CASES[name][0](), LENGTHS)
    together = kullback.combine([model, permuted(model, [2, 0, 1]), permuted(model, [1, 0, 2])])
    assert_same(together, model, rtol=1e-8)
    assert together.n_points_seen_ == 120
    assert together.score(CASES[name][0]()) == pytest.approx(model.score(CASES[name][0]()))


@pytest.mark.slow
def test_four_machines_from_a_common_start_are_near_one():
    X = stream().sample(4000, random_state=0)[0]
    parts = [stream(n_iter=15).fit(part) for part in np.split(X, 4)]
    together, pooled = kullback.combine(parts), stream(n_iter=15).fit(X, [1000] * 4)
    assert together.n_points_seen_ == 4000
    assert together.n_sequences_seen_ == 4
    assert together.score(X, [1000] * 4) > pooled.score(X, [1000] * 4) - 0.005 * 4000
    assert together.score(X) > max(part.score(X) for part in parts)


def test_a_chain_from_left_to_right_keeps_its_zeros_when_it_is_combined():
    moves = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]])
    fits = []
    for seed in range(3):
        model = stream(n_iter=3)
        model.startprob_, model.transmat_ = np.array([1.0, 0.0, 0.0]), moves
        X = np.concatenate([np.random.default_rng(seed).normal(m, 1, (40, 2)) for m in MEANS])
        fits.append(model.fit(X))
    together = kullback.combine(fits)
    np.testing.assert_array_equal(together.transmat_ > 0, moves > 0)
    np.testing.assert_array_equal(together.startprob_, [1, 0, 0])


def test_models_that_saw_nothing_are_combined_as_equals():
    one, other = stream(), kullback.GaussianHMM.from_model(stream().to_model())
    other.means_ = MEANS + 0.2
    np.testing.assert_allclose(kullback.combine([one, other]).means_, MEANS + 0.1)
    fitted = stream(n_iter=1).fit(reals())
    np.testing.assert_allclose(kullback.combine([one, fitted]).means_, fitted.means_, rtol=1e-8)
    with pytest.raises(ValueError, match="differ"):
        kullback.combine([fitted, kullback.GaussianHMM(2, n_iter=1).fit(reals())])
    with pytest.raises(ValueError, match="n_components is for mixtures"):
        kullback.combine([fitted, fitted], n_components=2)


# --- borders -------------------------------------------------------------------------------------------------
def copies(model, path):
    model.save(path)
    return [kullback.load(path), type(model).load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]


@pytest.mark.parametrize("name", slow_among(CASES, "GaussianHMM", "CategoricalHMM", "MultinomialHMM"))
def test_a_copy_goes_on_as_the_model_does(name, tmp_path):
    X = CASES[name][0]().astype(float)
    X[90] = np.nan
    model = stream(name, lag=40)
    model.partial_fit(X, continues=True)
    assert np.isnan(model.waiting_).any()
    others = copies(model, tmp_path / "model")
    model.partial_fit(X, continues=True)
    for other in others:
        assert_same(other.partial_fit(X, continues=True), model, rtol=1e-12)
        np.testing.assert_array_equal(other.waiting_, model.waiting_)
        np.testing.assert_allclose(other.filtered_, model.filtered_, rtol=1e-12)


def test_a_fit_is_the_same_in_a_file(tmp_path):
    model = stream(n_iter=3, tol=-np.inf, startprob_prior=np.array([1.0, 2.0, 3.0])).fit(reals(), LENGTHS)
    for other in copies(model, tmp_path / "model"):
        assert_same(other, model, rtol=0, atol=0)
        assert list(other.monitor_.history) == list(model.monitor_.history)
        assert other.monitor_.iter == 3
        assert other.score(reals()) == model.score(reals())
    assert not hasattr(clone(model), "startprob_")


def test_what_only_waits_is_no_model_to_save(tmp_path):
    model = kullback.GaussianHMM(2).partial_fit(reals(5), continues=True)
    for ask in (lambda: model.save(tmp_path / "model"), lambda: model.score(reals())):
        with pytest.raises(NotFittedError):
            ask()


def test_attributes_that_are_set_by_hand_are_saved(tmp_path):
    stream().save(tmp_path / "model")
    assert kullback.load(tmp_path / "model").score(reals()) == stream().score(reals())


@pytest.mark.parametrize("name", slow_among([*CASES, "HMM"], "GaussianHMM", "PoissonHMM", "HMM"))
def test_models_go_out_and_come_in(name):
    if name == "HMM":
        X = np.hstack([reals(), counts()])
        model = kullback.HMM(K, family=["gaussian"] * 2 + ["poisson"] * 2, n_iter=1, random_state=0).fit(X)
    else:
        X = CASES[name][0]()
        model = stream(name, n_iter=1).fit(X)
    other = type(model).from_model(model.to_model(), random_state=3)
    assert other.random_state == 3
    assert other.score(X) == model.score(X)
    assert other.partial_fit(X).n_points_seen_ == 120
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(model.to_model()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_covariance_type_is_that_of_the_model(kind):
    model = started(kullback, "GaussianHMM", {"means_": MEANS, "covars_": COVARS[kind]}, covariance_type=kind)
    assert kullback.GaussianHMM.from_model(model.to_model()).covariance_type == kind


def test_models_that_do_not_fit_are_refused():
    columns = HiddenMarkovModel(START, MOVES, Independent(Categorical(np.full((3, 2, 4), 0.25))))
    numbers = HiddenMarkovModel(START, MOVES, Poisson([1.0, 2.0, 3.0]))
    ends = HiddenMarkovModel(START, 0.9 * MOVES, Independent(Poisson(RATES)), ending=[0.1] * 3)
    for name, model, words in (
        ("GaussianHMM", numbers, "a GaussianHMM needs Gaussians"),
        ("CategoricalHMM", numbers, "a CategoricalHMM needs one categorical column"),
        ("CategoricalHMM", columns, "one categorical column"),
        ("PoissonHMM", columns, "a PoissonHMM needs Poisson columns"),
        ("PoissonHMM", numbers, "the model emits single numbers"),
        ("PoissonHMM", ends, "has an ending"),
        ("MultinomialHMM", columns, "needs Counts"),
        ("HMM", ends, "has an ending"),
        ("HMM", numbers, "single numbers"),
        ("GaussianHMM", Poisson(1.0), "it must be a HiddenMarkovModel"),
        ("HMM", Poisson(1.0), "it must be a HiddenMarkovModel"),
    ):
        with pytest.raises(ValueError, match=words):
            getattr(kullback, name).from_model(model)


# --- what goes wrong -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([100], "sums to 100 and doesn't sum to 120"),
        ([60, 0, 60], "lengths\\[1\\] is 0"),
        ([130, -10], "lengths\\[1\\] is -10"),
        ([59.5, 60.5], "whole numbers"),
        ([[60, 60]], "whole numbers"),
        (["60", "60"], "whole numbers"),
        ([np.nan, 60], "whole numbers"),
        ([], "sums to 0"),
    ],
)
def test_lengths_that_make_no_sense_are_refused(lengths, words):
    for ask in (stream().fit, stream().score, stream().partial_fit):
        with pytest.raises(ValueError, match=words):
            ask(reals(), lengths)


def test_sequences_may_have_one_row():
    X = reals()
    model = stream(n_iter=2).fit(X, [1] * 120)
    np.testing.assert_array_equal(model.transmat_, MOVES)  # nothing was seen of it
    share = (
        START
        * np.array([multivariate_normal(m, np.diag(c)).pdf(X) for m, c in zip(MEANS, COVARS["diag"], strict=True)]).T
    )
    np.testing.assert_allclose(stream().score(X, [1] * 120), np.log(share.sum(axis=1)).sum(), rtol=1e-12)


def test_a_question_leaves_attributes_set_by_hand_as_they_are():
    model = stream()
    with pytest.raises(ValueError, match="X has 3 features, but GaussianHMM is expecting 2"):
        model.score(np.zeros((5, 3)))
    assert np.isfinite(model.score(reals()))
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "bad", [np.full((9, 2), np.inf), [["a", "b"], ["c", "d"]], np.zeros((3, 2, 2)), np.full((9, 2), -1)]
)
def test_values_that_make_no_sense_are_refused(name, bad):
    if name == "GaussianHMM" and np.ndim(bad) == 2 and np.asarray(bad)[0, 0] == -1:
        return
    model = getattr(kullback, name)(2)
    with pytest.raises(ValueError, match="[Ii]nf|could not convert|dim|onnegative|count|column|Negative"):
        model.fit(bad)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.parametrize("name", CASES)
def test_a_series_with_nothing_in_it_is_refused(name):
    columns = CASES[name][0](5).shape[1]
    with pytest.raises(ValueError, match="column 0 of X has no entry"):
        getattr(kullback, name)(2).fit(np.full((20, columns), np.nan))


def test_a_list_of_numbers_is_a_series_of_one_column():
    X = reals()[:, 0]
    one, other = (kullback.GaussianHMM(2, n_iter=3, random_state=0).fit(x) for x in (X, X[:, None]))
    assert_same(one, other, rtol=0, atol=0)
    assert one.score(list(X)) == one.score(X[:, None])


@pytest.mark.slow
def test_a_symbol_that_was_never_seen_has_no_likelihood_and_breaks_nothing():
    X = symbols()
    model = kullback.CategoricalHMM(2, n_features=6, random_state=0, n_iter=3).fit(X)
    assert (model.emissionprob_[:, 4:] == 0).all()
    strange = np.concatenate([X, [[5]], X])
    for question in (model.score, lambda X: model.score_samples(X)[0], lambda X: model.decode(X)[0]):
        with pytest.warns(UserWarning, match=r"X\[120\] is impossible.*emissionprob_prior") as told:
            assert question(strange) == -np.inf
        assert len(told) == 1
    assert np.isfinite(model.predict_proba(strange)).all()
    with pytest.warns(UserWarning, match="emissionprob_prior"):
        assert set(model.predict(strange)) <= {0, 1}
    model.partial_fit(strange)
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())
    assert np.isfinite(model.score(strange))
    model.set_params(init_params="").fit(strange)
    assert np.isfinite(model.monitor_.history[-1])
    careful = kullback.CategoricalHMM(2, n_features=6, emissionprob_prior=1.1, random_state=0, n_iter=3).fit(X)
    assert np.isfinite(careful.score(strange))


def test_states_that_nothing_leads_to_stay():
    model = stream(n_iter=5, tol=-np.inf)
    model.startprob_ = np.array([0.5, 0.5, 0.0])
    model.transmat_ = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.2, 0.3, 0.5]])
    model.fit(reals())
    np.testing.assert_array_equal(model.transmat_[2], [0.2, 0.3, 0.5])
    assert model.startprob_[2] == 0
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())


@pytest.mark.parametrize("kind", ["full", *map(slow, ("spherical", "diag", "tied"))])
def test_a_state_that_dies_is_no_trouble(kind):
    """It is far from all rows: nothing is left of it, and nothing else is lost."""
    covars = {**COVARS, "diag": np.ones((K, N))}[kind]
    emissions = {"means_": MEANS + [[0, 0], [0, 0], [1e3, 1e3]], "covars_": covars}
    model = started(kullback, "GaussianHMM", emissions, covariance_type=kind, n_iter=5, tol=-np.inf).fit(reals())
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())
    assert (np.diff(model.monitor_.history) > -0.1).all()
    assert set(model.predict(reals())) == {0, 1}


@pytest.mark.parametrize("kind", ["spherical", "diag"])
def test_a_prior_keeps_constant_data_alive(kind):
    model = kullback.GaussianHMM(2, kind, random_state=0).fit(np.full((40, 2), 3.0))
    np.testing.assert_allclose(model.means_, 3.0)
    assert (model.covariances_ > 0).all()
    assert np.isfinite(model.score(np.full((40, 2), 3.0)))


@pytest.mark.parametrize(
    ("kind", "prior"),
    [
        slow("full", 1e-2),
        slow("tied", 1e-2),
        ("diag", 0.0),
        ("spherical", 0.0),
    ],
)
def test_a_fit_ends_before_covariances_collapse_and_says_so(kind, prior):
    X = np.full((40, 2), 3.0)
    model = kullback.GaussianHMM(2, kind, covars_prior=prior, n_iter=100, tol=-np.inf)
    with pytest.warns(ConvergenceWarning, match="ended before an iteration in which the covariance of a state"):
        model.fit(X)
    assert not model.converged_
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())


@pytest.mark.slow
def test_more_states_than_different_rows():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 20, axis=0)
    model = kullback.GaussianHMM(K, random_state=0).fit(X)
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())
    for name in ("PoissonHMM", "MultinomialHMM"):
        model = getattr(kullback, name)(K, random_state=0).fit(X)
        assert all(np.isfinite(value).all() for value in parameters_of(model).values())


def test_digits_are_kept_far_from_zero():
    near = stream(n_iter=10, tol=-np.inf).fit(reals())
    far = started(
        kullback, "GaussianHMM", {"means_": MEANS + 1e7, "covars_": COVARS["diag"]}, n_iter=10, tol=-np.inf, **FLAT
    )
    far.fit(reals() + 1e7)
    np.testing.assert_allclose(far.means_ - 1e7, near.means_, atol=1e-6)
    np.testing.assert_allclose(far.covariances_, near.covariances_, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "prior"),
    [
        ("GaussianHMM", {"startprob_prior": [1.0, 2.0]}),
        ("GaussianHMM", {"transmat_prior": np.ones((2, 2))}),
        ("GaussianHMM", {"means_prior": np.ones(5)}),
        ("GaussianHMM", {"covars_prior": np.ones((5, 5))}),
        ("CategoricalHMM", {"emissionprob_prior": np.ones((3, 9))}),
        ("PoissonHMM", {"lambdas_prior": np.ones(7)}),
    ],
)
def test_priors_of_other_shapes_are_named(name, prior):
    with pytest.raises(ValueError, match=f"{next(iter(prior))} has shape"):
        started(kullback, name, CASES[name][1], **prior).fit(CASES[name][0]())


@pytest.mark.parametrize("letters", [{"params": "stmx"}, {"init_params": "e"}])
def test_letters_that_mean_nothing_are_refused(letters):
    with pytest.raises(ValueError, match=r"has the letter .*: allowed letters are 'stmc'"):
        kullback.GaussianHMM(2, **letters).fit(reals())


def test_totals_that_were_promised_are_checked():
    with pytest.raises(ValueError, match="add up to the number of trials"):
        kullback.MultinomialHMM(2, n_trials=5).fit(tallies())
    with pytest.raises(ValueError, match="add up to the number of trials"):
        kullback.MultinomialHMM(2, n_trials=[6, 6]).fit(tallies())


def test_of_several_starts_the_best_is_kept():
    fits = [kullback.GaussianHMM(K, random_state=0, n_init=n, n_iter=5).fit(reals()) for n in (1, 4)]
    assert fits[1].monitor_.history[-1] >= fits[0].monitor_.history[-1]
    assert len(fits[1].monitor_.history) == fits[1].n_iter_
