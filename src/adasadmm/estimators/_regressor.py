"""The base class of the regressors."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import distributed
from ..checkpoints import Checkpoint
from ..losses import Poisson
from ..registry import REGRESSION_LOSSES
from ..sources import Source
from . import _fitting, _predicting
from ._base import LinearModel, all_or_nothing
from ._callbacks import with_callbacks
from ._types import MatrixLike, RowsLike, ValidRows

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
        checkpoint: Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
            Features. A source (`adasadmm.sources`) includes the targets and the weights. A Dask array or data frame,
            with y of the same kind, is fitted on the workers of the current client (`adasadmm.distributed`).
        y : array-like of shape (n,), default=None
            Targets. None only if X is a source.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, not negative. A weight of 2 is the same as repeating the row. None gives all rows the
            same weight.
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
            X, y, sample_weight = distributed.source_of(X, y, sample_weight), None, None
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                raise ValueError("y and sample_weight must be None if X is a source, which contains both")
            self._know_features(X)
            self._fit(X, [X], None, checkpoint, resume)
            return self
        rows, target = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True, multi_output=False
        )
        self._fit(rows, [target.astype(np.float64)], self._weights(rows, sample_weight), checkpoint, resume)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
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

        Returns
        -------
        self : estimator
            The updated estimator. If the update fails, the estimator stays as it was before.
        """
        first = not hasattr(self, "coef_")
        rows, target = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True, reset=first
        )
        self._partial_fit(rows, [target.astype(np.float64)], self._weights(rows, sample_weight))
        return self

    def _weights(self, X: ValidRows, sample_weight: npt.ArrayLike | None) -> np.ndarray | None:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        self.coef_, self.intercept_ = coefs[0], float(intercepts[0])

    def _fitted_at(self, w: np.ndarray) -> dict:
        coef, intercept = _fitting.split_intercept(self, w)
        return {"coef_": coef, "intercept_": intercept}

    def predict(self, X: RowsLike) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source

        Returns
        -------
        ndarray of shape (n,)
            ``X coef + intercept``; with the Poisson loss the expected count, which is the exponential of it.
        """
        scores = _predicting.scores(self, X)[:, 0]
        return np.exp(scores) if isinstance(_fitting.as_loss(self.loss), Poisson) else scores

    def score(self, X: RowsLike, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Compute R^2, the share of the variance of y that the predictions explain.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        y : array-like of shape (n,), default=None
            True targets. None only if X is a source, which then provides targets and weights.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        return super().score(X, *_predicting.targets(X, y, sample_weight))

    def to_sklearn(self) -> BaseEstimator:
        """Convert to a scikit-learn model that makes the same predictions without this package.

        Returns
        -------
        LinearRegression or PoissonRegressor
            `PoissonRegressor` for the Poisson loss, `LinearRegression` for all others.
        """
        check_is_fitted(self)
        plain: BaseEstimator = LinearRegression()
        if isinstance(_fitting.as_loss(self.loss), Poisson):
            plain = PoissonRegressor()
            plain._base_loss = plain._get_loss()  # fit would set it, and predict needs it
        return self._copied_to(plain, self._dense_coef().copy(), self.intercept_)
