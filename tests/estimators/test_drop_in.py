"""What code that was written for scikit-learn and hmmlearn takes for granted, besides numbers."""

import inspect
import logging

import hmmlearn.hmm
import numpy as np
import pytest
import sklearn.mixture
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import kullback
from estimators.hidden_markov_data import (
    CASES,
    LENGTHS,
    MOVES,
    START,
    K,
    N,
    counts,
    reals,
    started,
)
from tiers import slow

PEERS = {"GaussianMixture": sklearn.mixture, **dict.fromkeys(CASES, hmmlearn.hmm)}
IRIS = load_iris().data


def hidden_markov(name, **parameters):
    extra = {"n_trials": 6} if name == "MultinomialHMM" else {}
    return started(kullback, name, CASES[name][1], random_state=0, **extra, **parameters)


# --- the same names ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PEERS)
def test_every_parameter_is_there_in_order_with_its_default(name):
    ours, theirs = (inspect.signature(getattr(library, name)).parameters for library in (kullback, PEERS[name]))
    assert [str(p).partition(":")[0].partition("=")[0] for p in ours.values()][: len(theirs)] == list(theirs)
    for key, parameter in theirs.items():
        assert (ours[key].default, ours[key].kind) == (parameter.default, parameter.kind), key


@pytest.mark.parametrize("name", PEERS)
def test_every_public_method_takes_what_theirs_takes(name):
    ours, theirs = (getattr(library, name) for library in (kullback, PEERS[name]))
    for key, member in inspect.getmembers(theirs, callable):
        if key.startswith("_"):
            continue
        taken = inspect.signature(getattr(ours, key)).parameters
        for argument, parameter in inspect.signature(member).parameters.items():
            assert taken[argument].default == parameter.default, (key, argument)
            assert taken[argument].kind == parameter.kind, (key, argument)


@pytest.mark.parametrize("name", ["GaussianMixture", slow("GaussianHMM")])
def test_every_attribute_of_a_fit_has_the_same_shape_and_can_be_written_to(name):
    ours, theirs = (getattr(library, name)(2, random_state=0).fit(IRIS) for library in (kullback, PEERS[name]))
    for key, value in vars(theirs).items():
        if key.startswith("_") or not key.endswith("_"):
            continue
        found = getattr(ours, key)
        if isinstance(value, np.ndarray):
            assert (found.shape, found.dtype) == (value.shape, value.dtype), key
            assert found.flags.writeable == value.flags.writeable, key
        elif not isinstance(value, hmmlearn.base.ConvergenceMonitor):
            assert isinstance(found, type(value)) or isinstance(value, type(found)), key
    for criterion in (ours.aic(IRIS), ours.bic(IRIS)):
        assert type(criterion) is float


@pytest.mark.slow
def test_a_mean_that_is_written_over_counts():
    mixture = kullback.GaussianMixture(2, random_state=0).fit(IRIS)
    mixture.means_[0] += 100
    reference = sklearn.mixture.GaussianMixture(2, random_state=0).fit(IRIS)
    reference.means_[0] += 100
    np.testing.assert_allclose(mixture.score_samples(IRIS), reference.score_samples(IRIS), rtol=1e-9)


# --- integers of NumPy ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_integers_of_numpy_are_integers(kind):
    hmm = hidden_markov("GaussianHMM")
    for one, other in zip(hmm.sample(kind(20), currstate=kind(1)), hmm.sample(20, currstate=1), strict=True):
        np.testing.assert_array_equal(one, other)
    X, lengths = reals(), np.array(LENGTHS).astype(kind)
    assert hmm.score(X, lengths) == hmm.score(X, LENGTHS)
    np.testing.assert_array_equal(hmm.forecast(X, kind(3)).mean, hmm.forecast(X, 3).mean)


@pytest.mark.slow
def test_parameters_may_be_integers_of_numpy(tmp_path):
    mixture = kullback.GaussianMixture(np.int64(2), max_iter=np.int32(50), n_init=np.int64(1), random_state=np.int64(0))
    plain = kullback.GaussianMixture(2, max_iter=50, n_init=1, random_state=0).fit(IRIS)
    np.testing.assert_array_equal(mixture.fit(IRIS).means_, plain.means_)
    np.testing.assert_array_equal(mixture.sample(np.int64(5))[0], plain.sample(5)[0])
    mixture.save(tmp_path / "mixture.safetensors")
    assert kullback.GaussianMixture.load(tmp_path / "mixture.safetensors").n_components == 2


@pytest.mark.parametrize("wrong", [0, np.int64(-1), 2.5, "3", None])
def test_what_is_no_number_of_samples_is_refused(wrong):
    for estimator in (hidden_markov("PoissonHMM"), kullback.GaussianMixture(2, random_state=0).fit(IRIS)):
        with pytest.raises(ValueError, match="n_samples"):
            estimator.sample(wrong)


# --- attributes_ that are set by hand ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["GaussianHMM", *(slow(name) for name in CASES if name != "GaussianHMM")])
def test_n_features_may_be_set_before_the_parameters(name):
    make, emissions = CASES[name]
    width = np.shape(next(iter(emissions.values())))[1]
    model = getattr(kullback, name)(K, **({"n_trials": 6} if name == "MultinomialHMM" else {}))
    model.n_features = width
    assert model.n_features == width
    model.startprob_, model.transmat_ = START, MOVES
    for key, value in emissions.items():
        setattr(model, key, value)
    assert model.n_features == width
    assert model.score(make(), LENGTHS) == hidden_markov(name).score(make(), LENGTHS)


