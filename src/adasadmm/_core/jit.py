"""Compilation: the package's decorators on top of numba.

A plug-in (a loss, a penalty, a metric, ...) is a ``NamedTuple``. Its behaviour is a handful of *generic functions*,
which choose their implementation by the class of their first argument: ``functools.singledispatch`` when Python calls
them, ``numba.extending.overload`` when compiled code does. One registration serves both.

numba is imported when the first kernel is called: what is declared before is told to it then. With
``NUMBA_DISABLE_JIT=1`` the same source runs interpreted. Only `_core` imports numba. Its private parts are used inside
``try``: a version of numba that lacks one of them costs a feature and a warning, never an exception.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from .fingerprint import implementation_of, plug_in_classes

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

__all__ = [
    "IS_COMPILED",
    "GenericFunction",
    "by_class",
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

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() in ("", "0")
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


# Nothing calls a kernel as a C function, and the wrapper for that takes a seventh of the time of a compilation. The
# type of the options is private to numba.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_kernels: list[Kernel] = []
_called_by_kernels: list[Callable] = []  # generic and inlined functions
_wrappers: set[type] = set()
_lock = threading.RLock()
_untold: list[Callable[[], object]] | None = []  # what numba has to be told; None once it has been imported


def _tell_numba(declare: Callable[[], object]) -> None:
    """Declare something to numba, which is imported later if nobody has imported it before."""
    if not IS_COMPILED:
        return
    with _lock:
        if _untold is None:
            declare()
            return
        _untold.append(declare)
        if "numba" in sys.modules:  # a user's own kernels may call generic functions before any of ours does
            _import_numba()


def _import_numba() -> None:
    global _untold
    with _lock:
        if _untold is None:
            return
        import numba  # noqa: F401

        _compile_without_collections()
        declarations, _untold = _untold, None
        for declare in declarations:
            declare()


def _compile_without_collections() -> None:
    """Pause the search for cyclic garbage while numba compiles: of millions of small objects, it takes a tenth."""
    from numba.core import event

    class Pause(event.Listener):
        depth, resumes = 0, False

        def on_start(self, event):
            if self.depth == 0:
                self.resumes = gc.isenabled()
                gc.disable()
            self.depth += 1

        def on_end(self, event):
            self.depth -= 1
            if self.depth == 0 and self.resumes:
                gc.enable()

    event.register("numba:compile", Pause())


# --- decorators ------------------------------------------------------------------------------------------------------


def inlined(fn: Function) -> Function:
    """Let compiled code call a function; Python calls it interpreted."""
    return _callable_by_kernels(fn, _OPTIONS)


def inlined_sum(fn: Function) -> Function:
    """`inlined` for a loop that sums: the compiler may add the terms in any order, so that it adds several at a time.

    The order depends on the processor, but neither on where the terms lie in memory nor on the number of cores. Loops
    over the entries of sparse rows lose by it: gathering several entries of a vector is slower than loading each.
    """
    return _callable_by_kernels(fn, {**_OPTIONS, "fastmath": {"reassoc"}})


def _callable_by_kernels(fn: Function, options: Any) -> Function:
    def declare() -> None:
        from numba.extending import register_jitable

        register_jitable(**options)(fn)

    _called_by_kernels.append(fn)
    _tell_numba(declare)
    return fn


class Kernel:
    """A function that is compiled at its first call; numba sees the dispatcher that it makes of it.

    Parameters
    ----------
    function : function
        The function before compilation.
    """

    def __init__(self, function: Callable) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._made: Any = None

    @property
    def dispatcher(self) -> Any:
        """numba's own object for this kernel."""
        if self._made is None:
            with _lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def _make(self) -> Dispatcher:
        _import_numba()
        from numba import njit

        dispatcher = njit(**_OPTIONS)(self.py_func)
        _keep_on_disk(dispatcher)
        return dispatcher

    @property
    def is_used(self) -> bool:
        """Whether the dispatcher has been made, so that there may be machine code."""
        return self._made is not None

    def __call__(self, *arguments: Any) -> Any:
        return (self._made or self.dispatcher)(*arguments)

    @property
    def _numba_type_(self) -> Any:  # what numba takes a global variable for
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_made":
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled by its name, as functions are


def compiled(fn: Callable) -> Any:
    """Compile a function at its first call, and keep the machine code on disk if a folder is writable."""
    if not IS_COMPILED:
        return fn
    kernel = Kernel(fn)
    _kernels.append(kernel)
    return kernel


