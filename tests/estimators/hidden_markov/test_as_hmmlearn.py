"""The same numbers as hmmlearn, its monitor, and its scripts with another import."""

import numpy as np
import pytest
from hmmlearn import hmm as hmmlearn

import kullback

# Few sizes, so that few functions are compiled: three states, two columns, 120 rows.
from estimators.hidden_markov_data import (
    CASES,
    COVARS,
    KINDS,
    LENGTHS,
    MEANS,
    MOVES,
    RATES,
    START,
    SYMBOLS,
    K,
    N,
    assert_learns_the_same,
    assert_same,
    both,
    counts,
    reals,
    started,
    symbols,
    tallies,
)
from kullback.estimators.hidden_markov import ConvergenceMonitor
from tiers import slow, slow_among


# --- the same numbers as hmmlearn ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", slow_among(KINDS, "spherical", "tied"))
def test_gaussians_learn_as_in_hmmlearn(kind):
    emissions = {"means_": MEANS, "covars_": COVARS[kind]}
    assert_learns_the_same("GaussianHMM", reals(), emissions, covariance_type=kind)


PRIORS = {
    "numbers": {"startprob_prior": 2.0, "transmat_prior": 1.5, "means_prior": 1.0, "means_weight": 3.0},
    "columns": {"means_prior": np.array([1.0, -2.0]), "means_weight": 2.0, "covars_weight": 7.0},
    "states": {
        "startprob_prior": np.array([2.0, 1.0, 3.0]),
        "transmat_prior": np.array([[3.0, 1.0, 1.0], [1.0, 4.0, 1.0], [0.5, 1.0, 2.0]]),
        "means_prior": MEANS + 1,
        "means_weight": 2.0,
    },
}
COVARS_PRIORS = {
    "spherical": (0.3, np.array([0.1, 0.7]), COVARS["diag"]),
    "diag": (0.3, np.array([0.1, 0.7]), COVARS["diag"]),
    "full": (0.3, COVARS["tied"], COVARS["full"]),
    "tied": (0.3, COVARS["tied"], 2 * COVARS["tied"]),
}


@pytest.mark.parametrize("form", [0, slow(1), slow(2)])
@pytest.mark.parametrize("kind", KINDS)
def test_gaussian_priors_mean_what_they_mean_in_hmmlearn(kind, form):
    emissions = {"means_": MEANS, "covars_": COVARS[kind]}
    priors = {**list(PRIORS.values())[form], "covars_prior": COVARS_PRIORS[kind][form]}
    assert_learns_the_same("GaussianHMM", reals(), emissions, covariance_type=kind, **priors)


def test_a_weight_of_the_means_for_each_state_is_as_in_hmmlearn():
    priors = {"means_prior": MEANS, "means_weight": np.array([[1.0], [2.0], [5.0]])}
    assert_learns_the_same("GaussianHMM", reals(), **priors)


def test_one_number_for_each_state_is_what_hmmlearn_says_of_priors():
    """hmmlearn's page gives them the shape of the states; its code takes that for a column only."""
    asked = {"n_iter": 3, "tol": -np.inf}
    one, other = (
        started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], means_prior=prior, means_weight=weight, **asked)
        for prior, weight in (([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), ([[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]))
    )
    assert_same(one.fit(reals()), other.fit(reals()), rtol=0, atol=0)


@pytest.mark.parametrize("priors", [{}, {"lambdas_prior": 2.0, "lambdas_weight": 0.5}, {"lambdas_prior": RATES}])
def test_poissons_learn_as_in_hmmlearn(priors):
    assert_learns_the_same("PoissonHMM", counts(), **priors)


@pytest.mark.parametrize(
    "priors",
    [{}, {"emissionprob_prior": 1.7}, {"emissionprob_prior": 1 + SYMBOLS}, {"emissionprob_prior": [3.0, 1, 0.5, 1]}],
)
def test_symbols_learn_as_in_hmmlearn(priors):
    priors = {name: np.asarray(value) for name, value in priors.items()}
    assert_learns_the_same("CategoricalHMM", symbols(), **priors)


@pytest.mark.parametrize("different", [False, True])
def test_tallies_learn_as_in_hmmlearn(different):
    assert_learns_the_same("MultinomialHMM", tallies(different=different))


@pytest.mark.parametrize("params", [slow("tmc"), "stm", slow("s")])
def test_what_is_not_in_params_stays(params):
    emissions = {"means_": MEANS, "covars_": COVARS["full"]}
    assert_learns_the_same("GaussianHMM", reals(), emissions, covariance_type="full", params=params)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("PoissonHMM", "st"),
        slow("CategoricalHMM", "t"),
        ("MultinomialHMM", "st"),
    ],
)
def test_emissions_that_are_not_in_params_stay(name, params):
    make, emissions = CASES[name]
    assert_learns_the_same(name, make(), params=params)
    ours = started(kullback, name, emissions, params=params, n_iter=2).fit(make(), LENGTHS)
    attribute = "lambdas_" if name == "PoissonHMM" else "emissionprob_"
    np.testing.assert_array_equal(getattr(ours, attribute), emissions[attribute])


