"""Inputs and targets as batches: chunk by chunk, in 64 bits, padded to a few sizes."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kullback.core import Batch
from kullback.estimators.data._rows import CHUNK, RESIDENT, padded
from kullback.learning import Clock, Learner, Resident, gather_in_turn


class Pairs:
    """Rows of inputs and the targets that belong to them. Targets that are NaN are missing.

    `design` turns rows of the table into the inputs of a model. It never copies the whole of a large table.
    """

    whole, sites = True, 1

    def __init__(
        self,
        table: np.ndarray,
        targets: np.ndarray,
        weight: np.ndarray | None,
        design: Callable[[np.ndarray], np.ndarray],
    ):
        self.table, self.targets, self.weight, self.design = table, targets, weight, design
        self.missing = bool(np.isnan(targets).any())
        self._all_inputs: dict[np.dtype[Any], np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.table)

    @property
    def mass(self) -> float:
        """The total weight."""
        return float(len(self) if self.weight is None else self.weight.sum())

    def take(self, places: np.ndarray) -> "Pairs":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[places]
        return Pairs(self.table[places], self.targets[places], weight, self.design)

    def split(self, fraction: float, seed: int) -> tuple["Pairs", "Pairs"]:
        """Return the rows to learn from, and a part that is held out; with a fraction of 0 it is empty."""
        count = len(self)
        held = min(max(round(fraction * count), 1), count - 1) if fraction else 0
        order = np.random.default_rng(seed).permutation(count)
        return self.take(np.sort(order[held:])), self.take(np.sort(order[:held]))

    def matrix(self) -> np.ndarray:
        """Return all inputs."""
        return self.design(self.table)

    def batch(self, places: Any, dtype: Any = np.float64) -> Batch:
        """Return some rows as a batch of this type, as they are."""
        targets = np.asarray(self.targets[places], dtype=dtype)
        weight = np.ones(len(targets), dtype) if self.weight is None else self.weight[places].astype(dtype)
        observed = ~np.isnan(targets) if self.missing else None
        return Batch(targets, weight, 0.0, observed, inputs=self._inputs(places, np.dtype(dtype)))

    def _inputs(self, places: Any, dtype: np.dtype[Any]) -> np.ndarray:
        """Return the inputs of some rows; those of a small table are worked out once, for they come every epoch."""
        if len(self) * self._width > RESIDENT:
            return self.design(self.table[places]).astype(dtype)
        if dtype not in self._all_inputs:
            self._all_inputs[dtype] = self.matrix().astype(dtype)
        return self._all_inputs[dtype][places]

    @functools.cached_property
    def _width(self) -> int:
        """How many inputs a model has."""
        return self.design(self.table[:1]).shape[1]

    def padded_batch(self, here: slice) -> Batch:
        """Return rows in 64 bits, with rows of weight 0 up to one of few sizes."""
        targets, weight = padded(
            np.ascontiguousarray(self.targets[here], dtype=np.float64),
            None if self.weight is None else self.weight[here],
        )
        inputs, _ = padded(self.design(self.table[here]), None)
        return Batch(targets, weight, 0.0, ~np.isnan(targets) if self.missing else None, inputs=inputs)

    def batches(self) -> Iterator[tuple[slice, Batch]]:
        """Yield the places of padded batches, and the batches."""
        for start in range(0, len(self), CHUNK):
            here = slice(start, min(start + CHUNK, len(self)))
            yield here, self.padded_batch(here)

    # --- as the loop asks for it ------------------------------------------------------------------------

    def start(self) -> Batch:
        """Return the first rows."""
        return next(self.batches())[1]

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all rows, chunk by chunk."""
        batches = (batch for _, batch in self.batches())
        message, memory = gather_in_turn(batches, learner, model, state, memories[0], clock.at_site(0))
        return message, (memory,)

    @functools.cached_property
    def _whole(self) -> Batch:
        """All rows as one batch on the device. Ask for it in 64 bits."""
        whole: Batch = jax.tree.map(jnp.asarray, self.padded_batch(slice(0, len(self))))
        return whole

    def resident(self, model: Any) -> Resident | None:
        """Return all rows as one batch, if they are few enough to be held twice."""
        return Resident(self._whole) if self.table.size + self.targets.size <= RESIDENT else None
