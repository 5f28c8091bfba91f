"""An accelerated projected gradient method for the dual of a quadratic problem on a graph.

    min over w of  1/2 sum_i h_i (w_i - t_i)^2 + sum_k limit_k |w_{i(k)} - w_{j(k)}|

Edge k exerts the force f_k on its first node and -f_k on its second one; a force is ``weight_k theta_k``, and lies
between -limit_k and limit_k. The w that belongs to the forces is ``t + (A'theta) / h``, and the dual function has the
slope ``w_j - w_i`` in f_k. A step is clipped to the limits. The step of an edge is 1 over the sum of absolute values of
its row of ``A diag(1/h) A'``, which suits nodes of any degree. Momentum makes the method fast, restarts keep it from
going downhill.

How the edges are stored is up to the graph, a ``NamedTuple`` for whose class the functions below are registered.

References: A. Beck, M. Teboulle, Fast gradient-based algorithms for constrained total variation image denoising and
deblurring problems, IEEE Transactions on Image Processing 18, 2009; B. O'Donoghue, E. Candes, Adaptive restart for
accelerated gradient schemes, Foundations of Computational Mathematics 15, 2015.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.jit import compiled, generic, inlined, is_registered

__all__ = [
    "Ascent",
    "climb",
    "fused_clusters",
    "join",
    "measure_steps",
    "model_value",
    "multipliers",
    "pull",
    "sweep",
    "variation",
]

STRONG = 2.0  # penalties whose mean limit is this many times the mean force of the targets are swept
MOST_SWEEPS = 40
SLOW = 0.3  # sweeps end when two gain more than this part of what the two before gained: steps are faster then


@generic
def pull(graph, forces, out):
    """Write the sum of the forces on each node: ``A'theta``."""


@generic
def measure_steps(graph, inverse, step):
    """Write the step of each edge, where ``inverse`` is 1/h."""


@generic
def climb(graph, step, w, ahead, forces, factor):
    """A step from the forces ahead, and the next forces ahead, by momentum; how far the step points downhill."""


@generic
def variation(graph, w):
    """``sum_k limit_k |w_i - w_j|``."""


@generic
def join(graph, forces, root):
    """Unite the nodes of each edge whose force is below its limit: at the optimum, their values are equal."""


@generic
def sweep(graph, h, w, forces):
    """Maximise the dual value over some blocks of edges in turn, exactly; only for graphs that have such blocks."""


@generic
def multipliers(graph, forces):
    """The theta of each row of A."""


class Ascent:
    """Forces of growing dual value; they are kept while h and t change.

    Attributes
    ----------
    w : ndarray
        What belongs to the forces.
    dual : float
        The dual value of the forces.
    """

    def __init__(self, graph: Any, n: int, forces: np.ndarray) -> None:
        self.graph, self.forces, self.ahead = graph, forces, forces.copy()
        self.step, self.w = np.empty_like(forces), np.zeros(n)
        self.momentum, self.steps = np.ones(1), np.zeros(1, np.int64)
        self.dual = -math.inf
        self.limit = float(graph.limit.sum()) / max(1, int(np.count_nonzero(graph.limit)))  # of an edge, on average

    def state(self) -> dict[str, np.ndarray]:
        return {"forces": self.forces, "ahead": self.ahead, "momentum": self.momentum, "steps": self.steps}

    def set(self, h: np.ndarray, t: np.ndarray) -> None:
        self.h, self.t, self.inverse = h, t, 1.0 / h
        measure_all(self.graph, self.inverse, self.step)
        self.momentum[0], self.steps[0] = 1.0, 0
        self.ahead[:] = self.forces

    def improve(self, steps: int) -> None:
        """Some steps; on a new problem with a strong penalty, sweeps come first."""
        quadratic = self.h, self.inverse, self.t
        if self.steps[0] == 0 and is_registered(sweep, self.graph):
            sweep_all(self.graph, self.limit, quadratic, (self.forces, self.ahead), self.w)
        self.dual = ascend(self.graph, quadratic, self.step, (self.forces, self.ahead), self.w, self.momentum, steps)
        self.steps[0] += steps


@compiled
def measure_all(graph, inverse, step):
    measure_steps(graph, inverse, step)


@compiled
def ascend(graph, quadratic, step, points, w, momentum, steps):
    """Steps with momentum; w then belongs to the forces, whose dual value is returned."""
    h, inverse, t = quadratic
    forces, ahead = points
    for _ in range(steps):
        primal_of(graph, inverse, t, ahead, w)
        following = 0.5 + math.sqrt(0.25 + momentum[0] * momentum[0])
        downhill = climb(graph, step, w, ahead, forces, (momentum[0] - 1.0) / following)
        momentum[0] = 1.0 if downhill > 0.0 else following
    primal_of(graph, inverse, t, forces, w)
    return dual_value(h, t, w)


@compiled
def sweep_all(graph, limit, quadratic, points, w):
    """Sweeps with momentum if the penalty is strong, as long as two of them gain much less than the two before."""
    h, inverse, t = quadratic
    forces, ahead = points
    primal_of(graph, inverse, t, forces, w)
    if not is_strong(limit, h, t):
        return
    before, last, momentum = dual_value(h, t, w), math.inf, 1.0
    value, previous = before, np.empty_like(forces)
    for k in range(MOST_SWEEPS):
        previous[:], forces[:] = forces, ahead
        primal_of(graph, inverse, t, forces, w)
        sweep(graph, h, w, forces)
        primal_of(graph, inverse, t, forces, w)
        found = dual_value(h, t, w)
        momentum = 0.5 + math.sqrt(0.25 + momentum * momentum) if found > value else 1.0
        value = found
        ahead[:] = forces + (momentum - 1.0) / (momentum + 1.0) * (forces - previous)
        if k % 2 == 1:
            if value - before > SLOW * last or value <= before:
                break
            last, before = value - before, value
    ahead[:] = forces


@inlined
def is_strong(limit, h, t):
    """Whether the mean limit of an edge is much larger than the mean force of a target around their mean."""
    total, weight, force = 0.0, 0.0, 0.0
    for i in range(len(t)):
        total += h[i] * t[i]
        weight += h[i]
    for i in range(len(t)):
        force += h[i] * abs(t[i] - total / weight)
    return limit * len(t) > STRONG * force


@inlined
def primal_of(graph, inverse, t, forces, w):
    """The w that belongs to the forces."""
    pull(graph, forces, w)
    for i in range(len(w)):
        w[i] = t[i] + inverse[i] * w[i]


@inlined
def dual_value(h, t, w):
    """The dual value of the forces to which w belongs."""
    total = 0.0
    for i in range(len(w)):
        total += h[i] * (t[i] - w[i]) * (t[i] + w[i])
    return 0.5 * total


@compiled
def model_value(graph, h, t, w):
    """The objective of the quadratic problem."""
    total = variation(graph, w)
    for i in range(len(w)):
        total += 0.5 * h[i] * (w[i] - t[i]) * (w[i] - t[i])
    return total


# --- clusters --------------------------------------------------------------------------------------------------------


@compiled
def fused_clusters(graph, h, w, forces):
    """w with the mean of each cluster: nodes that are connected by edges whose forces are below their limits."""
    n = len(w)
    root = np.arange(n)
    join(graph, forces, root)
    weight, total = np.zeros(n), np.zeros(n)
    for i in range(n):
        root[i] = root[root[i]]  # a root comes before its nodes, so that its own root is final
        weight[root[i]] += h[i]
        total[root[i]] += h[i] * w[i]
    out = np.empty(n)
    for i in range(n):
        out[i] = total[root[i]] / weight[root[i]]
    return out
