"""Graphs over the coefficients, known or learnt, and the matrices A built from them.

A known graph is given by its edges: `chain`, `grid`, an array, a sparse adjacency matrix, a networkx graph or a file.
An unknown one is estimated from the columns of X: `glasso`, as in the paper, or `knn`. `as_graph` converts any of these
to a `Graph`, and `incidence` builds the paper's matrix F. `difference`, `trend`, `overlapping_groups` and
`latent_groups` build matrices for structures other than graphs.

Examples
--------
>>> from adasadmm import graphs
>>> graphs.incidence(graphs.chain(3), d=3).toarray()
array([[ 1., -1.,  0.],
       [ 0.,  1., -1.]])
"""

from __future__ import annotations

from .edges import Graph, GraphWarning, chain, edges_of, grid, incidence
from .given import as_graph
from .inverse import glasso
from .neighbours import knn
from .structures import LatentGroups, difference, latent_groups, overlapping_groups, trend

__all__ = [
    "Graph",
    "GraphWarning",
    "LatentGroups",
    "as_graph",
    "chain",
    "difference",
    "edges_of",
    "glasso",
    "grid",
    "incidence",
    "knn",
    "latent_groups",
    "overlapping_groups",
    "trend",
]