def test_n_features_that_was_set_is_asked_of_the_data():
    for name, X in (("GaussianHMM", reals()), ("PoissonHMM", counts())):
        model = getattr(kullback, name)(2)
        with pytest.raises(AttributeError, match="n_features"):
            model.n_features  # as in hmmlearn: there is none yet
        model.n_features = N + 1
        with pytest.raises(ValueError, match=f"Unexpected number of dimensions, got {N} but expected {N + 1}"):
            model.fit(X)
        with pytest.raises(ValueError, match="n_features is 0: it must be 1 or more"):
            model.n_features = 0


NOTHING = [[], np.ones((0, N))]


def no_probabilities(n):
    return [*NOTHING, np.full((K, n), 0.3), [[1.5, -0.5] + [0.0] * (n - 2)] * K, [[np.nan] * n] * K]


BAD = {
    "CategoricalHMM": ("emissionprob_", no_probabilities(4)),
    "MultinomialHMM": ("emissionprob_", no_probabilities(3)),
    "PoissonHMM": ("lambdas_", [*NOTHING, *([[value] * N] * K for value in (-1.0, np.nan, np.inf))]),
    "GaussianHMM": ("means_", [*NOTHING, np.ones(K), [[np.nan] * N] * K]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_attributes_are_refused_by_name_when_they_are_used(name):
    attribute, values = BAD[name]
    chain = [("startprob_", [[], [0.5] * 3, [1.5, -0.5, 0.0], [np.nan] * K]), ("transmat_", [[], MOVES * 2, -MOVES])]
    for key, wrong in [(attribute, values), *chain]:
        for value in wrong:
            model = hidden_markov(name)
            setattr(model, key, value)
            for use in (lambda model=model: model.sample(3), lambda model=model: model.score(CASES[name][0]())):
                with pytest.raises(ValueError, match=key):
                    use()


def test_covars_of_an_unknown_type_are_refused_when_they_are_set():
    model = kullback.GaussianHMM(2, "diagonal")
    with pytest.raises(ValueError, match="covariance_type must be one of"):
        model.covars_ = np.ones((2, 2))


# --- what is said --------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_start_that_overwrites_what_was_set_says_so_in_the_log_once(caplog):
    model = hidden_markov("GaussianHMM", n_iter=1, n_init=2)
    model.init_params = "sm"
    model.fit(reals())
    said = [record.getMessage() for record in caplog.records]
    assert [text.split("'")[1] for text in said] == ["startprob_", "means_"]
    assert all("will be overwritten during initialization" in text for text in said)
    caplog.clear()
    model.fit(reals())  # what a fit has made is no one's setting
    assert not caplog.records


def test_fewer_entries_than_parameters_are_told_in_the_log(caplog):
    with caplog.at_level(logging.WARNING, "kullback"):
        hidden_markov("PoissonHMM", n_iter=0).fit(counts()[:5])
    assert "14 free scalar parameters with only 10 data points" in caplog.text


def test_weights_out_of_range_are_told_with_the_right_ends_after_those_of_scikit_learn():
    with pytest.raises(ValueError, match="weights_init has entries from -0.50000 to 1.50000"):
        kullback.GaussianMixture(2, weights_init=[1.5, -0.5]).fit(IRIS)


def test_the_bar_of_a_fit_that_has_converged_is_full(capsys):
    mixture = kullback.GaussianMixture(2, random_state=0, verbose=2).fit(IRIS)
    last = capsys.readouterr().err.rstrip().rpartition("\r")[2]
    assert "start 1 converged: 100%" in last
    assert f"{mixture.n_iter_}/{mixture.n_iter_}" in last
    hidden_markov("GaussianHMM", n_iter=2, tol=-np.inf, verbose=True).fit(reals())
    assert "start 1 ended: 100%" in capsys.readouterr().err


# --- a collapse ----------------------------------------------------------------------------------------------
LONELY = np.concatenate([IRIS, [[50.0, 50.0, 50.0, 50.0]]])
ON_IT = {"means_init": [IRIS.mean(axis=0), LONELY[-1]], "weights_init": [0.9, 0.1], "covariance_type": "spherical"}


def test_a_fit_ends_before_a_component_collapses_and_says_so():
    mixture = kullback.GaussianMixture(2, reg_covar=0.0, precisions_init=[1.0, 1.0], **ON_IT)
    with pytest.warns(ConvergenceWarning, match="ended before an iteration in which a component collapses"):
        mixture.fit(LONELY)
    assert not mixture.converged_
    np.testing.assert_allclose(mixture.score(LONELY), mixture.lower_bound_)  # that of the model that is kept
    assert (mixture.covariances_ > 0).all()


@pytest.mark.slow
def test_of_several_starts_one_that_does_not_collapse_is_kept(monkeypatch):
    """Its likelihood is lower than that of the one that was on its way to infinity."""
    good, bad = (kullback.GaussianMixture(2, reg_covar=0.0, random_state=0, **more).fit(IRIS) for more in ({}, {}))
    bad.means_, bad.covariances_ = np.stack([IRIS.mean(axis=0), IRIS[0]]), np.stack([np.cov(IRIS.T), 1e-12 * np.eye(4)])
    starts = iter([bad.to_model(), good.to_model(), bad.to_model()])
    monkeypatch.setattr(kullback.GaussianMixture, "_start", lambda self, rows, random: next(starts))
    kept = kullback.GaussianMixture(2, reg_covar=0.0, n_init=3).fit(IRIS)
    assert kept.converged_
    np.testing.assert_allclose(kept.means_, good.means_, rtol=1e-2)
