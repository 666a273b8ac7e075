"""jit for tests: the arrays are small and each function runs once or twice, so compiling is what takes the time."""

import functools

import jax

quick = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
