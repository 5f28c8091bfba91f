"""The base class of all estimators: parameters, fit, fitted attributes, summary."""

from __future__ import annotations

import dataclasses
import functools
import html
import inspect
import math
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from .._core.threads import Together
from ..certificates.trace import Result
from ..checkpoints import Checkpoint
from ..problem import Problem
from ..registry import AVERAGES, SOLVERS
from ..rows.matrices import Rows, as_rows
from ..solvers import Run, Solver
from ..sources import Source
from . import _fitting
from ._callbacks import CallbackSupportMixin, epoch_callback
from ._constraints import Limits, limits_of
from ._fitted_state import names_in_older_state
from ._fitting import Fit
from ._gate import rows_to_predict
from ._judged import Judged
from ._parameters import KnownParameters
from ._responses import observed, of_column
from ._sparse_coef import SparseCoefficients
from ._structure import Structure, extended
from ._summary import describe
from ._types import BoundsLike, Eta, LossLike, MatrixLike, PerRow, RandomState, SolverLike, ValidRows, WeightsLike
from ._validation import HeldOutArrays, HeldOutSource, LinearFunctions, split_arrays
from ._weights import NO_WEIGHTS, adaptive_weights, check_adaptive, given_weights, number_of_terms, pilot

__all__ = ["LinearModel", "keep_parameters"]

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")


def keep_parameters(estimator: BaseEstimator, given: dict[str, Any]) -> None:
    """Store the parameters of a constructor, its ``locals()``, and do nothing else, as scikit-learn requires.

    These are not the parameters of the estimator's class: a derived class may have more of them, or fewer.
    """
    for name, value in given.items():
        if name != "self":
            setattr(estimator, name, value)


