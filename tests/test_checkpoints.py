"""Checkpoints: a run that is stopped by whatever means goes on and ends with the same bits."""

import contextlib
import doctest
import errno
import hashlib
import itertools
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from kills import differences, facts, killed_and_resumed, problems, undisturbed

from adasadmm import (
    ADMM,
    ALM,
    ASVRGADMM,
    L1,
    OADMM,
    SADMM,
    SPDHG,
    SVRGADMM,
    AdaSADMM,
    AlternatingChains,
    BandedIPM,
    Box,
    ChainDP,
    Checkpoint,
    DualGradient,
    Full,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    Hinge,
    Logistic,
    Problem,
    SoftThreshold,
    Squared,
    SquaredHinge,
    Status,
    checkpoints,
    graphs,
    solve,
    sources,
)
from adasadmm._solve import drive
from adasadmm.checkpoints import CheckpointError, Keeper
from adasadmm.solvers import Iterations, stochastic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
Y = np.where(X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=400) > 0, 1.0, -1.0)
CHAIN = graphs.incidence(graphs.chain(6))
PARTS = {"loss": Hinge(), "penalty": L1(1e-2), "A": CHAIN, "gamma": 1e-2}
PROBLEM = Problem(X, Y, **PARTS)

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
    "chain": (ChainDP(), graphs.difference(24)),
    "grid": (AlternatingChains(), graphs.incidence(graphs.grid(4, 6), d=24)),
    "graph": (DualGradient(), graphs.incidence([[0, 5], [5, 9], [0, 9], [2, 3], [3, 4], [2, 4]], d=24)),
    "trend": (BandedIPM(), graphs.difference(24, 2)),
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


@pytest.fixture(autouse=True)
def no_waiting_for_the_disc(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # here processes end, not machines


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
def test_an_accurate_run_goes_on_with_its_marks_balance_and_best_dual_value(solver, monkeypatch, folder):
    problem = Problem(X, Y, **{**PARTS, "loss": SquaredHinge()})
    monkeypatch.setattr(drive, "SLICE_SECONDS", 0.0)  # many looks, inside epochs, too
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
    method, differences_of_nodes = DIRECT[edges]
    A = sp.vstack([differences_of_nodes, sp.eye_array(24)])
    problems = [Problem(np.eye(24), X[:24, 0], loss=Squared(), penalty=L1(nu), A=A) for nu in (0.02, 0.03)]
    solver = SoftThreshold(method)
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
        {"samples": RNG.integers(400, size=555)},
        {"tol": 0.5, "epochs": 40, "trace_every": 1},
    ],
    ids=str,
)
def test_orders_samples_and_stopping_are_resumed(options, monkeypatch, folder):
    assert_resumes(monkeypatch, folder, PROBLEM, AdaSADMM(average="step-weighted"), **options)


@pytest.mark.slow  # compiles five kinds of runs
def test_a_set_of_w_a_general_b_and_a_start_are_resumed(monkeypatch, tmp_path):
    with_set = Problem(X, Y, **PARTS, w_set=Box(-0.5, 0.5))
    assert_resumes(monkeypatch, tmp_path / "a", with_set, AdaSADMM(metric=Full(refresh=0.05)))
    assert_resumes(monkeypatch, tmp_path / "b", with_set, ADMM(), tol=1e-6, epochs=60)
    general = Problem(X, Y, **PARTS, B=np.eye(5) + 0.1)
    assert_resumes(monkeypatch, tmp_path / "c", general, AdaSADMM())
    start = solve(PROBLEM, AdaSADMM(), epochs=0.3)
    assert_resumes(monkeypatch, tmp_path / "d", PROBLEM, AdaSADMM(), start=start)
    assert_resumes(monkeypatch, tmp_path / "e", PROBLEM, ADMM(), start=start, tol=0.0, epochs=47)


def test_a_run_that_diverges_does_so_again(monkeypatch, folder):
    problem = Problem(1e3 * X, Y, loss=Squared(), penalty=L1(0.0), A=CHAIN)
    solver = AdaSADMM(metric="identity", eta=1.0)
    assert solve(problem, solver).status is Status.diverged
    assert_resumes(monkeypatch, folder, problem, solver, looks=(0, 1))


