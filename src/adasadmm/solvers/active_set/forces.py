"""Forces along the edges of a graph that balance given derivatives: the multipliers of an L1 penalty on differences.

A row of A that is a multiple of a difference is an edge, and a row with one entry is an edge to the ground, an
additional node. The force of an edge is its multiplier times the entry of the row, and acts on both ends in opposite
directions. At the optimum, forces balance the derivatives ``X'(c s)/n + gamma w`` of the smooth part, and none exceeds
the capacity of its edge. An edge whose ends differ carries its capacity.

On a forest the derivatives determine the forces. On a graph with cycles they are a flow. Inside of a cluster it exists
unless the derivatives on one side of some cut exceed the capacity of the cut. Then the minimum cut shows which edges to
open: it is the steepest direction of descent, as in cut pursuit.

References: L. Landrieu, G. Obozinski, Cut pursuit: fast algorithms to learn piecewise constant functions on general
weighted graphs, SIAM Journal on Imaging Sciences 10, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import SuperLU, splu

from ...linalg.cuts import ABOVE, BELOW, Network
from ...linalg.joined import clusters_of, components, ends_of
from ...problem import Problem
from ...rows.matrices import CSR, as_csr, to_scipy

__all__ = ["FlowForces", "Forces", "ForestForces", "Graph", "forces_on", "graph_for", "graph_of", "has_few_edges"]

VIOLATED = 1e-9  # of its capacity, or of the derivatives: a force, or an excess, beyond that splits a cluster
ROUNDING = 1e-13
MOST_CUTS = 30
MOST_EDGES = 50  # for each node: with more, as in large cliques, flows take longer than other methods


class Graph(NamedTuple):
    """Edge k is row ``rows_k`` of A, which is ``entry_k (w_first - w_second)`` and has a capacity of ``nu limit_k``.

    The node ``d`` is the ground, whose w is 0. Rows without an entry or with the weight 0 are no edges. ``part`` is the
    connected part of each node, by its first node.
    """

    first: np.ndarray
    second: np.ndarray
    rows: np.ndarray
    entry: np.ndarray
    limit: np.ndarray
    d: int
    part: np.ndarray
    has_cycles: bool

    def differences(self, w: np.ndarray) -> np.ndarray:
        """``w_first - w_second``."""
        w = np.append(w, 0.0)
        return w[self.first] - w[self.second]

    def pull(self, forces: np.ndarray) -> np.ndarray:
        """The sum of the forces on each node."""
        return np.bincount(self.first, forces, self.d + 1) - np.bincount(self.second, forces, self.d + 1)

    def multipliers(self, forces: np.ndarray, m: int) -> np.ndarray:
        """The theta of all rows of A."""
        theta = np.zeros(m)
        theta[self.rows] = forces / self.entry
        return theta


def graph_of(A: CSR, weights: np.ndarray | None) -> Graph | None:
    """The graph of A; None if a row is neither a difference nor has one entry."""
    if not A.data.all() or clusters_of(to_scipy(A)) is None:
        return None
    weights = np.ones(A.shape[0]) if weights is None else weights
    rows = np.flatnonzero((weights > 0.0) & (np.diff(A.indptr) > 0))
    A = A if len(rows) == A.shape[0] else as_csr(to_scipy(A)[rows], "A")
    entry, d, (first, second) = A.data[A.indptr[:-1]], A.shape[1], ends_of(A)
    number, label = components(first, second, d + 1)
    part = np.unique(label, return_index=True)[1][label]
    has_cycles = number != d + 1 - len(rows)
    return Graph(first, second, rows, entry, np.abs(entry) * weights[rows], d, part, has_cycles)


def graph_for(problem: Problem) -> Graph | None:
    """The graph of a problem, which is the same along a path of strengths."""
    weights, known = problem.penalty.weights, problem.of_coordinates.get("graph")
    if known is None or known[0] is not weights:
        known = problem.of_coordinates["graph"] = weights, graph_of(problem.A, weights)
    return known[1]


def has_few_edges(graph: Graph) -> bool:
    """Whether flows on the graph are fast."""
    return not graph.has_cycles or len(graph.rows) <= MOST_EDGES * graph.d


class Forces(Protocol):
    """Forces on a graph, which continue from those of the last derivatives."""

    def inside(self, slope: np.ndarray, capacity: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces within their capacities, and the signs of the edges to open, 0 for others.

        ``slope`` is the derivative of each node, and ``sign`` that of the difference of the ends of each edge.
        """

    def balanced(
        self, slope: np.ndarray, capacity: np.ndarray, serves: Callable[[float], bool]
    ) -> tuple[np.ndarray, float] | None:
        """Forces that balance the same derivatives, and the factor <= 1 that brings them inside; called after `inside`.

        None as soon as the factor is known to be below one that ``serves``.
        """


