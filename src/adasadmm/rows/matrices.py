"""The forms that a matrix of rows can have, the gates that bring arrays into one of them, and conversions.

numba compiles a kernel again for each variety of array (Fortran order, read-only, 32-bit, ...). `as_rows` and
`as_vector` therefore return float64 arrays that are C-ordered and contiguous, and sparse matrices as CSR. The row
kernels for these forms are in `rows`.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .streamed import After, Rider, Streamed

__all__ = [
    "CSR",
    "Dense",
    "Repeated",
    "Rows",
    "Streamed",
    "WithIntercept",
    "all_finite",
    "as_csr",
    "as_part",
    "as_rows",
    "as_vector",
    "check_entries",
    "diagonal_of",
    "differences",
    "equal",
    "to_scipy",
]

UNSIGNED: dict[type, type] = {np.int32: np.uint32, np.int64: np.uint64}


class Dense(NamedTuple):
    """Rows of a C-ordered array."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape  # type: ignore[return-value]


class CSR(NamedTuple):
    """Rows of a sparse matrix in compressed form.

    ``indices`` are unsigned, so that compiled code need not handle negative ones.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.columns


class WithIntercept(NamedTuple):
    """Rows with a column of ones appended, without a copy of the matrix."""

    rows: Rows

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.rows.shape
        return n, d + 1


class Repeated(NamedTuple):
    """``rows kron I_times``, without building it: each row predicts several outputs, each by coefficients of its own.

    Row ``i * times + c`` is row i for output c, and the coefficient of feature j for output c is entry
    ``j * times + c``. So a flat vector of coefficients is a d x times matrix, row by row, and so are predictions. An
    intercept belongs inside: those of all outputs are then the last coordinates.
    """

    rows: Rows
    times: int

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.rows.shape
        return n * self.times, d * self.times


Rows = Dense | CSR | WithIntercept | Repeated | Streamed


def differences(A: CSR) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """``first``, ``second`` and ``weight`` if each row of A is ``weight (w_first - w_second)``, else None."""
    if (np.diff(A.indptr) != 2).any():
        return None
    ends, values = A.indices.reshape(-1, 2), A.data.reshape(-1, 2)
    if (values[:, 0] != -values[:, 1]).any():
        return None
    return ends[:, 0].copy(), ends[:, 1].copy(), values[:, 0].copy()


def innermost(M: Rows) -> Dense | CSR | Streamed:
    """The matrix without an intercept, and not repeated."""
    while isinstance(M, (WithIntercept, Repeated)):
        M = M.rows
    return M


def size(M: Rows) -> int:
    """The number of entries that a product uses; of rows that are read block by block, that of a dense matrix."""
    if isinstance(M, Repeated):
        return M.times * size(M.rows)
    inner = innermost(M)
    return inner.data.size if isinstance(inner, CSR) else math.prod(inner.shape)


def each_block(M: Rows, function: Callable[..., Any], *vectors: np.ndarray) -> Iterator[tuple[slice, Any]]:
    """`Streamed.each`, of rows that may have an intercept."""
    inner = innermost(M)
    assert isinstance(inner, Streamed)
    return inner.each(_on_block(M, function), *vectors)


@contextlib.contextmanager
def riding(
    M: Rows, function: Callable[..., Any], receive: Callable[[Any], object], *vectors: np.ndarray
) -> Iterator[Rider]:
    """If a pass is made inside this context, it also calls ``receive(function(block, *parts))`` for each block.

    The rider says whether there was one; for rows in memory there is none.
    """
    inner, rider = innermost(M), Rider(_on_block(M, function), vectors, receive)
    if not isinstance(inner, Streamed):
        yield rider
        return
    inner.rider = rider
    try:
        yield rider
    finally:
        inner.rider = None


def _on_block(M: Rows, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for a block without the intercept that M has."""
    return After(WithIntercept, function) if isinstance(M, WithIntercept) else function


def repeated(M: CSR, times: int) -> CSR:
    """``M kron I_times`` as a sparse matrix: each row of M once for each output."""
    return as_csr(sp.kron(to_scipy(M), sp.eye_array(times), format="csr"), "M") if times > 1 else M


