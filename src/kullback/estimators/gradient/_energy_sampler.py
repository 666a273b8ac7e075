"""An energy of rows and a network that draws from it, trained together or on an energy that is given."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback import models
from kullback.core import Batch
from kullback.estimators._count import check_count
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.gradient._check import check_answers, check_columns
from kullback.estimators.gradient._estimator import GRADIENT_CONSTRAINTS, GradientEstimator
from kullback.families import DiagonalGaussian
from kullback.learning import (
    ENTROPIES,
    Dreams,
    EnergyGame,
    Epochs,
    FollowEnergy,
    Gradient,
    Learner,
    Optimizer,
    adaptive_jit,
    begin,
    fit,
    two_rates,
)
from kullback.runtime import as_numpy, computing

#: Hidden layers at most, and points at which a given energy is looked at.
_MOST_LAYERS, _LOOKED_AT = 64, 256


class EnergySampler(GradientEstimator):
    """A density exp(−energy(x)), without its constant, and a sampler: a network that makes points of noise.

    Both play a game: the energy falls where rows are and rises where the sampler draws, and the sampler goes where the
    energy is low, while its entropy keeps it apart. Or `fit_energy` trains a sampler of an energy that is given.
    `polish` brings draws nearer to the energy's own law, by Langevin dynamics.

    The constant is not known, so `score_samples` compares rows with each other, and no model with another. In many
    dimensions it does not work yet: neither entropy is one there, and it pulls harder than energies of at most
    1/(2·regularization) hold. Of 8 × 8 digits the draws end outside of the data.

    Parameters
    ----------
    energy : "mlp" or "autoencoder"
        A perceptron; or how far a row is from what comes of it through a narrow code, ‖F(G(x)) − x‖².
    hidden : sequence of int, or int
        Units of the hidden layers of each network.
    n_noise : int or None
        Numbers that a point is made of; None is two more than there are columns.
    n_code : int
        Numbers of the code of the autoencoder.
    entropy : "kernel" or "mmd"
        What stands for the entropy of the sampler: a kernel estimate of its density, or the discrepancy of its draws to
        a wider Gaussian, which knows their spread and little of their shape.
    draws : int
        Of the sampler, in each step. They must be more than the columns.
    regularization : float
        What the mean square of energies costs. Without it energies would fall without end.
    learning_rate, sampler_rate : float
        Of the energy and of the sampler, to begin with.
    decay : int
        Steps after which rates are halved: they fall as 1/(1 + (steps/decay)⁴). Half of all steps is a good choice.
    max_iter, batch_size : int
        Epochs, and rows of a step. A game has no value that says when to end, so all epochs are gone through.
    dtype : "float32" or "float64"
        In which numbers it learns.
    warm_start, random_state, verbose
        As in scikit-learn.

    Attributes
    ----------
    network_ : kullback.models.EnergySampler
        Both networks.
    n_iter_, n_steps_, learning_curve_, lower_bounds_
        As in all estimators that learn by gradients. The value is E_g energy − E_data energy − entropy, in nats: the
        log-likelihood of the rows where the sampler draws from the energy's own law, and above it elsewhere. It is no
        measure of quality.

    Examples
    --------
    >>> import numpy as np
    >>> sampler = EnergySampler(hidden=(16,), sampler_rate=0.01, random_state=0)
    >>> draws = sampler.fit_energy(lambda x: 0.5 * (x[0] - 3) ** 2, 1, steps=400).sample(1000)
    >>> bool(abs(draws.mean() - 3) < 0.3), bool(abs(draws.std() - 1) < 0.3)
    (True, True)

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GRADIENT_CONSTRAINTS,
        "energy": [StrOptions({"mlp", "autoencoder"})],
        "hidden": ["array-like", Interval(Integral, 1, None, closed="left")],
        "n_noise": [Interval(Integral, 1, None, closed="left"), None],
        "n_code": [Interval(Integral, 1, None, closed="left")],
        "entropy": [StrOptions(set(ENTROPIES))],
        "draws": [Interval(Integral, 2, None, closed="left")],
        "regularization": [Interval(Real, 0.0, None, closed="neither")],
        "sampler_rate": [Interval(Real, 0.0, None, closed="neither")],
        "decay": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        energy: str = "mlp",
        *,
        hidden: Any = (128, 128),
        n_noise: int | None = None,
        n_code: int = 2,
        entropy: str = "kernel",
        draws: int = 256,
        regularization: float = 0.05,
        learning_rate: float = 3e-3,
        sampler_rate: float = 1e-3,
        decay: int = 3000,
        max_iter: int = 150,
        batch_size: int = 256,
        dtype: str = "float32",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.energy = energy
        self.hidden = hidden
        self.n_noise = n_noise
        self.n_code = n_code
        self.entropy = entropy
        self.draws = draws
        self.regularization = regularization
        self.learning_rate = learning_rate
        self.sampler_rate = sampler_rate
        self.decay = decay
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.dtype = dtype
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    _takes_all_epochs: ClassVar[bool] = True
    _foretells: ClassVar[bool] = False  # the value of a game
    #: No part of the rows is kept apart: there is nothing that it could be asked.
    validation_fraction: ClassVar[float] = 0.0

    # --- the networks, and how they learn ---------------------------------------------------------------

    def _network(self, start: Batch, key: Any) -> models.EnergySampler:
        values = jnp.asarray(start.values, self.dtype)
        weight = jnp.asarray(start.weight, self.dtype)[:, None] / jnp.maximum(jnp.sum(jnp.asarray(start.weight)), 1e-30)
        center = jnp.sum(weight * values, axis=0)
        scale = jnp.sqrt(jnp.sum(weight * (values - center) ** 2, axis=0))
        return self._begin(self.energy, values.shape[1], key, center, scale)

    def _begin(self, energy: Any, n_features: int, key: Any, center: Any, scale: Any) -> models.EnergySampler:
        return models.EnergySampler.start(
            n_features,
            key,
            energy,
            tuple(int(units) for units in np.ravel(self.hidden)),
            n_noise=self.n_noise,
            n_code=self.n_code,
            center=center,
            scale=scale,
            dtype=self.dtype,
        )

    @property
    def _learner(self) -> Learner[Any, Any, Any, Any]:
        objective = EnergyGame(self.entropy, self.draws, float(self.regularization))
        return Gradient(objective, self._optimizer(self.decay))

    def _optimizer(self, decay: float) -> Optimizer:
        rates = {"learning_rate": self.learning_rate, "sampler_rate": self.sampler_rate}
        return Optimizer(two_rates, **rates, delay=decay)

    @all_or_nothing
    def fit_energy(
        self, energy: Callable[[Any], Any], n_features: int, *, steps: int = 2000, center: Any = 0.0, scale: Any = 1.0
    ) -> Self:
        """Train the sampler on an energy that is given, and that stays as it is. No data is needed.

        Parameters
        ----------
        energy : callable
            Of one point, an array of shape (n_features,): a number, by functions of `jax.numpy`. The sampler learns to
            draw from exp(−energy); at a temperature T pass energy/T.
        n_features : int
            The length of a point.
        steps : int
            Of the sampler, with `draws` points each; rates are halved after half of them.
        center, scale : array-like
            About where the points lie, and how far they spread: the sampler begins as a Gaussian there.

        Returns
        -------
        self

        """
        self._validate_params()
        n_features, steps = check_count("n_features", n_features), check_count("steps", steps)
        self._check_draws(n_features)
        for name, value in (("center", center), ("scale", scale)):
            if np.shape(value) not in ((), (n_features,)) or not np.all(np.isfinite(value)):
                raise ValueError(f"{name} is {value}: it must be a finite number, or one for each of {n_features}.")
        if not np.all(np.asarray(scale) > 0):
            raise ValueError(f"scale is {scale}: it must be above 0.")
        self._forget(on_stream=False)
        self.__dict__.pop("feature_names_in_", None)
        with computing(self._bits):
            given = models.GivenEnergy(energy)
            network = self._begin(given, n_features, jax.random.key(self.seed_), center, scale)
            _check_energy(given, network, n_features)
            learner = Gradient(FollowEnergy(self.entropy), self._optimizer(steps / 2))
            noise = DiagonalGaussian(np.zeros(network.sampler.n_noise), np.ones(network.sampler.n_noise))
            data, rule = Dreams([noise], None, self.draws, steps, self.seed_), Epochs(1)
            network = as_numpy(network)
            place, reason = fit(learner, begin(learner, network, data, rule, self.seed_), data, rule, seed=self.seed_)
        if place.failures:
            raise ValueError(f"the sampler has not learned the energy: {reason}")
        self.n_features_in_ = n_features
        self._hold(place)
        self.n_iter_, self.converged_, self.lower_bounds_ = 1, False, []
        self.lower_bound_ = float(place.curve[-1, 2])
        return self

    # --- questions --------------------------------------------------------------------------------------

    def score_samples(self, X: Any, draws: int = 1, return_std: bool = False) -> Any:
        """Return −energy of each row: the log-likelihood in nats, up to a constant that is the same for all rows.

        Nothing is hidden, so there is nothing to draw, and standard errors are 0.
        """
        return super().score_samples(X, draws, return_std)

    def energies(self, X: Any) -> np.ndarray:
        """Return the energy of each row."""
        return -np.asarray(self.score_samples(X))

    def polish(self, X: Any, steps: int = 300, method: Literal["langevin", "hmc"] = "langevin") -> np.ndarray:
        """Return rows, such as draws, after steps of Langevin dynamics: nearer to the law of the energy.

        With "hmc" the steps are those of Hamiltonian dynamics, which goes farther where the energy is wide in some
        directions and narrow in others; it needs blackjax (`pip install 'kullback[sampling]'`). Chains hardly ever go
        from one mode to another that lies apart: rows stay in the mode in which they are.
        """
        check_is_fitted(self)
        steps = check_count("steps", steps)
        if method not in ("langevin", "hmc"):
            raise ValueError(f"method is {method!r}: it must be 'langevin' or 'hmc'.")
        rows, model = self._question(X, least=1)
        self._check_missing(rows)
        with computing(self._bits):
            moved = _polish(model, jnp.asarray(rows.X, self.dtype), jax.random.key(self.seed_), steps, method)
        return check_answers(np.asarray(moved, np.float64))

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file; one of a given energy has a Python function, and is refused."""
        if self._is_given:
            raise ValueError(
                "This EnergySampler was trained on a given energy, a Python function, which a file cannot hold: keep "
                "draws of it, or pickle it."
            )
        super().save(path)

    # --- inside -----------------------------------------------------------------------------------------

    def _place(self, data: Any, rule: Any, unfinished: Any = None) -> Any:
        self._check_draws(self.n_features_in_)
        self._check_learns()
        return super()._place(data, rule, unfinished)

    @property
    def _is_given(self) -> bool:
        """Whether the energy is one that was given."""
        return hasattr(self, "network_") and isinstance(self.network_.energy_function, models.GivenEnergy)

    def _check_learns(self) -> None:
        if self._is_given:
            raise ValueError(
                "This EnergySampler was trained on a given energy, which learns nothing from rows: fit another to rows."
            )

    def _check_draws(self, n_features: int) -> None:
        if self.draws <= n_features:
            raise ValueError(
                f"draws is {self.draws}, and there are {n_features} columns: the entropy of the sampler takes more "
                "draws than columns, so raise draws."
            )

    def _validate_params(self) -> None:
        super()._validate_params()
        layers = np.ravel(np.asarray(self.hidden, dtype=object))
        whole = all(isinstance(units, (int, np.integer)) and units >= 1 for units in layers)
        if not 1 <= len(layers) <= _MOST_LAYERS or not whole:
            raise ValueError(
                f"hidden is {str(self.hidden)[:80]}: it must name the units of one hidden layer or more, at most "
                f"{_MOST_LAYERS}, such as (128, 128)."
            )

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if first:
            check_columns(X, self.dtype, constants=True)
        return X


@adaptive_jit
def _polish(model: Any, x: Any, key: Any, steps: int, method: str) -> Any:
    return model.polish(key, x, steps, method)


def _check_energy(energy: Any, network: models.EnergySampler, n_features: int) -> None:
    """Raise unless a given energy answers with a finite number where the sampler begins."""
    if not callable(energy.function):
        raise ValueError(f"energy is {str(energy.function)[:80]}: it must be a function of one point.")
    drawn = network.sample(jax.random.key(0), (_LOOKED_AT,))
    try:
        found = jax.eval_shape(energy.function, drawn[0])
    except jax.errors.JAXTypeError as error:
        raise ValueError("energy turns numbers into those of Python or NumPy: use functions of jax.numpy.") from error
    shape = getattr(found, "shape", None)
    if shape != ():
        raise ValueError(
            f"energy returns an array of shape {shape} for a point of shape ({n_features},): it must be one number."
        )
    bad = int(np.sum(~np.isfinite(np.asarray(network.energy(drawn)))))
    if bad:
        raise ValueError(
            f"energy is not finite at {bad} of {_LOOKED_AT} points around center: it must be finite everywhere, so "
            "make it large where nothing may be, or move center and scale."
        )