@pytest.mark.parametrize("solver", [AdaSADMM(), AdaSADMM(metric=Full(refresh=0.05)), SADMM()], ids=repr)
@pytest.mark.parametrize("seconds", [0.0, np.inf])
def test_the_clock_does_not_show_in_the_result(solver, seconds, monkeypatch):
    usual = facts(solve(PROBLEM, solver))
    monkeypatch.setattr(drive, "SLICE_SECONDS", seconds)  # slices of one iteration, or ever longer ones
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


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.fixture
def two(folder):
    """A folder with two checkpoints of a run that was stopped."""
    solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(folder, every=0), callback=lambda snapshot: snapshot.epoch > 0.6)
    return sorted(folder.iterdir())


def resumed(two, problem=PROBLEM, solver=None, **options):
    return solve(problem, solver or AdaSADMM(), checkpoint=Checkpoint(two[0].parent), resume=True, **options)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"problem": Problem(X + 1e-12, Y, **PARTS)}, "X"),
        ({"problem": Problem(X, np.roll(Y, 1), **PARTS)}, "y"),
        ({"problem": Problem(X, Y, **PARTS, sample_weight=1.0 + np.arange(400))}, "sample_weight"),
        ({"problem": Problem(X, Y, **{**PARTS, "penalty": L1(0.02)})}, "penalty"),
        ({"problem": Problem(X, Y, **{**PARTS, "A": 2 * CHAIN})}, "A"),
        ({"problem": Problem(X, Y, **{**PARTS, "gamma": 0.1})}, "gamma"),
        ({"problem": Problem(X, Y, **PARTS, w_set=Box(0.0, 1.0))}, "w_set"),
        ({"solver": AdaSADMM(a=2.0)}, "solver"),
        ({"solver": ADMM()}, "solver, tol"),
        ({"seed": 1, "epochs": 3}, "epochs, seed"),
        ({"order": "given"}, "order"),
        ({"samples": [1, 2, 3]}, "samples"),
        ({"start": solve(PROBLEM, ADMM())}, "start"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(changes, named, two):
    with pytest.raises(
        CheckpointError, match=f"another run: it differs in {named}. There is no valid checkpoint before"
    ):
        resumed(two, **changes)


def test_a_damaged_checkpoint_is_refused_and_the_one_before_offered(two):
    older, newest = two
    whole = newest.read_bytes()
    for place in (3, 20, 60, len(whole) // 2, len(whole) - 1):
        newest.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(
            CheckpointError, match=f"{newest.name} is .*{older.name}, the one before, is valid"
        ) as caught:
            resumed(two)
        assert caught.value.older == older
    newest.write_bytes(whole[:1000])
    with pytest.raises(CheckpointError, match="damaged: its digest does not match"):
        resumed(two)
    newest.unlink()  # as the message says
    assert differences(facts(resumed(two)), facts(solve(PROBLEM, AdaSADMM()))) == []


def test_where_both_are_damaged_nothing_is_offered(two):
    for path in two:
        path.write_bytes(b"")
    with pytest.raises(
        CheckpointError, match=r"damaged, or not a checkpoint.* no valid checkpoint before it"
    ) as caught:
        resumed(two)
    assert caught.value.older is None


def test_another_version_is_refused(two, monkeypatch):
    content = two[-1].read_bytes()
    two[-1].write_bytes(content.replace(b"checkpoint 2 ", b"checkpoint 1 ", 1))
    with pytest.raises(CheckpointError, match=r"is of format 1, .* this version reads format 2"):
        resumed(two)
    two[-1].write_bytes(content)
    written_by = checkpoints.__version__
    monkeypatch.setattr(checkpoints, "__version__", "9.9")
    with pytest.raises(CheckpointError, match=f"written by adasadmm {written_by}, this is 9.9"):
        resumed(two)


@pytest.mark.parametrize("content", [{"about": np.array([{}], dtype=object)}, {"about": np.zeros(3, np.uint8)}, {}])
def test_a_forged_checkpoint_is_refused_without_pickle(content, two, tmp_path):
    np.savez(tmp_path / "forged.npz", **content)
    body = (tmp_path / "forged.npz").read_bytes()
    two[-1].write_bytes(
        f"adasadmm checkpoint {checkpoints.FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body
    )
    with pytest.raises(CheckpointError, match="is not a valid checkpoint"):
        resumed(two)


def test_a_folder_in_use_is_not_overwritten_and_an_empty_one_begins(two, folder, tmp_path):
    with pytest.raises(CheckpointError, match="already holds a checkpoint: pass resume=True to continue"):
        solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(folder))
    assert sorted(folder.iterdir()) == two
    begun = solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(tmp_path / "new" / "deep"), resume=True)
    assert begun.status is Status.done


