"""The nodes of a network: their labels, the graph over them, the design in blocks, and models for new places."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .. import graphs
from ..graphs import Graph
from ._types import GraphLike, ValidRows

__all__ = [
    "Places",
    "as_labels",
    "blocks_of_nodes",
    "differences_of_nodes",
    "neighbours_of",
    "network_of",
    "numbers_of",
    "places_of",
    "scores_at_nodes",
    "scores_at_places",
]

NEAR = 0.1  # of the median distance of neighbouring nodes: added to each distance, so that no weight is infinite
MEDIAN_STEPS = 200
AT_ONCE = 1 << 18  # numbers of the models of rows that are in memory at once: a prediction has any number of rows


class Places(NamedTuple):
    """The labels of the nodes and, if these are known, their coordinates."""

    labels: np.ndarray
    coordinates: np.ndarray | None


def places_of(graph: GraphLike, coordinates: Any, groups: np.ndarray) -> Places:
    """The nodes of a graph, from its description, from the coordinates, or from the rows."""
    if coordinates is not None:
        labels, found = _located(coordinates)
        if labels is not None:
            return Places(labels, found)
        return Places(_labels_of(graph, groups, len(found)), found)
    return Places(_labels_of(graph, groups, None), None)


def _located(coordinates: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """The labels, if the coordinates have some, and the coordinates as an array of shape (nodes, k)."""
    labels: np.ndarray | None = None
    if isinstance(coordinates, Mapping):
        labels, coordinates = as_labels(list(coordinates)), list(coordinates.values())
    elif hasattr(coordinates, "index") and hasattr(coordinates, "to_numpy"):  # a data frame
        labels = as_labels(list(coordinates.index))
    found = np.asarray(coordinates, dtype=np.float64)
    if found.ndim != 2 or not np.isfinite(found).all():
        raise ValueError(f"coordinates must be finite numbers of shape (nodes, k), got shape {found.shape}")
    return labels, found


def _labels_of(graph: Any, groups: np.ndarray, number: int | None) -> np.ndarray:
    if number is not None:
        return np.arange(number)
    if isinstance(graph, Graph):
        return np.arange(graph.d)
    if sp.issparse(graph):
        return np.arange(graph.shape[0])
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return as_labels(list(graph.nodes))
    if isinstance(graph, tuple) and graph and isinstance(graph[0], str) and graph[0] == "grid":
        return np.arange(int(np.prod(graph[1:])))
    if isinstance(graph, str) or callable(graph) or hasattr(graph, "__fspath__"):
        return np.unique(groups)
    edges = graph[0] if isinstance(graph, tuple) and len(graph) == 2 and np.ndim(graph[0]) == 2 else graph
    ends = np.asarray(edges)
    if ends.ndim != 2 or ends.shape[1] != 2 or not len(ends):
        return np.unique(groups)  # no edges; or as_graph says what is wrong
    if ends.dtype.kind in "iu" or (ends.dtype.kind == "f" and not (ends % 1.0).any()):
        return np.arange(int(ends.max()) + 1)
    return np.unique(ends)


def as_labels(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels as an array: numbers or strings if they are of one kind, else objects."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {int, str}:
        return np.array(labels)
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def numbers_of(groups: npt.ArrayLike | None, labels: np.ndarray, rows: int) -> np.ndarray:
    """The number of the node of each row."""
    if groups is None:
        raise ValueError(
            "groups must be given: the node of each row of X; a search of scikit-learn passes them only with "
            "enable_metadata_routing=True, set_fit_request(groups=True) and set_score_request(groups=True)"
        )
    given = np.asarray(groups)
    if given.shape != (rows,):
        raise ValueError(f"groups must have shape ({rows},), the node of each row of X, got {given.shape}")
    if missing := [row for row, label in enumerate(given.tolist()) if label is None or _is_nan(label)]:
        raise ValueError(f"groups must name the node of each row of X, got {given[missing[0]]} in row {missing[0]}")
    if given.dtype.kind == "f" and labels.dtype.kind in "iu":  # 1.0 would be found as node 1
        raise ValueError(
            f"groups must be the numbers of nodes as integers, got {given.dtype}: convert them with astype(int), "
            "or pass weights by name, as sample_weight=..."
        )
    number = {label: k for k, label in enumerate(labels.tolist())}
    found = np.array([number.get(label, -1) for label in given.tolist()], dtype=np.int64)
    if (found < 0).any():
        stranger = given.tolist()[int(np.flatnonzero(found < 0)[0])]
        known = ", ".join(map(repr, labels[:3].tolist())) + (", ..." if len(labels) > 3 else "")
        raise ValueError(
            f"groups has a node that is not in the graph: {stranger!r}; the {len(labels)} nodes are {known}; "
            "for nodes with names, give coordinates as a data frame with the names as index or as a dict; for nodes "
            "without edges, give the graph as graphs.Graph(edges, weights, d), an adjacency matrix or a networkx graph"
        )
    return found


def _is_nan(label: Hashable) -> bool:
    return isinstance(label, float) and math.isnan(label)


def network_of(graph: GraphLike, places: Places, n_neighbors: int) -> Graph:
    """The graph over the nodes; "knn" connects the nearest ones, with weights that fall with the distance."""
    d = len(places.labels)
    if isinstance(graph, str) and graph == "knn":
        if places.coordinates is None:
            raise ValueError('graph="knn" connects the nearest nodes, so it needs coordinates, one row for each node')
        neighbours = min(n_neighbors, d - 1)
        if neighbours < 1:
            return Graph(np.empty((0, 2), dtype=np.int64), None, d)
        from sklearn.neighbors import NearestNeighbors

        index = NearestNeighbors(n_neighbors=neighbours).fit(places.coordinates)
        distance, other = index.kneighbors()
        pairs = np.sort(np.column_stack([np.repeat(np.arange(d), neighbours), other.ravel()]), axis=1)
        edges, first = np.unique(pairs, axis=0, return_index=True)  # an edge that both ends name counts once
        return Graph(edges, _closeness(distance.ravel()[first], float(np.median(distance))), d)
    if isinstance(graph, str) and graph == "glasso":
        raise ValueError('graph="glasso" learns a graph over features; a network needs one over nodes: its edges')
    labels = places.labels.tolist()
    return graphs.as_graph(graph, d, feature_names=None if labels == list(range(d)) else labels)


def _closeness(distance: np.ndarray, scale: float) -> np.ndarray:
    """Weights that are inverse to the distance, of mean 1."""
    if scale == 0.0:
        scale = float(np.mean(distance)) or 1.0
    weight = 1.0 / (distance + NEAR * scale)
    return weight / weight.mean()


def blocks_of_nodes(X: ValidRows, node: np.ndarray, nodes: int, intercept: bool) -> sp.csr_array:
    """The design: each row has its features, and a one for the intercept, in the columns of its node."""
    n, d = X.shape
    width = d + intercept
    if sp.issparse(X):
        rows = sp.csr_array(sp.hstack([X, np.ones((n, 1))], format="csr") if intercept else X)
        columns = rows.indices.astype(np.int64) + np.repeat(node, np.diff(rows.indptr)) * width
        return sp.csr_array((rows.data, columns, rows.indptr), shape=(n, nodes * width))
    dense = np.column_stack([X, np.ones(n)]) if intercept else np.ascontiguousarray(X)
    columns = (node * width)[:, None] + np.arange(width)
    return sp.csr_array((dense.ravel(), columns.ravel(), np.arange(n + 1) * width), shape=(n, nodes * width))


def differences_of_nodes(edges: np.ndarray, nodes: int, width: int) -> sp.csr_array:
    """The matrix that takes the differences of the coefficient vectors along the edges: ``width`` rows for each."""
    return sp.kron(graphs.incidence(edges, None, nodes), sp.eye_array(width), format="csr")


# --- scores at nodes and at new places -------------------------------------------------------------------------------


class Neighbours(NamedTuple):
    """The nearest nodes of each place, and their weights: both of shape (places, k)."""

    node: np.ndarray
    weight: np.ndarray


def scores_at_nodes(X: ValidRows, node: np.ndarray, models: np.ndarray) -> np.ndarray:
    """The linear functions of each row, by the models of its node, of shape (functions, nodes, d + 1)."""
    if sp.issparse(X):  # never a dense row of X, nor the dense coefficients of a row
        design = blocks_of_nodes(X, node, models.shape[1], intercept=True)
        return np.asarray(design @ models.reshape(len(models), -1).T)
    found = np.empty((X.shape[0], len(models)))
    for part in _parts(X.shape[0], models.shape[2]):
        for k, model in enumerate(models):
            found[part, k] = _row_products(X[part], model[node[part]])
    return found


def neighbours_of(coordinates: npt.ArrayLike | None, rows: int, places: Places, n_neighbors: int) -> Neighbours:
    """The nodes nearest to the place of each row; their weights fall with the distance."""
    if places.coordinates is None:
        raise ValueError("predictions at new places need the coordinates of the nodes: give them to the constructor")
    where = np.asarray(coordinates, dtype=np.float64)
    wanted = rows, places.coordinates.shape[1]
    if where.shape != wanted or not np.isfinite(where).all():
        raise ValueError(f"coordinates must be finite numbers of shape {wanted}, got shape {where.shape}")
    nodes = len(places.labels)
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=min(n_neighbors, nodes)).fit(places.coordinates)
    distance, other = index.kneighbors(where)
    scale = np.median(index.kneighbors(n_neighbors=1)[0]) if nodes > 1 else 0.0  # of the nodes, whatever is predicted
    return Neighbours(other, 1.0 / (distance + NEAR * (scale or 1.0)))


def scores_at_places(X: ValidRows, near: Neighbours, models: np.ndarray) -> np.ndarray:
    """The linear functions of each row, by the geometric median of the models of its nearest nodes."""
    rows, count = near.node.shape
    if count == 1:
        return scores_at_nodes(X, near.node[:, 0], models)
    found = np.empty((rows, len(models)))
    for part in _parts(rows, count * models.shape[2]):
        for k, model in enumerate(models):
            found[part, k] = _row_products(X[part], geometric_medians(model[near.node[part]], near.weight[part]))
    return found


def _parts(rows: int, numbers: int) -> Iterator[slice]:
    """Slices of rows that need at most ``AT_ONCE`` numbers together, if one row needs ``numbers`` of them."""
    step = max(1, AT_ONCE // numbers)
    return (slice(start, start + step) for start in range(0, rows, step))


def _row_products(X: ValidRows, models: np.ndarray) -> np.ndarray:
    """The product of each row with its own coefficients, plus its own intercept."""
    coef, intercept = models[:, :-1], models[:, -1]
    if sp.issparse(X):
        return np.asarray(sp.csr_array(X).multiply(coef).sum(axis=1)).reshape(-1) + intercept
    return np.einsum("ij,ij->i", X, coef) + intercept


def geometric_medians(points: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The point of least weighted sum of distances to the given ones: Weiszfeld's iteration for each row.

    ``points`` has the shape (rows, k, q) and ``weight`` (rows, k). If one of the points is the best, it is returned
    itself.
    """
    median = np.einsum("rk,rkq->rq", weight, points) / weight.sum(axis=1)[:, None]
    size = np.linalg.norm(points - median[:, None], axis=2).max(axis=1, initial=0.0)
    least = 1e-12 * np.where(size > 0.0, size, 1.0)[:, None]
    for _ in range(MEDIAN_STEPS):
        distance = np.linalg.norm(points - median[:, None], axis=2)
        pull = weight / np.maximum(distance, least)
        median = np.einsum("rk,rkq->rq", pull, points) / pull.sum(axis=1)[:, None]
    # One point at a time: all differences at once would be k times as large as the points.
    to_point = [np.linalg.norm(points - points[:, [j]], axis=2) for j in range(points.shape[1])]
    between = np.stack(to_point, axis=1)
    at_points = np.einsum("rk,rjk->rj", weight, between)
    own = np.einsum("rk,rk->r", weight, np.linalg.norm(points - median[:, None], axis=2))
    best, rows = at_points.argmin(axis=1), np.arange(len(points))
    return np.where((at_points[rows, best] <= own * (1.0 + 1e-9))[:, None], points[rows, best], median)
