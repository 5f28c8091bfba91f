"""Quantile regression with many rows: CPU seconds of a fit, beside scikit-learn's linear programme.

The rows are generated: 20 features, a median that is linear in them, and errors with heavy tails. scikit-learn's
`QuantileRegressor` is run with 10,000 rows; at 2,900,000 rows it asks for 61.6 TiB (scikit-learn#22922).
"""

from __future__ import annotations

import warnings

import clock
import numpy as np
import page
from sklearn.linear_model import QuantileRegressor

from adasadmm import Quantile, StructuredRegressor

SIZES, FEATURES, LAST = (10_000, 100_000, 1_000_000, 2_900_000), 20, 10_000


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    return X, X @ np.repeat([1.0, 0.0, -1.0, 2.0], 5) + rng.standard_t(2.0, size=n)


def pinball(model: object, X: np.ndarray, y: np.ndarray) -> float:
    return float(0.5 * np.mean(np.abs(y - model.predict(X))))


def text() -> str:
    warnings.simplefilter("ignore")
    lines = []
    sizes = [int(name) for name in page.named()] or SIZES
    for n in sizes:
        X, y = rows(n)
        ours = StructuredRegressor("chain", loss=Quantile(0.5), alpha=1e-3, l2=0.0)
        ours.fit(X[:1000], y[:1000])  # compile
        _, seconds = clock.cpu(ours.fit, X, y)
        cells = [f"{n:,} x {FEATURES}", f"{seconds:.2f}", f"{ours.dual_gap_:.0e}", f"{pinball(ours, X, y):.5f}"]
        if n <= LAST:
            theirs = QuantileRegressor(quantile=0.5, alpha=0.0)
            cells += [f"{clock.cpu(theirs.fit, X, y)[1]:.1f}", f"{pinball(theirs, X, y):.5f}"]
        else:
            cells += ["not run", ""]
        lines.append(cells)
    head = [
        "rows x features",
        "ours, CPU s",
        "proved gap",
        "pinball loss",
        "`QuantileRegressor`, CPU s",
        "its pinball loss",
    ]
    return page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "guide/quantile_regression.md", text)
