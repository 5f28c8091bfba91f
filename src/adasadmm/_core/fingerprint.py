"""A digest of all source code that ends up in the machine code of a compiled kernel.

The machine code contains every function that the kernel calls, directly or not, wherever it is defined; numba's own
cache notices edits only in the file of the kernel itself (numba#1833). `fingerprint` starts at the kernel and follows
every name in its code: to functions, other kernels, modules, constants, and to the implementations of generic
functions. It depends on nothing else, so the same kernel has the same digest whatever else was imported.

Which implementation of a generic function is called depends on a class that only type inference knows. It is one of
the classes within the argument types, one that the reached code names (and constructs), or ``object``: all of them
are followed. A few too many cost a recompilation after an edit, one too few would run outdated machine code.
"""

from __future__ import annotations

import abc
import dis
import enum
import functools
import hashlib
import inspect
import linecache
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType

import numpy as np

__all__ = ["file_digest", "fingerprint", "implementation_of", "plug_in_classes"]

# numba has its own implementations of NumPy's functions: the version of numba stands for them.
_NOT_FOLLOWED = {"numba", "numpy"}


def fingerprint(kernel: Callable, classes: Iterable[type]) -> str:
    """The digest for one kernel, called with plug-ins of these classes."""
    walk = _Walk()
    for cls in (object, *classes):
        walk.describe(cls)
    walk.describe(kernel)
    for function in walk.functions:  # describing a function may append further ones
        references = [f"{name}: {walk.describe(value)}" for name, value in _references(function)]
        code = function.__code__
        walk.lines.append("\n".join([file_digest(code.co_filename), _code_digest(code), *references]))
    return hashlib.sha256("\n\n".join(walk.lines).encode()).hexdigest()


def implementation_of(generic: Callable, cls: type) -> Callable:
    """The implementation of a generic function for a class, as its `dispatch` finds it, at a hundredth of the cost.

    Only implementations for abstract classes are not found for classes that do not inherit from them.
    """
    registry: Mapping[type, Callable] = generic.registry  # type: ignore[attr-defined]
    return next(registry[base] for base in cls.__mro__ if base in registry)


def plug_in_classes(numba_type: object) -> Iterator[type]:
    """The classes of all NamedTuples within a type of numba, at any depth."""
    if hasattr(numba_type, "instance_class"):
        yield numba_type.instance_class
    if isinstance(numba_type, Iterable):  # a tuple
        for member in numba_type:
            yield from plug_in_classes(member)
    else:
        for name in ("type", "dtype"):  # an optional value, a list
            if hasattr(numba_type, name):
                yield from plug_in_classes(getattr(numba_type, name))


class _Walk:
    """All functions, generic functions and classes that were reached, in the order in which they were found.

    Lines refer to them by their position in that order. The lines thus say which code calls which, and do not change
    between processes.
    """

    def __init__(self) -> None:
        self.functions: list[FunctionType] = []
        self.generics: list[FunctionType] = []
        self.classes: list[type] = []
        self.lines: list[str] = []
        self._positions: dict[object, int] = {}

    def describe(self, value: object) -> str:
        """A text for a value: its content where numba freezes it, the position of a function or a class."""
        value = getattr(value, "py_func", value)  # the function of a kernel, compiled by us or by somebody else
        if isinstance(value, FunctionType):
            return self._generic(value) if hasattr(value, "declaration") else self._function(value)
        if isinstance(value, type) and (value is object or issubclass(value, tuple)):
            return self._class(value)
        if isinstance(value, enum.EnumType):
            return repr(list(value))
        if isinstance(value, tuple):
            return f"{self.describe(type(value))} ({', '.join(self.describe(item) for item in value)})"
        if isinstance(value, np.ndarray):
            return f"{value.dtype!r} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, (bool, int, float, complex, str, bytes, range, slice, np.generic, enum.Enum)):
            return repr(value)
        if type(value).__module__.startswith("numba.core.types") or hasattr(value, "_numba_type_"):
            return str(value)  # a routine of LAPACK, for example
        kind = value if isinstance(value, type) else type(value)  # the text of the object may contain its address
        return f"{kind.__module__}.{kind.__qualname__}"

    def _function(self, function: FunctionType) -> str:
        if _is_foreign(function.__module__):
            return f"{function.__module__}.{function.__qualname__}"
        self._is_new(function, self.functions)  # `fingerprint` describes it when its turn comes
        return f"function {self._positions[function]}"

    def _generic(self, function: FunctionType) -> str:
        if self._is_new(function, self.generics):
            for cls in self.classes:
                self._add_implementation(function, cls)
            for cls in function.registry:  # type: ignore[attr-defined]
                if isinstance(cls, abc.ABCMeta):  # may serve classes that do not inherit from it
                    self._class(cls)
        return f"generic function {self._positions[function]}"

    def _class(self, cls: type) -> str:
        if self._is_new(cls, self.classes):
            defaults = getattr(cls, "_field_defaults", {})
            fields = [f"{name}={self.describe(defaults.get(name))}" for name in getattr(cls, "_fields", ())]
            self.lines.append(f"class {cls.__module__}.{cls.__qualname__} {' '.join(fields)}")
            for function in self.generics:
                self._add_implementation(function, cls)
        return f"class {self._positions[cls]}"

    def _add_implementation(self, generic: FunctionType, cls: type) -> None:
        name = f"generic {self._positions[generic]} of class {self._positions[cls]}"
        self.lines.append(f"{name}: {self.describe(implementation_of(generic, cls))}")

    def _is_new(self, found: object, kind: list) -> bool:
        """Give a position to what was not found before."""
        if found in self._positions:
            return False
        self._positions[found] = len(self._positions)
        kind.append(found)
        return True


