import jax
import numpy as np
import optax
import pytest

from contracts.quick import quick
from kullback.families import Dirichlet, Gaussian, Poisson, Product
from kullback.geometry import natural_gradient, relative_entropy, scale_by_natural_gradient

GOALS = [
    (Gaussian([1.0, -1.0], [[1.0, 0.4], [0.4, 2.0]]), Gaussian([0.0, 0.5], [[2.0, 0.1], [0.1, 1.0]])),
    (Product([Poisson(2.0), Dirichlet([1.0, 2.0])]), Product([Poisson(3.0), Dirichlet([1.5, 1.5])])),
]


@pytest.mark.parametrize(("goal", "p"), GOALS, ids=lambda m: type(m).__name__)
def test_the_update_is_the_natural_gradient_in_source_coordinates(goal, p):
    def objective(p):
        return relative_entropy(goal, p)

    @quick
    def update(p):
        transform = scale_by_natural_gradient()
        found, _ = transform.update(jax.grad(objective)(p), transform.init(p), p)
        # the update has the shape of a member; read it in the same flat order
        return jax.jvp(lambda m: m.source, (p,), (found,))[1], natural_gradient(objective, p, "source")

    flat, expected = update(p)
    np.testing.assert_allclose(flat, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("goal", "p"), GOALS, ids=lambda m: type(m).__name__)
def test_it_chains_with_other_transformations_and_converges(goal, p):
    optimizer = optax.chain(scale_by_natural_gradient(), optax.scale_by_schedule(lambda t: -0.2))

    def step(carry, _):
        p, state = carry
        updates, state = optimizer.update(jax.grad(lambda p: relative_entropy(goal, p))(p), state, p)
        return (optax.apply_updates(p, updates), state), None

    (end, _), _ = quick(lambda p: jax.lax.scan(step, (p, optimizer.init(p)), None, length=150))(p)
    np.testing.assert_allclose(end.source, goal.source, rtol=1e-6, atol=1e-9)


def test_members_of_a_batch_move_each_on_its_own():
    p, goal = Poisson([2.0, 7.0]), Poisson(5.0)
    transform = scale_by_natural_gradient()

    def objective(p):
        return jax.numpy.sum(relative_entropy(goal, p))

    @quick
    def update(p):
        return transform.update(jax.grad(objective)(p), transform.init(p), p)[0]

    both = update(p)
    for place, rate in enumerate([2.0, 7.0]):
        assert float(both.rate[place]) == pytest.approx(float(update(Poisson(rate)).rate), rel=1e-14)


def test_it_asks_for_the_member():
    transform = scale_by_natural_gradient()
    with pytest.raises(ValueError, match="params is None"):
        transform.update(Poisson(1.0), transform.init(Poisson(1.0)))
