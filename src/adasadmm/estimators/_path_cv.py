"""The mixin that chooses the strengths of a linear model: by cross-validation, or by an information criterion."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context, clone
from sklearn.metrics import check_scoring
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from .._core.threads import one_blas_thread
from ..checkpoints import Checkpoint
from ..problem import Problem
from ..regularization.along import MoreRows, as_strengths
from ..regularization.alpha_max import alpha_max
from ..rows.matrices import Rows, as_rows
from ..sources import Source
from . import _fitting
from ._base import LinearModel
from ._fitted_state import from_scratch
from ._judged import JudgedPath, by_function
from ._responses import of_column
from ._rows import load_for_search, source_of
from ._search import (
    Combination,
    ScorePath,
    Search,
    Selected,
    admitted,
    folds_of,
    parameters,
    ranks,
    scoring_tol,
    selected,
)
from ._structure import Structure
from ._types import Folds, MatrixLike, PerRow, RowsLike, ScoringLike, ValidRows

__all__ = ["PathCV", "search_constraints"]

KNOWN = ("classes_", "_outputs", "n_features_in_", "feature_names_in_")
SEARCH_CONSTRAINTS: dict = {
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "eps": [Interval(Real, 0, 1, closed="neither")],
    "l1_ratios": ["array-like", None],
    "l2s": ["array-like", None],
    "cv": ["cv_object"],
    "rule": [StrOptions({"best", "1se"})],
    "selection": [StrOptions({"cv", "aic", "bic"})],
    "scoring": "no_validation",
}


def search_constraints(plain: dict) -> dict:
    """The constraints of the plain estimator's parameters that a search has as well, and those of the search."""
    own = ("alpha", "l2", "validation_fraction")
    return {name: value for name, value in plain.items() if name not in own} | SEARCH_CONSTRAINTS


class Data(NamedTuple):
    """Rows, the targets of each linear function, weights and offsets."""

    X: ValidRows
    targets: list[np.ndarray]
    per_row: PerRow

    def taken(self, chosen: np.ndarray) -> Data:
        return Data(self.X[chosen], [y[chosen] for y in self.targets], self.per_row.taken(chosen))


class WholePath:
    """The fits to all rows, alpha by alpha: made when they are first needed, once, by one thread."""

    def __init__(self, alphas: np.ndarray, coming: Iterator[list[_fitting.Fit]]) -> None:
        self._places, self._coming = {alpha: k for k, alpha in enumerate(alphas)}, coming
        self._made: list[list[_fitting.Fit]] = []
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    @property
    def fits(self) -> list[list[_fitting.Fit]]:
        with self._lock:
            if self._error is not None:
                raise self._error
            try:
                self._made.extend(self._coming)
            except BaseException as error:
                self._error = error
                raise
        return self._made

    def start(self, rows: np.ndarray, function: int) -> MoreRows:
        """Where the fits of one linear function to these rows may start."""
        return MoreRows(lambda alpha: self.fits[self._places[alpha]][function].result, rows)


