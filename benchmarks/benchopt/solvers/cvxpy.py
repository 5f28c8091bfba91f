import numpy as np
from benchmark_utils import cvxpy_peers, little_progress, next_tolerance
from benchopt import BaseSolver


class Solver(BaseSolver):
    """CVXPY, its own preparation of the program included."""

    name = "CVXPY"
    requirements = ["pip::cvxpy"]
    parameters = {"solver": list(cvxpy_peers.CVXPY)}
    stopping_criterion = little_progress("tolerance")

    def skip(self, X, y, edges, loss, problem):
        if self.solver in cvxpy_peers.installed(loss):
            return False, None
        return True, f"{self.solver} is not installed, or has no {loss} loss"

    def set_objective(self, X, y, edges, loss, problem):
        self.w = np.zeros(X.shape[1])
        self.find = cvxpy_peers.by_cvxpy(X, y, edges, loss)

    def get_next(self, tol):
        return next_tolerance(tol)

    def run(self, tol):
        if tol <= 1.0:
            w = self.find(self.solver, tol)
            self.w = self.w if w is None else w

    def get_result(self):
        return {"w": self.w}
