"""The CPU time of the first fit of a process, with an empty and with a warm cache of compiled code.

    python benchmarks/cold_start.py                                # all uses
    python benchmarks/cold_start.py --print "sparse hinge"         # some of them
    python benchmarks/cold_start.py --compiled "sparse hinge"      # which functions one of them compiles, and how long

Each use runs in a process of its own, twice with the same cache. The data are there and `adasadmm` is imported before
the clock starts; what the first call imports is included. The second fit is that of the process with a warm cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import page

DATA = """
import sys
import time
import numpy as np
import scipy.sparse as sp
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 50))
z = X[:, :20].sum(1) / 4.0 + rng.normal(size=500)
y = np.sign(z)
"""
PIXELS = """
truth = np.zeros((16, 16))
truth[2:8, 2:8], truth[9:14, 8:14] = 1, -1
X = rng.normal(size=(300, 256))
y = np.sign(X @ truth.ravel() + 2.5 * rng.normal(size=300))
"""
SERIES = """
times = np.arange(1000.0)
series = np.cumsum(rng.normal(size=1000)) / 10.0 + rng.normal(size=1000)
"""
WIDE = """
X = rng.normal(size=(100, 1000))
y = np.sign(X[:, :50].sum(1) / 4.0 + rng.normal(size=100))
first, second = rng.integers(0, 1000, size=(2, 3000))
graph = sp.coo_array((np.ones(3000), (first, second)), shape=(1000, 1000))
graph = sp.triu(graph + graph.T, 1)
graph = (graph + graph.T).tocsr()
"""
NETWORK = """
places = rng.uniform(size=(60, 2))
nodes = np.repeat(np.arange(60), 20)
X = rng.normal(size=(1200, 3))
y = np.where(places[nodes, 0] < 0.5, X[:, 0], -X[:, 1]) + 0.3 * rng.normal(size=1200)
edges = [(i, int(j)) for i in range(60) for j in np.argsort(((places - places[i]) ** 2).sum(1))[1:4]]
"""
SPARSE = """
X = sp.random_array((2000, 80), density=0.1, rng=rng, format="csr")
y = np.sign(X @ rng.normal(size=80) + 0.1 * rng.normal(size=2000))
"""
TABLE = """
import pandas as pd
age, region, size = rng.integers(18, 80, 1000), rng.integers(0, 12, 1000), rng.normal(size=1000)
table = pd.DataFrame({"age": age, "region": region, "size": size})
counts = rng.poisson(np.exp(0.02 * (age - 50) + 0.3 * (region % 3)))
"""
A = "A = np.eye(50)[1:] - np.eye(50)[:-1]"
SOLVE = "ada.solve(ada.Problem(X, y, loss=ada.{loss}(), penalty=ada.L1(0.01), A=A), ada.{solver}())"

# name: (what is there before the clock starts, the call)
USES = {
    "README's first example": (
        PIXELS,
        "ada.GraphGuidedClassifierCV(('grid', 16, 16), alphas=8, eps=0.02, cv=3).fit(X, y)",
    ),
    "steps (TrendFilter of order 0), 1,000 points": (SERIES, "ada.TrendFilter(0, alpha=1.0).fit(times, series)"),
    "TrendFilter, 1,000 points": (SERIES, "ada.TrendFilter(alpha=10.0).fit(times, series)"),
    "TrendFilterCV, 1,000 points": (SERIES, "ada.TrendFilterCV().fit(times, series)"),
    "GraphGuidedRegressor, chain": ("", "ada.GraphGuidedRegressor('chain', alpha=0.01).fit(X, z)"),
    "logistic, chain": ("", "ada.GraphGuidedClassifier('chain', loss='logistic', alpha=0.01).fit(X, y)"),
    "hinge, chain": ("", "ada.GraphGuidedClassifier('chain', alpha=0.01).fit(X, y)"),
    "logistic, graph, 100 x 1,000": (WIDE, "ada.GraphGuidedClassifier(graph, loss='logistic', alpha=0.01).fit(X, y)"),
    "NetworkLassoRegressor, 60 nodes": (NETWORK, "ada.NetworkLassoRegressor(edges, alpha=0.1).fit(X, y, groups=nodes)"),
    "TotalVariationDenoiser, 64 x 64": (
        "image = np.kron(rng.normal(size=(8, 8)), np.ones((8, 8))) + 0.3 * rng.normal(size=(64, 64))",
        "ada.TotalVariationDenoiser(alpha=0.3).fit(image)",
    ),
    "StructuredRegressor, I, L1": ("", "ada.StructuredRegressor(np.eye(50), alpha=0.01).fit(X, z)"),
    "multinomial, chain": (
        "labels = np.digitize(z, [-1.0, 1.0])",
        "ada.GraphGuidedClassifier('chain', loss='multinomial', alpha=0.01).fit(X, labels)",
    ),
    "sparse hinge, 2,000 x 80": (SPARSE, "ada.GraphGuidedClassifier('chain', alpha=0.001).fit(X, y)"),
    "TermsRegressor, Poisson": (
        TABLE,
        "ada.TermsRegressor([ada.terms.ordered('age'), ada.terms.nominal('region'), ada.terms.linear('size')], "
        "loss='poisson', alpha=0.01).fit(table, counts)",
    ),
    "quantile, L1": ("", "ada.StructuredRegressor(np.eye(50), loss='quantile', alpha=0.01).fit(X, z)"),
    "partial_fit": ("", "ada.GraphGuidedClassifier('chain', alpha=0.01).partial_fit(X, y, classes=[-1, 1])"),
    "solve, AdaSADMM": (A, SOLVE.format(loss="Hinge", solver="AdaSADMM")),
    "solve, SVRGADMM": (A, SOLVE.format(loss="Logistic", solver="SVRGADMM")),
    "solve, SPDHG": (A, SOLVE.format(loss="Hinge", solver="SPDHG")),
}
TIMED = """
import adasadmm as ada
start = time.process_time()
{call}
first = time.process_time()
{call}
second = time.process_time()
print(f"{{first - start:.2f}} {{second - first:.4f}}", "yes" if "numba" in sys.modules else "no")
"""
LISTED = """
from numba.core import event
found, open_ = [], []
class Listener(event.Listener):
    def on_start(self, e):
        open_.append((time.thread_time(), [0.0]))
    def on_end(self, e):
        begun, (inner,) = open_.pop()
        took = time.thread_time() - begun
        if open_:
            open_[-1][1][0] += took
        function = e.data["dispatcher"].py_func
        found.append((took - inner, took, f"{{function.__module__}}.{{function.__qualname__}}"))
event.register("numba:compile", Listener())
import adasadmm as ada
start = time.process_time()
{call}
took = time.process_time() - start
for own, whole, name in sorted(found, reverse=True):
    print(f"{{own:8.2f}} {{whole:8.2f}}  {{name}}")
print(f"{{len(found)}} functions, {{sum(own for own, _, _ in found):.2f}} s of {{took:.2f}} CPU s")
"""


def run(use: str, script: str, cache: str) -> str:
    """The output of a script in a new process, with compiled code in the given folder."""
    before, call = USES[use]
    source = DATA + before + "\n" + script.format(call=call)
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", source]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def text() -> str:
    rows = []
    for use in page.named() or USES:
        with tempfile.TemporaryDirectory() as cache:
            (empty, *_), (warm, second, numba) = (run(use, TIMED, cache).split() for _ in range(2))
        rows.append([use, empty, warm, second, numba])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return page.table(["first fit, CPU s", "empty cache", "warm cache", "second fit", "imports numba"], rows)


if __name__ == "__main__":
    if "--compiled" in sys.argv:
        with tempfile.TemporaryDirectory() as cache:
            print(*(run(use, LISTED, cache) for use in page.named()), sep="\n")
    else:
        page.show(__file__, "benchmarks.md", text)
