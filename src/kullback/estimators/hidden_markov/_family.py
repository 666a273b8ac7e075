"""Hidden Markov models that emit any family, for tables of any kind of columns."""

import dataclasses
import types
from numbers import Real
from typing import Any, ClassVar

import jax
import numpy as np

from kullback.estimators.constraints import Interval
from kullback.estimators.data._columns import (
    Shape,
    attribute_names,
    check_categories,
    check_table,
    indicators,
    most_categories,
    plain_components,
    shape_of,
    with_attributes,
)
from kullback.estimators.data._families import chosen_family, family_names, family_of, named_family
from kullback.estimators.data._sequences import Sequences
from kullback.estimators.hidden_markov._emission import Emission, ModelDescription, check_hidden_markov
from kullback.estimators.hidden_markov._estimator import HMM_CONSTRAINTS, LAG, HiddenMarkovEstimator
from kullback.estimators.hidden_markov._starts import StateStart, emissions_from_shares
from kullback.estimators.mixtures._family_mixture import FAMILY, N_CATEGORIES


@dataclasses.dataclass(frozen=True)
class FamilyEmission(Emission):
    """Members of any family, or of one for each column."""

    family: Any
    n_categories: Any
    reg_covar: float
    family_: Any = None  # what 'auto' has chosen
    feature_names_in_: Any = None

    @property
    def families(self) -> Any:
        """The families that are given, or were chosen."""
        return named_family(self.family, self.family_, self.feature_names_in_)

    @property
    def point_variance(self) -> float:
        """The variance of a data point, of Gaussian columns."""
        return self.reg_covar

    def check(self, X: np.ndarray, holder: Any, first: bool) -> None:
        """Raise unless the families allow the entries, and categories are known after the first rows."""
        check_table(X, self.families)
        if len(X):
            many = Shape.of(X, self.families, most_categories(self.n_categories)).categories
            if not first and hasattr(holder, "n_categories_"):
                check_categories(many, holder.n_categories_)

    def read(self, X: np.ndarray, holder: Any) -> dict[str, Any]:
        """Return the numbers of categories and of trials."""
        if not self.starts("e", "n_categories_", holder):
            return {}
        shape = Shape.of(X, self.families, most_categories(self.n_categories)).with_room(holder.known_categories)
        room = shape.knowing(self.n_categories).with_members(self.families)
        check_categories(shape.categories, room.categories)
        return {"n_categories_": room.categories, "n_trials_": shape.trials}

    def features(self, X: np.ndarray, holder: Any) -> np.ndarray:
        """Return columns that k-means can compare, on one scale."""
        seen = indicators(X, self.families, holder.n_categories_)
        spread = seen.std(axis=0)
        return seen / np.where(spread > 0, spread, 1.0)

    def start(self, data: Sequences, start: StateStart, holder: Any) -> Any:
        """Return what is nearest to the shares of the rows."""
        blank = self._blank(holder)
        if not self.starts("e", attribute_names(blank)[0], holder):
            return self.from_attributes(holder)
        found = emissions_from_shares(blank, data, start)
        return with_attributes(blank, types.SimpleNamespace(**self.attributes(found)))

    def from_attributes(self, holder: Any) -> Any:
        """Return the members whose parameters the attributes_ are."""
        return with_attributes(self._blank(holder), holder)

    def attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return each parameter under its own name."""
        values = [np.asarray(leaf) for leaf in jax.tree.leaves(emissions)]
        return dict(zip(attribute_names(emissions), values, strict=True))

    def count_parameters(self, holder: Any) -> dict[str, int]:
        """Return the dimension of the family, once for each state."""
        return {"e": self.n_components * self.from_attributes(holder).size}

    @classmethod
    def describe(cls, model: Any) -> ModelDescription:
        """Return names of families, and what they say of tables."""
        check_hidden_markov(model)
        family, shape = family_of(model.emissions), shape_of(model.emissions)
        return ModelDescription(
            {"n_components": len(model.initial), "family": family},
            {
                "n_features_in_": shape.n,
                "n_categories_": shape.categories,
                "n_trials_": shape.trials,
                "family_": family_names(model.emissions),
            },
        )

    def _blank(self, holder: Any) -> Any:
        shape = Shape(holder.n_features_in_, np.asarray(holder.n_categories_), int(holder.n_trials_))
        return plain_components(self.families, shape, self.n_components)


class HMM(HiddenMarkovEstimator):
    """A hidden Markov model whose states emit any family, for tables of any kind of columns.

    Parameters
    ----------
    n_components : int
        The number of states.
    family : str, class or member of a family, or a list or dict of these
        What the entries of columns are, for all of them or for each, as in `Mixture`: 'auto', 'gaussian', 'poisson', …
    n_categories : int, list of int or None
        As in `Mixture`.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet priors.
    params, init_params : str
        What is learned, and what is started: 's' for startprob, 't' for transmat, 'e' for emissions.
    reg_covar : float
        The variance of a data point itself, for Gaussian columns: it keeps variances above it.
    algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag
        As in `GaussianHMM`; the start is chosen as in `CategoricalHMM` if a column is discrete.

    Attributes
    ----------
    startprob_, transmat_, and one for each parameter of the family
        For instance `rate_` of 'poisson'. With mixed columns the names carry the number of the part, as in `rate_1_`:
        runs of columns of one family are one part.
    family_
        The name of the family of all columns, or a list with one for each.
    categories_
        Where columns hold text: the categories of each, by its name, in the order of their numbers.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([np.stack([rng.normal(m, 1, 200), rng.poisson(c, 200)], 1) for m, c in ((0, 2), (5, 20))])
    >>> hmm = HMM(n_components=2, family=["gaussian", "poisson"], random_state=0).fit(X)
    >>> np.sort(hmm.rate_1_.ravel()).round().tolist()
    [2.0, 20.0]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HMM_CONSTRAINTS,
        "family": FAMILY,
        "n_categories": N_CATEGORIES,
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
    }

    _emission_type = FamilyEmission

    def __init__(
        self,
        n_components: int = 1,
        *,
        family: Any = "gaussian",
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        reg_covar: float = 1e-6,
        n_init: int = 1,
        rate: Any = None,
        lag: int = LAG,
        n_categories: Any = None,
    ):
        self._set_chain(n_components, startprob_prior, transmat_prior, params, init_params)
        self._set_learning(algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag)
        self.family = family
        self.reg_covar = reg_covar
        self.n_categories = n_categories

    def _choose_families(self, kinds: list[str]) -> None:
        self.family_ = chosen_family(self.family, kinds, getattr(self, "feature_names_in_", None))
