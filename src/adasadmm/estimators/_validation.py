"""The loss of rows that were held out of a fit (``validation_fraction``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import losses
from ..rows import products
from ..rows.matrices import Rows, as_rows
from ..sources import RawBlock, Source
from ..sources._base import OfTargets
from ..sources._held_out import is_held_out
from ._responses import of_column
from ._types import PerRow, ValidRows

__all__ = ["HeldOutArrays", "HeldOutSource", "LinearFunctions", "as_numbers", "split_arrays"]


class LinearFunctions(NamedTuple):
    """A loss, and the coefficients and the intercept of each linear function."""

    loss: Any
    coefs: np.ndarray
    intercepts: np.ndarray

    def sums(self, X: Rows, targets: Sequence[np.ndarray], per_row: PerRow) -> np.ndarray:
        """For some rows: the weighted sum of the losses of each function, the sum of the weights, and their number."""
        n = X.shape[0]
        c = np.ones(n) if per_row.weight is None else per_row.weight
        z, found = np.empty(n), np.zeros(len(targets) + 2)
        found[-2:] = c.sum(), n
        if losses.width(self.loss) > 1:
            found[0] = n * self._mean_of_vectors(X, targets[0], c, per_row.offset)
            return found
        for k, y in enumerate(targets if n else ()):
            losses.check(self.loss, y)
            products.product(X, np.ascontiguousarray(self.coefs[k]), z)
            offset = of_column(per_row, y, k, len(targets)).offset
            z += self.intercepts[k] + (0.0 if offset is None else offset)
            found[k] = n * float(losses.mean_value(self.loss, z, y, c))
        return found

    def _mean_of_vectors(self, X: Rows, y: np.ndarray, c: np.ndarray, offset: np.ndarray | None) -> float:
        """The mean loss of a loss of several predictions, those of all linear functions."""
        k = losses.width(self.loss)
        z = products.product_of_matrix(X, np.ascontiguousarray(self.coefs.T)) + self.intercepts
        if offset is not None:
            z += offset.reshape(len(z), -1)
        flat = losses.targets(self.loss, y).reshape(-1)
        return float(losses.mean_value(self.loss, z.reshape(-1), flat, np.repeat(k * c, k))) if len(y) else 0.0


class HeldOutArrays(NamedTuple):
    """Rows in memory that were held out, and the targets of each linear function."""

    X: Rows
    targets: list[np.ndarray]
    per_row: PerRow

    def sums(self, functions: LinearFunctions) -> np.ndarray:
        return functions.sums(self.X, self.targets, self.per_row)


class HeldOutSource(NamedTuple):
    """Rows of a source that were held out, and how each linear function sees their targets."""

    source: Source
    targets: Sequence[OfTargets]

    def sums(self, functions: LinearFunctions) -> np.ndarray:
        """One pass over the rows, where they are."""
        return sum(self.source.each(_sums_of_block, functions, self.targets), np.zeros(len(self.targets) + 2))


def _sums_of_block(
    block: RawBlock, remembered: dict, functions: LinearFunctions, targets: Sequence[OfTargets]
) -> np.ndarray:
    assert block.y is not None
    return functions.sums(block.X, [of(block.y) for of in targets], PerRow(block.weight, block.offset))


def as_numbers(y: np.ndarray, /) -> np.ndarray:
    """The targets of a regression."""
    return np.asarray(y, dtype=np.float64)


def split_arrays(
    X: ValidRows, targets: list[np.ndarray], per_row: PerRow, fraction: float
) -> tuple[ValidRows, list[np.ndarray], PerRow, HeldOutArrays]:
    """The rows to learn from with their targets and weights, and the rows that are held out."""
    held = is_held_out(0, X.shape[0], fraction)
    if held.all() or not held.any():
        what = "learning" if held.any() else "validation"
        raise ValueError(f"validation_fraction={fraction:g} of {X.shape[0]:,} rows leaves no row for {what}")
    parts = [(X[rows], [y[rows] for y in targets], per_row.taken(rows)) for rows in map(np.flatnonzero, (~held, held))]
    kept, (of_held_out, ys, per_held_out) = parts
    columns = [np.ascontiguousarray(column) for y in ys for column in (y.T if y.ndim == 2 else [y])]
    return *kept, HeldOutArrays(as_rows(of_held_out), columns, per_held_out)
