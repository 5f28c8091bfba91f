"""The answer to a problem: the solvers that were asked for, run in turn, and the result finished; and `solve`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy.typing as npt

from ..auto import candidates, is_auto
from ..certificates.trace import Result, Status
from ..checkpoints import Checkpoint
from ..problem import Problem
from ..registry import as_solver
from ..solvers import Solver
from .advice import complaint, gap_of
from .attempts import Request, attempt
from .drive import Callback
from .finish import Answer, at_all_rows, finished
from .null_model import want_null_model
from .solving import DEFAULT_TOL, check_arguments, check_numbers, solve_quietly

__all__ = ["answer", "solve"]

ANOTHER = "another solver, such as ALM() or IPM()"


def answer(problem: Problem, request: Request, start: Result | None = None) -> Answer:
    """Solve a problem as requested: on condensed rows where these may stand for all, on all rows if that misses."""
    few = problem.condensed if request.may_condense(problem) else problem
    if few is not problem:
        found = at_all_rows(problem, answer(few, request, start))
        if gap_of(found.result) <= request.tol:
            return found
    want_null_model(problem, request.has_intercept)
    in_turn = candidates(request.solver, problem, request.tuning)
    return finished(problem, attempt(problem, in_turn, request, lambda problem, solver: start), request)


def solve(
    problem: Problem,
    solver: str | Solver = "auto",
    *,
    epochs: float | None = None,
    seed: int = 0,
    samples: npt.ArrayLike | None = None,
    order: str = "permute",
    start: Result | None = None,
    tol: float | None = None,
    trace_every: float = 0.25,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    polish: bool = False,
) -> Result:
    """Minimise a problem.

    Parameters
    ----------
    problem : Problem
    solver : "auto", a name or a Solver, default="auto"
        "auto" chooses by the shape of the problem, as the estimators do: ``result.solver`` and ``result.solver_reason``
        say what ran and why. If a solver misses ``tol``, another one follows. The result has exact structure,
        ``A w = b`` where the penalty fuses coefficients, and is not worse than w = 0. A solver that is given returns
        its own point. It is one of the stochastic solvers `AdaSADMM`, `SADMM`, `OADMM` and `RDASADMM`; of `SPDHG`,
        `SVRGADMM` and `ASVRGADMM`, which read the rows in batches and know their gap; of those that use all rows in
        every iteration, `ADMM`, `ALM`, `IPM`, `SDCA` and `ConsensusADMM`, and for signals and
        images `TotalVariation`; or one of your own.
    epochs : float, optional
        Maximum number of passes over the rows; for solvers that use all rows in every iteration, of iterations. By
        default the ``default_epochs`` of the solver: 2 for the stochastic solvers, 200 for `SPDHG`, `SVRGADMM` and
        `ASVRGADMM`, 1000 for `ADMM` and `ALM`, 100 for `IPM`. With "auto", no other solver follows the first one then.
    seed : int, default=0
        Determines the order of the rows.
    samples : array of row indices, optional
        An explicit order of rows, which is then the whole run; batches are consecutive pieces of it.
    order : {"permute", "replace", "given"}, default="permute"
        A new permutation in each epoch; rows drawn with replacement, as the theorems require; or the order of the data.
    start : Result, optional
        Where to start. If solver and shapes are the same, the run continues; otherwise it starts at the w, v and theta
        of the result.
    tol : float, optional
        Stop when the relative duality gap at a point of the trace falls below ``tol``. By default 1e-6 for the solvers
        that know their gap, all but the stochastic ones, which do not stop by default unless "auto" chooses them for
        rows in memory.
    trace_every : float, default=0.25
        Epochs between two points of the trace; values above 1 are rounded up. A source has at most one point per epoch,
        since each costs a pass. For solvers that use all rows in every iteration the unit is an iteration, and values
        below 1 mean the solver's default: 10 for `ADMM`, 1 for `ALM` and `IPM`.
    callback : callable, optional
        Called with a `Snapshot` at each point of the trace; a true return value stops the run.
    progress : bool, default=False
        Show a progress bar with the objective.
    checkpoint : Checkpoint, optional
        Where to save the run periodically, and when it is interrupted.
    resume : bool, default=False
        Resume from the checkpoint, if there is one; the result is the same as without an interruption.
    polish : bool, default=False
        Continue to a gap of 1e-8, with the same solver if it uses all rows and has an exact v, else with `ALM`, and
        make the structure exact:
        ``A w = b`` holds exactly where v is 0. A run that missed ``tol`` is not polished.

    Returns
    -------
    Result

    Warns
    -----
    ConvergenceWarning
        If the run diverged, or ended with a relative gap above ``tol``: the one that was given, or 1e-6 for a method
        that uses all rows in every iteration, unless ``epochs`` says how many to do. Also if a stochastic solver ran on
        workers whose rows differ, because they are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ADMM, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]])
    >>> solve(problem, ADMM(), tol=1e-9).w.round(6)  # a penalty so strong that both fuse to the mean
    array([2., 2.])

    Without a solver, the method for the shape of the problem runs:

    >>> result = solve(problem)
    >>> print(result.solver, "because", result.solver_reason)
    TotalVariation() because X is diagonal and the penalty acts along chains: dynamic programming is exact
    """
    check_arguments(problem, start, callback)
    check_numbers(epochs, order, tol, trace_every, seed)
    keywords: dict[str, Any] = {"seed": seed, "samples": samples, "order": order, "trace_every": trace_every}
    keywords |= {"progress": progress, "polish": polish}
    saved: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume} if checkpoint is not None or resume else {}
    request = Request(solver, DEFAULT_TOL if tol is None else tol, epochs, callback=callback, saved=saved)
    if is_auto(solver):
        keywords |= {} if tol is None else {"tol": tol}
        result = answer(problem, request._replace(keywords=keywords), start).result
    else:
        keywords |= {"epochs": epochs, "tol": tol, "start": start, "callback": callback, **saved}
        result = solve_quietly(problem, as_solver(solver), **keywords)
    _warn_unless_converged(result, tol, request)
    return result


def _warn_unless_converged(result: Result, tol: float | None, request: Request) -> None:
    """Warn if the run diverged, or missed the ``tol`` that it was to reach."""
    goal, auto = tol, is_auto(request.solver)
    if tol is None and request.epochs is None and (auto or result.solver.knows_gap):
        goal = request.expected(result)
    if result.status is Status.stopped or goal == 0.0:  # no run ends at 0: it does all iterations
        goal = None
    gap = 0.0 if goal is None else gap_of(result)
    if text := complaint(result, gap, goal, request.epochs, "epochs", "" if auto else ANOTHER):
        from sklearn.exceptions import ConvergenceWarning  # slow to import, and rarely needed

        warnings.warn(text, ConvergenceWarning, stacklevel=3)
