"""Matrices for structures other than graphs: differences of higher order, overlapping groups, latent groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..rows.matrices import CSR, UNSIGNED, as_vector, index_type
from .edges import check_length

__all__ = ["LatentGroups", "difference", "difference_rows", "grid_rows", "latent_groups", "overlapping_groups", "trend"]


def difference(n: int, order: int = 1, positions: ArrayLike | None = None) -> sp.csr_array:
    """The matrix of finite differences of a given order, of values at even or uneven positions.

    Order 1 is the chain, ``w_i - w_{i+1}``; order 2 is ``w_i - 2 w_{i+1} + w_{i+2}``. With an L1 penalty on ``A w`` the
    values are piecewise polynomials of degree ``order - 1``.

    At uneven positions x the differences are divided by the distances, as in trend filtering: with ``D_1`` the chain,

        D_{k+1} = D_1 diag(k / (x_{k+1} - x_1), ..., k / (x_n - x_{n-k})) D_k.

    So order 2 takes differences of the slopes ``(w_i - w_{i+1}) / (x_{i+1} - x_i)``. A row of order k + 1 is 0 if and
    only if k + 2 consecutive values lie on a polynomial of degree k in x.

    Parameters
    ----------
    n : int
        The number of values.
    order : int, default=1
        The order of the differences.
    positions : array-like of shape (n,), optional
        Where the values lie: finite and strictly increasing. By default ``0, 1, ..., n - 1``. At a distance h between
        neighbours the matrix is ``h^(1 - order)`` times that for a distance of 1; order 1 does not depend on positions.

    Returns
    -------
    A : csr_array of shape (max(0, n - order), n)

    References
    ----------
    R. J. Tibshirani, Adaptive piecewise polynomial estimation via trend filtering, Annals of Statistics 42, 2014.

    A. Ramdas, R. J. Tibshirani, Fast and flexible ADMM algorithms for trend filtering, Journal of Computational and
    Graphical Statistics 25, 2016.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.difference(4, order=2).toarray()
    array([[ 1., -2.,  1.,  0.],
           [ 0.,  1., -2.,  1.]])

    A straight line has no second differences, however uneven the positions:

    >>> x = [0.0, 1.0, 3.0, 3.5]
    >>> graphs.difference(4, order=2, positions=x) @ x
    array([0., 0.])
    """
    check_length(n, "n")
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise ValueError(f"order must be a whole number >= 1, got {order!r}")
    x = None if positions is None else _as_positions(positions, n)
    A = difference_rows(n, order, x)
    return sp.csr_array((A.data, A.indices.view(A.indptr.dtype), A.indptr), shape=A.shape)


def difference_rows(n: int, order: int, positions: np.ndarray | None, unit: float = 1.0) -> CSR:
    """`difference` of checked arguments, as a CSR record whose rows all have ``order + 1`` entries.

    Distances are divided by ``unit``, and not the positions, which would round those that are far from 0.
    """
    rows = max(0, n - order)
    width = index_type((order + 1) * rows, n)
    bands = difference_bands(n, order, positions, unit)
    columns: np.ndarray = np.empty((rows, order + 1), dtype=width)  # filled by columns, which is faster
    for j in range(order + 1):
        columns[:, j] = np.arange(j, rows + j, dtype=width)
    indptr: np.ndarray = np.arange(0, (order + 1) * rows + 1, order + 1, dtype=width)
    return CSR(bands.reshape(-1), columns.reshape(-1).view(UNSIGNED[width]), indptr, n)


def difference_bands(n: int, order: int, positions: np.ndarray | None, unit: float = 1.0) -> np.ndarray:
    """The non-zero entries of the matrix of differences, of shape (max(0, n - order), order + 1)."""
    if n <= order:
        return np.empty((0, order + 1))
    if positions is None:  # binomial coefficients with alternating signs
        row = np.array([1.0])
        for _ in range(order):
            row = np.append(row, 0.0) - np.append(0.0, row)
        return _repeated(row, n - order)
    bands = _repeated(np.array([1.0, -1.0]), n - 1)
    for k in range(1, order):
        bands *= (k / ((positions[k:] - positions[:-k]) / unit))[:, None]
        further = np.zeros((n - k - 1, k + 2))
        further[:, :-1] = bands[:-1]
        further[:, 1:] -= bands[1:]
        bands = further
    return bands


def grid_rows(shape: tuple[int, ...]) -> CSR:
    """The incidence matrix of a grid with edges as in `grid`, as a CSR record."""
    size = math.prod(shape)
    edges = sum(size - size // length for length in shape)
    width = index_type(2 * edges, size)
    numbers: np.ndarray = np.arange(size, dtype=width).reshape(shape)
    ends: np.ndarray = np.empty((edges, 2), dtype=width)
    done = 0
    for axis in range(len(shape)):
        along = np.moveaxis(numbers, axis, 0)
        for column, moved in enumerate((along[:-1], along[1:])):
            ends[done : done + moved.size, column] = np.moveaxis(moved, 0, axis).reshape(-1)
        done += moved.size
    indptr: np.ndarray = np.arange(0, 2 * edges + 1, 2, dtype=width)
    values = _repeated(np.array([1.0, -1.0]), edges)
    return CSR(values.reshape(-1), ends.reshape(-1).view(UNSIGNED[width]), indptr, size)


def _repeated(row: np.ndarray, count: int) -> np.ndarray:
    """The same row ``count`` times."""
    return np.tile(row, count).reshape(count, len(row))


def _as_positions(positions: ArrayLike, n: int) -> np.ndarray:
    """Validate positions: n finite numbers, each larger than the one before."""
    x = as_vector(positions, n, "positions")
    steps = np.diff(x)
    if not (steps > 0.0).all():
        k = int(np.flatnonzero(~(steps > 0.0))[0])
        raise ValueError(
            f"positions must be strictly increasing, got {x[k]} and then {x[k + 1]} at index {k + 1}; "
            "sort them and merge equal ones"
        )
    return x


def trend(d: int) -> sp.csr_array:
    """The matrix of second differences: with an L1 penalty the coefficients are piecewise linear (trend filtering).

    Parameters
    ----------
    d : int
        The number of coefficients.

    Returns
    -------
    A : csr_array of shape (max(0, d - 2), d)

    References
    ----------
    S.-J. Kim, K. Koh, S. Boyd, D. Gorinevsky, l1 trend filtering, SIAM Review 51, 2009.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.trend(4).toarray()
    array([[ 1., -2.,  1.,  0.],
           [ 0.,  1., -2.,  1.]])
    """
    return difference(d, order=2)


def overlapping_groups(groups: Sequence[Iterable[int]], d: int) -> tuple[sp.csr_array, list[np.ndarray]]:
    """A matrix A that copies the coefficients of each group, for a penalty on groups that overlap.

    Each group gets rows of A of its own, so ``GroupL2(nu, rows)`` on ``A w`` equals ``nu sum_g |w_g|`` even if the
    groups overlap. Coefficients that belong to no group are not penalised.

    Parameters
    ----------
    groups : sequence of index arrays
        The coefficients of each group, numbered from 0.
    d : int
        The number of coefficients.

    Returns
    -------
    A : csr_array of shape (total size of the groups, d)
    rows : list of index arrays
        The rows of A that belong to each group: the ``groups`` of `adasadmm.GroupL2`.

    References
    ----------
    R. Jenatton, J.-Y. Audibert, F. Bach, Structured variable selection with sparsity-inducing norms, JMLR 12, 2011.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> A, rows = graphs.overlapping_groups([[0, 1], [1, 2]], d=3)
    >>> A.toarray()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    >>> rows
    [array([0, 1]), array([2, 3])]
    """
    members = [_as_group(group, number, d) for number, group in enumerate(groups)]
    if not members:
        raise ValueError("groups must contain at least one group")
    ends = np.cumsum([len(group) for group in members])
    rows = [np.arange(end - len(group), end) for end, group in zip(ends, members, strict=True)]
    return _selection(np.concatenate(members), d), rows


class LatentGroups(NamedTuple):
    """Groups of coefficients whose sum is that of the features (`latent_groups`).

    Attributes
    ----------
    copies : csr_array of shape (d, D)
        ``w = copies @ u`` are the coefficients of the features, for latent coefficients u.
    rows : list of index arrays
        The entries of u that belong to each group: the ``groups`` of `adasadmm.GroupL2`.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import graphs
    >>> latent = graphs.latent_groups([[0, 1], [1, 2]], d=3)
    >>> latent.by_group(np.array([1.0, 2.0, 3.0, 4.0])).toarray()
    array([[1., 2., 0.],
           [0., 3., 4.]])
    """

    copies: sp.csr_array
    rows: list[np.ndarray]

    def by_group(self, u: np.ndarray) -> sp.csr_array:
        """The latent coefficients u as a matrix of shape (groups, d)."""
        feature = self.copies.T.tocsr().indices
        group = np.repeat(np.arange(len(self.rows)), [len(rows) for rows in self.rows])
        number = len(group)  # the features in no group follow
        return sp.csr_array((u[:number], (group, feature[:number])), shape=(len(self.rows), self.copies.shape[0]))


def latent_groups(groups: Sequence[Iterable[int]], d: int) -> LatentGroups:
    """Overlapping groups of which any may select a coefficient: the latent group lasso.

    Each group g has coefficients ``u^(g)`` of its own, and the coefficients of the features are their sum,
    ``w = sum_g u^(g)``, with the penalty ``sum_g |u^(g)|``. So the non-zero coefficients are a union of groups. With
    `overlapping_groups` they are what remains after some groups have been dropped. A coefficient in no group is not
    penalised.

    Parameters
    ----------
    groups : sequence of index arrays
        The coefficients of each group, numbered from 0.
    d : int
        The number of coefficients.

    Returns
    -------
    LatentGroups
        Pass it to `adasadmm.StructuredRegressor` or `adasadmm.StructuredClassifier` as A, with ``penalty="group"``.
        For `adasadmm.Problem`, take ``X @ copies``, ``A=I`` and ``GroupL2(nu, rows)``.

    References
    ----------
    L. Jacob, G. Obozinski, J.-P. Vert, Group lasso with overlap and graph lasso, ICML 2009.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> latent = graphs.latent_groups([[0, 1], [1, 2]], d=3)
    >>> latent.copies.toarray()
    array([[1., 0., 0., 0.],
           [0., 1., 1., 0.],
           [0., 0., 0., 1.]])
    >>> latent.rows
    [array([0, 1]), array([2, 3])]
    """
    A, rows = overlapping_groups(groups, d)
    alone = np.setdiff1d(np.arange(d), A.indices)
    return LatentGroups(sp.csr_array(sp.vstack([A, _selection(alone, d)]).T), rows)


def _selection(chosen: np.ndarray, d: int) -> sp.csr_array:
    """The rows of the identity matrix with these indices."""
    return sp.csr_array((np.ones(len(chosen)), (np.arange(len(chosen)), chosen)), shape=(len(chosen), d))


def _as_group(group: Iterable[int], number: int, d: int) -> np.ndarray:
    """Validate a group and convert it to an array of indices."""
    indices = np.asarray(group if isinstance(group, np.ndarray) else list(group))
    if indices.ndim != 1 or len(indices) == 0 or indices.dtype.kind not in "iu":
        raise ValueError(f"group {number} must be a non-empty list of coefficients, got {group!r}")
    if indices.min() < 0 or indices.max() >= d:
        bad = int(indices.min() if indices.min() < 0 else indices.max())
        raise ValueError(f"group {number} contains {bad}: there are {d} coefficients, 0 to {d - 1}")
    values, counts = np.unique(indices, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"group {number} contains {values[counts > 1][0]} more than once")
    return indices.astype(np.int64)
