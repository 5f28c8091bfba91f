"""The augmented Lagrangian method: it minimises jointly what batch ADMM minimises in turns.

Batch ADMM splits off ``z = X w`` and ``v = A w - b`` and minimises L_beta alternately over w, and over z and v. For a
given w the best z and v are a prox each, so that L_beta is a function of w alone,

    psi(w) = 1/n sum_i c_i e(x_i'w + u_i) + 1/2 sum_j gamma_j w_j^2 + E(A w - b - theta/beta),

with e and E the Moreau envelopes of loss and penalty: convex, once differentiable, and twice almost everywhere. A few
Newton steps minimise it. Then ``s = beta_z u`` and theta are a dual point that is stationary to rounding, and while
beta grows the gap falls by a constant factor with each iteration. `inner` has this minimum, this file the iterations.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from typing import ClassVar, Self

import numpy as np

from ...certificates import BestDual, duality
from ...certificates.ascent import Ascent
from ...certificates.domains import into_domain
from ...certificates.primal import feasible_point
from ...certificates.trace import Certificate
from ...problem import Problem
from ...rows import matrices, products
from ..all_rows import AllRowsSolver
from ..base import Monitor, NamedState, Point, Run, Slopes, Solver, Unfit, beyond
from ..named_state import restore_attributes, saved_attributes
from ..units import even_beta, measured
from ..work import Iterations, Work
from . import dual_start
from .inner import MOST_STEPS, InnerProblem

__all__ = ["ALM", "AugmentedLagrangianRun"]

FIRST_BETA = 0.5  # in units of penalty / |A w|^2
LEAST_BETA_Z, MOST_BETA_Z = 1e-3, 1e12  # of the first
MOST_UNEVEN = 1e4  # times the beta with which constraint and rows have equal weight
ROUNDING = 1e-13
NO_BETA = 1e-9  # of the beta with which constraint and rows have equal weight: until a step tells how large A w is
INNER = 0.15  # Newton's method stops when its remaining error costs the dual value this part of the gap
GROWTH = ((4, 3.0), (8, 2.0), (20, 1.3), (MOST_STEPS, 0.5))  # Newton steps of an iteration: the factor for beta
PACE = 0.75  # dual ascent goes on while it reduces the gap to this part of the last one
USEFUL = 0.1  # relative gap of a start
SAMPLE, SAMPLE_A_FEATURE = 4000, 40  # rows
STREAMED = 10  # times as many of a source, where a pass over all rows is far more expensive
SAMPLED = 8  # times the sample is the least number of rows at which it saves time
SAMPLE_GAP, SAMPLE_ITERATIONS = 1e-2, 20
EASY = 1e-2  # of the loss at 0
WARM = 30.0  # times the first betas for a start that is not 0, and so not far from the solution
CLOSER = 10.0  # times the betas of a warm start, for one that two others predict
LOOSER = 0.3  # times the last betas, for the solution of more rows
NEARBY = 10.0  # times the error that was allowed last: that of the first iteration with another penalty
TIGHTER = 0.1  # times the error with which the last penalty began is the least one: a gap may be small by chance
HARD = 10  # Newton steps of the last penalty, from which on dual ascent is tried
OF_ROWS = ("z", "u", "Xw")
ARRAYS = ("w", "v", "theta", "v_before", "Aw", "theta_next", "diagonal", "best_w", *OF_ROWS)
MOST_STREAMED = 4000  # features of rows that are read block by block, for which Newton's matrix is dense
NUMBERS = (
    "beta_z",
    "beta",
    "iteration",
    "newton_steps",
    "allowed",
    "best_primal",
    "ascending",
    "moved",
    "steps_before",
    "allowed_first",
)


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
    >>> result.w.round(6), result.status.name
    (array([1.5, 2.5]), 'converged')
    """

    takes_streams: ClassVar[bool] = True
    extrapolates: ClassVar[bool] = True
    narrows: ClassVar[bool] = True
    loss_functions: ClassVar[tuple[str, ...]] = ("prox",)
    default_epochs: ClassVar[float] = 1000.0

    def check(self, problem: Problem) -> None:
        if problem.source is not None and problem.d > MOST_STREAMED:
            raise Unfit(
                f"ALM needs a dense matrix of {problem.d} x {problem.d} for rows from a source, which may have at most "
                f"{MOST_STREAMED} features; use AdaSADMM()"
            )

    def begin(self, problem: Problem, start: Point) -> Run:
        return AugmentedLagrangianRun(problem if problem.source is None else problem.by_passes, self, start)


