"""Files that lie about themselves: one sentence that names the file, never a crash, and no memory by what they say."""

import io
import random
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kullback.sources import open_source

WORDS = ["red", "green", "blue", "red", "gray", "blue"]


def write_arrow(path, table, chunk=None):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=chunk)


def replaced(path, old, new):
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


def said(path, **options):
    """Return what is wrong with a file, which is one sentence that begins with its name."""
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        list(open_source(path, ahead=0, **options))
    sentence = str(error.value)
    assert sentence.startswith(str(path))
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence.removeprefix(str(path))


@pytest.mark.parametrize("place", [1, 3, 6])
@pytest.mark.parametrize("offset", [-5, 1 << 30])
def test_offsets_of_words_that_lead_outside_an_arrow_file(tmp_path, place, offset):
    path, offsets = tmp_path / "x.arrow", [0, 3, 8, 12, 15, 19, 23]
    write_arrow(path, pa.table({"a": np.arange(6.0), "w": WORDS}))
    wrong = [*offsets[:place], offset, *offsets[place + 1 :]]
    replaced(path, struct.pack("<7i", *offsets), struct.pack("<7i", *wrong))
    assert said(path).startswith(": column 'w' is damaged")
    assert np.array_equal(next(iter(open_source(path, columns=["a"])))[:, 0], np.arange(6))


def test_places_in_a_dictionary_that_has_fewer_words(tmp_path):
    indices = pa.array([0, 1, 2, 3, 2, 1, 0, 3], pa.int32())
    table = pa.table({"w": pa.DictionaryArray.from_arrays(indices, ["red", "green", "blue", "gray"])})
    write_arrow(tmp_path / "x.arrow", table)
    packed = [0, 1, 2, 3, 2, 1, 0, 3]
    replaced(tmp_path / "x.arrow", struct.pack("<8i", *packed), struct.pack("<8i", *packed[:7], 9))
    assert said(tmp_path / "x.arrow").startswith(": column 'w' is damaged")
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), ["red"], safe=False)
    with pytest.raises(ValueError, match=r"^data .*column 'w'"):  # in memory nobody has looked at it before
        list(open_source(pa.table({"w": broken})))


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_words_that_are_no_text(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    write = write_arrow if suffix == "arrow" else lambda path, table: pq.write_table(table, path, compression="none")
    write(path, pa.table({"w": ["gray", "gold", "pink"]}))
    path.write_bytes(path.read_bytes().replace(b"gold", b"g\xfeld"))
    assert "column 'w' is damaged" in said(path)


@pytest.mark.parametrize("suffix", ["arrow", "npy"])
def test_a_file_that_becomes_shorter_while_it_is_read(tmp_path, suffix, monkeypatch):
    path, X = tmp_path / f"x.{suffix}", np.arange(80_000.0)
    if suffix == "npy":
        monkeypatch.setattr("kullback.sources._part.PIECE", 1000)
        np.save(path, X)
    else:
        write_arrow(path, pa.table({"a": X}), 1000)
    batches = iter(open_source(path, batch_rows=1000, ahead=0))
    assert np.array_equal(next(batches)[:, 0], np.arange(1000))
    with open(path, "r+b") as file:
        file.truncate(20_000)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        list(batches)


def refusal(path):
    """Return what is said of a file that cannot be read; None where it can."""
    try:
        source = open_source(path, batch_rows=16, ahead=0, skip_bad=True)
        assert all(not np.isinf(batch).any() for batch in source)
        assert source.rows is None or source.rows >= 0
    except ValueError as error:
        return str(error)


def test_mutated_binary_files_are_read_or_refused_by_name(tmp_path):
    X, chance = np.random.default_rng(0).normal(size=(40, 2)), random.Random(3)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "w": ["red", "green"] * 20})
    files = {suffix: io.BytesIO() for suffix in ("arrow", "arrows", "feather", "parquet", "npy", "npz")}
    for suffix, options in {"arrow": {}, "feather": {"compression": "zstd"}}.items():
        with pa.ipc.new_file(files[suffix], table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table, max_chunksize=13)
    with pa.ipc.new_stream(files["arrows"], table.schema) as writer:
        writer.write_table(table, max_chunksize=13)
    pq.write_table(table, files["parquet"])
    np.save(files["npy"], X)
    np.savez(files["npz"], X=X)
    refusals = 0
    for number in range(240):
        suffix = chance.choice(list(files))
        data = bytearray(files[suffix].getvalue())
        for _ in range(chance.choice([1, 4])):
            place = chance.randrange(len(data))
            data[place : place + 4] = chance.choice([b"\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", bytes([number])])
        path = tmp_path / f"x{number}.{suffix}"
        path.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
        sentence = refusal(path)
        refusals += sentence is not None
        assert sentence is None or (str(path) in sentence and "\n" not in sentence)
    assert 100 < refusals < 240


