"""Random models of the estimators: losses, l1_ratio, constraints, weights, intercept; and their optima by CVXPY.

Model number k is a function of k and the largest size, so that a failure can be repeated.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import references
import scipy.sparse as sp

from adasadmm import StructuredClassifier, StructuredRegressor, graphs
from adasadmm.registry import CLASSIFICATION_LOSSES, LOSSES

CONSTRAINTS = ("none", "positive", "bounds", "monotone")
NEEDS_RIDGE = ("logistic", "squared_hinge")  # without one, separable classes have no optimum


class Case(NamedTuple):
    """An estimator, its rows, and the same constraints as ``lower <= C w <= upper``."""

    name: str
    model: Any
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    C: Any
    lower: np.ndarray
    upper: np.ndarray


def random_model(number: int, largest: int = 400) -> Case:
    """Model number ``number``, with up to ``largest`` rows and features in either order."""
    rng = np.random.default_rng([number, largest, 18])
    n, d = (max(2, round(largest ** rng.random())) for _ in range(2))
    loss = str(rng.choice(sorted(name for name in LOSSES if type(LOSSES[name]) in references._LOSSES)))
    X = rng.normal(size=(n, d))
    y = _targets(loss, X @ np.repeat(rng.normal(size=d), 5)[:d], rng)
    weight = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.3 else None
    kind, C = str(rng.choice(CONSTRAINTS)), sp.eye_array(d, format="csr")
    lower, upper = np.full(d, -math.inf), np.full(d, math.inf)
    given: dict[str, Any] = {}
    if kind == "positive":
        lower, given = np.zeros(d), {"positive": True}
    elif kind == "bounds":
        lower, upper = np.full(d, -0.3), rng.uniform(0.05, 1.0, size=d)
        given = {"bounds": (-0.3, upper)}
    elif kind == "monotone":
        C, lower, upper = graphs.difference(d), np.full(d - 1, -math.inf), np.zeros(d - 1)
        given = {"constraints": (C, None, 0.0)}
    given |= {
        "l1_ratio": float(rng.choice([0.0, 0.3, 1.0])),
        "alpha": 10.0 ** rng.uniform(-3.0, 0.0),
        "l2": 10.0 ** rng.uniform(-4.0, 0.0) if loss in NEEDS_RIDGE or rng.random() < 0.5 else 0.0,
        "fit_intercept": bool(rng.integers(2)),
    }
    model = (StructuredClassifier if loss in CLASSIFICATION_LOSSES else StructuredRegressor)(
        "chain", loss=loss, **given
    )
    name = f"{number}: {loss}, {kind}, {n} x {d}, l1_ratio {given['l1_ratio']}, alpha {given['alpha']:.1e}"
    return Case(name, model, X, y, weight, C, lower, upper)


def _targets(loss: str, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noisy = z + rng.normal(size=len(z))
    if loss in CLASSIFICATION_LOSSES:
        y = np.where(noisy > 0.0, 1.0, -1.0)
        y[:2] = -1.0, 1.0  # both classes occur
        return y
    if loss in ("squared", "huber", "epsilon_insensitive", "quantile"):
        return noisy
    return rng.poisson(np.exp(np.clip(0.3 * z, -2.0, 2.0))) + (0.0 if loss == "poisson" else 0.5)


def by_cvxpy(case: Case) -> float:
    """The optimum; infinite if CVXPY does not find it."""
    model, (n, d) = case.model, case.X.shape
    loss = LOSSES[model.loss]
    c = np.ones(n) if case.weight is None else case.weight * (n / case.weight.sum())
    w, shift = cp.Variable(d), cp.Variable() if model.fit_intercept else 0.0
    total = c @ references._LOSSES[type(loss)](loss, case.X @ w + shift, case.y) / n
    total += model.l2 / 2 * cp.sum_squares(w) + model.alpha * model.l1_ratio * cp.norm1(w)
    total += model.alpha * (1.0 - model.l1_ratio) * cp.norm1(cp.diff(w))
    low, high = np.isfinite(case.lower), np.isfinite(case.upper)
    inside = [case.C[low] @ w >= case.lower[low]] if low.any() else []
    inside += [case.C[high] @ w <= case.upper[high]] if high.any() else []
    program = cp.Problem(cp.Minimize(total), inside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate solution does not count
        try:
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        except (cp.SolverError, ValueError):
            return math.inf
    return float(program.value) if program.status == cp.OPTIMAL else math.inf


def faults(case: Case, tol: float = 1e-6) -> list[str]:
    """What is wrong with a fit: its objective, its certificate or its constraints."""
    model, optimum = case.model.set_params(tol=tol), by_cvxpy(case)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(case.X, case.y, sample_weight=case.weight)
    w, value = model.coef_.reshape(-1), model._objectives[0]
    v, finite = case.C @ w, np.concatenate([case.lower, case.upper])
    outside = max(0.0, np.max(case.lower - v, initial=0.0), np.max(v - case.upper, initial=0.0))
    size = 1.0 + np.abs(w).max() + np.abs(finite[np.isfinite(finite)]).max(initial=0.0)
    unit = max(abs(value), 1e-6)  # where the optimum is 0, relative gaps are those of rounding errors
    found = [] if outside <= 1e-12 * size else [f"outside its constraints by {outside:.1e}"]
    if math.isfinite(optimum):
        if value - optimum > tol * unit + 1e-8:
            found.append(f"objective {value:.9g}, CVXPY {optimum:.9g}")
        dual = model._results[0].certificate.dual
        if dual > optimum + 1e-7 * unit:
            found.append(f"dual value {dual:.9g}, CVXPY {optimum:.9g}")
    if said and value > 1e-9:
        found.append(str(said[0].message))
    return [f"{case.name}: {fault}" for fault in found]
