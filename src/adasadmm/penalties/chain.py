"""The total variation of a vector along a chain, as a penalty of its own: its prox is one exact dynamic programme."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import serves_arrays
from .._core.jit import entry_or
from ..linalg.chain import fuse_chain
from ._generic import check, conjugate, domain, prox, value
from .norms import check_strength, check_weights


class ChainTV(NamedTuple):
    """``nu sum_k weights_k |v_{k+1} - v_k|``, the total variation along a chain; no weights means 1.

    With ``A = I`` every solver then penalises the differences of neighbouring coefficients, and its prox leaves the
    coefficients of each piece exactly equal. `L1` with ``A`` a matrix of differences is the same penalty of w, split
    up edge by edge.

    Parameters
    ----------
    nu : float
        The strength.
    weights : array of shape (p - 1,), optional
        One weight >= 0 for each pair of neighbours among the p coordinates of v.

    References
    ----------
    N. Johnson, A dynamic programming algorithm for the fused lasso and L0-segmentation, Journal of Computational and
    Graphical Statistics 22, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ChainTV, penalties
    >>> v = np.empty(4)
    >>> penalties.prox(ChainTV(1.0), np.array([0.0, 1.0, 5.0, 6.0]), 1.0, v)
    >>> v
    array([1., 1., 5., 5.])
    """

    nu: float
    weights: Any = None


@serves_arrays
@value.register
def value_of_chain(penalty: ChainTV, v):
    return penalty.nu * np.sum(entry_or(penalty.weights, slice(None), 1.0) * np.abs(v[1:] - v[:-1]))


@prox.register
def prox_of_chain(penalty: ChainTV, x, tau, out):
    edges = np.empty(len(x))
    for k in range(len(x) - 1):
        edges[k] = tau * penalty.nu * entry_or(penalty.weights, k, 1.0)
    fuse_chain(1.0, x.copy(), edges, out)


@conjugate.register
def conjugate_of_chain(penalty: ChainTV, s):
    return 0.0


@domain.register
def domain_of_chain(penalty: ChainTV, s):
    """The conjugate is the indicator of a set, so the projection onto it is what the prox removes (Moreau)."""
    v = np.empty_like(s)
    prox(penalty, s, 1.0, v)
    return s - v


@check.register
def check_chain(penalty: ChainTV, m):
    check_strength(penalty)
    check_weights(penalty, max(m - 1, 0))
