"""Algorithm 1 with variance reduction: estimates of the gradient that become exact, and step sizes found on the way.

The subgradient of a batch has noise that only a falling step can tame. The estimates here remember each row by one
number for each of its predictions, and their error vanishes as the run goes on. A method is an estimate: a record whose
arrays the compiled loop changes, with its `algorithm.subgradient`, and the few members of `VarianceReducedSolver` that
say how it begins and what it does at the end of an epoch, a pass over the rows.

After 1, 2, 4, 8, ... epochs eta and beta are balanced. Both are ratios: how fast w moves against how fast the slopes s,
or theta, move. The best ratio is that of the distances to the solution, and the distances since the last balance
estimate these.
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
from ...certificates import BestDual, certify, duality, slopes_at
from ...certificates.scaling import scaling
from ...certificates.trace import Certificate
from ...linalg import quadratics
from ...linalg.quadratics import Separable
from ...problem import Problem
from ...rows import matrices
from ..base import NamedState, Point, Slopes, Solver, check_batch_size, check_beta
from ..work import Batches, Work
from .run import Course, StochasticRun

__all__ = ["First", "VarianceReducedSolver", "automatic_batch_size"]

MIN_ITERATIONS = 100  # that batch_size="auto" keeps in an epoch
MAX_FACTOR = 10.0  # by which eta or beta changes at once
ROUNDING = 1e-10  # distances that are smaller, relative to others, are rounding errors


class First(NamedTuple):
    """What is known at the first point of a run, from which its estimate begins."""

    batch_size: int
    h: np.ndarray  # the diagonal metric
    size: np.ndarray  # of each row, in that metric
    w: np.ndarray
    predictions: np.ndarray
    slopes: np.ndarray
    pull: np.ndarray  # the gradient of the loss


@dataclasses.dataclass(frozen=True)
class VarianceReducedSolver(Solver):
    """What SPDHG, SVRG-ADMM and ASVRG-ADMM share: their settings, facts about them, and the interface of an estimate.

    Attributes
    ----------
    rare_is_fast : bool
        Features that few rows have take longer steps.
    """

    beta: float | str = "auto"
    batch_size: int | str = "auto"

    takes_streams = False
    knows_gap = True
    takes_vector_losses = True
    default_epochs = 200.0
    separable_w_step = True
    rare_is_fast: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_beta(self.beta)
        check_batch_size(self.batch_size)

    @abstractmethod
    def estimate(self, problem: Problem, first: First) -> tuple[Any, float]:
        """The estimate of the gradient at the start, whose arrays the loop changes, and the first step size."""

    def restart(self, estimate: Any, problem: Problem, answer: np.ndarray) -> None:
        """Change the estimate at the end of an epoch."""

    def answer(self, estimate: Any, w: np.ndarray, mean: np.ndarray | None) -> np.ndarray:
        """The recommended w: the last one, unless overridden. ``mean`` is that of this epoch, None before it begins."""
        return w.copy()

    def dual_slopes(self, estimate: Any) -> np.ndarray | None:
        """The slopes that are a dual point and move with w, if the estimate keeps such; eta is balanced by them."""
        return None

    def begin(self, problem: Problem, start: Point) -> StochasticRun:
        rows = automatic_batch_size(problem) if isinstance(self.batch_size, str) else int(self.batch_size)
        h, size = scaling(problem, rows * losses.width(problem.loss), rare_is_fast=self.rare_is_fast)
        z = problem.predictions(start.w)
        s = duality.slopes(problem, z)
        estimate, eta = self.estimate(problem, First(rows, h, size, start.w, z, s, duality.data_pull(problem, s)))
        course, beta = Restarts(self, size, quadratics.majoriser(problem.A)), self.beta
        if isinstance(beta, str):  # the constraint slows w down as much as the rows do
            beta = float(np.mean(h)) / eta / (float(np.mean(course.majoriser)) or 1.0)
        step, Q = stepsizes.Constant(eta), course.quadratic(problem, beta)
        method = Method(estimate, metrics.Scaled(h), 1.0, step, Q, float(beta), averages.Last())
        run = StochasticRun(problem, self, method, rows, start, course)
        course.epoch_mark = course.balance_mark = course.mark(run)
        return run


def automatic_batch_size(problem: Problem) -> int:
    """Rows whose work is half of that over coordinates and edges, but with 100 iterations in an epoch."""
    a_row = max(1.0, matrices.size(problem.rows.X) / problem.terms)
    even = (problem.d + matrices.size(problem.A) / 2.0) / a_row
    return max(1, int(min(0.5 * even, problem.terms / MIN_ITERATIONS)))


class Mark(NamedTuple):
    """Where a run was at some moment; copies, which nobody changes."""

    iteration: int
    w: np.ndarray
    w_sum: np.ndarray
    theta: np.ndarray
    s: np.ndarray


class Restarts(Course):
    """Algorithm 1, and what happens at the end of its epochs."""

    epoch_mark: Mark
    balance_mark: Mark

    def __init__(self, solver: VarianceReducedSolver, size: np.ndarray, majoriser: np.ndarray) -> None:
        self.solver, self.size, self.majoriser = solver, size, majoriser  # of rows, as in `First`; of A'A
        self.since, self.epochs = 0, 0  # rows since the last epoch ended; epochs
        self.best_dual = BestDual()

    def quadratic(self, problem: Problem, beta: float) -> Separable:
        """The linearised constraint, and the ridge: with gamma here, ``gamma w`` is taken at w_{t+1}, not at w_t."""
        return Separable(beta * self.majoriser + problem.gamma)

    def mark(self, run: StochasticRun) -> Mark:
        now, s = run.iterates, self.solver.dual_slopes(run.method.subgradient)
        arrays = now.w, now.w_sum, now.theta, np.empty(0) if s is None else s
        return Mark(run.iteration, *(array.copy() for array in arrays))

    # --- epochs ------------------------------------------------------------------------------------------------------

    def advance(self, run: StochasticRun, work: Work) -> None:
        """Run over these rows; each time as many as there are were visited, end the epoch."""
        assert isinstance(work, Batches)
        while work.length:
            piece, work = work.split(-(-(run.problem.terms - self.since) // run.batch_size))
            run.visit(piece)
            self.since += piece.length
            if self.since >= run.problem.terms:
                self._end_epoch(run)

    def _end_epoch(self, run: StochasticRun) -> None:
        self.since, self.epochs = 0, self.epochs + 1
        self.solver.restart(run.method.subgradient, run.problem, run.answer)
        self.epoch_mark = self.mark(run)
        if self.epochs.bit_count() == 1:  # 1, 2, 4, 8, ...
            self._balance(run, self.balance_mark, self.epoch_mark)
            self.balance_mark = self.epoch_mark

    def _balance(self, run: StochasticRun, before: Mark, now: Mark) -> None:
        """Move eta and beta half of the way, in logarithms, to the ratios of the distances between two marks."""
        eta, beta, problem = run.method.step.eta, run.beta, run.problem
        if len(now.s):
            weight = problem.rows.c * self.size / (run.batch_size * losses.width(problem.loss))
            eta = _halfway(eta, _distance(run.method.metric.h, now.w, before.w), _distance(weight, now.s, before.s))
        if self.solver.beta == "auto":
            of_theta = _distance(np.ones(problem.m), now.theta, before.theta)
            beta = _halfway(beta, of_theta, _distance(self.majoriser, now.w, before.w))
        run.travelled = run.travelled + (now.theta - run.theta_first) / run.beta
        run.theta_first = now.theta.copy()
        self._step_with(run, eta, beta)

    def _step_with(self, run: StochasticRun, eta: float, beta: float) -> None:
        step, Q = stepsizes.Constant(eta), self.quadratic(run.problem, beta)
        run.method = run.method._replace(step=step, Q=Q, beta=beta)

    # --- the answer --------------------------------------------------------------------------------------------------

    def answer(self, run: StochasticRun) -> np.ndarray:
        mark, now = self.epoch_mark, run.iterates
        count = run.iteration - mark.iteration
        mean = (now.w_sum - mark.w_sum + now.w - mark.w) / count if count else None
        return self.solver.answer(run.method.subgradient, now.w, mean)

    def dual_point(self, run: StochasticRun) -> tuple[Slopes, np.ndarray]:
        s = self.solver.dual_slopes(run.method.subgradient)
        return slopes_at(run.problem, run.answer) if s is None else s, run.iterates.theta

    def certify(self, run: StochasticRun) -> Certificate:
        """The certificate of the answer, with the best dual value so far."""
        return self.best_dual.find(
            run.problem, run.iteration, lambda: certify(run.problem, run.answer, run.iterates.v, *run.dual_point())
        )

    # --- the state by name -------------------------------------------------------------------------------------------

    def state(self, run: StochasticRun) -> dict[str, Any]:
        marks: dict[str, Any] = {}
        for name in ("epoch_mark", "balance_mark"):
            marks |= {f"{name}.{field}": value for field, value in getattr(self, name)._asdict().items()}
        numbers = {"since": self.since, "epochs": self.epochs, "best_dual": self.best_dual.best}
        return marks | numbers | {"eta_now": float(run.method.step.eta), "beta_now": run.beta}

    def restore(self, run: StochasticRun, state: NamedState) -> None:
        if not 0 <= state["since"] < run.problem.terms:
            raise ValueError(f"{state['since']} rows since the last epoch, and there are {run.problem.terms}")
        self.since, self.epochs = int(state["since"]), int(state["epochs"])
        self.best_dual.best = float(state["best_dual"])
        self.best_dual.forget()
        named: Any = state
        for name in ("epoch_mark", "balance_mark"):
            setattr(self, name, Mark(*(named[f"{name}.{field}"] for field in Mark._fields)))
        self._step_with(run, float(state["eta_now"]), float(state["beta_now"]))

    def fork(self, run: StochasticRun, problem: Problem | None) -> StochasticRun:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        if problem.rows is not run.problem.rows or problem.loss is not run.problem.loss:  # other slopes and steps
            return self.solver.begin(problem, Point(run.answer, run.iterates.v, run.iterates.theta))
        fork, course = super().fork(run, problem), copy.copy(self)
        fork.course, course.best_dual = course, copy.copy(self.best_dual)
        if problem is not run.problem:  # another penalty: another dual problem, another balance
            course.best_dual.reset()
            course.epochs = 0
        return fork


def _distance(weight: np.ndarray, now: np.ndarray, before: np.ndarray) -> float:
    """The weighted distance between two points; weights below 0 occur only in forged checkpoints."""
    return math.sqrt(max(weight @ (now - before) ** 2, 0.0))


def _halfway(now: float, one: float, other: float) -> float:
    """The geometric mean of a number and the ratio of two distances; the number itself if one is rounding error."""
    if min(one, now * other) <= ROUNDING * max(one, now * other):
        return now
    factor = math.sqrt(one / (now * other))
    return now * min(max(factor, 1.0 / MAX_FACTOR), MAX_FACTOR)