def not_repeated(M: CSR, times: int) -> CSR | None:
    """The matrix whose `repeated` is M; None if there is none."""
    once = as_csr(to_scipy(M)[::times, ::times], "M")
    return once if equal(repeated(once, times), M) else None


def equal(one: Any, other: Any) -> bool:
    """Whether two arrays, or two tuples of arrays such as matrices, hold the same numbers; None equals None."""
    if one is other:
        return True
    if not isinstance(one, tuple):
        return np.array_equal(one, other)
    return isinstance(other, tuple) and len(one) == len(other) and all(map(equal, one, other))


def is_streamed(M: Rows) -> bool:
    """Whether each product with M is a pass over blocks that are not in memory."""
    return isinstance(innermost(M), Streamed)


def dense_block(M: Rows, rows: slice) -> np.ndarray:
    """A slice of the rows as a dense array."""
    if isinstance(M, WithIntercept):
        inner = dense_block(M.rows, rows)
        return np.column_stack([inner, np.ones(len(inner))])
    if isinstance(M, Repeated):
        first, last = rows.start // M.times, -(-rows.stop // M.times)
        whole = np.kron(dense_block(M.rows, slice(first, last)), np.eye(M.times))
        return whole[rows.start - first * M.times : rows.stop - first * M.times]
    assert not isinstance(M, Streamed)
    if isinstance(M, Dense):
        return M.values[rows]
    starts, block = M.indptr[rows.start : rows.stop + 1], np.zeros((rows.stop - rows.start, M.columns))
    chosen = slice(starts[0], starts[-1])
    block[np.repeat(np.arange(len(block)), np.diff(starts)), M.indices[chosen]] = M.data[chosen]
    return block


def plain(M: Rows) -> Any:
    """The matrix as a NumPy array or a SciPy sparse array; a copy only if it has an intercept or is repeated."""
    if isinstance(M, WithIntercept):
        inner, ones = plain(M.rows), np.ones((M.shape[0], 1))
        return sp.hstack([inner, ones], format="csr") if sp.issparse(inner) else np.hstack([inner, ones])
    if isinstance(M, Repeated):
        return sp.kron(sp.csr_array(plain(M.rows)), sp.eye_array(M.times), format="csr")
    assert not isinstance(M, Streamed)
    return M.values if isinstance(M, Dense) else to_scipy(M)


def diagonal_of(M: Rows) -> np.ndarray | None:
    """The diagonal of M if M is square and diagonal, else None; without the column of ones if it has one."""
    inner = M.rows if isinstance(M, WithIntercept) else M
    n, d = inner.shape
    if isinstance(inner, (WithIntercept, Repeated, Streamed)) or n != d:
        return None
    if isinstance(inner, CSR):
        return _sparse_diagonal(inner)
    diagonal = np.diag(inner.values).copy()
    edge = inner.values[0, 1:].any() or inner.values[-1, :-1].any()  # cheap, and enough for most matrices
    return None if edge or np.count_nonzero(inner.values) != np.count_nonzero(diagonal) else diagonal


def _sparse_diagonal(M: CSR) -> np.ndarray | None:
    n = M.columns
    if len(M.data) == n and (M.indices == np.arange(n)).all() and (M.indptr == np.arange(n + 1)).all():
        return M.data
    if len(M.data) > n or (np.repeat(np.arange(n), np.diff(M.indptr)) != M.indices).any():
        return None
    diagonal = np.zeros(n)
    diagonal[M.indices] = M.data
    return diagonal


def as_rows(matrix: Any, name: str = "X") -> Rows:
    """The gate for matrices: dense stays dense, sparse becomes CSR with 32-bit indices where they suffice.

    A matrix that is `Rows` already is returned unchanged.

    Raises
    ------
    ValueError
        If the matrix is not two-dimensional or holds NaN or infinity.
    """
    if isinstance(matrix, (Dense, CSR, WithIntercept, Repeated, Streamed)):
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
    """The gate for A and B, which are always kept as CSR."""
    rows = as_rows(matrix, name)
    return rows if isinstance(rows, CSR) else as_rows(sp.csr_array(rows.values), name)  # type: ignore


