"""Files damaged at random, and read as a user would: a result or an error of our own, within 5 s and 1 GiB.

Used by the tests and by benchmarks/fuzz.py. File number k of a kind is a function of k and the seed, so that what was
found can be reproduced: ``python tests/fuzz.py csv 1234`` reads that one in the open.
"""

import bz2
import collections
import gzip
import hashlib
import io
import json
import multiprocessing
import os
import re
import resource
import select
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import adasadmm
from adasadmm import (
    ADMM,
    ALM,
    L1,
    SPDHG,
    AdaSADMM,
    Checkpoint,
    GraphGuidedClassifier,
    Hinge,
    Problem,
    graphs,
    solve,
    sources,
)
from adasadmm.checkpoints import CheckpointError
from adasadmm.models import ModelError, load_model, save_model

HOME = str(Path(adasadmm.__file__).parent)
MEMORY = 2**30  # that one file may make the process grow by
CPU_SECONDS = 5
WALL_SECONDS = 120.0  # for whoever waits instead of computing; generous, since others may use the machine
TOKENS = (
    *(str(number).encode() for number in (0, -1, 2**31, 2**40, 2**63, 2**64, 10**400)),
    *(b"nan", b"-inf", b"1e999", b"1e-400", b"0x10", b"1_000", b"None", b"true", b"[]", b"{}", b"qid:1", b"#", b"e"),
    *(b":", b" ", b",", b"\t", b"\n", b"\r", b"\r\n", b"\0", b'"', b"\\", b"\xff\xfe", b"\xef\xbb\xbf"),
)


# --- damage ----------------------------------------------------------------------------------------------------------


def damaged(data: bytes, rng: Any) -> bytes:
    """One to three injuries."""
    for _ in range(rng.integers(1, 4)):
        data = INJURIES[rng.integers(len(INJURIES))](data, rng)
    return data


def _place(data, rng):
    return int(rng.integers(len(data) + 1))


def _slice(data, rng):
    first = _place(data, rng)
    return first, min(len(data), first + int(rng.integers(1, 40)))


def _token(rng):
    return TOKENS[rng.integers(len(TOKENS))]


def flip(data, rng):
    if not data:
        return data
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :]


def truncate(data, rng):
    return data[: _place(data, rng)]


def cut(data, rng):
    first, last = _slice(data, rng)
    return data[:first] + data[last:]


def repeat(data, rng):
    first, last = _slice(data, rng)
    return data[:last] + data[first:last] * int(rng.integers(1, 30)) + data[last:]


def insert(data, rng):
    place = _place(data, rng)
    return data[:place] + _token(rng) + data[place:]


def another_number(data, rng):
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return insert(data, rng)
    found = numbers[rng.integers(len(numbers))]
    return data[: found.start()] + _token(rng) + data[found.end() :]


def shuffle_lines(data, rng):
    lines = data.splitlines(keepends=True)
    return b"".join(lines[k] for k in rng.integers(len(lines), size=len(lines) + 1)) if lines else data


def first_line(data, rng):
    head, end, rest = data.partition(b"\n")
    return (cut, flip, insert)[rng.integers(3)](head, rng) + end + rest


INJURIES = (flip, truncate, cut, repeat, insert, another_number, another_number, shuffle_lines, first_line)


