"""Compiled code on disk: who finds it again, and what happens when the files or numba are not as expected."""

import errno
import os
import pathlib
import shutil

import numba
import numpy as np
import pytest
from scripts import ESTIMATOR, FIT, finished, run

from adasadmm._core import disk_cache, jit

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="without the compiler nothing is kept on disk"),
]

# --- imports ---------------------------------------------------------------------------------------------------------

# Names every function that is compiled as a part of a kernel but that the fingerprint of the kernel did not reach.
AUDIT = """
import numba.core.event, sys
from adasadmm._core import disk_cache, fingerprint, jit

class Walk(fingerprint._Walk):
    def __init__(self):
        super().__init__()
        walks.append(self)

class Listener(numba.core.event.Listener):
    def on_start(self, event):
        dispatcher = event.data["dispatcher"]
        if isinstance(dispatcher._cache, disk_cache.DiskCache):
            under_way.append(walks[-1])
        own = dispatcher.py_func.__module__.split(".")[0] not in ("numba", "numpy")
        for walk in under_way:
            if own and dispatcher.py_func.__module__ != jit.__name__ and dispatcher.py_func not in walk.functions:
                sys.exit(f"{dispatcher.py_func} is not part of the fingerprint of {walk.functions[0]}")

    def on_end(self, event):
        if isinstance(event.data["dispatcher"]._cache, disk_cache.DiskCache):
            under_way.pop()

walks, under_way = [], []
fingerprint._Walk = Walk
numba.core.event.register("numba:compile", Listener())
"""
SOLVE = FIT.format(more=AUDIT, loss="Hinge()")
ESTIMATE = ESTIMATOR.format(more=AUDIT)


def compiled_files(folder):
    return {path.name for path in folder.rglob("*.nbc")}


@pytest.mark.slow  # compiles in four processes
def test_what_is_compiled_does_not_depend_on_what_else_was_imported(tmp_path):
    one, other = tmp_path / "solve first", tmp_path / "estimator first"
    one.mkdir()
    other.mkdir()

    solved = run(SOLVE, one)
    for_solve = compiled_files(one)
    run(ESTIMATE, one)
    assert run(SOLVE, one) == [solved[0], "0"]

    estimated = run(ESTIMATE, other)
    for_estimate = compiled_files(other)
    assert run(SOLVE, other) == [solved[0], str(len(for_solve - for_estimate))]
    assert run(ESTIMATE, other) == [estimated[0], "0"]

    assert compiled_files(one) == compiled_files(other) == for_solve | for_estimate
    assert for_solve and for_estimate  # both call compiled code


# --- damage ----------------------------------------------------------------------------------------------------------


def double(x):
    return x + x


def square(x):
    return x * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for compiled code."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    jit._warn.cache_clear()
    return tmp_path


def call_as_in_a_new_process(function=double):
    """Call a new kernel; its result and whether it was compiled."""
    kernel = jit.compiled(function)
    return kernel(3.5), sum(kernel.stats.cache_misses.values())


