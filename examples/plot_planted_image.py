"""
Which pixels decide? Weights that form regions
==============================================

Each of 300 images is labelled by a weighted sum of its 256 pixels plus noise. The weights form a square and a disc. A
model that does not know which pixels are neighbours has 256 separate weights to learn from 300 labels, and finds
speckles. With the pixel grid as graph, neighbouring weights are equal unless the data say otherwise.

The images are generated. All strengths are chosen by cross-validation on the 300 images.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from adasadmm import GraphGuidedClassifierCV

SIDE, ROWS, FRESH = 16, 300, 2000
rng = np.random.default_rng(0)
truth = np.zeros((SIDE, SIDE))
truth[2:8, 2:8] = 1.0
row, column = np.mgrid[:SIDE, :SIDE]
truth[(row - 11) ** 2 + (column - 10.5) ** 2 <= 12] = -1.0
X = rng.normal(size=(ROWS + FRESH, SIDE * SIDE))
score = X @ truth.ravel()
y = np.where(score + 0.3 * score.std() * rng.normal(size=len(score)) > 0.0, 1, -1)

# %%
# Three models of the same rows.

l1 = LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=0)  # penalty="l1" before scikit-learn 1.8
models = {
    "L1": GridSearchCV(l1, {"C": np.geomspace(0.03, 3.0, 5)}),
    "ridge": GridSearchCV(LogisticRegression(max_iter=1000), {"C": np.geomspace(1e-4, 1.0, 5)}),
    "pixel grid": GraphGuidedClassifierCV(("grid", SIDE, SIDE), loss="logistic", alphas=8, eps=0.02),
}
for model in models.values():
    model.fit(X[:ROWS], y[:ROWS])

# %%
# The weights, each model on its own scale, and the accuracy on 2,000 new images.

figure, axes = plt.subplots(1, 4, figsize=(10, 3.2))
axes[0].imshow(truth, cmap="RdBu_r", vmin=-1, vmax=1)
axes[0].set_title("true weights")
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    weights = getattr(model, "best_estimator_", model).coef_.reshape(SIDE, SIDE)
    most = np.abs(weights).max()
    ax.imshow(weights, cmap="RdBu_r", vmin=-most, vmax=most)
    ax.set_title(f"{name}: {model.score(X[ROWS:], y[ROWS:]):.0%}")
for ax in axes:
    ax.set_axis_off()
plt.show()

# %%
# The groups of equal pixels, and the certificate: the optimum lies below the objective by at most this fraction of the
# objective's excess over the least possible loss, which is 0 here.

grid = models["pixel grid"]
print(len(np.unique(grid.clusters_)), "groups of pixels,", f"relative duality gap {grid.dual_gap_:.1e}")
