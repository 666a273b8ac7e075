"""Spaces of settings: there and back, evenly, and sentences for what is no space."""

import math

import numpy as np
import pytest

from kullback.assess._space import Space

FULL = {
    "rate": (1e-4, 1.0, "log"),
    "share": (0.0, 2.0),
    "components": range(1, 11),
    "units": (1, 1000, "log-integer"),
    "penalty": [0.1, 1.0, 10.0],
    "kind": ["full", "tied", None],
}


def test_settings_go_to_the_cube_and_back():
    space = Space(FULL)
    for setting in space.stratified(np.random.default_rng(0), 50):
        point = space.encode(setting)
        assert ((point >= 0) & (point <= 1)).all()
        back = space.decode(point)
        for name in ("rate", "share"):
            assert back.pop(name) == pytest.approx(setting.pop(name), rel=1e-12)
        assert back == setting
    assert space.groups.tolist() == [0, 1, 2, 3, 4, 5, 5, 5]
    assert space.size == math.inf


def test_choices_are_at_distance_one_and_levels_at_their_ends():
    space = Space({"kind": ["a", "b", "c"], "k": range(1, 6)})
    a, b = (space.encode({"kind": kind, "k": 1}) for kind in "ab")
    assert np.sum((a - b) ** 2) == pytest.approx(1)
    assert [space.encode({"kind": "a", "k": k})[-1] for k in (1, 3, 5)] == [0, 0.5, 1]


def test_every_setting_is_listed_once():
    space = Space({"k": range(2, 8, 2), "kind": ["a", "b"], "n": (1, 5, "log-integer")})
    every = [tuple(setting.values()) for setting in space.every()]
    assert len(every) == len(set(every)) == space.size == 3 * 2 * 5


def test_a_stratified_draw_covers_every_axis():
    drawn = Space(FULL).stratified(np.random.default_rng(1), 30)
    for name, values in (("components", range(1, 11)), ("penalty", [0.1, 1.0, 10.0]), ("kind", ["full", "tied", None])):
        found = [setting[name] for setting in drawn]
        assert {found.count(value) for value in values} == {30 // len(values)}
    thirds = np.histogram([math.log10(setting["rate"]) for setting in drawn], [-4, -8 / 3, -4 / 3, 0])[0]
    assert thirds.tolist() == [10, 10, 10]
    units = [setting["units"] for setting in drawn]
    assert sum(unit < 32 for unit in units) in range(14, 18)  # half of the logarithms of 0.5 … 1000.5 are below 22.4


def test_axes_are_drawn_apart_from_each_other():
    space, rng = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}), np.random.default_rng(2)
    single = np.array([list(space.stratified(rng, 1)[0].values()) for _ in range(1000)])
    assert abs(np.corrcoef(single.T)[0, 1]) < 4 / math.sqrt(1000)


def test_neighbors_are_near():
    space = Space({"x": (0.0, 10.0), "kind": ["a", "b"]})
    near = space.near({"x": 5.0, "kind": "a"}, np.random.default_rng(3), 400)
    x = np.array([setting["x"] for setting in near])
    assert x.std() == pytest.approx(1.0, rel=0.2)
    assert np.mean([setting["kind"] == "b" for setting in near]) == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ({}, "space is {}: it must be a dict"),
        ([("C", (0, 1))], "it must be a dict"),
        ({1: (0, 1)}, "keys must be names"),
        ({"C": 3}, r"space\['C'\] is 3: it must be \(low, high\)"),
        ({"C": ()}, "it must be"),
        ({"C": (1.0, 0.0)}, "two finite numbers, the lower one first"),
        ({"C": (1.0, 1.0)}, "two finite numbers, the lower one first"),
        ({"C": (0.0, math.inf)}, "two finite numbers"),
        ({"C": (math.nan, 1.0)}, "two finite numbers"),
        ({"C": ("a", "b")}, "two finite numbers"),
        ({"C": (0.0, 1.0, "log")}, "must be above 0"),
        ({"C": (0.5, 3.0, "log-integer")}, "ends must be whole"),
        ({"C": (1.0, 3.0, "logarithmic")}, "scale 'logarithmic'"),
        ({"C": []}, "empty list"),
        ({"C": range(0)}, "no whole number"),
        ({"C": ["a", "a"]}, "'a' twice"),
        ({"C": [1.0, math.nan]}, "numbers must be finite"),
        ({"C": "full"}, "it must be"),
    ],
)
def test_what_is_no_space_is_refused(space, sentence):
    with pytest.raises(ValueError, match=sentence):
        Space(space)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"x": 0.5}, "a value for each of x, k"),
        ({"x": 2.0, "k": 1}, r"setting\['x'\] is 2.0: it must be a number from 0 to 1"),
        ({"x": 0.5, "k": 7}, r"setting\['k'\] is 7: it must be one of"),
        ({"x": math.nan, "k": 1}, "must be a number"),
    ],
)
def test_what_is_not_in_a_space_is_refused(setting, sentence):
    with pytest.raises(ValueError, match=sentence):
        Space({"x": (0.0, 1.0), "k": range(3)}).encode(setting)
