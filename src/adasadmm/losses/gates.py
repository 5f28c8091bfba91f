"""The gate for a loss: one that lacks a function, or has a wrong one, is rejected here, before anything is compiled.

A loss of a user's own is tried at a few points, once for each class. Wrong functions would otherwise show late, as a
run that stalls, or never, as a false certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.jit import implementations, is_registered
from ..rows.matrices import as_part
from . import vector_gates
from ._generic import check, conjugate, domain, prox, slope, value, width
from .offsets import WithOffset

__all__ = ["as_loss"]

POINTS = (-3.1, -1.3, -0.4, 0.2, 0.9, 1.7, 4.3)
FAR_POINTS = (-1e6, -1e3, -30.0, 30.0, 1e3, 1e6)  # reveal a domain that is too large
STEPS = (0.1, 1.0, 7.0)  # tau of the prox
NEAR = 1e-5  # the relative step of a difference quotient
LOOSE, TIGHT = 1e-3, 1e-9  # relative tolerances: of difference quotients and proxes; of Fenchel's inequality
ROUGH = 0.2  # of the least loss, which a grid finds only roughly

_tried: set[tuple] = set()


def as_loss(loss: Any, y: np.ndarray) -> Any:
    """A loss that can take these targets, its fields in the form that compiled code needs."""
    if isinstance(loss, WithOffset):
        return loss._replace(wrapped=as_loss(loss.wrapped, y["y"]))
    loss = as_part(loss, "loss")
    name = type(loss).__name__
    for function in (value, slope):
        if not is_registered(function, loss):
            raise TypeError(
                f"loss: {name} has no losses.{function.__name__}; "
                f"register one with @adasadmm.losses.{function.__name__}.register({name})"
            )
    check(loss, y)
    tried, k = implementations(loss, value, slope, prox, conjugate, domain), width(loss)
    if tried not in _tried and not type(loss).__module__.startswith("adasadmm."):
        if k > 1:
            for row in (y[:k], y[-k:]):
                vector_gates.try_out(loss, row)
        else:
            for target in sorted({float(y[0]), float(np.min(y)), float(np.max(y))}) if len(y) else ():
                _try_out(loss, target)
        _tried.add(tried)
    return loss


def _try_out(loss: Any, y: float) -> None:
    for z in POINTS:
        _check_value_and_slope(loss, z, y)
    if is_registered(prox, loss):
        for z in POINTS:
            _check_prox(loss, z, y)
    if is_registered(conjugate, loss) and is_registered(domain, loss):
        _check_conjugate(loss, y)


def _check_value_and_slope(loss: Any, z: float, y: float) -> None:
    """The slope must lie between the difference quotients on both sides; convexity is not required."""
    here, found = _number(value, loss, z, y), _number(slope, loss, z, y)
    for function, result in ((value, here), (slope, found)):
        if result is not None and math.isnan(result):
            raise _wrong(loss, function, f"at z={z:g}, y={y:g} it is nan")
    h = NEAR * (1.0 + abs(z))
    before, after = _number(value, loss, z - h, y), _number(value, loss, z + h, y)
    if here is None or found is None or before is None or after is None:
        return
    left, right = (here - before) / h, (after - here) / h
    if not (math.isfinite(left) and math.isfinite(right)):
        return
    room = LOOSE * (1.0 + abs(left) + abs(right))
    if not min(left, right) - room <= found <= max(left, right) + room:
        raise _wrong(
            loss, slope, f"at z={z:g}, y={y:g} it is {found:g}, but losses.value rises by {0.5 * (left + right):g}"
        )


def _check_prox(loss: Any, z: float, y: float) -> None:
    """No point may be better than the prox."""
    for tau in STEPS:
        found = _number(prox, loss, z, tau, y)
        if found is None:
            continue
        if math.isnan(found):
            raise _wrong(loss, prox, f"at z={z:g}, tau={tau:g}, y={y:g} it is nan")
        reached = _envelope(loss, found, z, tau, y)
        for rival in (z, y, *POINTS, found - LOOSE, found + LOOSE, 0.5 * (found + z)):
            better = _envelope(loss, rival, z, tau, y)
            if better < reached - LOOSE**2 * (1.0 + abs(reached)):
                raise _wrong(
                    loss,
                    prox,
                    f"at z={z:g}, tau={tau:g}, y={y:g} it is {found:g}, but losses.value(u, y) + (u - z)^2 / (2 tau) "
                    f"is {reached:g} there and {better:g} at u={rival:g}",
                )


def _envelope(loss: Any, u: float, z: float, tau: float, y: float) -> float:
    found = _number(value, loss, u, y)
    return math.inf if found is None else found + (u - z) ** 2 / (2.0 * tau)


def _check_conjugate(loss: Any, y: float) -> None:
    """Fenchel's inequality ``value(z) + conjugate(s) >= s z``: where it fails, a certificate would be false."""
    ends = _called(domain, loss, y)
    if np.shape(ends) != (2,) or not ends[0] <= ends[1]:
        raise _wrong(loss, domain, f"for y={y:g} it is {ends}, not an interval (low, high)")
    low, high = float(ends[0]), float(ends[1])
    if low <= 0.0 <= high:
        _check_least_value(loss, y)
    for s in _slopes_inside(loss, y, low, high):
        bound = _number(conjugate, loss, s, y)
        if bound is None or math.isnan(bound):
            continue  # such a dual point has no value, and proves nothing
        for z in (*POINTS, *FAR_POINTS, y):
            found = _number(value, loss, z, y)
            if found is None or not math.isfinite(found):
                continue
            if found + bound < s * z - TIGHT * (1.0 + abs(s * z) + abs(found) + abs(bound)):
                raise _wrong(
                    loss,
                    conjugate,
                    f"at s={s:g}, y={y:g} it is {bound:g}, but s z - losses.value(z, y) is {s * z - found:g} at "
                    f"z={z:g}; or losses.domain, from {low:g} to {high:g}, is too large",
                )


