"""A start from some of the rows must not rule out what only the others have: a rare category, a first count."""

from typing import Any

import equinox as eqx

from kullback import models

#: The least probability of a category, and the least rate of counts: about once in the rows that a start looks at.
LEAST = 2.0**-16


def raise_support(members: Any) -> Any:
    """Return components or emissions that give every category and every count some probability."""
    return members.raise_zeros(LEAST)


def with_support(model: Any) -> Any:
    """Return a mixture whose components give every category and count some probability; another model as it is."""
    if not isinstance(model, models.Mixture):
        return model
    return eqx.tree_at(lambda m: m.components, model, raise_support(model.components))
