"""The demo: handwritten digits, even against odd, with the pixel grid as graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .. import graphs
from ..losses import Hinge
from ..metrics import Full
from ..penalties import L1
from ..problem import Problem
from ..solve import solve
from ..solvers import ADMM, ALL_ROWS, ALM, SADMM, AdaSADMM

__all__ = ["Line", "digits", "lines"]

# Where a step size has to be chosen it is 1, which for all three is the best power of 2 on these data.
SOLVERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SADMM, 1/(gamma t)": (SADMM(), {}),
    "SADMM, c/sqrt(t)": (SADMM(eta=1.0), {}),
    "Ada-SADMM, diagonal": (AdaSADMM(eta=1.0), {}),
    "Ada-SADMM, full": (AdaSADMM(metric=Full(refresh=0.05), eta=1.0), {}),
    "Ada-SADMM, no step to tune": (AdaSADMM(average="step-weighted"), {}),
    "batch ADMM": (ADMM(), {}),
    "augmented Lagrangian": (ALM(), {}),
}


class Line(NamedTuple):
    """One line of the table."""

    algorithm: str
    objective: float
    above_optimum: float
    test_error: float
    seconds: float


def digits(seed: int = 0) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The training problem, and the test rows and labels."""
    X, digit = load_digits(return_X_y=True)
    y = np.where(digit % 2 == 0, 1.0, -1.0)
    X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.2, random_state=seed, stratify=y)
    n, d = X_train.shape
    A = graphs.incidence(graphs.grid(8, 8), d=d)
    return Problem(X_train, y_train, loss=Hinge(), penalty=L1(1 / n), A=A, gamma=1 / n), X_test, y_test


def lines(epochs: float = 2.0) -> Iterator[Line]:
    """Each algorithm's line, as soon as it is known."""
    problem, X_test, y_test = digits()
    optimum = solve(problem, ALM(), tol=1e-8).certificate
    assert optimum is not None
    for name, (solver, options) in SOLVERS.items():
        if not isinstance(solver, ALL_ROWS):
            options = {"epochs": epochs, **options}
        result = solve(problem, solver, **options)
        objective = problem.objective(result.w_average)
        error = float(np.mean(np.where(X_test @ result.w_average >= 0.0, 1.0, -1.0) != y_test))
        yield Line(name, objective, objective / optimum.dual - 1.0, error, float(result.trace["seconds"][-1]))
