"""What is known of the zeros of one compact face."""

from typing import NamedTuple

Exponent = tuple[int, ...]


class FaceCheck(NamedTuple):
    """A compact face of a Newton polyhedron, and what is known of the zeros of its polynomials off the axes."""

    #: the monomials on it
    face: tuple[Exponent, ...]
    #: a common zero with all coordinates ≠ 0, where there is one
    zero: tuple[float, ...] | None
    #: how it is known
    reason: str
    #: whether `reason` is a proof
    proved: bool

    def __str__(self) -> str:
        return "the face of " + ", ".join(map(str, self.face))
