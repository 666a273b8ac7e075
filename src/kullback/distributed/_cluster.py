"""Where the workers come from: processes of this machine, or a cluster that is there already."""

import contextlib
from collections.abc import Iterator
from typing import Any

import dask


def local_cluster(workers: int) -> Any:
    """Start worker processes on this machine, of one core each. Close it, or use it with `with`.

    They are spawned, for JAX does not survive a fork: a script that calls this does so below
    `if __name__ == "__main__":`. JAX and the linear algebra of each keep to one thread. Tasks stay where their data is.
    """
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers is {workers!r}: it must be an integer, 1 or more.")
    from distributed import LocalCluster

    settings = {"distributed.worker.multiprocessing-method": "spawn", "distributed.scheduler.work-stealing": False}
    with dask.config.set(settings):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            # there is a server even so, at a port that another cluster may have: take any that is free
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            # JAX takes the first for the number of cores when it starts; nobody looks at what a profiler would find
            env={"NPROC": "1", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"},
            preload=["kullback.distributed._worker_signals"],
        )


@contextlib.contextmanager
def connect(address: str) -> Iterator[Any]:
    """Yield a client of the cluster at an address, or of `local:N`, N workers that are started here and end with it.

    >>> with connect("tcp://nowhere"):
    ...     pass
    Traceback (most recent call last):
    ValueError: address is 'tcp://nowhere': it must be like 'local:2' or 'tcp://10.0.0.1:8786'.
    """
    kind, _, rest = address.partition(":")
    number = rest.rpartition(":")[2]
    if not number.isdigit() or kind not in ("local", "tcp", "tls", "ws", "wss"):
        raise ValueError(f"address is {address!r}: it must be like 'local:2' or 'tcp://10.0.0.1:8786'.")
    from distributed import Client

    with contextlib.ExitStack() as stack:
        cluster: Any = stack.enter_context(local_cluster(int(number))) if kind == "local" else address
        yield stack.enter_context(Client(cluster))
