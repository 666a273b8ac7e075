"""Ask and tell: draws with the probabilities that they should have, no setting twice, less regret than by chance."""

import math

import numpy as np
import pytest

from kullback.assess import Tuner, _proposals
from kullback.assess._proposals import ExpectedImprovement
from kullback.assess._space import Space
from tiers import slow_among

METHODS = ("expected-improvement", "cross-entropy", "random")


@pytest.mark.parametrize("method", slow_among(METHODS, "cross-entropy"))
def test_all_of_a_finite_space_is_asked_for_once(method):
    tuner = Tuner({"k": range(4), "kind": ["a", "b", "c"]}, method, seed=3)
    asked = []
    for _ in range(12):
        setting = tuner.ask()
        asked.append(tuple(setting.values()))
        tuner.tell(setting, setting["k"] + (setting["kind"] == "b"))
    assert len(set(asked)) == 12
    assert tuner.exhausted
    assert tuner.best == {"k": 0, "kind": "a"} or tuner.best == {"k": 0, "kind": "c"}
    with pytest.raises(ValueError, match="All 12 settings of the space were tried"):
        tuner.ask()


def test_settings_are_drawn_by_their_expected_improvement(monkeypatch):
    """(2.149): q(λ) ∝ exp(β·EI(λ)), against the probabilities themselves."""
    gains = np.array([0.1, 0.4, 0.2, 0.0])
    monkeypatch.setattr(_proposals, "expected_improvement", lambda *_: gains)
    proposal = ExpectedImprovement(Space({"k": range(4)}), np.random.default_rng(0))
    proposal._waiting, proposal.sharpness = [], 2.0
    drawn = [proposal.draw(np.zeros((1, 1)), np.zeros(1), {"k": 0}) for _ in range(4000)]
    expected = np.exp(2.0 * gains / gains.max())
    expected /= expected.sum()
    found = np.bincount([each[0]["k"] for each in drawn], minlength=4) / 4000
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(expected * (1 - expected) / 4000).max())
    # the second is drawn from what is left
    after = [each[1]["k"] for each in drawn if each[0]["k"] == 1]
    rest = np.delete(expected, 1) / (1 - expected[1])
    np.testing.assert_allclose(np.bincount(after, minlength=4)[[0, 2, 3]] / len(after), rest, atol=0.05)


def test_the_same_seed_asks_the_same_and_orders_are_enough():
    def asked(change):
        tuner = Tuner({"x": (0.0, 1.0), "kind": ["a", "b"]}, seed=5)
        for _ in range(11):
            setting = tuner.ask()
            tuner.tell(setting, change((setting["x"] - 0.3) ** 2))
        return tuner.settings

    assert asked(lambda risk: risk) == asked(lambda risk: math.exp(5 * risk)) != asked(lambda risk: -risk)


def test_several_can_be_asked_for_before_any_is_told():
    tuner = Tuner({"x": (0.0, 1.0)})
    for _ in range(10):
        tuner.tell({"x": (setting := tuner.ask())["x"]}, setting["x"])
    waiting = [tuner.ask()["x"] for _ in range(6)]
    assert len(set(waiting)) == 6
    assert np.median(waiting) < 0.5


def test_what_fails_is_the_worst():
    tuner = Tuner({"k": range(3)}, "random")
    tuner.tell({"k": 0}, math.nan)
    assert tuner.best is None
    tuner.tell({"k": 1}, 1e300)
    tuner.tell({"k": 2}, math.inf)
    assert tuner.best == {"k": 1}
    assert tuner.risks == [math.inf, 1e300, math.inf]


def test_expected_improvement_goes_on_when_all_of_its_start_failed():
    tuner = Tuner({"x": (0.0, 1.0)}, seed=1)
    for _ in range(10):
        tuner.tell(tuner.ask(), math.nan)
    tuner.tell(tuner.ask(), 1.0)
    assert 0 <= tuner.ask()["x"] <= 1


def _regret(method, seed, budget=20):
    """The least regret of a small table with a valley and an outlier, whose axes differ in importance."""
    tuner, least = Tuner({"a": range(8), "b": range(8), "kind": ["x", "y", "z"]}, method, seed=seed), math.inf
    for _ in range(budget):
        setting = tuner.ask()
        a, b, kind = setting["a"], setting["b"], setting["kind"]
        value = (a - 5) ** 2 / 4 + abs(b - 2) / 8 + {"x": 0.0, "y": 0.5, "z": 2.0}[kind] + 1e6 * (a == 0)
        tuner.tell(setting, value)
        least = min(least, value)
    return least


def test_expected_improvement_has_a_third_of_the_regret_of_chance():
    seeds = range(6)
    found = {method: np.mean([_regret(method, seed) for seed in seeds]) for method in METHODS[::2]}
    assert found["expected-improvement"] < found["random"] / 3


@pytest.mark.slow
def test_cross_entropy_closes_in():
    tuner = Tuner({"x": (0.0, 1.0), "y": (1e-3, 1e3, "log"), "kind": ["a", "b"]}, "cross-entropy", seed=0)
    for _ in range(120):
        setting = tuner.ask()
        off = (setting["x"] - 0.7) ** 2 + (math.log10(setting["y"]) - 1) ** 2 / 36
        tuner.tell(setting, off + 0.1 * (setting["kind"] == "a"))
    risks = np.array(tuner.risks)
    assert risks[-20:].mean() < 0.2 * risks[:20].mean()
    assert np.mean([setting["kind"] == "b" for setting in tuner.settings[-20:]]) > 0.8


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (({"x": (0, 1)}, "bayes"), "method is 'bayes': it must be one of 'expected-improvement'"),
        (({"x": (0, 1)}, "random", -1), "seed is -1"),
        (({"x": (0, 1)}, "random", 0.5), "seed is 0.5"),
    ],
)
def test_bad_arguments(arguments, sentence):
    space, method, *seed = arguments
    with pytest.raises(ValueError, match=sentence):
        Tuner(space, method, **({"seed": seed[0]} if seed else {}))


@pytest.mark.parametrize("risk", [-math.inf, "low", None, True])
def test_bad_risks(risk):
    with pytest.raises(ValueError, match="risk is"):
        Tuner({"x": (0.0, 1.0)}).tell({"x": 0.5}, risk)
