import numpy as np
import pytest
import scipy.stats

from kullback.assess import (
    BettingSequence,
    asymptotic_interval,
    bernstein_interval,
    hoeffding_interval,
    prequential_interval,
)
from tiers import slow

STREAMS, ROWS = 60, 1_000


def coins(rng):
    return (rng.random(ROWS) < 0.05).astype(float)


def fractions(rng):
    return rng.beta(10, 30, ROWS)


def few_values(rng):
    return rng.choice([-3.0, 0.5, 3.0], ROWS, p=[0.1, 0.6, 0.3])


CASES = {
    "coins": (coins, 0.05, (0.0, 1.0)),
    "fractions": (fractions, 0.25, (0.0, 1.0)),
    "clipped differences": (few_values, 0.9, (-3.0, 3.0)),
}


def wald_misses(x, mean):
    """Return whether the normal interval, looked at after every row from the tenth on, ever misses."""
    n = np.arange(1, len(x) + 1)
    running = np.cumsum(x) / n
    variance = np.maximum(np.cumsum(x**2) / n - running**2, 0)
    return bool((np.abs(running - mean) > 1.96 * np.sqrt(variance / n))[10:].any())


@pytest.mark.parametrize("name", [slow("coins"), slow("fractions"), "clipped differences"])
def test_intervals_hold_at_every_look(name):
    draw, mean, support = CASES[name]
    rng = np.random.default_rng(5)
    misses, wald, widths = 0, 0, []
    streams = STREAMS if name == "coins" else 20
    for _ in range(streams):
        x = draw(rng)
        found = BettingSequence(0.05, support).update(x)
        misses += not found.contains(mean).all()
        wald += wald_misses(x, mean)
        widths.append(found.width[-1])
        assert (np.diff(found.lower) >= 0).all()
        assert (np.diff(found.upper) <= 0).all()
    assert misses <= scipy.stats.binom.isf(0.01, streams, 0.05)  # 7 of 60
    assert wald > 0.25 * streams  # so the harness can fail
    if name == "coins":
        assert np.mean(widths) <= 0.050


@pytest.mark.slow
def test_they_are_narrower_than_intervals_that_may_be_looked_at_once():
    rng = np.random.default_rng(6)
    for draw in (coins, fractions):
        betting, hoeffding, bernstein = [], [], []
        for _ in range(10):
            x = draw(rng)
            betting.append(BettingSequence().update(x).width[-1])
            hoeffding.append(hoeffding_interval(x.mean(), ROWS).width)
            bernstein.append(bernstein_interval(x.mean(), x.var(ddof=1), ROWS).width)
        assert np.mean(betting) < np.mean(bernstein)
        assert np.mean(betting) < np.mean(hoeffding)


def capital(x, m, alpha, sign):
    """Return the capital of bets that the mean is above m (sign 1) or below, row by row, in plain Python."""
    k, path, seen, spread = 1.0, [], 0.0, 0.25
    for t, value in enumerate(x, 1):
        bet = (2 * np.log(2 / alpha) / (spread / t * t * np.log(t + 1))) ** 0.5
        limit = 0.5 / m if sign > 0 else 0.5 / (1 - m)
        k *= 1 + sign * min(bet, limit) * (value - m)
        seen += value
        spread += (value - (0.5 + seen) / (t + 1)) ** 2
        path.append(k)
    return np.array(path)


@pytest.mark.parametrize("sign", [1, -1])
def test_ends_are_where_the_capital_reaches_its_limit(sign):
    """An end moves to a value with the row by which the capital there reaches 2/α, and the next value has not yet."""
    x = np.random.default_rng(7).beta(2, 6, 120)
    found = BettingSequence(0.1).update(x)
    ends = found.lower if sign > 0 else found.upper
    changes = np.flatnonzero(np.diff(ends)) + 1
    assert len(changes) > 20
    for row in changes[::3]:
        step = 1.1 * sign * np.pi / 8191 * (ends[row] * (1 - ends[row])) ** 0.5
        assert capital(x, ends[row], 0.1, sign)[: row + 1].max() >= 20 * (1 - 1e-9)
        assert capital(x, ends[row] + step, 0.1, sign)[: row + 1].max() < 20