def npy(shape, data=b"", descr="'<f8'", version=1, header=None):
    text = header or f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


SHAPES = ["(0, 10**12)", "(0, 1000000000000)", "(1, 100000000000)", "(-1, 3)", "(3, -1)", "(9223372036854775807, 9)"]
SHAPES += ["(2.5, 3)", "()", "(1, 1, 1)", "None", "(4, 1)"]
HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1",
    "{" * 3000,
    "a" * 20_000,
    "[1]",
    "{1: 2}",
    "\0",
    "\xff",
]
HEADERS += [
    "{'descr': 'x', 'fortran_order': 2, 'shape': (1,)}",
    "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
]


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_headers_of_arrays_that_cannot_be_believed(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    files = [npy(shape, bytes(24)) for shape in SHAPES]
    files += [npy((1, 3), bytes(24), header=header) for header in HEADERS]
    files += [npy((1, 3), bytes(24), version=version) for version in (0, 4, 9)]
    files += [npy((1, 3), bytes(24), descr) for descr in ("'<c16'", "'S8'", "[('a', '<f8')]", "'<f9999999'")]
    files += [b"", b"\x93NUM", b"\x93NUMPY\x01\x00\xff\xff"]
    for data in files:
        if suffix == "npz":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("X.npy", data)
        else:
            path.write_bytes(data)
        assert len(said(path)) < 300
    for version in (1, 2, 3):
        data = npy((3, 1), np.arange(3.0).tobytes(), version=version)
        path.write_bytes(data)
        if suffix == "npz":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("X.npy", data)
        assert np.array_equal(next(iter(open_source(path))), [[0], [1], [2]])


def test_archives_that_hold_no_array_or_hide_it(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X", npy((3, 1), bytes(24)))
    assert said(path).startswith(" has no arrays")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("y.npy", npy((3, 1), bytes(24)))
    assert len(next(iter(open_source(path)))) == 3  # what is no array beside it does not matter
    np.savez(path, X=np.ones((5, 2)))
    plain = path.read_bytes()
    local, central = plain.index(b"PK\x03\x04"), plain.index(b"PK\x01\x02")
    hidden = bytearray(plain)
    hidden[local + 6] |= 1
    hidden[central + 8] |= 1
    path.write_bytes(hidden)
    assert said(path).startswith(" is encrypted")
    unknown = bytearray(plain)
    unknown[local + 8] = unknown[central + 10] = 97
    path.write_bytes(unknown)
    assert "compression" in said(path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_wide_array_takes_memory_for_the_rows_that_are_there(tmp_path, order):
    X = np.asarray(np.arange(4000.0).reshape(2, 2000), order=order)
    np.save(tmp_path / "x.npy", X)
    tracemalloc.start()
    source = open_source(tmp_path / "x.npy", ahead=0, batch_rows=1_000_000)
    (batch,) = source
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(batch, X)
    assert peak < 100 << 20  # so many rows would be 16 GB


@pytest.mark.parametrize("numbers", [1, 50, 1000])
def test_batches_of_wide_rows_are_those_of_narrow_ones(tmp_path, numbers, monkeypatch):
    X = np.random.default_rng(0).normal(size=(101, 7))
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr("kullback.sources._part.NUMBERS", numbers)
    batches = list(open_source(tmp_path / "x.npy", batch_rows=30))
    assert [len(batch) for batch in batches] == [30, 30, 30, 11]
    assert np.array_equal(np.concatenate(batches), X)
