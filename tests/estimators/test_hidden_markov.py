"""Hidden Markov models behind hmmlearn's door: the same numbers, and what hmmlearn does not do."""

import copy
import itertools
import pickle

import jax
import numpy as np
import pytest
from hmmlearn import hmm as hmmlearn
from scipy.stats import multinomial, multivariate_normal, poisson
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import kullback
from kullback.estimators._monitor import ConvergenceMonitor
from kullback.families import Categorical, Independent, Poisson
from kullback.models import HiddenMarkovModel
from marks import slow

# Few sizes, so that few functions are compiled: three states, two columns, 120 rows.
LENGTHS = [50, 1, 29, 40]
K, N = 3, 2
KINDS = ("spherical", "diag", "full", "tied")
START = np.array([0.5, 0.3, 0.2])
MOVES = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
MEANS = np.array([[0.0, 0.0], [2.0, -1.0], [-1.0, 2.0]])
RATES = np.array([[1.0, 4.0], [6.0, 2.0], [3.0, 9.0]])
SYMBOLS = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.2, 0.4, 0.3, 0.1]])
COVARS = {
    "spherical": np.array([1.0, 0.5, 2.0]),
    "diag": np.array([[1.0, 0.5], [0.7, 2.0], [1.5, 1.0]]),
    "full": np.array([[[1.0, 0.3], [0.3, 1.0]], [[0.7, -0.2], [-0.2, 1.5]], [[2.0, 0.5], [0.5, 1.0]]]),
    "tied": np.array([[1.0, 0.3], [0.3, 1.2]]),
}


def states(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    path = [rng.choice(K, p=START)]
    for _ in range(rows - 1):
        path.append(rng.choice(K, p=MOVES[path[-1]]))
    return np.array(path)


def reals(rows=120, seed=0):
    return MEANS[states(rows, seed)] + np.random.default_rng(seed + 1).normal(size=(rows, N))


def counts(rows=120, seed=0):
    return np.random.default_rng(seed + 1).poisson(RATES[states(rows, seed)])


def symbols(rows=120, seed=0):
    rng = np.random.default_rng(seed + 1)
    return np.array([[rng.choice(4, p=SYMBOLS[h])] for h in states(rows, seed)])


def tallies(rows=120, seed=0, different=False):
    rng = np.random.default_rng(seed + 1)
    totals = rng.integers(3, 9, rows) if different else np.full(rows, 6)
    return np.array([rng.multinomial(n, SYMBOLS[h]) for n, h in zip(totals, states(rows, seed), strict=True)])


#: For each class: data, and the emissions to start from.
CASES = {
    "GaussianHMM": (reals, {"means_": MEANS, "covars_": COVARS["diag"]}),
    "PoissonHMM": (counts, {"lambdas_": RATES}),
    "CategoricalHMM": (symbols, {"emissionprob_": SYMBOLS}),
    "MultinomialHMM": (tallies, {"emissionprob_": SYMBOLS}),
}


def started(library, name, emissions, **parameters):
    """Return a model of one library or the other with a start that is set by hand."""
    model = getattr(library, name)(K, init_params="", **parameters)
    model.startprob_, model.transmat_ = START, MOVES
    for attribute, value in emissions.items():
        setattr(model, attribute, value)
    return model


def both(name, emissions=None, **parameters):
    emissions = CASES[name][1] if emissions is None else emissions
    return [started(library, name, emissions, **parameters) for library in (kullback, hmmlearn)]


def parameters_of(model):
    names = ("startprob_", "transmat_", "means_", "covars_", "lambdas_", "emissionprob_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def assert_same(ours, theirs, rtol=1e-7, atol=1e-9):
    expected = parameters_of(theirs)
    assert len(expected) >= 3
    for name, value in expected.items():
        if name == "covars_":
            value = value[
                :: len(value) // len(theirs.means_)
            ]  # hmmlearn has each sphere once for every column after a fit
        np.testing.assert_allclose(getattr(ours, name), value, rtol=rtol, atol=atol, err_msg=name)


def assert_learns_the_same(name, X, emissions=None, **parameters):
    ours, theirs = (m.fit(X, LENGTHS) for m in both(name, emissions, n_iter=20, tol=-np.inf, **parameters))
    np.testing.assert_allclose(ours.monitor_.history, theirs.monitor_.history, rtol=1e-7)
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.score(X, LENGTHS), theirs.score(X, LENGTHS), rtol=1e-7)


# --- the same numbers as hmmlearn ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.parametrize("params", ["tmc", "stm", "s"])
def test_what_is_not_in_params_stays(params):
    emissions = {"means_": MEANS, "covars_": COVARS["full"]}
    assert_learns_the_same("GaussianHMM", reals(), emissions, covariance_type="full", params=params)


@pytest.mark.parametrize(("name", "params"), [("PoissonHMM", "st"), ("CategoricalHMM", "t"), ("MultinomialHMM", "st")])
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


@pytest.mark.parametrize("name", CASES)
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


@pytest.mark.parametrize("name", CASES)
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


# --- the monitor ----------------------------------------------------------------------------------------------


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


# --- weights, and what is missing ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
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


@pytest.mark.parametrize("name", ["PoissonHMM", "CategoricalHMM", "MultinomialHMM"])
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


@pytest.mark.parametrize("name", CASES)
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


def test_a_row_of_tallies_is_missing_as_a_whole():
    X = tallies().astype(float)
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="X\\[4\\] lacks some counts"):
        kullback.MultinomialHMM(2).fit(X)
    X[4] = np.nan
    model = started(kullback, "MultinomialHMM", CASES["MultinomialHMM"][1], n_iter=1).fit(X)
    assert model.impute(X, random_state=0)[4].sum() == 6