def _references(function: FunctionType) -> list[tuple[str, object]]:
    """Return the values that a function can refer to: defaults, closure, globals, and attributes of modules.

    Every name in the code is looked up in every module, because bytecode does not say whose attribute it is. Globals
    are exact: in a notebook, an attribute ``weights`` must not refer to somebody's variable of that name.
    """
    code = function.__code__
    global_names, names = _names(code)
    found: list[tuple[str, object]] = [("default", value) for value in function.__defaults__ or ()]
    found += sorted((function.__kwdefaults__ or {}).items())
    found += [(name, _content(cell)) for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)]
    found += [(name, function.__globals__[name]) for name in global_names if name in function.__globals__]
    modules = set()
    for path, value in found:  # grows: a module may be an attribute of another one
        if inspect.ismodule(value) and value not in modules and not _is_foreign(value.__name__):
            modules.add(value)
            found += [(f"{path}.{name}", vars(value)[name]) for name in names if name in vars(value)]
    return found


def _content(cell: object) -> object:
    """Return the value of a closure cell; None before it is assigned."""
    try:
        return cell.cell_contents  # type: ignore[attr-defined]
    except ValueError:
        return None


def _is_foreign(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _NOT_FOLLOWED


@functools.cache
def file_digest(filename: str) -> str:
    """The digest of a whole file: it covers what the walk cannot follow, such as a user's own ``numba.overload``."""
    try:
        source = pathlib.Path(filename).read_bytes()
    except OSError:  # typed in a notebook or at a prompt
        source = "".join(linecache.getlines(filename)).encode()
    return hashlib.sha256(source).hexdigest()


@functools.cache
def _code_digest(code: CodeType) -> str:
    """The digest of bytecode: a file may have been edited since it was imported."""
    return hashlib.sha256(repr([_code_key(part) for part in _nested(code)]).encode()).hexdigest()


def _code_key(code: CodeType) -> tuple:
    constants = [_constant_key(constant) for constant in code.co_consts]
    variables = code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_exceptiontable, code.co_flags, code.co_argcount, code.co_names, variables, constants


def _constant_key(constant: object) -> str:
    """The text of a constant, the same in every process."""
    if isinstance(constant, CodeType):  # has a key of its own
        return "code"
    return repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)


@functools.cache
def _names(code: CodeType) -> tuple[list[str], list[str]]:
    """The global names in some code, and all its names with those of attributes, sorted."""
    parts = [*_nested(code)]
    instructions = (instruction for part in parts for instruction in dis.get_instructions(part))
    global_names = {instruction.argval for instruction in instructions if instruction.opname == "LOAD_GLOBAL"}
    return sorted(global_names), sorted({name for part in parts for name in part.co_names})


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Some code and that of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
