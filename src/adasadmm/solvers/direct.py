"""Shared by the direct methods: the problem as nodes with a loss each, and the run around a method.

Where X is diagonal, each row of the data is a loss of one coefficient, a node, and the penalty ties nodes together
along the edges that the rows of A describe. `ChainDP`, `AlternatingChains` and `DualGradient` solve such problems.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import losses, penalties
from .._core.jit import compiled, is_registered
from ..certificates import BestDual, diagonal, duality
from ..certificates.duality import Dual
from ..certificates.trace import Certificate
from ..linalg.chain_pieces import Pieces
from ..linalg.last_products import frozen, kept
from ..linalg.matrices import WithIntercept, all_finite
from ..problem import Problem
from .base import Monitor, NamedState, Point, Run, Slopes, Solver, Unfit
from .work import Iterations, Work

__all__ = [
    "DirectRun",
    "Method",
    "Nodes",
    "limits_of",
    "nodes_of",
    "pieces_of",
    "quadratic",
    "refuse",
    "second_order",
    "value_of_nodes",
    "why_not",
]


class Nodes(NamedTuple):
    """The loss of node i is ``rate_i loss(x_i w_i + shift, y_i) + gamma_i w_i^2 / 2``, with the rate c_i / n.

    ``flat`` is the second derivative that a model assumes where that of the loss is 0.
    """

    loss: Any
    x: np.ndarray
    y: np.ndarray
    rate: np.ndarray
    gamma: np.ndarray
    flat: float


def nodes_of(problem: Problem) -> Nodes:
    x, y = problem.diagonal, problem.rows.y
    assert x is not None
    curved = is_registered(losses.curvature, problem.loss)
    flat = losses.largest_curvature(problem.loss, y) if curved else 1.0
    return Nodes(problem.loss, x, y, problem.rates, problem.gamma[: problem.n], flat)


def why_not(problem: Problem) -> str:
    """Why no direct method can solve a problem; empty if one may."""
    if problem.source is not None:
        return "the rows are not in memory"
    if problem.diagonal is None:
        return f"X, of shape {problem.rows.X.shape}, is not diagonal"
    if problem.B is not None or problem.has_b:
        return "B is not -I, or b is not 0"
    if problem.w_set is not None or problem.w_copy is not None:
        return "w has a set"
    if not isinstance(problem.penalty, (penalties.L1, penalties.ChainTV)):
        return f"the penalty is {type(problem.penalty).__name__}, not L1 or ChainTV"
    if isinstance(problem.rows.X, WithIntercept) and problem.gamma[-1] != 0.0:
        return "the intercept has a ridge"
    return ""


def refuse(solver: Solver, reason: str) -> None:
    """Raise `Unfit` if there is a reason why a solver cannot solve a problem."""
    if reason:
        raise Unfit(f"{solver} cannot solve this problem: {reason}; use ALM()")


def limits_of(problem: Problem) -> np.ndarray:
    """``nu weights_k`` of each entry of an L1 or ChainTV penalty."""
    nu, weights = problem.penalty
    if weights is not None:
        return nu * weights
    return np.full(problem.p - isinstance(problem.penalty, penalties.ChainTV), nu)


def quadratic(nodes: Nodes, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """The h and t with which the squared losses are ``h_i (w_i - t_i)^2 / 2``."""
    pull = nodes.rate * nodes.x
    h = pull * nodes.x + nodes.gamma
    return h, np.divide(pull * (nodes.y - shift), h, out=np.zeros_like(h), where=h > 0.0)


def second_order(nodes: Nodes, shift: float, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradient g of the losses, and the h and t of their second-order model at w, ``h_i (x - t_i)^2 / 2``."""
    slopes, seconds = np.empty((2, len(w)))
    losses.derivatives(nodes.loss, nodes.x * w + shift, nodes.y, nodes.rate, slopes, seconds)
    seconds = np.where(seconds > 0.0, seconds, nodes.rate * nodes.flat)
    g, h = nodes.gamma * w + nodes.x * slopes, nodes.gamma + nodes.x * nodes.x * seconds
    return g, h, np.where(h > 0.0, w - np.divide(g, h, out=np.zeros_like(h), where=h > 0.0), 0.0)


def value_of_nodes(nodes: Nodes, shift: float, w: np.ndarray) -> float:
    """The losses and the ridge at w."""
    of_losses = len(w) * losses.mean_value(nodes.loss, nodes.x * w + shift, nodes.y, nodes.rate)
    return float(of_losses + 0.5 * (nodes.gamma * w) @ w)


def pieces_of(nodes: Nodes, shift: float) -> Pieces:
    """The derivatives of the losses in w."""
    n = len(nodes.x)
    pieces = Pieces(np.empty(n), np.empty(n), np.full((n, 2), math.inf), np.zeros((n, 2)), np.zeros((n, 2)))
    write_pieces(nodes, shift, pieces)
    return pieces


