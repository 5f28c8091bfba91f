"""RDA-ADMM, stochastic ADMM by regularised dual averaging (Suzuki 2013), written as a solver for adasadmm."""

import dataclasses

import numpy as np

from adasadmm import losses, penalties
from adasadmm.linalg.quadratics import majoriser
from adasadmm.solvers import Run, Solver


@dataclasses.dataclass(frozen=True)
class DualAveraging(Solver):
    """Every step starts at w_1 and follows the mean of all gradients and duals so far."""

    eta: float = 1.0  # the step size is eta sqrt(t)
    beta: float = 1.0
    batch_size: int = 1

    takes_any_B = False  # the v-step below is that of B = -I

    def begin(self, problem, start):
        return DualAveragingRun(problem, self, start)


class DualAveragingRun(Run):
    def __init__(self, problem, solver, start):
        super().__init__(problem, solver, start)  # keeps the problem, the solver, and copies of w, v and theta
        self.w_first, self.m = start.w.copy(), majoriser(problem.A)
        self.g_sum, self.pull_sum, self.w_sum = np.zeros((3, problem.d))
        self.v_sum = np.zeros(problem.m)

    def advance(self, work):
        for first in range(0, work.length, self.batch_size):
            self.iterate(*(part[first : first + self.batch_size] for part in (work.X, work.y, work.weights)))

    def iterate(self, X, y, weights):
        problem, beta = self.problem, self.solver.beta
        self.iteration += 1
        self.eta = self.solver.eta * np.sqrt(self.iteration)
        slopes = [losses.slope(problem.loss, *pair) for pair in zip(X @ self.w, y, strict=True)]
        self.g_sum += X.T @ (weights * slopes) / len(y) + problem.gamma * self.w
        self.pull_sum += problem.times_A_transposed(self.theta - beta * problem.residual(self.w, self.v))
        self.w_sum += self.w
        curvature = self.iteration / self.eta + beta * self.m
        self.w = self.w_first - (self.g_sum - self.pull_sum) / curvature
        Aw = problem.v_of(self.w)  # A w - b
        penalties.prox(problem.penalty, Aw - self.theta / beta, 1.0 / beta, self.v)
        self.theta = self.theta - beta * (Aw - self.v)
        self.v_sum += self.v

    @property
    def means(self):
        t = self.iteration
        return (self.w_sum / t, self.v_sum / t) if t else (self.w, self.v)

    @property
    def answer(self):
        return self.means[0]
