"""The network lasso with a million coefficients: seconds to a relative duality gap of 1e-3.

2,000 nodes with 500 unknowns each on a random 3-regular graph, as in the scalability experiment of Hallac, Leskovec and
Boyd (KDD 2015). Three kinds of nodes: a point in 500 dimensions of which the distance is penalised, so that
X is the identity; and linear models with 25 rows at each node, for regression and for classification.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import networkx as nx
import numpy as np
import page
import scipy.sparse as sp

from adasadmm import NetworkLassoClassifier, NetworkLassoRegressor
from adasadmm.graphs import Graph

NODES, WIDTH, ROWS, CLUSTERS = 2000, 500, 25, 20


def graph() -> Graph:
    return Graph(np.array(nx.random_regular_graph(3, NODES, seed=0).edges), None, NODES)


def points(network: Graph) -> tuple:
    """Each row is one coordinate of the point of one node."""
    X = sp.kron(np.ones((NODES, 1)), sp.eye_array(WIDTH), format="csr")
    return X, np.random.default_rng(0).normal(size=NODES * WIDTH), np.repeat(np.arange(NODES), WIDTH)


def models(network: Graph) -> tuple:
    """Rows of linear models that are equal in each of some connected clusters of nodes."""
    rng = np.random.default_rng(0)
    order = np.array(list(nx.bfs_tree(nx.Graph(network.edges.tolist()), 0)))
    cluster = np.empty(NODES, dtype=int)
    cluster[order] = np.arange(NODES) * CLUSTERS // NODES
    node = np.repeat(np.arange(NODES), ROWS)
    X = rng.normal(size=(NODES * ROWS, WIDTH - 1))
    W = rng.normal(size=(CLUSTERS, WIDTH - 1)) / np.sqrt(WIDTH)
    return X, np.einsum("ij,ij->i", X, W[cluster[node]]) + 0.3 * rng.normal(size=len(X)), node


def line(name: str, model: object, X: object, y: np.ndarray, node: np.ndarray) -> list[str]:
    begun, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y, groups=node)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = [name, f"{X.shape[0]:,}", f"{model.alpha_ * X.shape[0]:g}", f"{seconds:.1f}", f"{cpu:.1f}"]
    found += [str(model.n_iter_), f"{max(model.dual_gap_, 0.0):.0e}", f"{model.n_pieces_:,}", f"{memory:.1f}"]
    print(found, file=sys.stderr, flush=True)
    return found


def text() -> str:
    warnings.simplefilter("ignore")
    network = graph()
    small = Graph(network.edges[:0], None, 1)  # compile outside the clock
    for cls, y in ((NetworkLassoRegressor, [0.0, 1.0]), (NetworkLassoClassifier, [0, 1])):
        cls(small, solver="auto").fit(np.eye(2), y, groups=[0, 0])
    rows = []
    X, y, node = points(network)
    for strength in (5.0, 30.0):
        model = NetworkLassoRegressor(network, strength / len(y), l2=0.0, fit_intercept=False)
        rows.append(line("points, squared", model, X, y, node))
    X, y, node = models(network)
    for strength in (10.0, 100.0):
        rows.append(line("models, squared", NetworkLassoRegressor(network, strength / len(y)), X, y, node))
    rows.append(line("models, hinge", NetworkLassoClassifier(network, 10.0 / len(y)), X, y > 0, node))
    head = ["nodes", "rows", "alpha n", "seconds", "CPU seconds", "iterations", "gap", "clusters", "GiB so far"]
    note = "A notebook of Epsilon reports 43 s for a network of this size, on the machine of its authors."
    return f"{page.table(head, rows)}\n\n{note}"


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
