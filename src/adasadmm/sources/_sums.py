"""What one block contributes to the mean loss of a problem; called where the blocks are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import losses
from .._core.jit import is_registered
from ..linalg import products
from .blocks import Block

__all__ = ["loss_levels", "mean_losses"]


def loss_levels(block: Block, remembered: dict, loss: Any, n: int) -> np.ndarray:
    """The contribution of one block to the mean loss at w = 0, and to the least possible mean loss."""
    zero = np.zeros(len(block.y))
    at_zero, least = float(losses.mean_value(loss, zero, block.y, block.c)), 0.0
    if is_registered(losses.conjugate, loss):  # inf_z loss(z) = -loss*(0)
        least = -float(losses.mean_conjugate(loss, zero, block.y, block.c))
    return len(zero) / n * np.array([at_zero, least])


def mean_losses(block: Block, remembered: dict, loss: Any, n: int, points: Sequence[np.ndarray]) -> np.ndarray:
    """The contribution of one block to the mean loss at each point."""
    z, values = np.empty(len(block.y)), np.empty(len(points))
    for k, w in enumerate(points):
        products.product(block.X, w, z)
        values[k] = len(z) / n * float(losses.mean_value(loss, z, block.y, block.c))
    return values
