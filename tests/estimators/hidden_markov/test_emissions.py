"""What an estimator asks of each kind of emission, asked without an estimator."""

import types

import numpy as np
import pytest

import kullback
from estimators.hidden_markov_data import LENGTHS, counts, reals, symbols
from kullback.estimators.hidden_markov._emission import Emission
from kullback.estimators.hidden_markov._estimator import HiddenMarkovEstimator
from kullback.models import HiddenMarkovModel

KINDS = {
    "GaussianHMM": ({}, reals),
    "CategoricalHMM": ({}, symbols),
    "PoissonHMM": ({}, counts),
    "MultinomialHMM": ({}, counts),
    "HMM": ({"family": ["gaussian", "poisson"]}, lambda: np.column_stack([reals()[:, 0], counts()[:, 0]])),
}


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    parameters, data = KINDS[request.param]
    return getattr(kullback, request.param)(2, n_iter=2, random_state=0, **parameters).fit(data(), LENGTHS), data()


def test_attributes_are_all_that_an_emission_needs(fitted):
    model, X = fitted
    emission = model._emission
    before = {name: value for name, value in vars(model).items() if not name.startswith("_")}
    holder = types.SimpleNamespace(**before)
    emission.check(X, holder, first=False)
    emissions = emission.from_attributes(holder)
    for name, value in emission.attributes(emissions).items():
        np.testing.assert_array_equal(value, getattr(model, name))
    assert len(emission.means(emissions)) == 2
    assert set(emission.count_parameters(holder)) == set(emission.letters)
    assert len(emission.features(X, holder)) == len(X)
    assert vars(holder) == before  # it reads attributes_, and sets none


def test_a_model_describes_the_estimator_that_holds_it(fitted):
    model, X = fitted
    parameters, shape = model._emission.describe(model.to_model())
    assert parameters["n_components"] == 2
    assert shape["n_features_in_"] == X.shape[1]
    for name, value in parameters.items():
        assert getattr(model, name) == value


def test_a_model_of_another_kind_is_refused(fitted):
    model, _ = fitted
    with pytest.raises(ValueError, match="it must be a HiddenMarkovModel"):
        model._emission.describe(model.to_model().emissions)
    other = kullback.CategoricalHMM if type(model) is not kullback.CategoricalHMM else kullback.GaussianHMM
    with pytest.raises(ValueError, match="the model emits"):
        other.from_model(model.to_model())


def test_after_the_first_step_a_prior_only_keeps_what_is_not_learned(fitted):
    model, _ = fitted
    emission, emissions = model._emission, model.to_model().emissions
    assert emission.prior(emissions, first=False) is None
    if type(model) is kullback.GaussianHMM:
        part = type(model)(2, params="stm")._emission.prior(emissions, first=False)
        assert (part.learned, part.means_weight, part.covars_weight) == ("stm", 0, 0)


def test_an_emission_is_abstract_or_final():
    with pytest.raises(TypeError, match="abstract"):
        HiddenMarkovEstimator()
    with pytest.raises(TypeError, match="abstract"):
        Emission(1, "e", "e")
    assert all(not kind.__subclasses__() and not kind.__abstractmethods__ for kind in Emission.__subclasses__())
    assert {kind.__name__[: -len("Emission")] for kind in Emission.__subclasses__()} == {
        *("Gaussian", "Categorical", "Poisson", "Multinomial", "Family"),
    }


def test_what_was_never_set_is_started_anew_by_each_run():
    model = kullback.GaussianHMM(3, n_iter=0, n_init=2, init_params="", random_state=0)
    starts, start = [], model._start

    def noted(*args):
        starts.append(start(*args))
        return starts[-1]

    model._start = noted
    model.fit(reals(), LENGTHS)
    assert all(isinstance(one, HiddenMarkovModel) for one in starts)
    assert not np.allclose(starts[0].emissions.mean, starts[1].emissions.mean)
