"""Facts on the paper's data, where ADASADMM_DATA points to them; a generated likeness of a9a otherwise."""

import os
import pathlib

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from adasadmm import ADMM, L1, Hinge, Problem, graphs, solve

pytestmark = pytest.mark.compiled  # too slow without the compiler

DATA = os.environ.get("ADASADMM_DATA")


def a9a():
    """a9a's training part; without the data, as many binary features in one-hot groups with noisy labels."""
    if DATA and (pathlib.Path(DATA) / "a9a.bz2").exists():
        return load_svmlight_file(str(pathlib.Path(DATA) / "a9a.bz2"), n_features=123)
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 9, size=(5000, 14)) + 9 * np.arange(14)
    X = sp.csr_array((np.ones(columns.size), (np.repeat(np.arange(5000), 14), columns.reshape(-1))), shape=(5000, 126))
    return X, np.where(X @ rng.normal(size=126) + rng.logistic(size=5000) > 1.0, 1.0, -1.0)


@pytest.mark.data
def test_batch_admm_is_within_a_thousandth_in_fewer_than_300_iterations_with_nothing_set():
    X, y = a9a()
    n, d = X.shape
    edges = graphs.glasso(X, penalty=0.01).edges
    problem = Problem(X, y, loss=Hinge(), penalty=L1(1 / n), A=graphs.incidence(edges, d=d), gamma=1 / n)
    quick = solve(problem, ADMM(), epochs=290, tol=0.0)
    optimum = solve(problem, ADMM(), tol=3e-5, epochs=3000, start=quick).certificate.dual  # a lower bound
    first = quick.trace["iteration"][np.argmax(quick.trace["objective"] <= 1.001 * optimum)]
    assert quick.trace["objective"].min() <= 1.001 * optimum
    assert first < 300
