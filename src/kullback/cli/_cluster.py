"""A fit over a Dask cluster: the workers read the data, each its own blocks, and keep them in memory."""

import dataclasses
import itertools
from typing import Any

import numpy as np

from kullback.cli._batch_fit import run_em
from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_kinds import choose_families, set_category_counts
from kullback.cli._input import Input
from kullback.cli._online_fit import Outcome
from kullback.cli._progress import Digest, Progress
from kullback.cli._stop import Stop
from kullback.estimators import REGISTRY

#: The fewest rows of a block of batch EM: what goes over the network is for each block.
_ROWS = 1 << 16


def fit_on_cluster(
    estimator: Any,
    data: Input,
    address: str,
    online: tuple[int, int] | None,
    before: Progress,
    kept: Checkpoint | None,
    quiet: bool,
) -> tuple[Any, Outcome]:
    """Fit by batch EM, or online with so many passes and so many batches from one combination to the next."""
    data.check(before.data)
    if before.done:
        return estimator, Outcome(before, 0)
    try:
        from kullback.distributed import connect
    except ImportError as error:
        raise ValueError(str(error)) from None
    with Stop() as stop, connect(address) as client:
        layout = stop.wait_for(lambda: _find_layout(estimator, data, online is None, stop))
        if layout is None:
            return estimator, Outcome(Progress(), 0, stop.code)
        if not layout.blocks:
            raise ValueError(f"there are no rows to fit {type(estimator).__name__} to.")
        data.columns = layout.data.columns
        if online is None:
            here = Progress(rows=layout.rows, data=layout.fingerprint, digest=layout.digest)

            def fit() -> None:
                estimator.fit(layout.load(client, layout.blocks), **layout.extras)

            here = run_em(estimator, data, fit, before, here, kept, stop, quiet)
        else:
            estimator, done = _fit_online(estimator, layout, client, stop, *online)
            here = Progress(1, None, layout.rows * online[0], done)
    return estimator, Outcome(here, layout.bad_rows, stop.code)


def _fit_online(
    estimator: Any, layout: "_Layout", client: Any, stop: Stop, passes: int, every: int
) -> tuple[Any, bool]:
    """Start here from the first batch, so that all workers mean the same by a label; they learn from the others."""
    from kullback.distributed import fit_and_combine

    first, others, stopped = layout.read(0), layout.blocks[1:], False
    X = layout.load(client, others) if others else None
    for _ in range(passes):
        estimator.partial_fit(first)
        if X is not None:
            estimator = fit_and_combine(estimator, X, client, every, watch=lambda _: stop.requested)
        stopped = stop.requested
        if stopped:
            break
    return estimator, not stopped


@dataclasses.dataclass
class _Layout:
    """What a first reading finds: where each block begins and how many rows it has, names, words, bad rows."""

    data: Input
    blocks: list[tuple[Any, int]]
    columns: int
    extras: dict[str, Any]
    bad_rows: int
    fingerprint: Any
    digest: str

    @property
    def rows(self) -> int:
        return sum(rows for _, rows in self.blocks)

    def read(self, place: int) -> np.ndarray:
        """Read a block here."""
        position, rows = self.blocks[place]
        return _read(self.data, {**position, "codes": self.data.columns["codes"]}, rows)

    def load(self, client: Any, blocks: list[tuple[Any, int]]) -> Any:
        """Return a Dask array whose blocks the workers have read, one after the other, so that all have as many."""
        import dask
        import dask.array as da

        from distributed import wait

        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise ValueError("the cluster has no workers: start some.")
        read = dask.delayed(_read, pure=False)
        parts = []
        for (position, rows), home in zip(blocks, itertools.cycle(workers), strict=False):
            with dask.annotate(workers=[home], allow_other_workers=True):
                task = read(self.data, {**position, "codes": self.data.columns["codes"]}, rows)
            parts.append(da.from_delayed(task, (rows, self.columns), dtype=np.float64))
        blocks_in_memory = da.concatenate(parts).persist(optimize_graph=False)
        wait(blocks_in_memory)
        return blocks_in_memory


def _find_layout(estimator: Any, data: Input, at_once: bool, stop: Stop) -> _Layout | None:
    """Go through the data once: where blocks begin, and which words there are, is known only then."""
    data = data.for_workers(max(data.batch_rows, _ROWS) if at_once else data.batch_rows)
    source = data.open(0, None)
    values, inputs = data.kinds(source)
    choose_families(estimator, values, inputs)
    blocks: list[tuple[Any, int]] = []
    lengths: list[int] = []
    last, digest = None, Digest()
    begins, width, columns = source.position, 0, 0
    for table in itertools.takewhile(lambda _: not stop.requested, source):
        chunk = data.split(source, table)
        blocks.append((begins, len(table)))
        digest.add(table)
        width, columns, begins = table.shape[1], chunk.X.shape[1], source.position
        if chunk.sequence is not None and chunk.lengths is not None:
            here = chunk.lengths.tolist()
            if chunk.sequence[0] == last:
                lengths[-1] += here.pop(0)
            lengths += here
            last = chunk.sequence[-1]
    if stop.requested:
        return None
    set_category_counts(estimator, values, source.codes)
    series = REGISTRY[type(estimator).__name__].capabilities.data == "sequences"
    if series and at_once and blocks and not lengths:  # one series is one block
        blocks = [(blocks[0][0], sum(rows for _, rows in blocks))]
    data.remember_columns(source, width)
    extras = {"lengths": lengths} if lengths else {}
    return _Layout(data, blocks, columns, extras, source.bad_rows, source.fingerprint, digest.of(source))


def _read(data: Input, position: Any, rows: int) -> np.ndarray:
    """Read a block, on its worker."""
    source = data.open(0, position["codes"], ahead=0)
    source.resume(position)
    found: list[np.ndarray] = []
    for table in source:
        found.append(data.split(source, table).X)
        if sum(map(len, found)) >= rows:
            return np.concatenate(found)
    raise ValueError(f"{data} has changed while it was read: it had more rows before.")
