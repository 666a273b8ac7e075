import pytest
from typer.testing import CliRunner

from cli.helpers import BATCH, Server
from kullback.cli import app
from kullback.estimators import _anomalies


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_anomalies, "DRAWS", BATCH)

    def run(*words, code=0, **more):
        result = CliRunner().invoke(app, [str(word) for word in words], **more)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    run.folder = tmp_path
    return run


@pytest.fixture
def refused(run):
    """Run a command that must fail with one sentence, and return the sentence."""

    def refused(*words, **more):
        result = run(*words, code=2, **more)
        lines = result.stderr.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("kullback: ")
        assert "Traceback" not in result.output
        return lines[0].removeprefix("kullback: ")

    return refused


@pytest.fixture(scope="module")
def server():
    one = Server()
    yield one
    one.close()
