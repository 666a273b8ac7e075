"""What `complete` returns: the missing part of rows, and its energy."""

from typing import Any, NamedTuple

from jaxtyping import Array, Float

#: What is wanted of each row: "h", "v" or both, in this order.
Want = tuple[str, ...]


class Completion(NamedTuple):
    """The missing part of each row that was asked for, and the energy of what is reported.

    Attributes
    ----------
    v : the rows with their missing entries found; None where v was not wanted
        Points of which a family has no parts (counts of one total, shares, spins) are missing as a whole where one of
        their entries is, and are found as a whole.
    h : what is hidden, for each row: labels, states, factors, probabilities; None where h was not wanted
    energy : one number for each row; in models with time that of the sequence which the row belongs to
        −log p(h, v) where both were wanted, −log p(v), the free energy, where v was, and −log p(h, vₒ) where h was,
        with vₒ what is observed: what was not wanted is summed out. Where nothing is hidden it is −log p(v).
    exact : whether it is the lowest energy, or a draw from p^(1/T); otherwise a search or a chain has found it

    """

    v: Any
    h: Any
    energy: Float[Array, "..."]
    exact: bool


def refuse_temperature(temperature: float, model: str, what: str) -> ValueError:
    """Return the error for a temperature at which nothing can be drawn exactly."""
    return ValueError(
        f"temperature is {temperature}: {what} can be drawn at temperature 1 from {model}, or found at 0, and not at "
        "others, for p^(1/T) is not a distribution that can be drawn from."
    )