# --- a series that never ends --------------------------------------------------------------------------------

FLAT = {"covars_prior": 0.0, "covars_weight": 0.0}  # no prior


def stream(name="GaussianHMM", **parameters):
    more = FLAT if name == "GaussianHMM" else {}
    return started(kullback, name, CASES[name][1], **{**more, **parameters})


@pytest.mark.parametrize("name", CASES)
def test_a_step_of_rate_1_is_a_step_of_em(name):
    X = CASES[name][0]()
    one = stream(name, rate=1.0).partial_fit(X, LENGTHS)
    assert_same(one, stream(name, n_iter=1).fit(X, LENGTHS), rtol=1e-10)
    two = stream(name, n_iter=2, tol=-np.inf).fit(X, LENGTHS)
    assert_same(one.partial_fit(X, LENGTHS), two, rtol=1e-10)
    assert one.n_points_seen_ == 240
    assert one.n_sequences_seen_ == 8
    assert one.n_batches_seen_ == 2


@pytest.mark.parametrize(
    ("params", "kind"), [("stm", "full"), ("stm", "tied"), ("stc", "spherical"), ("smc", "diag"), ("t", "diag")]
)
def test_what_is_not_in_params_stays_in_a_stream(params, kind):
    emissions = {"means_": MEANS, "covars_": COVARS[kind]}
    model = started(kullback, "GaussianHMM", emissions, covariance_type=kind, params=params, rate=0.5)
    for seed in range(3):
        model.partial_fit(reals(seed=seed))
    for letter, name, value in (
        ("s", "startprob_", START),
        ("t", "transmat_", MOVES),
        ("m", "means_", MEANS),
        ("c", "covariances_", COVARS[kind]),
    ):
        assert (letter in params) != np.allclose(getattr(model, name), value, rtol=1e-12), name


def test_priors_are_seen_once_by_a_stream():
    model = stream(means_prior=50.0, means_weight=100.0, rate=0.5).partial_fit(reals())
    assert model.means_.min() > 10
    other = kullback.GaussianHMM.from_model(model.to_model(), rate=0.5)
    assert_same(model.partial_fit(reals(seed=1)), other.partial_fit(reals(seed=1)), rtol=1e-12)


