"""The contribution of one block to the mean loss of a problem, computed where the block is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import losses
from ..rows import products
from ._summary import Summary
from .blocks import Block

__all__ = ["Request", "StreamedLosses", "levels_of_labels", "loss_levels", "requested_losses"]

MOST_KNOWN = 1000  # points whose loss is kept


class Request(NamedTuple):
    """A request for a pass over the rows: the mean loss at some points, and the loss levels if they are missing."""

    loss: Any
    n: int
    points: Sequence[np.ndarray]
    levels: bool


def requested_losses(block: Block, remembered: dict, request: Request) -> np.ndarray:
    """The contribution of one block to the mean loss at each point, and to the two loss levels."""
    loss, n, points, levels = request
    z, values = np.empty(len(block.y)), np.zeros(len(points) + 2)
    for k, w in enumerate(points):
        products.product(block.X, w, z)
        values[k] = len(z) / n * float(losses.mean_value(loss, z, block.y, block.c))
    if levels:
        values[-2:] = loss_levels(block, remembered, loss, n)
    return values


def loss_levels(block: Block, remembered: dict, loss: Any, n: int) -> np.ndarray:
    """The contribution of one block to the mean loss at w = 0, and to the least possible mean loss."""
    return len(block.y) / n * np.array(losses.levels(loss, block.y, block.c))


def levels_of_labels(summary: Summary, loss: Any) -> np.ndarray | None:
    """The loss levels from the weight of each label, without a pass over the rows; None if there is no such list."""
    if not summary.labels:
        return None
    weight, k = np.array([total for _, total in summary.labels.values()]), losses.width(loss)
    y, c = np.array(list(summary.labels), dtype=np.float64), weight * len(weight) / weight.sum()
    if k > 1:
        y, c = losses.targets(loss, y).reshape(-1), np.repeat(k * c, k)
    return np.array(losses.levels(loss, y, c))


class StreamedLosses:
    """The mean losses of rows that are read block by block: one pass finds all that are wanted by then.

    Attributes
    ----------
    levels : ndarray of shape (2,) or None
        The mean loss at w = 0 and the least possible one, if they are known.
    """

    def __init__(self, loss: Any, n: int, levels: np.ndarray | None) -> None:
        self.loss, self.n, self.levels = loss, n, levels
        self._known: dict[bytes, float] = {}
        self._wanted: dict[bytes, np.ndarray] = {}

    def want(self, *points: np.ndarray) -> None:
        """Let the next pass find the mean loss at these points, unless it is known."""
        for w in points:
            if (key := _key(w)) not in self._known:
                self._wanted[key] = w.copy()

    def at(self, w: np.ndarray) -> float | None:
        """The mean loss at a point, if it is known."""
        return self._known.get(_key(w))

    @property
    def request(self) -> Request:
        """Return the request for the next pass."""
        return Request(self.loss, self.n, list(self._wanted.values()), self.levels is None)

    def receive(self, found: np.ndarray) -> None:
        """Keep what a pass has found for the last request."""
        if self.levels is None:
            self.levels = found[-2:].copy()
        self._known.update(zip(self._wanted, found[:-2].tolist(), strict=True))
        self._wanted = {}
        while len(self._known) > MOST_KNOWN:
            self._known.pop(next(iter(self._known)))


def _key(w: np.ndarray) -> bytes:
    """A digest: the point itself may be long."""
    return hashlib.blake2b(w.tobytes(), digest_size=16).digest()
