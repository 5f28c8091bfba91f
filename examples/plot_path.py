"""
Choose the strength along a path
================================

``GraphGuidedRegressorCV`` fits the model for a decreasing sequence of strengths, which starts where all coefficients
are equal, with warm starts, and selects one by cross-validation. The path shows how groups form: from left to right,
lines merge.

The data are generated: 40 features on a chain, four segments of equal coefficients, 60 rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import GraphGuidedRegressorCV

rng = np.random.default_rng(0)
truth = np.repeat([1.0, -1.0, 0.0, 2.0], 10)
X = rng.normal(size=(60, 40))
y = X @ truth + 2.0 * rng.normal(size=60)

search = GraphGuidedRegressorCV("chain", alphas=25, eps=1e-3, l2s=[1e-3], cv=5).fit(X, y)
simple = GraphGuidedRegressorCV("chain", alphas=25, eps=1e-3, l2s=[1e-3], cv=5, rule="1se").fit(X, y)
for name, model in ("best", search), ("one standard error", simple):
    error = np.sqrt(np.mean((model.coef_ - truth) ** 2))
    print(
        f"{name}: alpha {model.alpha_:.3f}, {len(np.unique(model.clusters_))} groups, error of coefficients {error:.2f}"
    )

# %%
# Top: the coefficients, coloured by segment. Bottom: the mean score of the folds (R², higher is better) with its
# standard error.

figure, axes = plt.subplots(2, 1, figsize=(9, 6.4), sharex=True, height_ratios=(3, 2))
for k in range(40):
    axes[0].plot(search.alphas_, search.coef_path_[0][:, k], color=f"C{k // 10}", linewidth=1)
for value in np.unique(truth):
    axes[0].axhline(value, color="0.8", linewidth=4, zorder=0)
scores = search.cv_scores_[0]
axes[1].errorbar(search.alphas_, scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(5), color="black", capsize=2)
for ax in axes:
    ax.axvline(search.alpha_, color="C4", linestyle="--", label="the best mean")
    ax.axvline(simple.alpha_, color="C5", linestyle=":", linewidth=2, label="one standard error")
axes[0].set(xscale="log", ylabel="coefficients")
axes[0].legend(loc="upper right", title="selected by")
axes[1].set(xlabel="alpha, the strength of the graph", ylabel="score of the folds")
plt.show()

# %%
# The grey bars are the planted values. On the left (weak penalty), all 40 coefficients are different and noisy; in
# the middle they form four groups close to the planted values; on the right all are equal. ``rule="1se"`` selects the
# strongest penalty whose score is within one standard error of the best. ``PathDisplay.from_estimator(search)`` draws
# such a figure in one line.
