"""The demo: planted weights found with and without a graph, and the paper's algorithms on two data sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .. import datasets, graphs
from .._solve import solve_quietly
from ..certificates.trace import Snapshot
from ..estimators import GraphGuidedClassifier
from ..losses import Hinge
from ..metrics import Full
from ..penalties import L1
from ..problem import Problem
from ..solvers import ADMM, ALM, SADMM, AdaSADMM, Solver
from .report.showcase import Line, Recovery, WeightMap
from .settings import POINTS_AN_EPOCH, TEST_PART

__all__ = ["STAGES", "Pictures", "Stage", "lines", "pictures", "recovery", "solvers", "weight_maps"]


class Stage(NamedTuple):
    """A data set of the demo. ``eta``: the best powers of 2 for SADMM c/sqrt(t), Ada-SADMM diagonal and full."""

    title: str
    graph: str
    eta: tuple[float, float, float]


STAGES = {
    "digits": Stage("Handwritten digits, even against odd", "the 8 x 8 grid of pixels", (1.0, 1.0, 1.0)),
    "breast_cancer": Stage("Breast cancer, benign against malignant", "learnt from the rows", (0.25, 0.5, 0.5)),
}
STRENGTH = 0.003  # of the graph penalty in the weight maps
SPLITS = 10  # the test errors of the weight maps are means over this many splits
SIDE = 16  # pixels a side of the planted image
ROWS, FRESH, DRAWS = 300, 2000, 3  # rows to learn from, rows to test on, and draws over which accuracies are means
HELD_OUT = np.arange(ROWS) % 3 == 0  # choose the strengths
NOISE = 0.3  # in standard deviations of the score


class Pictures(NamedTuple):
    """What the page shows below the tables."""

    recovery: Recovery
    maps: list[WeightMap]


def pictures(compile_for: str) -> Pictures:
    """Make the pictures, in a process beside the one that runs the tables.

    The longest compilation of the tables, that of the full metric, comes first: it ends before they need it, and they
    load it from the disk.
    """
    problem, _, _ = _problem(compile_for)
    solve_quietly(problem, solvers(STAGES[compile_for])["Ada-SADMM, full"], epochs=1.0 / POINTS_AN_EPOCH)
    return Pictures(recovery(), list(weight_maps()))


def solvers(stage: Stage) -> dict[str, Solver]:
    """Return the solvers by label, in the order of the table."""
    sadmm, diagonal, full = stage.eta
    return {
        "SADMM, 1/(gamma t)": SADMM(),
        "SADMM, c/sqrt(t)": SADMM(eta=sadmm),
        "Ada-SADMM, diagonal": AdaSADMM(eta=diagonal),
        "Ada-SADMM, full": AdaSADMM(metric=Full(refresh=0.05), eta=full),
        "batch ADMM": ADMM(),
        "augmented Lagrangian": ALM(),
    }


def lines(name: str, epochs: float = 2.0) -> Iterator[Line]:
    """Run each algorithm on a data set and yield its line as soon as it is finished."""
    problem, X_test, y_test = _problem(name)
    optimum = solve_quietly(problem, ALM(), tol=1e-8).certificate
    assert optimum is not None
    for label, solver in solvers(STAGES[name]).items():
        course: dict[str, list[float]] = {"epoch": [], "above": []}

        def observe(snapshot: Snapshot, course: dict[str, list[float]] = course) -> None:
            course["epoch"].append(snapshot.epoch)
            course["above"].append(problem.objective(snapshot.w_average) / optimum.dual - 1.0)

        batch = solver.uses_all_rows
        settings: dict[str, Any] = {"callback": observe, "trace_every": 1.0 / POINTS_AN_EPOCH, "epochs": epochs}
        result = solve_quietly(problem, solver, **({} if batch else settings))
        objective = problem.objective(result.w_average)
        error = float(np.mean(np.where(X_test @ result.w_average >= 0.0, 1.0, -1.0) != y_test))
        seconds = float(result.trace["seconds"][-1])
        yield Line(name, label, objective, objective / optimum.dual - 1.0, error, seconds, **course)


def _problem(name: str) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Return the training problem, with gamma = nu = 1/n as in the paper, and the test rows and labels."""
    data = datasets.load(name)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=TEST_PART, random_state=0, stratify=data.y)
    n, d = X.shape
    edges = graphs.grid(8, 8) if name == "digits" else graphs.glasso(X).edges
    A = graphs.incidence(edges, d=d)
    return Problem(X, y, loss=Hinge(), penalty=L1(1 / n), A=A, gamma=1 / n), X_test, y_test


