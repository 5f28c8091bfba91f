"""The strength of the graph penalty, chosen by cross-validation along a warm-started path."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from .._solve import solve
from ..linalg.matrices import as_rows, plain, to_scipy
from ..linalg.products import transposed_product
from ..penalties import Zero
from ..problem import Problem
from ..solvers import ADMM
from ..sources import Source
from . import _fitting
from ._base import keep_parameters
from ._classifier import LinearClassifier
from ._regressor import LinearRegressor
from .graph_guided import GraphGuided

__all__ = ["GraphGuidedClassifierCV", "GraphGuidedRegressorCV", "alpha_max"]


def alpha_max(problem: Problem, edges: np.ndarray) -> float:
    """A strength at which the coefficients of each connected component of the graph are all equal.

    With one coefficient for each component the problem is small. Its slopes s leave ``r = X'(c s)/n + gamma w`` to be
    carried by the edges, ``A'theta = r``, and whatever theta does so, everything fuses for alpha >= max |theta|.
    """
    columns = problem.d
    graph = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(columns, columns))
    count, label = sp.csgraph.connected_components(graph, directed=False)
    member = sp.csr_array((np.ones(columns), (np.arange(columns), label)), shape=(columns, count))
    X = problem.rows.X
    fused = Problem(
        plain(X) @ member,
        problem.rows.y,
        loss=problem.loss,
        penalty=Zero(),
        A=np.zeros((0, count)),
        gamma=member.T @ problem.gamma,
        sample_weight=problem.rows.c,
    )
    result = solve(fused, ADMM(), tol=1e-6)
    pull = np.empty(columns)
    slopes, _ = result.run.dual_point()
    transposed_product(X, problem.rows.c * slopes / problem.n, pull)
    rest = pull + problem.gamma * (member @ result.w)
    theta = sp.linalg.lsqr(to_scipy(problem.A).T.tocsr(), rest, atol=1e-10, btol=1e-10)[0]
    return float(np.max(np.abs(theta), initial=np.finfo(float).tiny))


class _PathCV(GraphGuided):
    """Cross-validation over alpha and l2; the leaves are a classifier and a regressor."""

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
    def partial_fit(self, X: Any, y: Any) -> None:
        """Not here: a stream cannot be cut into folds."""

    def _fit(
        self, X: Any, targets: list[np.ndarray], sample_weight: np.ndarray | None, checkpoint: Any, resume: bool
    ) -> list[_fitting.Fit]:
        """Choose alpha and l2 on folds, then fit along the path on all rows and keep the chosen point."""
        if checkpoint is not None or resume:
            raise ValueError("a cross-validated search keeps no checkpoints: give one to the plain estimator's fit")
        if isinstance(X, Source):
            raise ValueError("cross-validation needs rows in memory: choose alpha on a sample of the source")
        total = float(len(targets[0]) if sample_weight is None else sample_weight.sum())
        l2s = np.array([1.0 / total]) if self.l2s is None else _strengths("l2s", self.l2s)
        structure = self._structure(X, 1.0, sample_weight)
        rows, seed = as_rows(X), self._seed()
        problems = [_fitting.problem_of(self, rows, y, sample_weight, structure, l2s.min()) for y in targets]
        self.alphas_ = self._alphas(problems)
        y = self._labels(targets)
        cv = self._few_folds(y) if self.cv is None else self.cv
        folds = list(check_cv(cv, y, classifier=is_classifier(self)).split(np.zeros(len(y)), y))
        if self.rule == "1se" and len(folds) < 2:
            raise ValueError('rule="1se" needs at least 2 folds for a standard error, cv gives 1')
        scores = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold_scores)(X, targets, sample_weight, l2, train, test, seed)
            for l2 in l2s
            for train, test in folds
        )
        self.cv_scores_ = np.array(scores).reshape(len(l2s), len(folds), len(self.alphas_)).transpose(0, 2, 1)
        self.l2_, self.alpha_, chosen = self._choose(l2s)
        paths = [self._path(problem_with(p, self.l2_, self.fit_intercept), self.alphas_, seed) for p in problems]
        self.coef_path_ = np.array([[fit.coef for fit in path] for path in paths])
        fits = [path[chosen] for path in paths]
        _fitting.warn_unless_converged(fits, self.tol)
        self._set_fitted(fits)
        return fits

    def _few_folds(self, y: np.ndarray) -> int:
        """5 folds; fewer where a class, or the data, is too small for them."""
        smallest = np.unique(y, return_counts=True)[1].min() if is_classifier(self) else len(y) // 2
        return int(max(2, min(5, smallest)))

    def _alphas(self, problems: list[Problem]) -> np.ndarray:
        """The strengths, falling: those given, or a geometric grid from the one at which everything fuses."""
        if not isinstance(self.alphas, Integral):
            return np.sort(_strengths("alphas", self.alphas))[::-1]
        top = max(alpha_max(problem, self.graph_) for problem in problems)
        return np.geomspace(top, top * self.eps, int(self.alphas))

    def _path(self, problem: Problem, alphas: np.ndarray, seed: int) -> list[_fitting.Fit]:
        """The fit at each strength, each started from the one before."""
        fits: list[_fitting.Fit] = []
        for alpha in alphas:
            penalty = problem.penalty._replace(nu=float(alpha))
            start = fits[-1].result if fits else None
            fits.append(_fitting.fit_one(self, problem.with_penalty(penalty), seed, start))
        return fits

    def _fold_scores(
        self, X: Any, targets: list[np.ndarray], sample_weight: Any, l2: float, train: Any, test: Any, seed: int
    ) -> list[float]:
        """The score on the rows left out, for each strength."""
        weight = None if sample_weight is None else sample_weight[train]
        fold = clone(self)
        known = ("classes_", "n_features_in_", "feature_names_in_")
        fold.__dict__.update({k: v for k, v in self.__dict__.items() if k in known})
        structure = fold._structure(X[train], 1.0, weight)
        fold.__dict__.pop("feature_names_in_", None)  # the graph may speak of names, the rows to predict have none
        rows = as_rows(X[train])
        paths = [
            self._path(_fitting.problem_of(self, rows, y[train], weight, structure, l2), self.alphas_, seed)
            for y in targets
        ]
        y_test = self._labels([y[test] for y in targets])
        scorer = check_scoring(self, self.scoring)
        keywords = {} if sample_weight is None else {"sample_weight": sample_weight[test]}
        scores = []
        for fits in zip(*paths, strict=True):
            fold._set_coefficients([fit.coef for fit in fits], [fit.intercept for fit in fits])
            scores.append(float(scorer(fold, X[test], y_test, **keywords)))
        return scores

    def _choose(self, l2s: np.ndarray) -> tuple[float, float, int]:
        """The best mean score; by the one-standard-error rule the strongest penalty that is not clearly worse."""
        mean = self.cv_scores_.mean(axis=2)
        if np.isnan(mean).all():
            raise ValueError(f"scoring={self.scoring!r} gives nan in a fold for each strength: nothing to choose by")
        mean = np.where(np.isnan(mean), -np.inf, mean)
        row, column = (int(i) for i in np.unravel_index(np.argmax(mean), mean.shape))
        if self.rule == "1se":
            error = self.cv_scores_[row, column].std(ddof=1) / np.sqrt(self.cv_scores_.shape[2])
            column = int(np.flatnonzero(mean[row] >= mean[row, column] - error)[0])
        return float(l2s[row]), float(self.alphas_[column]), column


def _strengths(name: str, given: Any) -> np.ndarray:
    strengths = np.asarray(given, dtype=float).reshape(-1)
    if not strengths.size or not ((strengths >= 0.0) & (strengths < np.inf)).all():
        raise ValueError(f"{name} must hold at least one number, all >= 0 and finite, got {given!r}")
    return strengths


def problem_with(problem: Problem, l2: float, intercept: bool) -> Problem:
    """The same problem with another ridge."""
    gamma = np.full(problem.d, l2)
    if intercept:
        gamma[-1] = 0.0
    return problem.with_gamma(gamma)


def _constraints(kind: Any) -> dict:
    """The parameters of the plain estimator without its two strengths, and those of the search."""
    plain_ones = {k: v for k, v in kind._parameter_constraints.items() if k not in ("alpha", "l2")}
    return {**plain_ones, **_PathCV._parameter_constraints}


class GraphGuidedClassifierCV(_PathCV, LinearClassifier):
    """`GraphGuidedClassifier` with its strengths chosen by cross-validation along a path.

    Parameters
    ----------
    graph : as for `GraphGuidedClassifier`
        A learnt graph is learnt anew on each fold.
    alphas : int or array
        How many strengths, from the one at which everything fuses down to ``eps`` times it; or the strengths.
    eps : float
    l2s : array, optional
        Ridges to try; by default only 1/n.
    cv : int, splitter or iterable, optional
        Folds; by default 5, or fewer where a class has fewer members.
    rule : {"best", "1se"}
        The best mean score, or the strongest penalty within one standard error of it.
    scoring : str or callable, optional
        Accuracy by default.
    n_jobs : int, optional
        Folds fitted at the same time.
    loss, solver, eta, beta, a, max_iter, tol, batch_size, average, shuffle, fit_intercept, class_weight, \
