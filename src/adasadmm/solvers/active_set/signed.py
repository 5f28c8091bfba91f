"""The minimum of a quadratic with an L1 penalty on the edges of a small graph, by steps with fixed signs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..._core.jit import compiled, inlined, inlined_sum

__all__ = ["Edges", "minimiser"]

WEAK = 1e-13  # the ridge of the matrix, relative to its diagonal
MOST_STEPS = 1000
CONTINUES, AT_ZERO, ENDS = 0, 1, 2


class Edges(NamedTuple):
    """Edge k costs ``limit_k |u_first - u_second|``; ``sign`` is that of the difference.

    The last node is the ground, whose u is 0.
    """

    first: np.ndarray
    second: np.ndarray
    limit: np.ndarray
    sign: np.ndarray


def minimiser(H: np.ndarray, pull: np.ndarray, edges: Edges, u: np.ndarray) -> np.ndarray:
    """The u with the least ``1/2 u'Hu - pull'u`` plus the cost of the edges, among those that keep what they join.

    With fixed signs the minimum is a linear system. On the way there edges may change their signs. The search stops at
    the least value on the way: there the ends of an edge have met, and stay together, or some have changed their order.
    Edges whose ends start at one value and would take the wrong order join them at once.
    """
    if not len(u):
        return u
    label = np.arange(len(u) + 1)
    first, second, limit, sign = edges
    own = Edges(first.copy(), second.copy(), limit.astype(float), sign.astype(float))
    work = np.zeros(len(label)), np.zeros(len(limit), dtype=bool), np.empty(len(limit))
    u = np.append(u, 0.0)
    descend(_factor(H), pull.copy(), u, own, label, work)
    return u[label[:-1]]


def _factor(H: np.ndarray) -> np.ndarray:
    """An upper triangular R with ``R'R = H``, for a positive semidefinite H."""
    H, diagonal = H.copy(), np.diag_indices(len(H))
    more = WEAK * np.where(H[diagonal] > 0.0, H[diagonal], 1.0)
    for _ in range(4):
        H[diagonal] += more
        lower, failed = scipy.linalg.lapack.dpotrf(H.T, lower=1, clean=1)  # FORTRAN's columns are the rows of H
        if not failed:
            return lower.T
        more = 1e3 * more
    values, vectors = np.linalg.eigh(H)
    root = np.sqrt(np.maximum(values, more.max()))[:, None] * vectors.T
    return np.ascontiguousarray(scipy.linalg.qr(root, mode="r")[0])


@compiled
def descend(R, pull, u, edges, label, work):
    """Steps until the minimum for the signs of the edges has these signs; u is then the minimiser.

    ``label`` receives the entry of u that each node has at the end. All arrays but ``label`` are used as work space:
    nodes that have been joined are taken out of them, and the ground stays the last of u.
    """
    move, joins, places = work
    ground, nodes = len(pull), len(pull)
    for _ in range(MOST_STEPS):
        aim(R, pull, u, edges, nodes, move)
        length, state = 0.0, CONTINUES
        if not mark_wrong_starts(edges, u, move, joins):
            length, state = first_minimum(bend_along(R, nodes, move), edges, u, move, joins, places)
        for node in range(nodes):
            u[node] += length * move[node]
        if state == ENDS:
            break
        for k in range(len(joins)):
            gone, stays = min(edges.first[k], edges.second[k]), max(edges.first[k], edges.second[k])
            if joins[k] and gone < stays:
                take_out_column(R, gone, stays, ground, nodes)
                take_out_node(pull, u, gone, stays)
                renumber(label, gone, stays, ground)
                renumber(edges.first, gone, stays, ground)
                renumber(edges.second, gone, stays, ground)
                nodes -= 1


