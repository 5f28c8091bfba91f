"""Graph-guided linear classification without bias: the paper's problem, with its hinge loss or the logistic one.

1/n sum_i loss(y_i <x_i, w>) + 1/(2n) |w|^2 + 1/n sum over edges of |w_j - w_k|
"""

import math

import numpy as np
from benchmark_utils import problem_of
from benchopt import BaseObjective

from adasadmm.certificates import duality


class Objective(BaseObjective):
    name = "Graph-guided classification"
    requirements = ["pip::adasadmm[bench]"]
    min_benchopt_version = "1.9"
    parameters = {"loss": ["hinge", "logistic"]}
    test_dataset_name = "Bundled"

    def set_data(self, X, y, edges):
        self.X, self.y, self.edges = X, y, edges
        self.problem = problem_of(X, y, edges, self.loss)

    def get_objective(self):
        return {"X": self.X, "y": self.y, "edges": self.edges, "loss": self.loss, "problem": self.problem}

    def evaluate_result(self, w, dual=-math.inf):
        """The objective at w and, where the solver has a lower bound of the optimum, the relative duality gap."""
        value = self.problem.objective(np.asarray(w, dtype=float))
        gap = duality.relative_gap(self.problem, value, dual)
        return {"value": value, "gap": gap if math.isfinite(gap) else math.nan}

    def get_one_result(self):
        return {"w": np.zeros(self.X.shape[1])}
