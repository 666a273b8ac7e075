from fractions import Fraction

import numpy as np
import pytest

from kullback.assess.exact._univariate import count_nonzero_roots, greatest_common_divisor, real_root


def expanded(roots, complex_pairs=()):
    """Return the polynomial with these whole roots and pairs a ± bi, the constant first, in fractions."""
    p = [Fraction(1)]
    factors = [[-root, 1] for root in roots] + [[a * a + b * b, -2 * a, 1] for a, b in complex_pairs]
    for factor in factors:
        p = [
            sum((p[i] * factor[k - i] for i in range(len(p)) if 0 <= k - i < len(factor)), Fraction(0))
            for k in range(len(p) + len(factor) - 1)
        ]
    return p


@pytest.mark.parametrize("seed", range(20))
def test_sturm_counts_the_roots_that_were_put_in(seed):
    random = np.random.default_rng(seed)
    roots = [int(root) for root in random.integers(-3, 4, 4)]
    p = expanded(roots, [(int(random.integers(-2, 3)), 1)])
    different = {root for root in roots if root}
    assert count_nonzero_roots(p) == len(different)
    if different:
        assert min(abs(real_root(p) - root) for root in different) < 1e-6


def test_common_roots_are_those_of_the_greatest_common_divisor():
    common = greatest_common_divisor(expanded([1, 1, 2, -3]), expanded([1, 2, 5], [(0, 1)]))
    assert [value / common[-1] for value in common] == expanded([1, 2])
