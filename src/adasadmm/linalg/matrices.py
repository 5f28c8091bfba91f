"""Rows of X and of A behind one interface, dense or sparse, and the one gate that brings arrays into one form.

Each variety of an array (Fortran order, read-only, 32-bit, ...) would be compiled anew, so whatever comes in leaves
``as_rows`` and ``as_vector`` as float64, C-ordered, contiguous; sparse matrices as CSR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.jit import generic

__all__ = [
    "CSR",
    "Dense",
    "WithIntercept",
    "add_row",
    "as_part",
    "as_rows",
    "as_vector",
    "differences",
    "row_dot",
]

UNSIGNED: dict[type, type] = {np.int32: np.uint32, np.int64: np.uint64}


class Dense(NamedTuple):
    """Rows of a C-ordered array."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape  # type: ignore[return-value]


class CSR(NamedTuple):
    """Rows of a compressed sparse matrix. Its indices are unsigned: compiled code need not ask for their sign."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.columns


class WithIntercept(NamedTuple):
    """Rows with a 1 behind each, without a copy of the matrix."""

    rows: Any

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.rows.shape
        return n, d + 1


Rows = Dense | CSR | WithIntercept


@generic
def row_dot(M, i, x):
    """``<M_i, x>``."""


@row_dot.register
def _(M: Dense, i, x):
    row = M.values[i]
    total = 0.0
    for j in range(len(row)):
        total += row[j] * x[j]
    return total


@row_dot.register
def _(M: CSR, i, x):
    total = 0.0
    for p in range(M.indptr[i], M.indptr[i + 1]):
        total += M.data[p] * x[M.indices[p]]
    return total


@row_dot.register
def _(M: WithIntercept, i, x):
    return row_dot(M.rows, i, x) + x[-1]


@generic
def add_row(M, i, scale, out):
    """``out += scale M_i``."""


@add_row.register
def _(M: Dense, i, scale, out):
    row = M.values[i]
    for j in range(len(row)):
        out[j] += scale * row[j]


@add_row.register
def _(M: CSR, i, scale, out):
    for p in range(M.indptr[i], M.indptr[i + 1]):
        out[M.indices[p]] += scale * M.data[p]


@add_row.register
def _(M: WithIntercept, i, scale, out):
    add_row(M.rows, i, scale, out)
    out[-1] += scale


def differences(A: CSR) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """``first``, ``second`` and ``weight`` where each row of A is ``weight (w_first - w_second)``; None where not."""
    if (np.diff(A.indptr) != 2).any():
        return None
    ends, values = A.indices.reshape(-1, 2), A.data.reshape(-1, 2)
    if (values[:, 0] != -values[:, 1]).any():
        return None
    return ends[:, 0].copy(), ends[:, 1].copy(), values[:, 0].copy()


def size(M: Rows) -> int:
    """The numbers that are stored."""
    return size(M.rows) if isinstance(M, WithIntercept) else M.values.size if isinstance(M, Dense) else M.data.size


def taken(M: Rows, rows: np.ndarray) -> Rows:
    """Some rows, chosen by their numbers."""
    if isinstance(M, WithIntercept):
        return WithIntercept(taken(M.rows, rows))
    return Dense(M.values[rows]) if isinstance(M, Dense) else as_csr(to_scipy(M)[rows], "rows")


def dense_block(M: Rows, rows: slice) -> np.ndarray:
    """Some rows as a dense array."""
    if isinstance(M, WithIntercept):
        inner = dense_block(M.rows, rows)
        return np.column_stack([inner, np.ones(len(inner))])
    return M.values[rows] if isinstance(M, Dense) else to_scipy(M)[rows].toarray()


def head(M: Rows, count: int) -> Rows:
    """A copy of the first rows, which does not hold the others in memory."""
    if isinstance(M, WithIntercept):
        return WithIntercept(head(M.rows, count))
    if isinstance(M, Dense):
        return Dense(M.values[:count].copy())
    indptr = M.indptr[: count + 1].copy()
    return CSR(M.data[: indptr[-1]].copy(), M.indices[: indptr[-1]].copy(), indptr, M.columns)


def stacked(blocks: Sequence[Any]) -> Rows:
    """Blocks of one kind, one under the other."""
    if len(blocks) == 1:
        return blocks[0]
    if isinstance(blocks[0], WithIntercept):
        return WithIntercept(stacked([block.rows for block in blocks]))
    if isinstance(blocks[0], Dense):
        return Dense(np.vstack([block.values for block in blocks]))
    return as_rows(sp.vstack([to_scipy(block) for block in blocks], format="csr"))


def plain(M: Rows) -> Any:
    """The matrix as NumPy or SciPy know it; a copy where it has an intercept."""
    if isinstance(M, WithIntercept):
        inner, ones = plain(M.rows), np.ones((M.shape[0], 1))
        return sp.hstack([inner, ones], format="csr") if sp.issparse(inner) else np.hstack([inner, ones])
    return M.values if isinstance(M, Dense) else to_scipy(M)


def columns(M: Rows, chosen: np.ndarray) -> Rows:
    """Some columns, chosen by a mask."""
    if chosen.all():
        return M
    if isinstance(M, WithIntercept):
        inner = columns(M.rows, chosen[:-1])
        return WithIntercept(inner) if chosen[-1] else inner
    if isinstance(M, Dense):
        return Dense(np.ascontiguousarray(M.values[:, chosen]))
    return as_rows(to_scipy(M)[:, np.flatnonzero(chosen)])


def absolute(M: Rows) -> Rows:
    """The absolute values."""
    if isinstance(M, WithIntercept):
        return WithIntercept(absolute(M.rows))
    return Dense(np.abs(M.values)) if isinstance(M, Dense) else M._replace(data=np.abs(M.data))


def as_rows(matrix: Any, name: str = "X") -> Rows:
    """The gate for matrices: dense stays dense, sparse becomes CSR with 32-bit indices where they suffice.

    What has passed it already passes again as it is.

    Raises
    ------
    ValueError
        If the matrix is not two-dimensional or holds NaN or infinity.
    """
    if isinstance(matrix, (Dense, CSR, WithIntercept)):
        return matrix
    if sp.issparse(matrix):
        if matrix.ndim != 2:
            raise ValueError(f"{name} must be two-dimensional, got shape {matrix.shape}")
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        width = index_type(matrix.nnz, max(matrix.shape))
        data = _finite(_plain(matrix.data, np.float64, name), name)
        indices: np.ndarray = _plain(matrix.indices, width, name).view(UNSIGNED[width])
        return CSR(data, indices, _plain(matrix.indptr, width, name), int(matrix.shape[1]))
    array = _plain(matrix, np.float64, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional, got shape {array.shape}")
    return Dense(_finite(array, name))


def as_csr(matrix: Any, name: str) -> CSR:
    """The gate for A and B, which are sparse by nature: always CSR."""
    rows = as_rows(matrix, name)
    return rows if isinstance(rows, CSR) else as_rows(sp.csr_array(rows.values), name)  # type: ignore


def as_vector(vector: Any, length: int, name: str) -> np.ndarray:
    """The gate for vectors: float64, finite, of the length asked for."""
    array = _plain(vector, np.float64, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0].copy()
    if array.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {array.shape}")
    return _finite(array, name)


def as_part(part: Any, name: str) -> Any:
    """The gate for losses, penalties, metrics: numbers become floats (``L1(1)`` must not compile anew), arrays plain.

    A field annotated ``int`` or ``bool`` keeps its type, and so do arrays of integers.
    """
    if not hasattr(part, "_fields") or isinstance(part, type):
        hint = f"; write {part.__name__}(...)" if isinstance(part, type) else ""
        raise TypeError(f"{name} must be an instance of a NamedTuple class, got {part!r}{hint}")
    kinds = _annotations(type(part))
    fields = (_as_field(value, kinds.get(key, ""), f"{key} of {name}") for key, value in part._asdict().items())
    return part._make(fields)


def _annotations(cls: type) -> dict[str, str]:
    """The names of the fields' types; a NamedTuple keeps a postponed annotation as a ForwardRef."""
    kinds = {key: kind for base in reversed(cls.__mro__) for key, kind in getattr(base, "__annotations__", {}).items()}
    return {key: getattr(kind, "__forward_arg__", getattr(kind, "__name__", str(kind))) for key, kind in kinds.items()}


