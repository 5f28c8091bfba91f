"""
Groups that are exactly equal
=============================

An iterative method comes near the optimum, where neighbours have equal coefficients; but near is not equal, and
counting groups needs a threshold. With ``polish=True`` (the estimators do it for ``tol`` below 1e-4) the answer is
made exact: the method knows from its other variable v which differences are zero at the optimum, and joins those
coefficients; then it proves anew how good that point is.

Generated data: a chain of 60 features in six stretches.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import ADMM, ALM, L1, AdaSADMM, Problem, Squared, graphs, solve

rng = np.random.default_rng(0)
truth = np.repeat([1.0, -0.5, 0.0, 2.0, 1.5, -1.0], 10)
X = rng.normal(size=(200, 60))
problem = Problem(
    X,
    X @ truth + rng.normal(size=200),
    loss=Squared(),
    penalty=L1(0.15),
    A=graphs.incidence(graphs.chain(60)),
    gamma=1e-4,
)

# %%
# The size of the 59 differences between neighbours, sorted, for three ways to solve the same problem.

runs = {
    "Ada-SADMM, 50 epochs": solve(problem, AdaSADMM(average="auto"), epochs=50),
    "batch ADMM, gap below 1e-5": solve(problem, ADMM(), tol=1e-5),
    "with polish": solve(problem, ALM(), tol=1e-5, polish=True),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=(3, 2))
for colour, (name, result) in zip(("C3", "C1", "C0"), runs.items(), strict=True):
    w = result.w_average
    sizes = np.sort(np.abs(np.diff(w)))
    axes[0].plot(np.maximum(sizes, 1e-17), colour + ".-", label=name)
    print(
        f"{name}: {1 + np.count_nonzero(sizes)} different numbers, relative gap {result.certificate.relative_gap:.0e}"
    )
    if name == "with polish":
        axes[1].plot(truth, color="0.75", linewidth=5, label="planted")
        axes[1].plot(w, "C0.", label="with polish")
axes[0].axhline(1e-17, color="0.6", linewidth=0.8)
axes[0].text(1, 2e-17, "exactly 0", color="0.4")
axes[0].set(yscale="log", xlabel="differences of neighbours, sorted", ylabel="size", ylim=(3e-18, 10))
axes[0].legend(loc="center left", bbox_to_anchor=(0, 0.42), fontsize=9)
axes[1].set(xlabel="features", ylabel="coefficient")
axes[1].legend()
plt.show()

# %%
# Without polish the small differences are small, but none is zero; where a threshold should be cannot be seen
# (red), or only after a long run (orange). With it they are exactly zero, so that groups can be counted with
# ``==``. A handful of small groups between the planted stretches belongs to the optimum of this problem itself: the
# penalty prefers a staircase to a jump where noise allows.
