"""Small fitted estimators of every kind, and their pages taken apart."""

from html.parser import HTMLParser

import numpy as np

import kullback

#: Elements that have no end.
VOID = {"meta", "link", "br", "hr", "img", "input"}


def blobs(rows=60, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(m, 1, (rows, columns)) for m in (-4, 4)])


def counts(rows=60, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    rates = np.repeat([[2.0, 9.0, 4.0], [8.0, 1.0, 4.0]], rows, axis=0)[:, :columns]
    return rng.poisson(rates).astype(float)


def mixed(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [
            np.stack([rng.normal(m, 1, rows), rng.poisson(c, rows), rng.vonmises(a, 4, rows), rng.choice(3, rows)], 1)
            for m, c, a in ((0, 2, -1), (5, 20, 2))
        ]
    )


def series(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    return (np.sin(np.arange(rows) * 0.5) + rng.normal(0, 0.2, rows))[:, None]


def fitted(kind):
    """Return a fitted estimator and its data."""
    few = {"random_state": 0, "max_iter": 5, "tol": 1e9}  # done after a step
    hmm = {"random_state": 0, "n_iter": 3, "tol": -np.inf}
    three = np.random.default_rng(0).dirichlet([2.0, 3.0, 4.0], 80)
    make = {
        "GaussianMixture": lambda: (kullback.GaussianMixture(2, **few), blobs()),
        "BernoulliMixture": lambda: (kullback.BernoulliMixture(2, **few), blobs()),
        "PoissonMixture": lambda: (kullback.PoissonMixture(2, **few), counts()),
        "CategoricalMixture": lambda: (kullback.CategoricalMixture(2, **few), counts() % 3),
        "Mixture": lambda: (
            kullback.Mixture(2, family=["gaussian", "poisson", "von_mises", "categorical"], **few),
            mixed(),
        ),
        "Mixture of Dirichlets": lambda: (kullback.Mixture(2, family="dirichlet", **few), three),
        "Mixture of gammas": lambda: (kullback.Mixture(2, family="gamma", **few), np.exp(blobs() / 4)),
        "Mixture of betas": lambda: (kullback.Mixture(2, family="beta", **few), 1 / (1 + np.exp(-blobs() / 4))),
        "Mixture of exponentials": lambda: (kullback.Mixture(2, family="exponential", **few), np.exp(blobs() / 4)),
        "Mixture of Isings": lambda: (kullback.Mixture(1, family="ising", **few), np.sign(blobs())),
        "Mixture of multinomials": lambda: (
            kullback.Mixture(2, family="multinomial", **few),
            np.random.default_rng(0).multinomial(9, [0.2, 0.3, 0.5], 80).astype(float),
        ),
        "Mixture of spheres": lambda: (kullback.Mixture(2, family="spherical_gaussian", **few), blobs()),
        "CompoundDirichlet": lambda: (kullback.CompoundDirichlet(**few), counts()),
        "ProbabilisticPCA": lambda: (kullback.ProbabilisticPCA(1, **few), blobs()),
        "FactorAnalysis": lambda: (kullback.FactorAnalysis(1, **few), blobs()),
        "GaussianHMM": lambda: (kullback.GaussianHMM(2, **hmm), blobs()),
        "CategoricalHMM": lambda: (kullback.CategoricalHMM(2, **hmm), counts(columns=1) % 3),
        "PoissonHMM": lambda: (kullback.PoissonHMM(2, **hmm), counts()),
        "MultinomialHMM": lambda: (kullback.MultinomialHMM(2, **hmm), counts()),
        "HMM": lambda: (kullback.HMM(2, family=["gaussian", "poisson", "von_mises", "categorical"], **hmm), mixed()),
        "LinearDynamicalSystem": lambda: (
            kullback.LinearDynamicalSystem(2, random_state=0, max_iter=2, tol=0.0),
            series(),
        ),
    }
    estimator, X = make[kind]()
    return estimator.fit(X), X


KINDS = (
    *("GaussianMixture", "BernoulliMixture", "PoissonMixture", "CategoricalMixture", "Mixture"),
    *("Mixture of Dirichlets", "Mixture of gammas", "Mixture of betas", "Mixture of exponentials"),
    *("Mixture of Isings", "Mixture of multinomials", "Mixture of spheres", "CompoundDirichlet"),
    *("ProbabilisticPCA", "FactorAnalysis", "GaussianHMM", "CategoricalHMM", "PoissonHMM", "MultinomialHMM"),
    *("HMM", "LinearDynamicalSystem"),
)


class Page(HTMLParser):
    """The elements of a page; it fails where they do not nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], {}
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

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def figures(self):
        return [figure["id"] for figure in self.all("figure")]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]
