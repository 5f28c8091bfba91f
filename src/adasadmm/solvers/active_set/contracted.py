"""A strength of a path by an active set: Newton steps on the few clusters, or the few coefficients that are not 0.

The rows of A are differences and single coefficients: edges of a graph. With the signs of ``A w`` fixed, and rows in
which it is 0 joined, the problem is smooth and small; a loss with kinks is smoothed (`row_terms`). A Newton step solves
it; rows that would change their sign are joined, and the forces along the edges (`forces`) show which rows to split
again. Along a path the active set changes little.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ... import losses
from ..._core.jit import compiled, unwrapped
from ...certificates import certify, duality
from ...certificates.trace import Certificate, Result, Status, Trace
from ...linalg.joined import joined
from ...linalg.line_search import step_length
from ...penalties import L1
from ...problem import Problem
from ...rows.last_products import UpdatedProduct
from ..base import Point, beyond, times_farther
from .cluster_gram import ClusterGram, cluster_gram
from .forces import Forces, Graph, forces_on, graph_of
from .found import Found
from .row_terms import Gap, RowModel, Terms, row_model, unweighted
from .signed import Edges, minimiser

__all__ = ["Contracting", "contracting"]

MOST_CLUSTERS = 600
ROUNDS = 60
FEW_EDGES = 2  # for each cluster: several edges between the same clusters are not worth being united
STALLED = 1e-13  # relative decrease of the objective in a round that opens no row: another one would not help
FLAT = 0.1  # of the first slope: where a line search ends
MET = 1e-9  # of its first value, a difference along an edge that counts as 0


def contracting(problem: Problem) -> Contracting | None:
    """Return the active-set method for this problem; None if its form does not allow one."""
    if not isinstance(problem.penalty, L1) or problem.B is not None or problem.b.any():
        return None
    rows = None if problem.diagonal is not None or problem.outputs > 1 else row_model(problem)
    gram = None if rows is None else cluster_gram(problem.rows.X, rows.tolerance)
    graph = None if gram is None else graph_of(problem.A, problem.penalty.weights)
    forces = None if graph is None else forces_on(graph)
    if rows is None or gram is None or graph is None or forces is None:
        return None
    found = Contracting(problem, graph, forces, rows, gram)
    return found if found.ridged or rows.is_smooth else None


class Solved(NamedTuple):
    """A strength, and the derivatives of the smooth part, w and ``X w`` there."""

    nu: float
    of_nodes: np.ndarray
    w: np.ndarray
    z: np.ndarray


class Step(NamedTuple):
    """The rows after a Newton step: their slopes, what these pull, and the decrease that the first slope promised.

    After a full step the predictions are a product with X; after a shorter one they may have lost digits.
    """

    slopes: np.ndarray
    pull: np.ndarray
    decrease: float
    is_full: bool


class Inside(NamedTuple):
    """The derivatives of the nodes, forces within their capacities, and the signs of the edges to open."""

    of_nodes: np.ndarray
    inside: np.ndarray
    opened: np.ndarray


class Contracting:
    """The point at the last strength, the signs of the differences along edges, and the forces."""

    def __init__(self, problem: Problem, graph: Graph, forces: Forces, rows: RowModel, gram: ClusterGram) -> None:
        self.graph, self.forces, self.rows, self.gram = graph, forces, rows, gram
        self.w, self.sign = np.zeros(problem.d), np.zeros(len(graph.rows))
        self.pull = UpdatedProduct(problem.rows.X)
        self.history: list[Solved] = []  # at the last two strengths
        penalised = np.union1d(graph.first, graph.second)
        self.ridged = bool(problem.gamma[penalised[penalised < problem.d]].all())
        self.is_quadratic = isinstance(unwrapped(problem.loss), losses.Squared)

    def result(self, problem: Problem, tol: float) -> Result | None:
        """The result at the strength of this problem; None if that takes too many clusters or rounds."""
        nu = problem.penalty.nu
        capacity = nu * self.graph.limit
        if not capacity.all():
            return None
        if len(self.history) == 2:
            self._predict(problem, capacity)
        terms = self.rows.begin(problem, problem.predictions(self.w))
        pull = self.pull.of(terms.slopes())
        for number in range(1, ROUNDS + 1):
            step = self._step(problem, terms, pull / problem.n, capacity)
            if step is None:
                return None
            forces, pull = self._forces(problem, step, capacity), step.pull
            proof = Proof(self, problem, terms.Xw, step, forces)
            gap = proof.gap(tol)
            found = proof.certified(gap, tol)
            if found is not None and found[0].relative_gap <= tol:
                self.history = [*self.history[-1:], Solved(nu, forces.of_nodes, self.w, problem.predictions(self.w))]
                self.rows.keep(problem, step.slopes, gap, number)
                return self._result(problem, *found, proof.s, number)
            if found is not None and not step.is_full:  # perhaps because digits were lost
                terms.Xw[:] = problem.predictions(self.w)
            self.sign += forces.opened
            renewed = self.rows.renewed(problem, terms, step.slopes, gap)
            if renewed is not None:
                terms = renewed
                pull = self.pull.of(terms.slopes())
            elif not forces.opened.any() and step.decrease <= STALLED * abs(proof.primal):
                return None
        return None

    def _forces(self, problem: Problem, step: Step, capacity: np.ndarray) -> Inside:
        """The forces that balance the derivatives after a step as far as their capacities allow."""
        of_nodes = step.pull / problem.n + problem.gamma * self.w
        return Inside(of_nodes, *self.forces.inside(of_nodes, capacity, self.sign))

    def _predict(self, problem: Problem, capacity: np.ndarray) -> None:
        """Open the edges that will carry more than their capacity, if derivatives change as between the last two.

        If a step is expensive, w also moves on. That separates clusters which have just met, until a step joins them
        again; with kinks w changes too unevenly.
        """
        before, last = self.history
        times = times_farther(problem.penalty.nu, before.nu, last.nu)
        if self.rows.is_smooth and self.gram.has_many_rows:
            self.w = beyond(last.w, before.w, times)
            problem.last_products.remember(self.w, beyond(last.z, before.z, times))
            self.sign = np.sign(self.graph.differences(self.w))
        of_nodes = beyond(last.of_nodes, before.of_nodes, times)
        self.sign += self.forces.inside(of_nodes, capacity, self.sign)[1]

    # --- the active set ----------------------------------------------------------------------------------------------

    def _step(self, problem: Problem, terms: Terms, pull: np.ndarray, capacity: np.ndarray) -> Step | None:
        """A Newton step with these signs, after which the signs are those of ``A w``; None if clusters are too many."""
        label, number = joined(self.graph[:2], np.flatnonzero(self.sign == 0.0), problem.d)
        if number > MOST_CLUSTERS:
            return None
        kept, w = label >= 0, self.w
        of_kept = label[kept]

        def of_clusters(values: np.ndarray) -> np.ndarray:
            return np.bincount(of_kept, values[kept], number)

        H = terms.unit / problem.n * self.gram.matrix(label, number, terms.curvature())
        H += np.diag(np.maximum(of_clusters(self.rows.hold) - np.diag(H), 0.0))
        u = np.zeros(number)
        u[of_kept] = w[kept]
        edges, gamma = self._edges(label, number, capacity), of_clusters(problem.gamma)
        best = minimiser(H + np.diag(gamma), H @ u - of_clusters(pull), edges, u)
        target = np.where(kept, np.append(best, 0.0)[label], 0.0)
        p, z = target - w, self.gram.product(target, best)
        Xp = z - terms.Xw
        first = float((pull + problem.gamma * w) @ p) + slope_of_edges(*self.graph[:2], capacity, w, p, 0.0)
        length = self._length(problem, terms, (p, Xp), capacity, first)
        self.w = target if length == 1.0 else w + length * p
        terms.Xw[:] = z if length == 1.0 else terms.Xw + length * Xp
        self.sign = np.sign(self.graph.differences(self.w))
        slopes = terms.slopes()
        return Step(slopes, self.pull.of(slopes), -length * first, length == 1.0)

    def _edges(self, label: np.ndarray, number: int, capacity: np.ndarray) -> Edges:
        """The edges between clusters; if they are many, those with the same ends as one."""
        apart = np.flatnonzero(self.sign)
        label = np.append(np.where(label < 0, number, label), number)
        one, other = label[self.graph.first[apart]], label[self.graph.second[apart]]
        if len(apart) <= FEW_EDGES * number:
            return Edges(one, other, capacity[apart], self.sign[apart])
        sign = np.where(one < other, self.sign[apart], -self.sign[apart])
        pairs = np.minimum(one, other) * (number + 1) + np.maximum(one, other)
        pairs, at, place = np.unique(pairs, return_index=True, return_inverse=True)
        return Edges(*np.divmod(pairs, number + 1), np.bincount(place, capacity[apart], len(pairs)), sign[at])

    def _length(
        self, problem: Problem, terms: Terms, move: tuple[np.ndarray, np.ndarray], capacity: np.ndarray, first: float
    ) -> float:
        """The length of the step, at most 1: at its end, edges have met."""
        if self.is_quadratic:
            return 1.0  # the model is the objective
        p, Xp = move
        of_ridge, bend = float((problem.gamma * self.w) @ p), float((problem.gamma * p) @ p)

        def slope(length: float) -> float:
            of_edges = slope_of_edges(*self.graph[:2], capacity, self.w, p, length)
            return terms.slope(p, Xp, length) / problem.n + of_ridge + length * bend + of_edges

        return step_length(slope, first, longest=1.0, steep=FLAT, flat=FLAT)

    # --- the result --------------------------------------------------------------------------------------------------

    def _result(
        self, problem: Problem, found: Certificate, theta: np.ndarray, slopes: np.ndarray, rounds: int
    ) -> Result:
        point, nan = Point(self.w, problem.times_A(self.w), theta), float("nan")
        w, v, _ = point
        row = (rounds, rounds, 0.0, found.primal, found.primal, 0.0, nan, nan, found.dual, found.relative_gap)
        return Result(
            *point,
            w_mean=w,
            v_mean=v,
            w_average=w,
            w_feasible=w,
            trace=Trace([row]),
            status=Status.converged,
            epochs=float(rounds),
            certified=found,
            run=Found(problem, self.rows.solver, point, slopes, found, rounds),
        )


class Proof:
    """The duality gap of the point at which a method is after a step.

    Attributes
    ----------
    primal : float
        The objective.
    """

    def __init__(self, method: Contracting, problem: Problem, z: np.ndarray, step: Step, forces: Inside) -> None:
        self.method, self.problem, self.z, self.step, self.forces = method, problem, z, step, forces
        self.loss, self.of_rows = method.rows.levels(problem, z, step.slopes)
        self.primal = self.loss + problem.ridge_value(method.w) + problem.penalty_value(problem.times_A(method.w))

    @functools.cached_property
    def s(self) -> np.ndarray:
        """The dual point: a slope of each row's loss."""
        return unweighted(self.problem, self.step.slopes)

    def gap(self, tol: float) -> Gap:
        """The gap of the rows, of edges that differ and do not carry their capacity, and of nodes out of balance."""
        problem, graph, (of_nodes, inside, _) = self.problem, self.method.graph, self.forces
        v, with_ridge = graph.differences(self.method.w), problem.gamma > 0.0
        of_edges = problem.penalty.nu * float(graph.limit @ np.abs(v)) + float(inside @ v)
        excess = (of_nodes - graph.pull(inside)[:-1])[with_ridge]
        total = self.of_rows + of_edges + 0.5 * float(np.sum(excess * excess / problem.gamma[with_ridge]))
        return Gap(total, self.of_rows, tol * (self.primal - problem.least_loss))

    def certified(self, gap: Gap, tol: float) -> tuple[Certificate, np.ndarray] | None:
        """Return the certificate of the point, and its multipliers, if its gap may be below ``tol``.

        With a ridge, forces within their capacities may leave some derivatives out of balance. Without one, or if that
        costs too much, slopes and balanced forces are scaled together until no force exceeds its capacity.
        """
        problem, method = self.problem, self.method
        if method.ridged:
            if duality.relative_gap(problem, self.primal, self.primal - gap.total) <= tol:
                return self._certified_by(self.forces.inside, 1.0)
            if not method.rows.is_smooth:
                return None

        def serves(scale: float) -> bool:
            conjugates = losses.mean_conjugate(problem.loss, scale * self.s, *problem.rows[1:])
            dual = -conjugates - scale * scale * problem.ridge_value(method.w)
            return duality.relative_gap(problem, self.primal, dual) <= tol

        capacity = problem.penalty.nu * method.graph.limit
        found = method.forces.balanced(self.forces.of_nodes, capacity, serves)
        return None if found is None else self._certified_by(*found)

    def _certified_by(self, forces: np.ndarray, scale: float) -> tuple[Certificate, np.ndarray]:
        """The certificate with these forces as multipliers, scaled with the slopes; and the multipliers."""
        problem, w, s = self.problem, self.method.w, scale * self.s
        theta = scale * self.method.graph.multipliers(forces, problem.m)
        if self.step.is_full:
            problem.remember(w, self.z, self.loss)
        if self.method.pull.is_direct:
            problem.last_X_transposed.remember(problem.rows.c * s / problem.n, scale * self.step.pull / problem.n)
        return certify(problem, w, problem.times_A(w), s, theta), theta


@compiled
def slope_of_edges(first, second, capacity, w, p, length):
    """The derivative of ``sum_k capacity_k |w_i - w_j|`` along p after a step, from the side from which it comes."""
    total = 0.0
    for k in range(len(first)):
        i, j = first[k], second[k]
        v, dv = w[i], p[i]
        if j < len(w):
            v, dv = v - w[j], dv - p[j]
        after = v + length * dv
        sign = dv if v == 0.0 else v if abs(after) <= MET * abs(v) else after
        if sign > 0.0:
            total += capacity[k] * dv
        elif sign < 0.0:
            total -= capacity[k] * dv
    return total
