"""Trend filtering whose strength is chosen by cross-validation or an information criterion."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import UNUSED

from .._core.threads import one_blas_thread
from ..problem import Problem
from ..regularization.along import as_strengths
from ..regularization.alpha_max import alpha_max
from ..regularization.criteria import Criteria
from ._base import keep_parameters
from ._curves import places
from ._fitted_state import from_scratch
from ._judged import JudgedPath
from ._path_cv import SEARCH_CONSTRAINTS
from ._search import FEW_FOLDS, Combination, ScorePath, Search, admitted, parameters, ranks, scoring_tol, selected
from ._series import Series, as_times, as_weights
from ._signals import at_level
from ._types import Folds, LossLike, ScoringLike, SolverLike
from .trend_filter import TrendFilter

__all__ = ["TrendFilterCV"]


class HeldOut(NamedTuple):
    """The observations of a fold with which the curves for all strengths are compared.

    ``given`` holds times, targets, weights and offsets as the scorer gets them, ``seen`` the same after all checks, and
    ``place`` the places of the times among those of the curves. All three are found once for a fold.
    """

    given: tuple[np.ndarray | None, ...]
    seen: Series
    place: np.ndarray


class TrendFilterCV(JudgedPath, TrendFilter):
    """`TrendFilter` with ``alpha`` chosen by cross-validation or an information criterion.

    On each fold the series without the held-out observations is fitted along a decreasing sequence of alphas, and the
    curve is compared with the held-out ones. The model is then fitted to all observations with the chosen alpha.

    Parameters
    ----------
    order : int, default=1
        The degree of the pieces, as for `TrendFilter`.
    alphas : int or array-like, default=20
        The values of ``alpha`` to try. An integer is the length of a geometric grid from ``alpha_max``, at which the
        fit is one polynomial, down to ``eps * alpha_max``.
    eps : float, default=1e-4
        Ratio of the smallest to the largest alpha of the grid.
    cv : int, splitter or iterable, default=None
        Number of folds, splitter, or iterable of (train, test) indices. A number k, and None for 5, holds out every
        k-th observation in time: a fold of consecutive ones would test extrapolation.
    rule : {"best", "1se"}, default="best"
        As for `GraphGuidedClassifierCV`.
    selection : {"cv", "aic", "bic"}, default="cv"
        ``"aic"`` and ``"bic"`` need no folds, but the loss of a likelihood, and distinct times.
    scoring : str or callable, default=None
        Score to maximise. None means `score`: R^2, D^2 or the accuracy.
    loss, l2, solver, max_iter, tol, verbose
        As for `TrendFilter`.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha.
    alphas_ : ndarray of shape (n_alphas,)
        The alphas tried, in decreasing order.
    cv_results_ : dict of str to array
        As for `GraphGuidedClassifierCV`, with ``param_alpha`` only.
    coef_path_ : ndarray of shape (1, n_alphas, n_times)
        The fitted values along the path on all observations: for each alpha what ``coef_`` would be, at ``times_``.
    df_path_, dual_gap_path_ : ndarray of shape (n_alphas,)
        Degrees of freedom and relative duality gap along this path.
    times_, coef_, change_points_, n_pieces_, objective_, dual_gap_, n_iter_, status_, solver_, solver_reason_, trace_
        As for `TrendFilter`.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import TrendFilterCV
    >>> t = np.arange(60.0)
    >>> y = np.where(t < 30, 0.0, 2.0) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> TrendFilterCV(order=0, rule="1se").fit(t, y).change_points_
    array([30.])
    """

    alphas: int | npt.ArrayLike
    eps: float
    cv: Folds
    rule: str
    selection: str
    scoring: ScoringLike
    _held_out: HeldOut | None = None

    __metadata_request__fit: ClassVar[dict] = {"t": UNUSED}

    _parameter_constraints: ClassVar[dict] = {
        **{name: value for name, value in TrendFilter._parameter_constraints.items() if name != "alpha"},
        **{name: value for name, value in SEARCH_CONSTRAINTS.items() if name not in ("l1_ratios", "l2s")},
    }

    def __init__(
        self,
        order: int = 1,
        alphas: int | npt.ArrayLike = 20,
        loss: LossLike = "squared",
        *,
        eps: float = 1e-4,
        cv: Folds = None,
        rule: str = "best",
        selection: str = "cv",
        scoring: ScoringLike = None,
        l2: float = 0.0,
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    @one_blas_thread()
    def fit(
        self,
        t: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Choose alpha, and fit the series with it.

        Parameters
        ----------
        t : array-like of shape (n,) or (n, 1)
            Times, as for `TrendFilter`.
        y : array-like of shape (n,)
            Targets. NaN is a missing one.
        sample_weight : array-like of shape (n,), default=None
            Weights of the targets, not negative.
        offset : array-like of shape (n,), default=None
            A known part of each prediction, as for `TrendFilter`; it needs ``scoring=None``.
        groups : array-like of shape (n,), default=None
            Group of each observation, for splitters such as `sklearn.model_selection.GroupKFold`.

        Returns
        -------
        self : TrendFilterCV
            The fitted estimator. If fitting fails, the estimator stays as it was before. After Ctrl-C the scores so far
            are in ``cv_results_``, with NaN for fits that were not done.
        """
        if self.selection != "cv" and self.rule != "best":
            raise ValueError(f'rule must be "best" with selection="{self.selection}", got {self.rule!r}')
        if offset is not None and self.scoring is not None:
            raise ValueError(
                f"scoring must be None with an offset, which other scores do not take, got {self.scoring!r}"
            )
        observed = self._observed(t, y, sample_weight, offset)
        series, power = observed.series, self._unit(observed.series) ** self.order
        problem = self._problem(series, 1.0, self._unit(series))
        self.alphas_ = self._strengths_tried(problem, power)
        chosen = self._by_folds(t, y, (sample_weight, offset), groups) if self.selection == "cv" else None
        judgements, gaps, coefs, outcomes, times = [], [], [], {}, observed.times
        for place, outcome in enumerate(self._solve_path(problem, self.alphas_ / power, series.constant)):
            judgements.append(outcome.judgement(observed.merged))
            gaps.append(outcome.gap)
            coefs.append(self._curve_of(series, outcome).on(times))
            if chosen in (None, place):  # the runs of other strengths need not stay in memory
                outcomes[place] = outcome
        if chosen is None:
            chosen = self._by_criterion([one.made() for one in judgements], problem.n)
        else:
            self._judge_path_later([[one] for one in judgements])
        self.coef_path_, self.dual_gap_path_ = np.array([coefs]), np.array(gaps)
        self.alpha_ = float(self.alphas_[chosen])
        outcome = at_level(outcomes[chosen], series.level, series.constant)
        self._set_curve(observed, outcome)
        self._set_outcomes([outcome], series.constant, observed.merged)
        return self

    def _strengths_tried(self, problem: Problem, power: float) -> np.ndarray:
        """The alphas in decreasing order; ``power`` times the strength of the problem."""
        if not isinstance(self.alphas, Integral):
            return np.sort(as_strengths("alphas", self.alphas))[::-1]
        top = power * alpha_max(problem)
        return np.geomspace(top, top * self.eps, int(self.alphas))

    def _by_folds(
        self,
        t: npt.ArrayLike,
        y: npt.ArrayLike,
        per_target: tuple[npt.ArrayLike | None, npt.ArrayLike | None],
        groups: npt.ArrayLike | None,
    ) -> int:
        """The place of the alpha with the best score on folds of the observations that are there."""
        times, target = as_times(t), np.asarray(y).reshape(-1)
        there = np.flatnonzero(~np.isnan(target.astype(float)))
        weight = as_weights(per_target[0], target.shape)
        shift = None if per_target[1] is None else np.asarray(per_target[1], dtype=float)
        folds = self._folds(times[there], target[there], None if groups is None else np.asarray(groups)[there])
        if self.rule == "1se" and len(folds) < 2:
            raise ValueError('rule="1se" needs at least 2 folds to compute a standard error, cv gives 1')
        scorer = check_scoring(self, self.scoring)

        def scorer_of(fold: int) -> ScorePath:
            model = clone(self)  # each fold may run in a thread of its own
            model.tol = scoring_tol(self.tol)
            train, test = (there[rows] for rows in folds[fold])
            fitted, held_out = (
                [None if one is None else one[rows] for one in (weight, shift)] for rows in (train, test)
            )
            named = zip(("sample_weight", "offset"), held_out, strict=True)
            keywords = {name: values for name, values in named if values is not None}
            t_test, y_test = times[test], target[test]

            def score_path(_: Combination, alphas: np.ndarray) -> Iterator[tuple[float, float]]:
                observed = model._observed(times[train], target[train], *fitted)
                unit = model._unit(observed.series)
                problem = model._problem(observed.series, 1.0, unit)
                seen = model._compared(t_test, y_test, *held_out)
                model._held_out = HeldOut((t_test, y_test, *held_out), seen, places(observed.series.times, seen.times))
                for outcome in model._solve_path(problem, alphas / unit**self.order, observed.series.constant):
                    model._set_curve(observed, outcome)
                    yield float(scorer(model, t_test, y_test, **keywords)), outcome.gap

            return score_path

        search = Search([Combination(0.0, float(self.l2))], self.alphas_, len(folds))
        search.run(scorer_of, None, self.verbose > 0)
        self.cv_results_ = only_alpha(search.results())
        return search.choose(self.rule, self.scoring).alpha

    def _compared(
        self,
        t: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        offset: npt.ArrayLike | None,
    ) -> Series:
        known = self._held_out
        if known is not None and all(map(operator.is_, (t, y, sample_weight, offset), known.given)):
            return known.seen
        return super()._compared(t, y, sample_weight, offset)

    def _values_at(self, times: np.ndarray) -> np.ndarray:
        known = self._held_out
        return self._curve.at(times, known.place if known is not None and times is known.seen.times else None)

    def _folds(self, t: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
        if self.cv is not None and not isinstance(self.cv, Integral):
            return list(check_cv(self.cv).split(t[:, None], y, groups))
        number = min(FEW_FOLDS, len(t)) if self.cv is None else int(self.cv)
        if not 2 <= number <= len(t):
            raise ValueError(f"cv must be between 2 and the number of observations, {len(t)}, got {number}")
        place = np.empty(len(t), dtype=int)
        place[np.argsort(t, kind="stable")] = np.arange(len(t)) % number
        return [(np.flatnonzero(place != k), np.flatnonzero(place == k)) for k in range(number)]

    def _by_criterion(self, judged: list[Criteria], n: int) -> int:
        """The place of the least AIC or BIC."""
        table = only_alpha(parameters([Combination(0.0, float(self.l2))], self.alphas_))
        for name in ("df", "aic", "bic"):
            table[name] = np.array([getattr(one, name) for one in judged], dtype=float)
        values = admitted(table[self.selection], table["df"], n)
        chosen = selected(values[None, :], self.selection, judged[0].reason).alpha
        self.cv_results_ = table | {"mean_test_score": -values, "rank_test_score": ranks(-values)}
        self._keep_df_path([[df] for df in table["df"]])
        return chosen


def only_alpha(table: dict[str, Any]) -> dict[str, Any]:
    """The table without the columns of other parameters."""
    kept = {name: column for name, column in table.items() if name not in ("param_l1_ratio", "param_l2")}
    return kept | {"params": [{"alpha": one["alpha"]} for one in table["params"]]}
