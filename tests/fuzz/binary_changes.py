"""Damage that knows where the sizes and offsets of binary formats are."""

import io
import random
import struct
import zipfile

from fuzz import data_seeds
from fuzz.odd import INTEGERS

_SHAPES = (
    "(0, 1000000000000)", "(1, 100000000000)", "(100000000000, 1)", "(-1, 3)", "(48, -3)", "(3, 48)", "(48,)",
    "()", "(0, 3)", "(48, 0)",
    "(2, 12, 6)", "(48, 3", "48, 3)", "(48.5, 3)", "('a', 3)", "(True, 3)", "(9223372036854775808, 3)", "(48, 3,)",
    "[48, 3]", "(144, 1)", "(1, 144)", "(49, 3)", "(47, 3)", "(2, 300000)", "(4611686018427387904, 4)", "None", "",
)  # fmt: skip
_TYPES = (
    "'<f8'", "'>f8'", "'<f4'", "'<i8'", "'|b1'", "'|O'", "'<U5'", "'<m8[s]'", "'<c16'", "'<f16'", "'|V8'", "'|S8'",
    "''", "'x'", "None", "[('a', '<f8')]", "__import__('os').abort()", "'<f8", "8", "'<u1'", "'<f2'",
)  # fmt: skip
_MARKS = (
    "", "(", ")", "'", '"""', "{", "}", "\\", "\n", "\x00", "é", "#", "=", "lambda: 0", "(" * 300, "9" * 5000, "-",
)  # fmt: skip
_MEMBERS = ("X", "", "X.npy.npy", "X.txt", "../X.npy", "dir/", "é.npy", ".npy", "x:y.npy", "\x1b[1m.npy", "n" * 500)


def npy(data: bytes, rng: random.Random) -> bytes:
    """Change the text of the header, its size or its version, or the numbers."""
    (size,) = struct.unpack("<H", data[8:10])
    text, body = data[10 : 10 + size].decode("latin-1"), data[10 + size :]
    whats = {"shape": 6, "type": 3, "order": 1, "text": 3, "size": 1, "version": 1, "numbers": 4, "wide": 0.5}
    what = rng.choices(list(whats), list(whats.values()))[0]
    if what == "shape":
        text = text.partition("'shape':")[0] + f"'shape': {rng.choice(_SHAPES)}, }}"
    elif what == "type":
        text = "{'descr': " + rng.choice(_TYPES) + text[text.index(", 'fortran_order'") :]
    elif what == "order":
        text = text.replace(rng.choice(("False", "True")), rng.choice(("True", "False", "1", "None", "x")))
    elif what == "text":
        place = rng.randrange(len(text.rstrip()))
        text = text[:place] + rng.choice(_MARKS) + text[place + rng.randrange(3) :]
    elif what == "version":
        return data[:6] + bytes([rng.choice((0, 1, 2, 3, 9)), rng.choice((0, 0, 1))]) + data[8:]
    elif what == "size":
        return data[:8] + struct.pack("<H", rng.choice((0, 1, size - 1, size + 1, size + 8, 65535))) + data[10:]
    elif what == "wide":
        text, body = text.partition("'shape':")[0] + "'shape': (2, 300000), }", bytes(8 * 600_000)
    else:
        place = rng.randrange(len(body) // 8) * 8
        number = struct.pack("<d", rng.choice((float("inf"), -float("inf"), 1e308, 1e9, 1e19, 5e-324, -1.0, 0.5)))
        whole = struct.pack("<q", rng.choice((-1, 10**9, 2**62, -(2**63), 4, 99_999)))
        body = body[:place] + rng.choice((number, whole)) + body[place + 8 :]
    text = text.rstrip()
    text += " " * (-(len(text) + 11) % 64) + "\n"
    told = text.encode("latin-1", errors="replace")
    return data[:8] + struct.pack("<H", min(len(told), 65535)) + told + body


def npz(data: bytes, rng: random.Random) -> bytes:
    """Change what is in the archive, or what its directory says."""
    what = rng.choices(("array", "name", "encrypted", "directory", "second", "end"), (5, 6, 3, 3, 1, 1))[0]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = archive.read(archive.namelist()[0])
    deflated = rng.random() < 0.5
    if what == "array":
        return data_seeds.npz("X.npy", npy(content, rng), deflated)
    if what == "name":
        return data_seeds.npz(rng.choice(_MEMBERS), content, deflated)
    if what == "second":
        stream = io.BytesIO(data)
        with zipfile.ZipFile(stream, "a") as archive:
            archive.writestr(zipfile.ZipInfo(rng.choice(("Y.npy", "Z", "W.npy"))), content)
        return stream.getvalue()
    changed, central, end = bytearray(data), data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x05\x06")
    if what == "encrypted":
        changed[6] |= 1
        changed[central + 8] |= 1
    else:
        # version, flags, method, check sum, sizes, lengths of names, offsets, and the counts and offsets of the end
        local = ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))
        listed = ((6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4))
        last = ((4, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))
        start, places = rng.choice(((0, local), (central, listed))) if what == "directory" else (end, last)
        place, size = rng.choice(places)
        changed[start + place : start + place + size] = (rng.choice(INTEGERS) % 256**size).to_bytes(size, "little")
    return bytes(changed)


def parquet(data: bytes, rng: random.Random) -> bytes:
    """Change what the end of the file says of its pages, or the beginning of a page."""
    (size,) = struct.unpack("<I", data[-8:-4])
    footer = len(data) - 8 - size
    changed, what = bytearray(data), rng.randrange(4)
    if what == 0:
        changed[-8:-4] = struct.pack("<I", rng.choice((0, 1, size - 1, size + 1, len(data), 2**31, 2**32 - 1)))
    else:
        first, last = (footer, len(data) - 8) if what < 3 else (4, footer)
        for _ in range(rng.choice((1, 1, 2, 4))):
            place = rng.randrange(first, last)
            old = changed[place]
            changed[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, old ^ 1, (old + 2) % 256, rng.randrange(256)))
    return bytes(changed)


def arrow(data: bytes, rng: random.Random) -> bytes:
    """Change words of four or eight bytes: offsets, lengths and indices stand at such places."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        size = rng.choice((4, 4, 8))
        place = rng.randrange(len(data) // size) * size
        old = int.from_bytes(data[place : place + size], "little")
        new = rng.choice((old + 1, old - 1, old + 8, old * 2, -old, old + 256, *INTEGERS))
        changed[place : place + size] = (new % 256**size).to_bytes(size, "little")
    return bytes(changed)
