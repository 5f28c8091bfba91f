"""The averaged subgradient method, written as a solver for adasadmm."""

import copy
import dataclasses

import numpy as np

from adasadmm import losses, penalties
from adasadmm.solvers import Monitor, Point, Run, Solver, certify, slopes_at


@dataclasses.dataclass(frozen=True)
class AveragedSubgradient(Solver):
    step: float = 1.0  # the step size is step / sqrt(t)
    takes_any_B = separable_w_step = False  # v must be A w - b; a w_set is split off

    def begin(self, problem, start):
        return SubgradientRun(problem, self, start)


class SubgradientRun(Run):
    def __init__(self, problem, solver, start):
        vars(self).update(start._asdict(), problem=problem, solver=solver, w_sum=np.zeros(problem.d), t=0)

    def advance(self, work):
        X, y, c, problem = work.X, work.y, work.weights, self.problem
        for i in range(work.length):
            self.t, self.w_sum = self.t + 1, self.w_sum + self.w
            x, Aw, eta = X[i : i + 1], problem.v_of(self.w), self.solver.step / np.sqrt(self.t)
            penalties.prox(problem.penalty, Aw, eta, v := np.empty(problem.m))
            self.v, self.theta = v, (v - Aw) / eta  # theta is minus a subgradient of the penalty at v
            g = x.T @ np.array([c[i] * losses.slope(problem.loss, (x @ self.w)[0], y[i])]) + problem.gamma * self.w
            self.w = self.w - eta * (g - problem.times_A_transposed(self.theta))

    def is_finite(self):
        return bool(np.isfinite(self.w).all())

    point = property(lambda self: Point(self.w, self.v, self.theta))
    answer = property(lambda self: self.w_sum / self.t if self.t else self.w.copy())
    means = property(lambda self: (self.answer, self.problem.v_of(self.answer)))

    def monitor(self):
        return Monitor(self.t, eta=self.solver.step / np.sqrt(max(self.t, 1)))

    def dual_point(self):
        return slopes_at(self.problem, self.answer), self.theta

    def certify(self):
        return certify(self.problem, *self.means, *self.dual_point())

    def state(self):
        return {name: getattr(self, name) for name in ("w", "v", "theta", "w_sum", "t")}  # never changed in place

    def restore(self, state):
        vars(self).update(state)

    def fork(self, problem):
        fork = copy.copy(self)
        fork.problem = problem
        return fork
