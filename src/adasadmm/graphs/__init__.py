"""Graphs over coefficients: given or learnt, and the matrices A that they make.

A graph that you know comes as edges (``chain``, ``grid``, an array, a sparse adjacency, networkx, a file); one that you
do not know is learnt from the columns of X (``glasso`` as in the paper, ``knn``). ``as_graph`` takes all of these and
gives a ``Graph``; ``incidence`` makes the paper's matrix F of it.
"""

from __future__ import annotations

from .columns import knn
from .edges import Graph, GraphWarning, chain, edges_of, grid, incidence
from .given import as_graph
from .inverse import glasso
from .structures import difference, overlapping_groups, trend

__all__ = [
    "Graph",
    "GraphWarning",
    "as_graph",
    "chain",
    "difference",
    "edges_of",
    "glasso",
    "grid",
    "incidence",
    "knn",
    "overlapping_groups",
    "trend",
]
