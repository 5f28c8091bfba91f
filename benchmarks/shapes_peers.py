"""Other packages on the problems of `shapes_problems.py`: each returns a function ``tol -> (w, seconds)``.

Whatever can be prepared once, such as CVXPY's compilation of a problem, is prepared before and outside the clock.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from shapes_problems import Shape

Find = Callable[[float], tuple[np.ndarray | None, float]]

PACKAGES = {"Clarabel": "cvxpy", "prox_tv": "prox_tv", "rehline": "rehline", "lbfgs": "sklearn"}
TOLERANCES = {
    "Clarabel": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
    "rehline": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    "prox_tv": (0.0,),
    "lbfgs": (1e-4,),
}


def installed(name: str) -> bool:
    return importlib.util.find_spec(PACKAGES[name]) is not None


def peer(name: str, shape: Shape) -> Find:
    return {"Clarabel": clarabel, "prox_tv": prox_tv, "rehline": rehline, "lbfgs": lbfgs}[name](shape)


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return the value of a function and its seconds: the median of five calls if they are short."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < 5 and sum(seconds) < 1.0):
        start = time.perf_counter()
        found = function()
        seconds.append(time.perf_counter() - start)
    return found, statistics.median(seconds)


def clarabel(shape: Shape) -> Find:
    """``problem.solve`` of CVXPY; its compilation is cached here."""
    import cvxpy as cp

    n, d = shape.X.shape
    w = cp.Variable(d)
    z = w if shape.image is not None or _is_identity(shape.X) else shape.X @ w
    y = shape.y
    loss = {
        "squared": lambda: cp.sum_squares(z - y) / 2,
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(y, z))),
        "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, z))),
        "poisson": lambda: cp.sum(cp.exp(z) - cp.multiply(y, z)),
        "quantile": lambda: cp.sum(cp.abs(z - y)) / 2,
    }[shape.loss]()
    v = shape.A @ w
    penalty = cp.norm1(v) if shape.groups is None else sum(cp.norm2(v[members]) for members in shape.groups)
    program = cp.Problem(cp.Minimize(loss / n + shape.l2 / 2 * cp.sum_squares(w) + shape.alpha * penalty))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program.get_problem_data(cp.CLARABEL)

    def find(tol: float) -> tuple[np.ndarray | None, float]:
        def call() -> np.ndarray | None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an inaccurate solution shows in its objective
                try:
                    program.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
                except cp.SolverError:
                    return None
            return w.value

        return timed(call)

    return find


def _is_identity(X: Any) -> bool:
    return sp.issparse(X) and X.shape[0] == X.shape[1] and (X != sp.eye_array(X.shape[0])).nnz == 0


def prox_tv(shape: Shape) -> Find:
    """The solvers of Barbero and Sra for squared loss and X = I; they give no certificate."""
    import prox_tv as ptv

    strength, signal = shape.alpha * len(shape.y), shape.y.reshape(shape.image)
    solve = ptv.tv1_1d if signal.ndim == 1 else ptv.tv1_2d

    def find(_: float) -> tuple[np.ndarray | None, float]:
        found, seconds = timed(lambda: solve(signal, strength))
        return np.asarray(found).reshape(-1), seconds

    return find


def rehline(shape: Shape) -> Find:
    """Each edge's ``|w_i - w_j|`` is two ReLU terms of the row e_i - e_j."""
    from rehline import ReHLine_solver

    n, m = len(shape.y), shape.A.shape[0]
    unit = 1.0 / (n * shape.l2)
    dense = not sp.issparse(shape.X)
    rows = np.vstack([shape.X, shape.A.toarray()]) if dense else sp.vstack([shape.X, shape.A], format="csr")
    U, V = np.zeros((2, n + m)), np.zeros((2, n + m))
    U[0, :n], V[0, :n] = -unit * shape.y, unit
    U[0, n:], U[1, n:] = shape.alpha / shape.l2, -shape.alpha / shape.l2

    def find(tol: float) -> tuple[np.ndarray | None, float]:
        found, seconds = timed(lambda: ReHLine_solver(rows, U, V, max_iter=100_000, tol=tol, verbose=0))
        return np.asarray(found.beta), seconds

    return find


def lbfgs(shape: Shape) -> Find:
    """scikit-learn's logistic regression with the same ridge, without the graph: a measure of the data's size."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0 / (len(shape.y) * shape.l2), fit_intercept=False, max_iter=1000)

    def find(_: float) -> tuple[np.ndarray | None, float]:
        fitted, seconds = timed(lambda: model.fit(shape.X, shape.y))
        return fitted.coef_[0], seconds

    return find
