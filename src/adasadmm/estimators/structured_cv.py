"""Models with a penalty of ``A w`` whose strengths are chosen by cross-validation along a warm-started path."""

from __future__ import annotations

from typing import ClassVar

import numpy.typing as npt

from ._base import keep_parameters
from ._classifier import LinearClassifier
from ._path_cv import PathCV, search_constraints
from ._regressor import OF_RESPONSES, LinearRegressor
from ._types import (
    BoundsLike,
    ConstraintsLike,
    Eta,
    Folds,
    LossLike,
    PenaltyLike,
    RandomState,
    ScoringLike,
    SolverLike,
    StructureMatrix,
    WeightsLike,
)
from .structured import Structured

__all__ = ["StructuredClassifierCV", "StructuredRegressorCV"]

OWN: dict = {"A": "no_validation", "penalty": "no_validation", "constraints": "no_validation"}


class StructuredClassifierCV(PathCV, Structured, LinearClassifier):
    """`StructuredClassifier` with ``alpha``, ``l1_ratio`` and ``l2`` chosen by cross-validation.

    Parameters
    ----------
    A, constraints
        As for `StructuredClassifier`.
    penalty : {"l1", "group"}, default="l1"
        As for `StructuredClassifier`, by name: a penalty object has a strength of its own.
    alphas, eps, l1_ratios, l2s, cv, rule, selection, scoring, n_jobs
        As for `GraphGuidedClassifierCV`. ``alpha_max`` is a strength at which ``A w = 0``.
    l1_ratio, positive, bounds, weights, weights_power, refit, loss, solver, eta, beta, a, max_iter, tol, batch_size, \
average, shuffle, fit_intercept, class_weight, joint, warm_start, random_state, verbose
        As for `StructuredClassifier`.

    Attributes
    ----------
    alpha_, l1_ratio_, l2_, alphas_, cv_results_, cv_scores_, coef_path_, df_path_, dual_gap_path_
        As for `GraphGuidedClassifierCV`.
    coef_, intercept_, classes_, graph_, clusters_, latent_coef_, n_iter_, dual_gap_, status_, solver_, \
solver_reason_, trace_, n_features_in_, feature_names_in_
        As for `StructuredClassifier`.

    Examples
    --------
    Groups of features that are kept or dropped together:

    >>> import numpy as np
    >>> from adasadmm import StructuredClassifierCV, graphs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> y = X[:, :3].sum(axis=1) + rng.normal(size=200) > 0
    >>> A = graphs.overlapping_groups([[0, 1, 2], [3, 4, 5]], 6)
    >>> model = StructuredClassifierCV(A, penalty="group", loss="logistic", alphas=8, rule="1se").fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict] = {**search_constraints(LinearClassifier._parameter_constraints), **OWN}

    def __init__(
        self,
        A: StructureMatrix = "chain",
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l1_ratios: npt.ArrayLike | None = None,
        l2s: npt.ArrayLike | None = None,
        cv: Folds = None,
        rule: str = "best",
        selection: str = "cv",
        scoring: ScoringLike = None,
        penalty: PenaltyLike = "l1",
        loss: LossLike = "hinge",
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        constraints: ConstraintsLike = None,
        weights: WeightsLike = None,
        weights_power: float = 1.0,
        refit: str = "none",
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


class StructuredRegressorCV(PathCV, Structured, LinearRegressor):
    """`StructuredRegressor` with ``alpha``, ``l1_ratio`` and ``l2`` chosen by cross-validation.

    Parameters
    ----------
    A, penalty, constraints
        As for `StructuredClassifierCV`.
    alphas, eps, l1_ratios, l2s, cv, rule, selection, scoring, n_jobs
        As for `GraphGuidedRegressorCV`.
    l1_ratio, positive, bounds, weights, weights_power, refit, loss, solver, eta, beta, a, max_iter, tol, batch_size, \
average, shuffle, fit_intercept, joint, missing, warm_start, random_state, verbose
        As for `StructuredRegressor`.

    Attributes
    ----------
    alpha_, l1_ratio_, l2_, alphas_, cv_results_, cv_scores_, coef_path_, df_path_, dual_gap_path_
        As for `GraphGuidedClassifierCV`.
    coef_, intercept_, graph_, clusters_, latent_coef_, n_iter_, dual_gap_, status_, solver_, solver_reason_, \
trace_, n_features_in_, feature_names_in_
        As for `StructuredRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import StructuredRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 7))
    >>> y = X @ np.arange(7) + 0.1 * rng.normal(size=100)
    >>> model = StructuredRegressorCV("trend", alphas=10, l2s=[0.0], selection="bic", tol=1e-6).fit(X, y)
    >>> model.df_  # the intercept, and the two numbers of a line
    3.0
    """

    _takes_responses: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(LinearRegressor._parameter_constraints),
        **OF_RESPONSES,
        **OWN,
    }

    def __init__(
        self,
        A: StructureMatrix = "chain",
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l1_ratios: npt.ArrayLike | None = None,
        l2s: npt.ArrayLike | None = None,
        cv: Folds = None,
        rule: str = "best",
        selection: str = "cv",
        scoring: ScoringLike = None,
        penalty: PenaltyLike = "l1",
        loss: LossLike = "squared",
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        constraints: ConstraintsLike = None,
        weights: WeightsLike = None,
        weights_power: float = 1.0,
        refit: str = "none",
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