def as_vector(vector: Any, length: int, name: str) -> np.ndarray:
    """The gate for vectors: float64, finite, of the given length."""
    array = _plain(vector, np.float64, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0].copy()
    if array.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {array.shape}")
    return _finite(array, name)


def as_part(part: Any, name: str) -> Any:
    """The gate for plug-ins: numbers become floats, arrays float64 or int64.

    Without it ``L1(1)`` and ``L1(1.0)`` would be compiled separately. A field annotated ``int`` or ``bool`` keeps its
    type, and so does an array of integers.
    """
    if not hasattr(part, "_fields") or isinstance(part, type):
        hint = f"write {part.__name__}(...)" if isinstance(part, type) else "for example Hinge() or L1(0.1)"
        raise TypeError(f"{name} must be an instance of a NamedTuple class, got {part!r}; {hint}")
    kinds = _annotations(type(part))  # type: ignore[arg-type]
    named = zip(part._fields, part, strict=True)
    return part._make([_as_field(value, kinds.get(key, ""), f"{key} of {name}") for key, value in named])


@functools.cache
def _annotations(cls: type) -> dict[str, str]:
    """The types of the fields by name; a NamedTuple keeps a postponed annotation as a ForwardRef."""
    kinds = {key: kind for base in reversed(cls.__mro__) for key, kind in getattr(base, "__annotations__", {}).items()}
    return {key: getattr(kind, "__forward_arg__", getattr(kind, "__name__", str(kind))) for key, kind in kinds.items()}


def _as_field(value: Any, kind: str, name: str) -> Any:
    if hasattr(value, "_fields"):
        return as_part(value, name)
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        return {"int": int, "bool": bool}.get(kind, float)(value)
    if kind == "float" and (value is None or isinstance(value, str)):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if isinstance(value, (list, range)) or hasattr(value, "__array__"):  # a pandas Series has it
        whole = np.asarray(value).dtype.kind in "iu" and isinstance(value, np.ndarray)
        return _plain(value, np.int64 if whole else np.float64, name)
    return value


def index_type(nnz: int, largest: int) -> type:
    """int32 if it can count the non-zeros and index both axes, else int64."""
    return np.int32 if max(nnz, largest) < 2**31 else np.int64


def to_scipy(M: CSR) -> sp.csr_array:
    """A SciPy array that shares the data of M."""
    return sp.csr_array((M.data, M.indices.view(M.indptr.dtype), M.indptr), shape=M.shape)


def check_entries(matrix: Any, name: str) -> None:
    """Raise ``ValueError`` for an operator that can only be multiplied by vectors."""
    if isinstance(matrix, LinearOperator):
        raise ValueError(
            f"{name} is a LinearOperator of shape {matrix.shape}, and its entries are needed: pass an array or a "
            f"sparse matrix instead, for instance {name} @ np.eye({matrix.shape[1]})"
        )


def _plain(array: Any, dtype: type, name: str) -> np.ndarray:
    """A C-ordered, contiguous, writable array of this type; a copy only if ``array`` is not one already."""
    check_entries(array, name)
    if np.iscomplexobj(array):  # NumPy would drop the imaginary part
        raise ValueError(f"{name} must hold real numbers, got complex ones")
    try:
        return np.require(array, dtype, ["C", "A", "W", "E"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None


def all_finite(array: np.ndarray) -> bool:
    """Whether no entry is infinite or NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        likely = math.isfinite(np.add.reduce(array, axis=None))  # the common case without a temporary boolean array
    return bool(likely or np.isfinite(array).all())


def _finite(array: np.ndarray, name: str) -> np.ndarray:
    if not all_finite(array):
        place = np.unravel_index(np.flatnonzero(~np.isfinite(array))[0], array.shape)
        raise ValueError(f"{name} must be finite, got {array[place]} at position {tuple(int(i) for i in place)}")
    return array


def inverse_of(M: CSR) -> np.ndarray | None:
    """The inverse as a dense array; None if M is not square or nearly singular."""
    if M.shape[0] != M.columns:
        return None
    dense = to_scipy(M).toarray()
    return np.linalg.inv(dense) if not len(dense) or np.linalg.cond(dense) < 1e12 else None
