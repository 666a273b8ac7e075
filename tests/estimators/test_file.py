"""Files whose header speaks of more than they hold: refused before anything of that size is made."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import kullback

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(60, 2))
CODES = RNG.integers(0, 3, (60, 2)).astype(float)
HUGE = 10**13  # 80 terabytes of numbers: making them fails at once
MODELS = {
    "tied mixture": lambda: kullback.GaussianMixture(2, covariance_type="tied", max_iter=1).fit(NORMAL),
    "tied chain": lambda: kullback.GaussianHMM(2, "tied", n_iter=1).fit(NORMAL),
    "chain": lambda: kullback.HMM(2, family=["gaussian", "poisson"], n_iter=1).fit(np.abs(NORMAL).round()),
    "categories": lambda: kullback.CategoricalMixture(2, max_iter=1).fit(CODES),
    "mixed": lambda: kullback.Mixture(2, family=["categorical", "gaussian"], max_iter=1).fit(CODES),
    "system": lambda: kullback.LinearDynamicalSystem(1, max_iter=1).fit(NORMAL),
    "components": lambda: kullback.ProbabilisticPCA(1).fit(NORMAL),
}


@pytest.mark.filterwarnings("ignore:Best performing")
@pytest.mark.parametrize("name", MODELS)
def test_a_forged_size_is_refused(name, tmp_path):
    path = tmp_path / "model"
    MODELS[name]().save(path)
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    header, arrays = json.loads(metadata["header"]), load_file(path)
    assert type(kullback.load(path)).__name__ == header["kind"]  # as it is, it can be read
    sizes = [("parameters", size) for size in ("n_components", "n_latents") if size in header["parameters"]]
    for group, size in [*sizes, ("attributes", "n_features_in_")]:
        told = {**header, group: {**header[group], size: HUGE}}
        save_file(arrays, path, {**metadata, "header": json.dumps(told)})
        with pytest.raises(ValueError, match=f"{path} is damaged"):
            kullback.load(path)
    if name in ("categories", "mixed"):
        save_file({**arrays, "attributes.n_categories_": np.full(2, HUGE)}, path, metadata)
        with pytest.raises(ValueError, match=f"{path} is damaged"):
            kullback.load(path)


CHANGES = {"components": ("n_components", 2), "chain": ("n_components", 3), "tied mixture": ("covariance_type", "diag")}


@pytest.mark.filterwarnings("ignore:Best performing")
@pytest.mark.parametrize("name", CHANGES)
def test_parameters_of_another_model_are_not_saved(name, tmp_path):
    fitted, path = MODELS[name](), tmp_path / "model"
    parameter, value = CHANGES[name]
    was = getattr(fitted, parameter)
    with pytest.raises(ValueError, match=r"cannot be saved, for its file could not be read: .*\. Parameters that"):
        fitted.set_params(**{parameter: value}).save(path)
    assert not path.exists()
    fitted.set_params(**{parameter: was}).save(path)
    assert getattr(kullback.load(path), parameter) == was


def test_a_stream_of_other_units_is_not_saved(tmp_path):
    fitted = kullback.SpikingNetwork(3, n_chains=2, window=16, random_state=0).partial_fit(CODES[:, :1])
    with pytest.raises(ValueError, match="another network than the one that has learned"):
        fitted.set_params(n_units=4).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
