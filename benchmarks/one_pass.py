"""One pass, nothing to tune: 400,000 x 100 nearly separable rows, one and two epochs, with and without an intercept.

python benchmarks/one_pass.py        (hinge loss, a chain, alpha = l2 = 1/n; "auto" is what the estimators use)
"""

from __future__ import annotations

import numpy as np
import page
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from adasadmm import ALM, L1, AdaSADMM, Hinge, Problem, graphs, solve
from adasadmm.rows.matrices import WithIntercept, as_rows

ROWS, FEATURES = 400_000, 100
SEEDS = (0, 1, 2)
GRID = tuple(2.0**k for k in range(-5, 9))
AUTO = AdaSADMM(beta="auto", average="auto", batch_size="auto")


def rows() -> tuple[sp.csr_array, np.ndarray]:
    """15 % of the entries are not 0; the labels are the signs of a linear function with a little noise."""
    rng = np.random.default_rng(0)
    X = sp.random_array((ROWS, FEATURES), density=0.15, format="csr", rng=rng)
    return X, np.where(X @ rng.normal(size=FEATURES) + 0.1 * rng.normal(size=ROWS) > 0.0, 1.0, -1.0)


def problem_of(X: sp.csr_array, y: np.ndarray, intercept: bool) -> Problem:
    A, gamma = graphs.incidence(graphs.chain(FEATURES)), np.full(FEATURES, 1.0 / ROWS)
    if intercept:
        A = sp.hstack([A, sp.csr_array((FEATURES - 1, 1))], format="csr")
        gamma = np.append(gamma, 0.0)
    design = WithIntercept(as_rows(X)) if intercept else X
    return Problem(design, y, loss=Hinge(), penalty=L1(1.0 / ROWS), A=A, gamma=gamma)


def objectives(problem: Problem, solver: AdaSADMM, epochs: int) -> tuple[float, float, float]:
    """Of the answer, of the last iterate and of the uniform mean; the mean over the orders of rows of `SEEDS`."""
    results = [solve(problem, solver, epochs=epochs, trace_every=epochs, seed=seed) for seed in SEEDS]
    found = [[problem.objective(w) for w in (result.w_average, result.w, result.w_mean)] for result in results]
    return tuple(np.mean(found, axis=0).tolist())  # type: ignore[return-value]


def sgd(X: sp.csr_array, y: np.ndarray, problem: Problem, epochs: int) -> float:
    """The averaged SGD of scikit-learn, which knows the ridge but not the chain; judged by the same objective."""
    intercept = problem.d > FEATURES
    model = SGDClassifier(
        alpha=1.0 / ROWS, max_iter=epochs, tol=None, average=True, fit_intercept=intercept, random_state=0
    ).fit(X, y)
    return problem.objective(np.append(model.coef_[0], model.intercept_)[: problem.d])


def text() -> str:
    X, y = rows()
    lines = []
    for intercept in (False, True):
        problem = problem_of(X, y, intercept)
        optimum = problem.objective(solve(problem, ALM(), tol=1e-5).w)
        for epochs in (1, 2):
            ours = objectives(problem, AUTO, epochs)[0]
            best, eta = min((min(objectives(problem, AdaSADMM(eta=eta), epochs)[1:]), eta) for eta in GRID)
            above = [ours / optimum - 1, best / optimum - 1, ours / best - 1, sgd(X, y, problem, epochs) / optimum - 1]
            auto, grid, of_grid, peer = (f"{value:+.1%}" for value in above)
            at = f"{grid} (2^{np.log2(eta):.0f})"
            lines.append(["free" if intercept else "none", str(epochs), auto, at, of_grid, peer])
    head = ["intercept", "epochs", "auto", "best of the grid", "auto above the best of the grid", "SGDClassifier"]
    return page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "nothing_to_tune.md", text)
