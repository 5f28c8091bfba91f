"""Exact solution on any graph where X is diagonal: maximum flows that split the nodes until all values are known.

    min over w of  sum_i f_i(w_i) + sum_k limit_k |w_{i(k)} - w_{j(k)}|

where the derivative of each f_i is piecewise linear, jumps allowed. For a connected part of the graph, let x be the
best value that all its nodes can share. All of them have it at the optimum if there are forces along the edges, within
their limits, that balance the derivatives at x. A maximum flow either finds such forces or leaves some derivatives
unbalanced. In the latter case the minimal cuts show which nodes lie below x and which above. The edges between these
sets and to the other nodes, whose value is x, then carry their limits, and both sets are solved in the same way.

Forces that balance the derivatives are the multipliers of the optimum, so that it is proved by a certificate.

References: D. Hochbaum, An efficient algorithm for image segmentation, Markov random fields and related problems,
Journal of the ACM 48, 2001; A. Chambolle, J. Darbon, On total variation minimization and surface evolution using
parametric maximum flows, International Journal of Computer Vision 84, 2009.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._core.jit import compiled, inlined
from .chain_pieces import Pieces
from .joined import connect

__all__ = ["ABOVE", "BELOW", "Network", "Parts", "cut_into_pieces"]

FIRST_STEP, LEAST_PART = 1e-3, 0.2  # of a search for the value of a part, outside of a bracket and inside
ROUNDING = 1e-13
BELOW, SETTLED, ABOVE = -1, 0, 1


class Arcs(NamedTuple):
    """Two arcs for each edge. Those that leave node i are ``start[i]`` to ``start[i + 1]``.

    An arc leads to the node ``end`` and has the reverse arc ``back``, whose flow is the negative of its own. A flow is
    at most the ``limit``, which is minus infinity if the edge is closed: then its flow stays as it is.
    """

    start: np.ndarray
    end: np.ndarray
    back: np.ndarray
    limit: np.ndarray
    flow: np.ndarray


class Parts(NamedTuple):
    """The nodes of part c are ``members[start[c]:start[c + 1]]``; ``root`` is the part of each node, by its first node.

    Nodes without open edges, and parts without nodes, may be missing.
    """

    start: np.ndarray
    members: np.ndarray
    root: np.ndarray

    def largest(self, values: np.ndarray) -> np.ndarray:
        """The largest value of each part."""
        return np.maximum.reduceat(values[self.members], self.start[:-1])


class Network:
    """Flows along the edges of a graph. The flow of an edge is that of the arc which leaves its first node."""

    def __init__(self, first: np.ndarray, second: np.ndarray, nodes: int) -> None:
        self.first, self.second, self.nodes = first, second, nodes
        leaves = np.column_stack((first, second)).reshape(-1)
        order = np.argsort(leaves, kind="stable")  # arcs 2 k and 2 k + 1 before the sort are those of edge k
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        start = np.concatenate(([0], np.cumsum(np.bincount(leaves, minlength=nodes))))
        self.of_edge, back = place[::2], place[order ^ 1]
        self.arcs = Arcs(start, leaves[order ^ 1], back, *np.zeros((2, len(order))))

    def set(self, limit: np.ndarray, flow: np.ndarray) -> None:
        """Give each edge its limit and its flow."""
        back = self.arcs.back[self.of_edge]
        self.arcs.flow[self.of_edge], self.arcs.flow[back] = flow, -flow
        self.arcs.limit[self.of_edge] = self.arcs.limit[back] = limit

    def close(self, edges: np.ndarray) -> None:
        """Close edges, whose flows then stay as they are."""
        at = self.of_edge[edges]
        self.arcs.limit[at] = self.arcs.limit[self.arcs.back[at]] = -math.inf

    @property
    def flow(self) -> np.ndarray:
        return self.arcs.flow[self.of_edge]

    def parts(self, absent: np.ndarray | None = None) -> Parts:
        """The parts that open edges connect, without nodes that are absent or alone."""
        is_open = np.flatnonzero(self.arcs.limit[self.of_edge] > 0.0)
        connect(self.first[is_open], self.second[is_open], root := np.arange(self.nodes))
        order = np.argsort(root, kind="stable")
        members = order[np.bincount(root)[root[order]] > 1] if absent is None else order[~absent[order]]
        start = np.flatnonzero(np.diff(root[members], prepend=-1, append=-1)) if len(members) else np.zeros(1, int)
        return Parts(start, members, root)

    def cancel(self, parts: Parts, excess: np.ndarray, rounding: np.ndarray) -> None:
        """Let the positive excess of each part flow to nodes with negative excess, until it reaches none.

        ``rounding`` is the excess of each part that counts as 0.
        """
        distance, queue = np.empty((2, self.nodes), np.int64)  # kernels that allocate take longer to compile
        cancel(self.arcs, parts.start, parts.members.copy(), excess, rounding, distance, queue)

    def name_reached(self, sources: np.ndarray, side: np.ndarray, name: int) -> None:
        """Name these nodes and all that a flow from them could reach."""
        name_reached(self.arcs, sources, side, name, np.empty(self.nodes, np.int64))

    def turn_round(self) -> None:
        """Exchange each open arc with its reverse: a flow of negative excess is one of positive excess against them."""
        np.negative(self.arcs.flow, out=self.arcs.flow, where=self.arcs.limit > 0.0)


def cut_into_pieces(f: Pieces, edges: Any, w: np.ndarray, forces: np.ndarray) -> None:
    """Write the minimiser to ``w``, and the force of each edge on its first node to ``forces``.

    Edge k ties the nodes ``edges.first[k]`` and ``edges.second[k]``, and its force is at most ``edges.limit[k]``.
    Searches for values begin at the given w, and flows at the given forces. The forces of the optimum leave the flows
    next to nothing to do, on any level, so that an approximation saves most of the time.
    """
    n = len(w)
    settled, network = np.zeros(n, np.bool_), Network(edges.first, edges.second, n)
    network.set(edges.limit, forces)
    pull = np.bincount(edges.first, forces, n) - np.bincount(edges.second, forces, n)
    while len((parts := network.parts(settled)).members):  # every level settles nodes or splits parts
        split(f, network, parts, (settled, pull, w))
    forces[:] = network.flow


# --- one level: all parts are split at once --------------------------------------------------------------------------


def split(f: Pieces, network: Network, parts: Parts, nodes: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Give each part its best value, find the nodes that lie below it or above it, and settle those that have it.

    ``pull`` is the sum of the forces on each node, which the derivative of its function must balance. Excess is a
    derivative minus the pull. First the lower ends of the derivatives at x are balanced, as far as possible, by a flow
    of positive excess; then the upper ends by a flow of negative excess, which leaves no lower end with a new excess.
    """
    settled, pull, w = nodes
    (low, high, rounding), side = np.zeros((3, len(w))), np.zeros(len(w), np.int64)
    share_values(f, parts.start, parts.members, pull, w, low, high)
    of_parts = ROUNDING * parts.largest(np.maximum(np.abs(low), np.abs(pull)))
    rounding[parts.members] = np.repeat(of_parts, np.diff(parts.start))
    excess, width = np.where(settled, 0.0, low - pull), high - low
    network.cancel(parts, excess, of_parts)
    network.name_reached(np.flatnonzero(excess > rounding), side, BELOW)
    pull[:] = low - excess
    excess = -excess - width
    pull -= excess
    network.turn_round()
    network.cancel(parts, excess, of_parts)
    network.name_reached(np.flatnonzero(excess > rounding), side, ABOVE)
    network.turn_round()
    pull += excess
    together = parts.largest(side) == -parts.largest(-side)  # rounding has put a whole part on one side
    side[parts.members[np.repeat(together, np.diff(parts.start))]] = SETTLED
    settled |= side == SETTLED
    one, other = side[network.first], side[network.second]
    network.close((one == SETTLED) | (one != other))  # what lies between two sides carries its limit


