"""Exact structure at each tolerance: which zeros of ``A w`` the fit shows, beside those of a much more accurate one.

    ADASADMM_DATA=... python benchmarks/exactness.py             # writes its table into docs/benchmarks.md
    ADASADMM_DATA=... python benchmarks/exactness.py chains      # only the kinds that begin with this word

A gap of 1e-3 does not determine the pattern of the optimum; the table shows how much of it is found, and how much is
fused although it is not fused at the optimum. The last column is the part of the fit that exact structure takes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import page
import shapes_problems as shapes
from sklearn.datasets import load_digits

from adasadmm import graphs
from adasadmm._solve import finish
from adasadmm.datasets import PAPER, load

TOLERANCES = (1e-2, 1e-3, 1e-6)
SHARP = 1e-9
ROUNDING = 1e-13  # relative to the terms of a row of A: a second difference cannot be exactly 0


class Counts(NamedTuple):
    """Zeros of ``A w`` at the optimum and other rows; how many of each are 0 in the fit; and seconds."""

    zeros: int
    others: int
    found: int
    false: int
    seconds: float
    of_structure: float


def zeros(shape: shapes.Shape, w: np.ndarray) -> np.ndarray:
    return np.abs(shape.A @ w) <= ROUNDING * np.maximum(np.abs(shape.A) @ np.abs(w), np.finfo(float).tiny)


def fitted(shape: shapes.Shape, tol: float) -> tuple[np.ndarray, float, float]:
    """The pattern of a fit, its seconds, and those for its exact structure."""
    spent = [0.0]

    def timed(*given: Any) -> Any:
        start = time.perf_counter()
        try:
            return exact(*given)
        finally:
            spent[0] += time.perf_counter() - start

    model, exact = shape.estimator(tol).fit(*shape.data), finish.with_exact_structure
    finish.with_exact_structure = timed
    try:
        start = time.perf_counter()
        model.fit(*shape.data)
        seconds = time.perf_counter() - start
    finally:
        finish.with_exact_structure = exact
    return zeros(shape, np.ravel(model.coef_)), seconds, spent[0]


def counts(shape: shapes.Shape) -> list[Counts]:
    """One entry for each tolerance."""
    truly, _, _ = fitted(shape, SHARP)
    found = []
    for tol in TOLERANCES:
        here, seconds, of_structure = fitted(shape, tol)
        numbers = truly.sum(), (~truly).sum(), (here & truly).sum(), (here & ~truly).sum()
        found.append(Counts(*map(int, numbers), seconds, of_structure))
    return found


def paper(name: str) -> shapes.Shape:
    _, X, y, *_ = load(name)
    edges = graphs.glasso(X).edges
    return shapes.Shape(X, y, "hinge", 10.0 / len(y), 1.0 / len(y), graphs.incidence(edges, d=X.shape[1]), edges)


def digits() -> shapes.Shape:
    data = load_digits()
    edges = graphs.grid(8, 8)
    y = np.where(data.target % 2 == 0, 1.0, -1.0)
    return shapes.Shape(data.data / 16.0, y, "hinge", 1e-3, 1e-3, graphs.incidence(edges, d=64), edges)


def kinds() -> dict[str, Callable[[], Iterator[shapes.Shape]]]:
    strengths = np.geomspace(0.3, 30.0, 20)
    losses = ("squared", "logistic", "poisson", "quantile", "hinge")
    made: dict[str, Callable[[], Iterator[shapes.Shape]]] = {
        "chains, X = I": lambda: (shapes.chain(500, losses[k % 5], s) for k, s in enumerate(strengths)),
        "grids, X = I": lambda: (shapes.grid(20, losses[k % 5], 0.3 * s) for k, s in enumerate(strengths)),
        "trends, X = I": lambda: (shapes.trend(300, s) for s in strengths),
        "genes 100 x 400": lambda: (shapes.genes(100, 400, loss) for loss in ("squared", "logistic", "hinge")),
        "overlapping groups 400 x 200": lambda: iter([shapes.groups(400, 200)]),
        "digits": lambda: iter([digits()]),
    }
    return made | {name: lambda name=name: iter([paper(name)]) for name in PAPER}  # type: ignore[misc]


def lines(kind: str, made: Iterator[shapes.Shape]) -> list[list[str]]:
    of_all = [counts(shape) for shape in made]
    found = []
    for tol, each in zip(TOLERANCES, zip(*of_all, strict=True), strict=True):
        total = Counts(*map(sum, zip(*each, strict=True)))
        shown = f"{total.found / max(1, total.zeros):.1%}", f"{total.false / max(1, total.zeros + total.others):.1%}"
        size = f"{total.zeros:,} of {total.zeros + total.others:,}"
        found.append([kind, f"{tol:g}", size, *shown, f"{total.of_structure / total.seconds:.0%}"])
    return found


def text() -> str:
    words = page.named()
    head = ["problem", "tol", "zeros of the optimum", "found", "false, of all rows", "part of the fit"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = {name: make for name, make in kinds().items() if not words or name.startswith(tuple(words))}
        return page.table(head, [line for kind, make in chosen.items() for line in lines(kind, make())])


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
