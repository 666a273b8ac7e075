"""Random tables made to break estimators: each must be learned from, or refused with one sentence.

`run(n, seed)` returns what went wrong, one line for each failure; `case(seed, number, name)` tries one table again.
"""

import contextlib
import copy
import warnings

import numpy as np

import kullback

#: Longest sentence that a refusal may have.
LONGEST = 400
# few sizes, so that few functions are compiled
_ROWS = (2, 3, 9, 16, 16, 40, 40, 40)
_SCALES = (1e-320, 1e-200, 1e-150, 1e-100, 1e-8, 1e8, 1e15, 1e100, 1e149, 1e153, 1e200, 1e308)


def _mixture(name, **parameters):
    return lambda: getattr(kullback, name)(2, max_iter=3, random_state=0, **parameters)


def _chain(name, **parameters):
    return lambda: getattr(kullback, name)(2, n_iter=3, random_state=0, **parameters)


#: Estimators by name: how to make one, the entries that it means, and the number of columns.
KINDS = {
    "full": (_mixture("GaussianMixture"), "real", 2),
    "tied": (_mixture("GaussianMixture", covariance_type="tied"), "real", 2),
    "diag": (_mixture("GaussianMixture", covariance_type="diag", reg_covar=0.0), "real", 2),
    "spherical": (_mixture("GaussianMixture", covariance_type="spherical"), "real", 2),
    "bernoulli": (_mixture("BernoulliMixture", binarize=None), "bit", 2),
    "poisson": (_mixture("PoissonMixture"), "count", 2),
    "categorical": (_mixture("CategoricalMixture"), "category", 2),
    "gamma": (_mixture("Mixture", family="gamma"), "positive", 2),
    "exponential": (_mixture("Mixture", family="exponential"), "positive", 2),
    "beta": (_mixture("Mixture", family="beta"), "share", 2),
    "von_mises": (_mixture("Mixture", family="von_mises"), "real", 2),
    "multinomial": (_mixture("Mixture", family="multinomial"), "total", 2),
    "mixed": (_mixture("Mixture", family=["gaussian", "categorical"]), "category", 2),
    "compound": (lambda: kullback.CompoundDirichlet(max_iter=3), "count", 2),
    "factors": (lambda: kullback.FactorAnalysis(1, max_iter=3), "real", 3),
    "principal": (lambda: kullback.ProbabilisticPCA(1, max_iter=3), "real", 3),
    "system": (lambda: kullback.LinearDynamicalSystem(1, max_iter=3, random_state=0), "real", 2),
    "gaussian chain": (_chain("GaussianHMM"), "real", 2),
    "symbols": (_chain("CategoricalHMM"), "category", 1),
    "tallies": (_chain("MultinomialHMM"), "count", 2),
    "counts": (_chain("PoissonHMM"), "count", 2),
    "chain of columns": (_chain("HMM", family=["gaussian", "categorical"]), "category", 2),
}
#: Those whose rows follow each other.
CHAINS = ("system", "gaussian chain", "symbols", "tallies", "counts", "chain of columns")


def run(n, seed=0, names=tuple(KINDS)):
    """Try n tables on estimators with these names in turn, and return a line for each failure."""
    return [failure for number in range(n) for failure in case(seed, number, names[number % len(names)])]


def case(seed, number, name):
    """Try one table on one estimator, and return what went wrong."""
    rng = np.random.default_rng([seed, number])
    make, entries, columns = KINDS[name]
    table, odd = _table(rng, entries, columns)
    weight = _weight(rng, len(table))
    failures = []
    with warnings.catch_warnings(), np.errstate(all=rng.choice(["raise", "warn", "ignore"])):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        estimator = make()
        for said in _try(estimator, table, weight, name in CHAINS, rng):
            failures.append(f"case({seed}, {number}, {name!r}) of {entries} {np.shape(table)}, {odd}: {said}")
    return failures


# --- tables -------------------------------------------------------------------------------------------------


