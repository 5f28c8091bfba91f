"""
Text: rare words benefit from frequent synonyms
===============================================

Synonyms should have equal coefficients. A rare word occurs in too few texts to estimate its coefficient; if a graph
joins it to its synonyms, it shares theirs.

The texts are generated, so the truth is known. There are 80 groups of five synonyms, with word frequencies that follow
Zipf's law, as in real texts. A group indicates the positive label, the negative label, or (for most groups) neither. A
text has 20 words.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from adasadmm import GraphGuidedClassifierCV

GROUPS, SYNONYMS, LENGTH, TRAIN, TEST = 80, 5, 20, 400, 4000
rng = np.random.default_rng(0)
words = GROUPS * SYNONYMS
group = rng.permutation(np.repeat(np.arange(GROUPS), SYNONYMS))
frequency = 1 / np.arange(1, words + 1)
frequency /= frequency.sum()
truth = np.where(rng.random(GROUPS) < 0.4, rng.choice([-1.0, 1.0], GROUPS), 0.0)[group]

text = rng.choice(words, size=(TRAIN + TEST, LENGTH), p=frequency)
rows = np.repeat(np.arange(TRAIN + TEST), LENGTH)
X = sp.csr_array((np.ones(text.size), (rows, text.reshape(-1))), shape=(TRAIN + TEST, words))
X.sum_duplicates()
X.data[:] = 1.0  # whether a word occurs
score = X @ truth
y = score + rng.logistic(size=len(score)) > np.median(score)

# %%
# The graph joins each word to the next of its group. In practice, such edges come from a thesaurus or from word
# vectors.

by_group = np.argsort(group, kind="stable").reshape(GROUPS, SYNONYMS)
edges = np.concatenate([by_group[:, [k, k + 1]] for k in range(SYNONYMS - 1)])

graph = GraphGuidedClassifierCV(edges, loss="logistic", alphas=6, eps=0.02, cv=3, tol=0.01)
graph.fit(X[:TRAIN], y[:TRAIN])
ridge = GridSearchCV(LogisticRegression(max_iter=1000), {"C": np.geomspace(1e-3, 10, 9)}, cv=3)
ridge.fit(X[:TRAIN], y[:TRAIN])
for name, model in ("graph-guided", graph), ("ridge", ridge):
    print(f"{name}: test accuracy {model.score(X[TRAIN:], y[TRAIN:]):.3f}")
print(f"the truth: {np.mean((score[TRAIN:] > np.median(score)) == y[TRAIN:]):.3f}")

# %%
# Each dot is a word, from the rarest on the left to the most frequent on the right. Its height is its coefficient, and
# its colour the true meaning.

known = np.asarray(X[:TRAIN].sum(axis=0)).reshape(-1)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharex=True)
for ax, name, coef in zip(
    axes, ("ridge", "graph-guided"), (ridge.best_estimator_.coef_[0], graph.coef_[0]), strict=True
):
    for value, colour in (0.0, "0.75"), (1.0, "C0"), (-1.0, "C3"):
        mine = truth == value
        ax.scatter(known[mine] + 1, coef[mine], s=9, color=colour, label={0: "neither", 1: "for", -1: "against"}[value])
    accuracy = (graph if name == "graph-guided" else ridge).score(X[TRAIN:], y[TRAIN:])
    ax.set(xscale="log", xlabel="texts that contain the word, + 1", title=f"{name}: {accuracy:.1%} correct")
axes[0].set_ylabel("coefficient")
axes[0].legend(title="true meaning of the word", loc="lower right", markerscale=2, fontsize=9)
plt.show()

# %%
# With the ridge, rarer words have smaller coefficients, whatever they mean. With the graph, a rare word has the
# coefficient of its group, even if it occurs in no training text.
