"""What is kept compiled is bounded, whatever shapes come."""

import concurrent.futures
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.runtime import _compiled, _quick, computing, jit, quick_jit


@pytest.fixture
def kept(monkeypatch):
    """A count of its own, and few that may be kept."""
    count = _compiled.CompiledFunctions()
    monkeypatch.setattr(_compiled, "compiled_functions", count)
    monkeypatch.setattr(_quick, "compiled_functions", count)
    monkeypatch.setattr("kullback.runtime._computing.compiled_functions", count)
    monkeypatch.setattr(_compiled, "MOST", 4)
    return count


def test_few_shapes_stay_compiled(kept):
    function = jit(lambda x: 2 * x)
    for size in range(1, 16):
        with computing():
            assert function(np.ones(size)).sum() == 2 * size
        assert len(kept) <= 5
        assert function._cache_size() <= 5


def test_one_shape_is_compiled_once_while_there_is_room(kept):
    traced = []
    function = jit(lambda x: traced.append(1) or x + 1)
    for _ in range(20):
        with computing():
            function(np.ones(3))
    assert len(traced) == 1
    assert len(kept) == 1


def test_a_function_of_one_shape_stays_when_another_meets_many(kept):
    steady, traced = jit(lambda x: traced.append(1) or x + 1), []
    other = jit(lambda x: x - 1)
    for size in range(1, 16):
        with computing():
            steady(np.ones(2))
            other(np.ones(size))
    assert len(traced) == 1


def test_after_many_shapes_everything_is_dropped(kept, monkeypatch):
    monkeypatch.setattr(_compiled, "MOST_TRACES", 10)
    cleared = []
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(len(kept)))
    function = jit(lambda x: x + 1)
    for size in range(1, 18):
        with computing():
            function(np.ones(size))
    assert cleared == [0]


def test_threads_compute_while_what_is_compiled_is_dropped(kept):
    function = quick_jit(lambda x: jnp.cumsum(x)[-1])

    def ask(size):
        with computing():
            return float(function(np.ones(size)))

    sizes = [1 + number % 8 for number in range(24)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, sizes)) == [float(size) for size in sizes]
    assert len(kept) <= 4 + 4


def test_inside_a_function_that_is_traced_the_outer_one_decides():
    inner = quick_jit(lambda x: x + 1)
    assert jax.jit(lambda x: inner(np.ones(2)) * x)(3.0).tolist() == [6.0, 6.0]
    assert jax.vmap(inner)(np.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"xla_cpu_no_such_flag": 1, "xla_backend_optimization_level": 0}, {"xla_backend_optimization_level": 0}),
        ({"xla_cpu_no_such_flag": 1}, None),
        ({"xla_cpu_use_fusion_emitters": "perhaps"}, None),
    ],
)
def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch, options, left):
    monkeypatch.setattr(_quick, "FAST_COMPILE", options)
    _quick._known.cache_clear()
    try:
        assert _quick._known() == left
        assert quick_jit(lambda x: x * 3)(np.ones(2)).tolist() == [3.0, 3.0]
    finally:
        _quick._known.cache_clear()


def test_xla_knows_all_options_of_today():
    assert _quick._known() == _quick.FAST_COMPILE


MANY = """
import warnings
import numpy as np
from kullback import PoissonMixture

warnings.simplefilter("ignore")
random = np.random.default_rng(0)
for rows in (16, 32, 64, 128, 256):
    most = 0
    for d in range(1, 101):
        PoissonMixture(2, max_iter=2, random_state=0).fit(random.poisson(3.0, (rows, d)).astype(float))
        most = max(most, int(open("/proc/self/statm").read().split()[1]) * 4096 // 2**20)
    print(most, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_memory_is_flat_over_500_shapes():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=3000, check=True)
    peaks = list(map(int, done.stdout.split()))  # MB, of each hundred; without a bound each has 900 more
    assert max(peaks[3:]) < max(peaks[:2]) + 150, peaks
