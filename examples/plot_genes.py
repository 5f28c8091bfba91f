"""
Gene expression: few patients, many genes, a network
====================================================

There are 120 patients and 300 genes in 15 pathways. The genes of a pathway act together: they have the same
coefficient. A gene network is known, in which most edges join members of the same pathway, and one edge in five is
wrong. A model that uses the network is compared with a ridge, which has more coefficients than there are patients.

The data are generated, so the truth is known. ``examples/plot_communities.py`` is the same with a thousand genes and
ten draws; its table is in :doc:`/estimators`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from adasadmm import GraphGuidedClassifierCV

GENES, PATHWAYS, PATIENTS, FRESH = 300, 15, 120, 3000
rng = np.random.default_rng(0)
pathway = np.repeat(np.arange(PATHWAYS), GENES // PATHWAYS)
truth = rng.normal(size=PATHWAYS)[pathway]
common = rng.normal(size=(PATIENTS + FRESH, PATHWAYS))[:, pathway]
X = np.sqrt(0.9) * rng.normal(size=(PATIENTS + FRESH, GENES)) + np.sqrt(0.1) * common
score = X @ truth
y = score + 0.25 * score.std() * rng.normal(size=len(score)) > 0

# %%
# The network joins each gene to five others, one of which is chosen at random among all genes.

first = np.repeat(np.arange(GENES), 5)
second = np.where(
    np.arange(5 * GENES) % 5 == 0,
    rng.integers(GENES, size=5 * GENES),
    pathway[first] * (GENES // PATHWAYS) + rng.integers(GENES // PATHWAYS, size=5 * GENES),
)
pairs = np.sort(np.column_stack([first, second]), axis=1)
edges = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
print(f"{len(edges)} edges, {np.mean(pathway[edges[:, 0]] != pathway[edges[:, 1]]):.0%} wrong")

# %%
# Both strengths are chosen on the same folds of the 120 patients.

graph = GraphGuidedClassifierCV(edges, loss="logistic", alphas=6, eps=0.03, cv=4, tol=0.01).fit(
    X[:PATIENTS], y[:PATIENTS]
)
ridge = GridSearchCV(LogisticRegression(max_iter=1000), {"C": np.geomspace(1e-5, 1, 11)}, cv=4)
ridge.fit(X[:PATIENTS], y[:PATIENTS])

order = np.argsort(truth, kind="stable")
figure, axes = plt.subplots(2, 1, figsize=(9, 5.4), sharex=True)
models = {"with the network": (graph, graph.coef_[0]), "ridge": (ridge, ridge.best_estimator_.coef_[0])}
for ax, (name, (model, coef)) in zip(axes, models.items(), strict=True):
    scale = np.sqrt(np.mean(truth**2) / np.mean(coef**2))  # the accuracy does not depend on the scale
    ax.plot(truth[order], color="0.75", linewidth=5, label="planted")
    ax.scatter(range(GENES), scale * coef[order], s=8, color="C0" if model is graph else "C3", label="fitted", zorder=3)
    ax.set(ylim=(-3.5, 3.5), ylabel="coefficient")
    ax.set_title(f"{name}: {model.score(X[PATIENTS:], y[PATIENTS:]):.1%} right on {FRESH} new patients")
axes[0].legend(loc="upper left", markerscale=2)
axes[1].set_xlabel("genes, in the order of their planted coefficients")
plt.show()

# %%
# At the top, the dots follow the planted staircase, since the genes of a pathway share information. At the bottom, each
# coefficient is estimated separately. The figure shows one draw of a case that suits the method; with more patients, or
# with more wrong edges, the difference is smaller.
