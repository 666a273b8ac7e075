"""Shuffled batches: all rows once, evenly spread, and exactly the same after a resume."""

import io
import itertools
import json
import tracemalloc

import numpy as np
import pytest

from kullback.sources import open_source
from sources.writing import WRITERS
from tiers import slow


def numbered(count):
    return np.column_stack([np.arange(count), -np.arange(count)]).astype(float)


@pytest.mark.parametrize(("count", "size", "reservoir"), [(1000, 16, 100), (1000, 10, 100), (37, 16, 100), (50, 7, 1)])
def test_a_permutation_in_batches_of_one_size(count, size, reservoir):
    X = numbered(count)
    source = open_source(X, batch_rows=size, shuffle=reservoir)
    batches = list(source)
    assert [len(batch) for batch in batches] == [min(size, count - start) for start in range(0, count, size)]
    drawn = np.concatenate(batches)
    assert not np.array_equal(drawn, X)
    assert np.array_equal(drawn[np.argsort(drawn[:, 0])], X)
    assert np.array_equal(drawn, np.concatenate(list(open_source(X, batch_rows=size, shuffle=reservoir))))
    other = np.concatenate(list(open_source(X, batch_rows=size, shuffle=reservoir, seed=1)))
    assert not np.array_equal(drawn, other)


def test_rows_move_as_far_as_the_reservoir_is_long():
    drawn = np.concatenate(list(open_source(numbered(20_000), batch_rows=50, shuffle=1000)))[:, 0]
    moved = np.arange(20_000) - drawn
    assert 700 < np.std(moved[5000:-5000]) < 1400  # a row stays for a geometric time with this mean


def test_a_reservoir_that_holds_everything_makes_all_orders_alike():
    counts = np.zeros((4, 4))
    for seed in range(400):
        order = np.concatenate(list(open_source(numbered(4), batch_rows=2, shuffle=4, seed=seed)))[:, 0].astype(int)
        counts[np.arange(4), order] += 1
    assert np.sum((counts - 100) ** 2 / 100) < 26  # 9 degrees of freedom: one set of seeds in 500 is above


@pytest.mark.parametrize("suffix", [slow("csv"), "parquet", "jsonl.gz"])
def test_resume_is_exact_everywhere(tmp_path, suffix):
    X = np.random.default_rng(0).normal(size=(263, 3))
    for number in range(3):
        WRITERS[suffix](tmp_path / f"{number}.{suffix}", X[100 * number : 100 * (number + 1)])
    options = {"batch_rows": 20, "shuffle": 50, "seed": 5}

    def opened(position):
        source = open_source(tmp_path, **options)
        source.resume(json.loads(position))
        assert json.dumps(source.position) == position
        return source

    source = open_source(tmp_path, **options)
    steps = [(batch, json.dumps(source.position)) for batch in source]
    for place, (_, position) in enumerate(steps):
        again = opened(position)
        first = list(itertools.islice(again, 1))
        found = first + list(opened(json.dumps(again.position)))  # also from a position of one that was resumed
        assert len(found) == len(steps) - place - 1
        assert all(map(np.array_equal, found, (batch for batch, _ in steps[place + 1 :])))


def test_only_what_waits_is_read_again(tmp_path):
    source = open_source(numbered(10_000), batch_rows=10, shuffle=100)
    for _ in itertools.islice(source, 900):
        pass
    assert source.position["before"]["row"] > 7500
    assert len(json.dumps(source.position)) < 1000


def test_bad_rows_and_words(tmp_path):
    lines = [f"w{row % 11},{'x' if row % 9 == 4 else row}" for row in range(300)]
    (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(lines))
    options = {"batch_rows": 20, "shuffle": 60, "skip_bad": True}
    source = open_source(tmp_path / "x.csv", **options)
    steps = [(batch, source.position) for batch in source]
    assert source.bad_rows == 33
    for place, (_, position) in enumerate(steps):
        again = open_source(tmp_path / "x.csv", **options)
        again.resume(position)
        assert all(map(np.array_equal, list(again), (batch for batch, _ in steps[place + 1 :])))
        assert again.bad_rows == 33
        assert again.codes == source.codes


def test_what_does_not_fit_is_refused(tmp_path):
    X = numbered(100)
    source = open_source(X, batch_rows=10, shuffle=20)
    next(iter(source))
    for options in ({"batch_rows": 10}, {"batch_rows": 10, "shuffle": 30}, {"batch_rows": 5, "shuffle": 20}):
        with pytest.raises(ValueError, match="The position has batch_rows, shuffle and seed"):
            open_source(X, **options).resume(source.position)
    with pytest.raises(ValueError, match="There are 15 rows at most, and 30 were read before"):
        open_source(X[:15], batch_rows=10, shuffle=20).resume(source.position)
    source = open_source([X[:50], X[50:]], batch_rows=10, shuffle=20)
    next(iter(source))
    shorter = open_source([X[:15]], batch_rows=10, shuffle=20)
    shorter.resume(source.position)
    with pytest.raises(ValueError, match="The data ends after row 15, and 30 were read before"):
        list(shorter)


def test_a_stream_goes_on_with_a_new_reservoir():
    text = b"a\n" + b"".join(b"%d\n" % row for row in range(100))
    options = {"format": "csv", "batch_rows": 10, "shuffle": 20}
    source = open_source(io.BytesIO(text), **options)
    next(iter(source))
    again = open_source(io.BytesIO(text), **options)
    again.resume(source.position)
    assert again.position["done"] == 10
    assert np.array_equal(np.sort(np.concatenate(list(again))[:, 0]), np.arange(100))
    assert again.position["done"] == 110


@pytest.mark.parametrize("count", [1, 4, 19, 20, 21, 37])
def test_resume_where_the_reservoir_is_never_full(count):
    options = {"batch_rows": 4, "shuffle": 20}
    source = open_source(numbered(count), **options)
    steps = [(batch, source.position) for batch in source]
    for place, (_, position) in enumerate(steps):
        again = open_source(numbered(count), **options)
        again.resume(position)
        rest = list(again)
        assert len(rest) == len(steps) - place - 1
        assert all(map(np.array_equal, rest, (batch for batch, _ in steps[place + 1 :])))


def test_a_reservoir_takes_no_more_memory_than_there_are_rows(tmp_path):
    rows = np.arange(600_000.0).reshape(2, -1)
    np.save(tmp_path / "wide.npy", rows)
    tracemalloc.start()
    try:
        (batch,) = open_source(tmp_path / "wide.npy", shuffle=10_000, ahead=0)
        assert tracemalloc.get_traced_memory()[1] < 200e6  # of 24 GB for 10,000 rows
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(np.sort(batch, axis=0), rows)
