"""The groups that ordinary fits report at several tolerances, compared with those at 1e-10.

    python benchmarks/groups.py [--print]

Tariffs of 20,000 generated policies, rents of generated flats, images and chains, several strengths each. A term is one
factor of a tariff, or all coefficients of a graph. The groups are right if their number is that of the fit at 1e-10.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import page
import pandas as pd

from adasadmm import GraphGuidedClassifier, GraphGuidedRegressor, TermsRegressor, terms

TOLERANCES = (1e-3, 1e-6)
REFERENCE = 1e-10


def tariff(seed: int, alpha: float) -> tuple[Any, Any, Any]:
    """Claim counts by age, power, bonus class and region."""
    rng = np.random.default_rng(seed)
    n = 20_000
    frame = pd.DataFrame(
        {
            "age": rng.integers(15, size=n),
            "power": rng.integers(12, size=n),
            "bonus": rng.integers(20, size=n),
            "region": rng.integers(10, size=n),
        }
    )
    rate = -2.0 - 0.3 * (frame.age > 5) + 0.05 * (frame.bonus // 4) + 0.1 * (frame.power > 8)
    factors = [terms.ordered(name) for name in ("age", "power", "bonus")]
    model = TermsRegressor([*factors, terms.nominal("region")], loss="poisson", alpha=alpha)
    return model, frame, rng.poisson(np.exp(rate))


def rent(seed: int, alpha: float) -> tuple[Any, Any, Any]:
    """Rents by area, decade and size."""
    rng = np.random.default_rng(seed)
    n = 2_000
    frame = pd.DataFrame(
        {"area": rng.integers(25, size=n), "decade": rng.integers(10, size=n), "size": rng.integers(8, size=n)}
    )
    y = 8.0 + 0.5 * (frame.area // 8) + 0.3 * (frame.decade > 6) - 0.2 * frame["size"] + 2.0 * rng.normal(size=n)
    model = TermsRegressor([terms.nominal("area"), terms.ordered("decade"), terms.ordered("size")], alpha=alpha)
    return model, frame, y


def image(seed: int, alpha: float) -> tuple[Any, Any, Any]:
    """Small pictures of two classes; a pixel grid."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 144))
    pattern = np.zeros((12, 12))
    pattern[3:8, 4:9] = 0.3
    y = np.where(X @ pattern.ravel() + rng.normal(size=500) > 0, 1, -1)
    loss = ("hinge", "logistic")[seed % 2]
    return GraphGuidedClassifier(("grid", 12, 12), loss=loss, alpha=alpha), X, y


def chain(seed: int, alpha: float) -> tuple[Any, Any, Any]:
    """Blocks of equal coefficients along a chain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 200))
    w = np.repeat(rng.normal(size=10), 20) * (np.arange(200) // 20 % 2)
    return GraphGuidedRegressor("chain", alpha=alpha), X, X @ w + 2.0 * rng.normal(size=400)


KINDS = {
    "tariff": (tariff, (0.001, 0.002, 0.004), 3),
    "rent": (rent, (0.01, 0.02, 0.05), 3),
    "image": (image, (0.005, 0.02), 3),
    "chain": (chain, (0.02, 0.1), 3),
}


def cases(kind: str) -> Iterator[tuple[Any, Any, Any]]:
    make, alphas, seeds = KINDS[kind]
    return (make(seed, alpha) for seed in range(seeds) for alpha in alphas)


def groups(model: Any) -> list[int]:
    """The number of groups of each term."""
    if hasattr(model, "groups_"):
        return [len(np.unique(labels)) for labels in model.groups_.values()]
    return [len(np.unique(model.clusters_))]


def compared(kind: str) -> dict[float, list[float]]:
    """For each tolerance, the number of terms, that of terms with the right number of groups, and seconds of a fit."""
    found: dict[float, list[float]] = {tol: [0, 0, 0.0] for tol in TOLERANCES}
    for model, X, y in cases(kind):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 1e-10 may be out of reach
            right = groups(model.set_params(tol=REFERENCE).fit(X, y))
        for tol in TOLERANCES:
            start = time.process_time()
            model.set_params(tol=tol).fit(X, y)
            found[tol][2] += time.process_time() - start
            own = groups(model)
            found[tol][0] += len(own)
            found[tol][1] += sum(one == other for one, other in zip(own, right, strict=True))
    return found


def text() -> str:
    lines, total = [], {tol: np.zeros(3) for tol in TOLERANCES}
    for kind, (_, alphas, seeds) in KINDS.items():
        found = compared(kind)
        for tol in TOLERANCES:
            total[tol] += found[tol]
        cells = [f"{of_tol[1]:.0f} of {of_tol[0]:.0f}, {of_tol[2]:.2f} s" for of_tol in found.values()]
        lines.append([kind, str(len(alphas) * seeds), *cells])
    fits = sum(len(alphas) * seeds for _, alphas, seeds in KINDS.values())
    lines.append(["all", str(fits), *(f"{one[1]:.0f} of {one[0]:.0f}, {one[2]:.2f} s" for one in total.values())])
    return page.table(["kind", "fits", *(f"right groups, tol={tol:g}" for tol in TOLERANCES)], lines)


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
