"""The augmented Lagrangian method: what batch ADMM minimises in turns, minimised at once.

Batch ADMM splits off ``z = X w`` and ``v = A w - b`` and minimises L_beta alternately over w, and over z and v. For a
given w the best z and v are a prox each, so that L_beta is a function of w alone,

    psi(w) = 1/n sum_i c_i e(x_i'w + u_i) + 1/2 sum_j gamma_j w_j^2 + E(A w - b - theta/beta),

e and E the Moreau envelopes of loss and penalty: convex, once differentiable, and twice almost everywhere. A few Newton
steps minimise it. Then ``s = beta_z u`` and theta are a dual point that is stationary to rounding, and while beta grows
the gap falls by a constant factor with each iteration.

Newton's matrix counts a row by how much its prox bends: for the hinge loss, only the rows at the kink. Where these are
many more than features, an evenly spaced part of them stands for all.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import losses, penalties
from .._core.jit import is_registered
from .._core.threads import side_by_side
from ..certificates import duality
from ..certificates.trace import Certificate
from ..linalg import matrices, products
from ..problem import Problem
from . import newton
from .batch import BatchRun
from .newton import PROBE, TINY, bend_of_rows, prox, pull_of_rows, slope_of_rows

__all__ = ["MultiplierRun"]

FIRST_BETA_Z = 0.1  # in units of slope^2 / loss where nothing is predicted
FIRST_BETA = 0.5  # in units of penalty / |A w|^2
WARM = 30.0  # times that for a start which is not 0, and so not far from the answer
LEAST_BETA_Z = 1e-3  # of the first
MOST_UNEVEN = 1e4  # times the beta with which constraint and rows weigh alike
ROUNDING = 1e-13
NO_BETA = 1e-9  # of beta_z: until the first step tells how large A w is
INNER = 0.15  # Newton stops where what is left costs the dual value this part of the gap
MOST_STEPS = 40
GROWTH = ((4, 3.0), (8, 2.0), (20, 1.3), (MOST_STEPS, 0.5))  # steps that an iteration took: what beta is multiplied by
ROWS_A_FEATURE, FEW_ROWS = 6, 4000  # in Newton's matrix at least
PASSES = 4  # over X that making it may cost
MORE_ROWS = 3  # steps of an iteration after which these double
DENSE_FEATURES = 2000  # up to which Newton's matrix is made and factored
STEEP, FLAT = 0.5, 0.3  # of the first slope: above the one a full step is too long, below the other the search ends
LOOKS = 30
HOLD = 1e-4  # of the curvature at the start: where no row bends, and there is no ridge, a step stays within reach
SAMPLE, SAMPLE_A_FEATURE = 4000, 20  # rows
SAMPLED = 16  # times as many rows there must be: with fewer, the sample costs what it saves
SAMPLE_GAP, SAMPLE_ITERATIONS = 1e-2, 20
EASY = 1e-2  # of the loss at 0


class MultiplierRun(BatchRun):
    """The state of the augmented Lagrangian method; an iteration is a minimum of L_beta and a step of the duals."""

    numbers = (*BatchRun.numbers, "newton_steps", "allowed")

    def _prepare(self) -> None:
        problem = self.problem
        self.pieces = products.pieces(problem.rows.X)
        self.z, self.u = (self.memory.of(0)[name] for name in ("z", "u"))  # of the one block in memory
        self.Xw, self.Aw = self.z.copy(), problem.times_A(self.state.w)
        self.theta_next = self.state.theta.copy()
        self.separable = _separable(problem)
        self.newton_steps = 0
        self.allowed = math.inf  # what Newton may leave over, as a cost of the dual value
        count = max(SAMPLE, SAMPLE_A_FEATURE * problem.d)
        self.sample = problem.sampled(count) if SAMPLED * count <= problem.n else problem
        self._measure(self.sample)
        if self.state.w.any():
            self.beta_z, self.beta = WARM * self.beta_z, WARM * self._first_beta()
            self.u[:] = duality.slopes(problem, self.z) / self.beta_z

    def _measure(self, problem: Problem) -> None:
        """The units of what follows, from some rows or all; those of each column from all, as a sample may miss it."""
        _, y, c = problem.rows
        unit = float(np.mean(c * duality.slopes(problem, np.zeros(problem.n)) ** 2))
        depth = problem.loss_at_zero  # above the least loss there is
        if not duality.missing_conjugate(problem):
            depth += float(losses.mean_conjugate(problem.loss, np.zeros(problem.n), y, c))
        unit /= max(depth, TINY)
        self.beta_z = FIRST_BETA_Z * (unit if 0.0 < unit < math.inf else 1.0)
        self.beta, self.least_beta_z = NO_BETA * self.beta_z, LEAST_BETA_Z * self.beta_z
        squares = products.gram_diagonal(self.problem.rows.X, self.problem.rows.c / self.problem.n)
        curvature = self.beta_z * squares
        with np.errstate(divide="ignore"):  # a w that moves predictions as far as the loss at 0 is wide
            self.reach = np.sqrt(FIRST_BETA_Z * depth / np.where(squares > 0.0, curvature, np.inf))
        gamma = self.problem.gamma
        self.ridge = np.where(gamma > 0.0, gamma, HOLD * np.where(curvature > 0.0, curvature, 1.0))
        self.diagonal = curvature  # of Newton's matrix

    def _begin_with_few(self) -> None:
        """Where rows are many, the first iterations go over a sample of them: its w is near, and so are its betas.

        Where that is hard, or so easy that the loss all but vanishes, the sample says too little.
        """
        few = MultiplierRun(self.sample, self.solver, self.state.w, self.state.v, self.state.theta)
        if not few._comes_to(SAMPLE_GAP, SAMPLE_ITERATIONS) or few.certify().primal <= EASY * few.problem.loss_at_zero:
            return
        for name in ("w", "v", "theta"):
            getattr(self.state, name)[:] = getattr(few.state, name)
        products.product(self.problem.rows.X, self.state.w, self.Xw)
        self.Aw[:] = self.problem.times_A(self.state.w)
        self.beta_z, self.beta = few.beta_z, few.beta
        self.allowed = INNER * SAMPLE_GAP * abs(few.certify().primal)

    def _comes_to(self, gap: float, iterations: int) -> bool:
        """Whether the relative gap falls so low in a few iterations."""
        for _ in range(iterations):
            try:
                self.advance(1)
            except np.linalg.LinAlgError:
                return False
            if not self.is_finite():
                return False
            if self.certify().relative_gap <= gap:
                return True
        return False

    def advance(self, iterations: int) -> None:
        """Do some iterations: the minimum of L_beta, the duals' step, and a larger beta where that was easy."""
        start = time.perf_counter()
        if self.iteration == 0 and self.sample is not self.problem and not self.state.w.any():
            self._begin_with_few()
        for _ in range(iterations):
            self.iteration += 1
            self.v_before[:] = self.state.v
            steps = self._minimise()
            if not self.is_finite():
                return  # to whoever looks at that
            self.u += self.Xw - self.z
            self.state.theta[:] = self.theta_next
            growth = next(factor for most, factor in GROWTH if steps <= most)
            growth = max(growth, self.least_beta_z / self.beta_z)
            if self._constraints_hold():
                growth = min(growth, 1.0)
            self.beta = self.beta * growth if self.beta > NO_BETA * self.beta_z else self._first_beta()
            self.beta_z *= growth
            self.u /= growth
            self.newton_steps += steps
            found = self.certify()  # last, of a state that a checkpoint keeps to the bit
            self.allowed = INNER * min(found.gap, abs(found.primal))
        self.seconds += time.perf_counter() - start

    # --- the minimum of L_beta ---------------------------------------------------------------------------------------

    def _minimise(self) -> int:
        """w, and the z, v and theta that belong to it; returns the number of Newton steps."""
        state = self.state
        for step in range(MOST_STEPS + 1):
            gradient = self._gradient()
            if step == MOST_STEPS or (step > 0 and self._excess(gradient) <= self.allowed):
                break
            p = -self._newton(gradient, step)
            Xp, Ap = np.empty_like(self.Xw), self.problem.times_A(p)
            products.product(self.problem.rows.X, p, Xp)
            length = self._length(p, Xp, Ap, float(gradient @ p))
            state.w[:] += length * p
            self.Xw += length * Xp
            self.Aw += length * Ap
        return step

    def _constraints_hold(self) -> bool:
        """Whether ``X w = z`` and ``A w - b = v`` up to rounding: then a larger beta would only add to that."""
        pairs = (self.Xw, self.z), (self.Aw, self.state.v + self.problem.b)
        return all(np.max(np.abs(a - b), initial=0.0) <= ROUNDING * np.max(np.abs(a), initial=0.0) for a, b in pairs)

    def _gradient(self) -> np.ndarray:
        """The gradient of psi; on the way z, v and the theta that would follow."""

        def of(rows: slice) -> np.ndarray:
            out = np.zeros(self.problem.d)
            pull_of_rows(*self._of_rows(), self.z, rows.start, rows.stop, out)
            return out

        pull = sum(self._on_rows(of)) / self.problem.n
        self.state.v[:], self.theta_next[:] = self._constraint(self.Aw)
        return pull + self.problem.gamma * self.state.w - self.problem.times_A_transposed(self.theta_next)

    def _constraint(self, Aw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best v for a given A w, and the theta after it."""
        x = Aw - self.problem.b - self.state.theta / self.beta
        v = np.empty_like(x)
        prox(self.model.penalty, x, 1.0 / self.beta, v)
        return v, -self.beta * (x - v)

    def _excess(self, gradient: np.ndarray) -> float:
        """What this gradient costs the dual value; where there is no ridge, for a w of the size to be expected."""
        gamma, size = self.problem.gamma, np.abs(self.state.w)
        with np.errstate(divide="ignore"):
            cost = np.where(gamma > 0.0, gradient**2 / (2.0 * gamma), np.abs(gradient) * (size + self.reach))
        return float(np.sum(cost))

    def _length(self, p: np.ndarray, Xp: np.ndarray, Ap: np.ndarray, first_slope: float) -> float:
        """How far to go along p: a full step, unless psi has turned up again by then."""

        def slope(length: float) -> float:
            def of(rows: slice) -> float:
                return slope_of_rows(*self._of_rows(), Xp, length, rows.start, rows.stop)

            _, theta = self._constraint(self.Aw + length * Ap)
            ridge = self.problem.gamma * (self.state.w + length * p)
            return sum(self._on_rows(of)) / self.problem.n + float(ridge @ p) - float(theta @ Ap)

        low, high, slope_low, slope_high = 0.0, 1.0, first_slope, slope(1.0)
        if not slope_high > -STEEP * first_slope:
            return 1.0
        for look in range(LOOKS):
            secant = slope_low / (slope_low - slope_high)
            length = low + (high - low) * (0.5 if look % 3 == 2 else min(max(secant, 0.1), 0.9))
            found = slope(length)
            if abs(found) <= -FLAT * first_slope:
                return length
            if found > 0.0:
                high, slope_high = length, found
            else:
                low, slope_low = length, found
        return low or length

    # --- Newton's matrix ---------------------------------------------------------------------------------------------

    def _newton(self, gradient: np.ndarray, step: int) -> np.ndarray:
        """The gradient over the second derivative of psi."""
        problem = self.problem
        rows, weights = self._bent_rows(2 ** (step // MORE_ROWS))
        matrix = newton.Matrix(
            matrices.taken(problem.rows.X, rows), weights, problem.A, self.beta * self._bent_constraints(), self.ridge
        )
        dense = problem.d <= DENSE_FEATURES
        found, self.diagonal[:] = newton.solved(matrix, gradient) if dense else newton.by_products(matrix, gradient)
        return found

    def _bent_rows(self, times: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows that Newton's matrix is made of, and their weights in it."""
        bend = np.empty_like(self.z)
        self._on_rows(lambda rows: bend_of_rows(*self._of_rows(), self.z, rows.start, rows.stop, bend))
        rows = np.flatnonzero(bend)
        n, d = self.problem.n, self.problem.d
        affordable = PASSES * 2 * n * n // max(1, matrices.size(self.problem.rows.X))
        every = max(1, len(rows) // (times * max(ROWS_A_FEATURE * d, affordable, FEW_ROWS)))
        chosen = rows[self.iteration % every :: every]
        share = len(rows) / max(1, len(chosen))
        return chosen, share * self.beta_z / self.problem.n * bend[chosen]

    def _bent_constraints(self) -> np.ndarray:
        """How the prox of each constraint bends; where it mixes coordinates, a bound of that."""
        x = self.Aw - self.problem.b - self.state.theta / self.beta
        off = x - self.state.v
        step = PROBE * (np.abs(x) + np.abs(off)) + TINY
        probed = np.empty_like(x)
        prox(self.model.penalty, x + step, 1.0 / self.beta, probed)
        bend = np.where(self.separable, 1.0 - (probed - self.state.v) / step, off / np.where(x == 0.0, 1.0, x))
        bend[(x == 0.0) & ~self.separable] = 1.0
        return np.where(bend > PROBE, np.minimum(bend, 1.0), 0.0)

    # --- helpers -----------------------------------------------------------------------------------------------------

    def _of_rows(self) -> tuple[Any, ...]:
        return self.problem.loss, self.problem.rows, self.Xw, self.u, self.beta_z

    def _on_rows(self, function: Any) -> list[Any]:
        return side_by_side(function, self.pieces)

    def _first_beta(self) -> float:
        """A beta with which penalty and constraint weigh alike; where there is no penalty, rows and constraint."""
        size = float(self.Aw @ self.Aw)
        value = self.problem.penalty_value(self.Aw - self.problem.b)
        A_size = float(np.sum(products.gram_diagonal(self.problem.A, np.ones(self.problem.m))))
        even = float(np.sum(self.diagonal)) / A_size if A_size > 0.0 else self.beta_z
        if size > 0.0 and 0.0 < value < math.inf:
            return min(max(FIRST_BETA * value / size, 2.0 * NO_BETA * self.beta_z), MOST_UNEVEN * even)
        return even

    # --- what is known, kept and taken up ----------------------------------------------------------------------------

    def certify(self) -> Certificate:
        if self.certified_at != self.iteration:
            self.problem.remember(self.state.w, self.Xw)
        return super().certify()

    @property
    def w_mean(self) -> np.ndarray:
        return self.state.w.copy()

    @property
    def v_mean(self) -> np.ndarray:
        return self.state.v.copy()

    def slices(self, iterations: int) -> Iterator[int]:
        yield from [1] * iterations

    def _arrays(self) -> list[np.ndarray]:
        return [*super()._arrays(), self.Xw, self.Aw, self.theta_next, self.diagonal]

    def _restore(self) -> None:
        pass

    def fork(self, problem: Problem) -> MultiplierRun:
        """A copy that goes on; on other rows a new run from the same point."""
        fork = MultiplierRun(problem, self.solver, self.state.w, self.state.v, self.state.theta)
        if not _equal(problem.rows, self.problem.rows):
            return fork
        fresh = fork.beta_z, fork.beta
        fork.load(copy.deepcopy(self.save()))
        if problem is self.problem:
            fork.certificate, fork.certified_at = self.certificate, self.certified_at
            return fork
        # Another penalty or ridge wants other duals: beta goes half the way back, that they can move.
        fork.beta_z, fork.beta = (
            math.sqrt(pair[0] * pair[1]) for pair in zip(fresh, (self.beta_z, self.beta), strict=True)
        )
        fork.u *= self.beta_z / fork.beta_z
        fork.best_dual, fork.allowed = -math.inf, math.inf
        return fork


def _equal(one: Any, other: Any) -> bool:
    """Whether two arrays, or two tuples of them, hold the same."""
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
