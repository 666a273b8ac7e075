"""How kullback uses JAX: under which settings it computes, and what it keeps compiled.

`computing` is the front door: every public method that computes enters it, whatever the user's settings are.
"""

from kullback.runtime._computing import computing

__all__ = ["computing"]
