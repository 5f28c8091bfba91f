"""The run of every method that uses all rows in each iteration: what such methods share, written once.

A `Method` is its mathematics and a small state; `AllRowsSolver` makes one for a problem, and `AllRowsRun` drives it.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..certificates import BestDual, certify
from ..certificates.trace import Certificate
from ..problem import Problem
from ..rows.last_products import kept
from ..rows.matrices import all_finite
from .base import Monitor, NamedState, Point, Run, Slopes, Solver
from .work import Iterations, Work

__all__ = ["AllRowsRun", "AllRowsSolver", "Method"]


class AllRowsSolver(Solver):
    """The facts about a method that uses all rows in every iteration, has them in memory, and has an exact v."""

    uses_all_rows = True
    takes_streams = False
    takes_any_B = False
    knows_gap = True
    exact_v = True

    @abstractmethod
    def method(self, problem: Problem, start: Point) -> Method:
        """The method on a problem, from a point, whose arrays it may keep. Whatever has to be compiled is compiled."""

    def begin(self, problem: Problem, start: Point) -> Run:
        return AllRowsRun(self, self.method(problem, start))


class Method(ABC):
    """A method on one problem. To write one, say what an iteration does, and what its dual point is.

    Attributes
    ----------
    problem : Problem
    w, v, theta : ndarray
        The iterates.
    ended : bool
        Another iteration would change nothing.
    iteration : int
        Iterations so far; counted by the run.
    tol : float
        As `Run.tol`.
    best_dual : BestDual
        The last certificate, and the best dual value so far.
    arrays, numbers : tuple of str
        The attributes on which further iterations depend: arrays, and numbers. They are the saved state.
    """

    arrays: ClassVar[tuple[str, ...]] = ("w", "v", "theta")
    numbers: ClassVar[tuple[str, ...]] = ()

    w: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    ended: bool = False
    iteration: int = 0
    tol: float = 0.0

    def __init__(self, problem: Problem) -> None:
        self.problem, self.best_dual = problem, BestDual()

    # --- what each method says ---------------------------------------------------------------------------------------

    @abstractmethod
    def advance(self) -> None:
        """One iteration; `iteration` is its number. It may leave infinite or NaN iterates."""

    @abstractmethod
    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        """As `Run.dual_point`."""

    # --- what it may say otherwise -----------------------------------------------------------------------------------

    @property
    def point(self) -> Point:
        """As `Run.point`."""
        return Point(self.w, self.v, self.theta)

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """As `Run.means`."""
        return self.point.w, self.point.v

    @property
    def answer(self) -> np.ndarray:
        """As `Run.answer`."""
        return self.point.w

    def is_finite(self) -> bool:
        """As `Run.is_finite`."""
        w, _, theta = self.point
        return all_finite(w) and all_finite(theta)

    def monitor(self) -> Monitor:
        """As `Run.monitor`. The certificate, which every point of the trace needs, has the objective."""
        found = self.certify()
        return Monitor(self.iteration, objective=found.primal, primal_residual=found.primal_residual)

    def certificate(self) -> Certificate:
        """The certificate of `answer` with the dual value of `dual_point`."""
        return certify(self.problem, self.answer, self.point.v, *self.dual_point())

    def saved(self) -> dict[str, np.ndarray]:
        """The arrays of the state by name; not copies."""
        return {name: getattr(self, name) for name in self.arrays}

    def restored(self) -> None:  # noqa: B027
        """Compute again what follows from the state, which has changed."""

    def moved_to(self, problem: Problem, solver: AllRowsSolver) -> Method:
        """A copy for the same problem; for another one, a start from here, with whatever is worth keeping."""
        other = solver.method(problem, self.point)
        if problem is self.problem:
            other.restore(self.state())
            other.best_dual = copy.copy(self.best_dual)
        return other

    def extrapolate(self, last: Self, before: Self, times: float) -> None:  # noqa: B027
        """As `Run.extrapolate`."""

    def narrowed(self, problem: Problem, rows: np.ndarray) -> Method | None:
        """As `Run.narrowed`."""
        return None

    # --- what all methods share --------------------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """The certificate of `answer`, with the best dual value so far."""
        return self.best_dual.find(self.problem, self.iteration, self.certificate)

    def state(self) -> NamedState:
        """As `Run.state`."""
        numbers = {name: getattr(self, name) for name in (*self.numbers, "iteration")}
        return (
            {name: kept(array) for name, array in self.saved().items()} | numbers | {"best_dual": self.best_dual.best}
        )

    def restore(self, state: NamedState) -> None:
        """As `Run.restore`."""
        named: Mapping[str, Any] = state
        for name, array in self.saved().items():
            array[...] = named[name]
        for name in (*self.numbers, "iteration"):
            setattr(self, name, named[name])
        self.best_dual.best = float(named["best_dual"])
        self.best_dual.forget()
        self.restored()


class AllRowsRun(Run):
    """A method on one problem."""

    solver: AllRowsSolver

    def __init__(self, solver: AllRowsSolver, method: Method) -> None:
        self.solver, self.method, self.problem = solver, method, method.problem

    def advance(self, work: Work) -> None:
        assert isinstance(work, Iterations)
        self.method.tol = self.tol
        for _ in range(work.number):
            self.method.iteration += 1
            if not self.method.ended:
                self.method.advance()

    @property
    def ended(self) -> bool:
        return self.method.ended

    def is_finite(self) -> bool:
        return self.method.is_finite()

    @property
    def point(self) -> Point:
        return self.method.point

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.method.means

    @property
    def answer(self) -> np.ndarray:
        return self.method.answer

    def monitor(self) -> Monitor:
        return self.method.monitor()

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return self.method.dual_point()

    def certify(self) -> Certificate:
        return self.method.certify()

    def state(self) -> NamedState:
        return self.method.state()

    def restore(self, state: NamedState) -> None:
        self.method.tol = self.tol
        self.method.restore(state)

    def fork(self, problem: Problem | None) -> Run:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        return self._with(self.method.moved_to(problem, self.solver))

    def extrapolate(self, last: Run, before: Run, times: float) -> None:
        assert isinstance(last, AllRowsRun) and isinstance(before, AllRowsRun)
        self.method.extrapolate(last.method, before.method, times)

    def narrowed(self, problem: Problem, rows: np.ndarray) -> Run | None:
        method = self.method.narrowed(problem, rows)
        return None if method is None else self._with(method)

    def _with(self, method: Method) -> Run:
        run = AllRowsRun(self.solver, method)
        if method.iteration:  # it goes on, and does not begin anew
            run.done, run.seconds = self.done, self.seconds
        return run
