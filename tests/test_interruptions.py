"""Runs that are killed or stopped by Ctrl-C: the last checkpoint is whole, and the run goes on from it."""

import contextlib
import itertools
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from kills import differences, killed_and_resumed, problems, undisturbed

from adasadmm import ADMM, SADMM, SPDHG, AdaSADMM, Full

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disc")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


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


@pytest.mark.slow
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
