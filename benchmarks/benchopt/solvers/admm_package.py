import admm
import numpy as np
import scipy.sparse as sp
from benchmark_utils import little_progress, next_tolerance
from benchopt import BaseSolver

from adasadmm import graphs


class Solver(BaseSolver):
    """The package admm, which splits a model by itself; its objective is n times ours, as it converges better so."""

    name = "admm"
    requirements = ["pip::admm"]
    stopping_criterion = little_progress("tolerance")
    tolerances = (
        "termination_absolute_error_threshold",
        "termination_relative_error_threshold",
        "termination_relative_primal_dual_gap",
    )

    def set_objective(self, X, y, edges, loss, problem):
        self.d, self.loss = X.shape[1], loss
        # It takes arrays and matrices of SciPy, not sparse arrays.
        self.yX = sp.csr_matrix(sp.csr_array(X).multiply(y[:, None])) if sp.issparse(X) else y[:, None] * X
        self.A = sp.csr_matrix(graphs.incidence(edges, d=self.d))
        self.w = np.zeros(self.d)

    def get_next(self, tol):
        return next_tolerance(tol)

    def run(self, tol):
        if tol > 1.0:
            return
        model, w = admm.Model(), admm.Var("w", self.d)
        margins = self.yX @ w
        losses = admm.maximum(1 - margins, 0) if self.loss == "hinge" else admm.logistic(-margins)
        model.setObjective(admm.sum(losses) + 0.5 * admm.sum(admm.square(w)) + admm.norm(self.A @ w, ord=1))
        model.setOption("solver_verbosity_level", 3)
        model.setOption("admm_max_iteration", 100_000)
        for name in self.tolerances:
            model.setOption(name, tol)
        model.optimize()
        if w.X is not None:
            self.w = np.asarray(w.X, dtype=float).reshape(-1)

    def get_result(self):
        return {"w": self.w}
