"""SIGINT and SIGTERM: the work is saved, nothing is left half written."""

import signal

import pyarrow
import pyarrow.csv
import pytest

import kullback
from cli.helpers import BATCH, rows_for, write_csv


class Interrupted:
    """A file that sends a signal when it is read: pyarrow has put its own handlers in place by then."""

    def __init__(self, data, number):
        self._data, self._number, self.closed = data, number, False

    def read(self, size):
        if self._number:
            signal.raise_signal(self._number)
            self._number = 0
        return self._data.read(size)

    def close(self):
        self.closed = True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_pipe_is_parsed_saves_the_work(run, monkeypatch, number):
    read, calls = pyarrow.csv.read_csv, []

    def read_csv(data, *options):
        calls.append(data)
        return read(Interrupted(data, number if len(calls) == 1 else 0), *options)

    monkeypatch.setattr(pyarrow.csv, "read_csv", read_csv)
    pyarrow.enable_signal_handlers(True)
    rows = rows_for("gaussian-mixture", BATCH).round(3)
    text = "a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in rows.tolist()) + "\n"
    fit = ["fit", "gaussian-mixture", "-", "--format", "csv", "--n-components", 3, "--batch-rows", BATCH]
    told = run(*fit, "--random-state", 0, "--save", "m.safetensors", input=text, code=128 + number)
    assert calls
    assert f"stopped after {BATCH} rows" in told.stderr
    assert kullback.load("m.safetensors").n_points_seen_ == BATCH


@pytest.fixture
def heard():
    """Let SIGINT be heard as in a terminal: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_rows_are_scored_leaves_nothing(run, monkeypatch, tmp_path, number):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    kullback.GaussianMixture(1).fit(rows_for("gaussian-mixture")).save("m.safetensors")
    monkeypatch.setattr("kullback.estimators.Anomalies.__init__", lambda *_: signal.raise_signal(number))
    before = signal.getsignal(signal.SIGTERM)
    told = run("score", "m.safetensors", "data.csv", "--output", "s.csv", code=128 + number)
    assert "Traceback" not in told.output
    assert not list(tmp_path.glob("*s.csv*"))
    assert signal.getsignal(signal.SIGTERM) is before
