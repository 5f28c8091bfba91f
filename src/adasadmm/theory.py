"""The bounds of Theorems 1 to 3 as numbers, and the quantity that they bound.

The theorems bound the expectation of ``f(u_mean) - f(u*) + rho |A w_mean + B v_mean - b|`` over rows drawn with
replacement. The mean over runs is therefore below the mean of the bounds, but a single run may exceed its bound. If
every batch holds all rows, nothing is random and every run satisfies the bounds. They are 1/(2T) times::

    theorem 1   sum_t (|w_t - w*|^2_{P_t} - |w_{t+1} - w*|^2_{P_t}) / eta_t + sum_t eta_t |g_t|^2_{P_t^{-1}} + start
    theorem 2   2 eta   S + (D^2 S + a |w_1 - w*|^2) / eta + |w_1 - w*|^2_R + start    S = sum_j |g_{1:T,j}|
    theorem 3   2 eta k S + (D^2 S + a |w_1 - w*|^2) / eta + |w_1 - w*|^2_R + start    S = tr G_T^{1/2}
    start       beta |v_1 - v*|^2_C + (rho + |theta_1|)^2 / beta

- ``P_t = H_t + eta_t R``, where R is 0 for the exact w-step and ``M - beta A'A`` for the linearised one with the
  majoriser M.
- C is the curvature of the v-step: ``B'B`` if that is a multiple of I on each block of v, otherwise ``|B|^2 I``.
- ``D = max_{t <= T} |w_t - w*|``, in the max-norm for Theorem 2 and in the 2-norm for Theorem 3.
- ``k = sqrt(1 + refresh d)`` is the cost of computing fewer roots with ``Full(refresh)``; k = 1 for the paper's metric.

These are the bounds that the proofs establish. The printed theorems differ: the last line of the proofs of Theorems 2
and 3 loses ``a |w_1 - w*|^2``, without which both can fail; Theorem 2 has 2/eta for 1/eta; and the start is zero.

Examples
--------
>>> from adasadmm import AdaSADMM, Problem, Quantile, Zero, theory
>>> problem = Problem([[0.002]], [0.002], loss=Quantile(0.5), penalty=Zero(), A=[[0.0]])
>>> found = theory.bounds(problem, AdaSADMM(eta=1.0), [0] * 100, w_star=[1.0], v_star=[0.0], rho=0.01)
>>> found.lhs <= found.theorem1
True
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import metrics, penalties
from ._core.threads import one_blas_thread
from .certificates.trace import Result
from .linalg import quadratics
from .penalties import SEPARABLE_SETS
from .problem import Problem
from .rows import products
from .rows.matrices import as_vector
from .solvers import Batches, Point, Solver
from .solvers.stochastic.run import StochasticRun
from .solvers.stochastic.settings import Algorithm1Solver

__all__ = ["Bounds", "bounds"]

FEASIBLE = 1e-6  # tolerance for the feasibility of u*, relative to its norm


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The bounds of the theorems on a run, returned by `bounds`; NaN if a theorem does not apply to the run.

    Attributes
    ----------
    lhs : float
        The quantity that the theorems bound: the loss at the mean of w_1..w_T plus the penalty at the mean of
        v_2..v_{T+1}, minus both at u*, plus ``rho |A w + B v - b|`` at the means over 2..T+1.
    theorem1, theorem2, theorem3 : float
        The bounds. Theorem 2 is for the diagonal metric and Theorem 3 for the full one, both with a constant step size.
    theorem1_printed, theorem2_printed, theorem3_printed : float
        The bounds as printed in the paper, for a constant step size.
    theorem2_eta, theorem2_best, theorem3_eta, theorem3_best : float
        The second parts of the theorems: the step size that minimises the bound for fixed sums (``D / sqrt(2)``, larger
        if ``a > 0``), and the bound at that step size.
    iterations, eta : int, float
        T, and the constant step size; NaN if it varied.
    bregman_sum, step_sum : float
        The two sums of Theorem 1.
    gradient_sum : float
        ``sum_t |g_t|^2_{H_t^{-1}}``, at most ``2 S`` (diagonal) and ``2 k S`` (full).
    column_norms, root_trace : float
        ``sum_j |g_{1:T,j}|`` and ``tr G_T^{1/2}``.
    far_inf, far_2 : float
        D in the max-norm and in the 2-norm.
    first_w, first_Bv, first_theta : float
        ``|w_1 - w*|``, ``|B (v_1 - v*)|``, ``|theta_1|``.
    linearization, majorization : float
        ``|w_1 - w*|^2_R`` and ``beta |v_1 - v*|^2_{C - B'B}``: the terms added by inexact w- and v-steps.

    Examples
    --------
    >>> from adasadmm import AdaSADMM, Problem, Squared, Zero, theory
    >>> problem = Problem([[1.0]], [1.0], loss=Squared(), penalty=Zero(), A=[[1.0]])
    >>> found = theory.bounds(problem, AdaSADMM(eta=1.0), [0] * 50, w_star=[1.0], v_star=[1.0], rho=0.0)
    >>> found.iterations, found.eta
    (50, 1.0)
    >>> found.theorem3  # Theorem 3 is about the full metric
    nan
    """

    lhs: float
    theorem1: float
    theorem2: float
    theorem3: float
    theorem1_printed: float
    theorem2_printed: float
    theorem3_printed: float
    theorem2_eta: float
    theorem2_best: float
    theorem3_eta: float
    theorem3_best: float
    iterations: int
    eta: float
    bregman_sum: float
    step_sum: float
    gradient_sum: float
    column_norms: float
    root_trace: float
    far_inf: float
    far_2: float
    first_w: float
    first_Bv: float
    first_theta: float
    linearization: float
    majorization: float


