"""Exact structure: make ``A w = b`` hold exactly in the rows where v is exactly 0.

A penalty such as L1 fuses coefficients along edges, or sets them to 0. The v of an augmented Lagrangian method shows
which, because the prox of the penalty returns exact zeros, while ``A w`` is only as close to v as the constraint is
satisfied. Polishing gives each cluster of coefficients (those that zeros of v connect) one common value and computes
the certificate again. The fused point replaces the old one if its gap is as good.

On a graph with cycles the zeros of v may contradict each other: they connect the ends of an edge at which v is not 0.
One false zero is enough for that, and joins two clusters. Its multiplier is close to the bound at which the edge opens,
so the pattern without such zeros is tried as well.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import penalties
from ..linalg.joined import Clusters, clusters_of
from ..linalg.projections import nearest
from ..problem import Problem
from ..rows.matrices import to_scipy
from . import duality
from .primal import feasible_point, primal_value
from .trace import Result

__all__ = ["feasible", "fuse", "fused"]

APART = 1e-3  # of the largest entry of v: an entry above that is not 0 by an error of rounding or of the gap
MARGIN = 0.3  # of its bound, by which the multiplier of a zero lies inside it unless the zero is in doubt


def fuse(problem: Problem, result: Result, tol: float, w: np.ndarray | None = None) -> Result:
    """The same result with exact zeros; unchanged if these would raise its relative gap above ``tol``.

    The solver must be one whose v is exact (`Solver.exact_v`). ``w`` is a point with these zeros, by default the one
    nearest to that of the result.
    """
    run, before = result.run, result.run.certify()
    split, point = run.problem, run.point  # if w has a set, v holds a copy of w
    held = point.v == 0.0
    if w is None:
        w, held = _with_pattern(split, run.answer, point.v, point.theta)
    v = split.times_A(w) - split.b
    v[held] = 0.0
    dual = duality.Dual(before.dual, before.dual_residual)  # that of the run, which does not depend on w
    certificate = duality.certificate(split, (w, v), primal_value(split, w, v), dual)
    v = v[: problem.p].copy()
    if not certificate.relative_gap <= max(tol, before.relative_gap):
        return result
    return result.at(w, v, certificate)


def _with_pattern(problem: Problem, w: np.ndarray, v: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The point nearest to w with the zeros of v, or with those of them that are certain; and its zeros.

    The better of the two points is returned.
    """
    held, zeros = _held(problem, v), v == 0.0
    clusters = clusters_of(problem.A, np.flatnonzero(held))
    found, doubtful = _nearest(problem, w, v, held, clusters), _in_doubt(problem, v, theta, held, clusters)
    if doubtful.any():
        other = fused(problem, w, v, held & ~doubtful)
        if problem.objective(other) < problem.objective(found):
            return other, zeros & ~doubtful
    return found, zeros


def _in_doubt(
    problem: Problem, v: np.ndarray, theta: np.ndarray, held: np.ndarray, clusters: Clusters | None
) -> np.ndarray:
    """The edges of contradictory clusters whose multipliers are not well inside their bounds."""
    A, doubtful = problem.A, np.zeros(problem.m, dtype=bool)
    if clusters is None or problem.B is not None:
        return doubtful
    edges = np.flatnonzero(np.diff(A.indptr) == 2)
    one, other = (clusters.label[A.indices[A.indptr[edges] + end]] for end in (0, 1))
    apart = np.abs(v[edges]) > APART * np.max(np.abs(v), initial=0.0)
    within = one[(one == other) & apart & ~held[edges]]
    if len(within):
        contradictory = np.zeros(clusters.number, dtype=bool)
        contradictory[within] = True
        wider = -theta / (1.0 - MARGIN)
        outside = penalties.domain(problem.penalty, wider) != wider
        doubtful[edges] = held[edges] & contradictory[one] & outside[edges]
    return doubtful


def fused(problem: Problem, w: np.ndarray, v: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The point nearest to w with ``A w - b = v`` in the rows that are held."""
    return _nearest(problem, w, v, held, clusters_of(problem.A, np.flatnonzero(held)))


def _nearest(problem: Problem, w: np.ndarray, v: np.ndarray, held: np.ndarray, clusters: Clusters | None) -> np.ndarray:
    """The same, given the clusters of these rows."""
    A, rows, target = problem.A, np.flatnonzero(held), problem.b + v
    single = rows[np.diff(A.indptr)[rows] == 1]
    fixed, values = A.indices[A.indptr[single]], target[single] / A.data[A.indptr[single]]
    if clusters is None or np.any(target[rows[np.diff(A.indptr)[rows] != 1]]):
        w = nearest(to_scipy(A)[rows], target[rows], w)
        w[fixed] = values
        return w
    label, number, of_single = clusters
    mean = np.bincount(label, w, number) / np.bincount(label, minlength=number)
    mean[of_single] = values  # a row with one entry says the value of its whole cluster
    return mean[label]


def _held(problem: Problem, v: np.ndarray) -> np.ndarray:
    """The rows in which v is 0, where a penalty has its kink, or at a bound of a box."""
    held = v == 0.0
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        if isinstance(part, penalties.Box):
            held[rows] = (v[rows] == part.lower) | (v[rows] == part.upper)
    return held


def feasible(problem: Problem, result: Result) -> Result:
    """The result with the point that its certificate is about as answer: it lies inside the sets of the penalty."""
    if not any(isinstance(part, penalties.SETS) for part, _ in penalties.parts_of(problem.penalty, problem.p)):
        return result
    found = feasible_point(problem, result.w_average, result.v)
    if np.array_equal(found.w, result.w_average):
        return result
    before = result.certificate
    assert before is not None
    certificate = dataclasses.replace(before, primal=found.value, reason=found.reason or before.reason)
    v = problem.times_A(found.w) - problem.b
    return result.at(found.w, v, duality.with_dual(problem, certificate, before.dual))
