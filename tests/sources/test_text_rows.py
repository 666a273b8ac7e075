"""Rows of text that are not what they should be: quotes, encodings, lines that are no objects, files of other kinds."""

import csv
import gzip
import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kullback.sources import BadRow, open_source
from kullback.sources import _text as text_file


@pytest.fixture(params=[1 << 20, 24])
def block(request, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", request.param)


def read(text, format="csv", **options):
    """Return all rows of a text, the bad ones left out, and the source."""
    source = open_source(io.BytesIO(text), format=format, skip_bad=True, **options)
    return np.concatenate([np.empty((0, len(source.kinds))), *source]), source


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('3,"x', "the quote that opens field 2 is not closed where the field ends"),
        ('"3,x', "the quote that opens field 1 is not closed where the field ends"),
        ('3,"x""', "the quote that opens field 2 is not closed where the field ends"),
        ('3,"x"y', "the quote that opens field 2 is not closed where the field ends"),
        ('"3"4,x', "the quote that opens field 1 is not closed where the field ends"),
        ("3,x\r4,y", "a carriage return stands where no line ends"),
        ('3,"x"\ry', "a carriage return stands where no line ends"),
    ],
)
def test_a_quote_out_of_place_costs_one_row(tmp_path, block, line, what):
    good = ["1,red", '2,"green"', *(f"{n},blue" for n in range(20))]
    (tmp_path / "x.csv").write_bytes("\n".join(["n,w", *good, line, *good]).encode())
    with pytest.raises(BadRow, match=f"x.csv, line {len(good) + 2}: {what}"):
        list(open_source(tmp_path / "x.csv"))
    source = open_source(tmp_path / "x.csv", skip_bad=True, batch_rows=7)
    table = np.concatenate(list(source))
    assert np.array_equal(table[:, 0], 2 * [1, 2, *range(20)])
    assert source.bad_rows == 1
    assert source.codes == {"w": ["red", "green", "blue"]}


def test_an_unclosed_quote_at_the_end_is_a_bad_row(block):
    for text in (b'a,w\n1,"x\n2,y\n3,z\n', b'a,w\n1,"x\n2,y\n3,z'):
        table, source = read(text)
        assert np.array_equal(table, [[2, 0], [3, 1]])
        assert (source.bad_rows, source.codes) == (1, {"w": ["y", "z"]})
    table, source = read(b'a,w\n1,x\n2,"y')
    assert np.array_equal(table, [[1, 0]])
    assert source.bad_rows == 1


def test_a_quote_that_is_closed_by_that_of_another_row_is_noticed(block):
    table, source = read(b'a,w\n1,"x\n2,"y"\n3,"z"\n4,"x"\n')
    assert np.array_equal(table, [[2, 0], [3, 1], [4, 2]])
    assert source.bad_rows == 1


def test_a_quote_in_a_plain_field_does_not_hide_one_that_opens(block):
    table, source = read(b'w,t\n5" wide,"two\nlines"\n5" wide,"two\nlines"\n')
    assert np.array_equal(table, np.zeros((2, 2)))
    assert source.codes == {"w": ['5" wide'], "t": ["two\nlines"]}


def test_fields_are_those_of_another_reader(block):
    rng, pieces = np.random.default_rng(0), ["x", "red", "", '""', " ", "\n", "\r\n", ",", "q", '"', "é"]
    for _ in range(20):
        rows = [["n", "w"], ["0", "word"]]
        rows += [[str(n), "".join(rng.choice(pieces, rng.integers(4)))] for n in range(1, rng.integers(2, 30))]
        written = io.StringIO(newline="")
        csv.writer(written, lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
        expected = [row[1] for row in csv.reader(io.StringIO(written.getvalue(), newline=""))][1:]
        table, source = read(written.getvalue().encode(), ahead=0)
        assert np.array_equal(table[:, 0], np.arange(len(expected)))
        assert source.codes["w"] == list(dict.fromkeys(filter(None, expected)))
        assert ["" if np.isnan(code) else source.codes["w"][int(code)] for code in table[:, 1]] == expected


def test_blanks_after_a_closing_quote_belong_to_the_field(block):
    table, source = read(b'w,t\n"red"  ,"in\nfour\nfive\nlines"\n"red"  ,"x" \n"red"  ,"never\n1,2\n')
    assert np.array_equal(table, [[0, 0], [0, 1], [1, 2]])
    assert source.codes == {"w": ["red  ", "1"], "t": ["in\nfour\nfive\nlines", "x ", "2"]}
    assert source.bad_rows == 1


def test_fields_may_be_long():
    table, source = read(b'n,t\n1,"' + b"long\n" * 50_000 + b'"\n2,x\n', columns=["n"])
    assert np.array_equal(table, [[1], [2]])
    assert source.bad_rows == 0


def test_a_row_that_never_ends_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 100)
    monkeypatch.setattr(text_file, "LONGEST", 1000)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n" + '3,"' + "4\n" + "5,6\n" * 5000)
    with pytest.raises(BadRow, match="line 3: the quote that opens field 2 is not closed where the field ends"):
        list(open_source(tmp_path / "x.csv"))
    source = open_source(tmp_path / "x.csv", skip_bad=True)
    assert np.array_equal(np.concatenate(list(source)), [[1, 2], *[[5, 6]] * 5000])
    assert source.bad_rows == 1
    (tmp_path / "x.csv").write_text("a,b\n" + "1" * 5000)
    with pytest.raises(ValueError, match="line 2: this row does not end within"):
        list(open_source(tmp_path / "x.csv"))


