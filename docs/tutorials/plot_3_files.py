"""
Streaming from files
====================

More rows than memory: leave them in their files, and give the model a description of them. Everything on this page
works the same with a thousand times as many rows; it is small so that it runs in seconds.
"""

# %%
# Files
# -----
#
# Six files of svmlight text, 3,000 rows each, written for this page. CSV, Parquet, Arrow, ``.npy`` files and Python
# generators work as well (:doc:`/streams`).

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

rng = np.random.default_rng(0)
truth = np.repeat([1.0, -1.0, 0.0, 0.5], 10)


def some_rows(n):
    X = rng.normal(size=(n, 40)).round(3)
    return X, np.where(X @ truth + rng.logistic(size=n) > 0, 1, -1)


folder = Path(tempfile.mkdtemp())
for part in range(6):
    dump_svmlight_file(*some_rows(3000), str(folder / f"train-{part}.svm"), zero_based=False)

# %%
# A source
# --------
#
# It is a description, not data. The first time somebody asks for its size, the files are read once from end to end.

from adasadmm import GraphGuidedClassifier, sources

source = sources.svmlight(folder / "train-*.svm", block_bytes=200_000)
print(source.shape, "rows and features,", len(source), "blocks that can be read one by one")

# %%
# Fit
# ---
#
# The source stands where X stands. From a source the default is the adaptive stochastic solver; three passes here.
# In memory is one block, and the next while this one is used.

model = GraphGuidedClassifier("chain", loss="logistic", alpha=0.003, solver="ada-diag", max_iter=3, random_state=0)
model.fit(source)
X_test, y_test = some_rows(5000)
print(
    "test accuracy",
    model.score(X_test, y_test),
    "- of the planted coefficients",
    np.mean(np.sign(X_test @ truth) == y_test),
)

# %%
# What it learnt
# --------------

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(9, 3.6))
ax.plot(truth, color="0.75", linewidth=5, label="planted")
ax.plot(model.coef_[0], "C0o", label="fitted")
ax.set(xlabel="feature", ylabel="coefficient")
ax.legend()
plt.show()

# %%
# The dots follow the planted stairs, without a row of the files ever having been in memory longer than its block.
#
# Rows that never end
# -------------------
#
# Where rows come from a queue and not from files, ``partial_fit`` takes what has come. Here the strengths must be
# numbers: a stream does not know its length.

stream = GraphGuidedClassifier("chain", loss="logistic", alpha=0.003, l2=1e-4)
for _ in range(10):
    stream.partial_fit(*some_rows(500), classes=[-1, 1])
print("after 5,000 rows, once each:", stream.score(X_test, y_test))

# %%
# When something is wrong with a row
# ----------------------------------
#
# The message names file and line. ``on_bad_row="skip"`` leaves such rows out and counts them.

(folder / "broken.svm").write_text("1 1:0.5\n-1 2:x\n1 2:1\n")
try:
    sources.svmlight(folder / "broken.svm").shape
except sources.SourceError as error:
    print(str(error).replace(str(folder), "..."))

# %%
# A long run that may be interrupted
# ----------------------------------
#
# With a checkpoint it can be taken up again, to the same bits (:doc:`/persistence`).

from adasadmm import Checkpoint

model.fit(source, checkpoint=Checkpoint(folder / "run"), resume=True)

# %%
# In a terminal: ``adasadmm fit 'train-*.svm' --graph chain --model m.skops --checkpoint run --resume`` does all of
# that.