def planted(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random images, noisy labels, and the weight of each pixel: a square of 1 and a disc of -1 on 0."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((SIDE, SIDE))
    weights[2:8, 2:8] = 1.0
    row, column = np.mgrid[:SIDE, :SIDE]
    weights[(row - 11) ** 2 + (column - 10.5) ** 2 <= 12] = -1.0
    X = rng.normal(size=(ROWS + FRESH, SIDE * SIDE))
    score = X @ weights.ravel()
    return X, np.where(score + NOISE * score.std() * rng.normal(size=len(score)) > 0.0, 1, -1), weights


def recovery() -> Recovery:
    """Fit planted weights with L1, ridge and the grid; strengths are chosen on a third of the rows."""
    grid = ("grid", SIDE, SIDE)
    lasso: dict[str, Any] = {"l1_ratio": 1.0, "l2": 0.0, "tol": 1e-6}
    models: dict[str, tuple[Any, Any]] = {
        "L1": (
            1.0 / (ROWS * np.geomspace(0.03, 3.0, 5)),
            lambda alpha: GraphGuidedClassifier(grid, loss="logistic", alpha=alpha, solver=ALM(), **lasso),
        ),
        "ridge": (np.geomspace(0.01, 10.0, 5), lambda l2: GraphGuidedClassifier(grid, alpha=0.0, l2=l2, solver=ALM())),
        "grid": (np.geomspace(0.006, 0.1, 5), lambda alpha: GraphGuidedClassifier(grid, alpha=alpha, solver=ALM())),
    }
    accuracies: dict[str, list[float]] = {name: [] for name in models}
    shown: dict[str, list[float]] = {}
    for seed in range(DRAWS):
        X, y, truth = planted(seed)
        rows, labels = X[:ROWS], y[:ROWS]
        for name, (strengths, make) in models.items():
            scores = [
                make(one).fit(rows[~HELD_OUT], labels[~HELD_OUT]).score(rows[HELD_OUT], labels[HELD_OUT])
                for one in strengths
            ]
            model = make(strengths[int(np.argmax(scores))]).fit(rows, labels)
            accuracies[name].append(float(model.score(X[ROWS:], y[ROWS:])))
            if seed == 0:
                shown[name] = model.coef_[0].tolist()
    means = {name: float(np.mean(values)) for name, values in accuracies.items()}
    return Recovery((SIDE, SIDE), truth.ravel().tolist(), shown, means)


def weight_maps() -> Iterator[WeightMap]:
    """Fit the weights with and without a graph, on half of the rows."""
    pixels, digit = load_digits(return_X_y=True)
    chosen = np.isin(digit, (3, 8))
    places = [f"pixel {i}, {j}" for i in range(8) for j in range(8)]
    title = "3 (blue) against 8 (red), one weight per pixel"
    yield _weight_map("digits", title, pixels[chosen] / 16.0, digit[chosen] == 8, ("grid", 8, 8), places)
    data = datasets.load("breast_cancer")
    title = "Benign (red) against malignant (blue), one weight per measurement"
    yield _weight_map("breast_cancer", title, data.X, data.y > 0, "glasso", list(data.feature_names))


def _weight_map(
    name: str, title: str, X: np.ndarray, y: np.ndarray, graph: str | tuple[str, int, int], features: list[str]
) -> WeightMap:
    strengths = (0.0, STRENGTH)
    errors, first = np.empty((SPLITS, 2)), list[Any]()
    for split in range(SPLITS):
        rows, held_out, labels, truth = train_test_split(X, y, train_size=0.5, random_state=split, stratify=y)
        models = [GraphGuidedClassifier(graph, alpha=alpha, tol=1e-5).fit(rows, labels) for alpha in strengths]
        errors[split] = [1.0 - model.score(held_out, truth) for model in models]
        first = first or models
    groups = [len(np.unique(model.clusters_)) for model in first]
    weights = [model.coef_[0].tolist() for model in first]
    shape = graph[1:] if isinstance(graph, tuple) else None
    return WeightMap(name, title, features, first[1].graph_.tolist(), shape, weights, groups, errors.mean(0).tolist())
