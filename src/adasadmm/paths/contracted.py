"""A strength of a path by an active set: Newton steps on the few clusters, or the few coefficients that are not 0.

If the rows of A are linearly independent differences and single coefficients (a chain, a forest, the identity), theta
follows from the slopes of the losses: ``A'theta = X'(c s)/n + gamma w``. With the signs of ``A w`` fixed, and rows in
which it is 0 joined, the problem is smooth and small. A Newton step solves it; rows that would change their sign are
joined, and the multipliers show which rows to split again. Along a path the active set changes little.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import losses
from .._solve import begin
from ..certificates import certify, duality
from ..certificates.trace import Certificate, Result, Status, Trace
from ..linalg.clusters import clusters_of
from ..linalg.joined import components, ends_of, joined, summed
from ..linalg.matrices import to_scipy
from ..penalties import L1
from ..problem import Problem
from ..solvers import ProximalNewton, check_fits
from .signed import Model

__all__ = ["Contracting", "contracting"]

FEWEST = 300  # features above which contraction saves time
MOST_ROWS = 4  # for each feature: with more, forming the matrix of the clusters costs more than solving that of all
MOST_CLUSTERS = 600
ROUNDS = 60
VIOLATED = 1.0 + 1e-9  # times its bound: a multiplier above splits its row
NEARLY = 3.0  # times tol: up to this gap of the scaled dual point, the projected one may have one below tol
HALVINGS = 30
ROUNDING = 1e-14


def contracting(problem: Problem) -> Contracting | None:
    """Return the active-set method for this problem; None if its form does not allow one."""
    if problem.d < FEWEST or not isinstance(problem.penalty, L1) or problem.B is not None or problem.b.any():
        return None
    if problem.diagonal is not None or problem.outputs > 1 or problem.n > MOST_ROWS * problem.d:
        return None
    try:
        check_fits(ProximalNewton(), problem)
    except (TypeError, ValueError):
        return None
    A = to_scipy(problem.A)
    found = clusters_of(A)
    if found is None or not A.data.all() or (np.diff(A.indptr) == 0).any():
        return None
    free = found.number - len(np.unique(found.single))
    if len(found.single) > len(np.unique(found.single)) or free != problem.d - problem.m:
        return None  # a cycle, or two fixed ends: theta is not determined
    return Contracting(problem, A)


class Contracting:
    """The factor of ``A A'``, and the point, its signs and its multipliers at the last strength."""

    def __init__(self, problem: Problem, A: sp.csr_array) -> None:
        self.A, self.ends = A, ends_of(problem.A)
        self.solve = sp.linalg.splu(sp.csc_array(A @ A.T)).solve
        data, starts = problem.A.data, problem.A.indptr
        self.entries = data[starts[:-1]], np.where(np.diff(starts) == 2, data[starts[1:] - 1], 0.0)
        self.w, self.sign = np.zeros(problem.d), np.zeros(problem.m)
        self.label: np.ndarray | None = None
        self.history: list[tuple[float, np.ndarray]] = []  # the last two strengths, and the multipliers there

    def result(self, problem: Problem, tol: float) -> Result | None:
        """The result at the strength of this problem; None if that takes too many clusters or rounds."""
        weights = problem.penalty.weights
        limit = np.full(problem.m, problem.penalty.nu) if weights is None else problem.penalty.nu * weights
        self._split(limit, self._predicted(problem.penalty.nu))
        for number in range(1, ROUNDS + 1):
            if not self._step(problem, limit):
                return None
            slopes = duality.slopes(problem, problem.last_products.of(self.w))
            rest = duality.data_pull(problem, slopes) + problem.gamma * self.w
            theta = self.solve(self.A @ rest)
            scale = _scale(limit, theta)
            if self._gap(problem, scale * slopes, scale) <= (NEARLY if problem.has_ridge else 1.0) * tol:
                found = self._certificate(problem, slopes, theta, scale, tol)
                if found.relative_gap <= tol:
                    self.history = [*self.history[-1:], (problem.penalty.nu, theta)]
                    return self._result(problem, theta, found, number)
            self._split(limit, theta)
        return None

    def _predicted(self, nu: float) -> np.ndarray:
        """The multipliers at another strength, if they change as between the last two."""
        if len(self.history) < 2:
            return np.zeros(len(self.sign))
        (one, before), (other, last) = self.history
        return last + (nu - other) / (other - one) * (last - before) if other != one else last

    # --- the active set ----------------------------------------------------------------------------------------------

    def _split(self, limit: np.ndarray, theta: np.ndarray) -> None:
        """Give a sign to rows that are 0 but whose multipliers are too large: the largest of each connected piece."""
        rows = np.flatnonzero((self.sign == 0.0) & (np.abs(theta) > VIOLATED * limit))
        first, second = self.ends
        d, signs = len(self.w), np.sign(theta)
        piece = np.empty(len(rows), dtype=np.int64)
        for k, sign in enumerate((-1.0, 1.0)):
            of_sign = signs[rows] == sign
            between = rows[of_sign & (second[rows] < d)]
            root = components(first, second, between, np.arange(d + 1))
            piece[of_sign] = 2 * root[first[rows[of_sign]]] + k
        ratio = np.abs(theta[rows]) / np.maximum(limit[rows], np.finfo(float).tiny)
        order = np.argsort(-ratio, kind="stable")
        largest = rows[order[np.unique(piece[order], return_index=True)[1]]]
        self.sign[largest] = -signs[largest]

    def _step(self, problem: Problem, limit: np.ndarray) -> bool:
        """A Newton step with these signs, after which the signs are those of ``A w``; False if clusters are too many.

        If the step to the minimum of the model raises the objective, it is halved.
        """
        label, number = joined(self.ends, np.flatnonzero(self.sign == 0.0), problem.d)
        if number > MOST_CLUSTERS:
            return False
        kept, w, n = label >= 0, self.w, problem.n
        z, slopes, seconds = problem.last_products.of(w), np.empty(n), np.empty(n)
        _, y, c = problem.rows
        losses.derivatives(problem.loss, z, y, c / n, slopes, seconds)
        X, H = self._model(problem, label, number, seconds)
        gamma, u = np.bincount(label[kept], problem.gamma[kept], number), np.zeros(number)
        u[label[kept]] = w[kept]
        apart = np.flatnonzero(self.sign)
        model = Model(H + np.diag(gamma), H @ u - X.T @ slopes, self._edges(apart, label, number))
        best = model.minimiser(u, limit[apart], self.sign[apart])
        target, Xp = np.where(kept, np.append(best, 0.0)[label], 0.0), X @ (best - u)
        length = self._length(problem, (z, Xp), target - w)
        self.w = target if length == 1.0 else w + length * (target - w)
        problem.last_products.remember(self.w, z + length * Xp)
        self.sign = np.sign(problem.times_A(self.w))
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

    def _edges(self, rows: np.ndarray, label: np.ndarray, number: int) -> np.ndarray:
        """These rows of A in the space of clusters."""
        (first, second), (of_first, of_second) = self.ends, self.entries
        found, at = np.zeros((len(rows), number + 1)), np.arange(len(rows))  # the last column is that of the ground
        found[at, label[first[rows]]] += of_first[rows]
        found[at, np.append(label, -1)[second[rows]]] += of_second[rows]
        return found[:, :number]

    def _length(self, problem: Problem, of_rows: tuple[np.ndarray, np.ndarray], move: np.ndarray) -> float:
        """The longest of the steps 1, 1/2, 1/4, ... that does not raise the objective."""
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

    def _gap(self, problem: Problem, slopes: np.ndarray, scale: float) -> float:
        """The relative gap if these slopes, with the multipliers that balance them, are in their domains."""
        dual = -losses.mean_conjugate(problem.loss, slopes, *problem.rows[1:]) - scale**2 * problem.ridge_value(self.w)
        return duality.relative_gap(problem, problem.objective(self.w), float(dual))

    def _certificate(
        self, problem: Problem, slopes: np.ndarray, theta: np.ndarray, scale: float, tol: float
    ) -> Certificate:
        """Return the certificate of the point and its multipliers.

        Both parts of the dual point are scaled until theta lies in its domain: that keeps ``A'theta`` in balance, which
        a projection onto the domain would not. With a ridge, the projection may be better nevertheless.
        """
        v = problem.times_A(self.w)
        found = certify(problem, self.w, v, scale * slopes, scale * theta)
        if scale < 1.0 and problem.has_ridge and found.relative_gap > tol:
            plain = certify(problem, self.w, v, slopes, theta)
            return plain if plain.dual > found.dual else found
        return found

    def _result(self, problem: Problem, theta: np.ndarray, found: Certificate, rounds: int) -> Result:
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


def _scale(limit: np.ndarray, theta: np.ndarray) -> float:
    """The largest factor, at most 1, that brings theta between its bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.min(np.where(theta != 0.0, limit / np.abs(theta), 1.0), initial=1.0))
