"""Learning coefficients by Newton polyhedra."""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from kullback.assess.exact._coefficient import Coefficient
from kullback.assess.exact._degenerate import Generator, find_multiple_zero, find_zero
from kullback.assess.exact._face_check import Exponent, FaceCheck
from kullback.assess.exact._faces import Face, compact_faces
from kullback.assess.exact._newton import NewtonCertificate, newton_certificate
from kullback.assess.exact._rational import as_fraction, rank


def learning_coefficient(
    exponents: Sequence[Sequence[int] | Mapping[Sequence[int], Any]],
    prior: Sequence[Any] | None = None,
    *,
    at: str = "the origin",
) -> Coefficient:
    """Return the learning coefficient λ and its multiplicity m of K = Σ_j f_j² at the origin, exactly.

    For monomials the Newton polyhedron P of all exponents says all of it: with l the least t for which t·(τ + 1) lies
    in P, λ = 1/(2l), and m is the codimension of the face it lies in the interior of. For polynomials the same holds
    where on every compact face of P the parts of the polynomials on it have no common zero off the axes (such K are
    nondegenerate). Where one polynomial has such zeros, but simple ones, λ = min(1/2, 1/(2l)) (Kouchnirenko). All else
    is refused, with the face and the point: resolve it, and ask `learning_coefficient.of_charts`. On faces of dimension
    2 or more it may be that zeros were searched for and none was found: then the result says "nondegenerate by search
    only", and `certificate.proved` is False.

    Parameters
    ----------
    exponents : sequence
        The generators f_j: the exponents of a monomial, which may have a unit as a factor, or a polynomial as a dict
        from exponents to coefficients.
    prior : sequence of numbers, optional
        The exponents τ > −1 of a prior that is |w|^τ times a unit; 0 where it is positive.
    at : str
        What the origin is, for the result.

    Examples
    --------
    y = abx has K = ½a²b²; the same with the prior |a|; and x² − y³:

    >>> learning_coefficient([(1, 1)])
    Coefficient(1/2, multiplicity=2, at='the origin')
    >>> learning_coefficient([(1, 1)], prior=(1, 0))
    Coefficient(1/2, multiplicity=1, at='the origin')
    >>> learning_coefficient([{(2, 0): 1, (0, 3): -1}])
    Coefficient(5/12, multiplicity=1, at='the origin')

    What the polyhedron cannot see is refused:

    >>> learning_coefficient([{(1, 0): 1, (0, 1): -1}, (2, 0)])
    Traceback (most recent call last):
        ...
    ValueError: On the face of (0, 1), (1, 0) the generators vanish together at w = (1.0, 1.0), off the axes, ...

    """
    generators = _as_generators(exponents)
    monomials = sorted({monomial for generator in generators for monomial in generator})
    certificate = newton_certificate(monomials, _as_prior(prior, len(monomials[0])))
    if all(len(generator) == 1 for generator in generators):
        return Coefficient(1 / (2 * certificate.distance), certificate.codimension, certificate, at)
    checked = [_CheckedFace(face, find_zero(face, generators)) for face in compact_faces(monomials)]
    certificate = dataclasses.replace(certificate, faces=tuple(each.check for each in checked))
    degenerate = [each for each in checked if each.check.zero is not None]
    if not degenerate:
        return Coefficient(1 / (2 * certificate.distance), certificate.codimension, certificate, at)
    if len(generators) > 1:
        first = degenerate[0].check
        raise ValueError(
            f"On {first} the generators vanish together at w = {first.zero}, off the axes, so the Newton polyhedron "
            "does not tell the learning coefficient: take coordinates in which these zeros lie on the axes."
        )
    return _with_simple_zeros(generators[0], certificate, checked, at)


#: The same of a resolution of singularities, by its charts.
learning_coefficient.of_charts = Coefficient.of_charts  # type: ignore[attr-defined]


class _CheckedFace(NamedTuple):
    face: Face
    check: FaceCheck


