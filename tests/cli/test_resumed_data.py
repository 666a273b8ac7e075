"""A fit goes on with the data it began with, with a checkpoint that nobody else uses, or says why not."""

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from cli.helpers import BATCH, held, rows_for, write_csv
from kullback.cli import _checkpoint
from kullback.cli._batch_fit import SignalCallback
from kullback.cli._checkpoint import Checkpoint
from kullback.cli._progress import FIELDS, Progress, read_progress
from tiers import slow

FIT = ["fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--random-state", 0, "--batch-rows", BATCH]
KEPT = ["--checkpoint", "run.ckpt", "--checkpoint-every", 0, "--save", "parts.safetensors"]
ROWS, OTHERS = rows_for("gaussian-mixture", 4 * BATCH), rows_for("gaussian-mixture", 4 * BATCH, seed=1) + 1000


@pytest.fixture
def stopped(run, monkeypatch):
    """Run a command that is stopped after some checkpoints."""

    def stopped(*words, after=2):
        written, times = Checkpoint.write, []

        def write(self, *args):
            written(self, *args)
            times.append(1)
            if len(times) == after:
                signal.raise_signal(signal.SIGINT)

        with monkeypatch.context() as patch:
            patch.setattr(_checkpoint.Checkpoint, "write", write)
            run(*words, code=130)

    return stopped


@pytest.mark.parametrize("more", [[], ["--shuffle", 70], ["--passes", 2]])
def test_data_that_was_replaced_is_refused(run, refused, stopped, more):
    write_csv("data.csv", ROWS)
    stopped(*FIT, *more, *KEPT, after=6 if "--passes" in more else 2)
    kept = Path("run.ckpt").read_bytes()
    write_csv("data.csv", OTHERS)
    sentence = refused(*FIT, *more, *KEPT, "--resume")
    assert sentence.startswith("data.csv is not what was read before: ")
    assert sentence.endswith("begin anew.")
    assert Path("run.ckpt").read_bytes() == kept
    write_csv("data.csv", ROWS)  # written anew, with the same bytes
    os.utime("data.csv", (1, 1))
    said = run(*FIT, *more, *KEPT, "--resume").stderr
    assert said.count("data.csv was written since it was read before") >= 1
    run(*FIT, *more, "--save", "whole.safetensors")
    assert held("parts.safetensors") == held("whole.safetensors")
    write_csv("data.csv", OTHERS)  # done: there is a model of other data
    assert "data.csv is not what was read before" in refused(*FIT, *more, *KEPT, "--resume")


def test_data_that_has_grown_is_gone_on_with(run, stopped):
    write_csv("data.csv", ROWS[: 3 * BATCH])
    stopped(*FIT, *KEPT)
    write_csv("data.csv", ROWS)
    run(*FIT, *KEPT, "--resume")
    run(*FIT, "--save", "whole.safetensors")
    assert held("parts.safetensors") == held("whole.safetensors")


def test_all_files_of_a_folder_count(run, refused, stopped):
    Path("folder").mkdir()
    for number in range(2):
        write_csv(f"folder/{number}.csv", ROWS[2 * BATCH * number : 2 * BATCH * (number + 1)])
    words = ["fit", "gaussian-mixture", "folder", *FIT[3:], *KEPT]
    stopped(*words, after=3)
    write_csv("folder/0.csv", OTHERS[: 2 * BATCH])
    assert refused(*words, "--resume").startswith("folder/0.csv is not what was read before")


@pytest.mark.parametrize("change", ["replaced", "one entry", "grown", "shorter"])
def test_batch_em_takes_no_other_rows(run, refused, monkeypatch, change):
    write_csv("data.csv", ROWS)
    words = [*FIT, *KEPT, "--method", "em", "--max-iter", 4, "--tol", 0]
    looked = SignalCallback.step

    def step(self, snapshot, history):
        self._stop.requested = len(history) == 2
        return looked(self, snapshot, history)

    with monkeypatch.context() as patch:
        patch.setattr(SignalCallback, "step", step)
        run(*words, code=130)
    new = {"replaced": OTHERS, "grown": np.concatenate([ROWS, ROWS[:3]]), "shorter": ROWS[:-3]}.get(change, ROWS)
    if change == "one entry":
        new = ROWS.copy()
        new[BATCH, 1] = -new[BATCH, 1]
        forge("run.ckpt", lambda kept: kept["progress"].update(data=None))  # as if no block of the file told it
    write_csv("data.csv", new)
    assert refused(*words, "--resume").startswith("data.csv is not what was read before: ")


def forge(path, change, part=lambda header: header["command"]["checkpoint"]):
    """Change what a checkpoint says of its place and its command, or another part of its header."""
    with safe_open(path, framework="numpy") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header = json.loads(metadata["header"])
    change(part(header))
    save_file(arrays, path, metadata={**metadata, "header": json.dumps(header)})


