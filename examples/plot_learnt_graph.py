"""
A graph learnt from the data
============================

Where no graph is known one can be learnt from the columns of X by sparse inverse covariance, as the paper does: an
edge joins two features that tell something of each other which the others do not. The 30 measurements of tumours
that come with scikit-learn are ten properties, each as mean, standard error and worst value; does the learnt graph
know that?
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
# The features stand in a circle, the three measurements of a property side by side. Thick lines join features whose
# coefficients are exactly equal, thin ones those that differ; colours are the coefficients.

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
figure.colorbar(colours, ax=ax, shrink=0.5, pad=0.0, label="coefficient; red speaks for a malignant tumour")
plt.show()

# %%
# Edges join measurements of the same property, and radius, perimeter and area, which are nearly the same thing.
# Along the thick lines the model uses one number for several measurements. ``model.clusters_`` holds these groups.
#
# Take such a graph for a hint: with other rows some edges would be others.
