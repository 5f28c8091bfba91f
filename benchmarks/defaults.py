"""The default estimator on the paper's six data sets.

    ADASADMM_DATA=... python benchmarks/defaults.py            # writes its tables into docs/estimators.md
    ADASADMM_DATA=... python benchmarks/defaults.py --print    # or only prints them; names of data sets may follow

Needs cvxpy with Clarabel (extra ``bench``), whose optimum shows whether the reported gap is valid.
"""

from __future__ import annotations

import sys
import time
import warnings

import cvxpy as cp
import numpy as np
import page
import sklearn

from adasadmm import GraphGuidedClassifier, graphs
from adasadmm.datasets import PAPER, load

NOTHING_SET = "data, X, seconds, graph, edges, iterations, objective, optimum, above, gap, valid, warnings".split(", ")


def nothing_set(name: str) -> list[str]:
    """A row of the first table: ``GraphGuidedClassifier().fit(X, y)``."""
    _, X, y, *_ = load(name)
    GraphGuidedClassifier().fit(X, y)  # compiles, and reads the rows into the cache
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        start = time.perf_counter()
        graph = graphs.as_graph("glasso", X.shape[1], X=X)
        middle = time.perf_counter()
        model = GraphGuidedClassifier().fit(X, y)
        end = time.perf_counter()
    assert np.array_equal(graph.edges, model.graph_)
    objective = objective_of(model, X, y, graph)  # the trace ends before zeros and equal coefficients are made exact
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


def objective_of(model: GraphGuidedClassifier, X, y: np.ndarray, graph: graphs.Graph) -> float:
    """The objective of the model that is returned, from its coefficients."""
    w = model.coef_[0]
    loss = np.maximum(0.0, 1.0 - y * (X @ w + model.intercept_)).sum()
    penalty = np.abs(graphs.incidence(graph.edges, graph.weights, len(w)) @ w).sum()
    return float(loss + w @ w / 2.0 + penalty) / len(y)


def exact_optimum(X, y: np.ndarray, graph: graphs.Graph) -> float:
    """The optimum by CVXPY's interior-point solver: hinge loss, free intercept, alpha = l2 = 1/n."""
    n, d = X.shape
    w, intercept = cp.Variable(d), cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + intercept)))
    penalty = cp.norm1(graphs.incidence(graph.edges, graph.weights, d) @ w)
    problem = cp.Problem(cp.Minimize((loss + cp.sum_squares(w) / 2 + penalty) / n))
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL, problem.status
    return float(problem.value)


def text() -> str:
    rows = []
    for name in page.named() or PAPER:
        print(f"{name} ...", file=sys.stderr)
        rows.append(nothing_set(name))
    return f"""\
scikit-learn {sklearn.__version__}, cvxpy {cp.__version__}; compilation is not timed.

`GraphGuidedClassifier().fit(X, y)`, nothing set, all rows. The optimum is Clarabel's for the same graph (hinge loss,
free intercept, alpha = l2 = 1/n). A gap is valid if the suboptimality of the objective does not exceed it.

{page.table(NOTHING_SET, rows)}"""


if __name__ == "__main__":
    page.show(__file__, "estimators.md", text)
