"""Row kernels: what compiled loops do with one row of X or A, for each form that a matrix can have.

Every function that needs to know whether a matrix is `Dense`, `CSR`, `WithIntercept` or `Repeated` inside a compiled
loop is here, so that a new form of matrix needs only this file and the conversions in `matrices`.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import generic, inlined, inlined_sum
from .matrices import CSR, Dense, Repeated, Rows, WithIntercept, to_scipy

__all__ = [
    "add_row",
    "add_weighted_row",
    "entries",
    "measure_columns",
    "row_dot",
    "row_dots",
    "weighted_squares",
]


@inlined
def entries(M: CSR, i: int) -> range:
    """Where the entries of row i lie. Unsigned, since compiled code tests each signed index for being negative."""
    return range(np.uint64(M.indptr[i]), np.uint64(M.indptr[i + 1]))


@generic
def row_dot(M: Rows, i: int, x: np.ndarray):
    """``<M_i, x>``."""


@row_dot.register
def dense_row_dot(M: Dense, i: int, x: np.ndarray) -> float:
    return dot(M.values[i], x)


@inlined_sum
def dot(row: np.ndarray, x: np.ndarray) -> float:
    total = 0.0
    for j in range(len(row)):
        total += row[j] * x[j]
    return total


@row_dot.register
def csr_row_dot(M: CSR, i: int, x: np.ndarray) -> float:
    total = 0.0
    for p in entries(M, i):
        total += M.data[p] * x[M.indices[p]]
    return total


@row_dot.register
def with_intercept_row_dot(M: WithIntercept, i: int, x: np.ndarray) -> float:
    return row_dot(M.rows, i, x) + x[-1]


@row_dot.register
def repeated_row_dot(M: Repeated, i: int, x: np.ndarray) -> float:
    return row_dot(M.rows, i // M.times, x[i % M.times :: M.times])


@generic
def row_dots(M: Rows, i: int, x: np.ndarray, y: np.ndarray):
    """``<M_i, x>`` and ``<M_i, y>``: twice `row_dot`, at the cost of reading the row once."""


@row_dots.register
def dense_row_dots(M: Dense, i: int, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    return dots(M.values[i], x, y)


@inlined_sum
def dots(row: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    with_x = with_y = 0.0
    for j in range(len(row)):
        with_x += row[j] * x[j]
        with_y += row[j] * y[j]
    return with_x, with_y


@row_dots.register
def csr_row_dots(M: CSR, i: int, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    with_x = with_y = 0.0
    for p in entries(M, i):
        with_x += M.data[p] * x[M.indices[p]]
        with_y += M.data[p] * y[M.indices[p]]
    return with_x, with_y


@row_dots.register
def with_intercept_row_dots(M: WithIntercept, i: int, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    with_x, with_y = row_dots(M.rows, i, x, y)
    return with_x + x[-1], with_y + y[-1]


@row_dots.register
def repeated_row_dots(M: Repeated, i: int, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    return row_dots(M.rows, i // M.times, x[i % M.times :: M.times], y[i % M.times :: M.times])


@generic
def add_row(M: Rows, i: int, scale: float, out: np.ndarray):
    """``out += scale M_i``."""


@add_row.register
def dense_add_row(M: Dense, i: int, scale: float, out: np.ndarray) -> None:
    row = M.values[i]
    for j in range(len(row)):
        out[j] += scale * row[j]


@add_row.register
def csr_add_row(M: CSR, i: int, scale: float, out: np.ndarray) -> None:
    for p in entries(M, i):
        out[M.indices[p]] += scale * M.data[p]


@add_row.register
def with_intercept_add_row(M: WithIntercept, i: int, scale: float, out: np.ndarray) -> None:
    add_row(M.rows, i, scale, out)
    out[-1] += scale


@add_row.register
def repeated_add_row(M: Repeated, i: int, scale: float, out: np.ndarray) -> None:
    add_row(M.rows, i // M.times, scale, out[i % M.times :: M.times])


@generic
def add_weighted_row(M: Rows, i: int, scale: float, weight: np.ndarray, out: np.ndarray):
    """``out_j += scale M_ij weight_j``."""


@add_weighted_row.register
def dense_add_weighted_row(M: Dense, i: int, scale: float, weight: np.ndarray, out: np.ndarray) -> None:
    row = M.values[i]
    for j in range(len(row)):
        out[j] += scale * row[j] * weight[j]


@add_weighted_row.register
def csr_add_weighted_row(M: CSR, i: int, scale: float, weight: np.ndarray, out: np.ndarray) -> None:
    for p in entries(M, i):
        j = M.indices[p]
        out[j] += scale * M.data[p] * weight[j]


@add_weighted_row.register
def with_intercept_add_weighted_row(
    M: WithIntercept, i: int, scale: float, weight: np.ndarray, out: np.ndarray
) -> None:
    add_weighted_row(M.rows, i, scale, weight, out)
    out[-1] += scale * weight[-1]


@add_weighted_row.register
def repeated_add_weighted_row(M: Repeated, i: int, scale: float, weight: np.ndarray, out: np.ndarray) -> None:
    add_weighted_row(M.rows, i // M.times, scale, weight[i % M.times :: M.times], out[i % M.times :: M.times])


# --- the sizes of rows and columns -----------------------------------------------------------------------------------


def weighted_squares(M: Rows, weight: np.ndarray) -> np.ndarray:
    """``sum_j weight_j M_ij^2`` for each row."""
    if isinstance(M, WithIntercept):
        return weighted_squares(M.rows, weight[:-1]) + weight[-1]
    if isinstance(M, Repeated):
        of_outputs = [weighted_squares(M.rows, weight[output :: M.times]) for output in range(M.times)]
        return np.stack(of_outputs, axis=1).reshape(-1)
    if isinstance(M, Dense):
        return np.einsum("ij,ij,j->i", M.values, M.values, weight)
    assert isinstance(M, CSR)
    return to_scipy(M._replace(data=M.data * M.data)) @ weight


def measure_columns(M: Rows, c: np.ndarray, mean: np.ndarray, most: np.ndarray, share: np.ndarray) -> None:
    """For each column the mean of ``c_i M_ij^2``, the largest ``M_ij^2``, and the fraction of non-zero entries."""
    n = len(c)
    if isinstance(M, WithIntercept):
        measure_columns(M.rows, c, mean[:-1], most[:-1], share[:-1])
        mean[-1], most[-1], share[-1] = c.sum() / n, 1.0, 1.0
    elif isinstance(M, Repeated):
        for output in range(M.times):
            chosen = slice(output, None, M.times)
            measure_columns(M.rows, c[chosen], mean[chosen], most[chosen], share[chosen])
            share[chosen] /= M.times
            mean[chosen] /= M.times
    elif isinstance(M, Dense):
        mean[:] = np.einsum("i,ij,ij->j", c, M.values, M.values) / n
        most[:] = np.maximum(M.values.max(axis=0), -M.values.min(axis=0)) ** 2
        share[:] = np.count_nonzero(M.values, axis=0) / n
    elif isinstance(M, CSR):
        squares, d = M.data * M.data, M.columns
        mean[:] = np.bincount(M.indices, np.repeat(c, np.diff(M.indptr)) * squares, d) / n
        np.maximum.at(most, M.indices, squares)
        share[:] = np.bincount(M.indices[squares > 0.0], minlength=d) / n
