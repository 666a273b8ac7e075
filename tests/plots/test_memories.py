"""Pictures of memories: which units fire and what they hold, what it costs, and where the rule of learning points."""

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

from kullback.assess import Costs, mean_field, rate_gradient
from kullback.models import TabularMemory, even_process
from kullback.plots import plot_automaton, plot_costs, plot_mean_field, plot_raster, unit_lags

BITS = np.random.default_rng(0).integers(2, size=600)


def test_a_shift_register_is_a_staircase():
    held = np.stack([np.roll(BITS, 3), 1 - np.roll(BITS, 1), np.roll(BITS, 2)], axis=1)[3:]
    lags, how = unit_lags(held, BITS[3:], most=5)
    assert lags.tolist() == [3, 1, 2]
    np.testing.assert_allclose(how, [1, -1, 1])
    axes = plot_raster(held[:40], BITS[3:43], lags)
    table = axes.images[0].get_array()
    np.testing.assert_array_equal(table[0], BITS[3:43])
    for place, unit in enumerate((1, 2, 0)):
        np.testing.assert_array_equal(table[2 + place], held[:40, unit])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["stream", "1", "2", "3"]


def test_the_best_of_several_columns_says_the_lag():
    symbols = np.random.default_rng(1).integers(3, size=600)
    held = (np.roll(symbols, 4) == 2).astype(float)[4:, None]
    lags, how = unit_lags(held, symbols[4:, None] == np.arange(3), most=6)
    assert lags.tolist() == [4]
    np.testing.assert_allclose(how, 1)


def test_bars_add_up_to_what_the_last_memory_costs():
    axes = plot_costs({"a": Costs(0.1, 0.3, 0.35, 0.6), "b": Costs(0.2, 0.3, 0.4)})
    total = sum(np.array([bar.get_height() for bar in bars]) for bars in axes.containers)
    np.testing.assert_allclose(total, [0.6, 0.4])
    assert len(axes.containers) == 4


def test_an_automaton_has_an_arrow_for_each_move():
    edges = even_process().transition
    axes = plot_automaton(edges)
    assert sum(isinstance(patch, FancyArrowPatch) for patch in axes.patches) == 2  # the third move is a circle
    apart = np.zeros((3, 2, 3))
    apart[:2, :, :2], apart[2, 0, 2] = edges, 1.0
    axes = plot_automaton(apart, occupancy=[0.7, 0.3, 0.0])
    assert sorted(text.get_text() for text in axes.texts) == ["0 | 0.50", "1 | 0.50", "1 | 1.00", "A", "B"]


def test_angles_are_those_of_the_memory_parameters():
    process = TabularMemory.random(2, 2, 0)
    (line,) = plot_mean_field(even_process(), process, points=3).lines[:1]
    one = mean_field(even_process(), process, 1 - line.get_xdata()[1]).memory_logits.ravel()
    other = rate_gradient(even_process(), process).memory_logits.ravel()
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert line.get_ydata()[1] == pytest.approx(np.degrees(np.arccos(cosine)), rel=1e-6)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="entries from 0 to 1"):
        plot_raster([[2.0]])
    with pytest.raises(ValueError, match="there are 1 units"):
        plot_raster([[1.0]], lags=[1, 2])
    with pytest.raises(ValueError, match="need more"):
        unit_lags(np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="one ladder"):
        plot_costs({})
    with pytest.raises(ValueError, match="not finite"):
        plot_costs({"a": Costs(np.inf, np.inf, np.inf)})
    with pytest.raises(ValueError, match="memories, symbols, memories"):
        plot_automaton(np.ones((2, 2)))
