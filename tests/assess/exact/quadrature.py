"""Z(n) = ∫ φ e^{−nK} dw in logarithms of the coordinates, where n may be e^100."""

import numpy as np


def log_axis(deepest, step):
    """Return s = −log w over the half line of w, with the log weight of the prior e^{−w} dw."""
    s = np.arange(-4.0, deepest, step)
    return s, -np.exp(-s) - s


def slope(generators, log_n, prior=None, step=0.25, deepest=None):
    """Return −d log Z / d log n of K = Σ w^(2α) over w ≥ 0, by the trapezoid rule in log w.

    It is the mean of n·K under φ·e^{−nK}. All integrands fall off on both sides, so the rule converges exponentially.
    """
    exponents = np.array(generators)
    prior = np.zeros(exponents.shape[1]) if prior is None else np.asarray(prior, float)
    s, log_weight = log_axis(log_n + 8 if deepest is None else deepest, step)
    logs = np.meshgrid(*[s] * exponents.shape[1], indexing="ij", sparse=True)
    log_density = sum(np.reshape(log_weight - tau * s, each.shape) for tau, each in zip(prior, logs, strict=True))
    powers = sum(
        np.exp(np.minimum(log_n - 2 * sum(a * each for a, each in zip(alpha, logs, strict=True)), 8.0))
        for alpha in exponents
    )
    weight = np.exp(log_density - powers)
    return float(np.sum(weight * powers) / np.sum(weight))


def level_area(f, y_powers, delta, step=0.05):
    """Return the area of |f(x, y)| < δ in [−½, ½]², with the roots of f(x, ·) = ±δ and the trapezoid rule in log |x|.

    `y_powers(x)` are the coefficients of f(x, ·), the highest power first.
    """
    total = 0.0
    edges = np.arange(np.log(0.5), -45, -step)  # x below e^−45 has no area to speak of
    for i, log_x in enumerate(edges):
        for x in (np.exp(log_x), -np.exp(log_x)):
            coefficients = np.array(y_powers(x), float)
            ends = [-0.5, 0.5]
            for level in (delta, -delta):
                shifted = coefficients.copy()
                shifted[-1] -= level
                roots = np.roots(shifted)
                real = roots[np.abs(roots.imag) < 1e-7 * np.abs(roots) + 1e-30].real
                ends += [root for root in real if abs(root) < 0.5]
            ends = np.sort(ends)
            middle = (ends[1:] + ends[:-1]) / 2
            inside = np.abs(f(x, middle)) < delta
            total += (0.5 if i == 0 else 1.0) * step * abs(x) * np.sum(np.diff(ends)[inside])
    return total
