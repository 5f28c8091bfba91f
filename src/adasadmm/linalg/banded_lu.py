"""Elimination with row exchanges for the whole system of `banded`, in an order of w and t in which it is banded.

It is scaled so that H, and the matrix that would be left for dt, have the diagonal 1.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import inlined

__all__ = ["factor_whole", "solve_whole"]

LEAST_H = 1e-6  # of the mean: a smaller entry of H has the scale of this one


@inlined
def set_scale(s):
    """Scales of rows and columns."""
    d, least = len(s.H), LEAST_H * s.H.mean()
    for j in range(d):
        s.scale[s.place[j]] = 1.0 / np.sqrt(max(s.H[j], least))
    for k in range(len(s.J)):
        total = s.J[k]
        for c in range(s.A.values.shape[1]):
            total += (s.A.values[k, c] * s.scale[s.place[s.A.first[k] + c]]) ** 2
        s.scale[s.place[d + k]] = 1.0 / np.sqrt(total)


@inlined
def enter_row(s, first_of, p, at, row):
    """Row p of the whole system; column ``at + c`` is entry c."""
    d, number, width = len(s.H), s.order[p], s.A.values.shape[1]
    row[:] = 0.0
    if number >= d:
        k = number - d
        row[p - at] = -s.J[k] * s.scale[p] * s.scale[p]
        for c in range(width):
            q = s.place[s.A.first[k] + c]
            row[q - at] += s.A.values[k, c] * s.scale[p] * s.scale[q]
        return
    row[p - at] = s.H[number] * s.scale[p] * s.scale[p]
    for k in range(first_of[number], len(s.J)):
        if s.A.first[k] > number:
            break
        q = s.place[d + k]
        row[q - at] += s.A.values[k, number - s.A.first[k]] * s.scale[p] * s.scale[q]


@inlined
def first_rows(A):
    """The first row of A that reaches each column."""
    first_of, k = np.empty(A.columns, np.int64), 0
    for j in range(A.columns):
        while k < len(A.first) and A.first[k] + A.values.shape[1] <= j:
            k += 1
        first_of[j] = k
    return first_of


@inlined
def factor_whole(s):
    """Elimination with row exchanges; ``window`` holds the rows from k on that column k can reach."""
    set_scale(s)
    total, reach, first_of = len(s.order), s.lower.shape[1], first_rows(s.A)
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


@inlined
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
