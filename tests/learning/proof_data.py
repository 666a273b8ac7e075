"""Data for the loop, from tables, files and lists; what tests compare; and fits that are made to be killed."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from kullback.families import Batch, TimeIndex
from kullback.learning import Chunk, Epochs, NaturalWakeSleep, Stream, begin, fit, load_place, save_place, stack
from kullback.runtime import as_numpy, is_array
from kullback.sources import open_source
from learning import proof_models as proof
from models.helmholtz.small_machine import random_machine

# --- data -----------------------------------------------------------------------------------------------


class Table:
    """Prepares rows of a table for `Minibatches`."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def __call__(self, rows: np.ndarray) -> Batch:
        return Batch(self.values[rows])


class FileBatches:
    """Opens a file at a position: what a `Stream` asks for. With `goes_on` its rows are one long sequence."""

    def __init__(self, path: Any, batch_rows: int, dtype: Any = np.float64, goes_on: bool = False, shuffle: int = 0):
        self._path, self._options = str(path), {"batch_rows": batch_rows, "ahead": 0, "shuffle": shuffle}
        self._dtype, self._warm = dtype, goes_on

    def __call__(self, position: Any) -> Any:
        source = open_source(self._path, **self._options)
        if position is not None:
            source.resume(position)
        for table in source:
            yield prepared(table, self._dtype, self._warm), source.position


def prepared(table: np.ndarray, dtype: Any = np.float64, goes_on: bool = False) -> Batch:
    steps = TimeIndex(np.zeros(len(table), bool)) if goes_on else None
    return Batch(np.ascontiguousarray(table, dtype), time=steps)


class GivenSteps:
    """Batches with a step each, of which some are not active: the smallest `Data` that there can be.

    An epoch has so many steps; all of them by default.
    """

    whole, sites = False, 1

    def __init__(self, batches: list[Batch], active: Any = None, epoch: int | None = None):
        self._batches, self._epoch = batches, epoch or len(batches)
        self._active = np.ones(len(batches), bool) if active is None else np.asarray(active)

    def start(self) -> Batch:
        return self._batches[0]

    def steps(self, position: Any, most: int) -> Chunk | None:
        first = position or 0
        after = min(first + most, first - first % self._epoch + self._epoch, len(self._batches))
        if first == after:
            return None
        batches = [[batch] for batch in self._batches[first:after]]
        return Chunk(stack(batches), self._active[first:after], after, after % self._epoch == 0)

    def gather(self, learner: Any, model: Any, state: Any, memories: Any, clock: Any) -> Any:
        raise NotImplementedError


# --- what tests look at ---------------------------------------------------------------------------------

#: What JAX has traced or compiled, since this was last cleared.
COMPILED: list[str] = []


def _note(event: str, seconds: float, **about: Any) -> None:
    if event.startswith("/jax/core/compile/"):
        COMPILED.append(f"{event} {about.get('fun_name', '')}")


jax.monitoring.register_event_duration_secs_listener(_note)


def equal_bits(one: Any, other: Any) -> bool:
    """Whether two trees have the same structure, the same types and the same bits."""
    one, other = as_numpy(one), as_numpy(other)
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False
    return all(
        (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()) if is_array(a) and is_array(b) else a == b
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


# --- fits that may be killed ----------------------------------------------------------------------------


def train(kind: str, folder: Path, name: str, passes: int = 3, chunk: int = 4) -> None:
    """Train from a file and keep a checkpoint of each chunk; go on from the one that is there, then write the end."""
    if kind == "hmm":
        learner, model = proof.hmm_learner(), proof.hmm_start()
        file = FileBatches(folder / "rows.csv", 16, goes_on=True)
    elif kind == "machine":
        learner = NaturalWakeSleep(draws=3, batch=16, refresh=5, streams=True)
        model = jax.tree.map(lambda leaf: leaf.astype(np.float32), random_machine(sizes=(6, 3, 2)))
        file = FileBatches(folder / "rows.csv", 16, np.float32, shuffle=64)
    else:
        learner, model = proof.vae_learner(), proof.VAE(4, 2, jax.random.key(0))
        file = FileBatches(folder / "rows.csv", 16, np.float32, shuffle=64)
    data, rule, checkpoint = Stream(file, passes), Epochs(passes), folder / f"{name}.checkpoint"
    place = begin(learner, model, data, rule, seed=1)
    if checkpoint.exists():
        place = load_place(checkpoint, place, kind)
    place, reason = fit(
        learner, place, data, rule, callback=lambda place: save_place(checkpoint, place, kind), chunk=chunk, seed=1
    )
    assert reason == "limit", reason
    save_place(folder / f"{name}.end", place, kind)
