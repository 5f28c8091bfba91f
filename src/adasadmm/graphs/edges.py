"""The `Graph` record, graphs that need no data (chain and grid), and the paper's incidence matrix F."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

__all__ = ["Graph", "GraphWarning", "as_edges", "as_weights", "chain", "check_length", "edges_of", "grid", "incidence"]


class GraphWarning(UserWarning):
    """Issued if the graph used differs from the one requested; the message says how.

    Examples
    --------
    >>> import warnings
    >>> from adasadmm.graphs import Graph, GraphWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", GraphWarning)
    ...     graph = Graph([[0, 1], [1, 0]])
    >>> print(caught[0].message)
    1 duplicate edge merged, weights added
    """


@dataclass(init=False, frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph over d coefficients.

    Edges are stored with ``i < j``, sorted and without duplicates. The weights of duplicate edges are added, with a
    `GraphWarning`.

    Parameters
    ----------
    edges : array-like of shape (E, 2)
        Pairs of coefficients, numbered from 0.
    weights : array-like of shape (E,), optional
        The weights of the edges, the paper's alpha_ij: finite and positive. All 1 by default.
    d : int, optional
        The number of coefficients. By default, one more than the largest number in ``edges``.
    notes : iterable of str, optional
        Remarks on how the graph was obtained, for instance which columns could not be used.

    Attributes
    ----------
    edges : array of shape (E, 2)
    weights : array of shape (E,)
    d : int
    notes : tuple of str

    Examples
    --------
    >>> from adasadmm.graphs import Graph
    >>> graph = Graph([[2, 1], [0, 1]], d=4)
    >>> graph
    <Graph: 2 edges between 4 coefficients>
    >>> graph.edges
    array([[0, 1],
           [1, 2]])
    """

    edges: np.ndarray
    weights: np.ndarray
    d: int
    notes: tuple[str, ...]

    def __init__(
        self, edges: ArrayLike, weights: ArrayLike | None = None, d: int | None = None, notes: Iterable[str] = ()
    ) -> None:
        d, notes = _size(edges, d), tuple(notes)
        given = as_edges(edges, d)
        ordered = given if (given[:, 0] < given[:, 1]).all() else np.sort(given, axis=1)
        once, total = _merged(ordered, as_weights(weights, given), d)
        if len(once) < len(given):
            notes += (f"{_count(len(given) - len(once), 'duplicate edge')} merged, weights added",)
            warnings.warn(notes[-1], GraphWarning, stacklevel=2)
        for name, value in (("edges", once), ("weights", total), ("d", d), ("notes", notes)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<Graph: {_count(self.n_edges, 'edge')} between {_count(self.d, 'coefficient')}>"

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return len(self.edges)

    def incidence(self) -> sp.csr_array:
        """The paper's matrix F, with one row per edge; see `adasadmm.graphs.incidence`."""
        return incidence(self.edges, self.weights, self.d)

    def adjacency(self) -> sp.csr_array:
        """The symmetric (d, d) adjacency matrix, whose entries are the weights."""
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        return sp.csr_array((np.tile(self.weights, 2), (both[:, 0], both[:, 1])), shape=(self.d, self.d))


def _merged(edges: np.ndarray, weights: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct edges in order, and the sum of the weights of each."""
    keys = edges[:, 0] * d + edges[:, 1]
    if (keys[1:] > keys[:-1]).all():  # most graphs are made in order, and sorting a million edges takes long
        return edges, weights.copy()
    once, place = np.unique(keys, return_inverse=True)
    return np.column_stack(np.divmod(once, d)), np.bincount(place, weights=weights, minlength=len(once))


def chain(d: int) -> np.ndarray:
    """Edges of a chain, which joins each coefficient to the next.

    Parameters
    ----------
    d : int
        The number of coefficients.

    Returns
    -------
    edges : array of shape (d - 1, 2)

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.chain(4)
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    check_length(d, "d")
    return np.column_stack([np.arange(d - 1), np.arange(1, d)])


def grid(*shape: int) -> np.ndarray:
    """Edges of a grid of pixels or voxels, which joins each one to its neighbours along every axis.

    Parameters
    ----------
    *shape : int
        The length of each axis, for instance rows and columns.

    Returns
    -------
    edges : array of shape (E, 2)
        Pixels are numbered as in ``numpy.ravel``: row by row.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.grid(2, 2)
    array([[0, 2],
           [1, 3],
           [0, 1],
           [2, 3]])
    """
    if not shape:
        raise ValueError("grid needs the length of each axis, for instance grid(8, 8)")
    for length in shape:
        check_length(length, "each axis of a grid")
    numbers = np.arange(np.prod(shape)).reshape(shape)
    pairs = []
    for axis in range(len(shape)):
        first = np.take(numbers, np.arange(shape[axis] - 1), axis=axis)
        second = np.take(numbers, np.arange(1, shape[axis]), axis=axis)
        pairs.append(np.column_stack([first.reshape(-1), second.reshape(-1)]))
    return np.concatenate(pairs)


def incidence(edges: ArrayLike, weights: ArrayLike | None = None, d: int | None = None) -> sp.csr_array:
    """The weighted incidence matrix of a graph, the paper's F.

    If the k-th edge is (i, j) with weight alpha, then ``F_ki = alpha``, ``F_kj = -alpha``, and
    ``(F w)_k = alpha (w_i - w_j)``.

    Parameters
    ----------
    edges : array-like of shape (E, 2)
        Pairs (i, j) of coefficients, numbered from 0. F keeps the order of the edges, and of i and j.
    weights : array-like of shape (E,), optional
        The weights of the edges, finite and positive. All 1 by default.
    d : int, optional
        The number of columns. By default, one more than the largest number in ``edges``.

    Returns
    -------
    F : csr_array of shape (E, d)

    See Also
    --------
    edges_of : The inverse: edges and weights of an incidence matrix.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.incidence([[0, 1], [1, 2]], weights=[1, 3]).toarray()
    array([[ 1., -1.,  0.],
           [ 0.,  3., -3.]])
    """
    d = _size(edges, d)
    pairs = as_edges(edges, d)
    alpha = as_weights(weights, pairs)
    values = np.column_stack([alpha, -alpha]).reshape(-1)
    F = sp.csr_array((values, pairs.reshape(-1), np.arange(0, 2 * len(pairs) + 1, 2)), shape=(len(pairs), d))
    F.sort_indices()
    return F


def edges_of(F: ArrayLike | sp.sparray | sp.spmatrix) -> tuple[np.ndarray, np.ndarray]:
    """The edges and weights of an incidence matrix; the inverse of `incidence`.

    Parameters
    ----------
    F : array-like or sparse matrix of shape (E, d)
        Each row holds two opposite non-zero values.

    Returns
    -------
    edges : array of shape (E, 2)
    weights : array of shape (E,)

    Raises
    ------
    ValueError
        If a row of F is not an edge.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> edges, weights = graphs.edges_of([[1, -1, 0], [0, 3, -3]])
    >>> edges
    array([[0, 1],
           [1, 2]])
    >>> weights
    array([1., 3.])
    """
    F = sp.csr_array(F, dtype=np.float64)
    F.sum_duplicates()
    F.eliminate_zeros()
    two = np.diff(F.indptr) == 2
    if not two.all():
        k = int(np.flatnonzero(~two)[0])
        raise ValueError(f"row {k} of F is not an edge: it has {int(np.diff(F.indptr)[k])} non-zero values, not two")
    columns, values = F.indices.reshape(-1, 2).astype(np.int64), F.data.reshape(-1, 2)
    opposite = values[:, 0] == -values[:, 1]
    if not opposite.all():
        k = int(np.flatnonzero(~opposite)[0])
        raise ValueError(f"row {k} of F is not an edge: its values {values[k, 0]} and {values[k, 1]} are not opposite")
    turned = values[:, :1] < 0
    return np.where(turned, columns[:, ::-1], columns), np.abs(values[:, 0])


def as_edges(edges: ArrayLike, d: int) -> np.ndarray:
    """Validate edges and convert them to an int64 array of shape (E, 2).

    Raises
    ------
    ValueError
        If an edge is out of range or a self-loop; the message names the edge.
    """
    array = np.asarray(edges)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        hint = "; give (edges, weights)" if array.ndim == 2 and array.shape[1] == 3 else ""
        hint = "; an adjacency matrix must be sparse: scipy.sparse.csr_array(...)" if array.shape == (d, d) else hint
        raise ValueError(f"edges must have shape (E, 2), got {array.shape}{hint}")
    if array.dtype.kind not in "iu":
        numbers = array.dtype.kind == "f"
        whole = np.isfinite(array) & (array == np.floor(array)) if numbers else np.zeros(array.shape, dtype=bool)
        if not whole.all():
            raise ValueError(f"edges must be pairs of whole numbers, got {array[~whole][0]!r}")
    pairs = array.astype(np.int64)
    if pairs.min() < 0 or pairs.max() >= d:
        outside = np.any((pairs < 0) | (pairs >= d), axis=1)
        raise ValueError(f"edge {_named(pairs, outside)} is out of range: there are {d} coefficients, 0 to {d - 1}")
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        raise ValueError(f"edge {_named(pairs, loops)} is a self-loop: an edge joins two different coefficients")
    return pairs


def as_weights(weights: ArrayLike | None, edges: np.ndarray) -> np.ndarray:
    """Validate the weights of edges: one per edge, finite and positive; all 1 for None."""
    if weights is None:
        return np.ones(len(edges))
    try:
        array: np.ndarray = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights of edges must be numbers: {error}") from None
    if array.shape != (len(edges),):
        raise ValueError(f"weights must have shape ({len(edges)},), one for each edge, got {array.shape}")
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        raise ValueError(f"weights of edges must be finite and > 0, got {array[bad][0]} for edge {_named(edges, bad)}")
    return array


def _size(edges: ArrayLike, d: int | None) -> int:
    """The number of coefficients: d, or as many as the edges need."""
    if d is not None:
        check_length(d, "d")
        return int(d)
    array = np.asarray(edges)
    if array.size == 0:
        raise ValueError("d, the number of coefficients, is required if there are no edges")
    numbers = array[np.isfinite(array)] if array.dtype.kind in "iuf" else ()
    return int(np.max(numbers, initial=0)) + 1


def check_length(length: object, name: str) -> None:
    """Raise unless a number of coefficients, or of pixels along an axis, is a whole number >= 1."""
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {length!r}")


def _named(edges: np.ndarray, chosen: np.ndarray) -> str:
    k = int(np.flatnonzero(chosen)[0])
    return f"{k} = ({edges[k, 0]}, {edges[k, 1]})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
