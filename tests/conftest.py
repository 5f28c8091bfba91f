"""Fixtures that several files use."""

import importlib
import math
import os

import numpy as np
import pytest
from limits import LIMITS


class NoCertificate:
    dual, relative_gap = -math.inf, math.inf


@pytest.fixture(autouse=True)
def same_draws():
    """Estimators without a ``random_state`` draw one from NumPy's global generator: the same in each run of a test."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture
def uncertified(monkeypatch):
    """Without the compiler the certificate takes longer than the run, and tests of iterates do not need it."""
    from cases import INTERPRETED

    from adasadmm.solvers.admm.batch import BatchMethod
    from adasadmm.solvers.stochastic.run import StochasticRun

    for run in (BatchMethod, StochasticRun) if INTERPRETED else ():
        monkeypatch.setattr(run, "certify", lambda run: NoCertificate())


@pytest.fixture
def limits(monkeypatch):
    """Change thresholds for one test: ``limits(rows_of_a_sample=200)``."""

    def change(**values):
        for name, value in values.items():
            module, constant = LIMITS[name]
            monkeypatch.setattr(importlib.import_module(module), constant, value)

    return change


@pytest.fixture
def no_waiting_for_the_disc(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # in these tests processes end, not machines


@pytest.fixture(scope="session")
def flowers():
    """Standardised measurements of irises, and the names of their species."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="session")
def cancer():
    """A data frame of eight measurements of tumours, and their labels 0 and 1."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], y


@pytest.fixture(scope="session")
def blobs():
    """Rows of three classes."""
    from sklearn.datasets import make_classification

    return make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
