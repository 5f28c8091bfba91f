"""The estimators' common body: parameters, validation, fit, partial_fit, fitted attributes."""

from __future__ import annotations

import dataclasses
import functools
import html
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from .._core.threads import Together
from .._solve import advance, begin
from ..certificates.trace import Status
from ..linalg.matrices import as_rows
from ..registry import AVERAGES, SOLVERS
from ..solvers import Batches, Run, Solver
from ..sources import Source
from . import _fitting
from ._callbacks import CallbackSupportMixin, epoch_callback
from ._fitting import Fit, Structure

__all__ = ["LinearModel", "all_or_nothing", "keep_parameters"]

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")


def keep_parameters(estimator: Any, given: dict[str, Any]) -> None:
    """Store the constructor's parameters under their own names, and do nothing else, as scikit-learn asks."""
    for name in estimator._get_param_names():
        setattr(estimator, name, given[name])


def all_or_nothing(method: Callable) -> Callable:
    """A fit that fails, or is interrupted, leaves the estimator as it was."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded


class LinearModel(CallbackSupportMixin, SparseCoefMixin, BaseEstimator, ABC):
    """A linear model whose coefficients follow a structure. Leaves say which (``_structure``)."""

    loss: Any
    alpha: float | None
    l2: float | None
    solver: Any
    fit_intercept: bool
    tol: float
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    coef_: Any
    intercept_: Any
    _rows_seen: int
    _run: Any

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [NOT_NEGATIVE, None],
        "l2": [NOT_NEGATIVE, None],
        "solver": [StrOptions({"auto", *SOLVERS}), Solver],
        "eta": [StrOptions({"auto"}), POSITIVE, tuple],
        "beta": [StrOptions({"auto"}), POSITIVE],
        "a": [POSITIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [NOT_NEGATIVE],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "average": [StrOptions(set(AVERAGES))],
        "shuffle": ["boolean"],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _structure(self, X: Any, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        """The matrix A and the penalty; sets ``graph_`` where there is one."""

    # --- fit ---------------------------------------------------------------------------------------------------------

    def _fit(
        self, X: Any, targets: list[Any], sample_weight: np.ndarray | None, checkpoint: Any, resume: bool
    ) -> list[Fit]:
        """Fit one linear function for each column of targets; where X is a source, for each view of it."""
        if isinstance(X, Source):
            X, labels, rows_and_targets = targets[0], None, [(view, None) for view in targets]
            total = X.summary.weight
        else:
            total = float(len(targets[0]) if sample_weight is None else sample_weight.sum())
            rows, labels = as_rows(X), self._labels(targets)
            rows_and_targets = [(rows, y) for y in targets]
        alpha, l2 = self._strengths(total)
        structure = self._structure(X, alpha, sample_weight)
        starts = self._starts(len(targets), structure, getattr(self, "_results", []) if self.warm_start else [])
        seed = self._seed(fixed=checkpoint is not None)
        kept = [checkpoint] if len(targets) == 1 else self._parts(checkpoint, len(targets))
        tell = epoch_callback(self, X, labels, self._fitted_at if len(targets) == 1 else None)
        work = [
            (self, _fitting.problem_of(self, rows, y, sample_weight, structure, l2), seed, start, tell, part, resume)
            for (rows, y), start, part in zip(rows_and_targets, starts, kept, strict=True)
        ]
        fits = [_fitting.fit_one(*work[0])] if len(work) == 1 else _fit_together(work, self.n_jobs)
        _fitting.warn_unless_converged(fits, self.tol)
        self._set_fitted(fits)
        return fits

    def _know_features(self, source: Source) -> None:
        """What scikit-learn keeps of X, from a source."""
        self.n_features_in_ = source.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if source.feature_names is not None:
            self.feature_names_in_ = np.array(source.feature_names, dtype=object)

    def _labels(self, targets: list[np.ndarray]) -> np.ndarray:
        """The user's targets, made again from those of the linear functions."""
        return targets[0]

    def _fitted_at(self, w: np.ndarray) -> dict:
        """The fitted attributes at an iterate, for callbacks that want to predict on the way."""
        coef, intercept = _fitting.split_intercept(self, w)
        return {"coef_": coef[None, :], "intercept_": np.array([intercept])}

    def _parts(self, checkpoint: Any, count: int) -> list:
        """A checkpoint for each of several linear functions."""
        return [None if checkpoint is None else checkpoint.part(f"class-{k}") for k in range(count)]

    def _seed(self, fixed: bool = False) -> int:
        """A seed; where it has to be the same in another process, without a random_state it is 0."""
        if fixed and self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _strengths(self, total: float) -> tuple[float, float]:
        """alpha and l2; by default 1 over the sum of the weights, as in the paper."""
        given = [1.0 / total if value is None else float(value) for value in (self.alpha, self.l2)]
        return given[0], given[1]

    def _starts(self, count: int, structure: Structure, before: list) -> list:
        """Where each linear function begins: at the results before where their shapes fit, else at 0."""
        width = structure.A.shape[1] + self.fit_intercept
        fits = len(before) == count and all(len(r.w) == width and len(r.theta) == structure.A.shape[0] for r in before)
        return before if fits else [None] * count

    def _set_fitted(self, fits: list[Fit]) -> None:
        self._results = [dataclasses.replace(fit.result, run=None) for fit in fits]  # without the run, so without X
        self._set_coefficients([fit.coef for fit in fits], [fit.intercept for fit in fits])
        gaps = [math.inf if (c := fit.result.certificate) is None else c.relative_gap for fit in fits]
        self.n_iter_ = max(1, math.ceil(max(fit.result.epochs for fit in fits)))
        self.dual_gap_ = gaps[0] if len(fits) == 1 else np.array(gaps)
        statuses = [fit.result.status for fit in fits]
        self.status_ = statuses[0] if len(fits) == 1 else statuses
        self.trace_ = _fitting.merged_trace(fits)
        self._fused_exactly = all(fit.fused for fit in fits)
        self._run = None

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        self.coef_ = np.array(coefs)
        self.intercept_ = np.array(intercepts)

    @property
    def clusters_(self) -> np.ndarray:
        """Fused groups: features joined by edges along which their coefficients are equal share a number."""
        check_is_fitted(self)
        if getattr(self, "graph_", None) is None:
            raise AttributeError("clusters_ needs a graph; this model has a general matrix A")
        coefs, exactly = np.atleast_2d(self._dense_coef()), getattr(self, "_fused_exactly", False)
        labels = [_fitting.fused_groups(coef, self.graph_, exactly) for coef in coefs]
        return labels[0] if len(labels) == 1 else np.array(labels)

    def _dense_coef(self) -> np.ndarray:
        return self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_

    def summary(self) -> str:
        """What was fitted, in a few lines: size, graph, fused groups, objective, gap, status."""
        check_is_fitted(self)
        coefs = np.atleast_2d(self._dense_coef())
        lines = [f"{type(self).__name__}: {coefs.shape[1]} features, {np.count_nonzero(coefs)} non-zero coefficients"]
        if len(coefs) > 1:
            lines[0] += f" in {len(coefs)} classes"
        if hasattr(self, "alpha_"):
            lines[0] += f"; chosen: alpha={self.alpha_:.3g}, l2={self.l2_:.3g}"
        if getattr(self, "graph_", None) is not None:
            sizes = [np.unique(labels, return_counts=True)[1] for labels in np.atleast_2d(self.clusters_)]
            fused = ", ".join(f"{(size > 1).sum()} of {len(size)}" for size in sizes)
            lines.append(
                f"graph: {len(self.graph_)} edges; groups of equal coefficients with several features: {fused}"
            )
            lines.extend(getattr(self, "graph_notes_", ()))
        for name, trace, gap, status in zip(*self._course(), strict=True):
            objective = f"objective {trace['objective'][-1]:.6g}, " if len(trace["objective"]) else ""
            lines.append(f"{name}{objective}relative duality gap {gap:.1e}, {status.name}: {status.value}")
        return "\n".join(lines)

    def _course(self) -> tuple[list, list, Any, Any]:
        """Name, trace, gap and status of each linear function; nothing after partial_fit, which keeps no trace."""
        if not hasattr(self, "trace_"):
            return [], [], [], []
        if not isinstance(self.trace_, list):
            return [""], [self.trace_], [self.dual_gap_], [self.status_]
        return [f"class {label}: " for label in self.classes_], self.trace_, self.dual_gap_, self.status_

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram, with the summary under it once the model is fitted."""
        diagram = super()._repr_html_inner()
        if not hasattr(self, "coef_"):
            return diagram
        return f"{diagram}<pre>{html.escape(self.summary())}</pre>"

    # --- partial_fit -------------------------------------------------------------------------------------------------

    def _partial_fit(self, X: Any, targets: list[np.ndarray], sample_weight: np.ndarray | None) -> None:
        """One pass over a block, in the order given; the state of the run goes on."""
        first = getattr(self, "_run", None) is None  # a fit may have gone before: then from where it ended
        rows_seen = len(targets[0]) + (0 if first else self._rows_seen)
        alpha, l2 = self._strengths(float(rows_seen))
        if first:
            self._stream_structure = self._structure(X, alpha, sample_weight)
        structure = self._stream_structure
        if hasattr(structure.penalty, "nu") and not self._penalty_is_given():
            structure = structure._replace(penalty=structure.penalty._replace(nu=alpha))
        rows = as_rows(X)
        before = self._starts(len(targets), structure, getattr(self, "_results", []))
        runs = []
        for k, y in enumerate(targets):
            problem = _fitting.problem_of(self, rows, y, None, structure, l2)
            solver = _fitting.as_solver(self, problem, streaming=True)
            if solver.knows_gap or solver.uses_all_rows:
                raise ValueError(f'partial_fit needs a stochastic solver, such as solver="ada-diag"; got {solver}')
            if sample_weight is not None:  # in a stream the mean of all weights is not known: they are taken as given
                problem = problem.with_weights(sample_weight)
            if first:
                run = begin(problem, solver, before[k])
            else:
                self._check_same_stream(self._run[k], problem.d, solver)
                run = self._run[k].fork(problem)
            if not advance(run, [Batches(problem.rows, np.arange(problem.n), run.batch_size)]):
                warnings.warn(f"partial_fit: {Status.diverged.value}; a smaller eta may help", ConvergenceWarning, 3)
            runs.append(run)
        answers = [_fitting.split_intercept(self, run.answer) for run in runs]
        self._set_coefficients([coef for coef, _ in answers], [intercept for _, intercept in answers])
        self._run, self._rows_seen = [run.fork(None) for run in runs], rows_seen
        for name in ("dual_gap_", "status_", "trace_"):  # of a fit before: not true of these coefficients
            self.__dict__.pop(name, None)
        self.n_iter_ = 1

    def _check_same_stream(self, run: Run, d: int, solver: Solver) -> None:
        """The state of a run belongs to its intercept and its solver; the graph stays that of the first block."""
        same_width, same_solver = len(run.point.w) == d, repr(run.solver) == repr(solver)
        if not (same_width and same_solver):
            changed = "fit_intercept" if not same_width else "the solver or one of its settings"
            raise ValueError(f"{changed} was changed within a stream: begin anew, with a clone or with fit")

    def _penalty_is_given(self) -> bool:
        return False

    def _told_to(self, plain: Any, coef: Any, intercept: Any) -> Any:
        """A plain model of scikit-learn, fitted by hand: same features, these coefficients."""
        plain.coef_, plain.intercept_, plain.n_features_in_ = coef, intercept, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            plain.feature_names_in_ = self.feature_names_in_
        return plain

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _fit_together(work: list[tuple], n_jobs: int | None) -> list[Fit]:
    """Fit several linear functions in threads; an error or Ctrl-C in one halts them all."""
    with Together() as together:
        return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(together)(_fitting.fit_one, *each) for each in work)
