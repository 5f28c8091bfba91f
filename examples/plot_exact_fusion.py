"""
Exactly equal coefficients
==========================

At the optimum, neighbours have equal coefficients. An iterative method only approximates it, so counting groups would
need a threshold. With ``polish=True`` the equalities are exact: the zeros of the variable v show which differences
vanish at the optimum, the coefficients concerned are fused, and the certificate is recomputed for the fused point. The
estimators fuse coefficients in the same way, at the gap that ``tol`` asks for.

The data are generated: a chain of 60 features in six segments.
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
# The figure shows the magnitudes of the 59 differences between neighbours, sorted, for three ways to solve the problem.

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
        axes[1].plot(w, "C0.", label="with polishing")
axes[0].axhline(1e-17, color="0.6", linewidth=0.8)
axes[0].text(1, 2e-17, "exactly 0", color="0.4")
axes[0].set(yscale="log", xlabel="differences of neighbours, sorted", ylabel="magnitude", ylim=(3e-18, 10))
axes[0].legend(loc="center left", bbox_to_anchor=(0, 0.42), fontsize=9)
axes[1].set(xlabel="features", ylabel="coefficient")
axes[1].legend()
plt.show()

# %%
# Without polishing, the small differences are small but not zero, and a threshold is impossible to choose (red), or
# becomes apparent only after a long run (orange). With polishing they are exactly zero, so groups can be counted with
# ``==``. A few small groups between the planted segments are part of the optimum of this problem: with noise, the
# penalty may prefer a staircase to a jump.
