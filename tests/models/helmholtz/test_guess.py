"""What is drawn for a machine of any size, asked of one that is small enough to know all of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contracts.quick import quick
from kullback.core import Batch
from kullback.models import complete
from kullback.models.helmholtz import _guess
from models.helmholtz.small_machine import VISIBLE, exact_machine, joint_table, places, random_machine

MACHINE = random_machine(2, scale=0.7)
JOINT = joint_table(MACHINE)
ROW, SEEN = VISIBLE[[9]], np.array([[True, False, True, False]])
DRAWS = 4000


def agrees(counts, law):
    """Whether counts of draws are those of a law, as far as a χ² test can tell; rare states are put together."""
    expected = counts.sum() * law / law.sum()
    rare = expected < 5
    counts, expected = (np.append(part[~rare], part[rare].sum()) for part in (counts, expected))
    counts, expected = counts[expected > 0], expected[expected > 0]
    assert counts.sum() == pytest.approx(expected.sum())  # nothing that cannot be
    return len(counts) == 1 or stats.chisquare(counts, expected).pvalue > 1e-3


def test_blocks_of_rows_and_draws_keep_their_places(monkeypatch):
    """16 rows of 4 entries and 1,001 draws, of which 96 numbers go at once: blocks are not full at either end."""
    monkeypatch.setattr(_guess, "_AT_ONCE", 24 * 4)
    log_weight = quick(lambda m, key: _guess.log_weights(m, key, jnp.asarray(VISIBLE[:13]), 1001))(
        MACHINE, jax.random.key(0)
    )
    assert log_weight.shape == (13, 1001)
    weight = np.exp(np.asarray(log_weight))
    z = (weight.mean(axis=1) - JOINT.sum(axis=1)[:13]) / stats.sem(weight, axis=1)
    assert np.all(np.abs(z) < 5)
    assert 0.5 < np.sqrt(np.mean(z**2)) < 2
    assert all(len(np.unique(row)) > 16 for row in weight)  # blocks draw for themselves
    _, again = np.unique(weight[:, :100], axis=0, return_counts=True)
    assert np.all(again == 1)


@quick
def drawn(machine, batch, keys):
    return jax.vmap(lambda key: (machine.impute(batch, key), _guess.resample(machine, key, batch)))(keys)


@pytest.mark.slow
def test_hidden_units_and_missing_entries_are_drawn_by_their_weights():
    v, layers = drawn(MACHINE, Batch(ROW, observed=SEEN), jax.random.split(jax.random.key(0), DRAWS))
    agree = np.all((VISIBLE == ROW) | ~SEEN, axis=1)
    v, h = np.asarray(v)[:, 0], np.concatenate(layers, axis=-1)[:, 0]
    assert np.all(v[:, SEEN[0]] == ROW[0, SEEN[0]])
    assert agrees(np.bincount(places(v), minlength=16), JOINT.sum(axis=1) * agree)
    assert agrees(np.bincount(places(h), minlength=32), agree @ JOINT)


def test_missing_entries_are_filled_with_probabilities():
    machine = exact_machine()
    nothing = np.zeros((1, 4), bool)
    # where nothing is seen, what is filled in is a fixed point of going up and down, and begins at the means
    found = np.asarray(machine.fill(ROW, nothing))
    assert np.all((found > 0) & (found < 1))
    kept = np.asarray(machine.fill(ROW, SEEN))
    np.testing.assert_array_equal(kept[SEEN], ROW[SEEN])
    assert np.all((kept[~SEEN] > 0) & (kept[~SEEN] < 1))


WANTS = (("h",), ("v",), ("h", "v"))


#: Rows that lack some entries, others, or nothing.
ROWS, GAPS = np.repeat(VISIBLE[[9, 6]], 2, axis=0), np.array([SEEN[0], SEEN[0], ~SEEN[0], [True] * 4])


@pytest.mark.slow
@pytest.mark.parametrize("enumerated", [True, False], ids=["all states", "draws and turns"])
def test_what_is_missing_is_found_and_drawn(enumerated, monkeypatch):
    """By all states, and as if 9 unknowns were too many of them: here the lowest energies are the same."""
    if not enumerated:
        monkeypatch.setattr(_guess, "_ENUMERATED", 0)
    batch = Batch(ROWS, observed=GAPS)

    @jax.jit
    def answers(machine, key):
        lowest = [complete(machine, batch, want=want) for want in WANTS]
        drawn = [complete(machine, batch, want=want, temperature=1.0, key=key, n=DRAWS)[:3] for want in WANTS]
        return [found[:3] for found in lowest], drawn, [found.exact for found in lowest]

    lowest, drawn, exact = answers(MACHINE, jax.random.key(1))
    assert [bool(each) for each in exact] == [enumerated] * 3
    agree = np.all((VISIBLE[None] == ROWS[:, None]) | ~GAPS[:, None], axis=2)
    for row in range(4):
        law = JOINT * agree[row][:, None]
        laws = law.sum(axis=0), law.sum(axis=1), law.ravel()
        for place, (found, draws, each) in enumerate(zip(lowest, drawn, laws, strict=True)):
            v, h = (None if part is None else np.asarray(part)[row] for part in found[:2])
            state = state_of(v, h)
            assert each[state] == pytest.approx(each.max(), rel=1e-12)
            vs, hs, energy = (None if part is None else np.asarray(part)[:, row] for part in draws)
            assert agrees(np.bincount(state_of(vs, hs), minlength=len(each)), each)
            if enumerated or place != 1:
                assert float(found[2][row]) == pytest.approx(-np.log(each.max()), rel=1e-9)
                np.testing.assert_allclose(energy, -np.log(each[state_of(vs, hs)]), rtol=1e-9)
            else:  # the energy of v is an estimate, of 64 draws
                assert float(found[2][row]) == pytest.approx(-np.log(each.max()), abs=0.5)


def state_of(v, h):
    """Return the number of a state of what is wanted."""
    if v is None or h is None:
        return places(h if v is None else v)
    return 32 * places(v) + places(h)


def test_other_temperatures_are_refused_where_states_are_too_many(monkeypatch):
    monkeypatch.setattr(_guess, "_ENUMERATED", 0)
    with pytest.raises(
        ValueError, match=r"temperature is 0.5: what is hidden or missing can be drawn at temperature 1"
    ):
        complete(MACHINE, Batch(ROW, observed=SEEN), temperature=0.5, key=0)
