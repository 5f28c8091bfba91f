"""
A pixel grid: a few regions instead of 64 pixels
================================================

Is a handwritten digit of 8 x 8 pixels a 3 or an 8? A linear model gives each pixel a weight. Without further
knowledge, the weights of neighbouring pixels are unrelated. With the pixel grid as graph, the weights of neighbours are
drawn together and most become exactly equal, so the model consists of a few regions that can be interpreted.

The data come with scikit-learn: 357 pictures, a third of which are held out for testing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from adasadmm import GraphGuidedClassifier

X, digit = load_digits(return_X_y=True)
X, y = X[np.isin(digit, (3, 8))] / 16, digit[np.isin(digit, (3, 8))]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)

# %%
# Fit one model for each strength of the graph. ``alpha=0`` is the plain ridge. With ``tol=1e-6`` the answer is
# certified to six digits, and fused coefficients are exactly equal.

strengths = [0.0, 0.003, 0.03]
models = [
    GraphGuidedClassifier(("grid", 8, 8), loss="logistic", alpha=alpha, l2=0.005, tol=1e-6).fit(X_train, y_train)
    for alpha in strengths
]

figure, axes = plt.subplots(1, 3, figsize=(10, 3.9))
for ax, alpha, model in zip(axes, strengths, models, strict=True):
    most = np.abs(model.coef_).max()
    drawn = ax.imshow(model.coef_.reshape(8, 8), cmap="RdBu", vmin=-most, vmax=most)
    ax.set(xticks=[], yticks=[])
    groups, error = len(np.unique(model.clusters_)), 1 - model.score(X_test, y_test)
    ax.set_title(f"{'no graph' if alpha == 0 else f'alpha = {alpha:g}'}: {groups} weights\n{error:.1%} test error")
    ax.spines[:].set_visible(False)
bar = figure.colorbar(drawn, ax=axes, ticks=[-most, 0, most], shrink=0.8)
bar.ax.set_yticklabels(["favours 3", "0", "favours 8"])

# %%
# Blue pixels indicate an 8, red ones a 3. On the left, nearly every pixel has a different weight. On the right, only
# four regions remain; the darkest is the left side of the picture, where the loops of an 8 close and a 3 is open.
#
# A single split is weak evidence about accuracy. The next figure shows means over 5 splits, for more strengths:

SPLITS, strengths = 5, [0.0, *np.geomspace(3e-4, 0.03, 6)]
errors, groups = np.zeros((2, SPLITS, len(strengths)))
for seed in range(SPLITS):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    for k, alpha in enumerate(strengths):
        model = GraphGuidedClassifier(("grid", 8, 8), loss="logistic", alpha=alpha, l2=0.005, tol=1e-5)
        model.fit(X_train, y_train)
        errors[seed, k] = 100 * (1 - model.score(X_test, y_test))
        groups[seed, k] = len(np.unique(model.clusters_))

figure, ax = plt.subplots(figsize=(8, 4))
mean, deviation = errors.mean(axis=0), errors.std(axis=0) / np.sqrt(SPLITS)
ax.errorbar(groups.mean(axis=0)[1:], mean[1:], deviation[1:], marker="o", capsize=3, label="with the grid")
ax.axhline(mean[0], color="C3", linestyle="--", label="no graph")
ax.set(xlabel="distinct weights in the model", ylabel="test error, %", ylim=(0, None), xlim=(0, 64))
ax.legend(title=f"mean of {SPLITS} splits")
plt.show()

# %%
# The grid does not make this model more accurate; it makes it simpler, and the curve shows the price. With few rows and
# many features a graph also improves the accuracy: see :ref:`sphx_glr_gallery_plot_genes.py`.
