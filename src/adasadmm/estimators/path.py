"""Cross-validation of the graph penalty along a warm-started path."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from ..checkpoints import Checkpoint
from ..linalg.matrices import as_rows
from ..problem import Problem
from ..sources import Source
from . import _fitting
from ._alpha_max import alpha_max
from ._base import keep_parameters
from ._classifier import LinearClassifier
from ._regressor import LinearRegressor
from ._structure import with_strength
from ._types import (
    BoundsLike,
    Eta,
    Folds,
    GraphLike,
    LossLike,
    MatrixLike,
    PerRow,
    RandomState,
    ScoringLike,
    SolverLike,
    ValidRows,
    WeightsLike,
)
from .graph_guided import GraphGuided

__all__ = ["GraphGuidedClassifierCV", "GraphGuidedRegressorCV"]


class _PathCV(GraphGuided):
    """Cross-validation over alpha and l2, for the classifier and the regressor."""

    alphas: int | npt.ArrayLike
    eps: float
    l2s: npt.ArrayLike | None
    cv: Folds
    rule: str
    scoring: ScoringLike

    _parameter_constraints: ClassVar[dict] = {
        "graph": "no_validation",
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "l2s": ["array-like", None],
        "cv": ["cv_object"],
        "rule": [StrOptions({"best", "1se"})],
        "scoring": "no_validation",
    }

    @available_if(lambda self: False)
    def partial_fit(self, X: MatrixLike, y: npt.ArrayLike) -> None:
        """Not available: a stream cannot be split into folds."""

    def _fit(
        self,
        X: ValidRows | Source,
        targets: list[np.ndarray],
        per_row: PerRow,
        checkpoint: Checkpoint | None,
        resume: bool,
    ) -> list[_fitting.Fit]:
        """Choose alpha and l2 on folds, then fit along the path on all rows and keep the chosen point."""
        sample_weight = per_row.weight
        self._has_offset = per_row.offset is not None
        if checkpoint is not None or resume:
            raise ValueError("a cross-validated search keeps no checkpoints: use one in the fit of the plain estimator")
        if isinstance(X, Source):
            raise ValueError("cross-validation needs rows in memory: choose alpha on a sample of the source")
        total = float(len(targets[0]) if sample_weight is None else sample_weight.sum())
        l2s = np.array([1.0 / total]) if self.l2s is None else _strengths("l2s", self.l2s)
        structures = self._structures(X, 1.0, per_row, targets)
        rows, seed = as_rows(X), self._seed()
        problems = [
            _fitting.problem_of(self, rows, y, per_row, structure, l2s.min())
            for y, structure in zip(targets, structures, strict=True)
        ]
        self.alphas_ = self._alphas(problems)
        y = self._labels(targets)
        cv = self._few_folds(y) if self.cv is None else self.cv
        folds = list(check_cv(cv, y, classifier=is_classifier(self)).split(np.zeros(len(y)), y))
        if self.rule == "1se" and len(folds) < 2:
            raise ValueError('rule="1se" needs at least 2 folds to compute a standard error, cv gives 1')
        scores = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold_scores)(X, targets, per_row, l2, fold, seed) for l2 in l2s for fold in folds
        )
        self.cv_scores_ = np.array(scores).reshape(len(l2s), len(folds), len(self.alphas_)).transpose(0, 2, 1)
        self.l2_, self.alpha_, chosen = self._choose(l2s)
        paths = [self._path(problem_with(p, self.l2_, self.fit_intercept), self.alphas_, seed) for p in problems]
        self.coef_path_ = np.array([[fit.coef for fit in path] for path in paths])
        fits = [path[chosen] for path in paths]
        _fitting.warn_unless_converged(fits, self)
        self._set_fitted(fits)
        return fits

    def _few_folds(self, y: np.ndarray) -> int:
        """The number of folds: 5, or fewer if a class or the data set is too small."""
        smallest = np.unique(y, return_counts=True)[1].min() if is_classifier(self) else len(y) // 2
        return int(max(2, min(5, smallest)))

    def _alphas(self, problems: list[Problem]) -> np.ndarray:
        """The alphas in decreasing order: as given, or a geometric grid that starts where everything is fused."""
        if not isinstance(self.alphas, Integral):
            return np.sort(_strengths("alphas", self.alphas))[::-1]
        top = max(map(alpha_max, problems))
        return np.geomspace(top, top * self.eps, int(self.alphas))

    def _path(self, problem: Problem, alphas: np.ndarray, seed: int) -> list[_fitting.Fit]:
        """The fit at each alpha, warm-started from the previous one."""
        fits: list[_fitting.Fit] = []
        for alpha in alphas:
            penalty = with_strength(problem.penalty, alpha)
            start = fits[-1].result if fits else None
            fits.append(_fitting.fit_one(self, problem.with_penalty(penalty), seed, start))
        return fits

    def _fold_scores(
        self,
        X: ValidRows,
        targets: list[np.ndarray],
        per_row: PerRow,
        l2: float,
        fold: tuple[np.ndarray, np.ndarray],
        seed: int,
    ) -> list[float]:
        """The score on the held-out rows, for each alpha."""
        train, test = fold
        fitted_to, held_out = per_row.taken(train), per_row.taken(test)
        model = clone(self)
        known = ("classes_", "n_features_in_", "feature_names_in_")
        model.__dict__.update({k: v for k, v in self.__dict__.items() if k in known})
        structures = model._structures(X[train], 1.0, fitted_to, [y[train] for y in targets])
        model.__dict__.pop("feature_names_in_", None)  # the graph may use names, but the held-out rows have none
        rows = as_rows(X[train])
        paths = [
            self._path(_fitting.problem_of(self, rows, y[train], fitted_to, structure, l2), self.alphas_, seed)
            for y, structure in zip(targets, structures, strict=True)
        ]
        y_test = self._labels([y[test] for y in targets])
        scorer = check_scoring(self, self.scoring)
        keywords = {} if held_out.weight is None else {"sample_weight": held_out.weight}
        model._default_offset = held_out.offset  # a scorer calls predict with X alone
        scores = []
        for fits in zip(*paths, strict=True):
            model._set_coefficients([fit.coef for fit in fits], [fit.intercept for fit in fits])
            scores.append(float(scorer(model, X[test], y_test, **keywords)))
        return scores

    def _choose(self, l2s: np.ndarray) -> tuple[float, float, int]:
        """l2, alpha and its position: the best mean score, or the largest alpha within one standard error of it."""
        mean = self.cv_scores_.mean(axis=2)
        if np.isnan(mean).all():
            raise ValueError(f"scoring={self.scoring!r} gives nan in at least one fold for every alpha and l2")
        mean = np.where(np.isnan(mean), -np.inf, mean)
        row, column = (int(i) for i in np.unravel_index(np.argmax(mean), mean.shape))
        if self.rule == "1se":
            error = self.cv_scores_[row, column].std(ddof=1) / np.sqrt(self.cv_scores_.shape[2])
            column = int(np.flatnonzero(mean[row] >= mean[row, column] - error)[0])
        return float(l2s[row]), float(self.alphas_[column]), column


def _strengths(name: str, given: npt.ArrayLike) -> np.ndarray:
    strengths = np.asarray(given, dtype=float).reshape(-1)
    if not strengths.size or not ((strengths >= 0.0) & (strengths < np.inf)).all():
        raise ValueError(f"{name} must contain at least one number, all finite and >= 0, got {given!r}")
    return strengths


def problem_with(problem: Problem, l2: float, intercept: bool) -> Problem:
    """The same problem with another strength of the ridge penalty."""
    gamma = np.full(problem.d, l2)
    if intercept:
        gamma[-1] = 0.0
    return problem.with_gamma(gamma)


def _constraints(plain: dict) -> dict:
    """The parameters of the plain estimator without alpha and l2, and those of the search."""
    plain_ones = {k: v for k, v in plain.items() if k not in ("alpha", "l2")}
    return {**plain_ones, **_PathCV._parameter_constraints}


class GraphGuidedClassifierCV(_PathCV, LinearClassifier):
    """`GraphGuidedClassifier` with ``alpha`` and ``l2`` chosen by cross-validation.

    On each fold the model is fitted along a decreasing sequence of alphas, each fit warm-started from the previous one.
    The chosen model is then fitted to all rows along the same path.

    Parameters
    ----------
    graph : str, tuple, array-like, sparse matrix, Graph, networkx graph, callable or path, default="glasso"
        The graph over the features, as for `GraphGuidedClassifier`. A learnt graph is learnt on the training rows of
        each fold.
    alphas : int or array-like, default=20
        The values of ``alpha`` to try. An integer is the length of a geometric grid from ``alpha_max``, at which all
        connected coefficients are equal, down to ``eps * alpha_max``.
    eps : float, default=1e-3
        Ratio of the smallest to the largest alpha of the grid.
    l2s : array-like, default=None
        The values of ``l2`` to try. None means 1 divided by the sum of the weights only.
    cv : int, splitter or iterable, default=None
        Number of folds, cross-validation splitter, or iterable of (train, test) indices, as in scikit-learn. None means
        5 folds, or fewer if a class has fewer than 5 rows.
    rule : {"best", "1se"}, default="best"
        ``"best"`` takes the pair with the best mean score. ``"1se"`` takes the largest alpha, at the same ``l2``, whose
        mean score is within one standard error of the best.
    scoring : str or callable, default=None
        Score to maximise, as in scikit-learn. None means the accuracy.
    n_jobs : int, default=None
        Number of folds fitted in parallel threads, as in scikit-learn: None means 1, -1 all cores.
    l1_ratio, positive, bounds, weights, weights_power, refit, loss, solver, eta, beta, a, max_iter, tol, batch_size, \
