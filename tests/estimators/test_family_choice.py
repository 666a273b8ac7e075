"""What `family=` may be: names, classes and members, also of outside, for all columns, in lists and by column."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import kullback
from kullback.estimators.data._families import auto_family, chosen_family, named_family, runs
from kullback.families import (
    COUNTS,
    Categorical,
    DiagonalGaussian,
    Gamma,
    Gaussian,
    Multinomial,
    Poisson,
    Product,
    ScalarFamily,
    _registry,
    register_family,
)

RNG = np.random.default_rng(0)
COUNTED = RNG.poisson(3, (80, 2)).astype(float)


class Trials(ScalarFamily):
    """Successes in a fixed number of trials, which is no parameter: the binomial family."""

    fixed_size = 1
    support = COUNTS
    probability: jax.Array
    most: int = eqx.field(static=True)

    def __init__(self, probability, most=50):
        self.probability = probability if isinstance(probability, jax.Array) else np.asarray(probability, float)
        self.most = int(most)

    @classmethod
    def standard(cls, shape, categories=0):
        return cls(np.full(shape, 0.5))

    @property
    def column_means(self):
        return self.most * np.asarray(self.probability)

    def log_prob(self, x):
        p, n = jnp.asarray(self.probability), self.most
        ways = jax.scipy.special.gammaln(n + 1.0) - sum(jax.scipy.special.gammaln(y + 1.0) for y in (x, n - x))
        return ways + x * jnp.log(p) + (n - x) * jnp.log1p(-p)

    def sample(self, key, shape=()):
        return jax.random.binomial(key, self.most, self.probability, shape + self.batch_shape)

    def statistics(self, x):
        return jnp.asarray(x, float)[..., None]

    def _from_statistics(self, statistics):
        return eqx.tree_at(lambda family: family.probability, self, statistics.mean[..., 0] / self.most)

    # what a mixture does not ask for
    interior = natural = expectation = log_partition = entropy = None
    _from_natural = _from_expectation = _fisher_source = _fisher_natural = _fisher_expectation = None


@pytest.fixture
def unregistered(monkeypatch):
    """Let a test register families for itself."""
    monkeypatch.setattr(_registry, "_NAMED", dict(_registry._NAMED))


def test_columns_decide_as_in_the_command():
    assert auto_family(["number"] * 3) == "gaussian"
    assert auto_family(["words"] * 2) == "categorical"
    assert auto_family(["truth"]) == "bernoulli"
    assert auto_family(["number", "truth", "words"]) == ["gaussian", "bernoulli", "categorical"]


@pytest.mark.parametrize(
    ("family", "chosen"),
    [
        ("auto", ["gaussian", "categorical"]),
        ({"w": "auto"}, ["gaussian", "categorical"]),
        ({"x": "gamma"}, ["gamma", "categorical"]),
        ({"x": Gamma}, ["gamma", "categorical"]),
        ({"x": Gamma(2.0, 1.0), "w": Categorical([0.5, 0.5])}, ["gamma", "categorical"]),
        ([DiagonalGaussian, "auto"], ["gaussian", "categorical"]),
        ([Gaussian, Categorical], ["gaussian", "categorical"]),  # one column of it
        (("poisson", Poisson(1.0)), ["poisson", "poisson"]),
        (Poisson, "poisson"),
        (Poisson(1.0), "poisson"),
        (Multinomial(3, [0.5, 0.5]), "multinomial"),
    ],
)
def test_what_is_given_is_named(family, chosen):
    assert chosen_family(family, ["number", "words"], ["x", "w"]) == chosen
    entries = named_family(family, chosen, ["x", "w"])
    assert [run.length for run in runs(entries, 2)] in ([1, 1], [2])


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        ({"wrod": "poisson"}, "family has 'wrod', and X has no such column: did you mean 'word'?"),
        ({"q": "poisson"}, "family has 'q', and X has no such column; it has x, word."),
        ({0: "poisson"}, "family has 0, and X has no such column; it has x, word."),
        (["poisson"], "family has 1 names: X has 2 features, and each needs one."),
        (["poisson", "gausian"], "family[1] is 'gausian': a column is one of gaussian, "),
        (["poisson", Multinomial], "family[1] is 'Multinomial': a column is one of"),
        (["poisson", 5], "family[1] is 'int': a column is one of"),
        ("gausian", "family is 'gausian': it must be one of auto, gaussian, "),
        (Product, "a class or a member of a family"),
        (dict, "a class or a member of a family"),
        (Poisson([1.0, 2.0]), "family is a Poisson of batch shape (2,): give one member."),
        (Multinomial(3, [0.2, 0.3, 0.5]), "family is a Multinomial for 3 columns: X has 2 there."),
    ],
)
def test_what_is_no_family_is_refused(family, sentence):
    with pytest.raises(ValueError, match="family") as error:
        chosen_family(family, ["number", "number"], ["x", "word"])
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_places_stand_for_names_that_are_not_there():
    assert chosen_family({1: "poisson"}, ["number", "number"], None) == ["gaussian", "poisson"]
    with pytest.raises(ValueError, match="its columns have no names, so give their places, from 0"):
        chosen_family({"a": "poisson"}, ["number", "number"], None)


@pytest.mark.slow
def test_classes_and_members_are_learned_as_their_names():
    named = kullback.Mixture(2, family="poisson", random_state=0, tol=1e9).fit(COUNTED)
    for family in (Poisson, Poisson(1.0), {0: Poisson, 1: Poisson}):
        given = kullback.Mixture(2, family=family, random_state=0, tol=1e9).fit(COUNTED)
        np.testing.assert_allclose(given.score_samples(COUNTED), named.score_samples(COUNTED), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_member_keeps_its_settings(tmp_path):
    X = RNG.multinomial(10, [0.2, 0.3, 0.5], 60).astype(float)
    found = kullback.Mixture(2, family=Multinomial(10, [0.3, 0.3, 0.4]), random_state=0, tol=1e9).fit(X)
    assert (found.family_, found.n_trials_) == ("multinomial", 10)
    with pytest.raises(ValueError, match="X has rows with a total of 10: the multinomial in family= has 9"):
        kullback.Mixture(2, family=Multinomial(9, [0.3, 0.3, 0.4])).fit(X)
    codes = RNG.integers(0, 3, (60, 2)).astype(float)
    members = [Categorical(np.full(3, 1 / 3)), Categorical(np.full(5, 1 / 5))]
    roomy = kullback.Mixture(2, family=members, random_state=0, tol=1e9).fit(codes)
    assert roomy.n_categories_.tolist() == [3, 5]
    with pytest.raises(ValueError, match="X has category 2: the categorical in family= has 2, from 0"):
        kullback.Mixture(2, family=Categorical([0.5, 0.5])).fit(codes)
    for estimator, table in ((found, X), (roomy, codes)):
        estimator.save(tmp_path / "m")
        assert kullback.load(tmp_path / "m").score(table) == estimator.score(table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kullback.Mixture, kullback.HMM])
def test_a_class_from_outside_needs_no_registering_but_to_be_loaded(kind, tmp_path, unregistered):
    found = kind(1, family=Trials(0.5, most=20), random_state=0).fit(COUNTED)
    np.testing.assert_allclose(np.ravel(found.probability_), COUNTED.mean(axis=0) / 20, rtol=1e-9)
    assert found.family_ == "trials"
    assert kind(1, family=Trials, random_state=0).fit(COUNTED).to_model() is not None
    again = kind.from_model(found.to_model())  # which has the settings of its members
    assert again.score(COUNTED) == found.score(COUNTED)
    for column in ({0: Trials(0.5, 20)}, [Trials(0.5, 20), Trials(0.5, 30)]):
        kind(1, family=column, random_state=0).fit(COUNTED)
    found.save(tmp_path / "m")
    with pytest.raises(ValueError, match="needs the family 'trials', which is not known here: call .*register_family"):
        kullback.load(tmp_path / "m")
    register_family(Trials)
    loaded = kullback.load(tmp_path / "m")
    assert loaded.family.most == 20
    assert loaded.score(COUNTED) == found.score(COUNTED)


def test_a_class_with_the_name_of_another_is_not_saved_as_that(tmp_path):
    other = type("Poisson", (Trials,), {})
    found = kullback.Mixture(1, family=other, random_state=0).fit(COUNTED)
    with pytest.raises(ValueError, match="'poisson' is the name of another family"):
        found.save(tmp_path / "m")


@pytest.mark.slow
def test_families_by_column_are_in_the_file(tmp_path):
    frame = pd.DataFrame({"tensor": COUNTED[:, 0], "columns": np.where(COUNTED[:, 1] > 2, "many", "few")})
    for family in ({"tensor": Poisson}, {"tensor": Gamma(2.0, 1.0), "columns": "auto"}):
        found = kullback.Mixture(2, family=family, random_state=0, tol=1e9).fit(frame.replace(0, 1))
        found.save(tmp_path / "m")
        loaded = kullback.load(tmp_path / "m")
        assert loaded.family_ == found.family_
        assert loaded.categories_ == found.categories_
        assert loaded.score(frame.replace(0, 1)) == found.score(frame.replace(0, 1))
