"""Random models of the estimators: losses, l1_ratio, constraints, offset, weights, intercept; their optima by CVXPY.

Model number k is a function of k and the largest size, so that a failure can be repeated. Each 132 models in a row are
the product of losses, l1_ratio and constraints. Used by the tests and by benchmarks/fuzz_cvxpy.py.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import references
import scipy.sparse as sp

from adasadmm import StructuredClassifier, StructuredRegressor, graphs, losses
from adasadmm.registry import CLASSIFICATION_LOSSES, LOSSES

CONSTRAINTS = ("none", "positive", "bounds", "monotone")
L1_RATIOS = (0.0, 0.3, 1.0)
COUNT = 300  # models that the tests compare
NEEDS_RIDGE = ("logistic", "squared_hinge")  # without one, separable classes have no optimum


class Case(NamedTuple):
    """An estimator, its rows, and the same constraints as ``lower <= C w <= upper``."""

    name: str
    model: Any
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    offset: np.ndarray | None
    C: Any
    lower: np.ndarray
    upper: np.ndarray


def random_model(number: int, largest: int = 400) -> Case:
    """Model number ``number``, with up to ``largest`` rows and features in either order."""
    rng = np.random.default_rng([number, largest, 18])
    names = sorted(name for name in LOSSES if type(LOSSES[name]) in references.TERMS)
    loss, kind = names[number % len(names)], CONSTRAINTS[number // len(names) % len(CONSTRAINTS)]
    labels = loss in CLASSIFICATION_LOSSES
    n, d = (max(least, round(largest ** rng.random())) for least in (2 if labels else 1, 1))
    X = rng.normal(size=(n, d))
    offset = rng.normal(size=n) if rng.random() < 0.5 else None
    y = _targets(loss, X @ np.repeat(rng.normal(size=d), 5)[:d] + (0.0 if offset is None else offset), rng)
    weight = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.3 else None
    C, lower, upper, given = _constraints(kind, d, rng)
    given |= {
        "l1_ratio": L1_RATIOS[number // (len(names) * len(CONSTRAINTS)) % len(L1_RATIOS)],
        "alpha": 10.0 ** rng.uniform(-3.0, 0.0),
        "l2": 10.0 ** rng.uniform(-4.0, 0.0) if loss in NEEDS_RIDGE or rng.random() < 0.5 else 0.0,
        "fit_intercept": bool(rng.integers(2)),
    }
    model = (StructuredClassifier if labels else StructuredRegressor)("chain", loss=loss, **given)
    name = f"{number}: {loss}, {kind}, {n} x {d}, l1_ratio {given['l1_ratio']}, alpha {given['alpha']:.1e}"
    return Case(name, model, X, y, weight, offset, C, lower, upper)


def _constraints(kind: str, d: int, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray, dict[str, Any]]:
    """C, lower and upper, and the same as parameters of the estimators."""
    free = np.full(d, math.inf)
    if kind == "monotone":
        C = graphs.difference(d)
        return C, -free[1:], np.zeros(d - 1), {"constraints": (C, None, 0.0)}
    C = sp.eye_array(d, format="csr")
    if kind == "positive":
        return C, np.zeros(d), free, {"positive": True}
    if kind == "bounds":
        upper = rng.uniform(0.05, 1.0, size=d)
        return C, np.full(d, -0.3), upper, {"bounds": (-0.3, upper)}
    return C, -free, free, {}


def _targets(loss: str, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noisy = z + rng.normal(size=len(z))
    if loss in CLASSIFICATION_LOSSES:
        y = np.where(noisy > 0.0, 1.0, -1.0)
        y[:2] = -1.0, 1.0  # both classes occur
        return y
    if loss in ("squared", "huber", "epsilon_insensitive", "quantile"):
        return noisy
    y = rng.poisson(np.exp(np.clip(0.3 * z, -2.0, 2.0))) + (0.0 if loss == "poisson" else 0.5)
    y[0] = 1.0  # counts that are all 0 have no best fit
    return y


def _weights(case: Case) -> np.ndarray:
    """The weights of the rows, divided by their mean."""
    n = len(case.y)
    return np.ones(n) if case.weight is None else case.weight * (n / case.weight.sum())


def _least_loss(case: Case) -> float:
    """What the loss would be if every prediction were the best one for its target."""
    return -losses.mean_conjugate(LOSSES[case.model.loss], np.zeros(len(case.y)), case.y, _weights(case))


def _objective(case: Case) -> float:
    """The objective of a fitted model, by its definition."""
    model, w = case.model, case.model.coef_.reshape(-1)
    z = case.X @ w + model.intercept_ + (0.0 if case.offset is None else case.offset)
    norms = (1.0 - model.l1_ratio) * np.abs(np.diff(w)).sum() + model.l1_ratio * np.abs(w).sum()
    mean = losses.mean_value(LOSSES[model.loss], z, case.y, _weights(case))
    return float(mean + model.l2 / 2 * w @ w + model.alpha * norms)


def by_cvxpy(case: Case) -> float:
    """The optimum; infinite if CVXPY does not find it."""
    model, (n, d) = case.model, case.X.shape
    loss = LOSSES[model.loss]
    c, known = _weights(case), 0.0 if case.offset is None else case.offset
    w, shift = cp.Variable(d), cp.Variable() if model.fit_intercept else 0.0
    total = c @ references.TERMS[type(loss)](loss, case.X @ w + shift + known, case.y) / n
    total += model.l2 / 2 * cp.sum_squares(w) + model.alpha * model.l1_ratio * cp.norm1(w)
    total += model.alpha * (1.0 - model.l1_ratio) * (cp.norm1(cp.diff(w)) if d > 1 else 0.0)
    low, high = np.isfinite(case.lower), np.isfinite(case.upper)
    inside = [case.C[low] @ w >= case.lower[low]] if low.any() else []
    inside += [case.C[high] @ w <= case.upper[high]] if high.any() else []
    program = cp.Problem(cp.Minimize(total), inside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate solution does not count
        for tol in (1e-10, 1e-8):
            try:
                program.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            except (cp.SolverError, ValueError):
                continue
            if program.status == cp.OPTIMAL:
                return float(program.value)
    return math.inf


def faults(case: Case, tol: float = 1e-6) -> list[str]:
    """What is wrong with a fit: its objective, its certificate or its constraints."""
    model, optimum = case.model.set_params(tol=tol), by_cvxpy(case)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(case.X, case.y, sample_weight=case.weight, offset=case.offset)
    w, value = model.coef_.reshape(-1), _objective(case)
    v, finite = case.C @ w, np.concatenate([case.lower, case.upper])
    outside = max(0.0, np.max(case.lower - v, initial=0.0), np.max(v - case.upper, initial=0.0))
    size = 1.0 + np.abs(w).max() + np.abs(finite[np.isfinite(finite)]).max(initial=0.0)
    # The unit is the excess over the least possible loss. Where that is 0, relative gaps are those of rounding errors.
    unit = max(value - _least_loss(case), 1e-6)
    found = [] if outside <= 1e-12 * size else [f"outside its constraints by {outside:.1e}"]
    if not math.isclose(value, model._objectives[0], rel_tol=1e-9, abs_tol=1e-12):
        found.append(f"objective {value:.12g}, but the model says {model._objectives[0]:.12g}")
    if math.isfinite(optimum):
        if value - optimum > tol * unit + 1e-8:
            found.append(f"objective {value:.9g}, CVXPY {optimum:.9g}")
        dual = model._results[0].certificate.dual
        if dual > optimum + 1e-7 * unit:
            found.append(f"dual value {dual:.9g}, CVXPY {optimum:.9g}")
    if said and value > 1e-9:
        found.append(str(said[0].message))
    return [f"{case.name}: {fault}" for fault in found]
