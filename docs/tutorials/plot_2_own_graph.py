"""
Bring your own graph
====================

You have a table and know which of its columns belong together. This tutorial fits a model to a CSV file and a list of
edges, and shows how to tell whether the graph was worth it.
"""

# %%
# A table and its edges
# ---------------------
#
# Both are generated here and written to files. 24 sensors along a river take a measurement every morning; the target is
# the level in the harbour a day later. Neighbouring sensors should have similar coefficients.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
sensors = [f"sensor_{k:02}" for k in range(24)]
X = pd.DataFrame(rng.normal(size=(80, 24)), columns=sensors)
weights = np.repeat([0.0, 0.6, 0.2], 8)  # the upper reach has no influence, the middle reach the largest
folder = Path(tempfile.mkdtemp())
X.assign(level=X @ weights + rng.normal(size=80)).round(3).to_csv(folder / "river.csv", index=False)
pd.DataFrame({"source": sensors[:-1], "target": sensors[1:]}).to_csv(folder / "edges.csv", index=False)
print((folder / "edges.csv").read_text()[:70], "...")

# %%
# Your own file of edges has the same form: two columns with the names of features (or their numbers, from 0), and
# optionally a third column with weights. The header is optional.
#
# Fit
# ---

from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adasadmm import GraphGuidedRegressorCV

table = pd.read_csv(folder / "river.csv")
X, y = table.drop(columns="level"), table["level"]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().set_output(transform="pandas")  # keeps the names, to which the edges refer
model = make_pipeline(scaler, GraphGuidedRegressorCV(str(folder / "edges.csv"), alphas=15, cv=5))
model.fit(X_train, y_train)
print(model[-1].summary())

# %%
# Was the graph worth it?
# -----------------------
#
# Compare it with a model without a graph, tuned in the same way. A single small table is weak evidence: there are only
# 20 test rows.

from sklearn.linear_model import RidgeCV

plain = make_pipeline(StandardScaler(), RidgeCV(np.geomspace(0.1, 1000, 20))).fit(X_train, y_train)
print(f"R² on test rows: {model.score(X_test, y_test):.2f} with the graph, {plain.score(X_test, y_test):.2f} without")

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(9, 4))
ax.plot(weights, color="0.75", linewidth=5, label="planted")
ax.plot(model[-1].coef_, "C0o", label="with the graph")
ax.plot(plain[-1].coef_, "C3x", label="ridge")
ax.set(xlabel="sensor, from the source to the mouth", ylabel="coefficient")
ax.legend()
plt.show()

# %%
# The blue dots form reaches of the river with one coefficient each, close to the planted ones; the red crosses scatter.
#
# Other ways to specify a graph
# -----------------------------
#
# All of these describe the same graph:

import networkx as nx
import scipy.sparse as sp

from adasadmm import GraphGuidedRegressor

pairs = [[sensors[k], sensors[k + 1]] for k in range(23)]
for graph in (
    pairs,  # names
    np.column_stack([np.arange(23), np.arange(1, 24)]),  # numbers
    (pairs, np.ones(23)),  # and weights
    sp.eye_array(24, k=1, format="csr"),  # an adjacency matrix
    nx.path_graph(sensors),
    "chain",
):
    fitted = GraphGuidedRegressor(graph, alpha=0.05).fit(X, y)
    print(type(graph).__name__, len(fitted.graph_), "edges")

# %%
# Invalid graphs
# --------------
#
# An unknown name, an edge from a feature to itself, or a negative weight raises an error that names it.

try:
    GraphGuidedRegressor([["sensor_00", "sensor_99"]]).fit(X, y)
except ValueError as error:
    print(error)

# %%
# A scaler without ``set_output`` removes the column names. Edges by name then raise an error that says so; edges by
# number still work.
#
# See also :class:`adasadmm.StructuredRegressor`, which takes any matrix A instead of a graph, and :doc:`/choosing` for
# which graph to use.
