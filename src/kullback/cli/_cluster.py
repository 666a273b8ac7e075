"""A fit over a Dask cluster: the workers read the data, each its own blocks, and keep them in memory."""

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np

from kullback.cli._batch_fit import run_em
from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_kinds import choose_families, set_category_counts
from kullback.cli._column_roles import Chunk
from kullback.cli._data_errors import naming_rows
from kullback.cli._input import Input
from kullback.cli._online_fit import Outcome
from kullback.cli._pairs import check_target, has_targets, is_classifier, known_targets
from kullback.cli._progress import Digest, Progress
from kullback.cli._stop import Stop
from kullback.estimators import REGISTRY, Encoded, rows_again

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
                found = layout.load(client, layout.blocks)
                if has_targets(estimator):
                    found, targets = layout.split_pairs(estimator, found)
                    estimator.fit(found, targets)
                else:
                    estimator.fit(found, **layout.extras)

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
    for number in range(passes):
        with rows_again(estimator, number > 0):
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
    width: int
    extras: dict[str, Any]
    kinds: dict[str, str]
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

    def split_pairs(self, estimator: Any, tables: Any) -> tuple[Encoded, Any]:
        """Return inputs, with the meaning of their numbers, and targets of whole rows, in the same blocks."""
        labels, codes, roles = list(self.kinds), self.data.columns["codes"], self.data.roles
        own = list(map(str, roles.targets))
        inputs = [place for place, label in enumerate(labels) if label not in own]
        words = {str(at): codes[labels[place]] for at, place in enumerate(inputs) if labels[place] in codes}
        X = Encoded(tables[:, inputs], [self.kinds[labels[place]] for place in inputs], words)
        y = tables[:, [labels.index(label) for label in own]]
        if not is_classifier(estimator):
            return X, y[:, 0] if len(own) == 1 else y
        truth = self.kinds[own[0]] == "truth"
        nothing = known_targets(estimator, codes, own, np.zeros((0, 1)), truth)
        name = functools.partial(known_targets, estimator, codes, own, truth=truth)
        return X, y.map_blocks(name, drop_axis=1, dtype=nothing.dtype, meta=nothing)

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
            width = self.width if self.data.roles.targets else self.columns
            parts.append(da.from_delayed(task, (rows, width), dtype=np.float64))
        blocks_in_memory = da.concatenate(parts).persist(optimize_graph=False)
        wait(blocks_in_memory)
        return blocks_in_memory


def _find_layout(estimator: Any, data: Input, at_once: bool, stop: Stop) -> _Layout | None:
    """Go through the data once: where blocks begin, and which words there are, is known only then."""
    data = data.for_workers(max(data.batch_rows, _ROWS) if at_once else data.batch_rows)
    source = data.open(0, None)
    values, inputs = data.kinds(source)
    if has_targets(estimator):
        check_target(estimator, data, source)
    else:
        choose_families(estimator, values, inputs)
    blocks: list[tuple[Any, int]] = []
    lengths: list[int] = []
    last, digest = None, Digest()
    begins, width, columns = source.position, 0, 0
    for table in itertools.takewhile(lambda _: not stop.requested, source):
        chunk = data.split(source, table)
        if has_targets(estimator):
            _check_classes(estimator, data, source, chunk)
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
    if not has_targets(estimator):
        set_category_counts(estimator, values, source.codes)
    series = REGISTRY[type(estimator).__name__].capabilities.data == "sequences"
    if series and at_once and blocks and not lengths:  # one series is one block
        blocks = [(blocks[0][0], sum(rows for _, rows in blocks))]
    data.remember_columns(source, width)
    extras = {"lengths": lengths} if lengths else {}
    found = (extras, dict(source.kinds), source.bad_rows, source.fingerprint, digest.of(source))
    return _Layout(data, blocks, columns, width, *found)


def _check_classes(estimator: Any, data: Input, source: Any, chunk: Chunk) -> None:
    """Raise at the first row whose class cannot be one, or is missing."""
    assert chunk.targets is not None
    if not is_classifier(estimator):
        return
    read, label = source.position["done"], str(data.roles.targets[0])
    numbers = range(read - len(chunk.X) + 1, read + 1)
    missing = np.isnan(chunk.targets[:, 0])
    if missing.any():
        row = numbers[int(np.argmax(missing))]
        raise ValueError(
            f"{data}, row {row:,}: column {label!r} is missing, and with --scheduler each row needs a class."
        )
    with naming_rows(data, numbers, list(data.kinds(source)[0]), [label]):
        known_targets(estimator, source.codes, [label], chunk.targets, source.kinds[label] == "truth")


def _read(data: Input, position: Any, rows: int) -> np.ndarray:
    """Read a block, on its worker."""
    source = data.open(0, position["codes"], ahead=0)
    source.resume(position)
    found: list[np.ndarray] = []
    for table in source:
        found.append(table if data.roles.targets else data.split(source, table).X)
        if sum(map(len, found)) >= rows:
            return np.concatenate(found)
    raise ValueError(f"{data} has changed while it was read: it had more rows before.")
