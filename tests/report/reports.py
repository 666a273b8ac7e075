"""Small fitted estimators of every kind, and their pages taken apart."""

import functools
from html.parser import HTMLParser

import numpy as np

import kullback
from kullback import models
from kullback.families import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Independent,
    Poisson,
    Product,
    VonMises,
)

#: Elements that have no end.
VOID = {"meta", "link", "br", "hr", "img", "input"}


def blobs(rows=40, columns=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(m, 1, (rows, columns)) for m in (-4, 4)])


def counts(rows=40, columns=2, seed=0):
    rates = np.repeat([[2.0, 9.0], [8.0, 1.0]], rows, axis=0)[:, :columns]
    return np.random.default_rng(seed).poisson(rates).astype(float)


def mixed(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    parts = [
        np.stack([rng.normal(m, 1, rows), rng.poisson(c, rows), rng.vonmises(a, 4, rows)], axis=1)
        for m, c, a in ((0, 2, -1), (5, 20, 2))
    ]
    return np.concatenate(parts)


def series(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    return (np.sin(np.arange(rows) * 0.5) + rng.normal(0, 0.2, rows))[:, None]


def holes(X):
    """Leave out some entries."""
    return np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)


#: Components of two members each, and of two columns.
BITS = Independent(Bernoulli(np.array([[0.2, 0.9], [0.7, 0.4]])))
SYMBOLS = Independent(Categorical(np.array([[[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [[0.6, 0.3, 0.1], [0.4, 0.4, 0.2]]])))
COUNTS = Independent(Poisson(np.array([[2.0, 9.0], [8.0, 1.0]])))
MIXED = Product(
    [
        DiagonalGaussian(np.array([[0.0], [5.0]]), np.ones((2, 1))),
        Independent(Poisson(np.array([[2.0], [20.0]]))),
        Independent(VonMises(np.array([[-1.0], [2.0]]), np.full((2, 1), 4.0))),
    ]
)
CHAIN = ([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]])


def mixture(kind, components):
    """Return a mixture that was not fitted: most pages are tested without compiling a fit."""
    return kind.from_model(models.Mixture(np.array([0.4, 0.6]), components))


def chain(kind, emissions):
    return kind.from_model(models.HiddenMarkovModel(*map(np.array, CHAIN), emissions))


MAKE = {
    "GaussianMixture": lambda: (kullback.GaussianMixture(2, random_state=0).fit(blobs()), blobs()),
    "BernoulliMixture": lambda: (mixture(kullback.BernoulliMixture, BITS), blobs()),
    "PoissonMixture": lambda: (mixture(kullback.PoissonMixture, COUNTS), holes(counts())),
    "CategoricalMixture": lambda: (mixture(kullback.CategoricalMixture, SYMBOLS), counts() % 3),
    "Mixture": lambda: (mixture(kullback.Mixture, MIXED), mixed()),
    "CompoundDirichlet": lambda: (
        kullback.CompoundDirichlet.from_model(models.CompoundDirichlet(np.array([2.0, 3.0]))),
        counts(),
    ),
    "ProbabilisticPCA": lambda: (kullback.ProbabilisticPCA(1).fit(blobs()), blobs()),
    "FactorAnalysis": lambda: (kullback.FactorAnalysis(1).fit(blobs(columns=3)), blobs(columns=3)),
    "GaussianHMM": lambda: (kullback.GaussianHMM(2, random_state=0, n_iter=3, tol=-np.inf).fit(blobs()), blobs()),
    "CategoricalHMM": lambda: (
        chain(kullback.CategoricalHMM, Independent(Categorical(SYMBOLS.columns.probabilities[:, :1]))),
        counts(columns=1) % 3,
    ),
    "PoissonHMM": lambda: (chain(kullback.PoissonHMM, COUNTS), counts()),
    "MultinomialHMM": lambda: (
        chain(kullback.MultinomialHMM, models.Counts(np.array([[0.2, 0.8], [0.9, 0.1]]), 10.0)),
        counts(),
    ),
    "HMM": lambda: (chain(kullback.HMM, MIXED), holes(mixed())),
    "SpikingNetwork": lambda: (
        kullback.SpikingNetwork(4, n_chains=2, n_categories=3, random_state=0).fit(counts(columns=1) % 3),
        counts(columns=1) % 3,
    ),
    "LinearDynamicalSystem": lambda: (
        kullback.LinearDynamicalSystem(2, random_state=0, max_iter=2, tol=0.0).fit(holes(series())),
        holes(series()),
    ),
}


@functools.cache
def fitted(kind):
    """Return an estimator of a kind, and data for it."""
    return MAKE[kind]()


class Page(HTMLParser):
    """The elements of a page; it fails where they do not nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text, self.heads = [], [], {}, []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        tag = self.open[-1] if self.open else None
        self.text.setdefault(tag, []).append(data)
        if {"dt", "dd"} & set(self.open):
            self.heads.append(("dt" if "dt" in self.open else "dd", data))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def facts(self):
        """What the head of the page says, by name."""
        found, open_ = {}, None
        for tag, text in self.heads:
            if tag == "dt":
                found[open_ := text] = ""
            elif open_ is not None:
                found[open_] += text
        return {name: value.strip() for name, value in found.items()}

    @property
    def figures(self):
        return [figure["id"] for figure in self.all("figure")]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]
