"""Damage that knows what text looks like: fields, lines, quotes, encodings."""

import gzip
import json
import random
import zlib

import pyarrow as pa

from fuzz.odd import ESCAPES, FIELDS, NUMBERS

#: Lines that are no objects, and objects that are no rows.
_LINES = (
    b"null", b"null}", b"1", b'"x"', b"true", b"[]", b"[1]", b"[null]", b"{}", b"{", b"}", b"", b"   ", b"{}{}", b"nul",
    b'{"a": null}', b'{"a": [1]}', b'{"a": {"b": 1}}', b'{"a": "x"}', b'{"a": 1e999}', b'{"a": NaN}', 
    b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a": 1, "a": 2}', b'{"a": "\\ud800"}', b'{"\\ud800": 1}',
    b'{"a": "h\xf6he"}',
    b'{"h\xf6he": 1}',
    b'{"a": 1} x', b"{'a': 1}", b'{"a": 1,}', b'{"a": 123456789012345678901234567890}', b'{"a": "2020-01-01"}',
    b'{"a": true}', b'{"": 1}', b'{"a": 1}{"a": 2}', b'{"a": 1} {"a": 2}', b"\xef\xbb\xbf{}", b"\x00", b"#",
    b"null null",
    b'{"a": "\\u0000"}', b'{"a": 0x10}', b'{"a": 01}', b'{"a": 1e-400}', b"[" * 5000, b'{"a":' * 3000, b"\xff\xfe",
)  # fmt: skip

#: What pyarrow takes for a row, or does not survive.
_NULLS = (b"null", b"null}", b"null null", b" null")


def csv(data: bytes, rng: random.Random) -> bytes:
    """Change fields, quotes, lines or the encoding of a table."""
    comma = b"\t" if b"\t" in data else b","
    whats = {"field": 6, "number": 2, "quote": 3, "line": 3, "name": 3, "whole": 2, "wide": 0.7}
    what = rng.choices(list(whats), list(whats.values()))[0]
    lines = data.split(b"\n")
    if what in ("field", "number"):
        for _ in range(rng.choice((1, 1, 2, 5))):
            row = rng.randrange(len(lines))
            fields = lines[row].split(comma)
            fields[rng.randrange(len(fields))] = rng.choice(FIELDS if what == "field" else NUMBERS)
            lines[row] = comma.join(fields)
    elif what == "quote":
        place = rng.randrange(len(data) + 1)
        return data[:place] + rng.choice((b'"', b'""', b'"\n', b'\n"', b',"', b'",')) + data[place:]
    elif what == "line":
        _line(lines, rng)
    elif what == "name":
        names = lines[0].split(comma)
        escapes = [rng.choice(ESCAPES).encode() for _ in range(2)]
        odd = (b"", names[0], *escapes, b"h\xf6he", b'"x\ny"', b"1", b"\xff", b"a b")
        names[rng.randrange(len(names))] = rng.choice(odd)
        lines[0] = comma.join(names)
    elif what == "wide":
        return _wide(comma, rng)
    else:
        return _whole(data, rng)
    return b"\n".join(lines)


def _line(lines: list[bytes], rng: random.Random) -> None:
    """Change lines as a whole."""
    row, what = rng.randrange(len(lines)), rng.randrange(7)
    if what == 0:
        lines[row] = b""
    elif what == 1:
        lines[row] += rng.choice((b",1", b"\t1", b",", b"\r", b"\r\r", b"\x00", b"\x1a"))
    elif what == 2:
        lines[row] = lines[row].rpartition(b",")[0]
    elif what == 3:
        lines.insert(row, rng.choice(lines))
    elif what == 4:
        del lines[row]
    elif what == 5:
        lines[row] = b"x" * rng.choice((100, 200_000))
    else:
        lines[1:] = []


def _whole(data: bytes, rng: random.Random) -> bytes:
    """Write everything in another way."""
    text = data.decode(errors="replace")
    return rng.choice(
        (
            data.replace(b"\n", b"\r"),
            data.replace(b"\n", b"\r\n"),
            data.replace(b",", b";"),
            data.replace(b".", b","),
            text.encode("utf-16"),
            text.encode("latin-1", errors="replace"),
            b"\xef\xbb\xbf" + data,
            data.rstrip(b"\n"),
            b"\n" + data,
            gzip.compress(data, mtime=0),
            data * 3,
            b"[" + data + b"]",
        )
    )


def _wide(comma: bytes, rng: random.Random) -> bytes:
    """Return a table of many columns, sometimes with a name that comes twice."""
    count = 45_000
    names = [b"c%d" % place for place in range(count)]
    if rng.random() < 0.5:
        names[-1] = names[-rng.randrange(2, 100)]
    row = comma.join([b"1"] * count)
    return comma.join(names) + b"\n" + row + b"\n" + row + b"\n"


def jsonl(data: bytes, rng: random.Random) -> bytes:
    """Change lines, keys or values."""
    lines = data.split(b"\n")
    what = rng.choices(("line", "entry", "key", "whole"), (6, 4, 1, 1))[0]
    if what == "line":
        for _ in range(rng.choice((1, 1, 2))):
            odd = _NULLS if rng.random() < 0.2 else _LINES
            lines[rng.choice((0, rng.randrange(len(lines))))] = rng.choice(odd)
    elif what == "whole":
        return _whole(data, rng)
    else:
        row = rng.randrange(len(lines))
        told = json.loads(lines[row] or b'{"a": 1}')
        key = rng.choice(list(told) or ["a"])
        if what == "entry":
            told[key] = rng.choice(
                (None, True, "x", "1", "", 1e308, 10**30, [], {}, [1], "2020-01-01", "1,5", "é", 1e9)
            )
        else:
            told[rng.choice(("", "A", "é", "\x1b[1m", "k" * 500))] = told.get(key)
        lines[row] = json.dumps(told).encode()
    return b"\n".join(lines)


def packed(data: bytes, rng: random.Random) -> bytes:
    """Change what is compressed, and compress it again."""
    if data[:2] == b"\x1f\x8b":
        text = zlib.decompress(data, wbits=31)
        changed = (jsonl if text.startswith(b"{") else csv)(text, rng)
        twice = rng.random() < 0.1
        return gzip.compress(gzip.compress(changed, mtime=0) if twice else changed, mtime=0)
    text = bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read())
    changed = (jsonl if text.startswith(b"{") else csv)(text, rng)
    return pa.compress(changed, codec="zstd", asbytes=True)
