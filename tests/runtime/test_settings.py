"""The user's settings of JAX and NumPy are for the user's own code: ours computes under its own."""

import contextlib
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback import GaussianMixture, PoissonMixture
from kullback.runtime import computing
from tiers import slow, slow_among

X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0, 0.0], [6.0, 3.0]], 20, axis=0)
COUNTS = np.arange(40.0).reshape(20, 2) % 7


@contextlib.contextmanager
def everywhere(name, value):
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        yield
    finally:
        jax.config.update(name, before)


SETTINGS = {
    "ranks": lambda: jax.numpy_rank_promotion("raise"),
    "ranks everywhere": lambda: everywhere("jax_numpy_rank_promotion", "raise"),
    "transfers": lambda: jax.transfer_guard("disallow"),
    "transfers everywhere": lambda: everywhere("jax_transfer_guard", "disallow"),
    "transfers to the device": lambda: jax.transfer_guard_host_to_device("disallow_explicit"),
    "types": lambda: jax.numpy_dtype_promotion("strict"),
    "NaN": lambda: jax.debug_nans(True),
    "infinities": lambda: jax.debug_infs(True),
    "matrix products": lambda: jax.default_matmul_precision("BF16_BF16_F32"),
    "32 bits": lambda: jax.enable_x64(False),
    "device": lambda: jax.default_device(jax.devices("cpu")[0]),
    "floating point": lambda: np.errstate(all="raise"),
}


def means():
    mixture = GaussianMixture(2, random_state=0, max_iter=3, tol=0).fit(X).partial_fit(X)
    return np.r_[mixture.means_.ravel(), mixture.score_samples(X), mixture.bic(X)]


@pytest.fixture(scope="module")
def expected():
    return means()


@pytest.mark.filterwarnings("ignore:Best performing")
@pytest.mark.parametrize("name", slow_among(SETTINGS, "device"))
def test_a_fit_is_the_same_under_any_setting(name, expected):
    with SETTINGS[name]():
        found = means()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_given_back(name):
    def state():
        return {key: getattr(jax.config, key, None) for key in jax.config.values}, np.geterr()

    with SETTINGS[name]():
        before = state()
        with computing():
            assert jnp.zeros(()).dtype == np.float64
        assert state() == before
        with pytest.raises(KeyError), computing():
            raise KeyError
        assert state() == before


@pytest.mark.filterwarnings("ignore:Best performing", "ignore:Number of distinct clusters")
@pytest.mark.parametrize("scale", [1e-200, 1e100])
def test_numbers_that_underflow_are_no_floating_point_errors(scale):
    plain = GaussianMixture(2, random_state=0, max_iter=2)
    strict = GaussianMixture(2, random_state=0, max_iter=2)
    plain.fit(X * scale)
    with np.errstate(all="raise"):
        strict.fit(X * scale)
        found = strict.score_samples(X * scale)
    np.testing.assert_array_equal(found, plain.score_samples(X * scale))


@pytest.mark.filterwarnings("ignore:Best performing")
def test_numbers_are_fitted_inside_of_a_function_that_is_traced(expected):
    @jax.jit
    def user(z):
        return z + means()[0]

    with jax.enable_x64(True):
        np.testing.assert_allclose(user(1.0), 1 + expected[0], rtol=1e-12)
        np.testing.assert_allclose(jax.vmap(user)(jnp.ones(2)), 1 + expected[0], rtol=1e-12)
        np.testing.assert_allclose(jax.grad(user)(1.0), 1.0)


@pytest.mark.parametrize("ask", [lambda m, x: m.fit(x), lambda m, x: m.partial_fit(x), lambda m, x: m.score_samples(x)])
def test_what_is_traced_is_refused_with_one_sentence(ask):
    mixture = PoissonMixture(2, random_state=0).fit(COUNTS)
    with pytest.raises(ValueError, match=r"^An argument is being traced .*: call it outside of jit, vmap and grad\."):
        jax.jit(lambda x: ask(mixture, x))(COUNTS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Best performing")
def test_a_fit_that_is_not_compiled_is_the_same():
    plain = PoissonMixture(2, random_state=0, max_iter=2).fit(COUNTS)
    with jax.disable_jit():
        slow = PoissonMixture(2, random_state=0, max_iter=2).fit(COUNTS)
    np.testing.assert_allclose(slow.score(COUNTS), plain.score(COUNTS), rtol=1e-12)


FORKED = """
import os, signal, sys, warnings
import numpy as np
from kullback import PoissonMixture

warnings.simplefilter("ignore")
X = np.arange(40.0).reshape(20, 2) % 7
if sys.argv[1] == "used":
    model = PoissonMixture(2, random_state=0).fit(X)
child = os.fork()
if child == 0:
    signal.alarm(200)
    try:
        PoissonMixture(2, random_state=0).fit(X)
        print("fitted", flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
print("ended with", os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(
    ("before", "said"),
    [("used", "start processes with 'spawn'"), slow("unused", "fitted")],
)
def test_a_fork_after_a_computation_says_so_and_does_not_hang(before, said):
    done = subprocess.run(
        [sys.executable, "-c", FORKED, before], capture_output=True, text=True, timeout=600, check=True
    )
    assert said in done.stdout
    assert "ended with 0" in done.stdout


@pytest.mark.parametrize("name", ["ranks", "types", "transfers", "32 bits", "floating point"])
def test_a_function_of_the_user_runs_under_the_users_settings(name):
    def settings():
        guard = jax.config.jax_transfer_guard_host_to_device
        ranks, types = jax.config.jax_numpy_rank_promotion, jax.config.jax_numpy_dtype_promotion
        return jax.config.jax_enable_x64, ranks, types, guard or "allow", np.geterr()

    seen = []

    def rate(step):
        seen.append(settings())
        GaussianMixture(1).fit(X)  # kullback inside it has its own again
        seen.append(settings())
        return 0.5

    with SETTINGS[name]():
        before = settings()
        GaussianMixture(1, rate=rate).partial_fit(X)
        assert [*seen, settings()] == [before] * 3
