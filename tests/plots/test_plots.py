import importlib
import sys
import xml.etree.ElementTree as ET

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

from kullback.families import Gaussian, Ising, Poisson
from kullback.geometry import Track, relative_entropy
from kullback.plots import COLORS, panels, plot_balls, plot_flow, plot_levels, save
from tiers import slow

TIMES = 60


def path_of(members, at_boundary):
    shape = members.batch_shape
    times = np.broadcast_to(np.linspace(0, 1, shape[-1]), shape)
    return Track(members, jnp.zeros(shape), jnp.asarray(times), jnp.asarray(at_boundary))


@pytest.fixture
def path():
    """Two quarter circles in θ, the second of which ends at the boundary."""
    angle = np.linspace(0, np.pi / 2, TIMES)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return path_of(Ising(np.stack([circle, 2 * circle]), interactions=()), [False, True])


def tracks(axes):
    return [line for line in axes.lines if line.get_linestyle() == "-"]


def marks(axes, marker):
    lines = [line for line in axes.lines if line.get_linestyle() == "None" and line.get_marker() == marker]
    return [line.get_xydata() for line in lines]


class TestFlow:
    @pytest.mark.parametrize("coordinates", ["natural", "expectation", "source"])
    def test_draws_the_coordinates(self, path, coordinates):
        axes = plot_flow(path, coordinates)
        drawn = tracks(axes)
        assert len(drawn) == 2
        for line, track in zip(drawn, path.coordinates(coordinates), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), track)

    def test_draws_what_a_function_says(self, path):
        axes = plot_flow(path, lambda p: (p.expectation + 1) / 2)
        np.testing.assert_allclose(tracks(axes)[1].get_xydata(), (np.tanh(path.members.biases[1]) + 1) / 2)

    def test_draws_one_start(self, path):
        one = path_of(Ising(path.members.biases[1], interactions=()), True)
        axes = plot_flow(one)
        assert len(tracks(axes)) == 1
        np.testing.assert_array_equal(marks(axes, "X")[0], one.coordinates("natural")[-1:])

    def test_marks_starts_and_ends(self, path):
        axes = plot_flow(path)
        theta = np.asarray(path.coordinates("natural"))
        starts, ends = marks(axes, "o")
        np.testing.assert_array_equal(starts, theta[:, 0])
        np.testing.assert_array_equal(ends, theta[:1, -1])
        np.testing.assert_array_equal(marks(axes, "X")[0], theta[1:, -1])

    def test_arrow_heads_lie_on_the_track_and_point_ahead(self, path):
        axes = plot_flow(path, arrows=2)
        (heads,) = [each for each in axes.collections if isinstance(each, Quiver)]
        assert len(heads.XY) == 4
        radius = np.linalg.norm(heads.XY, axis=1)
        np.testing.assert_allclose(radius, [1, 1, 2, 2])
        ahead = np.stack([-heads.XY[:, 1], heads.XY[:, 0]], axis=-1) / radius[:, None]
        direction = np.stack([heads.U, heads.V], axis=-1)
        np.testing.assert_allclose(direction, ahead, atol=0.03)
        angle = np.arctan2(heads.XY[:2, 1], heads.XY[:2, 0])
        assert angle[0] < np.pi / 4 < angle[1]  # spread along the track

    def test_limits_set_beforehand_are_kept_and_hold_the_heads(self, path):
        _, axes = panels()
        axes.set(xlim=(0.9, 2.1), ylim=(0, 0.5))
        plot_flow(path, axes=axes, arrows=2)
        assert axes.get_xlim() == (0.9, 2.1)
        assert axes.get_ylim() == (0, 0.5)
        (heads,) = [each for each in axes.collections if isinstance(each, Quiver)]
        x, y = heads.XY.T
        assert len(x) == 4
        assert np.all((x > 0.9) & (x < 2.1) & (y > 0) & (y < 0.5))

    def test_a_track_that_stays_has_no_heads(self):
        still = path_of(Ising(np.ones((1, TIMES, 2)), interactions=()), [False])
        axes = plot_flow(still)
        assert not [each for each in axes.collections if isinstance(each, Quiver)]
        axes.figure.canvas.draw()

    def test_names_the_axes_unless_they_have_names(self, path):
        axes = plot_flow(path, "natural")
        assert (axes.get_xlabel(), axes.get_ylabel()) == (r"$\theta_1$", r"$\theta_2$")
        _, axes = panels()
        axes.set_xlabel("mine")
        plot_flow(path, "expectation", axes)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("mine", r"$\eta_2$")

    def test_has_one_color_and_one_entry_in_the_legend(self, path):
        _, axes = panels()
        for name in ("first", "second"):
            plot_flow(path, axes=axes, label=name)
        assert axes.get_legend_handles_labels()[1] == ["first", "second"]
        colors = [to_hex(line.get_color()).upper() for line in tracks(axes)]
        assert colors == [COLORS["blue"]] * 2 + [COLORS["vermilion"]] * 2

    def test_needs_two_coordinates(self):
        with pytest.raises(ValueError, match="coordinates has 1 number"):
            plot_flow(path_of(Poisson(np.ones(TIMES)), False))


