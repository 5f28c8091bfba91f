"""Exact structure: make ``A w = b`` hold exactly in the rows where v is exactly 0.

A penalty such as L1 fuses coefficients along edges, or sets them to 0. The v of an augmented Lagrangian method shows
which, because the prox of the penalty returns exact zeros, while ``A w`` is only as close to v as the constraint is
satisfied. Polishing gives each cluster of coefficients (those that zeros of v connect) one common value and computes
the certificate again. The fused point replaces the old one if its gap is as good.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..linalg.matrices import to_scipy
from ..linalg.projections import nearest
from ..problem import Problem
from . import duality
from .record import certify
from .trace import Result

__all__ = ["fuse", "fused"]


def fuse(problem: Problem, result: Result, tol: float) -> Result:
    """The same result with exact zeros; unchanged if these would raise its relative gap above ``tol``.

    The solver must be one whose v is exact (`Solver.exact_v`).
    """
    run, before = result.run, result.run.certify()
    split, point = run.problem, run.point  # if w has a set, v holds a copy of w
    w = fused(split, point.w, point.v)
    v = split.times_A(w) - split.b
    v[point.v == 0.0] = 0.0
    found = certify(split, w, v, *run.dual_point())
    certificate = duality.with_dual(split, found, max(found.dual, before.dual))
    v = v[: problem.p].copy()
    if not certificate.relative_gap <= max(tol, before.relative_gap):
        return result
    return result.at(w, v, certificate)


def fused(problem: Problem, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The point nearest to w with ``A w = b`` in the rows where v is 0."""
    rows = np.flatnonzero(v == 0.0)
    A, b = to_scipy(problem.A)[rows], problem.b[rows]
    entries = np.diff(A.indptr)
    plain = not b.any() and (entries <= 2).all() and not np.any(A.sum(axis=1)[entries == 2])
    if not plain:
        return nearest(A, b, w)
    # Each row is the difference of two coefficients, or a single one: connected components are clusters of equal
    # coefficients, and a single entry sets its whole cluster to 0.
    ends = A.indices[np.repeat(entries == 2, entries)].reshape(-1, 2)
    graph = sp.coo_array((np.ones(len(ends)), ends.T), shape=(problem.d, problem.d))
    number, group = sp.csgraph.connected_components(graph, directed=False)
    mean = np.bincount(group, w, number) / np.bincount(group, minlength=number)
    mean[group[A.indices[np.repeat(entries == 1, entries)]]] = 0.0
    return mean[group]
