"""Scripts of the kind that the peers' galleries show. Each takes the module that it imports, and nothing else differs.

They return what two runs must agree on: exact things, numbers, and averages over draws, which come from other
generators in each library.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV


class Found(NamedTuple):
    """What a script has found."""

    exact: dict[str, Any]
    scores: dict[str, Any]
    parameters: dict[str, Any]
    drawn: dict[str, tuple[Any, Any]] = {}  # noqa: RUF012 - an average over draws, and its standard error


# --- mixtures ----------------------------------------------------------------------------------------------------
def blobs(rows=300):
    """Return a long blob and a round one, away from it."""
    rng = np.random.default_rng(0)
    long = rng.standard_normal((rows, 2)) @ np.array([[0.0, -0.1], [1.7, 0.4]])
    return np.concatenate([long, 0.7 * rng.standard_normal((rows, 2)) + [-6, 3]])


def selection(mixture):
    """Choose the number of components and the type of covariance by the BIC, with a search over a grid."""

    def scorer(estimator, X):
        return -estimator.bic(X)

    grid = {"n_components": [1, 2, 3], "covariance_type": ["spherical", "tied", "diag", "full"]}
    X = blobs()
    search = GridSearchCV(mixture.GaussianMixture(random_state=0), grid, scoring=scorer, cv=3)
    search.fit(X)
    best = search.best_estimator_
    return Found(
        {"best": search.best_params_, "labels": best.predict(X), "types": (type(best.bic(X)), type(best.aic(X)))},
        {"bic": search.cv_results_["mean_test_score"], "best": best.bic(X), "aic": best.aic(X)},
        {"means": best.means_, "covariances": best.covariances_},
    )


def covariances(mixture):
    """Fit the four types of covariances to the irises, each from the means of the species."""
    X, species = load_iris(return_X_y=True)
    start = np.stack([X[species == k].mean(axis=0) for k in range(3)])
    labels, scores, parameters = {}, {}, {}
    for kind in ("spherical", "diag", "tied", "full"):
        model = mixture.GaussianMixture(3, covariance_type=kind, max_iter=20, random_state=0, means_init=start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        labels[kind] = model.predict(X), model.n_iter_, model.converged_
        scores[kind] = model.score(X)
        parameters[kind] = model.covariances_, model.precisions_, model.precisions_cholesky_
    return Found(labels, scores, parameters)


def density(mixture):
    """Draw the contours of the density of two blobs: its logarithm on a grid."""
    model = mixture.GaussianMixture(n_components=2, covariance_type="full", random_state=0).fit(blobs())
    across, up = np.meshgrid(np.linspace(-10, 6, 12), np.linspace(-5, 8, 12))
    grid = np.column_stack([across.ravel(), up.ravel()])
    return Found({}, {"density": model.score_samples(grid)}, {"shares": model.predict_proba(grid)})


def sampling(mixture):
    """Fit, draw as many new points, and look at what was drawn of each component."""
    model = mixture.GaussianMixture(2, random_state=0).fit(blobs())
    X, labels = model.sample(4000)
    drawn = {}
    for k in range(2):
        part = X[labels == k]
        error = np.sqrt(np.diagonal(model.covariances_[k]) / len(part))
        drawn[f"mean of component {k}"] = part.mean(axis=0), error
        drawn[f"share of component {k}"] = len(part) / len(X), 0.5 / np.sqrt(len(X))
    return Found({"in order": labels.tolist() == sorted(labels), "shape": X.shape}, {}, {}, drawn)


# --- hidden Markov models -------------------------------------------------------------------------------------------
def chain(transitions, length, rng):
    """Return a path of states."""
    state, path = 0, []
    for _ in range(length):
        path.append(state)
        state = rng.choice(len(transitions), p=transitions[state])
    return np.array(path)


def likeliest(make, X, lengths=None, seeds=5):
    """Return the best fit of some, for EM finds no more than a local maximum."""
    fits = [make(seed).fit(X, lengths) for seed in range(seeds)]
    return max(fits, key=lambda model: model.score(X, lengths))


STAYS = np.array([[0.9, 0.05, 0.0, 0.05], [0.1, 0.8, 0.1, 0.0], [0.0, 0.2, 0.7, 0.1], [0.1, 0.0, 0.1, 0.8]])
CORNERS = np.array([[0.0, 0.0], [0.0, 11.0], [9.0, 10.0], [11.0, -1.0]])
LONG = {"n_iter": 1000, "tol": 1e-9}


def decoding(hmm):
    """Make a model by hand, draw from it, and find four states again in a series that was made elsewhere."""
    made = hmm.GaussianHMM(n_components=4, covariance_type="full")
    made.startprob_ = np.array([0.6, 0.3, 0.1, 0.0])
    made.transmat_ = STAYS
    made.means_ = CORNERS
    made.covars_ = np.tile(0.5 * np.eye(2), (4, 1, 1))
    X, states = made.sample(np.int64(2000), random_state=1)
    here = X[states == 0]

    rng = np.random.default_rng(1)
    path = chain(STAYS, 400, rng)
    series = CORNERS[path] + np.sqrt(0.5) * rng.standard_normal((400, 2))
    learned = likeliest(lambda seed: hmm.GaussianHMM(4, "full", random_state=seed, **LONG), series)
    order = np.lexsort(learned.means_.T.round(1))
    names = np.argsort(order)
    log_probability, decoded = learned.decode(series)
    return Found(
        {"made": made.predict(series), "learned": names[decoded], "shapes": (X.shape, states.shape, X.dtype)},
        {"score": learned.score(series), "decode": log_probability, "made": made.score(series)},
        {"means": learned.means_[order], "covars": learned.covars_[order], "moves": learned.transmat_[order][:, order]},
        {"mean of the first state": (here.mean(axis=0), np.sqrt(0.5 / len(here)))},
    )


def casino(hmm):
    """Find out when a die was loaded."""
    made = hmm.CategoricalHMM(n_components=2, random_state=99)
    made.startprob_ = np.array([1.0, 0.0])
    made.transmat_ = np.array([[0.95, 0.05], [0.1, 0.9]])
    made.emissionprob_ = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    rng = np.random.default_rng(2)
    path = chain(made.transmat_, 4000, rng)
    rolls = np.array([rng.choice(6, p=made.emissionprob_[state]) for state in path]).reshape(-1, 1)
    training, held_out = rolls[:2000], rolls[2000:]

    def start(seed):
        model = hmm.CategoricalHMM(2, random_state=seed, init_params="se", **LONG)
        model.transmat_ = np.array([[0.8, 0.2], [0.2, 0.8]])
        return model

    learned = likeliest(start, training, seeds=8)
    order = np.argsort(learned.emissionprob_[:, 5])
    drawn = made.sample(5000, random_state=3)[0]
    return Found(
        {"made": made.predict(rolls), "n_features": (made.n_features, int(learned.n_features)), "shape": drawn.shape},
        {"made": made.score(rolls), "learned": learned.score(training), "held out": learned.score(held_out)},
        {"emissions": learned.emissionprob_[order], "moves": learned.transmat_[order][:, order]},
        {"sixes": (np.mean(drawn == 5), 3 / np.sqrt(5000))},  # runs of a state make them cluster
    )


def poisson(hmm):
    """Count earthquakes: how many rates are there, and when does which hold?"""
    rng = np.random.default_rng(3)
    path = chain(np.array([[0.95, 0.04, 0.01], [0.05, 0.9, 0.05], [0.02, 0.08, 0.9]]), 150, rng)
    counts = rng.poisson(np.array([13.0, 20.0, 34.0])[path]).reshape(-1, 1)
    models = [
        likeliest(lambda seed, k=k: hmm.PoissonHMM(n_components=k, random_state=seed, **LONG), counts)
        for k in (1, 2, 3)
    ]
    best = min(models, key=lambda model: model.bic(counts))
    order = np.argsort(best.lambdas_[:, 0])
    return Found(
        {"states": best.n_components, "path": np.argsort(order)[best.predict(counts)]},
        {"score": [m.score(counts) for m in models], "bic": [m.bic(counts) for m in models]},
        {"rates": best.lambdas_[order], "moves": best.transmat_[order][:, order]},
    )


def multinomial(hmm):
    """Learn which words are said by whom: sentences of five words, in four kinds, one column for each."""
    made = hmm.MultinomialHMM(n_components=2, n_trials=5)
    made.n_features = 4
    made.startprob_ = np.array([0.6, 0.4])
    made.transmat_ = np.array([[0.8, 0.2], [0.2, 0.8]])
    made.emissionprob_ = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]])
    sentences, _ = made.sample(np.int64(1500), random_state=4)

    rng = np.random.default_rng(4)
    path = chain(made.transmat_, 300, rng)
    X = np.array([rng.multinomial(5, made.emissionprob_[state]) for state in path])
    learned = likeliest(lambda seed: hmm.MultinomialHMM(2, n_trials=5, random_state=seed, **LONG), X)
    order = np.argsort(learned.emissionprob_[:, 0])
    return Found(
        {
            "made": made.predict(X),
            "learned": np.argsort(order)[learned.predict(X)],
            "totals": set(sentences.sum(axis=1)),
        },
        {"made": made.score(X), "learned": learned.score(X), "aic": learned.aic(X)},
        {"emissions": learned.emissionprob_[order], "moves": learned.transmat_[order][:, order]},
        {"words": (sentences.mean(axis=0), 3 * np.sqrt(1.25 / 1500))},  # runs of a state, as above
    )


def states(hmm):
    """Choose the number of states of Gaussians by AIC and BIC; a model whose width is set before its parameters."""
    made = hmm.GaussianHMM(3, covariance_type="diag")
    made.n_features = 2
    made.startprob_ = np.full(3, 1 / 3)
    made.transmat_ = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    made.means_ = np.array([[0.0, 3.0], [4.0, 0.0], [-4.0, -2.0]])
    made.covars_ = np.tile([[0.8, 1.2]], (3, 1))
    made.sample(10)

    rng = np.random.default_rng(5)
    path = chain(made.transmat_, 400, rng)
    X = made.means_[path] + np.sqrt([0.8, 1.2]) * rng.standard_normal((400, 2))
    lengths = np.array([100, 300])
    found = {
        k: likeliest(lambda seed, k=k: hmm.GaussianHMM(k, random_state=seed, **LONG), X, lengths) for k in (1, 2, 3)
    }
    criteria = {k: (model.aic(X, lengths), model.bic(X, lengths)) for k, model in found.items()}
    best = found[min(criteria, key=lambda k: criteria[k][1])]
    order = np.argsort(best.means_[:, 0])
    return Found(
        {"states": best.n_components, "width": (made.n_features, best.n_features), "path": made.predict(X, lengths)},
        {
            "criteria": list(criteria.values()),
            "made": made.score(X, lengths),
            "parts": best.score_samples(X, lengths)[0],
        },
        {
            "means": best.means_[order],
            "covars": best.covars_[order],
            "stationary": best.get_stationary_distribution()[order],
        },
    )


MIXTURES = (selection, covariances, density, sampling)
HIDDEN_MARKOV = (decoding, casino, poisson, multinomial, states)
