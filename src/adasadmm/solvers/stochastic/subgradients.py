"""Subgradients of a batch beside `Explicit`: near the mean of the iterates, and for a loss of several predictions.

A loss of k predictions has kinds of its own: its row i has the entries ``i k`` to ``(i + 1) k`` of flat arrays, and at
each of them a weight that is k times its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import losses
from ...algorithm import Explicit, subgradient
from ...rows.kernels import add_row, row_dot

__all__ = ["AtMean", "OfVectors", "explicit"]


class AtMean(NamedTuple):
    """g_t is taken between the mean of the iterates, of which there is ``share``, and w_t."""

    share: float


class OfVectors(NamedTuple):
    """`AtMean` for a loss of several predictions, `Explicit` if the ``share`` is 0; z and s are work space."""

    share: float
    z: np.ndarray
    s: np.ndarray


def explicit(loss: tuple, share: float = 0.0) -> Explicit | AtMean | OfVectors:
    """How the tangent of a loss is taken, with this share of the mean of the iterates."""
    k = losses.width(loss)
    if k > 1:
        return OfVectors(share, np.zeros(k), np.zeros(k))
    return AtMean(share) if share > 0.0 else Explicit()


@subgradient.register
def at_mean_subgradient(kind: AtMean, model, method, block, state, batch):
    for i in batch:
        z = kind.share * row_dot(block.X, i, state.w_average) + (1.0 - kind.share) * row_dot(block.X, i, state.w)
        slope = losses.slope(model.loss, z, block.y[i])
        if slope != 0.0:
            add_row(block.X, i, block.c[i] * slope / len(batch), state.g)


@subgradient.register
def subgradient_of_vectors(kind: OfVectors, model, method, block, state, batch):
    k = len(kind.z)
    for i in batch:
        for row in range(i * k, (i + 1) * k):
            kind.z[row - i * k] = row_dot(block.X, row, state.w)
            if kind.share > 0.0:
                of_mean = row_dot(block.X, row, state.w_average)
                kind.z[row - i * k] += kind.share * (of_mean - kind.z[row - i * k])
        losses.slope(model.loss, kind.z, block.y[i * k : (i + 1) * k], kind.s)
        weight = block.c[i * k] / (k * len(batch))
        for row in range(i * k, (i + 1) * k):
            add_row(block.X, row, weight * kind.s[row - i * k], state.g)
