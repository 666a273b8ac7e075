"""A start from some of the rows must not rule out what only the others have: a rare category, a first count."""

from typing import Any

import equinox as eqx
import numpy as np

from kullback import families, models

#: The least probability of a category, and the least rate of counts: about once in the rows that a start looks at.
LEAST = 2.0**-16


def supported(members: Any) -> Any:
    """Return components or emissions that give every category and every count some probability."""
    match members:
        case families.Product():
            return eqx.tree_at(lambda m: m.parts, members, type(members.parts)(supported(p) for p in members.parts))
        case families.Independent():
            return eqx.tree_at(lambda m: m.columns, members, supported(members.columns))
        case families.Categorical() | families.Multinomial() | models.Counts():
            return eqx.tree_at(lambda m: m.probabilities, members, _shared(np.asarray(members.probabilities)))
        case families.Bernoulli():
            chance = np.clip(np.asarray(members.probability), LEAST, 1 - LEAST)
            return eqx.tree_at(lambda m: m.probability, members, chance)
        case families.Poisson():
            return eqx.tree_at(lambda m: m.rate, members, np.maximum(np.asarray(members.rate), LEAST))
    return members


def _shared(probabilities: np.ndarray) -> np.ndarray:
    """Return probabilities with a little for those that are none; where all are some, as they are."""
    if (probabilities > 0).all():
        return probabilities
    raised = np.maximum(probabilities, LEAST)
    return raised / raised.sum(axis=-1, keepdims=True)


def with_support(model: Any) -> Any:
    """Return a mixture with such components; another model as it is."""
    if not isinstance(model, models.Mixture):
        return model
    return eqx.tree_at(lambda m: m.components, model, supported(model.components))
