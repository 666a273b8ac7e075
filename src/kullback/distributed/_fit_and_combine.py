"""Online EM on every worker, and one model of them all at each synchronization: only models travel."""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import dask
import jax
import numpy as np

from kullback import estimators, learning
from kullback.distributed._parts import Part, parts_of, rows_that_count
from kullback.distributed._tree import broadcast
from kullback.models import Mixture
from kullback.runtime import in_float64

#: What an estimator counts, of which a site knows its share.
_COUNTS = ("n_points_seen_", "n_batches_seen_", "n_sequences_seen_")


def fit_and_combine(
    estimator: Any,
    data: Any,
    client: Any,
    synchronize_every: int = 1,
    passes: int = 1,
    sample_weight: Any = None,
    watch: Callable[[Any], bool] | None = None,
) -> Any:
    """Let each worker learn from its own rows by online EM, and combine their models again and again.

    Between two synchronizations a worker makes a step of online EM (`partial_fit`) towards each of its next blocks;
    then all go on from the model nearest to theirs, each with the weight of the rows it has seen since. Rows never
    leave their worker. All begin where `estimator` is if it is fitted, and with a start of their own if it is not: then
    hidden labels are lined up at the first synchronization. From a common model on, a step of several workers is the
    step of one that has seen all of their blocks.

    Parameters
    ----------
    estimator
        What to fit, with a `partial_fit`. It stays as it is.
    data : Dask array or frame
        Blocks that are persisted are learned from where they are; others are read by the workers, each a run of
        neighbors. A block is a batch. For models with time each block is a series of its own.
    client : distributed.Client
        The workers.
    synchronize_every : int
        How many blocks a worker learns from between two synchronizations.
    passes : int
        How often to go through all blocks.
    sample_weight : Dask array or series, or None
        How often each row counts; with the same blocks.
    watch : function of an estimator, or None
        Called after each synchronization with what all have learned; the fit ends there if it returns True.

    Returns
    -------
    The fitted estimator.

    """
    for name, value in (("synchronize_every", synchronize_every), ("passes", passes)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} is {value!r}: it must be an integer, 1 or more.")
    if isinstance(estimator, (estimators.Regressor, estimators.Classifier)):
        raise ValueError(
            f"estimator is a {type(estimator).__name__}, which learns targets: use its fit(X, y) with method='linear', "
            "which takes Dask collections, or fit sites apart and combine them."
        )
    sites = _sites(parts_of(data, sample_weight), client)
    common = _CommonModel(estimator)
    for _ in range(passes):
        for start in range(0, max(len(parts) for parts in sites.values()), synchronize_every):
            task, state = dask.delayed(_learn_blocks, pure=False), broadcast(_State(common.estimator))
            # a worker that is lost is replaced by another, which makes its blocks again
            found = [
                client.compute(
                    task(state, [[part.table, part.weight] for part in parts[start : start + synchronize_every]]),
                    workers=[address],
                    allow_other_workers=True,
                )
                for address, parts in sites.items()
                if len(parts) > start
            ]
            common.take(client.gather(found))
            if watch is not None and watch(common.estimator):
                return common.result()
    return common.result()


def _sites(parts: list[Part], client: Any) -> dict[str, list[Part]]:
    """Return the parts of each worker, by its address: those that it holds, or a run of neighbors."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not workers:
        raise ValueError("client has no workers: start some, or wait for them.")
    runs = np.repeat(workers, [len(run) for run in np.array_split(np.arange(len(parts)), len(workers))])
    sites: dict[str, list[Part]] = {}
    for part, otherwise in zip(parts, runs, strict=True):
        sites.setdefault(part.home or str(otherwise), []).append(part)
    return dict(sorted(sites.items()))


@dataclasses.dataclass
class _State:
    """What a worker goes on from."""

    estimator: Any


def _learn_blocks(state: _State, parts: list[Any]) -> Any:
    """Learn from one block after the other. Runs on the worker; what it returns has no rows in it."""
    estimator = copy.deepcopy(state.estimator)
    for table, weight in parts:
        table, weight = rows_that_count(table, weight)
        if len(table):
            estimator.partial_fit(table, **({} if weight is None else {"sample_weight": weight}))
    return estimator


class _CommonModel:
    """The model of all workers, and how much data is behind it."""

    def __init__(self, estimator: Any):
        self.estimator = copy.deepcopy(estimator)
        for name in ("learning_curve_", "prequential_"):  # of one stream, and here are several
            self.estimator.__dict__.pop(name, None)
        self._begun = hasattr(estimator, "n_batches_seen_")
        self._seen = {name: float(getattr(estimator, name, 0)) for name in _COUNTS}

    def take(self, fitted: Sequence[Any]) -> None:
        """Put models together that come from the common one, or each from its own start."""
        fitted = [one for one in fitted if hasattr(one, "n_batches_seen_")]
        if not fitted:
            return
        new = {name: np.array([self._more(one, name) for one in fitted]) for name in _COUNTS}
        points = new["n_points_seen_"]
        if not points.any():
            return
        if self._begun:
            self.estimator.set_model(_combined_model(fitted, points))
        else:
            self.estimator = estimators.combine(fitted, points)
            self._begun = True
        self.estimator.lower_bound_ = float(np.average([one.lower_bound_ for one in fitted], weights=points))
        for name in _COUNTS:
            self._seen[name] += float(new[name].sum())
            # of many workers each makes a share of the steps: the rate of the next is that of its share
            self._tell(name, self._seen[name] / len(fitted))

    def result(self) -> Any:
        """Return the estimator with all that was counted."""
        if not self._begun:
            raise ValueError("data has no row that counts: there is nothing to learn from.")
        for name in _COUNTS:
            self._tell(name, self._seen[name])
        return self.estimator

    def _more(self, one: Any, name: str) -> float:
        return getattr(one, name, 0) - (getattr(self.estimator, name, 0) if self._begun else 0)

    def _tell(self, name: str, value: float) -> None:
        if name == "n_batches_seen_":
            self.estimator.n_batches_seen_ = max(round(value), 1)
        elif hasattr(self.estimator, name):
            setattr(self.estimator, name, value)


@in_float64
def _combined_model(fitted: Sequence[Any], points: np.ndarray) -> Any:
    """Return the model nearest to several that come from one: a mixture's labels are lined up still."""
    models = [one.to_model() for one in fitted]
    extents = [one.extent_seen for one in fitted]
    like = None if extents[0] is None else extents
    nearest = learning.combine(models, points, align=not isinstance(models[0], Mixture), like=like)
    return jax.tree.map(np.asarray, nearest)