def _table(rng, entries, columns):
    rows = int(rng.choice(_ROWS))
    if rng.random() < 0.7:
        table = _plain(rng, entries, rows, columns)
    else:
        table = _plain(rng, str(rng.choice(["real", "count", "bit", "category", "positive"])), rows, columns)
    odd = []
    for _ in range(rng.integers(0, 3)):
        change = _CHANGES[rng.integers(len(_CHANGES))]
        if not table.size:  # nothing is left to change
            break
        with np.errstate(all="ignore"):
            table = change(rng, table)
        odd.append(change.__name__.strip("_"))
    return _typed(rng, table), "+".join(odd) or "plain"


def _plain(rng, entries, rows, columns):
    shape = (rows, columns)
    match entries:
        case "real":
            return rng.normal(size=shape)
        case "count":
            return rng.poisson(3, shape).astype(float)
        case "category":
            return rng.integers(0, 3, shape).astype(float)
        case "bit":
            return rng.integers(0, 2, shape).astype(float)
        case "positive":
            return rng.gamma(2, 1, shape)
        case "share":
            return rng.beta(2, 2, shape)
    return rng.multinomial(6, np.full(columns, 1 / columns), rows).astype(float)


def _scaled(rng, table):
    return table * rng.choice(_SCALES)


def _one_scaled(rng, table):
    table = table.copy()
    table[:, rng.integers(table.shape[1])] *= rng.choice(_SCALES)
    return table


def _far(rng, table):
    return table + rng.choice([-1e300, -1e12, -1.0, 1e5, 1e12, 1e16, 1e149])


def _one_huge(rng, table):
    table = table.copy()
    table[tuple(rng.integers(table.shape))] = rng.choice([1e4, 1e6, 1e9, 1e15, 1e19, 1e100, 1e200, 1e308, -1e308, -1.0])
    return table


def _one_infinite(rng, table):
    table = table.copy()
    table[tuple(rng.integers(table.shape))] = rng.choice([np.inf, -np.inf])
    return table


def _constant(rng, table):
    return np.full_like(table, table.flat[0])


def _constant_column(rng, table):
    table = table.copy()
    table[:, rng.integers(table.shape[1])] = table.flat[0]
    return table


def _duplicates(rng, table):
    return table[rng.integers(0, 2, len(table))]


def _same_columns(rng, table):
    return np.tile(table[:, :1], (1, table.shape[1]))


def _missing_entries(rng, table):
    return np.where(rng.random(table.shape) < 0.4, np.nan, table)


def _missing_rows(rng, table):
    return np.where(rng.random(len(table))[:, None] < 0.5, np.nan, table)


def _missing_column(rng, table):
    table = table.copy()
    table[:, rng.integers(table.shape[1])] = np.nan
    return table


def _all_missing(rng, table):
    return np.full_like(table, np.nan)


def _few_rows(rng, table):
    return table[: rng.integers(0, 3)]


def _zeros(rng, table):
    return np.zeros_like(table)


_CHANGES = (
    *(_scaled, _one_scaled, _far, _one_huge, _one_infinite, _constant, _constant_column, _duplicates, _same_columns),
    *(_missing_entries, _missing_rows, _missing_column, _all_missing, _few_rows, _zeros),
)