def test_covariances_are_learned_around_means_that_stay():
    """hmmlearn divides by counts that it has not made there, so this is checked against the equation."""
    X = reals()
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], params="stc", n_iter=1)
    share = model.predict_proba(X, LENGTHS)
    model.fit(X, LENGTHS)
    away = np.square(X[:, None, :] - MEANS)
    np.testing.assert_allclose(
        model.covariances_, (0.01 + np.einsum("tk,tkn->kn", share, away)) / share.sum(axis=0)[:, None], rtol=1e-10
    )
    np.testing.assert_array_equal(model.means_, MEANS)


def test_what_is_not_in_init_params_stays_and_the_rest_is_started():
    model = kullback.GaussianHMM(K, init_params="mc", n_iter=0, random_state=0)
    model.startprob_, model.transmat_, model.means_ = START, MOVES, MEANS + 100
    model.fit(reals())
    np.testing.assert_array_equal(model.startprob_, START)
    np.testing.assert_array_equal(model.transmat_, MOVES)
    assert np.abs(model.means_).max() < 10
    assert model.covars_.shape == (K, N, N)


@pytest.mark.parametrize("name", slow_among(CASES, "PoissonHMM", "CategoricalHMM", "MultinomialHMM"))
@pytest.mark.parametrize("implementation", ["log", slow("scaling")])
def test_answers_are_those_of_hmmlearn_for_attributes_set_by_hand(name, implementation):
    make, _ = CASES[name]
    X = make()
    ours, theirs = both(name, implementation=implementation, **({"n_trials": 6} if "Multi" in name else {}))
    np.testing.assert_allclose(ours.score(X, LENGTHS), theirs.score(X, LENGTHS), rtol=1e-10)
    ours_each, theirs_each = ours.score_samples(X, LENGTHS), theirs.score_samples(X, LENGTHS)
    np.testing.assert_allclose(ours_each[0], theirs_each[0], rtol=1e-10)
    np.testing.assert_allclose(ours_each[1], theirs_each[1], atol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X, LENGTHS), theirs.predict_proba(X, LENGTHS), atol=1e-10)
    for algorithm in (None, "viterbi", "map"):
        (a, path), (b, other) = ours.decode(X, LENGTHS, algorithm), theirs.decode(X, LENGTHS, algorithm)
        np.testing.assert_allclose(a, b, rtol=1e-10)
        np.testing.assert_array_equal(path, other)
    np.testing.assert_array_equal(ours.predict(X, LENGTHS), theirs.predict(X, LENGTHS))
    for criterion in ("aic", "bic"):
        asked = [getattr(model, criterion)(X, LENGTHS) for model in (ours, theirs)]
        np.testing.assert_allclose(*asked, rtol=1e-10)
    np.testing.assert_allclose(ours.get_stationary_distribution(), theirs.get_stationary_distribution(), rtol=1e-10)
    assert ours.n_features == theirs.n_features


