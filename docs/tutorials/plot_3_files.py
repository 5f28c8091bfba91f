"""
Streaming from files
====================

If your rows do not fit in memory, leave them in their files and pass a description of them to the model. The example is
small so that it runs in seconds; everything works the same with a thousand times as many rows.
"""

# %%
# Files
# -----
#
# The example writes six svmlight files of 3,000 rows each. CSV, Parquet, Arrow and ``.npy`` files and Python generators
# work as well (:doc:`/streams`).

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
# A source is a description of the data. Its size is determined on first use, by one scan of the files.

from adasadmm import GraphGuidedClassifier, sources

source = sources.svmlight(folder / "train-*.svm", block_bytes=200_000)
print(source.shape, "rows and features,", len(source), "blocks that can be read one by one")

# %%
# Fit
# ---
#
# Pass the source in place of X. ``solver="ada-diag"``, the adaptive stochastic solver, reads it block by block; here it
# makes three passes. At any time, only the current block and the next one are in memory. The default, ``"auto"``, would
# load these rows, because they take less than a quarter of the memory, and uses the stochastic solver for larger ones.

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
# Plot the coefficients
# ---------------------

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(9, 3.6))
ax.plot(truth, color="0.75", linewidth=5, label="planted")
ax.plot(model.coef_[0], "C0o", label="fitted")
ax.set(xlabel="feature", ylabel="coefficient")
ax.legend()
plt.show()

# %%
# The dots follow the planted steps, although the rows were never in memory all at once.
#
# Endless streams
# ---------------
#
# If rows arrive from a queue rather than from files, pass them to ``partial_fit`` as they come. Give the strengths as
# numbers here, because the length of a stream is unknown.

stream = GraphGuidedClassifier("chain", loss="logistic", alpha=0.003, l2=1e-4)
for _ in range(10):
    stream.partial_fit(*some_rows(500), classes=[-1, 1])
print("after 5,000 rows, once each:", stream.score(X_test, y_test))

# %%
# Unreadable rows
# ---------------
#
# The error names the file and the line. ``on_bad_row="skip"`` skips such rows and counts them.

(folder / "broken.svm").write_text("1 1:0.5\n-1 2:x\n1 2:1\n")
try:
    sources.svmlight(folder / "broken.svm").shape
except sources.SourceError as error:
    print(str(error).replace(str(folder), "..."))

# %%
# Save a long run
# ---------------
#
# With a checkpoint, an interrupted run can be resumed and ends with the same bits (:doc:`/persistence`).

from adasadmm import Checkpoint

model.fit(source, checkpoint=Checkpoint(folder / "run"), resume=True)

# %%
# The same from a terminal: ``adasadmm fit 'train-*.svm' --graph chain --model m.skops --checkpoint run --resume``.
