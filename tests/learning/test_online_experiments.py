"""One pass of online EM is worth most of ten iterations of batch EM: the example's experiments, with fewer starts."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "online_em.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["absorbing_chain", "kalman_filter", "compound_dirichlet"])
def test_one_pass_lands_between_one_iteration_and_ten_and_nearer_ten(name):
    experiment = EXAMPLE[name](np.random.default_rng(0))
    by_batch, online = EXAMPLE["run"](experiment._replace(starts=experiment.starts[:3]))
    assert 0.5 < EXAMPLE["progress"](by_batch, online) < 1.2
    assert (np.diff(by_batch, axis=1) > -1e-9).all()
