"""Ways to damage a file. Each takes bytes and a source of chance, and returns other bytes."""

import random
import struct
from collections.abc import Callable

from fuzz import binary_changes, tensors, text_changes
from fuzz.odd import DOUBLES, INTEGERS

Change = Callable[[bytes, random.Random], bytes]


def flipped_bits(data: bytes, rng: random.Random) -> bytes:
    """Turn a few bits around."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def run_of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Write over a few bytes: all the same, or any."""
    place, count = rng.randrange(len(data)), rng.choice((1, 2, 4, 8, 16, 64))
    count = min(count, len(data) - place)
    run = bytes([rng.choice((0, 255, 1, 127, 128, 32))]) * count if rng.random() < 0.5 else rng.randbytes(count)
    return data[:place] + run + data[place + count :]


def truncated(data: bytes, rng: random.Random) -> bytes:
    """Leave the end out, or the beginning."""
    place = rng.choice((rng.randrange(len(data)), max(len(data) - rng.randrange(1, 40), 0)))
    return data[place:] if rng.random() < 0.15 else data[:place]


def moved_piece(data: bytes, rng: random.Random) -> bytes:
    """Repeat a piece, leave it out, or put it elsewhere."""
    first = rng.randrange(len(data))
    last = min(first + rng.choice((1, 3, 8, 16, 50, 200)), len(data))
    what, piece = rng.randrange(3), data[first:last]
    if what == 0:
        return data[:last] + piece * rng.choice((1, 1, 2, 40)) + data[last:]
    rest = data[:first] + data[last:]
    place = rng.randrange(len(rest) + 1)
    return rest if what == 1 else rest[:place] + piece + rest[place:]


def number_inside(data: bytes, rng: random.Random) -> bytes:
    """Write a number at a border over what is there, where numbers usually stand."""
    size = rng.choice((4, 4, 8, 8, 2, 1))
    if len(data) < size:
        return data
    if size == 8 and rng.random() < 0.4:
        new = struct.pack("<d", rng.choice(DOUBLES))
    else:
        new = (rng.choice(INTEGERS) % 256**size).to_bytes(size, "little")
    place = rng.randrange(len(data) // size) * size
    return data[:place] + new + data[place + size :]


def spliced(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Go on with another file somewhere."""
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


_ANY: tuple[tuple[Change, int], ...] = (
    (flipped_bits, 3),
    (run_of_bytes, 2),
    (truncated, 2),
    (moved_piece, 2),
    (number_inside, 3),
)

#: The changes that know a format, by the last suffix of the file, and how many there are for each that does not.
_OWN: dict[str, tuple[Change, float]] = {
    "csv": (text_changes.csv, 2),
    "tsv": (text_changes.csv, 2),
    "jsonl": (text_changes.jsonl, 2),
    "gz": (text_changes.packed, 0.7),
    "zst": (text_changes.packed, 0.7),
    "npy": (binary_changes.npy, 2),
    "npz": (binary_changes.npz, 2),
    "parquet": (binary_changes.parquet, 1),
    "arrow": (binary_changes.arrow, 1.5),
    "arrows": (binary_changes.arrow, 1.5),
    "feather": (binary_changes.arrow, 1.5),
    "safetensors": (tensors.change, 10),
    "ckpt": (tensors.change, 10),
    "run": (tensors.change, 10),
}


def changed(data: bytes, suffix: str, other: bytes | None, rng: random.Random) -> bytes:
    """Return a file that is damaged once or several times, or goes on as another."""
    own, share = _OWN[suffix.rpartition(".")[2]]
    if other is not None:
        return spliced(data, other, rng)
    if rng.random() < share / (1 + share):
        data = own(data, rng)
        if rng.random() < 0.9:
            return data
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not data:
            return data
        data = rng.choices([each for each, _ in _ANY], [weight for _, weight in _ANY])[0](data, rng)
    return data
