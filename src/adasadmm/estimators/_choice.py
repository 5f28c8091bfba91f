"""What ``solver="auto"`` runs: the cheapest method by counted cost, and the ones that follow if it misses ``tol``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .. import losses
from .._core.jit import is_registered
from ..problem import Problem
from ..registry import SOLVERS, Tuning
from ..solvers import ADMM, ALM, ASVRGADMM, SPDHG, Solver

__all__ = ["Choice", "choices"]

MOST_FEATURES = 2000  # with more, solvers that form no d x d matrix are tried before ALM


class Choice(NamedTuple):
    """A solver, and why it was chosen: a clause that follows "because"."""

    solver: Solver
    reason: str


def choices(problem: Problem, tuning: Tuning, streaming: bool = False) -> Iterator[Choice]:
    """The solvers to run, in this order, until one of them reaches ``tol``."""
    if streaming:
        yield Choice(SOLVERS["ada-diag"](tuning), "the rows arrive as a stream")
    elif problem.on_workers:
        yield _on_workers(problem, tuning)
    elif tuning.beta != "auto":
        yield Choice(ADMM(tuning.beta), "beta is given, and is a parameter of ADMM")
    else:
        yield from _in_memory(problem, tuning)


def _on_workers(problem: Problem, tuning: Tuning) -> Choice:
    if problem.d <= MOST_FEATURES and is_registered(losses.prox, problem.loss):
        return Choice(SOLVERS["admm"](tuning), f"the rows are on workers and {problem.d} features are few")
    return Choice(SOLVERS["ada-diag"](tuning), f"the rows are on workers, with {problem.d} features")


def _in_memory(problem: Problem, tuning: Tuning) -> Iterator[Choice]:
    """ALM; with many features first a solver that forms no d x d matrix."""
    if problem.d > MOST_FEATURES:
        smooth = is_registered(losses.curvature, problem.loss)
        accurate = (ASVRGADMM if smooth else SPDHG)(beta=tuning.beta, batch_size=tuning.batch_size)
        yield Choice(accurate, f"{problem.d} features are many")
    yield Choice(ALM(), f"{problem.d} features are few")
