"""The settings under which kullback computes: its own, not those that the user's program has for its other parts."""

import contextlib
import functools
import inspect
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

import jax
import numpy as np

from kullback.runtime._compiled import compiled_functions
from kullback.runtime._fork import check_not_forked

#: Settings of JAX that change what our own functions may do, the value they are written for, and how to get it. NaN
#: stands for missing entries, and −inf for what has probability zero.
_OURS: dict[str, tuple[Any, Any]] = {
    "jax_numpy_rank_promotion": ("allow", jax.numpy_rank_promotion),
    "jax_numpy_dtype_promotion": ("standard", jax.numpy_dtype_promotion),
    "jax_default_matmul_precision": (None, jax.default_matmul_precision),
    "jax_debug_nans": (False, jax.debug_nans),
    "jax_debug_infs": (False, jax.debug_infs),
    "jax_transfer_guard_host_to_device": (None, lambda how: jax.transfer_guard_host_to_device(how or "allow")),
    "jax_transfer_guard_device_to_host": (None, lambda how: jax.transfer_guard_device_to_host(how or "allow")),
}
_settings = operator.attrgetter(*_OURS)
_good = tuple(value for value, _ in _OURS.values())
_thread = threading.local()

Function = TypeVar("Function", bound=Callable[..., Any])


@contextlib.contextmanager
def computing(bits: int = 64) -> Iterator[None]:
    """Compute under the settings of JAX and NumPy that kullback is written for; then give back the user's.

    Numbers have 64 bits, or 32 where a model says so: a deep model does.

    What changes results or raises where nothing is wrong is set: rank and type promotion, guards against transfers,
    the search for NaN, floating-point errors that warn or raise (what is not finite is found by our own checks). Where
    to compute (`jax.default_device`) and whether to compile (`jax.disable_jit`) stay with the user. Inside a
    function that the user is tracing, numbers are computed at once.

    >>> import jax.numpy as jnp
    >>> with computing():
    ...     print(jnp.zeros(()).dtype)
    float64
    """
    check_not_forked()
    compiled_functions.bound()
    outermost = getattr(_thread, "users", None) is None
    if outermost:
        _thread.users = _Settings(bool(jax.config.read("jax_enable_x64")), _settings(jax.config), np.geterr())
    try:
        with jax.enable_x64(bits == 64), np.errstate(all="ignore"):
            if _nothing_else():
                yield
            else:
                with contextlib.ExitStack() as settings:
                    _enter(settings)
                    yield
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "An argument is being traced by JAX, and this computes with numbers: call it outside of jit, vmap and grad."
        ) from None
    finally:
        if outermost:
            _thread.users = None


def in_precision(bits: int | Callable[[Any], int]) -> Callable[[Function], Function]:
    """Make each call of a function or method compute under `computing(bits)`, in the thread that calls it.

    `bits` may be a function of the object whose method it is. It is not for generators, whose body runs later.

    >>> import jax.numpy as jnp
    >>> in_precision(64)(jnp.zeros)(3).dtype
    dtype('float64')
    """

    def decorate(function: Function) -> Function:
        if inspect.isgeneratorfunction(function):
            raise TypeError(f"{function.__name__} is a generator: enter `computing` between its yields.")

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with computing(bits if isinstance(bits, int) else bits(args[0])):
                return function(*args, **kwargs)

        return cast(Function, call)

    return decorate


#: Make each call of a function or method compute under `computing()`.
in_float64 = in_precision(64)


@contextlib.contextmanager
def users_settings() -> Iterator[None]:
    """Run a function of the user's, such as a schedule of rates, under the settings that the user's program has."""
    users: _Settings | None = getattr(_thread, "users", None)
    if users is None:
        yield
        return
    _thread.users = None  # it may call kullback itself
    try:
        with contextlib.ExitStack() as settings:
            settings.enter_context(jax.enable_x64(users.x64))
            for value, ours, (_, setting) in zip(users.jax, _good, _OURS.values(), strict=True):
                if value != ours:
                    settings.enter_context(setting(value))
            settings.enter_context(np.errstate(**users.floating))
            yield
    finally:
        _thread.users = users


def is_computing() -> bool:
    """Whether this thread is inside of `computing`."""
    return getattr(_thread, "users", None) is not None


class _Settings(NamedTuple):
    """The user's settings, as they were when kullback began to compute."""

    x64: bool
    jax: tuple[Any, ...]
    floating: Any


def _nothing_else() -> bool:
    """Whether 64 bits are all that is needed. It is asked at every step of a stream, so it is quick."""
    return _settings(jax.config) == _good and jax.core.trace_ctx.is_top_level()


def _enter(settings: contextlib.ExitStack) -> None:
    for found, (value, setting) in zip(_settings(jax.config), _OURS.values(), strict=True):
        if found != value:
            settings.enter_context(setting(value))
    if not jax.core.trace_ctx.is_top_level():
        settings.enter_context(jax.core.eval_context())
