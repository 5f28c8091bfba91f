"""Offsets: known parts of the predictions, which are then ``<x_i, w> + o_i``.

For a loss of the residual ``z - y`` that is the same as the target ``y_i - o_i``. Any other loss is wrapped: each of
its targets becomes a record of y and o, and its functions add o to z. So nothing else has to know about offsets:
neither the products with X, nor the solvers, nor the certificates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import on_arrays
from .._core.jit import wrapper
from ._arrays import each
from ._generic import (
    balanced,
    check,
    conjugate,
    curvatures,
    domain,
    has_log_link,
    pieces,
    prox,
    second,
    sized,
    slope,
    takes_labels,
    targets,
    value,
    width,
)
from .regression import EpsilonInsensitive, Huber, Quantile, Squared

OF_RESIDUAL = (Squared, Huber, EpsilonInsensitive, Quantile)
MIN_LEVEL = 100.0  # of targets, in units of their spread: a higher level costs digits
MIN_MEAN_OFFSET = 10.0  # from which on the loss at w = 0, astronomical with a log link, costs digits
TARGET = np.dtype([("y", np.float64), ("offset", np.float64)])


class WithOffset(NamedTuple):
    """``loss(z + o, y)``, for targets that are records of y and o."""

    wrapped: Any


class VectorWithOffset(WithOffset):
    """The same for a loss of several predictions: z, and what the functions return, are arrays."""

    __slots__ = ()


wrapper(WithOffset)
wrapper(VectorWithOffset)


def level_of(loss: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray | float:
    """What to subtract from targets far from 0 before a constant is fitted to them, one number for each column.

    A loss of the residual does not change with it, but rounding errors do: they are relative to the targets. It is 0 if
    the targets are not far from 0. The differences are exact, since the targets are within a factor of 2 of the level.
    """
    if not isinstance(loss, OF_RESIDUAL):
        return 0.0
    level = np.average(y, axis=0, weights=weight)
    spread = np.average(np.abs(y - level), axis=0, weights=weight)
    high = np.where(np.abs(level) > MIN_LEVEL * spread, level, 0.0)
    return float(high) if high.ndim == 0 else high


def without_level(
    loss: Any, y: np.ndarray, offset: np.ndarray | None, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | float]:
    """Targets, or else offsets, without a level far from 0; and the level, which the intercept gets back."""
    if isinstance(loss, OF_RESIDUAL):
        level = level_of(loss, y, weight)
        return (y - level if np.any(level) else y), offset, level
    if offset is None or width(loss) > 1:
        return y, offset, 0.0
    mean = np.average(offset, axis=0, weights=weight)
    far = np.where(np.abs(mean) > MIN_MEAN_OFFSET, mean, 0.0)
    return y, (offset - far if far.any() else offset), (-float(far) if far.ndim == 0 else -far)


def with_offset(loss: Any) -> Any:
    """The form of a loss that takes the targets of `targets_with_offset`."""
    if isinstance(loss, OF_RESIDUAL):
        return loss
    return WithOffset(loss) if width(loss) == 1 else VectorWithOffset(loss)


def targets_with_offset(loss: Any, y: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Targets and offsets in one array, for a loss that `with_offset` has returned."""
    if not isinstance(loss, WithOffset):
        return y - offset
    both = np.empty(len(y), dtype=TARGET)
    both["y"], both["offset"] = y, offset
    return both


def targets_alone(both: np.ndarray) -> np.ndarray:
    """The targets without offsets, if they are records."""
    return both if both.dtype.names is None else both["y"]


# --- the functions of the wrapped loss, at z + o ---------------------------------------------------------------------


@value.register
def value_with_offset(loss: WithOffset, z, target):
    return value(loss.wrapped, z + target["offset"], target["y"])


@slope.register
def slope_with_offset(loss: WithOffset, z, target, *out):
    return slope(loss.wrapped, z + target["offset"], target["y"], *out)


@second.register
def second_with_offset(loss: WithOffset, z, target, *out):
    return second(loss.wrapped, z + target["offset"], target["y"], *out)


@prox.register
def prox_with_offset(loss: WithOffset, z, tau, target):
    return prox(loss.wrapped, z + target["offset"], tau, target["y"]) - target["offset"]


@prox.register
def prox_with_offsets(loss: VectorWithOffset, z, tau, target, out):
    for c in range(len(out)):
        out[c] += target["offset"][c]
    prox(loss.wrapped, z + target["offset"], tau, target["y"], out)
    for c in range(len(out)):
        out[c] -= target["offset"][c]


@on_arrays(prox_with_offset)
@on_arrays(prox_with_offsets)
def proxes_with_offset(loss, z, tau, target, *guess):
    offset = target["offset"]
    return each(prox, loss.wrapped, z + offset, tau, target["y"], *(one + offset for one in guess)) - offset


@conjugate.register
def conjugate_with_offset(loss: WithOffset, s, target):
    return conjugate(loss.wrapped, s, target["y"]) - s * target["offset"]


@conjugate.register
def conjugate_with_offsets(loss: VectorWithOffset, s, target):
    total = conjugate(loss.wrapped, s, target["y"])
    for c in range(len(s)):
        total -= s[c] * target["offset"][c]
    return total


@on_arrays(conjugate_with_offset)
@on_arrays(conjugate_with_offsets)
def conjugates_with_offset(loss, s, target):
    offset = target["offset"]
    shift = s * offset if s.ndim == 1 else np.einsum("ij,ij->i", s, offset)
    return each(conjugate, loss.wrapped, s, target["y"]) - shift


@domain.register
def domain_with_offset(loss: WithOffset, target):
    return domain(loss.wrapped, target["y"])


@domain.register
def domain_with_offsets(loss: VectorWithOffset, s, target, out):
    domain(loss.wrapped, s, target["y"], out)


@on_arrays(domain_with_offset)
@on_arrays(domain_with_offsets)
def domains_with_offset(loss, *s_and_target):
    *s, target = s_and_target
    return each(domain, loss.wrapped, *s, target["y"])


def _shifted(function: Any) -> Callable[..., Any]:
    return lambda loss, z, target: each(function, loss.wrapped, z + target["offset"], target["y"])


on_arrays(value_with_offset)(_shifted(value))
on_arrays(slope_with_offset)(_shifted(slope))
on_arrays(second_with_offset)(_shifted(second))

# --- its properties, and what depends on the targets alone -----------------------------------------------------------


@pieces.register
def pieces_with_offset(loss: WithOffset, target):
    return [piece._replace(kink=piece.kink - target["offset"]) for piece in pieces(loss.wrapped, target["y"])]


@sized.register
def sized_with_offset(loss: WithOffset, y):
    return loss._replace(wrapped=sized(loss.wrapped, y))


@balanced.register
def balanced_with_offset(loss: WithOffset, s, targets, weight):
    return balanced(loss.wrapped, s, targets["y"], weight)


def _of_wrapped(function: Any) -> Callable[..., Any]:
    return lambda loss, *y: function(loss.wrapped, *map(targets_alone, y))


for _function in (check, curvatures, has_log_link, takes_labels, targets, width):
    _function.register(WithOffset, _of_wrapped(_function))
