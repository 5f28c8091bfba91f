"""Checkpoints of other runs, damaged and forged ones, and discs that are full or slow."""

import doctest
import errno
import hashlib
import io
import os
import pathlib
import resource
import subprocess

import numpy as np
import pytest
from kills import differences, facts
from small_runs import CHAIN, PARTS, PROBLEM, X, Y

from adasadmm import ADMM, L1, AdaSADMM, Box, Checkpoint, Problem, Status, checkpoints, solve
from adasadmm.checkpoints import CheckpointError

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disc")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


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


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["w", "theta", "w_sum", "metric.squares", "eta"])
def test_a_forged_checkpoint_whose_state_is_not_finite_is_refused(name, value, two):
    with np.load(io.BytesIO(two[-1].read_bytes().partition(b"\n")[2])) as stored:
        members = {key: stored[key].copy() for key in stored.files}
    members[f"state.{name}"][0] = value
    body = io.BytesIO()
    np.savez(body, **members)
    digest = hashlib.sha256(body.getvalue()).hexdigest()
    two[-1].write_bytes(f"adasadmm checkpoint {checkpoints.FORMAT} {digest}\n".encode() + body.getvalue())
    with pytest.raises(CheckpointError, match=f"does not fit the run: {name} must be finite, got {value}"):
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
