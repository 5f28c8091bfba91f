"""
Select or drop whole groups
===========================

If a pathway is either relevant or not, the coefficients of its genes should be all zero or all non-zero.
``graphs.overlapping_groups`` builds a matrix A that copies the members of each group, and the group penalty is the sum
of the norms of the copies. (Groups may overlap; a gene is then selected only if all of its groups are.)

The data are generated: 100 rows, and 160 genes in 16 pathways of ten, two of which are relevant.
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
# The lasso does not use the groups. For each model, the strength with the smallest error in the coefficients is used,
# so both are shown at their best; with real data, cross-validation would choose it.

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
# The group penalty finds the two relevant pathways; within them, each gene has its own coefficient. The lasso selects
# single genes in many pathways. (A pathway counts as "touched" if it has a coefficient above 0.05.) For disjoint
# groups and the squared loss, specialised packages for the group lasso are faster.
