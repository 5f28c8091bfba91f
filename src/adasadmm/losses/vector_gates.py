"""Tries a user's loss of several predictions at a few points: functions that contradict each other are rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.jit import is_registered
from ._generic import conjugate, domain, prox, slope, value, width

__all__ = ["try_out"]

SIZES = (0.3, 1.0, 3.0)  # of the points
STEPS = (0.1, 1.0, 7.0)  # tau of the prox
NEAR = 1e-5  # the step of a difference quotient
LOOSE, TIGHT = 1e-3, 1e-9  # relative tolerances: of difference quotients and proxes; of Fenchel's inequality


def try_out(loss: Any, y: np.ndarray) -> None:
    """Raise ``ValueError`` if a function of the loss is wrong for the targets y of one row."""
    for z in _points(width(loss)):
        _check_slope(loss, z, y)
        if is_registered(prox, loss):
            _check_prox(loss, z, y)
        if is_registered(conjugate, loss) and is_registered(domain, loss):
            _check_conjugate(loss, z, y)


def _points(k: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(k)
    yield np.zeros(k)
    yield from (size * rng.normal(size=k) for size in SIZES)


def _written(function: Any, loss: Any, *arguments: Any) -> np.ndarray:
    """Return the array that a function writes into its last argument; that of a prox holds a guess."""
    z = arguments[0]
    function(loss, *arguments, out := z.copy() if function is prox else np.full(len(z), np.nan))
    if np.isnan(out).any():
        raise _wrong(loss, function, f"for the arguments {arguments} it is {out}")
    return out


def _check_slope(loss: Any, z: np.ndarray, y: np.ndarray) -> None:
    """Along each axis the slope must lie between the difference quotients on both sides."""
    here, s = value(loss, z, y), _written(slope, loss, z, y)
    for c, axis in enumerate(np.eye(len(z))):
        before, after = value(loss, z - NEAR * axis, y), value(loss, z + NEAR * axis, y)
        left, right = (here - before) / NEAR, (after - here) / NEAR
        room = LOOSE * (1.0 + abs(left) + abs(right))
        if not min(left, right) - room <= s[c] <= max(left, right) + room:
            rises = f"losses.value rises by {0.5 * (left + right):g}"
            raise _wrong(loss, slope, f"at z={z}, y={y} entry {c} is {s[c]:g}, but {rises}")


def _check_prox(loss: Any, z: np.ndarray, y: np.ndarray) -> None:
    """No point may be better than the prox."""
    for tau in STEPS:
        found = _written(prox, loss, z, tau, y)

        def envelope(u: np.ndarray, tau: float = tau) -> float:
            return value(loss, u, y) + float((u - z) @ (u - z)) / (2.0 * tau)

        rivals = (z, 0.5 * (found + z), *(found + sign * LOOSE * axis for axis in np.eye(len(z)) for sign in (1, -1)))
        reached, best = envelope(found), min(map(envelope, rivals))
        if best < reached - LOOSE**2 * (1.0 + abs(reached)):
            raise _wrong(loss, prox, f"at z={z}, tau={tau:g}, y={y} it reaches {reached:g}, another point {best:g}")


def _check_conjugate(loss: Any, z: np.ndarray, y: np.ndarray) -> None:
    """Fenchel's inequality ``value(z) + conjugate(s) >= <s, z>``: where it fails, a certificate would be false."""
    own = _written(slope, loss, z, y)
    for s in (_written(domain, loss, start, y) for start in (own, 3.0 * own, z, np.zeros(len(z)))):
        bound = conjugate(loss, s, y)
        for point in _points(len(z)):
            for far in (point, 10.0 * point):
                short = float(s @ far) - value(loss, far, y) - bound
                if short > TIGHT * (1.0 + abs(bound) + abs(float(s @ far))):
                    raise _wrong(
                        loss, conjugate, f"at s={s}, y={y} it is {bound:g}, too small by {short:g} for z={far}"
                    )


def _wrong(loss: Any, function: Any, what: str) -> ValueError:
    return ValueError(f"loss: losses.{function.__name__} of {type(loss).__name__} is wrong: {what}")
