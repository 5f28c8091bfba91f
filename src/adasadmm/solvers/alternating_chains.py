"""Grids where X is diagonal: total variation along rows and columns in turn, each by dynamic programming.

The edges of a grid, and of many other graphs, form a few families of disjoint paths. For one family alone the problem
is solved exactly by `linalg.chain`. In the dual, each family has its own block of forces u_f on the nodes, and

    w = t - (u_1 + ... + u_F) / h.

The first block is minimised exactly for given others; what remains is a smooth function of the others, to which an
accelerated gradient method with restarts applies. Its step is again one dynamic programme for each family.

Reference: A. Barbero, S. Sra, Modular proximal optimization for multidimensional total-variation regularization, JMLR
19, 2018.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from .. import losses
from .._core.jit import compiled, is_registered
from .._core.threads import side_by_side
from ..linalg.chain import chain_multipliers, fuse_chain
from ..problem import Problem
from .base import Point, Run, Solver
from .direct import DirectRun, refuse, why_not
from .graph_nodes import Edges, GraphMethod, edges_of, why_not_graph

__all__ = ["AlternatingChains"]

MOST_FAMILIES = 8
WORTH_THREADS = 2**14  # nodes
PIECES = 4


@dataclasses.dataclass(frozen=True)
class AlternatingChains(Solver):
    """Accelerated alternation between the chains of a grid, where X is diagonal.

    The rows of A must be weighted differences whose edges (i, j) have few distinct values of j - i, as those of a grid
    in two or three dimensions, and the penalty `L1`. The loss is squared or has a second derivative. Pieces are equal
    to the last bit.

    References
    ----------
    A. Barbero, S. Sra, Modular proximal optimization for multidimensional total-variation regularization, Journal of
    Machine Learning Research 19, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import AlternatingChains, L1, Problem, Squared, graphs, solve
    >>> y = [0.0, 1.0, 5.0, 6.0]  # the image [[0, 1], [5, 6]]
    >>> A = graphs.incidence(graphs.grid(2, 2), d=4)
    >>> problem = Problem(np.eye(4), y, loss=Squared(), penalty=L1(0.125), A=A)
    >>> solve(problem, AlternatingChains(), tol=1e-9).w.round(6)
    array([1., 1., 5., 5.])
    """

    uses_all_rows: ClassVar[bool] = True
    takes_streams: ClassVar[bool] = False
    takes_any_B: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    exact_v: ClassVar[bool] = True
    default_epochs: ClassVar[float] = 1000.0
    fit_epochs: ClassVar[int] = 1000
    separable_w_step: ClassVar[bool] = False  # type: ignore[assignment]

    @staticmethod
    def fits(problem: Problem) -> str:
        """Why the method cannot solve a problem; empty if it can."""
        reason = why_not(problem)
        if not reason and (not problem.m or families_of(problem) is None):
            reason = "the rows of A are no differences along a few families of disjoint paths"
        if not reason and not is_registered(losses.second, problem.loss):
            reason = f"{type(problem.loss).__name__} has no losses.second"
        return reason or why_not_graph(problem)

    def check(self, problem: Problem) -> None:
        refuse(self, self.fits(problem))

    def begin(self, problem: Problem, start: Point) -> Run:
        edges, families = edges_of(problem), families_of(problem)
        assert edges is not None and families is not None
        inner = Alternation(problem.n, edges, families)
        return DirectRun(problem, self, GraphMethod(problem, start, edges, inner))


# --- families of paths -----------------------------------------------------------------------------------------------


class Family(NamedTuple):
    """All nodes in the order of a walk along disjoint paths; ``rows[k]`` of A ties the nodes k and k + 1, or is -1."""

    order: np.ndarray
    rows: np.ndarray


def families_of(problem: Problem) -> list[Family] | None:
    """The edges by the distance j - i of their ends, each distance a family; None if there are too many of them."""
    edges = edges_of(problem)
    if edges is None:
        return None
    low, high = np.minimum(edges.first, edges.second), np.maximum(edges.first, edges.second)
    distances = high - low
    found = np.unique(distances[:: max(1, len(distances) // 1000)])  # a sample tells graphs that are no grids
    if len(found) <= MOST_FAMILIES:
        found = np.unique(distances)
    if len(found) > MOST_FAMILIES:
        return None
    families = []
    for distance in found:
        rows = np.flatnonzero(distances == distance)
        family = walk_along(problem.n, int(distance), low[rows], rows)
        if family is None:
            return None
        families.append(Family(*family))
    return families


@compiled
def walk_along(n, distance, low, rows):
    """The nodes in the order of the paths whose edges join i and i + distance; None if an edge comes twice."""
    row_after = np.full(n, -1)
    for k in range(len(low)):
        if row_after[low[k]] >= 0:
            return None
        row_after[low[k]] = rows[k]
    order, along = np.empty(n, np.int64), np.full(n, -1)
    k = 0
    for start in range(n):
        if start >= distance and row_after[start - distance] >= 0:
            continue
        node = start
        order[k] = node
        k += 1
        while row_after[node] >= 0:
            along[k - 1] = row_after[node]
            node += distance
            order[k] = node
            k += 1
    return order, along[: max(n - 1, 0)]


# --- the alternation -------------------------------------------------------------------------------------------------


class Alternation:
    """The accelerated dual method for the quadratic problem; the forces are kept while h and t change."""

    def __init__(self, n: int, edges: Edges, families: list[Family]) -> None:
        self.edges, self.families = edges, families
        self.strengths = [np.where(rows >= 0, edges.limit[rows], 0.0) for _, rows in families]
        self.pieces = [_pieces(strength, n) for strength in self.strengths]
        self.theta, self.w = np.zeros(len(edges.limit)), np.zeros(n)
        self.forces, self.previous, self.ahead, self.targets, self.values = np.zeros((5, len(families), n))
        self.momentum = np.ones(1)
        self.dual, self.spread = -math.inf, 0.0

    def state(self) -> dict[str, np.ndarray]:
        return {"forces": self.forces, "ahead": self.ahead, "momentum": self.momentum}

    def set(self, h: np.ndarray, t: np.ndarray) -> None:
        self.h, self.t, self.constant = h, t, 0.5 * float(h @ (t * t))
        self.momentum[0] = 1.0
        self.ahead[:] = self.forces

    def improve(self, iterations: int) -> None:
        count = len(self.families)
        share = 1.0 / max(1, count - 1)  # of the gradient that each of u_2, ..., u_F may follow
        for _ in range(iterations):
            self.previous[:] = self.forces
            others = self.ahead[1] if count == 2 else self.ahead[1:].sum(axis=0)
            self._along(0, Target(1.0, self.t, -1.0, others))
            for f in range(1, count):
                self._along(f, Target(share, self.values[0], 1.0, self.ahead[f]))
            extrapolate(self.h, self.forces, self.previous, self.ahead, self.momentum)
        self.w = self.t - self.forces.sum(axis=0) / self.h
        self.dual = self.constant - 0.5 * float(self.h @ (self.w * self.w))
        self.spread = math.sqrt(float(np.mean((self.values[0] - self.w) ** 2)))
        for f, (order, rows) in enumerate(self.families):
            chain = self.h[order], self.targets[f][order], self.strengths[f], self.values[f][order]
            scatter_multipliers(self.edges, order, rows, chain_multipliers(*chain), self.theta)

    def _along(self, f: int, target: Target) -> None:
        """The minimiser for one family alone, and its forces."""
        order, strength = self.families[f].order, self.strengths[f]
        out = self.targets[f], self.values[f], self.forces[f]
        side_by_side(lambda piece: fuse_piece(self.h, target, order[piece], strength[piece], out), self.pieces[f])


class Target(NamedTuple):
    """``scale base_i + sign extra_i / h_i``."""

    scale: float
    base: np.ndarray
    sign: float
    extra: np.ndarray


def _pieces(strength: np.ndarray, n: int) -> list[slice]:
    """Pieces of the walk that threads take side by side: they end where paths end."""
    if n < WORTH_THREADS:
        return [slice(0, n)]
    ends = np.flatnonzero(strength == 0.0) + 1
    wanted = n * np.arange(1, PIECES) // PIECES
    cuts = np.unique([0, *ends[np.minimum(np.searchsorted(ends, wanted), len(ends) - 1)], n]) if len(ends) else [0, n]
    return [slice(int(i), int(j)) for i, j in itertools.pairwise(cuts)]


@compiled
def fuse_piece(h, target, order, edges, out):
    """Gather a piece of the walk, solve its chains, and scatter targets, values and forces."""
    n = len(order)
    targets, values, forces = out
    weight, t, w = np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        i = order[k]
        weight[k] = h[i]
        t[k] = target.scale * target.base[i] + target.sign * target.extra[i] / h[i]
    fuse_chain(weight, t, edges, w)
    for k in range(n):
        i = order[k]
        targets[i], values[i], forces[i] = t[k], w[k], weight[k] * (t[k] - w[k])


@compiled
def extrapolate(h, forces, previous, ahead, momentum):
    """Nesterov's momentum for all blocks but the first; it starts anew where it points uphill."""
    families, n = forces.shape
    uphill = 0.0
    for f in range(1, families):
        for i in range(n):
            uphill += (ahead[f, i] - forces[f, i]) * (forces[f, i] - previous[f, i]) / h[i]
    before = 1.0 if uphill > 0.0 else momentum[0]
    momentum[0] = 0.5 + math.sqrt(0.25 + before * before)
    factor = (before - 1.0) / momentum[0]
    for f in range(1, families):
        for i in range(n):
            ahead[f, i] = forces[f, i] + factor * (forces[f, i] - previous[f, i])


@compiled
def scatter_multipliers(edges, order, rows, multipliers, theta):
    """The theta of each row of A from the multipliers along a walk."""
    for k in range(len(rows)):
        row = rows[k]
        if row >= 0:
            sign = 1.0 if edges.first[row] == order[k] else -1.0
            theta[row] = sign * multipliers[k] / edges.weight[row]
