"""Models of terms whose strengths are chosen by cross-validation along a warm-started path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy.typing as npt

from ..sources import Source
from ._base import keep_parameters
from ._classifier import LinearClassifier
from ._path_cv import PathCV, search_constraints
from ._regressor import LinearRegressor
from ._rows import load_for_search
from ._terms import TermsModel
from ._types import Folds, LossLike, RandomState, ScoringLike, SolverLike

__all__ = ["TermsClassifierCV", "TermsRegressorCV"]


class TermsCV(PathCV, TermsModel):
    """The search over strengths, for tables. The table is encoded once; folds are rows of the encoded matrix."""

    l1_ratios = None  # the penalties of terms have no further L1 norm

    def _rows_of(self, source: Source) -> tuple[Any, ...]:
        loaded = load_for_search(source)
        return loaded.X, loaded.y, loaded.weight, loaded.offset

    def _worker(self) -> Self:
        model = super()._worker()
        model._design, model._encoded = self._design, True
        return model


class TermsRegressorCV(TermsCV, LinearRegressor):
    """`TermsRegressor` with ``alpha`` and ``l2`` chosen by cross-validation or by an information criterion.

    Levels, bands, graphs and scales are those of all rows, which do not depend on the targets; weights that do are
    computed on the training rows of each fold.

    Parameters
    ----------
    terms, loss, weights, weights_power, refit
        As for `TermsRegressor`.
    alphas, eps, cv, rule, selection, scoring, n_jobs
        As for `GraphGuidedRegressorCV`. ``alpha_max`` is a strength at which all penalised terms have no effect.
    l2s : array-like, default=(0.0,)
        The values of ``l2`` to try. None means 1 divided by the sum of the weights only.
    solver, max_iter, tol, fit_intercept, warm_start, random_state, verbose
        As for `TermsRegressor`.

    Attributes
    ----------
    alpha_, l2_, alphas_, cv_results_, cv_scores_, coef_path_, df_path_, dual_gap_path_
        As for `GraphGuidedClassifierCV`.
    coef_, intercept_, levels_, groups_, n_iter_, dual_gap_, status_, solver_, solver_reason_, trace_, \
n_features_in_, feature_names_in_
        As for `TermsRegressor`.

    See Also
    --------
    PathDisplay : Plot coefficients and scores along the path.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from adasadmm import TermsRegressorCV, terms
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"month": rng.integers(1, 13, 600), "shop": rng.choice(list("abcd"), 600)})
    >>> sales = np.where(table["month"] > 9, 2.0, 1.0) + rng.normal(size=600)
    >>> model = TermsRegressorCV([terms.ordered("month"), terms.nominal("shop")], alphas=10, rule="1se")
    >>> model.fit(table, sales).groups_["shop"]
    array([0, 0, 0, 0], dtype=int32)
    """

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(LinearRegressor._parameter_constraints),
        **TermsModel._parameter_constraints,
    }

    def __init__(
        self,
        terms: Sequence[Any],
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l2s: npt.ArrayLike | None = (0.0,),
        cv: Folds = None,
        rule: str = "best",
        selection: str = "cv",
        scoring: ScoringLike = None,
        loss: LossLike = "squared",
        weights: str | None = "standard",
        weights_power: float = 1.0,
        refit: str = "none",
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())


class TermsClassifierCV(TermsCV, LinearClassifier):
    """`TermsClassifier` with ``alpha`` and ``l2`` chosen by cross-validation or by an information criterion.

    Levels, bands, graphs and scales are those of all rows, which do not depend on the targets; weights that do are
    computed on the training rows of each fold.

    Parameters
    ----------
    terms, loss, weights, weights_power, refit
        As for `TermsClassifier`.
    alphas, eps, cv, rule, selection, scoring, n_jobs
        As for `GraphGuidedClassifierCV`. ``alpha_max`` is a strength at which all penalised terms have no effect.
    l2s : array-like, default=(0.0,)
        The values of ``l2`` to try. None means 1 divided by the sum of the weights only.
    solver, max_iter, tol, fit_intercept, class_weight, warm_start, random_state, verbose
        As for `TermsClassifier`.

    Attributes
    ----------
    alpha_, l2_, alphas_, cv_results_, cv_scores_, coef_path_, df_path_, dual_gap_path_
        As for `GraphGuidedClassifierCV`.
    coef_, intercept_, classes_, levels_, groups_, n_iter_, dual_gap_, status_, solver_, solver_reason_, trace_, \
n_features_in_, feature_names_in_
        As for `TermsClassifier`.

    See Also
    --------
    PathDisplay : Plot coefficients and scores along the path.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from adasadmm import TermsClassifierCV, terms
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"hour": rng.integers(0, 24, 1000)})
    >>> late = (table["hour"] >= 16) & (rng.random(1000) < 0.7)
    >>> hour = terms.ordered("hour", cyclic=True)
    >>> model = TermsClassifierCV([hour], alphas=8, selection="bic", weights="adaptive").fit(table, late)
    >>> len(set(model.groups_["hour"]))
    2
    """

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(LinearClassifier._parameter_constraints),
        **TermsModel._parameter_constraints,
    }

    def __init__(
        self,
        terms: Sequence[Any],
        *,
        alphas: int | npt.ArrayLike = 20,
        eps: float = 1e-3,
        l2s: npt.ArrayLike | None = (0.0,),
        cv: Folds = None,
        rule: str = "best",
        selection: str = "cv",
        scoring: ScoringLike = None,
        loss: LossLike = "logistic",
        weights: str | None = "standard",
        weights_power: float = 1.0,
        refit: str = "none",
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
