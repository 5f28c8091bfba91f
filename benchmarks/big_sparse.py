"""A million features, two million edges, a million rows of 75 non-zeros: an epoch of Ada-SADMM.

python benchmarks/big_sparse.py [scale]      # scale 0.1: a tenth of everything
"""

from __future__ import annotations

import resource
import time

import numpy as np
import page
import scipy.sparse as sp

from adasadmm import L1, AdaSADMM, Hinge, Problem, graphs, solve


def generated(n: int, d: int, nnz: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Sparse rows in which some features are frequent, and coefficients that are constant on segments of a ring."""
    rng = np.random.default_rng(seed)
    columns = (d * rng.random(n * nnz, dtype=np.float32) ** 2).astype(np.int32)
    np.minimum(columns, d - 1, out=columns)
    X = sp.csr_array((np.ones(n * nnz), columns, np.arange(0, n * nnz + 1, nnz, dtype=np.int32)), shape=(n, d))
    X.sum_duplicates()
    X.data /= np.sqrt(nnz)
    truth = np.repeat(rng.normal(size=-(-d // 100)), 100)[:d]
    y = np.where(X @ truth + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    ring = np.arange(d)
    edges = np.concatenate([np.column_stack([ring[:-step], ring[step:]]) for step in (1, 2)])
    return X, y, edges


def text() -> str:
    scale = float((page.named() or ["1"])[0])
    X, y, edges = generated(int(1e6 * scale), int(1e6 * scale), 75)
    n, d = X.shape
    problem = Problem(X, y, loss=Hinge(), penalty=L1(1 / n), A=graphs.incidence(edges, d=d), gamma=1 / n)
    solver = AdaSADMM(average="step-weighted", beta="auto", batch_size="auto")
    solve(problem, solver, epochs=0.001)  # compile
    start = time.perf_counter()
    result = solve(problem, solver, epochs=1, trace_every=1)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    head = ["rows", "features", "edges", "non-zeros", "rows per iteration", "seconds per epoch", "peak memory, GiB"]
    sizes = [f"{size:,}" for size in (n, d, len(edges), X.nnz, result.run.batch_size)]
    return page.table(head, [[*sizes, f"{seconds:.0f}", f"{memory:.1f}"]])


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