def test_bad_arguments_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"every of Checkpoint must be seconds >= 0, got -1"):
        Checkpoint(tmp_path, every=-1)
    with pytest.raises(TypeError, match="path of Checkpoint must be the path of a folder, got 3"):
        Checkpoint(3)
    with pytest.raises(TypeError, match=r"checkpoint must be a Checkpoint, got '/tmp'"):
        solve(PROBLEM, AdaSADMM(), checkpoint="/tmp")
    with pytest.raises(ValueError, match=r"resume=True needs a checkpoint"):
        solve(PROBLEM, AdaSADMM(), resume=True)
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"cannot make the folder .*: File exists"):
        solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(tmp_path / "file"))


def test_the_example_holds():
    assert doctest.testmod(checkpoints).failed == 0


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


# --- killed ----------------------------------------------------------------------------------------------------------

KILLED = [
    ("memory", AdaSADMM(), {"epochs": 5}),
    ("svmlight", AdaSADMM(), {"epochs": 5}),
    ("memory", AdaSADMM(metric=Full(refresh=0.05)), {"epochs": 3}),
    ("memory", ADMM(), {"epochs": 150, "tol": 0.0}),
    ("Parquet", AdaSADMM(), {"epochs": 5}),
    ("memory", SADMM(), {"epochs": 4}),
    ("memory", SPDHG(), {"epochs": 4, "tol": 0.0}),
    ("svmlight", ADMM(), {"epochs": 60, "tol": 0.0}),
    ("svmlight, cached", AdaSADMM(), {"epochs": 5}),
]


def kill(tmp_path, number):
    """Kill a number of runs; how many of the kills were inside a write."""
    rng, inside, killed = np.random.default_rng(number), 0, 0
    rows_in = problems(tmp_path)
    wanted = [undisturbed(rows_in[where], solver, options, tmp_path) for where, solver, options in KILLED]
    for attempt in itertools.count():
        where, solver, options = KILLED[attempt % len(KILLED)]
        folder = tmp_path / str(attempt)
        folder.mkdir()
        # Half of them at any moment, half soon after a write has begun.
        writes, longest = (0, 0.15) if rng.random() < 0.5 else (int(rng.integers(1, 9)), 0.001)
        found, in_write = killed_and_resumed(rows_in[where], solver, options, folder, longest * rng.random(), writes)
        if found is None:  # it was faster
            continue
        assert differences(found, wanted[attempt % len(KILLED)]) == [], (where, solver)
        killed, inside = killed + 1, inside + in_write
        if killed == number:
            return inside


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_killed_runs_end_with_the_same_bits(tmp_path):
    assert kill(tmp_path, len(KILLED)) >= 1


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_many_killed_runs_end_with_the_same_bits(tmp_path):
    assert kill(tmp_path, 48) >= 10


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------

SCRIPT = """
import json, signal, sys, time
import numpy as np
from sklearn.base import clone
from adasadmm import Checkpoint, GraphGuidedClassifier
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores Ctrl-C
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 20))
y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, "yes", "no")
wide = rng.normal(size=(2_000, 400))
wide_labels = np.where(wide[:, 0] + rng.normal(size=len(wide)) > 0, "yes", "no")
for case in sys.argv[1:]:
    folder, solver, epochs, warm = case.split(",")
    if solver == "auto":  # ALM reaches a gap of 0 on X within its 23 iterations; here it never does
        rows, labels = wide, wide_labels
    else:
        rows, labels = X, y
    model = GraphGuidedClassifier("chain", solver=solver, tol=0.0, max_iter=1, warm_start=warm == "warm")
    (model if warm == "warm" else clone(model)).fit(rows[:100], labels[:100])  # compiles
    if warm == "several":
        labels = np.digitize(X[:, 0], [-0.5, 0.5])
        model.set_params(n_jobs=2)
    model.set_params(max_iter=int(epochs))
    before = dict(vars(model))
    print("fitting", flush=True)
    try:
        model.fit(rows, labels, checkpoint=Checkpoint(folder, every=1000), resume=True)
        print(json.dumps({"coef": model.coef_.tolist()}), flush=True)
    except KeyboardInterrupt:
        at, same = time.monotonic(), vars(model) == before
        time.sleep(0.5)  # for threads to come to the end of what they are at
        cpu = time.process_time()
        time.sleep(0.5)
        said = {"at": at, "same": same, "fitted": hasattr(model, "coef_"), "busy": time.process_time() - cpu}
        print(json.dumps(said), flush=True)
"""


