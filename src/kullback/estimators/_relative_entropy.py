"""Relative entropy between whatever has been fitted."""

from typing import Any, Literal

import jax
import numpy as np

from kullback import geometry
from kullback.core import Batch
from kullback.families import ExponentialFamily
from kullback.geometry import Estimate
from kullback.models import EnergySampler, Mixture, MutableProcess, VariationalAutoencoder, variational_bound
from kullback.numerics import with_article
from kullback.runtime import computing


def relative_entropy(
    p: Any,
    q: Any,
    of: Literal["joint", "marginal", "conditional", "bound"] = "joint",
    n: int = 100_000,
    random_state: int = 0,
) -> Any:
    """D(p, q) = E_p[log p/q] in nats, between two families, models or fitted estimators of one kind.

    For models with hidden variables `of` says what is compared: "joint" is p(h, v), exactly; "marginal" is p(v), by n
    points drawn from p, as an `Estimate` with its standard error; "conditional" is p(h | v) on average over v, the
    joint's less the marginal's, with the same error; "bound" is an upper bound of the marginal's for mixtures, that
    does not depend on the order of the components. With nothing hidden the conditional is 0, and the others are one.

    >>> from kullback.families import Poisson
    >>> round(float(relative_entropy(Poisson(rate=2.0), Poisson(rate=3.0))), 4)
    0.1891
    """
    if of not in ("joint", "marginal", "conditional", "bound"):
        raise ValueError(f"of is {of!r}: it must be 'joint', 'marginal', 'conditional' or 'bound'.")
    if hasattr(p, "to_model") and hasattr(q, "to_model"):
        with computing():
            answer = relative_entropy(p.to_model(), q.to_model(), of, n, random_state)
            return jax.tree.map(lambda value: float(np.asarray(value)), answer)
    if of == "joint":
        return geometry.relative_entropy(p, q)
    if of == "bound":
        if not isinstance(p, Mixture) or not isinstance(q, Mixture):
            raise ValueError(f"of='bound' is for mixtures: p is a {type(p).__name__}, q is a {type(q).__name__}.")
        return variational_bound(p, q)
    if of == "conditional":
        joint = geometry.relative_entropy(p, q)  # it refuses models of two kinds
        if isinstance(p, ExponentialFamily):
            return Estimate(joint * 0, joint * 0)
        value, error = relative_entropy(p, q, "marginal", n, random_state)
        return Estimate(joint - value, error)
    _check_marginal(p)
    points = Batch(p.sample(jax.random.key(random_state), (n,)))
    gain = p.log_likelihood(points) - q.log_likelihood(points)
    return Estimate(gain.mean(axis=0), gain.std(axis=0, ddof=1) / np.sqrt(n))


def _check_marginal(p: Any) -> None:
    """Refuse models in which a point by itself has no likelihood, or none that is known."""
    if isinstance(p, MutableProcess):
        raise ValueError(
            f"p is {with_article(type(p).__name__)}, in which a row has a law only given those before it: compare "
            "score_samples of both on one stream, or kullback.assess.rate for a known truth."
        )
    if isinstance(p, (EnergySampler, VariationalAutoencoder)):
        raise ValueError(
            f"p is {with_article(type(p).__name__)}, whose likelihood is not known exactly: compare both on "
            "one sample of rows."
        )
