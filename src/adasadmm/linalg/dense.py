"""Dense linear algebra for the full metric: products, square roots and inverses by BLAS and LAPACK, and root updates.

Only the upper triangle of a symmetric matrix is kept, where rows are the rows of a C-ordered array. Each function is
compiled once for all losses and penalties.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import compiled, fortran

__all__ = [
    "add_squares",
    "diagonalise",
    "dot",
    "follow_root",
    "invert",
    "root_rule",
    "symmetric_times",
    "take_root",
    "times",
]

dgemm, dsyrk = fortran("blas", "dgemm", 13), fortran("blas", "dsyrk", 10)
dgemv, dsymv = fortran("blas", "dgemv", 11), fortran("blas", "dsymv", 10)
dsyevd, dpotrf, dpotri = fortran("lapack", "dsyevd", 11), fortran("lapack", "dpotrf", 5), fortran("lapack", "dpotri", 5)
# FORTRAN is column-major: it sees the upper triangle of a C-ordered array as the lower one.
AS_IT_IS, TRANSPOSED, LOWER, VECTORS = (np.array([ord(letter)], np.uint8) for letter in "NTLV")
ZERO, ONE = np.zeros(1), np.ones(1)
LEAST = 1e-14  # eigenvalues below this fraction of the largest count as 0: eigh is no more accurate


# --- BLAS and LAPACK -------------------------------------------------------------------------------------------------
# FORTRAN takes integers by address, so each function puts its integers into an array ``n``. Reading an entry of ``n``
# after the call keeps the compiler from freeing the array before the call ends.


@compiled
def dot(A: np.ndarray, rows: int, B: np.ndarray, out: np.ndarray) -> int:
    """``out = A B`` for the first ``rows`` rows of A."""
    n = np.array([B.shape[1], rows, A.shape[1]], np.int32)
    at, B_at, out_at = n.ctypes.data, B.ctypes.data, out.ctypes.data
    kind = AS_IT_IS.ctypes.data
    dgemm(
        kind, kind, at, at + 4, at + 8, ONE.ctypes.data, B_at, at, A.ctypes.data, at + 8, ZERO.ctypes.data, out_at, at
    )
    return n[0]


@compiled
def times(M: np.ndarray, rows: int, x: np.ndarray, out: np.ndarray) -> int:
    """``out = M x`` for the first ``rows`` rows of M."""
    n = np.array([M.shape[1], rows, 1], np.int32)
    at, one = n.ctypes.data, n.ctypes.data + 8
    M_at, x_at, out_at = M.ctypes.data, x.ctypes.data, out.ctypes.data
    dgemv(TRANSPOSED.ctypes.data, at, at + 4, ONE.ctypes.data, M_at, at, x_at, one, ZERO.ctypes.data, out_at, one)
    return n[0]


@compiled
def symmetric_times(M: np.ndarray, x: np.ndarray, out: np.ndarray) -> int:
    """``out = M x`` for a symmetric M."""
    n = np.array([len(x), 1], np.int32)
    at, one = n.ctypes.data, n.ctypes.data + 4
    M_at, x_at, out_at = M.ctypes.data, x.ctypes.data, out.ctypes.data
    dsymv(LOWER.ctypes.data, at, ONE.ctypes.data, M_at, at, x_at, one, ZERO.ctypes.data, out_at, one)
    return n[0]


@compiled
def add_squares(W: np.ndarray, rows: int, G: np.ndarray) -> int:
    """``G += W' W`` for the first ``rows`` rows of W."""
    n = np.array([len(G), rows], np.int32)
    at, one = n.ctypes.data, ONE.ctypes.data
    dsyrk(LOWER.ctypes.data, AS_IT_IS.ctypes.data, at, at + 4, one, W.ctypes.data, at, one, G.ctypes.data, at)
    return n[0]


