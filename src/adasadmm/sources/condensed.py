"""The rows of the squared loss, condensed into one more than there are features.

With the triangular factor R of ``[X y]'C[X y]``, the sum of squares of all rows is that of the rows of R: a solver that
works with those needs a single pass over the others. Forming the matrix squares its condition, so rows are condensed
only if their columns, and y beside them, are far from linearly dependent.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .. import losses
from .._core.threads import one_blas_thread
from ..rows import products
from ..rows.matrices import Dense, Repeated, is_streamed, size
from .blocks import Block

__all__ = ["condensed", "slopes_of_all"]

FEWER = 4  # times as many entries as the condensed rows is the least that X must have
LARGE = 200_000  # entries of X, below which all its rows are as fast
LEAST_PIVOT = 1e-3  # of the factor of correlations: its square costs six of sixteen digits


@one_blas_thread()
@np.errstate(over="ignore", invalid="ignore")  # of numbers whose squares overflow: their rows are not condensed
def condensed(loss: tuple, rows: Block) -> Block | None:
    """Rows with the same mean loss for every w; None if there are few rows, or if rounding would matter."""
    X, y, c = rows
    n, d = X.shape
    is_plain = isinstance(loss, losses.Squared) and not isinstance(X, Repeated) and not is_streamed(X)
    if not is_plain or size(X) < max(LARGE, FEWER * (d + 1) ** 2) or n <= d:
        return None
    moments = np.zeros((d + 1, d + 1))
    products.add_lower_gram(X, c, moments[:d, :d])
    products.transposed_product(X, c * y, moments[d, :d])
    moments[d, d] = float(c @ (y * y))
    scale = np.sqrt(np.diag(moments))
    if not ((scale > 0.0) & (scale < np.inf)).all():
        return None
    moments /= scale[:, None] * scale
    factor, failed = scipy.linalg.lapack.dpotrf(moments, lower=1, clean=1)
    if failed or np.diag(factor).min() < LEAST_PIVOT:
        return None
    both = np.sqrt((d + 1) / n) * (factor.T * scale)
    return Block(Dense(np.ascontiguousarray(both[:, :d])), both[:, d].copy(), np.ones(d + 1))


def slopes_of_all(rows: Block, few: Block, s: np.ndarray) -> np.ndarray:
    """The slopes of all rows that have the same dual value as slopes s of the condensed rows.

    ``[X y] R^-1`` has orthonormal columns, so these slopes have the same products with X and y, and the same length.
    """
    u = scipy.linalg.solve_triangular(np.column_stack([few.X.values, few.y]), s)  # type: ignore[union-attr]
    products.product(rows.X, u[:-1], out := np.empty(len(rows.y)))
    return out + u[-1] * rows.y
