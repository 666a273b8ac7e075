"""Pictures of what models have learned."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, FancyArrowPatch

from kullback.plots import (
    COLORS,
    colors_of,
    panels,
    plot_effective_size,
    plot_eigenvalues,
    plot_forecast,
    plot_images,
    plot_learning,
    plot_marginal,
    plot_matrix,
    plot_responsibilities,
    plot_states,
    plot_transitions,
    plot_usage,
)


def test_colors_repeat_and_leave_out_black():
    colors = colors_of(9)
    assert colors[:2] == [COLORS["blue"], COLORS["vermilion"]]
    assert colors[7:] == colors[:2]
    assert COLORS["black"] not in colors


def test_marginal_curves_add_up_to_the_mixture_over_a_histogram_of_area_1():
    x = np.linspace(-1, 1, 11)
    densities = np.stack([np.full(11, 0.5), 1 - np.abs(x)])
    values = np.append(np.random.default_rng(0).uniform(-1, 1, 500), np.nan)
    axes = plot_marginal(x, densities, [0.25, 0.75], values)
    parts, whole = axes.lines[:2], axes.lines[2]
    np.testing.assert_allclose(sum(line.get_ydata() for line in parts), whole.get_ydata())
    np.testing.assert_allclose(whole.get_ydata(), [0.25, 0.75] @ densities)
    assert [line.get_linestyle() for line in axes.lines] == ["-", "-", "--"]  # components are seen in the gaps
    assert parts[0].get_linewidth() > whole.get_linewidth()
    assert len(axes.collections) == 2  # and filled
    assert histogram_area(axes) == pytest.approx(1)


def histogram(axes):
    heights, edges, _ = axes.patches[0].get_data()
    return heights, edges


def histogram_area(axes):
    heights, edges = histogram(axes)
    return heights @ np.diff(edges)


@pytest.mark.parametrize(("step", "count"), [(1.0, 12), (1.0, 500), (0.1, 30), (25.0, 7)])
def test_bins_of_rounded_values_hold_equally_many_of_them(step, count):
    every = step * np.arange(-3, count - 3)
    values = np.concatenate([every, every, np.random.default_rng(0).choice(every, 400)])
    axes = plot_marginal(np.linspace(-5 * step, step * count, 50), np.full((1, 50), 0.1), [1.0], values)
    _, edges = histogram(axes)
    inside, _ = np.histogram(every, edges)
    assert set(inside[:-1]) == {inside[0]}  # the last may have fewer: values end within it
    assert 1 <= inside[-1] <= inside[0]
    assert inside.sum() == count  # no value lies outside
    assert inside[0] == 1 or len(inside) > 10
    assert histogram_area(axes) == pytest.approx(1)


def test_bins_of_other_values_fill_the_picture():
    values = np.random.default_rng(0).normal(size=300)
    for drawn in (values, np.full(5, 2.0), np.append(np.arange(9.0), 0.3)):
        heights, edges = histogram(plot_marginal([-9.0, 9.0], [[0.1, 0.1]], [1.0], drawn))
        assert edges[0] == -9
        assert edges[-1] == 9
        assert len(heights) >= 8


def test_marginal_bars_have_the_data_as_dots():
    axes = plot_marginal([0, 1], [[0.5, 0.5]], [1.0], [0, 0, 0, 1], discrete=True)
    assert axes.lines[0].get_ydata().tolist() == [0.75, 0.25]


def test_responsibilities_fill_the_strip():
    shares = np.random.default_rng(0).dirichlet([0.3, 0.3, 0.3], 30)
    axes = plot_responsibilities(shares)
    assert len(axes.collections) == 3
    assert axes.get_xlim() == (0, 30)
    assert axes.get_ylim() == (0, 1)


def test_states_color_their_runs_without_gaps():
    states = [0, 0, 1, 1, 1, 0, 2]
    axes = plot_states(np.arange(7), [1.0, 2.0, np.nan, 3.0, 4.0, 5.0, 6.0], states, count=3)
    runs = {place: [path.vertices[:, 0] for path in part.get_paths()] for place, part in enumerate(axes.collections)}
    spans = {place: [(run.min(), run.max()) for run in found] for place, found in runs.items()}
    assert spans == {0: [(-0.5, 1.5), (4.5, 5.5)], 1: [(1.5, 4.5)], 2: [(5.5, 6.5)]}


def test_states_of_several_sequences_have_a_line_that_breaks_and_a_mark_between():
    axes = plot_states(np.arange(5), [1.0, 2.0, 3.0, 4.0, 5.0], [0, 0, 0, 0, 1], count=2, lengths=[2, 3])
    mark, line = axes.lines
    assert mark.get_xdata() == [1.5, 1.5]
    assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, False, False]
    np.testing.assert_array_equal(line.get_xdata()[~np.isnan(line.get_xdata())], np.arange(5))


def test_transitions_that_do_not_happen_have_no_arrow_and_others_are_as_wide_as_they_are_probable():
    axes = plot_transitions([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.005, 0.495, 0.5]], occupancy=[0.1, 0.6, 0.3])
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert [to_hex(arrow.get_edgecolor()).upper() for arrow in arrows] == [COLORS[c] for c in ("blue", "blue", "green")]
    widths = [arrow.get_linewidth() for arrow in arrows]
    assert np.argsort(widths).tolist() == [1, 0, 2]
    radii = [patch.radius for patch in axes.patches if isinstance(patch, Circle)][::2]
    assert np.argsort(radii).tolist() == [0, 2, 1]


@pytest.mark.parametrize("k", [1, 2, 12])
def test_graphs_of_any_size_have_all_states_in_sight(k):
    axes = plot_transitions(np.full((k, k), 1 / k))
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert len(circles) == 2 * k
    for circle in circles:
        for place, limits in zip(circle.center, (axes.get_xlim(), axes.get_ylim()), strict=True):
            assert limits[0] < place - circle.radius < place + circle.radius < limits[1]


def test_eigenvalues_outside_of_the_circle_are_in_sight():
    axes = plot_eigenvalues([[0.0, -2.0], [2.0, 0.0]])
    np.testing.assert_allclose(np.sort(axes.lines[-1].get_ydata()), [-2, 2])
    assert axes.get_ylim()[1] > 2


def test_forecast_begins_after_the_data():
    axes = plot_forecast([0, 1], [1, 2], [1, 2], [2, 3], [3, 3], [([1, 1], [5, 5], "wide"), ([2, 2], [4, 4], "narrow")])
    assert axes.get_xlim() == (0, 3)
    wide, narrow = (band.get_alpha() for band in axes.collections)
    assert wide < narrow


def test_without_times_ahead_there_is_no_forecast():
    axes = plot_forecast([3, 4, 5], [1, 2, 3], [1, 2, 3], [], [])
    assert axes.get_xlim() == (3, 5)
    assert axes.get_legend_handles_labels()[1] == ["data", "one-step prediction"]


def test_learning_from_a_stream_is_drawn_over_the_points_seen():
    axes = plot_learning([-3.0, -2.0], points=[100, 500])
    assert axes.lines[0].get_xdata().tolist() == [100, 500]
    assert axes.get_xlabel() == "points seen"


def test_matrix_has_numbers_without_a_negative_zero():
    axes = plot_matrix([[-0.001, 2.0]], ["row"], ["a", "b"])
    assert [text.get_text() for text in axes.texts] == ["0.00", "2.00"]


def test_draws_on_the_axes_it_is_given():
    _, axes = panels()
    assert plot_learning([1.0, 2.0], axes) is axes


def test_says_what_is_wrong():
    with pytest.raises(ValueError, match="bounds is empty"):
        plot_learning([])
    with pytest.raises(ValueError, match="points has 1 numbers: bounds has 2"):
        plot_learning([1.0, 2.0], points=[1])
    with pytest.raises(ValueError, match="lengths has 1 rows together: time has 2"):
        plot_states([0, 1], [0, 1], [0, 0], count=1, lengths=[1])
    with pytest.raises(ValueError, match=r"densities has shape \(1, 3\): it must be \(1, 2\)"):
        plot_marginal([0, 1], [[1, 2, 3]], [1.0])
    with pytest.raises(ValueError, match=r"probabilities has shape \(0,\)"):
        plot_responsibilities([])
    with pytest.raises(ValueError, match="have 2, 2 and 1 rows"):
        plot_states([0, 1], [0, 1], [0], count=1)
    with pytest.raises(ValueError, match=r"transitions has shape \(1, 2\): it must be square"):
        plot_transitions([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"matrix has shape \(1, 2\): there are 1 rows and 1 columns"):
        plot_matrix([[1, 2]], ["a"], ["b"])


def test_images_stand_side_by_side_with_a_gap():
    rows = np.arange(5)[:, None] / 4 * np.ones(6)
    axes = plot_images(rows, (2, 3), across=3)
    drawn = np.asarray(axes.images[0].get_array())
    assert drawn.shape == (2 + 1 + 2, 3 * 3 + 2, 4)
    assert (drawn[2] == 0).all()  # transparent
    assert (drawn[:, 3] == 0).all()
    assert (drawn[3:, 8:] == 0).all()  # there is no sixth one
    tiles = [drawn[0, 0], drawn[0, 4], drawn[0, 8], drawn[3, 0], drawn[3, 4]]
    grays = [tile[0] for tile in tiles]
    assert (np.diff(grays) < 0).all()  # 1 is the darkest
    assert all(tile[3] == 1 for tile in tiles)
    assert axes.get_xlim() == (0, 11)
    plot_images(rows, (2, 3), axes, across=1, left=13, label="more")
    assert axes.get_xlim() == (0, 16)
    assert axes.get_ylim() == (14, 0)


def test_signed_images_are_blue_and_vermilion_and_what_is_missing_is_neither():
    axes = plot_images([[1.0, -1.0, 0.0, np.nan]], signed=True)
    drawn = np.asarray(axes.images[0].get_array())[0]
    assert to_hex(drawn[0]).upper() == COLORS["blue"]
    assert to_hex(drawn[1]).upper() == COLORS["vermilion"]
    assert np.ptp(drawn[2][:3]) == 0
    assert np.ptp(drawn[3][:3]) > 0.2
    assert axes.get_xlabel() == "column"
    with pytest.raises(ValueError, match=r"shape is \(2, 3\): a row has 4 entries"):
        plot_images(np.eye(4), (2, 3))
    with pytest.raises(ValueError, match="must be a table with rows and columns"):
        plot_images(np.zeros((0, 4)))


def test_a_band_reaches_two_standard_errors():
    axes = plot_learning([-3.0, -2.0], errors=[0.5, 0.25], color="green")
    edges = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (-4.0, -1.5)
    with pytest.raises(ValueError, match="errors has 1 numbers: bounds has 2"):
        plot_learning([-3.0, -2.0], errors=[0.5])


def test_usage_is_drawn_from_the_least_used_unit():
    axes = plot_usage([[0.9, 0.2], [0.5]], ["low", "high"], other=[[0.1, 0.3], [0.4]])
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--", "-", "--"]
    assert axes.lines[0].get_ydata().tolist() == [20, 90]
    assert axes.get_legend_handles_labels()[1] == ["low", "high"]
    with pytest.raises(ValueError, match="there are 1 layers, and 2 names"):
        plot_usage([[0.9]], ["low", "high"])


def test_effective_sizes_are_shares_of_the_draws():
    axes = plot_effective_size([1, 10, 10, 40], 40)
    heights = np.array([patch.get_height() for patch in axes.patches])
    assert heights.sum() == pytest.approx(100)
    assert heights[int(10 / 40 * 25)] == 50
    assert list(axes.lines[0].get_xdata()) == [25.0, 25.0]
    with pytest.raises(ValueError, match="sizes is empty"):
        plot_effective_size([], 40)