DAMAGES = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[:-1],
    "truncated in the digest": lambda content: content[:20],
    "longer": lambda content: content + b"\0",
    "one bit": lambda content: content[:999] + bytes([content[999] ^ 1]) + content[1000:],
    "random": lambda content: np.random.default_rng(0).bytes(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_compiled_again_and_replaced(folder, damage):
    assert call_as_in_a_new_process() == (7.0, 1)
    assert call_as_in_a_new_process() == (7.0, 0)
    (file,) = folder.rglob("*.nbc")
    content = file.read_bytes()
    file.write_bytes(damage(content))
    assert call_as_in_a_new_process() == (7.0, 1)
    assert call_as_in_a_new_process() == (7.0, 0)


def test_a_file_under_the_name_of_another_one_is_not_loaded(folder):
    call_as_in_a_new_process(double)
    (file,) = folder.rglob("*.nbc")
    content = file.read_bytes()
    call_as_in_a_new_process(square)
    for path in folder.rglob("*.nbc"):
        path.write_bytes(content)
    assert call_as_in_a_new_process(square) == (12.25, 1)


def test_a_full_disc_costs_one_warning(folder, monkeypatch):
    def no_space(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some file")

    monkeypatch.setattr(disk_cache, "write_whole", no_space)
    with pytest.warns(RuntimeWarning, match="not kept on disk.*No space left on device"):
        assert call_as_in_a_new_process() == (7.0, 1)
    assert call_as_in_a_new_process(square) == (12.25, 1)  # a second warning would be an error


@pytest.mark.parametrize("place", ["folder", "file"])
def test_what_cannot_be_written_costs_a_warning(folder, place):
    call_as_in_a_new_process()
    (file,) = folder.rglob("*.nbc")
    kernel = jit.compiled(double)
    assert kernel.dispatcher  # it has chosen the folder
    if place == "folder":
        shutil.rmtree(file.parent)
        file.parent.write_text("a file where a folder was")
    else:
        file.unlink()
        file.mkdir()
    with pytest.warns(RuntimeWarning, match="not kept on disk"):
        assert kernel(3.5) == 7.0


def test_a_file_that_numba_cannot_load_costs_a_warning(folder, monkeypatch):
    def rebuild(*args):
        raise AttributeError("no such thing in this version")

    call_as_in_a_new_process()
    monkeypatch.setattr(disk_cache.CompileResultCacheImpl, "rebuild", rebuild)
    with pytest.warns(RuntimeWarning, match="not kept on disk.*no such thing in this version"):
        assert call_as_in_a_new_process() == (7.0, 1)


def test_files_of_an_older_version_of_the_source_are_deleted(folder, tmp_path, monkeypatch):
    source = tmp_path / "changing.py"
    call_as_in_a_new_process()
    others = compiled_files(folder)
    kept = []
    for number in (1, 2):
        source.write_text(f"def f(x):\n    return x + {number}\n")
        namespace = {"__name__": "changing"}
        exec(compile(source.read_text(), source, "exec"), namespace)
        disk_cache.file_digest.cache_clear()
        assert call_as_in_a_new_process(namespace["f"]) == (3.5 + number, 1)
        kept.append(compiled_files(folder) - others)
    assert len(kept[0]) == len(kept[1]) == 1 and kept[0] != kept[1]
    assert others <= compiled_files(folder)


@pytest.mark.slow  # compiles in two processes
def test_a_fit_has_the_same_bits_when_every_file_is_damaged(tmp_path):
    code = FIT.format(more="", loss="Hinge()")
    first = run(code, tmp_path)
    rng = np.random.default_rng(0)
    for index, file in enumerate(sorted(tmp_path.rglob("*.nbc"))):
        content = bytearray(file.read_bytes())
        if index % 3 == 0:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        file.write_bytes([content, content[: len(content) // 2], rng.bytes(len(content))][index % 3])
    assert run(code, tmp_path) == first  # as many compilations as with an empty folder
    assert run(code, tmp_path) == [first[0], "0"]


# --- another numba ---------------------------------------------------------------------------------------------------

# A stand-in for another version of numba: the same, but one of its private names is a different one.
RENAME = """
import importlib.machinery, re, sys

class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        source = self.get_data(self.path)
        renamed = re.sub(rb"\\b{hook}\\b", b"renamed", source)
        return super().get_code(name) if renamed == source else self.source_to_code(renamed, self.path)

def finder(path):
    if "numba" not in path: raise ImportError
    extensions = importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES
    return importlib.machinery.FileFinder(path, extensions, (Loader, [".py"]))

sys.path_hooks.insert(0, finder)
"""
PLUG_IN = """
from typing import NamedTuple
import numpy as np
from adasadmm._core import jit
from adasadmm.linalg import dense

class Part(NamedTuple):
    scale: float

@jit.generic
def apply(part, x):
    "..."

@apply.register
def first(part: Part, x): return part.scale * x

@jit.compiled
def kernel(part, x): return apply(part, x)

out = np.zeros(2)
dense.times(np.eye(2), 2, np.array([1.0, 4.0]), out)
before = kernel(Part(2.0), 3.0)

@apply.register
def second(part: Part, x): return part.scale * x + 1.0

@jit.compiled
def other_kernel(part, x): return apply(part, x)

print(*out, before, kernel(Part(2.0), 3.0))
other_kernel(Part(2.0), 3.0)
"""
FOR_DISK = ["_cache", "NullCache", "CompileResultCacheImpl", "check_cachable", "locator", "get_cache_path"]
FOR_DISK += ["ensure_cache_path", "magic_tuple", "dumps", "ExternalFunction"]
FOR_REGISTERING = ["_impl_cache", "_compiled_overloads", "_reset_overloads", "cpu_target"]


def all_but_the_first_slow(hooks):
    return [hooks[0], *(pytest.param(hook, marks=pytest.mark.slow) for hook in hooks[1:])]


@pytest.mark.parametrize("hook", all_but_the_first_slow(FOR_DISK))
def test_without_a_private_part_of_numba_nothing_is_kept_on_disk(hook, tmp_path):
    done = finished(RENAME.format(hook=hook) + PLUG_IN, tmp_path)
    assert done.stdout.split() == ["1.0", "4.0", "6.0", "7.0"]
    assert done.stderr.count("compiled code is not kept on disk") == 1
    assert hook == "ExternalFunction" or not compiled_files(tmp_path)


@pytest.mark.parametrize("hook", all_but_the_first_slow(FOR_REGISTERING))
def test_without_a_private_part_of_numba_registering_again_says_that_it_has_no_effect(hook, tmp_path):
    done = finished(RENAME.format(hook=hook) + PLUG_IN, tmp_path)
    assert done.stdout.split() == ["1.0", "4.0", "6.0", "6.0"]
    assert done.stderr.count("restart Python to use the new implementation") == 1
    # `other_kernel` may contain the old implementation, and its file would be named after the new one.
    assert {name.split(".")[1] for name in compiled_files(tmp_path)} == {"kernel", "times"}


def test_with_all_private_parts_nothing_is_said(tmp_path):
    done = finished(PLUG_IN, tmp_path)
    assert (done.stdout.split(), done.stderr) == (["1.0", "4.0", "6.0", "7.0"], "")
    names = sorted(name.split(".")[1] for name in compiled_files(tmp_path))
    assert names == ["kernel", "kernel", "other_kernel", "times"]


def test_the_folder_is_that_of_numba(folder):
    kernel = jit.compiled(double)
    kernel(1.0)
    assert pathlib.Path(kernel.stats.cache_path).parent == folder


# A class of a script or a notebook is stored with the code, and is another class when it is loaded.
OWN_CLASS = """
import os
from typing import NamedTuple
from adasadmm._core import jit

class Mine(NamedTuple):
    scale: float

@jit.compiled
def inner(mine, x):
    return mine.scale * x

@jit.compiled
def outer(mine, x):
    return inner(mine, x) + 1.0

print(globals()[os.environ["KERNEL"]](Mine(2.0), 3.0))
"""


def test_code_for_a_class_of_a_notebook_can_be_called_by_kernels_compiled_later(tmp_path):
    assert [run(OWN_CLASS, tmp_path, KERNEL=name)[0] for name in ("inner", "outer", "outer")] == ["6.0", "7.0", "7.0"]
