"""The upper bound of a certificate: the objective at a feasible point."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from .. import penalties
from ..linalg.matrices import to_scipy
from ..linalg.products import largest_entry, least_squares
from ..problem import Problem

__all__ = ["primal_value"]

ROUNDING = 1e-12  # relative error up to which a constraint counts as satisfied


def primal_value(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[float, str]:
    """The objective at w and the v that the constraint gives for it, or at a feasible point nearby.

    If v holds a copy of w inside its set, that copy replaces w. The value is infinite if no feasible point is found;
    the second value then says why.
    """
    if problem.w_copy is not None:
        w = v[problem.w_copy]
    own = problem.v_of(w)
    if own is not None:
        value, reason = _feasible_value(problem, w, own)
        if not reason:
            return value, reason
    return _feasible_value(problem, *_onto_constraint(problem, w, v))


def _feasible_value(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[float, str]:
    """The objective at (w, v); infinite, with the reason, if the point is not feasible."""
    missed = largest_entry(problem.residual(w, v))
    if missed > ROUNDING * (1.0 + max(map(largest_entry, (w, v, problem.b)))):
        return math.inf, f"no feasible point is known: the nearest one found misses the constraint by {missed:.1e}"
    for name, where, point in (("w_set", problem.w_set, w), ("the penalty's set", problem.penalty, v)):
        outside = 0.0 if where is None else penalties.violation(where, point)
        if outside > ROUNDING * (1.0 + largest_entry(point)):
            return math.inf, f"the point lies {outside:.1e} outside {name}"
    return problem.objective(w, v), ""


def _onto_constraint(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The point nearest to (w, v) with ``A w + B v = b``; v does not change if it must stay inside a set."""
    A = to_scipy(problem.A)
    parts = penalties.parts_of(problem.penalty, problem.p)
    if problem.B is None or any(isinstance(part, penalties.SETS) for part, _ in parts):
        return w - least_squares(A, problem.residual(w, v)), v
    step = least_squares(sp.hstack([A, to_scipy(problem.B)], format="csr"), problem.residual(w, v))
    return w - step[: problem.d], v - step[problem.d :]
