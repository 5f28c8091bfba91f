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


class Evaluation:
    """The gradient of the rows times n, and Newton's matrix of some rows, at the predictions ``Xw + Xp``."""

    def __init__(self, features: int) -> None:
        self.pull, self.gram = np.zeros(features), np.zeros((features, features))
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, of_block: tuple[np.ndarray, ...]) -> None:
        """Add what `StreamedRows` finds for the next block."""
        Xp, weights, pull, gram = of_block
        self.parts.append((Xp, weights))
        self.pull += pull
        self.gram += gram

    def finish(self, Xw: np.ndarray) -> None:
        """All blocks are there: keep the weights of all rows, and the predictions."""
        self.Xp, self.weights = map(np.concatenate, zip(*self.parts, strict=True))
        self.Xw = Xw + self.Xp
        self.parts.clear()


class StreamedRows(RowTerms):
    """The envelopes of all rows of a source; the rows in Newton's matrix are spread over all blocks."""

    def __init__(self, X: Rows, envelopes: Envelopes, most: int, phase: int) -> None:
        super().__init__(X, envelopes, most, phase)
        self.evaluations, self.found = 0, Evaluation(0)

    @contextlib.contextmanager
    def riding(self) -> Iterator[None]:
        """If something reads the rows inside this context, these terms are evaluated in the same pass."""
        found = Evaluation(self.X.shape[1])
        with matrices.riding(self.X, partial(self._of_block, None), found.add, *self._vectors) as rider:
            yield
        if rider.is_done:
            self._finish(found)

    def product(self, p: np.ndarray | None) -> np.ndarray:
        """``X p``, or 0 without p; the same pass evaluates the point after a full step along p."""
        found = Evaluation(self.X.shape[1])
        for _, of_block in matrices.each_block(self.X, partial(self._of_block, p), *self._vectors):
            found.add(of_block)
        self._finish(found)
        return found.Xp

    def move_to(self, w: np.ndarray) -> None:
        self.Xw[:] = 0.0
        self.Xw[:] = self.product(w)

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        return self.here.pull

    def weights(self, step: int) -> np.ndarray:
        return self.here.weights

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return self.unit / self.X.shape[0] * self.here.gram

    @property
    def here(self) -> Evaluation:
        """The evaluation at the present predictions."""
        if self.evaluations == 0 or not np.array_equal(self.found.Xw, self.Xw):
            self.product(None)
        return self.found

    @property
    def _vectors(self) -> tuple[np.ndarray, ...]:
        e = self.envelopes
        return e.Xw, e.u, e.y, e.c

    def _of_block(
        self, p: np.ndarray | None, block: Rows, Xw: np.ndarray, u: np.ndarray, y: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """``X p`` of a block, and its part of an `Evaluation` after a full step along p."""
        n, d = block.shape
        Xp, z, slopes, curvature = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
        if p is not None:
            products.product(block, p, Xp)
        e, every_row = self.envelopes._replace(y=y, c=c, Xw=Xw + Xp, u=u), slice(0, n)
        slopes_of_rows(e, z, slopes, every_row)
        curvature_of_rows(e, z, curvature, every_row)
        products.transposed_product(block, slopes, pull := np.empty(d))
        share = 2 ** (self.evaluations // MORE_ROWS) * self.most / self.X.shape[0]
        weights = spread(curvature, max(1, round(share * n)), self.phase)
        products.add_lower_gram(block, weights, gram := np.zeros((d, d)))
        return Xp, weights, pull, gram

    def _finish(self, found: Evaluation) -> None:
        found.finish(self.Xw)
        self.found = found
        self.evaluations += 1
