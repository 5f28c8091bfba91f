import warnings

import numpy as np
import rehline  # noqa: F401  benchopt skips the solver if this import fails
from benchmark_utils import by_rehline, little_progress
from benchopt import BaseSolver

LEAST_TOLERANCE = 1e-6  # small enough that the number of iterations ends the run


class Solver(BaseSolver):
    """ReHLine: dual coordinate descent, with two ReLU terms for each edge. It has no logistic loss."""

    name = "ReHLine"
    requirements = ["pip::rehline"]
    stopping_criterion = little_progress("iteration")

    def skip(self, X, y, edges, loss, problem):
        return (False, None) if loss == "hinge" else (True, f"ReHLine has no {loss} loss")

    def set_objective(self, X, y, edges, loss, problem):
        self.w = np.zeros(X.shape[1])
        self.find = by_rehline(X, y, edges)

    def run(self, n_iter):
        if n_iter > 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns that the iterations are too few for the tolerance
                self.w = self.find(LEAST_TOLERANCE, n_iter)

    def get_result(self):
        return {"w": self.w}
