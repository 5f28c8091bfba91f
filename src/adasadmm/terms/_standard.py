"""Standard weights: one weight for all edges of a factor, for which one strength serves all terms.

At the strength at which a penalty removes pure noise, the noise of the levels must fit into the edges as a flow. So the
weight of a factor is the root mean square over its edges of the least-squares flow of white noise. A number in units of
its standard deviation has the weight 1 by the same rule, and a factor with two levels that of its standardised column.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from .._core.threads import one_blas_thread

__all__ = ["noise_of_edges"]

MOST_EXACT = 600  # nodes; beyond them the trace is a mean over random noise
PROBES = 100


@one_blas_thread()
def noise_of_edges(edges: np.ndarray, share: np.ndarray) -> float:
    """The root mean square of the least-squares flow of noise with variances ``share`` and the sum 0.

    With the Laplacian L of the graph and p the shares it is the root of ``trace(L^+ (diag(p) - p p')) / edges``. For a
    chain that is the root of the mean of ``P (1 - P)``, where P is the share of the rows on one side of an edge.
    """
    nodes = len(share)
    if not len(edges) or not share.any():
        return 1.0
    ends = (np.ones(2 * len(edges)), (edges.reshape(-1), edges[:, ::-1].reshape(-1)))
    joined = sp.csr_array(sp.coo_array(ends, shape=(nodes, nodes)))  # parallel edges add up
    laplacian = sp.csc_array(sp.diags_array(joined.sum(axis=1)) - joined)
    part = connected_components(joined, directed=False)[1]
    noise = _balanced(_noise(share), part)
    kept = np.ones(nodes, dtype=bool)
    kept[np.unique(part, return_index=True)[1]] = False  # one node of each component holds the level of all others
    inner = np.flatnonzero(kept)
    potential = _solve(laplacian[inner][:, inner], noise[inner])
    return float(np.sqrt(max((potential * noise[inner]).sum(), 0.0) / len(edges)))


def _noise(share: np.ndarray) -> np.ndarray:
    """Columns z whose ``z z'`` add up to ``diag(p) - p p'``, exactly or in expectation."""
    p, count = share / share.sum(), len(share)
    if count <= MOST_EXACT:
        white = np.eye(count)
    else:
        white = np.random.default_rng(0).standard_normal((count, PROBES)) / np.sqrt(PROBES)
    scaled = np.sqrt(p)[:, None] * white
    return scaled - p[:, None] * scaled.sum(axis=0)


def _balanced(noise: np.ndarray, part: np.ndarray) -> np.ndarray:
    """The noise minus its mean over each component, which no flow can carry."""
    of_part = sp.csr_array((np.ones(len(part)), (part, np.arange(len(part)))))
    return noise - ((of_part @ noise) / np.bincount(part)[:, None])[part]


def _solve(laplacian: sp.csc_array, noise: np.ndarray) -> np.ndarray:
    if len(noise) <= MOST_EXACT:
        return scipy.linalg.solve(laplacian.toarray(), noise, assume_a="pos")
    return splu(sp.csc_array(laplacian)).solve(noise)