@inlined_sum
def aim(R, pull, u, edges, nodes, move):
    """Write the move from u to the minimum for these signs: the solution of ``R'R x = pull - forces``, minus u."""
    for node in range(len(u)):
        move[node] = pull[node] if node < nodes else 0.0
    for k in range(len(edges.limit)):
        i, j, force = edges.first[k], edges.second[k], edges.limit[k] * edges.sign[k]
        if i != j:  # the ends have not been joined
            move[i] -= force
            move[j] += force
    for i in range(nodes):
        move[i] /= R[i, i]
        for j in range(i + 1, nodes):
            move[j] -= R[i, j] * move[i]
    for i in range(nodes - 1, -1, -1):
        total = move[i]
        for j in range(i + 1, nodes):
            total -= R[i, j] * move[j]
        move[i] = total / R[i, i]
    for node in range(len(u)):
        move[node] = move[node] - u[node] if node < nodes else 0.0


@inlined_sum
def bend_along(R, nodes, move):
    """``|R move|^2``."""
    bend = 0.0
    for i in range(nodes):
        total = 0.0
        for j in range(i, nodes):
            total += R[i, j] * move[j]
        bend += total * total
    return bend


@inlined
def mark_wrong_starts(edges, u, move, joins):
    """Mark the edges whose ends have one value and would take the wrong order; returns whether there are any."""
    found = False
    for k in range(len(joins)):
        i, j = edges.first[k], edges.second[k]
        joins[k] = u[i] == u[j] and edges.sign[k] * (move[i] - move[j]) < 0.0
        found |= joins[k]
    return found


@inlined
def first_minimum(bend, edges, u, move, joins, places):
    """The place of the least value on the way to the minimum for fixed signs, and how the search continues.

    Along the way the slope is ``-(1 - t) bend``, and it rises by ``2 limit |dv|`` where the difference v of the ends of
    an edge passes 0. Edges that pass before the least value change their signs; one that is at 0 there is marked.
    """
    total, state = 0.0, ENDS
    for k in range(len(joins)):
        v, dv = u[edges.first[k]] - u[edges.second[k]], move[edges.first[k]] - move[edges.second[k]]
        places[k] = math.inf
        if edges.sign[k] * (v + dv) < 0.0:
            places[k] = min(max(-v / dv, 0.0), 1.0) if dv != 0.0 else 0.0  # rounding gave v the wrong sign
            state = CONTINUES
    while state == CONTINUES:
        nearest = 0
        for k in range(1, len(places)):
            if places[k] < places[nearest]:
                nearest = k
        place = places[nearest]
        left = (1.0 - place) * bend
        if place == math.inf or total > left:
            return 1.0 - total / bend, CONTINUES
        total += 2.0 * edges.limit[nearest] * abs(move[edges.first[nearest]] - move[edges.second[nearest]])
        if total >= left:
            joins[nearest] = True
            return place, AT_ZERO
        edges.sign[nearest], places[nearest] = -edges.sign[nearest], math.inf
    return 1.0, ENDS


@inlined
def renumber(nodes, gone, stays, ground):
    """Replace a node by the one it was joined to; the nodes behind it, except the ground, move up."""
    for k in range(len(nodes)):
        if nodes[k] == gone:
            nodes[k] = stays
        if gone < nodes[k] < ground:
            nodes[k] -= 1


@inlined
def take_out_node(pull, u, gone, stays):
    """Add the pull of a node to that of the one it was joined to, and remove it; those behind it move up."""
    if stays < len(pull):
        pull[stays] += pull[gone]
    for i in range(gone, len(pull) - 1):
        pull[i], u[i] = pull[i + 1], u[i + 1]


@inlined
def take_out_column(R, gone, stays, ground, nodes):
    """Add a column of R to that of a later node, unless that is the ground, and remove it.

    Rotations of neighbouring rows make R triangular again.
    """
    if stays < ground:
        for i in range(gone + 1):
            R[i, stays] += R[i, gone]
    for i in range(nodes):
        for j in range(max(gone, i - 1), nodes - 1):
            R[i, j] = R[i, j + 1]
    for i in range(gone, nodes - 1):
        one, other = R[i, i], R[i + 1, i]
        length = np.sqrt(one * one + other * other)
        cosine, sine = (one / length, other / length) if length > 0.0 else (1.0, 0.0)
        R[i, i] = length
        for j in range(i + 1, nodes - 1):
            one, other = R[i, j], R[i + 1, j]
            R[i, j], R[i + 1, j] = cosine * one + sine * other, cosine * other - sine * one
