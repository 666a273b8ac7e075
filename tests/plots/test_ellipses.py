import numpy as np
import pytest
from matplotlib.colors import to_hex

from kullback.families import Gaussian
from kullback.plots import COLORS, panels, plot_ellipses

MEANS = np.array([[0.0, 1.0], [-3.0, 2.0], [5.0, 5.0]])
COVARIANCES = np.array([[[2.0, 0.9], [0.9, 1.0]], [[1.0, -0.5], [-0.5, 3.0]], [[1.0, 0.0], [0.0, 1.0]]])


def outlines(axes):
    return [patch for patch in axes.patches if not patch.get_fill()]


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_outlines_are_at_the_radius(radius):
    axes = plot_ellipses(Gaussian(MEANS, COVARIANCES), radius=radius)
    assert len(outlines(axes)) == 3
    for patch, mean, covariance in zip(outlines(axes), MEANS, COVARIANCES, strict=True):
        # the ends of Bézier pieces lie on the ellipse
        points = patch.get_patch_transform().transform(patch.get_path().vertices[::3])
        away = points - mean
        square = np.einsum("ri,ij,rj->r", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(square, radius**2, rtol=1e-4)


def test_marks_the_means_with_one_color_and_one_entry_in_the_legend():
    _, axes = panels()
    for name in ("first", "second"):
        plot_ellipses(Gaussian(MEANS, COVARIANCES), axes, label=name)
    assert axes.get_legend_handles_labels()[1] == ["first", "second"]
    colors = [to_hex(dot.get_color()).upper() for dot in axes.lines]
    assert colors == [COLORS["blue"]] * 3 + [COLORS["vermilion"]] * 3
    np.testing.assert_allclose([dot.get_xydata()[0] for dot in axes.lines[:3]], MEANS)


def test_takes_a_color_for_each_and_fills_by_weight():
    axes = plot_ellipses(Gaussian(MEANS, COVARIANCES), color=["red", "green", "blue"], weights=[0.2, 0.5, 0.3])
    assert [dot.get_color() for dot in axes.lines] == ["red", "green", "blue"]
    filled = [patch.get_alpha() for patch in axes.patches if patch.get_fill()]
    assert np.argsort(filled).tolist() == [0, 2, 1]


def test_limits_hold_all_ellipses():
    axes = plot_ellipses(Gaussian([10.0, -10.0], [[4.0, 0.0], [0.0, 9.0]]))
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left <= 6 < 14 <= right
    assert low <= -16 < -4 <= high


def test_says_what_is_wrong():
    with pytest.raises(ValueError, match="gaussians has 3 dimensions"):
        plot_ellipses(Gaussian(np.zeros(3), np.eye(3)))
    with pytest.raises(ValueError, match=r"radius is 0.0: it must be positive"):
        plot_ellipses(Gaussian(np.zeros(2), np.eye(2)), radius=0.0)
    with pytest.raises(ValueError, match="weights has 2 numbers: there are 3"):
        plot_ellipses(Gaussian(MEANS, COVARIANCES), weights=[0.5, 0.5])
    with pytest.raises(ValueError, match="color has 1 entries: there are 3"):
        plot_ellipses(Gaussian(MEANS, COVARIANCES), color=["red"])
