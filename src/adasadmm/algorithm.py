"""Algorithm 1 of the paper: the loop and its five steps.

The letters are the paper's: w, v, theta, the step size eta, the penalty parameter beta. The metric H_t is the paper's
proximal function; Q is ``beta A'A`` or a diagonal majoriser of it (`quadratics`). SADMM, Ada-SADMM (with a diagonal, a
full or your own metric) and OADMM are this loop with different parts.

The w-step reads the dual point through ``slack_t = theta_t - beta (A w_t + B v_t - b)``: in this form it is
``(H_t / eta + Q)(w_{t+1} - w_t) = -(g_t - A' slack_t)`` for the exact and for the linearised quadratic. The step of the
constraint therefore computes ``pull_t = A' slack_t`` for the next w-step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import averages, losses, metrics, penalties, stepsizes
from ._core.jit import compiled, entry_or, generic, inlined, is_registered
from .linalg.quadratics import Separable
from .penalties.coupling import GeneralB, NegativeIdentity
from .problem import Problem
from .rows import products
from .rows.kernels import add_row, row_dot
from .rows.matrices import differences

__all__ = [
    "Edgewise",
    "Explicit",
    "Implicit",
    "Method",
    "Model",
    "State",
    "algorithm1",
    "first_state",
    "model_of",
    "show_v",
]


class Model(NamedTuple):
    """The problem without its rows."""

    loss: Any
    penalty: Any
    tau_factor: float
    w_set: Any
    A: Any
    B: Any
    b: np.ndarray
    gamma: np.ndarray


class Method(NamedTuple):
    """The parts in which the algorithms of this family differ."""

    subgradient: Any
    metric: Any
    a: float
    step: Any
    Q: Any
    beta: float
    average: Any


class State(NamedTuple):
    """The iterates and the work arrays of the loop. All are changed in place."""

    t: np.ndarray
    eta: np.ndarray
    w: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    slack: np.ndarray
    pull: np.ndarray
    w_sum: np.ndarray  # w_1 + ... + w_T
    v_sum: np.ndarray  # v_2 + ... + v_{T+1}, kept where B is not -I
    w_average: np.ndarray
    g: np.ndarray
    rhs: np.ndarray
    move: np.ndarray
    Aw: np.ndarray
    x: np.ndarray


class Explicit(NamedTuple):
    """The loss is replaced by its tangent at w_t: SADMM and Ada-SADMM."""


class Implicit(NamedTuple):
    """The loss is kept, so its slope is taken at w_{t+1}: OADMM. One row at a time."""

    along: np.ndarray


class Edgewise(NamedTuple):
    """``B = -I``, and each row of A the difference of two coordinates: the constraint edge by edge.

    ``weight`` and ``b`` are None where all weights are 1 and all b are 0.
    """

    first: np.ndarray
    second: np.ndarray
    weight: Any
    b: Any


@compiled
def algorithm1(model, method, block, state, samples, batch_size):
    """Run Algorithm 1 over the rows in ``samples``, a batch of them for each iteration."""
    for first in range(0, len(samples), batch_size):
        batch = samples[first : first + batch_size]
        state.t[0] += 1
        state.eta[0] = stepsizes.size(method.step, state.t[0], state.w)
        # g_t = l'(w_t, xi_t)
        subgradient(method.subgradient, model, method, block, state, batch)
        # H_t, and w_{t+1} = argmin_w L_{beta,t}(w, v_t, theta_t)
        observe_and_argmin_w(method.Q, model, method, state)
        # v_{t+1} = argmin_v L_{beta,t}(w_{t+1}, v, theta_t), theta_{t+1} = theta_t - beta (A w_{t+1} + B v_{t+1} - b)
        argmin_v_and_ascend(model.B, model, method.beta, state)
        keep_average(method.average, state)


@compiled
def next_gradient(model, method, block, state, batch):
    """g_t alone, into ``state.g``."""
    subgradient(method.subgradient, model, method, block, state, batch)


@generic
def subgradient(kind, model, method, block, state, batch):
    """``g_t``: the mean over the batch of ``c_i loss'(<x_i, w>, y_i) x_i``, added to ``state.g = gamma w_t``."""