def test_the_capital_is_fair_and_has_mean_one():
    """All outcomes of 8 coins of rate .3: the mean of the capital is 1, exactly, so Ville's inequality holds."""
    outcomes = (np.arange(256)[:, None] >> np.arange(8)) & 1
    mass = np.prod(np.where(outcomes == 1, 0.3, 0.7), axis=1)
    for sign in (1, -1):
        last = np.array([capital(row.astype(float), 0.3, 0.05, sign)[-1] for row in outcomes])
        assert np.sum(mass * last) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("cuts", [[1, 2, 500], [700], [0, 0, 999]])
def test_rows_in_pieces_end_at_the_same_interval(cuts):
    x = fractions(np.random.default_rng(8))
    whole, parts = BettingSequence(), BettingSequence()
    band = whole.update(x)
    pieces = [parts.update(piece) for piece in np.split(x, cuts)]
    np.testing.assert_array_equal(np.concatenate([piece.lower for piece in pieces]), band.lower)
    np.testing.assert_array_equal(np.concatenate([piece.upper for piece in pieces]), band.upper)
    assert parts.interval == whole.interval
    assert parts.n == whole.n == ROWS
    assert parts.mean == pytest.approx(x.mean(), abs=1e-12)


def test_other_units_scale_the_interval():
    x = fractions(np.random.default_rng(9))[:200]
    plain, scaled = BettingSequence().update(x), BettingSequence(support=(-3.0, 5.0)).update(8 * x - 3)
    np.testing.assert_allclose(scaled.lower, 8 * plain.lower - 3, atol=2e-3)  # one value of the grid at most
    np.testing.assert_allclose(scaled.upper, 8 * plain.upper - 3, atol=2e-3)


def test_a_mean_that_drifts_leaves_nothing():
    sequence = BettingSequence()
    sequence.update(np.zeros(500))
    found = sequence.update(np.ones(20_000))
    assert found.empty[-1]
    assert sequence.interval.empty
    assert not sequence.interval.contains(0.5)
    assert sequence.interval.width == 0
    assert np.isfinite(sequence.interval.lower)
    sequence.update(1.0)  # and goes on without harm


def test_memory_does_not_grow():
    sequence = BettingSequence()
    sequence.update((np.random.default_rng(1).random(3_000) < 0.5).astype(float))
    held = sum(value.nbytes for value in vars(sequence).values() if isinstance(value, np.ndarray))
    assert held < 4 * 8192 * 8


def test_before_the_first_row_all_is_possible():
    sequence = BettingSequence(support=(-1.0, 1.0))
    assert tuple(sequence.interval)[:2] == (-1.0, 1.0)
    assert sequence.update([]).lower.shape == (0,)
    assert sequence.mean == 0


@pytest.mark.slow
def test_the_asymptotic_sequence_holds_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    n = np.arange(1, 3_001)
    missed, fixed = 0, 0
    for _ in range(300):
        x = rng.exponential(size=3_000) + np.exp(-n / 300)  # a loss that falls while a model learns
        target = 1 + np.cumsum(np.exp(-n / 300)) / n
        mean = np.cumsum(x) / n
        m2 = np.maximum(np.cumsum(x**2) - n * mean**2, 0)
        found = asymptotic_interval(n[50:], mean[50:], m2[50:])
        missed += not found.contains(target[50:]).all()
        reach = 1.96 * np.sqrt(m2[50:] / n[50:] / (n[50:] - 1))
        fixed += bool((np.abs(mean - target)[50:] > reach).any())
    assert missed <= scipy.stats.binom.isf(0.01, 300, 0.05)
    assert fixed > 90  # the normal interval, looked at as often


