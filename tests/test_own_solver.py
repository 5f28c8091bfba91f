"""A solver from a module outside the package: solve, its trace and checkpoint, files and estimators take it."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from adasadmm import L1, RDASADMM, Hinge, Problem, graphs, solve

TUTORIAL = pathlib.Path(__file__).parents[1] / "docs" / "tutorials" / "own" / "dual_averaging.py"
OF_0_2 = pathlib.Path(__file__).parent / "averaged_subgradient.py"  # it defines all members that 0.2 asked for

HEAD = """
import sys, tempfile
import numpy as np
from adasadmm import (ALM, L1, Box, Checkpoint, GraphGuidedClassifier, Hinge, Logistic, Problem, graphs, solve, sources)
from {module} import {name} as Own

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
y = np.sign(X @ [1.0, 1.0, 1.0, -1.0, -1.0] + 0.3 * rng.normal(size=200))
parts = dict(loss=Logistic(), penalty=L1(0.02), A=graphs.incidence(graphs.chain(5), d=5), gamma=0.01)
problem = Problem(X, y, **parts)
solver, last_eta, diverging = {solver}, {last_eta}, {diverging}
"""
SOLVERS = {
    TUTORIAL: {
        **{"module": "dual_averaging", "name": "DualAveraging", "solver": "Own(eta=2.0)"},
        **{"last_eta": "2.0 * np.sqrt(4000)", "diverging": "Own(eta=1e200, beta=1e-200)"},
    },
    OF_0_2: {
        **{"module": "averaged_subgradient", "name": "AveragedSubgradient", "solver": "Own(step=0.5)"},
        **{"last_eta": "0.5 / np.sqrt(4000)", "diverging": "Own(step=1e200)"},
    },
}
BODIES = {
    "solve": """
best = solve(problem, ALM(), tol=1e-9).certificate
result = solve(problem, solver, epochs=20)
assert result.status.name == "done" and len(result.trace["epoch"]) == 80
assert result.trace["objective_mean"][-1] < 1.05 * best.primal < result.trace["objective_mean"][0]
assert result.certificate.dual <= best.primal * (1 + 1e-9) and best.dual <= result.certificate.primal * (1 + 1e-9)
assert np.allclose(result.trace["eta"][-1], last_eta)
""",
    "checkpoint": """
folder = Checkpoint(tempfile.mkdtemp(), every=0)
stopped = solve(problem, solver, epochs=3, checkpoint=folder, callback=lambda snapshot: snapshot.epoch > 1)
assert stopped.status.name == "stopped"
resumed = solve(problem, solver, epochs=3, checkpoint=folder, resume=True)
whole = solve(problem, solver, epochs=3)
assert (resumed.w == whole.w).all() and (resumed.trace["objective"] == whole.trace["objective"]).all()
more = solve(problem, solver, epochs=1, start=whole)
assert more.trace["epoch"][-1] == 4.0 and more.run.monitor().iteration == 800 and whole.run.monitor().iteration == 600
""",
    "source": """
source = sources.arrays(X, y, block_rows=64)
streamed = solve(Problem(source, **parts), solver, epochs=2, order="given", trace_every=1)
here = solve(problem, solver, epochs=2, order="given", trace_every=1)
assert np.allclose(streamed.w, here.w, rtol=1e-12)
""",
    "w_set": """
result = solve(Problem(X, y, **parts, w_set=Box(-0.1, 0.1)), solver, epochs=20)
assert np.abs(result.w_feasible).max() <= 0.1
""",
    "estimator": """
model = GraphGuidedClassifier("chain", solver=solver, loss="logistic", alpha=0.02, l2=0.01, max_iter=10, random_state=0)
model.fit(X, y)
assert model.score(X, y) > 0.9 and np.isfinite(model.dual_gap_) and model.n_iter_ == 10
before = model.partial_fit(X, y).coef_.copy()
assert not np.array_equal(model.partial_fit(X, y).coef_, before)
""",
    "diverged": """
result = solve(problem, diverging, epochs=2)
assert result.status.name == "diverged" and np.isfinite(result.w).all()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", SOLVERS, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", BODIES)
def test_a_solver_works_from_a_folder_of_its_own(name, path, tmp_path):
    if not path.exists():
        pytest.skip("installed without the repository")
    shutil.copy(path, tmp_path)
    (tmp_path / "use.py").write_text(HEAD.format(**SOLVERS[path]) + BODIES[name])
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_solver_of_the_tutorial_is_the_twin_of_the_built_in_one(monkeypatch):
    if not TUTORIAL.exists():
        pytest.skip("installed without the repository")
    monkeypatch.syspath_prepend(TUTORIAL.parent)
    from dual_averaging import DualAveraging

    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(50, 4)), graphs.incidence(graphs.chain(4), d=4)
    settings = {"penalty": L1(0.05), "A": A, "b": [0.1, 0.0, -0.1], "gamma": 0.1}
    problem = Problem(X, np.sign(X[:, 0]), loss=Hinge(), sample_weight=rng.integers(1, 4, size=50), **settings)
    own, built_in = (solve(problem, kind(0.7, 0.4, batch_size=3), epochs=4) for kind in (DualAveraging, RDASADMM))
    for name in ("w", "v", "theta", "w_mean", "v_mean", "w_average"):
        np.testing.assert_allclose(getattr(own, name), getattr(built_in, name), rtol=1e-9, atol=1e-12)
    assert own.certificate.dual <= built_in.certificate.primal * (1.0 + 1e-12)
    np.testing.assert_allclose(own.trace["eta"], built_in.trace["eta"], rtol=1e-12)


def test_it_takes_no_more_than_sixty_lines():
    if not TUTORIAL.exists():
        pytest.skip("installed without the repository")
    assert len(TUTORIAL.read_text().splitlines()) <= 60


def test_a_class_that_lacks_a_member_is_named_when_it_is_made():
    from adasadmm.solvers import Run

    class Half(Run):
        def monitor(self):
            pass

    with pytest.raises(TypeError, match=r"abstract method.*advance"):
        Half(None, None, ())


def test_the_interface_is_about_a_dozen_documented_members():
    from adasadmm.solvers import Run, Solver

    assert len(Run.__abstractmethods__) <= 12 and len(Solver.__abstractmethods__) <= 3
    for cls in (Run, Solver):
        for name in cls.__abstractmethods__:
            member = getattr(cls, name)
            assert member.fget.__doc__ if isinstance(member, property) else member.__doc__, name


def test_work_can_be_cut_anywhere():
    from adasadmm.solvers import Batches, Iterations
    from adasadmm.solvers.work import halves

    work = Batches(None, np.arange(10), 3)
    assert (work.length, work.iterations) == (10, 4)
    first, rest = work.split(2)
    assert first.samples.tolist() == [0, 1, 2, 3, 4, 5] and rest.samples.tolist() == [6, 7, 8, 9]
    assert work.after(7).samples.tolist() == [7, 8, 9]
    assert [piece.length for piece in halves(work)] == [6, 4] and halves(Batches(None, np.arange(3), 3)) == ()
    assert Iterations(5).split(2) == (Iterations(2), Iterations(3))
    assert Iterations(5).split(9) == (Iterations(5), Iterations(0)) and halves(Iterations(1)) == ()
