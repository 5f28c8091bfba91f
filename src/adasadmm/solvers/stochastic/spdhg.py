"""SPDHG: stochastic primal-dual hybrid gradients, a dual coordinate for each row.

The estimate of the gradient has a slope s_i for each row: a point of the dual problem. A batch moves its own slopes
towards the best reply to w_t, by a prox of the conjugate of the loss. The linearised w-step of Algorithm 1, its v-step
and its theta-step are a primal-dual step of the constraint already.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from ... import losses
from ..._core.jit import inlined
from ...algorithm import subgradient
from ...problem import Problem
from ...rows.kernels import add_row, row_dot
from .variance_reduction import First, VarianceReducedSolver

__all__ = ["SPDHG"]


@dataclasses.dataclass(frozen=True)
class SPDHG(VarianceReducedSolver):
    """Stochastic primal-dual hybrid gradients: high accuracy with any loss that has a prox, at any number of features.

    Parameters
    ----------
    beta : "auto" or float, default="auto"
        The weight of the constraint. "auto" balances how far w and theta move; the step size is balanced between w and
        the rows in the same way.
    batch_size : int or "auto", default="auto"
        Rows of an iteration. "auto" makes the work over them match that over coordinates and edges.

    References
    ----------
    Chambolle, Ehrhardt, Richtarik, Schönlieb: Stochastic Primal-Dual Hybrid Gradient Algorithm with Arbitrary Sampling
    and Imaging Applications. SIAM Journal on Optimization 28, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Hinge, L1, Problem, SPDHG, solve
    >>> problem = Problem(np.eye(2), [1, -1], loss=Hinge(), penalty=L1(0.1), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, SPDHG(), tol=1e-6).status.name
    'converged'
    """

    loss_functions = ("prox",)
    rare_is_fast = True

    def estimate(self, problem: Problem, first: First) -> tuple[DualCoordinates | DualVectors, float]:
        k = losses.width(problem.loss)
        dual = first.slopes, first.pull, np.zeros(problem.d), first.size, problem.terms / first.batch_size
        eta = _first_reach(problem, first) / (float(np.mean(first.size)) or 1.0)
        return DualCoordinates(*dual) if k == 1 else DualVectors(*dual, *np.zeros((2, k))), eta

    def dual_slopes(self, estimate: Any) -> np.ndarray:
        return estimate.s


def _first_reach(problem: Problem, first: First) -> float:
    """How far a prediction may go at first: mean loss over mean squared slope, in the units of ``z^2 / loss``."""
    _, y, c = problem.rows
    value = losses.mean_value(problem.loss, first.predictions, y, c)
    squares = float(np.mean(c * first.slopes * first.slopes))
    return value / squares if 0.0 < value < math.inf and squares > 0.0 else 1.0


class DualCoordinates(NamedTuple):
    """``pull = X'(c s)/n``. ``turn`` is its change in the current batch; in g_t it has the weight ``forward``."""

    s: np.ndarray
    pull: np.ndarray
    turn: np.ndarray
    size: np.ndarray  # eta size_i is how far s_i lets its prediction go
    forward: float  # n over the rows of a batch


class DualVectors(NamedTuple):
    """`DualCoordinates` for a loss of several predictions; z and near are work space."""

    s: np.ndarray
    pull: np.ndarray
    turn: np.ndarray
    size: np.ndarray
    forward: float
    z: np.ndarray
    near: np.ndarray


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