class PathCV(JudgedPath, LinearModel):
    """Choose alpha, l1_ratio and l2; a class derives from this, and from a plain estimator's bases."""

    alphas: int | npt.ArrayLike
    eps: float
    l1_ratios: npt.ArrayLike | None
    l2s: npt.ArrayLike | None
    cv: Folds
    rule: str
    selection: str
    scoring: ScoringLike
    _own_structure: Structure | None = None
    _groups: npt.ArrayLike | None = None
    _source: Source | None = None  # from which the rows of this fit were loaded
    _whole_groups = False
    _held_out: ValidRows | None = None  # rows of a fold, which need no further checks

    _parameter_constraints: ClassVar[dict] = {**LinearModel._parameter_constraints, **SEARCH_CONSTRAINTS}

    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    def fit(
        self,
        X: RowsLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | str | None = None,
        checkpoint: Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Choose the strengths, and fit the model with them to all rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
            Features. The rows of a source are read into memory. If ``cv`` is None or a number, rows with the same value
            in the column ``groups`` stay in one fold; without such a column, the rows of a partition do.
        y : array-like of shape (n,), default=None
            Targets. None only if X is a source.
        sample_weight, offset : array-like of shape (n,), default=None
            As for the plain estimator. Weights also count in the scores.
        groups : array-like of shape (n,) or str, default=None
            Group of each row, for splitters such as `sklearn.model_selection.GroupKFold`. For a source of CSV, Parquet
            or Arrow files, the name of a column that holds the group or the fold of each row and is no feature.
        checkpoint, resume
            Not available: a search keeps no checkpoints.

        Returns
        -------
        self : estimator
            The fitted estimator. If fitting fails, the estimator stays as it was before. After Ctrl-C the scores so far
            are in ``cv_results_``, with NaN for fits that were not done.
        """
        if checkpoint is not None or resume:
            raise ValueError("a cross-validated search keeps no checkpoints: use one in the fit of the plain estimator")
        self._check_search()
        source = source_of(X, y, sample_weight, offset)
        if source is not None:
            column = groups if isinstance(groups, str) else None
            X, y, sample_weight, offset, pieces = load_for_search(source, column)
            self._whole_groups = column is not None or (groups is None and len(source) > 1)
            groups = pieces if self._whole_groups else groups
        elif isinstance(groups, str):
            raise ValueError(
                f"groups must hold the group of each row unless X is a source of named columns, got {groups!r}"
            )
        self._groups, self._source = groups, source
        super().fit(X, y, sample_weight, offset)
        for name in ("_groups", "_whole_groups", "_source"):
            self.__dict__.pop(name, None)
        if source is not None:
            self._place = ("memory", "in memory, because a search splits them into folds")
        return self

    @available_if(lambda self: False)
    def partial_fit(self, X: MatrixLike, y: npt.ArrayLike) -> None:
        """Not available: a stream cannot be split into folds."""

    def _rows(self, X: MatrixLike) -> ValidRows:
        return self._held_out if X is self._held_out is not None else super()._rows(X)

    def _structure(self, X: ValidRows | Source, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        """The structure of these rows: that of a fold is the same for all combinations, and may have to be learnt."""
        if self._own_structure is None:
            self._own_structure = super()._structure(X, alpha, sample_weight)  # type: ignore[safe-super]
        return self._own_structure

    @one_blas_thread()
    def _fit(
        self,
        X: ValidRows | Source,
        targets: list[np.ndarray],
        per_row: PerRow,
        checkpoint: Checkpoint | None,
        resume: bool,
        held_out: object = None,
    ) -> list[_fitting.Fit]:
        """Choose the strengths, then fit along the path on all rows and keep the chosen point."""
        assert not isinstance(X, Source)
        if self._source is not None:
            self._know_features(self._source)  # edges and bounds may refer to features by name
        self._has_offset = per_row.offset is not None
        data, weight = Data(X, targets, per_row), per_row.weight
        combinations = self._combinations(float(X.shape[0] if weight is None else weight.sum()))
        whole, rows = self._worker(), as_rows(X)
        known = {*vars(whole), "_own_structure"}
        problems = [whole._problems(data, rows, combination) for combination in combinations]
        self.__dict__.update(
            {name: value for name, value in vars(whole).items() if name not in known}
        )  # graph_, for one
        self.alphas_ = self._strengths_tried([problem for of_one in problems for problem in of_one])
        seed = self._seed()
        paths = [WholePath(self.alphas_, self._paths(of_one, seed, self.alphas_)) for of_one in problems]
        choose = self._by_folds if self.selection == "cv" else self._by_criterion
        chosen = choose(data, combinations, paths, seed)
        path = paths[chosen.combination].fits
        if self.selection == "cv":
            self._judge_path_later([[_fitting.judgement(fit, self.fit_intercept) for fit in fits] for fits in path])
        self.l1_ratio_, self.l2_ = combinations[chosen.combination]
        self.alpha_ = float(self.alphas_[chosen.alpha])
        self._set_path(path)
        fits = path[chosen.alpha]
        _fitting.warn_unless_converged(fits, self)
        self._set_fitted(fits)
        return fits

    # --- problems and paths ------------------------------------------------------------------------------------------

    def _check_search(self) -> None:
        """Raise if the settings are wrong whatever the rows are, before a source is read."""
        if self._penalty_is_given():
            raise ValueError("penalty must be 'l1' or 'group': a penalty object has its own strength instead of alpha")
        if self.selection != "cv" and self.rule != "best":
            raise ValueError(f'rule must be "best" with selection="{self.selection}", got {self.rule!r}')
        self._combinations(1.0)
        if not isinstance(self.alphas, Integral):
            as_strengths("alphas", self.alphas)

    def _combinations(self, total: float) -> list[Combination]:
        """The settings of each path; ``total`` is the sum of the weights."""
        ratios = [float(self.l1_ratio)] if self.l1_ratios is None else as_strengths("l1_ratios", self.l1_ratios)
        if max(ratios) > 1.0:
            raise ValueError(f"l1_ratios must be between 0 and 1, got {self.l1_ratios!r}")
        l2s = [1.0 / total] if self.l2s is None else as_strengths("l2s", self.l2s)
        return [Combination(float(ratio), float(l2)) for ratio in ratios for l2 in l2s]

    def _worker(self) -> Self:
        """A copy of the parameters that knows the features, for one set of rows."""
        model = clone(self)
        model.__dict__.update({k: v for k, v in self.__dict__.items() if k in KNOWN})
        return model

    def _problems(self, data: Data, rows: Rows, combination: Combination) -> list[Problem]:
        """The problem of each linear function; to be called on a copy of the estimator."""
        self.l1_ratio = combination.l1_ratio
        structures = self._structures(data.X, 1.0, data.per_row, data.targets)
        return [
            _fitting.problem_of(self, rows, y, of_column(data.per_row, y, k, self._outputs), structure, combination.l2)
            for k, (y, structure) in enumerate(zip(data.targets, structures, strict=True))
        ]

    def _strengths_tried(self, problems: list[Problem]) -> np.ndarray:
        """The alphas in decreasing order: as given, or a geometric grid that starts where everything is fused."""
        if not isinstance(self.alphas, Integral):
            return np.sort(as_strengths("alphas", self.alphas))[::-1]
        top = max(map(alpha_max, problems))
        return np.geomspace(top, top * self.eps, int(self.alphas))

    def _paths(
        self,
        problems: list[Problem],
        seed: int,
        alphas: np.ndarray,
        fold_of: tuple[WholePath, np.ndarray] | None = None,
    ) -> Iterator[list[_fitting.Fit]]:
        """The fits of all linear functions, alpha by alpha: to all rows, or to some of those of another path."""
        starts = [None if fold_of is None else fold_of[0].start(fold_of[1], k) for k in range(len(problems))]
        model = self
        if fold_of is not None:
            model = copy.copy(self)
            model.tol = scoring_tol(self.tol)
        paths = [
            _fitting.fit_path(model, problem, alphas, seed, exact=fold_of is None, more_rows=start)
            for problem, start in zip(problems, starts, strict=True)
        ]
        return (list(fits) for fits in zip(*paths, strict=True))

    # --- the choice --------------------------------------------------------------------------------------------------

    def _by_folds(self, data: Data, combinations: list[Combination], paths: list[WholePath], seed: int) -> Selected:
        labels = self._labels(data.targets)
        folds = folds_of(self, self.cv, labels, self._groups, self._whole_groups)
        if self.rule == "1se" and len(folds) < 2:
            raise ValueError('rule="1se" needs at least 2 folds to compute a standard error, cv gives 1')
        search, scorer = Search(combinations, self.alphas_, len(folds)), check_scoring(self, self.scoring)

        def scorer_of(fold: int) -> ScorePath:
            train, test = folds[fold]
            fitted_to, held_out = data.taken(train), data.taken(test)
            rows, y_test, weight = as_rows(fitted_to.X), self._labels(held_out.targets), held_out.per_row.weight
            keywords = {} if weight is None else {"sample_weight": weight}
            learner = self._worker()  # of all combinations, so that a graph is learnt once

            def score_path(combination: Combination, alphas: np.ndarray) -> Iterator[tuple[float, float]]:
                problems = learner._problems(fitted_to, rows, combination)
                model = copy.copy(learner)
                model.__dict__.pop("feature_names_in_", None)  # the graph may use names, held-out rows have none
                model._default_offset = held_out.per_row.offset  # a scorer calls predict with X alone
                model._held_out = held_out.X
                whole = paths[combinations.index(combination)]
                for fits in self._paths(problems, seed, alphas, (whole, train)):
                    model._set_coefficients([fit.coef for fit in fits], [fit.intercept for fit in fits])
                    yield float(scorer(model, held_out.X, y_test, **keywords)), _worst_gap(fits)

            return score_path

        search.run(scorer_of, self.n_jobs, self.verbose > 0)
        self.cv_results_ = search.results()
        several = self.l1_ratios is not None and np.size(self.l1_ratios) > 1
        shape = (-1, np.size(self.l2s) if self.l2s is not None else 1, *search.scores.shape[1:])
        self.cv_scores_ = search.scores.reshape(shape if several else shape[1:])
        return search.choose(self.rule, self.scoring)

    def _by_criterion(self, data: Data, combinations: list[Combination], paths: list[WholePath], seed: int) -> Selected:
        """The path of each combination on all rows, and the place of the least AIC or BIC, summed over functions."""
        found = [[self._judged(fits) for fits in path.fits] for path in paths]
        values = np.array([[np.sum(one[self.selection]) for one in of_path] for of_path in found])
        df = np.array([[np.max(one["df"]) for one in of_path] for of_path in found])
        reason = next((one["reason"] for of_path in found for one in of_path if one["reason"]), "")
        values = admitted(values, df, paths[0].fits[0][0].problem.n)
        chosen = selected(values, self.selection, reason)
        table, flat = parameters(combinations, self.alphas_), [one for of_path in found for one in of_path]
        for name in ("df", "aic", "bic"):
            table[name] = np.array([np.sum(one[name]) for one in flat])
        self.cv_results_ = table | {"mean_test_score": -values.ravel(), "rank_test_score": ranks(-values.ravel())}
        self._keep_df_path([one["df"] for one in found[chosen.combination]])
        return chosen

    def _judged(self, fits: list[_fitting.Fit]) -> dict[str, Any]:
        """Degrees of freedom, AIC and BIC of each linear function, NaN if there is none."""
        made = [_fitting.judgement(fit, self.fit_intercept).made() for fit in fits]
        names = ("df", "aic", "bic")
        values = {n: np.array([getattr(one, n) for one in made], dtype=float) for n in names}
        return values | {"reason": next((one.reason for one in made if one.reason), "")}

    def _set_path(self, path: list[list[_fitting.Fit]]) -> None:
        """The coefficients of the features, and the gaps, along the path."""
        coefs = []
        for fits in path:
            self._set_coefficients([fit.coef for fit in fits], [fit.intercept for fit in fits])
            coefs.append(np.atleast_2d(self.coef_))
        self.coef_path_ = np.array(coefs).transpose(1, 0, 2)
        self.dual_gap_path_ = by_function([[_gap(fit) for fit in fits] for fits in path])


def _gap(fit: _fitting.Fit) -> float:
    found = fit.result.certificate
    return np.inf if found is None else found.relative_gap


def _worst_gap(fits: list[_fitting.Fit]) -> float:
    return max(map(_gap, fits))
