"""What was compiled once stays on disk for the next process. It is set up without loading JAX."""

import atexit
import contextlib
import hashlib
import json
import os
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

#: Beyond so many bytes the oldest entries are dropped until a half is left.
MOST_BYTES = 256 * 2**20
#: A folder in which a process has died is not used for so many seconds.
REST = 7 * 24 * 3600

_SUMS, _RUNNING, _RESTING = "sums.json", "running-", "resting"
_SETTINGS = {"jax_persistent_cache_min_entry_size_bytes": -1, "jax_persistent_cache_min_compile_time_secs": 0.0}


def enable_compilation_cache(path: str | os.PathLike[str] | None = None) -> Path:
    """Keep compiled functions on disk, so that the next process need not compile them again; return the folder.

    Call it first: once JAX has loaded, its loader prints a harmless complaint for each function it reads. What is
    stored is code that will run, so the folder must belong to you, and nobody else may write to it. Each entry is
    compared with its checksum before JAX may read it; where a process dies while it uses the folder, the entries are
    dropped and the folder rests for a week. A cache that JAX was already told of is left as it is.

    Parameters
    ----------
    path : path-like or None
        The folder; None is `kullback` in the user's folder for caches (`XDG_CACHE_HOME`, or `~/.cache`).

    Returns
    -------
    Path
        Where this machine's entries are, for the versions of JAX and Python that are running.

    """
    chosen = _chosen_by_user()
    if chosen is not None:
        return Path(chosen)
    if sys.platform != "linux":  # elsewhere threads have so little stack that jaxlib before 0.10 overflows it here
        raise OSError(f"compiled functions cannot be kept on {sys.platform}: with this version of JAX, only on Linux.")
    root = _default_root() if path is None else Path(path).expanduser()
    folder = root / _tag()
    for place in (root, folder):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_private(place)
    _check_rest(folder)
    _drop_unsound(folder)
    _bound(folder)
    marker = folder / f"{_RUNNING}{os.getpid()}"
    marker.touch(mode=0o600)
    atexit.register(_finish, folder, marker, os.getpid())
    _tell_jax(folder)
    return folder


def _chosen_by_user() -> str | None:
    """Return the folder that JAX was told of by somebody else, or by an earlier call."""
    if "jax" in sys.modules:
        found: str | None = sys.modules["jax"].config.jax_compilation_cache_dir
        return found
    return os.environ.get("JAX_COMPILATION_CACHE_DIR")


def _tell_jax(folder: Path) -> None:
    if "jax" in sys.modules:
        config = sys.modules["jax"].config
        for name, value in _SETTINGS.items():
            config.update(name, value)
        config.update("jax_compilation_cache_dir", str(folder))
        return
    for name, setting in _SETTINGS.items():
        os.environ.setdefault(name.upper(), str(setting))
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    # the loader takes hints for tuning for features of the processor, and complains that those are not there
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def _default_root() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "kullback"


def _tag() -> str:
    """Return a name for all that machine code depends on: the compiler, and what the processor can do."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        able = sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
        hashed = hashlib.sha256("\n".join(able).encode()).hexdigest()[:16]
        return f"jaxlib-{version('jaxlib')}-jax-{version('jax')}-{platform.machine()}-{hashed}"
    raise OSError("compiled functions cannot be kept: /proc/cpuinfo does not say what the processor can do.")


def _check_private(place: Path) -> None:
    found = place.lstat()
    if not place.is_dir() or place.is_symlink():
        raise OSError(f"{place} is not a folder: give another one for compiled functions.")
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise OSError(
            f"{place} belongs to somebody else, or others may write to it, and compiled functions are code that runs: "
            f"give a folder of your own, or `chmod go-w` this one."
        )


def _check_rest(folder: Path) -> None:
    """Raise while the folder rests; drop everything, and let it rest, where a process died that was using it."""
    resting = folder / _RESTING
    for marker in folder.glob(f"{_RUNNING}*"):
        if not _is_alive(marker.name.removeprefix(_RUNNING)):
            resting.touch(mode=0o600)
            for entry in (*_entries(folder), marker):
                entry.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if time.time() - resting.stat().st_mtime < REST:
            raise OSError(f"a process that used {folder} has died, so it rests for a week: delete {resting} to use it.")
        resting.unlink(missing_ok=True)


def _is_alive(number: str) -> bool:
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return True
    except (ValueError, OverflowError, OSError):
        return False
    return True


def _entries(folder: Path) -> list[Path]:
    return [place for place in folder.iterdir() if place.name.endswith(("-cache", "-atime"))]


def _sum(entry: Path) -> str:
    return hashlib.sha256(entry.read_bytes()).hexdigest()


def _read_sums(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / _SUMS).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_sums(folder: Path, sums: dict[str, str]) -> None:
    if sums != _read_sums(folder):
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            json.dump(sums, file)
        Path(file.name).replace(folder / _SUMS)


def _drop_unsound(folder: Path) -> None:
    """Drop entries without a checksum, or with another one: damaged, or of a process that has not ended yet."""
    sums = _read_sums(folder)
    for entry in _entries(folder):
        with contextlib.suppress(FileNotFoundError):
            if sums.get(entry.name) != _sum(entry):
                sums.pop(entry.name, None)
                entry.unlink()
    _write_sums(folder, sums)


def _bound(folder: Path) -> None:
    """Drop the oldest entries if there are too many."""
    with contextlib.suppress(FileNotFoundError):
        sized = sorted((entry.stat().st_mtime, entry.stat().st_size, entry) for entry in _entries(folder))
        total = sum(size for _, size, _ in sized)
        if total > MOST_BYTES:
            for _, size, entry in sized:
                entry.unlink(missing_ok=True)
                total -= size
                if total <= MOST_BYTES // 2:
                    return


def _finish(folder: Path, marker: Path, process: int) -> None:
    """Write the checksums of new entries, and say that the process has ended well."""
    if os.getpid() != process:  # a fork of it
        return
    with contextlib.suppress(OSError):
        known = _read_sums(folder)
        sums = {entry.name: known.get(entry.name) or _sum(entry) for entry in _entries(folder)}
        _write_sums(folder, sums)
        marker.unlink(missing_ok=True)
