"""Predictions and what they are compared with, for rows in memory and for a source, which is read block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..linalg.matrices import plain
from ..sources import Source, SourceError

__all__ = ["scores", "targets"]


def scores(model: Any, X: Any) -> np.ndarray:
    """``X coef' + intercept``, one column for each linear function."""
    check_is_fitted(model)
    coef = np.atleast_2d(model._dense_coef()).T
    if not isinstance(X, Source):
        return np.asarray(validate_data(model, X, accept_sparse="csr", reset=False) @ coef) + model.intercept_
    if X.shape[1] != len(coef):
        raise SourceError(
            f"{X!r} has {X.shape[1]} features, the model was fitted to {len(coef)}; where the last ones are all 0, "
            f"say n_features={len(coef)}"
        )
    return np.concatenate([np.asarray(plain(piece.X) @ coef) for piece in X.raw_blocks()]) + model.intercept_


def targets(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """y and the weights; those of a source where none are given."""
    if not isinstance(X, Source) or y is not None:
        return y, sample_weight
    pieces = [(piece.y, piece.weight) for piece in X.raw_blocks()]
    if any(found is None for found, _ in pieces):
        raise SourceError(f"{X!r} has no targets to compare with")
    weights = None if pieces[0][1] is None else np.concatenate([weight for _, weight in pieces])
    return np.concatenate([found for found, _ in pieces]), weights
