"""Random tables with terms of every kind, and their optima by CVXPY, in which nothing of the encoding is used.

Table number k is a function of k and the largest size, so that a failure can be repeated.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pandas as pd
import references
from random_rows import random_targets

from adasadmm import TermsClassifier, TermsRegressor, terms
from adasadmm.registry import CLASSIFICATION_LOSSES, LOSSES

ALL_LOSSES = sorted(name for name, loss in LOSSES.items() if type(loss) in references.TERMS)
NEEDS_RIDGE = ("logistic", "squared_hinge")  # without one, separable classes have no optimum
TOL = 1e-4
MOST_CELLS = 150


class Case(NamedTuple):
    """A model, its table, and for each term how CVXPY sees it."""

    name: str
    model: Any
    table: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None
    views: list[View]


class View(NamedTuple):
    """A term: the columns of its effect, which coefficients are 0, penalised differences with weights, constraints."""

    term: str
    levels: list[str]
    columns: np.ndarray  # in the units of the penalty
    scale: np.ndarray
    zero: list[int]
    edges: list[tuple[int, int]]
    weights: np.ndarray
    penalty: str
    increasing: bool = False


def random_table(number: int, largest: int = 60) -> Case:
    """Table number ``number``, with factors of 2 to ``largest`` levels."""
    rng = np.random.default_rng([number, largest, 20])
    n, loss = int(rng.integers(60, 400)), str(rng.choice(ALL_LOSSES))
    weight = rng.integers(0, 4, size=n).astype(float) if rng.random() < 0.3 else None
    if weight is not None:
        weight[:2] = 1.0  # where both classes occur
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    standard = bool(rng.integers(2))
    table, listed, views, z = pd.DataFrame(index=range(n)), [], [], np.zeros(n)
    kinds = rng.choice(["ordered", "bands", "nominal", "spatial", "linear", "group"], size=int(rng.integers(1, 5)))
    for k, kind in enumerate(kinds):
        made = (_numbers if kind in ("linear", "group") else _factor)(f"c{k}", str(kind), table, share, largest, rng)
        listed.append(made[0])
        views.append(made[1])
        z += made[1].columns @ np.repeat(rng.normal(size=len(made[1].scale)), 3)[: len(made[1].scale)] * 0.5
    factors = [view for view in views if view.edges]
    if len(factors) > 1 and len(factors[0].levels) * len(factors[1].levels) <= MOST_CELLS:
        listed.append(terms.interaction(factors[0].term, factors[1].term))
        views.append(_product(*factors[:2], share))
    if not standard:
        views = [view._replace(weights=np.ones_like(view.weights)) for view in views]
    y = random_targets(LOSSES[loss], rng, 0.3 * z if loss not in CLASSIFICATION_LOSSES else z)
    if loss in CLASSIFICATION_LOSSES:
        y[:2] = -1.0, 1.0
    settings = {
        "alpha": 10.0 ** rng.uniform(-3.0, -0.5),
        "l2": 10.0 ** rng.uniform(-4.0, -1.0) if loss in NEEDS_RIDGE or rng.random() < 0.3 else 0.0,
        "weights": "standard" if standard else None,
        "tol": TOL,
    }
    model = (TermsClassifier if loss in CLASSIFICATION_LOSSES else TermsRegressor)(listed, loss=loss, **settings)
    name = f"{number}: {loss}, {n} rows, {', '.join(kinds)}, alpha {settings['alpha']:.1e}, l2 {settings['l2']:.1e}"
    return Case(name, model, table, y, weight, views)


def _factor(
    name: str, kind: str, table: pd.DataFrame, share: np.ndarray, largest: int, rng: np.random.Generator
) -> tuple[Any, View]:
    """A column with levels, its term, and its view."""
    count, increasing = int(rng.integers(2, largest + 1)), False
    codes = rng.integers(count, size=len(table))
    codes[:count] = np.arange(count)[: len(codes)]
    levels = [f"level {k:02d}" for k in range(count)]
    edges = [(k, k + 1) for k in range(count - 1)]
    table[name] = np.array(levels)[codes]
    if kind == "ordered":
        increasing, cyclic = bool(rng.random() < 0.3), bool(rng.random() < 0.3)
        cyclic = cyclic and not increasing
        edges += [(0, count - 1)] if cyclic and count > 2 else []
        term = terms.ordered(name, cyclic=cyclic, monotone="increasing" if increasing else None)
    elif kind == "bands":
        cuts = np.sort(rng.choice(np.arange(1.0, 2.0 * largest), size=count - 1, replace=False))
        numbers = rng.uniform(0.0, 2.0 * largest, size=len(table))
        numbers[:count] = np.append(cuts, 2.0 * largest)[: len(numbers)]
        table[name], codes = numbers, (numbers[:, None] > cuts).sum(axis=1)
        term = terms.ordered(name, bins=cuts.tolist())
    elif kind == "nominal":
        edges = [(j, k) for k in range(count) for j in range(k)]
        term = terms.nominal(name, base=levels[0])
    else:
        more = rng.integers(count, size=(count // 2, 2)).tolist()
        edges = sorted({*edges, *((min(pair), max(pair)) for pair in more if pair[0] != pair[1])})
        term = terms.spatial(name, edges=[(levels[j], levels[k]) for j, k in edges])
    penalty = "l2" if rng.random() < 0.2 else "l1"
    term, columns = dataclasses.replace(term, penalty=penalty), np.eye(count)[codes]
    weights = np.maximum(_flow_of_noise(edges, share @ columns), 1.0 / len(table))
    return term, View(name, levels, columns, np.ones(count), [0], edges, weights, penalty, increasing)


def _flow_of_noise(edges: list[tuple[int, int]], p: np.ndarray) -> np.ndarray:
    """The root mean square of the smallest flow along the edges that carries noise of variances p and sum 0."""
    ends = np.eye(len(p))[np.array(edges)]
    flow = np.linalg.pinv((ends[:, 0] - ends[:, 1]).T, rcond=1e-10)
    variances = np.diag(flow @ (np.diag(p) - np.outer(p, p)) @ flow.T)
    return np.full(len(edges), np.sqrt(max(variances.mean(), 0.0)))


def _numbers(
    name: str, kind: str, table: pd.DataFrame, share: np.ndarray, largest: int, rng: np.random.Generator
) -> tuple[Any, View]:
    """Columns of numbers, their term, and its view."""
    count = int(rng.integers(1, 5))
    names = [f"{name}_{k}" for k in range(count)]
    columns = rng.normal(size=(len(table), count)) * 10.0 ** rng.uniform(-1.0, 2.0, size=count) + rng.normal(size=count)
    table[names] = columns
    scale = np.sqrt(share @ (columns - share @ columns) ** 2)
    penalty = "group" if kind == "group" else str(rng.choice(["l1", "l2", "none"]))
    term = terms.group(names) if kind == "group" else terms.linear(names, penalty=penalty)
    weights = np.full(count, np.sqrt(count) if kind == "group" else 1.0)
    return term, View("+".join(names), names, columns / scale, scale, [], [], weights, penalty)


def _product(one: View, other: View, share: np.ndarray) -> View:
    """The pairs of levels of two factors; those with a base have the coefficient 0."""
    m, n = len(one.levels), len(other.levels)
    columns = (one.columns[:, :, None] * other.columns[:, None, :]).reshape(len(share), -1)
    zero = [j * n + k for j in range(m) for k in range(n) if j == 0 or k == 0]
    edges = [(i * n + k, j * n + k) for i, j in one.edges for k in range(n)]
    edges += [(j * n + i, j * n + k) for j in range(m) for i, k in other.edges]
    edges = [(i, k) for i, k in edges if not (i in zero and k in zero)]
    number = {cell: 0 for cell in zero} | {cell: k for k, cell in enumerate(sorted({*range(m * n)} - {*zero}), 1)}
    joined = np.bincount([number[cell] for cell in range(m * n)], weights=share @ columns)  # cells of 0 are one node
    weights = _flow_of_noise([(number[i], number[k]) for i, k in edges], joined)
    levels = [f"{a}:{b}" for a in one.levels for b in other.levels]
    return View(f"{one.term}:{other.term}", levels, columns, np.ones(m * n), zero, edges, weights, "l1")


# --- the comparison --------------------------------------------------------------------------------------------------


def faults(case: Case) -> list[str]:
    """What is wrong with the fitted model: its objective, its certificate, or its constraints."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = case.model.fit(case.table, case.y, sample_weight=case.weight)
    program, variables, intercept = _program(case)
    table = model.coef_table()
    for variable, view in zip(variables, case.views, strict=True):
        variable.value = table["coefficient"][table["term"] == view.term].to_numpy() * view.scale
    intercept.value = float(np.ravel(model.intercept_)[0])
    ours = float(program.objective.value)
    found = [str(one.message) for one in said]
    broken = max((float(np.max(one.violation())) for one in program.constraints), default=0.0)
    if broken > 1e-9:
        found.append(f"constraints are violated by {broken:.1e}")
    certificate, best = model._results[0].certificate, _solved(program)
    slack = 1e-6 * (1.0 + abs(ours))
    if certificate.relative_gap > TOL or abs(ours - certificate.primal) > slack:
        found.append(f"gap {certificate.relative_gap:.1e} of {certificate.primal:.9g}, but the objective is {ours:.9g}")
    if ours > best + (certificate.primal - certificate.dual) + slack:
        found.append(f"objective {ours:.9g}, CVXPY's is {best:.9g}")
    if certificate.dual > best + slack:
        found.append(f"the dual value {certificate.dual:.9g} exceeds CVXPY's objective {best:.9g}")
    return [f"{case.name}: {fault}" for fault in found]


