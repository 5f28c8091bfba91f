"""SVRG-ADMM and ASVRG-ADMM: stochastic ADMM with variance reduction, without and with momentum.

The estimate of the gradient knows the slopes at an earlier point, and the whole gradient there. A batch corrects this
by how much its own slopes have changed since. At the end of an epoch the answer becomes the earlier point.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ... import losses
from ...algorithm import subgradient
from ...certificates import duality
from ...problem import Problem
from ...rows.kernels import add_row, row_dot
from .variance_reduction import First, VarianceReducedSolver

__all__ = ["ASVRGADMM", "SVRGADMM"]


class _SVRG(VarianceReducedSolver):
    """Gradients are taken at ``momentum`` times the iterate and the rest of the earlier point."""

    momentum: ClassVar[float]
    loss_functions = ("curvature",)
    alternative = "SPDHG()"

    def estimate(self, problem: Problem, first: First) -> tuple[VarianceReduced | VarianceReducedVectors, float]:
        k = losses.width(problem.loss)
        most = float(np.max(losses.curvatures(problem.loss, problem.rows.y) * first.size))
        earlier = first.w.copy(), first.predictions, first.slopes, first.pull, self.momentum
        eta = 1.0 / (self.momentum * (most or 1.0))
        return VarianceReduced(*earlier) if k == 1 else VarianceReducedVectors(*earlier, *np.zeros((2, k))), eta

    def restart(self, estimate: Any, problem: Problem, answer: np.ndarray) -> None:
        """Take the gradient of all rows at the answer."""
        estimate.w[:] = answer
        estimate.predictions[:] = problem.predictions(estimate.w)
        estimate.slopes[:] = duality.slopes(problem, estimate.predictions)
        estimate.gradient[:] = duality.data_pull(problem, estimate.slopes)

    def answer(self, estimate: Any, w: np.ndarray, mean: np.ndarray | None) -> np.ndarray:
        """The mean of the iterates of this epoch, mixed with the earlier point."""
        if mean is None:
            return estimate.w.copy()
        return self.momentum * mean + (1.0 - self.momentum) * estimate.w


@dataclasses.dataclass(frozen=True)
class SVRGADMM(_SVRG):
    """Stochastic ADMM with variance reduction: high accuracy with smooth losses, at any number of features.

    The loss needs a `losses.curvature`. An epoch is a pass over batches, and one more over all rows for the gradient at
    the mean of its iterates.

    Parameters
    ----------
    beta, batch_size
        As for `SPDHG`.

    References
    ----------
    Zheng, Kwok: Fast-and-Light Stochastic ADMM. IJCAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Logistic, Problem, SVRGADMM, solve
    >>> problem = Problem(np.eye(2), [1, -1], loss=Logistic(), penalty=L1(0.1), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, SVRGADMM(), tol=1e-6).status.name
    'converged'
    """

    momentum = 1.0  # none


@dataclasses.dataclass(frozen=True)
class ASVRGADMM(_SVRG):
    """`SVRGADMM` with momentum: gradients are taken halfway between the last mean and the current iterate.

    Parameters
    ----------
    beta, batch_size
        As for `SPDHG`.

    References
    ----------
    Liu, Shang, Cheng: Accelerated Variance Reduced Stochastic ADMM. AAAI 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ASVRGADMM, L1, Logistic, Problem, solve
    >>> problem = Problem(np.eye(2), [1, -1], loss=Logistic(), penalty=L1(0.1), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, ASVRGADMM(), tol=1e-6).status.name
    'converged'
    """

    momentum = 0.5


class VarianceReduced(NamedTuple):
    """An earlier point with its predictions, slopes and gradient.

    The gradient g_t is taken at a point between it and w_t; at w_t itself if ``momentum`` is 1.
    """

    w: np.ndarray
    predictions: np.ndarray
    slopes: np.ndarray
    gradient: np.ndarray
    momentum: float


class VarianceReducedVectors(NamedTuple):
    """`VarianceReduced` for a loss of several predictions; z and s are work space."""

    w: np.ndarray
    predictions: np.ndarray
    slopes: np.ndarray
    gradient: np.ndarray
    momentum: float
    z: np.ndarray
    s: np.ndarray


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
