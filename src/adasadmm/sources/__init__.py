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

from __future__ import annotations

from ._arrays import arrays, iterator, memmap
from ._base import Source
from ._cached import cached
from ._faults import BadRow, Faults, RawBlock, SourceError, SourceWarning
from ._files import arrow, csv, open, parquet, svmlight
from ._gate import check_block
from ._scaled import scaled
from ._summary import Summary
from ._tables import Tables, tables

__all__ = [
    "BadRow",
    "Faults",
    "RawBlock",
    "Source",
    "SourceError",
    "SourceWarning",
    "Summary",
    "Tables",
    "arrays",
    "arrow",
    "cached",
    "check_block",
    "csv",
    "iterator",
    "memmap",
    "open",
    "parquet",
    "scaled",
    "svmlight",
    "tables",
]
