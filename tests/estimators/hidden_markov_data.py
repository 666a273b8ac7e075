"""Sequences and hidden Markov models for the tests of estimators, ours and hmmlearn's."""

import numpy as np
from hmmlearn import hmm as hmmlearn

import kullback

# Few sizes, so that few functions are compiled: three states, two columns, 120 rows.

LENGTHS = [50, 1, 29, 40]
K, N = 3, 2
KINDS = ("spherical", "diag", "full", "tied")
START = np.array([0.5, 0.3, 0.2])
MOVES = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
MEANS = np.array([[0.0, 0.0], [2.0, -1.0], [-1.0, 2.0]])
RATES = np.array([[1.0, 4.0], [6.0, 2.0], [3.0, 9.0]])
SYMBOLS = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.2, 0.4, 0.3, 0.1]])
COVARS = {
    "spherical": np.array([1.0, 0.5, 2.0]),
    "diag": np.array([[1.0, 0.5], [0.7, 2.0], [1.5, 1.0]]),
    "full": np.array([[[1.0, 0.3], [0.3, 1.0]], [[0.7, -0.2], [-0.2, 1.5]], [[2.0, 0.5], [0.5, 1.0]]]),
    "tied": np.array([[1.0, 0.3], [0.3, 1.2]]),
}


def states(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    path = [rng.choice(K, p=START)]
    for _ in range(rows - 1):
        path.append(rng.choice(K, p=MOVES[path[-1]]))
    return np.array(path)


def reals(rows=120, seed=0):
    return MEANS[states(rows, seed)] + np.random.default_rng(seed + 1).normal(size=(rows, N))


def counts(rows=120, seed=0):
    return np.random.default_rng(seed + 1).poisson(RATES[states(rows, seed)])


def symbols(rows=120, seed=0):
    rng = np.random.default_rng(seed + 1)
    return np.array([[rng.choice(4, p=SYMBOLS[h])] for h in states(rows, seed)])


def tallies(rows=120, seed=0, different=False):
    rng = np.random.default_rng(seed + 1)
    totals = rng.integers(3, 9, rows) if different else np.full(rows, 6)
    return np.array([rng.multinomial(n, SYMBOLS[h]) for n, h in zip(totals, states(rows, seed), strict=True)])


#: For each class: data, and the emissions to start from.
CASES = {
    "GaussianHMM": (reals, {"means_": MEANS, "covars_": COVARS["diag"]}),
    "PoissonHMM": (counts, {"lambdas_": RATES}),
    "CategoricalHMM": (symbols, {"emissionprob_": SYMBOLS}),
    "MultinomialHMM": (tallies, {"emissionprob_": SYMBOLS}),
}


def started(library, name, emissions, **parameters):
    """Return a model of one library or the other with a start that is set by hand."""
    model = getattr(library, name)(K, init_params="", **parameters)
    model.startprob_, model.transmat_ = START, MOVES
    for attribute, value in emissions.items():
        setattr(model, attribute, value)
    return model


def both(name, emissions=None, **parameters):
    emissions = CASES[name][1] if emissions is None else emissions
    return [started(library, name, emissions, **parameters) for library in (kullback, hmmlearn)]


def parameters_of(model):
    names = ("startprob_", "transmat_", "means_", "covars_", "lambdas_", "emissionprob_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def assert_same(ours, theirs, rtol=1e-7, atol=1e-9):
    expected = parameters_of(theirs)
    assert len(expected) >= 3
    for name, value in expected.items():
        if name == "covars_":
            value = value[
                :: len(value) // len(theirs.means_)
            ]  # hmmlearn has each sphere once for every column after a fit
        np.testing.assert_allclose(getattr(ours, name), value, rtol=rtol, atol=atol, err_msg=name)


def assert_learns_the_same(name, X, emissions=None, **parameters):
    ours, theirs = (m.fit(X, LENGTHS) for m in both(name, emissions, n_iter=20, tol=-np.inf, **parameters))
    np.testing.assert_allclose(ours.monitor_.history, theirs.monitor_.history, rtol=1e-7)
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.score(X, LENGTHS), theirs.score(X, LENGTHS), rtol=1e-7)


FLAT = {"covars_prior": 0.0, "covars_weight": 0.0}  # no prior


def stream(name="GaussianHMM", **parameters):
    more = FLAT if name == "GaussianHMM" else {}
    return started(kullback, name, CASES[name][1], **{**more, **parameters})
