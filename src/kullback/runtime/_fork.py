"""A process that was forked after JAX had computed would wait for ever: it says so instead."""

import os

_started = False
_stuck = False


def check_not_forked() -> None:
    """Raise in a process that was forked from one in which kullback had computed; remember that it computes here."""
    global _started
    if _stuck:
        raise RuntimeError(
            "This process was forked from one that had already computed with JAX, whose threads do not survive a fork: "
            "start processes with 'spawn', as in multiprocessing.get_context('spawn'), or use threads."
        )
    _started = True


def _remember_in_child() -> None:
    global _stuck
    _stuck = _started


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_remember_in_child)
