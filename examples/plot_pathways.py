"""
Groups that live or die together
================================

A pathway matters, or it does not: all genes of a group should be zero, or none. ``graphs.overlapping_groups`` makes
a matrix A that copies the members of each group, and the group penalty adds up the norms of the copies. (Groups may
overlap; then a gene stays only if all its groups do.)

Generated data: 100 rows, 160 genes in 16 pathways of ten. Two pathways matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Lasso

from adasadmm import StructuredRegressor, graphs

rng = np.random.default_rng(0)
d = 160
groups = np.arange(d).reshape(16, 10)
truth = np.zeros(d)
truth[groups[[3, 9]]] = rng.choice([-1.0, 1.0], size=(2, 10)) * rng.uniform(0.5, 1.5, size=(2, 10))
X = rng.normal(size=(100, d))
y = X @ truth + rng.normal(size=100)

# %%
# The lasso knows no groups. Each strength is the one with the smallest error in the coefficients, so that both are
# shown at their best; with real data cross-validation would choose it.

copies = graphs.overlapping_groups(groups, d)


def distance(model):
    return np.sqrt(np.sum((model.coef_ - truth) ** 2))


def best(make, strengths):
    return min((make(alpha).fit(X, y) for alpha in strengths), key=distance)


grouped = best(
    lambda alpha: StructuredRegressor(copies, penalty="group", alpha=alpha, l2=1e-4), np.geomspace(0.1, 1.6, 7)
)
lasso = best(lambda alpha: Lasso(alpha=alpha), np.geomspace(0.01, 1, 12))

figure, axes = plt.subplots(2, 1, figsize=(9, 5.2), sharex=True, sharey=True)
for ax, name, model in zip(axes, ("groups", "lasso"), (grouped, lasso), strict=True):
    for k, group in enumerate(groups):
        ax.axvspan(group[0] - 0.5, group[-1] + 0.5, color="0.95" if k % 2 else "white", zorder=0)
    ax.vlines(np.arange(d), 0, truth, color="0.75", linewidth=4, label="planted")
    ax.scatter(np.arange(d), model.coef_, s=12, color="C0" if model is grouped else "C3", label="fitted", zorder=3)
    touched = np.count_nonzero(np.abs(model.coef_[groups]).max(axis=1) > 0.05)
    ax.set_title(f"{name}: distance from the truth {distance(model):.1f}, {touched} of 16 pathways touched")
    ax.set_ylabel("coefficient")
axes[0].legend(loc="upper right", ncols=2)
axes[1].set_xlabel("genes; each stripe is a pathway")
plt.show()

# %%
# The group penalty finds the two pathways that matter; within them it leaves each gene its own coefficient. The lasso
# leaves single genes all over the place. ("Touched" is a pathway with a coefficient above 0.05.) For groups that do not
# overlap, with the squared loss, packages for the plain group lasso are faster.
