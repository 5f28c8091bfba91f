"""Where the dual function is finite: the domain of the penalty's conjugate, and the bounds of w."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import penalties
from ..linalg.projections import least_squares
from ..problem import Problem
from ..rows.matrices import to_scipy
from ..rows.products import largest_entry

__all__ = ["ROUNDING", "Bounds", "bounds_of", "inside", "into_domain", "largest_scale", "least"]

ROUNDING = 1e-12  # relative error up to which a dual constraint counts as satisfied
PROJECTIONS = 30  # steps of `into_domain` with a general B
HALVINGS = 50


# --- the domain of the penalty's conjugate ---------------------------------------------------------------------------


def into_domain(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """A theta near this one for which ``B'theta`` lies in the domain of phi*.

    With B = -I this is the nearest one. With a general B each step solves a least-squares problem, and the result may
    still lie outside (`inside`).
    """
    for _ in range(PROJECTIONS):
        wanted = problem.times_B_transposed(theta)
        change = penalties.domain(problem.penalty, wanted) - wanted
        if problem.B is None:
            return theta - change
        if largest_entry(change) <= 0.1 * ROUNDING * _size_of_B_transposed(problem, theta):
            break
        theta = theta + least_squares(to_scipy(problem.B).T.tocsr(), change)
    return theta


def inside(problem: Problem, theta: np.ndarray) -> bool:
    """Whether phi* is finite at ``B'theta``."""
    wanted = problem.times_B_transposed(theta)
    outside = largest_entry(penalties.domain(problem.penalty, wanted) - wanted)
    return outside <= ROUNDING * _size_of_B_transposed(problem, theta)


def largest_scale(problem: Problem, theta: np.ndarray, most: float) -> float:
    """The largest t up to ``most`` for which ``t theta`` is inside, by bisection: the domain is convex and holds 0."""
    least = 0.0
    if inside(problem, most * theta):
        return most
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        least, most = (middle, most) if inside(problem, middle * theta) else (least, middle)
    return least


def _size_of_B_transposed(problem: Problem, theta: np.ndarray) -> float:
    """The largest entry of ``|B'| |theta|``: rounding errors of ``B'theta`` are relative to it."""
    return largest_entry(theta if problem.B is None else abs(to_scipy(problem.B)).T @ np.abs(theta))


# --- the bounds of w -------------------------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """The box of w, and the coordinates without ridge for which the box is not bounded on both sides.

    For these the minimum over w is finite only if q_j is 0, or has the sign that drives w_j to its finite bound.
    """

    lower: np.ndarray
    upper: np.ndarray
    unbounded: np.ndarray


def bounds_of(problem: Problem) -> Bounds:
    """The bounds of a problem, found once for all strengths of its penalty."""
    if "bounds" not in problem.of_coordinates:
        problem.of_coordinates["bounds"] = _bounds(problem)
    return problem.of_coordinates["bounds"]


def _bounds(problem: Problem) -> Bounds:
    lower: np.ndarray | float = -math.inf
    upper: np.ndarray | float = math.inf
    if isinstance(problem.w_set, penalties.NonNegative):
        lower = 0.0
    elif isinstance(problem.w_set, penalties.Box):
        lower, upper = problem.w_set.lower, problem.w_set.upper
    lower, upper = (np.broadcast_to(np.asarray(bound, dtype=float), (problem.d,)) for bound in (lower, upper))
    return Bounds(lower, upper, (problem.gamma == 0.0) & (np.isneginf(lower) | np.isposinf(upper)))


def least(gamma: np.ndarray, q: np.ndarray, bounds: Bounds) -> float:
    """``min over lower <= w <= upper of sum_j gamma_j w_j^2 / 2 + q_j w_j``."""
    lower, upper, _ = bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(gamma > 0.0, -q / gamma, np.where(q > 0.0, lower, np.where(q < 0.0, upper, 0.0)))
    best = np.clip(best, lower, upper)
    return float(np.sum(np.where(best == 0.0, 0.0, 0.5 * gamma * best * best + q * best)))
