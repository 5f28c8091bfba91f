"""The estimators under dask-ml's Incremental, unchanged."""

import numpy as np
import pytest

from adasadmm import GraphGuidedClassifier

pytestmark = pytest.mark.compiled  # too slow without the compiler

da = pytest.importorskip("dask.array", reason="dask is not installed")
wrappers = pytest.importorskip("dask_ml.wrappers", reason="dask-ml is not installed")


def test_incremental_over_chunks_equals_one_pass_over_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] > 0).astype(int)
    settings = {"solver": "ada-diag", "alpha": 0.01, "l2": 0.01, "eta": 0.5, "beta": 1.0, "batch_size": 1}
    chunks = da.from_array(X, chunks=(100, 5)), da.from_array(y, chunks=100)
    blocks = wrappers.Incremental(GraphGuidedClassifier("chain", **settings), shuffle_blocks=False)
    blocks.fit(*chunks, classes=[0, 1])
    whole = GraphGuidedClassifier("chain", shuffle=False, max_iter=1, **settings).fit(X, y)
    np.testing.assert_array_equal(blocks.estimator_.coef_, whole.coef_)