def by_class(fn: Callable) -> GenericFunction:
    """Declare a function whose implementations are registered for the class of the first argument.

    An implementation for ``object`` serves all classes that have none of their own. Compiled code cannot call it.
    """
    dispatch: Any = functools.singledispatch(fn)
    dispatch.declaration = fn
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
    return dispatch


def generic(fn: Callable) -> GenericFunction:
    """`by_class` for a function that compiled code calls as well."""
    dispatch: Any = by_class(fn)

    def resolve(first, *rest):
        implementation = dispatch.dispatch(getattr(first, "instance_class", object))
        return None if implementation is fn else implementation

    def declare() -> None:
        from numba.extending import overload

        # `strict=False`: a user's implementation may name its arguments freely.
        overload(dispatch, jit_options=_OPTIONS, strict=False)(resolve)

    _tell_numba(declare)
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


class Routine:
    """A routine of the ``blas`` or ``lapack`` that SciPy includes. Its arguments are addresses, ``array.ctypes.data``.

    Calling numba's own linear algebra adds seconds to the compilation of each caller, a call by address next to
    nothing. The address changes from process to process, so machine code on disk refers to the routine by a symbol.
    """

    def __init__(self, library: str, name: str, arguments: int) -> None:
        self.library, self.name, self.arguments = library, name, arguments

    def __str__(self) -> str:
        return f"{self.library} {self.name} {self.arguments}"

    @functools.cached_property
    def address(self) -> int:
        capsule = importlib.import_module(f"scipy.linalg.cython_{self.library}").__pyx_capi__[self.name]
        signature, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
        signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return pointer(capsule, signature(capsule))

    @functools.cached_property
    def by_address(self) -> Callable[..., None]:
        return ctypes.CFUNCTYPE(None, *[ctypes.c_size_t] * self.arguments)(self.address)

    def __call__(self, *arguments: int) -> None:
        self.by_address(*arguments)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:  # what ctypes, and compiled code without a symbol, take it for
        return ctypes.c_void_p(self.address)

    @functools.cached_property
    def _numba_type_(self) -> Any:  # what numba takes a global variable for
        import llvmlite.binding
        from numba import typeof, types

        try:
            routine = types.ExternalFunction(
                f"adasadmm_{self.name}",
                types.void(*[types.uintp] * self.arguments),  # type: ignore[attr-defined]
            )
        except Exception as error:  # compiled code can call the address, but numba does not keep such code on disk
            _report_uncached(error)
            return typeof(self.by_address)
        llvmlite.binding.add_symbol(f"adasadmm_{self.name}", self.address)
        return routine


def fortran(library: str, name: str, arguments: int) -> Routine:
    """A `Routine` that compiled code can call."""
    return Routine(library, name, arguments)


def entry_or(values, k, default):
    """Entry k of an array, a number that stands for all entries, or the default for None.

    Compiled code chooses by the type of ``values``.
    """
    if values is None:
        return default
    return values[k] if np.ndim(values) else values


def _declare_entry_or() -> None:
    from numba import types
    from numba.extending import overload

    @overload(entry_or, jit_options=_OPTIONS)
    def compiled_entry_or(values, k, default):
        if isinstance(values, (types.NoneType, types.Omitted)):
            return lambda values, k, default: default
        if isinstance(values, types.Number):
            return lambda values, k, default: values
        return lambda values, k, default: values[k]


_tell_numba(_declare_entry_or)


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
    used = (kernel for kernel in _kernels if kernel.is_used)
    arguments = (argument for kernel in used for signature in kernel.signatures for argument in signature)
    return any(cls in plug_in_classes(argument) for argument in arguments)


def _forget_compiled() -> None:
    """Discard code compiled with an implementation that has just been replaced (a notebook cell run again)."""
    if not IS_COMPILED or _untold is not None:
        return
    import numba

    try:
        from numba.core.registry import cpu_target  # private, like four names below

        cpu_target.typing_context.refresh()
        for function in _called_by_kernels:
            for template in cpu_target.typing_context.resolve_value_type(function).templates:
                template._impl_cache.clear()
                template._compiled_overloads.clear()
        for kernel in _kernels:
            if kernel.is_used:
                kernel._reset_overloads()
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
    import numba

    reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)  # without a file's name
    _warn(
        f"compiled code is not kept on disk, so that every process compiles it again: {reason} "
        f"(numba {numba.__version__})"
    )