def test_the_filtered_state_is_carried_on():
    X = reals()
    model = stream(rate=1e-9, lag=0)  # so that the model is the same for all pieces
    expected = model.filter(X)
    for start in range(0, 120, 60):
        model.partial_fit(X[start : start + 60], continues=True)
        np.testing.assert_allclose(model.filtered_, expected[start + 59], rtol=1e-6)
        assert len(model.waiting_) == 0


def test_with_a_long_lag_pieces_are_the_whole():
    X = reals()
    whole, pieces = stream(lag=500), stream(lag=500)
    whole.partial_fit(X)
    for start in range(0, 120, 40):
        pieces.partial_fit(X[start : start + 40], continues=True)
        assert len(pieces.waiting_) == start + 40
    pieces.partial_fit(X[:0])  # the end
    assert not hasattr(pieces, "waiting_")
    assert_same(pieces, whole, rtol=0, atol=0)
    assert pieces.n_points_seen_ == 120


def test_the_lag_tells_of_what_comes_later():
    """Rows are counted with what the next ones say of them: with a lag they are learned as from the whole series."""
    X = reals()
    model = stream(rate=1.0, lag=20)
    share = model.predict_proba(X)[:100]
    model.partial_fit(X, continues=True)
    np.testing.assert_allclose(model.means_, (share.T @ X[:100]) / share.sum(axis=0)[:, None], rtol=1e-9)
    np.testing.assert_array_equal(model.waiting_, X[100:])
    assert model.n_points_seen_ == 100


@pytest.mark.parametrize("size", [slow(1), 7, slow(60)])
@pytest.mark.parametrize("lag", [slow(0), 5, slow(20)])
def test_every_row_of_a_stream_is_counted_once(size, lag):
    X = reals()
    model = stream(lag=lag)
    model.fit_stream(X[start : start + size] for start in range(0, 120, size))
    assert model.n_points_seen_ == 120
    assert model.n_sequences_seen_ == 1
    assert not hasattr(model, "waiting_")
    assert not hasattr(model, "filtered_")
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())


def test_before_there_are_enough_rows_all_wait():
    X = reals()
    model = kullback.GaussianHMM(K, random_state=0, lag=10)
    for t in range(59):
        model.partial_fit(X[t : t + 1], continues=True)
        assert len(model.waiting_) == t + 1
        assert not hasattr(model, "n_batches_seen_")
    model.partial_fit(X[59:60], continues=True)
    assert model.n_points_seen_ == 50
    assert len(model.waiting_) == 10
    for t in range(60, 109):
        model.partial_fit(X[t : t + 1], continues=True)
        assert model.n_points_seen_ == 50
        assert len(model.waiting_) == t - 49
    model.partial_fit(X[109:110], continues=True)
    assert model.n_points_seen_ == 100
    assert len(model.waiting_) == 10


def test_row_by_row_a_stream_learns():
    """Pieces of one row end near what batch EM finds."""
    X = np.concatenate([np.random.default_rng(s).normal(m, 1, (25, 2)) for s, m in enumerate((0, 6) * 12)])
    batch = kullback.GaussianHMM(2, random_state=0, n_iter=30).fit(X)
    online = kullback.GaussianHMM(2, random_state=0).fit_stream(X[t : t + 1] for t in range(len(X)))
    assert online.score(X) > batch.score(X) - 0.02 * len(X)


def test_an_empty_piece_changes_nothing():
    X = reals()
    model, other = stream(), stream()
    for piece in (X[:0], X[:80], X[:0], X[80:], X[:0]):
        model.partial_fit(piece, continues=True)
    for piece in (X[:80], X[80:]):
        other.partial_fit(piece, continues=True)
    assert_same(model, other, rtol=0, atol=0)
    np.testing.assert_array_equal(model.waiting_, other.waiting_)
    with pytest.raises(ValueError, match="0 sample"):
        stream().fit(X[:0])


