"""Dirichlets: their Fisher matrix when one concentration dominates, and what is not on the simplex."""

import mpmath as mp
import numpy as np

from contracts.quick import quick
from kullback.families import Dirichlet


def test_fisher_of_lopsided_concentrations():
    """ψ′(α_i) − ψ′(Σα) and the inverse of the whole, entry by entry, against mpmath."""
    alpha = np.array([[1e3, 1e-3], [1e6, 1e-6], [2.0, 1e4], [1e5, 1e5]])
    both = quick(lambda d: (d.fisher("natural"), d.fisher("expectation")))(Dirichlet(alpha))
    found, dual = map(np.asarray, both)
    for place, row in enumerate(alpha):
        with mp.workdps(60):
            a, b = map(mp.mpf, row)
            total = mp.polygamma(1, a + b)
            matrix = mp.matrix([[mp.polygamma(1, a) - total, -total], [-total, mp.polygamma(1, b) - total]])
            inverse = matrix**-1
            exact = np.array(matrix.tolist(), dtype=float), np.array(inverse.tolist(), dtype=float)
        np.testing.assert_allclose(found[place], exact[0], rtol=1e-10, err_msg=f"natural {row}")
        np.testing.assert_allclose(dual[place], exact[1], rtol=1e-8, err_msg=f"expectation {row}")


def test_log_partition_of_lopsided_concentrations():
    alpha = np.array([[1e6, 1e-6], [1e6, 1.0], [1e-6, 1e-6], [1e6, 1e6]])
    with mp.workdps(60):
        rows = [[mp.mpf(a) for a in row] for row in alpha]
        exact = [float(sum(map(mp.loggamma, row)) - mp.loggamma(sum(row))) for row in rows]
    np.testing.assert_allclose(quick(lambda d: d.log_partition)(Dirichlet(alpha)), exact, rtol=1e-12)


def test_what_is_off_the_simplex_has_no_mass():
    d = Dirichlet([1.0, 2.0, 3.0])
    x = np.array([[0.5, 0.6, 0.1], [1.1, -0.1, 0.0], [0.2, 0.3, 0.5]])
    assert np.isneginf(quick(lambda d: d.log_prob(x))(d)).tolist() == [True, True, False]


def test_uniform_dirichlet():
    log_p, entropy = quick(lambda d: (d.log_prob(np.full(4, 0.25)), d.entropy))(Dirichlet(np.ones(4)))
    np.testing.assert_allclose(log_p, np.log(6), rtol=1e-13)
    np.testing.assert_allclose(entropy, -np.log(6), rtol=1e-13)
