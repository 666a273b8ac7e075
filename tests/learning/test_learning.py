import numpy as np
import pytest

from kullback.families import Batch, Poisson
from kullback.learning import combine, decaying_rate, em, online_em
from kullback.models import Mixture

START = Mixture([0.5, 0.5], Poisson([1.0, 9.0]))
COUNTS = np.array([0, 1, 2, 1, 11, 13, 12, 0, 2, 1, 9, 14])


def test_em_stops_when_the_gain_is_small():
    _, history = em(START, Batch(COUNTS), steps=500, tolerance=1e-6)
    gains = np.diff(history)
    assert len(history) < 500
    assert gains[-1] < 1e-6
    assert np.all(gains[:-1] >= 1e-6)


def test_a_family_alone_is_learned_in_one_step():
    model, _ = em(Poisson(1.0), Batch(COUNTS), steps=1)
    assert float(model.rate) == pytest.approx(COUNTS.mean())


def test_online_em_of_a_family_with_rate_one_over_t_is_the_running_mean():
    # γ_t = 1/t forgets nothing: after the last batch the mean of all points is reached
    batches = [Batch(part) for part in COUNTS.reshape(4, 3)]
    model, _ = online_em(Poisson(1.0), batches, rate=decaying_rate(exponent=1.0))
    assert float(model.rate) == pytest.approx(COUNTS.mean(), rel=1e-14)


def test_a_constant_rate_follows_drift_and_a_decaying_one_does_not():
    rng = np.random.default_rng(0)
    batches = [Batch(rng.poisson(5 if t < 150 else 20, 20)) for t in range(300)]
    steady, _ = online_em(Poisson(1.0), batches, rate=0.1)
    slow, _ = online_em(Poisson(1.0), batches, rate=decaying_rate(exponent=1.0))
    assert float(steady.rate) == pytest.approx(20, abs=1.5)
    assert float(slow.rate) == pytest.approx(12.5, abs=0.5)


def test_schedules_say_what_is_wrong():
    with pytest.raises(ValueError, match="exponent is 0.3"):
        decaying_rate(exponent=0.3)
    with pytest.raises(ValueError, match="offset is 0"):
        decaying_rate(offset=0)
    assert decaying_rate()(0) == 1.0


def test_combine_says_what_is_wrong():
    with pytest.raises(ValueError, match="models is empty"):
        combine([])
    with pytest.raises(ValueError, match=r"models\[1\] is a Poisson, models\[0\] a Mixture"):
        combine([START, Poisson(1.0)])
    with pytest.raises(ValueError, match=r"weights has shape \(1,\): there are 2 models"):
        combine([START, START], weights=[1.0])
    with pytest.raises(ValueError, match="not all zero"):
        combine([START, START], weights=[0.0, 0.0])
