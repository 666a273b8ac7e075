"""What the command writes: whole files or none, no escapes to a terminal, the same bytes for the same work."""

import csv
import io
import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

import kullback
from cli.helpers import write_csv
from estimators.forged import opened
from kullback.cli._model_file import write_model
from kullback.cli._output_columns import Text, Values
from kullback.cli._table import _Lines
from kullback.storage import printable

X = np.random.default_rng(0).normal(size=(400, 2))
#: Names that a terminal would obey: a title, colors, a bell, the other direction of writing, an 8-bit escape.
EVIL = "\x1b]0;pwn\a\x1b[31mred"
TURNED = "abc\u202edef\x9b2J"


def is_harmless(text):
    return all(character.isprintable() or character == "\n" for character in text)


@pytest.fixture
def model(run):
    """Save a small model whose columns have such names, as `fit` would."""
    write_csv("data.csv", X, [EVIL, TURNED])
    found = kullback.GaussianMixture(1, random_state=0).fit(X)
    write_model(found, "m.safetensors", {"names": [EVIL, TURNED], "codes": {}})
    return found


def test_a_terminal_gets_no_escapes_and_a_file_the_true_names(run, refused, model, tmp_path):
    told = run("inspect", "m.safetensors").stdout
    assert is_harmless(told)
    assert printable(EVIL) in told
    assert is_harmless(run("inspect", "m.safetensors", "--json").stdout)
    assert json.loads(run("inspect", "m.safetensors", "--json").stdout)["columns"] == [EVIL, TURNED]
    write_csv("less.csv", X[:, :1], ["other\x1b[2J"])
    assert is_harmless(refused("score", "m.safetensors", "less.csv"))
    assert is_harmless(refused("score", "m.safetensors", "\x1b[31mno.csv"))
    for name, names in (
        ("s.csv", lambda text: next(csv.reader(text))),
        ("s.jsonl", lambda text: [*json.loads(next(text))]),
    ):
        run("sample", "m.safetensors", "--output", name)
        with open(name, newline="") as text:
            assert names(text) == [EVIL, TURNED]
    found = io.StringIO()
    _Lines(found, True)({"x": Values([float("-inf"), 1.0])})
    assert [json.loads(line) for line in found.getvalue().splitlines()] == [{"x": None}, {"x": 1.0}]
    shown = io.StringIO()
    _Lines(shown, False, terminal=True)({EVIL: Text(["a\x1b[2Jb"], False, None), "b": Values([1.0])})
    assert is_harmless(shown.getvalue())


def test_long_lists_are_cut_but_not_in_json(run):
    words = [f"word {place}" for place in range(9000)]
    codes = np.random.default_rng(0).integers(0, 2, (20, 2))
    model = kullback.CategoricalMixture(1, n_categories=[9000, 2], random_state=0).fit(codes)
    model.lower_bounds_ = [0.5] * 3000
    write_model(model, "m.safetensors", {"names": ["status", "b"], "codes": {"status": words}})
    told = run("inspect", "m.safetensors").stdout
    assert len(told) < 4000
    assert "words of status          word 0, word 1," in told
    assert "word 9, … (8,990 more)" in told
    assert json.loads(run("inspect", "m.safetensors", "--json").stdout)["words"]["status"] == words


@pytest.fixture
def full():
    """A disk on which no file has room for more than 1,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (before[0] if size is None else size, before[1]))

    yield limit
    limit(None)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "m.safetensors", "-o", "goal.html"],
        ["sample", "m.safetensors", "-n", 400, "-o", "goal.csv"],
        ["sample", "m.safetensors", "-n", 400, "-o", "goal.parquet"],
    ],
)
def test_a_full_disk_leaves_what_was_there(run, model, full, tmp_path, words):
    goal = tmp_path / words[-1]
    goal.write_text("before")
    full(1000)
    told = run(*words, code=2)
    full(None)
    assert told.stderr == f"kullback: {goal.name}: File too large.\n"
    assert goal.read_text() == "before"
    full(1000)
    with pytest.raises(OSError, match="File too large"):
        model.save(goal)
    full(None)
    assert goal.read_text() == "before"
    assert not list(tmp_path.glob(".*"))


def test_a_directory_is_refused_before_the_work(refused, model, tmp_path, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    monkeypatch.setattr("kullback.cli._fit.fit_online", None)  # it would be called
    monkeypatch.setattr("kullback.GaussianMixture.sample", None)
    monkeypatch.setattr("kullback.report.write_report", None)
    monkeypatch.setattr("kullback.estimators.combine", None)
    fit = ["fit", "gaussian-mixture", "data.csv"]
    sentence = "folder.csv is a directory: give the name of a file."
    assert refused(*fit, "--save", "folder.csv") == sentence
    assert refused(*fit, "--save", "m", "--checkpoint", "folder.csv") == sentence
    assert refused("sample", "m.safetensors", "--output", "folder.csv") == sentence
    assert refused("decode", "none", "none", "--output", "folder.csv") == sentence
    assert refused("forecast", "none", "none", "--output", "folder.csv") == sentence
    assert refused("report", "m.safetensors", "--output", "folder.csv") == sentence
    assert refused("combine", "m.safetensors", "m.safetensors", "--save", "folder.csv") == sentence
    assert "/dev/null is not a regular file" in refused(*fit, "--save", "/dev/null")
    assert "nowhere is not a directory" in refused(*fit, "--save", "nowhere/m")


def test_what_is_no_model_is_said_without_its_parser(refused, model):
    sentence = "data.csv is not a saved model: `kullback fit` and `save` write such files."
    assert refused("score", "data.csv", "m.safetensors") == sentence
    assert refused("inspect", ".") == ". is a directory, and not a saved model."


def test_equal_models_have_equal_bytes(model, tmp_path):
    """In one process already: safetensors orders the keys of metadata anew each time."""
    contents = set()
    for _ in range(12):
        model.save(tmp_path / "m")
        contents.add((tmp_path / "m").read_bytes())
    assert len(contents) == 1


def test_files_of_version_0_1_are_read(model, tmp_path):
    header, arrays = opened("m.safetensors")
    del header["format"]
    save_file(arrays, tmp_path / "old", {"format": "kullback", "header": json.dumps(header)})
    assert np.array_equal(kullback.load(tmp_path / "old").means_, model.means_)


@pytest.mark.slow
def test_equal_runs_write_equal_bytes(tmp_path):
    words = ["mixture", "data.csv", "--n-components", "2", "--random-state", "0", "--batch-rows", "64"]
    words += ["--checkpoint", "c", "--save", "m"]
    lines = [f"{x:.3f},{'uv'[place % 2]}" for place, x in enumerate(X[:, 0])]
    found = []
    for seed in ("1", "2"):
        folder = tmp_path / "here"
        folder.mkdir()
        (folder / "data.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
        os.utime(folder / "data.csv", (0, 0))  # a checkpoint knows the time of its data
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-m", "kullback", "fit", *words], cwd=folder, env=environment, check=True)
        found.append([(folder / name).read_bytes() for name in "mc"])
        folder.rename(tmp_path / seed)
    assert found[0] == found[1]
