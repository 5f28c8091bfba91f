"""
The bounds of the theorems and actual runs
==========================================

The paper proves that the expected suboptimality of the mean of the iterates is below a bound that decreases like
``1 / sqrt(T)``. :func:`adasadmm.theory.bounds` replays a run and evaluates the bounds. How tight are they?

The rows are generated, with hinge loss and a chain as graph. They are drawn with replacement, as the theorems assume,
in four runs for each length.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import ALM, L1, AdaSADMM, Hinge, Problem, graphs, solve, theory

rng = np.random.default_rng(0)
n, d = 400, 12
X = rng.normal(size=(n, d)) / np.sqrt(d)
y = np.where(X @ np.repeat([3.0, 0.0, -3.0], 4) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
problem = Problem(X, y, loss=Hinge(), penalty=L1(0.01), A=graphs.incidence(graphs.chain(d)), gamma=0.01)
optimum = solve(problem, ALM(), tol=1e-8)

# %%
# For each length T, compute the bounded quantity, ``f(mean) - f* + rho |A w + B v - b|``, and the right-hand sides of
# Theorem 1, which uses all iterates of the run, and of Theorem 2 (diagonal) or 3 (full), which use only sums of
# gradients.

lengths = [30, 100, 300, 1000]
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True)
for ax, (metric, second) in zip(axes, [("diagonal", "theorem2"), ("full", "theorem3")], strict=True):
    seen = {"lhs": [], "theorem1": [], second: []}
    for T in lengths:
        runs = [
            theory.bounds(problem, AdaSADMM(metric, eta=1.0), rng.integers(n, size=T), optimum.w, optimum.v, rho=0.1)
            for _ in range(4)
        ]
        for name, values in seen.items():
            values.append([getattr(run, name) for run in runs])
    ax.plot(lengths, np.mean(seen[second], axis=1), "C3s-", label=f"Theorem {second[-1]}")
    ax.plot(lengths, np.mean(seen["theorem1"], axis=1), "C1o-", label="Theorem 1")
    ax.plot(lengths, np.mean(seen["lhs"], axis=1), "C0o-", label="the runs, mean of four")
    ax.plot(lengths, np.array(seen["lhs"]), "C0.", markersize=4, alpha=0.5)
    ax.plot(lengths, 5 / np.sqrt(lengths), color="0.6", linestyle=":", label="slope of 1 / sqrt(T)")
    ax.set(xscale="log", yscale="log", xlabel="iterations T", title=f"{metric} metric")
    truth = np.mean(seen["lhs"][-1])
    times = [f"Theorem {name[-1]} {np.mean(seen[name][-1]) / truth:.0f} times" for name in ("theorem1", second)]
    print(f"{metric}, {T} iterations: {' and '.join(times)} what happened")
axes[0].set_ylabel("above the optimum")
axes[0].legend()
plt.show()

# %%
# The bounds hold, and decrease at least as fast as predicted. As usual for such bounds, they overestimate the error:
# Theorem 1 by a small factor, the others by more, because they replace each distance by the largest one. They describe
# how an algorithm scales, not when to stop; use the certificate for that
# (:ref:`sphx_glr_gallery_plot_certificate.py`).