@compiled
def eigen(M: np.ndarray, values: np.ndarray) -> float:
    """Replace a symmetric M by its eigenvectors, one in each row; by NaN if M is not finite or LAPACK fails."""
    d = len(M)
    finite = True
    for i in range(d):
        for j in range(i, d):
            finite = finite and np.isfinite(M[i, j])
    n = np.array([d, 1 + 6 * d + 2 * d * d, 3 + 5 * d, 0], np.int32)
    work, whole = np.empty(n[1]), np.empty(n[2], np.int32)
    if finite:
        at, M_at, values_at, work_at = n.ctypes.data, M.ctypes.data, values.ctypes.data, work.ctypes.data
        kind, lower, whole_at = VECTORS.ctypes.data, LOWER.ctypes.data, whole.ctypes.data
        dsyevd(kind, lower, at, M_at, at, values_at, work_at, at + 4, whole_at, at + 8, at + 12)
    if not finite or n[3] != 0:
        values[:] = np.nan
        M[:] = np.nan
    return work[0] + whole[0]


@compiled
def invert_positive(M: np.ndarray) -> None:
    """Replace a positive definite M by its inverse, computed from its Cholesky factor; by NaN if there is none."""
    n = np.array([len(M), 0], np.int32)
    at, M_at = n.ctypes.data, M.ctypes.data
    dpotrf(LOWER.ctypes.data, at, M_at, at, at + 4)
    if n[1] == 0:
        dpotri(LOWER.ctypes.data, at, M_at, at, at + 4)
    if n[1] != 0:
        M[:] = np.nan


@compiled
def copy(x: np.ndarray, out: np.ndarray) -> None:
    """``out[:] = x`` for vectors. numba's slice assignment takes seconds to compile, because of its error message."""
    for j in range(len(x)):
        out[j] = x[j]


@compiled
def transpose(M: np.ndarray, out: np.ndarray) -> None:
    """``out = M'``."""
    for i in range(len(M)):
        for j in range(len(M)):
            out[j, i] = M[i, j]


# --- the operations of the full metric -------------------------------------------------------------------------------


@compiled
def take_root(G: np.ndarray, roots: np.ndarray, U: np.ndarray, S: np.ndarray) -> None:
    """``S = G^{1/2} = U' diag(roots) U``; eigenvalues that are negative by rounding count as 0."""
    d = len(G)
    half = np.empty_like(U)
    for i in range(d):
        copy(G[i], U[i])
    eigen(U, roots)
    for i in range(d):
        roots[i] = np.sqrt(max(roots[i], 0.0))
        for j in range(d):
            half[i, j] = np.sqrt(roots[i]) * U[i, j]
    S[:] = 0.0
    add_squares(half, d, S)


@compiled
def invert(S: np.ndarray, a: float, inverse_eta: float, matrix: np.ndarray) -> None:
    """Replace Q in ``matrix`` by the inverse of ``inverse_eta (a I + S) + Q``."""
    for i in range(len(S)):
        matrix[i, i] += inverse_eta * a
        for j in range(i, len(S)):
            matrix[i, j] += inverse_eta * S[i, j]
    invert_positive(matrix)


@compiled
def diagonalise(
    U: np.ndarray, roots: np.ndarray, a: float, matrix: np.ndarray, transposed: np.ndarray, spread: np.ndarray
) -> None:
    """Replace Q in ``matrix`` by T with ``T'(a I + S) T = I`` and ``T'Q T = diag(spread)``."""
    d = len(U)
    half, product = np.empty_like(U), np.empty_like(U)
    for i in range(d):
        for j in range(d):
            half[i, j] = U[i, j] / np.sqrt(a + roots[i])
    dot(half, d, matrix, product)
    transpose(half, transposed)
    dot(product, d, transposed, matrix)
    eigen(matrix, spread)
    for j in range(d):
        spread[j] = max(spread[j], 0.0)
    dot(matrix, d, half, transposed)
    transpose(transposed, matrix)


