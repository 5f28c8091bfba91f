"""The number of calls between a user's line and the compiled code stays small."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np
import pytest

import adasadmm
from adasadmm import L1, AdaSADMM, GraphGuidedClassifier, Hinge, Problem, solve
from adasadmm.solvers import dual_start, newton, stochastic

PACKAGE = Path(adasadmm.__file__).parent
NO_CALLS = {"guarded", "<listcomp>"}  # a decorator, and the frame that Python 3.11 makes for a list comprehension
CONTRIBUTING = PACKAGE.parents[1] / "CONTRIBUTING.md"


def record(monkeypatch, module, kernel, first, has_rows):
    """A list that receives the functions of the package from ``first`` to the first call of a kernel with rows.

    The kernel is the last of them: each name but the first is a call.
    """
    compiled, found = getattr(module, kernel), []

    def recorder(*args):
        if not found and has_rows(*args):
            functions = [f.name for f in traceback.extract_stack()[:-1] if PACKAGE in Path(f.filename).parents]
            found.extend(name for name in functions[functions.index(first) :] if name not in NO_CALLS)
            found.append(kernel)
        return compiled(*args)

    monkeypatch.setattr(module, kernel, recorder)
    return found


def assert_written_down(calls):
    """CONTRIBUTING shows the path as it is."""
    if not CONTRIBUTING.exists():
        pytest.skip("installed without the repository")
    paths = [line.split(" > ") for line in CONTRIBUTING.read_text().splitlines() if line.count(" > ") > 3]
    assert calls in [[name.strip().split(".")[-1] for name in path] for path in paths], calls


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, np.where(X @ [1.0, 1.0, -1.0, -1.0] + 0.1 * rng.normal(size=60) > 0.0, 1.0, -1.0)


def test_a_default_fit_reaches_newtons_method_in_ten_calls(monkeypatch, data):
    calls = record(monkeypatch, newton, "slopes_of_rows", "fit", lambda *args: True)
    monkeypatch.setattr(dual_start, "MOST_REACH", 0.0)  # or there would be nothing left to do for Newton's method
    GraphGuidedClassifier("chain").fit(*data)
    assert 2 <= len(calls) - 1 <= 10, calls
    assert_written_down(calls)


def test_solve_reaches_the_stochastic_loop_in_six_calls(monkeypatch, data):
    # The first call has no rows: it compiles the loop.
    calls = record(monkeypatch, stochastic, "algorithm1", "solve", lambda *args: len(args[4]) > 0)
    solve(Problem(*data, loss=Hinge(), penalty=L1(0.1), A=np.eye(4)), AdaSADMM())
    assert 2 <= len(calls) - 1 <= 6, calls
    assert_written_down(calls)
