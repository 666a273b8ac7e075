"""What the answer of a network can be taken for."""

from typing import Any, Literal, Protocol

from jaxtyping import Array, Float

from kullback.families._family import Coordinates, Role
from kullback.numerics import Numeric


class OutputKind(Protocol):
    """A kind of distribution that any vector of R^size names a member of: a family, a mixture, a compound."""

    @property
    def size(self) -> int:
        """How many free coordinates a member has."""

    @property
    def columns(self) -> int:
        """How many columns the points have."""

    @property
    def roles(self) -> tuple[Role, ...]:
        """What each free coordinate is."""

    def at(self, coordinates: Coordinates, vector: Any) -> Any:
        """Return the member with these coordinates."""

    def log_prob_at(
        self, coordinates: Literal["natural", "free"], vector: Any, x: Any, observed: Any = None
    ) -> Float[Numeric, "..."]:
        """Return the log density at x, computed in these coordinates."""

    def fisher_at(self, coordinates: Coordinates, vector: Any) -> Float[Array, "... d d"]:
        """Return the Fisher matrix in these coordinates; where something is hidden, that of both, which bounds it."""

    def fisher_product_at(
        self, free: Any, columns: Float[Numeric, "... d k"], observed: Any = None
    ) -> Float[Array, "... d k"]:
        """Return the Fisher matrix of what is observed, at these free coordinates, times the columns of a matrix."""
