"""Fits that are killed at any moment and go on: they end as those end that were left alone, bit for bit."""

import contextlib
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from cli.helpers import Server, held
from fuzz import model_seeds

#: How much longer the tables are than those of the seeds, so that a fit takes a while.
TIMES = 20


def chain(server: Server, folder: Path, name: str, kills: int, chance: random.Random) -> int:
    """Kill the fit of one of the checkpoints so often, let it end, and compare; return how many kills hit a fit."""
    model_seeds.write_tables(folder, TIMES)
    words = [*model_seeds.CHECKPOINTS[name][0], "--quiet"]
    server.start(folder, *model_seeds.fit_words(words, "whole.safetensors"))
    code, _, said = server.wait()
    assert code == 0, said
    parts = [*model_seeds.fit_words(words, "parts.safetensors"), "--checkpoint", "run.ckpt", "--resume"]
    kept, moved, longest = folder / "run.ckpt", 0, 0.5
    for turn in range(kills):
        before, began = _now(kept), time.monotonic()
        process = server.start(folder, *parts, "--checkpoint-every", 0)
        if turn % 2:  # while it starts, or soon after
            time.sleep(chance.uniform(0, longest))
        else:  # while it learns
            while _now(kept) == before and Path(f"/proc/{process}").exists():
                time.sleep(0.001)
            longest = time.monotonic() - began
            time.sleep(chance.uniform(0, 0.05))
        with contextlib.suppress(ProcessLookupError):  # it may have come to its end
            os.kill(process, signal.SIGKILL)
        code, _, said = server.wait()
        assert code in (0, -signal.SIGKILL), said
        moved += _now(kept) != before
        if code == 0:
            break
    server.start(folder, *parts)
    code, _, said = server.wait()
    assert code == 0, said
    assert held(folder / "parts.safetensors") == held(folder / "whole.safetensors"), f"{name} ended elsewhere"
    left = [each.name for each in folder.glob(".*") if not each.name.endswith(".lock")]
    assert not left, f"{left} were left behind"
    return moved


def _now(path: Path) -> Any:
    """Say which file is there: a checkpoint that was renamed to this place is another."""
    try:
        return os.stat(path).st_ino, os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None
