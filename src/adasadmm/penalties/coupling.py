"""The v-step in the form that Algorithm 1 uses: the matrix B with its curvature, and the penalty scaled to it.

The v-step minimises ``phi(v) + beta/2 |B v - x|^2``. It is one prox if B'B is c I, on all of v or on each part of a
stack. For any other B the majoriser ``beta |B|^2 I`` replaces ``beta B'B``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..rows.matrices import CSR, to_scipy
from .stack import Stack, linked, parts_of

MAX_DENSE_COLUMNS = 2000  # of B, for its norm to be computed by dense linear algebra


class NegativeIdentity(NamedTuple):
    """``B = -I``: the constraint determines v from w."""


class GeneralB(NamedTuple):
    """Any B, with a curvature ``c_k`` for each coordinate of v: ``beta diag(c)`` replaces ``beta B'B``."""

    B: CSR
    curvature: np.ndarray


def v_step(penalty: Any, B: CSR | None, p: int) -> tuple[NegativeIdentity | GeneralB, Any, float]:
    """B and the penalty of p coordinates for the loop, and the factor of tau in the penalty's prox."""
    if B is None and not isinstance(penalty, Stack):
        return NegativeIdentity(), penalty, 1.0
    parts = parts_of(penalty, p)
    if B is None:
        curvatures = [1.0] * len(parts)
        form_of_B: NegativeIdentity | GeneralB = NegativeIdentity()
    else:
        rows_of_parts = [rows for _, rows in parts]
        free = np.setdiff1d(np.arange(p), np.concatenate([*rows_of_parts, np.empty(0, np.int64)]))
        *curvatures, of_free = _curvatures(to_scipy(B), [*rows_of_parts, free])
        of_coordinates = np.full(p, of_free)
        for rows, curvature in zip(rows_of_parts, curvatures, strict=True):
            of_coordinates[rows] = curvature
        form_of_B = GeneralB(B, of_coordinates)
    if isinstance(penalty, Stack):
        return form_of_B, linked(penalty, p, [1.0 / c for c in curvatures]), 1.0
    return form_of_B, penalty, 1.0 / curvatures[0]


def _curvatures(B: sp.csr_array, parts: list[np.ndarray]) -> list[float]:
    """For each part of v, given by its indices, the c with B'B = c I there; |B|^2 for all parts if one has none."""
    square = (B.T @ B).tocsr()
    curvatures = []
    for rows in parts:
        c = float(square[rows[0], rows[0]]) if len(rows) else 1.0
        scaled_identity = sp.csr_array((np.full(len(rows), c), (np.arange(len(rows)), rows)), (len(rows), B.shape[1]))
        error = abs(square[rows] - scaled_identity)
        if c <= 0.0 or (error.nnz and error.max() > 1e-12 * c):
            return [max(_largest_eigenvalue(square), np.finfo(float).tiny)] * len(parts)
        curvatures.append(c)
    return curvatures


def _largest_eigenvalue(square: sp.csr_array) -> float:
    """The largest eigenvalue of B'B; rounded up where it comes from Lanczos iterations."""
    if square.shape[0] <= MAX_DENSE_COLUMNS:
        return float(np.linalg.norm(square.toarray(), 2))
    return float(sp.linalg.eigsh(square, 1)[0][0] * (1 + 1e-6))
