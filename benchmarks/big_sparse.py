"""A million features, two million edges, a million rows of 75 non-zeros: an epoch of Ada-SADMM.

    python benchmarks/big_sparse.py [scale]      # scale 0.1: a tenth of everything
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import scipy.sparse as sp

from adasadmm import L1, AdaSADMM, Hinge, Problem, graphs, solve


def generated(n: int, d: int, nnz: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Rows that touch a few features, some of them often; weights that are equal along stretches of a ring."""
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


if __name__ == "__main__":
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    X, y, edges = generated(int(1e6 * scale), int(1e6 * scale), 75)
    n, d = X.shape
    start = time.perf_counter()
    problem = Problem(X, y, loss=Hinge(), penalty=L1(1 / n), A=graphs.incidence(edges, d=d), gamma=1 / n)
    print(f"{problem}, {X.nnz:,} non-zeros; prepared in {time.perf_counter() - start:.1f} s")
    for solver in (AdaSADMM(average="step-weighted", beta="auto", batch_size="auto"),):
        start = time.perf_counter()
        result = solve(problem, solver, epochs=1, trace_every=1)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{solver}: {seconds:.1f} s ({result.trace['seconds'][-1]:.1f} s in the loop, {result.run.batch_size} rows an "
            f"iteration), objective {problem.objective(result.w_average):.4f}, peak memory {peak:.2f} GiB"
        )
