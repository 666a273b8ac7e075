"""What the peers' tests find in their own repositories: fixtures, and a seed."""

import random

import numpy as np
import pytest

#: scikit-learn's own default run has this type and this seed.
TYPE, SEED = np.float64, 42


@pytest.fixture(params=[TYPE], ids=["float64"])
def global_dtype(request):
    return request.param


@pytest.fixture(params=[SEED])
def global_random_seed(request):
    return request.param


@pytest.fixture(autouse=True)
def seed():
    """hmmlearn's tests draw from the generators that all share."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    yield
    random.setstate(before[0])
    np.random.set_state(before[1])  # noqa: NPY002


def pytest_collection_modifyitems(items):
    for item in items:
        suite = getattr(getattr(item, "module", None), "SUITE", None)
        if suite is not None:
            suite.mark(item)
