"""One pass over svmlight text beside Vowpal Wabbit: time from start to exit, and the objective on the same rows.

python benchmarks/vowpal.py [rows]        (default: 1,000,000 rows of 15 entries, 100 features; needs vowpalwabbit)
"""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import page
import scipy.sparse as sp

FEATURES, ENTRIES, BLOCK = 100, 15, 50_000
INTERCEPT = 116060  # where Vowpal Wabbit stores it
RUN_VOWPAL = "import sys; from vowpalwabbit import pyvw; pyvw.Workspace(sys.argv[1]).finish()"


def block(number: int, rows: int) -> tuple[sp.csr_array, np.ndarray]:
    """Some rows and their labels, the signs of a linear function with a little noise; neighbours have equal weights."""
    rng = np.random.default_rng(number)
    columns = np.sort(np.argsort(rng.random((rows, FEATURES)), axis=1)[:, :ENTRIES], axis=1)
    values = rng.random((rows, ENTRIES)).round(4)
    X = sp.csr_array((values.ravel(), columns.ravel(), np.arange(rows + 1) * ENTRIES), shape=(rows, FEATURES))
    w = np.repeat(np.random.default_rng(0).normal(size=20), FEATURES // 20)
    return X, np.where(X @ w + 0.5 * rng.normal(size=rows) > 0.0, 1.0, -1.0)


@functools.cache
def blocks(rows: int) -> list[tuple[sp.csr_array, np.ndarray]]:
    return [block(k, min(BLOCK, rows - first)) for k, first in enumerate(range(0, rows, BLOCK))]


def write(folder: Path, rows: int) -> None:
    """The same rows for both programs, whose formats differ in a bar after the label."""
    with open(folder / "train.svm", "w") as svmlight, open(folder / "train.vw", "w") as vowpal:
        for X, y in blocks(rows):
            entries = [f"{j + 1}:{value:.4f}" for j, value in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
            for i, label in enumerate(y.astype(int).tolist()):
                line = " ".join(entries[i * ENTRIES : (i + 1) * ENTRIES])
                svmlight.write(f"{label} {line}\n")
                vowpal.write(f"{label} | {line}\n")


def timed(command: list[str]) -> tuple[float, float, str]:
    """Wall-clock and CPU seconds of a process from start to exit, and what it prints."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as if installed
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def adasadmm(folder: Path, rows: int, *more: str) -> tuple[float, float, np.ndarray]:
    """`adasadmm fit` in a process, and its coefficients."""
    from adasadmm import load_model

    strengths = ["--alpha", str(1.0 / rows), "--l2", str(1.0 / rows), "--graph", "chain"]
    files = [str(folder / "train.svm"), "--model", str(folder / "m.skops")]
    command = [sys.executable, "-m", "adasadmm", "fit", *files, *strengths, "--epochs", "1", "--json", *more]
    seconds, cpu, printed = timed(command)
    model = load_model(folder / "m.skops")
    assert json.loads(printed)["rows"] == rows
    return seconds, cpu, np.append(model.coef_[0], model.intercept_)


def vowpal(folder: Path, rows: int, more: str = "") -> tuple[float, float, np.ndarray]:
    """Vowpal Wabbit in a process, and its coefficients."""
    readable = folder / "readable.txt"
    options = f"-d {folder}/train.vw --loss_function hinge --l2 {1.0 / rows} --quiet --readable_model {readable} {more}"
    seconds, cpu, _ = timed([sys.executable, "-c", RUN_VOWPAL, options])
    found, w = readable.read_text(), np.zeros(FEATURES + 1)
    shrunk = re.search(r"^l2_state (\S+)", found, re.MULTILINE)  # its ridge multiplies all weights when it predicts
    assert shrunk is not None
    for place, value in re.findall(r"^(\d+):(\S+)", found, re.MULTILINE):
        w[FEATURES if int(place) == INTERCEPT else int(place) - 1] = float(value) * float(shrunk[1])
    return seconds, cpu, w


def objectives(rows: int, w: np.ndarray) -> tuple[float, float]:
    """Mean hinge loss and ridge; the same with the chain."""
    loss = sum(float(np.maximum(0.0, 1.0 - y * (X @ w[:-1] + w[-1])).sum()) for X, y in blocks(rows)) / rows
    ridge = loss + float(w[:-1] @ w[:-1]) / (2 * rows)
    return ridge, ridge + float(np.abs(np.diff(w[:-1])).sum()) / rows


def text() -> str:
    rows = int(page.named()[0]) if page.named() else 1_000_000
    lines = []
    with tempfile.TemporaryDirectory(prefix="vowpal-") as temporary:
        folder = Path(temporary)
        write(folder, rows)
        adasadmm(folder, rows)  # compiles
        cache = ("--cache", str(folder / "rows.cache"))
        runs = [
            ("`adasadmm fit`", lambda: adasadmm(folder, rows)),
            ("the same, writes a cache", lambda: adasadmm(folder, rows, *cache)),
            ("the same, reads the cache", lambda: adasadmm(folder, rows, *cache)),
            ("Vowpal Wabbit", lambda: vowpal(folder, rows)),
            ("the same, writes a cache", lambda: vowpal(folder, rows, "-c")),
            ("the same, reads the cache", lambda: vowpal(folder, rows, "-c")),
        ]
        for name, run in runs:
            seconds, cpu, w = run()
            values = [f"{value:.5f}" for value in objectives(rows, w)]
            lines.append([name, f"{seconds:.2f}", f"{cpu:.2f}", f"{rows / seconds:,.0f}", *values])
    head = ["one pass over the text", "seconds", "CPU seconds", "rows per second", "loss + ridge", "with the chain"]
    return f"{rows:,} rows of {ENTRIES} entries.\n\n" + page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "streams.md", text)
