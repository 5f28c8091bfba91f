"""Total variation along a chain, solved exactly, in time that grows linearly with the chain.

    min over w of  1/2 sum_i h_i (w_i - t_i)^2 + sum_k edges_k |w_{k+1} - w_k|

Two methods give the same minimiser. The first, a *scan*, finds one piece after the other. The multiplier of edge k is
the sum of the forces ``h_i (w_i - t_i)`` up to the edge, and must stay within ``[-edges_k, edges_k]``. From the start
of a piece, each further node narrows the interval of values that keep all multipliers so far in range. When a node
leaves none, the piece ends at the node that set the violated bound, and the scan continues behind that node. This is
fast wherever the scan does not go back far; where it does, the second method takes over.

The second is a *dynamic programme*. Let m_i(x) be the least cost of the nodes up to i when w_i = x. Its derivative is
continuous, increasing and piecewise linear, and the edge to the next node clips it to ``[-edges_i, edges_i]``. So only
the two ends of the derivative ever change: knots are removed at the ends where it leaves that range, and one is added
at each end. The places of these two are all that the way back needs: ``w_i`` is ``w_{i+1}`` clipped to them, hence
nodes of one piece are equal to the bit.

References: L. Condat, A direct algorithm for 1-D total variation denoising, IEEE Signal Processing Letters 20, 2013;
N. Johnson, A dynamic programming algorithm for the fused lasso and L0-segmentation, JCGS 22, 2013.
"""

from __future__ import annotations

import math

import numpy as np

from .._core.jit import compiled, entry_or, inlined

__all__ = [
    "MOST_VISITS",
    "fuse_chain",
    "fused_chain",
    "multipliers_of_chain",
    "next_piece",
    "run_programme",
]

MOST_VISITS = 8  # of the scan to a node, on average: more would cost more than the dynamic programme
FEW_KNOTS = 1024  # of the ring at first; a power of 2


@inlined
def fuse_chain(h, t, edges, w):
    """Write the minimiser to ``w``, an array of its own.

    Parameters
    ----------
    h : array of shape (n,), or number
        Weights >= 0. A node of weight 0 takes a value between those of its neighbours; if all nodes that edges > 0 tie
        together have weight 0, they take the mean of all targets. A number stands for equal weights.
    t : array of shape (n,)
        Targets.
    edges : array of shape (n - 1,), or number
        Weights >= 0; 0 separates two chains.
    w : array of shape (n,)
        The result.
    """
    if not scan(h, t, edges, w):
        run_programme(h, t, edges, w)
    refine(h, t, edges, w)


@compiled
def scan(h, t, edges, w):
    """Write the minimiser to ``w``; False if that would take too long, or if a weight is 0."""
    n, visits, start, force = len(t), 0, 0, 0.0  # the force is the multiplier of the edge before the piece
    while start < n:
        if not entry_or(h, start, 1.0) > 0.0:
            return False
        before = w[start - 1] if force != 0.0 else 0.0
        end, value, after, seen = next_piece(h, t, edges, start, force)
        if force > 0.0:  # w rises: equal values must not differ by rounding, in the wrong direction
            value = max(value, before)
        elif force < 0.0:
            value = min(value, before)
        visits += seen
        if visits > MOST_VISITS * n:
            return False
        for i in range(start, end + 1):
            w[i] = value
        start, force = end + 1, after
    return True


@inlined
def next_piece(h, t, edges, start, force):
    """The last node of the piece that begins at ``start``, its value, the multiplier behind it, and how many nodes were
    visited. ``force`` is the multiplier before the piece.

    The value x gives edge k the multiplier ``force + mass x - total``. Nothing in the loop but its two exits is a
    branch: whether a bound moves is as good as random, and a processor that guesses wrong loses more than a division.
    """
    last, origin = len(t) - 1, t[start]  # sums of distances from the first target lose no digits
    low, high, set_low, set_high = -math.inf, math.inf, start, start
    mass = total = 0.0
    for k in range(start, len(t)):
        weight, limit = entry_or(h, k, 1.0), entry_or(edges, k, 1.0) if k < last else 0.0
        mass += weight
        total += weight * (t[k] - origin)
        per_mass = 1.0 / mass
        least, most = (total - (limit + force)) * per_mass, (total + (limit - force)) * per_mass
        if least > high:
            return set_high, high + origin, entry_or(edges, set_high, 1.0), k - start
        if most < low:
            return set_low, low + origin, -entry_or(edges, set_low, 1.0), k - start
        set_low, low = (k, least) if least > low else (set_low, low)
        set_high, high = (k, most) if most < high else (set_high, high)
    return last, high + origin, 0.0, last - start  # no edge follows, so that the interval is a point


