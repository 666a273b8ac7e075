"""What a newcomer meets before the first line of mathematics."""

import subprocess
import sys

import pytest

import kullback


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_is_lazy():
    loaded = run(
        "import sys, kullback; "
        "print([m for m in ('sklearn', 'matplotlib', 'diffrax', 'scipy.optimize') if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_the_two_lowest_rooms_load_without_slow_imports():
    loaded = run(
        "import sys, kullback.families, kullback.geometry; "
        "print([m for m in ('sklearn', 'matplotlib', 'diffrax', 'scipy.optimize') if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


@pytest.mark.slow
def test_import_changes_no_global_state():
    same = run(
        """
import logging, warnings
import jax, numpy as np

def state():
    values = {name: getattr(jax.config, name, None) for name in jax.config.values}
    return (
        values, dict(np.geterr()), np.get_printoptions(), list(warnings.filters),
        logging.getLogger().level, list(logging.getLogger().handlers), logging.root.manager.disable,
    )

before = state()
import kullback
import kullback.families, kullback.geometry, kullback.models, kullback.learning
assert state() == before, 'importing kullback changed global state'
import sklearn, sklearn.mixture, matplotlib.pyplot, scipy.optimize
before = state(), dict(matplotlib.rcParams)
import kullback.estimators, kullback.plots
assert (state(), dict(matplotlib.rcParams)) == before, 'importing the upper rooms changed global state'
print('same')
"""
    )
    assert same.strip() == "same"


def test_import_does_no_jax_computation():
    started = run(
        "import kullback.families, kullback.geometry, kullback.models, kullback.learning; "
        "from jax._src import xla_bridge; print(xla_bridge.backends_are_initialized())"
    )
    assert started.strip() == "False"


def test_every_public_name_can_be_reached():
    for name in kullback.__all__:
        assert getattr(kullback, name) is not None
    assert set(kullback.__all__) == set(dir(kullback))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kullback.nothing
