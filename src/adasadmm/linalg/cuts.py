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

__all__ = ["cut_into_pieces"]

FIRST_STEP, LEAST_PART = 1e-3, 0.2  # of a search for the value of a part, outside of a bracket and inside
ROUNDING = 1e-13
BELOW, SETTLED, ABOVE = -1, 0, 1


class Arcs(NamedTuple):
    """Two arcs for each edge. Those that leave node i are ``start[i]`` to ``start[i + 1]``.

    An arc leads to the node ``end`` and has the reverse arc ``back``, whose flow is the negative of its own. A flow is
    at most the ``limit``, which is minus infinity if the edge is closed: then its flow stays as it is. The flow on the
    arc that leaves the first node of an edge is the force of the edge.
    """

    start: np.ndarray
    end: np.ndarray
    back: np.ndarray
    limit: np.ndarray
    flow: np.ndarray


class Parts(NamedTuple):
    """The nodes of part c are ``members[start[c]:start[c + 1]]``."""

    start: np.ndarray
    members: np.ndarray


def cut_into_pieces(f: Pieces, edges: Any, w: np.ndarray, forces: np.ndarray) -> None:
    """Write the minimiser to ``w``, and the force of each edge on its first node to ``forces``.

    Edge k ties the nodes ``edges.first[k]`` and ``edges.second[k]``, and its force is at most ``edges.limit[k]``.
    Searches for values begin at the given w, and flows at the given forces. The forces of the optimum leave the flows
    next to nothing to do, on any level, so that an approximation saves most of the time.
    """
    settled, pull = np.zeros(len(w), np.bool_), np.zeros(len(w))
    arcs, of_edge = arcs_of(edges, forces, pull)
    while len((parts := parts_of(arcs, settled)).members):  # every level settles nodes or splits parts
        split(f, arcs, parts, (settled, pull, w))
    forces[:] = arcs.flow[of_edge]


