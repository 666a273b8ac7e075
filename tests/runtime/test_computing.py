"""A decorated function computes under our settings, call by call."""

import operator
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.runtime import in_float64, in_precision


class Model:
    bits = 32

    @in_float64
    def wide(self):
        """Return the type of new numbers."""
        return jnp.zeros(1).dtype

    @in_precision(operator.attrgetter("bits"))
    def own(self):
        return jnp.zeros(1).dtype, self.wide()


def test_a_method_computes_in_64_bits_or_in_those_its_object_asks_for():
    with jax.enable_x64(False):
        assert Model().wide() == np.float64
        assert jnp.zeros(1).dtype == np.float32
    assert Model().own() == (np.float32, np.float64)
    assert (Model.wide.__name__, Model.wide.__doc__) == ("wide", "Return the type of new numbers.")


def test_the_settings_are_given_back_after_an_error_and_are_those_of_one_thread():
    inside, seen = threading.Event(), threading.Event()

    @in_float64
    def wait_and_fail():
        inside.set()
        assert seen.wait(60)
        raise KeyError(jnp.zeros(1).dtype)

    def run():
        with jax.enable_x64(False):
            with pytest.raises(KeyError, match="float64"):
                wait_and_fail()
            found.append(jnp.zeros(1).dtype)

    found = []
    thread = threading.Thread(target=run)
    thread.start()
    assert inside.wait(60)
    with jax.enable_x64(False):
        here = jnp.zeros(1).dtype
    seen.set()
    thread.join()
    assert (here, found) == (np.float32, [np.float32])


def test_a_generator_is_refused():
    def batches():
        yield 1

    with pytest.raises(TypeError, match="batches is a generator"):
        in_float64(batches)