@subgradient.register
def explicit_subgradient(kind: Explicit, model, method, block, state, batch):
    for i in batch:
        slope = losses.slope(model.loss, row_dot(block.X, i, state.w), block.y[i])
        if slope != 0.0:
            add_row(block.X, i, block.c[i] * slope / len(batch), state.g)


@subgradient.register
def implicit_subgradient(kind: Implicit, model, method, block, state, batch):
    # Without the loss the w-step would end at w0; along x the loss pulls it to w0 - s M^{-1} x, and the scalar prox
    # finds the prediction z there, hence the slope s.
    i = batch[0]
    for j in range(len(state.g)):
        state.rhs[j] = state.g[j] - state.pull[j]
    metrics.solve(method.metric, method.a, 1.0 / state.eta[0], method.Q, state.rhs, state.move)
    z0 = row_dot(block.X, i, state.w) - row_dot(block.X, i, state.move)
    state.rhs[:] = 0.0
    add_row(block.X, i, 1.0, state.rhs)
    metrics.solve(method.metric, method.a, 1.0 / state.eta[0], method.Q, state.rhs, kind.along)
    q = row_dot(block.X, i, kind.along)
    if q > 0.0 and block.c[i] > 0.0:
        z = losses.prox(model.loss, z0, q * block.c[i], block.y[i])
        add_row(block.X, i, (z0 - z) / q, state.g)


@generic
def observe_and_argmin_w(Q, model, method, state):
    """``H_t``, ``w_{t+1}``, and ``gamma w_{t+1}`` for the next gradient to be added to."""


@observe_and_argmin_w.register(object)
def dense_observe_and_argmin_w(Q, model, method, state):
    metrics.observe(method.metric, state.g)
    # (H_t / eta + Q) move = g_t - A' slack_t
    for j in range(len(state.g)):
        state.rhs[j] = state.g[j] - state.pull[j]
    metrics.solve(method.metric, method.a, 1.0 / state.eta[0], method.Q, state.rhs, state.move)
    for j in range(len(state.w)):
        state.w_sum[j] += state.w[j]
        state.w[j] -= state.move[j]
        state.g[j] = model.gamma[j] * state.w[j]


@observe_and_argmin_w.register
def separable_observe_and_argmin_w(Q: Separable, model, method, state):
    # Metric and quadratic are diagonal, so the step separates over coordinates, and clipping keeps w inside its set.
    inverse_eta = 1.0 / state.eta[0]
    for j in range(len(state.w)):
        h = inverse_eta * metrics.observe_at(method.metric, j, state.g[j], method.a) + Q.m[j]
        w = penalties.prox_at(model.w_set, j, state.w[j] - (state.g[j] - state.pull[j]) / h, 1.0)
        state.w_sum[j] += state.w[j]
        state.w[j] = w
        state.g[j] = model.gamma[j] * w


@generic
def argmin_v_and_ascend(B, model, beta, state):
    """``v_{t+1}``, ``theta_{t+1}``, and the pull of both on the next w."""


@argmin_v_and_ascend.register(object)
def rowwise_argmin_v_and_ascend(B, model, beta, state):
    for k in range(len(state.Aw)):
        state.Aw[k] = row_dot(model.A, k, state.w)
    argmin_v(B, model, beta, state)
    ascend_theta(B, model, beta, state)
    state.pull[:] = 0.0
    for k in range(len(state.slack)):
        if state.slack[k] != 0.0:
            add_row(model.A, k, state.slack[k], state.pull)


@argmin_v_and_ascend.register
def edgewise_argmin_v_and_ascend(B: Edgewise, model, beta, state):
    # For most edges theta stays at a bound of the conjugate's domain, and only the other edges change the pull. v is
    # not kept (`show_v`).
    for k in range(len(state.theta)):
        i, j = B.first[k], B.second[k]
        gap = entry_or(B.weight, k, 1.0) * (state.w[i] - state.w[j]) - entry_or(B.b, k, 0.0)
        before = state.theta[k]
        # By Moreau's identity the prox of the penalty's conjugate gives theta_{t+1} without v_{t+1}.
        theta = penalties.dual_prox_at(model.penalty, k, before - beta * gap, beta)
        state.theta[k] = theta
        slack = theta + theta - before
        if slack != state.slack[k]:
            change = entry_or(B.weight, k, 1.0) * (slack - state.slack[k])
            state.slack[k] = slack
            state.pull[i] += change
            state.pull[j] -= change