@compiled
def run_programme(h, t, edges, w):
    """Write the minimiser to ``w`` by dynamic programming."""
    n, centre = len(t), _centre(h, t)
    # Right of its place, a knot makes the derivative larger by ``slope x + level``. Knots are kept in a ring.
    place, slope, level = np.empty(FEW_KNOTS), np.empty(FEW_KNOTS), np.empty(FEW_KNOTS)
    ring = FEW_KNOTS - 1
    highs = np.empty(n)  # the other ends are kept in w, until the way back
    left, right, tail = 0, 0, 0.0
    for i in range(n):
        weight, limit = entry_or(h, i, 1.0), entry_or(edges, i, 1.0) if i < n - 1 else 0.0
        pull = weight * (t[i] - centre)
        if weight == 0.0 and limit >= tail:  # a missing node, and the edge behind it never binds
            w[i], highs[i] = (-math.inf, math.inf) if limit > 0.0 else (0.0, 0.0)
            continue
        a, b = weight, -pull - tail
        while left < right:
            p = left & ring
            if a * place[p] + b > -limit:
                break
            a += slope[p]
            b += level[p]
            left += 1
        c, d, last = weight, tail - pull, right
        while left < right:
            p = (right - 1) & ring
            if c * place[p] + d < limit:
                break
            c -= slope[p]
            d -= level[p]
            right -= 1
        if left == right:  # both ends lie on the same line: take the one that is not a sum
            if right == last:
                a, b = c, d
            else:
                c, d = a, b
        w[i], highs[i] = (-limit - b) / a, (limit - d) / c
        if limit == 0.0:  # the chain ends here
            highs[i], left, right, tail = w[i], 0, 0, 0.0
            continue
        if right - left + 2 > len(place):
            place, slope, level = _grown(place, left), _grown(slope, left), _grown(level, left)
            ring = len(place) - 1
        left -= 1
        p, q = left & ring, right & ring
        place[p], slope[p], level[p] = w[i], a, b + limit
        place[q], slope[q], level[q] = highs[i], -c, limit - d
        right += 1
        tail = limit
    for i in range(n - 2, -1, -1):
        w[i] = min(max(w[i + 1], w[i]), highs[i])
    for i in range(n):
        w[i] += centre


@compiled
def refine(h, t, edges, w):
    """Correct the value of each piece by what its own sum of forces lacks: edges much stronger than the forces cost
    digits. No correction may carry a piece past its neighbours.
    """
    n, start, before = len(t), 0, 0.0
    while start < n:
        value, weight, force = w[start], 0.0, 0.0
        end = start
        while end < n and w[end] == value:
            weight += entry_or(h, end, 1.0)
            force += entry_or(h, end, 1.0) * (t[end] - value)
            end += 1
        low, high = -math.inf, math.inf
        edge = entry_or(edges, start - 1, 1.0) if start > 0 else 0.0
        if edge > 0.0:
            rises = value > before  # compared as they were before the correction
            force += -edge if rises else edge
            low, high = (w[start - 1], high) if rises else (low, w[start - 1])
        edge = entry_or(edges, end - 1, 1.0) if end < n else 0.0
        if edge > 0.0:
            rises = w[end] > value
            force += edge if rises else -edge
            low, high = (low, min(high, w[end])) if rises else (max(low, w[end]), high)
        better = min(max(value + force / weight, low), high) if weight > 0.0 else value
        for i in range(start, end):
            w[i] = better
        start, before = end, value


@inlined
def _grown(ring, left):
    """A full ring with twice the space."""
    size = len(ring)
    grown = np.empty(2 * size)
    for p in range(left, left + size):
        grown[p & (2 * size - 1)] = ring[p & (size - 1)]
    return grown


@inlined
def _centre(h, t):
    """The weighted mean of the targets: around it, sums of targets do not lose digits."""
    total, weight = 0.0, 0.0
    for i in range(len(t)):
        total += entry_or(h, i, 1.0) * t[i]
        weight += entry_or(h, i, 1.0)
    return total / weight if weight > 0.0 else 0.0


@compiled
def write_multipliers(h, t, edges, w, out):
    """The multiplier of each edge at the minimiser w: a subgradient of ``edges_k |x|`` at ``w_{k+1} - w_k``.

    It is the sum of the forces ``h_i (w_i - t_i)`` up to the edge; where w jumps, it is exactly ``+-edges_k``.
    """
    total = 0.0
    for k in range(len(t) - 1):
        edge = entry_or(edges, k, 1.0)
        total += entry_or(h, k, 1.0) * (w[k] - t[k])
        out[k] = min(max(total, -edge), edge)
        if w[k + 1] != w[k]:
            total = out[k] = edge if w[k + 1] > w[k] else -edge


def fused_chain(h: np.ndarray | float, t: np.ndarray, edges: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """The minimiser and the multipliers of the edges, for a caller in Python.

    It calls the parts of `fuse_chain` one by one: the programme, the longest of them, is only compiled if a scan fails.
    """
    w = np.empty(len(t))  # not in compiled code: NumPy has larger pages
    if not scan(h, t, edges, w):
        run_programme(h, t, edges, w)
    refine(h, t, edges, w)
    return w, multipliers_of_chain(h, t, edges, w)


def multipliers_of_chain(h: np.ndarray | float, t: np.ndarray, edges: np.ndarray | float, w: np.ndarray) -> np.ndarray:
    """The multipliers of the edges at the minimiser."""
    write_multipliers(h, t, edges, w, out := np.empty(max(len(t) - 1, 0)))
    return out
