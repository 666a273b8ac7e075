"""Online EM for models whose own statistics have no closed form: the inertia is drawn."""

import equinox as eqx
import jax.numpy as jnp

from kullback.core import Batch
from kullback.learning._em import info_of
from kullback.learning._learner import AT_ONCE, Clock, ClosedFormT, Gathered, Key, Learner, Scalar, StepInfo, as_number
from kullback.learning._online_em import Pull
from kullback.learning._step import step
from kullback.numerics import Numeric


class SampledInertia(Learner[ClosedFormT, None, None, Pull]):
    """The model nearest to the batch (weight rate) and to `draws` points of the current model (weight 1 − rate).

    The posteriors of both are those of the current model. As `draws` grows this becomes online EM.
    """

    rate: Numeric | float = eqx.field(converter=as_number)
    draws: int = eqx.field(static=True)

    def gather(self, model: ClosedFormT, state: None, memory: None, batch: Batch, clock: Clock) -> Gathered[Pull, None]:
        """Return what the batch says, and what points of the model's own say, with the same mass."""
        assert clock.key is not None  # it draws
        data, _ = model.expected_statistics(batch)
        drawn, _ = model.expected_statistics(Batch(model.sample(clock.key, (self.draws,))))
        return Gathered(Pull(data, drawn.scale(batch.extent.mass / self.draws)), None)

    def move(self, model: ClosedFormT, state: None, message: Pull, clock: Clock) -> tuple[ClosedFormT, None, StepInfo]:
        """Return the model nearest to both."""
        data, inertia = message
        moved = model.maximize(inertia.scale(1 - self.rate).merge(data.scale(self.rate)))
        return moved, None, info_of(data)


def sampled_inertia_step(
    model: ClosedFormT, batch: Batch, rate: Scalar, key: Key, draws: int
) -> tuple[ClosedFormT, StepInfo]:
    """Return the model after one step of `SampledInertia`.

    >>> import jax
    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, _ = sampled_inertia_step(start, Batch([0, 1, 12]), 0.5, jax.random.key(0), draws=1000)
    >>> bool(model.components.rate[1] > 9)
    True
    """
    learner: SampledInertia[ClosedFormT] = SampledInertia(jnp.asarray(rate), draws)
    found = step(learner, model, None, None, (batch,), AT_ONCE._replace(key=key))
    return found.model, found.info
