"""Forms of plug-ins for whole arrays: what NumPy does for all rows at once needs no compiled loop.

An implementation of a generic function serves one row, one coordinate or one vector, in compiled code. `on_arrays`
gives it a second form with the same arguments as arrays, `serves_arrays` says that it is that form itself: plain
arithmetic, with the functions of this module. The form belongs to the implementation: whoever registers another
implementation, or overrides it in a subclass, does not get the form of the old one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable)


def on_arrays(implementation: Any) -> Callable[[Function], Function]:
    """Declare the form of an implementation for whole arrays; it may return a number that stands for equal entries."""

    def declare(form: Function) -> Function:
        implementation.on_arrays = form
        return form

    return declare


def serves_arrays(implementation: Function) -> Function:
    """Declare that an implementation, which is plain arithmetic, is also its form for whole arrays."""
    return on_arrays(implementation)(implementation)


def array_form(function: Any, part: object) -> Callable | None:
    """The form of a generic function for whole arrays that serves this part; None if it has none."""
    return getattr(function.dispatch(type(part)), "on_arrays", None)


# --- functions of numbers and arrays ---------------------------------------------------------------------------------


class Elementwise:
    """A function of numbers or arrays. Compiled code calls that of numbers.

    Parameters
    ----------
    of_numbers : callable
        A function that numba knows.
    of_arrays : callable
        The function of NumPy that does the same.
    """

    def __init__(self, of_numbers: Callable, of_arrays: Callable) -> None:
        self.of_numbers, self.of_arrays = of_numbers, of_arrays
        if isinstance(of_numbers, FunctionType):
            self.py_func = of_numbers  # a part of what a kernel is compiled from (`fingerprint`)

    def __str__(self) -> str:
        return f"elementwise {self.of_numbers.__module__}.{self.of_numbers.__qualname__}"

    def __call__(self, *arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                return self.of_arrays(*arguments)
        try:
            return self.of_numbers(*arguments)
        except (OverflowError, ValueError):  # Python raises where compiled code returns infinity or NaN
            with np.errstate(all="ignore"):
                return float(self.of_arrays(*arguments))

    @functools.cached_property
    def _numba_type_(self) -> Any:  # what numba takes a global variable for
        from numba.core.registry import cpu_target

        known = self._known_to_numba
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(known)

    @property
    def _known_to_numba(self) -> Callable:
        return self.of_numbers


class Where(Elementwise):
    """``numpy.where`` for numbers, too. Both values are computed in any case."""

    @property
    def _known_to_numba(self) -> Callable:
        from numba import types
        from numba.extending import intrinsic

        @intrinsic
        def select(typing_context: Any, condition: Any, x: Any, y: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return builder.select(*arguments)

            return types.float64(types.boolean, types.float64, types.float64), generate

        return select


def _choose(condition: Any, x: Any, y: Any) -> Any:
    return x if condition else y


exp = Elementwise(math.exp, np.exp)
log = Elementwise(math.log, np.log)
log1p = Elementwise(math.log1p, np.log1p)
maximum = Elementwise(max, np.maximum)
minimum = Elementwise(min, np.minimum)
where = Where(_choose, np.where)