def _typed(rng, table):
    """Return the table as something else than 64-bit numbers, one time in three."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match rng.integers(24):
            case 0:
                return table.astype(np.float32)
            case 1:
                return np.nan_to_num(table).astype(np.int64)
            case 2:
                return table > 0
            case 3:
                return table.tolist() if len(table) else table
            case 4:
                return table.astype(object)
            case 5:
                return np.asfortranarray(table)
            case 6:
                return np.nan_to_num(np.abs(table), posinf=0).astype(np.uint64)
            case 7:
                return table.astype(str)
            case 8:
                mixed = table.astype(object)
                if mixed.size:
                    mixed.flat[rng.integers(mixed.size)] = "word"
                return mixed
    return table


def _weight(rng, rows):
    if rng.random() < 0.6:
        return None
    weight = rng.choice([0.0, 1e-320, 1e-8, 1.0, 2.5, 1e150, 1e300, 1e308, np.nan, -1.0], rows)
    return weight if rng.random() < 0.5 else np.full(rows, rng.choice([0.0, 1e-320, 0.5, 3.0, 1e200, 1e308]))


# --- what is asked ------------------------------------------------------------------------------------------


class RefusalError(Exception):
    """An estimator has said, in one sentence, that it will not."""


def _try(estimator, table, weight, chain, rng):
    """Learn and ask in a random way; yield what goes wrong."""
    problems = []
    with contextlib.suppress(RefusalError):
        for step in range(int(rng.integers(1, 4))):
            some = table if step == 0 else table[: max(len(table) // 2, 1)]
            how = "fit" if step == 0 and rng.random() < 0.6 else "partial_fit"
            keywords = _weights(weight, some, chain)
            if chain and how == "partial_fit" and rng.random() < 0.5:
                keywords = {"continues": True}
            _refusable(problems, estimator, how, lambda h=how, s=some, k=keywords: getattr(estimator, h)(s, **k))
            _check_attributes(problems, estimator)
        if hasattr(estimator, "n_batches_seen_"):
            _ask(problems, estimator, table)
    return problems


def _weights(weight, some, chain):
    if weight is None:
        return {}
    return {"sample_weight": weight[:1] if chain else weight[: len(some)]}


def _refusable(problems, estimator, name, ask):
    """Do something that may be refused: in a sentence, and without a trace in the estimator."""
    before = copy.deepcopy(vars(estimator))
    try:
        return ask()
    except (ValueError, TypeError) as error:
        text = str(error)
        if len(text) > LONGEST or "\n" in text.strip():
            problems.append(f"{name} says {len(text)} characters: {text[:200]!r}")
        if any(leak in text for leak in ("nan", "Tracer", "cannot convert float NaN", "do not sum")):
            problems.append(f"{name} leaks: {text[:200]!r}")
        if _changed(before, vars(estimator)):
            problems.append(f"{name} was refused and has changed {_changed(before, vars(estimator))}")
        raise RefusalError from error
    except Exception as error:
        problems.append(f"{name} raises {type(error).__name__}: {str(error)[:200]!r}")
        raise RefusalError from error


def _changed(before, after):
    """Return the names of attributes that differ, private ones aside."""
    names = {name for name in before.keys() | after.keys() if not name.startswith("_")}
    return [name for name in names if repr(before.get(name)) != repr(after.get(name))]


def _check_attributes(problems, estimator):
    for name, value in vars(estimator).items():
        if name.startswith("_") or not name.endswith("_") or name in ("waiting_", "lower_bounds_"):
            continue
        value = np.asarray(value)
        if value.dtype.kind == "f" and np.isnan(value).any() | (value == np.inf).any():
            problems.append(f"{name} is {value.ravel()[:4]}")
        if value.dtype.kind == "f" and name != "lower_bound_" and not np.isfinite(value).all():
            problems.append(f"{name} is {value.ravel()[:4]}")


def _ask(problems, estimator, table):
    for name in ("score", "score_samples", "predict", "transform"):
        if hasattr(estimator, name):
            answer = _answered(problems, estimator, name, lambda n=name: getattr(estimator, n)(table))
            for one in answer if isinstance(answer, tuple) else (answer,):
                if one is not None and (np.isnan(one).any() or np.any(np.asarray(one) == np.inf)):
                    problems.append(f"{name} is {np.ravel(one)[:4]}")
    drawn = _answered(problems, estimator, "sample", lambda: estimator.sample(4))
    drawn = drawn[0] if isinstance(drawn, tuple) else drawn
    if drawn is not None and not np.isfinite(drawn).all():
        problems.append(f"sample is {np.ravel(drawn)[:4]}")
    if hasattr(estimator, "impute"):
        filled = _answered(problems, estimator, "impute", lambda: estimator.impute(table))
        if filled is not None and not np.isfinite(filled).all():
            problems.append(f"impute is {np.ravel(filled)[:4]}")


def _answered(problems, estimator, name, ask):
    try:
        return _refusable(problems, estimator, name, ask)
    except RefusalError:
        return None
