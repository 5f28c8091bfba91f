"""The paper's problem, with hinge or logistic loss, and our solvers with nothing tuned: shared by several scripts."""

from __future__ import annotations

from typing import Any

import numpy as np

from adasadmm import datasets, graphs, losses
from adasadmm.metrics import Full
from adasadmm.paper.cells import learnt_graph, scaled
from adasadmm.paper.settings import SCALED
from adasadmm.penalties import L1
from adasadmm.problem import Problem
from adasadmm.solvers import ADMM, ALM, SADMM, AdaSADMM, Solver

LOSSES = {"hinge": losses.Hinge(), "logistic": losses.Logistic()}
SOLVERS: dict[str, tuple[str, Solver]] = {  # name: label and solver; c = 1 as in the demo
    "alm": ("augmented Lagrangian", ALM()),
    "admm": ("batch ADMM", ADMM()),
    "ada-diag": ("Ada-SADMM, diagonal", AdaSADMM(average="auto", beta="auto")),
    "ada-full": ("Ada-SADMM, full", AdaSADMM(Full(refresh=0.05), average="auto", beta="auto")),
    "sadmm": ("SADMM, 1/(gamma t)", SADMM()),
    "sadmm-sqrt": ("SADMM, c/sqrt(t)", SADMM(eta=1.0)),
}


def rows_and_graph(name: str, data_dir: str | None = None) -> tuple[Any, np.ndarray, np.ndarray]:
    """Load all rows of a data set with their labels, and learn its graph as in the paper's experiment."""
    data = datasets.load(name, data_dir)
    X = scaled(data.X, np.arange(len(data.y))) if name in SCALED else data.X
    return X, data.y, learnt_graph(name, X).edges


def problem_of(X: Any, y: np.ndarray, edges: np.ndarray, loss: str) -> Problem:
    """Build the graph-guided problem without intercept and with gamma = nu = 1/n."""
    n, d = X.shape
    A = graphs.incidence(edges, d=d)
    return Problem(X, y, loss=LOSSES[loss], penalty=L1(1.0 / n), A=A, gamma=1.0 / n)
