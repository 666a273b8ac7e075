"""Options come from constructors; their texts are in the words of the command line."""

import inspect
import re

import numpy as np
import pytest

import kullback
from cli.helpers import COMMANDS, WITH_TARGETS, rows_for, write_csv
from kullback.cli._options import DEFAULTS, NOT_HERE, option_of, options_of, parameter_of
from kullback.cli._registry import estimator_commands
from kullback.cli._texts import ALIASES, OPTIONS, SPECIAL, SUMMARIES
from kullback.estimators import estimator_class

#: What stands for something in Python only.
PYTHON = re.compile(r"None|True|False|fit`|`fit|_fit|_\b|predict|function|attribute|\bX\b|hmmlearn|scikit")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_has_an_option_with_a_text_of_its_own(name):
    kind = estimator_class(COMMANDS[name])
    options = {option.name: option for option in options_of(kind)}
    parameters = inspect.signature(kind).parameters
    assert {parameter_of(option) for option in options} == set(parameters) - NOT_HERE
    assert set(options) == {option_of(name) for name in set(parameters) - NOT_HERE}
    for option in options.values():
        (info,) = option.annotation.__metadata__
        assert len(info.help) > 20, option.name
        assert not PYTHON.search(info.help), info.help
        assert info.rich_help_panel == "Options of the model"
        default = parameters[parameter_of(option.name)].default
        of_class = name in WITH_TARGETS or name.endswith("-rbm")  # epochs are no iterations of EM
        assert option.default == (default if of_class else DEFAULTS.get(option.name, default))
        if info.parser is not None:  # what is the default can be typed, or stays as it is
            assert info.parser(option.default) == option.default
    texts = [option.annotation.__metadata__[0].help for option in options.values()]
    assert len(set(texts)) == len(texts)


def test_nothing_is_described_that_is_not_there():
    assert sorted(SUMMARIES) == sorted(estimator_commands().values())
    parameters = {name: {*inspect.signature(estimator_class(name)).parameters} - NOT_HERE for name in SUMMARIES}
    assert set(OPTIONS) == set().union(*parameters.values())
    for name, kinds in SPECIAL.items():
        assert all(name in parameters[kind] for kind in kinds), name
    assert set(ALIASES.values()) <= set(COMMANDS)


def test_the_options_of_a_fit_are_in_two_sections(run):
    told = run("fit", "gaussian-mixture", "-h").stdout
    model, run_options = told.partition("Options of the model:")[2].split("Options of the run:")
    assert "--n-components INTEGER" in model
    assert "--save" not in model
    assert "--checkpoint FILE" in run_options
    assert "--covariance-type" not in run_options
    assert "-h, --help" in run_options


def read(kind, option, text):
    (found,) = [each for each in options_of(estimator_class(COMMANDS[kind])) if each.name == option]
    return found.annotation.__metadata__[0].parser(text)


def test_what_is_typed_becomes_what_the_library_takes(tmp_path):
    assert read("gaussian-mixture", "n_components", "8") == 8
    assert read("gaussian-mixture", "rate", "0.01") == 0.01
    assert read("gaussian-mixture", "rate", "none") is None
    assert read("bernoulli-mixture", "binarize", "None") is None
    assert read("gaussian-mixture", "weights_init", "0.25,0.75") == [0.25, 0.75]
    assert read("mixture", "family", "gaussian") == "gaussian"
    assert read("mixture", "family", "gaussian, poisson") == ["gaussian", "poisson"]
    assert read("mixture", "n_categories", "3,4") == [3, 4]
    assert read("gaussian-hmm", "means_prior", "1e-3") == 1e-3
    np.save(tmp_path / "means.npy", np.eye(2))
    assert (read("gaussian-mixture", "means_init", str(tmp_path / "means.npy")) == np.eye(2)).all()


def test_what_cannot_be_meant_is_refused(refused, tmp_path):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit = ["fit", "gaussian-mixture", "data.csv", "--save", "m.safetensors"]
    assert "'many' is not a whole number" in refused(*fit, "--n-components", "many")
    assert "'round' is none of diag, full, spherical, tied" in refused(*fit, "--covariance-type", "round")
    assert "There is no file nothing.npy." in refused(*fit, "--means-init", "nothing.npy")
    assert "is several numbers" in refused(*fit, "--tol", "1,2")
    (tmp_path / "bad.npy").write_text("no")
    assert "does not hold an array" in refused(*fit, "--means-init", "bad.npy")
    assert "No such option" in refused(*fit, "--components", 3)
    assert "'--n-components' parameter of GaussianMixture must be an int" in refused(*fit, "--n-components", 0)
    assert "Missing option '--save'" in refused("fit", "gaussian-mixture", "data.csv")


def test_what_is_chosen_reaches_the_estimator(run):

    write_csv("data.csv", rows_for("gaussian-mixture"))
    np.save("means.npy", np.array([[-3.0] * 4, [3.0] * 4]))
    chosen = ["--n-components", 2, "--covariance-type", "tied", "--means-init", "means.npy", "--reg-covar", "0.01"]
    run("fit", "gaussian-mixture", "data.csv", *chosen, "--save", "m.safetensors")
    fitted = kullback.load("m.safetensors")
    assert (fitted.covariance_type, fitted.reg_covar) == ("tied", 0.01)
    assert fitted.means_[0, 0] < 0 < fitted.means_[1, 0]
