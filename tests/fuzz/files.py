"""File number `number` of seed `seed`: always the same bytes, and always asked the same."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cli.helpers import WITH_TARGETS
from fuzz import changes, data_seeds, model_cases, model_seeds

#: One file of so many is whole: it must be accepted.
WHOLE = 40


class Seed(NamedTuple):
    """A file that is whole: what it is called, what its format is called in reports, and what may be done with it."""

    format: str
    suffix: str
    make: Callable[[], bytes]
    uses: tuple[str, ...]


class File(NamedTuple):
    """A file to try: where it comes from, what to do with it, and what must come of it, if that is known."""

    origin: str
    format: str
    suffix: str
    use: str
    data: bytes
    expected: str = ""
    about: str = ""


_FITS = {
    "csv": "fit gaussian-mixture",
    "csv mixed": "fit mixture",
    "csv codes": "fit categorical-mixture",
    "tsv": "fit gaussian-mixture",
    "npy codes": "fit categorical-mixture",
    "arrow codes": "fit categorical-mixture",
    "jsonl mixed": "fit mixture",
}
_TEXT = ("csv", "tsv", "jsonl")


def _data_uses(name: str, suffix: str) -> tuple[str, ...]:
    uses = ["read", "read", "read shuffled", "read skipping", "read coded"]
    if suffix in _TEXT:
        uses += ["read stream", "read pipe", "read named"]
    if name in _FITS:
        uses += [_FITS[name]] * (4 if "codes" in name else 1)
    return tuple(uses)


def _seeds() -> dict[str, Seed]:
    found = {}
    for name, (suffix, make) in data_seeds.DATA.items():
        found[f"data {name}"] = Seed(name.partition(" ")[0], suffix, make, _data_uses(name, suffix))
    asks = ("ask", "learn") * 3 + ("fit anew",) * 5 + ("report", "inspect") * 2
    asks += ("inspect json", "score", "sample", "save")
    for name in model_seeds.MODELS:
        left_out = {"sample"} if "inputs" in name else set()  # the command has none for it
        if name.split()[0] in WITH_TARGETS:  # what is asked of them needs targets or inputs
            left_out = {"sample", "ask", "learn", "fit anew"}
        uses = tuple(use for use in asks if use not in left_out)
        found[f"model {name}"] = Seed("model", "safetensors", lambda name=name: model_seeds.saved_model(name), uses)
    for name in model_seeds.CHECKPOINTS:
        uses = (f"resume {name}",) * 6 + ("inspect",)
        found[f"checkpoint {name}"] = Seed("checkpoint", "ckpt", lambda name=name: model_seeds.checkpoint(name), uses)
    for name in model_seeds.SEARCHES:
        uses = (f"search {name}",)
        found[f"search {name}"] = Seed("search", "run", lambda name=name: model_seeds.run_file(name), uses)
    return found


SEEDS = _seeds()
#: How often each sort of file comes.
_SHARES = {"data": 48, "model": 33, "checkpoint": 15, "search": 4}


class Files:
    """Makes files. What is whole is made once and kept in a folder, for other processes too."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._known: dict[str, bytes] = {}

    def whole(self, name: str) -> bytes:
        """Return a file that is whole."""
        if name not in self._known:
            kept = self._folder / name.replace(" ", "_")
            if not kept.exists():
                made = SEEDS[name].make()
                temporary = kept.with_name(f"{kept.name}.{id(self)}.{random.getrandbits(64)}")
                temporary.write_bytes(made)
                temporary.rename(kept)
            self._known[name] = kept.read_bytes()
        return self._known[name]

    def file(self, seed: int, number: int) -> File:
        """Return one file; those with negative numbers are the cases, which are the same for every seed."""
        if number < 0:
            name = model_cases.NAMES[-1 - number]
            case = model_cases.CASES[name]
            return File(case.origin, "case", case.suffix, case.use, case.make(self.whole), case.expected, name)
        rng = random.Random(f"{seed} {number}")
        name = _chosen(rng)
        told = SEEDS[name]
        data, whole, use = self.whole(name), rng.randrange(WHOLE) == 0, rng.choice(told.uses)
        if not whole:
            alike = [other for other in SEEDS if SEEDS[other].suffix == told.suffix]
            other = self.whole(rng.choice(alike)) if rng.random() < 0.03 else None
            data = changes.changed(data, told.suffix, other, rng)
        return File(name, told.format, told.suffix, use, data, "accepted" if whole else "")


def format_of(seed: int, number: int) -> str:
    """Return the format of a file without making it."""
    return "case" if number < 0 else SEEDS[_chosen(random.Random(f"{seed} {number}"))].format


def _chosen(rng: random.Random) -> str:
    """Return the name of a seed."""
    sort = rng.choices(list(_SHARES), list(_SHARES.values()))[0]
    return rng.choice([name for name in SEEDS if name.startswith(f"{sort} ")])