def _solved(program: cp.Problem) -> float:
    """CVXPY's objective; infinite if it has none that is accurate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        except (cp.SolverError, ValueError):
            return math.inf
    return float(program.value) if program.status == cp.OPTIMAL else math.inf


def _program(case: Case) -> tuple[cp.Problem, list[cp.Variable], cp.Variable]:
    """The model in CVXPY's words: a variable for each level, of which that of the base is 0."""
    n, alpha, l2 = len(case.y), case.model.alpha, case.model.l2
    c = np.ones(n) if case.weight is None else case.weight * (n / case.weight.sum())
    intercept, z, penalty, ridge, limits, variables = cp.Variable(), 0.0, 0.0, 0.0, [], []
    for view in case.views:
        w = cp.Variable(len(view.scale))
        variables.append(w)
        z, ridge = z + view.columns @ w, ridge + cp.sum_squares(w)
        limits += [w[view.zero] == 0] if view.zero else []
        if view.edges:
            ends = np.eye(len(view.scale))[np.array(view.edges)]
            apart = (ends[:, 0] - ends[:, 1]) @ w
            penalty += view.weights @ (cp.abs(apart) if view.penalty == "l1" else cp.square(apart) / 2)
            limits += [cp.diff(w) >= 0] if view.increasing else []
        elif view.penalty == "l1":
            penalty += view.weights @ cp.abs(w)
        elif view.penalty == "l2":
            penalty += cp.sum(cp.multiply(view.weights, cp.square(w))) / 2
        elif view.penalty == "group":
            penalty += view.weights[0] * cp.norm2(w)
    loss = LOSSES[case.model.loss]
    total = c @ references.TERMS[type(loss)](loss, z + intercept, case.y) / n + l2 / 2 * ridge + alpha * penalty
    return cp.Problem(cp.Minimize(total), limits), variables, intercept
