"""
On a Dask cluster
=================

If your rows are spread over several machines, each worker reads and keeps its own rows, and only coefficients are sent.
To run anywhere, this page uses a cluster of two workers inside this process
(``pip install "adasadmm[dask,arrow]"``). For a real cluster, use ``Client("tcp://scheduler:8786")`` and files that all
workers can read; nothing else changes.
"""

# %%
# A cluster and its data
# ----------------------
#
# Eight Parquet files of 4,000 rows each, such as another program might have written.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client

from adasadmm import GraphGuidedClassifier, distributed, sources

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")

rng = np.random.default_rng(0)
truth = np.repeat([1.0, -0.5, 0.0, 0.7], 10)
folder = Path(tempfile.mkdtemp())


def some_rows(n):
    X = pd.DataFrame(rng.normal(size=(n, 40)), columns=[f"x{j}" for j in range(40)])
    return X, np.where(X @ truth + rng.logistic(size=n) > 0, 1, -1)


for part in range(8):
    X, y = some_rows(4000)
    X.assign(target=y).to_parquet(folder / f"{part}.parquet")

# %%
# Put the rows on the workers
# ---------------------------
#
# ``spread`` accepts any source, a Dask array or a Dask data frame. Lanes run in parallel, each on its own partitions;
# by default there is one lane for each thread of the cluster.

rows = distributed.spread(sources.parquet(folder / "*.parquet"), client=client)
print(rows.shape, "rows and features,", len(rows), "partitions,", rows.lanes.number, "lanes")

# %%
# Fit
# ---
#
# Pass the result in place of X. An iteration of batch ADMM, ``solver="admm"``, is a pass over all rows: a map over the
# partitions, and a sum. It ends with a certificate, as on one machine. The default, ``"auto"``, loads rows that take at
# most a quarter of the memory of this process; for more rows it is batch ADMM up to 2,000 features.

X_test, y_test = some_rows(5000)
exact = GraphGuidedClassifier("chain", loss="logistic", alpha=0.003, solver="admm", tol=1e-3).fit(rows)
print("batch ADMM: accuracy", exact.score(X_test, y_test), "- relative gap", f"{exact.dual_gap_:.1e}")

# %%
# If there are many features, or passes are expensive, use Ada-SADMM, whose lanes are averaged sixteen times per epoch.
# It needs rows in random order: if they are sorted by label or by time, ``fit`` warns, and the rows should be shuffled
# before they are partitioned.

model = GraphGuidedClassifier("chain", loss="logistic", alpha=0.003, solver="ada-diag", max_iter=3, random_state=0)
model.fit(rows)
print("rounds of Ada-SADMM: accuracy", model.score(X_test, y_test))

# %%
# The cost of several lanes
# -------------------------
#
# Between two averages, a lane does not benefit from the rows of the other lanes, so some work is redundant. To see how
# much, compare the objective after the same number of row visits. The optimum is that of batch ADMM, up to its gap.

import matplotlib.pyplot as plt

from adasadmm import ADMM, L1, AdaSADMM, Logistic, Problem, graphs, solve

parts = {"loss": Logistic(), "penalty": L1(0.003), "A": graphs.incidence(graphs.chain(40)), "gamma": 1e-4}
best = solve(Problem(rows, **parts), ADMM(), tol=1e-5).certificate.dual
figure, ax = plt.subplots(figsize=(9, 3.8))
for lanes, marker in ((1, "o"), (2, "s"), (4, "^")):
    spread = distributed.spread(sources.parquet(folder / "*.parquet"), client=client, lanes=lanes)
    problem, looks = Problem(spread, **parts), []
    solve(problem, AdaSADMM(beta="auto", average="auto"), epochs=6, trace_every=1, callback=looks.append)
    above = [problem.objective(look.w_average) / best - 1.0 for look in looks]
    label = f"{lanes} lane{'s' * (lanes > 1)}"
    ax.semilogy([look.epoch for look in looks], above, marker=marker, label=label)
ax.set(xlabel="epochs", ylabel="above the optimum, relative")
ax.legend()
plt.show()

# %%
# The curves are close together. If each lane has its own core, twice as many lanes take little more than half of the
# time for an epoch, and the answer is nearly as good. :doc:`/distributed` has measurements on real data with real
# processes, and describes what happens if a worker or the scheduler is lost.

client.close()

# %%
# From a terminal: ``adasadmm fit 'data/*.parquet' --model m.skops --scheduler tcp://scheduler:8786``.
