"""Forms of plug-ins for whole arrays: what NumPy does for all rows at once needs no compiled loop.

An implementation of a generic function serves one row, one coordinate or one vector, in compiled code. `on_arrays`
gives it a second form with the same arguments as arrays. The form belongs to the implementation: whoever registers
another implementation, or overrides it in a subclass, does not get the form of the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["array_form", "on_arrays", "serves_arrays"]

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