def test_positions_among_broken_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 32)
    rows = ['{0},"x"', '{0},"x', "{0},y", '{0},"two\nlines"', '{0},"x"y', '{0},5" wide']
    (tmp_path / "x.csv").write_text("n,w\n" + "\n".join(rows[n % 6].format(n) for n in range(90)))
    options = {"skip_bad": True, "batch_rows": 11}
    source = open_source(tmp_path / "x.csv", **options)
    steps = [(batch, source.position) for batch in source]
    assert source.bad_rows == 30
    for place, (_, position) in enumerate(steps):
        again = open_source(tmp_path / "x.csv", **options)
        again.resume(position)
        rest = list(again)
        assert len(rest) == len(steps) - place - 1
        assert all(map(np.array_equal, rest, (batch for batch, _ in steps[place + 1 :])))
        assert (again.bad_rows, again.codes) == (source.bad_rows, source.codes)


def test_a_stream_that_comes_byte_by_byte():
    class Slow(io.RawIOBase):
        def __init__(self, text):
            self.text = text

        def read1(self, size):
            first, self.text = self.text[:1], self.text[1:]
            return first

    text = b'\xef\xbb\xbf"the\nname",w\r\n1,"x ""y"" z"\r\n2,"two\r\nlines"\r\n3,"bad"x\r\n4,"end"'
    source = open_source(Slow(text), format="csv", skip_bad=True)
    assert source.names == ["the\nname", "w"]
    assert np.array_equal(np.concatenate(list(source)), [[1, 0], [2, 1], [4, 2]])
    assert source.codes == {"w": ['x "y" z', "two\r\nlines", "end"]}
    text = b'\xef\xbb\xbf{"a": 1}\n{"a": 2}'
    assert np.array_equal(np.concatenate(list(open_source(Slow(text), format="jsonl"))), [[1], [2]])


@pytest.mark.parametrize(
    "line", ["null", "1", '"x"', "[1]", "true", "null}", "NaN", "{}null", "null{}", '{"n": 1}null']
)
@pytest.mark.parametrize("place", [0, 1, 7])
def test_a_line_that_is_no_object_is_a_bad_row(tmp_path, line, place):
    lines = [f'{{"n": {n}, "w": "x"}}' for n in range(7)]
    lines.insert(place, line)
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(BadRow, match=f"x.jsonl, line {place + 1}: this is not (a )?JSON"):
        list(open_source(tmp_path / "x.jsonl"))
    source = open_source(tmp_path / "x.jsonl", skip_bad=True)
    assert np.array_equal(np.concatenate(list(source))[:, 0], np.arange(7))
    assert source.bad_rows == 1