@pytest.mark.parametrize("kind", KINDS)
def test_criteria_count_the_parameters_of_each_covariance_type(kind):
    ours, theirs = both("GaussianHMM", {"means_": MEANS, "covars_": COVARS[kind]}, covariance_type=kind)
    np.testing.assert_allclose(ours.score(reals()), theirs.score(reals()), rtol=1e-10)
    np.testing.assert_allclose(ours.bic(reals()), theirs.bic(reals()), rtol=1e-10)


def test_algorithm_map_decides_what_predict_does():
    X = reals()
    ours, theirs = both("GaussianHMM", algorithm="map")
    np.testing.assert_array_equal(ours.predict(X, LENGTHS), theirs.predict(X, LENGTHS))
    np.testing.assert_array_equal(ours.predict(X, LENGTHS), ours.predict_proba(X, LENGTHS).argmax(axis=1))
    with pytest.raises(ValueError, match="Unknown decoder 'best'"):
        ours.decode(X, algorithm="best")


@pytest.mark.parametrize("kind", KINDS)
def test_covars_have_the_shapes_of_hmmlearn(kind):
    ours, theirs = both("GaussianHMM", {"means_": MEANS, "covars_": COVARS[kind]}, covariance_type=kind)
    theirs._check()
    np.testing.assert_array_equal(ours.covars_, theirs.covars_)
    assert ours.covars_.shape == (K, N, N)


@pytest.mark.parametrize(
    ("kind", "covars"),
    [
        ("spherical", [1.0, -1.0, 1.0]),
        ("spherical", [1.0, 1.0]),
        ("diag", [1.0, 1.0, 1.0]),
        ("diag", [[1.0, 0.0]] * K),
        ("full", [[1.0, 0.0]] * K),
        ("full", [[[1.0, 2.0], [2.0, 1.0]]] * K),
        ("full", [[[1.0, 2.0, 1.0], [2.0, 1.0, 1.0]]] * K),
        ("tied", [[1.0, 2.0], [2.0, 1.0]]),
        ("tied", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    ],
)
def test_covars_that_hmmlearn_refuses_are_refused(kind, covars):
    for library in (kullback, hmmlearn):
        model = library.GaussianHMM(K, kind)
        with pytest.raises(ValueError, match=f"'{kind}' covars"):
            model.covars_ = covars


def test_probabilities_that_do_not_fit_are_refused_in_the_words_of_hmmlearn():
    for attribute, value, words in (
        ("startprob_", [0.5, 0.5], "startprob_ must have length n_components"),
        ("startprob_", [0.5, 0.3, 0.1], "startprob_ must sum to 1 \\(got 0.9"),
        ("transmat_", np.eye(2), "transmat_ must have shape"),
        ("transmat_", MOVES / 2, "transmat_ rows must sum to 1"),
    ):
        for model in both("GaussianHMM"):
            setattr(model, attribute, np.array(value))
            with pytest.raises(ValueError, match=words):
                model.score(reals())


def test_probabilities_may_be_typed_with_a_few_digits():
    """hmmlearn takes what sums to 1 up to 1e-5."""
    ours, theirs = both("GaussianHMM")
    for model in (ours, theirs):
        model.startprob_ = np.array([0.333333, 0.333333, 0.333333])
    np.testing.assert_allclose(ours.score(reals()), theirs.score(reals()), rtol=1e-7)
    ours, theirs = both("CategoricalHMM", {"emissionprob_": SYMBOLS * 0.999999})
    np.testing.assert_allclose(ours.score(symbols()), theirs.score(symbols()), rtol=1e-5)


def test_samples_are_those_of_the_model():
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1])
    X, path = model.sample(20_000, random_state=3)
    assert X.shape == (20_000, N)
    assert path.shape == (20_000,)
    moves = np.zeros((K, K))
    np.add.at(moves, (path[:-1], path[1:]), 1)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), MOVES, atol=0.03)
    for h in range(K):
        np.testing.assert_allclose(X[path == h].mean(axis=0), MEANS[h], atol=0.1)
        np.testing.assert_allclose(X[path == h].var(axis=0), COVARS["diag"][h], rtol=0.15)
    again, same = model.sample(20_000, random_state=3)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(same, path)


