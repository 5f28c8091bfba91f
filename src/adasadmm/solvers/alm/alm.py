"""The augmented Lagrangian method: it minimises jointly what batch ADMM minimises in turns.

Batch ADMM splits off ``z = X w`` and ``v = A w - b`` and minimises L_beta alternately over w, and over z and v. For a
given w the best z and v are a prox each, so that L_beta is a function of w alone,

    psi(w) = 1/n sum_i c_i e(x_i'w + u_i) + 1/2 sum_j gamma_j w_j^2 + E(A w - b - theta/beta),

with e and E the Moreau envelopes of loss and penalty: convex, once differentiable, and twice almost everywhere. A few
Newton steps minimise it (`lagrangian`). Then ``s = beta_z u`` and theta are a dual point that is stationary to
rounding, and while beta grows the gap falls by a constant factor with each iteration.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Self

import numpy as np

from ...certificates import duality
from ...certificates.ascent import Ascent
from ...certificates.domains import into_domain
from ...certificates.primal import feasible_point
from ...certificates.trace import Certificate
from ...problem import Problem
from ...rows import matrices, products
from ..all_rows import AllRowsRun, AllRowsSolver, Method
from ..base import Monitor, Point, Run, Slopes, Unfit, beyond
from ..units import even_beta
from ..work import Iterations
from . import starts
from .lagrangian import AugmentedLagrangian, PenaltyEnvelope, balanced_beta, growth
from .row_terms import Envelopes, RowEnvelopes, RowTerms, StreamedRows

__all__ = ["ALM"]

MOST_STREAMED = 4000  # features of rows that are read block by block, for which Newton's matrix is dense
LEAST_BETA_Z, MOST_BETA_Z = 1e-3, 1e12  # times the first one
MOST_UNEVEN = 1e4  # times the beta with which constraint and rows have equal weight
NO_BETA = 1e-9  # times the same: beta until a step tells how large A w is
WARM = 30.0  # times the first betas, for a start that is not 0, and so not far from the solution
CLOSER = 10.0  # times the betas of a warm start, for one that two others predict
LOOSER = 0.3  # times the last betas, for the solution of more rows

INNER = 0.15  # Newton's method stops when its remaining error costs the dual value this part of the gap
ROUNDING = 1e-13  # relative error of a constraint, or of the objective, that is not worth reducing
NEARBY = 10.0  # times the error that was allowed last: that of the first iteration with another penalty
TIGHTER = 0.1  # times the error with which the last penalty began is the least one: a gap may be small by chance

ROWS_A_FEATURE, FEW_ROWS = 6, 4000  # in Newton's matrix at least
PASSES = 4  # over X that forming it may cost
SAMPLE_ITERATIONS = 20  # with a sample of the rows at most
EASY = 1e-2  # of the loss at 0: below, a sample says too little

PACE = 0.75  # dual ascent goes on while it reduces the gap to this part of the last one
USEFUL = 0.1  # the relative gap up to which its end is a better start than 0
HARD = 10  # Newton steps of the last penalty, from which on dual ascent is tried

OF_ROWS = ("u", "Xw")


@dataclasses.dataclass(frozen=True)
class ALM(AllRowsSolver):
    """The augmented Lagrangian method: w, z = X w and v = A w - b are minimised jointly, by Newton's method.

    It is the fastest solver of this package for rows in memory that are many more than the features, at any accuracy.
    It has no settings and needs B = -I.

    References
    ----------
    Rockafellar: Augmented Lagrangians and Applications of the Proximal Point Algorithm in Convex Programming.
    Mathematics of Operations Research 1, 1976.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ALM, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.25), A=[[1.0, -1.0]])
    >>> result = solve(problem, ALM(), tol=1e-9)
    >>> result.w.round(4), result.status.name
    (array([1.5, 2.5]), 'converged')
    """

    takes_streams = True
    extrapolates = True
    narrows = True
    loss_functions = ("prox",)
    default_epochs = 1000.0

    def check(self, problem: Problem) -> None:
        if problem.source is not None and problem.d > MOST_STREAMED:
            raise Unfit(
                f"ALM needs a dense matrix of {problem.d} x {problem.d} for rows from a source, which may have at most "
                f"{MOST_STREAMED} features; use AdaSADMM()"
            )

    def method(self, problem: Problem, start: Point) -> AugmentedLagrangianMethod:
        return AugmentedLagrangianMethod(problem, start)


class AugmentedLagrangianMethod(Method):
    """The method on one problem; an iteration is a minimum of L_beta and a step of the multipliers.

    Attributes
    ----------
    Xw, Aw : ndarray
        The products of w.
    u, beta_z : ndarray, float
        The multipliers of ``X w = z``, scaled, and their beta.
    allowed : float
        The error that Newton's method may leave, as a cost of the dual value.
    best_w, best_primal : ndarray, float
        The best feasible point so far.
    """

    arrays = (*Method.arrays, "v_before", "Aw", "best_w", *OF_ROWS)
    numbers = ("beta_z", "beta", "newton_steps", "allowed", "allowed_first", "best_primal", "ascending", "moved")

    def __init__(self, problem: Problem, start: Point) -> None:
        super().__init__(problem if problem.source is None else problem.by_passes)
        self.w, self.v, self.theta = (array.copy() for array in start)
        self.v_before, self.best_w, self.Aw = self.v.copy(), self.w.copy(), problem.times_A(self.w)
        self.Xw, self.u = np.empty(problem.n), np.zeros(problem.n)
        products.product(self.problem.rows.X, self.w, self.Xw)
        self.newton_steps, self.moved = 0, 0.0  # for this problem; how far ascent moved the predictions at last
        self.allowed_first = 0.0  # the error with which this problem began
        self.allowed = self.best_primal = math.inf
        self.ascent: Ascent | None = None
        self._set_problem(self.problem)
        self.sample, self.units = starts.sampled(self.problem)
        self.ascending = not self.w.any() and starts.is_cheap(self.envelope, self.units)
        self._set_first_betas()
        if self.w.any():
            self.u[:] = duality.slopes(self.problem, self.Xw) / self.beta_z

    def _set_problem(self, problem: Problem) -> None:
        self.problem, self.envelope = problem, PenaltyEnvelope(problem)
        self.next_rows: RowTerms | None = None  # those of the next iteration, if a pass has evaluated them

    def _set_first_betas(self) -> None:
        """The betas of a start at w."""
        self.beta_z, self.beta = self.units.beta_z, NO_BETA * self.units.even
        if self.w.any():
            self.beta_z, self.beta = WARM * self.beta_z, WARM * self._first_beta(self.units.curvature)

    def _begin_with_sample(self) -> None:
        """If rows are many, the first iterations use a sample: its w is near the solution, and its betas are right.

        If that is hard, or so easy that the loss almost vanishes, the sample says too little.
        """
        few = AugmentedLagrangianMethod(self.sample.problem, self.point)
        is_solved = reaches(AllRowsRun(ALM(), few), self.sample.gap, SAMPLE_ITERATIONS)
        if not is_solved or few.certify().primal <= EASY * few.problem.loss_at_zero:
            return
        self.w[:], self.v[:], self.theta[:] = few.point
        self.Aw[:] = self.problem.times_A(self.w)
        self.beta_z, self.beta = few.beta_z, few.beta
        self.allowed = INNER * self.sample.gap * abs(few.certify().primal)
        self.next_rows = self._rows(self.iteration)
        self.next_rows.move_to(self.w)

    def _rows(self, iteration: int) -> RowTerms:
        """The terms of all rows for an iteration."""
        X, y, c = self.problem.rows
        n, d = X.shape
        affordable = PASSES * 2 * n * n // max(1, matrices.size(X))
        envelopes = Envelopes(self.problem.loss, y, c, self.Xw, self.u, self.beta_z)
        kind = StreamedRows if matrices.is_streamed(X) else RowTerms
        return kind(X, envelopes, max(ROWS_A_FEATURE * d, affordable, FEW_ROWS), iteration)

    # --- iterations --------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """The minimum of L_beta, the step of the multipliers, and a larger beta if that was easy."""
        if self.iteration == 1 and self.sample.problem is not self.problem and not self.w.any():
            self.ascending = self.ascending and starts.few_move(self._ascent())
            if not self.ascending:
                self._begin_with_sample()
        self.v_before[:] = self.v
        if self.ascending:
            self._ascend()
            return
        rows = RowEnvelopes(self.problem, self.units, self.next_rows or self._rows(self.iteration))
        inner = AugmentedLagrangian(self.envelope, rows, self.w, self.Aw, self.v, self.theta, self.beta)
        steps = inner.minimise(self.allowed)
        if not self.is_finite():
            return  # the caller tests for that
        inner.multiply()
        self.u += rows.error
        self._set_next_betas(steps, rows.error)
        self.newton_steps += steps
        self.next_rows = self._rows(self.iteration + 1)
        with self.next_rows.riding():
            self.allowed = self._next_allowed(self.certify())  # last: it depends on nothing but the saved state

    def _set_next_betas(self, steps: int, off: np.ndarray) -> None:
        """The betas after an iteration of so many Newton steps, which leaves ``X w - z = off``."""
        unit = self.units.beta_z / self.beta_z
        factor = min(max(growth(steps), LEAST_BETA_Z * unit), MOST_BETA_Z * unit)
        if _is_rounding(off, self.Xw) and _is_rounding(self.Aw - self.v - self.problem.b, self.Aw):
            factor = min(factor, 1.0)  # a larger beta would only add rounding
        has_beta = self.beta > NO_BETA * self.units.even
        self.beta = factor * self.beta if has_beta else self._first_beta(self.problem.system.diagonal)
        self.beta_z *= factor
        self.u /= factor

    def _first_beta(self, diagonal: np.ndarray) -> float:
        """A beta in balance with the penalty, or else with the rows, of which ``diagonal`` is the curvature."""
        even = even_beta(self.problem, diagonal)
        beta = balanced_beta(self.problem, self.Aw) or even
        return min(max(beta, 2.0 * NO_BETA * self.units.even), MOST_UNEVEN * even)

    def _next_allowed(self, found: Certificate) -> float:
        """The error that Newton's method may leave in the next iteration.

        If w lies outside a set, the feasible point may be far from it. Then the gap is also estimated from the
        objective at w and v, in which the constraint that separates them counts as it does in L_beta.
        """
        gap, size = found.gap, abs(found.primal)
        if not np.array_equal(self.best_w, self.w):
            primal = self.problem.objective(self.w, self.v)
            off = np.abs(self.problem.residual(self.w, self.v))
            apart = float(np.abs(self.theta) @ off + self.beta * (off @ off))
            gap, size = min(gap, abs(primal - max(found.dual, -abs(primal))) + apart), min(size, abs(primal))
        return INNER * max(min(gap, size), ROUNDING * size)

    # --- the first iterations by dual ascent -------------------------------------------------------------------------

    def _ascent(self) -> Ascent:
        if self.ascent is None:
            self.ascent = Ascent(self.problem)
        return self.ascent

    def _ascend(self) -> None:
        """An iteration by dual coordinate ascent.

        It goes on while the gap falls fast; then Newton's method takes over. If the gap is still large, ascent is slow
        on this problem, and its end is no better a start than 0.
        """
        ascent = self._ascent()
        if self.iteration == 1:
            moved = starts.first(ascent, s := ascent.first_slopes(), self.theta)
        else:
            last = starts.Moved(self.w, self.Xw, self.moved)
            moved = starts.advance(ascent, last, s := self.beta_z * self.u, self.theta)
        self._move_to(moved.w, moved.Xw)
        self.moved = moved.step
        self.u[:] = s / self.beta_z
        if not self.is_finite():
            return  # the caller tests for that
        if math.isfinite(self.best_primal):
            between = starts.best_between(self.problem, self.best_w, moved)
            if between.value < self.best_primal:
                self.best_primal, self.best_w[:] = between.value, between.w
        found, before = self.certify(), self.allowed
        self.allowed = self._next_allowed(found)
        self.ascending = self.allowed <= PACE * before
        if not self.ascending and found.relative_gap <= USEFUL:
            self._move_to(self.best_w, self.problem.predictions(self.best_w))
            self.beta_z = WARM * self.units.beta_z
            self.u[:] = s / self.beta_z
        elif not self.ascending:
            self.theta[:], self.u[:], self.allowed, self.beta = 0.0, 0.0, math.inf, NO_BETA * self.units.even
            self._move_to(np.zeros(self.problem.d), np.zeros(self.problem.n))

    def _move_to(self, w: np.ndarray, Xw: np.ndarray) -> None:
        """Another w, with the beta and the v that belong to it."""
        self.w[:], self.Xw[:] = w, Xw
        self.Aw[:] = self.problem.times_A(self.w)
        if self.w.any():
            self.beta = WARM * self._first_beta(self.units.curvature)
        self.v[:], _ = self.envelope.prox(self.Aw - self.problem.b - self.theta / self.beta, self.beta)

    # --- the point ---------------------------------------------------------------------------------------------------

    @property
    def answer(self) -> np.ndarray:
        """The best feasible point so far; w until there is one."""
        self.certify()
        return self.best_w if math.isfinite(self.best_primal) else self.w

    def monitor(self) -> Monitor:
        turn = self.problem.times_A_transposed(self.problem.times_B(self.v - self.v_before))
        return Monitor(self.iteration, dual_residual=self.beta * float(np.linalg.norm(turn)))

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return self.beta_z * self.u, self.theta

    def certificate(self) -> Certificate:
        """The certificate of the best point so far."""
        self.problem.last_products.remember(self.w, self.Xw)
        found = feasible_point(self.problem, self.w, self.v)
        if found.value <= self.best_primal:
            self.best_primal, self.best_w[:] = found.value, found.w
        dual = duality.dual_value(self.problem, self.w, *self.dual_point())
        reason = "" if math.isfinite(self.best_primal) else found.reason
        return duality.certificate(self.problem, (self.w, self.v), (self.best_primal, reason), dual)

    def restored(self) -> None:
        self.next_rows = None

    # --- starts from the solution of a similar problem ---------------------------------------------------------------

    # Another penalty or ridge, or only some of the rows: the multipliers of the solved problem are close to those of
    # the new one, and the betas decide how far they can move in an iteration.

    def moved_to(self, problem: Problem, solver: AllRowsSolver) -> Method:
        """With another penalty or ridge, the betas are those of a warm start, with which the multipliers can move."""
        problem = problem if problem.source is None else problem.by_passes
        if not matrices.equal(problem.rows, self.problem.rows):
            return solver.method(problem, self.point)
        other = self._copy(problem)
        if problem is not self.problem:
            if self.iteration == 0 or problem.loss is not self.problem.loss:
                other.sample, other.units = starts.sampled(problem)
            other.ascent = None if self.ascent is None else self.ascent.of(problem)
            other._set_first_betas()
            other._begin_again(self)
        return other

    def narrowed(self, problem: Problem, rows: np.ndarray) -> Self | None:
        """The same with betas that let the multipliers move; None after dual ascent, which is fast along a path."""
        if self.ascending:
            return None
        other = self._copy(problem)
        for name in OF_ROWS:
            setattr(other, name, getattr(self, name)[rows])
        other.ascent = None
        other.beta_z, other.beta = LOOSER * self.beta_z, LOOSER * self.beta
        other._begin_again(self)
        return other

    def _copy(self, problem: Problem) -> Self:
        other = copy.copy(self)
        for name in self.arrays:
            setattr(other, name, getattr(self, name).copy())
        other.best_dual = copy.copy(self.best_dual)
        other._set_problem(problem)
        return other

    def _begin_again(self, last: Self) -> None:
        """Keep the multipliers of the last problem; what was found for it says nothing about this one."""
        self.best_dual.reset()
        self.u *= last.beta_z / self.beta_z
        self.theta[:] = into_domain(self.problem, self.theta)
        self.newton_steps = 0
        self.allowed = max(NEARBY * last.allowed, TIGHTER * last.allowed_first)
        self.allowed_first = self.allowed if math.isfinite(self.allowed) else 0.0
        self.best_primal = math.inf
        if not matrices.is_streamed(self.problem.rows.X):  # where it would be another pass over a source
            self.best_primal, self.best_w[:], _ = feasible_point(self.problem, last.answer, last.v)

    def extrapolate(self, last: Self, before: Self, times: float) -> None:
        for name in ("w", "Xw", "Aw", "theta"):
            getattr(self, name)[:] = beyond(getattr(last, name), getattr(before, name), times)
        self.theta[:] = into_domain(self.problem, self.theta)
        s, near = beyond(last.beta_z * last.u, before.beta_z * before.u, times), None
        if last.ascending or last.newton_steps >= HARD:
            near = starts.predicted(self.envelope, self.units, (self.w, s, self.theta), self.best_primal)
        self.ascending = near is not None
        if near is not None:
            self.moved, self.allowed = float(np.mean(np.abs(self.Xw - last.Xw))), math.inf
            self.u[:] = near / self.beta_z
        elif last.ascending or before.ascending:  # whose w is too rough to be extrapolated
            self.theta[:] = into_domain(self.problem, last.theta)
            self._move_to(last.best_w, self.problem.predictions(last.best_w))
        else:
            self.beta_z, self.beta = CLOSER * self.beta_z, CLOSER * self.beta
            self.u[:] = s / self.beta_z


def reaches(run: Run, gap: float, iterations: int) -> bool:
    """Whether the relative gap falls this low within a few iterations."""
    for _ in range(iterations):
        try:
            run.advance(Iterations(1))
        except np.linalg.LinAlgError:
            return False
        if not run.is_finite():
            return False
        if run.certify().relative_gap <= gap:
            return True
    return False


def _is_rounding(error: np.ndarray, size: np.ndarray) -> bool:
    """Whether a constraint holds up to rounding."""
    return float(np.max(np.abs(error), initial=0.0)) <= ROUNDING * float(np.max(np.abs(size), initial=0.0))
