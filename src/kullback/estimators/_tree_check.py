"""Whether networks are those that parameters describe."""

from typing import Any

from kullback.runtime import tensor_shapes


def check_trees(estimator: Any) -> None:
    """Raise unless the parameters, which may have been set since, describe the networks that are there."""
    described = estimator._tree_shapes() if estimator._trees else {}
    for name in estimator._trees:
        held, wanted = (tensor_shapes(name, tree) for tree in (vars(estimator).get(name), described[name]))
        for place in [*held, *wanted]:
            is_now, would_be = held.get(place, "missing"), wanted.get(place, "missing")
            if is_now != would_be:
                raise ValueError(
                    f"The parameters describe another network than the one that has learned ({place} is {is_now}, "
                    f"and would be {would_be}): set them back, or begin anew with fit."
                )
