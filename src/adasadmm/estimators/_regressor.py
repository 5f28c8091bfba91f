"""The base class of the regressors."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.linear_model import GammaRegressor, LinearRegression, PoissonRegressor, TweedieRegressor
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import distributed
from ..checkpoints import Checkpoint
from ..losses import Gamma, Tweedie, has_log_link
from ..registry import REGRESSION_LOSSES
from ..sources import Source
from . import _fitting, _predicting
from ._base import LinearModel, all_or_nothing
from ._callbacks import with_callbacks
from ._rows import is_loaded, load
from ._types import MatrixLike, PerRow, RowsLike, ValidRows

__all__ = ["LinearRegressor"]


class LinearRegressor(RegressorMixin, LinearModel):
    """One linear function of the features."""

    _parameter_constraints: ClassVar[dict] = {
        **LinearModel._parameter_constraints,
        "loss": [StrOptions(set(REGRESSION_LOSSES)), tuple],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
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
        y : array-like of shape (n,), default=None
            Targets. None only if X is a source.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, not negative. A weight of 2 is the same as repeating the row. None gives all rows the
            same weight.
        offset : array-like of shape (n,), default=None
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
        if distributed.is_dask(X):
            X, y, sample_weight, offset = distributed.source_of(X, y, sample_weight, offset), None, None, None
        if isinstance(X, Source):
            if any(given is not None for given in (y, sample_weight, offset)):
                raise ValueError("y, sample_weight and offset must be None if X is a source, which contains them")
            self._watch(X)
            self._know_features(X)
            if not is_loaded(self, X):
                self._fit(X, [X], PerRow(), checkpoint, resume)
                return self
            loaded = load(X)
            target, per_row = loaded.y.astype(np.float64), self._per_row(loaded.X, loaded.weight, loaded.offset)
            self._fit(loaded.X, [target], per_row, checkpoint, resume)
            return self
        self.__dict__.pop("_place", None)
        rows, target = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True, multi_output=False
        )
        self._fit(rows, [target.astype(np.float64)], self._per_row(rows, sample_weight, offset), checkpoint, resume)
        return self

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
        first = not hasattr(self, "coef_")
        rows, target = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True, reset=first
        )
        self._partial_fit(rows, [target.astype(np.float64)], self._per_row(rows, sample_weight, offset))
        return self

    def _per_row(self, X: ValidRows, sample_weight: npt.ArrayLike | None, offset: npt.ArrayLike | None) -> PerRow:
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return PerRow(weight, _predicting.as_offset(offset, X.shape[0]))

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        self.coef_, self.intercept_ = coefs[0], float(intercepts[0])

    def _fitted_at(self, w: np.ndarray) -> dict:
        coef, intercept = _fitting.split_intercept(self, w)
        return {"coef_": coef, "intercept_": intercept}

    def predict(self, X: RowsLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        offset : array-like of shape (n,), default=None
            A known part of each prediction. None means 0, or the offsets of the source.

        Returns
        -------
        ndarray of shape (n,)
            ``X coef + intercept + offset``; for losses with a logarithmic link (``"poisson"``, ``"gamma"``,
            ``"tweedie"``, ``"negative_binomial"``) the expected target, which is the exponential of it.
        """
        scores = _predicting.scores(self, X, offset)[:, 0]
        return np.exp(scores) if has_log_link(_fitting.as_loss(self.loss)) else scores

    def score(
        self,
        X: RowsLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """Compute the share of the variance of y, or of its deviance, that the predictions explain.

        The score is R^2; for losses with a logarithmic link it is D^2, where the deviance is twice the mean loss above
        the least possible one. Both compare the predictions with the mean of y.

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
        y, sample_weight = _predicting.targets(X, y, sample_weight)
        loss = _fitting.as_loss(self.loss)
        if _predicting.has_deviance(loss):
            return _predicting.explained_deviance(loss, _predicting.scores(self, X, offset)[:, 0], y, sample_weight)
        return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))

    def to_sklearn(self) -> BaseEstimator:
        """Convert to a scikit-learn model that makes the same predictions without this package.

        Returns
        -------
        LinearRegression, PoissonRegressor, GammaRegressor or TweedieRegressor
            `GammaRegressor` and `TweedieRegressor` for their losses, `PoissonRegressor` for the other losses with a
            logarithmic link (its ``score`` is that of counts with a Poisson distribution), otherwise
            `LinearRegression`.
        """
        check_is_fitted(self)
        loss, plain = _fitting.as_loss(self.loss), LinearRegression()
        if has_log_link(loss):
            plain = PoissonRegressor()
            if isinstance(loss, Gamma):
                plain = GammaRegressor()
            elif isinstance(loss, Tweedie):
                plain = TweedieRegressor(power=loss.power, link="log")
            plain._base_loss = plain._get_loss()  # fit would set it, and predict needs it
        return self._copied_to(plain, self._dense_coef().copy(), self.intercept_)
