"""Mixtures of any family, for tables of any kind of columns."""

import abc
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import jax
import numpy as np

from kullback.core import MOST_CATEGORIES
from kullback.estimators._model_estimator import check_kind
from kullback.estimators.constraints import Interval
from kullback.estimators.data._columns import (
    Shape,
    attribute_names,
    check_shape,
    indicators,
    plain_components,
    shape_of,
    with_attributes,
)
from kullback.estimators.data._families import chosen_family, family_names, family_of, is_euclidean, named_family
from kullback.estimators.data._rows import Rows
from kullback.estimators.mixtures._mixture_estimator import MIXTURE_CONSTRAINTS, MixtureEstimator, normalized
from kullback.families import Component, Gaussian
from kullback.models import Mixture as MixtureModel

#: What `n_categories` may be.
N_CATEGORIES: list[Any] = [Interval(Integral, 2, None, closed="left"), "array-like", None]


#: What `family` may be.
FAMILY: list[Any] = [str, list, tuple, dict, type, Component]


class FamilyMixture(MixtureEstimator):
    """A mixture whose components are told by the names of families. Each parameter is an attribute_."""

    n_categories_: Any

    def __init__(
        self,
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        rate: Any = None,
        temperature: float = 1.0,
    ):
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.rate = rate
        self.temperature = temperature

    @property
    @abc.abstractmethod
    def _families(self) -> Any:
        """One family for all columns, or one for each: names, classes or members."""

    @property
    def _known_categories(self) -> Any:
        """How many categories there are, in all columns or in each; None where the first rows tell."""
        return None

    def _entries(self, X: np.ndarray) -> np.ndarray:
        """Return the entries as the family means them."""
        return X

    def _shape(self) -> Shape:
        return Shape(self.n_features_in_, np.asarray(self.n_categories_), int(self.n_trials_))

    def to_model(self) -> MixtureModel:
        """Return the fitted model, with NumPy arrays."""
        self._check_fitted()
        weights = np.asarray(self.weights_, dtype=np.float64)
        plain = plain_components(self._families, self._shape(), len(weights))
        return self._mixture(normalized(weights), with_attributes(plain, self))

    @abc.abstractmethod
    def _mixture(self, weights: np.ndarray, components: Any) -> MixtureModel:
        """Return the model with these weights and components, with what else the parameters say."""

    def _attributes(self, model: MixtureModel) -> dict[str, np.ndarray]:
        values = [np.asarray(leaf) for leaf in jax.tree.leaves(model.components)]
        named = dict(zip(attribute_names(model.components), values, strict=True))
        return {"weights_": np.asarray(model.weights), **named}

    def _shape_of(self, model: MixtureModel) -> dict[str, Any]:
        shape = shape_of(model.components)
        return {"n_features_in_": shape.n, "n_categories_": shape.categories, "n_trials_": shape.trials}

    def _n_parameters(self) -> int:
        return len(self.weights_) * self.to_model().components.size + len(self.weights_) - 1

    @property
    def _softness(self) -> float:
        return 0.0 if is_euclidean(self._families) else 0.1

    def _seen_by_kmeans(self, rows: Rows) -> Callable[[np.ndarray], np.ndarray]:
        """Return standardized columns, and categories as indicators, but Gaussians as they are."""
        if is_euclidean(self._families):
            return lambda values: values
        some = rows.filled(np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 10_000)).astype(int)))
        spread = indicators(some, self._families, self.n_categories_).std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        return lambda values: indicators(values, self._families, self.n_categories_) / scale

    def _blank_mixture(self, rows: Rows) -> MixtureModel:
        k = self.n_components
        return self._mixture(np.full(k, 1 / k), plain_components(self._families, self._shape(), k))

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        self._check_rows(X, first)
        X = self._entries(X)
        check_shape(self, X, self._families, self._known_categories, first)
        return X

    def _note_highest(self, highest: np.ndarray) -> None:
        if self._known_categories is not None:
            return
        known = np.asarray(self.n_categories_)
        many = (known > 0) & (highest >= MOST_CATEGORIES)
        if many.any():
            raise ValueError(
                f"Column {np.argmax(many)} of X holds {highest[np.argmax(many)]:.6g}: categories are 0, 1, 2, … and "
                f"not more than {MOST_CATEGORIES:,}; number them so, or use another family."
            )
        seen = np.where(np.isfinite(highest), highest, 0).astype(np.int64) + 1
        self.n_categories_ = np.where(known > 0, np.maximum(known, seen), known)


