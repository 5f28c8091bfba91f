"""The rows of a source in the augmented Lagrangian method: each pass evaluates a point as a whole.

A Newton step needs ``X p``, then the gradient and Newton's matrix after the step. A full step is what usually follows,
so one pass finds all of them; after a shorter step, a second pass is needed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import numpy as np

from ...rows import matrices, products
from ...rows.matrices import Rows
from .row_terms import MORE_ROWS, Envelopes, RowTerms, curvature_of_rows, slopes_of_rows, spread

__all__ = ["StreamedRows"]


class StreamedRows(RowTerms):
    """The envelopes of all rows of a source; the rows in Newton's matrix are spread over all blocks."""

    def __init__(self, X: Rows, envelopes: Envelopes, most: int, phase: int) -> None:
        super().__init__(X, envelopes, most, phase)
        self.evaluations, self.of_matrix = 0, np.zeros(0)
        self.begin()

    def begin(self) -> None:
        """Begin a pass: the sums over the rows are 0."""
        d = self.X.shape[1]
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        self.sum, self.of_X = np.zeros(d), np.zeros((d, d))

    def add(self, of_block: tuple[np.ndarray, ...]) -> None:
        """Add what `evaluated` finds for the next block."""
        Xp, weights, pull, gram = of_block
        self.parts.append((Xp, weights))
        self.sum += pull
        self.of_X += gram

    def finish(self) -> np.ndarray:
        """All blocks are there: the evaluation is that at ``Xw + Xp``. Returns ``X p``."""
        Xp, self.of_matrix = map(np.concatenate, zip(*self.parts, strict=True))
        self.at = self.Xw + Xp
        self.evaluations += 1
        return Xp

    @contextlib.contextmanager
    def riding(self) -> Iterator[None]:
        """If something reads the rows inside this context, these terms are evaluated in the same pass."""
        with matrices.riding(self.X, self._of_block(None), self.add, *self._vectors) as rider:
            yield
        if rider.is_done:
            self.finish()

    def product(self, p: np.ndarray | None) -> np.ndarray:
        """``X p``, or 0 without p; the same pass evaluates the point after a full step along p."""
        self.begin()
        for _, of_block in matrices.each_block(self.X, self._of_block(p), *self._vectors):
            self.add(of_block)
        return self.finish()

    def move_to(self, w: np.ndarray) -> None:
        self.Xw[:] = 0.0
        self.Xw[:] = self.product(w)

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        self._evaluate()
        return self.sum

    def weights(self, step: int) -> np.ndarray:
        self._evaluate()
        return self.of_matrix

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return self.unit / self.X.shape[0] * self.of_X

    def _evaluate(self) -> None:
        """A pass, unless the last one has evaluated the present predictions."""
        if self.evaluations == 0 or not np.array_equal(self.at, self.Xw):
            self.product(None)

    @property
    def _vectors(self) -> tuple[np.ndarray, ...]:
        e = self.envelopes
        return e.Xw, e.u, e.y, e.c

    def _of_block(self, p: np.ndarray | None) -> partial:
        """`evaluated` as a function of a block and its part of `_vectors`. It may go to a worker: it holds no rows."""
        nothing, share = np.empty(0), 2 ** (self.evaluations // MORE_ROWS) * self.most / self.X.shape[0]
        e = self.envelopes._replace(y=nothing, c=nothing, Xw=nothing, u=nothing)
        return partial(evaluated, e, p, (share, self.phase))


def evaluated(
    e: Envelopes,
    p: np.ndarray | None,
    chosen: tuple[float, int],
    block: Rows,
    Xw: np.ndarray,
    u: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """``X p`` of a block, and its part of a pass after a full step along p.

    ``chosen`` is the share of the rows that Newton's matrix needs, and the position of the first of them.
    """
    n, d = block.shape
    Xp, z, slopes, curvature = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    if p is not None:
        products.product(block, p, Xp)
    e, every_row, (share, phase) = e._replace(y=y, c=c, Xw=Xw + Xp, u=u), slice(0, n), chosen
    slopes_of_rows(e, z, slopes, every_row)
    curvature_of_rows(e, z, curvature, every_row)
    products.transposed_product(block, slopes, pull := np.empty(d))
    weights = spread(curvature, max(1, round(share * n)), phase)
    products.add_lower_gram(block, weights, gram := np.zeros((d, d)))
    return Xp, weights, pull, gram