warm_start, random_state, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    alpha_, l2_ : float
        The strengths chosen.
    alphas_ : ndarray
        The strengths tried, falling.
    cv_scores_ : ndarray of shape (l2s, alphas, folds)
    coef_path_ : ndarray of shape (1 or classes, alphas, d)
        The coefficients on all rows along the path, at the ridge chosen.
    coef_, intercept_, classes_, graph_, clusters_, n_iter_, dual_gap_, status_, trace_
        As for `GraphGuidedClassifier`.
    """

    _parameter_constraints: ClassVar[dict] = _constraints(LinearClassifier)

    def __init__(
        self,
        graph: Any = "glasso",
        *,
        alphas: Any = 20,
        eps: float = 1e-3,
        l2s: Any = None,
        cv: Any = None,
        rule: str = "best",
        scoring: Any = None,
        loss: Any = "hinge",
        solver: Any = "auto",
        eta: Any = "auto",
        beta: Any = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-3,
        batch_size: Any = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())


class GraphGuidedRegressorCV(_PathCV, LinearRegressor):
    """`GraphGuidedRegressor` with its strengths chosen by cross-validation along a path.

    Parameters
    ----------
    graph, alphas, eps, l2s, cv, rule, scoring, loss, solver, eta, beta, a, max_iter, tol, batch_size, average, \
shuffle, fit_intercept, warm_start, random_state, n_jobs, verbose
        As for `GraphGuidedClassifierCV` and `GraphGuidedRegressor`; ``scoring`` is R^2 by default.

    Attributes
    ----------
    alpha_, l2_, alphas_, cv_scores_, coef_path_
        As for `GraphGuidedClassifierCV`.
    coef_, intercept_, graph_, clusters_, n_iter_, dual_gap_, status_, trace_
        As for `GraphGuidedRegressor`.
    """

    _parameter_constraints: ClassVar[dict] = _constraints(LinearRegressor)

    def __init__(
        self,
        graph: Any = "glasso",
        *,
        alphas: Any = 20,
        eps: float = 1e-3,
        l2s: Any = None,
        cv: Any = None,
        rule: str = "best",
        scoring: Any = None,
        loss: Any = "squared",
        solver: Any = "auto",
        eta: Any = "auto",
        beta: Any = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-3,
        batch_size: Any = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