def forces_on(graph: Graph) -> Forces:
    """The forces of a graph."""
    return FlowForces(graph) if graph.has_cycles else ForestForces(graph)


# --- forests ---------------------------------------------------------------------------------------------------------


class Tree(NamedTuple):
    """A forest whose roots are the ground and the first node of each other part.

    ``edge`` is the edge of each node to its parent, -1 for a root, ``away`` is 1 if that edge begins at the node and -1
    if it ends there, and ``branches`` is a factor of the matrix that takes the sums over the branches above each node
    to the loads.
    """

    edge: np.ndarray
    away: np.ndarray
    branches: SuperLU
    order: np.ndarray


def tree_of(graph: Graph) -> Tree:
    """The forest by breadth-first search, parents first."""
    d, part, edges = graph.d, graph.part, np.arange(len(graph.rows))
    roots = np.append(np.flatnonzero((part == np.arange(d + 1)) & (part != part[d])), d)
    ends = np.append(graph.first, np.full(len(roots), d + 1)), np.append(graph.second, roots)  # all roots have a parent
    joined = sp.csr_array((np.ones(len(ends[0])), ends), shape=(d + 2, d + 2))
    order, parent = (found.astype(np.int64) for found in breadth_first_order(joined, d + 1, directed=False))
    edge = np.full(d + 1, -1)
    edge[np.where(parent[graph.first] == graph.second, graph.first, graph.second)] = edges
    order = order[1:]
    place = np.empty(d + 2, np.int64)
    place[order] = np.arange(d + 1)
    inner = np.flatnonzero(edge >= 0)
    off = sp.csc_array((np.full(len(inner), -1.0), (place[parent[inner]], place[inner])), shape=(d + 1, d + 1))
    branches = splu(sp.eye_array(d + 1, format="csc") + off, "NATURAL", diag_pivot_thresh=0.0)
    away = np.where(graph.first[edge] == np.arange(d + 1), 1.0, -1.0) if len(edges) else np.ones(d + 1)
    return Tree(edge, away, branches, order)


def in_balance(load: np.ndarray, part: np.ndarray) -> np.ndarray:
    """The derivatives without their mean in each part of the graph, which no force balances; the ground bears any."""
    mean = np.bincount(part, load) / np.maximum(np.bincount(part), 1)
    mean[part[-1]] = 0.0
    return load - mean[part]


