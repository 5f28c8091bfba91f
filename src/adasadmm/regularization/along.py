"""Solutions along strengths of a penalty, each warm-started from the one before, with a certificate at each."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._core.threads import go_on_or_halt, one_blas_thread
from .._solve.attempts import Request, attempt
from .._solve.finish import Answer, finished
from ..auto import candidates, is_auto
from ..certificates.trace import Result
from ..problem import Problem
from ..registry import as_solver
from ..rows.matrices import equal
from ..solvers import Solver
from ..solvers.active_set.active_set import ActiveSet
from ..solvers.base import times_farther
from .strength import with_l1_norm

__all__ = ["MoreRows", "answers_along", "as_strengths", "path"]


class MoreRows(NamedTuple):
    """Solutions of the same problem with more rows, from which a solution for some of them may start.

    ``result_at`` gives the result at a strength; ``rows`` are those that this problem has.
    """

    result_at: Callable[[float], Result]
    rows: np.ndarray

    def start(self, problem: Problem, solver: Solver, alpha: float) -> Result | None:
        """The result for all rows, with a run on those of this problem; None if that is not the best start."""
        if not solver.narrows or problem.w_set is not None:
            return None
        result = self.result_at(alpha)
        run = result.run
        if run is None or repr(run.solver) != repr(solver):
            return None
        if not equal((run.problem.A, run.problem.b), (problem.A, problem.b)):
            return None  # a graph that was learnt from the rows
        if run.problem.n < len(self.rows) or not np.array_equal(run.problem.rows.y[self.rows], problem.rows.y):
            return None  # several outputs, which have rows of their own
        run = run.narrowed(problem, self.rows)
        return None if run is None else dataclasses.replace(result, run=run)


@one_blas_thread()
def path(
    problem: Problem,
    alphas: npt.ArrayLike,
    *,
    l1_ratio: float = 0.0,
    solver: str | Solver = "auto",
    tol: float = 1e-6,
) -> list[Result]:
    """Solve a problem for several strengths of its penalty, each warm-started from the one before.

    The problem at strength alpha is::

        mean loss + ridge + alpha ((1 - l1_ratio) penalty(A w - b) + l1_ratio |w|_1),

    where the penalty is that of the problem with ``nu = 1``. Sets such as `Box` have no strength and are kept.

    Parameters
    ----------
    problem : Problem
        Rows in memory. The strength ``nu`` of its penalty is replaced.
    alphas : array-like of shape (n_alphas,)
        The strengths, finite and >= 0, in the order in which to solve. Decreasing strengths are the fastest.
    l1_ratio : float, default=0.0
        The share of the L1 norm of all coefficients but the intercept. It must be 0 unless the penalty is `L1` or
        `GroupL2`.
    solver : str or Solver, default="auto"
        ``"auto"`` chooses by the structure of the problem, as the estimators do, and prefers methods that profit from
        a warm start.
    tol : float, default=1e-6
        The relative duality gap at which to stop, at each strength.

    Returns
    -------
    list of Result
        One for each strength, in the given order. ``certificate`` bounds the optimum. If ``l1_ratio`` is between 0 and
        1, v and theta have further entries for the L1 norm.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, with the results so far in its attribute ``results``.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, Squared, graphs, path
    >>> problem = Problem(np.eye(3), [1.0, 1.2, 5.0], loss=Squared(), penalty=L1(1.0), A=graphs.difference(3))
    >>> for result in path(problem, [1.0, 0.1, 0.01], tol=1e-8):
    ...     print(result.w.round(3), result.status.name)
    [2.4 2.4 2.4] converged
    [1.25 1.25 4.7 ] converged
    [1.03 1.2  4.97] converged
    """
    if problem.source is not None:
        raise ValueError("path needs rows in memory: read the source into arrays first")
    if not tol >= 0.0:
        raise ValueError(f"tol must be >= 0, got {tol}")
    if not is_auto(solver):
        solver = as_solver(solver)
    strengths, found = as_strengths("alphas", alphas), []
    try:
        for one in answers_along(with_l1_norm(problem, l1_ratio), strengths, Request(solver, tol)):
            found.append(one.result)
    except KeyboardInterrupt as error:
        error.results = found  # type: ignore[attr-defined]
        error.add_note(f"path: {len(found)} of {len(strengths)} strengths are done, in the attribute results")
        raise
    return found


def as_strengths(name: str, given: npt.ArrayLike) -> np.ndarray:
    """The gate for strengths: at least one, finite, not negative."""
    strengths = np.asarray(given, dtype=float).reshape(-1)
    if not strengths.size or not ((strengths >= 0.0) & (strengths < np.inf)).all():
        raise ValueError(f"{name} must contain at least one number, all finite and >= 0, got {given!r}")
    return strengths


def answers_along(
    problem: Problem,
    alphas: Iterable[float],
    request: Request,
    more_rows: MoreRows | None = None,
    exact: bool = True,
) -> Iterator[Answer]:
    """The answer for each strength, in turn; without ``exact``, its structure is only as exact as ``tol`` demands."""

    def start(current: Problem, solver: Solver) -> Result | None:
        near = None if more_rows is None else more_rows.start(current, solver, alpha)
        return _predicted(current, solver, alpha, done) if near is None else near

    done: list[tuple[float, Result]] = []  # the last two
    strengths = [float(alpha) for alpha in alphas]
    current, in_turn, gave_up = problem, None, False
    for alpha in strengths:
        go_on_or_halt()
        # From the last problem, which has what was computed from the rows: all but the penalty is shared.
        current = current.with_strength(alpha)
        if in_turn is None:  # the form of the problem, which all strengths share, decides
            first, in_turn = itertools.tee(candidates(request.solver, current, request.tuning, along_path=True))
            for choice in itertools.islice(first, 1):
                choice.solver.foresee(current, strengths)
        choices, in_turn = itertools.tee(in_turn)
        if gave_up:  # at one strength, and so at the next ones
            choices = (choice for choice in choices if not choice.may_give_up)
        found = attempt(current, choices, request, start, brief=True)
        gave_up = gave_up or not isinstance(found.run.solver, ActiveSet)
        done = [*done[-1:], (alpha, found)]
        yield finished(current, found, request, exact)


def _predicted(problem: Problem, solver: Solver, alpha: float, done: list[tuple[float, Result]]) -> Result | None:
    """The start for a strength: the last solution, moved on as it has moved since the one before.

    Solutions, and their multipliers, are smooth or piecewise linear in alpha.
    """
    if len(done) < 2 or not solver.extrapolates or problem.w_set is not None:
        return done[-1][1] if done else None
    (first, before), (second, last) = done
    times = times_farther(alpha, first, second)
    same = all(repr(result.run.solver) == repr(solver) for result in (before, last))
    if not same or times == 0.0:
        return last
    run = last.run.fork(problem)
    run.extrapolate(last.run, before.run, times)
    return dataclasses.replace(last, run=run)
