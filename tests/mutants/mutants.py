"""Errors in families that are like others, each as a piece of text and what to write in its place."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A family, the law that it breaks, the file of the library, what is there, and what to write in its place."""

    family: str
    law: str
    file: str
    here: str
    instead: str


MUTANTS = [
    Mutant(
        "Bernoulli",
        "fisher source",
        "families/_bernoulli.py",
        "return 1 / self._fisher_natural()",
        "return 2 / self._fisher_natural()",
    ),
    Mutant(
        "Dirichlet",
        "fisher expectation",
        "families/_dirichlet.py",
        "+ product / dirichlet_slack(alpha)",
        "- product / dirichlet_slack(alpha)",
    ),
    Mutant(
        "Exponential",
        "relative entropy",
        "families/_exponential.py",
        "ratio_excess(other.rate, self.rate)",
        "ratio_excess(self.rate, other.rate)",
    ),
    Mutant(
        "VonMises",
        "entropy",
        "families/_von_mises.py",
        "+ kappa * (1 - bessel_ratio(kappa))",
        "- kappa * (1 - bessel_ratio(kappa))",
    ),
    Mutant(
        "Beta",
        "fisher natural",
        "families/_beta.py",
        'self._dirichlet.fisher("natural")',
        'self._dirichlet.fisher("expectation")',
    ),
    Mutant(
        "Poisson",
        "sample",
        "families/_poisson.py",
        "jax.random.poisson(key, self.rate,",
        "jax.random.poisson(key, 1.3 * jnp.asarray(self.rate),",
    ),
    Mutant(
        "Multinomial",
        "cross_entropy",
        "families/_multinomial.py",
        "return self.trials * self._one.cross_entropy(statistics)",
        "return self._one.cross_entropy(statistics)",
    ),
    Mutant(
        "SphericalGaussian",
        "maximize",
        "families/_spherical_gaussian.py",
        "spread = jnp.mean(each.spread, axis=-1)",
        "spread = 1.01 * jnp.mean(each.spread, axis=-1)",
    ),
    Mutant(
        "DiagonalGaussian",
        "fisher expectation",
        "families/_diagonal_gaussian.py",
        "-mean * square, 0.5 * square)",
        "mean * square, 0.5 * square)",
    ),
    Mutant("Ising", "fisher natural", "families/_ising.py", "away = t - mean", "away = t"),
]
