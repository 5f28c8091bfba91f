"""Gram matrices of columns that are summed over clusters, while the clusters and the weights of the rows change.

With few rows, the sums of the columns are formed, as a dense matrix. With few features, the Gram matrix of all columns
is kept instead: a change of clusters sums its entries, and a change of the weights of a few rows adds their terms.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse import issparse

from ...linalg.joined import summed, summed_square
from ...rows import products
from ...rows.last_products import add_chosen_rows, changes
from ...rows.matrices import CSR, Dense, Rows, WithIntercept, dense_block, innermost, plain
from ...rows.selections import taken

__all__ = ["ClusterGram", "cluster_gram", "is_cheap"]

MOST_ROWS, MOST_SPARSE_ROWS = 64, 4  # for each feature: beyond, the dense sums of the columns cost too much
MOST_FEATURES = 1000  # of a kept Gram matrix
FEW = 0.25  # of the rows: the terms of more rows are added by BLAS, or in threads


class ClusterGram(Protocol):
    """``P' X' diag(weights) X P``, where column c of P is 1 for the coefficients of cluster c.

    Attributes
    ----------
    has_many_rows : bool
        Whether a pass over the rows costs more than a change of the clusters.
    """

    has_many_rows: bool

    def matrix(self, label: np.ndarray, number: int, weights: np.ndarray) -> np.ndarray:
        """The Gram matrix for these clusters and weights >= 0, which must not change later.

        The label of a coefficient without a cluster is -1.
        """

    def product(self, p: np.ndarray, of_clusters: np.ndarray) -> np.ndarray:
        """``X p`` for a p that has these values on the clusters of the last matrix."""


def is_cheap(X: Rows, is_smooth: bool) -> bool:
    """Whether one of the two forms is cheap for the shape of X."""
    return _has_few_rows(X, is_smooth) or X.shape[1] <= MOST_FEATURES


def _has_few_rows(X: Rows, is_smooth: bool) -> bool:
    """Whether the sums of the columns are cheaper.

    The curvatures of a loss with kinks change for few rows at a time, so that a kept matrix is cheaper as soon as there
    are more rows than features.
    """
    n, d = X.shape
    most = MOST_ROWS if isinstance(innermost(X), Dense) else MOST_SPARSE_ROWS
    return n <= (most if is_smooth else 1) * d


def cluster_gram(X: Rows, tolerance: float) -> ClusterGram:
    """The cheaper form; with a tolerance, a kept matrix also serves for other weights, up to this relative change."""
    return SummedColumns(X) if _has_few_rows(X, tolerance > 0.0) else KeptGram(X, tolerance)


class SummedColumns:
    """The sums of the columns over the clusters, and their Gram matrix with the last weights."""

    has_many_rows = False

    def __init__(self, X: Rows) -> None:
        columns = plain(X)
        self.of_X = columns if issparse(columns) else np.ascontiguousarray(columns.T)
        self.label: np.ndarray | None = None

    def matrix(self, label: np.ndarray, number: int, weights: np.ndarray) -> np.ndarray:
        if self.label is None or not np.array_equal(label, self.label):
            self.label, self.columns, self.weights = label, summed(self.of_X, label, number), np.empty(0)
        if not np.array_equal(weights, self.weights):
            used = np.flatnonzero(weights)
            half = np.sqrt(weights[used])[:, None] * (self.columns if len(used) == len(weights) else self.columns[used])
            self.weights, self.last = weights, half.T @ half
        return self.last

    def product(self, p: np.ndarray, of_clusters: np.ndarray) -> np.ndarray:
        return self.columns @ of_clusters


class KeptGram:
    """The lower triangle of the Gram matrix of all columns, with weights that change for a few rows at a time."""

    has_many_rows = True

    def __init__(self, X: Rows, tolerance: float) -> None:
        self.X, self.tolerance = X, tolerance
        self.weights, self.lower = np.zeros(X.shape[0]), np.zeros((X.shape[1], X.shape[1]))

    def matrix(self, label: np.ndarray, number: int, weights: np.ndarray) -> np.ndarray:
        self._set(weights)
        half = summed_square(np.tril(self.lower), label, number)  # terms of few rows are added to both triangles
        kept = label >= 0
        return half + half.T - np.diag(np.bincount(label[kept], np.diag(self.lower)[kept], number))

    def product(self, p: np.ndarray, of_clusters: np.ndarray) -> np.ndarray:
        products.product(self.X, p, out := np.empty(self.X.shape[0]))
        return out

    def _set(self, weights: np.ndarray) -> None:
        if self.tolerance > 0.0 and np.sum(np.abs(weights - self.weights)) < self.tolerance * np.sum(self.weights):
            return
        rows, change = changes(weights, self.weights)
        used, few = int(np.count_nonzero(weights)), FEW * len(weights)
        self.weights = weights
        if len(rows) > min(used, few):  # it is cheaper to form the matrix again
            self.lower[:] = 0.0
            rows, change = changes(weights, np.zeros(len(weights)))
        if len(rows) > few:
            products.add_lower_gram(self.X, weights, self.lower)
        else:
            add_rows_to_gram(self.X, rows, change, self.lower)


def add_rows_to_gram(X: Rows, rows: np.ndarray, weights: np.ndarray, lower: np.ndarray) -> None:
    """Add the terms of some rows, with weights of any sign, to the lower triangle of a Gram matrix."""
    if isinstance(X, WithIntercept):
        add_rows_to_gram(X.rows, rows, weights, lower[:-1, :-1])
        add_chosen_rows(X.rows, rows, weights, lower[-1, :-1])
        lower[-1, -1] += weights.sum()
    elif isinstance(X, CSR):
        products.add_gram(X, rows, weights, lower)
    elif X.shape[1]:
        block = dense_block(taken(X, rows), slice(0, len(rows)))
        lower += block.T @ (weights[:, None] * block)
