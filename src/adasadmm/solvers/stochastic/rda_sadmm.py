"""RDA-ADMM: stochastic ADMM by regularised dual averaging (Suzuki 2013).

Algorithm 1 moves from w_t along the last gradient; dual averaging always moves from w_1 along the mean of all gradients
and duals so far. With ``slack_t = theta_t - beta (A w_t + B v_t - b)``

    w_{t+1} = argmin_w <mean_{s<=t} g_s - A' mean_{s<=t} slack_s, w> + 1/2 |w - w_1|^2_{I/eta_t + beta M/t},

where the diagonal M majorises A'A and ``eta_t = eta sqrt(t)``. All else is Algorithm 1, so this is a w-step for it. The
sums of g_t and of A'slack_t take the place of its metric.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from ... import averages, penalties, stepsizes
from ...algorithm import Method, observe_and_argmin_w
from ...linalg import quadratics
from ...problem import Problem
from ..base import Point, Run, Solver
from ..checks import check_batch_size, check_positive
from .lanes import rounds_of
from .run import StochasticRun
from .subgradients import explicit

__all__ = ["RDASADMM"]


@dataclasses.dataclass(frozen=True)
class RDASADMM(Solver):
    """RDA-ADMM: every step starts at w_1 and follows the mean of all gradients so far.

    Parameters
    ----------
    eta : float, default=1.0
        The step size is ``eta sqrt(t)``, applied to the *mean* of the gradients.
    beta : float, default=1.0
        The weight of the constraint.
    batch_size : int, default=1
        Rows of an iteration.

    References
    ----------
    Suzuki: Dual Averaging and Proximal Gradient Descent for Online Alternating Direction Multiplier Method. ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Hinge, L1, Problem, RDASADMM, solve
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.sign(X @ [1.0, 1.0, 2.0])
    >>> problem = Problem(X, y, loss=Hinge(), penalty=L1(0.1), A=[[1.0, -1.0, 0.0]], gamma=0.1)
    >>> result = solve(problem, RDASADMM(), epochs=10)
    >>> bool(problem.objective(result.w_average) < 0.7 * problem.objective(np.zeros(3)))
    True
    """

    eta: float = 1.0
    beta: float = 1.0
    batch_size: int = 1

    takes_vector_losses = True
    separable_w_step = True

    def __post_init__(self) -> None:
        check_positive("eta", self.eta)
        check_positive("beta", self.beta)
        if self.batch_size == "auto":
            raise ValueError("batch_size of RDASADMM must be a whole number >= 1, got 'auto'")
        check_batch_size(self.batch_size)

    def begin(self, problem: Problem, start: Point) -> Run:
        sums = Sums(start.w.copy(), np.zeros(problem.d), np.zeros(problem.d))
        step, Q = RisingSqrt(float(self.eta)), DualAveraging(quadratics.majoriser(problem.A))
        average, beta = averages.Uniform(), float(self.beta)
        method = Method(explicit(problem.loss), sums, 1.0, step, Q, beta, average)
        course = rounds_of(problem, self, needs_one_lane=True)
        return StochasticRun(problem, self, method, int(self.batch_size), start, course)


class Sums(NamedTuple):
    """The start, and the sums over all iterations of g_t and of A'slack_t."""

    w_first: np.ndarray
    g: np.ndarray
    pull: np.ndarray


class DualAveraging(NamedTuple):
    """The w-step of dual averaging; m is the diagonal M."""

    m: np.ndarray


class RisingSqrt(NamedTuple):
    """``eta_t = c sqrt(t)``."""

    c: float


@stepsizes.size.register
def rising_sqrt_size(step: RisingSqrt, t, w):
    return step.c * np.sqrt(t)


@observe_and_argmin_w.register
def dual_averaging_observe_and_argmin_w(Q: DualAveraging, model, method, state):
    sums, t = method.metric, state.t[0]
    for j in range(len(state.w)):
        sums.g[j] += state.g[j]
        sums.pull[j] += state.pull[j]
        h = 1.0 / state.eta[0] + method.beta * Q.m[j] / t
        w = sums.w_first[j] - (sums.g[j] - sums.pull[j]) / (t * h)
        state.w_sum[j] += state.w[j]
        state.w[j] = penalties.prox_at(model.w_set, j, w, 1.0)
        state.g[j] = model.gamma[j] * state.w[j]