class LinearModel(Judged, CallbackSupportMixin, SparseCoefficients, KnownParameters, ABC):
    """A linear model with structured coefficients; subclasses define the structure in ``_structure``."""

    loss: LossLike
    alpha: float | None
    l2: float | None
    l1_ratio: float
    positive: bool
    bounds: BoundsLike
    weights: WeightsLike
    weights_power: float
    refit: str
    solver: SolverLike
    eta: Eta
    beta: str | float
    a: float
    max_iter: int | None
    tol: float
    batch_size: str | int
    average: str
    shuffle: bool
    fit_intercept: bool
    validation_fraction: float = 0.0
    warm_start: bool
    random_state: RandomState
    n_jobs: int | None
    verbose: int
    coef_: Any  # sparse after sparsify()
    intercept_: Any
    _rows_seen: int
    _run: list[Run] | None
    _stream_structure: Structure
    _has_offset: bool
    _outputs: int | None = None  # the number of responses, if y has columns
    _objectives: list[float]
    _place: tuple[str, ...]  # a `Place`, only if the rows came from a source

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [NOT_NEGATIVE, None],
        "l2": [NOT_NEGATIVE, None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "positive": ["boolean"],
        "bounds": "no_validation",
        "weights": [StrOptions({"adaptive"}), "array-like", None],
        "weights_power": [NOT_NEGATIVE],
        "refit": [StrOptions({"none", "clusters"})],
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
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _structure(self, X: ValidRows | Source, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        """The model's own matrix A and penalty; sets ``graph_`` if the model has a graph."""

    def _structures(
        self, X: ValidRows | Source, alpha: float, per_row: PerRow, targets: list[Any] | None
    ) -> list[Structure]:
        """A and the penalty, with the parts that all models have, for each array of targets; None for a stream."""
        limits = self._limits(X.shape[1])  # wrong ones are an error before a graph is learnt
        adaptive = isinstance(self.weights, str)
        if adaptive:
            check_adaptive(targets is None or isinstance(X, Source), self._fitted_loss())
        if self._penalty_is_given() and (self.l1_ratio != 0.0 or self.weights is not None):
            name, value = ("weights", self.weights) if self.l1_ratio == 0.0 else ("l1_ratio", self.l1_ratio)
            raise ValueError(
                f"{name} must be {'0' if name == 'l1_ratio' else 'None'} if penalty is an object, which is used as it "
                f"is, got {value!r}; build it into the penalty, for the L1 norm with I stacked under A and Stack"
            )
        own = self._structure(X, alpha, per_row.weight)
        if not adaptive:
            weights = NO_WEIGHTS
            if self.weights is not None:
                terms = number_of_terms(own.A, own.penalty)
                weights = given_weights(self.weights, terms, own.A.shape[1], self.l1_ratio)
            return [extended(own, self.l1_ratio, limits, weights)] * (1 if targets is None else len(targets))
        loss = self._fitted_loss()
        columns = X if own.copies is None else X @ own.copies
        if any(y.ndim == 2 for y in targets or ()):
            raise ValueError('weights="adaptive" is not available if joint=True: give weights as an array')
        known = [observed(y, of_column(per_row, y, k, self._outputs)) for k, y in enumerate(targets or ())]
        pilots = (pilot(columns, y, of_y, loss, self.fit_intercept) for y, of_y in known)
        adapted = (adaptive_weights(own.A, own.penalty, w, self.weights_power) for w in pilots)
        return [extended(own, self.l1_ratio, limits, weights) for weights in adapted]

    def _limits(self, d: int) -> Limits | None:
        names = getattr(self, "feature_names_in_", None)
        return limits_of(d, names, self.positive, self.bounds, getattr(self, "constraints", None))

    # --- fit ---------------------------------------------------------------------------------------------------------

    def _fit(
        self,
        X: ValidRows | Source,
        targets: list[Any],
        per_row: PerRow,
        checkpoint: Checkpoint | None,
        resume: bool,
        held_out: HeldOutSource | HeldOutArrays | None = None,
    ) -> list[Fit]:
        """Fit one linear function for each array of targets; if X is a source, for each view of it."""
        if self.validation_fraction and not isinstance(X, Source):
            X, targets, per_row, held_out = split_arrays(X, targets, per_row, self.validation_fraction)
        sample_weight = per_row.weight
        self._has_offset = X.has_offset if isinstance(X, Source) else per_row.offset is not None
        rows_and_targets: list[tuple[Rows | Source, np.ndarray | None]]
        if isinstance(X, Source):
            X, labels, rows_and_targets = targets[0], None, [(view, None) for view in targets]
            total = X.summary.weight
        else:
            total = float(len(targets[0]) if sample_weight is None else sample_weight.sum())
            rows, labels = as_rows(X), self._labels(targets)
            rows_and_targets = [(rows, y) for y in targets]
        alpha, l2 = self._strengths(total)
        structures = self._structures(X, alpha, per_row, targets)
        seed = self._seed(fixed=checkpoint is not None)
        kept = [checkpoint] if len(targets) == 1 else self._parts(checkpoint, len(targets))
        problems = [
            _fitting.problem_of(self, X_k, y, of_column(per_row, y, k, self._outputs), structure, l2)
            for k, ((X_k, y), structure) in enumerate(zip(rows_and_targets, structures, strict=True))
        ]
        fitted_at = functools.partial(self._fitted_at, problems[0]) if len(targets) == 1 else None
        callback = epoch_callback(self, X, labels, fitted_at)
        starts = self._starts(problems, getattr(self, "_results", []) if self.warm_start else [])
        work = [
            (self, problem, seed, start, callback, part, resume)
            for problem, start, part in zip(problems, starts, kept, strict=True)
        ]
        fits = [_fitting.fit_one(*work[0])] if len(work) == 1 else _fit_together(work, self.n_jobs)
        _fitting.warn_unless_converged(fits, self)
        self._set_fitted(fits)
        self._validate(held_out)
        return fits

    def _validate(self, held_out: HeldOutSource | HeldOutArrays | None) -> None:
        """Set the mean loss of the rows that were held out, for each linear function."""
        if held_out is None:
            return
        coefs, intercepts = np.atleast_2d(self._dense_coef()), np.atleast_1d(self.intercept_)
        *sums, weight, rows = held_out.sums(LinearFunctions(self._fitted_loss(), coefs, intercepts)).tolist()
        found = [math.nan if weight == 0.0 else total / weight for total in sums]
        self.validation_loss_ = found[0] if len(found) == 1 else np.array(found)
        self._validation_rows = int(rows)

    def _watch(self, source: Source) -> None:
        """Ask the first scan of a source for whatever the structure needs, before the scan is made."""

    def _know_features(self, source: Source) -> None:
        """Set the attributes that scikit-learn derives from X: the number and the names of the features."""
        self.n_features_in_ = source.shape[1]
        if source.feature_names is not None:
            self.feature_names_in_ = np.array(source.feature_names, dtype=object)

    def _labels(self, targets: list[np.ndarray]) -> np.ndarray:
        """The user's targets, recovered from the targets of the linear functions."""
        return targets[0]

    def _fitted_at(self, problem: Problem, w: np.ndarray) -> dict:
        """The fitted attributes at an iterate, for callbacks that predict during the fit."""
        coef, intercept = _fitting.split_intercept(self, w, problem)
        return {"coef_": np.atleast_2d(coef), "intercept_": np.atleast_1d(intercept)}

    def _fitted_loss(self) -> tuple:
        """The loss of the problem; that of a classifier may depend on the number of classes."""
        return _fitting.as_loss(self.loss)

    def _parts(self, checkpoint: Checkpoint | None, count: int) -> list[Checkpoint | None]:
        """One checkpoint for each linear function."""
        return [None if checkpoint is None else checkpoint.part(f"class-{k}") for k in range(count)]

    def _seed(self, fixed: bool = False) -> int:
        """A seed drawn from random_state; with ``fixed``, random_state=None gives 0 so that a fit can be resumed."""
        if fixed and self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _strengths(self, total: float) -> tuple[float, float]:
        """alpha and l2; each defaults to 1 divided by the sum of the weights, as in the paper."""
        given = [1.0 / total if value is None else float(value) for value in (self.alpha, self.l2)]
        return given[0], given[1]

    def _starts(self, problems: list[Problem], before: list[Result]) -> list[Result] | list[None]:
        """The starting point of each problem: the previous results if their shapes fit, else None."""
        pairs = zip(problems, before, strict=False)
        fits = all(len(r.w) == problem.d and len(r.theta) == problem.m for problem, r in pairs)
        if not fits or len(before) != len(problems):
            return [None] * len(problems)
        return [_fitting.lifted(r, problem, -problem.level) for problem, r in zip(problems, before, strict=True)]

    def _set_fitted(self, fits: list[Fit]) -> None:
        for fit in fits:
            fit.result.trace.evaluate()
        # A run would keep X alive. Its certificate, which may be computed only now, is kept for the displays.
        ended = [dataclasses.replace(fit.result, run=None, certified=fit.result.certificate) for fit in fits]
        self._results = [_fitting.lifted(r, fit.problem, fit.problem.level) for r, fit in zip(ended, fits, strict=True)]
        # The trace ends with the objective of the last iterate; the model is the average of the iterates.
        with np.errstate(over="ignore", invalid="ignore"):  # after divergence
            self._objectives = [fit.problem.objective(fit.result.w_average) for fit in fits]
        if all(fit.penalized is not None for fit in fits):
            coefs, intercepts = zip(*(fit.penalized for fit in fits if fit.penalized), strict=True)
            self._set_coefficients(list(coefs), list(intercepts))
            self.coef_penalized_, self.intercept_penalized_ = self.coef_, self.intercept_
        self._set_coefficients([fit.coef for fit in fits], [fit.intercept for fit in fits])
        gaps = [math.inf if (c := fit.result.certificate) is None else c.relative_gap for fit in fits]
        self.n_iter_ = max(1, math.ceil(max(fit.result.epochs for fit in fits)))
        self.dual_gap_ = gaps[0] if len(fits) == 1 else np.array(gaps)
        progressive = [fit.result.progressive_loss for fit in fits]
        self._progressive = None if None in progressive else progressive
        statuses = [fit.result.status for fit in fits]
        self.status_ = statuses[0] if len(fits) == 1 else statuses
        self.trace_ = _fitting.merged_trace(fits)
        solvers, reasons = [fit.result.solver for fit in fits], [fit.result.solver_reason for fit in fits]
        self.solver_ = solvers[0] if len(fits) == 1 else solvers
        self.solver_reason_ = reasons[0] if len(fits) == 1 else reasons
        self._fused_exactly = all(fit.fused for fit in fits)
        self._judge_later([_fitting.judgement(fit, self.fit_intercept) for fit in fits])
        self._run = None

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        self.coef_ = np.vstack(coefs)
        self.intercept_ = np.hstack(intercepts)

    @property
    def clusters_(self) -> np.ndarray:
        """The cluster of each feature: features connected by edges with equal coefficients share a number."""
        check_is_fitted(self)
        if getattr(self, "graph_", None) is None:
            raise AttributeError("clusters_ needs a graph, but this model has a general matrix A")
        coefs, exactly = np.atleast_2d(self._dense_coef()), getattr(self, "_fused_exactly", False)
        labels = [_fitting.fused_groups(coef, self.graph_, exactly) for coef in coefs]
        return labels[0] if len(labels) == 1 else np.array(labels)

    def _opened(self, X: Any) -> Any:
        """Rows to predict as a source, if they are in files that the model reads in its own way."""
        return X

    def _rows(self, X: MatrixLike) -> ValidRows:
        """The rows to predict, checked against those of the fit."""
        return rows_to_predict(self, X)

    def _dense_coef(self) -> np.ndarray:
        return self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_

    def summary(self) -> str:
        """Describe the fitted model in a few lines.

        Returns
        -------
        str
            The numbers of features, non-zero coefficients, edges and groups of equal coefficients; then, for each
            linear function, its objective, its relative duality gap, and how the run ended. The objective is that
            of the fitted coefficients, which need not be the last value in ``trace_``.
        """
        check_is_fitted(self)
        return describe(self)

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram, followed by the summary if the model is fitted."""
        diagram = super()._repr_html_inner()
        if not hasattr(self, "coef_"):
            return diagram
        return f"{diagram}<pre>{html.escape(self.summary())}</pre>"

    def _penalty_is_given(self) -> bool:
        return False

    def _copied_to(self, plain: BaseEstimator, coef: np.ndarray, intercept: np.ndarray | float) -> BaseEstimator:
        """A model of scikit-learn with its fitted attributes set to these features and coefficients."""
        if getattr(self, "_has_offset", False):
            raise ValueError(
                "this model was fitted with an offset, which the models of scikit-learn and ONNX cannot take: their "
                "predictions would lack it; use predict(X, offset=...) of this model, or coef_ and intercept_"
            )
        plain.coef_, plain.intercept_, plain.n_features_in_ = coef, intercept, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            plain.feature_names_in_ = self.feature_names_in_
        return plain

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a saved model; parameters that its version did not have get their defaults."""
        parameters = inspect.signature(type(self).__init__).parameters.values()
        later = {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}
        later["_set_by_fit"] = names_in_older_state(state)
        super().__setstate__({**later, **state})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _fit_together(work: list[tuple], n_jobs: int | None) -> list[Fit]:
    """Fit several linear functions in threads; an error in one of them, or Ctrl-C, stops all."""
    with Together() as together:
        tasks = (delayed(together)(_fitting.fit_one, *each) for each in work)
        return Parallel(n_jobs=n_jobs, require="sharedmem")(tasks)
