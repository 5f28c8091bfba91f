"""Repair of a dual point whose q does not vanish where a coordinate of w has neither ridge nor bounds.

There the dual value is minus infinity unless ``q = X'(c s)/n - A'theta`` is 0. Each round is a weighted least-squares
step towards that. The weight of a dual coordinate is the square of its distance to the boundary of its domain, so that
coordinates at a boundary hardly move.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from ..linalg.systems import System, system_for
from ..problem import Problem
from ..rows import products, selections
from ..rows.matrices import CSR, Rows, as_csr, to_scipy
from ..rows.products import largest_entry
from .domains import ROUNDING, Bounds, into_domain
from .flow import Flow, flow_for

__all__ = ["lacking", "repair", "sizes"]

ROUNDS = 30
REACH = 1e-3  # least distance to the boundary that a weight assumes, relative to the coordinate itself
FALLS = 0.1  # q must fall to this part of itself in a round, or the weights are recomputed
FAR = 1e6  # a domain scaled by this factor is, at the scale of the steps, the cone that the domain spans
WEAK = 1e-11  # the ridge of the least-squares steps, relative to the diagonal: further rounds correct its error


class Steps:
    """Steps for any X and A: ``X x`` and ``A x`` with ``(X' diag(rows) X + A' diag(edges) A) x = missing``, nearly."""

    def __init__(self, system: System) -> None:
        self.system = system

    def factor(self, rows: np.ndarray, edges: np.ndarray) -> None:
        X, A = self.system.X, self.system.A
        diagonal = products.gram_diagonal(X, rows) + products.gram_diagonal(A, edges)
        ridge = WEAK * np.where(diagonal > 0.0, diagonal, diagonal.max(initial=0.0) or 1.0)
        self.system.factor(rows, edges, ridge)

    def step(self, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = self.system.solve(missing)
        along, along_A = np.empty(self.system.X.shape[0]), np.empty(self.system.A.shape[0])
        products.product(self.system.X, x, along)
        products.product(self.system.A, x, along_A)
        return along, along_A


@dataclasses.dataclass(frozen=True)
class Free:
    """The unbounded coordinates of w: their columns of X and A, their bounds, and how their steps are found."""

    chosen: np.ndarray
    X: Rows
    A: CSR
    lower: np.ndarray
    upper: np.ndarray

    @functools.cached_property
    def steps(self) -> Steps | Flow:
        """Made when the first step is: a dual point in balance needs none."""
        flow = flow_for(self.X, self.A) if self.X.shape[0] < self.X.shape[1] else None
        return Steps(system_for(self.X, self.A)) if flow is None else flow


def free_coordinates(problem: Problem, bounds: Bounds) -> Free:
    """The unbounded coordinates of a problem, which the certificates of all its points have in common."""
    found = problem.of_coordinates
    if "free" not in found:
        chosen = bounds.unbounded
        X, A = selections.columns(problem.rows.X, chosen), problem.A
        if not chosen.all():
            A = as_csr(to_scipy(A)[:, np.flatnonzero(chosen)], "A")
        found["free"] = Free(chosen, X, A, bounds.lower[chosen], bounds.upper[chosen])
    return found["free"]


@np.errstate(over="ignore", invalid="ignore")  # slopes of a diverged point overflow; NaN is no dual point
def repair(
    problem: Problem, s: np.ndarray, theta: np.ndarray, domain: tuple[np.ndarray, np.ndarray] | None, bounds: Bounds
) -> tuple[np.ndarray, np.ndarray]:
    """Move s and theta until q is 0, or has a sign that the bounds allow, at the unbounded coordinates.

    A step may leave the domains, because scaling s and theta down afterwards brings them back. Scaling cannot help
    where 0 is an end of the domain. So each round projects onto the cones that the domains span, and the next round
    corrects the error of the projection. Without a domain of each slope, only theta moves.
    """
    low, high = (s, s) if domain is None else domain
    free = free_coordinates(problem, bounds)
    weight = problem.rows.c / problem.n
    rounding = 0.1 * ROUNDING * sizes(problem, s, theta)[free.chosen]
    near, tiny = functools.partial(into_domain, problem), 0.1 * ROUNDING * largest_entry(theta)
    before = 0.0
    for _ in range(ROUNDS):
        pull, of_A = _pull_of_rows(problem, free, s), np.empty(free.X.shape[1])
        products.transposed_product(free.A, theta, of_A)
        missing = lacking(pull - of_A, free.lower, free.upper)
        if np.all(np.abs(missing) <= rounding):
            break
        size = largest_entry(missing)
        if not math.isfinite(size):  # slopes that overflow prove nothing
            break
        if not size <= FALLS * before:  # else the next step with the same weights is the cheapest one
            room, room_theta = np.zeros_like(s), _room(near, theta)
            if domain is not None:
                room = _room(lambda s: np.clip(s, low, high), s)
            free.steps.factor(weight * room, room_theta)
        before = size
        along, along_A = free.steps.step(missing)
        if domain is not None:
            s = np.clip(s - room * along, FAR * low, FAR * high)
        theta = FAR * near((theta + room_theta * along_A) / FAR)
    theta = np.where(np.abs(theta) > tiny, theta, 0.0)  # or q would be tested against the size of a vanished theta
    return s, theta


def _pull_of_rows(problem: Problem, free: Free, s: np.ndarray) -> np.ndarray:
    """``X'(c s)/n`` at the unbounded coordinates; if these are all, the dual value needs the same product again."""
    scaled = problem.rows.c * s / problem.n
    if free.chosen.all():
        return problem.last_X_transposed.of(scaled)
    products.transposed_product(free.X, scaled, pull := np.empty(free.X.shape[1]))
    return pull


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