def test_the_asymptotic_sequence_is_the_best_of_its_kind_where_it_is_tuned():
    """Gaussian bets have e^(n x² ρ²n / 2(ρ²n + 1)) / √(ρ²n + 1) = 1/α at the end; other tunings are wider there."""
    for alpha in (0.05, 0.5, 0.9):
        found = asymptotic_interval(400, 0.0, 399.0, alpha, tightest_at=400)
        for other in (40, 200, 800, 4_000):
            assert asymptotic_interval(400, 0.0, 399.0, alpha, tightest_at=other).width > found.width
    x = float(asymptotic_interval(400, 0.0, 399.0, 0.05, tightest_at=100).upper)
    scale = 4 * (-scipy.special.lambertw(-(0.05**2) / np.e, -1).real - 1)
    assert np.exp(400 * x**2 * scale / (2 * (scale + 1))) / np.sqrt(scale + 1) == pytest.approx(20, rel=1e-9)


def moments_of(losses, sizes):
    """Return batches, points, mean and M2 of a stream in batches, from its rows."""
    means = np.array([batch.mean() for batch in np.split(losses, np.cumsum(sizes)[:-1])])
    mean = losses.mean()
    return np.array([len(sizes), len(losses), mean, np.sum(sizes * (means - mean) ** 2)])


def test_batches_of_one_row_are_rows():
    x = np.random.default_rng(0).exponential(size=200)
    found = prequential_interval(moments_of(x, np.ones(200, int)))
    rows = asymptotic_interval(200, x.mean(), 200 * x.var(), tightest_at=100)
    np.testing.assert_allclose([found.lower, found.upper], [rows.lower, rows.upper], rtol=1e-12)
    assert found.approximate


@pytest.mark.slow
def test_the_interval_of_batches_is_about_that_of_rows_and_holds_at_every_look():
    rng = np.random.default_rng(0)
    missed, widths = 0, []
    for _ in range(150):
        sizes = rng.integers(5, 60, 200)
        x = rng.gamma(2.0, size=sizes.sum())
        looks = range(20, 201, 5)
        bands = [prequential_interval(moments_of(x[: sizes[:look].sum()], sizes[:look])) for look in looks]
        missed += not all(band.contains(2.0) for band in bands)
        widths.append(bands[-1].width)
    assert missed <= scipy.stats.binom.isf(0.01, 150, 0.05)
    rows = 32 * 200
    assert np.mean(widths) == pytest.approx(
        asymptotic_interval(rows, 2.0, 2.0 * rows, tightest_at=3_200).width, rel=0.05
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: BettingSequence(alpha=1.0), "alpha is 1.0"),
        (lambda: BettingSequence(support=(1.0, 1.0)), "the lower one first"),
        (lambda: BettingSequence(support=(0.0, np.inf)), "two finite numbers"),
        (lambda: BettingSequence().update([0.2, 1.5]), r"rows\[1\] is 1.5: it must be in \[0, 1\]"),
        (lambda: BettingSequence().update(np.nan), "rows is nan"),
        (lambda: BettingSequence().update([[0.1]]), r"rows has shape \(1, 1\)"),
        (lambda: asymptotic_interval(1, 0.0, 0.0), "n is 1: it must be a number of rows, at least 2"),
        (lambda: asymptotic_interval(5, np.inf, 1.0), "mean is inf"),
        (lambda: asymptotic_interval(5, 0.0, -1.0), "m2 is -1"),
        (lambda: asymptotic_interval(5, 0.0, 1.0, 0.0), "alpha is 0.0"),
        (lambda: asymptotic_interval(5, 0.0, 1.0, tightest_at=0), "tightest_at is 0"),
        (lambda: prequential_interval([1.0, 2.0]), "pass `prequential_` of an estimator"),
        (lambda: prequential_interval([1.0, 10.0, 2.0, 0.0]), "one batch was foretold"),
        (lambda: prequential_interval([3.0, 10.0, np.nan, 0.0]), r"moments\[2\] is nan"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_refused_row_changes_nothing():
    sequence = BettingSequence()
    sequence.update([0.1, 0.2])
    with pytest.raises(ValueError, match="rows"):
        sequence.update([0.3, 2.0])
    assert sequence.n == 2
    assert sequence.mean == pytest.approx(0.15)
