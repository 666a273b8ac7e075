"""Test modules of other libraries, as they are installed, with our classes where theirs stood.

A module is loaded a second time, under a name of its own, so that the one that others import stays as it is. Nothing of
it is copied into this repository.
"""

import importlib.util
import sys
import warnings

import numpy as np
import pytest

#: What the name of the second module ends with.
_SUFFIX = "_with_kullback"
_WHOLE = "test_none_has_vanished"


class Suite:
    """A test module of a peer, with our classes.

    Parameters
    ----------
    name : str
        The module, as it is imported.
    ours : dict
        What stands in its namespace under which names.
    theirs : list
        The classes and modules that must not be left in its namespace.
    least : int
        How many cases there were when this was written: fewer are an error, for tests may not vanish.
    quick : set of str
        Functions that `make test` runs; `make test-all` runs all.
    fails : dict
        Cases that fail, and why. One that passes is an error, and so is one that is not there.
    apart : dict
        Functions that are not run, and why.

    """

    def __init__(self, name, ours, theirs, least, quick, fails=(), apart=()):
        self.name, self.theirs, self.least, self.quick = name, theirs, least, quick
        self.fails, self.apart = dict(fails), dict(apart)
        self.module = _second(name)
        for key, value in ours.items():
            if key not in vars(self.module):
                raise AttributeError(f"{name} has no {key} any more: see what its tests use instead.")
            setattr(self.module, key, value)

    def tests(self):
        """Return what pytest collects: their tests, and one of our own that looks at them."""
        found = {key: value for key, value in vars(self.module).items() if key.startswith(("test", "Test"))}
        return {key: value for key, value in found.items() if key not in self.apart} | {_WHOLE: self._whole()}

    def mark(self, item):
        """Mark a case that pytest has collected."""
        name = _case(item)
        if name != _WHOLE and item.originalname not in self.quick:
            item.add_marker(pytest.mark.slow)
        if name in self.fails:
            item.add_marker(pytest.mark.xfail(reason=self.fails[name], strict=True))

    def _whole(self):
        """Return a test that all of theirs are there, and none is a test of their own class."""

        def look(request):
            cases = list(_cases(request.node.getparent(pytest.Module)))
            names = {_case(item) for item in cases} - {_WHOLE}
            functions = {item.originalname for item in cases}
            assert len(names) >= self.least, f"{self.name} had {self.least} cases"
            assert set(self.fails) <= names
            assert self.quick <= functions
            assert set(self.apart) <= set(vars(self.module))
            left = [key for key, value in vars(self.module).items() if any(value is one for one in self.theirs)]
            assert not left, f"{self.name} uses classes of its own library under these names"
            assert np.geterr()["under"] == "ignore", f"{self.name} has changed NumPy's settings for all tests"

        return look


def _case(item):
    """Return the name of a case inside its module."""
    return item.nodeid.partition("::")[2]


def _cases(node):
    for child in node.collect():
        yield from [child] if isinstance(child, pytest.Item) else _cases(child)


def _second(name):
    """Load a module again, under another name in the same package."""
    with np.errstate(), warnings.catch_warnings():  # hmmlearn's tests change NumPy's settings when they are imported
        warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)  # scikit-learn has marks of its own
        found = importlib.util.find_spec(name)
        spec = importlib.util.spec_from_file_location(name + _SUFFIX, found.origin)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return module
