"""The member nearest to data: what is checked before and after."""

from typing import Any

import jax
import numpy as np

from kullback.families._component import Support
from kullback.numerics import Numeric, as_parameter, check_values, entry_name, is_concrete

#: A concentration of more than this is told from points that are all alike by rounding only.
MOST_CONCENTRATED = 1e9


def fit_points(x: Any, weight: Any, axes: int) -> tuple[Numeric, Numeric | None]:
    """Return points, one for each row, and their weights, or raise where they are not there, missing or misshapen."""
    values = as_parameter(x)
    if values.ndim != 2 if axes else values.ndim == 0:
        what = "two axes, with a row for each point" if axes else "one entry for each point"
        raise ValueError(f"x has shape {values.shape}: it needs {what}.")
    if values.shape[0] == 0:
        raise ValueError("x is empty: a fit needs points.")
    if is_concrete(values) and not np.all(np.isfinite(values)):
        index = tuple(np.argwhere(~np.isfinite(values))[0])
        raise ValueError(
            f"{entry_name('x', index)} is {np.asarray(values)[index]:.6g}: fit takes whole points of finite numbers. "
            "Leave such rows out, or let an estimator learn from rows with missing entries, such as kullback.Mixture."
        )
    if weight is None:
        return values, None
    weight = as_parameter(weight)
    if weight.shape != values.shape[:1]:
        raise ValueError(f"weight has shape {weight.shape}: x has {values.shape[0]} points, and each needs one.")
    check_values("weight", weight, lambda w: np.isfinite(w) & (w >= 0), "finite and not negative")
    if is_concrete(weight) and not np.any(np.asarray(weight) > 0):
        raise ValueError("weight is 0 for all points: a fit needs some weight.")
    return values, weight


def check_no_structure(family: type, structure: dict[str, Any]) -> None:
    """Raise where a family is told what it has no use for."""
    if structure:
        raise TypeError(f"{', '.join(structure)} is given: the fit of {family.__name__} takes points and weights only.")


def check_support(support: Support, values: Numeric) -> None:
    """Raise at the first entry, or row, that no member allows."""
    check_values("x", values, support.contains, support.must_be)
    if support.total is None or not is_concrete(values):
        return
    totals = np.sum(values, axis=-1)
    must = totals.flat[0] if support.total == "same" else support.total
    bad = np.abs(totals - must) > 1e-6
    if bad.any():
        index = tuple(np.argwhere(bad)[0])
        raise ValueError(f"{entry_name('x', index)} sums to {totals[index]:.8g}: all rows must sum to {must:.8g}.")


def checked_fit(member: Any, reason: str | None) -> Any:
    """Return the member, or raise with the reason why it is none."""
    leaves = jax.tree.leaves(member)
    if is_concrete(*leaves) and reason is not None:
        raise ValueError(f"x has no nearest {type(member).__name__}: {reason}")
    return member