class TestLevels:
    def test_lines_are_where_the_objective_has_the_value(self):
        def objective(p):
            return p.expectation[0] + p.expectation[0] * p.expectation[1]

        def at(x, y):
            return Ising(np.stack([x, y], axis=-1), interactions=())

        grid = np.linspace(-2, 2, 150)
        axes = plot_levels(objective, at, grid, grid[30:], levels=[-0.8, 0.0, 0.3])
        (contour,) = axes.collections
        for level, line in zip(contour.levels, contour.get_paths(), strict=True):
            eta = np.tanh(line.vertices)
            assert len(eta) > 50
            np.testing.assert_allclose(eta[:, 0] + eta[:, 0] * eta[:, 1], level, atol=1e-3)
        np.testing.assert_allclose(axes.get_ylim(), (grid[30], 2))

    def test_takes_functions_of_points(self):
        grid = np.arange(-3, 4)
        axes = plot_levels(lambda x: x @ x, lambda x, y: np.stack([x, y], axis=-1), grid, grid)
        assert len(axes.collections[0].levels) > 5


class TestBalls:
    @pytest.mark.parametrize("radius", [slow(1e-4), 0.02, 5.0])
    def test_lines_are_at_the_radius(self, radius):
        mean, deviation = np.array([-1.0, 0.0, 30.0]), np.array([0.1, 1.0, 7.0])
        axes = plot_balls(Gaussian(mean[:, None], deviation[:, None, None] ** 2), radius)
        lines = tracks(axes)
        assert len(lines) == 3
        for m, s, line in zip(mean, deviation, lines, strict=True):
            x, y = line.get_data()
            assert np.all(y > 0)
            q = Gaussian(x[:, None], y[:, None, None] ** 2)
            apart = relative_entropy(Gaussian([m], [[s**2]]), q)
            np.testing.assert_allclose(apart, radius, rtol=1e-8)
            # once around the center, and closed
            turn = np.unwrap(np.arctan2(y - s, x - m))
            np.testing.assert_allclose(turn[-1] - turn[0], 2 * np.pi, rtol=1e-6)
            np.testing.assert_allclose([x[0], y[0]], [x[-1], y[-1]], rtol=1e-6)

    def test_marks_the_centers(self):
        centers = Gaussian(np.zeros((2, 2, 1)), np.array([[1.0, 4.0], [9.0, 16.0]])[..., None, None])
        axes = plot_balls(centers, 0.1, label="balls")
        (dots,) = marks(axes, "o")
        np.testing.assert_allclose(dots, [[0, 1], [0, 2], [0, 3], [0, 4]])
        assert axes.get_legend_handles_labels()[1] == ["balls"]
        assert r"\mu" in axes.get_xlabel()
        assert r"\sigma" in axes.get_ylabel()

    def test_is_exact_without_64_bits(self):
        with jax.enable_x64(False):
            axes = plot_balls(Gaussian([0.0], [[1.0]]), 1e-4)
        x, y = axes.lines[0].get_data()
        np.testing.assert_allclose(np.log(y) + (1 + x**2) / (2 * y**2) - 0.5, 1e-4, rtol=1e-8)

    def test_says_what_is_wrong(self):
        with pytest.raises(ValueError, match="centers has 2 dimensions"):
            plot_balls(Gaussian(np.zeros(2), np.eye(2)), 0.02)
        with pytest.raises(ValueError, match=r"radius is 0.0: it must be positive"):
            plot_balls(Gaussian([0.0], [[1.0]]), 0.0)


class TestSave:
    def test_writes_a_png_and_an_svg(self, path, tmp_path):
        figure, axes = panels()
        plot_flow(path, axes=axes)
        png, svg = save(figure, tmp_path / "new" / "flow.of.spins")
        assert png == tmp_path / "new" / "flow.of.spins.png"
        assert svg == tmp_path / "new" / "flow.of.spins.svg"
        assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"

    def test_takes_a_name_as_text(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert [path.name for path in save(Figure(), "empty")] == ["empty.png", "empty.svg"]
        assert (tmp_path / "empty.svg").exists()

    def test_the_same_figure_gives_the_same_svg(self, path, tmp_path):
        def drawn(name):
            figure, axes = panels()
            plot_flow(path, axes=axes)
            return save(figure, tmp_path / name)[1].read_bytes()

        assert drawn("first") == drawn("second")


def test_panels_are_as_many_as_asked():
    figure, axes = panels(2, 3, width=2.0, height=1.5)
    assert axes.shape == (2, 3)
    np.testing.assert_allclose(figure.get_size_inches(), (6, 3))


def test_no_setting_of_matplotlib_changes(path, tmp_path):
    before = dict(mpl.rcParams)
    for name in [name for name in sys.modules if name.startswith("kullback.plots")]:
        importlib.reload(sys.modules[name])
    figure, axes = panels()
    plot_flow(path, axes=axes)
    plot_balls(Gaussian([0.0], [[1.0]]), 0.02, axes)
    save(figure, tmp_path / "picture")
    assert dict(mpl.rcParams) == before
