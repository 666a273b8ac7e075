"""Variational autoencoders of tables of any kind: a few hidden numbers, and networks to and from them."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from kullback import models
from kullback.core import Batch, as_key
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.data._columns import Shape, check_shape, plain_components
from kullback.estimators.data._families import chosen_family, named_family, runs
from kullback.estimators.data._rows import Rows
from kullback.estimators.gradient._check import check_answers, check_column
from kullback.estimators.gradient._estimator import GRADIENT_CONSTRAINTS, GradientEstimator, mean_of_rows
from kullback.estimators.gradient._row_estimates import estimate_surprises
from kullback.estimators.mixtures._family_mixture import FAMILY, N_CATEGORIES
from kullback.learning import EvidenceBound, Gradient, ImportanceBound, Learner, Optimizer, adaptive_jit, decaying_adam
from kullback.runtime import as_numpy, computing

#: Adam's rate falls as (1 + steps / delay)^−power.
_DELAY, _POWER = 300.0, 0.7
#: Hidden layers, and numbers that the networks have, at most.
_MOST_LAYERS, _MOST = 64, 1 << 27
#: Rounds in which missing entries are expected from the marginal, and the marginal learned from them.
_ROUNDS = 64
#: Draws for each row that is left out, and rows that are looked at together.
_VALIDATION_DRAWS, _VALIDATED = 16, 4096


class VariationalAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GradientEstimator):
    """A few hidden numbers z ~ N(0, I) for each row, and a network that makes the distributions of its entries of them.

    Columns may be numbers, counts, categories, yes and no, positive numbers, shares and angles, side by side. Missing
    entries (NaN) are summed out, in learning and in all answers. A second network guesses z from what is observed of
    a row; what is asked about rows begins there and goes on by Fisher scoring through the first one.

    Parameters
    ----------
    n_latents : int
        How many numbers are hidden.
    family : str, class or member of a family, or a list or dict of these
        What the entries of columns are, as in `Mixture`. 'auto' goes by what columns hold: text is 'categorical', true
        and false 'bernoulli', numbers 'gaussian', independent of each other given z.
    hidden : sequence of int, or int
        Units of the hidden layers of the network that guesses; the other has them in the opposite order. An empty one
        makes both linear: then it is a factor analysis.
    activation : "relu", "tanh", "logistic", "silu" or "identity"
        The function between layers.
    draws : int
        Guesses of z for each row of a step: 1 follows the evidence bound, more the tighter bound by importance.
    n_categories : int, list of int or None
        As in `CategoricalMixture`, for columns of categories.
    learning_rate : float
        That of Adam to begin with; it falls as (1 + steps / 300)^−0.7.
    max_iter, batch_size, validation_fraction, n_iter_no_change, tol
        Epochs at most, rows of a step, the part of the rows that says when to end, and for how many epochs that part
        may gain less than `tol` nats per row.
    dtype : "float32" or "float64"
        In which numbers it learns.
    warm_start, random_state, verbose
        As in scikit-learn.

    Attributes
    ----------
    network_ : kullback.models.VariationalAutoencoder
        Both networks.
    family_
        The name of the family of all columns, or a list with one for each.
    sees_missing_ : bool
        Whether the first rows lacked entries: only then the network that guesses learns which are missing.
    n_iter_, n_steps_, learning_curve_, lower_bounds_
        As in all estimators that learn by gradients: the curve is in nats per row, the bound of as many draws.
    validation_scores_, validation_errors_ : list of float
        The bound by importance of rows that are not learned from, after each epoch, and its standard error over rows.
    categories_
        Where columns hold text: the categories of each, by its name, in the order of their numbers 0, 1, …

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 1))
    >>> X = np.concatenate([z + 0.1 * rng.normal(size=(300, 1)), rng.poisson(np.exp(1 + z))], axis=1)
    >>> model = VariationalAutoencoder(1, family=["gaussian", "poisson"], hidden=(8,), random_state=0)
    >>> model.fit_stream([X], passes=30).transform(X[:3]).shape
    (3, 1)

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GRADIENT_CONSTRAINTS,
        "n_latents": [Interval(Integral, 1, None, closed="left")],
        "family": FAMILY,
        "hidden": ["array-like", Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(models.ACTIVATIONS))],
        "draws": [Interval(Integral, 1, None, closed="left")],
        "n_categories": N_CATEGORIES,
    }

    def __init__(
        self,
        n_latents: int = 8,
        *,
        family: Any = "auto",
        hidden: Any = (100,),
        activation: str = "silu",
        draws: int = 1,
        n_categories: Any = None,
        learning_rate: float = 6e-3,
        max_iter: int = 400,
        batch_size: int = 32,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 40,
        tol: float = 1e-3,
        dtype: str = "float32",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_latents = n_latents
        self.family = family
        self.hidden = hidden
        self.activation = activation
        self.draws = draws
        self.n_categories = n_categories
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.dtype = dtype
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    _takes_missing: ClassVar[bool] = True

    # --- columns ----------------------------------------------------------------------------------------

    @property
    def _families(self) -> Any:
        return named_family(self.family, getattr(self, "family_", None), getattr(self, "feature_names_in_", None))

    def auto_family(self, kinds: Sequence[str]) -> str | list[str]:
        """Return the families that 'auto' chooses: given z numbers are independent, what ties them together is z."""
        chosen = super().auto_family(kinds)
        return "diagonal_gaussian" if chosen == "gaussian" else chosen

    def _choose_families(self, kinds: list[str]) -> None:
        automatic = isinstance(self.family, str) and self.family == "auto"
        names = getattr(self, "feature_names_in_", None)
        self.family_ = self.auto_family(kinds) if automatic else chosen_family(self.family, kinds, names)

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        check_shape(self, X, self._families, self.n_categories, first)
        if first:
            self._check_columns(X)
        return X

    def _check_columns(self, X: np.ndarray) -> None:
        """Raise where the first rows say nothing of a column, or nothing that is left after rounding."""
        for run in runs(self._families, X.shape[1]):
            for place in range(run.start, run.start + run.length):
                column = X[~np.isnan(X[:, place]), place]
                if len(column) == 0:
                    raise ValueError(f"Column {place} of X has no entries: leave it out, or begin with rows that do.")
                if run.family.support.discrete or len(X) == 1:
                    continue
                check_column(column, place, self.dtype)

    @property
    def _plain(self) -> Any:
        """The plainest member of the kind that rows are."""
        shape = Shape(self.n_features_in_, np.asarray(self.n_categories_), int(self.n_trials_))
        member: Any = plain_components(self._families, shape, 1)
        found: Any = jax.tree.map(lambda leaf: np.asarray(leaf)[0], member)
        return found

    # --- the networks, and how they learn ---------------------------------------------------------------

    def _network(self, start: Batch, key: Any) -> models.VariationalAutoencoder:
        with computing():
            rows = Batch(np.asarray(start.values, np.float64), start.weight, observed=start.observed)
            marginal = as_numpy(_marginal(self._plain, rows))
        if not np.all(marginal.interior):
            marginal = marginal.raise_zeros(0.5 / (1 + len(start.values)))
        if not np.all(np.isfinite(marginal.coordinates("free"))):
            raise ValueError(
                "X has columns that no member of their family is nearest to: try other families, or more rows."
            )
        self.sees_missing_ = rows.observed is not None
        return self._begin(marginal, rows)

    def _begin(self, member: Any, rows: Batch) -> models.VariationalAutoencoder:
        with computing():
            return models.VariationalAutoencoder.start(
                member,
                int(self.n_latents),
                self._layers,
                rows=rows,
                seed=self.seed_,
                activation=self.activation,
                dtype=np.dtype(self.dtype),
            )

    def _network_shapes(self, row: Any) -> Any:
        plain, sizes = self._plain, [*self._layers, 2 * self.n_latents]
        if (plain.size + self.n_features_in_ * max(2, 2 + int(np.max(self.n_categories_)))) * max(sizes) > _MOST:
            raise ValueError("its networks have more numbers than a file may hold.")
        observed = np.ones((1, self.n_features_in_), bool) if self.sees_missing_ else None
        network = self._begin(plain, Batch(np.zeros((1, self.n_features_in_)), observed=observed))
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), network)

    @property
    def _layers(self) -> tuple[int, ...]:
        return tuple(int(units) for units in np.ravel(self.hidden))

    @property
    def _learner(self) -> Learner[Any, Any, Any, Any]:
        objective: Any = EvidenceBound() if self.draws == 1 else ImportanceBound(int(self.draws))
        return Gradient(
            objective, Optimizer(decaying_adam, learning_rate=self.learning_rate, delay=_DELAY, power=_POWER)
        )

    def _validation_score(self, model: Any, rows: Rows) -> tuple[float, float]:
        """Return the mean of the encoder's bound by importance: it takes no Fisher scoring, and is quick."""
        found = []
        for first in range(0, len(rows), _VALIDATED):
            places = np.arange(first, min(first + _VALIDATED, len(rows)))
            size = min(1 << (len(places) - 1).bit_length(), _VALIDATED)  # few sizes: few compiled functions
            batch = self._batch(rows, np.concatenate([places, np.full(size - len(places), places[0])]))
            with computing(self._bits):
                scores = _bound(model, batch, as_key(self.seed_), _VALIDATION_DRAWS)
            found.append(np.asarray(scores, np.float64)[: len(places)])
        return mean_of_rows(np.concatenate(found), rows)

    def _validate_params(self) -> None:
        super()._validate_params()
        layers = np.ravel(np.asarray(self.hidden, dtype=object))
        whole = all(isinstance(units, (int, np.integer)) and units >= 1 for units in layers)
        if len(layers) > _MOST_LAYERS or not whole:
            raise ValueError(
                f"hidden is {str(self.hidden)[:80]}: it must name the units of each hidden layer, at most "
                f"{_MOST_LAYERS} of them, such as (100, 50)."
            )

    # --- questions --------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Return the most probable z of each row given what is observed of it, found by Fisher scoring.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN entries are missing.

        Returns
        -------
        array of shape (n_samples, n_latents)

        """
        return self._ask(X, _modes)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return what is expected of rows with these z: means, most probable categories, mean directions."""
        check_is_fitted(self)
        h = check_array(X, dtype=np.float64)
        if h.shape[1] != self.n_latents:
            raise ValueError(f"X has {h.shape[1]} columns: the model has {self.n_latents} hidden numbers.")
        size = 1 << (len(h) - 1).bit_length()
        wide = np.concatenate([h, np.repeat(h[:1], size - len(h), axis=0)]).astype(self.dtype)
        with computing(self._bits):
            return check_answers(np.asarray(_expected(self.network_, wide), np.float64)[: len(h)])

    def _row_surprises(self, X: Any) -> np.ndarray:
        rows, found = self._answers(X, None, estimate_surprises)
        return np.where(np.isnan(rows.X), np.nan, found.astype(np.float64))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_latents)


@adaptive_jit
def _marginal(plain: Any, batch: Batch) -> Any:
    """Return the member nearest to rows; what they lack it expects itself, so it is asked again and again."""
    if batch.observed is None:
        return plain.maximize(plain.expected_statistics(batch)[0])

    def again(_: Any, member: Any) -> Any:
        found = member.maximize(member.expected_statistics(batch)[0])
        return jax.tree.map(lambda new, old: new.astype(old.dtype), found, member)

    return jax.lax.fori_loop(0, _ROUNDS, again, jax.tree.map(lambda leaf: jnp.asarray(leaf, float), plain))


@adaptive_jit
def _bound(model: Any, batch: Batch, key: Any, draws: int) -> Any:
    return model.recognize(key, batch, draws).log_likelihood().value


@adaptive_jit
def _modes(model: Any, batch: Batch) -> Any:
    return model.posterior(batch).mean


@adaptive_jit
def _expected(model: Any, h: Any) -> Any:
    return model.expect(h)
