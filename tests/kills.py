"""Runs that are killed at random moments, and resumed: used by the tests and by benchmarks/kills.py."""

import multiprocessing
import os
import time

import numpy as np

from adasadmm import Checkpoint, checkpoints, solve, stochastic

FIELDS = ("w", "v", "theta", "w_mean", "v_mean", "w_average", "w_feasible")
WRITE_SECONDS = 0.005  # a write takes about so long in a child, so that kills land in some


def facts(result):
    """Everything about a result that must be the same bits, as arrays by name."""
    found = {name: getattr(result, name) for name in FIELDS}
    found |= {f"trace {name}": column for name, column in result.trace.items() if name != "seconds"}
    found["certificate"] = np.array([value for value in vars(result.certificate).values() if value != ""], dtype=str)
    found["end"] = np.array([result.status.name, str(result.epochs)])
    return found


def differences(one, other):
    """The names of what differs between the facts of two results."""
    assert one.keys() == other.keys()
    numbers = [name for name in one if one[name].dtype.kind == "f"]
    return [n for n in one if not np.array_equal(one[n], other[n], equal_nan=n in numbers)]


def killed_and_resumed(problem, solver, options, folder, seconds):
    """Kill a run after some seconds, resume it in another process; its facts, and whether the kill was inside a write.

    The facts are None, and so is the other, where the run had ended before it was killed.
    """
    inside = _in_a_child(problem, solver, options, folder, kill_after=seconds)
    if inside is None:
        return None, None
    assert _in_a_child(problem, solver, options, folder, kill_after=None) is None
    with np.load(folder / "facts.npz") as stored:
        return dict(stored), inside


def _in_a_child(problem, solver, options, folder, kill_after):
    """Run in a child; None where it ended by itself, else whether it was inside a write when it was killed."""
    reading, writing = os.pipe()
    context = multiprocessing.get_context("fork")  # everything is compiled already
    child = context.Process(target=_child, args=(problem, solver, options, folder, writing))
    child.start()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read(1)  # it has begun
        if kill_after is not None:
            time.sleep(kill_after)
            child.kill()
        said += pipe.read()
    child.join()
    if said.endswith(b"."):
        return None
    assert kill_after is not None, f"the child failed with {child.exitcode}"
    return said.endswith(b"(")


def _child(problem, solver, options, folder, pipe):
    write_whole = checkpoints.write_whole

    def told(path, content):
        os.write(pipe, b"(")
        write_whole(path, content)
        os.write(pipe, b")")

    def slow(handle):  # instead of waiting for the disc: what was written outlives the process in any case
        time.sleep(WRITE_SECONDS * np.random.default_rng().random())

    checkpoints.write_whole, os.fsync = told, slow
    stochastic.SLICE_SECONDS = 1e-3  # many slices, so many writes
    os.write(pipe, b"b")
    result = solve(problem, solver, checkpoint=Checkpoint(folder / "run", every=0.0), resume=True, **options)
    np.savez(folder / "facts.npz", **facts(result))
    os.write(pipe, b".")
