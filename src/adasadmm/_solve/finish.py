"""The end of every fit: above ``tol`` the null model if that is better, else exact structure; a point inside all sets.

Exact structure: coefficients that the penalty fuses are equal, and those that it drops are 0, to the last bit.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from .. import losses
from .._core.threads import one_blas_thread
from ..certificates import certify
from ..certificates.contraction import contracted
from ..certificates.domains import into_domain
from ..certificates.duality import Dual, certificate
from ..certificates.polish import feasible, fuse
from ..certificates.primal import primal_value
from ..certificates.trace import Result, Trace
from ..problem import Problem
from ..sources.condensed import slopes_of_all
from .advice import gap_of
from .attempts import Request
from .null_model import is_near_null, null_unless_better
from .solving import solve_quietly

__all__ = ["Answer", "at_all_rows", "finished"]

FURTHER = 0.1  # of the gap, to which the solver continues where the pattern that it shows costs too much
MOST_ITERATIONS = 10


class Answer(NamedTuple):
    """A result as it is handed to the user."""

    problem: Problem  # the one that was solved; it may have fewer rows, which give the same answer
    result: Result
    fused: bool = False  # coefficients that the penalty fuses are equal to the last bit
    lost: bool = False  # the null model, because the solver ended far above it


@one_blas_thread()
def finished(problem: Problem, result: Result, request: Request, exact: bool = True) -> Answer:
    """The null model if nothing better was found, else exact structure; inside the sets of the penalty."""
    found, fused, lost = result, False, False
    if not gap_of(found) <= request.tol:
        result = null_unless_better(problem, found, request.has_intercept)
        lost = result is not found and not is_near_null(problem, found, result)
    elif exact:
        result, fused = with_exact_structure(problem, found, request.tol)
    return Answer(problem, _representable(problem, feasible(problem, result)), fused, lost)


@one_blas_thread()
def at_all_rows(problem: Problem, answer: Answer) -> Answer:
    """The answer of condensed rows with the certificate that all rows give it.

    If theta is not in its domain, the dual point is also scaled until it is, which keeps s and theta in balance.
    """
    few, result = answer.problem, answer.result
    w, (s, theta) = result.w_average, result.run.dual_point()
    s, v = slopes_of_all(problem.rows, few.rows, s), problem.times_A(w) - problem.b
    inside = np.divide(into_domain(problem, theta), theta, out=np.ones_like(theta), where=theta != 0.0)
    scales = {1.0, float(np.clip(np.min(inside, initial=1.0), 0.0, 1.0))}
    found = max((certify(problem, w, v, scale * s, scale * theta) for scale in scales), key=lambda one: one.dual)
    reason = f"the squared loss of {problem.n} rows is that of {few.n}, and {result.solver_reason}"
    return answer._replace(result=dataclasses.replace(result, certified=found, solver_reason=reason))


def _representable(problem: Problem, result: Result) -> Result:
    """The result with an intercept that is still a number of the same value when the level of y is added to it."""
    if not np.any(problem.level):
        return result
    w = result.w_average.copy()
    w[-problem.outputs :] = (w[-problem.outputs :] + problem.level) - problem.level
    before = result.certificate
    if before is None or np.array_equal(w, result.w_average):
        return result
    v = problem.times_A(w) - problem.b
    dual = Dual(before.dual, before.dual_residual)
    return result.at(w, v, certificate(problem, (w, v), primal_value(problem, w, v), dual))


# --- exact structure -------------------------------------------------------------------------------------------------


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
            return _continued(result, fused, result.trace), True
    return result, False


def _one_further(problem: Problem, result: Result) -> Result:
    """The result after one more iteration, unless its gap is no better."""
    further = solve_quietly(problem, result.run.solver, start=result, tol=0.0, epochs=1)
    if not gap_of(further) < gap_of(result):
        return result
    points = [*zip(*result.trace.values(), strict=True), *zip(*further.trace.values(), strict=True)]
    return dataclasses.replace(_continued(result, further, Trace(points)), status=result.status)


def _continued(result: Result, further: Result, trace: Trace) -> Result:
    """A result that continues another one, as the end of the same run."""
    epochs = result.epochs + further.epochs
    return dataclasses.replace(further, trace=trace, epochs=epochs, solver_reason=result.solver_reason)


def _on_clusters(problem: Problem, result: Result, tol: float) -> Result:
    """The result at the best point with the pattern of its v; unchanged if that point misses ``tol``."""
    small = contracted(problem, result.run.point.v)
    if small is None:
        return result
    inner = solve_quietly(small.problem, result.run.solver, tol=0.5 * tol, start=small.start(result))
    return fuse(problem, result, tol, small.expanded(inner.w_average))