WRONG = [None, True, -1, 1.5, 10**9, 10**30, "x", [], ["x"], {}, {"x": 1}]
POSITION = {"file": 0, "name": "data.csv", "row": 128, "byte": 9, "line": 2, "skip": 128, "end": 9000}
POSITION |= {"done": 128, "bad": 0, "codes": {}, "data": {"files": ["9 9 " + " ".join(["0" * 16] * 2)], "tail": None}}
PROGRESS = {
    "online": asdict(Progress(0, POSITION, 128)),
    "second": asdict(Progress(1, POSITION, 384, data=POSITION["data"])),
    "done": asdict(Progress(2, None, 512, True)),
    "em": asdict(Progress(7, None, 256, digest="0" * 32, data=POSITION["data"])),
}


@pytest.mark.parametrize("name", PROGRESS)
def test_no_place_of_wrong_type_or_range_is_believed(name):
    command = {"method": "em" if name == "em" else "online", "passes": 2, "sequence": None}
    assert read_progress(PROGRESS[name], command, 7) == Progress(**PROGRESS[name])
    for key in FIELDS:
        for value in WRONG:
            forged = copy.deepcopy(PROGRESS[name])
            forged[key] = value
            # fingerprints are the source's to look at, and only a fit that goes on in its first pass tells its rows
            elsewhere = key == "data" and (isinstance(value, dict) or (value is None and name != "second"))
            elsewhere |= key == "rows" and value == 10**9 and name != "online"
            if forged == PROGRESS[name] or elsewhere or (name == "em" and forged["done"] is True):
                continue
            with pytest.raises(ValueError, match="of its progress is"):
                read_progress(forged, command, 7)
        with pytest.raises(ValueError, match="does not say where the fit was"):
            read_progress({name: value for name, value in PROGRESS[name].items() if name != key}, command, 7)
    for value in WRONG:
        with pytest.raises(ValueError, match="does not say where the fit was"):
            read_progress(value, command, 7)
    with pytest.raises(ValueError, match="does not say where the fit was"):
        read_progress({**PROGRESS[name], "more": 1}, command, 7)


def forgeries(kept):
    """Yield ways to change a checkpoint, each with its name."""
    for group in ("progress", "command"):
        for value in WRONG:
            yield f"{group}={value!r}", {group: value}
        for key in kept[group]:
            for value in WRONG:
                yield f"{group}.{key}={value!r}", {group: {**kept[group], key: value}}
    position = kept["progress"]["position"]
    for key in position:
        for value in WRONG:
            yield f"position.{key}={value!r}", {"progress": {**kept["progress"], "position": {**position, key: value}}}


def changes_nothing(kept, change):
    """Whether a change leaves all as it was, or takes away what may not be there."""
    new = {**kept, **change}
    return json.dumps(new) == json.dumps(kept)


@pytest.mark.parametrize("every", [41, slow(1)])
def test_every_forged_checkpoint_is_one_sentence(run, refused, stopped, every):
    write_csv("data.csv", ROWS)
    stopped(*FIT, *KEPT)
    shutil.copy("run.ckpt", "good.ckpt")
    found = {}
    forge("good.ckpt", lambda kept: found.update(kept))
    for name, change in list(forgeries(found))[::every]:
        if changes_nothing(found, change):
            continue
        shutil.copy("good.ckpt", "run.ckpt")
        forge("run.ckpt", lambda kept, change=change: kept.update(change))
        sentence = refused(*FIT, *KEPT, "--resume")
        assert len(sentence) < 600, name
        assert "run.ckpt" in sentence or "position" in sentence or "data.csv" in sentence, (name, sentence)


HOLDER = """
import fcntl, sys
file = open(".run.ckpt.lock", "ab")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_checkpoint_that_is_in_use_is_refused(run, refused):
    write_csv("data.csv", ROWS)
    with Checkpoint(Path("run.ckpt"), {}, 0):
        assert refused(*FIT, *KEPT).startswith("run.ckpt is in use by another fit")
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    assert refused(*FIT, *KEPT).startswith("run.ckpt is in use by another fit")
    assert not Path("parts.safetensors").exists()
    holder.kill()
    holder.communicate()
    assert Path(".run.ckpt.lock").exists()
    run(*FIT, *KEPT)  # the lock died with its holder
    assert not list(Path().glob(".*"))


def test_the_lock_is_given_back_after_an_error(run, refused):
    write_csv("data.csv", ROWS)
    for _ in range(2):
        assert "no column 'z'" in refused(*FIT, *KEPT, "--columns", "z")
    assert not list(Path().glob(".*"))
    assert "none is not a directory" in refused(*FIT, "--checkpoint", "none/run.ckpt", "--save", "m.safetensors")


def test_the_parameters_of_a_checkpoint_are_those_of_its_command(run, refused, stopped):
    write_csv("data.csv", ROWS)
    stopped(*FIT, *KEPT)
    forge("run.ckpt", lambda parameters: parameters.update(reg_covar=1e13), lambda header: header["parameters"])
    sentence = refused(*FIT, *KEPT, "--resume")
    assert sentence == "run.ckpt is damaged: its model has --reg-covar = 10000000000000.0, and its command 1e-06."
