"""Newton's system, solved by structure.

    M = X' diag(rows) X + A' diag(edges) A + diag(ridge)

X and A stay, the weights change from step to step. `system_for` chooses how to solve ``M x = rhs`` by counted cost:

- ``dense``: the d x d matrix and its Cholesky factor;
- ``n-space``: fewer rows than features. Woodbury's formula over a sparse factor of ``A' diag(edges) A + diag(ridge)``;
- ``sparse``: a sparse factor of M itself;
- ``banded``: X'X is diagonal, and the rows of A are narrow bands, as those of a trend: LAPACK's banded factors of the
  same matrix as in t-space, or of the whole system where rounding errors would be large;
- ``t-space``: X'X is diagonal. Woodbury's formula over ``X' diag(rows) X + diag(ridge)``, which is diagonal. It is
  better conditioned than ``sparse`` for differences of higher order with large weights;
- ``conjugate gradients``: many rows and features, X sparse. The preconditioner is a sparse factor of M with all
  off-diagonal entries of ``X' diag(rows) X`` left out.

An intercept is a border of one row and one column around any of these. If groups of rows of A are coupled (`coupling`),
their terms are part of the dense matrix, or of the sparse factors; groups with entries in many columns are added to
sparse factors by Woodbury's formula. Every solution is refined by conjugate gradients
on M, with the factor as preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..rows.matrices import (
    CSR,
    Dense,
    Repeated,
    Rows,
    WithIntercept,
    as_csr,
    innermost,
    is_streamed,
    plain,
    size,
    to_scipy,
)
from .banded_system import BandedSystem, bands_of
from .coupling import NO_GROUPS, Coupling, Groups, split
from .dense_systems import DenseSystem, RowSpace
from .sparse_factor import Pattern, gram_pattern, is_graph, pairs_of
from .sparse_systems import Bordered, ConjugateGradients, Downdated, EdgeSpace, SparseSystem
from .system import System

__all__ = ["PASS", "System", "pass_cost", "system_for"]

DENSE_FEATURES = 2000  # up to which the d x d matrix is formed even if X has fewer entries
CHEAP = 3e7  # flops of a dense factorisation, a few ms, below which no other way is worth counting and compiling
FEW_FEATURES = 200  # up to which it is not worth counting with any number of rows
SPARSE = 40.0  # the cost of a multiplication in sparse loops, relative to one in BLAS
PANEL = 8.0  # of one in a sparse substitution with many right-hand sides
PASS = 10.0  # of one in a product with a sparse matrix
STEPS = 100  # of conjugate gradients that a solution may need; a factor is also more robust
MOST_FILL = 5e7  # entries of a sparse factor
MOST_PAIRS, MOST_PAIRS_A_FEATURE = 2e6, 10.0  # products of two entries of a row of X, if X'X is to be sparse
WIDEST = 100  # columns of a group whose rank-one term is part of a sparse factor
MOST_DENSE = 2**25  # entries of the dense n x d array in n-space, if X itself has fewer


class Option(NamedTuple):
    """A way to solve the system: its cost, and a function that makes the `System`."""

    flops: float
    make: Callable[[], System]


def system_for(X: Rows, A: CSR, groups: Groups = NO_GROUPS) -> System:
    """The cheapest way to solve Newton's system for these shapes and patterns. Only symbolic work is done here.

    Parameters
    ----------
    X : Rows
        Possibly `WithIntercept`.
    A : CSR
    groups : Groups, optional
        The rows of A that are coupled.

    Returns
    -------
    system : System
        Call its ``factor(rows, edges, ridge, bends)`` and then its ``solve(rhs)``, as often as the weights change.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from adasadmm.rows.matrices import as_csr, as_rows
    >>> from adasadmm.linalg.systems import system_for
    >>> X, A = as_rows(sp.eye_array(3)), as_csr([[1.0, -1.0, 0.0]], "A")
    >>> system = system_for(X, A)
    >>> system.factor(np.ones(3), np.ones(1), np.zeros(3))
    >>> system.solve(np.array([1.0, 1.0, 2.0]))
    array([1., 1., 2.])
    """
    options = [Option(size(X) * X.shape[1], lambda: DenseSystem(X, A, groups))]  # what one pass can gather
    if not is_streamed(X):
        options = in_memory(_sparse_if_diagonal(X), _without_zeros(A), groups)
    best = min(options, key=lambda option: option.flops)
    system = best.make()
    system.flops = best.flops
    return system


def in_memory(X: Rows, A: CSR, groups: Groups) -> list[Option]:
    """The ways for rows in memory; if the dense one is cheap, no other is counted."""
    if isinstance(X, Repeated):
        dense = Option(X.times * _dense_cost(X.rows), lambda: DenseSystem(X, A, groups))
        return [dense] if X.shape[1] <= DENSE_FEATURES else in_memory(as_csr(plain(X), "X"), A, groups)
    inner = X.rows if isinstance(X, WithIntercept) else X
    assert isinstance(inner, (Dense, CSR))
    is_diagonal, options = _is_diagonal(inner) and inner.shape[1] > 1, []
    if not is_diagonal and (X.shape[1] <= DENSE_FEATURES or X.shape[1] ** 2 <= size(X)):
        options.append(Option(_dense_cost(X), lambda: DenseSystem(X, A, groups)))
    if not options or (options[0].flops > CHEAP and X.shape[1] > FEW_FEATURES):
        options += bordered(X, A, groups) if isinstance(X, WithIntercept) else structured(inner, A, groups)
    return options


def bordered(X: WithIntercept, A: CSR, groups: Groups) -> list[Option]:
    """The ways for an intercept as a border around the other coordinates."""
    assert isinstance(X.rows, (Dense, CSR))
    inner = structured(X.rows, as_csr(to_scipy(A)[:, :-1], "A"), groups)

    def around(option: Option) -> Option:
        return Option(1.1 * option.flops, lambda: Bordered(X, A, option.make(), groups))

    return [around(option) for option in inner]


def structured(X: Dense | CSR, A: CSR, groups: Groups) -> list[Option]:
    """The ways that keep the sparse structure; groups with entries in many columns are added to each of them."""
    narrow, wide = split(A, groups, WIDEST)
    solutions = len(wide.sizes) * PASS * 4.0 * (size(X) + size(A))

    def around(option: Option) -> Option:
        return Option(option.flops + solutions, lambda: Downdated(X, A, option.make(), groups, wide))

    options = sparse(X, A, narrow)
    return [around(option) for option in options] if len(wide.sizes) else options


def sparse(X: Dense | CSR, A: CSR, groups: Groups) -> list[Option]:
    """The ways with sparse factors, as far as these fit into memory."""
    n, d = X.shape
    bands = bands_of(A) if _is_diagonal(X) and not len(groups.sizes) else None
    if bands is not None:  # no order of elimination costs less
        assert isinstance(X, CSR)
        return [Option(PASS * len(bands.values) * (bands.span + 1.0) ** 2, lambda: BandedSystem(X, A, bands))]
    U = Coupling(A, groups).U
    of_A = gram_pattern([A, U], MOST_FILL)
    if _is_diagonal(X):
        assert isinstance(X, CSR)
        found = diagonal(X, A, groups, of_A)
        if found:
            return found
    passes = STEPS * PASS * 4.0 * (size(X) + size(A) + (d if of_A is None else of_A.nnz))
    of_base = 0.0 if of_A is None else SPARSE * _cost(of_A)
    options = [Option(of_base + passes, lambda: ConjugateGradients(X, A, of_A, groups))]
    if of_A is not None and n < d and n * d <= max(MOST_DENSE, 2 * size(X)):
        cost = of_base + PANEL * n * of_A.nnz + n * n * d + n**3 / 3
        options.append(Option(cost, lambda: RowSpace(X, A, of_A, groups)))
    if isinstance(X, CSR) and pairs_of(X) <= MOST_PAIRS + MOST_PAIRS_A_FEATURE * d:
        best = min(option.flops for option in options)
        # A factor with k entries takes at least k^2 / d multiplications, so one with more entries cannot be cheaper.
        whole = gram_pattern([X, A, U], min(MOST_FILL, np.sqrt(2.0 * d * best / SPARSE)))
        if whole is not None:
            cost = SPARSE * (_cost(whole) + pairs_of(X) + pairs_of(A) + pairs_of(U))
            options.append(Option(cost, lambda: SparseSystem(X, A, whole, groups)))
    return options


def diagonal(X: CSR, A: CSR, groups: Groups, of_A: Pattern | None) -> list[Option]:
    """X'X is diagonal. The factor of M is exact for differences of two coordinates; for others t-space is better."""
    coupled = len(groups.sizes) > 0
    if of_A is not None and (is_graph(A) or coupled):
        return [Option(SPARSE * (_cost(of_A) + pairs_of(A)), lambda: SparseSystem(X, A, of_A, groups))]
    transposed = as_csr(to_scipy(A).T.tocsr(), "A")
    of_edges = None if coupled else gram_pattern([transposed], MOST_FILL)
    if of_edges is not None:
        cost = SPARSE * (_cost(of_edges) + pairs_of(transposed))
        return [Option(cost, lambda: EdgeSpace(X, A, transposed, of_edges))]
    if of_A is not None:
        return [Option(SPARSE * (_cost(of_A) + pairs_of(A)), lambda: SparseSystem(X, A, of_A, groups))]
    return []


