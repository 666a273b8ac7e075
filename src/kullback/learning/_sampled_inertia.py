"""Online EM for models whose own statistics have no closed form: the inertia is drawn."""

from typing import Any, TypeVar

from kullback.families import Batch, ClosedFormModel
from kullback.learning._report import Report, report
from kullback.runtime import jit

Model = TypeVar("Model", bound=ClosedFormModel)


def sampled_inertia_step(model: Model, batch: Batch, rate: Any, key: Any, draws: int) -> tuple[Model, Report]:
    """Return the model nearest to the batch (weight rate) and to `draws` points of the current model (1 − rate).

    The posteriors of both are those of the current model. As `draws` grows this becomes `online_em_step`.

    >>> import jax
    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, _ = sampled_inertia_step(start, Batch([0, 1, 12]), 0.5, jax.random.key(0), draws=1000)
    >>> bool(model.components.rate[1] > 9)
    True
    """
    return _step(model, batch, rate, key, draws)


def _sampled(model: Any, batch: Batch, rate: Any, key: Any, draws: int) -> tuple[Any, Report]:
    data, _ = model.expected_statistics(batch)
    drawn, _ = model.expected_statistics(Batch(model.sample(key, (draws,))))
    inertia = drawn.scale(batch.extent.mass / draws)
    return model.maximize(inertia.scale(1 - rate).merge(data.scale(rate))), report(data)


_step = jit(_sampled, static_argnames="draws")
