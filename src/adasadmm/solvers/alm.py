"""The augmented Lagrangian method: it minimises jointly what batch ADMM minimises in turns.

Batch ADMM splits off ``z = X w`` and ``v = A w - b`` and minimises L_beta alternately over w, and over z and v. For a
given w the best z and v are a prox each, so that L_beta is a function of w alone,

    psi(w) = 1/n sum_i c_i e(x_i'w + u_i) + 1/2 sum_j gamma_j w_j^2 + E(A w - b - theta/beta),

with e and E the Moreau envelopes of loss and penalty: convex, once differentiable, and twice almost everywhere. A few
Newton steps minimise it. Then ``s = beta_z u`` and theta are a dual point that is stationary to rounding, and while
beta grows the gap falls by a constant factor with each iteration.

In Newton's matrix a row counts by the curvature of its envelope: for the hinge loss, only the rows at the kink count.
If these are many more than features, an evenly spaced sample of them is used, with larger weights.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from typing import Any, ClassVar

import numpy as np

from .. import penalties
from .._core.jit import is_registered
from ..certificates import BestDual, duality
from ..certificates.ascent import Ascent
from ..certificates.primal import feasible_point
from ..certificates.trace import Certificate
from ..linalg import matrices, products
from ..linalg.systems import System
from ..problem import Problem
from . import dual_start, newton
from .base import Monitor, NamedState, Point, Run, Slopes, Solver
from .newton import PROBE, TINY, RowTerms, prox
from .units import even_beta, measured
from .work import Iterations, Work

__all__ = ["ALM", "AugmentedLagrangianRun"]

FIRST_BETA = 0.5  # in units of penalty / |A w|^2
WARM = 30.0  # times these for a start that is not 0, and so not far from the solution
LEAST_BETA_Z, MOST_BETA_Z = 1e-3, 1e12  # of the first
MOST_UNEVEN = 1e4  # times the beta with which constraint and rows have equal weight
ROUNDING = 1e-13
NO_BETA = 1e-9  # of the beta with which constraint and rows have equal weight: until a step tells how large A w is
INNER = 0.15  # Newton's method stops when its remaining error costs the dual value this part of the gap
MOST_STEPS = 40
GROWTH = ((4, 3.0), (8, 2.0), (20, 1.3), (MOST_STEPS, 0.5))  # Newton steps of an iteration: the factor for beta
ROWS_A_FEATURE, FEW_ROWS = 6, 4000  # in Newton's matrix at least
PASSES = 4  # over X that forming it may cost
MORE_ROWS = 3  # steps of an iteration after which the rows in it double
NEWTON_RESIDUAL = 1e-3  # relative, of the solution of Newton's system
PACE = 0.75  # dual ascent goes on while it reduces the gap to this part of the last one
USEFUL = 0.1  # relative gap of a start
SAMPLE, SAMPLE_A_FEATURE = 4000, 40  # rows
SAMPLED = 8  # times the sample is the least number of rows at which it saves time
SAMPLE_GAP, SAMPLE_ITERATIONS = 1e-2, 20
EASY = 1e-2  # of the loss at 0
MOST_STREAMED = 4000  # features of rows that are read block by block, for which Newton's matrix is dense
ARRAYS = ("w", "v", "theta", "z", "u", "v_before", "Xw", "Aw", "theta_next", "diagonal", "best_w")
NUMBERS = ("beta_z", "beta", "iteration", "newton_steps", "allowed", "best_primal", "ascending")


@dataclasses.dataclass(frozen=True)
class ALM(Solver):
    """The augmented Lagrangian method: w, z = X w and v = A w - b are minimised jointly, by Newton's method.

    In memory it is the fastest solver of this package wherever rows are many more than features, to any accuracy. It
    has no settings, and needs B = -I.

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

    uses_all_rows: ClassVar[bool] = True
    takes_any_B: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    exact_v: ClassVar[bool] = True
    loss_functions: ClassVar[tuple[str, ...]] = ("prox",)
    default_epochs: ClassVar[float] = 1000.0
    fit_epochs: ClassVar[int] = 1000
    separable_w_step: ClassVar[bool] = False  # type: ignore[assignment]

    def check(self, problem: Problem) -> None:
        if problem.source is not None and problem.d > MOST_STREAMED:
            raise ValueError(
                f"ALM needs a dense matrix of {problem.d} x {problem.d} for rows from a source, which may have at most "
                f"{MOST_STREAMED} features; use AdaSADMM()"
            )

    def begin(self, problem: Problem, start: Point) -> Run:
        return AugmentedLagrangianRun(problem if problem.source is None else problem.by_passes, self, start)