class ForestForces:
    """The forces on a forest: that of an edge balances all derivatives on its far side."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.tree = graph, tree_of(graph)
        self.forces = np.zeros(len(graph.rows))

    def inside(self, slope: np.ndarray, capacity: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.forces = self._balancing(np.append(slope, 0.0))
        opened = np.zeros(len(capacity))
        rows = np.flatnonzero((sign == 0.0) & (np.abs(self.forces) > (1.0 + VIOLATED) * capacity))
        if len(rows):
            largest = self._largest(rows, np.abs(self.forces[rows]) / capacity[rows])
            opened[largest] = -np.sign(self.forces[largest])
        return np.clip(self.forces, -capacity, capacity), opened

    def _balancing(self, load: np.ndarray) -> np.ndarray:
        """The sum of the load over the branch behind each edge, the sign of which is that of the edge."""
        tree, of_nodes = self.tree, np.empty(len(load))
        of_nodes[tree.order] = tree.branches.solve(in_balance(load, self.graph.part)[tree.order])
        inner = tree.edge >= 0
        forces = np.zeros(len(self.graph.rows))
        forces[tree.edge[inner]] = (tree.away * of_nodes)[inner]
        return forces

    def _largest(self, rows: np.ndarray, ratio: np.ndarray) -> np.ndarray:
        """Of the edges whose forces are too large, the largest of each connected piece with forces of one sign."""
        first, second, piece = self.graph.first, self.graph.second, np.empty(len(rows), dtype=np.int64)
        for k, positive in enumerate((False, True)):
            of_sign = (self.forces[rows] > 0.0) == positive
            between = rows[of_sign & (second[rows] < self.graph.d)]
            _, root = components(first[between], second[between], self.graph.d + 1)
            piece[of_sign] = 2 * root[first[rows[of_sign]]] + k
        order = np.argsort(-ratio, kind="stable")
        return rows[order[np.unique(piece[order], return_index=True)[1]]]

    def balanced(
        self, slope: np.ndarray, capacity: np.ndarray, serves: Callable[[float], bool]
    ) -> tuple[np.ndarray, float] | None:
        scale = 1.0 / max(1.0, float(np.max(np.abs(self.forces) / capacity, initial=0.0)))
        return (self.forces, scale) if serves(scale) else None


# --- graphs with cycles ----------------------------------------------------------------------------------------------


class FlowForces:
    """The forces on a graph with cycles, by maximum flows that begin at the forces of the last derivatives."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.network = Network(graph.first, graph.second, graph.d + 1)
        self.forces, self.side = np.zeros(len(graph.rows)), np.zeros(graph.d + 1, dtype=np.int64)

    def inside(self, slope: np.ndarray, capacity: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Edges with a sign carry their capacity, and flows in each cluster balance what they can."""
        closed = sign != 0.0
        forces = np.where(closed, -sign * capacity, np.clip(self.forces, -capacity, capacity))
        self._flow(np.append(slope, 0.0), np.where(closed, -math.inf, capacity), forces)
        ahead = self.side[self.graph.first] - self.side[self.graph.second]
        return self.forces, np.where(closed, 0.0, np.sign(ahead))

    def balanced(
        self, slope: np.ndarray, capacity: np.ndarray, serves: Callable[[float], bool]
    ) -> tuple[np.ndarray, float] | None:
        """Let all edges carry more, just as much as the last cuts need, until no cut is left.

        A cut that a flow cannot cross bounds the factor. This is Newton's method for the least factor of capacities.
        """
        load, needed = in_balance(np.append(slope, 0.0), self.graph.part), 1.0
        for _ in range(MOST_CUTS):
            before, needed = needed, max(needed, self._most_needed(load, capacity))
            if not serves(1.0 / needed):
                return None
            limit = needed * capacity
            self._flow(load, limit, np.clip(self.forces, -limit, limit))
            if not self.side.any() or needed == before > 1.0:
                return self.forces, 1.0 / needed
        return None

    def _flow(self, load: np.ndarray, limit: np.ndarray, forces: np.ndarray) -> None:
        """Forces near the given ones that balance the load where they can, and the sides of cuts where not.

        What a part that open edges connect has too much as a whole is spread over its nodes first; the ground bears it
        alone.
        """
        network, side = self.network, self.side
        network.set(limit, forces)
        parts = network.parts()
        excess = in_balance(load - self.graph.pull(forces), parts.root)
        excess[-1] -= np.sum(excess[parts.root == parts.root[-1]])
        size = float(np.max(np.abs(load)))
        network.cancel(parts, excess, np.full(len(parts.start) - 1, ROUNDING * size))
        side[:] = 0
        network.name_reached(np.flatnonzero(excess > VIOLATED * size), side, BELOW)
        network.turn_round()
        network.name_reached(np.flatnonzero(excess < -VIOLATED * size), side, ABOVE)
        network.turn_round()
        self.forces = network.flow

    def _most_needed(self, load: np.ndarray, capacity: np.ndarray) -> float:
        """The largest factor of the capacities that the load of one side of a cut needs."""
        (first, second), nodes = self.graph[:2], self.graph.d + 1
        uncut = self.side[first] == self.side[second]
        _, root = components(first[uncut], second[uncut], nodes)
        one, other = root[first], root[second]
        cut = np.flatnonzero(one != other)
        room = np.bincount(one[cut], capacity[cut], nodes) + np.bincount(other[cut], capacity[cut], nodes)
        room[root[-1]] = 0.0  # the ground bears any load
        total, bounded = np.abs(np.bincount(root, load, nodes)), room > 0.0
        return float(np.max(total[bounded] / room[bounded], initial=0.0))
