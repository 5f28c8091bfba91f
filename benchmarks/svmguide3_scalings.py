"""Which scaling of svmguide3 gives the paper's figures? Its objective is below the optimum for the raw features.

    ADASADMM_DATA=... python benchmarks/svmguide3_scalings.py

The paper: diagonal 0.5163, test error 0.2056; full 0.5230, 0.2000; SADMM 1.6143, 0.2161. Prints a table in Markdown.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler, normalize

from adasadmm import ADMM, L1, SADMM, AdaSADMM, Hinge, Problem, datasets, graphs, solve
from adasadmm.paper.cells import scaled

SEEDS = range(5)
SCALINGS = {
    "as published": lambda X: X,
    "columns to [-1, 1], constant ones to 0": lambda X: scaled(sp.csr_array(X), np.arange(len(X))),
    "columns to [0, 1]": lambda X: MinMaxScaler().fit_transform(X),
    "columns by their largest": lambda X: MaxAbsScaler().fit_transform(X),
    "columns of variance 1": lambda X: StandardScaler(with_mean=False).fit_transform(X),
    "columns of mean 0, variance 1": lambda X: StandardScaler().fit_transform(X),
    "rows of norm 1": lambda X: normalize(X),
    "a column of ones added": lambda X: np.hstack([X, np.ones((len(X), 1))]),
}


def line(name: str) -> list[str]:
    """Optimum, diagonal with the best eta of the grid for the objective, and SADMM; means over seeds."""
    data = datasets.load("svmguide3")
    X, y = SCALINGS[name](data.X.toarray()), data.y
    figures = []
    for seed in SEEDS:
        rows = np.random.default_rng(seed).permutation(len(y))
        train, test = rows[: round(0.8 * len(y))], rows[round(0.8 * len(y)) :]
        n, d = len(train), X.shape[1]
        A = graphs.incidence(graphs.glasso(X[train], penalty=0.02).edges, d=d)
        problem = Problem(X[train], y[train], loss=Hinge(), penalty=L1(1 / n), A=A, gamma=1 / n)
        runs = [solve(problem, AdaSADMM(eta=2.0**k, w_step="exact"), seed=seed).w_mean for k in range(-5, 6)]
        best = min(runs, key=problem.objective)
        plain = solve(problem, SADMM(), seed=seed).w_mean
        error = np.mean(np.where(X[test] @ best >= 0.0, 1.0, -1.0) != y[test])
        optimum = solve(problem, ADMM(), tol=1e-4, epochs=20_000).certificate.primal
        figures.append((optimum, problem.objective(best), error, problem.objective(plain)))
    return [name, *(f"{figure:.4f}" for figure in np.mean(figures, axis=0))]


if __name__ == "__main__":
    print("| features | optimum | diagonal | its test error | SADMM |\n|---|---:|---:|---:|---:|")
    for scaling in SCALINGS:
        print("| " + " | ".join(line(scaling)) + " |", flush=True)
