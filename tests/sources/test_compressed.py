"""Compressed text: read as what it is when it is not, from every position, in little memory; or refused."""

import gzip
import subprocess
import sys

import numpy as np
import pytest

from kullback.sources import _text as text_file
from kullback.sources import open_source
from sources.writing import csv_bytes, jsonl_bytes, rows, zstd_bytes

X = rows()
PACKERS = {"gz": gzip.compress, "zst": zstd_bytes}


@pytest.mark.parametrize("suffix", ["csv.zst", "tsv.zst", "jsonl.zst", "ndjson.zst", "CSV.ZST", "csv.GZ"])
def test_all_suffixes(tmp_path, suffix):
    text = jsonl_bytes(X) if "json" in suffix else csv_bytes(X)
    text = text.replace(b",", b"\t") if suffix.startswith("tsv") else text
    (tmp_path / f"x.{suffix}").write_bytes(PACKERS[suffix[-3:].lower().strip(".")](text))
    for data in (tmp_path / f"x.{suffix}", tmp_path):
        assert np.array_equal(np.concatenate(list(open_source(data))), X, equal_nan=True)


@pytest.mark.parametrize("packer", PACKERS)
def test_texts_that_were_compressed_one_after_the_other(tmp_path, packer, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 1000)
    text, path = csv_bytes(X), tmp_path / f"x.csv.{packer}"
    path.write_bytes(b"".join(PACKERS[packer](part) for part in (text[:5000], text[5000:], b"", b"")))
    source = open_source(path, batch_rows=40)
    steps = [(batch, source.position) for batch in source]
    assert np.array_equal(np.concatenate([batch for batch, _ in steps]), X, equal_nan=True)
    for place, (_, position) in enumerate(steps[:-1]):
        again = open_source(path, batch_rows=40)
        again.resume(position)
        assert np.array_equal(next(iter(again)), steps[place + 1][0], equal_nan=True)


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("damage", ["cut", "turned", "plain", "more"])
def test_damaged_ones_are_refused_by_name(tmp_path, packer, damage):
    packed, path = bytearray(PACKERS[packer](csv_bytes(X))), tmp_path / f"x.csv.{packer}"
    if damage == "turned":
        packed[2] ^= 0xFF
    path.write_bytes({"cut": packed[:-20], "plain": csv_bytes(X), "more": packed + b"more"}.get(damage, packed))
    with pytest.raises(ValueError, match=rf"x.csv.{packer} is damaged: .+\.$"):
        list(open_source(path))


MEMORY = """
import resource, sys
import pyarrow as pa, pyarrow.csv
from kullback.sources import open_source
with pa.CompressedOutputStream(pa.OSFile("x.csv.zst", "wb"), "zstd") as writer:
    writer.write(b"a,b\\n")
    for _ in range(200):
        writer.write(b"1.25,2.5\\n" * 100_000)
source = open_source("x.csv.zst", batch_rows=65_536)
batches = iter(source)
next(batches)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for batch in batches:
    position = position if "position" in globals() and len(batch) < 65_536 else source.position
again = open_source("x.csv.zst", batch_rows=65_536)
again.resume(position)
print(sum(map(len, again)), source.position["done"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_a_text_of_180_megabytes_takes_the_memory_of_a_block(tmp_path):
    command = [sys.executable, "-c", MEMORY]
    ran = subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, text=True)
    left, rows, kilobytes = map(int, ran.stdout.split())
    assert left == rows % 65_536
    assert rows == 20_000_000
    assert kilobytes < 60_000
