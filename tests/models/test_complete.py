"""`complete` against enumeration in NumPy, of all that is hidden and missing, on models with discrete unknowns."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from contracts.quick import quick
from kullback.core import Batch, TimeIndex
from kullback.families import Bernoulli, Categorical, Gaussian, Poisson, Product
from kullback.models import CompoundDirichlet, HiddenMarkovModel, LinearDynamicalSystem, Mixture, complete
from learning.proof_models import RBM, VAE, rbm_truth

DRAWS = 4000
WANTS = {"h": ("h",), "v": ("v",), "both": ("h", "v")}


def log_sums(keys, values):
    """Return log Σ exp of the values with the same key."""
    found = {}
    for key, value in zip(keys, values, strict=True):
        found[key] = np.logaddexp(found.get(key, -np.inf), value)
    return found


class Oracle:
    """All states of the unknowns of one row or sequence, as pairs (h, v) of tuples, with log p of each."""

    def __init__(self, log_joint, hidden, visible):
        self.states = [(h, v) for h in hidden for v in visible]
        self.logs = np.array([log_joint(*state) for state in self.states])

    def of(self, want):
        """Return log p of what is wanted, with the rest summed out."""
        pick = {"h": lambda s: s[0], "v": lambda s: s[1], "both": lambda s: s}[want]
        return log_sums([pick(state) for state in self.states], self.logs)

    def key(self, want, h, v):
        h, v = (None if x is None else tuple(np.ravel(x).tolist()) for x in (h, v))
        return {"h": h, "v": v, "both": (h, v)}[want]

    def check_lowest(self, want, h, v, energy):
        table = self.of(want)
        assert table[self.key(want, h, v)] == pytest.approx(max(table.values()), rel=1e-12)
        assert energy == pytest.approx(-max(table.values()), rel=1e-9)

    def check_draws(self, want, h, v, temperature=1.0):
        """Compare counts of states with p^(1/T) by a χ² test, rare states together."""
        table = self.of(want)
        count = len(h if v is None else v)
        picked = lambda x, i: None if x is None else x[i]  # noqa: E731
        seen = [self.key(want, picked(h, i), picked(v, i)) for i in range(count)]
        logs = np.array(list(table.values())) / temperature
        expected = count * np.exp(logs - np.logaddexp.reduce(logs))
        counts = np.array([seen.count(key) for key in table])
        assert counts.sum() == count
        rare = expected < 5
        expected, counts = (np.append(x[~rare], x[rare].sum()) for x in (expected, counts))
        kept = expected > 0
        assert stats.chisquare(counts[kept], expected[kept]).pvalue > 1e-3


def fill(row, missing, values):
    filled = np.array(row, float)
    filled[np.asarray(missing)] = values
    return tuple(filled.tolist())


# --- a mixture of discrete columns --------------------------------------------------------------------------

WEIGHTS = np.array([0.3, 0.25, 0.45])
COINS = np.array([0.9, 0.2, 0.6])
SHARES = np.array([[0.1, 0.6, 0.3], [0.4, 0.1, 0.5], [0.35, 0.35, 0.3]])
ODDS = np.array([0.7, 0.05, 0.5])
MIXTURE = Mixture(WEIGHTS, Product([Bernoulli(COINS), Categorical(SHARES), Bernoulli(ODDS)]))
ROWS = np.array([[1, 0, 1], [0, 2, 0], [1, 1, 0], [0, 0, 0]], float)
SEEN = np.array([[False, False, False], [True, False, False], [True, False, True], [True, True, True]])


def mixture_oracle(row):
    def log_joint(h, v):
        (k,), (a, b, c) = h, map(int, v)
        coin, odd = np.where([a, c], [COINS[k], ODDS[k]], [1 - COINS[k], 1 - ODDS[k]])
        return np.log(WEIGHTS[k] * coin * SHARES[k, b] * odd)

    levels = [[ROWS[row, j]] if SEEN[row, j] else range((2, 3, 2)[j]) for j in range(3)]
    visible = [tuple(map(float, v)) for v in itertools.product(*levels)]
    return Oracle(log_joint, [(k,) for k in range(3)], visible)


def test_a_mixture_of_discrete_columns_by_enumeration():
    batch = Batch(ROWS, observed=SEEN)
    found = {want: quick(lambda m, b, w=names: complete(m, b, want=w))(MIXTURE, batch) for want, names in WANTS.items()}
    for want, (v, h, energy, exact) in found.items():
        assert exact
        for row in range(4):
            picked = (None if x is None else np.asarray(x)[row] for x in (h, v))
            mixture_oracle(row).check_lowest(want, *picked, float(energy[row]))


@pytest.mark.slow
@pytest.mark.parametrize(("want", "temperature"), [("both", 1.0), ("v", 1.0), ("h", 0.5), ("v", 0.5), ("both", 0.5)])
def test_draws_of_a_mixture_of_discrete_columns(want, temperature):
    batch = Batch(ROWS, observed=SEEN)
    draw = quick(lambda m, b: complete(m, b, want=WANTS[want], temperature=temperature, key=1, n=DRAWS)[:2])
    v, h = (None if x is None else np.asarray(x) for x in draw(MIXTURE, batch))
    for row in range(2):
        mixture_oracle(row).check_draws(want, *(None if x is None else x[:, row] for x in (h, v)), temperature)


@pytest.mark.slow
def test_many_rows_are_enumerated_in_blocks():
    """Rows that lack as many entries go together: what is found does not depend on the others."""
    order = np.random.default_rng(0).permutation(np.tile(np.arange(4), 150))
    find = quick(lambda m, b: complete(m, b, want="v"))
    few, many = find(MIXTURE, Batch(ROWS, observed=SEEN)), find(MIXTURE, Batch(ROWS[order], observed=SEEN[order]))
    np.testing.assert_array_equal(many.v, np.asarray(few.v)[order])
    np.testing.assert_allclose(many.energy, np.asarray(few.energy)[order], rtol=1e-12)
    draw = quick(lambda m, b: complete(m, b, want="v", temperature=0.5, key=3).v)
    drawn = np.asarray(draw(MIXTURE, Batch(np.tile(ROWS[:1], (DRAWS, 1)), observed=np.zeros((DRAWS, 3), bool))))
    mixture_oracle(0).check_draws("v", None, drawn, 0.5)


@pytest.mark.slow
def test_columns_of_a_family_at_another_temperature():
    """p^(1/T) of independent parts is that of each; of a Gaussian it has T times the covariance."""
    family = Product([Bernoulli(0.8), Categorical([0.1, 0.6, 0.3]), Gaussian([1.0], [[4.0]])])
    nothing = Batch(np.zeros((1, 3)), observed=np.zeros((1, 3), bool))
    draw = quick(lambda f: (complete(f, nothing).v, complete(f, nothing, temperature=0.5, key=0, n=DRAWS).v))
    mode, v = (np.asarray(part) for part in draw(family))
    v = v[:, 0]
    for column, p in ((0, np.array([0.2, 0.8])), (1, np.array([0.1, 0.6, 0.3]))):
        expected = DRAWS * p**2 / np.sum(p**2)
        assert stats.chisquare(np.bincount(v[:, column].astype(int)), expected).pvalue > 1e-3
    assert stats.kstest(v[:, 2], stats.norm(1, np.sqrt(2)).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(mode, [[1, 1, 1.0]])


# --- a chain of symbols -------------------------------------------------------------------------------------

INITIAL, MOVES = np.array([0.6, 0.4]), np.array([[0.8, 0.2], [0.35, 0.65]])
SYMBOLS = np.array([[0.5, 0.3, 0.2], [0.1, 0.45, 0.45]])
CHAIN = HiddenMarkovModel(INITIAL, MOVES, Categorical(SYMBOLS))
SERIES, THERE = np.array([2.0, 0.0, 1.0, 0.0, 1.0]), np.array([True, False, False, True, False])
LENGTHS = [3, 2]


def chain_oracle(place):
    start, end = (0, 3) if place == 0 else (3, 5)
    row, missing = SERIES[start:end], ~THERE[start:end]

    def log_joint(h, v):
        moved = sum(np.log(MOVES[a, b]) for a, b in itertools.pairwise(h))
        return np.log(INITIAL[h[0]]) + moved + sum(np.log(SYMBOLS[k, int(x)]) for k, x in zip(h, v, strict=True))

    hidden = list(itertools.product(range(2), repeat=end - start))
    visible = [fill(row, missing, values) for values in itertools.product(range(3), repeat=missing.sum())]
    return Oracle(log_joint, hidden, visible)


@pytest.mark.slow
def test_a_chain_of_symbols_by_enumeration():
    batch = Batch(SERIES, observed=THERE, time=TimeIndex.of_lengths(LENGTHS))
    found = quick(lambda m: [complete(m, batch, want=names) for names in WANTS.values()])(CHAIN)
    for want, (v, h, energy, exact) in zip(WANTS, found, strict=True):
        assert exact
        for place, here in enumerate((slice(0, 3), slice(3, 5))):
            picked = (None if x is None else np.asarray(x)[here] for x in (h, v))
            chain_oracle(place).check_lowest(want, *picked, float(energy[here][0]))
            assert len(set(np.asarray(energy[here]).tolist())) == 1
    again = quick(lambda m, b: complete(m, b, want="v"))(CHAIN, batch)  # the time index is traced: ascent
    assert not again.exact
    np.testing.assert_allclose(again.energy, found[1].energy)


@pytest.mark.slow
@pytest.mark.parametrize(("want", "temperature"), [("both", 1.0), ("h", 0.5), ("both", 2.0)])
def test_draws_of_a_chain_of_symbols(want, temperature):
    batch = Batch(SERIES, observed=THERE, time=TimeIndex.of_lengths(LENGTHS))
    draw = quick(lambda m: complete(m, batch, want=WANTS[want], temperature=temperature, key=1, n=DRAWS)[:2])
    v, h = (None if x is None else np.asarray(x) for x in draw(CHAIN))
    for place, here in enumerate((slice(0, 3), slice(3, 5))):
        chain_oracle(place).check_draws(want, *(None if x is None else x[:, here] for x in (h, v)), temperature)


# --- counts -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_missing_rows_of_counts_by_enumeration():
    alphas, weights, trials = np.array([[0.7, 2.0, 1.5], [4.0, 0.6, 1.1]]), np.array([0.45, 0.55]), 4
    rows = [tuple(map(float, v)) for v in itertools.product(range(trials + 1), repeat=3) if sum(v) == trials]

    def log_joint(h, v):
        a, v = alphas[h[0]], np.array(v)
        ways = gammaln(trials + 1) - gammaln(v + 1).sum()
        return (
            np.log(weights[h[0]])
            + ways
            + np.sum(gammaln(a + v) - gammaln(a))
            + gammaln(a.sum())
            - gammaln(a.sum() + trials)
        )

    nothing = Batch(np.zeros((1, 3)), observed=np.zeros((1, 3), bool))
    mixture, one = Mixture(weights, CompoundDirichlet(alphas, trials)), CompoundDirichlet(alphas[0], trials)

    @quick
    def answers(mixture, one):
        lowest = complete(mixture, nothing)[:3], complete(one, nothing, want="v")[:3]
        draw = complete(one, nothing, want="v", temperature=1.0, key=0, n=DRAWS).v
        return *lowest, draw, complete(mixture, nothing, temperature=1.0, key=0, n=DRAWS)[:2]

    both, alone, drawn, pairs = jax.tree.map(np.asarray, answers(mixture, one))
    Oracle(log_joint, [(0,), (1,)], rows).check_lowest("both", both[1][0], both[0][0], float(both[2][0]))
    Oracle(log_joint, [(0,), (1,)], rows).check_draws("both", pairs[1][:, 0], pairs[0][:, 0])
    single = Oracle(lambda h, v: log_joint(h, v) - np.log(weights[0]), [(0,)], rows)
    single.check_lowest("v", None, alone[0][0], float(alone[2][0]))
    single.check_draws("v", None, drawn[:, 0])


# --- any energy ---------------------------------------------------------------------------------------------


class Machine(RBM):
    visible_levels = ((0.0, 1.0),) * 6
    hidden_levels = ((0.0, 1.0),) * 3


@pytest.mark.slow
def test_a_model_without_a_closed_form_is_enumerated():
    truth = rbm_truth()
    model = Machine(truth.coupling, truth.visible, truth.hidden)
    row, seen = np.array([[1.0, 0, 0, 1, 0, 1]]), np.array([[True, False, True, False, False, True]])
    batch = Batch(row, observed=seen)

    def log_joint(h, v):
        h, v = np.array(h), np.array(v)
        return v @ np.asarray(model.coupling) @ h + v @ np.asarray(model.visible) + h @ np.asarray(model.hidden)

    hidden = list(itertools.product([0.0, 1.0], repeat=3))
    oracle = Oracle(log_joint, hidden, [fill(row[0], ~seen[0], v) for v in itertools.product([0, 1], repeat=3)])

    @quick
    def answers(model):
        lowest = [complete(model, batch, want=want) for want in WANTS.values()]
        drawn = [complete(model, batch, want=want, temperature=0.7, key=2, n=DRAWS)[:2] for want in WANTS.values()]
        return lowest, drawn

    lowest, drawn = answers(model)
    for want, (v, h, energy, exact), (vs, hs) in zip(WANTS, lowest, drawn, strict=True):
        assert exact
        oracle.check_lowest(want, *(None if x is None else np.asarray(x)[0] for x in (h, v)), float(energy[0]))
        oracle.check_draws(want, *(None if x is None else np.asarray(x)[:, 0] for x in (hs, vs)), 0.7)


class Bowl(VAE):
    """A linear decoder in place of the network: all is Gaussian, and known."""

    visible_levels = ((),) * 3
    hidden_levels = ((),) * 2

    def __init__(self, matrix):
        self.encoder, self.decoder, self.log_width = None, matrix, np.log(0.5)

    def energy(self, v, h=None, inputs=None):
        away = (v - self.decoder @ h) * jnp.exp(-self.log_width)
        return 0.5 * (away @ away + h @ h)

    def sample(self, key, shape=()):
        return jax.random.normal(jax.random.key(0) if isinstance(key, int) else key, (*shape, 3))


@pytest.mark.slow
def test_real_unknowns_are_found_by_descent_and_drawn_by_chains():
    matrix = np.array([[1.0, 0.3], [-0.5, 1.2], [0.4, 0.8]])
    model, row = Bowl(matrix), np.array([[0.7, -1.0, 0.0]])
    batch = Batch(row, observed=np.array([[True, True, False]]))

    @jax.jit
    def answers(model, key):
        return complete(model, batch), complete(model, batch, temperature=2.0, key=key, n=400)

    lowest, drawn = answers(model, jax.random.key(0))
    assert not lowest.exact
    # the joint of (h, v₂) given the rest is Gaussian: its precision is the Hessian matrix of the energy
    whole = np.block([[np.eye(2) + 4 * matrix.T @ matrix, -4 * matrix.T], [-4 * matrix, 4 * np.eye(3)]])
    unknown, known = [0, 1, 4], [2, 3]
    covariance = np.linalg.inv(whole[np.ix_(unknown, unknown)])
    mean = -covariance @ whole[np.ix_(unknown, known)] @ row[0, :2]
    np.testing.assert_allclose(np.append(lowest.h[0], lowest.v[0, 2]), mean, atol=1e-6)
    np.testing.assert_array_equal(lowest.v[0, :2], row[0, :2])
    x = np.column_stack([np.asarray(drawn.h)[:, 0], np.asarray(drawn.v)[:, 0, 2]])
    assert np.all(np.abs(x.mean(axis=0) - mean) < 4.5 * np.sqrt(2 * np.diagonal(covariance) / 400))
    # 400 distances in units of the covariance are χ² of three degrees: their mean has a standard error of 0.12
    away = np.einsum("ni,ij,nj->n", x - mean, np.linalg.inv(2 * covariance), x - mean)
    assert abs(away.mean() - 3) < 4.5 * np.sqrt(6 / 400)


# --- Gaussians ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_states_and_entries_of_a_linear_system_are_jointly_gaussian():
    """Against the conditional of the whole joint of (h₁, h₂, v₁, v₂), written out in NumPy."""
    a, c, q, r, v0 = 0.8, np.array([[1.0], [-0.5]]), 0.4, np.array([[0.5, 0.2], [0.2, 0.8]]), 1.3
    model = LinearDynamicalSystem([[a]], c, [[q]], r, [0.5], [[v0]], offset=[1.0, 0.0])
    states = np.array([[v0, a * v0], [a * v0, a * a * v0 + q]])
    seen_by = np.kron(np.eye(2), c)
    visible = seen_by @ states @ seen_by.T + np.kron(np.eye(2), r)
    joint = np.block([[states, states @ seen_by.T], [seen_by @ states, visible]])
    mean = np.append([0.5, 0.4], np.kron([0.5, 0.4], c[:, 0]) + [1.0, 0.0, 1.0, 0.0])
    X, there = np.array([[0.3, 9.0], [9.0, 1.7]]), np.array([[True, False], [False, True]])
    unknown, known = [0, 1, 3, 4], [2, 5]
    gain = joint[np.ix_(unknown, known)] @ np.linalg.inv(joint[np.ix_(known, known)])
    center = mean[unknown] + gain @ (X[there] - mean[known])
    spread = joint[np.ix_(unknown, unknown)] - gain @ joint[np.ix_(known, unknown)]
    batch = Batch(X, observed=there, time=TimeIndex.of_lengths([2]))

    @quick
    def answers(model, key):
        lowest = [complete(model, batch, want=want)[:3] for want in WANTS.values()]
        return lowest, complete(model, batch, temperature=0.5, key=key, n=DRAWS)[:2]

    lowest, (v, h) = jax.tree.map(np.asarray, answers(model, jax.random.key(0)))
    np.testing.assert_allclose(lowest[0][1][:, 0], center[:2], rtol=1e-9)
    for found in lowest[1:]:
        np.testing.assert_allclose(found[0][~there], center[2:], rtol=1e-9)
    normal = stats.multivariate_normal
    point = np.append(center[:2], X[there])
    order = [0, 1, *known]
    np.testing.assert_allclose(
        lowest[0][2][0], -normal(mean[order], joint[np.ix_(order, order)]).logpdf(point), rtol=1e-9
    )
    drawn = np.column_stack([h[:, :, 0], v[:, ~there]])
    assert np.all(np.abs(drawn.mean(axis=0) - center) < 4.5 * np.sqrt(0.5 * np.diagonal(spread) / DRAWS))
    np.testing.assert_allclose(np.cov(drawn.T), 0.5 * spread, atol=0.05)


@pytest.mark.slow
def test_the_mode_of_a_mixture_of_gaussians_is_a_maximum():
    """The ascent ends where a fine grid has its highest value: between components that overlap, and not in one."""
    mixture = Mixture([0.4, 0.35, 0.25], Gaussian([[0.0, 0.0], [1.2, 0.5], [0.5, 1.3]], [0.6 * np.eye(2)] * 3))
    batch = Batch(np.array([[0.0, 0.0], [0.9, 0.0]]), observed=np.array([[False, False], [True, False]]))
    found, energy = quick(lambda m, b: complete(m, b, want="v"))(mixture, batch), quick(lambda m, v: m.energy(v))
    line = np.linspace(-1, 2, 301)
    plane = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    energies = np.asarray(energy(mixture, plane))
    np.testing.assert_allclose(found.v[0], plane[np.argmin(energies)], atol=0.011)
    assert found.energy[0] <= energies.min()
    slice_ = np.column_stack([np.full(301, 0.9), line])
    np.testing.assert_allclose(found.v[1], slice_[np.argmin(energy(mixture, slice_))], atol=0.011)
    assert not found.exact


# --- what is refused ----------------------------------------------------------------------------------------


def test_what_cannot_be_completed():
    shop = Mixture([0.5, 0.5], Poisson([1.0, 9.0]))
    gap = Batch(np.zeros(1), observed=np.zeros(1, bool))
    for model, arguments, words in (
        (shop, {"want": "x"}, "want is 'x': it must be 'h'"),
        (shop, {"want": ()}, r"want is \(\): it must be 'h'"),
        (shop, {"temperature": -1}, "temperature is -1: it must be 0"),
        (shop, {"temperature": np.nan}, "temperature is nan: it must be 0"),
        (shop, {"temperature": 1}, "key is None: draws, at temperature 1.0, need one"),
        (shop, {"n": 2}, "n is 2 and temperature 0: only draws differ"),
        (shop, {"temperature": 1, "key": 0, "n": 0}, "n is 0: it must be a whole number, 1 or more"),
        (shop, {"temperature": 0.5, "key": 0}, "temperature is 0.5: what is missing of a row can be drawn at"),
        (shop, {"temperature": 2, "key": 0, "want": "v"}, "drawn at temperature 1 from a Mixture"),
        (Poisson(2.0), {"temperature": 0.5, "key": 0}, "drawn at temperature 1 from Poisson"),
        (Poisson(2.0), {"want": "h"}, r"want is \('h',\): nothing is hidden in a Poisson"),
        (Poisson([2.0, 3.0]), {}, r"Poisson holds members of batch shape \(2,\)"),
        (CompoundDirichlet([1.0, 2]), {"temperature": 0.5, "key": 0}, "temperature is 0.5: what is hidden or missing"),
        (rbm_truth(), {}, "an RBM does not say what its hidden variables may be"),
    ):
        with pytest.raises(ValueError, match=words):
            complete(model, gap, **arguments)
