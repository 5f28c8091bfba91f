"""The order of elimination for a sparse symmetric matrix: approximate minimum degree.

Eliminating a variable connects all its neighbours. The quotient graph stores such a clique as one *element*, the list
of its variables, so that the graph never grows. The next pivot is a variable of least degree, where the degree is an
upper bound that is cheap to update (Amestoy, Davis and Duff, 1996). Variables with equal neighbours are merged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, inlined

__all__ = ["minimum_degree"]

NONE = -1
LEAST_HUB, HUB = (
    16,
    10.0,
)  # variables with more than max(16, 10 n^{1/2}) neighbours come last: they slow the search down


class Quotient(NamedTuple):
    """The quotient graph. An element has the number of the variable whose elimination made it.

    The list of i is ``store[start[i]:start[i] + length[i]]``: for a variable first its ``elements[i]`` elements and
    then variables, for an element its variables. ``size`` counts the variables merged into one; it is 0 for what is
    gone, and negative for the variables of the newest element. ``degree`` is a bound for variables, and the number of
    variables of an element, or 0 once the element is absorbed by another. Variables of equal degree, and later those
    of equal hash, form lists by ``head``, ``after`` and ``before``.
    """

    store: np.ndarray
    start: np.ndarray
    length: np.ndarray
    elements: np.ndarray
    size: np.ndarray
    degree: np.ndarray
    head: np.ndarray
    after: np.ndarray
    before: np.ndarray
    outside: np.ndarray
    hash_head: np.ndarray
    hash_after: np.ndarray
    merged_into: np.ndarray


def minimum_degree(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """An order with little fill-in, for the graph of a symmetric matrix in CSR form without diagonal.

    Parameters
    ----------
    indptr, indices : ndarray of int64
        The neighbours of each variable; each pair appears in both directions.

    Returns
    -------
    order : ndarray of int64
        ``order[k]`` is the variable to eliminate as the k-th.

    Examples
    --------
    The hub of a star comes after its leaves, so that there is no fill-in.

    >>> import numpy as np
    >>> from adasadmm.linalg.ordering import minimum_degree
    >>> int(minimum_degree(np.array([0, 3, 4, 5, 6]), np.array([1, 2, 3, 0, 0, 0]))[0]) != 0
    True
    """
    n = len(indptr) - 1
    length = np.diff(indptr).astype(np.int64)
    hubs = length > max(LEAST_HUB, HUB * np.sqrt(n))
    room = np.zeros(int(1.2 * len(indices)) + 2 * n + 1, np.int64)
    room[: len(indices)] = indices
    size = np.where(hubs, 0, 1).astype(np.int64)

    def filled(value: int, count: int = n) -> np.ndarray:
        return np.full(count, value, np.int64)

    graph = Quotient(
        room, indptr[:-1].astype(np.int64), length, filled(0), size, length.copy(), filled(NONE, n + 1), filled(NONE),
        filled(NONE), filled(0), filled(NONE), filled(NONE), filled(NONE),
    )  # fmt: skip
    pivots = np.empty(n, np.int64)
    number = eliminate_all(graph, len(indices), pivots)
    order = np.empty(n, np.int64)
    number = list_merged(graph.merged_into, pivots[:number], order)
    order[number:] = np.flatnonzero(hubs)
    return order


@compiled
def eliminate_all(g, free, pivots):
    """Eliminate one variable of least degree after the other; returns the number of pivots."""
    n = len(g.size)
    left, least, tag, number = 0, 0, 1, 0
    for i in range(n):
        if g.size[i] > 0:
            left += 1
            insert(g, i)
    while left > 0:
        while g.head[least] == NONE:
            least += 1
        k = g.head[least]
        remove(g, k)
        pivots[number] = k
        number += 1
        if free + left > len(g.store):
            free = compact(g, free)
        own = g.size[k]
        free = gather(g, k, free)
        tag = count_outside(g, k, tag)
        own += update_lists(g, k, tag)
        left -= own
        tag = merge_equal(g, k, tag + n + 1)
        least = min(least, finish_element(g, k, left))
        free = g.start[k] + g.length[k]
    return number


@inlined
def insert(g, i):
    """Put variable i into the list of its degree."""
    first = g.head[g.degree[i]]
    g.after[i], g.before[i] = first, NONE
    if first != NONE:
        g.before[first] = i
    g.head[g.degree[i]] = i


@inlined
def remove(g, i):
    """Take variable i out of the list of its degree."""
    if g.after[i] != NONE:
        g.before[g.after[i]] = g.before[i]
    if g.before[i] != NONE:
        g.after[g.before[i]] = g.after[i]
    else:
        g.head[g.degree[i]] = g.after[i]


@compiled
def compact(g, free):
    """Close the gaps between the lists, which keep their order; returns where the free part of the store begins."""
    for i in range(len(g.length)):
        if g.length[i] > 0:  # its first entry moves to `start`, and the owner of the list takes its place
            first = g.start[i]
            g.start[i] = g.store[first]
            g.store[first] = -2 - i
    at, p = 0, 0
    while p < free:
        if g.store[p] > NONE:
            p += 1
            continue
        i = -2 - g.store[p]
        g.store[p] = g.start[i]
        g.start[i] = at
        for q in range(p, p + g.length[i]):
            g.store[at] = g.store[q]
            at += 1
        p += g.length[i]
    return at


@compiled
def gather(g, k, free):
    """Make element k: the variables of pivot k and of its elements, which k absorbs."""
    first = free
    own = g.size[k]
    g.size[k] = 0
    for q in range(g.start[k], g.start[k] + g.length[k]):
        e = g.store[q]
        is_element = q < g.start[k] + g.elements[k]
        low = g.start[e] if is_element else q
        high = g.start[e] + g.length[e] if is_element else q + 1
        for p in range(low, high):
            i = g.store[p]
            if g.size[i] > 0:
                remove(g, i)
                g.size[i] = -g.size[i]
                g.store[free] = i
                free += 1
        if is_element:
            g.length[e], g.degree[e] = 0, 0
    g.start[k], g.length[k], g.elements[k] = first, free - first, 0
    g.degree[k] = own  # until `finish_element`: an element in the making must not look absorbed
    return free


@compiled
def count_outside(g, k, tag):
    """``outside[e] - tag``: how many variables of each element e beside k lie outside of k. Returns the tag."""
    for q in range(g.start[k], g.start[k] + g.length[k]):
        i = g.store[q]
        for p in range(g.start[i], g.start[i] + g.elements[i]):
            e = g.store[p]
            if g.degree[e] > 0:
                if g.outside[e] < tag:
                    g.outside[e] = g.degree[e] + tag
                g.outside[e] += g.size[i]  # negative
    return tag


@compiled
def update_lists(g, k, tag):
    """The lists and degrees of the variables of k; returns how many are eliminated with it."""
    along = 0
    for q in range(g.start[k], g.start[k] + g.length[k]):
        i = g.store[q]
        degree = shorten(g, i, k, tag)
        if degree == 0:  # its neighbours are those of k
            along -= g.size[i]
            g.size[i], g.length[i] = 0, 0
            g.merged_into[i] = k
        else:
            g.degree[i] = min(g.degree[i], degree)
    return along


@compiled
def shorten(g, i, k, tag):
    """Drop from the list of i what k absorbed or holds, and add k as first element; returns the degree outside of k."""
    first, at, degree, total = g.start[i], g.start[i], 0, 0
    for p in range(first, first + g.elements[i]):
        e = g.store[p]
        beyond = g.outside[e] - tag if g.degree[e] > 0 else 0
        if beyond > 0:
            degree += beyond
            total += e
            g.store[at] = e
            at += 1
        elif g.degree[e] > 0:  # all its variables lie in k
            g.degree[e], g.length[e] = 0, 0
    variables = at
    for p in range(first + g.elements[i], first + g.length[i]):
        j = g.store[p]
        if g.size[j] > 0:
            degree += g.size[j]
            total += j
            g.store[at] = j
            at += 1
    # At least one entry was dropped, so that there is room: the first of each kind moves to the end of its kind.
    g.store[at] = g.store[variables]
    g.store[variables] = g.store[first]
    g.store[first] = k
    g.elements[i], g.length[i] = variables - first + 1, at - first + 1
    bucket = (total + k) % len(g.size)
    g.before[i] = bucket  # free while i is in no list of degrees
    return degree


@compiled
def merge_equal(g, k, tag):
    """Merge variables of k whose lists are equal; returns a tag above all that were used."""
    first, last = g.start[k], g.start[k] + g.length[k]
    for q in range(first, last):
        i = g.store[q]
        if g.size[i] < 0:
            g.hash_after[i] = g.hash_head[g.before[i]]
            g.hash_head[g.before[i]] = i
    for q in range(first, last):
        i = g.store[q]
        if g.size[i] < 0 and g.hash_head[g.before[i]] != NONE:
            bucket = g.before[i]
            i = g.hash_head[bucket]
            g.hash_head[bucket] = NONE
            while i != NONE and g.hash_after[i] != NONE:
                absorb_equal(g, i, tag)
                tag += 1
                i = g.hash_after[i]
    return tag


@inlined
def absorb_equal(g, i, tag):
    """Merge into i the variables after it in its list of equal hashes that have the same list."""
    for p in range(g.start[i] + 1, g.start[i] + g.length[i]):
        g.outside[g.store[p]] = tag
    last, j = i, g.hash_after[i]
    while j != NONE:
        equal = g.length[j] == g.length[i] and g.elements[j] == g.elements[i]
        p = g.start[j] + 1
        while equal and p < g.start[j] + g.length[j]:
            equal = g.outside[g.store[p]] == tag
            p += 1
        if equal:
            g.size[i] += g.size[j]
            g.size[j], g.length[j] = 0, 0
            g.merged_into[j] = i
            g.hash_after[last] = g.hash_after[j]
        else:
            last = j
        j = g.hash_after[j]


@compiled
def finish_element(g, k, left):
    """Drop from k the variables that are gone, and file the others by their new degrees; returns the least of these."""
    total, least, at = 0, left, g.start[k]
    for q in range(g.start[k], g.start[k] + g.length[k]):
        total -= min(g.size[g.store[q]], 0)
    for q in range(g.start[k], g.start[k] + g.length[k]):
        i = g.store[q]
        if g.size[i] < 0:
            size = -g.size[i]
            g.size[i] = size
            g.degree[i] = max(0, min(g.degree[i] + total - size, left - size))
            insert(g, i)
            least = min(least, g.degree[i])
            g.store[at] = i
            at += 1
    g.length[k], g.degree[k] = at - g.start[k], total
    return least


@compiled
def list_merged(merged_into, pivots, order):
    """Each pivot, followed by all variables merged into it, in ``order``; returns their number."""
    n = len(merged_into)
    child, sibling, stack = np.full(n, NONE), np.full(n, NONE), np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        if merged_into[i] != NONE:
            sibling[i] = child[merged_into[i]]
            child[merged_into[i]] = i
    number = 0
    for k in pivots:
        top = 0
        stack[0] = k
        while top >= 0:
            i = stack[top]
            top -= 1
            order[number] = i
            number += 1
            j = child[i]
            while j != NONE:
                top += 1
                stack[top] = j
                j = sibling[j]
    return number
