"""Tests compute in 64 bits, and draw without a screen.

JAX's compilation cache on disk stays off: jaxlib 0.9.2 crashes when it loads some of the functions it has stored there
(the Hessian of a relative entropy of Dirichlets among them), in one session too when several workers share it.
"""

import os

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("MPLBACKEND", "agg")
