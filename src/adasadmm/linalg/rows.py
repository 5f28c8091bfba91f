"""Row kernels: what compiled loops do with one row of X or A, for each form that a matrix can have.

Every function that needs to know whether a matrix is `Dense`, `CSR`, `WithIntercept` or `Repeated` inside a compiled
loop is here, so that a new form of matrix needs only this file and the conversions in `matrices`.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import compiled, generic, inlined, inlined_sum
from .matrices import CSR, Dense, Repeated, Rows, WithIntercept

__all__ = [
    "add_row",
    "add_weighted_row",
    "entries",
    "measure_columns",
    "measure_row",
    "measure_rows",
    "row_dot",
    "row_dots",
    "weighted_square",
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
def weighted_square(M: Rows, i: int, weight: np.ndarray):
    """``sum_j weight_j M_ij^2``."""


@weighted_square.register
def dense_weighted_square(M: Dense, i: int, weight: np.ndarray) -> float:
    return sum_of_squares(M.values[i], weight)


@inlined_sum
def sum_of_squares(row: np.ndarray, weight: np.ndarray) -> float:
    total = 0.0
    for j in range(len(row)):
        total += weight[j] * row[j] * row[j]
    return total


@weighted_square.register
def csr_weighted_square(M: CSR, i: int, weight: np.ndarray) -> float:
    total = 0.0
    for p in entries(M, i):
        total += weight[M.indices[p]] * M.data[p] * M.data[p]
    return total


@weighted_square.register
def with_intercept_weighted_square(M: WithIntercept, i: int, weight: np.ndarray) -> float:
    return weighted_square(M.rows, i, weight) + weight[-1]


@weighted_square.register
def repeated_weighted_square(M: Repeated, i: int, weight: np.ndarray) -> float:
    return weighted_square(M.rows, i // M.times, weight[i % M.times :: M.times])


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


@compiled
def measure_rows(M: Rows, c: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """``out_i = c_i sum_j weight_j M_ij^2``."""
    for i in range(len(c)):
        out[i] = c[i] * weighted_square(M, i, weight)


@compiled
def measure_columns(M: Rows, c: np.ndarray, mean: np.ndarray, most: np.ndarray, share: np.ndarray) -> None:
    """For each column the mean of ``c_i M_ij^2``, the largest ``M_ij^2``, and the fraction of non-zero entries.

    All three are added to what the arrays hold, so these must start as zeros.
    """
    for i in range(len(c)):
        measure_row(M, i, c[i] / len(c), mean, most, share)
    for j in range(len(share)):
        share[j] /= len(c)


@generic
def measure_row(M: Rows, i: int, weight: float, mean: np.ndarray, most: np.ndarray, count: np.ndarray):
    """Update the weighted sum of squares, the largest square and the count of non-zeros with the entries of row i."""


@measure_row.register
def dense_measure_row(M: Dense, i: int, weight: float, mean: np.ndarray, most: np.ndarray, count: np.ndarray) -> None:
    row = M.values[i]
    for j in range(len(row)):
        measure_entry(row[j], j, weight, mean, most, count)


@measure_row.register
def csr_measure_row(M: CSR, i: int, weight: float, mean: np.ndarray, most: np.ndarray, count: np.ndarray) -> None:
    for p in entries(M, i):
        measure_entry(M.data[p], M.indices[p], weight, mean, most, count)


@measure_row.register
def with_intercept_measure_row(
    M: WithIntercept, i: int, weight: float, mean: np.ndarray, most: np.ndarray, count: np.ndarray
) -> None:
    measure_row(M.rows, i, weight, mean, most, count)
    measure_entry(1.0, len(mean) - 1, weight, mean, most, count)


@measure_row.register
def repeated_measure_row(
    M: Repeated, i: int, weight: float, mean: np.ndarray, most: np.ndarray, count: np.ndarray
) -> None:
    output, step = i % M.times, M.times
    measure_row(M.rows, i // step, weight, mean[output::step], most[output::step], count[output::step])


@inlined
def measure_entry(x: float, j: int, weight: float, mean: np.ndarray, most: np.ndarray, count: np.ndarray) -> None:
    square = x * x
    mean[j] += weight * square
    most[j] = max(most[j], square)
    if square > 0.0:
        count[j] += 1.0