class Mixture(FamilyMixture):
    """A mixture of any family, for tables of any kind of columns.

    Parameters
    ----------
    n_components : int
        The number of components.
    family : str, class or member of a family, or a list or dict of these
        What the entries of columns are. A name is 'auto', 'gaussian', 'diagonal_gaussian', 'spherical_gaussian',
        'bernoulli', 'categorical', 'poisson', 'exponential', 'gamma', 'beta', 'von_mises', 'dirichlet', 'multinomial',
        'compound_dirichlet', 'ising', or one of `kullback.families.register_family`. 'auto' goes by what columns
        hold: text is 'categorical', true and false 'bernoulli', numbers 'gaussian', with one covariance if all columns
        are numbers. A class, such as `kullback.families.Gamma` or one of your own, needs no name; a member also has
        settings that are kept, such as the trials of a `Multinomial`. A list has one for each column, a dict those of
        some columns by name (by place, where columns have no names), and all others are 'auto'.
    tied : bool
        Whether all components share one covariance, for Gaussian families.
    equal_weights : bool
        Whether all components weigh the same. With `family="spherical_gaussian"`, `tied` and `temperature=0` this is
        K-means: `mean_` are the centers, `predict` the clusters.
    n_categories : int, list of int or None
        As in `CategoricalMixture`, for columns of categories; the numbers for other columns mean nothing.
    tol, reg_covar, max_iter, n_init, init_params, random_state, warm_start, verbose, rate, temperature
        As in `GaussianMixture`; `reg_covar` is for Gaussian columns.

    Attributes
    ----------
    weights_, and one for each parameter of the family
        For instance `rate_` of 'poisson'. With mixed columns the names carry the number of the part, as in `rate_1_`:
        runs of columns of one family are one part.
    family_
        The name of the family of all columns, or a list with one for each.
    categories_
        Where columns hold text: the categories of each, by its name, in the order of their numbers 0, 1, …

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([np.stack([rng.normal(m, 1, 200), rng.poisson(c, 200)], 1) for m, c in ((0, 2), (5, 20))])
    >>> mixture = Mixture(n_components=2, family=["gaussian", "poisson"], random_state=0).fit(X)
    >>> np.sort(mixture.rate_1_.ravel()).round().tolist()
    [2.0, 20.0]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MIXTURE_CONSTRAINTS,
        "family": FAMILY,
        "tied": ["boolean"],
        "equal_weights": ["boolean"],
        "n_categories": N_CATEGORIES,
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        family: Any = "gaussian",
        tied: bool = False,
        equal_weights: bool = False,
        n_categories: Any = None,
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        rate: Any = None,
        temperature: float = 1.0,
    ):
        super().__init__(
            n_components, tol=tol, max_iter=max_iter, n_init=n_init, init_params=init_params, random_state=random_state,
            warm_start=warm_start, verbose=verbose, rate=rate, temperature=temperature,
        )  # fmt: skip
        self.family = family
        self.tied = tied
        self.equal_weights = equal_weights
        self.n_categories = n_categories
        self.reg_covar = reg_covar

    @property
    def _families(self) -> Any:
        return named_family(self.family, getattr(self, "family_", None), getattr(self, "feature_names_in_", None))

    @property
    def _known_categories(self) -> Any:
        return self.n_categories

    @classmethod
    def _parameters_of(cls, model: MixtureModel) -> dict[str, Any]:
        check_kind(model, MixtureModel, cls)
        family = family_of(model.components)
        return {
            "n_components": len(model.weights),
            "family": family,
            "tied": bool(model.tied),
            "equal_weights": model.fixed_weights,
            "temperature": model.temperature,
        }

    def _mixture(self, weights: np.ndarray, components: Any) -> MixtureModel:
        shared = "covariance" if isinstance(components, Gaussian) else "variance"
        return MixtureModel(
            weights, components, self.temperature, (shared,) if self.tied else (), bool(self.equal_weights)
        )

    @property
    def _point_variance(self) -> float:
        return self.reg_covar

    def _choose_families(self, kinds: list[str]) -> None:
        self.family_ = chosen_family(self.family, kinds, getattr(self, "feature_names_in_", None))

    def _shape_of(self, model: MixtureModel) -> dict[str, Any]:
        return {**super()._shape_of(model), "family_": family_names(model.components)}
