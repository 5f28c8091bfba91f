"""A strength of a path on the contracted problem: few clusters, or few coefficients that are not 0.

If the rows of A are linearly independent differences and single coefficients (a chain, a forest, the identity), theta
follows from the slopes of the losses: ``A'theta = X'(c s)/n + gamma w``. So the multipliers of the last strength tell
which rows of ``A w`` are 0 at the next one (the sequential strong rule), the problem is solved on their clusters, and
one gradient of all columns certifies it, or shows which clusters to split.

Reference: R. Tibshirani et al., Strong rules for discarding predictors in lasso-type problems, Journal of the Royal
Statistical Society B 74, 2012.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._solve import begin, solve
from ..certificates import certify, duality
from ..certificates.contraction import contracted
from ..certificates.trace import Result, Status
from ..linalg.clusters import clusters_of
from ..linalg.matrices import to_scipy
from ..penalties import L1
from ..problem import Problem
from ..solvers import ProximalNewton, check_fits
from .exact import with_exact_structure

__all__ = ["Contracting", "contracting"]

FEWEST = 300  # features above which contraction saves time
MOST_CLUSTERS = 1000
ROUNDS = 12
INNER = 0.2  # of tol, for the contracted problem
VIOLATED = 1.0 + 1e-6
SLOPE = 0.3  # how fast multipliers may grow, relative to the bound of the strong rule, where it is 1


def contracting(problem: Problem) -> Contracting | None:
    """What solves strengths of this problem on contracted ones; None if its form does not allow it."""
    if problem.d < FEWEST or not isinstance(problem.penalty, L1) or problem.B is not None or problem.b.any():
        return None
    if problem.diagonal is not None:
        return None
    try:
        check_fits(ProximalNewton(), problem)
    except (TypeError, ValueError):
        return None
    A = to_scipy(problem.A)
    found = clusters_of(A)
    if found is None or not A.data.all() or (np.diff(A.indptr) == 0).any():
        return None
    free = found.number - len(np.unique(found.single))
    if len(found.single) > len(np.unique(found.single)) or free != problem.d - problem.m:
        return None  # a cycle, or two fixed ends: theta is not determined
    return Contracting(A)


class Contracting:
    """The factor of ``A A'``, the last strength, and the multipliers there."""

    def __init__(self, A: sp.csr_array) -> None:
        self.A, self.solve = A, sp.linalg.splu(sp.csc_array(A @ A.T)).solve
        self.theta, self.before = np.zeros(A.shape[0]), np.inf
        self.last: Result | None = None

    def result(self, problem: Problem, tol: float, settings: dict[str, Any]) -> Result | None:
        """The result at the strength of this problem; None if that takes too many clusters or rounds."""
        limit = problem.penalty.nu * (1.0 if problem.penalty.weights is None else problem.penalty.weights)
        nu, fall = problem.penalty.nu, 0.0
        apart = np.zeros(problem.m, dtype=bool) if self.last is None else self.last.v != 0.0
        if np.isfinite(self.before) and nu > 0.0:
            fall = self.before / nu - 1.0
            apart |= np.abs(self.theta) >= max(1.0 - SLOPE * fall, 0.5) * self.before / nu * limit
        goal = INNER * tol
        for _ in range(ROUNDS):
            found = self._on_clusters(problem, apart, goal, settings)
            if found is None:
                return None
            if found.certificate is not None and found.certificate.relative_gap <= tol:
                self.last, self.theta, self.before = found, found.theta, nu
                return dataclasses.replace(found, status=Status.converged)
            split = ~apart & (np.abs(self.theta) > VIOLATED * limit)
            if split.any():
                apart |= split
            else:
                goal *= 0.1
        return None

    def _on_clusters(self, problem: Problem, apart: np.ndarray, tol: float, settings: dict[str, Any]) -> Result | None:
        """The solution with ``A w = 0`` in all rows but these, as a point of the whole problem; sets theta."""
        small = contracted(problem, apart.astype(float))
        if small is not None and small.problem.d <= MOST_CLUSTERS:
            start = None if self.last is None else small.start(self.last)
            inner = solve(small.problem, ProximalNewton(), **{**settings, "tol": tol, "start": start})
            inner, _ = with_exact_structure(small.problem, inner, tol)
            w = small.expanded(inner.w_average)
        elif small is None and not apart.any():  # all coefficients are 0
            inner, w = solve(problem, ProximalNewton(), epochs=0), np.zeros(problem.d)
        else:
            return None
        slopes = duality.slopes(problem, problem.last_products.of(w))
        rest = duality.data_pull(problem, slopes) + problem.gamma * w
        self.theta = self.solve(self.A @ rest)
        return self._certified(problem, inner, w, slopes)

    def _certified(self, problem: Problem, inner: Result, w: np.ndarray, slopes: np.ndarray) -> Result:
        """The point as a result of the whole problem.

        Both parts of the dual point are scaled until theta lies in its domain: that keeps ``A'theta`` in balance, which
        a projection onto the domain would not.
        """
        v = problem.times_A(w)
        limit = problem.penalty.nu * (1.0 if problem.penalty.weights is None else problem.penalty.weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = float(np.min(np.where(self.theta != 0.0, limit / np.abs(self.theta), 1.0), initial=1.0))
        run: Any = begin(problem, ProximalNewton(), dataclasses.replace(inner, w=w, v=v, theta=self.theta, run=None))
        plain = certify(problem, w, v, slopes, self.theta) if problem.has_ridge else None
        scaled = certify(problem, w, v, scale * slopes, scale * self.theta)
        best = scaled if plain is None or scaled.dual > plain.dual else plain
        run.best_dual.find(problem, run.iteration, lambda: best)
        points: dict[str, Any] = {"w": w, "v": v, "w_mean": w, "v_mean": v, "w_average": w, "w_feasible": w}
        return dataclasses.replace(inner, theta=self.theta.copy(), certified=best, run=run, **points)
