"""The run of Algorithm 1, the only one of the stochastic solvers, and the course that it takes.

Which iterations a run makes is said by the parts of its `Method`. What it does between them, and which point it
recommends, is said by its `Course`: `Course` itself makes one iteration after the other and answers with the average;
`lanes.Rounds` works on rows of several workers in parallel; `variance_reduction.Restarts` has estimates of the gradient
that become exact.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import averages, metrics
from ...algorithm import (
    Edgewise,
    Method,
    Model,
    State,
    algorithm1,
    first_state,
    model_of,
    next_gradient,
    show_v,
)
from ...certificates import certify_after_ascent, slopes_at
from ...certificates.trace import Certificate
from ...linalg import quadratics
from ...problem import Problem
from ...sources.blocks import Block
from ..base import Monitor, NamedState, Point, Run, Slopes, Solver
from ..work import Batches, Work

__all__ = ["Course", "StochasticRun"]


class Course:
    """What a run does beside the iterations of Algorithm 1: here nothing, and it answers with the average."""

    def advance(self, run: StochasticRun, work: Work) -> None:
        assert isinstance(work, Batches)
        run.visit(work)

    def answer(self, run: StochasticRun) -> np.ndarray:
        average = run.method.average
        if isinstance(average, averages.Uniform):
            return run.w_mean()
        return (run.iterates.w if isinstance(average, averages.Last) else run.iterates.w_average).copy()

    def dual_point(self, run: StochasticRun) -> tuple[Slopes, np.ndarray]:
        """The slopes at the average, and the last theta."""
        return slopes_at(run.problem, run.answer), run.iterates.theta

    def certify(self, run: StochasticRun) -> Certificate:
        """The certificate of the average. On a stream each costs passes over the rows, so the last one is kept."""
        if run.certified is None or run.certified[0] != run.iteration:
            epochs = run.done / run.problem.terms
            found = certify_after_ascent(run.problem, run.answer, run.v_mean(), *run.dual_point(), epochs)
            run.certified = run.iteration, found
        return run.certified[1]

    def doubt(self, run: StochasticRun) -> str:
        return ""

    def state(self, run: StochasticRun) -> dict[str, Any]:
        """What further iterations depend on, beside the arrays of the run."""
        return {}

    def restore(self, run: StochasticRun, state: NamedState) -> None:
        """Return to a state before the arrays of the run do."""

    def fork(self, run: StochasticRun, problem: Problem | None) -> StochasticRun:
        fork = run.copied()
        fork.certified = None
        if problem is None:
            fork.problem = fork.model = None  # type: ignore[assignment]
        else:
            fork.problem, fork.model = problem, model_of(problem)
        return fork


class StochasticRun(Run):
    """Algorithm 1 on one problem: a model (the problem without its rows), a method (the parts), and the iterates."""

    model: Model
    course: Course = Course()  # a run has one of its own only if it takes another

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        method: Method,
        batch_size: int,
        start: Point,
        course: Course | None = None,
    ) -> None:
        if course is not None:
            self.course = course
        self.problem, self.solver, self.model = problem, solver, model_of(problem)
        self.method, self.batch_size = method, batch_size
        self.iterates: State = first_state(problem, *start, self.beta)
        self.w_first, self.theta_first, self.v_before = start.w.copy(), start.theta.copy(), start.v.copy()
        self.travelled = np.zeros(problem.m)  # the change of theta over beta while beta had earlier values
        self.certified: tuple[int, Certificate] | None = None
        self._run(problem.first_rows, np.empty(0, np.int64))  # compile outside the clock
        if isinstance(self.model.B, Edgewise):
            show_v(self.model, self.beta, copy.deepcopy(self.iterates))

    # --- iterations --------------------------------------------------------------------------------------------------

    def advance(self, work: Work) -> None:
        self.course.advance(self, work)

    def visit(self, work: Batches) -> None:
        """Run over rows of a block; v before the last iteration is kept for the dual residual."""
        block, samples, _ = work
        last = max(0, (len(samples) - 1) // self.batch_size * self.batch_size)
        before = max(0, last - self.batch_size)
        self._run(block, samples[:before])
        self._run_with_v(block, samples[before:last])
        self.v_before[:] = self.iterates.v
        self._run_with_v(block, samples[last:])

    def _run(self, block: Block, samples: np.ndarray) -> None:
        algorithm1(self.model, self.method, block, self.iterates, samples, self.batch_size)

    def _run_with_v(self, block: Block, batch: np.ndarray) -> None:
        """One iteration, or none, after which v is known."""
        theta = self.iterates.theta.copy()
        self._run(block, batch)
        if len(batch) and isinstance(self.model.B, Edgewise):
            show_v(self.model, self.beta, self.iterates._replace(theta=theta))

    def gradient(self, batch: np.ndarray) -> np.ndarray:
        """The g_t that an iteration over this batch of the rows in memory would take."""
        iterates = self.iterates._replace(g=self.iterates.g.copy())
        next_gradient(self.model, self.method, self.problem.rows, iterates, batch)
        return iterates.g

    def is_finite(self) -> bool:
        now = self.iterates
        metric = (x for x in self.method.metric if isinstance(x, np.ndarray))  # an infinite one would freeze w silently
        return all(np.isfinite(array).all() for array in (now.w, now.theta, now.w_sum, now.w_average, *metric))

    # --- the point ---------------------------------------------------------------------------------------------------

    @property
    def iteration(self) -> int:  # type: ignore[override]
        return int(self.iterates.t[0])

    @property
    def beta(self) -> float:
        return float(self.method.beta)

    @property
    def point(self) -> Point:
        return Point(self.iterates.w, self.iterates.v, self.iterates.theta)

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.w_mean(), self.v_mean()

    def w_mean(self) -> np.ndarray:
        return self.iterates.w_sum / self.iteration if self.iteration else self.iterates.w.copy()

    def v_mean(self) -> np.ndarray:
        """With B = -I from ``v_{t+1} = A w_{t+1} - b + (theta_{t+1} - theta_t) / beta``: the loop keeps no v."""
        if not self.iteration:
            return self.iterates.v.copy()
        if self.problem.B is not None:
            return self.iterates.v_sum / self.iteration
        w_sum = self.iterates.w_sum - self.w_first + self.iterates.w
        travel = self.travelled + (self.iterates.theta - self.theta_first) / self.beta
        return (self.problem.times_A(w_sum) + travel) / self.iteration - self.problem.b

    @property
    def answer(self) -> np.ndarray:
        return self.course.answer(self)

    def monitor(self) -> Monitor:
        turn = self.problem.times_B(self.iterates.v - self.v_before)
        residual = self.beta * float(np.linalg.norm(self.problem.times_A_transposed(turn)))
        return Monitor(self.iteration, float(self.iterates.eta[0]), residual)

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return self.course.dual_point(self)

    def certify(self) -> Certificate:
        return self.course.certify(self)

    def doubt(self) -> str:
        return self.course.doubt(self)

    # --- the state by name -------------------------------------------------------------------------------------------

    def arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        """All arrays that change, with their names: those of the iterates, and those of each part after its name."""
        yield from self.iterates._asdict().items()
        yield from (("v_before", self.v_before), ("w_first", self.w_first), ("theta_first", self.theta_first))
        yield "travelled", self.travelled
        for part in ("subgradient", "metric", "step", "average"):
            for name, value in getattr(self.method, part)._asdict().items():
                if isinstance(value, np.ndarray):
                    yield f"{part}.{name}", value
        yield from ((f"Q.{name}", array) for name, array in quadratics.changing(self.method.Q).items())

    def state(self) -> NamedState:
        return {name: array.copy() for name, array in self.arrays()} | self.course.state(self)

    def restore(self, state: NamedState) -> None:
        self.course.restore(self, state)
        for name, array in self.arrays():
            array[...] = state[name]
        self.check_indices()

    def check_indices(self) -> None:
        """Raise ``ValueError`` if a metric that came from a file would write its next gradient outside its array."""
        metric: Any = self.method.metric
        if isinstance(metric, metrics.ROOTS) and not 0 <= metric.counts[0] < len(metric.waiting):
            raise ValueError(
                f"the metric has {metric.counts[0]} gradients that wait, and space for {len(metric.waiting)}"
            )

    def fork(self, problem: Problem | None) -> StochasticRun:
        return self.course.fork(self, problem)

    def copied(self) -> StochasticRun:
        """A copy with arrays of its own."""
        fork = copy.copy(self)
        fork.iterates = copy.deepcopy(self.iterates)
        fork.method = copy.deepcopy(self.method._replace(Q=None))._replace(Q=quadratics.fork(self.method.Q))
        for name in ("v_before", "w_first", "theta_first", "travelled"):
            setattr(fork, name, getattr(self, name).copy())
        return fork
