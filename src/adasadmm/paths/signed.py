"""The minimum of a quadratic with an L1 penalty on the edges of a small graph, by steps with fixed signs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from .._core.jit import compiled, inlined, inlined_sum

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
    work = Edges(first.copy(), second.copy(), limit.astype(float), sign.astype(float))
    found = descend(_factor(H), pull.copy(), np.append(u, 0.0), work, label)
    return found[label[:-1]]


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
def descend(R, pull, u, edges, label):
    """Steps until the minimum for the signs of the edges has these signs; returns u, with the ground at its end.

    ``label`` receives the entry of u that each node has at the end. All arrays but ``label`` are used as work space:
    nodes that have been joined are taken out of them, and the ground stays the last of u.
    """
    ground, nodes, rows = len(pull), len(pull), len(edges.limit)
    move, joins = np.zeros(len(u)), np.zeros(rows, np.bool_)
    for _ in range(MOST_STEPS):
        for node in range(nodes):
            move[node] = pull[node]
        for k in range(rows):
            force = edges.limit[k] * edges.sign[k]
            if edges.first[k] < ground:
                move[edges.first[k]] -= force
            if edges.second[k] < ground:
                move[edges.second[k]] += force
        solve_factored(R, nodes, move)
        for node in range(nodes):
            move[node] -= u[node]
        move[ground] = 0.0
        state = CONTINUES
        if not mark_wrong_starts(edges, rows, u, move, joins):
            length, state = first_minimum(bend_along(R, nodes, move), edges, rows, u, move, joins)
            for node in range(nodes):
                u[node] += length * move[node]
        if state == ENDS:
            break
        k = 0
        while k < rows:
            if joins[k]:
                nodes, rows = without_edge(R, pull, u, edges, label, joins, (k, nodes, rows))
                k = -1  # edges have moved
            k += 1
    return u


@inlined_sum
def solve_factored(R, nodes, x):
    """Replace x by the solution of ``R'R x = x``."""
    for i in range(nodes):
        x[i] /= R[i, i]
        for j in range(i + 1, nodes):
            x[j] -= R[i, j] * x[i]
    for i in range(nodes - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, nodes):
            total -= R[i, j] * x[j]
        x[i] = total / R[i, i]


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
def mark_wrong_starts(edges, rows, u, move, joins):
    """Mark the edges whose ends have one value and would take the wrong order; returns whether there are any."""
    found = False
    for k in range(rows):
        i, j = edges.first[k], edges.second[k]
        joins[k] = u[i] == u[j] and edges.sign[k] * (move[i] - move[j]) < 0.0
        found |= joins[k]
    return found


@inlined
def first_minimum(bend, edges, rows, u, move, joins):
    """The place of the least value on the way to the minimum for fixed signs, and how the search continues.

    Along the way the slope is ``-(1 - t) bend``, and it rises by ``2 limit |dv|`` where the difference v of the ends of
    an edge passes 0. Edges that pass before the least value change their signs; one that is at 0 there is marked.
    """
    places, number = np.full(rows, math.inf), 0
    for k in range(rows):
        v, dv = u[edges.first[k]] - u[edges.second[k]], move[edges.first[k]] - move[edges.second[k]]
        if edges.sign[k] * (v + dv) < 0.0:
            places[k] = min(max(-v / dv, 0.0), 1.0) if dv != 0.0 else 0.0  # rounding gave v the wrong sign
            number += 1
    if number == 0:
        return 1.0, ENDS
    total = 0.0
    for _ in range(number):
        nearest = np.argmin(places)
        place, left = places[nearest], (1.0 - places[nearest]) * bend
        if total > left:
            break
        total += 2.0 * edges.limit[nearest] * abs(move[edges.first[nearest]] - move[edges.second[nearest]])
        if total >= left:
            joins[nearest] = True
            return place, AT_ZERO
        edges.sign[nearest], places[nearest] = -edges.sign[nearest], math.inf
    return 1.0 - total / bend, CONTINUES


@inlined
def without_edge(R, pull, u, edges, label, joins, sizes):
    """Join the ends of an edge, the ground with what meets it; returns the numbers of nodes and edges that are left.

    The column of the smaller node is added to that of the larger one, which keeps R triangular, and taken out.
    """
    edge, nodes, rows = sizes
    ground = len(pull)
    gone, stays = edges.first[edge], edges.second[edge]
    if gone > stays:
        gone, stays = stays, gone
    if stays < ground:
        pull[stays] += pull[gone]
        for i in range(gone + 1):
            R[i, stays] += R[i, gone]
    for i in range(gone, nodes - 1):
        pull[i], u[i] = pull[i + 1], u[i + 1]
    take_out_column(R, gone, nodes)
    stays = stays if stays == ground else stays - 1
    for node in range(len(label)):
        label[node] = moved(label[node], gone, stays, ground)
    kept = 0
    for k in range(rows):
        i, j = moved(edges.first[k], gone, stays, ground), moved(edges.second[k], gone, stays, ground)
        if i != j:
            edges.first[kept], edges.second[kept], joins[kept] = i, j, joins[k]
            edges.limit[kept], edges.sign[kept] = edges.limit[k], edges.sign[k]
            kept += 1
    return nodes - 1, kept


@inlined
def moved(node, gone, stays, ground):
    """The new number of a node."""
    if node == gone:
        return stays
    return node - 1 if gone < node < ground else node


@inlined
def take_out_column(R, gone, nodes):
    """Remove a column of R, and make it triangular again by rotations of neighbouring rows."""
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
