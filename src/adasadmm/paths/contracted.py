"""A strength of a path by an active set: Newton steps on the few clusters, or the few coefficients that are not 0.

The rows of A are differences and single coefficients: edges of a graph. With the signs of ``A w`` fixed, and rows in
which it is 0 joined, the problem is smooth and small. A Newton step solves it; rows that would change their sign are
joined, and the forces along the edges (`forces`) show which rows to split again. Along a path the active set changes
little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import losses
from .._core.jit import unwrapped
from .._solve import begin
from ..certificates import certify, duality
from ..certificates.trace import Certificate, Result, Status, Trace
from ..linalg.joined import joined, summed
from ..linalg.matrices import Dense, innermost
from ..penalties import L1
from ..problem import Problem
from ..solvers import ProximalNewton, check_fits
from .forces import Forces, Graph, forces_on, graph_of
from .signed import Edges, minimiser

__all__ = ["Contracting", "contracting"]

MOST_ROWS, MOST_SPARSE_ROWS = 64, 4  # for each feature: beyond, the dense design of the clusters costs too much
MOST_CLUSTERS = 600
ROUNDS = 60
HALVINGS = 30
ROUNDING = 1e-14
STALLED = 1e-12  # relative decrease of the objective in a round that opens no row: another one would not help


def contracting(problem: Problem) -> Contracting | None:
    """Return the active-set method for this problem; None if its form does not allow one."""
    if not isinstance(problem.penalty, L1) or problem.B is not None or problem.b.any():
        return None
    most = MOST_ROWS if isinstance(innermost(problem.rows.X), Dense) else MOST_SPARSE_ROWS
    if problem.diagonal is not None or problem.outputs > 1 or problem.n > most * problem.d:
        return None
    try:
        check_fits(ProximalNewton(), problem)
    except (TypeError, ValueError):
        return None
    graph = graph_of(problem.A, problem.penalty.weights)
    forces = None if graph is None else forces_on(graph)
    return None if graph is None or forces is None else Contracting(problem, graph, forces)


class Contracting:
    """The point at the last strength, the signs of the differences along edges, and the forces."""

    def __init__(self, problem: Problem, graph: Graph, forces: Forces) -> None:
        self.graph, self.forces = graph, forces
        self.w, self.sign = np.zeros(problem.d), np.zeros(len(graph.rows))
        self.label: np.ndarray | None = None
        self.history: list[tuple[float, np.ndarray]] = []  # the last two strengths, and the derivatives there
        penalised = np.union1d(graph.first, graph.second)
        self.ridged = bool(problem.gamma[penalised[penalised < problem.d]].all())

    def result(self, problem: Problem, tol: float) -> Result | None:
        """The result at the strength of this problem; None if that takes too many clusters or rounds."""
        nu = problem.penalty.nu
        capacity = nu * self.graph.limit
        if not capacity.all():
            return None
        if len(self.history) == 2:
            self.sign += self.forces.inside(self._predicted(nu), capacity, self.sign)[1]
        value = np.inf
        for number in range(1, ROUNDS + 1):
            if not self._step(problem, capacity):
                return None
            before, value = value, problem.objective(self.w)
            slopes = duality.slopes(problem, problem.last_products.of(self.w))
            pull = duality.data_pull(problem, slopes)
            of_nodes = pull + problem.gamma * self.w
            inside, opened = self.forces.inside(of_nodes, capacity, self.sign)
            found = self._certified(problem, (slopes, pull), inside, tol)
            if found is not None and found[0].relative_gap <= tol:
                self.history = [*self.history[-1:], (nu, of_nodes)]
                return self._result(problem, *found, number)
            if not opened.any() and before - value <= STALLED * abs(value):
                return None
            self.sign += opened
        return None

    def _predicted(self, nu: float) -> np.ndarray:
        """The derivatives at another strength, if they change as between the last two."""
        (one, before), (other, last) = self.history
        return last + (nu - other) / (other - one) * (last - before) if other != one else last

    # --- the active set ----------------------------------------------------------------------------------------------

    def _step(self, problem: Problem, capacity: np.ndarray) -> bool:
        """A Newton step with these signs, after which the signs are those of ``A w``; False if clusters are too many.

        If the step to the minimum of the model raises the objective, it is halved.
        """
        label, number = joined(self.graph[:2], np.flatnonzero(self.sign == 0.0), problem.d)
        if number > MOST_CLUSTERS:
            return False
        kept, w, n = label >= 0, self.w, problem.n
        z, slopes, seconds = problem.last_products.of(w), np.empty(n), np.empty(n)
        _, y, c = problem.rows
        losses.derivatives(problem.loss, z, y, c / n, slopes, seconds)
        X, H = self._model(problem, label, number, seconds)
        gamma, u = np.bincount(label[kept], problem.gamma[kept], number), np.zeros(number)
        u[label[kept]] = w[kept]
        best = minimiser(H + np.diag(gamma), H @ u - X.T @ slopes, self._edges(label, number, capacity), u)
        target, Xp = np.where(kept, np.append(best, 0.0)[label], 0.0), X @ (best - u)
        length = self._length(problem, (z, Xp), target - w)
        self.w = target if length == 1.0 else w + length * (target - w)
        problem.last_products.remember(self.w, z + length * Xp)
        self.sign = np.sign(self.graph.differences(self.w))
        return True

    def _model(
        self, problem: Problem, label: np.ndarray, number: int, seconds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The columns of X summed over clusters, and their Gram matrix with these weights; kept while they serve."""
        if self.label is None or not np.array_equal(label, self.label):
            self.label, self.X, self.seconds = label, summed(problem.rows.X, label, number), np.empty(0)
        if not np.array_equal(seconds, self.seconds):
            half = np.sqrt(seconds)[:, None] * self.X
            self.seconds, self.H = seconds, half.T @ half
        return self.X, self.H

    def _edges(self, label: np.ndarray, number: int, capacity: np.ndarray) -> Edges:
        """The edges between clusters, those with the same ends as one."""
        apart = np.flatnonzero(self.sign)
        label = np.append(np.where(label < 0, number, label), number)
        one, other = label[self.graph.first[apart]], label[self.graph.second[apart]]
        sign = np.where(one < other, self.sign[apart], -self.sign[apart])
        pairs = np.minimum(one, other) * (number + 1) + np.maximum(one, other)
        pairs, at, place = np.unique(pairs, return_index=True, return_inverse=True)
        return Edges(*np.divmod(pairs, number + 1), np.bincount(place, capacity[apart], len(pairs)), sign[at])

    def _length(self, problem: Problem, of_rows: tuple[np.ndarray, np.ndarray], move: np.ndarray) -> float:
        """The longest of the steps 1, 1/2, 1/4, ... that does not raise the objective."""
        if isinstance(unwrapped(problem.loss), losses.Squared):
            return 1.0  # the model is the objective
        (z, Xp), (_, y, c) = of_rows, problem.rows

        def objective(length: float) -> float:
            w = self.w + length * move
            loss = float(losses.mean_value(problem.loss, z + length * Xp, y, c))
            return loss + problem.ridge_value(w) + problem.penalty_value(problem.times_A(w))

        before, length = objective(0.0), 1.0
        for _ in range(HALVINGS):
            if objective(length) <= before + ROUNDING * abs(before):
                return length
            length *= 0.5
        return 0.0

    # --- the result --------------------------------------------------------------------------------------------------

    def _certified(
        self, problem: Problem, of_rows: tuple[np.ndarray, np.ndarray], inside: np.ndarray, tol: float
    ) -> tuple[Certificate, np.ndarray] | None:
        """Return the certificate of the point, and its multipliers, if its gap may be below ``tol``.

        ``of_rows`` holds the slopes of the losses, and their pull ``X'(c s)/n``.

        With a ridge, forces within their capacities may leave some derivatives out of balance. Without one, or if that
        costs too much, slopes and balanced forces are scaled together until no force exceeds its capacity.
        """
        slopes, pull = of_rows
        of_nodes = pull + problem.gamma * self.w
        primal, penalised = problem.objective(self.w), problem.gamma > 0.0

        def gap(scale: float, excess: np.ndarray | float = 0.0) -> float:
            conjugates = losses.mean_conjugate(problem.loss, scale * slopes, *problem.rows[1:])
            q = (scale * problem.gamma * self.w - excess)[penalised]
            return duality.relative_gap(
                problem, primal, -float(conjugates + 0.5 * np.sum(q * q / problem.gamma[penalised]))
            )

        def certified(forces: np.ndarray, scale: float) -> tuple[Certificate, np.ndarray]:
            theta, scaled = scale * self.graph.multipliers(forces, problem.m), scale * slopes
            problem.last_X_transposed.remember(problem.rows.c * scaled / problem.n, scale * pull)
            return certify(problem, self.w, problem.times_A(self.w), scaled, theta), theta

        if self.ridged and gap(1.0, of_nodes - self.graph.pull(inside)[:-1]) <= tol:
            return certified(inside, 1.0)
        found = self.forces.balanced(of_nodes, problem.penalty.nu * self.graph.limit, lambda scale: gap(scale) <= tol)
        return None if found is None else certified(*found)

    def _result(self, problem: Problem, found: Certificate, theta: np.ndarray, rounds: int) -> Result:
        w, v, nan = self.w, problem.times_A(self.w), float("nan")
        points: dict[str, Any] = {"w": w, "v": v, "w_mean": w, "v_mean": v, "w_average": w, "w_feasible": w}
        row = (rounds, rounds, 0.0, found.primal, found.primal, 0.0, nan, nan, found.dual, found.relative_gap)
        result = Result(
            **points, theta=theta, trace=Trace([row]), status=Status.converged, epochs=float(rounds), certified=found
        )
        run: Any = begin(problem, ProximalNewton(), result)
        run.best_dual.find(problem, run.iteration, lambda: found)
        object.__setattr__(result, "run", run)
        return result
