"""Random problems of every kind, and whether a solver agrees with CVXPY on them.

Used by the tests and by benchmarks/fuzz_cvxpy.py. Problem number k is a function of k and the largest size, so that
what was found can be looked at again.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import references
import scipy.sparse as sp
from random_rows import random_targets

from adasadmm import (
    L1,
    ElasticNet,
    EpsilonInsensitive,
    Gamma,
    GroupL2,
    Hinge,
    Huber,
    Logistic,
    NegativeBinomial,
    NonNegative,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    Stack,
    Status,
    Tweedie,
    graphs,
    losses,
    solve,
)

TOL = 1e-3
LOSSES = (
    *(Hinge(), SquaredHinge(), Logistic(), Squared(), Huber(0.7)),
    *(EpsilonInsensitive(0.2), Quantile(0.3), Poisson()),
    *(Gamma(), Tweedie(1.6), NegativeBinomial(0.5)),
)
STRUCTURES = ("chain", "graph", "grid", "trend", "sparse", "elastic", "groups", "overlapping", "bounded")
NEEDS_RIDGE = (Logistic, Poisson, Gamma, Tweedie, NegativeBinomial)  # without one the minimum need not be attained
DECADES = 6.0  # of the penalty around the strength at which it balances the loss


class Case(NamedTuple):
    """A random problem: what it is, and the settings of `Problem`."""

    name: str
    settings: dict[str, Any]


class Verdict(NamedTuple):
    """How a solver did: ``wrong`` and ``lies`` are faults, empty if there are none."""

    status: str
    excess: float  # of the objective over CVXPY's, relative
    wrong: str
    lies: str
    said: tuple[str, ...]  # warnings
    seconds: float


def random_case(number: int, largest: int = 400) -> Case:
    """Problem number ``number``, with up to ``largest`` rows and features."""
    rng = np.random.default_rng([number, largest])
    n, d = (max(1, round(largest ** rng.random())) for _ in range(2))
    loss, structure = LOSSES[rng.integers(len(LOSSES))], STRUCTURES[rng.integers(len(STRUCTURES))]
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.2, 1.0]))
    X[:, rng.random(d) < rng.choice([0.0, 0.2])] = 0.0
    z = X @ _pieces(d, rng)
    y = random_targets(loss, rng, 0.3 * z if losses.has_log_link(loss) else z)
    gamma = 10.0 ** rng.uniform(-4.0, 0.0) if isinstance(loss, NEEDS_RIDGE) or rng.random() < 0.5 else 0.0
    weight = rng.integers(0, 3, size=n) + (rng.random(n) < 0.1) if rng.random() < 0.3 else None
    weight = None if weight is None or not weight.any() else weight.astype(float)
    slopes = np.array([losses.slope(loss, 0.0, one) for one in y])
    nu = max(float(np.max(np.abs(X.T @ slopes))) / n, 1e-3) * 10.0 ** rng.uniform(-DECADES, DECADES)
    A, penalty = _structure(structure, d, nu, rng)
    name = f"{number}: {type(loss).__name__}, {structure}, {n} x {d}, gamma {gamma:.1e}, nu {nu:.1e}"
    settings = {"loss": loss, "penalty": penalty, "A": A, "gamma": gamma, "sample_weight": weight}
    return Case(name, {"X": X, "y": y, **settings})


def _pieces(d: int, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(rng.normal(size=d), 5)[:d]


def _structure(name: str, d: int, nu: float, rng: np.random.Generator) -> tuple[sp.csr_array, Any]:
    match name:
        case "chain":
            return graphs.difference(d, 1) if d > 1 else sp.csr_array((0, 1)), L1(nu)
        case "trend":
            return graphs.difference(d, 2) if d > 2 else sp.csr_array((0, d)), L1(nu)
        case "graph":  # so few edges that the graph has several components
            pairs = {tuple(sorted(pair)) for pair in rng.integers(d, size=(max(1, d // 2), 2)).tolist()}
            edges = np.array(sorted(pair for pair in pairs if pair[0] != pair[1])).reshape(-1, 2).astype(int)
            return graphs.incidence(edges, rng.uniform(0.5, 2.0, size=len(edges)), d), L1(nu)
        case "grid":
            side = math.isqrt(d)
            return graphs.incidence(graphs.grid(side, side), d=d) if side > 1 else sp.csr_array((0, d)), L1(nu)
        case "sparse":
            return sp.csr_array(sp.eye_array(d)), L1(nu)
        case "elastic":
            return sp.csr_array(sp.eye_array(d)), ElasticNet(nu, 0.5)
    size = min(d, 4)
    groups = [np.arange(first, min(first + size, d)) for first in range(0, d, size)]
    if name == "overlapping":
        wider = [np.arange(group[0], min(group[-1] + 3, d)) for group in groups]
        A, groups = graphs.overlapping_groups(wider, d)
        return A, GroupL2(nu, groups, rng.uniform(0.5, 2.0, size=len(groups)))
    plain = sp.csr_array(sp.eye_array(d))
    if name == "groups":
        return plain, GroupL2(nu, groups)
    parts = (GroupL2(nu, groups), slice(0, d)), (NonNegative(), slice(d, 2 * d))
    return sp.csr_array(sp.vstack([plain, plain])), Stack(parts)


# --- the comparison --------------------------------------------------------------------------------------------------


def by_cvxpy(case: Case) -> float:
    """Our objective at CVXPY's solution, a point that the optimum cannot exceed; infinite if CVXPY has none."""
    problem = Problem(**case.settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate solution shows in its objective
        try:
            w = references.optimum(**case.settings)[1]
        except (AssertionError, cp.SolverError, ValueError):
            return math.inf
    with np.errstate(over="ignore"):
        return problem.objective(w)


def judged(case: Case, solver: Any, reference: float, tol: float = TOL) -> Verdict:
    """Solve a problem, and compare objective and certificate with a reference value."""
    problem = Problem(**case.settings)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = solve(problem, solver, tol=tol)
    seconds = time.perf_counter() - start
    certificate = result.certificate
    assert certificate is not None
    least_loss = problem.least_loss  # what the relative gap is relative to
    unit = max(certificate.primal - least_loss, 1e-9 * (problem.loss_at_zero - least_loss), 1e-300)
    excess = (certificate.primal - reference) / unit if math.isfinite(reference) else math.nan
    converged = result.status is Status.converged
    wrong = f"converged {excess:.1e} above CVXPY" if converged and excess > tol + 1e-7 else ""
    least = min(reference, certificate.primal)
    lies = f"dual {certificate.dual:.9g} > {least:.9g}" if certificate.dual > least + 1e-7 * unit else ""
    return Verdict(result.status.name, excess, wrong, lies, tuple(str(one.message) for one in said), seconds)
