"""Data for every estimator, and processes that can be killed."""

import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

from contracts.estimators import each_estimator
from kullback.cli._model_file import read_model
from kullback.cli._registry import estimator_commands


def write_csv(path, X, names=None):
    names = names or [f"c{place}" for place in range(X.shape[1])]
    lines = [",".join(repr(float(x)) for x in row) for row in X]
    Path(path).write_text("\n".join([",".join(names), *lines]) + "\n")


#: Most tests have as many rows in a batch and as many components, so that they share what is compiled.
BATCH, SIZE = 64, 3


def rows_for(name, rows=2 * BATCH, seed=0):
    """Return rows that an estimator can be fitted to."""
    rng = np.random.default_rng(seed)
    side = rng.random(rows) < 0.5
    if name in WITH_TARGETS:
        X = rng.normal(size=(rows, 2)) * [1, 5] + [3, 0]
        y = 1 + X @ [0.5, -0.2] + rng.normal(size=rows)
        return np.column_stack([X, np.clip(np.round(y), 1, 3) if name == "classifier" else y])
    if "linear" in name:
        return np.cumsum(rng.normal(0, 0.3, (rows, 1)), axis=0) + rng.normal(0, 0.5, (rows, 2))
    if name in ("categorical-hmm", "spiking-network"):
        return np.where(side, rng.integers(0, 2, rows), rng.integers(1, 4, rows))[:, None].astype(float)
    if "categorical" in name:
        return np.where(side[:, None], rng.integers(0, 2, (rows, 3)), rng.integers(1, 4, (rows, 3))).astype(float)
    if "bernoulli" in name or name == "helmholtz-machine":
        return (rng.random((rows, 4)) < np.where(side, 0.2, 0.8)[:, None]).astype(float)
    if "poisson" in name:
        return rng.poisson(np.where(side, 2, 15)[:, None], (rows, 2)).astype(float)
    if name in ("multinomial-hmm", "compound-dirichlet"):
        return np.stack([rng.multinomial(20, p) for p in rng.dirichlet([2, 3, 4, 5], rows)]).astype(float)
    return rng.normal(np.where(side, -3, 3)[:, None], 1, (rows, 4))


#: Kinds that have a target, the column y.
WITH_TARGETS = ("classifier", "regressor")


def names_for(name):
    """Return the names of the columns of `rows_for`; None where they do not matter."""
    return ["a", "b", "y"] if name in WITH_TARGETS else None


#: The parameter that says how large a model is, where it is not n_components; None where there is none.
_SIZES = {
    "classifier": None,
    "compound-dirichlet": None,
    "helmholtz-machine": "hidden",
    "linear-dynamical-system": "n_latents",
    "regressor": None,
    "spiking-network": "n_units",
    "variational-autoencoder": "n_latents",
}


def size_parameter(name, size=SIZE):
    """Return the parameter that says how large a model is, with its value."""
    parameter = _SIZES.get(name, "n_components")
    return {} if parameter is None else {parameter: size}


def size_of(name, size=SIZE):
    """Return the option that says how large a model is, or what it predicts."""
    if name in WITH_TARGETS:
        return ["--target", "y"]
    return [part for key, value in size_parameter(name, size).items() for part in (f"--{key.replace('_', '-')}", value)]


def held(path):
    """Return all that a model file says, arrays bit by bit."""
    loaded, columns, *_ = read_model(path)
    told = {"kind": type(loaded).__name__, "columns": columns, **loaded.get_params()}
    told |= {name: value for name, value in vars(loaded).items() if name.endswith("_")}
    return {name: _bits(value) for name, value in sorted(told.items())}


def _bits(value):
    if isinstance(value, eqx.Module | tuple):  # a network, or the state of what trains it
        return [_bits(leaf) for leaf in jax.tree.leaves(value)]
    return value.tobytes() if hasattr(value, "tobytes") else value


COMMANDS = estimator_commands()


def each_command(names=COMMANDS, slow=()):
    """Return what estimators are called on the command line as parameters of a test."""
    return each_estimator({kind: name for name, kind in COMMANDS.items() if name in names}, slow)


#: Forks children that run a command each: importing takes seconds, and JAX may be forked before it has started.
_SERVER = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import kullback.estimators, kullback.cli._fit_command, pyarrow.csv
from kullback.cli import _fit_method, app
_fit_method.BATCHES = 0  # as in conftest
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        ask = json.loads(line)
        os.chdir(ask["folder"])
        for name, number in (("out", 1), ("err", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(ask["stdin"], os.O_RDONLY), 0)
        sys.stdin = open(0)
        code = 1
        try:
            app(ask["words"])
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout.flush()
            os._exit(code)
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class Server:
    """Starts commands in processes of their own, one after the other."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout.readline() == "ready\n"

    def start(self, folder, *words, stdin="/dev/null"):
        """Start a command in a folder, and return the number of its process."""
        self.folder = folder
        ask = {"folder": str(folder), "words": [str(word) for word in words], "stdin": str(stdin)}
        print(json.dumps(ask), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def wait(self):
        """Return the exit code of the command, negative for a signal, and what it said."""
        code = int(self._process.stdout.readline())
        return code, (self.folder / "out").read_text(), (self.folder / "err").read_text()

    def close(self):
        self._process.communicate(timeout=30)
