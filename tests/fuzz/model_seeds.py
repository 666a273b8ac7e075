"""Saved models of every kind, checkpoints of the command, and runs of a search: made by the library itself."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from cli.helpers import names_for, rows_for, size_of, write_csv
from fuzz import data_seeds, tensors
from kullback.cli import app
from kullback.cli._checkpoint import Checkpoint
from kullback.cli._registry import estimator_commands

BATCH = 32
#: What folders are called in files, so that a file is the same wherever it is made; they all have paths of this length.
ELSEWHERE = b"/" + b"-" * 99


class Killed(BaseException):
    """The end of a fit that can do nothing about it."""


def command(*words: Any) -> Any:
    """Run the command in this process; return its result."""
    return CliRunner().invoke(app, [str(word) for word in words])


#: Name of a model: what to fit, of which data.
MODELS: dict[str, list[Any]] = {name: [name, f"{name}.csv", *size_of(name, 2)] for name in estimator_commands()} | {
    "regressor trees": ["regressor", "regressor.csv", "--target", "y", "--model", "trees", "--method", "batch"],
    "regressor network": ["regressor", "regressor.csv", "--target", "y", "--model", "network", "--max-iter", 2],
    "gaussian-mixture diag": ["gaussian-mixture", "numbers.csv", "--n-components", 2, "--covariance-type", "diag"],
    "gaussian-mixture tied": ["gaussian-mixture", "numbers.csv", "--n-components", 2, "--covariance-type", "tied"],
    "mixture mixed": ["mixture", "mixed.csv", "--n-components", 2, "--family", "gaussian,categorical,bernoulli"],
    "hmm of sequences": ["gaussian-hmm", "sequences.csv", "--n-components", 2, "--sequence-column", "s"],
    "system with inputs": ["linear-dynamical-system", "sequences.csv", "--n-latents", 1, "--input-columns", "s"],
}
MODELS["categorical-hmm"] += ["--n-features", 4]
MODELS["categorical-mixture"] += ["--n-categories", 4]

#: Name of a checkpoint: what to fit, and after how many checkpoints it is killed.
CHECKPOINTS: dict[str, tuple[list[Any], int]] = {
    "online": ([*MODELS["gaussian-mixture diag"], "--passes", 2], 4),
    "em": ([*MODELS["gaussian-mixture diag"], "--method", "em", "--tol", 1e-9], 2),
    "sequences": ([*MODELS["hmm of sequences"], "--passes", 2], 2),
    "shuffled": (["gaussian-mixture", "more.csv.gz", *MODELS["gaussian-mixture diag"][2:], "--shuffle", 32], 2),
    "mixed words": ([*MODELS["mixture mixed"], "--passes", 2, "--skip-bad"], 2),
    "arrow": (["gaussian-mixture", "more.arrow", *MODELS["gaussian-mixture diag"][2:]], 2),
}


def fit_words(words: list[Any], save: str) -> list[Any]:
    """Return a whole command that fits."""
    method = [] if "--method" in words else ["--method", "online"]
    return ["fit", *words, *method, "--random-state", 0, "--batch-rows", BATCH, "--save", save]


def resume_words(name: str, checkpoint: str) -> list[Any]:
    """Return the command that goes on from a checkpoint."""
    kept = ["--checkpoint", checkpoint, "--checkpoint-every", 0, "--resume", "--json"]
    return [*fit_words(CHECKPOINTS[name][0], "resumed.safetensors"), *kept]


def write_tables(folder: Path, times: int = 1) -> None:
    """Write the data that models are fitted to, so many times as long. Its time is always the same."""
    for name in estimator_commands():
        write_csv(folder / f"{name}.csv", rows_for(name, 2 * BATCH), names_for(name))
    rng = np.random.default_rng(4)
    rows = 3 * BATCH * times
    X = rng.normal(np.where(rng.random((rows, 1)) < 0.5, -3, 3), 1, (rows, 3)).round(4)
    write_csv(folder / "numbers.csv", X, ["a", "b", "c"])
    (folder / "more.csv.gz").write_bytes(data_seeds.gz((folder / "numbers.csv").read_bytes()))
    (folder / "more.arrow").write_bytes(data_seeds.arrow(data_seeds.pa.table(dict(zip("abc", X.T, strict=True)))))
    write_csv(folder / "sequences.csv", np.column_stack([X, np.arange(len(X)) // 20]), ["a", "b", "c", "s"])
    names, _, lines = data_seeds.mixed_csv().partition(b"\n")
    (folder / "mixed.csv").write_bytes(names + b"\n" + lines * times)
    for file in folder.iterdir():
        os.utime(file, (10**9, 10**9))


@contextlib.contextmanager
def killed(writes: int) -> Iterator[None]:
    """Kill a fit after so many checkpoints."""
    write, left = Checkpoint.write, [writes]

    def counted(self: Any, *args: Any) -> None:
        write(self, *args)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    Checkpoint.write = counted  # type: ignore[method-assign]
    try:
        with contextlib.suppress(Killed):
            yield
    finally:
        Checkpoint.write = write  # type: ignore[method-assign]


def saved_model(name: str) -> bytes:
    """Fit a model with the command, in the folder that has the tables."""
    result = command(*fit_words(MODELS[name], "seed.safetensors"))
    assert result.exit_code == 0, result.output
    return _same_everywhere(Path("seed.safetensors"))


def checkpoint(name: str) -> bytes:
    """Return the checkpoint of a fit that was killed."""
    words, writes = CHECKPOINTS[name]
    kept = Path("seed.ckpt")
    kept.unlink(missing_ok=True)
    with killed(writes):
        result = command(*fit_words(words, "seed.safetensors"), "--checkpoint", kept, "--checkpoint-every", 0, "--json")
        raise AssertionError(result.output)
    return _same_everywhere(kept)


def bowl(x: np.ndarray) -> Any:
    """What the searches minimize, at one point or at many."""
    return np.sum((x - 1) ** 2, axis=-1)


def search(path: Path, f: Callable[..., Any] = bowl) -> Any:
    """Begin or go on with a search that is kept in a file."""
    from kullback import minimize

    return minimize(f, [3.0, 2.0], budget=60, seed=1, restarts=None, checkpoint=path, resume=True)


def binary_search(path: Path, f: Callable[..., Any] = bowl) -> Any:
    """The same, over −1 and 1."""
    from kullback import minimize_binary

    return minimize_binary(f, 6, budget=60, seed=1, checkpoint=path, resume=True)


def large_search(path: Path, f: Callable[..., Any] = bowl) -> Any:
    """The same as the first, with many points at a time."""
    from kullback import minimize

    options: dict[str, Any] = {"budget": 60_000, "population": 20_000, "vectorized": True, "restarts": None}
    return minimize(f, [3.0, 2.0], seed=1, checkpoint=path, resume=True, **options)


SEARCHES = {"real": search, "binary": binary_search, "large": large_search}
#: How often a search asks before it is killed.
_CALLS = {"real": 30, "binary": 40, "large": 2}


def run_file(name: str) -> bytes:
    """Return the file of a search that was killed."""
    kept, calls = Path("seed.run"), [0]
    kept.unlink(missing_ok=True)

    def dies(x: np.ndarray) -> Any:
        calls[0] += 1
        if calls[0] > _CALLS[name]:
            raise Killed
        return bowl(x)

    with contextlib.suppress(Killed):
        SEARCHES[name](kept, dies)
    return _same_everywhere(kept)


def _same_everywhere(path: Path) -> bytes:
    """Return a file without the path of the folder in it, its metadata in order."""
    here = os.fsencode(Path.cwd())
    assert len(here) == len(ELSEWHERE), here
    return tensors.written(*tensors.parts(path.read_bytes().replace(here, ELSEWHERE)))
