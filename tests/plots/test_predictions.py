"""Pictures of predictions beside what came."""

import numpy as np
import pytest
from scipy import stats

from kullback.plots import (
    plot_bands,
    plot_coverage,
    plot_matrix,
    plot_pit,
    plot_probabilities,
    plot_reliability,
    plot_residuals,
    plot_sets,
)

UNIFORM = np.random.default_rng(0).random(2000)


def band(axes):
    """Return the lower and the upper edge of the first band."""
    y = axes.collections[0].get_paths()[0].vertices[:, 1]
    return y.min(), y.max()


def test_bars_of_right_predictions_stay_in_the_band_of_chance():
    axes = plot_pit(UNIFORM)
    low, high = band(axes)
    expected = stats.binom(2000, 1 / 20).ppf([0.025, 0.975]) / 100
    np.testing.assert_allclose([low, high], expected)
    heights = axes.patches[0].get_data().values
    assert heights.mean() == pytest.approx(1)
    assert np.sum((heights < low) | (heights > high)) <= 3
    narrow = plot_pit(stats.norm.cdf(2 * stats.norm.ppf(UNIFORM))).patches[0].get_data().values
    assert min(narrow[0], narrow[-1]) > high > low > narrow[9]  # a U


def test_missing_values_are_left_out_of_the_histogram():
    axes = plot_pit(np.append(UNIFORM, [np.nan] * 500))
    assert axes.patches[0].get_data().values.mean() == pytest.approx(1)
    for bad in ([], [np.nan], [1.5]):
        with pytest.raises(ValueError, match=r"probabilities in \[0, 1\]"):
            plot_pit(bad)


def test_coverage_counts_central_intervals():
    line = plot_coverage(UNIFORM).lines[1]
    for level in (10, 50, 90):
        inside = np.mean(np.abs(UNIFORM - 0.5) <= level / 200)
        assert line.get_ydata()[level] == pytest.approx(100 * inside)


def test_running_quantiles_of_residuals_are_broken_at_gaps():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, 500), rng.uniform(9, 10, 500)])
    y = rng.normal(size=1000)
    axes = plot_residuals(x, y)
    lower, middle, upper = (line.get_ydata() for line in axes.lines[4:])
    assert np.isnan(middle).sum() == 1
    assert not np.any((axes.lines[4].get_xdata() > 1) & (axes.lines[4].get_xdata() < 9))
    assert np.nanmean(lower) == pytest.approx(-1.645, abs=0.2)
    assert np.nanmean(upper) == pytest.approx(1.645, abs=0.2)
    assert len(plot_residuals(x[:30], y[:30]).lines) == 4  # rows are too few for lines
    with pytest.raises(ValueError, match="residuals has 1 numbers"):
        plot_residuals([1.0, 2.0], [1.0])


def test_reliability_groups_rows_by_probability():
    p = np.random.default_rng(1).uniform(size=1000)
    came = np.random.default_rng(2).random(1000) < p
    axes = plot_reliability(p, came)
    x, y = axes.lines[1].get_data()
    assert len(x) == 10
    np.testing.assert_allclose(x, 100 * np.sort(p).reshape(10, 100).mean(axis=1))
    np.testing.assert_allclose(y, 100 * came[np.argsort(p)].reshape(10, 100).mean(axis=1))
    with pytest.raises(ValueError, match="came has 0 entries"):
        plot_reliability([], [])


def test_bands_are_bars_where_inputs_are_apart():
    lower, upper = np.array([0.0, 1.0]), np.array([2.0, 4.0])
    axes = plot_bands([0, 1], [1.0, 3.0], [(lower, upper, "90 %")], apart=True)
    assert [(bar.get_y(), bar.get_height()) for bar in axes.patches] == [(0, 2), (1, 3)]
    assert len(plot_bands([0, 1], [1.0, 3.0], [(lower, upper, "90 %")]).patches) == 0


def test_sets_have_the_pieces_that_their_levels_have():
    y = np.linspace(-3, 3, 121)
    two = np.minimum(np.abs(y - 1.5), np.abs(y + 1.5))
    axes = plot_sets([0.0, 1.0], y, np.stack([two, two]), shown=(0.5,))
    pieces = axes.collections[0].get_paths()[0].to_polygons()
    spans = sorted((piece[:, 1].min(), piece[:, 1].max()) for piece in pieces)
    np.testing.assert_allclose(spans, [(-2, -1), (1, 2)], atol=1e-9)
    with pytest.raises(ValueError, match="levels has shape"):
        plot_sets([0.0], y, np.stack([two, two]))


def test_a_center_is_broken_where_angles_jump():
    y = np.linspace(-np.pi, np.pi, 9)
    levels = np.full((3, 9), 0.2)
    line = plot_sets([0, 1, 2], y, levels, [3.0, -3.1, -3.0]).lines[0]
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False, False]


def test_probabilities_have_a_line_for_each_category_and_dots_for_rows():
    table = [[0.2, 0.8], [0.6, 0.4]]
    axes = plot_probabilities([0, 1], table, ["no", "yes"], ([0.5], [[0.3, 0.7]]))
    assert [line.get_ydata().tolist() for line in axes.lines[::2]] == [[20, 60], [80, 40]]
    assert [line.get_ydata().tolist() for line in axes.lines[1::2]] == [[30], [70]]
    with pytest.raises(ValueError, match="probabilities has shape"):
        plot_probabilities([0, 1], table, ["no"])


def test_cells_of_a_matrix_have_so_many_decimals():
    assert plot_matrix([[12.4]], ["a"], ["b"], decimals=0).texts[0].get_text() == "12"
