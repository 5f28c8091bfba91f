"""Paths and cross-validation: their cost in units of one fit, and beside scikit-learn, skglm and CVXPY.

    ADASADMM_DATA=... python benchmarks/paths.py            # writes its tables into docs/benchmarks.md
    ADASADMM_DATA=... python benchmarks/paths.py --print    # prints them

All times of a line are measured one after the other in one process, after a run that compiles.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import page
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegressionCV, lasso_path

from adasadmm import (
    L1,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GroupL2,
    Hinge,
    Logistic,
    Problem,
    Squared,
    graphs,
    path,
    solve,
)
from adasadmm.datasets import load
from adasadmm.paths.alpha_max import alpha_max
from adasadmm.paths.choice import choices
from adasadmm.registry import Tuning

STRENGTHS, EPS = 50, 1e-3
FOLDS, ALPHAS = 5, 20
CVXPY_STRENGTHS = 5


class Case(NamedTuple):
    """A problem by name; the penalty has the strength 1."""

    name: str
    X: Any
    y: np.ndarray
    loss: Any
    A: Any
    penalty: Any = L1(1.0)
    ridge: bool = True

    def problem(self) -> Problem:
        gamma = 1.0 / len(self.y) if self.ridge else 0.0
        return Problem(self.X, self.y, loss=self.loss, penalty=self.penalty, A=self.A, gamma=gamma)


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


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


def cases() -> Iterator[Case]:
    X, y = binary()
    for loss in (Logistic(), Hinge(), Squared()):
        yield Case(f"binary 11,055 x 68, chain, {type(loss).__name__.lower()}", X, y, loss, graphs.difference(68))
    digits = load_digits()
    X, y = digits.data / 16.0, np.where(digits.target > 4, 1.0, -1.0)
    for loss in (Logistic(), Hinge()):
        A = graphs.incidence(graphs.grid(8, 8), None, 64)
        yield Case(f"digits 1,797 x 64, grid, {type(loss).__name__.lower()}", X, y, loss, A)
    X, y = genes()
    for loss in (Logistic(), Squared()):
        yield Case(f"genes 200 x 3,000, chain, {type(loss).__name__.lower()}", X, y, loss, graphs.difference(3000))
    rng = np.random.default_rng(0)
    signal = np.repeat(rng.normal(size=50), 200) + 0.3 * rng.normal(size=10_000)
    eye = sp.eye_array(10_000, format="csr")
    yield Case("signal of 10,000 points, squared", eye, signal, Squared(), graphs.difference(10_000), ridge=False)
    X = rng.normal(size=(500, 300))
    A, rows = graphs.overlapping_groups([np.arange(k, min(k + 10, 300)) for k in range(0, 300, 5)], 300)
    y = X[:, :20].sum(axis=1) + rng.normal(size=500)
    yield Case("overlapping groups 500 x 300, squared", X, y, Squared(), A, GroupL2(1.0, rows))
    for name in ("svmguide3", "splice", "a9a"):
        data = load(name)
        A = graphs.difference(data.X.shape[1])
        yield Case(f"{name}, chain, logistic", data.X, data.y.astype(float), Logistic(), A)


def paths() -> str:
    """The path of 50 strengths in units of one fit at the smallest strength."""
    rows = []
    for case in cases():
        top = alpha_max(case.problem())
        alphas = np.geomspace(top, EPS * top, STRENGTHS)
        path(case.problem(), alphas[[0, 25, -1]])

        def one(case: Case = case, alpha: float = alphas[-1]) -> Any:
            problem = case.problem().with_penalty(case.penalty._replace(nu=alpha))
            return solve(problem, next(choices(problem, Tuning())).solver, tol=1e-3)

        one()
        single, _ = seconds(one)
        whole, results = seconds(lambda case=case, alphas=alphas: path(case.problem(), alphas))
        gap = max(result.certificate.relative_gap for result in results)
        rows.append([case.name, f"{single:.3f}", f"{whole:.2f}", f"{whole / single:.1f}", f"{max(gap, 0.0):.0e}"])
    return page.table(["problem", "one fit, s", f"path of {STRENGTHS}, s", "ratio", "largest gap"], rows)


def searches() -> str:
    """Cross-validation in units of one fit, and beside scikit-learn."""
    X, y = binary()
    small, rows = (X[:500], y[:500]), []
    for loss in ("logistic", "hinge"):
        plain = GraphGuidedClassifier("chain", loss=loss, alpha=1e-4)
        search = GraphGuidedClassifierCV("chain", loss=loss, alphas=ALPHAS, cv=FOLDS)
        plain.fit(X, y), search.fit(*small)
        single, _ = seconds(lambda plain=plain: plain.fit(X, y))
        whole, _ = seconds(lambda search=search: search.fit(X, y))
        rows.append([f"`GraphGuidedClassifierCV(loss={loss!r})`", f"{whole:.2f}", f"{whole / single:.0f}"])
    theirs, _ = seconds(lambda: LogisticRegressionCV(Cs=ALPHAS, cv=FOLDS).fit(X, y))
    rows.append(["`LogisticRegressionCV`", f"{theirs:.2f}", ""])
    X, y = genes()
    plain = GraphGuidedClassifier("chain", loss="logistic", alpha=1e-3)
    search = GraphGuidedClassifierCV("chain", loss="logistic", alphas=6, cv=3)
    plain.fit(X, y)
    single, _ = seconds(lambda: plain.fit(X, y))
    whole, _ = seconds(lambda: search.fit(X, y))
    rows.append(["the same, genes 200 x 3,000, 6 strengths, 3 folds", f"{whole:.2f}", f"{whole / single:.0f}"])
    return page.table([f"{ALPHAS} strengths, {FOLDS} folds, 11,055 x 68", "s", "in units of one fit"], rows)


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
    return "\n\n".join((paths(), searches(), lasso()))


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
