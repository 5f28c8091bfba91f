"""Matrices A for structures other than graphs: differences of higher order and overlapping groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from .edges import chain, incidence

__all__ = ["difference", "overlapping_groups", "trend"]


def difference(d: int, order: int = 1) -> sp.csr_array:
    """The matrix of finite differences of a given order.

    Order 1 is the chain, ``w_i - w_{i+1}``; order 2 is ``w_i - 2 w_{i+1} + w_{i+2}``. With an L1 penalty on ``A w`` the
    coefficients are piecewise polynomials of degree ``order - 1``.

    Parameters
    ----------
    d : int
        The number of coefficients.
    order : int, default=1
        The order of the differences.

    Returns
    -------
    A : csr_array of shape (max(0, d - order), d)

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.difference(4, order=2).toarray()
    array([[ 1., -2.,  1.,  0.],
           [ 0.,  1., -2.,  1.]])
    """
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise ValueError(f"order must be a whole number >= 1, got {order!r}")
    if order >= d:
        return sp.csr_array((0, d))
    D = incidence(chain(d), d=d)
    for length in range(d - 1, d - order, -1):
        D = incidence(chain(length), d=length) @ D
    return sp.csr_array(D)


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
    columns = np.concatenate(members)
    A = sp.csr_array((np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), d))
    ends = np.cumsum([len(group) for group in members])
    return A, [np.arange(end - len(group), end) for end, group in zip(ends, members, strict=True)]


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