class AugmentedLagrangianRun(Run):
    """The augmented Lagrangian method on one problem; an iteration is a minimum of L_beta and a step of the duals."""

    def __init__(self, problem: Problem, solver: Solver, start: Point) -> None:
        self.problem, self.solver = problem, solver
        self.w, self.v, self.theta = (array.copy() for array in start)
        self.v_before, self.theta_next = self.v.copy(), self.theta.copy()
        self.z, self.u = np.empty(problem.n), np.zeros(problem.n)
        products.product(problem.rows.X, self.w, self.z)
        self.Xw, self.Aw = self.z.copy(), problem.times_A(self.w)
        self.penalty, self.separable = problem.v_step[1], _separable(problem)
        self.iteration, self.newton_steps = 0, 0
        self.allowed = math.inf  # the error that Newton's method may leave, as a cost of the dual value
        self.best_dual, self.best_primal, self.best_w = BestDual(), math.inf, self.w.copy()
        self.system: System | None = None  # Newton's, from the first step on
        count = max(SAMPLE, SAMPLE_A_FEATURE * problem.d)
        self.sample = problem.sampled(count) if SAMPLED * count <= problem.n else problem
        self.units = measured(problem, self.sample)
        self.beta_z, self.beta = self.units.beta_z, NO_BETA * self.units.even
        self.diagonal = self.units.curvature.copy()  # of Newton's matrix
        self.ascending = self.sample is problem and not self.w.any() and dual_start.is_cheap(problem, self.units)
        if self.w.any():
            self.beta_z, self.beta = WARM * self.beta_z, WARM * self._first_beta()
            self.u[:] = duality.slopes(problem, self.z) / self.beta_z

    def _begin_with_sample(self) -> None:
        """If rows are many, the first iterations use a sample: its w is near the solution, and its betas are right.

        If that is hard, or so easy that the loss almost vanishes, the sample says too little.
        """
        few = AugmentedLagrangianRun(self.sample, self.solver, self.point)
        if not few._reaches(SAMPLE_GAP, SAMPLE_ITERATIONS) or few.certify().primal <= EASY * few.problem.loss_at_zero:
            return
        self.w[:], self.v[:], self.theta[:] = few.point
        products.product(self.problem.rows.X, self.w, self.Xw)
        self.Aw[:] = self.problem.times_A(self.w)
        self.beta_z, self.beta = few.beta_z, few.beta
        self.allowed = INNER * SAMPLE_GAP * abs(few.certify().primal)

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
            self.allowed = self._next_allowed(self.certify())  # last: it depends on nothing but the saved state

    def _ascend(self) -> None:
        """An iteration by dual coordinate ascent.

        It goes on while the gap falls fast; then Newton's method takes over. If the gap is still large, ascent is slow
        on this problem, and its end is no better a start than 0.
        """
        first = self.iteration == 1
        s = self.ascent.first_slopes() if first else self.beta_z * self.u
        moved = None if first else float(np.mean(np.abs(self.Xw - self.z)))
        w = dual_start.advance(self.ascent, (self.w, self.Xw), (s, self.theta), moved)
        self.z[:] = self.Xw
        self._move_to(w)
        self.u[:] = s / self.beta_z
        if not self.is_finite():
            return  # the caller tests for that
        found, before = self.certify(), self.allowed
        self.allowed = self._next_allowed(found)
        self.ascending = self.allowed <= PACE * before
        if not self.ascending and found.relative_gap <= USEFUL:
            self.beta_z, self.u = WARM * self.beta_z, self.u / WARM
        elif not self.ascending:
            self.theta[:], self.u[:], self.allowed, self.beta = 0.0, 0.0, math.inf, NO_BETA * self.units.even
            self._move_to(np.zeros(self.problem.d))

    @functools.cached_property
    def ascent(self) -> Ascent:
        return Ascent(self.problem)

    def _move_to(self, w: np.ndarray) -> None:
        """Another w, with the predictions, the beta and the v that belong to it."""
        self.w[:] = w
        products.product(self.problem.rows.X, self.w, self.Xw)
        self.Aw[:] = self.problem.times_A(self.w)
        if self.w.any():
            self.beta = WARM * self._first_beta()
        self.v[:], _ = self._constraint(self.Aw)

    def _minimise(self) -> int:
        """w, and the z, v and theta that belong to it; returns the number of Newton steps.

        After a step with all rows, only those take part whose slopes may still change, until that is done for them. The
        minimum is found when a gradient of all rows says so.
        """
        steps, rows = 0, self._all_rows()
        while True:
            pull = self._pull(rows, rows.slopes(), steps)
            gradient = self._gradient(pull / self.problem.n)
            length = 0.0
            if steps < MOST_STEPS and (steps == 0 or self._excess(gradient) > self.allowed):
                p = -self._newton_step(gradient, rows, steps)
                Xp, Ap = rows.product(p), self.problem.times_A(p)
                length = self._length(rows, p, Xp, Ap, float(gradient @ p))
            if length > 0.0:
                steps += 1
                near = rows if rows.chosen is not None else rows.near(max(length, 1.0) * Xp, pull)
                near.Xw += length * (Xp if near is rows else Xp[near.chosen])
                self.w += length * p
                self.Aw += length * Ap
                rows = near
            elif rows.chosen is None:
                return steps
            else:
                products.product(self.problem.rows.X, self.w, self.Xw)
                rows = self._all_rows()

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

    def _gradient(self, pull: np.ndarray) -> np.ndarray:
        """The gradient of psi from that of the rows' part; also sets v and the theta that would follow."""
        self.v[:], self.theta_next[:] = self._constraint(self.Aw)
        return pull + self.problem.gamma * self.w - self.problem.times_A_transposed(self.theta_next)

    def _constraint(self, Aw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best v for a given A w, and the theta after it."""
        x = Aw - self.problem.b - self.theta / self.beta
        v = np.empty_like(x)
        prox(self.penalty, x, 1.0 / self.beta, v)
        return v, -self.beta * (x - v)

    def _excess(self, gradient: np.ndarray) -> float:
        """What this gradient costs the dual value; without a ridge, for a w of the size to be expected."""
        gamma, size = self.problem.gamma, np.abs(self.w)
        with np.errstate(divide="ignore"):
            cost = np.where(gamma > 0.0, gradient**2 / (2.0 * gamma), np.abs(gradient) * (size + self.units.reach))
        return float(np.sum(cost))

    def _length(self, rows: RowTerms, p: np.ndarray, Xp: np.ndarray, Ap: np.ndarray, first_slope: float) -> float:
        """The length of the step along p."""

        def slope(length: float) -> float:
            _, theta = self._constraint(self.Aw + length * Ap)
            ridge = self.problem.gamma * (self.w + length * p)
            return rows.slope(p, Xp, length) / self.problem.n + float(ridge @ p) - float(theta @ Ap)

        return newton.step_length(slope, first_slope)

    def _pull(self, rows: RowTerms, slopes: np.ndarray, step: int) -> np.ndarray:
        """The rows' part of the gradient; where that is a pass, with that of Newton's matrix for the step to come."""
        if not matrices.is_streamed(rows.X):
            return rows.pull(slopes)
        weights = self._curved_rows(rows, step)
        pull, of_X = products.transposed_product_and_gram(rows.X, slopes, weights)
        self.system = self.problem.system
        self.system.know(weights, of_X)
        return pull

    def _newton_step(self, gradient: np.ndarray, rows: RowTerms, step: int) -> np.ndarray:
        """The inverse of the second derivative of psi, times its gradient."""
        if self.system is None:
            self.system = self.problem.system
        weights = self._curved_rows(rows, step)
        self.system.factor(weights, self.beta * self._constraint_curvature(), self.units.ridge)
        self.diagonal[:] = self.system.diagonal
        return self.system.solve(gradient, NEWTON_RESIDUAL)

    def _curved_rows(self, rows: RowTerms, step: int) -> np.ndarray:
        """The weight of each row in Newton's matrix; 0 for rows without curvature, or outside of the sample."""
        curvature, times = rows.curvature(), 2 ** (step // MORE_ROWS)
        curved = np.flatnonzero(curvature)
        n, d = self.problem.n, self.problem.d
        affordable = PASSES * 2 * n * n // max(1, matrices.size(self.problem.rows.X))
        every = max(1, len(curved) // (times * max(ROWS_A_FEATURE * d, affordable, FEW_ROWS)))
        used = curved[self.iteration % every :: every]
        share = len(curved) / max(1, len(used))
        weights = np.zeros(n)
        weights[used if rows.chosen is None else rows.chosen[used]] = share * self.beta_z / n * curvature[used]
        return weights

    def _constraint_curvature(self) -> np.ndarray:
        """1 - the derivative of the prox of each constraint; a bound if the prox couples coordinates."""
        x = self.Aw - self.problem.b - self.theta / self.beta
        off = x - self.v
        step = PROBE * (np.abs(x) + np.abs(off)) + TINY
        probed = np.empty_like(x)
        prox(self.penalty, x + step, 1.0 / self.beta, probed)
        curvature = np.where(self.separable, 1.0 - (probed - self.v) / step, off / np.where(x == 0.0, 1.0, x))
        curvature[(x == 0.0) & ~self.separable] = 1.0
        return np.where(curvature > PROBE, np.minimum(curvature, 1.0), 0.0)

    def _all_rows(self) -> RowTerms:
        X, y, c = self.problem.rows
        return RowTerms(X, newton.Envelopes(self.problem.loss, y, c, self.Xw, self.u, self.beta_z), self.z)

    def _first_beta(self) -> float:
        """A beta with which penalty and constraint have equal weight; without a penalty, rows and constraint."""
        size = float(self.Aw @ self.Aw)
        value = self.problem.penalty_value(self.Aw - self.problem.b)
        even = even_beta(self.diagonal, products.gram_diagonal(self.problem.A, np.ones(self.problem.m)))
        if size > 0.0 and 0.0 < value < math.inf:
            return min(max(FIRST_BETA * value / size, 2.0 * NO_BETA * self.units.even), MOST_UNEVEN * even)
        return max(even, 2.0 * NO_BETA * self.units.even)

    # --- the point ---------------------------------------------------------------------------------------------------

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.w).all() and np.isfinite(self.theta).all())

    @property
    def point(self) -> Point:
        return Point(self.w, self.v, self.theta)

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.w, self.v

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
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return arrays | {name: getattr(self, name) for name in NUMBERS} | {"best_dual": self.best_dual.best}

    def restore(self, state: NamedState) -> None:
        for name in ARRAYS:
            getattr(self, name)[...] = state[name]
        for name in NUMBERS:
            setattr(self, name, state[name])
        self.best_dual.best = float(state["best_dual"])
        self.best_dual.forget()

    def fork(self, problem: Problem | None) -> AugmentedLagrangianRun:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        problem = problem if problem.source is None else problem.by_passes
        fork = AugmentedLagrangianRun(problem, self.solver, self.point)
        if not _equal(problem.rows, self.problem.rows):
            return fork
        fresh = fork.beta_z, fork.beta
        fork.restore(self.state())
        fork.done, fork.seconds = self.done, self.seconds
        if problem is self.problem:
            fork.best_dual = copy.copy(self.best_dual)
            return fork
        # Another penalty or ridge needs other duals: beta returns half of the way, so that they can move.
        fork.beta_z, fork.beta = (
            math.sqrt(pair[0] * pair[1]) for pair in zip(fresh, (self.beta_z, self.beta), strict=True)
        )
        fork.u *= self.beta_z / fork.beta_z
        fork.best_dual.reset()
        fork.best_primal, fork.allowed = math.inf, math.inf
        return fork


def _equal(one: Any, other: Any) -> bool:
    """Whether two arrays, or two tuples of them, hold the same numbers."""
    if one is other:
        return True
    if not isinstance(one, tuple):
        return np.array_equal(one, other)
    return isinstance(other, tuple) and len(one) == len(other) and all(map(_equal, one, other))


def _separable(problem: Problem) -> np.ndarray:
    """Which coordinates of v the penalty treats one by one."""
    found = np.ones(problem.p, dtype=bool)
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        found[rows] = is_registered(penalties.prox_at, part)
    return found