# --- costs -----------------------------------------------------------------------------------------------------------


def pass_cost(X: Rows) -> float:
    """Multiplications of one product with X, at the speed of BLAS."""
    return (PASS if isinstance(innermost(X), CSR) else 1.0) * size(X)


def _cost(pattern: Pattern) -> float:
    """Multiplications of one sparse factorisation and solution."""
    return pattern.flops / 2.0 + 2.0 * pattern.nnz


def _dense_cost(X: Rows) -> float:
    n, d = X.shape
    inner = X.rows if isinstance(X, WithIntercept) else X
    of_rows = SPARSE * pairs_of(inner) if isinstance(inner, CSR) else n * d * d / 2.0
    return min(of_rows, n * d * d / 2.0) + d**3 / 6.0 + d * d


def _is_diagonal(X: Rows) -> bool:
    """Whether X'X is diagonal, since no row has two entries."""
    return isinstance(X, CSR) and bool((np.diff(X.indptr) <= 1).all())


def _sparse_if_diagonal(X: Rows) -> Rows:
    """A dense X of several columns without a row with two entries, as sparse rows; sparse rows without stored zeros."""
    if isinstance(X, WithIntercept):
        return WithIntercept(_sparse_if_diagonal(X.rows))
    if isinstance(X, Repeated):
        return X
    if isinstance(X, CSR):
        return _without_zeros(X)
    assert isinstance(X, Dense)
    values = X.values
    if X.shape[1] > 1 and np.count_nonzero(values[:1]) <= 1 and np.count_nonzero(values, axis=1).max(initial=0) <= 1:
        return as_csr(sp.csr_array(values), "X")
    return X


def _without_zeros(M: CSR) -> CSR:
    """The matrix without stored zeros, which would look like structure."""
    if M.data.all():
        return M
    matrix = to_scipy(M).copy()
    matrix.eliminate_zeros()
    return as_csr(matrix, "M")