def test_lines_and_objects_are_told_apart(block):
    for text in (
        b'{"a": 1} {"a": 2}\n{"a":\n3}\n{"a": 4}\n',  # three objects in four lines, and one good line
        b'{"a": 1}{"a": 2}\n{"b": {}\n, "a": 3}\n{"a": 4}\n',
    ):
        table, source = read(text, "jsonl")
        assert np.array_equal(table[:, 0], [4])
        assert source.bad_rows == 3
    table, source = read(b' {"a": 1} \r\n\r\n\t{"a": 2}\r\n\n{"a": 3}', "jsonl")
    assert np.array_equal(table, [[1], [2], [3]])
    assert source.bad_rows == 0


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"a": 2, "w": "\xe9"}', "this is not UTF-8"),
        (b'{"a": 2, "other": "\xff\xfe"}', "this is not UTF-8"),
        (b'{"a": 2, "\\ud800": 1}', r"the key '\\\\ud800' has half a character in it"),
        (b'{"a": 2, "w": "\\udc00"}', r"column 'w' is '\\\\udc00', which is not a text in UTF-8"),
    ],
)
def test_json_lines_that_are_not_utf8(tmp_path, line, what):
    for place in (0, 2):
        lines = [b'{"a": 1, "w": "x"}', b'{"a": 3, "w": "\\u00e9"}']
        lines.insert(place, line)
        (tmp_path / "x.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        with pytest.raises(BadRow, match=f"x.jsonl, line {place + 1}: {what}".replace("\\\\\\\\", r"\\")):
            list(open_source(tmp_path / "x.jsonl"))
        source = open_source(tmp_path / "x.jsonl", skip_bad=True, columns=["a", "w"])
        assert np.array_equal(np.concatenate(list(source)), [[1, 0], [3, 1]])
        assert source.codes == {"w": ["x", "é"]}


def test_a_header_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "x.csv").write_bytes("höhe,b\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"x.csv, line 1: the names of the columns are not UTF-8: save it as UTF-8\."):
        open_source(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text('a,"b\n1,2\n')
    with pytest.raises(
        ValueError,
        match=r"x.csv, line 1: the quote that opens field 2 is not closed where the field ends, and here the",
    ):
        open_source(tmp_path / "x.csv")


def test_files_that_are_no_text_are_called_what_they_are(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "p.csv")
    for name, data, what in [
        ("x.csv", b"a,b\r1,2\r3,4\r", r"x.csv has lines that end in a carriage return alone"),
        ("x.csv", gzip.compress(b"a,b\n1,2\n"), r"x.csv is a gzip file, and not UTF-8 text: let its name end in .gz"),
        ("x.jsonl", gzip.compress(b'{"a": 1}\n'), r"x.jsonl is a gzip file"),
        ("x.csv", (tmp_path / "p.csv").read_bytes(), r"x.csv is a Parquet file, and not UTF-8 text: let its name end"),
        ("x.jsonl", '{"a": 1}\n'.encode("utf-16"), r"x.jsonl is UTF-16 text, and not UTF-8 text: save it as UTF-8"),
        ("x.jsonl", b'[{"a": 1}, {"a": 2}]\n', r"x.jsonl is one JSON array: write one object in each line"),
        ("x.jsonl", b'[\n  {"a": 1},\n  {"a": 2}\n]\n', r"x.jsonl is one JSON array"),
        ("x.jsonl", b'{\n  "a": 1\n}\n', r"x.jsonl, line 1: this is not JSON .*in each line there should be one"),
        ("x.csv", b"a;b\n1;2\n3;4\n", r"x.csv has semicolons between its fields, and not commas"),
        ("x.csv", b"a;b\n1,5;2\n3,5;4,5\n", r"x.csv has semicolons between its fields, and not commas"),
        ("x.csv", b"a\tb\n1\t2\n", r"x.csv has tabs between its fields, and not commas"),
        ("x.tsv", b"a,b\n1,2\n", r"x.tsv has commas between its fields, and not tabs"),
    ]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=what):
            open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["PAR1", "BZh", "ARROW1", "PK", "SQLite format 3"])
def test_names_that_begin_as_other_files_do(tmp_path, name):
    (tmp_path / "x.csv").write_text(f"{name},b\n1,2\n")
    assert open_source(tmp_path / "x.csv").names == [name, "b"]


def test_one_column_of_sentences_is_one_column(tmp_path):
    (tmp_path / "x.tsv").write_text("say\nred, blue\nred\nred, blue\n")
    assert np.array_equal(next(iter(open_source(tmp_path / "x.tsv"))), [[0], [1], [0]])
    (tmp_path / "x.csv").write_text("a;b\n1\n2\n")
    assert open_source(tmp_path / "x.csv").names == ["a;b"]


def test_hostile_json_lines_do_not_end_the_process():
    script = """
import io
from kullback.sources import open_source
good = b'{"a": 1, "w": "x"}\\n'
for line in (b"null", b"null}", b"null,", b"\\xef\\xbb\\xbfnull", b" null", b"[null]", b"{}" * 3, b'{"a": ' * 5000):
    for text in (line + b"\\n" + good * 3, good * 3 + line + b"\\n" + good, good + line):
        source = open_source(io.BytesIO(text), format="jsonl", skip_bad=True, ahead=0)
        print(sum(map(len, source)), source.bad_rows)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == [*["3 1", "4 1", "1 1"] * 8, ""]


def test_empty_lines_alone_are_no_rows(monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 4)
    for format, text in (
        ("csv", b"a\n1\n2\n" + b"\n" * 20 + b"3\n"),
        ("jsonl", b'{"a":1}\n{"a":2}' + b"\n" * 20 + b'{"a":3}'),
    ):
        table, source = read(text, format)
        assert np.array_equal(table, [[1], [2], [3]])
        assert source.bad_rows == 0
