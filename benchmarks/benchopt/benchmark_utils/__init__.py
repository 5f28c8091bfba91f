"""Functions that several files of the benchmark use."""

import sys
from pathlib import Path

from benchopt.stopping_criterion import SufficientProgressCriterion

sys.path.append(
    str(Path(__file__).parents[2])
)  # the problem, the data generators and the forms of other packages are there

import cvxpy_peers
import generated
from graph_guided import SOLVERS, problem_of, rows_and_graph
from rehline_peer import by_rehline

__all__ = [
    "SOLVERS",
    "by_rehline",
    "cvxpy_peers",
    "generated",
    "little_progress",
    "next_tolerance",
    "problem_of",
    "rows_and_graph",
]


def next_tolerance(tol: float) -> float:
    """Return a tenth of the last tolerance; benchopt begins with an infinite one, which means the start at 0."""
    return 0.1 if tol > 1.0 else 0.1 * tol


def little_progress(strategy: str, patience: int = 5) -> SufficientProgressCriterion:
    """Return a stopping criterion. Each solver needs its own, because benchopt stores the strategy in it."""
    return SufficientProgressCriterion(eps=1e-6, patience=patience, strategy=strategy)
