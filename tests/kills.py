"""Runs that are killed at random moments, and resumed: used by the tests and by benchmarks/kills.py."""

import bz2
import functools
import multiprocessing
import os
import time

import numpy as np

from adasadmm import L1, Checkpoint, Hinge, Problem, SquaredHinge, checkpoints, graphs, solve, sources
from adasadmm._solve import drive
from adasadmm.sources._cached import CachedSource
from adasadmm.sources._store import Writer

FIELDS = ("w", "v", "theta", "w_mean", "v_mean", "w_average", "w_feasible")
WRITE_SECONDS = 0.005  # a write takes about so long in a child, so that kills land in some


def problems(folder):
    """The same rows in memory and in files of several blocks, by where they are.

    Those behind a cache are a function of a folder: each run there writes the cache first, if there is none.
    """
    import pyarrow
    import pyarrow.parquet
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=400) > 0, 1.0, -1.0)
    parts = {"loss": Hinge(), "penalty": L1(1e-2), "A": graphs.incidence(graphs.chain(6)), "gamma": 1e-2}
    text, packed, table = folder / "rows.svm", folder / "rows.svm.bz2", folder / "rows.parquet"
    dump_svmlight_file(X, y, str(text), zero_based=False)
    packed.write_bytes(bz2.compress(text.read_bytes()))
    columns = {f"x{j}": X[:, j] for j in range(6)} | {"label": y}
    pyarrow.parquet.write_table(pyarrow.table(columns), table, row_group_size=150)

    def cached(place):
        return Problem(sources.cached(sources.svmlight(text, block_bytes=2**11), place / "rows.cache"), **parts)

    return {
        "memory": Problem(X, y, **parts),
        "memory, smooth": Problem(X, y, **{**parts, "loss": SquaredHinge()}),
        "svmlight": Problem(sources.svmlight(text, block_bytes=2**14), **parts),
        "svmlight, bz2": Problem(sources.svmlight(packed, block_bytes=2**14), **parts),
        "Parquet": Problem(sources.parquet(table, block_rows=100), **parts),
        "svmlight, cached": cached,
    }


def undisturbed(problem, solver, options, folder):
    """The facts of a run that nobody kills."""
    return facts(solve(_in_folder(problem, folder), solver, **options))


def _in_folder(problem, folder):
    return problem(folder) if callable(problem) else problem


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


def killed_and_resumed(problem, solver, options, folder, seconds, writes=0):
    """Kill a run some seconds after so many writes have begun, and resume it in another process.

    Returns its facts, and whether the kill was inside a write; None and None where the run had ended before.
    """
    inside = _in_a_child(problem, solver, options, folder, seconds, writes)
    if inside is None:
        return None, None
    assert _in_a_child(problem, solver, options, folder, kill_after=None) is None
    with np.load(folder / "facts.npz") as stored:
        return dict(stored), inside


def _in_a_child(problem, solver, options, folder, kill_after, writes=0):
    """Run in a child; None where it ended by itself, else whether it was inside a write when it was killed."""
    reading, writing = os.pipe()
    context = multiprocessing.get_context("fork")  # everything is compiled already
    child = context.Process(target=_child, args=(problem, solver, options, folder, writing))
    child.start()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read(1)  # it has begun
        if kill_after is not None:
            while said.count(b"(") < writes and (more := pipe.read(1)):
                said += more
            time.sleep(kill_after)
            child.kill()
        said += pipe.read()
    child.join()
    if said.endswith(b"."):
        return None
    assert kill_after is not None, f"the child failed with {child.exitcode}"
    return said.endswith(b"(")


def _child(problem, solver, options, folder, pipe):
    def told(write):
        @functools.wraps(write)
        def telling(*args):
            os.write(pipe, b"(")
            written = write(*args)
            os.write(pipe, b")")
            return written

        return telling

    def slow(handle=None):  # instead of waiting for the disc: what was written outlives the process in any case
        time.sleep(WRITE_SECONDS * np.random.default_rng().random())

    def add_slowly(self, block, add=Writer.add):
        slow()
        add(self, block)

    checkpoints.write_whole, os.fsync = told(checkpoints.write_whole), slow
    CachedSource._write, Writer.add = told(CachedSource._write), add_slowly
    drive.SLICE_SECONDS = 1e-3  # many slices, so many writes
    os.write(pipe, b"b")
    problem = _in_folder(problem, folder)
    result = solve(problem, solver, checkpoint=Checkpoint(folder / "run", every=0.0), resume=True, **options)
    np.savez(folder / "facts.npz", **facts(result))
    os.write(pipe, b".")
