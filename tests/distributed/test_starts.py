"""A start looks at the same rows wherever they lie: fits of long tables over blocks are those of one machine."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.distributed.test_rows import CASES, HOLES, assert_same
from tests.distributed.test_sequences import CASES as SERIES_CASES
from tests.distributed.test_sequences import INPUTS, LENGTHS, SERIES

import kullback
from kullback.estimators.data import _start_rows
from tiers import slow

pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

QUICK = ("spherical, two starts", "symbols")


@pytest.fixture
def few(monkeypatch):
    """Let a start see few rows."""
    monkeypatch.setattr(_start_rows, "MOST_ROWS", 100)
    monkeypatch.setattr(_start_rows, "PIECE", 16)


def short(estimator):
    """Return an estimator that ends after three steps."""
    steps = "n_iter" if "n_iter" in estimator.get_params() else "max_iter"
    return clone(estimator).set_params(**{steps: 3, "tol": 0.0})


def quickly(cases):
    return [name if name in QUICK else slow(name) for name in cases]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", quickly(CASES))
def test_a_long_table_in_blocks_starts_as_it_does_here(few, case):
    estimator, X = CASES[case]
    assert_same(short(estimator).fit(X), short(estimator).fit(da.from_array(X, chunks=(170, 2))))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", quickly(SERIES_CASES))
def test_long_sequences_in_blocks_start_as_they_do_here(few, case):
    estimator, X = SERIES_CASES[case]
    X = da.from_array(X, chunks=(100, 1))
    assert_same(short(estimator).fit(X.compute(), LENGTHS), short(estimator).fit(X, LENGTHS))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("how", ["kmeans", slow("k-means++"), slow("random"), slow("random_from_data")])
def test_weights_and_blocks_of_unknown_size(few, how):
    estimator = short(kullback.GaussianMixture(3, covariance_type="spherical", init_params=how, random_state=1))
    weight = np.random.default_rng(0).integers(0, 3, len(HOLES)).astype(float)
    frame = pd.DataFrame(np.column_stack([HOLES, weight]), columns=["a", "b", "c", "w"])
    parts = dd.from_pandas(frame, npartitions=4)
    parts = parts[parts.c.isna() | (parts.c > -3)]  # nobody knows how many are left
    here = parts.compute()
    alone = clone(estimator).fit(here[["a", "b", "c"]], sample_weight=here["w"])
    there = clone(estimator).fit(parts[["a", "b", "c"]].to_dask_array(), sample_weight=parts["w"].to_dask_array())
    assert_same(alone, there)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_inputs_and_weights_of_long_sequences(few):
    estimator, weight = kullback.LinearDynamicalSystem(1, max_iter=3, tol=0), [1.0, 0.0, 2.0, 0.0, 1.0, 0.5]
    X = da.from_array(SERIES, chunks=((65, 60, 5, 120), 2))
    alone = clone(estimator).fit(SERIES, LENGTHS, INPUTS, weight)
    assert_same(alone, clone(estimator).fit(X, LENGTHS, INPUTS, weight))


def test_rows_are_drawn_in_order_and_without_repetition():
    found = _start_rows.sample_rows(200_000)
    assert len(found) == _start_rows.MOST_ROWS
    assert (np.diff(found) > 0).all()
    assert 0 <= found[0] < 100
    assert 199_900 < found[-1] < 200_000
    assert abs(found.mean() - 100_000) < 5 * 200_000 / np.sqrt(12 * len(found))


def test_pieces_come_from_all_over_a_long_sequence_and_from_short_ones():
    lengths = np.array([10, 300_000, 40, 5])
    pieces = _start_rows.sample_pieces(lengths, np.array([1.0, 1.0, 1.0, 0.0]))
    rows = pieces.rows
    assert 0.9 * _start_rows.MOST_ROWS < len(rows) <= _start_rows.MOST_ROWS
    assert (np.diff(rows) > 0).all()
    assert rows[-1] < 300_050
    assert (np.histogram(rows, bins=10, range=(0, 300_050))[0] > 1000).all()
    inside = np.searchsorted(np.cumsum(lengths), pieces.begins, side="right")
    np.testing.assert_array_equal(inside, pieces.sequences)
    last = pieces.begins + pieces.sizes - 1
    np.testing.assert_array_equal(np.searchsorted(np.cumsum(lengths), last, side="right"), pieces.sequences)


@pytest.mark.slow
def test_a_table_that_is_not_short_by_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(rng.normal(0, 2, (8, 4))[rng.integers(8, size=200_000)], 1.0)
    estimator = kullback.GaussianMixture(8, random_state=3, max_iter=200, tol=1e-4)
    alone, there = clone(estimator).fit(X), clone(estimator).fit(da.from_array(X, chunks=(65_536, 4)))
    np.testing.assert_allclose(there.lower_bounds_[:20], alone.lower_bounds_[:20], rtol=0, atol=1e-9)
    assert abs(there.lower_bound_ - alone.lower_bound_) < 1e-6


@pytest.mark.parametrize("kind", [kullback.CategoricalMixture, kullback.CategoricalHMM])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_no_drawn_row_has_is_not_impossible(few, kind):
    X = np.arange(900.0).reshape(-1, 1) % 2
    places = _start_rows.sample_rows(900), _start_rows.sample_pieces(np.array([450, 450]), np.ones(2)).rows
    X[np.setdiff1d(np.arange(900), np.concatenate(places))[[3, 200]]] = 2
    estimator = short(kind(2, random_state=0))
    lengths = [[450, 450]] if kind is kullback.CategoricalHMM else []
    alone = clone(estimator).fit(X, *lengths)
    assert np.isfinite(alone.lower_bounds_).all()
    assert_same(alone, clone(estimator).fit(da.from_array(X, chunks=(450, 1)), *lengths))