def bounds(
    problem: Problem,
    solver: Solver,
    samples: ArrayLike,
    w_star: ArrayLike,
    v_star: ArrayLike,
    rho: float,
    *,
    start: Result | None = None,
) -> Bounds:
    """Replay a run and evaluate the bounds of Theorems 1 to 3 on it.

    Parameters
    ----------
    problem : Problem
        A problem with rows in memory and at most a few thousand features, since the metric is formed as a dense matrix.
        As in `solve`, a ``w_set`` that the w-step cannot handle is split off: a copy of w becomes part of v, and the
        distance between the two becomes part of the constraint.
    solver : AdaSADMM or SADMM
        The solver to replay.
    samples : array-like of int
        The indices of the rows in the order of the run. The theorems assume that they are drawn with replacement.
    w_star, v_star : array-like
        An optimum, or any other point in the sets with ``A w + B v = b``; the theorems hold for every such point.
    rho : float
        The weight of the constraint violation, non-negative.
    start : Result, optional
        The result that provides w_1, v_1 and theta_1, which are zero by default. The metric always starts fresh.

    Returns
    -------
    Bounds
        The bounds, the quantity that they bound, and the sums in them.

    References
    ----------
    P. Zhao, J. Yang, T. Zhang, P. Li, Adaptive Stochastic Alternating Direction Method of Multipliers, ICML 2015.

    Examples
    --------
    The loss ``|w - 1| / 1000`` of a single coefficient, without a penalty:

    >>> from adasadmm import AdaSADMM, Problem, Quantile, Zero, theory
    >>> problem = Problem([[0.002]], [0.002], loss=Quantile(0.5), penalty=Zero(), A=[[0.0]])
    >>> found = theory.bounds(problem, AdaSADMM(eta=1.0), [0] * 100, w_star=[1.0], v_star=[0.0], rho=0.01)
    >>> found.lhs <= found.theorem1 <= found.theorem2
    True
    >>> found.lhs <= found.theorem2_printed  # the printed bound lacks a |w_1 - w*|^2
    False
    """
    if not isinstance(solver, Algorithm1Solver) or solver.settings.implicit:
        raise TypeError(
            f"solver must be AdaSADMM(...) or SADMM(...), got {solver!r}: the theorems are about methods that "
            "linearise the loss at w_t"
        )
    settings = solver.settings
    if settings.mean == "schedule-free":
        raise ValueError('average must not be "schedule-free": the theorems assume subgradients at w_t')
    if problem.source is not None:
        raise ValueError("bounds needs a problem with X in memory, got a source")
    rows = np.ascontiguousarray(samples, dtype=np.int64).reshape(-1)
    if not (rows.size and 0 <= rows.min() and rows.max() < problem.n):
        raise ValueError(f"samples must be one or more row indices between 0 and {problem.n - 1}, got {rows}")
    if not 0.0 <= rho < math.inf:
        raise ValueError(f"rho must be >= 0 and finite, got {rho!r}")
    w_star, v_star = as_vector(w_star, problem.d, "w_star"), as_vector(v_star, problem.p, "v_star")
    _check_feasible(problem, w_star, v_star)
    w = np.zeros(problem.d) if start is None else as_vector(start.w, problem.d, "w of start")
    v = np.zeros(problem.p) if start is None else as_vector(start.v, problem.p, "v of start")
    theta = np.zeros(problem.m) if start is None else as_vector(start.theta, problem.m, "theta of start")
    keeps_w_set = settings.separable_w_step and isinstance(problem.w_set, SEPARABLE_SETS)
    if problem.w_set is not None and not keeps_w_set:
        problem = problem.w_set_split
        v, v_star, theta = np.append(v, w), np.append(v_star, w_star), np.append(theta, np.zeros(problem.d))
    with one_blas_thread():
        batch_size = settings.rows_of_an_iteration(problem)
        run = StochasticRun(problem, solver, settings.method(problem, w), batch_size, Point(w, v, theta))
        sums = _start(run, w_star, v_star) | _replay(run, rows, w_star)
    Bv_star = float(np.linalg.norm(problem.times_B(v_star)))
    return Bounds(lhs=_left_hand_side(run, w_star, v_star, rho), **_theorems(run, sums, Bv_star, rho), **sums)


