"""The minimum of a quadratic with an L1 penalty on the edges of a small graph, by steps with fixed signs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...linalg.joined import summed_square

__all__ = ["Edges", "minimiser"]

WEAK, STRONGER, TRIALS = 1e-13, 1e3, 5  # the ridge of the matrix, relative to its diagonal, until it has a factor
MOST_STEPS = 1000
MOST_CONSTRAINTS = 24  # before H is formed again, which costs as much as so many joins
WELL_CONDITIONED = 1e-9  # the least square of a pivot, relative to the diagonal, with which joins may wait


class Edges(NamedTuple):
    """Edge k costs ``limit_k |u_first - u_second|``; ``sign`` is that of the difference.

    The last node is the ground, whose u is 0.
    """

    first: np.ndarray
    second: np.ndarray
    limit: np.ndarray
    sign: np.ndarray


def minimiser(H: np.ndarray, pull: np.ndarray, edges: Edges, u: np.ndarray) -> np.ndarray:
    """The u with the least ``1/2 u'Hu - pull'u`` plus the cost of the edges, among those that keep what they join.

    With fixed signs the minimum is a linear system. On the way there edges may change their signs. A step ends at the
    least value on the way: there the ends of an edge have met, and stay together, or some have changed their order.
    Edges whose ends start at one value and would take the wrong order join them at once.
    """
    if not len(u):
        return u
    search = _Search(H, pull, edges, u)
    for _ in range(MOST_STEPS):
        if search.step():
            break
    return search.u[search.label[:-1]]


class _Search:
    """The nodes, those that are equal by now, and the edges between the others.

    A join is a linear constraint, and adds a column to ``Q``, an orthonormal basis of the constraints in the
    coordinates ``L'u``. Joins are carried out in H itself as soon as there are many, or at once where rounding errors
    of L would be large.

    Attributes
    ----------
    label : ndarray
        The node that each one at the start has become.
    last_equal : ndarray
        For each node, the last one of those to which it is equal.
    """

    def __init__(self, H: np.ndarray, pull: np.ndarray, edges: Edges, u: np.ndarray) -> None:
        self.H, self.pull, self.u = H, pull, np.append(u, 0.0)
        self.edges, self.label = edges._replace(sign=edges.sign.copy()), np.arange(len(u) + 1)
        self._begin()

    def _begin(self) -> None:
        """Factor H; no nodes are equal."""
        nodes = len(self.pull)
        self.L, self.last_equal, self.joins = _factor(self.H), np.arange(nodes + 1), 0
        self.Q = np.empty((nodes, min(MOST_CONSTRAINTS, nodes)), order="F")
        self.is_exact = nodes > 0 and bool((np.diag(self.L) ** 2 > WELL_CONDITIONED * np.diag(self.H)).all())

    def step(self) -> bool:
        """A step, or joins where the search is; whether it has reached the minimum."""
        first, second, limit, sign = self.edges
        move = self._target() - self.u
        v, dv = self.u[first] - self.u[second], move[first] - move[second]
        wrong = np.nonzero((v == 0.0) & (sign * dv < 0.0))[0]
        if len(wrong):
            self._join(wrong)
            return False
        crossed = np.nonzero(sign * (v + dv) < 0.0)[0]
        if not len(crossed):
            self.u += move
            return True
        # Along the way the slope is -(1 - t) bend, and it rises by 2 limit |dv| where the difference of an edge is 0.
        bend = float(move[:-1] @ (self.H @ move[:-1]))
        v, dv = v[crossed], dv[crossed]
        moves = dv != 0.0  # else rounding gave v the wrong sign
        places = np.divide(v, -dv, out=np.zeros(len(v)), where=moves).clip(0.0, 1.0)
        order = places.argsort(kind="stable")
        crossed, places = crossed[order], places[order]
        risen, left = np.cumsum(2.0 * limit[crossed] * np.abs(dv[order])), (1.0 - places) * bend
        least = np.nonzero(risen >= left)[0]  # the first edge not before the least value on the way
        at = int(least[0]) if len(least) else len(places)
        before = float(risen[at - 1]) if at else 0.0
        sign[crossed[:at]] *= -1.0
        if at == len(places) or before > left[at]:
            self.u += (1.0 - before / bend) * move
        else:
            self.u += places[at] * move
            self._join(crossed[at : at + 1])
        return False

    def _target(self) -> np.ndarray:
        """The minimum for these signs."""
        first, second, limit, sign = self.edges
        force, nodes = limit * sign, len(self.u)
        wanted = self.pull - (np.bincount(first, force, nodes) - np.bincount(second, force, nodes))[:-1]
        turned = _substituted(self.L, wanted)
        if self.joins:
            Q = self.Q[:, : self.joins]
            turned -= Q @ (turned @ Q)
        found = np.zeros(nodes)
        found[:-1] = _substituted(self.L, turned, transposed=True)
        return found[self.last_equal]

    def _join(self, edges: np.ndarray) -> None:
        """Make the ends of these edges equal."""
        self.is_exact = self.is_exact and self.joins + len(edges) <= self.Q.shape[1]
        for i, j in zip(self.edges.first[edges].tolist(), self.edges.second[edges].tolist(), strict=True):
            gone, stays = sorted((self.last_equal.item(i), self.last_equal.item(j)))
            if gone != stays:
                self.last_equal[self.last_equal == gone] = stays
                if self.is_exact:
                    self._constrain(gone, stays)
        self.u = self.u[self.last_equal]
        if not self.is_exact:
            self._contract()

    def _constrain(self, gone: int, stays: int) -> None:
        ends, Q = np.zeros(len(self.u)), self.Q[:, : self.joins]
        ends[gone], ends[stays] = 1.0, -1.0
        column = _substituted(self.L, ends[:-1])
        for _ in range(2 if self.joins else 0):  # the second time removes what rounding has left
            column -= Q @ (column @ Q)
        self.Q[:, self.joins] = column / math.sqrt(column @ column)
        self.joins += 1

    def _contract(self) -> None:
        """Each group of equal nodes becomes one: its rows, columns and pulls are added up."""
        kept, place = np.unique(self.last_equal, return_inverse=True)
        first, second = place[self.edges.first], place[self.edges.second]
        apart = first != second
        self.edges = Edges(first[apart], second[apart], self.edges.limit[apart], self.edges.sign[apart])
        self.label, self.u = place[self.label], self.u[kept]
        nodes, of_nodes = len(kept) - 1, place[:-1]
        self.pull = np.bincount(of_nodes, self.pull, nodes + 1)[:nodes]
        self.H = summed_square(self.H, np.where(of_nodes < nodes, of_nodes, -1), nodes)
        self._begin()


def _substituted(L: np.ndarray, x: np.ndarray, transposed: bool = False) -> np.ndarray:
    """``L^-1 x``, or ``L'^-1 x``."""
    return scipy.linalg.lapack.dtrtrs(L, x, lower=1, trans=int(transposed))[0] if len(x) else x


def _factor(H: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor of a positive semidefinite H."""
    H, diagonal = H.copy(), np.diag(H)
    more = WEAK * np.where(diagonal > 0.0, diagonal, 1.0)
    for _ in range(TRIALS if len(H) else 0):
        H[np.diag_indices(len(H))] += more
        lower, failed = scipy.linalg.lapack.dpotrf(H.T, lower=1)
        if not failed:
            return lower
        more = STRONGER * more
    if not len(H):
        return H
    raise np.linalg.LinAlgError("the Gram matrix of the clusters is not positive semidefinite")
