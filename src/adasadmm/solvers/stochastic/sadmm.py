"""The solvers of the paper, Ada-SADMM, SADMM and OADMM, and RDA-ADMM: settings of Algorithm 1."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from ... import averages, penalties, stepsizes
from ...algorithm import Method, observe_and_argmin_w
from ...linalg import quadratics
from ...problem import Problem
from ..base import Point, Run, Solver, check_batch_size, check_positive
from .lanes import rounds_of
from .run import StochasticRun
from .settings import Algorithm1Solver, Settings, explicit

# --- Ada-SADMM -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class AdaSADMM(Algorithm1Solver):
    """Adaptive stochastic ADMM: Algorithm 1 with a metric that adapts to the gradients.

    The metric is ``H_t = a I + diag(|g_{1:t,j}|)`` (diagonal) or ``a I + (g_1 g_1' + ... + g_t g_t')^{1/2}`` (full).

    Parameters
    ----------
    metric : {"diagonal", "full", "identity"} or a metric, default="diagonal"
        "full" is ``Full(refresh=0)``, the paper's; ``Full(refresh=0.05)`` computes far fewer matrix roots.
    eta : "auto", float or a step size of `adasadmm.stepsizes`, default="auto"
        A number is a constant step size, as in the paper.
    a : float, default=1.0
        Added to the diagonal of the metric; with ``eta="auto"`` in units of the first non-zero gradient.
    beta : float or "auto", default=1.0
        The weight of the constraint. "auto" is a tenth of the square of the largest entry of the first non-zero
        gradient, over the loss at the start: 0.1 for a hinge loss and features of size 1.
    w_step : {"linearized", "exact"}, default="linearized"
        "linearized" replaces ``beta A'A`` by a diagonal majoriser, so that the w-step needs no linear solve.
    batch_size : int or "auto", default=1
        Rows of an iteration. "auto" is 1 unless there are so many rows that fewer iterations lose almost nothing.
    average : {"uniform", "auto", "polynomial", "step-weighted", "schedule-free", "last"}, default="uniform"
        Which average of the iterates ``result.w_average`` is. "uniform" is that of the theorems; with ``eta="auto"`` it
        is slow to forget the small first steps. "schedule-free" also takes the subgradients near the average, which the
        theorems do not cover. "auto" was the best overall: "schedule-free" with ``eta="auto"``, else "polynomial".

    References
    ----------
    Zhao, Yang, Zhang, Li: Adaptive Stochastic Alternating Direction Method of Multipliers. ICML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ALM, AdaSADMM, Hinge, L1, Problem, graphs, solve
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 4))
    >>> y = np.sign(X @ [1.0, 1.0, -1.0, -1.0])
    >>> A = graphs.incidence(graphs.chain(4), d=4)
    >>> problem = Problem(X, y, loss=Hinge(), penalty=L1(0.01), A=A, gamma=0.01)
    >>> result = solve(problem, AdaSADMM(average="auto"), epochs=5)
    >>> best = solve(problem, ALM(), tol=1e-8).certificate.primal
    >>> bool(problem.objective(result.w_average) < 1.01 * best)
    True
    """

    metric: str | tuple = "diagonal"
    eta: float | str | tuple = "auto"
    a: float = 1.0
    beta: float | str = 1.0
    w_step: str = "linearized"
    batch_size: int | str = 1
    average: str = "uniform"

    eta_words = ("auto",)

    @property
    def settings(self) -> Settings:
        return Settings(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})


# --- SADMM -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class SADMM(Algorithm1Solver):
    """Stochastic ADMM: Algorithm 1 with H = I and a decreasing step size.

    With ``w_step="linearized"`` and a number for ``eta`` it is OPG-ADMM (Suzuki 2013).

    Parameters
    ----------
    eta : "1/(gamma t)", "auto", float or a step size of `adasadmm.stepsizes`, default="1/(gamma t)"
        A number c means ``c / sqrt(t)``; "auto" is the distance travelled over the norm of all gradients so far.
    beta, w_step, batch_size
        As for `AdaSADMM`; ``w_step`` is "exact" by default, as in the paper.

    References
    ----------
    Ouyang, He, Tran, Gray: Stochastic Alternating Direction Method of Multipliers. ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, SADMM, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, SADMM(), epochs=500).w_mean.round(1)
    array([1.7, 1.7])
    """

    eta: float | str | tuple = "1/(gamma t)"
    beta: float | str = 1.0
    w_step: str = "exact"
    batch_size: int | str = 1

    eta_words = ("1/(gamma t)", "auto")

    @property
    def settings(self) -> Settings:
        return Settings(self.eta, self.beta, w_step=self.w_step, batch_size=self.batch_size, falling=True)


# --- OADMM -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class OADMM(Algorithm1Solver):
    """Online ADMM: each iteration keeps the loss of one row instead of its tangent at w_t.

    Parameters
    ----------
    eta : float or a step size of `adasadmm.stepsizes`
        A number is a constant step size.
    beta : float, default=1.0
        The weight of the constraint.

    References
    ----------
    Wang, Banerjee: Online Alternating Direction Method. ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, OADMM, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]])
    >>> solve(problem, OADMM(eta=0.1), epochs=1000).w_mean.round(1)
    array([2., 2.])
    """

    eta: float | str | tuple
    beta: float = 1.0

    takes_vector_losses = False
    loss_functions = ("prox",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("beta", self.beta)  # "auto" is for a loss that is linearised

    @property
    def settings(self) -> Settings:
        return Settings(self.eta, self.beta, implicit=True)


# --- RDA-ADMM --------------------------------------------------------------------------------------------------------

# Algorithm 1 moves from w_t along the last gradient; dual averaging always moves from w_1 along the mean of all
# gradients and duals so far. With ``slack_t = theta_t - beta (A w_t + B v_t - b)``
#
#     w_{t+1} = argmin_w <mean_{s<=t} g_s - A' mean_{s<=t} slack_s, w> + 1/2 |w - w_1|^2_{I/eta_t + beta M/t},
#
# where the diagonal M majorises A'A and ``eta_t = eta sqrt(t)``. All else is Algorithm 1, so this is a w-step for it.
# The sums of g_t and of A'slack_t take the place of its metric.


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
