"""What a block passes before it is used: its size, its shape, finite numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.matrices import as_rows
from ._base import Faults, Piece, SourceError

__all__ = ["checked", "finite", "in_words", "rows_of_a_block"]

BLOCK_NUMBERS = 2**22  # in a dense block, unless its rows are told: 32 MiB


def rows_of_a_block(block_rows: int | None, features: int) -> int:
    """What the user said, or as many as make a dense block of 32 MiB."""
    if block_rows is None:
        return max(1, BLOCK_NUMBERS // max(1, features))
    if isinstance(block_rows, bool) or not isinstance(block_rows, (int, np.integer)) or block_rows < 1:
        raise ValueError(f"block_rows must be a whole number >= 1, got {block_rows!r}")
    return int(block_rows)


def checked(
    piece: Piece, n_features: int | None, first: int, faults: Faults, names: Sequence[str] | None = None
) -> Piece:
    """A block through the gate. Rows that are not finite numbers are faults; ``first`` is the number of the first.

    ``names`` are those of the features, where these have any.
    """
    X, y, weight, place = piece
    try:
        rows = as_rows(X)
        ends_well = all(finite(part).all() for part in (y, weight)) and not (weight is not None and (weight < 0).any())
    except ValueError:
        rows, ends_well = None, False
    if not ends_well or rows is None:
        X, y, weight = _without_faults(piece, first, faults, names)
        rows = as_rows(X)
    if n_features is not None and rows.shape[1] != n_features:
        raise SourceError(f"{place} has {rows.shape[1]} features, expected {n_features}")
    for name, part in (("y", y), ("sample_weight", weight)):
        if part is not None and np.shape(part) != (rows.shape[0],):
            raise SourceError(f"{place}: {name} must have shape ({rows.shape[0]},), got {np.shape(part)}")
    return faults.marked(Piece(rows, y, weight, place))


def _without_faults(piece: Piece, first: int, faults: Faults, names: Sequence[str] | None) -> tuple[Any, Any, Any]:
    """Only the rows that are finite numbers; the others are told."""
    X, y, weight, place = piece
    parts: Any = (("target", y), ("sample_weight", weight))
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
            what = f"the value of feature {j} is {X[i, j]}" if names is None else in_words(names[j], X[i, j])
            faults.found(f"{place}, row {first + i + 1}: {what}")
        good[i] = False
    for name, part in parts:
        for i in np.flatnonzero(~finite(part) | (_below_zero(part) if name == "sample_weight" else False)):
            if good[i]:
                faults.found(f"{place}, row {first + i + 1}: the {name} is {_shown(part[i])}")
            good[i] = False
    if faults.mark:
        faults.gaps = np.cumsum(good)[~good].tolist()
    return X[good], None if y is None else y[good], None if weight is None else weight[good]


def in_words(name: str, value: Any) -> str:
    """What is wrong with a value of a column that is no finite number."""
    return f"column {name!r} is {_shown(value)}"


def _shown(value: Any) -> str:
    return "empty" if value is None or value != value else str(value)


def finite(part: Any) -> np.ndarray:
    """Which entries are finite; a text is, None is not."""
    if part is None:
        return np.ones(1, dtype=bool)
    if part.dtype.kind in "fiub":
        return np.isfinite(part)
    return np.array([value is not None and value == value for value in part], dtype=bool)


def _below_zero(part: Any) -> Any:
    return False if part is None else part < 0
