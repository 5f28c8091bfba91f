"""Checks of a solver's settings."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np

from .. import stepsizes
from .._core.jit import is_registered

__all__ = ["check_batch_size", "check_beta", "check_choice", "check_eta", "check_positive", "check_relax", "is_number"]


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def check_positive(name: str, value: object) -> None:
    if not is_number(value) or not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be a number > 0, got {value!r}")


def check_beta(beta: float | str) -> None:
    if beta != "auto":
        check_positive("beta", beta)


def check_relax(relax: float) -> None:
    if not (is_number(relax) and 0.0 < relax < 2.0):
        raise ValueError(f"relax must lie between 0 and 2, got {relax!r}")


def check_eta(eta: float | str | tuple, words: tuple[str, ...]) -> None:
    """A step size is one of some words, a number, or a record for which `stepsizes.size` is registered."""
    if isinstance(eta, str):
        check_choice("eta", eta, words)
    elif is_registered(stepsizes.size, eta):
        record: Any = eta
        for name, value in record._asdict().items():
            if is_number(value):
                check_positive(f"{name} of {type(eta).__name__}", value)
    else:
        check_positive("eta", eta)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices)) or 'numbers > 0'}, got {value!r}")


def check_batch_size(batch_size: int | str) -> None:
    if isinstance(batch_size, str) and batch_size == "auto":
        return
    if not isinstance(batch_size, (int, np.integer)) or isinstance(batch_size, bool) or batch_size < 1:
        raise ValueError(f'batch_size must be "auto" or a whole number >= 1, got {batch_size!r}')
