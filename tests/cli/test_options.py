"""Options come from constructors and docstrings: there is no second list of them."""

import inspect

import numpy as np
import pytest

import kullback
from cli.helpers import COMMANDS, rows_for, write_csv
from kullback.cli._docstring import parameter_texts
from kullback.cli._options import DEFAULTS, NOT_HERE, options_of
from kullback.estimators import estimator_class


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_has_an_option_with_the_words_of_the_docstring(name):
    kind = estimator_class(COMMANDS[name])
    options = {option.name: option for option in options_of(kind)}
    parameters = inspect.signature(kind).parameters
    assert set(options) == set(parameters) - NOT_HERE
    for option in options.values():
        (info,) = option.annotation.__metadata__
        assert len(info.help) > 10, option.name
        assert "As in" not in info.help
        assert option.default == DEFAULTS.get(option.name, parameters[option.name].default)
        if info.parser is not None:  # what is the default can be typed, or stays as it is
            assert info.parser(option.default) == option.default


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


def test_a_text_that_points_to_another_class_is_the_text_of_that_class():
    texts = parameter_texts(kullback.Mixture)
    assert texts["tol"].startswith(parameter_texts(kullback.GaussianMixture)["tol"])
    assert texts["n_categories"].endswith("the numbers for other columns mean nothing.")


def test_what_cannot_be_meant_is_refused(refused, tmp_path):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit = ["fit", "gaussian-mixture", "data.csv", "--save", "m.safetensors"]
    assert "'many' is not a whole number" in refused(*fit, "--n-components", "many")
    assert "'round' is none of diag, full, spherical, tied" in refused(*fit, "--covariance-type", "round")
    assert "There is no file nothing.npy." in refused(*fit, "--means-init", "nothing.npy")
    assert "several numbers" in refused(*fit, "--tol", "1,2")
    (tmp_path / "bad.npy").write_text("no")
    assert "does not hold an array" in refused(*fit, "--means-init", "bad.npy")
    assert "No such option" in refused(*fit, "--components", 3)
    assert "'n_components' parameter of GaussianMixture must be an int" in refused(*fit, "--n-components", 0)
    assert "No such command 'cluster'" in refused("fit", "cluster", "data.csv")
    assert "Missing option '--save'" in refused("fit", "gaussian-mixture", "data.csv")


def test_what_is_chosen_reaches_the_estimator(run):
    import kullback

    write_csv("data.csv", rows_for("gaussian-mixture"))
    np.save("means.npy", np.array([[-3.0] * 4, [3.0] * 4]))
    chosen = ["--n-components", 2, "--covariance-type", "tied", "--means-init", "means.npy", "--reg-covar", "0.01"]
    run("fit", "gaussian-mixture", "data.csv", *chosen, "--save", "m.safetensors")
    fitted = kullback.load("m.safetensors")
    assert (fitted.covariance_type, fitted.reg_covar) == ("tied", 0.01)
    assert fitted.means_[0, 0] < 0 < fitted.means_[1, 0]