@pytest.mark.parametrize("name", slow_among(CASES, "PoissonHMM", "MultinomialHMM"))
def test_a_sample_may_begin_in_a_given_state(name):
    model = started(kullback, name, CASES[name][1], **({"n_trials": 6} if "Multi" in name else {}))
    for h in range(K):
        X, path = model.sample(5, random_state=h, currstate=h)
        assert path[0] == h
        assert X.shape == (5, {"CategoricalHMM": 1, "MultinomialHMM": 4}.get(name, N))
        assert name == "GaussianHMM" or np.issubdtype(X.dtype, np.integer)
    with pytest.raises(ValueError, match="currstate is 3: states are 0 to 2"):
        model.sample(5, currstate=3)


def test_tallies_are_drawn_when_there_is_one_total_only():
    model = started(kullback, "MultinomialHMM", CASES["MultinomialHMM"][1], n_iter=2)
    assert (model.fit(tallies()).sample(30, random_state=0)[0].sum(axis=1) == 6).all()
    with pytest.raises(ValueError, match="a single n_trials must be given"):
        model.fit(tallies(different=True)).sample(30)


# --- the monitor ---------------------------------------------------------------------------------------------
def test_the_monitor_tells_of_the_fit():
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], n_iter=50, tol=0.1).fit(reals())
    monitor = model.monitor_
    gains = np.diff(monitor.history)
    assert monitor.converged
    assert monitor.iter == len(monitor.history) == model.n_iter_ < 50
    assert gains[-1] < 0.1
    assert (gains[:-1] >= 0.1).all()
    assert model.converged_
    assert "iter=" in repr(monitor)


def test_a_fit_that_runs_out_of_steps_has_not_converged():
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], n_iter=2, tol=1e-9).fit(reals())
    assert model.monitor_.iter == 2
    assert model.monitor_.converged  # hmmlearn calls the end of all steps that, too
    assert not model.converged_


def test_limits_that_change_after_a_fit_are_those_of_the_next():
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], n_iter=2, tol=-np.inf).fit(reals())
    assert model.set_params(n_iter=7).fit(reals()).monitor_.iter == 7


class Threshold(ConvergenceMonitor):
    @property
    def converged(self):
        return self.iter == self.n_iter or self.history[-1] >= self.tol


def test_a_monitor_that_is_set_decides_when_to_end():
    plain = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], n_iter=15, tol=-np.inf).fit(reals())
    goal = plain.monitor_.history[6]
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], n_iter=15)
    monitor = model.monitor_ = Threshold(goal, model.monitor_.n_iter, model.monitor_.verbose)
    model.fit(reals())
    assert model.monitor_ is monitor
    np.testing.assert_allclose(monitor.history, list(plain.monitor_.history)[:7], rtol=1e-12)


def test_a_monitor_prints_if_it_is_told_to(capsys):
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], n_iter=2)
    model.monitor_ = ConvergenceMonitor(0.0, 2, True)
    model.fit(reals())
    assert capsys.readouterr().err.split()[0] == "1"