# --- maximum flows ---------------------------------------------------------------------------------------------------


@compiled
def cancel(arcs, start, live, excess, rounding, distance, queue):
    """Let positive excess flow to nodes with negative excess, part by part: some need many more rounds than others.

    In each round, distances to the nearest node with negative excess are measured, until all positive excess has one;
    then the nodes push their excess one step closer, the farthest first. What is stuck behind a full arc waits for the
    next round. A node from which nothing was reached will not reach anything later either. So ``live``, the members of
    each part, is overwritten.
    """
    unreached = len(excess)
    for c in range(len(start) - 1):
        number, tiny, found = start[c + 1] - start[c], rounding[c], 1
        while found > 0:
            head, tail, waiting, found = 0, 0, 0, 0
            for k in range(start[c], start[c] + number):
                i = live[k]
                distance[i] = unreached
                if excess[i] < -tiny:
                    distance[i], queue[tail] = 0, i
                    tail += 1
                elif excess[i] > tiny:
                    waiting += 1
            while head < tail and found < waiting:
                j = queue[head]
                head += 1
                for p in range(arcs.start[j], arcs.start[j + 1]):
                    i = arcs.end[p]
                    if -arcs.flow[p] < arcs.limit[p] and distance[i] == unreached:
                        distance[i], queue[tail] = distance[j] + 1, i
                        tail += 1
                        found += excess[i] > tiny
            if found < waiting:
                number = tail
                for k in range(tail):
                    live[start[c] + k] = queue[k]
            while tail > 0 and found > 0:
                tail -= 1
                if excess[queue[tail]] > tiny:
                    push(arcs, queue[tail], excess, distance)


