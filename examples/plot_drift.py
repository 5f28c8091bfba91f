"""
A stream that changes
=====================

What was true a while ago is no longer: half-way through the stream the coefficients change. A model that averages
over all it has seen is slow to notice. How fast the three ways to go on with ``partial_fit`` follow.

Generated rows, 30 features on a chain; each block of 100 rows is predicted before it is learnt from.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import GraphGuidedClassifier

rng = np.random.default_rng(0)
before, after = np.repeat([1.0, -1.0, 0.5], 10), np.repeat([-0.5, 1.0, 1.0], 10)
BLOCKS, ROWS = 80, 100

# %%
# "Mean of all" is the uniform mean of all iterates, the theorems' one. "Last iterate" takes the newest coefficients.
# Both have a constant step. "Begin anew" starts a fresh model every 20 blocks.

settings = {"loss": "logistic", "alpha": 0.003, "l2": 1e-3, "batch_size": 1}
make = {
    "mean of all": lambda: GraphGuidedClassifier("chain", average="uniform", eta=1.0, **settings),
    "last iterate": lambda: GraphGuidedClassifier("chain", average="last", eta=1.0, **settings),
    "begin anew": lambda: GraphGuidedClassifier("chain", average="uniform", eta=1.0, **settings),
}
models = {name: build() for name, build in make.items()}
errors = {name: [] for name in models}
for number in range(BLOCKS):
    X = rng.normal(size=(ROWS, 30))
    y = np.where(X @ (before if number < BLOCKS // 2 else after) + rng.logistic(size=ROWS) > 0, 1, -1)
    for name in models:
        if number:
            errors[name].append(np.mean(models[name].predict(X) != y))
        if name == "begin anew" and number % 20 == 19:
            models[name] = make[name]()
        models[name].partial_fit(X, y, classes=[-1, 1])

figure, ax = plt.subplots(figsize=(9, 4.4))
smooth = np.ones(5) / 5
for name, colour in zip(models, ("C3", "C0", "C2"), strict=True):
    ax.plot(np.arange(3, BLOCKS - 2), 100 * np.convolve(errors[name], smooth, "valid"), colour, label=name, linewidth=2)
ax.axvline(BLOCKS // 2, color="0.6", linestyle="--")
ax.text(BLOCKS // 2 + 0.5, 2, "the coefficients change", color="0.4")
ax.set(xlabel="block of 100 rows", ylabel="errors, %, mean of 5 blocks", ylim=(0, None))
ax.legend()
plt.show()

# %%
# While nothing changes the mean is as good as any. After the change it goes on predicting from a past that is over,
# the last iterate follows within some blocks, and beginning anew recovers when its time comes, at the price of a
# few bad blocks each time. For a stream that can change: ``average="last"`` and a number for ``eta``.
