"""Sums over the rows of a loss of several predictions: row i has entries ``i k`` to ``(i + 1) k`` of each flat array.

The weight of a row stands at each of its entries, k times as large (`sources.blocks.Block`), so that means are over
all entries.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import compiled
from ._generic import conjugate, domain, prox, second, slope, value


@compiled
def mean_value(loss, z, y, c, k):
    """``1/n sum_i c_i loss(z_i, y_i)``."""
    total = 0.0
    for i in range(0, len(z), k):
        if c[i] > 0.0:  # a row of weight 0 is absent, even where its loss is infinite
            total += c[i] * value(loss, z[i : i + k], y[i : i + k])
    return total / len(z)


@compiled
def all_slopes(loss, z, y, out, k):
    """The slopes at the predictions of each row."""
    for i in range(0, len(z), k):
        slope(loss, z[i : i + k], y[i : i + k], out[i : i + k])


@compiled
def mean_conjugate(loss, s, y, c, k):
    """``1/n sum_i c_i loss*(s_i, y_i)``."""
    total = 0.0
    for i in range(0, len(s), k):
        total += c[i] * conjugate(loss, s[i : i + k], y[i : i + k])
    return total / len(s)


@compiled
def into_domain(loss, s, y, k):
    """Move the slopes of each row to the nearest ones at which the conjugate is finite."""
    near = np.empty(k)
    for i in range(0, len(s), k):
        domain(loss, s[i : i + k], y[i : i + k], near)
        s[i : i + k] = near


@compiled
def second_derivatives(loss, z, y, c, out):
    """The matrix of second derivatives of each row, times its weight."""
    k = out.shape[1]
    for i in range(len(out)):
        second(loss, z[i * k : (i + 1) * k], y[i * k : (i + 1) * k], out[i])
        for a in range(k):
            for b in range(k):
                out[i, a, b] *= c[i * k]


@compiled
def proxes(loss, z, u, tau, y, k, first, last):
    """The prox of each row at ``z + u`` into z, and what it leaves into u; z is the guess."""
    near = np.empty(k)
    for i in range(first, last, k):
        for j in range(i, i + k):
            near[j - i] = z[j]
            u[j] += z[j]
        prox(loss, u[i : i + k], tau, y[i : i + k], near)
        for j in range(i, i + k):
            z[j] = near[j - i]
            u[j] -= z[j]