@compiled
def push(arcs, i, excess, distance):
    """Push the excess of a node along arcs that come closer to where it can go."""
    left, p = excess[i], arcs.start[i]
    while left > 0.0 and p < arcs.start[i + 1]:
        j, room = arcs.end[p], arcs.limit[p] - arcs.flow[p]
        if room > 0.0 and distance[j] == distance[i] - 1:
            amount = min(room, left)
            arcs.flow[p] = arcs.limit[p] if amount == room else arcs.flow[p] + amount
            arcs.flow[arcs.back[p]] = -arcs.flow[p]
            left -= amount
            excess[j] += amount
        p += 1
    excess[i] = left


@compiled
def name_reached(arcs, sources, side, name, queue):
    """Name the sources, and all that a flow from them could reach."""
    head, tail = 0, len(sources)
    for k in range(tail):
        queue[k] = sources[k]
        side[sources[k]] = name
    while head < tail:
        i = queue[head]
        head += 1
        for p in range(arcs.start[i], arcs.start[i + 1]):
            j = arcs.end[p]
            if arcs.flow[p] < arcs.limit[p] and side[j] != name:
                side[j], queue[tail] = name, j
                tail += 1


# --- the value of a part ---------------------------------------------------------------------------------------------


@compiled
def share_values(f, start, members, pull, w, low, high):
    """Write the shared value of each part to its nodes, and the ends of their derivatives there."""
    for c in range(len(start) - 1):
        part = members[start[c] : start[c + 1]]
        x = shared_value(f, part, pull, w[part[0]])
        for i in part:
            w[i] = x
            low[i], high[i] = ends_of(f, i, x)


@inlined
def ends_of(f, i, x):
    """The interval of derivatives of f_i at x."""
    slope, level = f.slope[i], f.level[i]
    low = slope * x + level
    for j in range(f.place.shape[1]):
        if f.place[i, j] <= x:
            slope += f.rise[i, j]
            level += f.jump[i, j]
        if f.place[i, j] < x:
            low = slope * x + level
    return low, max(low, slope * x + level)


@inlined
def shared_value(f, members, pull, x):
    """The value at which the derivatives of all members together balance the pull: a root of an increasing function.

    Trials are at knots, so that a jump of the function across 0 is met exactly. Between two neighbouring knots and
    beyond the last one the function is linear.
    """
    below, above, of_below, of_above = -math.inf, math.inf, -math.inf, math.inf
    step = FIRST_STEP * (1.0 + abs(x))
    while True:
        low, high = 0.0, 0.0
        for i in members:
            one, other = ends_of(f, i, x)
            low += one - pull[i]
            high += other - pull[i]
        if low <= 0.0 <= high:
            return x
        if high < 0.0:
            below, of_below = x, high
        else:
            above, of_above = x, low
        if below > -math.inf and above < math.inf:
            part = of_below / (of_below - of_above)
            guess = below + min(max(part, LEAST_PART), 1.0 - LEAST_PART) * (above - below)
        else:
            guess = x + (step if high < 0.0 else -step)
            step *= 4.0
        knot = nearest_knot(f, members, below, above, guess)
        if knot == math.inf:
            break
        x = knot
    if below > -math.inf and above < math.inf:
        return below + of_below / (of_below - of_above) * (above - below)
    return beyond_knots(f, members, pull, above == math.inf, x)


@inlined
def nearest_knot(f, members, below, above, guess):
    """The knot between two places that is nearest to a guess; infinity if there is none."""
    found = math.inf
    for i in members:
        for j in range(f.place.shape[1]):
            place = f.place[i, j]
            if below < place < above and abs(place - guess) < abs(found - guess):
                found = place
    return found


@inlined
def beyond_knots(f, members, pull, right, x):
    """The root right or left of all knots; x if the derivatives do not change there."""
    slope, level = 0.0, 0.0
    for i in members:
        slope += f.slope[i]
        level += f.level[i] - pull[i]
        for j in range(f.place.shape[1]):
            if right and f.place[i, j] < math.inf:
                slope += f.rise[i, j]
                level += f.jump[i, j]
    return -level / slope if slope > 0.0 else x
