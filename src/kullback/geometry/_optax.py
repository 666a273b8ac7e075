"""The natural gradient as an optax transformation."""

from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    import optax


def scale_by_natural_gradient() -> "optax.GradientTransformation":
    """Turn the gradient with respect to a family member into the natural gradient.

    The parameters are a member p, the updates ∂F/∂(its source parameters) as `jax.grad` gives them. With θ and η dual,
    the gradient is first pulled back to ∇_θ F through ξ(θ), then pushed forward as ∇̃_ξ F = (∂ξ/∂η) ∇_θ F. Batched
    members are moved each on its own. Chain it with a step size:

    >>> import jax, optax
    >>> from kullback.families import Poisson
    >>> from kullback.geometry import relative_entropy
    >>> optimizer = optax.chain(scale_by_natural_gradient(), optax.scale(-0.5))
    >>> p, goal = Poisson(rate=2.0), Poisson(rate=5.0)
    >>> state = optimizer.init(p)
    >>> for _ in range(30):
    ...     updates, state = optimizer.update(jax.grad(lambda p: relative_entropy(goal, p))(p), state, p)
    ...     p = optax.apply_updates(p, updates)
    >>> round(float(p.rate), 4)
    5.0
    """
    import optax  # a tenth of a second, for those who chain it

    def init(params: Any) -> optax.EmptyState:
        del params
        return optax.EmptyState()

    def update(updates: Any, state: optax.EmptyState, params: Any = None) -> tuple[Any, optax.EmptyState]:
        if params is None:
            raise ValueError("params is None: pass the member itself as the third argument of update.")
        kind = params.kind
        _, pull_back = jax.vjp(lambda theta: kind.at("natural", theta), params.natural)
        (slope,) = pull_back(updates)
        _, direction = jax.jvp(lambda eta: kind.at("expectation", eta), (params.expectation,), (slope,))
        return direction, state

    return optax.GradientTransformation(init, update)
