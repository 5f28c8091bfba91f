"""The base class of the regressors."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..checkpoints import Checkpoint
from ..losses import Gamma, Tweedie, has_log_link
from ..problem import Problem
from ..registry import REGRESSION_LOSSES
from ..sources import SourceError
from ..sources._held_out import split
from . import _fitting, _predicting
from ._base import LinearModel
from ._callbacks import with_callbacks
from ._fitted_state import all_or_nothing, from_scratch
from ._gate import rows_alone, rows_and_numbers
from ._parameters import LossAmong
from ._responses import as_offsets, as_responses, mean_score
from ._rows import is_loaded, load, source_of
from ._scoring import r2
from ._types import MatrixLike, PerRow, RowsLike, ValidRows
from ._validation import HeldOutSource, as_numbers

__all__ = ["OF_RESPONSES", "LinearRegressor"]

OF_RESPONSES: dict = {"joint": ["boolean"], "missing": [StrOptions({"error", "ignore"})]}  # constraints of parameters


class LinearRegressor(RegressorMixin, LinearModel):
    """One linear function of the features."""

    _parameter_constraints: ClassVar[dict] = {
        **LinearModel._parameter_constraints,
        "loss": [LossAmong(REGRESSION_LOSSES)],
    }
    joint: bool = False  # parameters of those that take several responses
    missing: str = "error"
    _takes_responses: ClassVar[bool] = False

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    def fit(
        self,
        X: RowsLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        checkpoint: Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
            Features. A source (`adasadmm.sources`) includes the targets and the weights. A Dask array or data frame,
            with y of the same kind, is distributed over the workers of the current client (`adasadmm.distributed`).
            Rows of either kind are loaded if they fit in a quarter of the memory, unless ``solver`` names a solver that
            can stream; otherwise they stay where they are, and are read block by block.
        y : array-like of shape (n,), or (n, k) for several responses, default=None
            Targets. None only if X is a source.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, not negative. A weight of 2 is the same as repeating the row. None gives all rows the
            same weight.
        offset : array-like of the shape of y, default=None
            A known part of each prediction: the model is ``X coef + intercept + offset``. None means 0. For counts with
            an exposure it is the logarithm of the exposure.
        checkpoint : Checkpoint, default=None
            Folder in which the fit is saved periodically and when it is interrupted. With a checkpoint,
            ``random_state=None`` means a seed of 0.
        resume : bool, default=False
            Continue from the checkpoint if it holds a saved fit. The model is the same as without the interruption.

        Returns
        -------
        self : estimator
            The fitted estimator. If fitting fails or is interrupted, the estimator stays as it was before.
        """
        source = source_of(X, y, sample_weight, offset)
        if source is not None:
            self._outputs = None  # a source has one response; an earlier y may have had several
            learnt, held_out = split(source, self.validation_fraction)
            self._watch(learnt)
            self._know_features(source)
            if not is_loaded(self, source):
                judged = None if held_out is None else HeldOutSource(held_out, [as_numbers])
                self._fit(learnt, [learnt], PerRow(), checkpoint, resume, judged)
                return self
            loaded = load(source)
            try:
                target = as_numbers(loaded.y)
            except ValueError as error:
                raise SourceError(f"{source!r}: the targets must hold numbers: {error}") from None
            per_row = self._per_row(loaded.X, loaded.weight, loaded.offset)
            self._fit(loaded.X, [target], per_row, checkpoint, resume)
            return self
        if not self._takes_responses:
            rows, target = rows_and_numbers(self, X, y)
            self._fit(rows, [target], self._per_row(rows, sample_weight, offset), checkpoint, resume)
            return self
        rows = rows_alone(self, X)
        target = as_responses(y, self.missing)
        check_consistent_length(rows, target)
        self._outputs = None if target.ndim == 1 else target.shape[1]
        per_row = self._per_row(rows, sample_weight, offset)
        self._fit(rows, self._separate_or_joint(target), per_row, checkpoint, resume)
        return self

    def _separate_or_joint(self, y: np.ndarray) -> list[np.ndarray]:
        """The targets of each linear function; if they are joint, there is one function of several outputs."""
        together = y.ndim == 2 and y.shape[1] > 1 and self.joint
        if together and self.refit != "none":
            raise ValueError(f'refit must be "none" if joint=True and y has several columns, got {self.refit!r}')
        if getattr(self, "validation_fraction", 0.0) and (together or np.isnan(y).any()):
            raise ValueError("validation_fraction must be 0 if joint=True or targets are missing")
        if y.ndim == 1 or together:
            return [y]
        return [np.ascontiguousarray(column) for column in y.T]

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> Self:
        """Update the model with a block of rows: one pass over them, in the order given.

        The first call starts from zero, or from the result of an earlier `fit`. The graph is that of the first block.
        Only the stochastic solvers can be used.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Features of the block.
        y : array-like of shape (n,)
            Targets of the block.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. They are not divided by their mean, as in `fit`: the mean over the stream is unknown.
        offset : array-like of shape (n,), default=None
            As in `fit`.

        Returns
        -------
        self : estimator
            The updated estimator. If the update fails, the estimator stays as it was before.
        """
        from ._partial import partial_fit

        first = not hasattr(self, "coef_")
        if self._outputs is not None:
            raise ValueError(f"partial_fit takes one response, but the model was fitted to {self._outputs} of them")
        rows, target = rows_and_numbers(self, X, y, reset=first)
        partial_fit(self, rows, [target], self._per_row(rows, sample_weight, offset))
        return self

    def _per_row(self, X: ValidRows, sample_weight: npt.ArrayLike | None, offset: npt.ArrayLike | None) -> PerRow:
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self._outputs is not None:
            return PerRow(weight, as_offsets(offset, X.shape[0], self._outputs))
        return PerRow(weight, _predicting.as_offset(offset, X.shape[0]))

    def _fitted_loss(self) -> tuple:
        several = self.joint and (self._outputs or 1) > 1
        return _fitting.as_loss(self.loss) if several else _fitting.as_scalar_loss(self.loss)

    def _labels(self, targets: list[np.ndarray]) -> np.ndarray:
        return targets[0] if self._outputs is None or targets[0].ndim == 2 else np.column_stack(targets)

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        if self._outputs is None:
            self.coef_, self.intercept_ = coefs[0], float(intercepts[0])
            return
        self.coef_ = np.vstack(coefs)
        self.intercept_ = np.concatenate([np.atleast_1d(intercept) for intercept in intercepts])

    def _fitted_at(self, problem: Problem, w: np.ndarray) -> dict:
        coef, intercept = _fitting.split_intercept(self, w, problem)
        if self._outputs is None:
            return {"coef_": coef, "intercept_": intercept}
        return {"coef_": np.atleast_2d(coef), "intercept_": np.atleast_1d(intercept)}

    def predict(self, X: RowsLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        offset : array-like of shape (n,) or (n, k), default=None
            A known part of each prediction. None means 0, or the offsets of the source.

        Returns
        -------
        ndarray of shape (n,), or (n, k) for several responses
            ``X coef + intercept + offset``; for losses with a logarithmic link (``"poisson"``, ``"gamma"``,
            ``"tweedie"``, ``"negative_binomial"``) the expected target, which is the exponential of it.
        """
        scores = self._linear(X, offset)
        return np.exp(scores) if has_log_link(_fitting.as_loss(self.loss)) else scores

    def _linear(self, X: RowsLike, offset: npt.ArrayLike | None) -> np.ndarray:
        """The linear function of each row; a column for each of several responses."""
        check_is_fitted(self)
        if self._outputs is None:
            return _predicting.scores(self, X, offset)[:, 0]
        found = _predicting.scores(self, X)
        offset = getattr(self, "_default_offset", None) if offset is None else offset
        shift = as_offsets(offset, len(found), self._outputs)
        return found if shift is None else found + shift

    def score(
        self,
        X: RowsLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """Compute the share of the variance of y, or of its deviance, that the predictions explain.

        The score is R^2; for losses with a logarithmic link it is D^2, where the deviance is twice the mean loss above
        the least possible one. Both compare the predictions with the mean of y. For several responses the score is the
        mean over them; missing targets are left out if ``missing="ignore"``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        y : array-like of shape (n,), default=None
            True targets. None only if X is a source, which then provides targets and weights.
        sample_weight : array-like of shape (n,), default=None
        offset : array-like of shape (n,), default=None
            As in `predict`.

        Returns
        -------
        float
        """
        y, sample_weight = _predicting.targets(self, X, y, sample_weight)
        loss = _fitting.as_loss(self.loss)
        if self._outputs is not None or self.missing == "ignore":
            return self._score_of_responses(loss, X, y, sample_weight, offset)
        if _predicting.has_deviance(loss):
            return _predicting.explained_deviance(loss, _predicting.scores(self, X, offset)[:, 0], y, sample_weight)
        return r2(y, self.predict(X, offset), sample_weight)

    def _score_of_responses(
        self,
        loss: tuple,
        X: RowsLike,
        y: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
        offset: npt.ArrayLike | None,
    ) -> float:
        def deviance(y: np.ndarray, z: np.ndarray, weight: np.ndarray | None) -> float:
            return _predicting.explained_deviance(loss, z, y, weight)

        if _predicting.has_deviance(loss):
            return mean_score(deviance, y, self._linear(X, offset), sample_weight)
        return mean_score(r2, y, self.predict(X, offset), sample_weight)

    def to_sklearn(self) -> BaseEstimator:
        """Convert to a scikit-learn model that makes the same predictions without this package.

        Returns
        -------
        LinearRegression, PoissonRegressor, GammaRegressor or TweedieRegressor
            `GammaRegressor` and `TweedieRegressor` for their losses, `PoissonRegressor` for the other losses with a
            logarithmic link (its ``score`` is that of counts with a Poisson distribution), otherwise
            `LinearRegression`.
        """
        from sklearn.linear_model import GammaRegressor, LinearRegression, PoissonRegressor, TweedieRegressor

        check_is_fitted(self)
        loss, plain = _fitting.as_loss(self.loss), LinearRegression()
        if has_log_link(loss):
            if self._outputs is not None:
                raise ValueError(
                    "scikit-learn has no model of several responses with a logarithmic link: fit one column of y at a "
                    "time, or use coef_ and intercept_"
                )
            plain = PoissonRegressor()
            if isinstance(loss, Gamma):
                plain = GammaRegressor()
            elif isinstance(loss, Tweedie):
                plain = TweedieRegressor(power=loss.power, link="log")
            plain._base_loss = plain._get_loss()  # fit would set it, and predict needs it
        return self._copied_to(plain, self._dense_coef().copy(), self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_responses
        return tags