def _check_least_value(loss: Any, y: float) -> None:
    """``-conjugate(0)`` is the least possible loss, which relative gaps are measured from."""
    bound = _number(conjugate, loss, 0.0, y)
    grid = (y + z for z in np.linspace(-8.0, 8.0, 65))
    found = [_number(value, loss, float(z), y) for z in (*grid, *POINTS, *FAR_POINTS)]
    least = min((each for each in found if each is not None), default=math.nan)
    if bound is not None and -bound < least - ROUGH * (1.0 + abs(least)):
        raise _wrong(
            loss,
            conjugate,
            f"at s=0, y={y:g} it is {bound:g}, but losses.value is nowhere near {-bound:g}: "
            f"the least value found is {least:g}",
        )


def _slopes_inside(loss: Any, y: float, low: float, high: float) -> Iterator[float]:
    """Points of the domain: its ends, and slopes of the loss."""
    yield from (end for end in (low, high) if math.isfinite(end))
    for z in POINTS:
        for s in (_number(slope, loss, z, y), 100.0 * z):
            if s is not None:
                yield min(max(s, low), high)


def _number(function: Callable, loss: Any, *arguments: float) -> float | None:
    found = _called(function, loss, *arguments)
    return None if found is None else float(found)


def _called(function: Any, loss: Any, *arguments: float) -> Any:
    """Return the value of a function; None if Python raises where compiled code gives an infinite value or NaN."""
    try:
        with np.errstate(all="ignore"):
            return function(loss, *arguments)
    except (ArithmeticError, ValueError):
        return None
    except Exception as error:
        raise TypeError(
            f"loss: losses.{function.__name__} of {type(loss).__name__} failed for the arguments {arguments}: {error}"
        ) from error


def _wrong(loss: Any, function: Any, what: str) -> ValueError:
    return ValueError(f"loss: losses.{function.__name__} of {type(loss).__name__} is wrong: {what}")