def in_an_archive(data, rng):
    """Damage to one member of a zip archive, whose checksums are right again."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        chosen = names[rng.integers(len(names))] if rng.random() < 0.5 else names[0]
        for name in names:
            new.writestr(name, damaged(old.read(name), rng) if name == chosen else old.read(name))
    return out.getvalue()


def signed(data, rng):
    """Damage inside a checkpoint, whose digest is right again: what a forger would do."""
    head, _, body = data.partition(b"\n")
    body = in_an_archive(body, rng) if rng.random() < 0.8 else damaged(body, rng)
    return head.rpartition(b" ")[0] + b" " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


# --- kinds of files --------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 4)).round(3)
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
NAMES = ["age", "height", "weight", "north"]
PROBLEM = Problem(X, Y, loss=Hinge(), penalty=L1(0.01), A=graphs.incidence(graphs.chain(4)), gamma=0.01)
SOLVERS = (AdaSADMM(), ADMM(), SPDHG(), ALM())
SVMLIGHT = "".join(
    f"{int(y)} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) + "\n" for y, row in zip(Y, X, strict=True)
).encode()
CSV = (
    ",".join([*NAMES, "label"])
    + "\n"
    + "".join(",".join(map(str, row)) + f",{'yes' if y > 0 else 'no'}\n" for y, row in zip(Y, X, strict=True))
)
EDGES = b"source,target,weight\nage,height,1.5\nheight,weight,2\nweight,north,1\n"
NUMBERED = b"0,1\n1,2\n2,3\n"


class Kind(NamedTuple):
    """``make`` writes a whole file and returns what it holds; ``hurt`` are ways to damage it."""

    file: str
    make: Any
    hurt: tuple
    read: Any
    errors: tuple


def rows_of(kind, **settings):
    def read(path, number):
        on_bad_row = ("stop", "skip")[number % 2]
        source = getattr(sources, kind)(path, on_bad_row=on_bad_row, prefetch=number % 16 == 0, **settings)
        return source.shape, sum(piece.X.shape[0] for piece in source.raw_blocks())

    return read


def packed(module):
    return lambda data, rng: module.compress(damaged(module.decompress(data), rng))


def table(write):
    def make(folder, number):
        import pyarrow as pa

        columns = {name: X[:, j] for j, name in enumerate(NAMES)} | {"label": Y}
        write(pa.table(columns), folder / "whole")
        return (folder / "whole").read_bytes()

    return make


def parquet(table, path):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path, row_group_size=4)


def feather(table, path):
    import pyarrow.feather

    pyarrow.feather.write_feather(table, path, chunksize=4, compression="uncompressed")


def read_graph(path, number):
    return graphs.as_graph(path, 4, feature_names=NAMES).edges


def make_checkpoint(folder, number):
    solve(PROBLEM, SOLVERS[number % 4], checkpoint=Checkpoint(folder / "run"), callback=lambda s: True)
    return next((folder / "run").iterdir()).read_bytes()


def read_checkpoint(path, number):
    return solve(PROBLEM, SOLVERS[number % 4], checkpoint=Checkpoint(path.parent), resume=True).status


def make_model(folder, number):
    graph = sp.csr_array(np.eye(4, k=1)) if number % 2 else "chain"  # a sparse matrix is an archive in the archive
    save_model(GraphGuidedClassifier(graph).fit(X, Y), folder / "whole")
    return (folder / "whole").read_bytes()


def read_model(path, number):
    return load_model(path).predict(X)


BAD_SOURCE, BAD_GRAPH = (sources.SourceError,), (ValueError,)
KINDS = {
    "svmlight": Kind("a.svm", lambda *_: SVMLIGHT, (damaged,), rows_of("svmlight"), BAD_SOURCE),
    "svmlight, gz": Kind(
        "a.gz", lambda *_: gzip.compress(SVMLIGHT), (damaged, packed(gzip)), rows_of("svmlight"), BAD_SOURCE
    ),
    "svmlight, bz2": Kind(
        "a.bz2", lambda *_: bz2.compress(SVMLIGHT), (damaged, packed(bz2)), rows_of("svmlight"), BAD_SOURCE
    ),
    "csv": Kind("a.csv", lambda *_: CSV.encode(), (damaged,), rows_of("csv"), BAD_SOURCE),
    "parquet": Kind("a.parquet", table(parquet), (damaged,), rows_of("parquet"), BAD_SOURCE),
    "arrow": Kind("a.arrow", table(feather), (damaged,), rows_of("arrow"), BAD_SOURCE),
    "edge list": Kind("a.csv", lambda folder, number: (EDGES, NUMBERED)[number % 2], (damaged,), read_graph, BAD_GRAPH),
    "checkpoint": Kind(
        "checkpoint-00000001", make_checkpoint, (damaged, signed, signed), read_checkpoint, (CheckpointError,)
    ),
    "model": Kind("a.skops", make_model, (damaged, in_an_archive, in_an_archive), read_model, (ModelError,)),
}


# --- many of them ----------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """How many files gave a result, how many an error of ours; the faults; the most memory, in MiB, and time."""

    results: int
    refused: int
    faults: list
    mebibytes: float
    seconds: float


def fuzz(name, count, seed=0):
    """Read so many damaged files in a child; where it dies or hangs another one goes on behind that file."""
    tally, faults, memory, slowest, number = collections.Counter(), [], 0.0, 0.0, 0
    while number < count:
        for line in _lines_of_a_child(name, number, count, seed):
            number = line["number"] + 1
            tally[line["end"]] += 1
            memory, slowest = max(memory, line["memory"]), max(slowest, line["seconds"])
            if line["end"] == "fault":
                faults.append((line["number"], line["what"]))
    return Found(tally["result"], tally["refused"], faults, memory, slowest)


def _lines_of_a_child(name, first, count, seed):
    reading, writing = os.pipe()
    child = multiprocessing.get_context("fork").Process(target=_child, args=(name, range(first, count), seed, writing))
    child.start()
    os.close(writing)
    number = first - 1  # it says so when it has read the whole files
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        buffer, patience = b"", None  # compiling takes its time
        while select.select([pipe], [], [], patience)[0] and (said := pipe.read(65536)):
            patience = WALL_SECONDS
            *lines, buffer = (buffer + said).split(b"\n")
            for line in map(json.loads, lines):
                number = line["number"] + 1
                if line["end"] != "ready":
                    yield line
    child.kill()
    child.join()
    assert number >= first, f"{name}: a file without damage was not read"
    if number < count:
        what = f"the process ended with {child.exitcode} (-24: more than {CPU_SECONDS} s, -9: it waited for ever)"
        yield {"number": number, "end": "fault", "what": what, "memory": 0.0, "seconds": 0.0}


def _child(name, numbers, seed, pipe):
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others take address space ahead, and the limit counts it
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(name, seed, Path(folder))
        limit = _address_space() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        before = _resident()
        os.write(pipe, json.dumps({"number": numbers[0] - 1, "end": "ready"}).encode() + b"\n")
        for number in numbers:
            used = _cpu_seconds()
            resource.setrlimit(resource.RLIMIT_CPU, (int(used) + 1 + CPU_SECONDS, resource.RLIM_INFINITY))
            end, what = reader.outcome(number)
            line = {"number": number, "end": end, "what": what, "memory": (_resident() - before) / 2**20}
            os.write(pipe, json.dumps({**line, "seconds": _cpu_seconds() - used}).encode() + b"\n")
        os.close(pipe)
    os._exit(0)


class Reader:
    """Reads damaged files of one kind; the whole one first, so that everything is compiled and must succeed."""

    def __init__(self, name, seed, folder):
        self.kind, self.seed, self.place = KINDS[name], (list(KINDS).index(name), seed), folder
        self.whole = [self.kind.make(self._folder(f"whole{k}"), k) for k in range(4)]
        for number, data in enumerate(self.whole):
            self.kind.read(self._file(data), number)

    def _folder(self, name):
        (self.place / name).mkdir(exist_ok=True)
        return self.place / name

    def _file(self, data):
        folder = self._folder("damaged")
        for old in folder.iterdir():
            old.unlink()
        (folder / self.kind.file).write_bytes(data)
        return folder / self.kind.file

    def damaged(self, number):
        rng = np.random.default_rng([*self.seed, number])
        hurt = self.kind.hurt[number % len(self.kind.hurt)]
        return hurt(self.whole[number % len(self.whole)], rng)

    def outcome(self, number):
        path = self._file(self.damaged(number))
        try:
            self.kind.read(path, number)
        except Exception as error:
            if isinstance(error, self.kind.errors) and _is_ours(error) and not _for_lack_of_memory(error):
                return "refused", str(error)
            place = traceback.extract_tb(error.__traceback__)[-1]
            return "fault", f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error!s:.200}"
        return "result", ""


def _is_ours(error):
    """Raised by a line of this package, and with a sentence."""
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    return place.startswith(HOME) and len(str(error).split()) > 2


def _for_lack_of_memory(error):
    while error is not None:
        if isinstance(error, MemoryError) or "malloc" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _address_space():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _resident():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(sys.argv[1], 0, Path(folder))
        print(repr(reader.damaged(int(sys.argv[2])))[:2000])
        print(reader.kind.read(reader._file(reader.damaged(int(sys.argv[2]))), int(sys.argv[2])))
