"""The time of the first fit of a process, with an empty and with a warm cache of compiled code.

    python benchmarks/cold_start.py

Each line is a separate process; the time to import numba and scikit-learn is shown separately.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import page

SCRIPT = """
import time
start = time.perf_counter()
import numba, sklearn.base
imported = time.perf_counter()
import numpy as np
from adasadmm import GraphGuidedClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(100, 5))
GraphGuidedClassifier("chain", solver={solver!r}).fit(X, X[:, 0] > 0)
print(f"{{imported - start:.2f}} {{time.perf_counter() - imported:.2f}}")
"""


def text() -> str:
    rows = []
    for solver in ("auto", "ada-diag"):
        with tempfile.TemporaryDirectory() as cache:
            for state in ("empty", "warm", "warm"):
                environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
                command = [sys.executable, "-c", SCRIPT.format(solver=solver)]
                out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
                rows.append([solver, state, *out.split()])
    return page.table(["solver", "cache", "import of numba and scikit-learn, s", "our import and first fit, s"], rows)


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
