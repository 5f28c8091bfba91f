"""
No step size to tune
====================

The paper selects the step size eta from a grid, by the result. With ``eta="auto"`` it is determined during the run:
by Theorem 2 it should be proportional to the distance from the optimum, which is estimated by the distance travelled so
far. Each run has two epochs; the results are means over three orders of the rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from adasadmm import ALM, L1, AdaSADMM, Hinge, Problem, graphs, solve


def problem_of(X, y, edges):
    strength = 1 / len(X)
    return Problem(X, y, loss=Hinge(), penalty=L1(strength), A=graphs.incidence(edges, d=X.shape[1]), gamma=strength)


X, digit = load_digits(return_X_y=True)
tumours, benign = load_breast_cancer(return_X_y=True)
tumours = StandardScaler().fit_transform(tumours)
problems = {
    "digits, even or odd": problem_of(X / 16, np.where(digit % 2 == 0, 1.0, -1.0), graphs.grid(8, 8)),
    "the same, pixels 50 times larger": problem_of(50 * X / 16, np.where(digit % 2 == 0, 1.0, -1.0), graphs.grid(8, 8)),
    "tumours": problem_of(tumours, 2.0 * benign - 1.0, graphs.glasso(tumours).edges),
}

# %%
# For each step size of the grid, take the better of the mean and the last iterate; for ``"auto"``, its own mean.


def after_two_epochs(problem, eta):
    values = []
    for seed in range(3):
        average = "auto" if eta == "auto" else "uniform"
        result = solve(problem, AdaSADMM(eta=eta, average=average), epochs=2, seed=seed)
        points = [result.w_average] if eta == "auto" else [result.w_average, result.w]
        values.append(min(map(problem.objective, points)))
    return np.mean(values)


grid = 2.0 ** np.arange(-9, 6, 2)
figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True)
for ax, (name, problem) in zip(axes, problems.items(), strict=True):
    optimum = solve(problem, ALM(), tol=1e-4).certificate.dual
    ax.plot(grid, [after_two_epochs(problem, eta) / optimum for eta in grid], "C3o-", label="step sizes of the grid")
    ax.axhline(after_two_epochs(problem, "auto") / optimum, color="C0", linewidth=2.5, label='eta="auto"')
    ax.axhline(1.0, color="0.6", linestyle=":", label="the optimum")
    ax.set(xscale="log", yscale="log", ylim=(0.9, 100), xlabel="eta", title=name)
    ax.set_yticks([1, 2, 5, 10, 30, 100], ["1", "2", "5", "10", "30", "100"])
    ax.minorticks_off()
axes[0].set_ylabel("objective after 2 epochs, of the optimum")
axes[0].legend(fontsize=9)
plt.show()

# %%
# The red curves show the result of a manual search. Their minimum is different for each problem, and moves when the
# columns are scaled. The blue line needs no search. It is close to the minimum for each problem and for both scales of
# the digits, but not always at it: with few rows (the tumours: 1,138 steps) the best step size of the grid can be
# better.
