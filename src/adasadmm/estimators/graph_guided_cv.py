"""Graph-guided models whose strengths are chosen by cross-validation along a warm-started path."""

from __future__ import annotations

from typing import ClassVar

import numpy.typing as npt

from ._base import keep_parameters
from ._classifier import LinearClassifier
from ._path_cv import PathCV, search_constraints
from ._regressor import OF_RESPONSES, LinearRegressor
from ._types import (
    BoundsLike,
    Eta,
    Folds,
    GraphLike,
    LossLike,
    RandomState,
    ScoringLike,
    SolverLike,
    WeightsLike,
)
from .graph_guided import GraphGuided

__all__ = ["GraphGuidedClassifierCV", "GraphGuidedRegressorCV"]


class GraphGuidedClassifierCV(PathCV, GraphGuided, LinearClassifier):
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
    l1_ratios : array-like, default=None
        The values of ``l1_ratio`` to try. None means the parameter ``l1_ratio`` only. All of them have the same grid of
        alphas, which starts at the largest ``alpha_max``.
    l2s : array-like, default=None
        The values of ``l2`` to try. None means 1 divided by the sum of the weights only.
    cv : int, splitter or iterable, default=None
        Number of folds, cross-validation splitter, or iterable of (train, test) indices, as in scikit-learn. None means
        5 folds, or fewer if a class has fewer than 5 rows.
    rule : {"best", "1se"}, default="best"
        ``"best"`` takes the best mean score. ``"1se"`` takes the largest alpha, at the same ``l1_ratio`` and ``l2``,
        whose mean score is within one standard error of the best.
    selection : {"cv", "aic", "bic"}, default="cv"
        ``"aic"`` and ``"bic"`` fit all rows only, without folds, and take the least information criterion (`aic_`,
        `bic_`), summed over the classes if there are several. They need the loss of a likelihood. Fits with more
        degrees of freedom than half of the rows are left out.
    scoring : str or callable, default=None
        Score to maximise, as in scikit-learn. None means the accuracy.
    n_jobs : int, default=None
        Number of folds fitted in parallel threads, as in scikit-learn: None means 1, -1 all cores.
    l1_ratio, positive, bounds, weights, weights_power, refit, loss, solver, eta, beta, a, max_iter, tol, batch_size, \
average, shuffle, fit_intercept, class_weight, joint, warm_start, random_state, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha.
    l1_ratio_ : float
        The chosen l1_ratio.
    l2_ : float
        The chosen l2.
    alphas_ : ndarray of shape (n_alphas,)
        The alphas tried, in decreasing order.
    cv_results_ : dict of str to array
        All results in the form of `sklearn.model_selection.GridSearchCV`, for ``pandas.DataFrame(cv_results_)``:
        ``params``, ``param_alpha``, ``param_l1_ratio``, ``param_l2``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score`` and ``rank_test_score``. With an information criterion, ``df``, ``aic`` and ``bic`` in place
        of the splits, and the negative criterion as score.
    cv_scores_ : ndarray of shape (n_l2s, n_alphas, n_folds)
        Score on the held-out rows of each fold; of shape (n_l1_ratios, n_l2s, n_alphas, n_folds) if several l1_ratios
        are tried. Only with ``selection="cv"``.
    coef_path_ : ndarray of shape (1 or n_classes, n_alphas, d)
        Coefficients along the path on all rows, at the chosen ``l1_ratio`` and ``l2``.
    df_path_, dual_gap_path_ : ndarray of shape (n_alphas,) or (n_classes, n_alphas)
        Degrees of freedom (NaN where `df_` is None) and relative duality gap along this path.
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

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(LinearClassifier._parameter_constraints),
        "graph": "no_validation",
    }

    def __init__(
        self,
        graph: GraphLike = "glasso",
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l1_ratios: npt.ArrayLike | None = None,
        l2s: npt.ArrayLike | None = None,
        cv: Folds = None,
        rule: str = "best",
        selection: str = "cv",
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
        tol: float = 1e-6,
        batch_size: str | int = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        joint: bool = False,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())


class GraphGuidedRegressorCV(PathCV, GraphGuided, LinearRegressor):
    """`GraphGuidedRegressor` with ``alpha`` and ``l2`` chosen by cross-validation.

    Parameters
    ----------
    graph, alphas, eps, l1_ratios, l2s, cv, rule, selection, n_jobs
        As for `GraphGuidedClassifierCV`.
    scoring : str or callable, default=None
        Score to maximise, as in scikit-learn. None means R^2.
    l1_ratio, positive, bounds, weights, weights_power, refit, loss, solver, eta, beta, a, max_iter, tol, batch_size, \
average, shuffle, fit_intercept, joint, missing, warm_start, random_state, verbose
        As for `GraphGuidedRegressor`.

    Attributes
    ----------
    alpha_, l2_, l1_ratio_, alphas_, cv_results_, cv_scores_, coef_path_, df_path_, dual_gap_path_
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

    _takes_responses: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(LinearRegressor._parameter_constraints),
        **OF_RESPONSES,
        "graph": "no_validation",
    }

    def __init__(
        self,
        graph: GraphLike = "glasso",
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l1_ratios: npt.ArrayLike | None = None,
        l2s: npt.ArrayLike | None = None,
        cv: Folds = None,
        rule: str = "best",
        selection: str = "cv",
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
        tol: float = 1e-6,
        batch_size: str | int = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        joint: bool = False,
        missing: str = "error",
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
