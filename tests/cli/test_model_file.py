"""What the command remembers is in a section of the file that is its own; files of version 0.1 are read too."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import kullback
from cli.helpers import BATCH, held, rows_for, write_csv
from kullback import estimators
from kullback.cli import _online_fit
from kullback.cli._batch_fit import SignalCallback
from kullback.cli._model_file import read_model

FIT = ["fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--random-state", 0, "--batch-rows", BATCH]
NAMES = ["c0", "c1", "c2", "c3"]


def rewrite(path, change):
    """Change the header of a file."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["header"])
    change(header)
    save_file(load_file(path), path, {"header": json.dumps(header)})


def as_version_0_1(header):
    """Put what the command remembers where it was in version 0.1."""
    section, attributes = header.pop("command"), header["attributes"]
    names, codes = attributes.pop("feature_names_in_")["strings"], attributes.pop("categories_", {"entries": {}})
    attributes["source_"] = {"names": names, "codes": codes["entries"], **section["source"]}
    if "checkpoint" in section:
        progress = section["checkpoint"]["progress"]
        place = {"turn" if name == "epoch" else name: value for name, value in progress.items()}
        header["attributes"]["checkpoint_"] = {"command": section["checkpoint"]["command"], "place": place}


def test_an_estimator_of_the_command_is_one_of_the_library(run):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    run(*FIT, "--save", "m.safetensors", "--checkpoint", "c")
    for path in ("m.safetensors", "c"):
        assert not {"source_", "checkpoint_"} & vars(kullback.load(path)).keys()
        assert read_model(path).columns == {"names": NAMES, "codes": {}}
    assert read_model("m.safetensors").checkpoint is None
    assert read_model("c").checkpoint["progress"]["done"]
    kullback.load("m.safetensors").save("again")
    assert estimators.load_with_command("again")[1] == {}


@pytest.mark.parametrize("method", ["online", "em"])
def test_files_of_version_0_1_are_read_and_gone_on_with(run, monkeypatch, method):
    write_csv("data.csv", rows_for("gaussian-mixture", 4 * BATCH))
    fit = [*FIT, "--method", method, *(["--max-iter", 4, "--tol", 0] if method == "em" else ["--passes", 2])]
    run(*fit, "--save", "whole.safetensors")
    whole = held("whole.safetensors")
    rewrite("whole.safetensors", as_version_0_1)
    assert held("whole.safetensors") == whole
    assert run("inspect", "whole.safetensors").stdout.count(", ".join(NAMES)) == 1
    fit += ["--checkpoint", "c", "--checkpoint-every", 0, "--save", "parts.safetensors"]
    with monkeypatch.context() as patch:
        if method == "em":
            patch.setattr(SignalCallback, "step", dies(2, SignalCallback.step))
        else:
            patch.setattr("kullback.cli._online_fit._learn", dies(6, _online_fit._learn))
        run(*fit, code=2)
    rewrite("c", as_version_0_1)
    assert "not done" in run("inspect", "c").stdout
    run(*fit, "--resume")
    assert held("parts.safetensors") == whole


def dies(calls, function):
    """Return a function that fails in one of its calls."""
    left = [calls]

    def died(*args):
        found = function(*args)
        left[0] -= 1
        if left[0] == 0:
            raise OSError("the machine went down")
        return found

    return died


WRONG = [
    5, ["c0"], {"names": [1, 2]}, {"names": ["a"]}, {"names": ["a", "a", "b", "c"]}, {"names": 5}, {"more": 1},
    {"codes": {"c0": 7}}, {"codes": {"c0": [1]}}, {"codes": {"no": ["a"]}}, {"codes": ["c0"]}, {"sequence": []},
    {"inputs": "c0"}, {"inputs": [[1]]}, None, {"names": None, "codes": {"zzz": ["a"]}},
]  # fmt: skip


def test_a_forged_section_is_refused_with_a_sentence(run, refused):
    model = kullback.GaussianMixture(1, random_state=0).fit(rows_for("gaussian-mixture"))
    for section in ([], 5, "x", None, *({"source": source} for source in WRONG)):
        estimators.save(model, "m", {})
        rewrite("m", lambda header, section=section: header.update(command=section))
        assert refused("inspect", "m").startswith("m is damaged: "), section
        assert np.array_equal(kullback.load("m").means_, model.means_)  # the library does not read it
    progress = {"rows": 5, "done": False}
    forged = [
        {"command": {}, "progress": {**progress, **wrong}} for wrong in ({"rows": "x"}, {"rows": -1}, {"done": 1})
    ]
    for wrong in ([], 5, {}, {"command": {}, "place": {}}, {"command": [], "progress": progress}, *forged):
        estimators.save(model, "m", {"source": {}, "checkpoint": wrong})
        assert refused("inspect", "m") == "m is damaged: checkpoint must be a command and its progress."
