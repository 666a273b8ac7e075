"""Our stand-ins for what is private to scikit-learn accept and refuse the same."""

import pathlib
import re
import runpy
import sys
from numbers import Integral

import numpy as np
import pytest
from sklearn.utils import _param_validation
from sklearn.utils.validation import _check_sample_weight

from kullback import estimators
from kullback.estimators import _plain_constraints as plain
from kullback.estimators import constraints

KINDS = [estimators.estimator_class(name) for name in estimators.REGISTRY]
VALUES = [
    None, True, False, 0, 1, 2, -1, 2**40, 0.0, 0.5, 1.0, -0.5, np.nan, np.inf, np.int64(3), np.float32(0.5), "full",
    "diag", "kmeans", "viterbi", "", "nothing", b"bytes", [1, 2], (1, 2), [], np.ones(3), {"a": 1}, len, object(),
    np.random.RandomState(0),
]  # fmt: skip


def translated(allowed):
    return [
        plain.Interval(one.type, one.left, one.right, closed=one.closed)
        if isinstance(one, constraints.Interval)
        else plain.StrOptions(one.options)
        if isinstance(one, constraints.StrOptions)
        else one
        for one in allowed
    ]


def refused(validate, allowed, value):
    try:
        validate({"name": allowed}, {"name": value}, "Kind")
    except ValueError as error:
        return str(error)
    return None


def test_every_parameter_of_every_estimator_is_checked_alike():
    assert len(KINDS) > 10
    for kind in KINDS:
        for name, allowed in kind._parameter_constraints.items():
            for value in VALUES:
                theirs = refused(_param_validation.validate_parameter_constraints, allowed, value)
                ours = refused(plain.validate_parameter_constraints, translated(allowed), value)
                assert (ours is None) == (theirs is None), (kind, name, value, theirs)
                if ours is not None:
                    assert ours.startswith("The 'name' parameter of Kind must be ")
                    assert ours.partition(" Got ")[2] == theirs.partition(" Got ")[2]


@pytest.mark.parametrize("ends", [(0, None, "left"), (0, 1, "right"), (None, None, "neither"), (1, 2, "both")])
def test_intervals_read_alike(ends):
    left, right, closed = ends
    theirs = _param_validation.Interval(Integral, left, right, closed=closed)
    assert str(plain.Interval(Integral, left, right, closed=closed)) == str(theirs)


@pytest.mark.parametrize("weight", [[1.0, 2.0], 3.0, [1, 0], [-1.0, 1.0], [np.nan, 1.0], [1.0], [[1.0, 2.0]], ["a"]])
def test_weights_are_checked_alike(weight):
    def tried(check):
        try:
            return check(weight, np.zeros((2, 1)), dtype=np.float64, ensure_non_negative=True).tolist()
        except ValueError:
            return None

    assert tried(plain.check_sample_weight) == tried(_check_sample_weight)


def test_stand_ins_are_taken_when_scikit_learn_has_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.utils._param_validation", None)
    monkeypatch.delattr("sklearn.utils.validation._check_sample_weight")
    found = runpy.run_path(constraints.__file__)
    assert [found[name] for name in constraints.__all__] == [getattr(plain, name) for name in constraints.__all__]


def test_nothing_else_is_private_to_scikit_learn():
    root = pathlib.Path(plain.__file__).parents[1]
    private = re.compile(r"from sklearn[\w.]*\._\w+ import|from sklearn[\w.]* import [^\n]*\b_\w+")
    found = {path.name for path in root.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))}
    assert found == {"constraints.py"}