@contextlib.contextmanager
def script(*cases):
    cases = [",".join(map(str, case)) for case in cases]
    with subprocess.Popen([sys.executable, "-c", SCRIPT, *cases], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        except BaseException:  # nobody will press Ctrl-C any more
            process.kill()
            raise


def press_ctrl_c(process, folder):
    """Wait until the fit really runs, press, and return what is said and how long that took."""
    assert process.stdout.readline() == "fitting\n"
    deadline = time.monotonic() + 60.0
    while not folder.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = json.loads(process.stdout.readline())
    assert "at" in said, "the fit ended before Ctrl-C was pressed"
    return said, said["at"] - pressed


@pytest.mark.compiled
def test_ctrl_c_gives_back_the_prompt_with_the_checkpoint_written(tmp_path):
    long = {"ada-diag": 100_000, "admm": 1_000_000, "auto": 1_000_000}
    cases = [(tmp_path / solver, solver, epochs, "") for solver, epochs in long.items()]
    cases.append((tmp_path / "warm", "ada-diag", 100_000, "warm"))
    cases.append((tmp_path / "several", "ada-diag", 100_000, "several"))  # classes, in threads
    with script(*cases) as process:
        for folder, _, _, warm in cases:
            said, seconds = press_ctrl_c(process, folder)
            assert seconds < 1.0
            assert said["same"] and said["fitted"] == (warm == "warm")
            assert said["busy"] < 0.1  # nothing goes on in the background
            assert len(list(folder.rglob("checkpoint-*"))) == (2 if warm == "several" else 1)


@pytest.mark.slow
@pytest.mark.compiled
def test_after_ctrl_c_another_process_ends_with_the_same_bits(tmp_path):
    with script((tmp_path / "a", "ada-diag", 1000, "")) as process:
        undisturbed = process.stdout.readlines()[-1]
    case = tmp_path / "b", "ada-diag", 1000, ""
    for _ in range(2):
        with script(case) as process:
            press_ctrl_c(process, tmp_path / "b")
    with script(case) as process:
        assert process.stdout.readlines()[-1] == undisturbed


# --- discs -----------------------------------------------------------------------------------------------------------


def run_on_a_disc_that_fails(folder, fail):
    """A run during which the disc fails; the error, after which the last checkpoint is whole."""
    points = []

    def callback(snapshot):
        points.append(snapshot)
        if len(points) == 3:
            fail()

    with pytest.raises(CheckpointError) as caught:
        solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(folder, every=0), callback=callback)
    assert len(points) == 3
    assert caught.value.older in list(folder.iterdir())
    assert not list(folder.glob(".*"))
    return str(caught.value)


def assert_goes_on(folder):
    result = solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(folder), resume=True)
    assert differences(facts(result), facts(solve(PROBLEM, AdaSADMM()))) == []


def test_a_file_that_may_not_grow_leaves_the_last_checkpoint_whole(folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        message = run_on_a_disc_that_fails(folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"cannot write the checkpoint {folder}" in message and os.strerror(errno.EFBIG) in message
    assert "the last one, is complete" in message
    assert_goes_on(folder)


@pytest.fixture
def small_disc(tmp_path):
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("needs the right to mount a small disc")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disc_leaves_the_last_checkpoint_whole(small_disc):
    filler = small_disc / "filler"

    def fill():
        with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass

    message = run_on_a_disc_that_fails(small_disc / "run", fill)
    assert "No space left on device" in message and "the last one, is complete" in message
    filler.unlink()
    assert_goes_on(small_disc / "run")


def test_a_disc_that_becomes_read_only_leaves_the_last_checkpoint_whole(small_disc):
    def remount(how):
        subprocess.run(["mount", "-o", f"remount,{how}", str(small_disc)], check=True)

    try:
        message = run_on_a_disc_that_fails(small_disc / "run", lambda: remount("ro"))
    finally:
        remount("rw")
    assert "Read-only file system" in message
    assert_goes_on(small_disc / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; the test above stands for it")
def test_a_folder_that_becomes_read_only_leaves_the_last_checkpoint_whole(folder):
    message = run_on_a_disc_that_fails(folder, lambda: folder.chmod(0o500))
    folder.chmod(0o700)
    assert "Permission denied" in message
    assert_goes_on(folder)


def test_what_a_killed_process_left_is_cleared_away(two, folder):
    stray = folder / ".checkpoint-00000009.abc.part"
    stray.write_bytes(b"half")
    other = pathlib.Path(folder) / "notes.txt"
    other.write_text("mine")
    resumed(two)
    assert not stray.exists() and other.exists()
