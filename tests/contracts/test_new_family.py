"""A family that is written outside of the package: it is learned, saved and drawn, and nothing else is told of it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kullback
from kullback.families import (
    COUNTS,
    Dirichlet,
    NaturalSource,
    ScalarFamily,
    UnsplittableFamily,
    _registry,
    register_family,
)
from kullback.report import write_report


class Geometric(ScalarFamily):
    """P(x) = (1−q) qˣ for x = 0, 1, …: source q, natural log q, expectation q/(1−q). It has no picture of its own."""

    fixed_size = 1
    support = COUNTS

    ratio: jax.Array

    def __init__(self, ratio):
        self.ratio = np.asarray(ratio) if not isinstance(ratio, jax.Array) else ratio

    @classmethod
    def standard(cls, shape, categories=0):
        return cls(np.full(shape, 0.5))

    @property
    def column_means(self):
        return self.ratio / (1 - self.ratio)

    @property
    def interior(self):
        return (jnp.asarray(self.ratio) > 0) & (jnp.asarray(self.ratio) < 1)

    def log_prob(self, x):
        x = jnp.asarray(x, float)
        inside = (x >= 0) & (x == jnp.floor(x))
        return jnp.where(inside, jnp.log1p(-self.ratio) + x * jnp.log(self.ratio), -jnp.inf)

    def sample(self, key, shape=()):
        u = jax.random.uniform(key, shape + self.batch_shape)
        return jnp.floor(jnp.log1p(-u) / jnp.log(jnp.asarray(self.ratio)))

    def statistics(self, x):
        return jnp.asarray(x, float)[..., None]

    @property
    def natural(self):
        return jnp.log(self.source)

    @property
    def expectation(self):
        return self.source / (1 - self.source)

    @classmethod
    def _from_natural(cls, natural):
        return cls(jnp.exp(natural[..., 0]))

    @classmethod
    def _from_expectation(cls, expectation):
        return cls(expectation[..., 0] / (1 + expectation[..., 0]))

    @property
    def free(self):
        return jnp.log(self.source) - jnp.log1p(-self.source)

    @classmethod
    def _from_free(cls, free):
        return cls(jax.nn.sigmoid(free[..., 0]))

    @property
    def log_partition(self):
        return -jnp.log1p(-jnp.asarray(self.ratio))

    @property
    def entropy(self):
        return -self.dual_potential

    def _fisher_source(self):
        return 1 / (self.source * jnp.square(1 - self.source))[..., None]

    def _fisher_natural(self):
        return (self.source / jnp.square(1 - self.source))[..., None]

    def _fisher_expectation(self):
        return 1 / self._fisher_natural()

    def _from_statistics(self, statistics):
        mean = statistics.mean[..., 0]
        return eqx.tree_at(lambda g: g.ratio, self, mean / (1 + mean))


class Proportions(NaturalSource, UnsplittableFamily):
    """Dirichlets under another name, which do not say how they are drawn."""

    concentration: jax.Array
    vars().update({name: part for name, part in vars(Dirichlet).items() if not name.startswith("__")})
    del marginals
    __init__ = Dirichlet.__init__


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Register the families for one test."""
    monkeypatch.setattr(_registry, "_NAMED", dict(_registry._NAMED))
    register_family(Geometric)
    register_family(Proportions)


def counts(rows=200):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.geometric(p, (rows, 2)) - 1 for p in ([0.6, 0.5], [0.05, 0.08])]).astype(float)


def test_it_answers_in_free_coordinates():
    """The step toward a point and the Fisher matrix follow from what the family says."""
    p, y = Geometric(np.array([0.3, 0.8])), np.array([2, 5])

    def one(vector, point):
        return p.kind.log_prob_at("free", vector, point)

    free = p.free
    np.testing.assert_allclose(p.kind.log_prob_at("free", free, y), p.log_prob(y), rtol=1e-12)
    slope = jax.vmap(jax.grad(one))(free, y)
    np.testing.assert_allclose(p.toward(y), slope / p.fisher("free")[..., 0], rtol=1e-9)


def test_a_mixture_learns_it_and_a_file_holds_it(tmp_path):
    X = counts()
    mixture = kullback.Mixture(2, family="geometric", random_state=0).fit(X)
    rare = np.argmax(mixture.ratio_[:, 0])
    np.testing.assert_allclose(mixture.ratio_[rare], [0.95, 0.92], atol=0.03)
    np.testing.assert_allclose(mixture.ratio_[1 - rare], [0.4, 0.5], atol=0.1)
    mixture.save(tmp_path / "model.safetensors")
    assert kullback.load(tmp_path / "model.safetensors").score(X) == mixture.score(X)
    with pytest.raises(ValueError, match=r"X\[0, 1\] is 0.5: for family 'geometric' it must be a count"):
        mixture.score([[1, 0.5]])


def test_it_stands_beside_other_columns():
    X = np.column_stack([counts()[:, 0], np.random.default_rng(1).normal(size=400)])
    mixture = kullback.Mixture(2, family=["geometric", "gaussian"], random_state=0).fit(X)
    assert mixture.ratio_0_.shape == mixture.mean_1_.shape == (2, 1)
    assert kullback.Mixture.from_model(mixture.to_model()).family == ["geometric", "gaussian"]


def test_states_emit_it():
    X = counts()
    hmm = kullback.HMM(2, family="geometric", random_state=0).fit(X)
    np.testing.assert_allclose(np.sort(hmm.ratio_[:, 0]), [0.4, 0.95], atol=0.1)
    assert np.mean(hmm.predict(X)[:200] == hmm.predict(X)[-1]) < 0.05
    np.testing.assert_allclose(hmm.forecast(X, steps=1).mean.shape, (1, 2))


def test_a_page_draws_it_as_what_it_is(tmp_path):
    X = counts()
    mixture = kullback.Mixture(2, family="geometric", random_state=0).fit(X)
    for column, ratio in zip(mixture.to_model().components.marginals(), mixture.ratio_.T, strict=True):
        x = np.arange(30.0)
        np.testing.assert_allclose(column.density(x), (1 - ratio[:, None]) * ratio[:, None] ** x, rtol=1e-9)
        assert column.discrete
        below = 1 - ratio.max() ** (column.span[1] + 1)  # the distribution function at the end of the picture
        assert 0.995 < below < 1
    text = write_report(mixture, tmp_path / "page.html", X).read_text(encoding="utf-8")
    assert 'id="marginal-1-' in text
    assert "ratio 0.9" in text


def test_a_page_says_what_it_cannot_draw(tmp_path):
    X = np.random.default_rng(0).dirichlet([2.0, 3.0, 4.0], 60)
    mixture = kullback.Mixture(1, family="proportions", max_iter=2, tol=1e9).fit(X)
    text = write_report(mixture, tmp_path / "page.html", X).read_text(encoding="utf-8")
    named = ", ".join(f"column {place} (Proportions)" for place in range(3))
    assert f"There is no picture of {named}: the family does not define its marginals." in text
    assert "<svg" in text  # the learning curve, or none of the columns


def test_a_name_belongs_to_one_family():
    with pytest.raises(ValueError, match="'geometric': that is the name of Geometric"):
        register_family(type("Geometric", (Geometric,), {}))
