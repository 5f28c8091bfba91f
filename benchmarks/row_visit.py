"""The cost of a row: Ada-SADMM with the diagonal metric compared with scikit-learn's averaged SGD, without a graph.

ADASADMM_DATA=... python benchmarks/row_visit.py [names of data sets]
"""

from __future__ import annotations

import statistics
import time

import page
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from adasadmm import L1, AdaSADMM, Hinge, Problem, datasets, graphs, solve

REPEATS = 5
EPOCHS = 3


def problem_of(name: str) -> Problem:
    data = datasets.load(name)
    n, d = data.X.shape
    A = graphs.incidence(graphs.glasso(data.X, penalty=0.01).edges, d=d)
    return Problem(data.X, data.y, loss=Hinge(), penalty=L1(1 / n), A=A, gamma=1 / n)


def ours(problem: Problem, solver: AdaSADMM) -> float:
    """Seconds per row."""
    result = solve(problem, solver, epochs=EPOCHS, trace_every=EPOCHS)
    return result.trace["seconds"][-1] / (EPOCHS * problem.n)


def sgd(X: sp.csr_matrix, y) -> float:
    model = SGDClassifier(alpha=1 / len(y), average=True, fit_intercept=False, max_iter=EPOCHS, tol=None)
    start = time.perf_counter()
    model.fit(X, y)
    return (time.perf_counter() - start) / (EPOCHS * len(y))


SOLVERS = {
    "eta=1": AdaSADMM(eta=1.0),
    'eta="auto"': AdaSADMM(average="step-weighted"),
    'batch_size="auto"': AdaSADMM(eta=1.0, batch_size="auto"),
    "batch_size=8": AdaSADMM(eta=1.0, batch_size=8),
    "batch_size=32": AdaSADMM(eta=1.0, batch_size=32),
}


def rows(name: str) -> list[list[str]]:
    problem, data = problem_of(name), datasets.load(name)
    X = sp.csr_matrix(data.X)
    for solver in SOLVERS.values():
        solve(problem, solver, epochs=0.1)  # compile
    times: dict[str, list[float]] = {label: [] for label in ("SGDClassifier(average=True)", *SOLVERS)}
    for _ in range(REPEATS):
        times["SGDClassifier(average=True)"].append(sgd(X, data.y))
        for label, solver in SOLVERS.items():
            times[label].append(ours(problem, solver))
    medians = {label: statistics.median(found) for label, found in times.items()}
    base = medians["SGDClassifier(average=True)"]
    shape = f"{problem.d} features, {problem.m} edges"
    return [[name, shape, label, f"{1e6 * time:.3f}", f"{time / base:.1f}"] for label, time in medians.items()]


def text() -> str:
    head = ["data", "graph", "AdaSADMM(...)", "µs per row", "relative to SGD"]
    return page.table(head, [row for name in page.named() or ("a9a", "news20", "w8a") for row in rows(name)])


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
