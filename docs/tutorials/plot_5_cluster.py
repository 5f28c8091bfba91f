"""
On a Dask cluster
=================

Rows that lie on several machines: each worker reads and keeps its own, and only coefficients travel. The cluster of
this page is two workers inside this process, so that it runs anywhere (``pip install "adasadmm[dask,arrow]"``); with
``Client("tcp://scheduler:8786")``, and files where all workers see them, the rest of the page stays as it is.
"""

# %%
# A cluster, and rows
# -------------------
#
# Eight Parquet files of 4,000 rows, as another program might have left them.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client

from adasadmm import GraphGuidedClassifier, distributed, sources

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)

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
# ``spread`` takes any source, a Dask array or a Dask data frame. Lanes are what runs side by side, by default one for
# each thread of the cluster; each has its own partitions.

rows = distributed.spread(sources.parquet(folder / "*.parquet"), client=client)
print(rows.shape, "rows and features,", len(rows), "partitions,", rows.lanes.number, "lanes")

# %%
# Fit
# ---
#
# What is spread stands where X stands. Up to 2,000 features the default is batch ADMM, whose every iteration is a pass
# over all rows: a map over the partitions, and a sum. It ends with a certificate, as on one machine.

X_test, y_test = some_rows(5000)
exact = GraphGuidedClassifier("chain", loss="logistic", alpha=0.003, tol=1e-3).fit(rows)
print("batch ADMM: accuracy", exact.score(X_test, y_test), "- relative gap", f"{exact.dual_gap_:.1e}")

# %%
# Where features are many or passes are dear, lanes of Ada-SADMM meet sixteen times in an epoch.

model = GraphGuidedClassifier("chain", loss="logistic", alpha=0.003, solver="ada-diag", max_iter=3, random_state=0)
model.fit(rows)
print("rounds of Ada-SADMM: accuracy", model.score(X_test, y_test))

# %%
# What do lanes cost?
# -------------------
#
# Lanes do not see each other's rows until they meet, so some of the work is done twice. How much, the objective after
# as many row visits tells; the optimum is that of batch ADMM, known to its gap.

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
# The curves run side by side: where each lane has a core of its own, twice as many take little more than half of the
# time for an epoch, and the answer is nearly as good. :doc:`/distributed` has the figures for real data, for real
# processes, and for what happens when a worker, or the scheduler, is lost.

client.close()

# %%
# In a terminal: ``adasadmm fit 'data/*.parquet' --model m.skops --scheduler tcp://scheduler:8786``.
