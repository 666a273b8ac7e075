"""A session in JAX's 32-bit mode, its default, where some things are computed in 64 bits: neither trips the other."""

import os
import subprocess
import sys

SCRIPT = """
import jax, numpy as np
import kullback
from kullback.families import Batch, Gaussian, Ising, Poisson, Product
from kullback.models import FactorAnalysis, Mixture

members = [
    Gaussian([[0.0, 1.0]], [[[2.0, 0.3], [0.3, 1.0]]]),
    Ising([[0.1, -0.2, 0.3]]),
    Product([Poisson([1.0]), Gaussian([[0.0, 1.0]], [[[2.0, 0.3], [0.3, 1.0]]])]),
]
models = [Mixture([1.0], members[0]), FactorAnalysis([0.0, 1.0, 2.0], [[1.0], [0.5], [0.2]], [1.0, 1.0, 1.0])]


def step(model, x):
    data, _ = model.expected_statistics(Batch(x))
    return model.maximize(data), model.own_statistics(Batch(x).extent)


def visit(width):
    for m in members:
        assert m.natural.dtype == m.fisher("natural").dtype == width, m
        assert jax.jit(lambda x: m.statistics(x))(np.ones((2, *m.event_shape), width)).dtype == width
        assert type(m).from_natural(m.natural, **dict(m.kind.structure)).source.dtype == width
    for model in models:
        x = model.sample(jax.random.key(0), (8,))
        jax.jit(step)(model, x)


for _ in range(2):
    members32 = jax.tree.map(lambda a: np.asarray(a, np.float32), members)
    keep, members = members, members32
    visit(np.float32)
    members = keep
    with jax.enable_x64(True):
        visit(np.float64)
print("both")
"""


def test_both_precisions_in_one_session():
    plain = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, check=False, env=plain
    )
    assert run.stdout.strip() == "both", run.stderr
