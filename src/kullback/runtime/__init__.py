"""How kullback uses JAX: under which settings it computes, and what it keeps compiled.

`computing` is the front door: every public method that computes enters it, whatever the user's settings are; functions
and methods decorated with `in_float64` do so at each call, those with `in_given_precision` where they are given numbers
of 64 bits outside of `jit`. Functions of modules are compiled by `jit`, `light_jit`, `quick_jit` and, where networks
are among their arguments, `filter_jit`; a bounded number of them is kept. Loops over few numbers inside them are
`one_kernel`.
"""

from kullback.runtime._compiled import jit
from kullback.runtime._computing import computing, in_float64, in_precision, users_settings
from kullback.runtime._given_precision import in_given_precision, keep_given_precision
from kullback.runtime._networks import as_numpy, filter_jit, is_array
from kullback.runtime._one_kernel import one_kernel
from kullback.runtime._quick import light_jit, quick_jit
from kullback.runtime._round_length import round_length
from kullback.runtime._sharing import compilations_are_shared, sharing_compilations
from kullback.runtime._tensor_tree import read_tree, tensor_names, tensor_shapes, tensors_of

__all__ = [
    "as_numpy",
    "compilations_are_shared",
    "computing",
    "filter_jit",
    "in_float64",
    "in_given_precision",
    "in_precision",
    "is_array",
    "jit",
    "keep_given_precision",
    "light_jit",
    "one_kernel",
    "quick_jit",
    "read_tree",
    "round_length",
    "sharing_compilations",
    "tensor_names",
    "tensor_shapes",
    "tensors_of",
    "users_settings",
]
