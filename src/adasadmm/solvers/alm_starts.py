"""Where a run of the augmented Lagrangian method starts if another run has solved a similar problem.

Such a problem has another penalty, another ridge, or only some of the rows. The duals of the solved one are close to
those of the new one; the betas decide how far they can move in an iteration.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from typing import Self

import numpy as np

from ..certificates import BestDual
from ..certificates.ascent import Ascent
from ..certificates.domains import into_domain
from ..certificates.primal import feasible_point
from ..linalg import matrices
from ..problem import Problem
from . import dual_start
from .base import Point, Run, Solver, beyond
from .inner import InnerProblem

__all__ = ["ARRAYS", "WARM", "WarmStarts"]

WARM = 30.0  # times the first betas for a start that is not 0, and so not far from the solution
CLOSER = 10.0  # times the betas of a warm start, for one that two others predict
LOOSER = 0.3  # times the last betas, for the solution of more rows
NEARBY = 10.0  # times the error that was allowed last: that of the first iteration with another penalty
TIGHTER = 0.1  # times the error with which the last penalty began is the least one: a gap may be small by chance
HARD = 10  # Newton steps of the last penalty, from which on dual ascent is tried
OF_ROWS = ("z", "u", "Xw")
ARRAYS = ("w", "v", "theta", "v_before", "Aw", "theta_next", "diagonal", "best_w", *OF_ROWS)


class WarmStarts(InnerProblem, Run):
    """The starts of a run; its iterations are in `alm`.

    Attributes
    ----------
    best_dual, best_primal, best_w
        The best dual value and the best feasible point so far.
    ascending : bool
        Whether the next iteration is one of dual coordinate ascent.
    newton_steps, steps_before : int
        The Newton steps so far, and those before this penalty.
    allowed_first : float
        The error with which this penalty began.
    """

    best_dual: BestDual
    best_primal: float
    best_w: np.ndarray
    ascending: bool
    moved: float
    newton_steps: int
    steps_before: int
    allowed_first: float

    @abstractmethod
    def __init__(self, problem: Problem, solver: Solver, start: Point) -> None: ...

    @abstractmethod
    def _measure(self) -> None: ...

    @abstractmethod
    def _set_first_betas(self) -> None: ...

    @property
    @abstractmethod
    def ascent(self) -> Ascent: ...

    @abstractmethod
    def _move_to(self, w: np.ndarray, Xw: np.ndarray) -> None: ...

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

    def _begin_again(self, last: WarmStarts) -> None:
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
        assert isinstance(last, WarmStarts) and isinstance(before, WarmStarts)
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
