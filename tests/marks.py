"""Cases that take long and tell little more than their neighbors: `make test-all` runs them, `make test` does not."""

import pytest


def slow(value):
    """Return a case that `make test` leaves out."""
    return pytest.param(value, marks=pytest.mark.slow)
