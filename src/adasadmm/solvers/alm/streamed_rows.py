"""The rows' part of psi for rows that are read block by block: each pass evaluates a point as a whole.

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
from .newton import Envelopes, RowTerms, curvature_of_rows, slopes_of_rows

__all__ = ["StreamedRows"]

MORE_ROWS = 3  # evaluations after which the rows in Newton's matrix double


class Evaluation:
    """The gradient of the rows' part times n, and Newton's matrix of some rows, at the predictions ``Xw + Xp``."""

    def __init__(self, features: int) -> None:
        self.pull, self.gram = np.zeros(features), np.zeros((features, features))
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, of_block: tuple[np.ndarray, ...]) -> None:
        """Add what `evaluated` found for the next block."""
        Xp, pull, gram, weights = of_block
        self.parts.append((Xp, weights))
        self.pull += pull
        self.gram += gram

    def finish(self, Xw: np.ndarray) -> None:
        """All blocks are there: keep the weights of all rows, and the predictions."""
        self.Xp, self.weights = map(np.concatenate, zip(*self.parts, strict=True))
        self.Xw = Xw + self.Xp
        self.parts.clear()


class StreamedRows(RowTerms):
    """The rows' part of psi for all rows of a source.

    Parameters
    ----------
    X, envelopes, z
        As for `RowTerms`.
    most : int
        The number of rows in Newton's matrix, spread over all blocks; each stands for several with curvature.
    phase : int
        The position of the first of them.
    """

    def __init__(self, X: Rows, envelopes: Envelopes, z: np.ndarray, most: int, phase: int) -> None:
        super().__init__(X, envelopes, z)
        self.most, self.phase = most, phase
        self.evaluations, self.found = 0, Evaluation(0)

    @contextlib.contextmanager
    def riding(self) -> Iterator[None]:
        """If something reads the rows inside this context, these terms are evaluated in the same pass."""
        found = Evaluation(self.X.shape[1])
        with matrices.riding(self.X, self._on_block(None), found.add, *self._vectors) as rider:
            yield
        if rider.is_done:
            self._finish(found)

    def product(self, p: np.ndarray) -> np.ndarray:
        """``X p``; the same pass evaluates the point after a full step along p."""
        found = Evaluation(self.X.shape[1])
        for _, of_block in matrices.each_block(self.X, self._on_block(p), *self._vectors):
            found.add(of_block)
        self._finish(found)
        return found.Xp

    def move_to(self, w: np.ndarray) -> None:
        self.Xw[:] = 0.0
        self.Xw[:] = self.product(w)

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        return self.here.pull

    @property
    def here(self) -> Evaluation:
        """The evaluation at the present predictions."""
        if self.evaluations == 0 or not np.array_equal(self.found.Xw, self.Xw):
            self.product(np.zeros(self.X.shape[1]))
        return self.found

    @property
    def _vectors(self) -> tuple[np.ndarray, ...]:
        e = self.envelopes
        return e.Xw, e.u, e.y, e.c

    def _on_block(self, p: np.ndarray | None) -> partial:
        """`evaluated` as a function of a block and its part of `_vectors`."""
        share, e = self.most * 2 ** (self.evaluations // MORE_ROWS) / self.X.shape[0], self.envelopes
        return partial(evaluated, p=p, loss=e.loss, beta_z=e.beta_z, share=share, phase=self.phase)

    def _finish(self, found: Evaluation) -> None:
        found.finish(self.Xw)
        self.found = found
        self.evaluations += 1


def evaluated(
    block: Rows,
    Xw: np.ndarray,
    u: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
    p: np.ndarray | None,
    loss: tuple,
    beta_z: float,
    share: float,
    phase: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """``X p`` of one block, and its part of an `Evaluation` after a full step along p.

    ``share`` is the part of the rows that Newton's matrix needs.
    """
    n, d = block.shape
    Xp, z, slopes, curvature = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    if p is not None:
        products.product(block, p, Xp)
    envelopes, every_row = Envelopes(loss, y, c, Xw + Xp, u, beta_z), slice(0, n)
    slopes_of_rows(envelopes, z, slopes, every_row)
    curvature_of_rows(envelopes, z, curvature, every_row)
    products.transposed_product(block, slopes, pull := np.empty(d))
    weights = spread(curvature, max(1, round(share * n)), phase)
    products.add_lower_gram(block, weights, gram := np.zeros((d, d)))
    return Xp, pull, gram, weights


def spread(curvature: np.ndarray, most: int, phase: int) -> np.ndarray:
    """The weights of about ``most`` evenly spaced rows that stand for all rows with curvature; 0 for the others."""
    curved = np.flatnonzero(curvature)
    every = max(1, len(curved) // most)
    if every == 1:
        return curvature
    used = curved[phase % every :: every]
    weights = np.zeros_like(curvature)
    weights[used] = curvature[used] * (curvature.sum() / curvature[used].sum())
    return weights