def _start(run: StochasticRun, w_star: np.ndarray, v_star: np.ndarray) -> dict[str, Any]:
    """The distances of the start from u*."""
    w, v = run.iterates.w - w_star, run.iterates.v - v_star
    Bv = float(np.linalg.norm(run.problem.times_B(v)))
    C = np.ones(run.problem.p) if run.problem.B is None else run.model.B.curvature
    return {
        "first_w": float(np.linalg.norm(w)),
        "first_Bv": Bv,
        "first_theta": float(np.linalg.norm(run.iterates.theta)),
        "linearization": float(w @ _excess(run) @ w),
        "majorization": run.beta * (float(C @ (v * v)) - Bv**2),
    }


def _replay(run: StochasticRun, samples: np.ndarray, w_star: np.ndarray) -> dict[str, Any]:
    """Advance batch by batch and accumulate the sums of the theorems."""
    R, etas, far_inf, far_2 = _excess(run), [], 0.0, 0.0
    total = dict.fromkeys(("bregman_sum", "step_sum", "gradient_sum"), 0.0)
    G = np.zeros_like(R)
    for first in range(0, len(samples), run.batch_size):
        batch = samples[first : first + run.batch_size]
        before, g = run.iterates.w - w_star, run.gradient(batch)
        run.advance(Batches(run.problem.rows, batch, run.batch_size))
        if not run.is_finite():
            raise ValueError(f"the run diverged in iteration {run.iteration}: try a smaller eta")
        eta, after = float(run.iterates.eta[0]), run.iterates.w - w_star
        H = _dense_metric(run)
        P = H + eta * R
        total["bregman_sum"] += float(before @ P @ before - after @ P @ after) / eta
        total["step_sum"] += eta * float(g @ np.linalg.solve(P, g))
        total["gradient_sum"] += float(g @ np.linalg.solve(H, g))
        far_inf, far_2 = max(far_inf, float(np.abs(before).max())), max(far_2, float(np.linalg.norm(before)))
        G += np.outer(g, g)
        etas.append(eta)
    return total | {
        "iterations": len(etas),
        "eta": etas[0] if min(etas) == max(etas) else math.nan,
        "column_norms": float(np.sqrt(np.diag(G)).sum()),
        "root_trace": float(np.sqrt(np.maximum(np.linalg.eigvalsh(G), 0.0)).sum()),
        "far_inf": far_inf,
        "far_2": far_2,
    }


