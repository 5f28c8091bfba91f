"""Positions of the nodes of a graph in the plane, such that distances are about those along the edges."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from ..._core.threads import one_blas_thread

__all__ = ["is_chain", "positions"]

MOST_BY_STRESS = 2500  # nodes of a component: an iteration takes time and memory of the square of this
PIVOTS = 50
WORK = 4e7  # pairs of nodes in all iterations, about a second
GAP = np.array([2.0, 1.4])  # between components; neighbours are at a distance of 1


def is_chain(edges: np.ndarray, d: int) -> bool:
    """Whether the graph is a chain in the order of its nodes."""
    found = np.sort(np.sort(edges, axis=1), axis=0)
    return d > 2 and np.array_equal(found, np.column_stack([np.arange(d - 1), np.arange(1, d)]))


def positions(edges: np.ndarray, d: int, ratio: float = 1.0) -> np.ndarray:
    """Positions of shape (d, 2), the same in every call: components beside each other, the largest first.

    The ratio of the width to the height becomes about the given one, unless the largest component is wider.
    """
    graph = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(d, d))
    count, member = csgraph.connected_components(graph, directed=False)
    parts = sorted((np.flatnonzero(member == k) for k in range(count)), key=len, reverse=True)
    with one_blas_thread():  # small products: threads would cost more than they gain
        return _packed([(part, _component(graph[part][:, part])) for part in parts], d, ratio)


def _component(graph: sp.csr_array) -> np.ndarray:
    """Positions of the nodes of a connected graph, the longer axis horizontal."""
    n = graph.shape[0]
    if n <= 2:
        return np.column_stack([np.arange(n), np.zeros(n)])
    placed = _from_pivots(graph)
    if n <= MOST_BY_STRESS:
        placed = _least_stress(placed, csgraph.shortest_path(graph, directed=False, unweighted=True))
    placed -= placed.mean(axis=0)
    turned = placed @ np.linalg.svd(placed, full_matrices=False)[2].T
    farthest = turned[np.argmax(np.abs(turned), axis=0), [0, 1]]
    return turned * np.where(farthest < 0, -1.0, 1.0)  # the signs of an SVD are arbitrary


def _from_pivots(graph: sp.csr_array) -> np.ndarray:
    """Classical scaling of the distances to pivots that are far from each other (Brandes and Pich, 2007)."""
    n, pivot = graph.shape[0], 0
    if n <= PIVOTS:
        distances = csgraph.shortest_path(graph, directed=False, unweighted=True)
    else:
        found, nearest = [], np.full(n, np.inf)
        for _ in range(PIVOTS):
            found.append(csgraph.dijkstra(graph, directed=False, unweighted=True, indices=pivot))
            nearest = np.minimum(nearest, found[-1])
            pivot = int(np.argmax(nearest))
        distances = np.column_stack(found)
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    axes = left[:, :2] * values[:2] / values[0]
    axes *= np.sqrt(squares.max()) / max(1e-12, float(np.ptp(axes[:, 0])))
    return axes + 0.1 * np.random.default_rng(0).normal(size=axes.shape)  # nodes with the same distances coincide


def _least_stress(placed: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Minimise ``sum_ij (|x_i - x_j| / d_ij - 1)^2`` by majorisation (Gansner, Koren and North, 2005)."""
    n = len(placed)
    np.fill_diagonal(distances, 1.0)
    weights = distances**-2.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    factor = scipy.linalg.cho_factor(laplacian + 1.0 / n)  # constants, its null space, do not matter
    pull = weights * distances
    for _ in range(int(np.clip(WORK / n**2, 10, 60))):
        current = cdist(placed, placed)
        np.fill_diagonal(current, 1.0)
        ratio = pull / np.maximum(current, 1e-9)
        placed = scipy.linalg.cho_solve(factor, ratio.sum(axis=1)[:, None] * placed - ratio @ placed)
    return placed


def _packed(components: list[tuple[np.ndarray, np.ndarray]], d: int, ratio: float) -> np.ndarray:
    """Put the components into rows, from the top left, each row as wide as the whole is to become."""
    boxes = [np.ptp(placed, axis=0) + GAP for _, placed in components]
    width = max(boxes[0][0], np.sqrt(1.1 * ratio * sum(box[0] * box[1] for box in boxes)))
    found, x, y, height = np.empty((d, 2)), 0.0, 0.0, 0.0
    for (part, placed), box in zip(components, boxes, strict=True):
        if x > 0.0 and x + box[0] > width * 1.001:
            x, y, height = 0.0, y - height, 0.0
        found[part] = placed - [placed[:, 0].min(), placed[:, 1].max()] + [x, y]
        x, height = x + box[0], max(height, box[1])
    return found
