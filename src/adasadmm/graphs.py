"""Graphs over coefficients: lists of edges, and the matrices A that they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["chain", "grid", "incidence"]


def chain(d: int) -> np.ndarray:
    """The edges of a line: each coefficient and the next."""
    return np.column_stack([np.arange(d - 1), np.arange(1, d)])


def grid(*shape: int) -> np.ndarray:
    """The edges of a grid of pixels or voxels, numbered row by row.

    Examples
    --------
    >>> from adasadmm import graphs
    >>> graphs.grid(2, 2)
    array([[0, 2],
           [1, 3],
           [0, 1],
           [2, 3]])
    """
    numbers = np.arange(np.prod(shape)).reshape(shape)
    pairs = []
    for axis in range(len(shape)):
        first = np.take(numbers, np.arange(shape[axis] - 1), axis=axis)
        second = np.take(numbers, np.arange(1, shape[axis]), axis=axis)
        pairs.append(np.column_stack([first.reshape(-1), second.reshape(-1)]))
    return np.concatenate(pairs)


def incidence(edges: Any, weights: Any = None, d: int | None = None) -> sp.csr_array:
    """The paper's F: for the k-th edge (i, j) of weight alpha, ``F_ki = alpha`` and ``F_kj = -alpha``."""
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    m = len(edges)
    d = int(edges.max()) + 1 if d is None else d
    alpha = np.ones(m) if weights is None else np.asarray(weights, dtype=float)
    rows = np.repeat(np.arange(m), 2)
    values = np.column_stack([alpha, -alpha]).reshape(-1)
    return sp.csr_array((values, (rows, edges.reshape(-1))), shape=(m, d))
