"""Two workers of one core each against one such worker: exact EM over a Dask array that they hold."""

import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks._timing import Figure, Row
from kullback import GaussianMixture

COLUMNS, COMPONENTS, BLOCKS, ROUNDS = 16, 10, 16, 3


class Cost(NamedTuple):
    """What an iteration takes: seconds, bytes that the network of this machine sends, seconds of the workers' cores."""

    seconds: float
    sent: float
    cores: float


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Measure an iteration of one worker and of two, and of two with a quarter of the rows."""
    rows = 4_000_000 if full else 400_000
    one, two, quarter = _measured(1, rows), _measured(2, rows), _measured(2, rows // 4)
    what = f"one iteration of exact EM, {rows:,} × {COLUMNS} × {COMPONENTS}"
    yield Row(what, "1 worker against 2", one.seconds, two.seconds, 1.6)
    yield Figure(f"{what}, 1 worker", "10⁶ rows per core second", rows / one.cores / 1e6, 0.5, True)
    yield Figure(f"{what}, 2 workers", "core seconds against 1", two.cores / one.cores, 1.25)
    for size, cost in ((rows // 4, quarter), (rows, two)):
        yield Figure(f"sent in an iteration, 2 workers, {BLOCKS} blocks, {size:,} rows", "kB", cost.sent / 1e3, 1000)


def _measured(workers: int, rows: int) -> Cost:
    """Return the least that an iteration takes, over some rounds."""
    import dask
    import dask.array as da
    import psutil

    from distributed import wait
    from kullback.distributed import connect

    with connect(f"local:{workers}") as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        size = rows // BLOCKS
        chunks = ((size,) * BLOCKS, (COLUMNS,))
        homes = sorted(client.scheduler_info(n_workers=-1)["workers"])
        with dask.annotate(workers=lambda key: homes[key[1] % workers]):  # by itself Dask may give one 10 of 16
            data = da.map_blocks(_block, chunks=chunks, dtype=float, rows=size, meta=np.empty((0, 0))).persist()
        wait(data)
        start = GaussianMixture(COMPONENTS, random_state=0, max_iter=0).fit(_block({}, 10_000, (0,)))
        mixture = GaussianMixture.from_model(start.to_model(), tol=0, warm_start=True)
        mixture.set_params(max_iter=1).fit(data)  # compiles

        def spent(steps: int) -> np.ndarray:
            def now() -> np.ndarray:
                cores = sum(client.run(time.process_time).values())
                return np.array([time.perf_counter(), psutil.net_io_counters().bytes_sent, cores])

            before = now()
            mixture.set_params(max_iter=steps).fit(data)
            return now() - before

        # the difference leaves out what a fit does once
        return Cost(*np.min([(spent(4) - spent(1)) / 3 for _ in range(ROUNDS)], axis=0))


def _block(block_info: Any = None, rows: int = 0, place: tuple[int, ...] | None = None) -> np.ndarray:
    """Draw a block of rows from ten clusters."""
    seed = (place or block_info[None]["chunk-location"])[0]
    centers = np.random.default_rng(0).normal(0, 2, (COMPONENTS, COLUMNS))
    rng = np.random.default_rng((1, seed))
    return centers[rng.integers(COMPONENTS, size=rows)] + rng.normal(size=(rows, COLUMNS))
