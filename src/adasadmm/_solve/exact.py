"""Exact structure: coefficients that the penalty fuses are equal, and those that it drops are 0, to the last bit."""

from __future__ import annotations

import dataclasses

from .. import losses
from .._core.threads import one_blas_thread
from ..certificates.contraction import contracted
from ..certificates.polish import fuse
from ..certificates.trace import Result, Trace
from ..problem import Problem
from . import solve_quietly
from .advice import gap_of

__all__ = ["with_exact_structure"]

FURTHER = 0.1  # of the gap, to which the solver continues where the pattern that it shows costs too much
MOST_ITERATIONS = 10


def with_exact_structure(problem: Problem, result: Result, tol: float) -> tuple[Result, bool]:
    """The result with exact structure, if that keeps its gap below ``tol``; and whether it has exact structure.

    The pattern is that of v. The nearest point with this pattern serves if its gap is small enough. If it is not, the
    solver continues for a few iterations, since the pattern of a better point is closer to that of the optimum. If that
    does not help either, as with losses that have kinks, the best point with the pattern is computed, which takes
    another run, on the clusters.
    """
    solver, found = result.run.solver, result.run.certify()
    of_vectors = solver.uses_all_rows and losses.width(problem.loss) > 1 and problem.source is None
    if not solver.exact_v and not of_vectors:
        return result, False
    if found.primal_residual == 0.0:  # v is A w itself
        return result, True
    with one_blas_thread():
        return _with_pattern_of_v(problem, result, tol)


def _with_pattern_of_v(problem: Problem, result: Result, tol: float) -> tuple[Result, bool]:
    """The same for a v that shows the structure, but is not ``A w``."""
    solver, found = result.run.solver, result.run.certify()
    acts = result.run.point.theta.any()  # a penalty of strength 0 has no pattern
    if solver.pattern_lags and acts and found.relative_gap <= tol:
        result = _one_further(problem, result)
        found = result.run.certify()
    fused = fuse(problem, result, tol)
    if fused is not result or not found.relative_gap <= tol:
        return fused, fused is not result
    goal = FURTHER * found.relative_gap
    further = solve_quietly(problem, solver, start=result, tol=goal, epochs=MOST_ITERATIONS)
    for attempt in (fuse, _on_clusters):
        fused = attempt(problem, further, tol)
        if fused is not further:
            return dataclasses.replace(fused, trace=result.trace, epochs=result.epochs + further.epochs), True
    return result, False


def _one_further(problem: Problem, result: Result) -> Result:
    """The result after one more iteration, unless its gap is no better."""
    further = solve_quietly(problem, result.run.solver, start=result, tol=0.0, epochs=1)
    if not gap_of(further) < gap_of(result):
        return result
    points = [*zip(*result.trace.values(), strict=True), *zip(*further.trace.values(), strict=True)]
    epochs = result.epochs + further.epochs
    return dataclasses.replace(further, trace=Trace(points), status=result.status, epochs=epochs)


def _on_clusters(problem: Problem, result: Result, tol: float) -> Result:
    """The result at the best point with the pattern of its v; unchanged if that point misses ``tol``."""
    small = contracted(problem, result.run.point.v)
    if small is None:
        return result
    inner = solve_quietly(small.problem, result.run.solver, tol=0.5 * tol, start=small.start(result))
    return fuse(problem, result, tol, small.expanded(inner.w_average))
