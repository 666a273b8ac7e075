"""Exact EM over sequences in blocks is EM over all of them: compared with the fit of one machine."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.distributed.test_rows import assert_same

import kullback
from tiers import slow_among

pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

import kullback.distributed._sequences as dask_sequences  # noqa: E402
from kullback.estimators.data import _start_rows  # noqa: E402

RNG = np.random.default_rng(0)
LENGTHS = [40, 25, 60, 5, 70, 50]
STATES = np.repeat(RNG.integers(2, size=50), 5)
SERIES = RNG.normal(3.0 * STATES[:, None], 1.0, (250, 2))
HOLES = np.where(RNG.random(SERIES.shape) < 0.1, np.nan, SERIES)
SYMBOLS = (RNG.random((250, 1)) < 0.2 + 0.6 * STATES[:, None]).astype(float)
SYMBOLS[200] = 2.0  # a symbol that is met once
COUNTS = RNG.poisson(1.0 + 6.0 * STATES[:, None], (250, 2)).astype(float)
INPUTS = RNG.normal(size=(250, 1))
CASES = {
    "full, with missing entries": (kullback.GaussianHMM(2, "full", n_iter=4, tol=0, random_state=0), HOLES),
    "symbols": (kullback.CategoricalHMM(2, n_iter=3, tol=0, random_state=0), SYMBOLS),
    "counts": (kullback.PoissonHMM(2, n_iter=3, tol=0, random_state=0), COUNTS),
    "mixed": (kullback.HMM(2, family=["gaussian", "poisson"], n_iter=3, tol=0, random_state=0), COUNTS),
    "system": (kullback.LinearDynamicalSystem(1, max_iter=3, tol=0), HOLES),
}


@pytest.mark.parametrize("case", slow_among(CASES, "symbols", "counts", "mixed"))
def test_blocks_of_an_array_are_the_array(case):
    estimator, X = CASES[case]
    # 100 rows end inside a sequence: blocks are cut anew, where sequences end
    assert_same(clone(estimator).fit(X, LENGTHS), clone(estimator).fit(da.from_array(X, chunks=(100, 1)), LENGTHS))


@pytest.mark.slow
def test_inputs_and_weights_go_with_their_sequences():
    estimator, weight = kullback.LinearDynamicalSystem(1, max_iter=3, tol=0), [1.0, 0.0, 2.0, 0.0, 1.0, 0.5]
    alone = clone(estimator).fit(SERIES, LENGTHS, INPUTS, weight)
    for inputs in (INPUTS, da.from_array(INPUTS, chunks=(90, 1))):
        # 65 rows are the first two sequences; the fourth is a block that never counts
        X = da.from_array(SERIES, chunks=((65, 60, 5, 120), 2))
        assert_same(alone, clone(estimator).fit(X, LENGTHS, inputs, weight))


def test_a_frame_of_whole_sequences_keeps_the_names_of_columns():
    frame = pd.DataFrame(SERIES, columns=["a", "b"])
    parts = dd.from_pandas(frame, sort=False, npartitions=1).repartition(divisions=[0, 65, 125, 249], force=True)
    estimator = kullback.GaussianHMM(2, n_iter=3, tol=0, random_state=0)
    there = clone(estimator).fit(parts, LENGTHS)
    assert_same(clone(estimator).fit(frame, LENGTHS), there)
    assert there.feature_names_in_.tolist() == ["a", "b"]


def test_where_parameters_are_set_no_row_leaves_its_block(monkeypatch):
    start = kullback.GaussianHMM(2, n_iter=1, random_state=0).fit(SERIES, LENGTHS)
    system = kullback.LinearDynamicalSystem(1, max_iter=2, tol=0, warm_start=True).fit(SERIES, LENGTHS)
    monkeypatch.setattr(dask_sequences, "_select_steps", lambda *_: pytest.fail("rows were fetched"))
    X = da.from_array(SERIES, chunks=(65, 2))
    for estimator in (start.set_params(init_params="", n_iter=2, tol=0), system):
        before = clone(estimator)
        vars(before).update({name: value for name, value in vars(estimator).items() if name.endswith("_")})
        assert_same(before.fit(SERIES, LENGTHS), estimator.fit(X, LENGTHS))


def test_of_many_sequences_some_come_for_the_start(monkeypatch):
    monkeypatch.setattr(_start_rows, "MOST_ROWS", 100)
    fetched = []
    picked = dask_sequences._select_steps
    monkeypatch.setattr(dask_sequences, "_select_steps", lambda p, *rest: (fetched.append(len(p)), picked(p, *rest))[1])
    X = da.from_array(SYMBOLS, chunks=(65, 1))
    with dask.config.set(scheduler="synchronous"):
        found = kullback.CategoricalHMM(2, n_iter=2, tol=0, random_state=3).fit(X, LENGTHS)
        assert 30 <= sum(fetched) <= 100
        assert found.emissionprob_.shape == (2, 3)  # the symbol that is met once is known all the same
        fetched.clear()
        monkeypatch.setattr(_start_rows, "MOST_ROWS", 4)
        kullback.CategoricalHMM(2, n_iter=1, random_state=0).fit(X, LENGTHS)
        assert 1 <= sum(fetched) <= 4  # a piece of one


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "lengths is None and X has 4 blocks: one sequence must be one block"),
        ({"lengths": [100, 100]}, "sums to 200 and doesn't sum to 250"),
        ({"lengths": LENGTHS, "sample_weight": [1.0, 2.0]}, "there are 6 sequences, and each has one weight"),
        ({"lengths": LENGTHS, "sample_weight": [-1.0] * 6}, "sample_weight must be finite, not negative"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        kullback.GaussianHMM(2).fit(da.from_array(SERIES, chunks=(65, 2)), **arguments)


def test_a_frame_that_cuts_a_sequence_is_refused():
    parts = dd.from_pandas(pd.DataFrame(SERIES), npartitions=3)
    with pytest.raises(ValueError, match=r"block 0 of X ends inside sequence 2: each block must hold whole sequences"):
        kullback.GaussianHMM(2).fit(parts, LENGTHS)


def test_an_entry_that_does_not_fit_is_told_with_its_block():
    fitted = kullback.PoissonHMM(2, n_iter=1, random_state=0).fit(COUNTS, LENGTHS).set_params(init_params="")
    X = np.where(np.arange(250)[:, None] == 240, -1.0, COUNTS)
    with pytest.raises(ValueError, match="In block 3 of X"):
        fitted.fit(da.from_array(X, chunks=(65, 2)), LENGTHS)
