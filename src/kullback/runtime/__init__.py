"""How kullback uses JAX: under which settings it computes, and what it keeps compiled.

`computing` is the front door: every public method that computes enters it, whatever the user's settings are. Functions
of modules are compiled by `jit` and `quick_jit`, which keep a bounded number of them.
"""

from kullback.runtime._computing import computing, users_settings
from kullback.runtime._kept import jit
from kullback.runtime._quick import quick_jit

__all__ = ["computing", "jit", "quick_jit", "users_settings"]
