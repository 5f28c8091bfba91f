"""The number of calls between a user's line and the compiled code stays small."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np
import pytest

import adasadmm
from adasadmm import L1, AdaSADMM, GraphGuidedClassifier, Hinge, Problem, solve
from adasadmm.solvers import alm, stochastic

PACKAGE = Path(adasadmm.__file__).parent
HELPERS = {"guarded", "side_by_side", "of", "<listcomp>"}  # a decorator, and the threads around a kernel


def record(monkeypatch, module, kernel, first, has_rows):
    """A list that receives the functions of the package from ``first`` to the first call of a kernel with rows."""
    compiled, found = getattr(module, kernel), []

    def recorder(*args):
        if not found and has_rows(*args):
            functions = [f.name for f in traceback.extract_stack()[:-1] if PACKAGE in Path(f.filename).parents]
            found.extend(name for name in functions[functions.index(first) :] if name not in HELPERS)
        return compiled(*args)

    monkeypatch.setattr(module, kernel, recorder)
    return found


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, np.where(X @ [1.0, 1.0, -1.0, -1.0] + 0.1 * rng.normal(size=60) > 0.0, 1.0, -1.0)


def test_a_default_fit_reaches_the_compiled_code_in_nine_calls(monkeypatch, data):
    calls = record(monkeypatch, alm, "pull_of_rows", "fit", lambda *args: True)
    GraphGuidedClassifier("chain").fit(*data)
    assert 2 <= len(calls) <= 9, calls


def test_solve_reaches_the_stochastic_loop_in_six_calls(monkeypatch, data):
    # The first call has no rows: it compiles the loop.
    calls = record(monkeypatch, stochastic, "algorithm1", "solve", lambda *args: len(args[4]) > 0)
    solve(Problem(*data, loss=Hinge(), penalty=L1(0.1), A=np.eye(4)), AdaSADMM())
    assert 2 <= len(calls) <= 6, calls
