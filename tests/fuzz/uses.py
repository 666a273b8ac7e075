"""What is done with a file, and what may come of it: a refusal in one sentence, or answers that are numbers."""

import contextlib
import functools
import gzip
import io
import json
import os
import re
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cli.helpers import size_of
from fuzz import data_seeds, model_seeds
from fuzz.files import File
from kullback import estimators, sources
from kullback.cli._group import error_sentence

#: Characters of a line: what the command allows itself, for names of files and columns may be long, and its name.
LONGEST = 1010
#: Bytes that this process may need for any file, and for each byte of it: pyarrow takes some kilobytes for a column,
#: and a compressed header of many columns is a fifth as long.
MEMORY, TIMES, PACKED = 400 << 20, 1000, 5
#: Seconds until a pipe that is opened once more gets its end.
PATIENCE = 20.0
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Outcome(NamedTuple):
    """What came of a file: `refused`, `accepted`, or the name of a failure, and what was said."""

    name: str
    said: str = ""

    @property
    def fails(self) -> bool:
        """Whether this should not have happened."""
        return self.name not in ("refused", "accepted")


class Wrong(AssertionError):  # noqa: N818 - it is what the answer is
    """An answer that is none; the first word is what the failure is called."""


def tried(file: File, path: Path) -> Outcome:
    """Do with a file, which is at this path, what is to be done with it, and see how much memory it takes."""
    before = _most_held(anew=True)
    outcome = _tried(file, path)
    taken = _most_held() - before
    size = len(file.data) * (PACKED if file.suffix.endswith(("gz", "zst")) else 1)
    if not outcome.fails and taken > MEMORY + TIMES * size:
        return Outcome("memory", f"{taken >> 20:,} MB were needed, and it was {outcome.name}: {outcome.said}")
    return outcome


