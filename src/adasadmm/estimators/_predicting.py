"""Scores of rows, and the targets to compare them with. A source is read block by block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, validate_data

from ..linalg.matrices import plain
from ..sources import Source, SourceError
from ._types import FittedModel, RowsLike

__all__ = ["scores", "targets"]


def scores(model: FittedModel, X: RowsLike) -> np.ndarray:
    """``X coef' + intercept``, one column for each linear function."""
    check_is_fitted(model)
    coef = np.atleast_2d(model._dense_coef()).T
    if not isinstance(X, Source):
        return np.asarray(validate_data(model, X, accept_sparse="csr", reset=False) @ coef) + model.intercept_
    if X.shape[1] != len(coef):
        raise SourceError(
            f"{X!r} has {X.shape[1]} features, but the model was fitted with {len(coef)}; "
            f"if the missing last columns are all zero, set n_features={len(coef)}"
        )
    return np.concatenate([np.asarray(plain(piece.X) @ coef) for piece in X.raw_blocks()]) + model.intercept_


def targets(
    X: RowsLike, y: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None
) -> tuple[npt.ArrayLike | None, npt.ArrayLike | None]:
    """The given y and weights; if X is a source and y is None, those of the source."""
    if not isinstance(X, Source) or y is not None:
        return y, sample_weight
    pieces = [(piece.y, piece.weight) for piece in X.raw_blocks()]
    if any(found is None for found, _ in pieces):
        raise SourceError(f"{X!r} has no targets to score against")
    weights = None if pieces[0][1] is None else np.concatenate([weight for _, weight in pieces])
    return np.concatenate([found for found, _ in pieces]), weights
