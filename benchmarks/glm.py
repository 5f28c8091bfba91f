"""A Poisson model of claim frequencies, 163,212 policies x 917 one-hot columns: ours beside glum, then fused levels.

    ADASADMM_CASES=... python benchmarks/glm.py            # writes its table into docs/benchmarks.md
    ADASADMM_CASES=... python benchmarks/glm.py --print

The data are the Belgian motor insurance policies (the case study "insurance"). The logarithm of the exposure
is the offset. The columns are the levels of age, bonus-malus, power, age of the car and postcode, and of coverage, sex,
fuel, use and fleet without their first level. The ridge models have the same objective, so that the deviance says
whether they have the same optimum. glum is run with a sparse matrix and with categorical columns, and each with as many
threads as it likes and with one; the table has the faster number of threads. Fused levels are chains along age,
bonus-malus, power and age of the car; glum has no such penalty.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import page
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from adasadmm import GraphGuidedRegressor

FACTORS = ("coverage", "sex", "fuel", "use", "fleet")  # without their first level
LEVELS = ("ageph", "bm", "power", "agec", "postcode")
FUSED = ("ageph", "bm", "power", "agec")
RIDGE, STRENGTHS = 3e-4, (1e-4, 1e-3)
REPEATS = 5


class Policies(NamedTuple):
    X: sp.csr_array
    categories: Any  # the same columns for glum
    y: np.ndarray
    offset: np.ndarray
    first: dict[str, int]  # column of each variable
    edges: np.ndarray  # between neighbouring levels


def policies() -> Policies:
    table = page.case("insurance").tables["policies"]
    blocks, columns, first, edges, width = [], [], {}, [], 0
    for name in (*FACTORS, *LEVELS):
        column = table[name].astype("category").cat
        codes, count = column.codes.to_numpy(), len(column.categories)
        block = sp.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)), shape=(len(codes), count))
        block = block[:, 1:] if name in FACTORS else block
        if name in FUSED:
            edges.append(np.column_stack([np.arange(count - 1), np.arange(1, count)]) + width)
        first[name], width = width, width + block.shape[1]
        blocks.append(block)
        columns.append((codes, name in FACTORS))
    X, y = sp.csr_array(sp.hstack(blocks, format="csr")), table["nclaims"].to_numpy(float)
    return Policies(X, _categories(columns), y, np.log(table["expo"].to_numpy()), first, np.concatenate(edges))


def _categories(columns: list[tuple[np.ndarray, bool]]) -> Any:
    try:
        import tabmat
    except ImportError:
        return None
    return tabmat.SplitMatrix([tabmat.CategoricalMatrix(codes, drop_first=drop) for codes, drop in columns])


def deviance(data: Policies, model: Any) -> float:
    """The mean unit deviance of Poisson."""
    z = data.X @ model.coef_ + model.intercept_ + data.offset
    logs = np.zeros_like(data.y)
    seen = data.y > 0.0
    logs[seen] = data.y[seen] * (np.log(data.y[seen]) - z[seen])
    return 2.0 * float(np.mean(logs - data.y + np.exp(z)))


def ours(data: Policies, alpha: float, tol: float) -> GraphGuidedRegressor:
    model = GraphGuidedRegressor(data.edges, loss="poisson", alpha=alpha, l2=RIDGE, tol=tol)
    return model.fit(data.X, data.y, offset=data.offset)


def glum_fits(data: Policies) -> dict[str, Callable[[], Any]]:
    """glum's fits by name; none where it is not installed."""
    if data.categories is None:
        return {}
    from glum import GeneralizedLinearRegressor

    def fit(X: Any, threads: int | None) -> Any:
        with threadpool_limits(threads):
            return GeneralizedLinearRegressor(family="poisson", alpha=RIDGE, l1_ratio=0.0).fit(
                X, data.y, offset=data.offset
            )

    kinds = {"glum, sparse matrix": sp.csc_matrix(data.X), "glum, categorical columns": data.categories}
    return {
        f"{name}/{threads or ''}": lambda X=X, threads=threads: fit(X, threads)
        for name, X in kinds.items()
        for threads in (None, 1)
    }


def timed(fits: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, Any]]:
    """Median seconds and the model of each, after one fit that is not timed; they take turns."""
    models, seconds = {name: fit() for name, fit in fits.items()}, {name: [] for name in fits}  # type: ignore[var-annotated]
    for _ in range(REPEATS):
        for name, fit in fits.items():
            start = time.perf_counter()
            fit()
            seconds[name].append(time.perf_counter() - start)
    return {name: (statistics.median(seconds[name]), models[name]) for name in fits}


def distinct(data: Policies, coef: np.ndarray) -> str:
    """Distinct coefficients of each fused variable."""
    ends = [*data.first.values(), len(coef)]
    width = {name: slice(a, b) for name, a, b in zip(data.first, ends[:-1], ends[1:], strict=True)}
    return ", ".join(f"{name} {len(np.unique(coef[width[name]]))}" for name in FUSED)


def text() -> str:
    data = policies()
    mine = {f"ours, tol={tol:g}/": lambda tol=tol: ours(data, 0.0, tol) for tol in (1e-3, 1e-6)}
    found = timed({**glum_fits(data), **mine})
    best: dict[str, tuple[float, Any]] = {}
    for name, (seconds, model) in found.items():
        label = name.split("/")[0]
        best[label] = min(best.get(label, (np.inf, None)), (seconds, model), key=lambda pair: pair[0])
    peer = min((seconds for name, (seconds, _) in best.items() if name.startswith("glum")), default=np.nan)

    def line(name: str, seconds: float, model: Any, kind: str) -> list[str]:
        return [kind, name, f"{seconds:.3g}", f"{seconds / peer:.2f}", f"{deviance(data, model):.8f}"]

    lines = [[*line(name, *pair, "ridge"), ""] for name, pair in best.items()]
    fused = {
        f"ours, alpha={alpha:g}, tol={tol:g}": lambda alpha=alpha, tol=tol: ours(data, alpha, tol)
        for alpha in STRENGTHS
        for tol in (1e-3, 1e-6)
    }
    for name, (seconds, model) in timed(fused).items():
        lines.append([*line(name, seconds, model, "ridge, fused levels"), distinct(data, model.coef_)])
    return page.table(["model", "by", "s", "times the faster glum", "mean deviance", "distinct levels"], lines)


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
