"""Linear dynamical systems."""
