"""Tables made to break estimators are learned from, or refused with one sentence."""

import pytest

from estimators import adversarial


def test_odd_tables_are_learned_from_or_refused():
    assert adversarial.run(60, seed=0, names=("diag", "categorical", "factors")) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_many_odd_tables_are_learned_from_or_refused(seed):
    assert adversarial.run(200, seed) == []  # `make fuzz` tries 2,000
