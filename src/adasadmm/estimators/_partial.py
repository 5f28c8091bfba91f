"""partial_fit: one pass of a stochastic solver over a block of rows, from the state after the block before."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from .._core.states import ModelError, check_like
from .._solve import advance, begin
from ..auto import is_auto
from ..certificates.primal import into_sets
from ..problem import Problem
from ..registry import as_solver
from ..rows.matrices import as_rows
from ..solvers import Batches, Run, Solver
from ..solvers.stochastic.run import StochasticRun
from . import _fitting
from ._base import LinearModel
from ._structure import Structure, with_strength
from ._types import PerRow, ValidRows

__all__ = ["RUNS", "check_stream", "partial_fit"]

RUNS = (StochasticRun,)  # what a model keeps between two blocks

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
    if first:
        alpha, _ = model._strengths(float(rows_seen))
        model._stream_structure = model._structures(X, alpha, per_row, None)[0]
    runs, problems = [], _problems(model, X, targets, per_row.offset, rows_seen)
    before = model._starts(problems, getattr(model, "_results", []))
    for k, problem in enumerate(problems):
        solver = as_solver("ada-diag" if is_auto(model.solver) else model.solver, _fitting.tuning_of(model))
        if solver.knows_gap or solver.uses_all_rows:
            raise ValueError(f'partial_fit needs a stochastic solver, such as solver="ada-diag"; got {solver}')
        if sample_weight is not None:  # unscaled: the mean weight of a stream is unknown until it ends
            problem = problem.with_weights(np.repeat(problem.outputs * sample_weight, problem.outputs))
        run = begin(problem, solver, before[k]) if first else _continued(model, k, problem, solver)
        if reason := advance(run, [Batches(problem.rows, np.arange(problem.terms), run.batch_size)]):
            kept = "the last finite iterate is kept; a smaller eta may help"
            warnings.warn(f"partial_fit diverged: {reason}; {kept}", ConvergenceWarning, 3)
        runs.append(run)
    answers = [_fitting.split_intercept(model, into_sets(run.problem, run.answer), run.problem) for run in runs]
    model._set_coefficients([coef for coef, _ in answers], [intercept for _, intercept in answers])
    model._run, model._rows_seen = [run.fork(None) for run in runs], rows_seen
    for name in OF_A_FIT:  # an earlier one, with other coefficients
        model.__dict__.pop(name, None)
    model.n_iter_ = 1


def _problems(
    model: LinearModel, X: ValidRows, targets: list[np.ndarray], offset: np.ndarray | None, rows_seen: int
) -> list[Problem]:
    """The problems of a block, one for each linear function or softmax; their strengths depend on all rows so far."""
    alpha, l2 = model._strengths(float(rows_seen))
    structure, rows, offsets = model._stream_structure, as_rows(X), PerRow(offset=offset)
    if not model._penalty_is_given():
        structure = structure._replace(penalty=with_strength(structure.penalty, alpha))
    return [_fitting.problem_of(model, rows, y, offsets, structure, l2, levelled=False) for y in targets]


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
    if run.from_file:
        _check_run(run, begin(problem, solver))
    return run.fork(problem)


# --- states from files -----------------------------------------------------------------------------------------------


def check_stream(model: LinearModel) -> None:
    """Raise ``ValueError`` if the state between two blocks does not belong to a model that was read from a file.

    A block of one row of zeros has the same lengths of w, v and theta as any other. Nothing is compiled here, so that a
    model which only predicts loads quickly; the rest of the state is checked when a block continues it.
    """
    assert model._run is not None
    if type(model._rows_seen) is not int or model._rows_seen < 1:
        raise ValueError(f"the number of rows seen must be a whole number >= 1, got {model._rows_seen!r}")
    if not isinstance(model._stream_structure, Structure) or not all(isinstance(run, Run) for run in model._run):
        raise ValueError("the state of partial_fit is not one")
    loss = model._fitted_loss()
    if not type(loss).__module__.startswith("adasadmm."):  # it may not take the targets below
        return
    targets = model._targets(model.classes_[:1]) if is_classifier(model) else [np.ones(1)]  # type: ignore[attr-defined]
    problems = _problems(model, np.zeros((1, model.n_features_in_)), targets, None, model._rows_seen)
    for run, problem in zip(model._run, problems, strict=True):
        lengths = tuple(len(part) for part in run.point)
        if lengths != (problem.d, problem.p, problem.m):
            expected = f"{problem.d}, {problem.p} and {problem.m}"
            raise ValueError(f"w, v and theta of partial_fit must have {expected} numbers, got {lengths}")


def _check_run(run: Run, new: Run) -> None:
    """Raise `ModelError` unless a run from a file has the form of a new one; compiled code would not notice."""
    try:
        if isinstance(new, RUNS):
            _compare(run, new)
    except ValueError as error:
        raise ModelError(
            f"the state of partial_fit in the file of this model is damaged: {error}. Start over with fit, or with a "
            "clone"
        ) from None
    del run.from_file


def _compare(run: Run, new: StochasticRun) -> None:
    own, kept = ({"done": 0, "seconds": 0.0, **vars(one), "problem": None, "model": None} for one in (new, run))
    own["solver"], own["from_file"] = kept.get("solver"), True  # solvers were compared by their settings
    if not isinstance(run, StochasticRun) or own.keys() != kept.keys():
        raise ValueError("it has other parts than a new one")
    changing = {id(array) for _, array in new.arrays()}
    for name, part in own.items():
        if name != "solver":
            check_like(part, kept[name], name, changing)
    run.check_indices()
