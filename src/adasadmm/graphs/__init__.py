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

import lazy_loader as _lazy

# Each name is imported on first use: a chain needs no estimates of graphs.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
