"""Digests of rows and labels, by which data sets are recognised."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

__all__ = ["canonical", "digest"]

Rows: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix


def digest(X: Rows, y: ArrayLike) -> str:
    """Compute the SHA-256 digest of rows and labels.

    It does not depend on whether zeros are stored, on the order of entries within a row, or on the file format.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        The labels.

    Returns
    -------
    str
        The digest, 64 hexadecimal digits.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from adasadmm import datasets
    >>> X = [[0.0, 1.0], [2.0, 0.0]]
    >>> datasets.digest(X, [1, -1]) == datasets.digest(sp.csr_array(X), [1.0, -1.0])
    True
    """
    rows = canonical(X)
    parts = ((rows.shape, "<i8"), (rows.indptr, "<i8"), (rows.indices, "<i4"), (rows.data, "<f8"), (y, "<f8"))
    return hashlib.sha256(b"".join(np.asarray(part).astype(kind).tobytes() for part, kind in parts)).hexdigest()


def canonical(X: Rows) -> sp.csr_array:
    """Return a copy with sorted entries, no duplicates and no stored zeros, and with 32-bit indices."""
    rows = sp.csr_array(X, dtype=np.float64, copy=True)
    rows.indptr, rows.indices = rows.indptr.astype(np.int32), rows.indices.astype(np.int32)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
