"""
Learning from files block by block
==================================

Rows that do not fit in memory stay in files and are read block by block. ``partial_fit`` learns from each block and
discards it. Predicting each block *before* learning from it gives an unbiased score at no cost, the progressive loss:
every row is predicted before it is used.

The rows are generated: 12 svmlight files, 50 features on a chain.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from adasadmm import GraphGuidedClassifier

rng = np.random.default_rng(0)
truth = np.repeat([1.0, -1.0, 0.0, 0.5, -0.5], 10)
folder = Path(tempfile.mkdtemp())
for part in range(12):
    X = rng.normal(size=(1000, 50)).round(3)
    y = np.where(X @ truth + 2.0 * rng.logistic(size=1000) > 0, 1, -1)
    dump_svmlight_file(X, y, str(folder / f"part-{part:02}.svm"), zero_based=False)

# %%
# Two models read the same files: one assumes that neighbouring coefficients are similar, the other does not
# (``alpha=0``).

strengths = {"with the chain": 0.01, "without": 0.0}
models = {
    name: GraphGuidedClassifier("chain", loss="logistic", alpha=alpha, l2=1e-4, batch_size=1)
    for name, alpha in strengths.items()
}
rows, wrong, apart = [], {name: [] for name in models}, {name: [] for name in models}
for path in sorted(folder.glob("*.svm")):
    X, y = load_svmlight_file(str(path), n_features=50)
    for block in np.array_split(np.arange(len(y)), 4):
        rows.append(len(block))
        for name, model in models.items():
            known = hasattr(model, "coef_")
            wrong[name].append(np.sum(model.predict(X[block]) != y[block]) if known else len(block) / 2)
            model.partial_fit(X[block], y[block], classes=[-1, 1])
            direction = model.coef_[0] / np.linalg.norm(model.coef_)
            apart[name].append(np.linalg.norm(direction - truth / np.linalg.norm(truth)))

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2))
for name in models:
    axes[0].plot(np.cumsum(rows), 100 * np.cumsum(wrong[name]) / np.cumsum(rows), label=name)
    axes[1].plot(np.cumsum(rows), apart[name], label=name)
axes[0].set(xlabel="rows read", ylabel="errors so far, %", title="predicted before learning")
axes[1].set(xlabel="rows read", ylabel="distance from the planted direction", title="coefficients", ylim=(0, None))
axes[0].legend()
plt.show()

# %%
# There is one pass, with one block in memory at a time. The model with the chain makes fewer errors in the beginning.
# The curves converge as more rows arrive, and finally the coefficients of the chain are no more accurate than the
# others: a penalty of constant strength becomes a bias.
#
# For several passes, automatic division into blocks, and other formats, pass a source to ``fit``:
# ``model.fit(sources.svmlight("part-*.svm"))`` (:doc:`/streams`).
