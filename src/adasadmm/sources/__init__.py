"""Sources of rows: arrays, svmlight, Parquet, Arrow and CSV files, memory maps, Python iterators.

A source takes the place of X in `Problem` and in the estimators' ``fit``. It is read block by block, so memory does not
grow with the number of rows. A row that cannot be read raises a `SourceError` that names its place; with
``on_bad_row="skip"`` such rows are left out and counted.

A source consists of *partitions*, which can be read independently and in any order: ``len(source)`` is their number,
``source.read(k)`` reads one. A partition is read as one *block* of rows or several. `Source` shows how to add a file
format of your own.

Examples
--------
>>> import numpy as np
>>> from adasadmm import GraphGuidedClassifier, sources
>>> X = np.random.default_rng(0).normal(size=(300, 3))
>>> source = sources.arrays(X, X[:, 0] > 0, block_rows=100)
>>> len(source), source.shape
(3, (300, 3))
>>> model = GraphGuidedClassifier("chain", random_state=0, max_iter=5, solver="ada-diag")
>>> model.fit(source).score(X, X[:, 0] > 0) > 0.9
True
"""

import lazy_loader as _lazy

# Each name is imported on first use: rows in memory need no readers of files.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
