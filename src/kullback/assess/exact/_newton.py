"""Where the ray through (τ + 1) meets the Newton polyhedron: a float program proposes, fractions prove."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.optimize

from kullback.assess.exact._face_check import Exponent, FaceCheck
from kullback.assess.exact._rational import dot, rank, solutions_near


@dataclass(frozen=True)
class NewtonCertificate:
    """Why the ray t·(τ + 1) enters the Newton polyhedron at t = `distance`, in a face of that `codimension`.

    With α_j the monomials, c the `weights` and y the `normal`, all of them fractions:

    - c ≥ 0, Σ c_j = 1 and Σ c_j·α_j ≤ distance·(τ + 1) in each coordinate: the polyhedron has begun there;
    - y ≥ 0, y·(τ + 1) = 1 and y·α_j ≥ distance for all j: before, it has not;
    - for each j one of c_j and y·α_j − distance is positive, and for each coordinate i one of y_i and the gap in the
      first line: the two are strictly complementary, so the face of all such y is known by what is zero in it. The
      codimension is d + 1 − rank of (the α_j with c_j > 0, the axes with a gap, τ + 1).

    `faces` says of each compact face why its polynomials have no common zero off the axes, or only simple ones; it is
    empty where all generators are monomials, and none can have.
    """

    monomials: tuple[Exponent, ...]
    prior: tuple[Fraction, ...]
    distance: Fraction
    weights: tuple[Fraction, ...]
    normal: tuple[Fraction, ...]
    codimension: int
    faces: tuple[FaceCheck, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether every face is certain; otherwise zeros of some were searched for, and none was found."""
        return all(face.proved for face in self.faces)

    def verify(self) -> None:
        """Raise ArithmeticError unless all of it holds, in rational arithmetic."""
        shift = [t + 1 for t in self.prior]
        gaps = [self.distance * s - dot(self.weights, column) for s, column in zip(shift, self._columns, strict=True)]
        excess = [dot(self.normal, monomial) - self.distance for monomial in self.monomials]
        one_of_each = [*zip(self.weights, excess, strict=True), *zip(gaps, self.normal, strict=True)]
        tight = [list(map(Fraction, m)) for m, c in zip(self.monomials, self.weights, strict=True) if c > 0]
        axes = [[Fraction(i == j) for j in range(len(gaps))] for i, gap in enumerate(gaps) if gap > 0]
        good = (
            sum(self.weights) == 1
            and dot(self.normal, shift) == 1
            and all(min(pair) == 0 and max(pair) > 0 for pair in one_of_each)
            and self.codimension == len(shift) + 1 - rank([*tight, *axes, shift])
        )
        if not good:
            raise ArithmeticError("The certificate does not hold.")

    @property
    def _columns(self) -> list[tuple[int, ...]]:
        return list(zip(*self.monomials, strict=True))


def newton_certificate(monomials: Sequence[Exponent], prior: Sequence[Fraction]) -> NewtonCertificate:
    """Return the certificate of the least t with t·(prior + 1) in conv(monomials) + R^d_≥0.

    >>> newton_certificate([(2, 0), (0, 3)], [Fraction(0), Fraction(0)]).distance
    Fraction(6, 5)
    """
    weights, normal = _proposed(monomials, prior)
    shift = [t + 1 for t in prior]
    alpha = np.array(monomials, float)
    span = np.array(shift, float)
    distance = float(np.min(alpha @ normal))
    used = [j for j in range(len(alpha)) if weights[j] > alpha[j] @ normal - distance]
    held = [i for i in range(len(span)) if normal[i] > distance * span[i] - weights @ alpha[:, i]]
    one, zero = Fraction(1), Fraction(0)
    primal = [[*(Fraction(monomials[j][i]) for j in used), -shift[i]] for i in held] + [[one] * len(used) + [zero]]
    dual = [[*(Fraction(monomials[j][i]) for i in held), -one] for j in used] + [[*(shift[i] for i in held), zero]]
    last = distance
    for c in solutions_near(primal, [zero] * len(held) + [one], [*weights[used], last]):
        for y in solutions_near(dual, [zero] * len(used) + [one], [*normal[held], last]):
            found = _certificate(monomials, prior, used, c, held, y)
            if found is not None:
                return found
    raise ArithmeticError(
        "The place where the ray meets the Newton polyhedron could not be proved: exponents with fewer digits may help."
    )


def _proposed(monomials: Sequence[Exponent], prior: Sequence[Fraction]) -> tuple[np.ndarray, np.ndarray]:
    """Return a strictly complementary pair (c, y) in floats.

    The program and its dual are solved as one, homogeneous up to their common scale σ ≥ 0: of each pair that may not
    both be positive the sum is at least 1, and σ is made least. Such a solution exists (Goldman and Tucker), and in it
    zero and positive are far apart.
    """
    alpha = np.array(monomials, float)
    shift = np.array([t + 1 for t in prior], float)
    count, size = alpha.shape
    eye_count, eye_size = np.eye(count), np.eye(size)
    no = np.zeros
    # unknowns: c, y, t, σ; rows are ≤ 0 or ≤ −1
    gap = np.hstack([alpha.T, no((size, size)), -shift[:, None], no((size, 1))])
    excess = np.hstack([no((count, count)), -alpha, np.ones((count, 1)), no((count, 1))])
    either_c = excess - np.hstack([eye_count, no((count, size + 2))])
    either_y = gap - np.hstack([no((size, count)), eye_size, no((size, 2))])
    scale = np.array([[*np.ones(count), *no(size), 0, -1], [*no(count), *shift, 0, -1]])
    solved = scipy.optimize.linprog(
        [*no(count + size + 1), 1],
        A_ub=np.vstack([gap, excess, either_c, either_y]),
        b_ub=[*no(size + count), *-np.ones(size + count)],
        A_eq=scale,
        b_eq=no(2),
        bounds=(0, None),
    )
    if not solved.success:
        raise ArithmeticError(f"The linear program of the Newton polyhedron was not solved: {solved.message}")
    return solved.x[:count] / solved.x[-1], solved.x[count : count + size] / solved.x[-1]


def _certificate(
    monomials: Sequence[Exponent],
    prior: Sequence[Fraction],
    used: list[int],
    c: list[Fraction],
    held: list[int],
    y: list[Fraction],
) -> NewtonCertificate | None:
    """Return the certificate of a pair, or None where it does not hold."""
    size = len(prior)
    weights, normal = [Fraction(0)] * len(monomials), [Fraction(0)] * size
    for j, value in zip(used, c, strict=False):
        weights[j] = value
    for i, value in zip(held, y, strict=False):
        normal[i] = value
    tight = [list(map(Fraction, monomials[j])) for j in used]
    axes = [[Fraction(i == j) for j in range(size)] for i in range(size) if i not in held]
    codimension = size + 1 - rank([*tight, *axes, [t + 1 for t in prior]])
    found = NewtonCertificate(tuple(monomials), tuple(prior), c[-1], tuple(weights), tuple(normal), codimension)
    try:
        found.verify()
    except ArithmeticError:
        return None
    return found
