"""Scores of rows, the targets to compare them with, and how well they explain them. A source is read block by block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .. import losses
from .._core.jit import is_registered
from ..rows.matrices import as_vector, plain
from ..sources import Source, SourceError
from ._types import FittedModel, RowsLike

__all__ = ["as_offset", "explained_deviance", "has_deviance", "scores", "targets"]


def as_offset(offset: npt.ArrayLike | None, n: int, outputs: int = 1) -> np.ndarray | None:
    """The gate for offsets: None, or one finite number for each of n rows, or for each of their outputs."""
    if offset is None:
        return None
    try:
        if outputs > 1 and np.shape(offset) == (n, outputs):
            return as_vector(np.asarray(offset).reshape(-1), n * outputs, "offset").reshape(n, outputs)
        return as_vector(offset, n, "offset")
    except ValueError as error:
        each = "row of X" if outputs == 1 else f"row of X, or the shape ({n}, {outputs})"
        hint = "; leave out rows without exposure, which carry no information" if "inf" in str(error) else ""
        raise ValueError(f"{error}: it needs one finite number for each {each}{hint}") from None


def scores(model: FittedModel, X: RowsLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
    """``X coef' + intercept + offset``, one column for each linear function."""
    check_is_fitted(model)
    coef, X = np.atleast_2d(model._dense_coef()).T, model._opened(X)
    if isinstance(X, Source):
        found, known = _scores_of_source(X, coef)
        if known is not None and offset is not None:
            raise ValueError(f"offset must be None, because {X!r} has its own")
        offset = known if offset is None else offset
    else:
        found = np.asarray(model._rows(X) @ coef)
    shift = as_offset(getattr(model, "_default_offset", None) if offset is None else offset, *found.shape)
    return found + model.intercept_ + (0.0 if shift is None else shift.reshape(len(found), -1))


def _scores_of_source(X: Source, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """``X coef``, and the offsets of the source, in one pass."""
    if X.n_features is None or X.on_bad_row != "stop":
        X.summary  # a scan counts the features, and warns of bad rows
    if X.n_features != len(coef):
        raise SourceError(
            f"{X!r} has {X.n_features} features, but the model was fitted with {len(coef)}; "
            f"if the missing last columns are all zero, set n_features={len(coef)}"
        )
    found = [(np.asarray(plain(piece.X) @ coef), piece.offset) for piece in X.raw_blocks()]
    if not found:
        raise SourceError(f"{X!r} has no rows")
    offset = np.concatenate([offset for _, offset in found]) if X.has_offset else None
    return np.concatenate([product for product, _ in found]), offset


def targets(
    model: FittedModel, X: RowsLike, y: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None
) -> tuple[npt.ArrayLike | None, npt.ArrayLike | None]:
    """The given y and weights; if X is a source or tables and y is None, those that it has."""
    X = model._opened(X)
    if not isinstance(X, Source) or y is not None:
        return y, sample_weight
    pieces = [(piece.y, piece.weight) for piece in X.raw_blocks()]
    if any(found is None for found, _ in pieces):
        raise SourceError(f"{X!r} has no targets to score against")
    weights = None if pieces[0][1] is None else np.concatenate([weight for _, weight in pieces])
    return np.concatenate([found for found, _ in pieces]), weights


def has_deviance(loss: tuple) -> bool:
    """Whether predictions are compared with targets by their deviance, and not by squares."""
    return losses.has_log_link(loss) and is_registered(losses.conjugate, loss)


def explained_deviance(
    loss: tuple, z: np.ndarray, y: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None
) -> float:
    """D^2 of a loss with a logarithmic link: the share of the deviance that the scores z explain.

    It is 1 if they explain everything, and 0 for the mean of y. If all targets are equal, it is 1 or 0, as R^2 is.
    """
    target = column_or_1d(y, dtype=np.float64)
    check_consistent_length(z, target, sample_weight)
    losses.check(loss, target)
    c = _check_sample_weight(sample_weight, target, dtype=np.float64)
    c = c / np.mean(c)
    level = np.average(target, weights=c)
    with np.errstate(divide="ignore"):
        mean = np.full(len(target), np.log(level))
    least = -losses.mean_conjugate(loss, np.zeros(len(target)), target, c)
    left = losses.mean_value(loss, z, target, c) - least
    total = (losses.mean_value(loss, mean, target, c) - least) if level > 0.0 else 0.0
    if total <= 1e-14 * (1.0 + abs(least)):
        return 1.0 if left <= total else 0.0
    return float(1.0 - left / total)