def _most_held(anew: bool = False) -> int:
    """Return the most bytes that this process has held, or those it holds, from which on the most is counted."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    told = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(told.partition("VmHWM:")[2].split()[0]) << 10


def _tried(file: File, path: Path) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _use(file.use)(path, file)
    except Wrong as wrong:
        name, _, said = str(wrong).partition(": ")
        return Outcome(name, said)
    except MemoryError as error:
        return Outcome("memory", repr(error)[:LONGEST])
    except Exception as error:
        return _expected(_refused(error), file)
    return _expected(Outcome("accepted"), file)


def _expected(outcome: Outcome, file: File) -> Outcome:
    """Return what came of a file, or that something else should have come of it."""
    if outcome.fails or file.expected in ("", outcome.name):
        return outcome
    return Outcome("unexpected", f"{file.about or 'a whole file'} was {outcome.name}: {outcome.said}")


def _refused(error: Exception) -> Outcome:
    sentence = error_sentence(error)
    if sentence is None or type(error).__module__.startswith("pyarrow"):  # a sentence of ours says which file it is
        import traceback

        frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[-4:]]
        return Outcome("traceback", f"{type(error).__name__}: {str(error)[:LONGEST]!r} {' '.join(frames)}")
    return _said(sentence)


def _said(sentence: str) -> Outcome:
    """Return a refusal, if it is one line of a readable length."""
    if "\n" in sentence.strip() or len(sentence) > LONGEST or not sentence.strip():
        return Outcome("message", f"{len(sentence)} characters: {sentence[:LONGEST]!r}")
    return Outcome("refused", sentence)


def _use(use: str) -> Callable[[Path, File], None]:
    first, _, rest = use.partition(" ")
    if first == "read":
        return lambda path, file: _read(path, file, rest)
    if use == "fit anew":
        return _fit_anew
    if first in ("fit", "resume", "search"):
        return lambda path, file: {"fit": _fit, "resume": _resume, "search": _search}[first](path, rest, file)
    return {"ask": _ask, "learn": _learn, "save": _save, "plateau": _plateau}.get(first) or (
        lambda path, file: _command(path, file, use)
    )


# data


def _read(path: Path, file: File, how: str) -> None:
    """Read everything; go on from a place in the middle, and read the same again."""
    options: dict[str, Any] = {"ahead": 0 if len(file.data) % 2 else 2}
    options["batch_rows"] = 16 if len(file.data) < 100_000 else 4096
    if how == "shuffled":
        options |= {"shuffle": 20, "seed": 1}
    elif how == "skipping":
        options |= {"skip_bad": True, "max_bad": 10}
    elif how == "coded":
        options |= {"codes": {"w": data_seeds.WORDS} if file.origin.removeprefix("data ") in data_seeds.WORDY else {}}
    if how in ("stream", "pipe", "named"):
        if how == "named":
            _alike(*(functools.partial(_flowed, file, way, options) for way in ("named", "stream")))
        else:
            _flowed(file, how, options)
        return
    if how == "table":  # nobody has validated it
        with pa.ipc.open_file(path) as opened:
            _batches(sources.open_source(opened.read_all(), **options))
        return
    plain = _unpacked(file)
    if plain is not None:
        Path("plain").write_bytes(plain)
        kind = file.suffix.partition(".")[0]
        _alike(
            lambda: _batches(sources.open_source(path, **options))[0],
            lambda: _batches(sources.open_source("plain", format=kind, **options))[0],
        )
    source = sources.open_source(path, **options)
    rows, places = _batches(source)
    if file.expected and not file.about and sum(map(len, rows)) != data_seeds.ROWS:
        raise Wrong(f"wrong: {sum(map(len, rows))} rows were read of {data_seeds.ROWS}")
    if len(rows) > 1:
        again = sources.open_source(path, **options)
        again.resume(json.loads(json.dumps(places[0])))
        after, _ = _batches(again)
        if not np.array_equal(np.concatenate(rows[1:]), np.concatenate(after or [rows[0][:0]]), equal_nan=True):
            raise Wrong("wrong: reading that goes on in the middle gave other rows")


def _flowed(file: File, how: str, options: dict[str, Any]) -> list[np.ndarray]:
    with _streamed(file.data, how) as stream:
        return _batches(sources.open_source(stream, format=file.suffix, **options))[0]


def _unpacked(file: File) -> bytes | None:
    """Return the text of a file that is compressed; None where it is not, or cannot be had."""
    if not file.suffix.endswith((".gz", ".zst")):
        return None
    try:
        if file.suffix.endswith(".gz"):
            return gzip.decompress(file.data)
        return bytes(pa.CompressedInputStream(pa.BufferReader(file.data), "zstd").read())
    except (OSError, EOFError, zlib.error):
        return None


def _alike(one: Callable[[], list[np.ndarray]], other: Callable[[], list[np.ndarray]]) -> None:
    """Read the same in two ways: both give the same rows, or both refuse."""
    found: list[Any] = []
    for way in (one, other):
        try:
            found.append(np.concatenate(way() or [np.zeros((0, 0))]))
        except (ValueError, OSError) as error:
            found.append(error)
    refused = [isinstance(each, Exception) for each in found]
    if refused[0] != refused[1]:
        raise Wrong(f"wrong: reading in one way gave rows, and in another {found[refused.index(True)]}")
    if refused[0]:
        raise found[0]
    if not np.array_equal(*found, equal_nan=True):
        raise Wrong("wrong: reading in two ways gave different rows")


def _batches(source: Any) -> tuple[list[np.ndarray], list[Any]]:
    rows, places = [], []
    for batch in source:
        if np.isinf(batch).any() or batch.dtype != np.float64 or batch.ndim != 2:
            raise Wrong(f"not finite: a batch of {batch.dtype} {batch.shape} has infinite entries")
        rows.append(np.array(batch))
        places.append(source.position)
    for words in source.codes.values():
        "".join(words).encode()
    for name in source.names or ():
        name.encode()
    return rows, places


@contextlib.contextmanager
def _streamed(data: bytes, how: str) -> Iterator[Any]:
    """Yield something that cannot be gone back in: an open file, a pipe, or the name of one."""
    if how == "stream":
        yield io.BytesIO(data)
        return
    if how == "named":
        os.mkfifo("named")
        writer = threading.Thread(target=_poured, args=("named", data), daemon=True)
        writer.start()
        late = threading.Timer(PATIENCE, lambda: os.close(os.open("named", os.O_RDWR | os.O_NONBLOCK)))
        late.start()
        try:
            yield Path("named")
        finally:
            late.cancel()
            with contextlib.suppress(OSError):  # whoever still waits for a reader gets one
                os.close(os.open("named", os.O_RDONLY | os.O_NONBLOCK))
            writer.join(10)
            os.unlink("named")
        return
    end, other = os.pipe()
    writer = threading.Thread(target=_poured, args=(other, data), daemon=True)
    writer.start()
    with os.fdopen(end, "rb") as pipe:
        yield pipe
    writer.join(10)


def _poured(end: Any, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(end, "wb") as pipe:
        pipe.write(data)


def _fit(path: Path, kind: str, file: File) -> None:
    """Fit a small model with the command, and look at it."""
    words: list[Any] = [kind, path, *size_of(kind, 2)]
    if kind == "mixture":
        words += ["--family", "gaussian,categorical,bernoulli"]
    save = Path("fitted.safetensors")
    save.unlink(missing_ok=True)
    _ran(file, *model_seeds.fit_words(words, str(save)), "--quiet")
    _saved(save)
    _ran(file, "inspect", save)


# models


def _rows(estimator: Any) -> np.ndarray:
    """Return rows that most models of this width can be asked about; of few shapes, so that little is compiled."""
    kind, width = type(estimator).__name__, int(estimator.n_features_in_)
    if width > 1000:
        raise ValueError(f"{width} columns are more than are asked about.")
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (8, width)).astype(float)
    return X if kind not in ("GaussianMixture", "GaussianHMM", "LinearDynamicalSystem") else X * 1.5 - 1


def _inputs(estimator: Any) -> dict[str, np.ndarray]:
    effect = getattr(estimator, "input_transition_", getattr(estimator, "input_observation_", None))
    return {} if effect is None else {"inputs": np.ones((8, effect.shape[1]))}


def _ask(path: Path, file: File) -> None:
    """Load a model, and ask it two things."""
    estimator = estimators.load(path)
    asked = ("score", "score_samples", "predict", "predict_proba", "transform", "impute", "sample")
    known = [name for name in asked if hasattr(estimator, name)]
    first = sum(file.data) % len(known)
    for name in dict.fromkeys((known[first], known[(first + 1) % len(known)])):
        _asked(estimator, name)


def _asked(estimator: Any, name: str) -> None:
    X = _rows(estimator)
    if name == "impute":
        X[0, 0] = np.nan
    found = getattr(estimator, name)(8 if name == "sample" else X, **_inputs(estimator))
    found = found if isinstance(found, tuple) else (found,)
    for array in found:
        _number(f"{name} of {type(estimator).__name__}", array, least="score" in name)
    if name == "predict_proba" and not np.allclose(np.sum(found[0], axis=-1), 1):
        raise Wrong("wrong: probabilities do not sum to 1")


def _learn(path: Path, file: File) -> None:
    """Load a model, let it learn, and ask it."""
    estimator = estimators.load(path)
    estimator.partial_fit(_rows(estimator), **_inputs(estimator))
    _finite(vars(estimator))
    _asked(estimator, "score")


def _fit_anew(path: Path, file: File) -> None:
    """Load a model, and fit it to other rows in a few steps, as its parameters say."""
    estimator = estimators.load(path)
    few = {"max_iter": 2, "n_iter": 2, "n_init": 1, "verbose": 0}
    estimator.set_params(**{name: value for name, value in few.items() if name in estimator.get_params()})
    estimator.fit(_rows(estimator), **_inputs(estimator))
    _finite(vars(estimator))


def _save(path: Path, file: File) -> None:
    """Load a model, and save it twice: the same, both times."""
    estimator = estimators.load(path)
    estimator.save("first.safetensors")
    _saved(Path("first.safetensors"))
    estimators.load("first.safetensors").save("second.safetensors")
    if Path("first.safetensors").read_bytes() != Path("second.safetensors").read_bytes():
        raise Wrong("wrong: what was saved twice has other bytes")


def _number(what: str, array: Any, least: bool = False) -> None:
    """Raise unless all entries are finite; where `least`, −∞ is an answer too: this cannot be."""
    array = np.asarray(array)
    if array.dtype.kind == "f" and not (np.isfinite(array) | (least & (array == -np.inf))).all():
        raise Wrong(f"not finite: {what} is {array.ravel()[:8]}")


def _saved(path: Path) -> None:
    """Raise unless what was saved is a model of finite numbers."""
    try:
        _finite(vars(estimators.load(path)))
    except ValueError as error:
        raise Wrong(f"wrong: what was saved cannot be loaded: {error}") from None


def _finite(attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        if name.endswith("_") and name != "waiting_" and isinstance(value, (np.ndarray, float)):
            _number(name, value, least=name.startswith("lower_bound"))


# the command


def _ran(file: File, *words: Any) -> str:
    """Run the command; what it refuses, it says in lines of its own. Return what it wrote."""
    result = model_seeds.command(*words)
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        if isinstance(error, (ValueError, OSError)):
            raise Wrong(f"traceback: {type(error).__name__}: {error}")
        raise error
    for line in result.stderr.splitlines():
        if not line.startswith("kullback: ") or len(line) > LONGEST:
            raise Wrong(f"message: {len(line)} characters: {line[:LONGEST]!r}")
    is_table = words[0] in ("sample", "score")  # which is data where it goes to no terminal, as here
    if _CONTROLS.search(result.stderr if is_table else result.stdout + result.stderr):
        raise Wrong("wrong: control characters reached the terminal")
    if result.exit_code != 0:
        lines = result.stderr.splitlines()
        raise ValueError(lines[-1] if lines else f"exit code {result.exit_code} without a word")
    return result.stdout


def _command(path: Path, file: File, use: str) -> None:
    """Ask a model something with the command."""
    name, _, how = use.partition(" ")
    words: list[Any] = [name, path]
    if name == "score":
        table = Path("questions.csv")
        table.write_bytes(_questions(file.origin.partition(" ")[2]))
        words += [table, "--quiet"]
    elif name == "sample":
        words += ["-n", 3]
    elif name == "report":
        words += ["--output", "page.html"]
    elif how == "json":
        words += ["--json"]
    _ran(file, *words)


def _questions(name: str) -> bytes:
    """Return some of the rows that a model was fitted to."""
    return b"\n".join(Path(model_seeds.MODELS[name][1]).read_bytes().split(b"\n")[:9]) + b"\n"


def _resume(path: Path, name: str, file: File) -> None:
    """Go on from a checkpoint with the command it belongs to."""
    path.write_bytes(file.data.replace(model_seeds.ELSEWHERE, os.fsencode(Path.cwd())))
    save = Path("resumed.safetensors")
    save.unlink(missing_ok=True)
    told = _ran(file, *model_seeds.resume_words(name, str(path)))
    rows = json.loads(told.splitlines()[-1])["rows"]
    if not 0 <= rows <= 400:
        raise Wrong(f"wrong: {rows} rows were learned from")
    _saved(save)


def _search(path: Path, name: str, file: File) -> None:
    """Go on with a search."""
    found = model_seeds.SEARCHES[name](path)
    _number("x", found.x)
    if not np.isfinite(found.fun):
        raise Wrong(f"not finite: the best value is {found.fun}")


def _plateau(path: Path, file: File) -> None:
    """Rank many points that are all as good: it takes little time and memory."""
    from kullback import minimize

    options = {"budget": 20_000, "population": 20_000, "vectorized": True, "restarts": None}
    _number("x", minimize(lambda X: np.zeros(len(X)), [1.0, 2.0], **options).x)
