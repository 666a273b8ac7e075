"""What a worker of `local_cluster` does when it starts: Dask calls it."""

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave an interrupt from the keyboard, which reaches all processes, to the one that started the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
