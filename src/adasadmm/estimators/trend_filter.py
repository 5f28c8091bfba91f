"""Trend filtering: a series as a piecewise polynomial of time."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from .. import losses
from .._core.states import is_numbers
from ..graphs.structures import difference_rows
from ..linalg.paths import Paths
from ..penalties import L1
from ..problem import Problem
from ._base import keep_parameters
from ._curves import Curve
from ._fitted_state import from_scratch
from ._fitting import as_loss, as_scalar_loss
from ._predicting import explained_deviance, has_deviance
from ._scoring import accuracy, r2
from ._series import (
    Series,
    as_targets,
    as_times,
    as_weights,
    check_attained,
    is_observed,
    selection,
    series_of,
    shifts_of,
)
from ._signals import FUSED, Outcome, SignalModel, at_level, response
from ._types import LossLike, SolverLike

__all__ = ["TrendFilter"]


class Observed(NamedTuple):
    """All times, the series of the targets that are there, and whether one of them is the mean of several."""

    given: np.ndarray
    series: Series
    merged: bool

    @property
    def times(self) -> np.ndarray:
        """The distinct times, also those without a target."""
        missing = len(self.given) != len(self.series.y) or self.series.node is not None
        return np.unique(self.given) if missing else self.series.times


class TrendFilter(RegressorMixin, SignalModel):
    """Trend filtering: fit a piecewise polynomial of time to a series, with as few changes as the data allow.

    With one value w for each distinct time, the model minimises::

        mean loss + l2/2 |w|^2 + alpha |D w|_1,

    where D takes the differences of order ``order + 1`` of values at uneven times (`adasadmm.graphs.difference`). The
    fit is constant (order 0), linear (1) or a polynomial of that degree between its change points, which are chosen
    by the data. For order 0 this is the fused lasso, or total variation denoising, of the series.

    Parameters
    ----------
    order : int, default=1
        The degree of the pieces: 0 for steps, 1 for lines that join at kinks, 2 for parabolas.
    alpha : float, default=None
        The strength of the penalty. For order 0 it multiplies the sum of the jumps, for order 1 that of the changes of
        the slope, in units of y and t: at a distance h between times, ``alpha`` acts like ``alpha h^-order`` at a
        distance of 1. The loss is a mean, so the strength of ``1/2 sum_i (y_i - w_i)^2 + lambda |D w|_1`` is
        ``alpha = lambda / n``. None is ``h^order / n``, with n the sum of the weights and h the median distance.
    loss : str or loss, default="squared"
        ``"squared"``; ``"huber"`` or ``"quantile"`` where there are outliers (``Quantile(q)`` for other quantiles than
        the median), ``"epsilon_insensitive"``; ``"poisson"`` and ``"negative_binomial"`` for counts, ``"gamma"`` and
        ``"tweedie"`` for amounts, where w is the logarithm of the mean; ``"logistic"``, ``"hinge"`` or
        ``"squared_hinge"`` for labels 0 and 1, or -1 and +1. Or a loss of `adasadmm.losses`, or one of your own.
    l2 : float, default=0.0
        The strength of the ridge, which shrinks the values to 0.
    solver : str or solver, default="auto"
        ``"auto"`` chooses the method by the structure of the problem. A name or a solver as for
        `GraphGuidedClassifier`.
    max_iter : int, default=None
        The most iterations; by default as many as the method usually needs.
    tol : float, default=1e-6
        The relative duality gap at which to stop. With ``solver="auto"``, a fit that misses it warns.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    times_ : ndarray of shape (n_times,)
        The distinct times, sorted, with those of missing targets.
    coef_ : ndarray of shape (n_times,)
        The fitted values w at ``times_``. Inside a piece of order 0 they are equal to the last bit.
    change_points_ : ndarray of shape (n_pieces - 1,)
        For order 0, the first time of each new piece; else the times at which the derivative of degree ``order``
        changes. They follow from the exact zeros of ``D w``.
    n_pieces_ : int
        The number of pieces.
    alpha_ : float
        The strength that was used.
    objective_ : float
        The objective at ``coef_``.
    dual_gap_ : float
        The relative duality gap ``(primal - dual) / (primal - least possible loss)``: the optimum lies below the
        objective by at most this fraction of the objective's excess over the least possible loss.
    n_iter_ : int
        Iterations of the solver.
    status_ : Status
        How the run ended.
    solver_, solver_reason_ : solver and str
        The solver that ran, and why it was chosen.
    trace_ : Trace
        The course of the run.

    See Also
    --------
    TotalVariationDenoiser : Piecewise constant images, and signals on a regular grid.
    StructuredRegressor : Coefficients of features that follow a trend.

    Notes
    -----
    Several targets at one time count as several observations of one value. Missing targets, NaN, and targets of weight
    0 are left out of the objective, and so are their times: for orders 0 and 1 the optimum is the same as with a free
    value at such a time. ``coef_`` has the fitted curve there.

    References
    ----------
    S.-J. Kim, K. Koh, S. Boyd, D. Gorinevsky, l1 trend filtering, SIAM Review 51, 2009.

    R. J. Tibshirani, Adaptive piecewise polynomial estimation via trend filtering, Annals of Statistics 42, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import TrendFilter
    >>> t = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 8.0, 9.0])
    >>> y = np.array([0.0, 1.1, 1.9, 4.1, np.nan, 1.0, 0.1])  # up to t = 4, then down; one is missing
    >>> model = TrendFilter(order=1, alpha=0.02).fit(t, y)
    >>> model.change_points_
    array([4.])
    >>> model.predict([3.0, 5.0, 10.0]).round(1)
    array([ 3. ,  3.2, -0.6])
    """

    order: int
    _curve: Curve

    # The times stand where other estimators have X: they are no metadata.
    __metadata_request__fit: ClassVar[dict] = {"t": UNUSED}
    __metadata_request__predict: ClassVar[dict] = {"t": UNUSED}
    __metadata_request__score: ClassVar[dict] = {"t": UNUSED}

    _parameter_constraints: ClassVar[dict] = {
        **SignalModel._parameter_constraints,
        "order": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        order: int = 1,
        alpha: float | None = None,
        loss: LossLike = "squared",
        *,
        l2: float = 0.0,
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    def fit(
        self,
        t: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit the series.

        Parameters
        ----------
        t : array-like of shape (n,) or (n, 1)
            Times, in any order and at any distances; a time may occur more than once.
        y : array-like of shape (n,)
            Targets. NaN is a missing one.
        sample_weight : array-like of shape (n,), default=None
            Weights of the targets, not negative. A weight of 2 is the same as a second equal target.
        offset : array-like of shape (n,), default=None
            A known part of each prediction, which is then w + offset. None means 0. For counts with an exposure it is
            the logarithm of the exposure, and w that of the rate. That of a missing target may be anything.

        Returns
        -------
        self : TrendFilter
            The fitted estimator. If fitting fails or is interrupted, the estimator stays as it was before.
        """
        observed = self._observed(t, y, sample_weight, offset)
        unit = self._unit(observed.series)
        total = observed.series.total
        self.alpha_ = unit**self.order / total if self.alpha is None else float(self.alpha)
        problem = self._problem(observed.series, self.alpha_ / unit**self.order, unit)
        level, constant = observed.series.level, observed.series.constant
        outcome = at_level(self._solve(problem, constant), level, constant)
        self._set_curve(observed, outcome)
        self._set_outcomes([outcome], constant, observed.merged)
        return self

    def _observed(
        self,
        t: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        offset: npt.ArrayLike | None = None,
    ) -> Observed:
        """Times, and the series of the targets that are not missing."""
        loss, given = as_scalar_loss(self.loss), as_times(t)
        target = _as_column(as_targets(y, loss))
        whole = _as_given(given, target, sample_weight, offset)
        series = series_of(whole, loss)
        n = len(series.times)
        if n <= self.order:
            raise ValueError(
                f"order must be below the number of distinct times with a target, {n}, got {self.order}: "
                "a polynomial of this degree is not determined"
            )
        check_attained(series.y, loss, self.l2)
        if self.order > 0 and self.l2 == 0.0:  # neither A nor a ridge depends on the level then
            series = series.levelled(loss)
        there = len(target) if len(target) == len(series.y) else np.count_nonzero(is_observed(whole))
        return Observed(given, series, merged=bool(there > len(series.y)))

    def _set_curve(self, observed: Observed, outcome: Outcome) -> None:
        """The fitted curve, and its values at all times."""
        self._curve, self.times_ = self._curve_of(observed.series, outcome), observed.times
        self.coef_ = self._curve.on(self.times_)
        self.n_features_in_ = 1

    def _curve_of(self, series: Series, outcome: Outcome) -> Curve:
        values = outcome.result.w_average if series.level == 0.0 else outcome.result.w_average + series.level
        return Curve(series.times, values, self._breaks(outcome), int(self.order))

    def _unit(self, series: Series) -> float:
        """The median distance of two times, so that A does not depend on the user's unit; 1 for order 0."""
        return float(np.median(np.diff(series.times))) if len(series.times) > 1 and self.order > 0 else 1.0

    def _problem(self, series: Series, strength: float, unit: float) -> Problem:
        """The problem with times in units of `_unit`."""
        n, order = len(series.times), int(self.order)
        X, A = selection(series.node, n), difference_rows(n, order + 1, series.times if order > 0 else None, unit)
        problem = Problem(
            X,
            series.y,
            loss=as_loss(self.loss),
            penalty=L1(strength),
            A=A,
            gamma=self.l2,
            sample_weight=series.weight,
            offset=series.offset,
        )
        # The forms of X and A are known here; to recognise them takes a pass over each.
        if series.node is None:
            problem.diagonal, problem.is_identity = X.data, True
        if order == 0:
            problem.paths = Paths.along()
        return problem

    def _breaks(self, outcome: Outcome) -> np.ndarray:
        """The rows of ``A w`` that are not 0."""
        result, exact_v = outcome.result, outcome.result.solver.exact_v
        if self.order == 0 and exact_v:
            return (result.w_average[1:] != result.w_average[:-1]).nonzero()[0]
        if exact_v:
            return np.flatnonzero(result.v)
        apart = np.abs(result.run.problem.times_A(result.w_average))
        return np.flatnonzero(apart > FUSED * np.max(apart, initial=0.0))

    @property
    def change_points_(self) -> np.ndarray:
        """Where each piece but the first begins."""
        check_is_fitted(self)
        return self._curve.change_points

    @property
    def n_pieces_(self) -> int:
        """The number of pieces."""
        check_is_fitted(self)
        return len(self._curve.breaks) + 1

    def predict(self, t: npt.ArrayLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Evaluate the fitted curve at any times.

        Between two times of the fit the curve is the polynomial of their piece: the value at the time before (order 0),
        the line through both neighbours (order 1) and so on. Before the first time and after the last it is continued
        by the first and the last polynomial.

        Parameters
        ----------
        t : array-like of shape (n,) or (n, 1)
        offset : array-like of shape (n,), default=None
            A known part of each prediction. None means 0.

        Returns
        -------
        ndarray of shape (n,)
            The value of the curve and the offset; their exponential, the expected target, for losses with a logarithmic
            link; the probability of the label 1 for the logistic loss.
        """
        self._check_is_fitted()
        times = as_times(t)
        shift = None if offset is None else shifts_of(offset, np.ones(len(times), dtype=bool))
        return response(as_loss(self.loss), self._values_at(times) + (0.0 if shift is None else shift))

    def score(
        self,
        t: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """Compare predictions with targets; missing ones are left out.

        Parameters
        ----------
        t : array-like of shape (n,) or (n, 1)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
        offset : array-like of shape (n,), default=None
            A known part of each prediction. None means 0.

        Returns
        -------
        float
            R^2, the share of the variance that the predictions explain; for losses with a logarithmic link the share
            D^2 of the deviance; for labels the accuracy.
        """
        self._check_is_fitted()
        loss, seen = as_loss(self.loss), self._compared(t, y, sample_weight, offset)
        target, weight = seen.y, seen.weight
        scores = self._values_at(seen.times) + (0.0 if seen.offset is None else seen.offset)
        if losses.takes_labels(loss):
            return accuracy(target > 0.0, scores > 0.0, weight)
        if has_deviance(loss):
            return explained_deviance(loss, scores, target, weight)
        return r2(target, response(loss, scores), weight)

    def _compared(
        self,
        t: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        offset: npt.ArrayLike | None,
    ) -> Series:
        """The observations that a score compares with the curve, checked."""
        given = _as_given(as_times(t), _as_column(as_targets(y, as_loss(self.loss))), sample_weight, offset)
        missing = np.isnan(given.y)
        return given.at(~missing) if missing.any() else given

    def _values_at(self, times: np.ndarray) -> np.ndarray:
        """The curve at times that were checked."""
        return self._curve.at(times)

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "coef_"):  # scikit-learn's check takes a good part of the time of a score
            check_is_fitted(self)

    def _size(self) -> str:
        shape = ("constant", "linear", "quadratic", "cubic")[self.order] if self.order < 4 else f"degree {self.order}"
        return f"{len(self.times_)} times, piecewise {shape}"

    def _is_consistent(self) -> bool:
        times = self.times_
        return (
            is_numbers(times, (len(times),))
            and bool((np.diff(times) > 0.0).all())
            and is_numbers(self.coef_, times.shape)
            and self._curve.is_consistent()
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        return tags


def _as_given(
    t: np.ndarray, y: np.ndarray, sample_weight: npt.ArrayLike | None, offset: npt.ArrayLike | None
) -> Series:
    """Times, targets, weights and offsets as they were given, and checked."""
    check_consistent_length(t, y)
    shifts = None if offset is None else shifts_of(offset, ~np.isnan(y))
    return Series(t, y, as_weights(sample_weight, y.shape), shifts)


def _as_column(y: np.ndarray) -> np.ndarray:
    """Targets of shape (n,), also from shape (n, 1)."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0].copy()
    if y.ndim != 1:
        raise ValueError(f"y must have shape (n,), one target for each time, got {y.shape}")
    return y
