"""How good is an estimator with nothing set, on the paper's six data sets?

    ADASADMM_DATA=... python benchmarks/defaults.py            # writes its tables into docs/estimators.md
    ADASADMM_DATA=... python benchmarks/defaults.py --print    # or only prints them; names of data sets may follow

Needs cvxpy with Clarabel (extra ``bench``): its optimum says whether the gap that a model reports is true.
"""

from __future__ import annotations

import math
import sys
import time
import warnings

import cvxpy as cp
import numpy as np
import page
import sklearn

from adasadmm import L1, AdaSADMM, GraphGuidedClassifier, Hinge, Problem, graphs, solve
from adasadmm.datasets import PAPER, load

GRID = [2.0**k for k in range(-5, 6)]  # the paper's step sizes
SEEDS = range(3)
WANTED = {"a9a": 0.01, "news20": 0.01, "splice": 0.05, "svmguide3": 0.05, "w8a": 0.05}  # above the best of the grid

NOTHING_SET = "data, X, seconds, graph, edges, iterations, objective, optimum, above, gap, true, warnings".split(", ")
NO_STEP_SIZE = "data, objective, best of grid, at, above best, as wanted, of f(0)".split(", ")


def nothing_set(name: str) -> list[str]:
    """A row of the first table: ``GraphGuidedClassifier().fit(X, y)``."""
    _, X, y, *_ = load(name)
    GraphGuidedClassifier(max_iter=1, solver="admm").fit(X, y)  # compiles, and reads the rows into the cache
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        start = time.perf_counter()
        graph = graphs.as_graph("glasso", X.shape[1], X=X)
        middle = time.perf_counter()
        model = GraphGuidedClassifier().fit(X, y)
        end = time.perf_counter()
    assert np.array_equal(graph.edges, model.graph_)
    objective = model.trace_["objective"][-1]
    optimum = exact_optimum(X, y, graph)
    above = (objective - optimum) / optimum
    true = above <= model.dual_gap_ * objective / optimum + 1e-7  # Clarabel's own accuracy
    return [
        name,
        f"{X.shape[0]:,} x {X.shape[1]}",
        f"{end - middle:.2f}",
        f"{middle - start:.2f}",
        str(len(graph.edges)),
        str(model.n_iter_),
        f"{objective:.6f}",
        f"{optimum:.6f}",
        f"{above:.1e}",
        f"{model.dual_gap_:.1e}",
        "yes" if true and model.dual_gap_ < 1e-3 else "**no**",
        "; ".join(str(one.message) for one in said) or "none",
    ]


def exact_optimum(X, y: np.ndarray, graph: graphs.Graph) -> float:
    """The least objective by CVXPY's interior-point solver: hinge loss, free intercept, alpha = l2 = 1/n."""
    n, d = X.shape
    w, intercept = cp.Variable(d), cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + intercept)))
    penalty = cp.norm1(graphs.incidence(graph.edges, graph.weights, d) @ w)
    problem = cp.Problem(cp.Minimize((loss + cp.sum_squares(w) / 2 + penalty) / n))
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL, problem.status
    return float(problem.value)


def no_step_size(name: str) -> list[str]:
    """A row of the second table: two epochs of Ada-SADMM with its own step size against the best of the grid."""
    _, X, y, *_ = load(name)
    n, d = X.shape
    graph = graphs.as_graph("glasso", d, X=X)
    A = graphs.incidence(graph.edges, graph.weights, d)
    problem = Problem(X, y, loss=Hinge(), penalty=L1(1 / n), A=A, gamma=1 / n)
    model = GraphGuidedClassifier(solver="ada-diag", max_iter=2, fit_intercept=False)
    ours = np.mean([problem.objective(model.set_params(random_state=s).fit(X, y).coef_[0]) for s in SEEDS])
    best, how = math.inf, ""
    for eta in GRID:
        runs = [solve(problem, AdaSADMM(eta=eta), epochs=2, seed=seed) for seed in SEEDS]
        for kind, points in (("last", [run.w for run in runs]), ("mean", [run.w_mean for run in runs])):
            value = np.mean([problem.objective(w) for w in points])
            if value < best:
                best, how = value, f"2^{math.log2(eta):.0f}, {kind}"
    excess = ours / best - 1
    wanted = WANTED.get(name)
    verdict = "" if wanted is None else f"{'yes' if excess <= wanted else '**no**'} ({wanted:.0%})"
    of_start = (ours - best) / problem.objective(np.zeros(d))
    return [name, f"{ours:.4f}", f"{best:.4f}", how, f"{excess:+.2%}", verdict, f"{of_start:+.2%}"]


def text() -> str:
    first, second = [], []
    for name in page.named() or PAPER:
        print(f"{name} ...", file=sys.stderr)
        first.append(nothing_set(name))
        second.append(no_step_size(name))
    return f"""\
scikit-learn {sklearn.__version__}, cvxpy {cp.__version__}; compiling is not timed.

`GraphGuidedClassifier().fit(X, y)`, nothing set, all rows. The optimum is Clarabel's for the same graph (hinge loss,
free intercept, alpha = l2 = 1/n). A gap is true where the objective lies no further above the optimum than it says.

{page.table(NOTHING_SET, first)}

`GraphGuidedClassifier(solver="ada-diag", max_iter=2, fit_intercept=False).fit(X, y)`, nothing else set, against the
best of the paper's step sizes 2^-5 to 2^5 (same graph, rows and epochs; beta = a = 1; the last iterate or the uniform
mean, whichever is better), mean objective over {len(SEEDS)} seeds. The last column is the difference as a share of the
objective at 0: the optimum of mushrooms is so small that a ratio says little.

{page.table(NO_STEP_SIZE, second)}"""


if __name__ == "__main__":
    page.show(__file__, "estimators.md", text)
