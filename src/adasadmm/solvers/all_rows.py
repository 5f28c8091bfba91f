"""The run around a method that has all rows in memory: what all such methods need, written once.

A `Method` is its mathematics and the arrays w, v and theta. `AllRowsRun` adds the trace, the certificate, the state by
name and copies.
"""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np

from ..certificates import BestDual, certify, diagonal, duality
from ..certificates.duality import Dual
from ..certificates.trace import Certificate
from ..problem import Problem
from ..rows.last_products import frozen, kept
from .base import Monitor, NamedState, Point, Run, Slopes, Solver
from .tv.nodes import in_balance, nodes_of
from .work import Iterations, Work

__all__ = ["AllRowsRun", "AllRowsSolver", "ExactRun", "Method", "SolvedAtOnce"]


class AllRowsSolver(Solver):
    """The facts about a method that has all rows in memory, uses them in every iteration, and has an exact v."""

    uses_all_rows: ClassVar[bool] = True
    takes_streams: ClassVar[bool] = False
    takes_any_B: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    exact_v: ClassVar[bool] = True


class Method:
    """The interface of a method: it updates w, v and theta, arrays that the run reads; an `ExactRun` sets v.

    Attributes
    ----------
    s : ndarray or None
        The slopes of the losses, if the method knows them.
    ended : bool
        Another iteration would change nothing.
    numbers : tuple of str
        The attributes that are numbers and on which further iterations depend.
    """

    w: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    s: np.ndarray | None = None
    ended: bool = False
    numbers: ClassVar[tuple[str, ...]] = ()

    def advance(self) -> None:
        """One iteration."""
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        """The arrays, besides w, v and theta, on which further iterations depend; not copies."""
        return {}

    def thaw(self) -> None:
        """Replace w, v and theta by copies: they may be read-only, or known to the problem."""
        self.w, self.v, self.theta = self.w.copy(), self.v.copy(), self.theta.copy()


class SolvedAtOnce(Method):
    """A method whose first iteration ends at the solution."""

    def __init__(self) -> None:
        self.solved = np.zeros(1)

    @property
    def ended(self) -> bool:  # type: ignore[override]
        return bool(self.solved[0])

    def advance(self) -> None:
        if not self.ended:
            self.solve()
            self.solved[0] = 1.0

    def solve(self) -> None:
        """Set w and theta to the solution."""
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        return {"solved": self.solved}


class AllRowsRun(Run):
    """A method on one problem, whose point is that of the method. What it does not say itself is its `dual_point`."""

    def __init__(self, problem: Problem, solver: Solver, method: Method) -> None:
        self.problem, self.solver, self.method = problem, solver, method
        self.iteration, self.best_dual = 0, BestDual()

    @property
    def v(self) -> np.ndarray:
        return self.method.v

    @v.setter
    def v(self, v: np.ndarray) -> None:
        self.method.v = v

    def advance(self, work: Work) -> None:
        assert isinstance(work, Iterations)
        for _ in range(work.number):
            self.method.advance()
        self.iteration += work.number

    @property
    def ended(self) -> bool:  # type: ignore[override]
        return self.method.ended

    @property
    def point(self) -> Point:
        return Point(self.method.w, self.method.v, self.method.theta)

    def monitor(self) -> Monitor:
        """The certificate, which every point of the trace needs, has the objective."""
        found = self.certify()
        return Monitor(self.iteration, objective=found.primal, primal_residual=found.primal_residual)

    def certify(self) -> Certificate:
        return self.best_dual.find(self.problem, self.iteration, self._certificate)

    def _certificate(self) -> Certificate:
        return certify(self.problem, self.method.w, self.method.v, *self.dual_point())

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**self.point._asdict(), **self.method.state()}

    def state(self) -> NamedState:
        numbers = {name: getattr(self.method, name) for name in self.method.numbers}
        numbers |= {"iteration": self.iteration, "best_dual": self.best_dual.best}
        return {name: kept(array) for name, array in self._arrays().items()} | numbers

    def restore(self, state: NamedState) -> None:
        self.method.thaw()
        for name, array in self._arrays().items():
            array[...] = state[name]
        for name in self.method.numbers:
            setattr(self.method, name, state[name])
        self.iteration, self.best_dual.best = int(state["iteration"]), float(state["best_dual"])
        self.best_dual.forget()

    def fork(self, problem: Problem | None) -> Run:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        fork = self.solver.begin(problem, self.point)
        assert isinstance(fork, AllRowsRun)
        fork.done, fork.seconds = self.done, self.seconds
        if problem is self.problem:
            fork.restore(self.state())
            fork.best_dual = copy.copy(self.best_dual)
        return fork


class ExactRun(AllRowsRun):
    """The run of a method whose v is ``A w``, so that the dual value often has a closed form."""

    def __init__(self, problem: Problem, solver: Solver, method: Method) -> None:
        super().__init__(problem, solver, method)
        starts_at_zero = not method.w[0] and not method.w.any()  # the first entry alone tells most starts
        self.v = frozen(np.zeros(problem.m)) if starts_at_zero else problem.last_A_products.of(method.w)

    def advance(self, work: Work) -> None:
        super().advance(work)
        self.v = self.problem.last_A_products.of(self.method.w)
        if not self.method.w.flags.writeable:  # the method makes new arrays, and v will not change either
            frozen(self.v)

    @property
    def slopes(self) -> np.ndarray | None:
        """Slopes of the losses; None if those count with which each coefficient is in balance, where X is diagonal."""
        return self.method.s

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        """At a kink of a loss, the slope at w alone would not tell."""
        n, theta = self.problem.n, self.method.theta
        if self.slopes is not None:
            return self.slopes, theta
        return in_balance(nodes_of(self.problem), self.method.w, self.problem.last_A_transposed.of(theta)[:n]), theta

    def _certificate(self) -> Certificate:
        problem, w = self.problem, self.method.w
        found = diagonal.values(problem, w, self.slopes, self.method.theta)
        if found is None:
            loss, dual = problem.loss_at(w)[0], duality.dual_value(problem, w, *self.dual_point())
        else:
            loss, dual = found.loss, Dual(found.dual, found.residual)
        dual = duality.unless_unbounded(problem, dual)
        primal = loss + problem.ridge_value(w) + problem.penalty_value(problem.last_A_products.of(w))
        gap = duality.relative_gap(problem, primal, dual.value)
        return Certificate(primal, dual.value, primal - dual.value, gap, 0.0, dual.residual, dual.reason)
