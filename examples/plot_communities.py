"""
Coefficients that are constant on communities
=============================================

There are a thousand features and three hundred rows. The features form twenty communities, and all features of a
community have the same coefficient. The graph is known: for each feature it has five edges within its community, and
one in five of all edges is wrong, joining different communities.

The graph-guided model is compared with models of scikit-learn that do not use a graph: stochastic gradient descent
with ridge or elastic net, and logistic regression with L1 or ridge. All are tuned on the same folds and tested on
2,000 new rows. The adjusted Rand index compares the groups of equal coefficients (``clusters_``) with the
communities: 1 means the same partition, 0 the agreement expected by chance. The graph alone is connected: one group,
index 0.

.. code-block:: console

    python examples/plot_communities.py [picture.png] [--seeds 10] [--edges 5] [--noise 0.25] [--correlation 0.1]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from adasadmm import GraphGuidedClassifierCV


def number(name, default):
    return type(default)(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


PICTURE = next((argument for argument in sys.argv[1:] if argument.endswith((".png", ".pdf", ".svg"))), None)
SEEDS, D, N, COMMUNITIES, FRESH = number("--seeds", 10), 1000, 300, 20, 2000
EDGES, WRONG = number("--edges", 5) * D, 0.2  # correct edges; the proportion of wrong ones among all
NOISE = number("--noise", 0.25)  # in standard deviations of the score
CORRELATION = number("--correlation", 0.1)  # between two features of a community

# %%
# The planted structure. Features of a community are weakly correlated, like genes of a pathway.


def some_edges(pairs, count, rng):
    return rng.permutation(np.unique(np.sort(pairs, axis=1), axis=0))[:count]


def planted(seed):
    """Rows, labels, edges, the community of each feature, and the coefficients."""
    rng = np.random.default_rng(seed)
    community = np.repeat(np.arange(COMMUNITIES), D // COMMUNITIES)
    coef = rng.normal(size=COMMUNITIES)[community]
    common = rng.normal(size=(N + FRESH, COMMUNITIES))[:, community]
    X = np.sqrt(1 - CORRELATION) * rng.normal(size=(N + FRESH, D)) + np.sqrt(CORRELATION) * common
    score = X @ coef
    y = np.where(score + NOISE * score.std() * rng.normal(size=len(score)) > 0, 1, -1)
    pairs = rng.integers(D, size=(100 * EDGES, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = community[pairs[:, 0]] == community[pairs[:, 1]]
    right = some_edges(pairs[same], EDGES, rng)
    wrong = some_edges(pairs[~same], round(EDGES * WRONG / (1 - WRONG)), rng)
    return X, y, np.concatenate([right, wrong]), community, coef


# %%
# The models, tuned on the same folds.


def models(edges, folds):
    sgd = SGDClassifier(loss="log_loss", average=True, random_state=0)
    l2 = {"penalty": ["l2"], "alpha": np.geomspace(1e-4, 10, 6)}
    elastic = {"penalty": ["elasticnet"], "alpha": np.geomspace(1e-4, 0.1, 4), "average": [False]}  # means are dense
    ridge = LogisticRegression(max_iter=1000)
    l1 = LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=0)  # penalty="l1" before scikit-learn 1.8
    return {
        "graph-guided": GraphGuidedClassifierCV(edges, loss="logistic", alphas=12, eps=0.01, cv=folds, n_jobs=2),
        "ridge logistic": GridSearchCV(ridge, {"C": np.geomspace(1e-5, 1, 11)}, cv=folds, n_jobs=2),
        "SGD": GridSearchCV(sgd, [l2, elastic], cv=folds, n_jobs=2),
        "L1 logistic": GridSearchCV(l1, {"C": np.geomspace(0.01, 10, 10)}, cv=folds, n_jobs=2),
    }


accuracy, rand = {}, []
for seed in range(SEEDS):
    X, y, edges, community, coef = planted(seed)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X[:N], y[:N]))
    fitted = {name: model.fit(X[:N], y[:N]) for name, model in models(edges, folds).items()}
    for name, model in fitted.items():
        accuracy.setdefault(name, []).append(model.score(X[N:], y[N:]))
    rand.append(adjusted_rand_score(community, fitted["graph-guided"].clusters_))
    if seed == 0:
        shown = {name: getattr(model, "best_estimator_", model).coef_[0] for name, model in fitted.items()}
        truth = coef / np.sqrt(np.mean(coef**2))

for name, values in accuracy.items():
    print(f"{name:15} test accuracy {np.mean(values):.3f} (std {np.std(values):.3f})")
print(f"adjusted Rand index of clusters_ against the communities {np.mean(rand):.2f} (std {np.std(rand):.2f})")

# %%
# The coefficients of the first seed, each model scaled to the same norm (a few points lie outside), and the accuracies
# of all seeds. Sorted by the planted value, the communities form a staircase. Without the graph each coefficient is
# estimated separately; with it, the members of a community share information. Wrong edges may merge communities with
# nearly the same value, and features with few correct edges may stay isolated: the Rand index is therefore below 1.

order = np.argsort(truth, kind="stable")
figure = plt.figure(figsize=(11, 6), layout="constrained")
grid = figure.add_gridspec(3, 2, width_ratios=[3, 1.3])
for row, name in enumerate(["graph-guided", "ridge logistic", "L1 logistic"]):
    axes = figure.add_subplot(grid[row, 0], ylim=(-4.5, 4.5), xlim=(0, D))
    axes.plot(truth[order], color="0.75", linewidth=4)
    values = shown[name] / np.sqrt(np.mean(shown[name] ** 2))
    axes.scatter(range(D), values[order], s=5, color="C0" if row == 0 else "C3", linewidths=0, zorder=3)
    axes.set_xticks(np.arange(0, D + 1, D // COMMUNITIES), [])
    axes.set_title(name, loc="left")
    axes.grid(axis="x", linewidth=0.4)
axes.set_xlabel("features, a community between two lines; grey: planted, dots: fitted")
figure.supylabel("coefficient")
axes = figure.add_subplot(grid[:, 1], xlim=(-0.5, len(accuracy) - 0.1))
for place, values in enumerate(accuracy.values()):
    axes.scatter(np.full(SEEDS, place), values, s=14, color="C0" if place == 0 else "C3", alpha=0.5)
    axes.hlines(np.mean(values), place - 0.3, place + 0.3, color="black")
    axes.text(place + 0.33, np.mean(values), f"{np.mean(values):.2f}", va="center")
axes.set_xticks(range(len(accuracy)), [name.replace(" ", "\n").replace("-", "-\n") for name in accuracy])
axes.set_title("test accuracy, a dot for each seed", loc="left")
if PICTURE:
    figure.savefig(PICTURE, dpi=120)
elif __name__ == "__main__":
    plt.show()
