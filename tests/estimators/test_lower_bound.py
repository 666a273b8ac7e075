"""What a fit has reached is told in nats per row, however it was made."""

import numpy as np
import pytest

import kullback
from estimators.hidden_markov_data import LENGTHS, symbols
from kullback.estimators import CategoricalHMM

WEIGHT = np.array([1.0, 2.0, 1.0, 3.0])


@pytest.fixture(scope="module")
def fitted():
    return CategoricalHMM(2, n_iter=4, tol=-np.inf, random_state=0).fit(symbols(), LENGTHS, WEIGHT)


def test_a_fit_of_sequences_tells_nats_per_row(fitted):
    mass = float(WEIGHT @ LENGTHS)
    assert fitted.lower_bound_ == fitted.lower_bounds_[-1]
    np.testing.assert_allclose(np.array(fitted.lower_bounds_) * mass, fitted.monitor_.history, rtol=1e-15)
    before = CategoricalHMM(2, n_iter=3, tol=-np.inf, random_state=0).fit(symbols(), LENGTHS, WEIGHT)
    ends = np.cumsum(LENGTHS)
    each = [before.score(symbols()[end - length : end]) for end, length in zip(ends, LENGTHS, strict=True)]
    assert fitted.monitor_.history[-1] == pytest.approx(WEIGHT @ each, rel=1e-12)
    assert fitted.lower_bound_ == pytest.approx(WEIGHT @ each / mass, rel=1e-12)


def test_a_step_of_a_stream_and_a_step_of_a_fit_tell_the_same_number():
    start = {"startprob_": [0.5, 0.5], "transmat_": [[0.7, 0.3], [0.2, 0.8]], "emissionprob_": np.full((2, 4), 0.25)}
    found = []
    for learn in (CategoricalHMM.fit, CategoricalHMM.partial_fit):
        model = CategoricalHMM(2, n_iter=1, init_params="")
        for name, value in start.items():
            setattr(model, name, np.array(value))
        found.append(learn(model, symbols(), LENGTHS).lower_bound_)
    assert found[0] == pytest.approx(found[1], rel=1e-12) == pytest.approx(-np.log(4), rel=1e-12)


def test_a_loaded_fit_has_the_monitor_of_the_fit(fitted, tmp_path):
    fitted.save(tmp_path / "m.safetensors")
    back = kullback.load(tmp_path / "m.safetensors")
    assert back.lower_bounds_ == fitted.lower_bounds_
    np.testing.assert_allclose(back.monitor_.history, fitted.monitor_.history, rtol=1e-15)
    back.partial_fit(symbols())
    back.save(tmp_path / "m.safetensors")
    assert not kullback.load(tmp_path / "m.safetensors").monitor_.history  # of how many rows it was nobody knows


def test_a_system_tells_nats_per_row_too():
    X = np.random.default_rng(0).normal(size=(60, 1)).cumsum(axis=0)
    three, two = (kullback.LinearDynamicalSystem(1, max_iter=n, tol=0).fit(X) for n in (3, 2))
    assert three.lower_bound_ == pytest.approx(two.score(X) / 60, rel=1e-9)
