"""The zeta function of a resolution."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kullback.assess.exact._coefficient import check_charts


def zeta(z: ArrayLike, k: ArrayLike, h: ArrayLike) -> Any:
    """Return ζ(z) = ∫ K^z φ dw of a resolution into charts [0, 1]^d with K = u^(2k) and φ·|Jacobian| = u^h.

    It is Σ over charts of Π_i 1/(2·k_i·z + h_i + 1): the integral where that converges, Re z > −λ, and its continuation
    elsewhere. The largest pole is −λ, of order m: `Coefficient.of_charts` with the same k and h.

    Parameters
    ----------
    z : array-like
        Real or complex numbers.
    k, h : array-like of shape (d,) or (charts, d)
        Whole numbers ≥ 0, and rational numbers > −1.

    Examples
    --------
    >>> float(zeta(1.0, k=[1, 1], h=[0, 0]))  # the mean of u₁²·u₂²
    0.1111111111111111

    """
    z = np.asarray(z)
    if not np.all(np.isfinite(z)):
        raise ValueError("z has an entry that is not finite: the zeta function has no value there.")
    total = np.zeros(z.shape, np.result_type(z, float))
    for powers, jacobian in check_charts(k, h):
        factors = [2 * a * z + float(b + 1) for a, b in zip(powers, jacobian, strict=True)]
        product = np.prod(factors, axis=0)
        if np.any(product == 0):
            raise ValueError(f"z is {z[product == 0].flat[0]:g}: the zeta function has a pole there.")
        total = total + 1 / product
    return total
