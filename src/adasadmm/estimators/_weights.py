"""Weights of the terms of a penalty: given, or adaptive, from a ridge fit.

A term is an edge (a row of A), a group of rows, or, in the sparse part, a feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .. import losses
from .._core.jit import is_registered
from .._solve.null_model import best_constant
from ..penalties import L1
from ..plug_ins import as_loss
from ._types import PerRow, ValidRows

__all__ = ["NO_WEIGHTS", "Weights", "adaptive_weights", "check_adaptive", "given_weights", "number_of_terms", "pilot"]

LEAST = 1e-4  # of the largest term: smaller ones have the same weight
MOST_ROWS = 2000  # for generalised cross-validation, where rows and features are more
STRENGTHS = np.geomspace(1e-8, 1e1, 73)  # of the ridge, in units of the largest eigenvalue


class Weights(NamedTuple):
    """A weight for each term of an estimator's own structure, and for each feature; None if all are 1."""

    structural: np.ndarray | None
    sparse: np.ndarray | None


NO_WEIGHTS = Weights(None, None)


def number_of_terms(A: sp.csr_array, penalty: Any) -> int:
    """Return the number of terms in the penalty of ``A w``."""
    return A.shape[0] if isinstance(penalty, L1) else len(penalty.groups)


def given_weights(given: Any, terms: int, d: int, l1_ratio: float) -> Weights:
    """The weights of an array for the terms, and after them for the features; or for the features if they are all."""
    weights = np.asarray(given)
    if weights.dtype.kind not in "fiu" or weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(f'weights must be None, "adaptive" or an array of finite numbers >= 0, got {given!r}')
    weights = weights.astype(float)
    if l1_ratio == 1.0 and len(weights) == d:
        return Weights(None, weights)
    if len(weights) not in (terms, terms + d):
        raise ValueError(
            f"weights must have an entry for each of the {terms} terms of the penalty (edges, rows of A or groups), or "
            f"{terms + d} with one for each of the {d} features after them, got {len(weights)}"
        )
    return Weights(weights[:terms], weights[terms:] if len(weights) > terms else None)


def adaptive_weights(A: sp.csr_array, penalty: Any, w: np.ndarray, power: float) -> Weights:
    """Weights that are large where the terms of w are small.

    The rows of A count in units of their largest entry, so that weights that A contains remain factors.
    """
    unit = abs(A).max(axis=1).toarray().reshape(-1)
    terms = np.abs(A @ w) / np.where(unit > 0.0, unit, 1.0)
    if not isinstance(penalty, L1):
        terms = np.array([np.linalg.norm(terms[members]) for members in penalty.groups])
    return Weights(_inverse(terms, power), _inverse(np.abs(w), power))


def _inverse(sizes: np.ndarray, power: float) -> np.ndarray:
    """``1 / sizes^power``, with a mean of 1."""
    largest = np.max(sizes, initial=0.0)
    if largest == 0.0:
        return np.ones(len(sizes))
    weights = (largest / np.maximum(sizes, LEAST * largest)) ** power
    return weights / weights.mean()


# --- the ridge fit ---------------------------------------------------------------------------------------------------


def check_adaptive(is_streamed: bool, loss: tuple) -> None:
    """Raise ``ValueError`` if a pilot cannot be fitted."""
    if is_streamed:
        raise ValueError(
            'weights="adaptive" needs all rows in memory: compute weights on a sample and give them instead'
        )
    if losses.width(loss) > 1:
        kind = type(loss).__name__
        raise ValueError(f'weights="adaptive" needs a loss of one prediction, got {kind}: give weights of your own')


def pilot(X: ValidRows, y: np.ndarray, per_row: PerRow, loss: tuple, fit_intercept: bool) -> np.ndarray:
    """The coefficients of a ridge fit, whose strength is chosen by generalised cross-validation.

    For a smooth loss, the targets are those of Newton's step from the best constant prediction; for others they are y.
    """
    weight = np.ones(len(y)) if per_row.weight is None else per_row.weight / per_row.weight.mean()
    target = y
    if per_row.offset is not None:
        target, loss = y - per_row.offset, losses.with_offset(loss)
        y = losses.targets_with_offset(loss, y, per_row.offset)
    loss = as_loss(loss, y)
    if is_registered(losses.second, loss):
        z = np.full(len(y), best_constant(loss, y, weight) if fit_intercept else 0.0)
        slope, second = np.empty((2, len(y)))
        losses.derivatives(loss, z, y, np.ones(len(y)), slope, second)
        if (second > 0.0).all():
            target, weight = z - slope / second, weight * second
    chosen: Any = slice(None)
    if min(X.shape) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
    strength = gcv_strength(X[chosen], target[chosen], weight[chosen], fit_intercept)
    strength *= weight.sum() / weight[chosen].sum()
    from sklearn.linear_model import Ridge

    return Ridge(strength, fit_intercept=fit_intercept).fit(X, target, sample_weight=weight).coef_


def gcv_strength(X: ValidRows, y: np.ndarray, weight: np.ndarray, fit_intercept: bool) -> float:
    """The strength of a ridge with the least ``n |residual|^2 / (n - degrees of freedom)^2``."""
    n, root = len(y), np.sqrt(weight)
    given: Any = X
    dense = given.toarray() if sp.issparse(given) else given
    if fit_intercept:
        dense, y = dense - np.average(dense, axis=0, weights=weight), y - np.average(y, weights=weight)
    dense, y = root[:, None] * dense, root * y
    wide = dense.shape[1] > n
    squares, vectors = scipy.linalg.eigh(dense @ dense.T if wide else dense.T @ dense)
    squares = np.maximum(squares, 0.0)
    if squares[-1] == 0.0:
        return 1.0
    along = vectors.T @ (y if wide else dense.T @ y)
    part = along**2 if wide else np.divide(along**2, squares, out=np.zeros_like(along), where=squares > 0.0)
    strengths = STRENGTHS[:, None] * squares[-1]
    kept = squares / (squares + strengths)
    residual = np.maximum(y @ y - part.sum(), 0.0) + ((1.0 - kept) ** 2) @ part
    freedom = n - fit_intercept - kept.sum(axis=1)
    score = np.where(freedom > 0.0, residual / np.maximum(freedom, 1e-300) ** 2, np.inf)
    return float(strengths[np.argmin(score), 0])
