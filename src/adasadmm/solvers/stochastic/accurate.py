"""Algorithm 1 to high accuracy: estimates of the gradient that become exact, and step sizes found during the run.

At the end of each epoch, a pass over the rows, variance reduction computes the whole gradient. After 1, 2, 4, 8, ...
epochs eta and beta are balanced. Both are ratios: how fast w moves against how fast the slopes s, or theta, move. The
best ratio is that of the distances to the solution, and the distances since the last balance estimate these.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ... import averages, losses, metrics, stepsizes
from ...algorithm import Method
from ...certificates import BestDual, certify, duality
from ...certificates.scaling import scaling
from ...certificates.trace import Certificate
from ...linalg import quadratics
from ...linalg.quadratics import Separable
from ...problem import Problem
from ..base import Monitor, NamedState, Point, Run, Slopes, Solver
from ..checks import check_batch_size, check_beta
from ..work import Batches, Work
from .gradients import DualCoordinates, DualVectors, VarianceReduced, VarianceReducedVectors
from .recipe import accurate_batch_size
from .run import StochasticRun

__all__ = ["AccurateRun", "AccurateSolver", "Parts", "dual_coordinates", "variance_reduced"]

MOST_CHANGE = 10.0  # of eta or beta, at once
ROUNDING = 1e-10
DUAL = (DualCoordinates, DualVectors)

Estimate = DualCoordinates | DualVectors | VarianceReduced | VarianceReducedVectors


class Parts(NamedTuple):
    """Data of one problem that SPDHG and the variance-reduced methods share."""

    estimate: Estimate
    eta: float
    batch_size: int
    h: np.ndarray  # the diagonal metric
    size: np.ndarray  # of each row, in that metric
    majoriser: np.ndarray  # of A'A


class Mark(NamedTuple):
    """Where a run was at some moment; copies."""

    iteration: int
    w: np.ndarray
    w_sum: np.ndarray
    theta: np.ndarray
    s: np.ndarray


@dataclasses.dataclass(frozen=True)
class AccurateSolver(Solver):
    """What SPDHG, SVRG-ADMM and ASVRG-ADMM share: their settings, and facts about them."""

    beta: float | str = "auto"
    batch_size: int | str = "auto"

    takes_streams: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    takes_vector_losses: ClassVar[bool] = True
    default_epochs: ClassVar[float] = 200.0
    separable_w_step: ClassVar[bool] = True  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_beta(self.beta)
        check_batch_size(self.batch_size)

    @abstractmethod
    def parts(self, problem: Problem, w: np.ndarray) -> Parts:
        """The parts of a run that starts at w."""

    def begin(self, problem: Problem, start: Point) -> Run:
        return AccurateRun(problem, self, start)


def dual_coordinates(solver: AccurateSolver, problem: Problem, w: np.ndarray) -> Parts:
    """The parts of SPDHG: a dual coordinate for each row."""
    rows, h, size, z, s, pull = _at_start(problem, solver.batch_size, w, rare_is_fast=True)
    dual, k = (s, pull, np.zeros(problem.d), size, problem.terms / rows), losses.width(problem.loss)
    estimate = DualCoordinates(*dual) if k == 1 else DualVectors(*dual, *np.zeros((2, k)))
    eta = _first_reach(problem, z, s) / (float(np.mean(size)) or 1.0)
    return Parts(estimate, eta, rows, h, size, quadratics.majoriser(problem.A))


def variance_reduced(solver: AccurateSolver, problem: Problem, w: np.ndarray, momentum: float) -> Parts:
    """The parts of SVRG-ADMM and ASVRG-ADMM: the gradient at an earlier point, and corrections to it."""
    rows, h, size, z, s, pull = _at_start(problem, solver.batch_size, w, rare_is_fast=False)
    most = float(np.max(losses.curvatures(problem.loss, problem.rows.y) * size))
    earlier, k = (w.copy(), z, s, pull, momentum), losses.width(problem.loss)
    estimate = VarianceReduced(*earlier) if k == 1 else VarianceReducedVectors(*earlier, *np.zeros((2, k)))
    eta = 1.0 / (momentum * (most or 1.0))
    return Parts(estimate, eta, rows, h, size, quadratics.majoriser(problem.A))


def _at_start(problem: Problem, batch_size: int | str, w: np.ndarray, rare_is_fast: bool) -> tuple:
    """Batch size, metric, sizes of rows, predictions, slopes and gradient of the loss at the start."""
    rows = accurate_batch_size(batch_size, problem)
    h, size = scaling(problem, rows * losses.width(problem.loss), rare_is_fast=rare_is_fast)
    z = problem.predictions(w)
    s = duality.slopes(problem, z)
    return rows, h, size, z, s, duality.data_pull(problem, s)


class AccurateRun(Run):
    """SPDHG, SVRG-ADMM or ASVRG-ADMM on one problem: Algorithm 1, and what happens at the end of its epochs."""

    solver: AccurateSolver

    def __init__(self, problem: Problem, solver: AccurateSolver, start: Point) -> None:
        self.problem, self.solver = problem, solver
        found, beta = solver.parts(problem, start.w), solver.beta
        self.batch_size, self.h, self.size, self.majoriser = found[2:]
        if isinstance(beta, str):  # the constraint slows w down as much as the rows do
            beta = float(np.mean(self.h)) / found.eta / (float(np.mean(self.majoriser)) or 1.0)
        step, metric = stepsizes.Constant(found.eta), metrics.Scaled(self.h)
        method = Method(found.estimate, metric, 1.0, step, self._quadratic(beta), float(beta), averages.Last())
        self.loop = StochasticRun(problem, solver, method, self.batch_size, start)
        self.since, self.epochs = 0, 0  # rows since the last epoch ended; epochs
        self.best_dual = BestDual()
        self.epoch_mark = self.balance_mark = self._mark()

    def _quadratic(self, beta: float) -> Separable:
        """The linearised constraint, and the ridge: with gamma here, ``gamma w`` is taken at w_{t+1}, not at w_t."""
        return Separable(beta * self.majoriser + self.problem.gamma)

    @property
    def estimate(self) -> Estimate:
        return self.loop.method.subgradient

    # --- epochs ------------------------------------------------------------------------------------------------------

    def advance(self, work: Work) -> None:
        """Run over these rows; each time as many as there are were visited, end the epoch."""
        assert isinstance(work, Batches)
        while work.length:
            piece, work = work.split(-(-(self.problem.terms - self.since) // self.batch_size))
            self.loop.advance(piece)
            self.since += piece.length
            if self.since >= self.problem.terms:
                self._end_epoch()

    def _end_epoch(self) -> None:
        self.since, self.epochs = 0, self.epochs + 1
        estimate = self.estimate
        if not isinstance(estimate, DUAL):
            estimate.w[:] = self.answer
            estimate.predictions[:] = self.problem.predictions(estimate.w)
            estimate.slopes[:] = duality.slopes(self.problem, estimate.predictions)
            estimate.gradient[:] = duality.data_pull(self.problem, estimate.slopes)
        self.epoch_mark = self._mark()
        if self.epochs.bit_count() == 1:  # 1, 2, 4, 8, ...
            self._balance(self.balance_mark, self.epoch_mark)
            self.balance_mark = self.epoch_mark

    def _mark(self) -> Mark:
        iterates = self.loop.iterates
        s = self.estimate.s.copy() if isinstance(self.estimate, DUAL) else np.empty(0)
        return Mark(self.loop.iteration, iterates.w.copy(), iterates.w_sum.copy(), iterates.theta.copy(), s)

    def _balance(self, before: Mark, now: Mark) -> None:
        """Move eta and beta half of the way, in logarithms, to the ratios of the distances between two marks."""
        eta, beta = self.loop.method.step.eta, self.loop.beta
        if isinstance(self.estimate, DUAL):
            weight = self.problem.rows.c * self.size / (self.batch_size * losses.width(self.problem.loss))
            eta = _halfway(eta, _distance(self.h, now.w, before.w), _distance(weight, now.s, before.s))
        if self.solver.beta == "auto":
            of_theta = _distance(np.ones(self.problem.m), now.theta, before.theta)
            beta = _halfway(beta, of_theta, _distance(self.majoriser, now.w, before.w))
        self.loop.travelled = self.loop.travelled + (now.theta - self.loop.theta_first) / self.loop.beta
        self.loop.theta_first = now.theta.copy()
        self._step_with(eta, beta)

    def _step_with(self, eta: float, beta: float) -> None:
        step, Q = stepsizes.Constant(eta), self._quadratic(beta)
        self.loop.method = self.loop.method._replace(step=step, Q=Q, beta=beta)

    # --- the point ---------------------------------------------------------------------------------------------------

    def is_finite(self) -> bool:
        return self.loop.is_finite()

    @property
    def point(self) -> Point:
        return self.loop.point

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.loop.means

    @property
    def answer(self) -> np.ndarray:
        """w; with variance reduction the mean of the iterates of this epoch, mixed with the earlier point."""
        estimate, mark, iterates = self.estimate, self.epoch_mark, self.loop.iterates
        if isinstance(estimate, DUAL):
            return iterates.w.copy()
        count = self.loop.iteration - mark.iteration
        if count == 0:
            return estimate.w.copy()
        mean = (iterates.w_sum - mark.w_sum + iterates.w - mark.w) / count
        return estimate.momentum * mean + (1.0 - estimate.momentum) * estimate.w

    def monitor(self) -> Monitor:
        return self.loop.monitor()

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        if isinstance(self.estimate, DUAL):
            return self.estimate.s, self.loop.iterates.theta
        return duality.slopes(self.problem, self.problem.predictions(self.answer)), self.loop.iterates.theta

    def certify(self) -> Certificate:
        """The certificate of the answer, with the best dual value so far."""
        v = self.loop.iterates.v
        return self.best_dual.find(
            self.problem, self.loop.iteration, lambda: certify(self.problem, self.answer, v, *self.dual_point())
        )

    # --- the state by name -------------------------------------------------------------------------------------------

    def state(self) -> NamedState:
        numbers = {"since": self.since, "epochs": self.epochs, "best_dual": self.best_dual.best}
        numbers |= {"eta_now": float(self.loop.method.step.eta), "beta_now": self.loop.beta}
        marks: dict[str, Any] = {}
        for name, mark in (("epoch_mark", self.epoch_mark), ("balance_mark", self.balance_mark)):
            marks |= {f"{name}.{field}": value for field, value in mark._asdict().items()}  # never written to
        return {**self.loop.state(), **marks, **numbers}

    def restore(self, state: NamedState) -> None:
        if not 0 <= state["since"] < self.problem.terms:
            raise ValueError(f"{state['since']} rows since the last epoch, and there are {self.problem.terms}")
        self.since, self.epochs = int(state["since"]), int(state["epochs"])
        self.best_dual.best = float(state["best_dual"])
        self.best_dual.forget()
        named: Any = state
        self.epoch_mark, self.balance_mark = (
            Mark(*(named[f"{name}.{field}"] for field in Mark._fields)) for name in ("epoch_mark", "balance_mark")
        )
        self._step_with(float(state["eta_now"]), float(state["beta_now"]))
        self.loop.restore(state)

    def fork(self, problem: Problem | None) -> AccurateRun:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        if problem.rows is not self.problem.rows or problem.loss is not self.problem.loss:  # other slopes and steps
            start = Point(self.answer, self.loop.iterates.v, self.loop.iterates.theta)
            return AccurateRun(problem, self.solver, start)
        fork = copy.copy(self)
        fork.problem, fork.loop, fork.best_dual = problem, self.loop.fork(problem), copy.copy(self.best_dual)
        if problem is not self.problem:  # another penalty: another dual problem, another balance
            fork.best_dual.reset()
            fork.epochs = 0
        return fork


def _first_reach(problem: Problem, z: np.ndarray, s: np.ndarray) -> float:
    """How far a prediction may go at first: mean loss over mean squared slope, in the units of ``z^2 / loss``."""
    _, y, c = problem.rows
    value, squares = losses.mean_value(problem.loss, z, y, c), float(np.mean(c * s * s))
    return value / squares if 0.0 < value < math.inf and squares > 0.0 else 1.0


def _distance(weight: np.ndarray, now: np.ndarray, before: np.ndarray) -> float:
    """The weighted distance between two points; weights below 0 occur only in forged checkpoints."""
    return math.sqrt(max(weight @ (now - before) ** 2, 0.0))


def _halfway(now: float, one: float, other: float) -> float:
    """The geometric mean of a number and the ratio of two distances; the number itself if one is rounding error."""
    if min(one, now * other) <= ROUNDING * max(one, now * other):
        return now
    factor = math.sqrt(one / (now * other))
    return now * min(max(factor, 1.0 / MOST_CHANGE), MOST_CHANGE)
