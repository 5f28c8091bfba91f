"""The upper bound of a certificate: the objective at a feasible point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .. import penalties
from ..linalg.projections import least_squares, nearest_inside
from ..problem import Problem
from ..rows.matrices import to_scipy
from ..rows.products import largest_entry

__all__ = ["Primal", "feasible_point", "into_sets", "primal_value"]

ROUNDING = 1e-12  # relative error up to which a constraint counts as satisfied
ROUNDS = 10  # of `into_sets`: each may uncover further rows that leave the set


class Primal(NamedTuple):
    """A feasible point and the objective there; the value is infinite, with the reason, if no point was found."""

    value: float
    w: np.ndarray
    reason: str = ""


def primal_value(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[float, str]:
    """The objective at w and the v that the constraint gives for it, or at a feasible point nearby.

    If v holds a copy of w inside its set, that copy replaces w. The value is infinite if no feasible point is found;
    the second value then says why.
    """
    found = feasible_point(problem, w, v)
    return found.value, found.reason


def feasible_point(problem: Problem, w: np.ndarray, v: np.ndarray) -> Primal:
    """The same, with the point itself."""
    if problem.w_copy is not None:
        w = v[problem.w_copy]
    own = problem.v_of(w)
    if own is not None:
        found = _evaluated(problem, w, own)
        if not found.reason:
            return found
    if problem.B is None:
        near = into_sets(problem, w), into_sets(problem, w, v), np.zeros(problem.d)
        tried = [_evaluated(problem, point, problem.times_A(point) - problem.b) for point in near]
        return min(tried, key=lambda found: found.value)
    return _evaluated(problem, *_onto_constraint(problem, w, v))


def _evaluated(problem: Problem, w: np.ndarray, v: np.ndarray) -> Primal:
    """The objective at (w, v); infinite, with the reason, if the point is not feasible."""
    missed = largest_entry(problem.residual(w, v))
    if missed > ROUNDING * (1.0 + max(map(largest_entry, (w, v, problem.b)))):
        why = f"no feasible point is known: the nearest one found misses the constraint by {missed:.1e}"
        return Primal(math.inf, w, why)
    outside = 0.0 if problem.w_set is None else penalties.violation(problem.w_set, w)
    if outside > ROUNDING * (1.0 + largest_entry(w)):
        return Primal(math.inf, w, f"the point lies {outside:.1e} outside w_set")
    beyond = np.abs(v - penalties.nearest(problem.penalty, v))
    if beyond.any() and np.any(beyond > ROUNDING * _sizes(problem, w, v)):
        return Primal(math.inf, w, f"the point lies {beyond.max():.1e} outside the penalty's set")
    return Primal(problem.objective(w, v), w)


def _sizes(problem: Problem, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The size of the terms of each coordinate of v, to which its rounding errors are relative.

    Rows of A with several entries may cancel, so they are measured together. A row with one entry is a bound of one
    coordinate, which a point meets exactly, in whatever unit that coordinate has.
    """
    if problem.B is not None:
        return np.full(len(v), 1.0 + largest_entry(v))
    A = to_scipy(problem.A)
    sizes, several = abs(A) @ np.abs(w) + np.abs(problem.b), np.diff(A.indptr) > 1
    return np.where(several, np.max(sizes[several], initial=0.0), sizes)


# --- points nearby ---------------------------------------------------------------------------------------------------


def into_sets(problem: Problem, w: np.ndarray, v: np.ndarray | None = None) -> np.ndarray:
    """A point near w at which ``A w - b`` lies in the penalty's sets, if a few projections lead to one.

    Only the rows that leave a set are moved, and these stay where they are put: at the solution the rows at a bound
    agree with each other, although all rows of A together may allow no w at all. If v is given, the rows that it has
    at a bound are put there first.
    """
    A, held, first = to_scipy(problem.A), np.zeros(problem.m, dtype=bool), w
    if v is not None:
        held |= _at_bound(problem, v)
        w = w - _shortest(A[held], (A @ w - problem.b - v)[held])
    for _ in range(ROUNDS):
        own = A @ w - problem.b
        off = own - penalties.nearest(problem.penalty, own)
        if not np.any(np.abs(off) > ROUNDING * _sizes(problem, w, own)):
            return w
        held |= off != 0.0
        w = w - _shortest(A[held], off[held])
        w = _set_single_entries(problem, A, w, held)
    return _into_boxes(problem, A, first)


def _into_boxes(problem: Problem, A: sp.csr_array, w: np.ndarray) -> np.ndarray:
    """The point nearest to w at which all rows that have a box lie inside it."""
    lower, upper = np.full(problem.m, -np.inf), np.full(problem.m, np.inf)
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        if isinstance(part, penalties.NonNegative):
            lower[rows] = 0.0
        elif isinstance(part, penalties.Box):
            lower[rows], upper[rows] = part.lower, part.upper
    return nearest_inside(A, lower + problem.b, upper + problem.b, w)


def _at_bound(problem: Problem, v: np.ndarray) -> np.ndarray:
    """Which coordinates of v lie on the boundary of a set: there, a step outwards leads back to v."""
    step = 1.0 + np.abs(v)
    inside = np.ones(len(v), dtype=bool)
    for sign in (1.0, -1.0):
        inside &= penalties.nearest(problem.penalty, v + sign * step) != v
    return ~inside


def _shortest(A: sp.csr_array, rhs: np.ndarray) -> np.ndarray:
    """The x of least norm with ``A x = rhs``, in units in which each column of A has length 1."""
    lengths = np.sqrt(np.asarray(A.multiply(A).sum(axis=0)).reshape(-1))
    scale = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    return scale * least_squares(A @ sp.diags_array(scale), rhs)


def _set_single_entries(problem: Problem, A: sp.csr_array, w: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Coordinates that a row of one entry bounds are put onto the bound, which a difference reaches only nearly."""
    rows = np.flatnonzero(held & (np.diff(A.indptr) == 1))
    if not len(rows):
        return w
    entry, column = A.data[A.indptr[rows]], A.indices[A.indptr[rows]]
    rows, entry, column = rows[entry != 0.0], entry[entry != 0.0], column[entry != 0.0]
    own = A @ w - problem.b
    bound = penalties.nearest(problem.penalty, own)[rows]
    w = w.copy()
    outside = bound != own[rows]
    w[column[outside]] = ((bound + problem.b[rows]) / entry)[outside]
    return w


def _onto_constraint(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The point nearest to (w, v) with ``A w + B v = b``; v does not change if it must stay inside a set."""
    A = to_scipy(problem.A)
    parts = penalties.parts_of(problem.penalty, problem.p)
    if problem.B is None or any(isinstance(part, penalties.SETS) for part, _ in parts):
        return w - least_squares(A, problem.residual(w, v)), v
    step = least_squares(sp.hstack([A, to_scipy(problem.B)], format="csr"), problem.residual(w, v))
    return w - step[: problem.d], v - step[problem.d :]
