"""
A stream with concept drift
===========================

Half-way through the stream, the coefficients change. A model that averages over all rows is slow to adapt. This example
compares three ways to use ``partial_fit``.

The rows are generated, with 30 features on a chain. Each block of 100 rows is predicted before the model learns from
it.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import GraphGuidedClassifier

rng = np.random.default_rng(0)
before, after = np.repeat([1.0, -1.0, 0.5], 10), np.repeat([-0.5, 1.0, 1.0], 10)
BLOCKS, ROWS = 80, 100

# %%
# "Mean of all" is the uniform mean of all iterates, as in the theorems. "Last iterate" uses the most recent
# coefficients. Both have a constant step size. "Restart" starts a new model every 20 blocks.

settings = {"loss": "logistic", "alpha": 0.003, "l2": 1e-3, "batch_size": 1}
make = {
    "mean of all": lambda: GraphGuidedClassifier("chain", average="uniform", eta=1.0, **settings),
    "last iterate": lambda: GraphGuidedClassifier("chain", average="last", eta=1.0, **settings),
    "restart": lambda: GraphGuidedClassifier("chain", average="uniform", eta=1.0, **settings),
}
models = {name: build() for name, build in make.items()}
errors = {name: [] for name in models}
for number in range(BLOCKS):
    X = rng.normal(size=(ROWS, 30))
    y = np.where(X @ (before if number < BLOCKS // 2 else after) + rng.logistic(size=ROWS) > 0, 1, -1)
    for name in models:
        if number:
            errors[name].append(np.mean(models[name].predict(X) != y))
        if name == "restart" and number % 20 == 19:
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
# Before the change, the mean is as good as the others. After it, the mean keeps predicting from outdated data, whereas
# the last iterate adapts within a few blocks. Restarting recovers at the next restart, at the price of a few bad blocks
# each time. For a stream with drift, use ``average="last"`` and a number for ``eta``.
