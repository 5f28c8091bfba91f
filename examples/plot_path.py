"""
Choose the strength along a path
================================

``GraphGuidedRegressorCV`` fits the model for a decreasing sequence of strengths, which starts where all coefficients
are equal, with warm starts, and selects one by cross-validation. The path shows how groups form: from right to left,
lines merge.

The data are generated: 40 features on a chain, four segments of equal coefficients, 60 rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import GraphGuidedRegressorCV, PathDisplay

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
# ``PathDisplay`` shows both in one line. Top: the coefficients, from the strongest penalty on the left to the weakest;
# lines of one colour are a group at the selected strength. Bottom: the mean score of the folds (R², higher is better)
# with its standard error, and what the two rules select. The grey bars, added here, are the planted values.

display = PathDisplay.from_estimator(simple)
for value in np.unique(truth):
    display.ax_.axhline(value, color="0.9", linewidth=5, zorder=0)
plt.show()

# %%
# On the left, all coefficients are equal; on the right (weak penalty), all 40 are different and noisy. In between they
# form groups close to the planted values. ``rule="1se"`` selects the strongest penalty whose score is within one
# standard error of the best.
#
# A search over two strengths, here also that of the ridge, is a table of scores.

both = GraphGuidedRegressorCV("chain", alphas=15, l2s=np.geomspace(1e-3, 10, 9), cv=5).fit(X, y)
PathDisplay.from_estimator(both, kind="heatmap")
plt.show()
