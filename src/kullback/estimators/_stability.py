"""Whether other rows would have shown the same components: refits to resampled rows, matched with the fit."""

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.base import clone

from kullback.assess import OutOfBag, negative_log_likelihoods, out_of_bag
from kullback.geometry import relative_entropy
from kullback.models import Mixture
from kullback.runtime import as_numpy, computing, jit

#: A component is seen in a refit if what it is matched with is no further than this, in nats: half a nat is a mean that
#: has moved by one standard deviation.
SEEN_WITHIN = 0.5
#: Components that are seen in fewer refits are named.
LEAST_SEEN = 0.8


class Refits(NamedTuple):
    """Models of refits, lined up with the fit, and losses of rows under fits that have not seen them.

    Where refits are so few that they have all seen a row, there are no losses, and a sentence that says so.
    """

    models: list[Any]
    losses: OutOfBag | None
    problem: str | None = None

    def stability(self, model: Any) -> dict[str, Any] | None:
        """Return how far each component is from what it is matched with, and in how many refits it is seen.

        None where a model has no components that could be told apart.
        """
        if not isinstance(model, Mixture) or len(np.ravel(model.weights)) < 2:
            return None
        with computing():
            each = [as_numpy(_apart(model.components, other.components)) for other in self.models]
        distances = np.array(each, dtype=np.float64)
        seen = np.mean(distances <= SEEN_WITHIN, axis=0)
        shares = np.array([np.asarray(other.weights) for other in self.models])
        components = [
            {
                "component": place,
                "weight": float(np.asarray(model.weights)[place]),
                "weight_error": float(np.std(shares[:, place], ddof=1)),
                "relative_entropy": _finite(np.median(distances[:, place])),
                "seen": float(seen[place]),
            }
            for place in range(distances.shape[1])
        ]
        return {
            "refits": len(self.models),
            "seen_within": SEEN_WITHIN,
            "least_seen": LEAST_SEEN,
            "components": components,
            "unstable": [place for place in range(len(seen)) if seen[place] < LEAST_SEEN],
        }


@jit
def _apart(ours: Any, theirs: Any) -> Any:
    """Return the relative entropy of each component to the one that it is matched with."""
    return jax.vmap(relative_entropy)(ours, theirs)


def refit(estimator: Any, X: Any, refits: int, seed: int) -> Refits:
    """Fit copies of an estimator to rows drawn with replacement, from the beginning; ask each for the loss of all rows.

    Where a fit would begin at random, all begin with the same seed: what differs is the rows.
    """
    copy = clone(estimator)
    settings = copy.get_params(deep=False)
    if settings.get("random_state", 0) is None:
        copy.set_params(random_state=seed)
    if "verbose" in settings:
        copy.set_params(verbose=0)
    reference, models = estimator.to_model(), []

    def losses(fitted: Any, table: Any, y: Any) -> Any:
        with computing():
            models.append(as_numpy(fitted.to_model().aligned_to(reference)))
        return negative_log_likelihoods(fitted, table)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a refit that needs more iterations is as good as any other
        try:
            found, problem = out_of_bag(copy, X, loss=losses, n_resamples=refits, seed=seed), None
        except ValueError as error:
            if len(models) < refits:
                raise
            found, problem = None, str(error).replace("n_resamples", "refits")
    return Refits(models, found, problem)


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
