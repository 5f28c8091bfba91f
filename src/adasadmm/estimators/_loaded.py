"""The rows of a source in memory, with the partition of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..linalg.matrices import plain
from ..sources import Source, SourceError

__all__ = ["Loaded", "loaded"]

MOST_ENTRIES = 2**26  # numbers that are held in memory: half a gigabyte


class Loaded(NamedTuple):
    """All rows of a source."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    weight: np.ndarray | None
    offset: np.ndarray | None
    partition: np.ndarray


def loaded(source: Source) -> Loaded:
    """Read all rows of a source; an error if they are too many."""
    if source.summary.entries > MOST_ENTRIES:
        raise ValueError(
            f"{source!r} has {source.summary.entries} numbers, and cross-validation keeps its rows in memory, at most "
            f"{MOST_ENTRIES} numbers: choose alpha on a sample of the rows"
        )
    found = [(k, block) for k in range(len(source)) for block in source.raw_blocks([k])]
    pieces = [block for _, block in found]
    if any(piece.y is None for piece in pieces):
        raise SourceError(f"{source!r} has no targets")
    blocks = [plain(piece.X) for piece in pieces]
    X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
    partition = np.repeat([k for k, _ in found], [block.shape[0] for block in blocks])
    y = np.concatenate([piece.y for piece in pieces if piece.y is not None])
    weight, offset = (
        None if columns[0] is None else np.concatenate(columns)
        for columns in zip(*((piece.weight, piece.offset) for piece in pieces), strict=True)
    )
    return Loaded(X, y, weight, offset, partition)
