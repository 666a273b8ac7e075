"""Every estimator gives what it gave before the last redesign: each case of `cases.py` against the kept values.

`PYTHONPATH=tests python -m reference compare` prints how far each case is.
"""

import pytest

from reference.cases import CASES, QUICK
from reference.values import PATH, TOLERANCE, deviations, read
from tiers import slow

KEPT = read()
KNOWN = {name for arrays in KEPT.values() for name in arrays}


@pytest.mark.parametrize("case", [case if case in QUICK else slow(case) for case in CASES])
def test_values_are_those_that_were_kept(case):
    found = deviations(CASES[case](), KEPT[case], KNOWN)
    assert {name: value for name, value in found.items() if value > TOLERANCE} == {}


def test_every_kept_value_has_its_case():
    assert KEPT.keys() == CASES.keys()
    assert PATH.stat().st_size < 500_000
