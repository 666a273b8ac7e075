"""What models expect of missing entries, against enumeration, and against joint Gaussians written out in NumPy."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from contracts.quick import quick
from kullback.families import Batch, Categorical, DiagonalGaussian, Gaussian, Poisson, Product, TimeIndex, VonMises
from kullback.models import CompoundDirichlet, Counts, HiddenMarkovModel, LinearDynamicalSystem, Mixture


@quick
def answers(model, batch):
    return model.conditional_mean(batch), model.conditional_mode(batch), model.leave_one_out(batch)


WEIGHTS = np.array([0.5, 0.3, 0.2])
MEANS = np.array([[0.0, 1.0], [3.0, -1.0], [-2.0, 4.0]])
VARIANCES = np.array([[1.0, 0.5], [2.0, 1.0], [0.3, 1.5]])
RATES = np.array([2.5, 9.2, 0.7])
SHARES = np.array([[0.1, 0.6, 0.3], [0.4, 0.1, 0.5], [0.4, 0.3, 0.3]])


def test_a_mixture_of_columns_of_several_kinds():
    mixture = Mixture(WEIGHTS, Product([DiagonalGaussian(MEANS, VARIANCES), Poisson(RATES), Categorical(SHARES)]))
    gap = np.nan
    X = np.array([[1.2, 0.3, 4, 1], [gap, 2.0, gap, 0], [0.4, gap, 3, gap], [gap] * 4])
    mean, mode, left = map(np.asarray, answers(mixture, Batch(np.nan_to_num(X), observed=~np.isnan(X))))

    def factors(row):
        """p of each entry of a row under each component, 1 where it is missing."""
        normal = [stats.norm(MEANS[:, i], np.sqrt(VARIANCES[:, i])).pdf(row[i]) for i in range(2)]
        entries = [*normal, stats.poisson(RATES).pmf(row[2]), SHARES[:, 0 if np.isnan(row[3]) else int(row[3])]]
        return np.array([np.ones(3) if np.isnan(x) else p for x, p in zip(row, entries, strict=True)])

    for place, row in enumerate(X):
        each = factors(row)
        share = WEIGHTS * each.prod(axis=0)
        share, best = share / share.sum(), np.argmax(share)
        guess = [*(share @ MEANS), share @ RATES, np.argmax(share @ SHARES)]
        modes = [*MEANS[best], np.floor(RATES[best]), np.argmax(SHARES[best])]
        np.testing.assert_allclose(mean[place], np.where(np.isnan(row), guess, row), rtol=1e-12)
        np.testing.assert_allclose(mode[place], np.where(np.isnan(row), modes, row), rtol=1e-12)
        others = [np.log(WEIGHTS @ np.delete(each, column, axis=0).prod(axis=0)) for column in range(4)]
        np.testing.assert_allclose(left[place], others, rtol=1e-11, atol=1e-12)


def test_the_mean_direction_of_a_mixture_of_angles_is_not_the_mean_of_their_numbers():
    mixture = Mixture([0.5, 0.5], VonMises([3.0, -3.0], [4.0, 4.0]))
    mean, _, _ = answers(mixture, Batch(np.zeros(1), observed=np.zeros(1, bool)))
    assert abs(float(mean[0])) == pytest.approx(np.pi, abs=1e-12)


def test_an_entry_that_alone_rules_a_row_out():
    mixture = Mixture([0.5, 0.5], Product([Categorical([[0.5, 0.5, 0.0]] * 2), Poisson([1.0, 2.0])]))
    left = np.asarray(answers(mixture, Batch(np.array([[2.0, 1.0]])))[2])
    assert left[0, 0] == pytest.approx(np.log(0.5 * stats.poisson([1, 2]).pmf(1).sum()))
    assert left[0, 1] == -np.inf


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, 7])
def test_most_probable_counts_by_enumeration(trials):
    rows = np.array([row for row in itertools.product(range(trials + 1), repeat=3) if sum(row) == trials])
    alphas = np.array([[0.4, 0.9, 0.7], [0.5, 2.5, 1.5], [3.0, 1.2, 6.0]])
    model = CompoundDirichlet(alphas, trials=trials)
    np.testing.assert_allclose(
        np.max(model.log_likelihood(Batch(rows)), axis=0), np.diagonal(model.log_likelihood(Batch(model.mode)))
    )
    counts = Counts(alphas / alphas.sum(axis=1, keepdims=True), total=np.full(3, float(trials)))
    np.testing.assert_allclose(
        np.max(counts.log_likelihood(Batch(rows)), axis=0), np.diagonal(counts.log_likelihood(Batch(counts.mode)))
    )


# --- models with time ---------------------------------------------------------------------------------------


def test_a_hidden_markov_model_by_enumeration_of_all_paths():
    rng = np.random.default_rng(0)
    initial, transitions = np.array([0.6, 0.4]), np.array([[0.8, 0.2], [0.3, 0.7]])
    roots = rng.normal(size=(2, 2, 2))
    means, covariances = 2 * rng.normal(size=(2, 2)), roots @ roots.swapaxes(1, 2) + 0.3 * np.eye(2)
    model = HiddenMarkovModel(initial, transitions, Gaussian(means, covariances))
    X = rng.normal(size=(5, 2))
    X[1, 0], X[3] = np.nan, np.nan
    there = ~np.isnan(X)
    batch = Batch(np.nan_to_num(X), observed=there, time=TimeIndex.of_lengths([5]))
    mean, mode, left = map(np.asarray, answers(model, batch))

    def score(row, o):
        """Return log p of some entries of a row in each state."""
        if not o.any():
            return np.zeros(2)
        pairs = zip(means, covariances, strict=True)
        return np.array([stats.multivariate_normal(m[o], c[np.ix_(o, o)]).logpdf(row[o]) for m, c in pairs])

    def paths(length, entries):
        found = {}
        for path in itertools.product(range(2), repeat=length):
            total = np.log(initial[path[0]]) + sum(np.log(transitions[a, b]) for a, b in itertools.pairwise(path))
            found[path] = total + sum(score(X[t], entries[t])[h] for t, h in enumerate(path))
        return found

    def filled(t, h):
        o = there[t]
        if o.all() or not o.any():
            return np.where(o, X[t], means[h])
        gain = covariances[h][1, 0] / covariances[h][1, 1]  # of entry 0 given entry 1
        return np.array([means[h, 0] + gain * (X[t, 1] - means[h, 1]), X[t, 1]])

    joint = paths(5, there)
    total = np.logaddexp.reduce(list(joint.values()))
    expected = sum(
        np.exp(value - total) * np.array([filled(t, h) for t, h in enumerate(p)]) for p, value in joint.items()
    )
    np.testing.assert_allclose(mean, expected, rtol=1e-11)
    best = max(joint, key=joint.get)
    np.testing.assert_allclose(mode, [filled(t, h) for t, h in enumerate(best)], rtol=1e-11)
    for t, column in ((0, 1), (1, 1), (2, 0), (4, 1)):
        entries = there.copy()
        entries[t, column] = False
        before = np.logaddexp.reduce(list(paths(t, entries).values())) if t else 0.0
        np.testing.assert_allclose(
            left[t, column], np.logaddexp.reduce(list(paths(t + 1, entries).values())) - before, rtol=1e-11, atol=1e-13
        )


def test_a_linear_system_by_the_joint_gaussian_of_all_its_rows():
    rng, T, q, n = np.random.default_rng(1), 4, 2, 2
    a, c, b, d = (
        0.6 * rng.normal(size=(q, q)),
        rng.normal(size=(n, q)),
        rng.normal(size=(q, 1)),
        rng.normal(size=(n, 1)),
    )
    root = rng.normal(size=(n, n))
    r, noise, v0, m0, offset = root @ root.T + 0.2 * np.eye(n), 0.5 * np.eye(q), 0.7 * np.eye(q), np.ones(q), np.ones(n)
    model = LinearDynamicalSystem(a, c, noise, r, m0, v0, input_transition=b, input_observation=d, offset=offset)
    u = rng.normal(size=(T, 1))
    X = rng.normal(size=(T, n))
    X[1, 0], X[2] = np.nan, np.nan
    there = ~np.isnan(X)
    batch = Batch(np.nan_to_num(X), observed=there, time=TimeIndex.of_lengths([T]), inputs=u)
    mean, mode, left = map(np.asarray, answers(model, batch))

    # states are linear in (h₁, steps): h = level + root·z
    level, roots = [m0], [np.hstack([np.linalg.cholesky(v0), np.zeros((q, q * (T - 1)))])]
    for t in range(1, T):
        new = np.zeros((q, q * T))
        new[:, q * t : q * (t + 1)] = np.linalg.cholesky(noise)
        level, roots = [*level, a @ level[-1] + b @ u[t]], [*roots, a @ roots[-1] + new]
    center = np.concatenate([c @ h + d @ u[t] + offset for t, h in enumerate(level)])
    stacked = np.vstack([c @ part for part in roots])
    covariance = stacked @ stacked.T + np.kron(np.eye(T), r)
    x, o = X.ravel(), there.ravel()
    expected = x.copy()
    gain = np.linalg.solve(covariance[np.ix_(o, o)], covariance[np.ix_(o, ~o)]).T
    expected[~o] = center[~o] + gain @ (x - center)[o]
    np.testing.assert_allclose(mean.ravel(), expected, rtol=1e-10)
    np.testing.assert_allclose(mode, mean)

    def density(entries):
        return stats.multivariate_normal(center[entries], covariance[np.ix_(entries, entries)]).logpdf(x[entries])

    for t, column in ((0, 0), (1, 1), (3, 1)):
        upto = there.copy()
        upto[t + 1 :] = False
        before = upto.copy()
        before[t] = False
        upto[t, column] = False
        past = density(before.ravel()) if t else 0.0
        now = density(upto.ravel()) if upto[t].any() or t == 0 else past
        np.testing.assert_allclose(left[t, column], now - past, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
def test_long_batches_are_filled_block_by_block():
    rng = np.random.default_rng(2)
    components = Gaussian(rng.normal(size=(2, 3)), np.tile(np.eye(3) + 0.4, (2, 1, 1)))
    mixture = Mixture([0.4, 0.6], components)
    X, observed = rng.normal(size=(5000, 3)), rng.random((5000, 3)) < 0.7
    whole, parts = (
        Batch(X, observed=observed),
        [Batch(X[i : i + 2500], observed=observed[i : i + 2500]) for i in (0, 2500)],
    )
    for place in range(3):
        together = np.concatenate([answers(mixture, part)[place] for part in parts])
        np.testing.assert_allclose(answers(mixture, whole)[place], together, rtol=1e-12, atol=1e-12)
    drawn = np.asarray(quick(lambda m, key: m.impute(whole, key))(mixture, jax.random.key(0)))
    assert len(np.unique(drawn[~observed])) == np.sum(~observed), "no two blocks draw alike"
