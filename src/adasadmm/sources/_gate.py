"""The checks that each block passes before it is used: size, shape, finite numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..rows.matrices import as_rows
from ._faults import Faults, RawBlock, SourceError

__all__ = ["Matrix", "check_block", "describe_bad_value", "is_valid", "resolve_block_rows"]

BLOCK_NUMBERS = 2**22  # the default size of a dense block: 32 MiB

Matrix: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix


def resolve_block_rows(block_rows: int | None, features: int) -> int:
    """The number of rows that the user chose, or as many as make a dense block of 32 MiB."""
    if block_rows is None:
        return max(1, BLOCK_NUMBERS // max(1, features))
    if isinstance(block_rows, bool) or not isinstance(block_rows, (int, np.integer)) or block_rows < 1:
        raise ValueError(f"block_rows must be a whole number >= 1, got {block_rows!r}")
    return int(block_rows)


def check_block(
    block: RawBlock, n_features: int | None, faults: Faults, first_row: int = 0, names: Sequence[str] | None = None
) -> RawBlock:
    """Check a block, and convert its rows to the form that the solvers use.

    Parameters
    ----------
    block : RawBlock
        The block as it was read.
    n_features : int or None
        The number of features that it must have; None accepts any.
    faults : Faults
        Receives the rows with a value, target, weight or offset that is missing or not finite, or with a negative
        weight.
    first_row : int, default=0
        The number of the block's first row within its file or row group, for messages, which count from 1.
    names : sequence of str, optional
        The names of the features, for messages.

    Returns
    -------
    RawBlock
        The good rows, dense rows in float64, sparse rows in CSR form.

    Raises
    ------
    SourceError
        If the shapes disagree, if the features are not numbers, or, with ``Faults("stop")``, at the first bad row.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import sources
    >>> block = sources.RawBlock(np.array([[1.0], [np.nan]]), np.array([1.0, -1.0]), None, "rows.txt")
    >>> faults = sources.Faults("skip")
    >>> sources.check_block(block, 1, faults).y
    array([1.])
    >>> faults.messages
    ['rows.txt, row 2: the value of feature 0 is nan']
    """
    X, y, weight, place, _, offset, kept = block
    try:
        rows = as_rows(X)
        valid = all(is_valid(values).all() for values in (y, weight, offset))
        valid = valid and not (weight is not None and (weight < 0).any())
    except ValueError:
        rows, valid = None, False
    if not valid or rows is None:
        X, y, weight, offset, good = _good_rows(block, faults, first_row, names)
        kept = tuple(column[good] for column in kept)
        rows = as_rows(X)
    if n_features is not None and rows.shape[1] != n_features:
        raise SourceError(f"{place} has {rows.shape[1]} features, expected {n_features}")
    for name, values in (("y", y), ("sample_weight", weight), ("offset", offset)):
        if values is not None and np.shape(values) != (rows.shape[0],):
            raise SourceError(f"{place}: {name} must have shape ({rows.shape[0]},), got {np.shape(values)}")
    return faults.with_gaps(RawBlock(rows, y, weight, place, offset=offset, kept=kept))


def _good_rows(
    block: RawBlock, faults: Faults, first_row: int, names: Sequence[str] | None
) -> tuple[Any, np.ndarray | None, np.ndarray | None, np.ndarray | None, np.ndarray]:
    """X, y, weights and offsets of the rows that are finite numbers, and which these are; the others are reported."""
    X, y, weight, place, _, offset, _ = block
    try:
        X = X.tocsr() if sp.issparse(X) else np.asarray(X)
        X = X if X.dtype.kind == "f" else X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise SourceError(f"{place}: the features must be numbers: {error}") from None
    if X.ndim != 2:
        raise SourceError(f"{place}: X must be two-dimensional, got shape {X.shape}")
    good = np.ones(X.shape[0], dtype=bool)
    entries = sp.coo_array(X)
    bad = ~np.isfinite(entries.data)
    for i, j in zip(entries.row[bad], entries.col[bad], strict=True):
        if good[i]:
            value = X[i, j]
            reason = f"the value of feature {j} is {value}" if names is None else describe_bad_value(names[j], value)
            faults.report(f"{place}, row {first_row + i + 1}: {reason}")
        good[i] = False
    for name, values in (("target", y), ("sample_weight", weight), ("offset", offset)):
        if values is None:
            continue
        for i in np.flatnonzero(~is_valid(values) | ((values < 0) if name == "sample_weight" else False)):
            if good[i]:
                faults.report(f"{place}, row {first_row + i + 1}: the {name} is {_shown(values[i])}")
            good[i] = False
    if faults.mark:
        faults.gaps = tuple(np.cumsum(good)[~good].tolist())
    y, weight, offset = (None if values is None else values[good] for values in (y, weight, offset))
    return X[good], y, weight, offset, good


def describe_bad_value(name: str, value: object) -> str:
    """The error message for a value of a column that is not a finite number."""
    return f"column {name!r} is {_shown(value)}"


def _shown(value: object) -> str:
    return "empty" if value is None or value != value else str(value)


def is_valid(values: np.ndarray | None) -> np.ndarray:
    """Which entries are finite numbers or strings; None and NaN are not."""
    if values is None:
        return np.ones(1, dtype=bool)
    if values.dtype.kind in "fiub":
        return np.isfinite(values)
    return np.array([value is not None and value == value for value in values], dtype=bool)
