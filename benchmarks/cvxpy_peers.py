"""The same problem in CVXPY, whose solvers are the alternatives a user has."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adasadmm import graphs


class Peer(NamedTuple):
    """A solver of CVXPY: its label, its options for a tolerance and a time limit, and the losses that it supports."""

    label: str
    options: Callable[[float, float], dict[str, Any]]
    losses: tuple[str, ...] = ("hinge", "logistic")


CVXPY = {
    "CLARABEL": Peer(
        "Clarabel",
        lambda tol, limit: {"tol_gap_rel": tol, "tol_gap_abs": tol, "tol_feas": tol, "time_limit": limit},
    ),
    "OSQP": Peer(  # quadratic programs only
        "OSQP",
        lambda tol, limit: {"eps_abs": tol, "eps_rel": tol, "max_iter": 100_000, "time_limit": limit},
        ("hinge",),
    ),
    "SCS": Peer(
        "SCS",
        lambda tol, limit: {"eps_abs": tol, "eps_rel": tol, "max_iters": 100_000, "time_limit_secs": limit},
    ),
}


def installed(loss: str = "hinge") -> list[str]:
    """Return the solvers of `CVXPY` that are installed and support the loss."""
    if importlib.util.find_spec("cvxpy") is None:
        return []
    import cvxpy as cp

    here = cp.installed_solvers()
    return [name for name in CVXPY if name in here and loss in CVXPY[name].losses]


def by_cvxpy(X: Any, y: np.ndarray, edges: np.ndarray, loss: str = "hinge") -> Callable[..., np.ndarray | None]:
    """Return a function ``(solver, tol, limit) -> w`` for gamma = nu = 1/n without intercept.

    It returns None if the solver fails. The program is built here; its conversion to the solver's form happens in each
    call and counts as the solver's time.
    """
    import cvxpy as cp

    n, d = X.shape
    w = cp.Variable(d)
    margins = cp.multiply(y, X @ w)
    losses = cp.pos(1 - margins) if loss == "hinge" else cp.logistic(-margins)
    penalty = cp.norm1(graphs.incidence(edges, d=d) @ w)
    objective = cp.Minimize((cp.sum(losses) + cp.sum_squares(w) / 2 + penalty) / n)

    def solve(solver: str, tol: float, limit: float = 1e6) -> np.ndarray | None:
        w.value = None
        program = cp.Problem(objective)  # a new one, so that the solver cannot start from the previous solution
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate solution shows in its objective
            try:
                program.solve(solver=solver, warm_start=False, **CVXPY[solver].options(tol, limit))
            except cp.SolverError:
                return None
        return None if w.value is None else np.asarray(w.value)

    return solve
