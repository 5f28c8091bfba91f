"""How large a step each coordinate and each row may take, from the sizes of columns and rows alone.

The w-step has the metric ``diag(h) / eta``. In a batch of b rows a column that many rows have in common is pulled by
several of them at once: by about ``overlap_j = 1 + (b - 1) share_j``, share_j the share of rows where x_ij is not 0.
Then ``size_i = c_i / b sum_j overlap_j x_ij^2 / h_j`` says how far row i moves its own prediction, for eta = 1.

Any h > 0 will do; ``h_j = overlap_j max_i x_ij^2`` does not mind in what units a feature comes. Its geometric mean with
``mean_i c_i x_ij^2`` does not either, and lets rare features move faster, as AdaGrad would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, generic, inlined
from ..linalg.matrices import CSR, Dense, WithIntercept
from ..problem import Problem

__all__ = ["Scaling", "scaling"]

EMPTY = 1e-6  # of the largest h, for columns without data: the constraint alone holds them


class Scaling(NamedTuple):
    """``h`` of each coordinate and ``size`` of each row."""

    h: np.ndarray
    size: np.ndarray


def scaling(problem: Problem, batch_size: int, rare_is_fast: bool) -> Scaling:
    """The scaling for batches of so many rows."""
    X, _, c = problem.rows
    mean, most, share = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    measure_columns(X, c, mean, most, share)
    overlap = 1.0 + (batch_size - 1) * share
    h = np.sqrt(overlap * most * mean) if rare_is_fast else overlap * most
    h[h == 0.0] = EMPTY * h.max() or 1.0
    size = np.empty(problem.n)
    measure_rows(X, c, overlap / h / batch_size, size)
    return Scaling(h, size)


@compiled
def measure_columns(X, c, mean, most, share):
    """The mean of ``c_i x_ij^2``, the largest ``x_ij^2``, and the share of rows where it is not 0, of each column."""
    for i in range(len(c)):
        measure_row(X, i, c[i] / len(c), mean, most, share)
    for j in range(len(share)):
        share[j] /= len(c)


@compiled
def measure_rows(X, c, weight, out):
    """``out_i = c_i sum_j weight_j x_ij^2``."""
    for i in range(len(c)):
        out[i] = c[i] * weighted_square(X, i, weight)


@inlined
def measure(x, j, weight, mean, most, count):
    square = x * x
    mean[j] += weight * square
    most[j] = max(most[j], square)
    if square > 0.0:
        count[j] += 1.0


@generic
def measure_row(X, i, weight, mean, most, count):
    """Add the entries of row i to what is known of their columns."""


@measure_row.register
def _(X: Dense, i, weight, mean, most, count):
    row = X.values[i]
    for j in range(len(row)):
        measure(row[j], j, weight, mean, most, count)


@measure_row.register
def _(X: CSR, i, weight, mean, most, count):
    for p in range(X.indptr[i], X.indptr[i + 1]):
        measure(X.data[p], X.indices[p], weight, mean, most, count)


@measure_row.register
def _(X: WithIntercept, i, weight, mean, most, count):
    measure_row(X.rows, i, weight, mean, most, count)
    measure(1.0, len(mean) - 1, weight, mean, most, count)


@generic
def weighted_square(X, i, weight):
    """``sum_j weight_j x_ij^2``."""


@weighted_square.register
def _(X: Dense, i, weight):
    row = X.values[i]
    total = 0.0
    for j in range(len(row)):
        total += weight[j] * row[j] * row[j]
    return total


@weighted_square.register
def _(X: CSR, i, weight):
    total = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        total += weight[X.indices[p]] * X.data[p] * X.data[p]
    return total


@weighted_square.register
def _(X: WithIntercept, i, weight):
    return weighted_square(X.rows, i, weight) + weight[-1]
