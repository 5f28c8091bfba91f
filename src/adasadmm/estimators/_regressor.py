"""Linear regressions: one linear function of the features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import distributed
from ..losses import Poisson
from ..registry import REGRESSION_LOSSES
from ..sources import Source
from . import _fitting, _predicting
from ._base import LinearModel, all_or_nothing
from ._callbacks import with_callbacks

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
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None, resume: bool = False
    ) -> LinearRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a source
            A source (`adasadmm.sources`) has its own targets and weights. A Dask array or data frame, with y of the
            same kind, is fitted on the workers of the current client (`adasadmm.distributed`).
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row that stands twice.
        checkpoint : Checkpoint, optional
            Where the fit is kept on disk as it goes, and when it is interrupted; then ``random_state=None`` means 0.
        resume : bool
            Go on from the checkpoint, where there is one, to the same model as if nothing had happened.

        Returns
        -------
        self
        """
        if distributed.is_dask(X):
            X, y, sample_weight = distributed.source_of(X, y, sample_weight), None, None
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                raise ValueError("y and sample_weight must be None beside a source, which has its own")
            self._know_features(X)
            self._fit(X, [X], None, checkpoint, resume)
            return self
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True, multi_output=False
        )
        self._fit(X, [y.astype(np.float64)], self._weights(X, sample_weight), checkpoint, resume)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegressor:
        """Take up a block of rows, in the order given; the state of the run goes on.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Taken as they are: in a stream their mean is not known.

        Returns
        -------
        self
        """
        first = not hasattr(self, "coef_")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True, reset=first)
        self._partial_fit(X, [y.astype(np.float64)], self._weights(X, sample_weight))
        return self

    def _weights(self, X: Any, sample_weight: Any) -> np.ndarray | None:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        self.coef_, self.intercept_ = coefs[0], float(intercepts[0])

    def _fitted_at(self, w: np.ndarray) -> dict:
        coef, intercept = _fitting.split_intercept(self, w)
        return {"coef_": coef, "intercept_": intercept}

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row; with the Poisson loss the expected count."""
        scores = _predicting.scores(self, X)[:, 0]
        return np.exp(scores) if isinstance(_fitting.as_loss(self.loss), Poisson) else scores

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2, the share of the variance that is predicted. A source has its own targets and weights."""
        return super().score(X, *_predicting.targets(X, y, sample_weight))

    def to_sklearn(self) -> Any:
        """A plain scikit-learn model with the same predictions: `LinearRegression`, or `PoissonRegressor`."""
        check_is_fitted(self)
        plain: Any = LinearRegression()
        if isinstance(_fitting.as_loss(self.loss), Poisson):
            plain = PoissonRegressor()
            plain._base_loss = plain._get_loss()  # fit leaves it for predict
        return self._told_to(plain, self._dense_coef().copy(), self.intercept_)