def _with_simple_zeros(
    generator: Generator, certificate: NewtonCertificate, checked: Sequence[_CheckedFace], at: str
) -> Coefficient:
    """Return the coefficient of one polynomial with zeros off the axes, if they are simple (Kouchnirenko).

    In a toric resolution f is a monomial times a smooth function whose zeros cross the axes: a pole at 1 besides those
    of the axes. Where both are at 1 the zeros of f meet so many of the axes that attain it as there are facets
    around both the face of (1, …, 1) and a face with zeros.
    """
    checks = []
    for face, check in checked:
        multiple = check if check.zero is None else find_multiple_zero(face, generator)
        if multiple.zero is not None:
            raise ValueError(
                f"On {multiple} the polynomial has a multiple zero at w = {multiple.zero}, off the axes, so the "
                "Newton polyhedron does not tell the learning coefficient: take coordinates in which these zeros lie "
                "on the axes."
            )
        checks.append(multiple)
    certificate = dataclasses.replace(certificate, faces=tuple(checks))
    pole = 1 / certificate.distance
    if pole != 1:
        return Coefficient(min(pole, Fraction(1)) / 2, certificate.codimension if pole < 1 else 1, certificate, at)
    target = [certificate.distance * (t + 1) for t in certificate.prior]
    most = 0
    for face, check in checked:
        if check.zero is None:
            continue
        around = [f.normal for f in face.facets if sum(map(operator.mul, f.normal, target)) == f.least]
        most = max(most, rank([[Fraction(entry) for entry in normal] for normal in around]))
    return Coefficient(Fraction(1, 2), max(certificate.codimension, 1 + most), certificate, at)


def _as_generators(exponents: Any) -> list[Generator]:
    """Return polynomials with exact coefficients, those that are multiples of others left out, or raise."""
    if isinstance(exponents, Mapping) or not np.iterable(exponents):
        raise ValueError("exponents must be a list of generators: exponents of monomials, or dicts of them.")
    generators: list[Generator] = []
    size = None
    for j, given in enumerate(exponents):
        name = f"exponents[{j}]"
        terms = dict(given) if isinstance(given, Mapping) else None
        if terms is None and not np.iterable(given):
            raise ValueError(f"{name} is {given!r}: it must be the exponents of a monomial, or a dict of them.")
        generator: Generator = {}
        for monomial, coefficient in ({tuple(given): 1} if terms is None else terms).items():
            exponent = _as_exponent(name, monomial)
            if size is not None and len(exponent) != size:
                raise ValueError(f"{name} has {len(exponent)} coordinates: the generators before it have {size}.")
            size = len(exponent)
            value = as_fraction(f"{name}[{exponent}]", coefficient)
            if value:
                generator[exponent] = value
        if any(not any(monomial) for monomial in generator):
            raise ValueError(f"{name} does not vanish at the origin, so K does not either: move a zero of K there.")
        if generator:
            leading = generator[max(generator)]
            generators.append({monomial: value / leading for monomial, value in sorted(generator.items())})
    distinct = [generator for j, generator in enumerate(generators) if generator not in generators[:j]]
    if not distinct:
        raise ValueError("exponents has no generator other than 0: then K vanishes everywhere, and λ is 0.")
    return distinct


def _as_exponent(name: str, monomial: Any) -> Exponent:
    try:
        exponent = tuple(operator.index(entry) for entry in monomial)
    except TypeError:
        raise ValueError(f"{name} has the exponents {monomial!r}: they must be whole numbers.") from None
    if not exponent or min(exponent) < 0:
        raise ValueError(f"{name} has the exponents {exponent}: give one for each coordinate, 0 or more.")
    return exponent


def _as_prior(prior: Any, size: int) -> list[Fraction]:
    if prior is None:
        return [Fraction(0)] * size
    if np.ndim(prior) != 1 or len(prior) != size:
        raise ValueError(f"prior is {prior!r}: it must have one exponent for each of the {size} coordinates.")
    exact = [as_fraction(f"prior[{i}]", value) for i, value in enumerate(prior)]
    for i, value in enumerate(exact):
        if value <= -1:
            raise ValueError(f"prior[{i}] is {value}: it must be above −1, or the prior has no integral.")
    return exact
