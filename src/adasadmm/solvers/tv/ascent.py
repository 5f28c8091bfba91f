"""An accelerated projected gradient method for the dual of a quadratic problem on a graph.

    min over w of  1/2 sum_i h_i (w_i - t_i)^2 + sum_k limit_k |w_{i(k)} - w_{j(k)}|

Edge k exerts the force f_k on its first node and -f_k on its second one; a force is ``weight_k theta_k``, and lies
between -limit_k and limit_k. The w that belongs to the forces is ``t + (A'theta) / h``, and the dual function has the
slope ``w_j - w_i`` in f_k. A step is clipped to the limits. The step of an edge is 1 over the sum of absolute values of
its row of ``A diag(1/h) A'``, which suits nodes of any degree. Momentum makes the method fast, restarts keep it from
going downhill.

How the edges are stored is up to the graph, a ``NamedTuple`` for whose class `pull` and `climb`, which compiled loops
call, are registered.

References: A. Beck, M. Teboulle, Fast gradient-based algorithms for constrained total variation image denoising and
deblurring problems, IEEE Transactions on Image Processing 18, 2009; B. O'Donoghue, E. Candes, Adaptive restart for
accelerated gradient schemes, Foundations of Computational Mathematics 15, 2015.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..._core.jit import compiled, generic
from ...linalg.joined import connect

__all__ = ["Ascent", "Graph", "climb", "fused_clusters", "model_value", "pull"]

STRONG = 2.0  # penalties whose mean limit is this many times the mean force of the targets are swept
MOST_SWEEPS = 40
SLOW = 0.3  # sweeps end when two gain more than this part of what the two before gained: steps are faster then


class Graph(Protocol):
    """The edges of a graph.

    Attributes
    ----------
    limit : ndarray
        The limit of the force of each edge, in the shape of the forces.
    """

    @property
    def limit(self) -> np.ndarray: ...

    def multipliers(self, forces: np.ndarray) -> np.ndarray:
        """The theta of each row of A."""

    def steps(self, inverse: np.ndarray) -> np.ndarray:
        """The step of each edge, where ``inverse`` is 1/h."""

    def variation(self, w: np.ndarray) -> float:
        """``sum_k limit_k |w_i - w_j|``."""

    def below_limit(self, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of each edge whose force is below its limit: at the optimum, their values are equal."""


@generic
def pull(graph, forces, out):
    """Write the sum of the forces on each node: ``A'theta``."""


@generic
def climb(graph, step, w, ahead, forces, factor):
    """A step from the forces ahead, and the next forces ahead, by momentum; how far the step points downhill."""


class Ascent:
    """Forces of growing dual value; they are kept while h and t change.

    Parameters
    ----------
    graph : Graph
    n : int
        The number of nodes.
    forces : ndarray
        The first forces.
    sweep : callable, optional
        ``sweep(h, w, forces)`` maximises the dual value over some blocks of edges in turn, exactly. It changes the
        forces, and w, which belongs to them.

    Attributes
    ----------
    w : ndarray
        What belongs to the forces.
    dual : float
        The dual value of the forces.
    """

    def __init__(
        self,
        graph: Graph,
        n: int,
        forces: np.ndarray,
        sweep: Callable[[np.ndarray, np.ndarray, np.ndarray], None] | None = None,
    ) -> None:
        self.graph, self.forces, self.ahead, self.sweep = graph, forces, forces.copy(), sweep
        self.w = np.zeros(n)
        self.momentum, self.steps = np.ones(1), np.zeros(1, np.int64)
        self.dual = -math.inf
        self.limit = float(graph.limit.sum()) / max(1, int(np.count_nonzero(graph.limit)))  # of an edge, on average

    def state(self) -> dict[str, np.ndarray]:
        return {"forces": self.forces, "ahead": self.ahead, "momentum": self.momentum, "steps": self.steps}

    def set(self, h: np.ndarray, t: np.ndarray) -> None:
        self.h, self.t, self.inverse = h, t, 1.0 / h
        self.step = self.graph.steps(self.inverse)
        self.momentum[0], self.steps[0] = 1.0, 0
        self.ahead[:] = self.forces

    def improve(self, steps: int) -> None:
        """Some steps; on a new problem with a strong penalty, sweeps come first."""
        if self.steps[0] == 0 and self.sweep is not None and self._is_strong():
            self._sweep_all(self.sweep)
        model = self.inverse, self.t
        ascend(self.graph, model, self.step, (self.forces, self.ahead), self.w, self.momentum, steps)
        self.dual = self._dual_value()
        self.steps[0] += steps

    def _is_strong(self) -> bool:
        """Whether the mean limit of an edge is much larger than the mean force of a target around their mean."""
        mean = float(self.h @ self.t) / float(self.h.sum())
        return self.limit * len(self.t) > STRONG * float(self.h @ np.abs(self.t - mean))

    def _sweep_all(self, sweep: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
        """Sweeps with momentum, as long as two of them gain much less than the two before."""
        before, last, momentum = self._dual_value(), math.inf, 1.0
        value = before
        for k in range(MOST_SWEEPS):
            move = -self.forces
            np.copyto(self.forces, self.ahead)
            self._set_primal()
            sweep(self.h, self.w, self.forces)
            found = self._dual_value()
            momentum = 0.5 + math.sqrt(0.25 + momentum * momentum) if found > value else 1.0
            value = found
            move += self.forces
            move *= (momentum - 1.0) / (momentum + 1.0)
            np.add(self.forces, move, out=self.ahead)
            if k % 2 == 1:
                if value - before > SLOW * last or value <= before:
                    break
                last, before = value - before, value
        np.copyto(self.ahead, self.forces)

    def _set_primal(self) -> None:
        primal_of(self.graph, (self.inverse, self.t), self.forces, self.w)

    def _dual_value(self) -> float:
        """The dual value of the forces; w then belongs to them."""
        self._set_primal()
        down, up = self.t - self.w, self.t + self.w
        up *= self.h
        return 0.5 * float(down @ up)


@compiled
def ascend(graph, model, step, points, w, momentum, steps):
    """Steps with momentum."""
    forces, ahead = points
    for _ in range(steps):
        primal_of(graph, model, ahead, w)
        following = 0.5 + math.sqrt(0.25 + momentum[0] * momentum[0])
        downhill = climb(graph, step, w, ahead, forces, (momentum[0] - 1.0) / following)
        momentum[0] = 1.0 if downhill > 0.0 else following


@compiled
def primal_of(graph, model, forces, w):
    """Write the w that belongs to the forces."""
    inverse, t = model
    pull(graph, forces, w)
    for i in range(len(w)):
        w[i] = t[i] + inverse[i] * w[i]


def model_value(graph: Graph, h: np.ndarray, t: np.ndarray, w: np.ndarray) -> float:
    """The objective of the quadratic problem."""
    return graph.variation(w) + 0.5 * float(h @ np.square(w - t))


def fused_clusters(graph: Graph, h: np.ndarray, w: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """w with the mean of each cluster: nodes that are connected by edges whose forces are below their limits."""
    first, second = graph.below_limit(forces)
    connect(first, second, root := np.arange(len(w)))
    weight, total = np.bincount(root, h), np.bincount(root, h * w)
    return np.divide(total, weight, out=total, where=weight > 0.0)[root]
