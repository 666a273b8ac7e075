import math

import equinox as eqx
import jax
import numpy as np
import pytest
import scipy.stats

from kullback.assess import ConfidenceInterval, GaussianWeights, bernoulli_kl, pac_bayes_bound, pac_bayes_kl
from kullback.assess._prior_rows import check_apart
from kullback.core import Fixed
from kullback.families import DiagonalGaussian
from tiers import slow

ROWS = 1_000
SETTINGS = {
    "prior_scale": 0.3,
    "batch_rows": 100,
    "learning_rate": 0.02,
    "epochs": 15,
    "prior_epochs": 15,
    "delta": 0.1,
}


def network(key=0):
    return eqx.nn.MLP(4, "scalar", 16, 1, key=jax.random.key(key))


def rows(count, seed, labels="told"):
    """Return rows of four columns; the sign of one of them is the class, with one in twenty wrong, or coins are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4)).astype(np.float32)
    y = (X[:, 0] + 0.3 * X[:, 1] > 0) ^ (rng.random(count) < 0.05)
    return X, rng.permutation(y).astype(int) if labels == "shuffled" else y.astype(int)


@pytest.fixture(scope="module")
def learned():
    return pac_bayes_bound(network(), *rows(ROWS, 0), **SETTINGS)


@pytest.mark.slow
def test_the_bound_is_that_of_its_parts(learned):
    budget = learned.relative_entropy + math.log(2 * math.sqrt(ROWS) / (0.8 * 0.1))
    assert ROWS * bernoulli_kl(learned.error_bound, learned.bound) == pytest.approx(budget, abs=1e-9)
    drawn = bernoulli_kl(learned.error, learned.error_bound) * learned.draws
    assert drawn == pytest.approx(math.log(1 / (0.2 * 0.1)), abs=1e-9)
    assert learned.error < learned.error_bound < learned.bound <= learned.pinsker
    assert learned.draws == 10 * ROWS


@pytest.mark.slow
def test_its_relative_entropy_is_that_of_gaussians(learned):
    def flat(tree):
        leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
        return np.concatenate([np.ravel(leaf) for leaf in leaves]).astype(float)

    members = [
        DiagonalGaussian(flat(weights.mean), np.exp(2 * flat(weights.log_scale)))
        for weights in (learned.posterior, learned.prior)
    ]
    assert members[0].relative_entropy(members[1]) == pytest.approx(learned.relative_entropy, rel=1e-9)
    assert learned.relative_entropy > 1


@pytest.mark.slow
def test_what_can_be_learned_is_bounded_well_below_chance(learned):
    other = rows(5_000, 1)
    error = learned.error_rate(*other, draws=2)
    assert 0.05 < error < learned.bound < 0.4


@pytest.mark.slow
@pytest.mark.parametrize("with_prior_rows", [False, True])
def test_shuffled_labels_are_not_bounded_below_chance(with_prior_rows):
    X, y = rows(2 * ROWS, 2, "shuffled")
    others = (X[ROWS:], y[ROWS:]) if with_prior_rows else None
    found = pac_bayes_bound(network(), X[:ROWS], y[:ROWS], prior_rows=others, **SETTINGS)
    assert found.bound >= 0.45


@pytest.mark.slow
def test_a_prior_from_other_rows_is_better(learned):
    found = pac_bayes_bound(network(), *rows(ROWS, 0), prior_rows=rows(ROWS, 3), **SETTINGS)
    assert found.bound < learned.bound - 0.02
    assert found.error_rate(*rows(5_000, 1)) < found.bound
    assert found.relative_entropy < 0.5 * learned.relative_entropy


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bound(learned):
    again = pac_bayes_bound(network(), *rows(ROWS, 0), **SETTINGS)
    assert again[:8] == learned[:8]


def test_the_bound_holds_for_every_rate_and_gets_looser_with_delta():
    n = 40
    for delta in (0.05, 0.3):
        upper = np.array([pac_bayes_kl(k / n, 0.0, n, delta) for k in range(n + 1)])
        interval = ConfidenceInterval(np.zeros(n + 1), upper)
        p = np.concatenate([np.linspace(0, 1, 101), np.minimum(upper + 1e-9, 1)])[:, None]
        mass = scipy.stats.binom.pmf(np.arange(n + 1), n, p)
        assert np.min(np.sum(mass * interval.contains(p), axis=1)) >= 1 - delta
    path = [pac_bayes_kl(0.1, 5.0, 1_000, delta) for delta in (0.5, 1e-1, 1e-3, 1e-9, 1e-300)]
    assert (np.diff(path) > 0).all()
    more = [pac_bayes_kl(0.1, divergence, 1_000) for divergence in (0.0, 1.0, 100.0, 1e5)]
    assert (np.diff(more) > 0).all()
    assert more[-1] <= 1


# --- random weights


class Custom(eqx.Module):
    """A network that is no perceptron of equinox: its row goes through one matrix twice."""

    matrix: jax.Array
    center: Fixed

    def __call__(self, x):
        return jax.numpy.sum(self.matrix @ jax.numpy.tanh(self.matrix @ (x - self.center.value)))


def draw_answers(weights, x, count, fresh):
    """Return so many answers to one row, with weights drawn anew for each, by preactivations or by whole networks."""
    if fresh:
        found = weights.answer(jax.random.key(1), np.repeat(x[None], count, axis=0))
    else:
        found = jax.vmap(lambda key: weights.sample(key)(x))(jax.random.split(jax.random.key(2), count))
    return np.asarray(found).reshape(count)


@pytest.mark.parametrize("kind", ["layer", slow("perceptron"), slow("sequence"), slow("custom")])
def test_answers_have_the_law_of_networks_that_are_drawn_whole(kind):
    key = jax.random.key(0)
    made = {
        "layer": lambda: eqx.nn.Linear(3, "scalar", key=key),
        "perceptron": lambda: eqx.nn.MLP(3, 1, 5, 2, activation=jax.nn.tanh, final_activation=jax.nn.softplus, key=key),
        "sequence": lambda: eqx.nn.Sequential(
            [eqx.nn.Linear(3, 4, key=key), eqx.nn.Lambda(jax.nn.relu), eqx.nn.Linear(4, 1, use_bias=False, key=key)]
        ),
        "custom": lambda: Custom(jax.random.normal(key, (3, 3)), Fixed(jax.numpy.ones(3))),
    }[kind]()
    weights = GaussianWeights.around(made, 0.3)
    x = np.array([0.3, -0.4, 0.5], np.float32)  # biases count as much as weights
    one, other = (draw_answers(weights, x, 4_000, fresh) for fresh in (True, False))
    assert scipy.stats.ks_2samp(one, other).pvalue > 1e-3
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 4 / 4_000**0.5  # rows are independent


def test_what_is_fixed_in_a_network_is_no_weight():
    weights = GaussianWeights.around(Custom(jax.numpy.eye(3), Fixed(jax.numpy.ones(3))), 0.5)
    assert np.all(np.asarray(weights.sample(jax.random.key(0)).center.value) == 1)
    assert float(weights.relative_entropy(weights)) == 0


# --- bad input


X, Y = rows(60, 5)


def test_a_prior_that_has_seen_the_rows_is_refused():
    for shared in (slice(0, 60), slice(0, 1)):
        others = np.concatenate([rows(60, 6)[0], X[shared]]), np.concatenate([rows(60, 6)[1], Y[shared]])
        with pytest.raises(ValueError, match=r"the prior has seen \d+ of the 60 rows"):
            pac_bayes_bound(network(), X, Y, prior_rows=others)


def test_rows_that_happen_to_be_alike_are_not_refused():
    rng = np.random.default_rng(0)
    table, y = rng.integers(0, 2, size=(400, 3)).astype(np.float32), np.zeros(400, np.int32)
    check_apart(table[:200], y[:200], table[200:], y[200:])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": X[:50]}, r"X has shape \(50, 4\) and y has shape \(60,\)"),
        ({"X": X * np.nan}, "X has entries that are not finite"),
        ({"y": Y + 0.5}, "y must hold classes 0, 1"),
        ({"y": np.array(["a"] * 60)}, "y must hold classes 0, 1"),
        ({"y": Y - 1}, "y must hold classes 0, 1"),
        ({"y": Y + 1}, "y has classes up to 2"),
        ({"network": eqx.nn.Linear(3, 1, key=jax.random.key(0)), "X": X[:, :1, None]}, "a layer of 3 inputs"),
        ({"X": X[:, :3]}, r"^x has shape \(2, 3\): a layer of 4 inputs needs a number"),
        ({"delta": 0.0}, "delta is 0.0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"prior_scale": -1.0}, "prior_scale is -1.0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"prior_rows": (X[:, :2], Y)}, "make them alike"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    arguments = {"network": network(), "X": X, "y": Y} | change
    with pytest.raises(ValueError, match=sentence):
        pac_bayes_bound(**arguments)
