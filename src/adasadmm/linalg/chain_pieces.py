"""Total variation along a chain for node functions whose derivatives are piecewise linear, jumps allowed: exactly.

    min over w of  sum_i f_i(w_i) + sum_k edges_k |w_{k+1} - w_k|

It is the dynamic programme of `chain` with one difference: a node adds knots of its own to the derivative of the least
cost, anywhere between its ends. So the knots wait in a queue from which the smallest and the largest can be taken: two
heaps, and a mark for the knots that have left by the other one. The work is of order n log n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, inlined

__all__ = ["Pieces", "fused_pieces", "pieces_multipliers"]


class Pieces(NamedTuple):
    """The derivative of f_i: ``slope_i x + level_i`` left of all knots, to which knot j adds ``rise_ij x + jump_ij``.

    A knot that is not needed has an infinite place. Places of a node do not fall.
    """

    slope: np.ndarray
    level: np.ndarray
    place: np.ndarray
    rise: np.ndarray
    jump: np.ndarray


class Queue(NamedTuple):
    """Knots by number, and two heaps of numbers: row 0 with the smallest place first, row 1 with the largest.

    ``sizes`` holds the sizes of the heaps and the number of the next knot.
    """

    place: np.ndarray
    rise: np.ndarray
    jump: np.ndarray
    alive: np.ndarray
    heaps: np.ndarray
    sizes: np.ndarray


class Line(NamedTuple):
    """The derivative from ``start`` on, up to the next knot."""

    slope: float
    level: float
    start: float


@compiled
def fused_pieces(f, edges):
    """The minimiser; between several ones, the middle of the last interval of them, or its finite end."""
    n, per_node = f.place.shape
    most = (per_node + 2) * n
    knots = np.empty((3, most))
    queue = Queue(
        knots[0], knots[1], knots[2], np.zeros(most, np.bool_), np.empty((2, most), np.int64), np.zeros(3, np.int64)
    )
    lows, highs = np.empty(n), np.empty(n)
    left, right = 0.0, 0.0  # the derivative far left and far right
    for i in range(n):
        limit = edges[i] if i < n - 1 else 0.0
        slope, level = f.slope[i], f.level[i] + right
        for j in range(per_node):
            if f.place[i, j] < math.inf:
                _push(queue, f.place[i, j], f.rise[i, j], f.jump[i, j])
                slope += f.rise[i, j]
                level += f.jump[i, j]
        first, last = Line(f.slope[i], f.level[i] + left, -math.inf), Line(slope, level, math.inf)
        if limit == 0.0:  # the chain ends here; the derivative is 0 from one place to another
            one, line = _cross(queue, 0, first, last, 0.0, False)
            other, line = _cross(queue, 0, line, last, 0.0, True)
            lows[i] = highs[i] = _middle(one, other)
            queue.sizes[:2] = 0
            left, right = 0.0, 0.0
            continue
        lows[i], line = _cross(queue, 0, first, last, limit, True)
        mirrored, back = _cross(queue, 1, _mirror(last), _mirror(line), limit, True)
        highs[i] = -mirrored
        left, right = -limit, limit
        if lows[i] > -math.inf:
            _push(queue, lows[i], line.slope, line.level + limit)
        else:
            left = line.level
        if highs[i] < math.inf:
            _push(queue, highs[i], -back.slope, limit + back.level)
        else:
            right = -back.level
    w = lows
    for i in range(n - 2, -1, -1):
        w[i] = min(max(w[i + 1], lows[i]), highs[i])
    return w


@inlined
def _mirror(line):
    """The same derivative seen from the other side: ``-D(-x)``."""
    return Line(line.slope, -line.level, -line.start)


@inlined
def _cross(queue, side, line, last, limit, strict):
    """Where the derivative, from a line on, passes ``-limit`` (or reaches it), and the line there.

    ``side`` 1 works on the mirror image. Knots that are passed leave the queue; behind all of them is the line
    ``last``, which is known without summing, and on which nothing changes up to its own ``start``.
    """
    sign = 1.0 if side == 0 else -1.0
    slope, level, start = line
    while True:
        p = _first(queue, side)
        if p < 0:
            slope, level, end = last
            break
        end = sign * queue.place[p]
        value = slope * end + level
        if end > start and (value > -limit or (not strict and value == -limit)):  # knots of one place count together
            break
        queue.alive[p] = False
        slope += sign * queue.rise[p]
        level += queue.jump[p]
        start = end
    if slope > 0.0:
        place = min(max((-limit - level) / slope, start), end)
    else:  # flat: the derivative is beyond the limit already, or a jump at the end carries it there
        place = end if level < -limit and end < math.inf else start
    return place, Line(slope, level, start)


@inlined
def _middle(one, other):
    """The middle of an interval, or its finite end; 0 if it has none."""
    if one == -math.inf:
        return other if abs(other) < math.inf else 0.0
    return one + 0.5 * (other - one) if other < math.inf else one


@inlined
def _push(queue, place, rise, jump):
    """Add a knot to both heaps."""
    p = queue.sizes[2]
    queue.place[p], queue.rise[p], queue.jump[p], queue.alive[p] = place, rise, jump, True
    queue.sizes[2] += 1
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        k = queue.sizes[side]
        queue.sizes[side] += 1
        while k > 0 and sign * queue.place[queue.heaps[side, (k - 1) // 2]] > sign * place:
            queue.heaps[side, k] = queue.heaps[side, (k - 1) // 2]
            k = (k - 1) // 2
        queue.heaps[side, k] = p


@inlined
def _first(queue, side):
    """The number of the first knot of a heap that is still there, or -1; the others before it are dropped."""
    heap, sign = queue.heaps[side], 1.0 if side == 0 else -1.0
    while queue.sizes[side] > 0 and not queue.alive[heap[0]]:
        queue.sizes[side] -= 1
        size = queue.sizes[side]
        moved, k = heap[size], 0
        while 2 * k + 1 < size:
            child = 2 * k + 1
            if child + 1 < size and sign * queue.place[heap[child + 1]] < sign * queue.place[heap[child]]:
                child += 1
            if sign * queue.place[heap[child]] >= sign * queue.place[moved]:
                break
            heap[k] = heap[child]
            k = child
        heap[k] = moved
    return heap[0] if queue.sizes[side] > 0 else -1


@compiled
def pieces_multipliers(f, edges, w):
    """The multiplier of each edge at the minimiser w: a subgradient of ``edges_k |x|`` at ``w_{k+1} - w_k``.

    Differences of neighbouring multipliers are derivatives of f_i, which at a knot fill an interval. On the way forth,
    the intervals of possible multipliers follow; on the way back, one is chosen in each.
    """
    n, per_node = f.place.shape
    low, high, least, most = np.empty(n + 1), np.empty(n + 1), np.empty(n), np.empty(n)
    low[0] = high[0] = 0.0
    for i in range(n):
        slope, level = f.slope[i], f.level[i]
        least[i] = slope * w[i] + level
        for j in range(per_node):
            if f.place[i, j] <= w[i]:
                slope += f.rise[i, j]
                level += f.jump[i, j]
            if f.place[i, j] < w[i]:
                least[i] = slope * w[i] + level
        most[i] = max(least[i], slope * w[i] + level)
        limit = edges[i] if i < n - 1 else 0.0
        bottom = limit if i < n - 1 and w[i + 1] > w[i] else -limit
        top = -limit if i < n - 1 and w[i + 1] < w[i] else limit
        low[i + 1] = min(max(low[i] + least[i], bottom), top)
        high[i + 1] = min(max(high[i] + most[i], bottom), top)
    out = np.empty(n)
    following = 0.0
    for i in range(n - 1, 0, -1):
        bottom, top = max(following - most[i], low[i]), min(following - least[i], high[i])
        following = 0.5 * (bottom + top)
        out[i - 1] = following
    return out[: n - 1]
