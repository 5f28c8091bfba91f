"""
Where each solver wins
======================

No solver is the best everywhere. This example plots suboptimality against time for four solvers with default settings,
on three problems of different shape.

The rows are generated, with hinge loss and a chain as graph. The clock is stopped while the objective is evaluated, and
compilation is not counted. The problems are small, so the page builds in seconds; :doc:`/benchmarks` and
:doc:`/high_accuracy` have larger ones.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from adasadmm import ADMM, ALM, L1, SPDHG, AdaSADMM, Hinge, Problem, graphs, solve

rng = np.random.default_rng(0)


def problem_of(X):
    n, d = X.shape
    score = X @ np.repeat(rng.normal(size=d // 10), 10)
    y = np.where(score + 0.5 * score.std() * rng.normal(size=n) > 0, 1.0, -1.0)
    return Problem(X, y, loss=Hinge(), penalty=L1(1 / n), A=graphs.incidence(graphs.chain(d)), gamma=1 / n)


problems = {
    "20,000 x 20, dense": problem_of(rng.normal(size=(20_000, 20))),
    "1,000 x 100, dense": problem_of(rng.normal(size=(1000, 100))),
    "3,000 x 800, sparse": problem_of(sp.random_array((3000, 800), density=0.01, rng=rng, format="csr")),
}

# %%
# The curves show the true suboptimality, which is unknown in practice; "ALM" and "batch ADMM" also know their duality
# gap.

solvers = {
    "ALM": (ALM(), {"tol": 1e-6}),
    "batch ADMM": (ADMM(), {"tol": 1e-6, "epochs": 200, "trace_every": 2}),
    "SPDHG": (SPDHG(), {"tol": 1e-5, "epochs": 60, "trace_every": 1}),
    "Ada-SADMM": (AdaSADMM(average="auto", batch_size="auto"), {"epochs": 10, "trace_every": 0.1}),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 4.4), sharey=True)
for ax, (name, problem) in zip(axes, problems.items(), strict=True):
    runs, optimum = {}, -np.inf
    for label, (solver, settings) in solvers.items():
        solve(problem, solver, epochs=1)  # compiles
        seen = []
        result = solve(
            problem, solver, callback=lambda point, seen=seen: seen.append((point.seconds, point.w_average)), **settings
        )
        optimum = max(optimum, result.certificate.dual)
        runs[label] = [(seconds, problem.objective(w)) for seconds, w in seen]
    for label, points in runs.items():
        seconds, values = np.array(points).T
        ax.plot(1e-3 + seconds, np.maximum(values / optimum - 1, 1e-7), marker=".", label=label)
    ax.set(xscale="log", yscale="log", xlabel="seconds", title=name, ylim=(1e-6, 5))
axes[0].set_ylabel("above the optimum, relative")
axes[0].legend()
plt.show()

# %%
# Left, many rows and few features: Ada-SADMM reaches one per cent first, ALM high accuracy. Middle, few of both: batch
# ADMM and SPDHG are the fastest to one per cent and ALM beyond, while Ada-SADMM has too few rows. Right, more features
# and sparse rows: SPDHG is far ahead, because each step of ALM solves a system in all features.
# With the hinge loss and many more rows than features, ``solver="auto"`` uses ALM because it ends with a certificate
# for any data, not because it is always the fastest (:doc:`/choosing`).
