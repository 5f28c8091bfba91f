"""Checkpoints: a run that is stopped at any point goes on and ends with the same bits."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from kills import differences, facts
from sklearn.exceptions import ConvergenceWarning
from small_runs import CHAIN, PARTS, PROBLEM, X, Y

from adasadmm import (
    ADMM,
    ALM,
    ASVRGADMM,
    IPM,
    L1,
    OADMM,
    SADMM,
    SPDHG,
    SVRGADMM,
    AdaSADMM,
    Box,
    Checkpoint,
    Full,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    Hinge,
    Logistic,
    Problem,
    Squared,
    SquaredHinge,
    Status,
    TotalVariation,
    checkpoints,
    graphs,
    solve,
    sources,
)
from adasadmm.checkpoints import CheckpointError, Keeper
from adasadmm.solvers import Iterations
from adasadmm.solvers.stochastic import run as stochastic

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disc")


SOLVERS = [
    AdaSADMM(),
    AdaSADMM(metric=Full(refresh=0.05)),
    SADMM(),
    ADMM(),
    ALM(),
]
MORE_SOLVERS = [
    AdaSADMM(eta=1.0, average="polynomial", batch_size=7),
    AdaSADMM(average="step-weighted", beta="auto"),
    AdaSADMM(w_step="exact"),
    AdaSADMM(metric="full", average="last"),
    AdaSADMM(metric=Full(refresh=0.05), eta=1.0, w_step="exact", batch_size=3),
    OADMM(1.0),
]
DIRECT = {
    "chain": (TotalVariation(), graphs.difference(24)),
    "grid": (TotalVariation(), graphs.incidence(graphs.grid(4, 6), d=24)),
    "graph": (TotalVariation(), graphs.incidence([[0, 5], [5, 9], [0, 9], [2, 3], [3, 4], [2, 4]], d=24)),
    "trend": (IPM(), graphs.difference(24, 2)),
}
FULL_PRODUCT = [
    AdaSADMM(metric=metric, eta=eta, w_step=w_step, average=average, batch_size=batch_size)
    for metric, eta, w_step, average, batch_size in itertools.product(
        ("identity", "diagonal", "full", Full(0.05)),
        ("auto", 1.0),
        ("linearized", "exact"),
        ("uniform", "auto", "step-weighted", "schedule-free", "last"),
        (1, 16),
    )
]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


def interrupted(monkeypatch, after, *args, **options):
    """Run until a number of looks at the run, then Ctrl-C; whether there were so many."""
    looks, note = itertools.count(), Keeper.note

    def count(self, saved):
        note(self, saved)
        if next(looks) == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "note", count)
        try:
            solve(*args, **options)
        except KeyboardInterrupt:
            return True
    return False


def assert_resumes(monkeypatch, folder, problem, solver, looks=(0, 1, 4, 9), **options):
    """Interrupted again and again, a run ends as the undisturbed one."""
    undisturbed = solve(problem, solver, **options)
    keeping = {**options, "checkpoint": Checkpoint(folder), "resume": True}
    stops = [interrupted(monkeypatch, after, problem, solver, **keeping) for after in looks]
    assert sum(stops) >= 2
    assert differences(facts(undisturbed), facts(solve(problem, solver, **keeping))) == []


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_an_interrupted_run_ends_with_the_same_bits(solver, monkeypatch, folder):
    assert_resumes(monkeypatch, folder, PROBLEM, solver)


@pytest.mark.parametrize("solver", [SPDHG(), SVRGADMM(), ASVRGADMM(batch_size=3)], ids=repr)
def test_an_accurate_run_goes_on_with_its_marks_balance_and_best_dual_value(solver, monkeypatch, limits, folder):
    problem = Problem(X, Y, **{**PARTS, "loss": SquaredHinge()})
    limits(seconds_between_looks_at_the_clock=0.0)  # many looks, inside epochs, too
    assert_resumes(monkeypatch, folder, problem, solver, looks=(3, 300, 800), epochs=5, tol=0.0)


@pytest.mark.parametrize("edges", DIRECT)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
def test_a_direct_method_goes_on_with_the_same_bits(edges, loss, monkeypatch, folder):
    solver, A = DIRECT[edges]
    problem = Problem(np.eye(24), np.sign(X[:24, 0]), loss=loss, penalty=L1(0.02), A=A)
    assert_resumes(monkeypatch, folder, problem, solver, looks=(0, 1), tol=0.0, epochs=4)


@pytest.mark.parametrize("edges", [name for name in DIRECT if name != "trend"])
def test_a_thresholded_method_goes_on_with_the_same_bits(edges, monkeypatch, folder):
    """The arrays of its inner run are part of its state; a run that it starts leaves it as it was."""
    solver, differences_of_nodes = DIRECT[edges]
    A = sp.vstack([differences_of_nodes, sp.eye_array(24)])
    problems = [Problem(np.eye(24), X[:24, 0], loss=Squared(), penalty=L1(nu), A=A) for nu in (0.02, 0.03)]
    assert_resumes(monkeypatch, folder, problems[0], solver, looks=(0, 1), tol=0.0, epochs=4)
    first = solve(problems[0], solver, tol=1e-12)
    for problem in problems:
        further, afresh = solve(problem, solver, tol=1e-12, start=first), solve(problem, solver, tol=1e-12)
        np.testing.assert_allclose(further.w, afresh.w, atol=1e-12)
        assert further.certificate.relative_gap <= 1e-12
    first.run.advance(Iterations(1))
    assert first.run.certify().relative_gap <= 1e-12


@pytest.mark.parametrize("solver", [AdaSADMM(), ADMM()], ids=repr)
def test_a_run_over_blocks_of_a_source_goes_on_with_the_same_bits(solver, monkeypatch, folder):
    source = sources.arrays(X, Y, block_rows=150)
    assert_resumes(monkeypatch, folder, Problem(source, **PARTS), solver, epochs=3 if solver == AdaSADMM() else 60)
    other = Problem(sources.arrays(X, Y, block_rows=100), **PARTS)
    with pytest.raises(CheckpointError, match="belongs to another run"):
        solve(other, solver, epochs=3, checkpoint=Checkpoint(folder), resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*MORE_SOLVERS, *FULL_PRODUCT], ids=repr)
def test_every_setting_ends_with_the_same_bits(solver, monkeypatch, folder):
    assert_resumes(monkeypatch, folder, PROBLEM, solver, epochs=1)


@pytest.mark.parametrize(
    "options",
    [
        {"order": "replace", "seed": 3, "epochs": 1.6},
        {"order": "given", "trace_every": 0.1},
        {"samples": np.random.default_rng(1).integers(400, size=555)},
        {"tol": 0.5, "epochs": 40, "trace_every": 1},
    ],
    ids=", ".join,
)
def test_orders_samples_and_stopping_are_resumed(options, monkeypatch, folder):
    assert_resumes(monkeypatch, folder, PROBLEM, AdaSADMM(average="step-weighted"), **options)


@pytest.mark.slow  # compiles five kinds of runs
def test_a_set_of_w_a_general_b_and_a_start_are_resumed(monkeypatch, tmp_path):
    with_set = Problem(X, Y, **PARTS, w_set=Box(-0.5, 0.5))
    assert_resumes(monkeypatch, tmp_path / "a", with_set, AdaSADMM(metric=Full(refresh=0.05)))
    assert_resumes(monkeypatch, tmp_path / "b", with_set, ADMM(), tol=0.0, epochs=60)
    general = Problem(X, Y, **PARTS, B=np.eye(5) + 0.1)
    assert_resumes(monkeypatch, tmp_path / "c", general, AdaSADMM())
    start = solve(PROBLEM, AdaSADMM(), epochs=0.3)
    assert_resumes(monkeypatch, tmp_path / "d", PROBLEM, AdaSADMM(), start=start)
    assert_resumes(monkeypatch, tmp_path / "e", PROBLEM, ADMM(), start=start, tol=0.0, epochs=47)


def test_a_run_that_diverges_does_so_again(monkeypatch, folder):
    problem = Problem(1e3 * X, Y, loss=Squared(), penalty=L1(0.0), A=CHAIN)
    solver = AdaSADMM(metric="identity", eta=1.0)
    with pytest.warns(ConvergenceWarning, match="the run diverged"):
        assert solve(problem, solver).status is Status.diverged
        assert_resumes(monkeypatch, folder, problem, solver, looks=(0, 1))


@pytest.mark.parametrize("solver", [AdaSADMM(), AdaSADMM(metric=Full(refresh=0.05)), SADMM()], ids=repr)
@pytest.mark.parametrize("seconds", [0.0, np.inf])
def test_the_clock_does_not_show_in_the_result(solver, seconds, limits):
    usual = facts(solve(PROBLEM, solver))
    limits(seconds_between_looks_at_the_clock=seconds)  # slices of one iteration, or ever longer ones
    assert differences(usual, facts(solve(PROBLEM, solver))) == []


def test_a_finished_run_is_not_computed_again_and_a_stopped_one_goes_on(monkeypatch, tmp_path):
    keeping = {"checkpoint": Checkpoint(tmp_path / "run"), "resume": True}
    seen = []
    stopped = solve(PROBLEM, AdaSADMM(), callback=lambda snapshot: len(seen) == 2 or seen.append(1), **keeping)
    assert stopped.status is Status.stopped and len(stopped.trace["epoch"]) == 3
    done = solve(PROBLEM, AdaSADMM(), callback=seen.append, **keeping)
    assert done.status is Status.done and len(seen) == 2 + 5
    assert differences(facts(done), facts(solve(PROBLEM, AdaSADMM()))) == []
    monkeypatch.setattr(stochastic.StochasticRun, "advance", None)
    assert differences(facts(done), facts(solve(PROBLEM, AdaSADMM(), **keeping))) == []


def test_checkpoints_come_at_their_time_and_the_one_before_is_kept(folder, monkeypatch):
    now = itertools.count()
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: float(next(now)))
    written = []
    monkeypatch.setattr(Keeper, "write", lambda self, status=None: written.append(status))
    solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(folder, every=1e6))
    assert written == [Status.done]
    monkeypatch.undo()
    solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(folder, every=0))
    first, second = sorted(path.name for path in folder.iterdir())
    assert int(second[-8:]) == int(first[-8:]) + 1 > 10


def test_an_error_in_a_callback_keeps_the_run(folder):
    def fail(snapshot):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(PROBLEM, AdaSADMM(), callback=fail, checkpoint=Checkpoint(folder))
    result = solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(folder), resume=True)
    assert differences(facts(result), facts(solve(PROBLEM, AdaSADMM()))) == []


# --- estimators ------------------------------------------------------------------------------------------------------

THREE = np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (GraphGuidedClassifier("chain", max_iter=3, solver="ada-diag"), Y),
        (GraphGuidedClassifier("chain", tol=1e-4), THREE),
        (GraphGuidedRegressor("chain", max_iter=3, solver="ada-diag", random_state=7), X[:, 0]),
    ],
)
def test_an_estimator_resumes(estimator, y, monkeypatch, folder):
    fit = {"X": X, "y": y, "checkpoint": Checkpoint(folder), "resume": True}
    wanted = estimator.fit(X, y, checkpoint=Checkpoint(folder.with_name("undisturbed"))).coef_.copy()
    for after in (1, 4):
        with monkeypatch.context() as patch:
            looks, note = itertools.count(), Keeper.note

            def stop(self, saved, looks=looks, note=note, after=after):
                note(self, saved)
                if next(looks) == after:
                    raise KeyboardInterrupt

            patch.setattr(Keeper, "note", stop)
            before = dict(vars(estimator))
            with pytest.raises(KeyboardInterrupt):
                estimator.fit(**fit)
            assert vars(estimator) == before
    np.testing.assert_array_equal(estimator.fit(**fit).coef_, wanted)


def test_a_search_keeps_no_checkpoints(folder):
    with pytest.raises(ValueError, match="cross-validated search keeps no checkpoints"):
        GraphGuidedClassifierCV("chain").fit(X, Y, checkpoint=Checkpoint(folder))


def test_a_fit_that_fails_leaves_the_estimator_as_it_was():
    model = GraphGuidedClassifier("chain").fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X[:, :4], np.ones(400))
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X, Y + 5)
    assert vars(model) == before
    fresh = GraphGuidedClassifier("chain")
    with pytest.raises(ValueError, match="at least 2 classes"):
        fresh.partial_fit(X, Y, classes=[1])
    assert not hasattr(fresh, "n_features_in_") and not hasattr(fresh, "classes_")