class AugmentedLagrangianRun(InnerProblem, Run):
    """The augmented Lagrangian method on one problem; an iteration is a minimum of L_beta and a step of the duals."""

    def __init__(self, problem: Problem, solver: Solver, start: Point) -> None:
        self._prepare(problem)
        self.solver = solver
        self.w, self.v, self.theta = (array.copy() for array in start)
        self.v_before, self.theta_next = self.v.copy(), self.theta.copy()
        self.z, self.u = np.empty(problem.n), np.zeros(problem.n)
        products.product(problem.rows.X, self.w, self.z)
        self.Xw, self.Aw = self.z.copy(), problem.times_A(self.w)
        self.iteration, self.newton_steps = 0, 0
        self.steps_before, self.allowed_first = 0, 0.0  # the steps, and the error, with which this penalty began
        self.allowed = math.inf  # the error that Newton's method may leave, as a cost of the dual value
        self.best_dual, self.best_primal, self.best_w = BestDual(), math.inf, self.w.copy()
        self._measure()
        self.ascending = not self.w.any() and dual_start.is_cheap(problem, self.units)
        self.moved = 0.0  # how far ascent moved the predictions at last
        self._set_first_betas()
        if self.w.any():
            self.u[:] = duality.slopes(problem, self.z) / self.beta_z

    def _measure(self) -> None:
        """The units, and a sample of the rows if these are many."""
        problem = self.problem
        least = max(SAMPLE, SAMPLE_A_FEATURE * problem.d)
        count = (
            max(least, min(STREAMED * least, problem.n // SAMPLED)) if matrices.is_streamed(problem.rows.X) else least
        )
        self.sample_gap = SAMPLE_GAP * least / count
        X, c = problem.rows.X, problem.rows.c / problem.n
        squares = np.zeros(problem.d)
        with matrices.riding(X, products.gram_diagonal, squares.__iadd__, c) as rider:
            self.sample = problem.sampled(count) if SAMPLED * count <= problem.n else problem
        self.units = measured(problem, self.sample, squares if rider.is_done else products.gram_diagonal(X, c))

    def _set_first_betas(self) -> None:
        """The betas of a start at w."""
        self.diagonal = self.units.curvature.copy()  # of Newton's matrix
        self.beta_z, self.beta = self.units.beta_z, NO_BETA * self.units.even
        if self.w.any():
            self.beta_z, self.beta = WARM * self.beta_z, WARM * self._first_beta()

    def _begin_with_sample(self) -> None:
        """If rows are many, the first iterations use a sample: its w is near the solution, and its betas are right.

        If that is hard, or so easy that the loss almost vanishes, the sample says too little.
        """
        few = AugmentedLagrangianRun(self.sample, self.solver, self.point)
        if (
            not few._reaches(self.sample_gap, SAMPLE_ITERATIONS)
            or few.certify().primal <= EASY * few.problem.loss_at_zero
        ):
            return
        self.w[:], self.v[:], self.theta[:] = few.point
        self.is_elsewhere = True
        self.Aw[:] = self.problem.times_A(self.w)
        self.beta_z, self.beta = few.beta_z, few.beta
        self.allowed = INNER * self.sample_gap * abs(few.certify().primal)

    def _reaches(self, gap: float, iterations: int) -> bool:
        """Whether the relative gap falls this low within a few iterations."""
        for _ in range(iterations):
            try:
                self.advance(Iterations(1))
            except np.linalg.LinAlgError:
                return False
            if not self.is_finite():
                return False
            if self.certify().relative_gap <= gap:
                return True
        return False

    # --- iterations --------------------------------------------------------------------------------------------------

    def advance(self, work: Work) -> None:
        """Each iteration: the minimum of L_beta, the step of the duals, and a larger beta if that was easy."""
        assert isinstance(work, Iterations)
        if self.iteration == 0 and self.sample is not self.problem and not self.w.any():
            self.ascending = self.ascending and dual_start.few_move(self.ascent)
            if not self.ascending:
                self._begin_with_sample()
        for _ in range(work.number):
            self.iteration += 1
            self.v_before[:] = self.v
            if self.ascending:
                self._ascend()
                continue
            steps = self._minimise()
            if not self.is_finite():
                return  # the caller tests for that
            self.u += self.Xw - self.z
            self.theta[:] = self.theta_next
            growth = next(factor for most, factor in GROWTH if steps <= most)
            unit = self.units.beta_z / self.beta_z
            growth = min(max(growth, LEAST_BETA_Z * unit), MOST_BETA_Z * unit)
            if self._constraints_hold():
                growth = min(growth, 1.0)
            self.beta = self.beta * growth if self.beta > NO_BETA * self.units.even else self._first_beta()
            self.beta_z *= growth
            self.u /= growth
            self.newton_steps += steps
            self.next_rows = self._all_rows(self.iteration + 1)
            with self.next_rows.riding():
                self.allowed = self._next_allowed(self.certify())  # last: it depends on nothing but the saved state

    def _ascend(self) -> None:
        """An iteration by dual coordinate ascent.

        It goes on while the gap falls fast; then Newton's method takes over. If the gap is still large, ascent is slow
        on this problem, and its end is no better a start than 0.
        """
        if self.iteration == 1:
            moved = dual_start.first(self.ascent, s := self.ascent.first_slopes(), self.theta)
        else:
            last = dual_start.Moved(self.w, self.Xw, self.moved)
            moved = dual_start.advance(self.ascent, last, s := self.beta_z * self.u, self.theta)
        self._move_to(moved.w, moved.Xw)
        self.moved = moved.step
        self.u[:] = s / self.beta_z
        if not self.is_finite():
            return  # the caller tests for that
        if math.isfinite(self.best_primal):
            between = dual_start.best_between(self.problem, self.best_w, moved)
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

    @functools.cached_property
    def ascent(self) -> Ascent:
        return Ascent(self.problem)

    def _move_to(self, w: np.ndarray, Xw: np.ndarray) -> None:
        """Another w, with the beta and the v that belong to it."""
        self.w[:], self.Xw[:] = w, Xw
        self.Aw[:] = self.problem.times_A(self.w)
        if self.w.any():
            self.beta = WARM * self._first_beta()
        self.v[:], _ = self.envelope.prox(self._target(self.Aw), self.beta)

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

    def _constraints_hold(self) -> bool:
        """Whether ``X w = z`` and ``A w - b = v`` up to rounding, so that a larger beta would only add rounding."""
        pairs = (self.Xw, self.z), (self.Aw, self.v + self.problem.b)
        return all(np.max(np.abs(a - b), initial=0.0) <= ROUNDING * np.max(np.abs(a), initial=0.0) for a, b in pairs)

    def _first_beta(self) -> float:
        """A beta with which penalty and constraint have equal weight; without a penalty, rows and constraint."""
        size = float(self.Aw @ self.Aw)
        value = self.problem.penalty_value(self.Aw - self.problem.b)
        even = even_beta(self.diagonal, products.gram_diagonal(self.problem.A, np.ones(self.problem.m)))
        if size > 0.0 and 0.0 < value < math.inf:
            return min(max(FIRST_BETA * value / size, 2.0 * NO_BETA * self.units.even), MOST_UNEVEN * even)
        return max(even, 2.0 * NO_BETA * self.units.even)

    # --- the point ---------------------------------------------------------------------------------------------------

    @property
    def point(self) -> Point:
        return Point(self.w, self.v, self.theta)

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

    def certify(self) -> Certificate:
        """The certificate of the best point so far, with the best dual value so far."""

        def compute() -> Certificate:
            self.problem.last_products.remember(self.w, self.Xw)
            found = feasible_point(self.problem, self.w, self.v)
            if found.value <= self.best_primal:
                self.best_primal, self.best_w[:] = found.value, found.w
            dual = duality.dual_value(self.problem, self.w, *self.dual_point())
            reason = "" if math.isfinite(self.best_primal) else found.reason
            return duality.certificate(self.problem, (self.w, self.v), (self.best_primal, reason), dual)

        return self.best_dual.find(self.problem, self.iteration, compute)

    # --- the state by name -------------------------------------------------------------------------------------------

    def state(self) -> NamedState:
        return saved_attributes(self, ARRAYS, NUMBERS)

    def restore(self, state: NamedState) -> None:
        restore_attributes(self, state, ARRAYS, NUMBERS)
        self.next_rows = None

    # --- starts from the solution of a similar problem ---------------------------------------------------------------

    # Another penalty or ridge, or only some of the rows: the duals of the solved problem are close to those of the new
    # one, and the betas decide how far they can move in an iteration.

    def fork(self, problem: Problem | None) -> Self:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        problem = problem if problem.source is None else problem.by_passes
        if not matrices.equal(problem.rows, self.problem.rows):
            return type(self)(problem, self.solver, self.point)
        fork = self._copy()
        if problem is self.problem:
            return fork
        # Another penalty or ridge needs other duals: with the betas of a warm start they can move.
        fork._prepare(problem)
        if self.iteration == 0 or problem.loss is not self.problem.loss:
            fork._measure()
        if "ascent" in vars(self):
            vars(fork)["ascent"] = self.ascent.of(problem)
        fork._set_first_betas()
        fork._begin_again(self)
        return fork

    def narrowed(self, problem: Problem, rows: np.ndarray) -> Self | None:
        """The same with betas that let the duals move; None after dual ascent, which is fast along a path."""
        if self.ascending:
            return None
        run = self._copy()
        for name in OF_ROWS:
            setattr(run, name, getattr(self, name)[rows])
        vars(run).pop("ascent", None)
        run._prepare(problem)
        run.beta_z, run.beta = LOOSER * self.beta_z, LOOSER * self.beta
        run._begin_again(self)
        return run

    def _copy(self) -> Self:
        other = copy.copy(self)
        for name in ARRAYS:
            setattr(other, name, getattr(self, name).copy())
        other.best_dual, other.next_rows = copy.copy(self.best_dual), None
        return other

    def _begin_again(self, last: Self) -> None:
        """Keep the duals of the last run; what was found for its problem says nothing about this one."""
        problem = self.problem
        self.best_dual.reset()
        self.u *= last.beta_z / self.beta_z
        self.theta[:] = into_domain(problem, self.theta)
        self.steps_before = self.newton_steps
        self.allowed = max(NEARBY * last.allowed, TIGHTER * last.allowed_first)
        self.allowed_first = self.allowed if math.isfinite(self.allowed) else 0.0
        self.best_primal = math.inf
        if not matrices.is_streamed(problem.rows.X):  # where it would be another pass over a source
            self.best_primal, self.best_w[:], _ = feasible_point(problem, last.answer, last.v)

    def extrapolate(self, last: Run, before: Run, times: float) -> None:
        assert isinstance(last, AugmentedLagrangianRun) and isinstance(before, AugmentedLagrangianRun)
        for name in ("w", "Xw", "Aw", "theta"):
            getattr(self, name)[:] = beyond(getattr(last, name), getattr(before, name), times)
        self.theta[:] = into_domain(self.problem, self.theta)
        s, near = beyond(last.beta_z * last.u, before.beta_z * before.u, times), None
        if last.ascending or last.newton_steps - last.steps_before >= HARD:
            near = dual_start.predicted(self.problem, self.units, (self.w, s, self.theta), self.best_primal)
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
