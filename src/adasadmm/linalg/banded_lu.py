"""Elimination with row exchanges for the whole system of `banded`, in an order of w and t in which it is banded.

It is scaled so that H, and the matrix that would be left for dt, have the diagonal 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, inlined

__all__ = ["Whole", "factor_whole", "solve_whole", "whole_of"]

LEAST_H = 1e-6  # of the mean: a smaller entry of H has the scale of this one


class Whole(NamedTuple):
    """The system of all unknowns, and room for its factors.

    Attributes
    ----------
    values, first : ndarray of shape (m, width) and (m,)
        Row k of A has the entries ``values[k]`` in the columns from ``first[k]`` on.
    H, J : ndarray of shape (d,) and (m,)
        The diagonals.
    order, place : ndarray of shape (d + m,)
        The order of w and t: t_k is number ``d + k``. ``place`` is the inverse.
    upper, lower, exchange : ndarray
        The factors, row k exchanged with row ``k + exchange[k]``.
    scale : ndarray of shape (d + m,)
        Of rows and columns.
    """

    values: np.ndarray
    first: np.ndarray
    H: np.ndarray
    J: np.ndarray
    order: np.ndarray
    place: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    exchange: np.ndarray
    scale: np.ndarray


def whole_of(values: np.ndarray, first: np.ndarray, H: np.ndarray, J: np.ndarray) -> Whole:
    """The system for one A. Row k of A comes in the middle of its columns."""
    total = len(H) + len(J)
    order, place = np.empty((2, total), np.int64)
    reach = arrange(values, first, order, place)
    factors = np.empty((total, 2 * reach + 1)), np.empty((total, reach)), np.empty(total, np.int64)
    return Whole(values, first, H, J, order, place, *factors, np.empty(total))


@compiled
def arrange(values, first, order, place):
    """Merge columns and rows in order; the largest distance between a row and one of its columns."""
    m, width = values.shape
    d, p, k, reach = len(order) - m, 0, 0, 0
    for j in range(d + 1):
        while k < m and (j == d or 2 * first[k] + width - 1 <= 2 * j):
            order[p], place[d + k] = d + k, p
            p, k = p + 1, k + 1
        if j < d:
            order[p], place[j] = j, p
            p += 1
    for k in range(m):
        here = place[d + k]
        reach = max(reach, here - place[first[k]], place[first[k] + width - 1] - here)
    return reach


@inlined
def set_scale(s):
    """Scales of rows and columns."""
    d, least = len(s.H), LEAST_H * s.H.mean()
    for j in range(d):
        s.scale[s.place[j]] = 1.0 / np.sqrt(max(s.H[j], least))
    for k in range(len(s.J)):
        total = s.J[k]
        for c in range(s.values.shape[1]):
            total += (s.values[k, c] * s.scale[s.place[s.first[k] + c]]) ** 2
        s.scale[s.place[d + k]] = 1.0 / np.sqrt(total)


@inlined
def enter_row(s, first_of, p, at, row):
    """Row p of the whole system; column ``at + c`` is entry c."""
    d, number, width = len(s.H), s.order[p], s.values.shape[1]
    row[:] = 0.0
    if number >= d:
        k = number - d
        row[p - at] = -s.J[k] * s.scale[p] * s.scale[p]
        for c in range(width):
            q = s.place[s.first[k] + c]
            row[q - at] += s.values[k, c] * s.scale[p] * s.scale[q]
        return
    row[p - at] = s.H[number] * s.scale[p] * s.scale[p]
    for k in range(first_of[number], len(s.J)):
        if s.first[k] > number:
            break
        q = s.place[d + k]
        row[q - at] += s.values[k, number - s.first[k]] * s.scale[p] * s.scale[q]


@inlined
def first_rows(s):
    """The first row of A that reaches each column."""
    first_of, k = np.empty(len(s.H), np.int64), 0
    for j in range(len(s.H)):
        while k < len(s.first) and s.first[k] + s.values.shape[1] <= j:
            k += 1
        first_of[j] = k
    return first_of


@compiled
def factor_whole(s):
    """Elimination with row exchanges; ``window`` holds the rows from k on that column k can reach."""
    set_scale(s)
    total, reach, first_of = len(s.order), s.lower.shape[1], first_rows(s)
    window = np.zeros((reach + 1, 2 * reach + 1))
    for p in range(min(reach, total)):
        enter_row(s, first_of, p, 0, window[p])
    for k in range(total):
        rows = min(reach, total - 1 - k)
        if k + reach < total:
            enter_row(s, first_of, k + reach, k, window[reach])
        best = 0
        for r in range(1, rows + 1):
            if abs(window[r, 0]) > abs(window[best, 0]):
                best = r
        s.exchange[k] = best
        pivot = window[best, 0]
        inverse = 1.0 / pivot if pivot != 0.0 else 0.0
        for c in range(2 * reach + 1):
            s.upper[k, c] = window[best, c]
            window[best, c] = window[0, c]
        for r in range(1, rows + 1):
            ratio = window[r, 0] * inverse
            s.lower[k, r - 1] = ratio
            for c in range(1, 2 * reach + 1):
                window[r - 1, c - 1] = window[r, c] - ratio * s.upper[k, c]
            window[r - 1, 2 * reach] = 0.0
        s.upper[k, 0] = inverse


@compiled
def solve_whole(s, f, g, dw, dt):
    d, total, reach = len(f), len(s.order), s.lower.shape[1]
    x = np.empty(total)
    for j in range(d):
        x[s.place[j]] = f[j] * s.scale[s.place[j]]
    for k in range(len(g)):
        x[s.place[d + k]] = g[k] * s.scale[s.place[d + k]]
    for k in range(total):
        value = x[k + s.exchange[k]]
        x[k + s.exchange[k]] = x[k]
        x[k] = value
        for r in range(1, min(reach, total - 1 - k) + 1):
            x[k + r] -= s.lower[k, r - 1] * value
    for k in range(total - 1, -1, -1):
        value = x[k]
        for c in range(1, min(2 * reach, total - 1 - k) + 1):
            value -= s.upper[k, c] * x[k + c]
        x[k] = value * s.upper[k, 0]
    for j in range(d):
        dw[j] = x[s.place[j]] * s.scale[s.place[j]]
    for k in range(len(g)):
        dt[k] = x[s.place[d + k]] * s.scale[s.place[d + k]]
