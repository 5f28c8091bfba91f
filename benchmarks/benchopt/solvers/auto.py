import math
import warnings

import numpy as np
from benchmark_utils import little_progress, next_tolerance
from benchopt import BaseSolver
from sklearn.exceptions import ConvergenceWarning

from adasadmm import GraphGuidedClassifier


class Solver(BaseSolver):
    """The estimator with nothing set but tol: the whole of ``fit``."""

    name = "adasadmm-auto"
    stopping_criterion = little_progress("tolerance")

    def set_objective(self, X, y, edges, loss, problem):
        self.X, self.y, self.edges, self.loss, self.problem = X, y, edges, loss, problem
        for tol in (0.1, 1e-3, 1e-6):  # compile here, outside the clock: benchopt's warm_up is called for one loss only
            self.run(tol)

    def get_next(self, tol):
        return next_tolerance(tol)

    def run(self, tol):
        if tol > 1.0:
            self.w, self.gap = np.zeros(self.X.shape[1]), math.inf
            return
        model = GraphGuidedClassifier(self.edges, loss=self.loss, fit_intercept=False, tol=tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.X, self.y)
        self.w, self.gap = model.coef_[0], float(model.dual_gap_)

    def get_result(self):
        value = self.problem.objective(self.w)
        return {"w": self.w, "dual": value - self.gap * abs(value)}