# --- scripts of hmmlearn's tutorials, with another import ----------------------------------------------------
@pytest.mark.slow
def test_script_of_a_dishonest_casino():
    gen_model = kullback.CategoricalHMM(n_components=2, random_state=99)
    gen_model.startprob_ = np.array([1.0, 0.0])
    gen_model.transmat_ = np.array([[0.95, 0.05], [0.1, 0.9]])
    gen_model.emissionprob_ = np.array([[1 / 6] * 6, [0.1, 0.1, 0.1, 0.1, 0.1, 0.5]])
    rolls, gen_states = gen_model.sample(3000)
    X_train, X_validate = rolls[: rolls.shape[0] // 2], rolls[rolls.shape[0] // 2 :]
    best_score = best_model = None
    for idx in range(4):
        model = kullback.CategoricalHMM(n_components=2, random_state=idx, init_params="se", n_iter=30)
        model.transmat_ = np.array([np.random.RandomState(idx).dirichlet([0.9, 0.1]), [0.1, 0.9]])
        model.fit(X_train)
        score = model.score(X_validate)
        if best_score is None or score > best_score:
            best_model, best_score = model, score
    found = best_model.predict(rolls)
    loaded = best_model.emissionprob_[:, 5].argmax()
    assert best_model.emissionprob_[loaded, 5] > 0.35
    assert np.mean((found == loaded) == (gen_states == 1)) > 0.75


@pytest.mark.slow
def test_script_of_model_selection():
    model = kullback.GaussianHMM(n_components=3, covariance_type="diag", random_state=9)
    model.startprob_ = np.array([0.6, 0.3, 0.1])
    model.transmat_ = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]])
    model.means_ = np.array([[0.0], [5.0], [10.0]])
    model.covars_ = np.array([[1.0], [1.0], [1.0]])
    X, _ = model.sample(400)
    aic, bic, lls = [], [], []
    for n in [2, 3, 4]:
        h = kullback.GaussianHMM(n, n_iter=50, tol=1e-2, random_state=0)
        h.fit(X)
        aic.append(h.aic(X))
        bic.append(h.bic(X))
        lls.append(h.score(X))
    assert np.argmin(bic) == 1
    assert aic[1] < aic[0]
    assert lls[2] > lls[1] - 1


@pytest.mark.slow
def test_script_of_sampling_and_learning_again():
    startprob = np.array([0.6, 0.3, 0.1, 0.0])
    transmat = np.array([[0.7, 0.2, 0.0, 0.1], [0.3, 0.5, 0.2, 0.0], [0.0, 0.3, 0.5, 0.2], [0.2, 0.0, 0.2, 0.6]])
    means = np.array([[0.0, 0.0], [0.0, 11.0], [9.0, 10.0], [11.0, -1.0]])
    gen_model = kullback.GaussianHMM(n_components=4, covariance_type="full", random_state=0)
    gen_model.startprob_, gen_model.transmat_ = startprob, transmat
    gen_model.means_, gen_model.covars_ = means, 0.5 * np.tile(np.identity(2), (4, 1, 1))
    X, Z = gen_model.sample(500)
    remodel = kullback.GaussianHMM(n_components=4, covariance_type="full", n_iter=100, init_params="")
    remodel.startprob_, remodel.transmat_ = startprob, transmat
    remodel.means_, remodel.covars_ = means + 1, 2 * np.tile(np.identity(2), (4, 1, 1))
    remodel.fit(X)
    np.testing.assert_array_equal(remodel.predict(X), Z)
    np.testing.assert_allclose(remodel.means_, means, atol=0.3)
    assert (remodel.transmat_[transmat == 0] == 0).all()
    assert remodel.monitor_.converged


def test_script_of_a_chain_that_goes_from_left_to_right():
    lr = kullback.GaussianHMM(n_components=3, covariance_type="diag", init_params="cm", params="cmt", random_state=0)
    lr.startprob_ = np.array([1.0, 0.0, 0.0])
    lr.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    X = np.concatenate([np.random.default_rng(0).normal(m, 1, (40, 2)) for m in (0, 6, 12)])
    lr.fit(X)
    np.testing.assert_array_equal(lr.startprob_, [1, 0, 0])
    assert (np.tril(lr.transmat_, -1) == 0).all()
    assert lr.transmat_[0, 2] == 0
    np.testing.assert_allclose(lr.transmat_.sum(axis=1), 1)


def test_attributes_of_a_fit_can_be_written_to():
    model = started(kullback, "GaussianHMM", CASES["GaussianHMM"][1], n_iter=1).fit(reals())
    before = model.score(reals())
    model.means_[0, 0] += 5
    model.transmat_[0] = [1 / 3, 1 / 3, 1 / 3]
    assert model.score(reals()) < before