def show_v(model: Model, beta: float, state: State) -> None:
    """Compute v_{t+1} from w_{t+1} and from theta_t, given as ``state.theta``, where the loop does not keep v.

    The loop has B = -I there. NumPy does this for all edges at once, so that no second kernel is compiled.
    """
    products.product(model.A, state.w, state.Aw)
    state.x[:] = state.Aw - model.b - state.theta / beta
    penalties.whole_prox(model.penalty, state.x, model.tau_factor / beta, state.v)


@generic
def argmin_v(B, model, beta, state):
    """``v_{t+1}``: one prox, for a general B after a gradient step on the majorised quadratic."""


@argmin_v.register
def negative_identity_argmin_v(B: NegativeIdentity, model, beta, state):
    for k in range(len(state.theta)):
        state.x[k] = state.Aw[k] - model.b[k] - state.theta[k] / beta
    penalties.prox(model.penalty, state.x, model.tau_factor / beta, state.v)


@argmin_v.register
def general_B_argmin_v(B: GeneralB, model, beta, state):
    for p in range(len(state.v)):
        state.x[p] = state.v[p]
    for k in range(len(state.theta)):
        pull = state.Aw[k] + row_dot(B.B, k, state.v) - model.b[k] - state.theta[k] / beta
        for p in range(B.B.indptr[k], B.B.indptr[k + 1]):
            state.x[B.B.indices[p]] -= pull * B.B.data[p] / B.curvature[B.B.indices[p]]
    penalties.prox(model.penalty, state.x, model.tau_factor / beta, state.v)
    for p in range(len(state.v)):
        state.v_sum[p] += state.v[p]


@inlined
def ascend_theta(B, model, beta, state):
    """``theta_{t+1}``, and the slack that follows from it."""
    for k in range(len(state.theta)):
        travel = beta * (state.Aw[k] + B_row_dot(B, k, state.v) - model.b[k])
        state.theta[k] -= travel
        state.slack[k] = state.theta[k] - travel


@generic
def B_row_dot(B, k, v):
    """``(B v)_k``."""


@B_row_dot.register
def negative_identity_row_dot(B: NegativeIdentity, k, v):
    return -v[k]


@B_row_dot.register
def general_B_row_dot(B: GeneralB, k, v):
    return row_dot(B.B, k, v)


@inlined
def keep_average(average, state):
    rho = averages.weight(average, state.t[0], state.eta[0])
    if rho > 0.0:
        for j in range(len(state.w)):
            state.w_average[j] += rho * (state.w[j] - state.w_average[j])


def model_of(problem: Problem, edgewise: bool = True) -> Model:
    """The problem as Algorithm 1 takes it; ``edgewise`` allows `Edgewise` where A and the penalty permit it."""
    B, penalty, tau_factor = problem.v_step
    w_set = penalties.Zero() if problem.w_set is None else problem.w_set
    ends = differences(problem.A) if edgewise and problem.B is None else None
    if ends is not None and is_registered(penalties.prox_at, penalty):
        first, second, weight = ends
        B = Edgewise(first, second, weight if (weight != 1.0).any() else None, problem.b if problem.b.any() else None)
    return Model(problem.loss, penalty, tau_factor, w_set, problem.A, B, problem.b, problem.gamma)


def first_state(problem: Problem, w: np.ndarray, v: np.ndarray, theta: np.ndarray, beta: float) -> State:
    """The state before the first iteration."""
    d, m, p = problem.d, problem.m, problem.p
    slack = theta - beta * problem.residual(w, v)
    pull = problem.times_A_transposed(slack)
    sums = np.zeros(d), np.zeros(p), w.copy()
    work = (problem.gamma * w, *(np.zeros(length) for length in (d, d, m, p)))
    return State(np.zeros(1, np.int64), np.zeros(1), w.copy(), v.copy(), theta.copy(), slack, pull, *sums, *work)
