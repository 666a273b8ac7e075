"""Pictures of how sure a model is."""

import numpy as np
import pytest

from kullback.assess import EstimatedCoefficient, asymptotic_interval
from kullback.families import Gaussian
from kullback.plots import plot_coefficient, plot_criteria, plot_pareto_k, plot_refits, plot_stream_band


def bars(axes, place=0):
    """Return the places, values and reaches of bars."""
    line, _, (vertical,) = axes.containers[place]
    ends = np.array([segment[:, 1] for segment in vertical.get_segments()])
    return line.get_xdata(), line.get_ydata(), (ends[:, 1] - ends[:, 0]) / 2


def test_bars_of_criteria_are_the_errors_of_differences():
    held_out = [0.4, 0.0, None], [0.05, 0.0, None]
    axes = plot_criteria([1, 2, 3], {"held out": held_out, "BIC": ([0.3, 0.0, 0.1], None)}, chosen=2)
    x, y, reach = bars(axes)
    np.testing.assert_allclose(x, [1, 2], atol=0.1)
    np.testing.assert_allclose(y, [0.4, 0.0])
    np.testing.assert_allclose(reach, [0.05, 0.0])
    with pytest.raises(ValueError, match="BIC has 2 values: there are 3 numbers"):
        plot_criteria([1, 2, 3], {"BIC": ([0.3, 0.0], None)})


def estimate(beta, value):
    known = value is not None
    numbers = (value, 0.5, 0.4, 0.3, 6.0, 0.1, 100.0, 1.0) if known else (None,) * 8
    return EstimatedCoefficient(*numbers, 400, 11, beta, 1.0, 2000.0, "given", None if known else "no")


def test_the_coefficient_stands_at_its_temperature_beside_half_the_parameters():
    axes = plot_coefficient([estimate(0.1, 4.0), estimate(0.5, None), estimate(1.0, 5.0)])
    x, y, reach = bars(axes)
    np.testing.assert_allclose(x, [10, 1])
    np.testing.assert_allclose(y, [4, 5])
    np.testing.assert_allclose(reach, [1, 1])  # two standard errors
    labels = axes.get_legend_handles_labels()[1]
    assert "d/2 = 5.5" in labels
    assert "λ̂ ± 2 errors (1 left out)" in labels
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_coefficient([])


def test_the_band_is_the_interval_of_the_batches_so_far():
    rng = np.random.default_rng(0)
    mass = rng.integers(50, 150, 40).astype(float)
    losses = rng.normal(2.0, 0.1, 40)
    axes = plot_stream_band(np.column_stack([np.cumsum(mass), -losses, mass]))
    mean = np.average(losses[1:], weights=mass[1:])
    assert axes.lines[1].get_ydata()[-1] == pytest.approx(mean)
    square = np.average(np.square(losses[1:] - mean), weights=mass[1:])
    found = asymptotic_interval(39, mean, 39 * square, tightest_at=100.0)
    edges = axes.collections[0].get_paths()[0].vertices
    last = edges[edges[:, 0] == mass.sum(), 1]
    assert (last.min(), last.max()) == pytest.approx((found.lower, found.upper))
    with pytest.raises(ValueError, match="three batches or more"):
        plot_stream_band([[1.0, 2.0, 3.0]])


def test_refits_are_thin_ellipses_of_the_same_colors():
    fit = Gaussian(np.array([[0.0, 0.0], [3.0, 0.0]]), np.stack([np.eye(2)] * 2))
    moved = Gaussian(np.array([[0.5, 0.0], [3.0, 0.5]]), np.stack([np.diag([4.0, 1.0])] * 2))
    axes = plot_refits(fit, [moved] * 40)
    thin = axes.patches[4:]
    assert len(thin) == 60  # 30 refits at most
    assert (thin[0].center, thin[1].center) == ((0.5, 0.0), (3.0, 0.5))
    assert (thin[0].width, thin[0].height) == pytest.approx((8.0, 4.0))
    assert thin[0].get_edgecolor()[:3] == axes.patches[1].get_edgecolor()[:3]
    with pytest.raises(ValueError, match="a refit has 1 Gaussians: the fit has 2"):
        plot_refits(fit, [Gaussian(np.zeros((1, 2)), np.eye(2)[None])])


def test_rows_above_the_line_stand_out():
    axes = plot_pareto_k([0.1, 0.9, 0.3, 0.71])
    assert [line.get_xdata().tolist() for line in axes.lines[:2]] == [[1, 3], [2, 4]]
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_pareto_k([])
