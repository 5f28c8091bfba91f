"""Edges: the two graphs that need no data, the record of a graph, and the paper's matrix F."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Graph", "GraphWarning", "as_edges", "as_weights", "chain", "edges_of", "grid", "incidence"]


class GraphWarning(UserWarning):
    """The graph is not quite what was asked for; the message says what was done instead."""


@dataclass(init=False, frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph over d coefficients.

    However the edges come, they are kept with ``i < j``, sorted, each once; the weights of an edge that came several
    times are added, with a warning.

    Parameters
    ----------
    edges : array-like of shape (E, 2)
        Pairs of coefficients, counted from 0.
    weights : array-like of shape (E,), optional
        The paper's alpha_ij, finite and > 0. 1 by default.
    d : int, optional
        The number of coefficients. By default the largest one in an edge, and those before it.
    notes : tuple of str
        What was done on the way to this graph, for instance which columns could not be used.

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

    def __init__(self, edges: Any, weights: Any = None, d: int | None = None, notes: Iterable[str] = ()) -> None:
        d, notes = _size(edges, d), tuple(notes)
        given = as_edges(edges, d)
        once, place = np.unique(np.sort(given, axis=1), axis=0, return_inverse=True)
        total = np.bincount(place.reshape(-1), weights=as_weights(weights, given), minlength=len(once))
        if len(once) < len(given):
            notes += (f"{_count(len(given) - len(once), 'edge')} came more than once: merged, their weights added",)
            warnings.warn(notes[-1], GraphWarning, stacklevel=2)
        for name, value in (("edges", once), ("weights", total), ("d", d), ("notes", notes)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<Graph: {_count(self.n_edges, 'edge')} between {_count(self.d, 'coefficient')}>"

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    def incidence(self) -> sp.csr_array:
        """The paper's F, one row for each edge."""
        return incidence(self.edges, self.weights, self.d)

    def adjacency(self) -> sp.csr_array:
        """The symmetric (d, d) matrix of the weights."""
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        return sp.csr_array((np.tile(self.weights, 2), (both[:, 0], both[:, 1])), shape=(self.d, self.d))


def chain(d: int) -> np.ndarray:
    """The edges of a line: each coefficient and the next."""
    _check_length(d, "d")
    return np.column_stack([np.arange(d - 1), np.arange(1, d)])


def grid(*shape: int) -> np.ndarray:
    """The edges of a grid of pixels or voxels, numbered row by row.

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
        raise ValueError("grid needs its lengths, for instance grid(8, 8)")
    for length in shape:
        _check_length(length, "each length of a grid")
    numbers = np.arange(np.prod(shape)).reshape(shape)
    pairs = []
    for axis in range(len(shape)):
        first = np.take(numbers, np.arange(shape[axis] - 1), axis=axis)
        second = np.take(numbers, np.arange(1, shape[axis]), axis=axis)
        pairs.append(np.column_stack([first.reshape(-1), second.reshape(-1)]))
    return np.concatenate(pairs)


def incidence(edges: Any, weights: Any = None, d: int | None = None) -> sp.csr_array:
    """The paper's F: for the k-th edge (i, j) of weight alpha, ``F_ki = alpha`` and ``F_kj = -alpha``.

    Parameters
    ----------
    edges : array-like of shape (E, 2)
        The rows of F keep this order, and i is the first of each pair.
    weights : array-like of shape (E,), optional
        1 by default.
    d : int, optional
        The number of columns. By default what the edges need.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.incidence([[0, 1], [1, 2]], weights=[1, 3]).toarray()
    array([[ 1., -1.,  0.],
           [ 0.,  3., -3.]])
    """
    d = _size(edges, d)
    edges = as_edges(edges, d)
    alpha = as_weights(weights, edges)
    values = np.column_stack([alpha, -alpha]).reshape(-1)
    rows = np.repeat(np.arange(len(edges)), 2)
    return sp.csr_array((values, (rows, edges.reshape(-1))), shape=(len(edges), d))


def edges_of(F: Any) -> tuple[np.ndarray, np.ndarray]:
    """The edges and weights of an incidence matrix: ``edges_of(incidence(edges, weights))`` gives both back."""
    F = sp.csr_array(F, dtype=np.float64)
    F.sum_duplicates()
    F.eliminate_zeros()
    two = np.diff(F.indptr) == 2
    if not two.all():
        k = int(np.flatnonzero(~two)[0])
        raise ValueError(f"row {k} of F is no edge: it has {int(np.diff(F.indptr)[k])} non-zero values, not two")
    columns, values = F.indices.reshape(-1, 2).astype(np.int64), F.data.reshape(-1, 2)
    opposite = values[:, 0] == -values[:, 1]
    if not opposite.all():
        k = int(np.flatnonzero(~opposite)[0])
        raise ValueError(f"row {k} of F is no edge: its values {values[k, 0]} and {values[k, 1]} are not opposite")
    turned = values[:, :1] < 0
    return np.where(turned, columns[:, ::-1], columns), np.abs(values[:, 0])


def as_edges(edges: Any, d: int) -> np.ndarray:
    """The gate for edges: int64 of shape (E, 2), within range, no self-loops.

    Raises
    ------
    ValueError
        Otherwise, naming the edge.
    """
    array = np.asarray(edges)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        hint = "; give (edges, weights)" if array.ndim == 2 and array.shape[1] == 3 else ""
        hint = "; an adjacency must be sparse: scipy.sparse.csr_array(it)" if array.shape == (d, d) else hint
        raise ValueError(f"edges must have shape (E, 2), got {array.shape}{hint}")
    numbers = array.dtype.kind in "iuf"
    whole = np.isfinite(array) & (array == np.floor(array)) if numbers else np.zeros(array.shape, dtype=bool)
    if not whole.all():
        raise ValueError(f"edges must be pairs of whole numbers, got {array[~whole][0]!r}")
    pairs = array.astype(np.int64)
    outside = np.any((pairs < 0) | (pairs >= d), axis=1)
    if outside.any():
        raise ValueError(f"edge {_named(pairs, outside)} is out of range: there are {d} coefficients, 0 to {d - 1}")
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        raise ValueError(f"edge {_named(pairs, loops)} is a self-loop: an edge joins two different coefficients")
    return pairs


def as_weights(weights: Any, edges: np.ndarray) -> np.ndarray:
    """The gate for weights: one for each edge, finite and > 0; 1 by default."""
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


def _size(edges: Any, d: Any) -> int:
    if d is not None:
        _check_length(d, "d")
        return int(d)
    array = np.asarray(edges)
    if array.size == 0:
        raise ValueError("d, the number of coefficients, is needed where there are no edges to tell it")
    numbers = array[np.isfinite(array)] if array.dtype.kind in "iuf" else ()
    return int(np.max(numbers, initial=0)) + 1


def _check_length(length: Any, name: str) -> None:
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {length!r}")


def _named(edges: np.ndarray, chosen: np.ndarray) -> str:
    k = int(np.flatnonzero(chosen)[0])
    return f"{k} = ({edges[k, 0]}, {edges[k, 1]})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
