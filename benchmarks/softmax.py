"""Multinomial logistic regression: seconds to an accuracy beside scikit-learn, and the digits with their pixel grid.

    python benchmarks/softmax.py                  # writes its tables into docs/benchmarks.md
    python benchmarks/softmax.py --print [ROWS]   # 60,000 rows by default

The images are 60,000 x 784, made from scikit-learn's 8 x 8 digits: enlarged to 20 x 20, put at a random place of a
28 x 28 image, with noise. Both sides minimise the same objective with a ridge only, C = 1, with one thread of BLAS, and
in CPU seconds. Suboptimality is relative to the lower bound that ADMM proves at a gap of 1e-4. `LogisticRegression` has
no callback, so it is run with several limits of its iterations, and the seconds to an accuracy are interpolated between
these runs. Those of ADMM are also given with the proof, a duality gap below the accuracy.

The digits are split into 5 folds; in each, strengths are chosen by inner cross-validation of the log-loss.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import clock
import numpy as np
import page
from scipy import ndimage
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from adasadmm import ADMM, GraphGuidedClassifierCV, Multinomial, Problem, Zero, solve
from adasadmm.rows.matrices import WithIntercept, as_rows

ROWS = 60_000
LIMITS = {"lbfgs": (50, 150, 450), "saga": (5, 20, 60)}  # of the iterations; those of saga are passes over the rows
ACCURACIES = (1e-2, 1e-3)
L2S = (1e-5, 3e-5, 1e-4)


def images(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    large = np.stack([ndimage.zoom(image.reshape(8, 8) / 16.0, 2.5, order=1) for image in X])
    chosen, places, found = rng.integers(len(y), size=n), rng.integers(2, 7, size=(n, 2)), np.zeros((n, 28, 28))
    for i, (row, column) in enumerate(places):
        found[i, row : row + 20, column : column + 20] = large[chosen[i]]
    found += 0.3 * rng.random(found.shape) * (found > 0.0)
    return np.minimum(found, 1.0).reshape(n, 784), y[chosen]


def problem_of(X: np.ndarray, y: np.ndarray) -> Problem:
    gamma = np.append(np.full(784, 1.0 / len(y)), 0.0)
    rows = WithIntercept(as_rows(X))
    return Problem(rows, y, loss=Multinomial(10), penalty=Zero(), A=np.zeros((1, 785)), gamma=gamma)


def by_admm(problem: Problem) -> tuple[list[float], list[float], float]:
    """CPU seconds to each accuracy, those with a proof, and the lower bound of the optimum."""
    points: list[tuple[float, float]] = []
    start = time.process_time()

    def note(snapshot: Any) -> bool:
        points.append((time.process_time() - start, snapshot.objective))
        return False

    result = solve(problem, ADMM(), tol=1e-4, callback=note)
    bound, gaps = result.certificate.dual, result.trace["relative_gap"]
    reached = [next(at for at, value in points if value <= (1.0 + accuracy) * bound) for accuracy in ACCURACIES]
    proved = [next(at for (at, _), gap in zip(points, gaps, strict=True) if gap <= accuracy) for accuracy in ACCURACIES]
    return reached, proved, bound


def by_sklearn(solver: str, problem: Problem, X: np.ndarray, y: np.ndarray, bound: float) -> list[str]:
    """CPU seconds to each accuracy, interpolated on a logarithmic scale; "> s" if no run reached it."""
    spent, off = [], []
    for limit in LIMITS[solver]:
        model = LogisticRegression(solver=solver, max_iter=limit, tol=1e-12, random_state=0)
        _, seconds = clock.cpu(model.fit, X, y)
        w = np.vstack([model.coef_.T, model.intercept_]).reshape(-1)
        spent.append(seconds)
        off.append(problem.objective(w) / bound - 1.0)
        print(f"{solver}, {limit} iterations: {seconds:.1f} s, {off[-1]:.1e}", file=sys.stderr, flush=True)
    found = []
    for accuracy in ACCURACIES:
        at = float(np.interp(-np.log(accuracy), -np.log(off), spent))
        found.append(f"> {spent[-1]:.0f}" if off[-1] > accuracy else f"{at:.1f}")
    return found


def speed(n: int) -> str:
    X, y = images(n)
    solve(problem_of(X[:500], y[:500]), ADMM(), epochs=20)  # compile outside the clock
    problem = problem_of(X, y)
    reached, proved, bound = by_admm(problem)
    head = [f"CPU seconds, {n:,} x 784, 10 classes", *(f"to {accuracy:g}" for accuracy in ACCURACIES)]
    rows = [
        ["`ADMM`", *(f"{seconds:.1f}" for seconds in reached)],
        ["`ADMM`, until the duality gap proves it", *(f"{seconds:.1f}" for seconds in proved)],
        *([f"`LogisticRegression` ({name})", *by_sklearn(name, problem, X, y, bound)] for name in LIMITS),
    ]
    return page.table(head, rows)


def digits() -> str:
    X, y = load_digits(return_X_y=True)
    X, folds = X / 16.0, StratifiedKFold(5, shuffle=True, random_state=0)
    search = {"loss": "multinomial", "alphas": np.geomspace(3e-3, 1e-5, 8), "l2s": L2S, "scoring": "neg_log_loss"}
    models = {
        "`LogisticRegressionCV`": LogisticRegressionCV(
            Cs=np.geomspace(0.1, 100.0, 10),
            scoring="neg_log_loss",
            max_iter=1000,
            l1_ratios=(0,),
            use_legacy_attributes=False,
        ),
        "`GraphGuidedClassifierCV`, pixel grid": GraphGuidedClassifierCV(("grid", 8, 8), **search),
        "`GraphGuidedClassifierCV`, pixel grid, `joint=True`": GraphGuidedClassifierCV(
            ("grid", 8, 8), joint=True, **search
        ),
    }
    rows = []
    for name, model in models.items():
        p, seconds = clock.cpu(lambda model=model: cross_val_predict(model, X, y, cv=folds, method="predict_proba"))
        rows.append([name, f"{accuracy_score(y, p.argmax(axis=1)):.4f}", f"{log_loss(y, p):.4f}", f"{seconds:.0f}"])
    return page.table(["digits, 1,797 x 64, 10 classes", "accuracy", "log-loss", "CPU seconds"], rows)


def text() -> str:
    given = page.named()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f"{speed(int(given[0]) if given else ROWS)}\n\n{digits()}"


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
