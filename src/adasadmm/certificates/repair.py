"""Repair of a dual point whose q does not vanish where a coordinate of w has neither ridge nor bounds.

There the dual value is minus infinity unless ``q = X'(c s)/n - A'theta`` is 0. Each round is a weighted least-squares
step towards that. The weight of a dual coordinate is the square of its distance to the boundary of its domain, so that
coordinates at a boundary hardly move.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..linalg import matrices, products
from ..linalg.matrices import to_scipy
from ..linalg.products import largest_entry
from ..problem import Problem
from .domains import ROUNDING, Bounds, into_domain

__all__ = ["lacking", "repair", "sizes"]

ROUNDS = 30
REACH = 1e-3  # least distance to the boundary that a weight assumes, relative to the coordinate itself
FAR = 1e6  # a domain scaled by this factor is, at the scale of the steps, the cone that the domain spans


def repair(
    problem: Problem, s: np.ndarray, theta: np.ndarray, domain: tuple[np.ndarray, np.ndarray], bounds: Bounds
) -> tuple[np.ndarray, np.ndarray]:
    """Move s and theta until q is 0, or has a sign that the bounds allow, at the unbounded coordinates.

    A step may leave the domains, because scaling s and theta down afterwards brings them back. Scaling cannot help
    where 0 is an end of the domain. So each round projects onto the cones that the domains span, and the next round
    corrects the error of the projection.
    """
    low, high = domain
    chosen, lower, upper = bounds.unbounded, bounds.lower[bounds.unbounded], bounds.upper[bounds.unbounded]
    X, A = matrices.columns(problem.rows.X, chosen), to_scipy(problem.A)[:, np.flatnonzero(chosen)]
    weight = problem.rows.c / problem.n
    rounding = 0.1 * ROUNDING * sizes(problem, s, theta)[chosen]
    near = functools.partial(into_domain, problem)
    for _ in range(ROUNDS):
        pull = np.empty(X.shape[1])
        products.transposed_product(X, weight * s, pull)
        missing = lacking(pull - A.T @ theta, lower, upper)
        if np.all(np.abs(missing) <= rounding):
            break
        room, room_theta = _room(lambda s: np.clip(s, low, high), s), _room(near, theta)
        curvature = products.gram(X, weight * room) + (A.T @ sp.diags_array(room_theta) @ A).toarray()
        scale = np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
        step = np.linalg.lstsq(curvature / np.outer(scale, scale), missing / scale, rcond=1e-13)[0] / scale
        along = np.empty(problem.n)
        products.product(X, step, along)
        s = np.clip(s - room * along, FAR * low, FAR * high)
        theta = FAR * near((theta + room_theta * (A @ step)) / FAR)
    return s, theta


def lacking(q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The part of q along which ``<q, w>`` is unbounded below for w between its bounds."""
    return np.where(np.where(q > 0.0, np.isneginf(lower), np.isposinf(upper)), q, 0.0)


def sizes(problem: Problem, s: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """An upper bound of the terms of q for each coordinate: rounding errors of q are relative to it."""
    of_rows, of_A = problem.column_sizes
    return largest_entry(s) * of_rows + largest_entry(theta) * of_A


def _room(domain: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """The squared distance of each entry to the nearer end of its domain, capped at the largest entry of x."""
    most = largest_entry(x)
    room = np.minimum(np.abs(domain(x + most) - x), np.abs(domain(x - most) - x))
    return np.maximum(room, REACH * np.abs(x)) ** 2
