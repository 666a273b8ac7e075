"""Files in which one thing was changed: refused with one sentence, or as good as any."""

import contextlib
import json
import warnings

import numpy as np
import pytest
from safetensors.numpy import save_file

import kullback
from cli.helpers import COMMANDS, WITH_TARGETS, rows_for, size_parameter
from estimators import forged
from kullback.estimators import REGISTRY, estimator_class

_FITTED = {}
#: Those that are trained by gradients; what is asked of targets is beside them.
NETWORKS = [name for name, kind in COMMANDS.items() if REGISTRY[kind].capabilities.has_epochs]


def fitted(name):
    """Return rows, and an estimator that has learned from them and waits for more, with names of its columns."""
    if name not in _FITTED:
        X, kind = rows_for(name, 128), COMMANDS[name]
        estimator = estimator_class(kind)(random_state=0, **size_parameter(name, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.partial_fit(X, **({"continues": True} if REGISTRY[kind].capabilities.data == "sequences" else {}))
        _FITTED[name] = X, estimator
    return _FITTED[name]


@pytest.fixture
def parts(tmp_path):
    def parts(name):
        X, estimator = fitted(name)
        estimator.save(tmp_path / "good")
        return X, *forged.opened(tmp_path / "good")

    return parts


def check(path, X, some):
    """Load all of some files; each is refused with one short sentence or can be asked anything."""
    refused = 0
    for what, header, arrays in some:
        forged.write(path, header, arrays)
        said = forged.refusal(path)
        if said is not None:
            refused += 1
            assert len(said) <= 330, what
            assert "\n" not in said, what
        elif not what.startswith("header"):
            shown = what.removeprefix("no ").removeprefix("new ").startswith(forged.SHOWN)
            forged.ask(path, X, path.with_suffix(".html") if shown else None)
    return refused


def test_some_forgeries_are_refused(parts, tmp_path):
    """A few of those that are only loaded: nothing is compiled."""
    _, header, arrays = parts("gaussian-mixture")
    some = [each for each in forged.variants(header, arrays) if each[0].partition(" ")[0] not in header["parameters"]]
    some = [each for each in some if "_" in each[0] and not each[0].startswith(("no ", "lower_bound_", "n_"))]
    refused = 0
    for what, told, held in some[::13]:
        forged.write(tmp_path / "m", told, held)
        said = forged.refusal(tmp_path / "m")
        assert said is None or (len(said) <= 330 and "\n" not in said), what
        refused += said is not None
    assert refused > 0.7 * len(some[::13])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in (*WITH_TARGETS, *NETWORKS)])
def test_every_forgery_is_refused_or_harmless(parts, tmp_path, name):
    X, header, arrays = parts(name)
    assert check(tmp_path / "m", X, forged.variants(header, arrays)) > 500


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_every_forgery_of_a_network_is_refused_or_answers(parts, tmp_path, name):
    """What is asked of those that load is what nothing has to be compiled for."""
    _, header, arrays = parts(name)
    refused = 0
    for what, told, held in forged.variants(header, arrays):
        forged.write(tmp_path / "m", told, held)
        said = forged.refusal(tmp_path / "m")
        refused += said is not None
        assert said is None or (len(said) <= 330 and "\n" not in said), what
        if said is None:
            with contextlib.suppress(ValueError):
                assert np.isfinite(kullback.load(tmp_path / "m").sample(4)).all(), what
    assert refused > 500


#: What was once a traceback, or went through without a word: the key of the header, and what stands there.
SEEN = [
    ("lower_bound_", "x"), ("n_points_seen_", "many"), ("n_points_seen_", float("inf")), ("n_batches_seen_", 1.5),
    ("converged_", 3), ("lower_bounds_", "x"), ("lower_bounds_", ["x"]), ("learning_curve_", [1]), ("n_iter_", -1),
    ("feature_names_in_", {"strings": 5}), ("feature_names_in_", {"strings": [1, 2, 3, 4]}), ("weights_", [0.5, 0.5]),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), SEEN, ids=lambda part: str(part)[:30])
def test_what_was_seen_is_refused(parts, tmp_path, key, value):
    _, header, arrays = parts("gaussian-mixture")
    forged.write(tmp_path / "m", forged.changed(header, "attributes", key, value), arrays)
    assert f"is damaged: {key}" in forged.refusal(tmp_path / "m")


@pytest.mark.parametrize("key", ["n_points_seen_", "n_batches_seen_", "n_features_in_", "means_"])
def test_what_is_missing_is_refused(parts, tmp_path, key):
    _, header, arrays = parts("gaussian-mixture")
    forged.write(tmp_path / "m", *forged.without(header, arrays, "attributes", key))
    assert key in forged.refusal(tmp_path / "m")
    forged.write(tmp_path / "m", *forged.without(header, arrays, "attributes", "weights_"))
    assert "lacks parameters of the model" in forged.refusal(tmp_path / "m")


def test_a_huge_noise_is_refused_before_a_model_is_built(parts, tmp_path):
    _, header, arrays = parts("probabilistic-pca")
    arrays |= {"attributes.noise_variance_": np.ones(100_000), "attributes.explained_variance_": np.ones(1)}
    arrays |= {"attributes.components_": np.ones((1, 4)) / 2}
    forged.write(tmp_path / "m", forged.changed(header, "parameters", "n_components", 1), arrays)
    assert "noise_variance_ has shape (100000,)" in forged.refusal(tmp_path / "m")


@pytest.mark.parametrize("wrong", [[-1, 2, 2], [2, 2], [[2, 2, 2]], [0, 4, 4], [5, 4, 4]])
def test_numbers_of_categories_are_those_of_the_model(parts, tmp_path, wrong):
    _, header, arrays = parts("categorical-mixture")
    forged.write(tmp_path / "m", header, {**arrays, "attributes.n_categories_": np.array(wrong)})
    assert "is damaged" in forged.refusal(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "key"), [("mixture", "covariance_"), ("mixture", "weights_"), ("categorical-mixture", "probabilities_")]
)
def test_parameters_outside_of_their_family_are_refused(parts, tmp_path, name, key):
    _, header, arrays = parts(name)
    forged.write(tmp_path / "m", header, {**arrays, f"attributes.{key}": -arrays[f"attributes.{key}"]})
    assert f"is damaged: {key[:-1]}" in forged.refusal(tmp_path / "m")


def test_a_parameter_that_is_long_is_not_repeated(parts, tmp_path):
    _, header, arrays = parts("gaussian-mixture")
    forged.write(tmp_path / "m", forged.changed(header, "parameters", "tol", "x" * 100_000), arrays)
    assert len(forged.refusal(tmp_path / "m")) <= 330
    for kind in ("x" * 100_000, ["x"], None, {}):
        save_file(arrays, tmp_path / "m", {"header": json.dumps({**header, "kind": kind})})
        assert "knows no such model" in forged.refusal(tmp_path / "m")


def test_what_is_not_forged_is_read(tmp_path):
    for name in ("gaussian-mixture", "categorical-mixture"):
        X, estimator = fitted(name)
        estimator.save(tmp_path / "m")
        assert kullback.load(tmp_path / "m").score(X) == estimator.score(X)
