"""Learning coefficients of families of models, in closed form.

What no test of its own confirms (mixtures of three or more, free variances, latent Dirichlet allocation) is not here.
"""

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from kullback.assess.exact._coefficient import Coefficient
from kullback.assess.exact._rational import as_fraction

#: The most hidden units of a tanh network whose coefficient a test confirms.
_MOST_TANH = 4


def reduced_rank_coefficient(inputs: int, outputs: int, hidden: int, rank: int) -> Coefficient:
    """Return the coefficient of y = BAx + noise where the true BA has a rank of its own (Aoyagi, Watanabe).

    A has the shape hidden × inputs, B outputs × hidden. The prior is positive where BA is the truth, and it is the
    coefficient of all of that set.

    >>> reduced_rank_coefficient(inputs=5, outputs=5, hidden=3, rank=1).value
    Fraction(8, 1)
    """
    M, N, H, r = _whole(inputs=inputs, outputs=outputs, hidden=hidden, rank=rank)
    _check_widths([M, H, N], r)
    at, theorem = f"all BA that are the true map of rank {r}", "Aoyagi and Watanabe (2005), "
    if N + r > M + H:
        return Coefficient(Fraction(H * M - H * r + N * r, 2), 1, theorem + "inputs + hidden < outputs + rank", at)
    if M + r > N + H:
        return Coefficient(Fraction(H * N - H * r + M * r, 2), 1, theorem + "outputs + hidden < inputs + rank", at)
    if H + r > M + N:
        return Coefficient(Fraction(M * N, 2), 1, theorem + "inputs + outputs < hidden + rank", at)
    total = -((H + r) ** 2) - M**2 - N**2 + 2 * (H + r) * (M + N) + 2 * M * N
    odd = (M + H + N + r) % 2
    case = theorem + f"balanced widths, inputs + hidden + outputs + rank {'odd' if odd else 'even'}"
    return Coefficient(Fraction(total + odd, 8), 1 + odd, case, at)


def deep_linear_coefficient(widths: Sequence[int], rank: int) -> Coefficient:
    """Return the coefficient of a network of linear layers whose true map has a rank (Aoyagi 2024).

    `widths` are those of input, hidden layers and output. Layers with the smallest widths decide: the k smallest with
    Σ ≥ (k − 1)·(the largest of them) and Σ < (k − 1)·(the least of the others), all of them less the rank.

    >>> c = deep_linear_coefficient([2, 2, 2, 2], rank=0)
    >>> c.value, c.multiplicity
    (Fraction(3, 2), 3)
    """
    if isinstance(widths, int) or len(widths) < 2:
        raise ValueError(f"widths is {widths!r}: give those of the input, of all hidden layers, and of the output.")
    sizes = [_whole(**{f"widths[{i}]": width})[0] for i, width in enumerate(widths)]
    (r,) = _whole(rank=rank)
    _check_widths(sizes, r)
    spare = sorted(size - r for size in sizes)
    chosen = next(k for k in range(2, len(spare) + 1) if _decides(spare, k))
    least, depth = spare[:chosen], chosen - 1
    total = sum(least)
    a = total - (math.ceil(Fraction(total, depth)) - 1) * depth
    value = (
        Fraction(r * (sizes[0] + sizes[-1]) - r**2, 2)
        + Fraction(a * (depth - a), 4 * depth)
        - Fraction((depth - 1) * total**2, 4 * depth)
        + Fraction(sum(x * y for x, y in combinations(least, 2)), 2)
    )
    case = f"Aoyagi (2024), the {chosen} smallest widths"
    return Coefficient(value, a * (depth - a) + 1, case, f"all weights whose product is the true map of rank {r}")


def _decides(spare: list[int], k: int) -> bool:
    """Whether the k smallest of sorted widths are those that decide."""
    total, depth = sum(spare[:k]), k - 1
    if total < depth * spare[k - 1]:
        return False
    return k == len(spare) or (spare[k - 1] < spare[k] and total < depth * spare[k])


def mixture_coefficient(dimension: int, concentration: Any = 1) -> Coefficient:
    """Return the coefficient of two components N(·, Σ) with one known Σ where the truth is a single one.

    `concentration` is that of the Dirichlet prior of the weights; the prior of means is positive.

    >>> mixture_coefficient(dimension=1).value, mixture_coefficient(dimension=2).multiplicity
    (Fraction(3, 4), 2)
    """
    (d,) = _whole(dimension=dimension)
    phi = as_fraction("concentration", concentration)
    if d < 1 or phi <= 0:
        raise ValueError(f"dimension is {d} and concentration {phi}: both must be positive.")
    weight, means = phi / 2, Fraction(d, 4)
    case = "generators: the mean of the mixture, and weight × products of two differences of means"
    at = "weight 0 of a component whose mean is that of the other"
    return Coefficient(Fraction(d, 2) + min(weight, means), 2 if weight == means else 1, case, at)


def naive_bayes_coefficient(features: int) -> Coefficient:
    """Return the coefficient of binary features with a binary hidden cause where in truth they are independent.

    The prior of all probabilities is positive (Rusakov and Geiger 2005).

    >>> c = naive_bayes_coefficient(features=2)
    >>> c.value, c.multiplicity
    (Fraction(3, 2), 3)
    """
    (n,) = _whole(features=features)
    if n < 2:
        raise ValueError(f"features is {n}: a hidden cause of independence needs 2 or more.")
    case = "Rusakov and Geiger (2005), generators: the means, and weight × products of two differences"
    at = "a value of the cause with probability 0 that changes no feature"
    return Coefficient(Fraction(n + 1, 2), 3 if n == 2 else 1, case, at)


def tanh_coefficient(hidden: int) -> Coefficient:
    """Return the coefficient of y = Σ_h a_h·tanh(b_h·x) + noise, one input and output, where the truth is 0.

    With i = ⌊√hidden⌋ it is (hidden + i² + i)/(4i + 2), with multiplicity 2 where i² = hidden. Quadrature confirms it
    up to 4 units, and more are refused.

    >>> [str(tanh_coefficient(hidden).value) for hidden in (1, 2, 3, 4)]
    ['1/2', '2/3', '5/6', '1']
    """
    (H,) = _whole(hidden=hidden)
    if not 1 <= H <= _MOST_TANH:
        raise ValueError(f"hidden is {H}: the formula is confirmed for 1 to {_MOST_TANH} units only.")
    i = math.isqrt(H)
    value = Fraction(H + i * i + i, 4 * i + 2)
    return Coefficient(value, 2 if i * i == H else 1, f"Aoyagi and Watanabe, i = {i}", "all weights with the map 0")


def _whole(**numbers: Any) -> list[int]:
    """Return whole numbers ≥ 0, or raise with the name of the first that is none."""
    values = []
    for name, given in numbers.items():
        try:
            value = operator.index(given)
        except TypeError:
            raise ValueError(f"{name} is {given!r}: it must be a whole number.") from None
        if value < 0:
            raise ValueError(f"{name} is {value}: it must be 0 or more.")
        values.append(value)
    return values


def _check_widths(widths: Sequence[int], rank: int) -> None:
    if min(widths) < 1:
        raise ValueError(f"The widths are {', '.join(map(str, widths))}: each layer must have 1 or more.")
    if rank > min(widths):
        raise ValueError(f"rank is {rank}: no layer may be narrower, and the least width is {min(widths)}.")