@compiled
def square_of_product(M: np.ndarray, x: np.ndarray, small: float) -> tuple[float, float]:
    """``|M'y|^2`` and ``|x - y|^2``, where y is x with its entries of at most ``small`` set to 0."""
    d = len(x)
    out, large, number, rest = np.empty(d), np.empty(d, np.int64), 0, 0.0
    for i in range(d):
        out[i], large[number] = 0.0, i
        if abs(x[i]) <= small:
            rest += x[i] * x[i]
        else:
            number += 1
    for k in range(0, number - number % 4, 4):
        p, q, r, s = large[k], large[k + 1], large[k + 2], large[k + 3]
        a, b, c, e = x[p], x[q], x[r], x[s]
        for j in range(d):
            out[j] += a * M[p, j] + b * M[q, j] + c * M[r, j] + e * M[s, j]
    for k in range(number - number % 4, number):
        for j in range(d):
            out[j] += x[large[k]] * M[large[k], j]
    square = 0.0
    for j in range(d):
        square += out[j] * out[j]
    return square, rest


# --- updates of the root of a growing sum ----------------------------------------------------------------------------


def root_rule(nodes: int) -> np.ndarray:
    """Nodes u and weights c with ``x^{1/2} = sum_j c_j x / (x + u_j^2)`` for x between `LEAST` and 1, and for 0.

    This is the midpoint rule for ``2/pi int x / (x + u^2) du`` after the substitution
    ``u = LEAST^{1/2} sc(t | 1 - LEAST)``, with which the error falls geometrically in the number of nodes (Hale, Higham
    and Trefethen, 2008). The upper half of the nodes follows from the lower half by ``u -> LEAST^{1/2} / u``.
    """
    from scipy.special import ellipj, ellipkm1  # slow to import

    low, end = np.sqrt(LEAST), ellipkm1(LEAST)
    sn, cn, dn, _ = ellipj((np.arange(nodes // 2) + 0.5) * end / nodes, 1.0 - LEAST)
    u, c = low * sn / cn, 2.0 / np.pi * end / nodes * low * dn / cn**2
    return np.array([[*u, *low / u[::-1]], [*c, *(low * c / u**2)[::-1]]])


@compiled
def follow_root(
    g: np.ndarray,
    U: np.ndarray,
    roots: np.ndarray,
    size: float,
    rule: np.ndarray,
    steps: np.ndarray,
    t: int,
    S: np.ndarray,
) -> None:
    """Update ``S = C^{1/2}`` to ``(C + g g')^{1/2}``, where C is ``U' diag(roots)^2 U`` plus t earlier ``g g'``.

    With ``R_j = (C + u_j^2)^{-1}`` and ``z_j = R_j g / (1 + g'R_j g)^{1/2}``, the rule (`root_rule`) says that the root
    grows by ``sum_j c_j u_j^2 z_j z_j'``, and by the Sherman-Morrison formula R_j decreases by ``z_j z_j'``. It is
    therefore enough to keep the z of the earlier steps, in the basis of U (``steps``). No eigenvalue may exceed size^2.
    """
    d, nodes = len(g), rule.shape[1]
    turned, along, bend = np.empty(d), np.empty(t * nodes), np.empty(nodes)
    times(U, d, g, turned)
    z = steps[t * nodes : (t + 1) * nodes]
    for p in range(d):
        turned[p] /= size
    for j in range(nodes):
        for p in range(d):
            z[j, p] = turned[p] / ((roots[p] / size) ** 2 + rule[0, j] ** 2)
    times(steps, t * nodes, turned, along)
    for i in range(t * nodes):
        for p in range(d):
            z[i % nodes, p] -= along[i] * steps[i, p]
    times(z, nodes, turned, bend)
    weighted, growth = np.empty_like(z), np.empty_like(z)
    for j in range(nodes):
        shrink = 1.0 / np.sqrt(1.0 + max(bend[j], 0.0))
        for p in range(d):
            z[j, p] *= shrink
            weighted[j, p] = np.sqrt(size * rule[1, j]) * rule[0, j] * z[j, p]
    dot(weighted, nodes, U, growth)
    add_squares(growth, nodes, S)