def test_a_series_ends_where_another_begins():
    X, Y = reals(), reals(seed=5)
    model = stream(lag=20)
    model.partial_fit(X, continues=True)
    model.partial_fit(Y)  # a sequence of its own; the rows that wait end theirs
    assert model.n_points_seen_ == 240
    assert model.n_sequences_seen_ == 2
    assert not hasattr(model, "waiting_")
    model.partial_fit(X, continues=True)
    assert model.n_sequences_seen_ == 3
    # the transition from the last row of X to the first of Y is none
    parts, whole = stream(lag=500, rate=1.0), stream(rate=1.0)
    parts.partial_fit(X, continues=True)
    parts.partial_fit(Y)
    whole.partial_fit(np.concatenate([X, Y]), [120, 120])
    assert_same(parts, whole, rtol=1e-10)


def test_the_last_of_several_sequences_goes_on():
    X = reals()
    model = stream(lag=500)
    model.partial_fit(X[:90], [50, 40], continues=True)
    np.testing.assert_array_equal(model.waiting_, X[50:90])
    assert model.n_points_seen_ == 50
    model.partial_fit(X[90:], continues=True)
    np.testing.assert_array_equal(model.waiting_, X[50:])


def test_a_weight_is_refused_for_a_series_that_goes_on():
    with pytest.raises(ValueError, match="sample_weight cannot be given with continues"):
        stream().partial_fit(reals(), sample_weight=[1.0], continues=True)


