"""A primal-dual interior-point method: few iterations, each with one Newton system, whatever the penalty's strength.

Losses and penalties with kinks, and bounds, are box terms (`box_terms`); all other losses enter by their second
derivatives. Newton's matrix is always ``X' diag X + A' diag A + diag``, so it is solved by whichever factorisation is the
cheapest for the shapes at hand (`linalg.systems`). Each iteration is a predictor and a corrector step of Mehrotra's.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from .. import losses, penalties
from .._core.jit import is_registered
from ..certificates import BestDual, certify, duality
from ..certificates.trace import Certificate
from ..linalg import products
from ..problem import Problem
from . import ipm_steps as steps
from .base import Monitor, NamedState, Point, Run, Slopes, Solver
from .box_terms import curvature_of, loss_pieces, penalty_pieces, terms_of
from .work import Iterations, Work

__all__ = ["IPM", "InteriorPointRun"]

TINY = float(np.finfo(float).tiny)
TO_BOUNDARY = 0.99
FIRST_GAP = 10.0  # times the loss at 0 is the first complementarity, if the loss has kinks
LEAST_OF_COST, LEAST, MOST_GROWTH = 0.1, 1e-3, 10.0
SMALL = 1e-3
CURVED = 3.0  # times the expected change of the slope along a step is the most that is accepted
HALVINGS = 40
SHORT, MORE_DAMPING, LESS_DAMPING, LEAST_DAMPING = 0.3, 10.0, 0.1, 1e-6
HOLD, HOLD_EMPTY = 1e-12, 1e-8  # of the first diagonal: the proximal term of coordinates without a ridge, without data
HARDEST, SOFTEST, SOFTER, HARDER = 1e-14, 1e-6, 100.0, 0.3
HARMFUL, REFINED = 0.1, 1e-3
REFINEMENTS, ATTEMPTS = 3, 4
ARRAYS = ("w", "v", "u", "duals", "slopes", "residual")
NUMBERS = ("iteration", "gap", "length", "soft", "damping")


@dataclasses.dataclass(frozen=True)
class IPM(Solver):
    """A primal-dual interior-point method, for small and medium problems, to any accuracy.

    It needs 7 to 30 iterations, each with one Newton system. It is the method of choice where features are as many as
    rows or more; where rows are many more than features, `ALM` is faster. The loss must be piecewise linear or quadratic
    (`Hinge`, `SquaredHinge`, `Quantile`, `EpsilonInsensitive`, `Huber`), or have a ``losses.second``. The penalty must
    be `L1`, `ElasticNet`, `L2Squared`, `Zero`, `NonNegative`, `Box`, or a `Stack` of these, and B = -I.

    References
    ----------
    Mehrotra: On the Implementation of a Primal-Dual Interior Point Method. SIAM Journal on Optimization 2, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import IPM, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.25), A=[[1.0, -1.0]])
    >>> result = solve(problem, IPM(), tol=1e-9)
    >>> result.w.round(6), result.status.name
    (array([1.5, 2.5]), 'converged')
    """

    uses_all_rows: ClassVar[bool] = True
    takes_streams: ClassVar[bool] = False
    takes_any_B: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    exact_v: ClassVar[bool] = True
    default_epochs: ClassVar[float] = 100.0
    fit_epochs: ClassVar[int] = 100
    separable_w_step: ClassVar[bool] = False  # type: ignore[assignment]

    def check(self, problem: Problem) -> None:
        loss = type(problem.loss).__name__
        pieces = loss_pieces.dispatch(type(problem.loss)) is not loss_pieces.dispatch(object)
        if not pieces and not is_registered(losses.second, problem.loss):
            raise TypeError(
                f"IPM needs losses.second for {loss}; register one with @adasadmm.losses.second.register({loss}), "
                "or use ALM() or ADMM()"
            )
        sets = [] if problem.w_set is None else penalties.parts_of(problem.w_set, problem.d)
        for part, _ in (*penalties.parts_of(problem.penalty, problem.p), *sets):
            if penalty_pieces(part) is None:
                raise TypeError(
                    f"IPM takes the penalties L1, ElasticNet, L2Squared and Zero and the sets NonNegative and Box, "
                    f"got {type(part).__name__}; use ALM() or ADMM()"
                )

    def begin(self, problem: Problem, start: Point) -> Run:
        return InteriorPointRun(problem, self, start)


class InteriorPointRun(Run):
    """The interior-point method on one problem. ``u`` holds ``X w`` and after it ``A w - b``.

    ``duals`` holds the multiplier of each entry of u: a slope of the row's weighted loss, or ``-theta``.
    """

    def __init__(self, problem: Problem, solver: Solver, start: Point) -> None:
        self.problem, self.solver = problem, solver
        self.w, self.v = start.w.copy(), start.v.copy()
        self.weight = problem.rows.c / problem.n
        self.terms = terms_of(problem)
        self.smooth = not loss_pieces(problem.loss, problem.rows.y[:0])
        self.curvature = curvature_of(problem)
        number = len(self.terms.row)
        self.x, self.step = steps.Variables.zeros(number), steps.Step.zeros(number)
        self.inside = np.zeros(number, dtype=bool)
        self.ends = int(np.isfinite(self.terms.low).sum() + np.isfinite(self.terms.high).sum())
        self.system = problem.system
        self.iteration, self.length = 0, 1.0
        self.best_dual = BestDual()
        self.u = self._along(self.w)
        self.u[problem.n :] -= problem.b
        self._begin()

    def _begin(self) -> None:
        """The first t, p and q, in the units of the problem."""
        problem, n = self.problem, self.problem.n
        slopes = duality.slopes(problem, np.zeros(n))
        depth = problem.loss_at_zero  # above the least possible loss
        if not duality.missing_conjugate(problem):
            depth += float(losses.mean_conjugate(problem.loss, np.zeros(n), *problem.rows[1:]))
        unit = float(np.mean(problem.rows.c * slopes**2)) / max(depth, TINY)
        self.solved = (
            depth <= 0.0 and not self.w.any() and problem.penalty_value(-problem.b) <= 0.0 and not problem.b.any()
        )
        unit = unit if 0.0 < unit < math.inf else 1.0
        depth = depth if 0.0 < depth < math.inf else 1.0
        curvature = unit * products.gram_diagonal(problem.rows.X, self.weight)
        data = curvature > 0.0
        self.units, self.damping = curvature, 0.0
        most = float(np.max(curvature, initial=0.0)) or 1.0
        reach = np.sqrt(depth / np.where(data, curvature, most))
        with np.errstate(divide="ignore"):
            of_rows = np.where(self.weight > 0.0, np.sqrt(depth / (unit * self.weight)), 1.0)
        self.reach = np.concatenate([of_rows, _absolute_product(problem, reach)])
        self.reach[self.reach == 0.0] = 1.0
        self.reach_of_w = reach
        self.gap = (1.0 if self.smooth else FIRST_GAP) * depth + min(problem.penalty_value(-problem.b), 1e300)
        steps.start(self.terms, self.x, self.u, self.reach, self._sigma())
        self.stiff, self.soft = self.reach**2 / depth, HARDEST
        diagonal = curvature + products.gram_diagonal(problem.A, 1.0 / self.stiff[n:])
        hold = np.where(data, HOLD, HOLD_EMPTY) * np.where(diagonal > 0.0, diagonal, 1.0 / HOLD_EMPTY)
        self.hold = np.where(problem.gamma > 0.0, 0.0, hold)
        self.slopes, self.held = np.zeros(n), self.hold
        self.duals = np.zeros_like(self.u)
        if self.smooth:
            self.slopes[:] = self.weight * duality.slopes(problem, self.u[:n])
            self.duals[:n] = self.slopes
        self.duals[n:] = self.curvature * self.u[n:]
        steps.add_duals(self.terms, self.x.t, self.duals)
        self.residual = self._back(self.duals) + problem.gamma * self.w

    def _sigma(self) -> float:
        return self.gap / max(1, self.ends)

    # --- iterations --------------------------------------------------------------------------------------------------

    def advance(self, work: Work) -> None:
        assert isinstance(work, Iterations)
        for _ in range(work.number):
            self.iteration += 1
            if not self.solved:
                self._iterate()

    def _iterate(self) -> None:
        """One predictor and one corrector step with the same matrix, which is softened if rounding errors are large."""
        n = self.problem.n
        curved, slopes = self._rows()
        residual = self._residual(slopes)
        for _ in range(ATTEMPTS):
            dw, du, left, most = self._newton(residual, curved)
            if self._cost(left) <= HARMFUL * self.gap:
                self.soft = max(HARDER * self.soft, HARDEST)
                break
            self.soft = min(SOFTER * self.soft, SOFTEST)
        most = min(1.0, TO_BOUNDARY * most)
        length = self._safe(du, slopes, curved, most)
        if length < SHORT * most:
            self.damping = max(MORE_DAMPING * self.damping, LEAST_DAMPING)
        else:
            self.damping = LESS_DAMPING * self.damping if self.damping > LEAST_DAMPING else 0.0
        self.w += length * dw
        self.u += length * du
        self.gap = steps.move(self.terms, self.x, self.step, length, self.inside)
        self.length = length
        self.residual[:] = residual + length * (left - residual - self.held * dw)
        self.slopes[:] = slopes[:n] + length * curved[:n] * du[:n]
        self.duals[:n] = self.slopes
        self.duals[n:] = self.curvature * self.u[n:]
        steps.add_duals(self.terms, self.x.t, self.duals)
        self.v[:] = self.u[n:]
        steps.settle(self.terms, self.inside, n, self.v)

    def _newton(self, residual: np.ndarray, curved: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """The direction dw and du, what is left of the residual, and the length to the boundary."""
        n, step = self.problem.n, self.step
        weight, pull, stiff = curved.copy(), np.zeros_like(curved), self.soft * self.stiff
        step.over_a[:], step.over_b[:] = 0.0, 0.0
        steps.assemble(self.terms, self.x, self.u, step, 0.0, stiff, weight, pull)
        # The proximal term of each coordinate: it changes the steps, and not where they lead to.
        self.held = math.sqrt(self.soft / HARDEST) * self.hold + self.damping * self.units
        self.system.factor(weight[:n], weight[n:], self.problem.gamma + self.held)
        dw, du = self._solution(residual + self._back(pull))
        steps.turn(self.terms, du, step)
        sigma = 0.0
        if self.ends:
            length = min(1.0, steps.direct(self.terms, self.x, step, 0.0))
            before = self._sigma()
            after = steps.complementarity(self.terms, self.x, step, length) / self.ends
            sigma = before * min(1.0, max(after / before, 0.0)) ** 3
            # Newton's matrix would become singular if complementarity ran ahead of stationarity.
            least = (LEAST_OF_COST * (1.0 - length) + LEAST) * self._cost(self.residual)
            sigma = max(sigma, min(least / self.ends, MOST_GROWTH * before))
            pull, unused = np.zeros_like(curved), np.zeros_like(curved)
            steps.assemble(self.terms, self.x, self.u, step, sigma, stiff, unused, pull)
            dw, du = self._solution(residual + self._back(pull))
            steps.turn(self.terms, du, step)
        left = self._left(residual, curved, dw, du)
        for _ in range(REFINEMENTS):
            cost = self._cost(left)
            if cost <= REFINED * self.gap:
                break
            more, change = self._solution(left)
            dw, du = dw + more, du + change
            steps.amend(self.terms, change, step)
            left = self._left(residual, curved, dw, du)
        return dw, du, left, steps.direct(self.terms, self.x, step, sigma)

    def _left(self, residual: np.ndarray, curved: np.ndarray, dw: np.ndarray, du: np.ndarray) -> np.ndarray:
        """What a direction leaves of the residual: 0 but for rounding errors."""
        pull = curved * du
        steps.add_duals(self.terms, self.step.dt, pull)
        return residual + self._back(pull) + (self.problem.gamma + self.held) * dw

    def _solution(self, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dw = -self.system.solve(rhs)
        return dw, self._along(dw)

    def _residual(self, slopes: np.ndarray) -> np.ndarray:
        """The gradient of the Lagrangian: what the last step left, and the change of slopes that it did not foresee."""
        if not self.smooth:
            return self.residual.copy()
        moved = np.empty(self.problem.d)
        products.transposed_product(self.problem.rows.X, slopes[: self.problem.n] - self.slopes, moved)
        return self.residual + moved

    def _cost(self, residual: np.ndarray) -> float:
        """What a residual of the gradient may cost the dual value."""
        gamma, residual = self.problem.gamma, np.abs(residual)
        cost = residual * (np.abs(self.w) + SMALL * self.reach_of_w)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return float(np.sum(np.minimum(cost, np.where(gamma > 0.0, residual**2 / (2.0 * gamma), np.inf))))

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The second derivatives and the slopes of the smooth parts, for each entry of u."""
        n = self.problem.n
        weight, pull = np.zeros_like(self.u), np.zeros_like(self.u)
        if self.smooth:
            losses.derivatives(self.problem.loss, self.u[:n], self.problem.rows.y, self.weight, pull[:n], weight[:n])
        weight[n:] = self.curvature
        pull[n:] = self.curvature * self.u[n:]
        return weight, pull

    def _safe(self, du: np.ndarray, pull: np.ndarray, weight: np.ndarray, length: float) -> float:
        """A length at which the slope of the loss along the step has changed about as its second derivatives say."""
        if not self.smooth:
            return length
        n = self.problem.n
        dz, slopes = du[:n], np.empty(n)
        first, curvature = float(pull[:n] @ dz), float(weight[:n] @ (dz * dz))
        for _ in range(HALVINGS):
            losses.all_slopes(self.problem.loss, self.u[:n] + length * dz, self.problem.rows.y, slopes)
            change = float((self.weight * slopes) @ dz) - first
            if length * change <= CURVED * length * length * curvature + self.gap:
                return length
            length *= 0.5
        return length

    def _along(self, w: np.ndarray) -> np.ndarray:
        """``X w`` and after it ``A w``."""
        out = np.empty(self.problem.n + self.problem.m)
        products.product(self.problem.rows.X, w, out[: self.problem.n])
        products.product(self.problem.A, w, out[self.problem.n :])
        return out

    def _back(self, pull: np.ndarray) -> np.ndarray:
        """``X' pull`` of the rows of X, plus ``A' pull`` of those of A."""
        out = np.empty(self.problem.d)
        products.transposed_product(self.problem.rows.X, pull[: self.problem.n], out)
        return out + self.problem.times_A_transposed(pull[self.problem.n :])

    # --- the point ---------------------------------------------------------------------------------------------------

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.w).all() and np.isfinite(self.duals).all())

    @property
    def point(self) -> Point:
        return Point(self.w, self.v, -self.duals[self.problem.n :])

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.w.copy(), self.v.copy()

    @property
    def answer(self) -> np.ndarray:
        return self.w.copy()

    def monitor(self) -> Monitor:
        return Monitor(self.iteration, dual_residual=float(np.linalg.norm(self.residual)))

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        slopes = np.zeros(self.problem.n)
        np.divide(self.duals[: self.problem.n], self.weight, out=slopes, where=self.weight > 0.0)
        return slopes, -self.duals[self.problem.n :]

    def certify(self) -> Certificate:
        """The certificate of the present point, with the best dual value so far."""

        def compute() -> Certificate:
            self.problem.remember(self.w, self.u[: self.problem.n])
            return certify(self.problem, self.w, self.v, *self.dual_point())

        return self.best_dual.find(self.problem, self.iteration, compute)

    # --- the state by name -------------------------------------------------------------------------------------------

    def state(self) -> NamedState:
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        arrays |= {name: value.copy() for name, value in self.x._asdict().items()}
        arrays["inside"] = self.inside.copy()
        return arrays | {name: getattr(self, name) for name in NUMBERS} | {"best_dual": self.best_dual.best}

    def restore(self, state: NamedState) -> None:
        for name in ARRAYS:
            getattr(self, name)[...] = state[name]
        for name, value in self.x._asdict().items():
            value[...] = state[name]
        self.inside[...] = state["inside"]
        for name in NUMBERS:
            setattr(self, name, state[name])
        self.best_dual.best = float(state["best_dual"])
        self.best_dual.forget()

    def fork(self, problem: Problem | None) -> InteriorPointRun:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        fork = InteriorPointRun(problem, self.solver, self.point)
        if problem is self.problem:
            fork.restore(self.state())
            fork.best_dual = copy.copy(self.best_dual)
        fork.done, fork.seconds = self.done, self.seconds
        return fork


def _absolute_product(problem: Problem, x: np.ndarray) -> np.ndarray:
    """``|A| x``."""
    out: Any = np.empty(problem.m)
    products.product(problem.A._replace(data=np.abs(problem.A.data)), x, out)
    return out
