import copt
import numpy as np
import scipy.sparse as sp
from benchmark_utils import little_progress
from benchopt import BaseSolver

from adasadmm import graphs
from adasadmm.certificates import duality

MOST_ITERATIONS = 100_000


class Solver(BaseSolver):
    """copt's primal-dual method. The hinge loss is a proximal term on X w, beside that of the edges on A w.

    There the steps are fixed, as its line search lets them grow beyond what the norm of X allows. Their ratio is 3 in
    units of sqrt(n); of 0.1, 0.3, 1, 3, 10 the best was 1 on splice, 10 on a9a, each 2.3 to 2.7 times nearer to the
    optimum after 1,000 iterations. The logistic loss is its smooth term, with its line search.
    """

    name = "copt-primal-dual"
    requirements = ["pip::copt"]
    stopping_criterion = little_progress("callback")

    def set_objective(self, X, y, edges, loss, problem):
        self.X, self.y, self.loss, self.problem = X, y, loss, problem
        self.A = sp.csr_array(graphs.incidence(edges, d=X.shape[1]))
        self.w, self.dual_point = np.zeros(X.shape[1]), np.zeros(len(y) * (loss == "hinge") + self.A.shape[0])

    def run(self, callback):
        def look(inner):
            self.w, self.dual_point = inner["x"], inner["y"]
            return callback()

        if not callback():
            return
        arguments = self._with_hinge() if self.loss == "hinge" else self._with_logistic()
        copt.minimize_primal_dual(
            x0=np.zeros(self.X.shape[1]), tol=0.0, max_iter=MOST_ITERATIONS, callback=look, **arguments
        )

    def get_result(self):
        n = len(self.y)
        if self.loss == "hinge":
            s, theta = n * self.dual_point[:n], -self.dual_point[n:]
        else:
            s, theta = duality.slopes(self.problem, self.X @ self.w), -self.dual_point
        return {"w": self.w.copy(), "dual": duality.dual_value(self.problem, self.w, s, theta)[0]}

    def _with_hinge(self):
        n, d = self.X.shape
        L = sp.vstack([sp.csr_array(self.X), self.A], format="csr")
        norm = sp.linalg.svds(L, k=1, return_singular_vectors=False)[0]

        def prox_losses_and_edges(u, step):
            z = u[:n] + self.y * np.clip(1.0 - self.y * u[:n], 0.0, step / n)
            return np.concatenate([z, _shrunk(u[n:], step / n)])

        return {
            "f_grad": lambda w, return_gradient=True: (0.0, np.zeros(d)) if return_gradient else 0.0,
            "prox_1": lambda w, step: w / (1.0 + step / n),
            "prox_2": prox_losses_and_edges,
            "L": L,
            "line_search": False,
            "step_size": 3.0 * np.sqrt(n) / norm,
            "step_size2": 1.0 / (3.0 * np.sqrt(n) * norm),
        }

    def _with_logistic(self):
        n = len(self.y)

        def loss(w, return_gradient=True):
            margins = self.y * (self.X @ w)
            value = np.mean(np.logaddexp(0.0, -margins)) + w @ w / (2 * n)
            slopes = -self.y * np.exp(-np.logaddexp(0.0, margins))
            return (value, (self.X.T @ slopes + w) / n) if return_gradient else value

        return {"f_grad": loss, "prox_2": lambda u, step: _shrunk(u, step / n), "L": self.A}


def _shrunk(u, threshold):
    return np.sign(u) * np.maximum(np.abs(u) - threshold, 0.0)
