"""Compilation: the package's decorators on top of numba.

A plug-in (a loss, a penalty, a metric, ...) is a ``NamedTuple``. Its behaviour is a handful of *generic functions*,
which choose their implementation by the class of their first argument: ``functools.singledispatch`` when Python calls
them, ``numba.extending.overload`` when compiled code does. One registration serves both.

With ``NUMBA_DISABLE_JIT=1`` the same source runs interpreted. Only `_core` imports numba. Its private parts are used
inside ``try``: a version of numba that lacks one of them costs a feature and a warning, never an exception.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import llvmlite.binding
import numba
import numpy as np
from numba import config, njit, types
from numba.extending import get_cython_function_address, overload, register_jitable

from .fingerprint import implementation_of, plug_in_classes

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

__all__ = [
    "IS_COMPILED",
    "GenericFunction",
    "compiled",
    "entry_or",
    "fortran",
    "generic",
    "implementations",
    "inlined",
    "inlined_sum",
    "is_registered",
    "unwrapped",
    "wrapper",
]

IS_COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]
Function = TypeVar("Function", bound=Callable)


class GenericFunction(Protocol):
    """A function with one implementation for each class of its first argument."""

    __name__: str
    declaration: Callable

    def __call__(self, *arguments: Any) -> Any: ...

    def dispatch(self, cls: type) -> Callable:
        """The implementation for a class, `declaration` if there is none."""

    def register(self, cls: type | Callable, func: Callable | None = None) -> Any:
        """Register an implementation: ``@f.register(Class)``, ``f.register(Class, func)``, or by annotation."""


_OPTIONS: Any = {"nogil": True, "error_model": "numpy"}  # their type is private to numba
_kernels: list[Dispatcher] = []
_called_by_kernels: list[Callable] = []  # generic and inlined functions
_wrappers: set[type] = set()


# --- decorators ------------------------------------------------------------------------------------------------------


def inlined(fn: Function) -> Function:
    """Let compiled code call a function; Python calls it interpreted."""
    _called_by_kernels.append(fn)
    return register_jitable(**_OPTIONS)(fn)


def inlined_sum(fn: Function) -> Function:
    """`inlined` for a loop that sums: the compiler may add the terms in any order, so that it adds several at a time.

    The order depends on the processor, but neither on where the terms lie in memory nor on the number of cores. Loops
    over the entries of sparse rows lose by it: gathering several entries of a vector is slower than loading each.
    """
    _called_by_kernels.append(fn)
    return register_jitable(**_OPTIONS, fastmath={"reassoc"})(fn)


def compiled(fn: Callable) -> Callable:
    """Compile a function at its first call, and keep the machine code on disk if a folder is writable."""
    kernel = njit(**_OPTIONS)(fn)
    if IS_COMPILED:
        _keep_on_disk(kernel)
        _kernels.append(kernel)
    return kernel


def generic(fn: Callable) -> GenericFunction:
    """Declare a function whose implementations are registered for the class of the first argument.

    An implementation for ``object`` serves all classes that have none of their own.
    """
    dispatch: Any = functools.singledispatch(fn)
    dispatch.declaration = fn

    def resolve(first, *rest):
        implementation = dispatch.dispatch(getattr(first, "instance_class", object))
        return None if implementation is fn else implementation

    # `strict=False`: a user's implementation may name its arguments freely.
    overload(dispatch, jit_options=_OPTIONS, strict=False)(resolve)
    plain_register = dispatch.register

    def register(cls, func=None):
        if func is None and isinstance(cls, type):
            return lambda function: register(cls, function)
        if func is None:
            cls, func = _class_of_first_argument(cls), cls
        replaces = implementation_of(dispatch, cls) is not fn and (cls in dispatch.registry or _is_compiled_for(cls))
        plain_register(cls, func)
        if replaces:
            _forget_compiled()
        return func

    dispatch.register = register
    _called_by_kernels.append(dispatch)
    return dispatch


def wrapper(cls: type) -> type:
    """Declare a class of plug-ins that do what their field ``wrapped`` does, in another form."""
    _wrappers.add(cls)
    return cls


def unwrapped(part: Any) -> Any:
    """The field ``wrapped`` of a `wrapper`; any other part itself."""
    return part.wrapped if type(part) in _wrappers else part


def is_registered(function: GenericFunction, part: object) -> bool:
    """Whether a generic function has an implementation for this part; a wrapper has those of what it wraps."""
    return function.dispatch(type(unwrapped(part))) is not function.declaration


def implementations(part: object, *functions: GenericFunction) -> tuple:
    """The class of a part with its implementations of some functions: a new one means that the part has changed."""
    return type(part), *(function.dispatch(type(part)) for function in functions)


# --- what compiled code calls ----------------------------------------------------------------------------------------


def fortran(library: str, name: str, arguments: int) -> Callable[..., None]:
    """A routine of the ``blas`` or ``lapack`` that SciPy includes. Its arguments are addresses, ``array.ctypes.data``.

    Calling numba's own linear algebra adds seconds to the compilation of each caller, a call by address next to
    nothing. The address changes from process to process, so machine code on disk refers to the routine by a symbol.
    """
    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    by_address = ctypes.CFUNCTYPE(None, *[ctypes.c_size_t] * arguments)(address)
    if not IS_COMPILED:
        return by_address
    try:
        routine = types.ExternalFunction(f"adasadmm_{name}", types.void(*[types.uintp] * arguments))
    except Exception as error:  # compiled code can call the address, but numba does not keep such code on disk
        _report_uncached(error)
        return by_address
    llvmlite.binding.add_symbol(f"adasadmm_{name}", address)
    return routine


def entry_or(values, k, default):
    """Entry k of an array, a number that stands for all entries, or the default for None.

    Compiled code chooses by the type of ``values``.
    """
    if values is None:
        return default
    return values[k] if np.ndim(values) else values


@overload(entry_or, jit_options=_OPTIONS)
def _compiled_entry_or(values, k, default):
    if isinstance(values, (types.NoneType, types.Omitted)):
        return lambda values, k, default: default
    if isinstance(values, types.Number):
        return lambda values, k, default: values
    return lambda values, k, default: values[k]


# --- registration ----------------------------------------------------------------------------------------------------


def _class_of_first_argument(function: Callable) -> type:
    """The class named by the annotation of the first argument, also for local classes and postponed annotations."""
    first = next(iter(inspect.signature(function).parameters.values()))
    annotation = first.annotation
    if isinstance(annotation, str):
        frame = inspect.currentframe()
        namespace: dict[str, object] = {}
        while frame is not None:  # a local class is only known where it was defined
            namespace = {**frame.f_globals, **frame.f_locals, **namespace}
            if annotation in namespace:
                break
            frame = frame.f_back
        annotation = namespace.get(annotation, annotation)
    if not isinstance(annotation, type):
        raise TypeError(
            f"cannot tell which class {function!r} is for: annotate its first argument with the class, "
            f"or write .register(TheClass); got {annotation!r}"
        )
    return annotation


def _is_compiled_for(cls: type) -> bool:
    """Whether a kernel was compiled or loaded for arguments of a class."""
    arguments = (argument for kernel in _kernels for signature in kernel.signatures for argument in signature)
    return any(cls in plug_in_classes(argument) for argument in arguments)


def _forget_compiled() -> None:
    """Discard code compiled with an implementation that has just been replaced (a notebook cell run again)."""
    if not IS_COMPILED:
        return
    try:
        from numba.core.registry import cpu_target  # private, like four names below

        cpu_target.typing_context.refresh()
        for function in _called_by_kernels:
            for template in cpu_target.typing_context.resolve_value_type(function).templates:
                template._impl_cache.clear()
                template._compiled_overloads.clear()
        for kernel in _kernels:
            kernel._reset_overloads()  # type: ignore[attr-defined]
    except Exception as error:
        _stop_keeping()  # further kernels may contain the old implementation, but their names on disk the new one
        warnings.warn(
            f"restart Python to use the new implementation: numba {numba.__version__} does not let adasadmm discard "
            f"the code compiled with the old one ({error!r})",
            RuntimeWarning,
            stacklevel=4,
        )


# --- machine code on disk --------------------------------------------------------------------------------------------


def _keep_on_disk(kernel: Dispatcher) -> None:
    try:
        from .disk_cache import DiskCache

        if not hasattr(kernel, "_cache"):
            raise AttributeError("a compiled function has no attribute '_cache'")
        kernel._cache = DiskCache(kernel.py_func, _OPTIONS, _report_uncached)
    except RuntimeError:  # numba found no writable folder
        pass
    except Exception as error:
        _report_uncached(error)


def _stop_keeping() -> None:
    with contextlib.suppress(ImportError):  # then nothing was kept
        from .disk_cache import DiskCache

        DiskCache.enabled = False


@functools.cache
def _warn(message: str) -> None:
    """Warn once in a process."""
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def _report_uncached(error: Exception) -> None:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)  # without a file's name
    _warn(
        f"compiled code is not kept on disk, so that every process compiles it again: {reason} "
        f"(numba {numba.__version__})"
    )
