"""Dual coordinate ascent: raise the dual value of a dual point.

With ``q = X'(c s)/n - A'theta``, the minimiser over w that belongs to a dual point is ``w = -q / gamma``. While all
other coordinates are fixed, the best s_i is a prox of the loss at row i's prediction by w, and the best theta_k is a
prox of the penalty's conjugate at row k of ``A w - b``. Each step raises the dual value, at the cost of one row.

A coordinate j with ``gamma_j = 0`` has no such minimiser. There, a small ridge around ``centre`` replaces the missing
one, and `duality` repairs the dual point afterwards.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from .. import losses, penalties
from .._core.jit import compiled, is_registered
from ..problem import Block, Problem
from ..rows import matrices, products, selections
from ..rows.kernels import add_weighted_row, row_dot, weighted_squares
from ..rows.matrices import CSR
from .duality import slopes

__all__ = ["Ascent", "ascend", "is_possible"]

LEAST_SWEEPS, MOST_SWEEPS = 4, 50  # over theta in one pass over the rows
SHARE = 12  # times as much work is over the rows, unless that gives too few sweeps or too many
INNER = 15  # passes over the rows that moved in the pass before
ROUNDING = 1e-12


def is_possible(problem: Problem) -> bool:
    """Whether some coordinate has a ridge, w no set, and the loss a scalar prox; the rows must be in memory."""
    ridge = problem.w_set is None and bool((problem.gamma > 0.0).any())
    return (
        ridge
        and problem.source is None
        and is_registered(losses.prox, problem.loss)
        and losses.width(problem.loss) == 1
    )


def ascend(problem: Problem, centre: np.ndarray, s: np.ndarray, theta: np.ndarray, passes: int) -> None:
    """Improve s in place, and theta if B = -I and the penalty is a sum over coordinates."""
    ascent = Ascent(problem)
    w, order = ascent.minimiser(centre, s, theta), np.random.default_rng(0).permutation(problem.n)
    for _ in range(passes):
        alternate(ascent.rows, ascent.edges, order.copy(), w, s, theta, 0)


class RowSide(NamedTuple):
    """The rows, by how much the slope of each moves its own prediction, and the part of each in the mean.

    ``inverse`` is the inverse ridge of each coordinate, ``sweeps`` how many sweeps over theta there are for each row.
    """

    loss: tuple
    block: Block
    size: np.ndarray
    share: np.ndarray
    inverse: np.ndarray
    sweeps: float


class EdgeSide(NamedTuple):
    """The rows of the constraint, and by how much the theta of each moves its own ``A w``."""

    penalty: tuple
    A: CSR
    b: np.ndarray
    stiffness: np.ndarray
    inverse: np.ndarray


class Ascent:
    """Data shared by the dual coordinate steps of a problem.

    Attributes
    ----------
    rows : RowSide
    edges : EdgeSide or None
        None if theta cannot be improved one coordinate at a time.
    free : ndarray of bool
        The coordinates without a ridge.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, (X, _, c) = problem, problem.rows
        self.free = problem.gamma == 0.0
        inverse = 1.0 / np.where(self.free, np.max(problem.gamma), problem.gamma)
        size, stiffness = c / problem.n * weighted_squares(X, inverse), weighted_squares(problem.A, inverse)
        # So many sweeps over theta that they are a small part of the work.
        sweeps = matrices.size(X) / problem.n / (SHARE * max(1, matrices.size(problem.A)))
        self.rows = RowSide(problem.loss, problem.rows, size, c / problem.n, inverse, sweeps)
        self.stiffness = stiffness
        self._set_edges()

    def _set_edges(self) -> None:
        problem = self.problem
        one_by_one = problem.B is None and is_registered(penalties.prox_at, problem.penalty)
        fixed = problem.A, problem.b, self.stiffness, self.rows.inverse
        self.edges = EdgeSide(problem.penalty, *fixed) if one_by_one else None

    def of(self, problem: Problem) -> Ascent:
        """The same for a problem with another penalty or loss."""
        other = copy.copy(self)
        other.problem, other.rows = problem, self.rows._replace(loss=problem.loss)
        other._set_edges()
        return other

    def first_slopes(self) -> np.ndarray:
        """Slopes to start from: 0, and the best one of rows without entries, which no step will visit."""
        return np.where(self.rows.size > 0.0, 0.0, slopes(self.problem, np.zeros(self.problem.n)))

    def minimiser(self, centre: np.ndarray, s: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """The w that belongs to a dual point; the coordinates without a ridge are held near ``centre``."""
        q = np.empty(self.problem.d)
        products.transposed_product(self.problem.rows.X, self.rows.share * s, q)
        q -= self.problem.times_A_transposed(theta)
        return np.where(self.free, centre, 0.0) - self.rows.inverse * q

    def visit_all(self, order: np.ndarray, w: np.ndarray, s: np.ndarray, theta: np.ndarray) -> None:
        """A round over all rows in this order, which is overwritten."""
        alternate(self.rows, self.edges, order, w, s, theta, INNER)

    def visit(self, chosen: np.ndarray, passes: float, w: np.ndarray, s: np.ndarray, theta: np.ndarray) -> float:
        """Rounds over some rows in this order, at the cost of ``passes`` over all rows.

        Returns how far the last round moved the predictions of these rows, on average. The rows are copied in this
        order: compact rows are visited much faster.
        """
        X, y, c = self.problem.rows
        few = Block(selections.taken(X, chosen), y[chosen], c[chosen])
        side = self.rows._replace(block=few, size=self.rows.size[chosen], share=self.rows.share[chosen])
        own, work, visited, before = s[chosen], passes * self.problem.n, 1.0, w
        while work > 0.0 and visited > 0.0:
            before = w.copy()
            visited = alternate(side, self.edges, np.arange(len(chosen)), w, own, theta, INNER)
            work -= visited
        s[chosen] = own
        products.product(few.X, w - before, moved := np.empty(len(chosen)))
        return float(np.mean(np.abs(moved))) if len(chosen) else 0.0

    def moves(self, chosen: np.ndarray) -> float:
        """The share of these rows that one pass over them moves, from slopes of 0."""
        s, theta, w = np.zeros(self.problem.n), np.zeros(self.problem.m), np.zeros(self.problem.d)
        alternate(self.rows, self.edges, chosen.copy(), w, s, theta, 0)
        return float(np.count_nonzero(s)) / len(chosen)

    def movable(self, Xw: np.ndarray, s: np.ndarray, reach: float) -> np.ndarray:
        """The rows whose slopes a step would change while the predictions are within ``reach`` of these."""

        def moves(z: np.ndarray) -> np.ndarray:
            return z - losses.each(losses.prox, self.rows.loss, z, size, self.rows.block.y[chosen])

        # It suffices to look at both ends of the reach: the slope of an envelope never falls.
        chosen = np.flatnonzero(self.rows.size > 0.0)
        size, now = self.rows.size[chosen], self.rows.size[chosen] * s[chosen]
        low, high = Xw[chosen] + now - reach, Xw[chosen] + now + reach
        rounding = ROUNDING * (np.abs(low) + np.abs(high))
        return chosen[(moves(high) - now > rounding) | (now - moves(low) > rounding)]


@compiled
def alternate(rows: RowSide, edges, order: np.ndarray, w: np.ndarray, s: np.ndarray, theta: np.ndarray, inner: int):
    """Maximise over the slopes in this order, with sweeps over theta in between; w follows the dual point.

    A pass over all of these rows is followed by ``inner`` cheaper ones, each over the rows that moved in the last one.
    Returns the work, in units of a visit to a row, or 0 if no row moved. ``order`` is overwritten.
    """
    kept: Any = len(order)
    work = 0.0
    for k in range(1 + inner):
        number, kept = kept, np.int64(0)  # with a literal 0, `move_slopes` would be compiled twice
        sweeps = min(max(int(rows.sweeps * number), LEAST_SWEEPS), MOST_SWEEPS)
        for part in range(sweeps):
            kept = move_slopes(rows, order, number * part // sweeps, number * (part + 1) // sweeps, kept, s, w)
            if edges is not None:
                move_theta(edges, theta, w)
        work += number + sweeps / (SHARE * rows.sweeps)
        if kept == 0:
            return work if k > 0 else 0.0
    return work


@compiled
def move_slopes(rows: RowSide, order: np.ndarray, first: int, last: int, kept: int, s: np.ndarray, w: np.ndarray):
    """Maximise over each s_i in turn; the rows that moved are gathered in ``order`` from ``kept`` on."""
    for k in range(first, last):
        i = order[k]
        size = rows.size[i]
        if size > 0.0:
            z = row_dot(rows.block.X, i, w) + size * s[i]
            better = (z - losses.prox(rows.loss, z, size, rows.block.y[i])) / size
            if abs(better - s[i]) * size > ROUNDING * abs(z):
                add_weighted_row(rows.block.X, i, rows.share[i] * (s[i] - better), rows.inverse, w)
                s[i] = better
                order[kept] = i
                kept += 1
    return kept


@compiled
def move_theta(edges: EdgeSide, theta: np.ndarray, w: np.ndarray):
    """Maximise over each theta_k in turn."""
    for k in range(len(theta)):
        if edges.stiffness[k] > 0.0:
            beta = 1.0 / edges.stiffness[k]
            gap = row_dot(edges.A, k, w) - edges.b[k]
            better = penalties.dual_prox_at(edges.penalty, k, theta[k] - beta * gap, beta)
            if better != theta[k]:
                add_weighted_row(edges.A, k, better - theta[k], edges.inverse, w)
                theta[k] = better
