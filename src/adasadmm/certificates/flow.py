"""Steps of `repair` for a graph with more coordinates than rows: most of q is a flow along the edges.

A change of theta alone reaches every q whose sum over each connected component is 0, by a sparse Laplacian system whose
factor has no cancellation. Only these sums are left to s: a few dense columns, where the general step would solve one
ill-conditioned system for both.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..linalg.sparse_factor import GramFactor, gram_pattern, is_graph
from ..rows import products
from ..rows.matrices import CSR, Rows, to_scipy

__all__ = ["Flow", "flow_for"]

MOST_COMPONENTS = 100
MOST_FILL = 5e7  # entries of the sparse factor


class Flow:
    """``X x`` and ``A y`` for which ``X' diag(rows) X x + A' diag(edges) A y`` is a given vector.

    ``sums`` holds the indicator of each component that no row of A with a single entry ties down, ``grounds`` one of
    its coordinates.
    """

    def __init__(self, X: Rows, A: CSR, factor: GramFactor, sums: np.ndarray, grounds: np.ndarray) -> None:
        self.X, self.A, self.base, self.sums, self.grounds = X, A, factor, sums, grounds
        self.columns = np.empty((X.shape[0], len(sums)))
        for k, indicator in enumerate(sums):
            column = np.empty(X.shape[0])
            products.product(X, indicator, column)
            self.columns[:, k] = column

    def factor(self, rows: np.ndarray, edges: np.ndarray) -> None:
        self.rows = rows
        self.gram = self.columns.T @ (rows[:, None] * self.columns)
        ridge = np.zeros(self.A.shape[1])
        # The rest of q has the sum 0, so the ridge of a single coordinate of each component does not change y.
        ridge[self.grounds] = np.maximum(products.gram_diagonal(self.A, edges)[self.grounds], np.finfo(float).tiny)
        self.base.factor([edges], ridge)

    def step(self, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        along = self.columns @ scipy.linalg.lstsq(self.gram, self.sums @ missing, check_finite=False)[0]
        back, along_A = np.empty(len(missing)), np.empty(self.A.shape[0])
        products.transposed_product(self.X, self.rows * along, back)
        products.product(self.A, self.base.solve(missing - back), along_A)
        return along, along_A


def flow_for(X: Rows, A: CSR) -> Flow | None:
    """The flow of a graph with few components; None for another A, or if the factor does not fit into memory."""
    if not is_graph(A) or len(A.data) == 0 or not A.data.all():
        return None
    ones = abs(to_scipy(A))
    number, component = sp.csgraph.connected_components(ones.T @ ones, directed=False)
    single = ones.indices[ones.indptr[:-1][np.diff(ones.indptr) == 1]]
    loose = np.setdiff1d(np.arange(number), component[single])
    if len(loose) > min(MOST_COMPONENTS, X.shape[0] - 1):
        return None
    pattern = gram_pattern([A], MOST_FILL)
    if pattern is None:
        return None
    sums = (component == loose[:, None]).astype(float)
    return Flow(X, A, GramFactor([A], pattern), sums, np.argmax(sums, axis=1) if len(loose) else loose)
