"""Total variation along a chain with equal edges, for several strengths (`chain` solves it for one).

Nodes that a weak penalty makes equal stay equal if it gets stronger: within a piece, the multipliers of the edges grow
no faster than their bounds. So the pieces for one strength are the nodes for the next larger one, and the chain gets
shorter and shorter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .._core.jit import compiled
from .chain import MOST_VISITS, multipliers_of_chain, next_piece, run_programme

__all__ = ["Pieces", "expanded", "pieces_along"]


class Pieces(NamedTuple):
    """The pieces of a chain: the last node of each, and its value."""

    last: np.ndarray
    w: np.ndarray


class Nodes(NamedTuple):
    """A chain of pieces: the last node of each in the whole chain, the sum of its weights, mean target and value."""

    last: np.ndarray
    h: np.ndarray
    t: np.ndarray
    w: np.ndarray


def pieces_along(h: np.ndarray | float, t: np.ndarray, strengths: Iterable[float]) -> dict[float, Pieces]:
    """The pieces for each strength; weights and targets as in `chain.fuse_chain`."""
    n, found = len(t), {}
    nodes = Nodes(np.arange(n), np.full(n, h), t, np.empty(n))
    spaces = itertools.cycle([Nodes(np.empty(n, nodes.last.dtype), *np.empty((3, n))) for _ in range(2)])
    for strength in sorted(set(strengths)):
        pieces = next(spaces)
        number = join_nodes(nodes, strength, pieces)
        nodes = Nodes(*(field[:number] for field in pieces))
        found[strength] = Pieces(nodes.last.copy(), nodes.w.copy())
    return found


def expanded(h: np.ndarray | float, t: np.ndarray, strength: float, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """The values of all nodes, and the multipliers of the edges."""
    w = np.repeat(pieces.w, np.diff(pieces.last, prepend=-1))
    return w, multipliers_of_chain(h, t, strength, w)


def join_nodes(nodes: Nodes, strength: float, pieces: Nodes) -> int:
    """Write the pieces for this strength, and return their number."""
    behind = np.empty(len(nodes.t))
    number = scan_pieces(nodes, strength, pieces.last, pieces.w, behind)
    if number < 0:
        run_programme(nodes.h, nodes.t, strength, nodes.w)
        rises = np.diff(nodes.w)
        last = np.append(np.flatnonzero(rises), len(rises))
        number = len(last)
        pieces.last[:number], pieces.w[:number] = last, nodes.w[last]
        behind[: number - 1], behind[number - 1] = strength * np.sign(rises[last[:-1]]), 0.0
    write_pieces(nodes, behind, pieces, number)
    return number


@compiled
def scan_pieces(nodes, strength, last, w, behind):
    """Write the last node and the value of each piece that a scan finds, and the multiplier of the edge behind it.

    Returns the number of pieces; -1 if that would take too long, or if a weight is 0.
    """
    number, visits, start, force = 0, 0, 0, 0.0  # the force is the multiplier of the edge before the piece
    while start < len(nodes.t):
        if not nodes.h[start] > 0.0 or visits > MOST_VISITS * len(nodes.t):
            return -1
        last[number], w[number], force, seen = next_piece(nodes.h, nodes.t, strength, start, force)
        behind[number] = force
        start, number, visits = last[number] + 1, number + 1, visits + seen
    return number


@compiled
def write_pieces(nodes, behind, pieces, number):
    """Complete the pieces. Their values, which may have lost digits, are corrected: the forces on a piece sum to 0.

    No correction may carry a piece past the one before it.
    """
    start, before = 0, 0.0
    for k in range(number):
        end, value, after = pieces.last[k], pieces.w[k], behind[k]
        origin, mass, total = nodes.t[start], 0.0, 0.0
        for i in range(start, end + 1):
            mass += nodes.h[i]
            total += nodes.h[i] * (nodes.t[i] - origin)  # sums of distances from the first target lose no digits
        mean = origin
        if mass > 0.0:
            mean = origin + total / mass
            value = mean + (after - before) / mass
        if before > 0.0:
            value = max(value, pieces.w[k - 1])
        elif before < 0.0:
            value = min(value, pieces.w[k - 1])
        pieces.last[k], pieces.h[k], pieces.t[k], pieces.w[k] = nodes.last[end], mass, mean, value
        start, before = end + 1, after
