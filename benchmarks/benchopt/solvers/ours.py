from benchmark_utils import SOLVERS, little_progress
from benchopt import BaseSolver

from adasadmm import solve
from adasadmm.paper.settings import POINTS_AN_EPOCH


class Solver(BaseSolver):
    """Our solvers with nothing tuned. ALM and ADMM count iterations, the others twentieths of an epoch."""

    name = "adasadmm"
    parameters = {"variant": list(SOLVERS)}
    # The objective of a stochastic solver may rise at first, and does not fall at every evaluation.
    stopping_criterion = little_progress("iteration", patience=12)

    def set_objective(self, X, y, edges, loss, problem):
        self.problem, self.seed = problem, self.get_seed(use_repetition=True)
        self.run(1)  # compile here, outside the clock: benchopt's warm_up is called for one loss only
        self.get_result()

    def run(self, n_iter):
        _, solver = SOLVERS[self.variant]
        batch = solver.uses_all_rows
        epochs = n_iter if batch else n_iter / POINTS_AN_EPOCH
        tol = 0.0 if batch else None
        self.result = solve(self.problem, solver, epochs=epochs, tol=tol, seed=self.seed, trace_every=max(1.0, epochs))

    def get_result(self):
        return {"w": self.result.w_average, "dual": self.result.certificate.dual}
