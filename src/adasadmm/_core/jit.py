"""The only file that knows numba.

A plug-in (a loss, a penalty, a metric, ...) is a ``NamedTuple``. What it does is a handful of *generic functions*
that choose their implementation by the class of their first argument: ``functools.singledispatch`` when Python
calls, ``numba.extending.overload`` when compiled code calls, both fed by one registration.

With ``NUMBA_DISABLE_JIT=1`` the same source runs interpreted.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
import linecache
import pathlib
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from numba import config, njit, types
from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target
from numba.extending import get_cython_function_address, overload, register_jitable

__all__ = ["at", "compiled", "fortran", "generic", "inlined", "is_registered"]

_OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
_generics: list[Any] = []
_inlined: list[Any] = []
_kernels: list[Any] = []


def inlined(fn: Callable) -> Callable:
    """A function that compiled code may call; interpreted when Python calls it."""
    _inlined.append(fn)
    return register_jitable(**_OPTIONS)(fn)


def compiled(fn: Callable) -> Callable:
    """Compile at the first call, and keep the machine code on disk where a folder is writable."""
    kernel = njit(**_OPTIONS)(fn)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return kernel
    try:
        kernel._cache = _SourceAwareCache(fn)
    except RuntimeError:  # numba found no folder to write to: compile in each process, but work
        pass
    _kernels.append(kernel)
    return kernel


def fortran(library: str, name: str, arguments: int) -> Any:
    """A routine of the ``blas`` or ``lapack`` that scipy brings. Its arguments are addresses, ``array.ctypes.data``.

    numba's own linear algebra takes seconds to compile wherever it is called, a call by address next to nothing.
    Machine code on disk knows the routine by a symbol, since the address is another one in each process.
    """
    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
    llvmlite.binding.add_symbol(f"adasadmm_{name}", address)
    return types.ExternalFunction(f"adasadmm_{name}", types.void(*[types.uintp] * arguments))


def generic(fn: Callable) -> Any:
    """A function whose implementations are registered for the class of the first argument (``object``: for all)."""
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
        known = dispatch.registry.get(cls, fn) is not fn
        plain_register(cls, func)
        if known:
            _forget_compiled()
        return func

    dispatch.register = register
    _generics.append(dispatch)
    return dispatch


def is_registered(function: Any, part: Any) -> bool:
    """Whether a generic function has an implementation for this part."""
    return function.dispatch(type(part)) is not function.declaration


def at(values, k, otherwise=1.0):
    """The k-th of some values, a number that stands for all of them, or 1 for None: compiled code decides by type."""
    if values is None:
        return otherwise
    return values[k] if np.ndim(values) else values


@overload(at, jit_options=_OPTIONS)
def _at(values, k, otherwise=1.0):
    if isinstance(values, (types.NoneType, types.Omitted)):
        return lambda values, k, otherwise=1.0: otherwise
    if isinstance(values, types.Number):
        return lambda values, k, otherwise=1.0: values
    return lambda values, k, otherwise=1.0: values[k]


def _class_of_first_argument(function: Callable) -> type:
    """The class named by the annotation of the first argument, also for local classes and postponed annotations."""
    first = next(iter(inspect.signature(function).parameters.values()))
    annotation = first.annotation
    if isinstance(annotation, str):
        frame = inspect.currentframe()
        namespace: dict[str, Any] = {}
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


def _forget_compiled() -> None:
    """Drop what was compiled with an implementation that has just been replaced (a notebook cell run again)."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    cpu_target.typing_context.refresh()
    for function in (*_generics, *_inlined):
        for template in cpu_target.typing_context.resolve_value_type(function).templates:
            template._impl_cache.clear()
            template._compiled_overloads.clear()
    for kernel in _kernels:
        kernel._reset_overloads()


class _SourceAwareCache(FunctionCache):
    """numba's disk cache, whose key also holds the source of all that gets inlined.

    numba looks only at the file of the outer function (numba#1833): without this, an edit of a loss in another file
    would silently go on using the old machine code.
    """

    def _index_key(self, sig, codegen):
        classes = {cls for argument in sig for cls in _plug_in_classes(argument)}
        names = {f"{cls.__module__}.{cls.__qualname__}" for cls in classes}
        plug_ins = {_digest(g.dispatch(cls)) for g in _generics for cls in classes}
        inside = (*_inlined, *(g.declaration for g in _generics), *(kernel.py_func for kernel in _kernels))
        files = {_file_digest(function.__code__.co_filename) for function in inside}
        # Text only: the index is one file for all processes, and one that kept classes could not be read where the
        # module of somebody's plug-in cannot be imported.
        own = repr(super()._index_key(sig, codegen)[1:])
        return "|".join([str(sig), own, *sorted(names), *sorted(files), *sorted(plug_ins)])


def _plug_in_classes(numba_type: Any) -> set[type]:
    """The classes of all NamedTuples inside a type, at any depth."""
    if not isinstance(numba_type, types.BaseTuple):
        return set()
    members: Any = numba_type
    inner = {cls for member in members for cls in _plug_in_classes(member)}
    own = {numba_type.instance_class} if hasattr(numba_type, "instance_class") else set()
    return inner | own


@functools.cache
def _file_digest(filename: str) -> str:
    try:
        source = pathlib.Path(filename).read_bytes()
    except OSError:  # typed in a notebook or at a prompt
        source = "".join(linecache.getlines(filename)).encode()
    return hashlib.sha256(source).hexdigest()


def _digest(implementation: Callable, above: frozenset = frozenset()) -> str:
    """A digest of an implementation, the file that holds it, and what machine code keeps of its closure and globals."""
    code, known = implementation.__code__, implementation.__globals__
    names = sorted(_names(code))
    values = [cell.cell_contents for cell in implementation.__closure__ or ()]
    values += [known[name] for name in names if name in known]
    values += [vars(m)[name] for m in values if inspect.ismodule(m) for name in names if name in vars(m)]
    own = repr((_code_key(code), [_kept(value, above | {code}) for value in values]))
    return hashlib.sha256((_file_digest(code.co_filename) + own).encode()).hexdigest()


def _kept(value: Any, above: frozenset) -> str:
    """What numba freezes of a value: numbers and arrays themselves, the source of functions."""
    if any(value is function for function in _generics):  # the classes of the arguments say which implementation
        return ""
    value = getattr(value, "py_func", value)
    if inspect.isfunction(value):
        return "" if value.__code__ in above else _digest(value, above)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    return repr(value) if isinstance(value, (bool, int, float, complex, str, tuple, np.generic)) else ""


def _names(code: Any) -> set[str]:
    return {*code.co_names}.union(*(_names(c) for c in code.co_consts if inspect.iscode(c)))


def _code_key(code: Any) -> tuple:
    constants = tuple(_code_key(c) if inspect.iscode(c) else repr(c) for c in code.co_consts)
    return code.co_code, code.co_names, constants
