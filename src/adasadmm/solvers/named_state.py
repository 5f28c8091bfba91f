"""The state of a run by name: attributes that are arrays, attributes that are numbers, and the best dual value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import NamedState

__all__ = ["restore_attributes", "saved_attributes"]


def saved_attributes(run: Any, arrays: Sequence[str], numbers: Sequence[str]) -> dict[str, Any]:
    """Copies of the named arrays of a run that has a `BestDual`, its named numbers, and its best dual value."""
    saved = {name: getattr(run, name).copy() for name in arrays}
    return saved | {name: getattr(run, name) for name in numbers} | {"best_dual": run.best_dual.best}


def restore_attributes(run: Any, state: NamedState, arrays: Sequence[str], numbers: Sequence[str]) -> None:
    """Write a state of `saved_attributes` back into the arrays and numbers of a run."""
    for name in arrays:
        getattr(run, name)[...] = state[name]
    for name in numbers:
        setattr(run, name, state[name])
    run.best_dual.best = float(state["best_dual"])
    run.best_dual.forget()
