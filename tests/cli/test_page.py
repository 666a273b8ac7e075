"""What the page and the help show runs as it stands; and help comes quickly."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import kullback
import kullback.report
from cli.helpers import rows_for, write_csv
from kullback.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "command.md"


def words_of(command):
    """Return the words of a command line, and what it reads from a pipe."""
    before, pipe, after = command.partition(" | ")
    given = Path(before.removeprefix("cat ")).read_text() if pipe else None
    return shlex.split(after if pipe else before)[1:], given


@pytest.mark.slow
def test_the_examples_of_the_page_run(run):
    write_csv("readings.csv", rows_for("gaussian-mixture"))
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in block.splitlines()
    ]
    assert len(lines) > 12
    for line in lines:
        words, given = words_of(line)
        run(*words, input=given)
    assert {
        "scores.parquet",
        "drawn.csv",
        "predicted.csv",
        "targets.csv",
        "filled.csv",
        "states.csv",
        "report.html",
    } <= {p.name for p in run.folder.iterdir()}
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
    run("fit", "regressor", "data.csv", "--target", "c3", "--save", "regression.safetensors")
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
    assert run("--version").stdout == f"kullback {kullback.__version__}\n"
    assert app.info.name == "kullback"


def test_help_is_asked_for_in_any_way(run, refused):
    assert run("-h").stdout == run("--help").stdout == run("help").stdout
    assert run("score", "-h").stdout == run("help", "score").stdout
    assert run("fit", "-h").stdout == run("help", "fit").stdout
    assert run("fit", "mixture", "-h").stdout == run("help", "fit", "mixture").stdout
    assert refused("help", "scoer") == "There is no command 'scoer': did you mean score?"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["fi"], "There is no command 'fi': did you mean fit?"),
        (["smaple"], "There is no command 'smaple': did you mean sample?"),
        (
            ["xyz"],
            "There is no command 'xyz': the commands are fit, combine, score, predict, sample, impute, forecast,",
        ),
        (["fit", "gmm", "d.csv"], "There is no kind of model 'gmm': did you mean gaussian-mixture?"),
        (["fit", "GaussianHMM"], "There is no kind of model 'GaussianHMM': did you mean gaussian-hmm?"),
        (["fit", "gaussian_mixtur"], "There is no kind of model 'gaussian_mixtur': did you mean gaussian-mixture"),
        (
            ["fit", "qwerty"],
            "There is no kind of model 'qwerty': the kinds are bernoulli-mixture, bernoulli-rbm, categorical-hmm, ",
        ),
        (["fit", "data.csv"], "`kullback fit` needs a kind of model before data.csv: bernoulli-mixture, "),
    ],
)
def test_what_is_not_there_is_met_with_what_is(refused, words, wanted):
    assert refused(*words).startswith(wanted)


def test_shells_complete_commands_and_kinds():
    def complete(line):
        environment = {"_KULLBACK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        command = [sys.executable, "-c", "from kullback.cli import main; main()"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)
        return done.stdout.split()

    assert complete("kullback sc") == ["score"]
    assert complete("kullback fit gauss") == ["gaussian-hmm", "gaussian-mixture", "gaussian-rbm"]
    shown = subprocess.run(
        [sys.executable, "-c", "from kullback.cli import main; main()", "--show-completion", "bash"],
        capture_output=True, text=True, check=True,
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert "_KULLBACK_COMPLETE=complete_bash" in shown.stdout


def test_help_loads_nothing_heavy():
    code = "import sys; sys.argv = ['kullback', *%r]\ntry:\n    import kullback.__main__\nfinally:\n    "
    code += "print([m for m in ('jax', 'sklearn', 'numpy', 'pyarrow', 'rich') if m in sys.modules])"
    for words in (["--help"], ["score", "--help"], ["--version"], ["fit"], ["fit", "gmm"], ["help", "score"]):
        told = subprocess.run([sys.executable, "-c", code % words], capture_output=True, text=True, check=False).stdout
        assert told.splitlines()[-1] == "[]"
