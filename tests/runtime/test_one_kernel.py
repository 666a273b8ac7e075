"""Functions that become one kernel compute what they compute otherwise, wherever they are called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.runtime import one_kernel

RNG = np.random.default_rng(0)


def powers(matrix, rows, start):
    def step(vector, row):
        vector = (vector @ matrix) * row
        vector = vector / jnp.sum(vector)
        return vector, vector

    return jax.lax.scan(step, start, rows)


def by_numpy(matrix, rows, start):
    found = []
    for row in rows:
        start = start @ matrix * row
        start = start / start.sum()
        found.append(start)
    return start, np.stack(found)


def problem(k, rows=50):
    return RNG.dirichlet(np.ones(k), k), RNG.uniform(0.5, 1, (rows, k)), np.full(k, 1 / k)


@pytest.mark.parametrize("k", [1, 2, 3, 8, 40])  # XLA has its own ways with loops of few numbers
@pytest.mark.parametrize("rows", [1, 50])
def test_it_computes_the_same(k, rows):
    kernel, arguments = one_kernel(powers), problem(k, rows)
    for found in (kernel(*arguments), jax.jit(kernel)(*arguments)):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), found, by_numpy(*arguments))


def test_it_can_be_called_in_loops_and_branches_and_mapped():
    kernel, (matrix, rows, start) = one_kernel(powers), problem(3)

    @jax.jit
    def twice(matrix, rows, start):
        start = jax.lax.fori_loop(0, 2, lambda _, vector: kernel(matrix, rows, vector)[0], start)
        return jax.lax.cond(start[0] > 2, lambda: start, lambda: kernel(matrix, rows, start)[0])

    expected = start
    for _ in range(3):
        expected = by_numpy(matrix, rows, expected)[0]
    np.testing.assert_allclose(twice(matrix, rows, start), expected, rtol=1e-13)
    starts = RNG.dirichlet(np.ones(3), 4)
    mapped = jax.jit(jax.vmap(kernel, in_axes=(None, None, 0)))(matrix, rows, starts)[0]
    np.testing.assert_allclose(mapped, [by_numpy(matrix, rows, one)[0] for one in starts], rtol=1e-13)


def test_it_is_compiled_as_one_call():
    """Otherwise it is merely right: XLA ignores attributes that it does not know."""
    text = jax.jit(one_kernel(powers)).lower(*problem(8)).compile().as_text()
    calls = [line for line in text.splitlines() if "xla_cpu_small_call" in line]
    assert any(" call(" in line for line in calls), text[:2000]


def test_an_argument_without_a_use_is_no_reason_to_end_the_process():
    """In a loop of another function XLA keeps it, and does not know where it lies."""

    def sweep(matrix, rows, start):
        return jax.lax.scan(lambda vector, row: ((vector @ matrix) * row[0], None), start, rows)[0]

    matrix, rows, start = problem(3)
    kernel = one_kernel(sweep)
    found = jax.jit(lambda m, r, s: jax.lax.fori_loop(0, 2, lambda i, v: kernel(m, (r + i, r * v), v), s))
    expected = start
    for turn in range(2):
        for row in rows + turn:
            expected = expected @ matrix * row
    np.testing.assert_allclose(found(matrix, rows, start), expected, rtol=1e-12)
