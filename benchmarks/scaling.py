"""Two workers of one core each against one such worker: exact EM over a Dask array that they hold."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._timing import Figure, Row
from kullback import GaussianMixture

COLUMNS, COMPONENTS, BLOCKS, ROUNDS = 16, 10, 16, 3


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Measure the time of an iteration, and the bytes that cross the network in it for two numbers of rows."""
    rows = 4_000_000 if full else 400_000
    times = {workers: _measured(workers, rows)[0] for workers in (1, 2)}
    what = f"one iteration of exact EM, {rows:,} × {COLUMNS} × {COMPONENTS}"
    yield Row(what, "1 worker against 2", times[1], times[2], 1.6)
    yield Figure(f"{what}, 1 worker", "10⁶ rows per second", rows / times[1] / 1e6, 0, True)
    few, many = (_measured(2, size)[1] for size in (rows // 4, rows))
    for size, sent in ((rows // 4, few), (rows, many)):
        yield Figure(f"sent in an iteration, 2 workers, {BLOCKS} blocks, {size:,} rows", "kB", sent / 1e3, 1000)


def _measured(workers: int, rows: int) -> tuple[float, float]:
    """Return the least seconds of an iteration, and the least bytes that the network of this machine has sent in it."""
    import dask.array as da
    import psutil

    from distributed import wait
    from kullback.distributed import connect

    with connect(f"local:{workers}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = da.map_blocks(
            _block,
            chunks=((rows // BLOCKS,) * BLOCKS, (COLUMNS,)),
            dtype=float,
            rows=rows // BLOCKS,
            meta=np.empty((0, 0)),
        ).persist()
        wait(data)
        start = GaussianMixture(COMPONENTS, random_state=0, max_iter=0).fit(_block({}, 10_000, (0,)))
        mixture = GaussianMixture.from_model(start.to_model(), tol=0, warm_start=True)
        mixture.set_params(max_iter=1).fit(data)  # compiles
        seconds, sent = [], []
        for _ in range(ROUNDS):
            spent = []
            for steps in (1, 4):  # the difference leaves out what a fit does once
                before, clock = psutil.net_io_counters().bytes_sent, time.perf_counter()
                mixture.set_params(max_iter=steps).fit(data)
                spent.append((time.perf_counter() - clock, psutil.net_io_counters().bytes_sent - before))
            seconds.append((spent[1][0] - spent[0][0]) / 3)
            sent.append((spent[1][1] - spent[0][1]) / 3)
    return min(seconds), min(sent)


def _block(block_info: Any = None, rows: int = 0, place: tuple[int, ...] | None = None) -> np.ndarray:
    """Draw a block of rows from ten clusters."""
    seed = (place or block_info[None]["chunk-location"])[0]
    centers = np.random.default_rng(0).normal(0, 2, (COMPONENTS, COLUMNS))
    rng = np.random.default_rng((1, seed))
    return centers[rng.integers(COMPONENTS, size=rows)] + rng.normal(size=(rows, COLUMNS))
