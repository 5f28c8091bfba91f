"""Rows on the workers of a Dask cluster (needs the extra ``dask``).

`spread` loads the rows of Dask arrays or data frames, or of any source, into the memory of the workers. The result is a
source, which `Problem`, `solve` and the estimators take in place of X. Rows then never leave their workers: a
stochastic solver runs in rounds (`adasadmm.solvers.stochastic.lanes`), and batch ADMM adds up sums over the blocks
(`adasadmm.solvers.admm.batch`). The estimators' ``fit`` calls `source_of` itself if X is a Dask collection.

Examples
--------
>>> import dask.array
>>> from adasadmm import GraphGuidedClassifier, distributed
>>> from distributed import Client
>>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
>>> X = dask.array.random.default_rng(0).normal(size=(10_000, 20), chunks=(1000, 20))
>>> y = X[:, 0] > 0
>>> model = distributed.fit(GraphGuidedClassifier("chain"), X, y, client=client)  # doctest: +SKIP
"""

import lazy_loader as _lazy

# Each name is imported on first use: rows that are not Dask's need none of them.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
