"""CPU time and epochs to relative duality gaps of 1e-3, 1e-4 and 1e-6, for each solver.

    ADASADMM_DATA=... python benchmarks/high_accuracy.py            # all parts, an hour
    python benchmarks/high_accuracy.py --print wide disk            # or some: known, paper, wide, disk

The problem is the graph-guided one of the paper, gamma = nu = 1/n. CPU time of one core is used because it is nearly
the same on a busy machine. It includes the setup of a run and the evaluations of the gap, whose number grows with the
logarithm of the epochs, but not compilation.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import page
import scipy.sparse as sp
from scipy.spatial import cKDTree

from adasadmm import (
    ADMM,
    ASVRGADMM,
    L1,
    SPDHG,
    SVRGADMM,
    AdaSADMM,
    Hinge,
    Logistic,
    Problem,
    Squared,
    datasets,
    graphs,
    solve,
)

TARGETS = (1e-3, 1e-4, 1e-6)
ADA = AdaSADMM(average="step-weighted", beta="auto", batch_size="auto")
SOLVERS = {"Ada-SADMM": ADA, "batch ADMM": ADMM(), "SPDHG": SPDHG(), "SVRG-ADMM": SVRGADMM(), "ASVRG-ADMM": ASVRGADMM()}
SMOOTH = (SVRGADMM, ASVRGADMM)
GLASSO = {"a9a": 0.01, "mushrooms": 0.07, "news20": 0.01, "splice": 0.1, "svmguide3": 0.02, "w8a": 0.01}


class Look(NamedTuple):
    epochs: float
    seconds: float
    gap: float
    primal: float
    dual: float


def course(problem: Problem, solver: Any, most: float, least: float = TARGETS[-1], start: Any = None) -> Iterator[Look]:
    """A run, evaluated after 1, 2, 3, 4, 5, 6, 8, 10, 13, ... epochs until the gap or the time limit is reached."""
    warm_up(problem, solver)
    epochs, seconds, gap, result = 0, 0.0, math.inf, start
    tol = None if solver is ADA else 0.0
    most = most / 3.0 if solver is ADA else most  # it never comes to these gaps
    while gap > least and seconds < most:
        more = max(1, round(0.3 * epochs))
        begin = time.process_time()
        result = solve(problem, solver, epochs=more, start=result, trace_every=more, tol=tol, seed=epochs)
        seconds += time.process_time() - begin
        epochs += more
        c = result.certificate
        gap = c.relative_gap
        yield Look(epochs, seconds, gap, c.primal, c.dual)


def warm_up(problem: Problem, solver: Any) -> None:
    """Compile for problems of this kind, on a subset of the features if a matrix would be large."""
    if isinstance(solver, ADMM) and problem.d > 1000:
        A = sp.eye_array(9, 10) - sp.eye_array(9, 10, k=1)
        X, y = sp.csr_array(np.ones((20, 10))), problem.rows.y[:20]
        problem = Problem(X, y, loss=problem.loss, penalty=problem.penalty, A=A, gamma=1.0)
    solve(problem, solver, epochs=1 if isinstance(solver, ADMM) else 2 / problem.n)


def compare(name: str, problem: Problem, most: float, without: tuple[str, ...] = (), **others: Any) -> list[list[str]]:
    """A line of the table for each solver."""
    chosen = {label: solver for label, solver in SOLVERS.items() if label not in without} | others
    smooth = not isinstance(problem.loss, Hinge)
    runs = {k: list(course(problem, s, most)) for k, s in chosen.items() if smooth or not isinstance(s, SMOOTH)}
    bound = max(look.dual for run in runs.values() for look in run)
    lines = []
    for label, run in runs.items():
        times = [next((f"{x.seconds:.2f} ({x.epochs})" for x in run if x.gap <= target), "-") for target in TARGETS]
        last = run[-1]
        end = [f"{last.seconds:.1f} ({last.epochs})", f"{last.gap:.0e}", f"{(last.primal - bound) / last.primal:.0e}"]
        lines.append([name, type(problem.loss).__name__.lower(), label, *times, *end])
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    return lines


HEAD = ["data", "loss", "solver", *(f"to {target:g}" for target in TARGETS), "at the end", "gap", "above the optimum"]


# --- data ------------------------------------------------------------------------------------------------------------


def problem_of(X: Any, y: np.ndarray, edges: np.ndarray, loss: Any, gamma: float = 1.0) -> Problem:
    n, d = X.shape
    return Problem(X, y, loss=loss, penalty=L1(1 / n), A=graphs.incidence(edges, d=d), gamma=gamma / n)


def paper(name: str, loss: Any, gamma: float = 1.0) -> Problem:
    data = datasets.load(name)
    return problem_of(data.X, data.y, graphs.glasso(data.X, penalty=GLASSO[name]).edges, loss, gamma)


def words(n: int, d: int, length: int = 60, seed: int = 0) -> tuple[sp.csr_array, np.ndarray, np.random.Generator]:
    """Texts: words by Zipf's law, tf-idf, rows of norm 1; scores from coefficients that are constant on segments."""
    rng = np.random.default_rng(seed)
    often = 1.0 / (np.arange(d) + 10.0)
    columns = rng.permutation(d)[rng.choice(d, size=n * length, p=often / often.sum())]
    X = sp.csr_array((np.ones(n * length), columns, np.arange(0, n * length + 1, length)), shape=(n, d))
    X.sum_duplicates()
    X.data = (1.0 + np.log(X.data)) * np.log((n + 1.0) / (np.bincount(X.indices, minlength=d)[X.indices] + 1.0))
    X = sp.csr_array(sp.diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    truth = np.repeat(rng.normal(size=-(-d // 50)), 50)[:d]
    score = X @ truth
    return X, score / score.std() + 0.5 * rng.normal(size=n), rng


def wide(n: int, d: int, loss: Any, graph: str = "chain") -> Problem:
    X, score, rng = words(n, d)
    edges = graphs.chain(d)
    if graph == "knn":  # each word with its 4 nearest, at places whose first coordinate is that of the chain
        places = np.column_stack([np.arange(d) / 50.0, rng.random(d)])
        near = cKDTree(places).query(places, 5)[1]
        edges = np.unique(np.sort(np.column_stack([near[:, 0].repeat(4), near[:, 1:].reshape(-1)])), axis=0)
    y = score if isinstance(loss, Squared) else np.where(score > 0.0, 1.0, -1.0)
    return problem_of(X, y, edges, loss)


def like_ijcnn1(seed: int = 0) -> Problem:
    """Similar to ijcnn1: 49,990 rows of 22 features, ten of them one-hot, a tenth of the labels positive."""
    rng = np.random.default_rng(seed)
    n = 49_990
    numbers = 0.3 * rng.normal(size=(n, 4)) @ rng.normal(size=(4, 12)) + 0.3 * rng.normal(size=(n, 12))
    X = np.hstack([np.eye(10)[rng.integers(10, size=n)], numbers])
    score = X @ rng.normal(size=22) + 0.5 * rng.normal(size=n)
    y = np.where(score > np.quantile(score, 0.9), 1.0, -1.0)
    return problem_of(sp.csr_array(X), y, graphs.glasso(X, penalty=0.01).edges, Hinge())


def on_disk(X: sp.csr_array, folder: Path) -> sp.csr_array:
    """The same rows, memory-mapped from files."""
    arrays = []
    for name, array in (("data", X.data), ("indices", X.indices), ("indptr", X.indptr)):
        np.save(folder / name, array)
        arrays.append(np.load(folder / f"{name}.npy", mmap_mode="c"))
    return sp.csr_array(tuple(arrays), shape=X.shape)


# --- the tables ------------------------------------------------------------------------------------------------------


def known() -> str:
    """The figures of the prototype, and those of this package."""
    rows = []
    for text, problem, solver, wanted, epochs in (
        ("a9a, logistic, above the optimum", paper("a9a", Logistic()), ASVRGADMM(batch_size=1), "2e-11", 20),
        ("the same, SVRG-ADMM", paper("a9a", Logistic()), SVRGADMM(batch_size=1), "9e-10", 20),
        ("the same, SPDHG", paper("a9a", Logistic()), SPDHG(batch_size=1), "3e-06", 20),
        ("49,990 x 22, hinge, gap (generated; prototype: ijcnn1)", like_ijcnn1(), SPDHG(), "3.8e-08", 100),
        ("a9a, hinge, gap", paper("a9a", Hinge()), SPDHG(batch_size=1), "1.3e-04", 100),
        ("a9a, hinge, gamma = 100/n, gap", paper("a9a", Hinge(), 100.0), SPDHG(batch_size=1), "6.8e-07", 100),
    ):
        warm_up(problem, solver)
        begin = time.process_time()
        result = solve(problem, solver, epochs=epochs, trace_every=epochs, tol=0.0)
        seconds = time.process_time() - begin
        c = result.certificate
        found = [f"{c.primal - c.dual:.1e}", f"{c.relative_gap:.1e}"]
        if not isinstance(problem.loss, Hinge):  # the gap of a far longer run is the error of its optimum
            far = solve(problem, ASVRGADMM(batch_size=1), epochs=45, trace_every=45, tol=0.0).certificate
            found[0] = f"{max(c.primal - far.primal, 0.0):.1e} (± {far.gap:.0e})"
        rows.append([text, type(solver).__name__, str(epochs), wanted, *found, f"{seconds:.1f}"])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return page.table(["setting", "solver", "epochs", "known", "found", "relative gap", "seconds"], rows)


def of_the_paper() -> str:
    rows = [row for name in GLASSO for loss in (Hinge(), Logistic()) for row in compare(name, paper(name, loss), 2.0)]
    return page.table(HEAD, rows)


def with_many_features() -> str:
    rows = compare("20,000 x 5,000, chain", wide(20_000, 5_000, Hinge()), 12.0)
    rows += compare("20,000 x 5,000, chain", wide(20_000, 5_000, Logistic()), 12.0)
    dear = ("batch ADMM",)  # it would factor a matrix of 3 GB, time and again
    for loss, graph in ((Hinge(), "chain"), (Hinge(), "knn"), (Logistic(), "chain"), (Squared(), "knn")):
        rows += compare(f"50,000 x 20,000, {graph}", wide(50_000, 20_000, loss, graph), 10.0, dear)
    return page.table(HEAD, rows)


def from_disk() -> str:
    X, score, _ = words(60_000, 30_000)
    y = np.where(score > 0.0, 1.0, -1.0)
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for loss in (Hinge(), Logistic()):
            problem = problem_of(on_disk(X, Path(folder)), y, graphs.chain(30_000), loss)
            rows += compare("60,000 x 30,000, mapped from disk", problem, 15.0, ("Ada-SADMM", "batch ADMM"))
    return page.table(HEAD, rows)


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "known": ("Figures of the prototype", known),
    "paper": ("The paper's six", of_the_paper),
    "wide": ("Many features", with_many_features),
    "disk": ("Rows on disk", from_disk),
}


def text() -> str:
    warnings.simplefilter("ignore")
    chosen = [PARTS[name] for name in page.named() or PARTS]
    return "\n\n".join(f"### {title}\n\n{table()}" for title, table in chosen)


if __name__ == "__main__":
    page.show(__file__, "high_accuracy.md", text)