average, shuffle, fit_intercept, class_weight, warm_start, random_state, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha.
    l2_ : float
        The chosen l2.
    alphas_ : ndarray of shape (n_alphas,)
        The alphas tried, in decreasing order.
    cv_scores_ : ndarray of shape (n_l2s, n_alphas, n_folds)
        Score on the held-out rows of each fold.
    coef_path_ : ndarray of shape (1 or n_classes, n_alphas, d)
        Coefficients along the path on all rows, at the chosen ``l2``.
    coef_, intercept_, classes_, graph_, graph_weights_, graph_notes_, clusters_, n_iter_, dual_gap_, status_, \
solver_, solver_reason_, trace_, n_features_in_, feature_names_in_
        As for `GraphGuidedClassifier`.

    See Also
    --------
    PathDisplay : Plot coefficients and scores along the path.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from adasadmm import GraphGuidedClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GraphGuidedClassifierCV("chain", loss="logistic", alphas=5, cv=3).fit(scale(X), y)
    >>> model.alpha_ in model.alphas_, model.cv_scores_.shape
    (True, (1, 5, 3))
    """

    _parameter_constraints: ClassVar[dict] = _constraints(LinearClassifier._parameter_constraints)

    def __init__(
        self,
        graph: GraphLike = "glasso",
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l2s: npt.ArrayLike | None = None,
        cv: Folds = None,
        rule: str = "best",
        scoring: ScoringLike = None,
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        weights: WeightsLike = None,
        weights_power: float = 1.0,
        refit: str = "none",
        loss: LossLike = "hinge",
        solver: SolverLike = "auto",
        eta: Eta = "auto",
        beta: Eta = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-3,
        batch_size: str | int = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())


class GraphGuidedRegressorCV(_PathCV, LinearRegressor):
    """`GraphGuidedRegressor` with ``alpha`` and ``l2`` chosen by cross-validation.

    Parameters
    ----------
    graph, alphas, eps, l2s, cv, rule, n_jobs
        As for `GraphGuidedClassifierCV`.
    scoring : str or callable, default=None
        Score to maximise, as in scikit-learn. None means R^2.
    l1_ratio, positive, bounds, weights, weights_power, refit, loss, solver, eta, beta, a, max_iter, tol, batch_size, \
