"""partial_fit: one pass of a stochastic solver over a block of rows, from the state after the block before."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._solve import advance, begin
from ..certificates.primal import into_sets
from ..certificates.trace import Status
from ..linalg.matrices import as_rows
from ..problem import Problem
from ..solvers import Batches, Run, Solver
from . import _fitting
from ._base import LinearModel
from ._structure import with_strength
from ._types import PerRow, ValidRows

__all__ = ["partial_fit"]

# The attributes that `partial_fit` does not set, beside the coefficients.
OF_A_FIT = (
    *("dual_gap_", "status_", "trace_", "solver_", "solver_reason_", "coef_penalized_", "intercept_penalized_"),
    *("_objectives", "_place", "_progressive", "_fused_exactly", "_criteria", "_judgements"),
    *("validation_loss_", "_validation_rows"),
)


def partial_fit(model: LinearModel, X: ValidRows, targets: list[np.ndarray], per_row: PerRow) -> None:
    """Continue the run over the rows of one block, in the order given."""
    if model.refit != "none":
        raise ValueError(f'refit must be "none" in partial_fit, which has not all rows, got {model.refit!r}')
    if model.validation_fraction:
        raise ValueError(
            "validation_fraction must be 0 in partial_fit, which learns from every row, got "
            f"{model.validation_fraction!r}: score each block before it is learnt"
        )
    sample_weight = per_row.weight
    model._has_offset = getattr(model, "_has_offset", False) or per_row.offset is not None
    first = getattr(model, "_run", None) is None  # if a fit came before, the run starts from its result
    rows_seen = len(targets[0]) + (0 if first else model._rows_seen)
    alpha, l2 = model._strengths(float(rows_seen))
    if first:
        model._stream_structure = model._structures(X, alpha, per_row, None)[0]
    structure = model._stream_structure
    if not model._penalty_is_given():
        structure = structure._replace(penalty=with_strength(structure.penalty, alpha))
    runs, rows = [], as_rows(X)
    offsets = PerRow(offset=per_row.offset)
    problems = [_fitting.problem_of(model, rows, y, offsets, structure, l2) for y in targets]
    before = model._starts(problems, getattr(model, "_results", []))
    for k, problem in enumerate(problems):
        solver = next(_fitting.solvers_for(model, problem, streaming=True)).solver
        if solver.knows_gap or solver.uses_all_rows:
            raise ValueError(f'partial_fit needs a stochastic solver, such as solver="ada-diag"; got {solver}')
        if sample_weight is not None:  # unscaled: the mean weight of a stream is unknown until it ends
            problem = problem.with_weights(np.repeat(problem.outputs * sample_weight, problem.outputs))
        run = begin(problem, solver, before[k]) if first else _continued(model, k, problem, solver)
        if not advance(run, [Batches(problem.rows, np.arange(problem.terms), run.batch_size)]):
            warnings.warn(f"partial_fit: {Status.diverged.value}; a smaller eta may help", ConvergenceWarning, 3)
        runs.append(run)
    answers = [_fitting.split_intercept(model, into_sets(run.problem, run.answer), run.problem.outputs) for run in runs]
    model._set_coefficients([coef for coef, _ in answers], [intercept for _, intercept in answers])
    model._run, model._rows_seen = [run.fork(None) for run in runs], rows_seen
    for name in OF_A_FIT:  # an earlier one, with other coefficients
        model.__dict__.pop(name, None)
    model.n_iter_ = 1


def _continued(model: LinearModel, k: int, problem: Problem, solver: Solver) -> Run:
    """The run of the previous block on new rows; its state depends on the intercept and on the solver."""
    assert model._run is not None
    run = model._run[k]
    same_width, same_solver = len(run.point.w) == problem.d, repr(run.solver) == repr(solver)
    if not (same_width and same_solver):
        changed = "fit_intercept" if not same_width else "the solver or one of its settings"
        raise ValueError(
            f"{changed} was changed between two calls of partial_fit: start over with fit, or with a clone"
        )
    return run.fork(problem)
