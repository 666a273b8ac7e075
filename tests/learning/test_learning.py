import jax
import numpy as np
import pytest

from kullback.families import Batch, Gaussian, Poisson
from kullback.geometry import relative_entropy
from kullback.learning import (
    EM,
    Epochs,
    GainBelow,
    Minibatches,
    Stream,
    begin,
    combine,
    decaying_rate,
    em,
    em_step,
    fit,
    natural_gradient_em_step,
    online_em,
    online_em_step,
    sampled_inertia_step,
)
from kullback.models import Mixture
from tiers import slow

START = Mixture([0.5, 0.5], Poisson([1.0, 9.0]))
COUNTS = np.array([0, 1, 2, 1, 11, 13, 12, 0, 2, 1, 9, 14])


def test_em_stops_when_the_gain_is_small():
    _, history = em(START, Batch(COUNTS), steps=500, tolerance=1e-6)
    gains = np.diff(history)
    assert len(history) < 500
    assert gains[-1] < 1e-6
    assert np.all(gains[:-1] >= 1e-6)


def test_no_steps_leave_the_model_as_it_is_and_no_loop_counts_to_zero():
    assert em(START, Batch(COUNTS), steps=0) == (START, [])
    with pytest.raises(ValueError, match="most is 0: it must be 1 or more"):
        Epochs(0)
    with pytest.raises(ValueError, match="most is -1"):
        GainBelow(1e-3, -1)
    with pytest.raises(ValueError, match="passes is 0"):
        Stream.of([Batch(COUNTS)], passes=0)
    with pytest.raises(ValueError, match="batch_rows is 0"):
        Minibatches(lambda rows: Batch(COUNTS[rows]), len(COUNTS), 0)
    data, rule = Stream.of([Batch(COUNTS)]), Epochs(1)
    with pytest.raises(ValueError, match="chunk is 0"):
        fit(EM(), begin(EM(), START, data, rule), data, rule, chunk=0)


@pytest.mark.parametrize("position", [5, "x", [0], [0, 3], [0, 12], [-1, 0], [0, True], {"pass": 0}, [0.0, 0]])
def test_a_position_that_is_none_is_refused(position):
    table = Minibatches(lambda rows: Batch(COUNTS[rows]), len(COUNTS), 5)
    for data in (table, Stream.of([Batch(COUNTS)])):
        with pytest.raises(ValueError, match="position is .*: it is none of"):
            data.steps(position, 1)
    assert table.steps([0, 5], 1).position == [0, 10]


def test_a_stream_without_batches_leaves_the_model_as_it_is():
    model, history = online_em(START, [])
    assert history == []
    assert model is START


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


def mixture_and_data():
    rng = np.random.default_rng(1)
    start = Mixture([0.4, 0.6], Gaussian(rng.normal(size=(2, 2)), np.array([[[1.0, 0.2], [0.2, 2.0]], np.eye(2)])))
    return start, Batch(rng.normal(size=(200, 2)) + [0.5, -0.5])


@pytest.mark.parametrize("coordinates", [slow("natural"), "source"])
def test_the_natural_gradient_agrees_with_online_em_to_second_order(coordinates):
    start, batch = mixture_and_data()

    def gap(rate):
        exact, _, _ = online_em_step(start, batch, rate)
        tangent, _ = natural_gradient_em_step(start, batch, rate, coordinates)
        pairs = zip(jax.tree.leaves(exact), jax.tree.leaves(tangent), strict=True)
        return np.concatenate([np.ravel(a - b) for a, b in pairs])

    coarse, fine = np.linalg.norm(gap(1e-2)), np.linalg.norm(gap(1e-3))
    assert coarse > 0
    assert coarse / fine == pytest.approx(100, rel=0.1)  # a tenth of the step, a hundredth of the gap


@pytest.mark.slow
def test_a_drawn_inertia_converges_to_the_exact_one():
    start, batch = mixture_and_data()
    exact, _, _ = online_em_step(start, batch, 0.5)

    def away(draws):
        found = [sampled_inertia_step(start, batch, 0.5, jax.random.key(s), draws)[0] for s in range(12)]
        return np.mean([float(relative_entropy(exact, model)) for model in found])

    # relative entropy falls as 1/N′
    assert away(200) / away(3200) == pytest.approx(16, rel=0.5)


def test_averaging_wavers_less():
    rng = np.random.default_rng(2)
    batches = [Batch(rng.poisson(5, 4)) for _ in range(400)]
    last, _ = online_em(Poisson(5.0), batches, rate=0.2)
    mean, _ = online_em(Poisson(5.0), batches, rate=0.2, average=True)
    points = np.concatenate([b.values for b in batches]).mean()
    assert abs(float(mean.rate) - points) < 0.1 * abs(float(last.rate) - points)


def test_several_batches_are_one_step():
    start, batch = mixture_and_data()
    parts = [Batch(batch.values[:50]), Batch(batch.values[50:])]
    for step in (em_step, lambda model, data: online_em_step(model, data, 0.3)):
        one, *_, first = step(start, batch)
        two, *_, second = step(start, parts)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        assert float(first.value) == pytest.approx(float(second.value), rel=1e-13)
