"""
A graph learnt from the data
============================

If no graph is known, it can be learnt from the columns of X by sparse inverse covariance, as in the paper: an
edge joins two features that are correlated given all other features. The 30 measurements of tumours that come with
scikit-learn are ten properties, each as mean, standard error and worst value. Does the learnt graph reveal this?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from adasadmm import GraphGuidedClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
model = GraphGuidedClassifier("glasso", loss="logistic", alpha=0.004, l2=0.02, tol=1e-6).fit(X, y)
print(model.summary())

# %%
# The features are arranged in a circle, with the three measurements of a property next to each other. Thick lines join
# features with exactly equal coefficients, thin lines those that differ; colours show the coefficients.

kinds = ("mean", "error", "worst")
property_of = [" ".join(word for word in name.split() if word not in kinds) for name in X.columns]
order = np.argsort(property_of, kind="stable")
angle = np.empty(len(order))
angle[order] = 2 * np.pi * np.arange(len(order)) / len(order)
coef, edges = model.coef_[0], model.graph_

figure, ax = plt.subplots(figsize=(9, 9), subplot_kw={"projection": "polar"})
for i, j in edges:
    equal = coef[i] == coef[j]
    ax.plot(angle[[i, j]], [1, 1], color="black" if equal else "0.7", linewidth=2.5 if equal else 0.8, zorder=1)
colours = ax.scatter(
    angle, np.ones(len(coef)), c=coef, cmap="RdBu", vmin=-0.7, vmax=0.7, s=140, edgecolors="0.4", zorder=3
)
for k, name in enumerate(X.columns):
    turn = np.degrees(angle[k])
    left = 90 < turn < 270
    ax.text(
        angle[k],
        1.07,
        name,
        rotation=turn + 180 * left,
        rotation_mode="anchor",
        ha="right" if left else "left",
        va="center",
        fontsize=9,
    )
ax.set_ylim(0, 1.5)
ax.axis("off")
figure.colorbar(colours, ax=ax, shrink=0.5, pad=0.0, label="coefficient; red indicates a malignant tumour")
plt.show()

# %%
# Edges join measurements of the same property, and also radius, perimeter and area, which are nearly equivalent.
# Along the thick lines the model uses one coefficient for several measurements; ``model.clusters_`` contains these
# groups.
#
# Such a graph is only a hint: other rows would give somewhat different edges.
