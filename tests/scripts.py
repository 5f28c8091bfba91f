"""Scripts that fit a model in a process of their own, with a given folder for compiled code."""

import os
import pathlib
import subprocess
import sys
import textwrap

FIT = """
import numpy as np, numba
from adasadmm import *
from adasadmm._core import jit
{more}
rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3)); y = np.sign(X[:, 0])
problem = Problem(X, y, loss={loss}, penalty=L1(0.1), A=np.eye(3), gamma=0.1)
result = solve(problem, AdaSADMM(eta=1.0), epochs=1)
print(result.w.tobytes().hex(), sum(sum(k.stats.cache_misses.values()) for k in jit._kernels))
"""

ESTIMATOR = """
import numpy as np
{more}
from adasadmm import GraphGuidedClassifier
from adasadmm._core import jit
X = np.random.default_rng(0).normal(size=(100, 5))
model = GraphGuidedClassifier("chain", loss="hinge", solver="ada-diag", random_state=0).fit(X, X[:, 0] > 0)
print(model.coef_.tobytes().hex(), sum(sum(k.stats.cache_misses.values()) for k in jit._kernels))
"""


def run(code, folder, **environment):
    """Run a script in a process of its own; what it printed, as words."""
    return finished(code, folder, **environment).stdout.split()


def finished(code, folder, **environment):
    """Run a script in a process of its own, with its compiled code in ``folder/numba``."""
    script = pathlib.Path(folder) / "script.py"
    script.write_text(textwrap.dedent(code))
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, script],
        env={**kept, "NUMBA_CACHE_DIR": str(pathlib.Path(folder) / "numba"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done
