"""The matrix A and the penalty of an estimator: its structure, and below it the sparse part, bounds and constraints.

An estimator's ``_structure`` returns what is its own: the differences along a graph, or a general matrix. `extended`
adds what all estimators share. All parts of the penalty have the strength ``alpha``; their shares of it are weights, so
that a path changes one number of each (`with_strength`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..penalties import L1, Box, Stack, parts_of, with_strength
from ._constraints import Limits
from ._weights import NO_WEIGHTS, Weights, number_of_terms

__all__ = ["Structure", "extended", "with_strength"]


class Structure(NamedTuple):
    """The matrix A, without a column for the intercept, and the penalty of ``A w``.

    With ``copies``, w are latent coefficients, and ``copies @ w`` those of the features.
    """

    A: sp.csr_array
    penalty: Any
    copies: sp.csr_array | None = None


def extended(own: Structure, l1_ratio: float, limits: Limits | None, weights: Weights = NO_WEIGHTS) -> Structure:
    """An estimator's own structure with weights, the sparse part, bounds and constraints."""
    whole = _sparse(own, l1_ratio, weights)
    if limits is None:
        return whole
    m, k = whole.A.shape[0], limits.C.shape[0]
    parts = [*parts_of(whole.penalty, m), (Box(limits.lower, limits.upper), np.arange(m, m + k))]
    C = limits.C if own.copies is None else limits.C @ own.copies
    return whole._replace(A=sp.vstack([whole.A, C], format="csr"), penalty=Stack(parts))


def _sparse(own: Structure, l1_ratio: float, weights: Weights) -> Structure:
    """The structure with a share ``1 - l1_ratio`` of the strength, and the L1 norm of w with the share ``l1_ratio``.

    A part without a share is left out. Two L1 penalties are joined to one.
    """
    m, d = own.A.shape
    if l1_ratio == 0.0:
        return own if weights.structural is None else own._replace(penalty=_weighted(own, weights.structural, 1.0))
    identity = own._replace(A=sp.eye_array(d, format="csr"), penalty=L1(own.penalty.nu))
    if l1_ratio == 1.0:
        return identity._replace(penalty=L1(own.penalty.nu, weights.sparse))
    A = sp.vstack([own.A, identity.A], format="csr")
    structural = _weighted(own, weights.structural, 1.0 - l1_ratio)
    sparse = _weighted(identity, weights.sparse, l1_ratio)
    if isinstance(structural, L1):
        joined = L1(own.penalty.nu, np.concatenate([structural.weights, sparse.weights]))
        return own._replace(A=A, penalty=joined)
    return own._replace(A=A, penalty=Stack([(structural, np.arange(m)), (sparse, np.arange(m, m + d))]))


def _weighted(structure: Structure, weights: np.ndarray | None, share: float) -> Any:
    """The penalty, L1 or GroupL2 without weights, with these weights and a part of its strength."""
    weights = np.ones(number_of_terms(structure.A, structure.penalty)) if weights is None else weights
    return structure.penalty._replace(weights=share * weights)
