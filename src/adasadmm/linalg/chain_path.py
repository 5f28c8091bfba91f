"""Total variation along a chain with equal edges, for several strengths (`chain` solves it for one).

Nodes that a weak penalty makes equal stay equal if it gets stronger: within a piece, the multipliers of the edges grow
no faster than their bounds. So the pieces for one strength are the nodes for the next larger one, and the chain gets
shorter and shorter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, entry_or, inlined
from .chain import find_pieces

__all__ = ["Pieces", "expanded", "pieces_along"]


class Pieces(NamedTuple):
    """The pieces of a chain: the last node of each, and its value."""

    last: np.ndarray
    w: np.ndarray


def pieces_along(h: np.ndarray | float, t: np.ndarray, strengths: Iterable[float]) -> dict[float, Pieces]:
    """The pieces for each strength; weights and targets as in `chain.fuse_chain`."""
    n, found = len(t), {}
    last, h, t, w = np.arange(n), np.full(n, h), t.copy(), np.empty(n)
    for strength in sorted(set(strengths)):
        number = join_nodes(h, t, strength, last, w)
        last, h, t, w = last[:number], h[:number], t[:number], w[:number]
        found[strength] = Pieces(last.copy(), w.copy())
    return found


def expanded(h: np.ndarray | float, t: np.ndarray, strength: float, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """The values of all nodes, and the multipliers of the edges."""
    w, multipliers = np.empty(len(t)), np.empty(max(len(t) - 1, 0))
    expand(h, t, strength, pieces.last, pieces.w, w, multipliers)
    return w, multipliers


@compiled
def join_nodes(h, t, strength, last, w):
    """Join the nodes of each piece for this strength in place, and return the number of pieces.

    The first entries of h, t, last and w then belong to the pieces: weight, mean target, last node and value.
    """
    number, start, n = 0, 0, len(t)
    find_pieces(h, t, strength, w)
    while start < n:
        value, origin, mass, total, end = w[start], t[start], 0.0, 0.0, start
        while end < n and w[end] == value:
            mass += h[end]
            total += h[end] * (t[end] - origin)  # sums of distances from the first target lose no digits
            end += 1
        h[number], t[number] = mass, origin + total / mass if mass > 0.0 else origin
        last[number], w[number] = last[end - 1], value
        start, number = end, number + 1
    _balance(h, t, strength, w[:number])
    return number


@inlined
def _balance(h, t, strength, w):
    """From values of pieces that are right up to rounding to those at which the forces on each piece sum to 0.

    No piece may be carried past the one before it.
    """
    before = 0.0  # the multiplier of the edge before the piece
    for k in range(len(w)):
        after = 0.0
        if k < len(w) - 1:
            after = strength if w[k + 1] > w[k] else -strength
        if h[k] > 0.0:
            w[k] = t[k] + (after - before) / h[k]
        if before > 0.0:
            w[k] = max(w[k], w[k - 1])
        elif before < 0.0:
            w[k] = min(w[k], w[k - 1])
        before = after


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
