"""The interior-point method for trends and their like: X has one entry in each row, and A is banded.

The system in w and t together has a banded factorisation (`linalg.banded_system`), so that t loses no digits where J is
small. A step takes time in proportion to the number of points, hardly more than a certificate. So one `advance` takes
all steps, until the method's own estimate of the gap is far below any ``tol``, or rounding errors stop it.

Reference: S.-J. Kim, K. Koh, S. Boyd, D. Gorinevsky, l1 trend filtering, SIAM Review 51, 2009.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from typing import NamedTuple

import numpy as np

from ... import penalties
from ...certificates.trace import Certificate
from ...linalg.banded_system import Saddle
from ...problem import Problem
from ...rows.matrices import CSR, Dense, to_scipy
from ..base import Point
from ..tv.newton import ExactMethod
from ..tv.nodes import limits_of
from . import steps as steps
from .banded_terms import Edges, KinkedRows, SmoothRows
from .box_terms import loss_pieces
from .steps import units_of

__all__ = ["BandedMethod", "is_trend"]

MOST_ITERATIONS = 500
CONVERGED = 1e-9  # the estimate of the relative gap at which the method ends
PROGRESS, PATIENCE = 0.9, 100  # the estimate must fall to this part within this number of iterations,
SMALL, FLOOR, AT_FLOOR = 1e-5, 0.01, 2  # or in these, if it is small and mostly rounding errors of other conditions
TINY = 1e-12  # of the loss at 0: the least objective that the gap is relative to
EPS, PART = np.finfo(float).eps, 100.0
ROUNDING = (
    "A w has rounding errors that cost about {:.1e}: in double precision the penalty is too strong for a smaller gap"
)
REFINEMENTS = 3  # with one factor
REFINED = 1e-3  # of complementarity: what rounding errors of a direction may cost
NO_WEIGHT, ALMOST_RIGID = 1e100, 1e-6
SMALL_PART = 1e-3  # of its reach: a coordinate below this counts as of this size


def is_trend(problem: Problem) -> bool:
    """Whether X has one entry in each row, A is banded, and the penalty is L1, of a problem that `IPM` admits."""
    if problem.has_b or problem.w_set is not None or problem.w_copy is not None:
        return False
    if not isinstance(problem.penalty, penalties.L1) or not limits_of(problem).all():
        return False
    return entries_of(problem) is not None and problem.bands is not None


def entries_of(problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """The column and the value of the only entry of each row of X; None if a row has more, or none."""
    X = problem.rows.X
    if isinstance(X, CSR):
        single = len(X.data) == len(X.indptr) - 1 and bool((np.diff(X.indptr) == 1).all())
        return (X.indices.astype(np.int64), X.data) if single else None
    if isinstance(X, Dense) and problem.diagonal is not None:
        return np.arange(problem.n), problem.diagonal
    return None


class Now(NamedTuple):
    """Where the method is: complementarity, what the other conditions may cost, and the objective."""

    gap: float
    off: float
    value: float


class BandedMethod(ExactMethod):
    """The iterations. ``zero`` tells where ``A w`` is to be 0, ``exact`` whether it is, and ``s`` are slopes.

    v has exact zeros where ``A w`` is 0 up to rounding.
    """

    arrays = (*ExactMethod.arrays, "s", "zero")
    numbers = ("ended", "exact")
    now: Now
    s: np.ndarray
    x: np.ndarray  # the iterate; w is the best one
    u: np.ndarray  # A x
    gradient: np.ndarray  # of the Lagrangian
    of_edges: float  # their complementarity

    def __init__(self, problem: Problem, start: Point) -> None:
        super().__init__(problem, start.w.copy(), start.theta.copy())
        self.s, self.zero, self.exact = np.zeros(problem.n), np.zeros(problem.m, np.bool_), False

    def advance(self) -> None:
        super().advance()
        self.v = np.where(self.zero, 0.0, self.v)

    def improve(self) -> None:
        self.ended = True
        self._begin()
        least, ago, best = math.inf, 0, self._point()
        for _ in range(MOST_ITERATIONS):
            try:
                self._iterate()
            except np.linalg.LinAlgError:
                break
            estimate = (self.now.gap + self.now.off) / self._excess
            ago = 0 if estimate < PROGRESS * least else ago + 1
            if estimate < least:
                least, best = estimate, self._point()
            at_floor = self.now.gap < FLOOR * self.now.off and least < SMALL
            if not CONVERGED < estimate < math.inf or ago > (AT_FLOOR if at_floor else PATIENCE):
                break
        self._keep(*best)
        if least < SMALL:
            with contextlib.suppress(np.linalg.LinAlgError):
                self._fuse(max(least, CONVERGED))

    def _begin(self) -> None:
        """The first iterate, x = 0."""
        problem, units, entries = self.problem, units_of(self.problem), entries_of(self.problem)
        assert entries is not None
        assert problem.bands is not None
        kinked = loss_pieces(problem.loss, problem.rows.y[:0])
        self.rows = KinkedRows(problem, *entries) if kinked else SmoothRows(problem, *entries)
        self.saddle, self.sizes = Saddle(problem.A, problem.bands), abs(to_scipy(problem.A))
        self.depth, self.curvature, self.least = units.depth or 1.0, units.curvature, SMALL_PART * units.reach_of_w
        mean = self.rows.first_gap * self.depth / (self.rows.ends + 2.0 * problem.m)
        self.edges, self.damping = Edges(limits_of(problem), mean), 0.0
        self.rows.start(mean, units)
        self.x, self.dw = np.zeros((2, problem.d))
        self.of_edges = 2.0 * problem.m * mean
        self.now = self._follow(self.of_edges + self.rows.move(0.0))

    @property
    def _excess(self) -> float:
        """The objective above the least possible loss, which the gap is relative to."""
        return max(self.now.value - self.problem.least_loss, TINY * self.depth)

    def _point(self) -> tuple[Now, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What `_keep` takes; a step makes new arrays."""
        edges = self.edges
        return self.now, self.x, edges.t, edges.push, edges.room, self.rows.slopes

    def _keep(
        self, now: Now, x: np.ndarray, t: np.ndarray, push: np.ndarray, room: np.ndarray, slopes: np.ndarray
    ) -> None:
        """Return to an iterate, and make it the result."""
        edges, weight = self.edges, self.rows.weight
        self.now, self.x, edges.t, edges.push, edges.room = now, x, t, push, room
        self.w[:], self.theta[:] = x, -t
        np.divide(slopes, weight, out=self.s, where=weight > 0.0)
        self.zero[:] = edges.tends_to_zero(self.sizes @ np.abs(x))

    # --- an iteration ------------------------------------------------------------------------------------------------

    def _iterate(self) -> None:
        """Predictor and corrector, with one factorisation, and a step."""
        if not self._direct():
            self.saddle.is_whole = True
            self._direct()
        most = min(1.0, steps.TO_BOUNDARY * self.most)
        length = self.rows.safe_length(self.now.gap, most)
        self.damping = self.rows.damped(self.damping, length, most)
        self.x = self.x + length * self.dw
        self.of_edges = self.edges.move(length)
        self.now = self._follow(self.of_edges + self.rows.move(length))

    def _direct(self) -> bool:
        """Newton's direction, and ``most``, the length of the step to the boundary; whether it is accurate enough.

        Where it is not, neither is that of the predictor, on whose products it depends.
        """
        rows, edges, saddle, gap = self.rows, self.edges, self.saddle, self.now.gap
        saddle.factor(rows.assemble() + self._ridge, edges.stiffness())
        dw, dt = saddle.solve(-self.gradient - rows.pull(0.0), -self.u)
        length = min(1.0, edges.predict(dt), rows.turn(dw, 0.0))
        after = edges.after(self.of_edges, length) + rows.after(length)
        mean = steps.sum_aimed_at(gap, after, length, self.now.off) / (rows.ends + 2.0 * self.problem.m)
        self.dw, dt, is_accurate = self._refined(-self.gradient - rows.pull(mean), edges.aim(mean) - self.u)
        self.most = min(edges.correct(dt), rows.turn(self.dw, mean))
        return is_accurate

    @property
    def _ridge(self) -> np.ndarray:
        return self.problem.gamma + self.damping * self.curvature

    def _refined(self, f: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """The solution, with corrections until rounding errors cost little; whether that is reached."""
        saddle, enough = self.saddle, REFINED * self.now.gap
        dw, dt = saddle.solve(f, g)
        for attempt in range(REFINEMENTS + 1):
            left = saddle.left(f, g, dw, dt)
            off = self._cost(left[0]) + float(self.edges.limit @ np.abs(left[1]))
            if off <= enough:
                return dw, dt, True
            if attempt == REFINEMENTS or not off < math.inf:
                break
            more = saddle.solve(*left)
            dw, dt = dw + more[0], dt + more[1]
        return dw, dt, saddle.is_whole  # there is no better way

    def _cost(self, residual: np.ndarray) -> float:
        """Bound the cost of a residual in the dual value."""
        return steps.cost_of_residual(residual, self.x, self.least, self.problem.gamma)

    def _follow(self, gap: float) -> Now:
        """All that follows from x and t. ``A x`` follows from x, so that no errors add up."""
        x, gamma, edges = self.x, self.problem.gamma, self.edges
        value, off = self.rows.follow(x)
        self.u = self.saddle.along(x)
        self.gradient = gamma * x + self.saddle.back(edges.t) + self.rows.back(self.rows.slopes)
        value += 0.5 * float(gamma @ (x * x)) + float(edges.limit @ np.abs(self.u))
        return Now(gap, off + edges.cost(self.u) + self._cost(self.gradient), value)

    # --- the end -----------------------------------------------------------------------------------------------------

    def _fuse(self, part: float) -> None:
        """Make ``A w`` 0 up to rounding where it is to be 0, unless that costs more than about the gap.

        The nearest such w in the metric H is found with the factor for rigid edges; repetition leaves nothing but
        rounding errors.
        """
        before, saddle, zero = self._excess, self.saddle, self.zero
        saddle.factor(saddle.H, np.where(zero, ALMOST_RIGID * saddle.J, NO_WEIGHT))
        for _ in range(REFINEMENTS):
            u = saddle.along(self.x)
            self.x = self.x + saddle.solve(np.zeros_like(self.x), np.where(zero, -u, 0.0))[0]
        self.now = self._follow(self.now.gap)
        if self._excess <= (1.0 + 2.0 * part) * before:
            self.w[:], self.exact = self.x, True

    def certificate(self) -> Certificate:
        """The certificate of w, with the distance of v from ``A w``, in which rounding errors do not count."""
        found, reason, apart = super().certificate(), "", 0.0
        if not self.exact:
            apart = float(np.linalg.norm(self.problem.residual(self.w, self.v)))
        if found.relative_gap > CONVERGED and not found.reason:
            reason = self._rounding(found.gap)
        return dataclasses.replace(found, primal_residual=apart, reason=found.reason or reason)

    def _rounding(self, gap: float) -> str:
        """The reason of a gap that is not much larger than what rounding errors of ``A w`` cost."""
        sizes = abs(to_scipy(self.problem.A)) @ np.abs(self.w)
        rounding = EPS * float(limits_of(self.problem) @ sizes)
        return ROUNDING.format(rounding) if gap <= PART * rounding else ""
