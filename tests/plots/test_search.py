"""The picture of a minimization."""

import numpy as np
import pytest

from kullback import minimize
from kullback.plots import panels, plot_search


def test_values_spread_and_condition_against_evaluations_with_restarts_marked():
    result = minimize(lambda x: float(np.sum(np.abs(np.rint(x)))) - 3, [4.0, 3.0], 2.0, budget=200)
    assert result.restarts > 0
    values, spread, condition = plot_search(result)
    assert [axes.get_yscale() for axes in (values, spread, condition)] == ["log"] * 3
    marks = [line for line in spread.lines if line.get_linestyle() == ":"]
    assert len(marks) == result.restarts
    drawn = np.concatenate([line.get_ydata() for line in spread.lines if line not in marks])
    np.testing.assert_array_equal(drawn, result.history.spread)
    assert values.get_ylabel() == "f − its least value"  # some are negative
    best = next(line for line in values.lines if line.get_label() == "best so far").get_ydata()
    shown = np.isfinite(best)
    np.testing.assert_allclose(best[shown], (np.minimum.accumulate(result.history.best) + 3)[shown])
    assert (np.diff(best[shown]) <= 0).all()


def test_axes_that_are_given():
    result = minimize(lambda x: float(x @ x), [4.0, 3.0], budget=60)
    given = panels(columns=3)[1]
    assert list(plot_search(result, given)) == list(given)
    with pytest.raises(ValueError, match="axes has 2 Axes"):
        plot_search(result, given[:2])


def test_a_run_without_any_value():
    result = minimize(lambda x: np.nan, [4.0, 3.0])
    assert len(plot_search(result)[1].lines) == 1
