"""A column that tells sequences apart: any number of words, none of them kept."""

import numpy as np
import pytest

from kullback.sources import open_source


@pytest.fixture
def path(tmp_path):
    """Write 12,000 sequences of one or two rows: more words than a column of categories may have."""
    rows = [f"run {place // 2},{place},{'uv'[place % 2]}" for place in range(24_000)]
    file = tmp_path / "data.csv"
    file.write_text("\n".join(["run,x,kind", *rows]) + "\n")
    return file


def test_words_are_told_apart_and_forgotten(path):
    source = open_source(path, sequence="run", batch_rows=5000)
    table = np.concatenate(list(source))
    same = table[1:, 0] == table[:-1, 0]
    np.testing.assert_array_equal(same, np.arange(23_999) % 2 == 0)
    assert len(np.unique(table[:, 0])) == 12_000
    assert source.codes == {"kind": ["u", "v"]}
    np.testing.assert_array_equal(table[:, 1], np.arange(24_000))


def test_a_word_is_the_same_in_all_files_and_with_known_codes(path):
    first = next(iter(open_source(path, sequence="run")))
    again = next(iter(open_source(path, sequence="run", codes={"kind": ["v", "u"]}, columns=["kind", "run"])))
    np.testing.assert_array_equal(first[:, 0], again[:, 1])
    np.testing.assert_array_equal(first[:, 2], 1 - again[:, 0])


def test_a_source_that_resumes_tells_the_same(path):
    source = open_source(path, sequence="run", batch_rows=3000)
    batches = iter(source)
    next(batches)
    position = source.position
    other = open_source(path, sequence="run", batch_rows=3000)
    other.resume(position)
    np.testing.assert_array_equal(next(batches), next(iter(other)))


def test_numbers_stay_numbers_and_a_row_without_one_is_bad(tmp_path):
    (tmp_path / "data.csv").write_text("run,x\n7,1\n,2\n8,3\n")
    with pytest.raises(ValueError, match=r"data.csv, line 3: column 'run' is missing"):
        list(open_source(tmp_path / "data.csv", sequence="run"))
    found = list(open_source(tmp_path / "data.csv", sequence="run", skip_bad=True))
    np.testing.assert_array_equal(found[0], [[7, 1], [8, 3]])
    with pytest.raises(ValueError, match=r"sequence is 'run', which is none of the columns \['x'\]"):
        open_source(tmp_path / "data.csv", columns=["x"], sequence="run")
