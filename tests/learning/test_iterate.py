"""Steps towards one batch under one compiled loop: the same as one by one, and ended where someone has to look."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Batch, Poisson
from kullback.learning import CONVERGED, EM, LIMIT, AllAtOnce, Bounds, Entry, Epochs, GainBelow, begin, em_step, fit
from kullback.learning import _iterate as loop
from kullback.models import Mixture
from learning.proof_data import equal_bits

COUNTS = np.random.default_rng(0).poisson(np.repeat([2.0, 9.0, 20.0], 40))


def start():
    return Mixture([0.3, 0.3, 0.4], Poisson(np.array([1.0, 8.0, 9.0])))


def fitted(rule, **options):
    """Return the place and the reason of a fit, what its steps were worth, and how many loops they took."""
    learner, data, infos, loops = EM(), AllAtOnce(Batch(COUNTS)), [], []

    def record(chunk):
        infos.extend(chunk)
        loops.append(len(chunk))

    place, reason = fit(learner, begin(learner, start(), data, rule), data, rule, record=record, **options)
    return place, reason, infos, loops


@pytest.mark.parametrize(
    ("rule", "reason"), [(GainBelow(1e-6, 500), CONVERGED), (GainBelow(0, 37, falling=False), LIMIT)]
)
def test_the_length_of_loops_changes_no_bit_and_no_end(rule, reason):
    one, why, infos, loops = fitted(rule, chunk=1)
    assert why == reason
    assert loops == [1] * one.step
    assert one.step > 20
    for chunk in (7, 64):
        other, why, several, loops = fitted(rule, chunk=chunk)
        assert why == reason
        assert equal_bits(one._replace(curve=None), other._replace(curve=None))
        assert np.array_equal(one.curve, other.curve)
        assert several == infos
        assert len(loops) < one.step
        assert max(loops) <= chunk
    model = start()
    for info in infos:  # steps by themselves, which are gathered and moved
        model, alone = em_step(model, Batch(COUNTS))
        assert info.value == pytest.approx(float(alone.value), rel=1e-12)
        assert info.mass == len(COUNTS)
    np.testing.assert_allclose(one.model.components.rate, model.components.rate, rtol=1e-10)


def is_below_18(model):
    return jnp.all(model.components.rate < 18)


def test_a_guard_sees_every_step_that_a_watch_has_a_doubt_about():
    seen = []

    def guard(model, info):
        seen.append(float(model.components.rate.max()))
        return "too high" if seen[-1] > 18.5 else None

    rule = GainBelow(0, 200, falling=False)
    alone, reason, infos, loops = fitted(rule, guard=guard)  # it cannot know without a watch
    assert (reason, set(loops)) == ("too high", {1})
    first, seen[:] = list(seen), []
    watched, reason, several, loops = fitted(rule, guard=guard, watch=is_below_18)
    assert reason == "too high"
    assert several == infos
    assert equal_bits(alone._replace(curve=None), watched._replace(curve=None))
    assert alone.model.components.rate.max() <= 18.5 < seen[-1] == first[-1]
    assert len(seen) < len(first)
    assert [rate for rate in first if rate >= 18] == [rate for rate in seen if rate >= 18]


def test_a_rule_without_bounds_and_a_validation_are_asked_after_every_step():
    _, _, infos, loops = fitted(Epochs(5))
    assert (len(infos), loops) == (5, [1] * 5)
    values = []

    def validate(model):
        values.append(float(model.components.rate.max()))
        return values[-1]

    fitted(GainBelow(0, 6, falling=False), validate=validate)
    assert len(set(values)) == 6


@pytest.mark.parametrize("scale", [1.0, 1234.5])
@pytest.mark.parametrize("falling", [True, False])
def test_a_step_inside_the_bounds_ends_no_fit(falling, scale):
    """Rules are asked in units of 1/scale, as hmmlearn's monitor is: with the values of all rows."""
    rng = np.random.default_rng(1)
    far = 0
    for _ in range(2000):
        before = rng.normal()
        value = before + rng.choice([-1, 0, 1]) * 10.0 ** rng.integers(-18, 1)
        tolerance = rng.choice([0.0, 1e-16, 1e-9, 1e-3, abs(value - before)])
        rule = GainBelow(tolerance * scale, 10, falling, before * scale, 3)
        bounds = Bounds.of(before, tolerance * scale, 7, falling, scale)
        verdict = rule.update(rule.init(), Entry(1, 1.0, value * scale, 1.0))
        if bounds.are_far(np.float64(before), np.float64(value)):
            far += 1
            assert verdict.reason is None
        elif scale == 1:
            assert verdict.reason == CONVERGED
    assert far > 300
    assert GainBelow(1e-3, 10, before=-2.0, done=4).bounds({"value": -2.0, "steps": 4}).most == 6
    assert GainBelow(1e-3).bounds({"value": None, "steps": 0}).before == -np.inf


class BreaksDown(EM):
    """Loses its numbers with the seventh step."""

    def move(self, model, state, message, clock):
        moved, settled, info = EM.move(self, model, state, message, clock)
        rate = jnp.where(clock.step >= 6, jnp.nan, moved.components.rate)
        return eqx.tree_at(lambda m: m.components.rate, moved, rate), settled, info


def test_moves_that_are_not_finite_end_their_loops_and_then_the_fit():
    learner, data, rule, loops = BreaksDown(), AllAtOnce(Batch(COUNTS)), GainBelow(0, 100, falling=False), []
    place, reason = fit(learner, begin(learner, start(), data, rule), data, rule, record=lambda c: loops.append(len(c)))
    assert "5 moves in a row led to numbers that are not finite" in reason
    assert place.step == 11
    assert loops == [7, 1, 1, 1, 1]
    assert np.isfinite(place.model.components.rate).all()


def test_the_pace_of_loops_follows_the_clock():
    pace, resident = loop.Pace(64), loop.Resident(Batch(np.zeros((2**16, 4))))
    assert pace.steps(resident) == 16
    pace.learn(16, 0.01)
    assert pace.steps(resident) == 32
    pace.learn(5, 0.01)  # ended by the rule: it says nothing
    assert pace.steps(resident) == 32
    pace.learn(32, 2.0)
    pace.learn(16, 0.2)
    assert pace.steps(resident) == 16
    assert loop.Pace(64).steps(loop.Resident(Batch(np.zeros((2**20, 8))))) == 1
    assert loop.Pace(1000).steps(loop.Resident(Batch(np.zeros((4, 1))))) == loop.MOST