def test_a_step_that_fails_leaves_a_stream_as_it_was():
    X = reals()
    model = stream().partial_fit(X[:80], continues=True)
    before = {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_")}
    for bad in (np.full((3, N), np.inf), np.zeros((3, 5)), [["a", "b"]]):
        with pytest.raises(ValueError, match="inf|features|convert"):
            model.partial_fit(bad, continues=True)
    model.rate = lambda step: 2.0
    with pytest.raises(ValueError, match="rate is 2.0"):
        model.partial_fit(X, continues=True)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


def test_a_piece_of_other_columns_is_refused_before_the_first_step_too():
    model = kullback.GaussianHMM(2).partial_fit(reals(5), continues=True)
    with pytest.raises(ValueError, match="X has 3 features, but GaussianHMM is expecting 2"):
        model.partial_fit(np.zeros((5, 3)), continues=True)


@pytest.mark.parametrize("seed", [0, slow(1), slow(2)])
def test_a_stream_ends_near_batch_em(seed):
    X = stream().sample(20_000, random_state=seed)[0]
    first = kullback.GaussianHMM(K, n_iter=0, random_state=seed).fit(X[:100])
    begin = {"means_": first.means_, "covars_": first.covariances_}
    batch = started(kullback, "GaussianHMM", begin, n_iter=50, tol=1.0).fit(X)
    online = started(kullback, "GaussianHMM", begin).fit_stream(np.split(X, 200))
    assert online.score(X) > batch.score(X) - 0.02 * len(X)
    assert online.n_points_seen_ == 20_000


def test_a_stream_begins_with_the_start_that_was_set():
    X = reals()
    model = stream(rate=1e-12).fit_stream([X[:60], X[60:]])
    np.testing.assert_allclose(model.means_, MEANS, atol=1e-6)
    again = stream(rate=0.5)
    again.fit_stream([X])
    means = again.means_
    np.testing.assert_allclose(again.set_params(rate=1e-12).fit_stream([X]).means_, means, atol=1e-6)


def test_symbols_that_come_later_than_the_first_rows():
    """Rows that wait for the start are looked at together."""
    X = np.concatenate([np.zeros((30, 1), int), symbols()])
    model = kullback.CategoricalHMM(2, random_state=0)
    model.fit_stream(X[t : t + 10] for t in range(0, 150, 10))
    assert model.n_features == 4
    table = kullback.HMM(2, family="categorical", random_state=0)
    table.fit_stream(X[t : t + 10] for t in range(0, 150, 10))
    np.testing.assert_array_equal(table.n_categories_, [4])
    short = kullback.CategoricalHMM(2, random_state=0).fit_stream([np.zeros((100, 1), int)])
    with pytest.raises(ValueError, match="Largest symbol is 3 but the model only emits symbols up to 0"):
        short.partial_fit([[3]])


@pytest.mark.parametrize("name", CASES)
def test_rows_may_be_filtered_one_by_one(name):
    make, emissions = CASES[name]
    X = make(30)
    model = started(kullback, name, emissions, **({"n_trials": 6} if "Multi" in name else {}))
    whole, state = model.filter(X), None
    for t in range(30):
        state = model.filter(X[t : t + 1], state=state)[-1]
        np.testing.assert_allclose(state, whole[t], rtol=1e-10)


@pytest.mark.parametrize("state", [[0.5, 0.5], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [np.nan, 0.5, 0.5], [-1.0, 1.0, 1.0]])
def test_a_state_that_is_no_distribution_is_refused(state):
    with pytest.raises(ValueError, match="state (has shape|is)"):
        stream().filter(reals(), state=state)


def test_a_forecast_is_what_the_chain_expects():
    X = reals()
    model = stream()
    found = model.forecast(X, steps=3)
    expected = model.filter(X)[-1] @ MOVES @ MOVES
    np.testing.assert_allclose(found.states[1], expected, rtol=1e-12)
    np.testing.assert_allclose(found.mean[1], expected @ MEANS, rtol=1e-12)
    with pytest.raises(ValueError, match="steps is 0"):
        model.forecast(X, steps=0)


@pytest.mark.parametrize(
    "family", ["gamma", *map(slow, ("exponential", "beta", "bernoulli", "poisson", "categorical"))]
)
def test_the_forecast_of_any_family_has_the_mean_of_what_is_drawn(family):
    rng = np.random.default_rng(0)
    X = {
        "exponential": rng.exponential(3.0, (120, 2)),
        "gamma": rng.gamma(4.0, 2.0, (120, 2)),
        "beta": rng.beta(2.0, 5.0, (120, 2)),
        "bernoulli": rng.integers(2, size=(120, 2)),
        "poisson": rng.poisson(4.0, (120, 2)),
        "categorical": rng.integers(3, size=(120, 2)),
    }[family]
    model = kullback.HMM(1, family=family, n_iter=3).fit(X)
    np.testing.assert_allclose(model.forecast(X).mean[0], X.mean(axis=0), rtol=0.02)


# --- combination ---------------------------------------------------------------------------------------------


def permuted(model, order):
    """Return the same model with its states in another order."""
    other = clone(model)
    other.startprob_, other.transmat_ = model.startprob_[order], model.transmat_[np.ix_(order, order)]
    for name in ("means_", "covariances_", "lambdas_", "emissionprob_", "totals_"):
        if hasattr(model, name):
            setattr(other, name, getattr(model, name)[order])
    return other


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


@pytest.mark.parametrize("name", CASES)
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


@pytest.mark.parametrize("name", [*CASES, "HMM"])
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


def test_a_symbol_that_was_never_seen_has_no_likelihood_and_breaks_nothing():
    X = symbols()
    model = kullback.CategoricalHMM(2, n_features=6, random_state=0, n_iter=3).fit(X)
    assert (model.emissionprob_[:, 4:] == 0).all()
    strange = np.concatenate([X, [[5]], X])
    assert model.score(strange) == -np.inf
    assert np.isfinite(model.predict_proba(strange)).all()
    assert model.decode(strange)[0] == -np.inf
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


@pytest.mark.parametrize(("kind", "prior"), [("full", 1e-2), ("tied", 1e-2), ("diag", 0.0), ("spherical", 0.0)])
def test_covariances_that_collapse_are_told(kind, prior):
    with pytest.raises(ValueError, match="the covariance of a state has collapsed"):
        kullback.GaussianHMM(2, kind, covars_prior=prior, n_iter=100, tol=-np.inf).fit(np.full((40, 2), 3.0))


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
    with pytest.raises(ValueError, match="has the letter"):
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