@compiled
def arcs_of(edges, forces, pull):
    """The arcs of all edges, and the one of each that leaves its first node; also write the pull of the forces."""
    n, m = len(pull), len(forces)
    start = np.zeros(n + 1, np.int64)
    for k in range(m):
        start[edges.first[k] + 1] += 1
        start[edges.second[k] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    place, of_edge = start[:-1].copy(), np.empty(m, np.int64)
    (end, back), (limit, flow) = np.empty((2, 2 * m), np.int64), np.empty((2, 2 * m))
    for k in range(m):
        i, j = edges.first[k], edges.second[k]
        p, q = place[i], place[j]
        end[p], end[q], back[p], back[q], of_edge[k] = j, i, q, p, p
        limit[p] = limit[q] = edges.limit[k]
        flow[p], flow[q] = forces[k], -forces[k]
        pull[i] += forces[k]
        pull[j] -= forces[k]
        place[i] += 1
        place[j] += 1
    return Arcs(start, end, back, limit, flow), of_edge


# --- one level: all parts are split at once --------------------------------------------------------------------------


@compiled
def parts_of(arcs, settled):
    """The parts that open edges connect, without the nodes that are settled."""
    n, number, tail = len(settled), 0, 0
    seen, members, start = settled.copy(), np.empty(n, np.int64), np.empty(n + 1, np.int64)
    for node in range(n):
        if seen[node]:
            continue
        start[number], members[tail], seen[node] = tail, node, True
        head = tail
        tail += 1
        while head < tail:
            i = members[head]
            head += 1
            for p in range(arcs.start[i], arcs.start[i + 1]):
                j = arcs.end[p]
                if not seen[j] and arcs.limit[p] > 0.0:
                    seen[j], members[tail] = True, j
                    tail += 1
        number += 1
    start[number] = tail
    return Parts(start[: number + 1], members[:tail])


@compiled
def split(f, arcs, parts, nodes):
    """Give each part its best value, find the nodes that lie below it or above it, and settle those that have it.

    ``pull`` is the sum of the forces on each node, which the derivative of its function must balance. Excess is a
    derivative minus the pull. First the lower ends of the derivatives at x are balanced, as far as possible, by a flow
    of positive excess; then the upper ends by a flow of negative excess, which leaves no lower end with a new excess.
    """
    settled, pull, w = nodes
    n = len(w)
    excess, width = np.empty((2, n))
    side, work = np.zeros(n, np.int64), np.empty((2, n), np.int64)
    for c in range(len(parts.start) - 1):  # a flow for each part: some need many more rounds than others
        members = parts.members[parts.start[c] : parts.start[c + 1]]
        x, size = shared_value(f, members, pull, w[members[0]]), 0.0
        for i in members:
            low, high = ends_of(f, i, x)
            size = max(size, abs(low), abs(pull[i]))
            w[i], excess[i], width[i] = x, low - pull[i], high - low
            pull[i] = low
        rounding = ROUNDING * size
        cancel(arcs, members, excess, rounding, work)
        name_reached(arcs, members, excess, rounding, side, BELOW, work)
        for i in members:
            pull[i] -= excess[i]
            excess[i] = -excess[i] - width[i]
            pull[i] -= excess[i]
        turn_round(arcs, members)
        cancel(arcs, members, excess, rounding, work)
        name_reached(arcs, members, excess, rounding, side, ABOVE, work)
        turn_round(arcs, members)
        for i in members:
            pull[i] += excess[i]
        settle(members, side, settled)
    close_edges(arcs, parts, side)


@inlined
def settle(members, side, settled):
    """Settle the nodes that are neither below nor above; all of them if rounding has put the whole part on one side."""
    together = True
    for i in members:
        together = together and side[i] == side[members[0]]
    for i in members:
        if together:
            side[i] = SETTLED
        settled[i] = side[i] == SETTLED


@inlined
def close_edges(arcs, parts, side):
    """Close the edges between two sides, which carry their limits, and those between settled nodes."""
    for i in parts.members:
        for p in range(arcs.start[i], arcs.start[i + 1]):
            if side[i] == SETTLED or side[arcs.end[p]] != side[i]:
                arcs.limit[p] = arcs.limit[arcs.back[p]] = -math.inf


# --- maximum flows ---------------------------------------------------------------------------------------------------


@inlined
def cancel(arcs, members, excess, rounding, work):
    """Let positive excess flow to nodes with negative excess until it reaches none.

    In each round, distances to the nearest node with negative excess are measured, until all positive excess has one;
    then the nodes push their excess one step closer, the farthest first. What is stuck behind a full arc waits for the
    next round. A node from which nothing was reached will not reach anything later either.
    """
    distance, queue = work
    unreached, live, number = len(distance), members.copy(), len(members)
    while True:
        head, tail, waiting, found = 0, 0, 0, 0
        for i in live[:number]:
            distance[i] = unreached
            if excess[i] < -rounding:
                distance[i], queue[tail] = 0, i
                tail += 1
            elif excess[i] > rounding:
                waiting += 1
        while head < tail and found < waiting:
            j = queue[head]
            head += 1
            for p in range(arcs.start[j], arcs.start[j + 1]):
                i = arcs.end[p]
                if -arcs.flow[p] < arcs.limit[p] and distance[i] == unreached:
                    distance[i], queue[tail] = distance[j] + 1, i
                    tail += 1
                    found += excess[i] > rounding
        if found == 0:
            return
        if found < waiting:
            number = tail
            live[:number] = queue[:number]
        while tail > 0:
            tail -= 1
            if excess[queue[tail]] > rounding:
                push(arcs, queue[tail], excess, distance)


@inlined
def name_reached(arcs, members, excess, rounding, side, name, work):
    """Name the nodes with positive excess, and all that a flow from them could reach."""
    queue, head, tail = work[1], 0, 0
    for i in members:
        if excess[i] > rounding:
            side[i], queue[tail] = name, i
            tail += 1
    while head < tail:
        i = queue[head]
        head += 1
        for p in range(arcs.start[i], arcs.start[i + 1]):
            j = arcs.end[p]
            if arcs.flow[p] < arcs.limit[p] and side[j] != name:
                side[j], queue[tail] = name, j
                tail += 1


@inlined
def push(arcs, i, excess, distance):
    """Push the excess of a node along arcs that come closer to where it can go."""
    for p in range(arcs.start[i], arcs.start[i + 1]):
        j = arcs.end[p]
        if arcs.flow[p] < arcs.limit[p] and distance[j] == distance[i] - 1:
            room = arcs.limit[p] - arcs.flow[p]
            amount = min(room, excess[i])
            arcs.flow[p] = arcs.limit[p] if amount == room else arcs.flow[p] + amount
            arcs.flow[arcs.back[p]] = -arcs.flow[p]
            excess[i] -= amount
            excess[j] += amount
            if excess[i] <= 0.0:
                break


@inlined
def turn_round(arcs, members):
    """Exchange each open arc with its reverse: a flow of negative excess is one of positive excess against the arcs."""
    for i in members:
        for p in range(arcs.start[i], arcs.start[i + 1]):
            if arcs.limit[p] > 0.0:
                arcs.flow[p] = -arcs.flow[p]


# --- the value of a part ---------------------------------------------------------------------------------------------


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