def _as_field(value: Any, kind: str, name: str) -> Any:
    if hasattr(value, "_fields"):
        return as_part(value, name)
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        return {"int": int, "bool": bool}.get(kind, float)(value)
    if kind == "float" and (value is None or isinstance(value, str)):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if isinstance(value, (list, range)) or hasattr(value, "__array__"):  # a pandas Series, too
        whole = np.asarray(value).dtype.kind in "iu" and isinstance(value, np.ndarray)
        return _plain(value, np.int64 if whole else np.float64, name)
    return value


def index_type(nnz: int, largest: int) -> type:
    """32-bit indices while the non-zeros and the shape fit, 64-bit beyond."""
    return np.int32 if max(nnz, largest) < 2**31 else np.int64


def to_scipy(M: CSR) -> sp.csr_array:
    """A SciPy view of the same arrays."""
    return sp.csr_array((M.data, M.indices.view(M.indptr.dtype), M.indptr), shape=M.shape)


def _plain(array: Any, dtype: type, name: str) -> np.ndarray:
    """C-ordered, contiguous, writable, of one type; a copy only where the array is not so already."""
    if np.iscomplexobj(array):  # NumPy would drop the imaginary part
        raise ValueError(f"{name} must hold real numbers, got complex ones")
    try:
        return np.require(array, dtype, ["C", "A", "W", "E"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None


def _finite(array: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        likely = np.isfinite(array.sum())  # one look at each number, and no array of answers
    if not likely and not np.isfinite(array).all():
        place = np.unravel_index(np.flatnonzero(~np.isfinite(array))[0], array.shape)
        raise ValueError(f"{name} must be finite, got {array[place]} at position {tuple(int(i) for i in place)}")
    return array
