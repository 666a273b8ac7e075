import numpy as np
import pytest
import scipy.stats

from kullback.assess import credible_region
from kullback.families import DiagonalGaussian, Gaussian, Poisson
from kullback.models import HiddenMarkovModel, Mixture

TWO = Mixture([0.5, 0.5], DiagonalGaussian([[-3.0], [3.0]], [[1.0], [1.0]]))


def test_a_region_of_two_modes_is_in_two_pieces():
    region = credible_region(TWO, 0.9, draws=20_000)
    found = region.intervals
    assert found.shape == (2, 2)
    mass = sum(
        0.5 * (scipy.stats.norm.cdf(high, m) - scipy.stats.norm.cdf(low, m)) for low, high in found for m in (-3, 3)
    )
    assert mass == pytest.approx(0.9, abs=4 * (0.09 / 20_000) ** 0.5)
    np.testing.assert_allclose(found[0], -found[1][::-1], atol=1e-9)  # the density is symmetric, and so is the set
    assert not region.contains([0.0])[0]
    y = np.linspace(-6, 6, 501)
    inside = np.any((y[:, None] >= found[:, 0]) & (y[:, None] <= found[:, 1]), axis=1)
    np.testing.assert_array_equal(region.contains(y), inside)


@pytest.mark.slow
def test_an_equal_tailed_interval_is_longer():
    region = credible_region(TWO, 0.9, draws=20_000)
    low, high = np.quantile(region.draws, [0.05, 0.95])
    assert np.sum(np.diff(region.intervals)) < 0.8 * (high - low)


def test_in_several_dimensions_it_is_a_predicate():
    model = Gaussian([1.0, -2.0, 0.0], np.diag([1.0, 4.0, 0.25]))
    region = credible_region(model, 0.8, draws=20_000)
    fresh = np.asarray(model.sample(1, 20_000))
    assert region.contains(fresh).mean() == pytest.approx(0.8, abs=4 * (2 * 0.16 / 20_000) ** 0.5)
    radius = scipy.stats.chi2(3).ppf(0.8) ** 0.5
    assert region.contains([[1.0 + 0.97 * radius, -2.0, 0.0]])[0]
    assert not region.contains([[1.0 + 1.03 * radius, -2.0, 0.0]])[0]
    with pytest.raises(ValueError, match="3 columns: ask `contains`"):
        region.intervals


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: credible_region(TWO, 1.0, draws=10), "level is 1.0"),
        (lambda: credible_region(TWO, draws=0), "draws is 0"),
        (lambda: credible_region(TWO, draws=10).contains([[1.0, 2.0]]), "rows of 1 columns"),
        (lambda: credible_region(TWO, draws=10).contains([np.nan]), "points has NaN"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_what_has_no_density_is_refused():
    with pytest.raises(TypeError, match="model is a int: give a model of the library, as `to_model"):
        credible_region(3)
    chain = HiddenMarkovModel([1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], TWO.components)
    with pytest.raises(TypeError, match="^model is a HiddenMarkovModel, whose rows follow each other: a region is of"):
        credible_region(chain)  # a row alone would have the law of the first
    with pytest.raises(ValueError, match=r"Poisson answers for 10 rows with shape \(10, 1\): a region needs one"):
        credible_region(Poisson(3.0), draws=10)
