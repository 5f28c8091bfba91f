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

from .._core.jit import compiled, entry_or, inlined
from .chain import MOST_VISITS, next_piece, run_programme

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
    w, multipliers = np.empty(len(t)), np.empty(max(len(t) - 1, 0))
    expand(h, t, strength, pieces.last, pieces.w, w, multipliers)
    return w, multipliers


@compiled
def join_nodes(nodes, strength, pieces):
    """Write the pieces for this strength, and return their number."""
    number = _scan_pieces(nodes, strength, pieces)
    return number if number >= 0 else _programme_pieces(nodes, strength, pieces)


@inlined
def _scan_pieces(nodes, strength, pieces):
    """The pieces that a scan finds; -1 if that would take too long, or if a weight is 0."""
    number, visits, start, force = 0, 0, 0, 0.0  # the force is the multiplier of the edge before the piece
    while start < len(nodes.t):
        if not nodes.h[start] > 0.0 or visits > MOST_VISITS * len(nodes.t):
            return -1
        end, value, after, seen = next_piece(nodes.h, nodes.t, strength, start, force)
        _write_piece(nodes, start, end, value, (force, after), pieces, number)
        start, force, number, visits = end + 1, after, number + 1, visits + seen
    return number


@inlined
def _programme_pieces(nodes, strength, pieces):
    """The pieces by dynamic programming."""
    number, start, force, w = 0, 0, 0.0, nodes.w
    run_programme(nodes.h, nodes.t, strength, w)
    while start < len(w):
        end = start
        while end + 1 < len(w) and w[end + 1] == w[start]:
            end += 1
        after = 0.0
        if end + 1 < len(w):
            after = strength if w[end + 1] > w[end] else -strength
        _write_piece(nodes, start, end, w[start], (force, after), pieces, number)
        start, force, number = end + 1, after, number + 1
    return number


@inlined
def _write_piece(nodes, start, end, value, forces, pieces, k):
    """Write the piece with these nodes. Its value, which may have lost digits, is corrected: the forces on it sum to 0.

    No correction may carry it past the piece before it.
    """
    origin, mass, total = nodes.t[start], 0.0, 0.0
    for i in range(start, end + 1):
        mass += nodes.h[i]
        total += nodes.h[i] * (nodes.t[i] - origin)  # sums of distances from the first target lose no digits
    mean, (before, after) = origin, forces
    if mass > 0.0:
        mean = origin + total / mass
        value = mean + (after - before) / mass
    if before > 0.0:
        value = max(value, pieces.w[k - 1])
    elif before < 0.0:
        value = min(value, pieces.w[k - 1])
    pieces.last[k], pieces.h[k], pieces.t[k], pieces.w[k] = nodes.last[end], mass, mean, value


@compiled
def expand(h, t, strength, last, values, w, multipliers):
    """Write the values of all nodes, and the multipliers as `chain.write_multipliers` does, which would look for the
    ends of the pieces.
    """
    total, start = 0.0, 0
    for k in range(len(last)):
        value, end = values[k], last[k]
        for i in range(start, min(end + 1, len(multipliers))):
            total += entry_or(h, i, 1.0) * (value - t[i])
            multipliers[i] = min(max(total, -strength), strength)
        w[start : end + 1] = value
        if end < len(multipliers) and values[k + 1] != value:
            total = multipliers[end] = strength if values[k + 1] > value else -strength
        start = end + 1
