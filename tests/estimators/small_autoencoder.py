"""An estimator of a network, as a person would write one outside of the library."""

from numbers import Integral
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from kullback.estimators import GRADIENT_CONSTRAINTS, GradientEstimator
from kullback.estimators.constraints import Interval
from kullback.learning import Gradient, Optimizer
from learning.proof_models import VAE, minus_elbo


class SmallAutoencoder(GradientEstimator):
    """A variational autoencoder with one hidden layer in the encoder and one in the decoder."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GRADIENT_CONSTRAINTS,
        "width": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        width=16,
        max_iter=100,
        batch_size=128,
        learning_rate=1e-3,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-4,
        dtype="float32",
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.width = width
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.dtype = dtype
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _network(self, start, key):
        model = VAE(start.values.shape[1], 2, key, self.width)
        return jax.tree.map(lambda leaf: leaf.astype(self.dtype) if isinstance(leaf, jnp.ndarray) else leaf, model)

    @property
    def _learner(self):
        return Gradient(minus_elbo, Optimizer(learning_rate=self.learning_rate))

    def _check_values(self, X, first):
        return X
