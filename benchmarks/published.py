"""Problems of the sizes that papers on the fused lasso report: seconds, certified gap and peak memory of a fit.

    python benchmarks/published.py                 # all rows, into the docs
    python benchmarks/published.py surface --print

Both have squared loss, no ridge, and more coefficients than rows; the data are generated.

- polynomial: 252 x 116,280, a chain. 14 correlated measurements of 252 people and all their monomials up to degree 7,
  standardised, like the data set bodyfat with polynomial features.
- surface: 91 x 19,626 with 29,439 edges. Sources on the triangles of a closed surface, joined where triangles share a
  side, as seen by 91 sensors outside of it: an inverse problem like that of electroencephalography.

Each fit is the first one after those of a small problem, in a process of its own; the memory is that of this process,
the data included.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import time
import warnings

import numpy as np
import page
from limited import in_time
from scipy.spatial import ConvexHull

from adasadmm import GraphGuidedRegressor, graphs

TOLERANCES = (1e-3, 1e-6)
ALPHAS, L1_RATIOS = (1e-1, 1e-2), (0.0, 0.5)


def polynomial(people: int = 252, measurements: int = 14, degree: int = 7) -> tuple:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(people, measurements)) @ (np.eye(measurements) + 0.6)
    base /= np.abs(base).max(axis=0)
    factors = np.column_stack([np.ones(people), base])
    monomials = list(itertools.combinations_with_replacement(range(measurements + 1), degree))
    X = np.empty((len(monomials), people))
    for row, members in zip(X, monomials, strict=True):
        row[:] = np.prod(factors[:, members], axis=1)
    X -= X.mean(axis=1, keepdims=True)
    deviation = X.std(axis=1, keepdims=True)
    X /= np.where(deviation > 0.0, deviation, 1.0)
    z = base @ rng.normal(size=measurements) + base[:, 0] * base[:, 1]
    y = (z - z.mean()) / z.std() + 0.3 * rng.normal(size=people)
    return np.ascontiguousarray(X.T), y, graphs.chain(len(X))


def surface(corners: int = 9_815, sensors: int = 91) -> tuple:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(corners, 3))
    hull = ConvexHull(points / np.linalg.norm(points, axis=1, keepdims=True))
    triangles = np.arange(len(hull.simplices))
    pairs = np.column_stack([np.repeat(triangles, 3), hull.neighbors.reshape(-1)])
    edges = np.unique(np.sort(pairs, axis=1), axis=0)
    centres = hull.points[hull.simplices].mean(axis=1)
    normals = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    outside = rng.normal(size=(sensors, 3))
    outside[:, 2] = np.abs(outside[:, 2])  # on the upper half
    outside *= 1.15 / np.linalg.norm(outside, axis=1, keepdims=True)
    apart = outside[:, None] - centres[None]
    X = np.einsum("ijk,jk->ij", apart, normals) / np.linalg.norm(apart, axis=2) ** 3
    X /= np.sqrt(np.mean(X**2))
    active = (np.linalg.norm(centres - centres[0], axis=1) < 0.4).astype(float)
    z = X @ (active - (np.linalg.norm(centres - centres[100], axis=1) < 0.3))
    return X, z / z.std() + 0.1 * rng.normal(size=sensors), edges


KINDS = {"polynomial": polynomial, "surface": surface}
SMALL = {"polynomial": {"measurements": 4}, "surface": {"corners": 1_202}}


def measured(kind: str, data: tuple, alpha: float, l1_ratio: float, tol: float) -> tuple[float, float, int, float]:
    """Seconds, relative gap, clusters, and the peak memory in GiB."""
    warnings.simplefilter("ignore")

    def fit(X: np.ndarray, y: np.ndarray, edges: np.ndarray) -> GraphGuidedRegressor:
        return GraphGuidedRegressor(edges, alpha=alpha, l1_ratio=l1_ratio, l2=0.0, tol=tol).fit(X, y)

    fit(*KINDS[kind](**SMALL[kind]))  # compiles
    start = time.perf_counter()
    model = fit(*data)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, model.dual_gap_, int(model.clusters_.max()) + 1, peak


def text() -> str:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="polynomial, surface; both by default")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one row")
    parser.add_argument("--print", action="store_true", help="the table goes to the terminal, not to the docs")
    options = parser.parse_args()
    lines = []
    for kind in options.kinds or KINDS:
        data = KINDS[kind]()
        shape = f"{kind}, {data[0].shape[0]} x {data[0].shape[1]:,}, {len(data[2]):,} edges"
        for alpha, l1_ratio, tol in itertools.product(ALPHAS, L1_RATIOS, TOLERANCES):
            answer, _ = in_time(measured, kind, data, alpha, l1_ratio, tol, limit=options.limit)
            cells = ["not reached", "", "", ""]
            if answer is not None:
                seconds, gap, clusters, peak = answer
                cells = [f"{seconds:.3g}", f"{max(gap, 0.0):.1e}", f"{clusters:,}", f"{peak:.2f}"]
            lines.append([shape, f"{alpha:g}", f"{l1_ratio:g}", f"{tol:g}", *cells])
            print(lines[-1], file=sys.stderr)
    return page.table(["problem", "alpha", "l1_ratio", "tol", "s", "relative gap", "clusters", "GiB"], lines)


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