def _excess(run: StochasticRun) -> np.ndarray:
    """R, the difference between the quadratic form of the w-step and ``beta A'A``."""
    if not isinstance(run.method.Q, (quadratics.Linearized, quadratics.Separable)):
        return np.zeros((run.problem.d, run.problem.d))
    return np.diag(run.method.Q.m) - run.beta * products.gram(run.problem.A, np.ones(run.problem.m))


def _dense_metric(run: StochasticRun) -> np.ndarray:
    """H_t as a dense matrix; one that is not diagonal is applied to the unit vectors."""
    H, a, eye = run.method.metric, run.method.a, np.eye(run.problem.d)
    if isinstance(H, metrics.IdentityState):
        return eye
    if isinstance(H, metrics.DiagonalState):
        return np.diag(a + np.sqrt(H.squares))
    images = np.empty_like(eye)
    for unit, image in zip(eye, images, strict=True):
        metrics.apply(H, unit, image)
    return a * eye + images


def _left_hand_side(run: StochasticRun, w_star: np.ndarray, v_star: np.ndarray, rho: float) -> float:
    problem, (w_mean, v_mean) = run.problem, run.means
    w_later = w_mean + (run.iterates.w - run.w_first) / run.iteration
    violated = float(np.linalg.norm(problem.residual(w_later, v_mean)))
    return problem.objective(w_mean, v_mean) - problem.objective(w_star, v_star) + rho * violated


def _theorems(run: StochasticRun, sums: dict[str, Any], Bv_star: float, rho: float) -> dict[str, Any]:
    """The right-hand sides of the theorems."""
    H, a, beta, eta, T = run.method.metric, run.method.a, run.beta, sums["eta"], sums["iterations"]
    start = beta * sums["first_Bv"] ** 2 + sums["majorization"] + (rho + sums["first_theta"]) ** 2 / beta
    # The paper assumes a constant step size; its form of the bounds is undefined for any other.
    printed = beta * Bv_star**2 + rho**2 / beta if math.isfinite(eta) else math.nan
    both = sums["bregman_sum"] + sums["step_sum"]
    found = {"theorem1": (both + start) / (2 * T), "theorem1_printed": (both + printed) / (2 * T)}
    k = math.sqrt(1.0 + H.refresh * run.problem.d) if isinstance(H, metrics.LaggingState) else 1.0
    for name, kind, S, D, slip in (
        ("theorem2", metrics.DiagonalState, sums["column_norms"], sums["far_inf"], 2.0),
        ("theorem3", metrics.ROOTS, sums["root_trace"], sums["far_2"], 1.0),
    ):
        holds = math.isfinite(eta) and isinstance(H, kind)
        over_eta, rest = D**2 * S + a * sums["first_w"] ** 2, sums["linearization"] + start
        values = {
            name: (2 * eta * k * S + over_eta / eta + rest) / (2 * T),
            f"{name}_printed": (2 * eta * S + slip * D**2 * S / eta + printed) / (2 * T),
            f"{name}_eta": math.sqrt(over_eta / (2 * k * S)) if S > 0.0 else math.inf,
            f"{name}_best": (2 * math.sqrt(2 * k * S * over_eta) + rest) / (2 * T),
        }
        found |= values if holds else dict.fromkeys(values, math.nan)
    return found


def _check_feasible(problem: Problem, w_star: np.ndarray, v_star: np.ndarray) -> None:
    violated = float(np.linalg.norm(problem.residual(w_star, v_star)))
    size = 1.0 + float(np.linalg.norm(problem.times_B(v_star))) + float(np.linalg.norm(problem.b))
    if violated > FEASIBLE * size:
        raise ValueError(f"w_star and v_star must satisfy A w + B v = b, got |A w + B v - b| = {violated:.3g}")
    for name, point, part in (("w_star", w_star, problem.w_set), ("v_star", v_star, problem.penalty)):
        outside = 0.0 if part is None else penalties.violation(part, point)
        if outside > FEASIBLE * (1.0 + float(np.linalg.norm(point))):
            raise ValueError(f"{name} must lie in {type(part).__name__}, got a point that violates it by {outside:.3g}")
