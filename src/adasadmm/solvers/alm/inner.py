"""The inner problem of the augmented Lagrangian method: L_beta as a function of w alone, minimised by Newton's method.

In Newton's matrix a row counts by the curvature of its envelope: for the hinge loss, only the rows at the kink count.
If these are many more than features, an evenly spaced sample of them is used, with larger weights.
"""

from __future__ import annotations

import numpy as np

from ...linalg.systems import System
from ...problem import Problem
from ...rows import matrices, products
from ..units import Units
from . import newton
from .newton import PenaltyEnvelope, RowTerms
from .streamed_rows import StreamedRows

__all__ = ["MOST_STEPS", "InnerProblem"]

MOST_STEPS = 40
ROWS_A_FEATURE, FEW_ROWS = 6, 4000  # in Newton's matrix at least
PASSES = 4  # over X that forming it may cost
MORE_ROWS = 3  # steps of an iteration after which the rows in it double
NEWTON_RESIDUAL = 1e-3  # relative, of the solution of Newton's system


class InnerProblem:
    """psi of `alm`, for the duals and the betas that a run sets, and the w at which it is.

    Attributes
    ----------
    w, Xw, Aw, z, v, theta_next : ndarray
        The point, its products, and the z, v and theta that belong to it.
    u, theta : ndarray
        The scaled multipliers of ``X w = z``, and those of ``A w - b = v``.
    allowed : float
        The error that Newton's method may leave, as a cost of the dual value.
    """

    problem: Problem
    units: Units
    system: System | None
    w: np.ndarray
    Xw: np.ndarray
    Aw: np.ndarray
    z: np.ndarray
    v: np.ndarray
    u: np.ndarray
    theta: np.ndarray
    theta_next: np.ndarray
    diagonal: np.ndarray  # of Newton's matrix
    beta_z: float
    beta: float
    allowed: float
    iteration: int
    is_elsewhere = False  # whether Xw is not yet that of w
    next_rows: RowTerms | None = None  # those of the next minimum, if a pass has evaluated them

    def _prepare(self, problem: Problem) -> None:
        self.problem, self.system = problem, None
        self.envelope = PenaltyEnvelope(problem)

    def _minimise(self) -> int:
        """w, and the z, v and theta that belong to it; returns the number of Newton steps.

        After a step with all rows, only those take part whose slopes may still change, until that is done for them. The
        minimum is found when a gradient of all rows says so.
        """
        steps, rows = 0, self.next_rows or self._all_rows()
        self.next_rows = None
        if self.is_elsewhere:
            rows.move_to(self.w)
            self.is_elsewhere = False
        while True:
            pull = rows.pull(rows.slopes())
            gradient = self._gradient(pull / self.problem.n)
            length = 0.0
            if steps < MOST_STEPS and (steps == 0 or self._excess(gradient) > self.allowed):
                p = -self._newton_step(gradient, rows, steps)
                Xp, Ap = rows.product(p), self.problem.times_A(p)
                length = self._length(rows, p, Xp, Ap, float(gradient @ p))
            if length > 0.0:
                steps += 1
                near = rows if rows.chosen is not None else rows.near(max(length, 1.0) * Xp, pull)
                near.Xw += length * (Xp if near is rows else Xp[near.chosen])
                self.w += length * p
                self.Aw += length * Ap
                rows = near
            elif rows.chosen is None:
                return steps
            else:
                rows = self._all_rows()
                rows.move_to(self.w)

    def _gradient(self, pull: np.ndarray) -> np.ndarray:
        """The gradient of psi from that of the rows' part; also sets v and the theta that would follow."""
        self.v[:], self.theta_next[:] = self.envelope.prox(self._target(self.Aw), self.beta)
        return pull + self.problem.gamma * self.w - self.problem.times_A_transposed(self.theta_next)

    def _target(self, Aw: np.ndarray) -> np.ndarray:
        """Where the prox of the penalty is taken for a given A w."""
        return Aw - self.problem.b - self.theta / self.beta

    def _excess(self, gradient: np.ndarray) -> float:
        """Return the cost of this gradient in the dual value; without a ridge, for a w of the expected size."""
        gamma, size = self.problem.gamma, np.abs(self.w)
        with np.errstate(divide="ignore"):
            cost = np.where(gamma > 0.0, gradient**2 / (2.0 * gamma), np.abs(gradient) * (size + self.units.reach))
        return float(np.sum(cost))

    def _length(self, rows: RowTerms, p: np.ndarray, Xp: np.ndarray, Ap: np.ndarray, first_slope: float) -> float:
        """The length of the step along p."""

        def slope(length: float) -> float:
            _, theta = self.envelope.prox(self._target(self.Aw + length * Ap), self.beta)
            ridge = self.problem.gamma * (self.w + length * p)
            return rows.slope(p, Xp, length) / self.problem.n + float(ridge @ p) - float(theta @ Ap)

        return newton.step_length(slope, first_slope)

    def _newton_step(self, gradient: np.ndarray, rows: RowTerms, step: int) -> np.ndarray:
        """The inverse of the second derivative of psi, times its gradient."""
        if self.system is None:
            self.system = self.problem.system
        weights = self._weights(rows, step)
        curvature = self.envelope.curvature(self._target(self.Aw), self.v, self.beta)
        self.system.factor(weights, self.beta * curvature, self.units.ridge)
        self.diagonal[:] = self.system.diagonal
        return self.system.solve(gradient, NEWTON_RESIDUAL)

    def _weights(self, rows: RowTerms, step: int) -> np.ndarray:
        """Return the weight of each row in Newton's matrix; if X is not in memory, also give the system X'diag X."""
        assert self.system is not None
        if isinstance(rows, StreamedRows):
            unit = self.beta_z / self.problem.n
            weights, of_X = unit * rows.here.weights, unit * rows.here.gram
        else:
            weights = self._curved_rows(rows, step)
            if not matrices.is_streamed(self.problem.rows.X):
                return weights
            products.add_lower_gram(rows.X, weights[rows.chosen], of_X := np.zeros((self.problem.d, self.problem.d)))
        self.system.know(weights, of_X)
        return weights

    def _curved_rows(self, rows: RowTerms, step: int) -> np.ndarray:
        """The weight of each row in Newton's matrix; 0 for rows without curvature, or outside of the sample."""
        curvature, n = rows.curvature(), self.problem.n
        curved = np.flatnonzero(curvature)
        every = max(1, len(curved) // (2 ** (step // MORE_ROWS) * self._most_curved()))
        used = curved[self.iteration % every :: every]
        share = len(curved) / max(1, len(used))
        weights = np.zeros(n)
        weights[used if rows.chosen is None else rows.chosen[used]] = share * self.beta_z / n * curvature[used]
        return weights

    def _most_curved(self) -> int:
        """The number of rows in Newton's matrix that is enough at first."""
        n, d = self.problem.n, self.problem.d
        affordable = PASSES * 2 * n * n // max(1, matrices.size(self.problem.rows.X))
        return max(ROWS_A_FEATURE * d, affordable, FEW_ROWS)

    def _all_rows(self, iteration: int | None = None) -> RowTerms:
        """The terms of all rows, for this iteration or another one."""
        X, y, c = self.problem.rows
        envelopes = newton.Envelopes(self.problem.loss, y, c, self.Xw, self.u, self.beta_z)
        if not matrices.is_streamed(X):
            return RowTerms(X, envelopes, self.z)
        return StreamedRows(
            X, envelopes, self.z, self._most_curved(), self.iteration if iteration is None else iteration
        )
