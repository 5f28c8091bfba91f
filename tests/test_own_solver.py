"""A solver from a module outside the package: solve, its trace and checkpoint, files and estimators take it."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

TUTORIAL = pathlib.Path(__file__).parents[1] / "docs" / "tutorials" / "own" / "averaged_subgradient.py"

HEAD = """
import sys, tempfile
import numpy as np
from adasadmm import (ALM, L1, Box, Checkpoint, GraphGuidedClassifier, Hinge, Logistic, Problem, graphs, solve, sources)
from averaged_subgradient import AveragedSubgradient

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
y = np.sign(X @ [1.0, 1.0, 1.0, -1.0, -1.0] + 0.3 * rng.normal(size=200))
parts = {"loss": Logistic(), "penalty": L1(0.02), "A": graphs.incidence(graphs.chain(5), d=5), "gamma": 0.01}
problem = Problem(X, y, **parts)
solver = AveragedSubgradient(step=0.5)
"""
BODIES = {
    "solve": """
best = solve(problem, ALM(), tol=1e-9).certificate
result = solve(problem, solver, epochs=20)
assert result.status.name == "done" and len(result.trace["epoch"]) == 80
assert result.trace["objective_mean"][-1] < 1.05 * best.primal < result.trace["objective_mean"][0]
assert result.certificate.dual <= best.primal * (1 + 1e-9) and best.dual <= result.certificate.primal * (1 + 1e-9)
assert np.allclose(result.trace["eta"][-1], 0.5 / np.sqrt(4000))
""",
    "checkpoint": """
folder = Checkpoint(tempfile.mkdtemp(), every=0)
stopped = solve(problem, solver, epochs=3, checkpoint=folder, callback=lambda snapshot: snapshot.epoch > 1)
assert stopped.status.name == "stopped"
resumed = solve(problem, solver, epochs=3, checkpoint=folder, resume=True)
whole = solve(problem, solver, epochs=3)
assert (resumed.w == whole.w).all() and (resumed.trace["objective"] == whole.trace["objective"]).all()
more = solve(problem, solver, epochs=1, start=whole)
assert more.trace["epoch"][-1] == 4.0 and more.run.t == 800 and whole.run.t == 600
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
result = solve(problem, AveragedSubgradient(step=1e200), epochs=2)
assert result.status.name == "diverged" and np.isfinite(result.w).all()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_the_solver_of_the_tutorial_works_from_a_folder_of_its_own(name, tmp_path):
    if not TUTORIAL.exists():
        pytest.skip("installed without the repository")
    shutil.copy(TUTORIAL, tmp_path)
    (tmp_path / "use.py").write_text(HEAD + BODIES[name])
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_takes_no_more_than_sixty_lines():
    if not TUTORIAL.exists():
        pytest.skip("installed without the repository")
    assert len(TUTORIAL.read_text().splitlines()) <= 60


def test_a_class_that_lacks_a_member_is_named_when_it_is_made():
    from adasadmm.solvers import Run

    class Half(Run):
        def advance(self, work):
            pass

    with pytest.raises(TypeError, match=r"abstract methods?.*certify.*point"):
        Half()


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
