"""What the page and the help show runs as it stands; and help comes quickly."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import kullback
import kullback.report
from cli.helpers import BATCH, rows_for, write_csv
from kullback.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "command.md"


def words_of(command):
    """Return the words of a command line, and what it reads from a pipe."""
    before, pipe, after = command.partition(" | ")
    given = Path(before.removeprefix("cat ")).read_text() if pipe else None
    return shlex.split(after if pipe else before)[1:], given


@pytest.mark.slow
def test_the_examples_of_the_page_run(run):
    write_csv("readings.csv", rows_for("gaussian-mixture", BATCH))
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in block.splitlines()
    ]
    assert len(lines) > 12
    for line in lines:
        words, given = words_of(line)
        run(*words, input=given)
    assert {"scores.parquet", "drawn.csv", "filled.csv", "states.csv", "report.html"} <= {
        p.name for p in run.folder.iterdir()
    }
    assert all(name in PAGE.read_text() for name in shown(run("--help").stdout, 4))


def shown(text, least):
    """Return the commands that a help lists."""
    names = re.findall(r"^  (\w+)  ", text.partition("Commands:")[2], re.MULTILINE)
    assert len(names) >= least
    return names


@pytest.mark.slow
def test_the_examples_of_each_help_run(run, monkeypatch):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit = ["--n-components", 3, "--random-state", 0, "--save"]
    run("fit", "gaussian-mixture", "data.csv", *fit, "other.safetensors")
    run("fit", "gaussian-hmm", "data.csv", *fit, "series.safetensors")
    names = shown(run("--help").stdout, 9)
    monkeypatch.setattr(kullback.report, "write_report", lambda model, path, **more: path)  # it takes long
    for asked in ([], *([name] for name in names)):
        lines = re.findall(r"^    \$ (kullback .*)$", run(*asked, "--help").stdout, re.MULTILINE)
        assert lines, asked
        for line in lines:
            run(*shlex.split(line)[1:])


def test_without_a_command_there_is_help(run):
    assert run().stdout == run("--help").stdout
    assert "gaussian-mixture" in run("fit").stdout
    assert run("--version").stdout.strip() == kullback.__version__
    assert app.info.name == "kullback"


def test_help_loads_nothing_heavy():
    code = "import sys; sys.argv = ['kullback', *%r]\ntry:\n    import kullback.__main__\nfinally:\n    "
    code += "print([m for m in ('jax', 'sklearn', 'numpy', 'pyarrow', 'rich') if m in sys.modules])"
    for words in (["--help"], ["score", "--help"], ["--version"]):
        told = subprocess.run([sys.executable, "-c", code % words], capture_output=True, text=True, check=True).stdout
        assert told.splitlines()[-1] == "[]"
