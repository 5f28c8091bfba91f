"""Convert any description of a graph to a `Graph`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .columns import Data, Names, column_names, describe, name_columns
from .edges import Graph, GraphWarning, chain, grid

__all__ = ["as_graph"]

_KNOWN = (
    "'glasso', 'knn', 'chain', ('grid', rows, cols), an array of edges of shape (E, 2), (edges, weights), a sparse "
    "adjacency matrix, a networkx graph, a Graph, a callable X -> edges, or the path of a CSV file"
)


def as_graph(
    graph: Any,
    d: int,
    *,
    X: Data | None = None,
    feature_names: Names = None,
    sample_weight: ArrayLike | None = None,
    progress: bool = False,
) -> Graph:
    """Convert any description of a graph to a `Graph`.

    Parameters
    ----------
    graph : str, tuple, array-like, sparse matrix, networkx graph, Graph, callable or path
        - ``"glasso"`` or ``"knn"``: learnt from X; see `glasso` and `knn`.
        - ``"chain"``, ``("grid", rows, cols)`` or ``("grid", rows, cols, depth)``.
        - Edges of shape (E, 2), as numbers from 0 or as feature names; or a pair ``(edges, weights)``.
        - A sparse (d, d) adjacency matrix, symmetric or triangular, whose values are the weights.
        - A networkx graph whose nodes are feature names or numbers. The attribute ``weight`` of an edge is its weight;
          1 if absent.
        - A callable that takes X and returns one of these.
        - The path of a CSV file with the columns source, target and optionally weight, by name or number. A header line
          is optional; it may also use other common names, such as from and to.
    d : int
        The number of coefficients.
    X : array-like, sparse matrix or source of shape (n, d), optional
        The rows; required if the graph is learnt.
    feature_names : sequence of str, optional
        The names of the features; required if the graph refers to them. By default, the column names of X if X is a
        DataFrame.
    sample_weight : array-like of shape (n,), optional
        Sample weights, used if the graph is learnt.
    progress : bool, default=False
        Show a progress bar if the graph is learnt and that takes long.

    Returns
    -------
    graph : Graph

    Raises
    ------
    ValueError
        If ``graph`` is not a graph over d coefficients; the message names the edge, node or value.

    Warns
    -----
    GraphWarning
        If duplicate edges were merged, another estimate replaced the requested one, or the graph has no edges.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.as_graph([["a", "c"], ["c", "b"]], 3, feature_names=["a", "b", "c"]).edges
    array([[0, 2],
           [1, 2]])
    """
    names = column_names(X) if feature_names is None else list(feature_names)
    if names is not None and len(names) != d:
        raise ValueError(f"feature_names must have {d} entries, got {len(names)}")
    made = _made(graph, d, names, Learning(X, sample_weight, progress))
    if made.n_edges == 0 and d > 1:
        said = "the graph has no edges, so it imposes no structure on the coefficients"
        warnings.warn(said, GraphWarning, stacklevel=2)
        made = replace(made, notes=(*made.notes, said))
    return made


class Learning(NamedTuple):
    """The data from which a graph is learnt."""

    X: Data | None
    sample_weight: ArrayLike | None
    progress: bool


def _made(graph: Any, d: int, names: Names, learning: Learning) -> Graph:
    """Try one kind of description after the other; the order matters only if one kind could pass for another."""
    if isinstance(graph, Graph):
        return _of_size(graph, d)
    if isinstance(graph, str) and graph in ("glasso", "knn"):
        return _learnt(graph, d, names, learning)
    if isinstance(graph, str) and graph == "chain":
        return Graph(chain(d), None, d)
    if isinstance(graph, os.PathLike) or (isinstance(graph, str) and (graph.endswith(".csv") or os.path.isfile(graph))):
        from .files import read_edges

        return Graph(*read_edges(graph, d, names), d)
    if isinstance(graph, str) or graph is None:
        raise ValueError(f"graph must be {_KNOWN}; got {graph!r}")
    if isinstance(graph, tuple) and graph and isinstance(graph[0], str) and graph[0] == "grid":
        return _from_grid(graph[1:], d)
    if sp.issparse(graph):
        return _from_adjacency(graph, d)
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _from_networkx(graph, d, names)
    if callable(graph):
        made = graph(_check_X(learning.X, d, "a callable graph"))
        if callable(made):
            raise ValueError(f"a callable graph must return edges, got {made!r}")
        return _made(made, d, names, learning)
    if isinstance(graph, tuple) and len(graph) == 2 and np.ndim(_array(graph[0])) == 2:
        return Graph(_numbers(graph[0], d, names), graph[1], d)
    if np.ndim(_array(graph)) == 0:  # a set, a generator, a number
        raise ValueError(f"graph must be {_KNOWN}; got {graph!r:.80}")
    return Graph(_numbers(graph, d, names), None, d)


def _learnt(graph: str, d: int, names: Names, learning: Learning) -> Graph:
    X = _check_X(learning.X, d, f"graph={graph!r}")
    if graph == "knn":
        from .neighbours import nearest

        return nearest(describe(X, learning.sample_weight), 3, names, learning.progress)
    from .inverse import learn

    return learn(X, names, sample_weight=learning.sample_weight, progress=learning.progress)


def _check_X(X: Data | None, d: int, what: str) -> Data:
    if X is None:
        raise ValueError(f"{what} is computed from the rows, so X is required")
    if np.shape(X)[1:] != (d,):
        raise ValueError(f"X must have {d} columns, one for each coefficient, got shape {np.shape(X)}")
    return X


def _of_size(graph: Graph, d: int) -> Graph:
    if graph.d != d:
        raise ValueError(f"the graph is over {graph.d} coefficients, but there are {d}")
    return graph


def _from_grid(shape: tuple[int, ...], d: int) -> Graph:
    edges = grid(*shape)
    if np.prod(shape) != d:
        sides = " x ".join(map(str, shape))
        raise ValueError(
            f"a grid of {sides} has {np.prod(shape)} nodes, but there are {d} coefficients, one for each node"
        )
    return Graph(edges, None, d)


def _from_adjacency(matrix: sp.sparray | sp.spmatrix, d: int) -> Graph:
    if matrix.shape != (d, d):
        raise ValueError(
            f"a sparse adjacency matrix must have a row and a column for each of the {d} coefficients, got shape "
            f"{matrix.shape}; graphs.edges_of takes an incidence matrix"
        )
    A = sp.csr_array(matrix, dtype=np.float64)
    A.sum_duplicates()
    if not np.isfinite(A.data).all():
        raise ValueError(f"weights of edges must be finite and > 0, got {A.data[~np.isfinite(A.data)][0]}")
    A.eliminate_zeros()
    upper, lower = sp.triu(A, 1), sp.tril(A, -1)
    if upper.nnz and lower.nnz and np.max(np.abs((upper - lower.T).data), initial=0.0) > 1e-9 * np.max(np.abs(A.data)):
        raise ValueError(
            "a sparse adjacency matrix must be symmetric or triangular, and this one is neither; "
            "A.maximum(A.T) is symmetric"
        )
    edges = (upper if upper.nnz else lower).tocoo()
    loops = np.flatnonzero(A.diagonal())
    # Self-loops are kept here, so that Graph rejects them with its message.
    pairs = np.concatenate([np.column_stack([edges.row, edges.col]), np.column_stack([loops, loops])])
    return Graph(pairs, np.concatenate([edges.data, A.diagonal()[loops]]), d)


def _from_networkx(graph: Any, d: int, names: Names) -> Graph:
    nodes = list(graph.nodes)
    places = dict(zip(nodes, _places(nodes, d, names, "nodes of the graph"), strict=True))
    triples = list(graph.edges(data="weight", default=1.0))
    return Graph([(places[i], places[j]) for i, j, _ in triples], [weight for *_, weight in triples], d)


def _numbers(pairs: ArrayLike, d: int, names: Names) -> np.ndarray:
    """Edges as numbers, also if they are given as feature names."""
    array = _array(pairs)
    if array.dtype.kind not in "OUT" or array.ndim != 2 or array.shape[1] != 2:
        return array  # already numbers, or an array that Graph rejects
    return np.array(_places(array.reshape(-1).tolist(), d, names, "edges")).reshape(-1, 2)


def _places(labels: Sequence[Hashable], d: int, names: Names, what: str) -> list[int]:
    """The indices of features given by name or number."""
    from .labels import known_numbers, nearest_name, places_of

    places, unknown = places_of(labels, d, names)
    if not unknown:
        return [places[label] for label in labels]
    known = f"the names of the {d} features, or 0 to {d - 1}" if names else known_numbers(d)
    near = nearest_name(unknown[0], names)
    hint = f" (did you mean {near!r}?)" if near else ""
    said = name_columns(range(len(unknown)), unknown)
    raise ValueError(f"{what} must be among {known}; not among them: {said}{hint}")


def _array(pairs: ArrayLike) -> np.ndarray:
    try:
        return np.asarray(pairs)
    except ValueError:
        raise ValueError(f"edges must have shape (E, 2), got rows of different lengths: {pairs!r:.80}") from None