@compiled
def write_pieces(nodes, shift, out):
    """The derivative in w is ``rate x`` times that in ``z = x w + shift``; if x < 0, its knots are met in reverse."""
    for i in range(len(nodes.x)):
        out.slope[i], out.level[i] = nodes.gamma[i], 0.0
        x, rate = nodes.x[i], nodes.rate[i]
        if rate * x == 0.0:
            continue
        (a, b), one, other = losses.pieces(nodes.loss, nodes.y[i])
        sign = 1.0 if x > 0.0 else -1.0
        for j in range(2):
            place, rise, jump = one if (j == 0) == (x > 0.0) else other
            if place < math.inf:
                if x < 0.0:
                    a, b = a + rise, b + jump
                out.place[i, j] = (place - shift) / x
                out.rise[i, j] = sign * rate * x * x * rise
                out.jump[i, j] = sign * rate * x * (rise * shift + jump)
        out.slope[i] += rate * x * x * a
        out.level[i] += rate * x * (a * shift + b)


def in_balance(nodes: Nodes, w: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """The slope of each loss that, with the ridge, is in balance with ``A'theta``; 0 where there is none."""
    of_slope = nodes.rate * nodes.x
    return np.divide(pull - nodes.gamma * w[: len(pull)], of_slope, out=np.zeros_like(pull), where=of_slope != 0.0)


# --- the run ---------------------------------------------------------------------------------------------------------


class Method(Protocol):
    """The interface of a direct method: it updates w and theta, arrays that the run reads."""

    w: np.ndarray
    theta: np.ndarray

    def advance(self) -> None:
        """One iteration."""

    def state(self) -> dict[str, np.ndarray]:
        """Everything but w and theta that further iterations depend on; the arrays themselves."""


class DirectRun(Run):
    """A direct method on one problem."""

    def __init__(self, problem: Problem, solver: Solver, method: Method) -> None:
        self.problem, self.solver, self.method = problem, solver, method
        starts_at_zero = not method.w[0] and not method.w.any()  # the first entry alone tells most starts
        self.v = frozen(np.zeros(problem.m)) if starts_at_zero else problem.last_A_products.of(method.w)
        self.iteration, self.best_dual = 0, BestDual()

    def advance(self, work: Work) -> None:
        assert isinstance(work, Iterations)
        for _ in range(work.number):
            self.method.advance()
        self.iteration += work.number
        self.v = self.problem.last_A_products.of(self.method.w)
        if not self.method.w.flags.writeable:  # the method makes new arrays, and v will not change either
            frozen(self.v)

    def is_finite(self) -> bool:
        return all_finite(self.method.w) and all_finite(self.method.theta)

    @property
    def point(self) -> Point:
        return Point(self.method.w, self.v, self.method.theta)

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.method.w, self.v

    @property
    def answer(self) -> np.ndarray:
        return self.method.w

    def monitor(self) -> Monitor:
        """The certificate, which every point of the trace needs, has the objective."""
        found = self.certify()
        return Monitor(self.iteration, objective=found.primal, primal_residual=found.primal_residual)

    @property
    def slopes(self) -> np.ndarray | None:
        """Slopes of the losses that the method knows; None if they are those of `dual_point`."""
        return None

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        """The slopes with which each node is in balance; at a kink of a loss, the slope at w alone would not tell."""
        n, theta = self.problem.n, self.method.theta
        pull = self.problem.last_A_transposed.of(theta)[:n]
        return in_balance(nodes_of(self.problem), self.method.w, pull), theta

    def certify(self) -> Certificate:
        def compute() -> Certificate:
            problem, w = self.problem, self.method.w
            found = diagonal.values(problem, w, self.slopes, self.method.theta)
            if found is None:
                loss, dual = problem.loss_at(w)[0], duality.dual_value(problem, w, *self.dual_point())
            else:
                loss, dual = found.loss, Dual(found.dual, found.residual)
            dual = duality.unless_unbounded(problem, dual)
            primal = loss + problem.ridge_value(w) + problem.penalty_value(problem.last_A_products.of(w))
            gap = duality.relative_gap(problem, primal, dual.value)
            return Certificate(primal, dual.value, primal - dual.value, gap, 0.0, dual.residual, dual.reason)

        return self.best_dual.find(self.problem, self.iteration, compute)

    def _arrays(self) -> dict[str, np.ndarray]:
        return {"w": self.method.w, "v": self.v, "theta": self.method.theta, **self.method.state()}

    def state(self) -> NamedState:
        numbers = {"iteration": self.iteration, "best_dual": self.best_dual.best}
        return {name: kept(array) for name, array in self._arrays().items()} | numbers

    def thaw(self) -> None:
        """Replace w, v and theta by copies: they may be read-only, and v may be a product that the problem keeps."""
        self.method.w, self.v, self.method.theta = (array.copy() for array in self.point)

    def restore(self, state: NamedState) -> None:
        self.thaw()
        for name, array in self._arrays().items():
            array[...] = state[name]
        self.iteration, self.best_dual.best = int(state["iteration"]), float(state["best_dual"])
        self.best_dual.forget()

    def fork(self, problem: Problem | None) -> Run:
        if problem is None:
            raise ValueError(f"{self.solver} needs all rows at once: it has no copy without them")
        fork = self.solver.begin(problem, self.point)
        assert isinstance(fork, DirectRun)
        fork.done, fork.seconds = self.done, self.seconds
        if problem is self.problem:
            fork.restore(self.state())
            fork.best_dual = copy.copy(self.best_dual)
        return fork
