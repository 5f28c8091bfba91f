"""Paths and cross-validation: their cost in units of one fit, and beside scikit-learn, skglm and CVXPY.

    ADASADMM_DATA=... python benchmarks/paths.py                 # writes its tables into docs/benchmarks.md
    ADASADMM_DATA=... python benchmarks/paths.py --print         # prints them
    ADASADMM_DATA=... python benchmarks/paths.py --print a9a     # only the problems with this name

All times are CPU seconds, with one thread of BLAS for every package. Those of a line are measured one after the other
in one process, after a run that compiles.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import page
import scipy.ndimage
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegressionCV, lasso_path
from threadpoolctl import threadpool_limits

from adasadmm import (
    L1,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    GroupL2,
    Hinge,
    Logistic,
    Problem,
    Squared,
    StructuredRegressor,
    StructuredRegressorCV,
    TrendFilter,
    TrendFilterCV,
    graphs,
    path,
    solve,
)
from adasadmm.auto import choices
from adasadmm.datasets import PAPER, load
from adasadmm.registry import Tuning
from adasadmm.regularization.alpha_max import alpha_max

STRENGTHS, EPS = 50, 1e-3
FOLDS, ALPHAS = 5, 20
CVXPY_STRENGTHS = 5


class Case(NamedTuple):
    """A problem by name; the penalty has the strength 1. ``plain`` and ``search`` make estimators of this problem."""

    name: str
    X: Any
    y: np.ndarray
    loss: Any
    A: Any
    plain: Callable[[float], Any]
    search: Callable[[], Any]
    penalty: Any = L1(1.0)
    ridge: bool = True

    def problem(self) -> Problem:
        gamma = 1.0 / len(self.y) if self.ridge else 0.0
        return Problem(self.X, self.y, loss=self.loss, penalty=self.penalty, A=self.A, gamma=gamma)

    def rows(self) -> tuple[Any, np.ndarray]:
        """The data to which the estimators are fitted."""
        return (np.arange(len(self.y)), self.y) if not self.ridge else (self.X, self.y)


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def binary(n: int = 11_055, d: int = 68) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 0 and 1 of the shape of the phishing data."""
    rng = np.random.default_rng(0)
    X = (rng.random((n, d)) < rng.uniform(0.1, 0.9, d)).astype(float)
    z = X @ np.repeat(rng.normal(size=d // 4), 4)
    return X, np.where(z - z.mean() + rng.logistic(size=n) > 0.0, 1.0, -1.0)


def genes(n: int = 200, d: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of 20 correlated columns, 60 of which have an effect."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(n, d // 20)), 20, axis=1) + 0.5 * rng.normal(size=(n, d))
    return X, np.where(0.1 * X[:, :60].sum(axis=1) + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def images(*shape: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Smooth noise on a grid of pixels or voxels; the target is the difference of two regions, with noise."""
    rng = np.random.default_rng(0)
    X = scipy.ndimage.gaussian_filter(rng.normal(size=(n, *shape)), [0.0] + [1.0] * len(shape))
    w = np.zeros(shape)
    w[tuple(slice(side // 5, side // 5 + side // 4) for side in shape)] = 1.0
    w[tuple(slice(3 * side // 5, 3 * side // 5 + side // 4) for side in shape)] = -1.0
    X = X.reshape(n, -1) / X.std()
    z = X @ w.reshape(-1)
    return X, z / z.std() + 0.5 * rng.normal(size=n)


def along_graph(name: str, X: Any, y: np.ndarray, loss: Any, graph: Any = "chain") -> Case:
    """A case of the graph-guided estimators."""
    d, named = X.shape[1], type(loss).__name__.lower()
    A = graphs.difference(d) if graph == "chain" else graphs.incidence(graphs.grid(*graph[1:]), None, d)
    classifies = not isinstance(loss, Squared)
    plain = GraphGuidedClassifier if classifies else GraphGuidedRegressor
    search = GraphGuidedClassifierCV if classifies else GraphGuidedRegressorCV
    return Case(
        f"{name}, {n_by_d(X)}, {graph if graph == 'chain' else graph[0]}, {named}",
        X,
        y,
        loss,
        A,
        lambda alpha: plain(graph, loss=named, alpha=alpha),
        lambda: search(graph, loss=named, alphas=ALPHAS, cv=FOLDS),
    )


def n_by_d(X: Any) -> str:
    return f"{X.shape[0]:,} x {X.shape[1]:,}"


def signal() -> Case:
    rng = np.random.default_rng(0)
    y = np.repeat(rng.normal(size=50), 200) + 0.3 * rng.normal(size=10_000)
    return Case(
        "signal, 10,000 points, chain, squared",
        sp.eye_array(10_000, format="csr"),
        y,
        Squared(),
        graphs.difference(10_000),
        lambda alpha: TrendFilter(0, alpha=alpha),
        lambda: TrendFilterCV(0, alphas=ALPHAS, cv=FOLDS),
        ridge=False,
    )


def groups() -> Case:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 300))
    A, rows = graphs.overlapping_groups([np.arange(k, min(k + 10, 300)) for k in range(0, 300, 5)], 300)
    y, penalty = X[:, :20].sum(axis=1) + rng.normal(size=500), GroupL2(1.0, rows)
    structure: Any = (A, rows)
    return Case(
        "overlapping groups, 500 x 300, squared",
        X,
        y,
        Squared(),
        A,
        lambda alpha: StructuredRegressor(structure, penalty="group", alpha=alpha),
        lambda: StructuredRegressorCV(structure, penalty="group", alphas=ALPHAS, cv=FOLDS),
        penalty,
    )


def cases() -> Iterator[Case]:
    for loss in (Logistic(), Hinge(), Squared()):
        yield along_graph("binary", *binary(), loss)
    digits = load_digits()
    X, y = digits.data / 16.0, np.where(digits.target > 4, 1.0, -1.0)
    for loss in (Logistic(), Hinge()):
        yield along_graph("digits", X, y, loss, ("grid", 8, 8))
    for loss in (Logistic(), Squared()):
        yield along_graph("genes", *genes(), loss)
    for name, shape in (("images", (50, 50)), ("volumes", (10, 10, 20))):
        X, y = images(*shape)
        yield along_graph(name, X, np.where(y > 0.0, 1.0, -1.0), Logistic(), ("grid", *shape))
        yield along_graph(name, X, y, Squared(), ("grid", *shape))
    yield signal()
    yield groups()
    for name in PAPER:
        data = load(name)
        for loss in (Logistic(), Hinge()):
            yield along_graph(name, data.X, data.y.astype(float), loss)


def chosen_cases() -> Iterator[Case]:
    names = page.named()
    return (case for case in cases() if not names or any(name in case.name for name in names))


def paths() -> str:
    """The path of 50 strengths in units of one fit at the smallest strength, and so is cross-validation."""
    rows = []
    for case in chosen_cases():
        top = alpha_max(case.problem())
        alphas = np.geomspace(top, EPS * top, STRENGTHS)
        path(case.problem(), alphas[[0, 25, -1]])

        def one(case: Case = case, alpha: float = alphas[-1]) -> Any:
            problem = case.problem().with_penalty(case.penalty._replace(nu=alpha))
            return solve(problem, next(choices(problem, Tuning())).solver, tol=1e-3)

        single = typical(one)
        whole, results = seconds(lambda case=case, alphas=alphas: path(case.problem(), alphas))
        gap = max(result.certificate.relative_gap for result in results)
        search, plain = case.search().fit(*case.rows()), case.plain(alphas[-1])
        fit = typical(lambda plain=plain, case=case: plain.fit(*case.rows()))
        searched, _ = seconds(lambda search=search, case=case: search.fit(*case.rows()))
        figures = [f"{single:.3f}", f"{whole:.2f}", f"{whole / single:.1f}", f"{max(gap, 0.0):.0e}"]
        rows.append([case.name, *figures, f"{fit:.3f}", f"{searched:.2f}", f"{searched / fit:.1f}"])
    head = ["problem", "one `solve`, s", f"`path` of {STRENGTHS}, s", "ratio", "largest gap", "one `fit`, s"]
    return page.table([*head, f"search of {ALPHAS} x {FOLDS}, s", "ratio"], rows)


def typical(function: Callable[[], Any]) -> float:
    """The median of five times, after a run that compiles."""
    function()
    return float(np.median([seconds(function)[0] for _ in range(5)]))


def searches() -> str:
    """Cross-validation beside scikit-learn."""
    X, y = binary()
    search = GraphGuidedClassifierCV("chain", loss="logistic", alphas=ALPHAS, cv=FOLDS)
    search.fit(X[:500], y[:500])
    ours, _ = seconds(lambda: search.fit(X, y))
    theirs, _ = seconds(lambda: LogisticRegressionCV(Cs=ALPHAS, cv=FOLDS).fit(X, y))
    rows = [["`GraphGuidedClassifierCV(loss='logistic')`", f"{ours:.2f}", "1.0"]]
    rows.append(["`LogisticRegressionCV`", f"{theirs:.2f}", f"{theirs / ours:.1f}"])
    return page.table([f"{ALPHAS} strengths, {FOLDS} folds, 11,055 x 68", "s", "ours = 1"], rows)


def lasso() -> str:
    """L1 paths beside other packages, all without an intercept, on centred columns."""
    X, y = genes()
    X, y = X - X.mean(axis=0), y - y.mean()
    n, d = X.shape
    problem = Problem(X, y, loss=Squared(), penalty=L1(1.0), A=sp.eye_array(d, format="csr"))
    alphas = np.geomspace(top := float(np.abs(X.T @ y).max() / n), 1e-2 * top, STRENGTHS)

    def value(w: np.ndarray, alpha: float) -> float:
        return float(np.sum((X @ w - y) ** 2) / (2 * n) + alpha * np.abs(w).sum())

    path(problem, alphas[:3])
    best, results = seconds(lambda: path(problem, alphas))
    ours = np.array([result.w_average for result in results])
    entries = [("adasadmm `path`, tol=1e-3", best, ours, alphas)]
    spent, (_, coefs, _) = seconds(lambda: lasso_path(X, y, alphas=alphas, tol=1e-3))
    entries.append(("scikit-learn `lasso_path`, tol=1e-3", spent, coefs.T, alphas))
    entries += [*_skglm(X, y, alphas), *_cvxpy(X, y, alphas)]
    rows = []
    for name, spent, coefs, tried in entries:
        places = [int(np.argmin(np.abs(alphas - alpha))) for alpha in tried]
        worse = max(value(w, alphas[k]) / value(ours[k], alphas[k]) - 1.0 for k, w in zip(places, coefs, strict=True))
        each = spent / len(tried)
        rows.append([name, f"{len(tried)}", f"{spent:.2f}", f"{each / (best / STRENGTHS):.1f}", f"{worse:.0e}"])
    head = ["lasso, 200 x 3,000", "strengths", "s", "time a strength, ours = 1", "largest objective above ours"]
    return page.table(head, rows)


def _skglm(X: np.ndarray, y: np.ndarray, alphas: np.ndarray) -> list[tuple]:
    try:
        from skglm import Lasso
    except ImportError:
        return []

    def run() -> np.ndarray:
        model, found = Lasso(fit_intercept=False, tol=1e-3, warm_start=True), []
        for alpha in alphas:
            found.append(model.set_params(alpha=alpha).fit(X, y).coef_.copy())
        return np.array(found)

    run()
    spent, coefs = seconds(run)
    return [("skglm `Lasso`, warm_start, tol=1e-3", spent, coefs, alphas)]


def _cvxpy(X: np.ndarray, y: np.ndarray, alphas: np.ndarray) -> list[tuple]:
    try:
        import cvxpy as cp
    except ImportError:
        return []
    w, strength, tried = cp.Variable(X.shape[1]), cp.Parameter(nonneg=True), alphas[:: STRENGTHS // CVXPY_STRENGTHS]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X @ w - y) / (2 * len(y)) + strength * cp.norm1(w)))

    def run() -> np.ndarray:
        found = []
        for alpha in tried:
            strength.value = alpha
            problem.solve(warm_start=True, solver=cp.CLARABEL)
            found.append(w.value.copy())
        return np.array(found)

    spent, coefs = seconds(run)
    return [("CVXPY with a parameter, Clarabel", spent, coefs, tried)]


def text() -> str:
    warnings.simplefilter("ignore")
    with threadpool_limits(1):  # threads that wait for work count as CPU seconds
        return paths() if page.named() else "\n\n".join((paths(), searches(), lasso()))


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
