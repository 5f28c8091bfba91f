"""Estimates of the gradient whose error vanishes as the run goes on: what high accuracy needs of Algorithm 1.

The subgradient of a batch has noise that only a falling step can tame. Here each row is remembered, by one number for
each of its predictions:

- ``DualCoordinates``: a slope s_i for each row, a point of the dual problem. A batch moves its own slopes towards the
  best reply to w_t, by a prox of the conjugate of the loss. With it Algorithm 1 is SPDHG, stochastic primal-dual hybrid
  gradients: its linearised w-step and its v- and theta-steps are a primal-dual step of the constraint already.
- ``VarianceReduced``: the slopes at an earlier point, whose whole gradient is known. A batch corrects it by how much
  its own slopes have changed since. With it Algorithm 1 is SVRG-ADMM, and with momentum ASVRG-ADMM.

``AtMean`` and ``OfVectors`` remember no row: the subgradient is taken near the mean of the iterates, as schedule-free
averaging does.

A loss of k predictions has kinds of its own: its row i has the entries ``i k`` to ``(i + 1) k`` of flat arrays, and at
each of them a weight that is k times its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import losses
from ..._core.jit import inlined
from ...algorithm import Explicit, subgradient
from ...rows.kernels import add_row, row_dot

__all__ = [
    "AtMean",
    "DualCoordinates",
    "DualVectors",
    "OfVectors",
    "VarianceReduced",
    "VarianceReducedVectors",
    "explicit",
]


class AtMean(NamedTuple):
    """g_t is taken between the mean of the iterates, of which there is ``share``, and w_t."""

    share: float


class DualCoordinates(NamedTuple):
    """``pull = X'(c s)/n``. ``turn`` is its change in the current batch; in g_t it has the weight ``forward``."""

    s: np.ndarray
    pull: np.ndarray
    turn: np.ndarray
    size: np.ndarray  # eta size_i is how far s_i lets its prediction go
    forward: float  # n over the rows of a batch


class VarianceReduced(NamedTuple):
    """An earlier point with its predictions, slopes and gradient.

    The gradient g_t is taken at a point between it and w_t; at w_t itself if ``momentum`` is 1.
    """

    w: np.ndarray
    predictions: np.ndarray
    slopes: np.ndarray
    gradient: np.ndarray
    momentum: float


class OfVectors(NamedTuple):
    """`AtMean` for a loss of several predictions, `Explicit` if the ``share`` is 0; z and s are work space."""

    share: float
    z: np.ndarray
    s: np.ndarray


class DualVectors(NamedTuple):
    """`DualCoordinates` for a loss of several predictions; z and near are work space."""

    s: np.ndarray
    pull: np.ndarray
    turn: np.ndarray
    size: np.ndarray
    forward: float
    z: np.ndarray
    near: np.ndarray


class VarianceReducedVectors(NamedTuple):
    """`VarianceReduced` for a loss of several predictions; z and s are work space."""

    w: np.ndarray
    predictions: np.ndarray
    slopes: np.ndarray
    gradient: np.ndarray
    momentum: float
    z: np.ndarray
    s: np.ndarray


def explicit(loss: tuple, share: float = 0.0) -> Explicit | AtMean | OfVectors:
    """How the tangent of a loss is taken, with this share of the mean of the iterates."""
    k = losses.width(loss)
    if k > 1:
        return OfVectors(share, np.zeros(k), np.zeros(k))
    return AtMean(share) if share > 0.0 else Explicit()


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


@subgradient.register
def at_mean_subgradient(kind: AtMean, model, method, block, state, batch):
    for i in batch:
        z = kind.share * row_dot(block.X, i, state.w_average) + (1.0 - kind.share) * row_dot(block.X, i, state.w)
        slope = losses.slope(model.loss, z, block.y[i])
        if slope != 0.0:
            add_row(block.X, i, block.c[i] * slope / len(batch), state.g)


@subgradient.register
def dual_coordinates_subgradient(kind: DualCoordinates, model, method, block, state, batch):
    for i in batch:
        z = row_dot(block.X, i, state.w)
        q = state.eta[0] * kind.size[i]
        if q > 0.0:  # by Moreau's identity the prox of the conjugate is what the prox of the loss leaves
            z0 = z + q * kind.s[i]
            s = (z0 - losses.prox(model.loss, z0, q, block.y[i])) / q
        else:  # an empty row
            s = losses.slope(model.loss, z, block.y[i])
        change = s - kind.s[i]
        kind.s[i] = s
        if change != 0.0:
            add_row(block.X, i, block.c[i] * change / len(kind.s), kind.turn)
    add_pull(kind, state)


@subgradient.register
def dual_vectors_subgradient(kind: DualVectors, model, method, block, state, batch):
    k, z, near = len(kind.z), kind.z, kind.near
    for i in batch:
        s, y, q = kind.s[i * k : (i + 1) * k], block.y[i * k : (i + 1) * k], state.eta[0] * kind.size[i * k]
        for c in range(k):
            near[c] = row_dot(block.X, i * k + c, state.w)  # the guess of the prox
            z[c] = near[c] + q * s[c]
        if q > 0.0:
            losses.prox(model.loss, z, q, y, near)
            for c in range(k):
                near[c] = (z[c] - near[c]) / q
        else:  # an empty row
            losses.slope(model.loss, z, y, near)
        for c in range(k):
            change = near[c] - s[c]
            s[c] = near[c]
            if change != 0.0:
                add_row(block.X, i * k + c, block.c[i * k] * change / len(kind.s), kind.turn)
    add_pull(kind, state)


@inlined
def add_pull(kind, state):
    """Add the pull of all rows to g_t, with more weight for its change in this batch."""
    for j in range(len(state.g)):
        kind.pull[j] += kind.turn[j]
        state.g[j] += kind.pull[j] + kind.forward * kind.turn[j]
        kind.turn[j] = 0.0


@subgradient.register
def variance_reduced_subgradient(kind: VarianceReduced, model, method, block, state, batch):
    for i in batch:
        z = kind.momentum * row_dot(block.X, i, state.w) + (1.0 - kind.momentum) * kind.predictions[i]
        change = losses.slope(model.loss, z, block.y[i]) - kind.slopes[i]
        if change != 0.0:
            add_row(block.X, i, block.c[i] * change / len(batch), state.g)
    for j in range(len(state.g)):
        state.g[j] += kind.gradient[j]


@subgradient.register
def variance_reduced_vectors_subgradient(kind: VarianceReducedVectors, model, method, block, state, batch):
    k = len(kind.z)
    for i in batch:
        for c in range(k):
            earlier = kind.predictions[i * k + c]
            kind.z[c] = kind.momentum * row_dot(block.X, i * k + c, state.w) + (1.0 - kind.momentum) * earlier
        losses.slope(model.loss, kind.z, block.y[i * k : (i + 1) * k], kind.s)
        weight = block.c[i * k] / (k * len(batch))
        for c in range(k):
            change = kind.s[c] - kind.slopes[i * k + c]
            if change != 0.0:
                add_row(block.X, i * k + c, weight * change, state.g)
    for j in range(len(state.g)):
        state.g[j] += kind.gradient[j]