average, shuffle, fit_intercept, warm_start, random_state, verbose
        As for `GraphGuidedRegressor`.

    Attributes
    ----------
    alpha_, l2_, alphas_, cv_scores_, coef_path_
        As for `GraphGuidedClassifierCV`.
    coef_, intercept_, graph_, graph_weights_, graph_notes_, clusters_, n_iter_, dual_gap_, status_, solver_, \
solver_reason_, trace_, n_features_in_, feature_names_in_
        As for `GraphGuidedRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import GraphGuidedRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> y = X @ [1, 1, 1, -2, -2, -2] + rng.normal(size=100)
    >>> model = GraphGuidedRegressorCV("chain", alphas=8, rule="1se", tol=1e-6).fit(X, y)
    >>> model.clusters_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    _parameter_constraints: ClassVar[dict] = _constraints(LinearRegressor._parameter_constraints)

    def __init__(
        self,
        graph: GraphLike = "glasso",
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l2s: npt.ArrayLike | None = None,
        cv: Folds = None,
        rule: str = "best",
        scoring: ScoringLike = None,
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        weights: WeightsLike = None,
        weights_power: float = 1.0,
        refit: str = "none",
        loss: LossLike = "squared",
        solver: SolverLike = "auto",
        eta: Eta = "auto",
        beta: Eta = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-3,
        batch_size: str | int = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
