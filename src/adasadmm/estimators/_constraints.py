"""Bounds and linear constraints of the coefficients: from an estimator's parameters, checked, to rows of a box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, linprog

from ..rows.matrices import as_csr, to_scipy

__all__ = ["Limits", "limits_of"]

FEASIBLE = 1e-9  # relative violation that a linear programme may leave
MOST_NAMED = 5  # rows of a conflict that a message lists


class Limits(NamedTuple):
    """``lower <= C w <= upper``; the rows of bounds come first, then those of constraints."""

    C: sp.csr_array
    lower: np.ndarray
    upper: np.ndarray


def limits_of(
    d: int, names: np.ndarray | None, positive: bool, bounds: Any = None, constraints: Any = None
) -> Limits | None:
    """All bounds and constraints as rows; None if there are none. A set without a point raises ``ValueError``."""
    if not positive and bounds is None and constraints is None:
        return None
    lower, upper = _bounds(bounds, d, names)
    if positive:
        lower = np.maximum(lower, 0.0)
    apart = np.flatnonzero(lower > upper)
    if len(apart):
        j = int(apart[0])
        source = "bounds and positive=True" if positive and bounds is not None else "bounds"
        raise ValueError(
            f"{source} leave no value for {_feature(j, names)}: the lower bound {lower[j]:g} exceeds the upper bound "
            f"{upper[j]:g}; exchange or relax them"
        )
    bounded = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    rows = sp.csr_array(sp.eye_array(d, format="csr")[bounded])
    found = Limits(rows, lower[bounded], upper[bounded])
    if constraints is not None:
        given = _constraints(constraints, d)
        ends = (np.concatenate(pair) for pair in zip(found[1:], given[1:], strict=True))
        found = Limits(sp.vstack([found.C, given.C], format="csr"), *ends)
        _check_feasible(found, [_feature(int(j), names) for j in bounded])
    return found if found.C.shape[0] else None


# --- bounds ----------------------------------------------------------------------------------------------------------


def _bounds(bounds: Any, d: int, names: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """A lower and an upper bound for each coefficient."""
    if bounds is None:
        return np.full(d, -np.inf), np.full(d, np.inf)
    if isinstance(bounds, Mapping):
        return _bounds_by_name(bounds, d, names)
    if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
        raise ValueError(
            f"bounds must be a pair (lower, upper) of numbers or arrays, or a dict from feature name to such a pair, "
            f"got {bounds!r}"
        )
    return _end("lower", bounds[0], d, "bounds"), _end("upper", bounds[1], d, "bounds")


def _bounds_by_name(bounds: Mapping, d: int, names: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    known: dict[Any, int] = {j: j for j in range(d)} if names is None else {name: j for j, name in enumerate(names)}
    unknown = [name for name in bounds if name not in known]
    if unknown:
        what = f"the columns of X are {', '.join(map(str, list(known)[:MOST_NAMED]))}{', ...' * (d > MOST_NAMED)}"
        if names is None:
            what = f"X has no column names: use feature numbers from 0 to {d - 1}, or fit a data frame"
        raise ValueError(f"bounds names a feature that X does not have: {unknown[0]!r}; {what}")
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    for name, pair in bounds.items():
        if not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2:
            raise ValueError(f"bounds[{name!r}] must be a pair (lower, upper), got {pair!r}")
        where = f"bounds[{name!r}]"
        lower[known[name]] = _end("lower", pair[0], 1, where)[0]
        upper[known[name]] = _end("upper", pair[1], 1, where)[0]
    return lower, upper


def _end(name: str, given: Any, size: int, parameter: str) -> np.ndarray:
    """One end of all intervals; None is infinite."""
    infinite = -np.inf if name == "lower" else np.inf
    array = np.asarray(infinite if given is None else given)
    if array.dtype.kind == "O":  # None beside numbers
        array = np.array([infinite if one is None else one for one in array.reshape(-1)], dtype=object)
    try:
        numbers = array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"the {name} end of {parameter} must be numbers or None, got {given!r}") from None
    if numbers.ndim > 1 or numbers.size not in (1, size):
        raise ValueError(f"the {name} end of {parameter} must be one number or {size}, got shape {numbers.shape}")
    if np.isnan(numbers).any() or (numbers == -infinite).any():
        raise ValueError(f"the {name} end of {parameter} must be neither NaN nor {-infinite}, got {given!r}")
    return np.broadcast_to(numbers, (size,)).copy()


def _feature(j: int, names: np.ndarray | None) -> str:
    return f"feature {j}" if names is None else f"feature {names[j]!r}"


# --- constraints -----------------------------------------------------------------------------------------------------


def _constraints(given: Any, d: int) -> Limits:
    """The rows of the parameter ``constraints``."""
    if isinstance(given, LinearConstraint):
        given = (given.A, given.lb, given.ub)
    if not isinstance(given, tuple) or len(given) != 3:
        raise ValueError(
            "constraints must be (C, lower, upper) for lower <= C w <= upper, or a scipy.optimize.LinearConstraint, "
            f"got {given!r}"
        )
    matrix = given[0] if sp.issparse(given[0]) else np.atleast_2d(np.asarray(given[0], dtype=float))
    C = to_scipy(as_csr(matrix, "C of constraints"))
    if C.shape[1] != d:
        raise ValueError(
            f"C of constraints must have a column for each of the {d} features, got shape {C.shape}; the intercept has "
            "no column, it is never constrained"
        )
    ends = [_end(name, end, C.shape[0], "constraints") for name, end in zip(("lower", "upper"), given[1:], strict=True)]
    apart = np.flatnonzero(ends[0] > ends[1])
    if len(apart):
        k = int(apart[0])
        raise ValueError(
            f"row {k} of constraints has no solution: its lower end {ends[0][k]:g} exceeds its upper end "
            f"{ends[1][k]:g}; exchange or relax them"
        )
    return Limits(C, *ends)


def _check_feasible(limits: Limits, bounded: list[str]) -> None:
    """Raise ``ValueError`` with the rows that contradict each other, if no w satisfies all rows."""
    C, lower, upper = limits
    if ((lower <= 0.0) & (upper >= 0.0)).all():  # w = 0, as for all sequences that are monotone, convex or of a sign
        return
    k, d = C.shape
    # The least sum of violations: row by row, lower - below <= C w <= upper + above.
    has_low, has_high = np.isfinite(lower), np.isfinite(upper)
    eye = sp.eye_array(k, format="csr")
    G = sp.vstack([sp.hstack([-C, -eye])[has_low], sp.hstack([C, -eye])[has_high]], format="csr")
    h = np.concatenate([-lower[has_low], upper[has_high]])
    cost = np.concatenate([np.zeros(d), np.ones(k)])
    found = linprog(cost, A_ub=G, b_ub=h, bounds=[(None, None)] * d + [(0.0, None)] * k, method="highs")
    if found.status != 0 or found.fun <= FEASIBLE * (1.0 + np.abs(h).max()):
        return
    # By linear programming duality, the rows with a multiplier contradict each other already by themselves.
    multiplier = np.abs(found.ineqlin.marginals) > FEASIBLE
    rows = np.unique(np.concatenate([np.flatnonzero(has_low), np.flatnonzero(has_high)])[multiplier])
    first = len(bounded)
    named = [f"row {r - first} of C" if r >= first else f"the bounds of {bounded[r]}" for r in rows]
    listed = ", ".join(named[:MOST_NAMED]) + (f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else "")
    raise ValueError(
        f"constraints contradict each other: no coefficients satisfy {listed} together (by {found.fun:.3g} at least); "
        "relax or drop one of them"
    )
