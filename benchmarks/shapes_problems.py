"""The problems of `shapes.py` and `growth.py`: signals, images, trends, genes, groups, words, and many rows.

Each is ``mean loss + l2/2 |w|^2 + alpha penalty(A w)`` without intercept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import generated
import numpy as np
import scipy.sparse as sp

from adasadmm import (
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    Problem,
    StructuredClassifier,
    StructuredRegressor,
    TotalVariationDenoiser,
    TrendFilter,
    graphs,
)
from adasadmm.penalties import L1, GroupL2
from adasadmm.registry import LOSSES

CLASSIFICATION = ("hinge", "squared_hinge", "logistic")


class Shape(NamedTuple):
    """A problem. ``edges`` or else ``A`` is the structure; ``groups`` are groups of rows of A."""

    X: Any
    y: np.ndarray
    loss: str
    alpha: float
    l2: float
    A: sp.csr_array
    edges: np.ndarray | None = None
    groups: list | None = None
    image: tuple[int, ...] | None = None  # the shape of a signal or an image, where X = I
    order: int | None = None  # of the trend of a signal

    def estimator(self, tol: float) -> Any:
        """The estimator that a user would take, with nothing but ``tol`` set; its ``fit`` takes `data`."""
        if self.image is not None and len(self.image) > 1:
            return TotalVariationDenoiser(self.alpha, self.loss, tol=tol)
        if self.order is not None:
            return TrendFilter(self.order, self.alpha, self.loss, tol=tol)
        labels = self.loss in CLASSIFICATION
        common = {"loss": self.loss, "alpha": self.alpha, "l2": self.l2, "tol": tol, "fit_intercept": False}
        if self.edges is not None:
            return (GraphGuidedClassifier if labels else GraphGuidedRegressor)(self.edges, **common)
        structured = StructuredClassifier if labels else StructuredRegressor
        if self.groups is not None:
            return structured((self.A, self.groups), penalty="group", **common)
        return structured(self.A, **common)

    @property
    def data(self) -> tuple:
        if self.image is not None and len(self.image) > 1:
            return (self.y.reshape(self.image),)
        return (np.arange(float(len(self.y))), self.y) if self.order is not None else (self.X, self.y)

    def problem(self) -> Problem:
        penalty = L1(self.alpha) if self.groups is None else GroupL2(self.alpha, self.groups)
        return Problem(self.X, self.y, loss=LOSSES[self.loss], penalty=penalty, A=self.A, gamma=self.l2)


def _targets(z: np.ndarray, loss: str, rng: np.random.Generator) -> np.ndarray:
    if loss in CLASSIFICATION:
        return np.where(z + rng.logistic(size=len(z)) > 0.0, 1.0, -1.0)
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(z, -3.0, 3.0))).astype(float)
    return z + 0.5 * rng.normal(size=len(z))


def _identity(n: int) -> sp.csr_array:
    return sp.csr_array(sp.eye_array(n))


def chain(n: int, loss: str = "squared", strength: float = 3.0) -> Shape:
    """A signal of about twenty pieces, with noise."""
    rng = np.random.default_rng(0)
    z = np.repeat(rng.normal(size=20), -(-n // 20))[:n]
    edges = graphs.chain(n)
    return Shape(
        *(_identity(n), _targets(z, loss, rng), loss, strength / n, 0.0),
        A=graphs.incidence(edges, d=n),
        edges=edges,
        image=(n,),
        order=0,
    )


def grid(side: int, loss: str = "squared", strength: float = 0.5) -> Shape:
    """A square image of flat regions, with noise."""
    rng = np.random.default_rng(0)
    small = rng.normal(size=(8, 8))
    z = np.kron(small, np.ones((-(-side // 8),) * 2))[:side, :side].reshape(-1)
    edges = graphs.grid(side, side)
    n = side * side
    return Shape(
        *(_identity(n), _targets(z, loss, rng), loss, strength / n, 0.0),
        A=graphs.incidence(edges, d=n),
        edges=edges,
        image=(side, side),
    )


def trend(n: int, strength: float) -> Shape:
    """A piecewise linear signal, with noise."""
    rng = np.random.default_rng(0)
    z = np.interp(np.arange(n), np.linspace(0, n - 1, 9), 3.0 * rng.normal(size=9))
    y = _targets(z, "squared", rng)
    return Shape(_identity(n), y, "squared", strength / n, 0.0, A=graphs.difference(n, 2), image=(n,), order=1)


def genes(n: int, d: int, loss: str) -> Shape:
    """More features than rows, dense, with modules of correlated features along a sparse graph."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + np.repeat(rng.normal(size=(n, -(-d // 20))), 20, axis=1)[:, :d]
    w = np.repeat(rng.normal(size=-(-d // 20)) * (rng.random(-(-d // 20)) < 0.1), 20)[:d]
    pairs = rng.integers(d, size=(max(1, d // 12), 2))
    edges = np.concatenate([graphs.chain(d), np.sort(pairs[np.abs(pairs[:, 0] - pairs[:, 1]) > 1], axis=1)])
    edges = np.unique(edges, axis=0)
    z = X @ w
    y = _targets(z / max(1e-9, z.std()), loss, rng)
    return Shape(X, y, loss, 0.01, 0.01, A=graphs.incidence(edges, d=d), edges=edges)


def groups(n: int, d: int) -> Shape:
    """Groups of ten features, each of which shares three with the next."""
    rng = np.random.default_rng(0)
    members = [np.arange(first, min(first + 10, d)) for first in range(0, d - 3, 7)]
    A, of_rows = graphs.overlapping_groups(members, d)
    X = rng.normal(size=(n, d))
    w = np.where(np.arange(d) % 70 < 10, 1.0, 0.0)
    return Shape(X, _targets(X @ w, "squared", rng), "squared", 0.05, 1e-3, A=A, groups=list(of_rows))


def words(n: int = 15_935, d: int = 62_061) -> Shape:
    """Like counts of words: some 80 entries a row with falling frequencies, rows of unit length."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, d + 1)
    columns = rng.choice(d, size=n * 80, p=frequency / frequency.sum())
    X = sp.csr_array((np.ones(n * 80), (np.repeat(np.arange(n), 80), columns)), shape=(n, d))
    X = sp.csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]))
    y = _targets(30.0 * (X @ np.repeat(rng.normal(size=-(-d // 10)), 10)[:d]), "logistic", rng)
    edges = graphs.chain(d)
    return Shape(X, y, "logistic", 1.0 / n, 1.0 / n, A=graphs.incidence(edges, d=d), edges=edges)


def tall(n: int = 465_000) -> Shape:
    """Many more rows than features."""
    X, y, edges = generated.likeness(n)
    return Shape(X, y, "hinge", 1.0 / n, 1.0 / n, A=graphs.incidence(edges, d=X.shape[1]), edges=edges)


class Row(NamedTuple):
    """A row of the table: how to make its problem, the peers beside Clarabel, and whether it takes long."""

    make: Callable[[], Shape]
    peers: tuple[str, ...] = ()
    slow: bool = False


def _rows() -> dict[str, Row]:
    rows = {
        "chain 10,000": Row(lambda: chain(10_000), ("prox_tv",)),
        "chain 100,000": Row(lambda: chain(100_000), ("prox_tv",), slow=True),
        "chain 1,000,000": Row(lambda: chain(1_000_000), ("prox_tv",), slow=True),
    }
    for side in (64, 128, 256):
        rows[f"grid {side}"] = Row(lambda side=side: grid(side), ("prox_tv",), slow=side > 64)
    for n in (2_000, 10_000):
        for name, strength in (("weak", 1.0), ("strong", 1e3), ("very strong", 1e6)):
            rows[f"trend {n:,}, {name}"] = Row(lambda n=n, s=strength: trend(n, s), slow=n > 2_000)
    for loss in ("logistic", "poisson", "quantile"):
        rows[f"chain 10,000, {loss}"] = Row(lambda loss=loss: chain(10_000, loss, 3.0))
        rows[f"grid 64, {loss}"] = Row(lambda loss=loss: grid(64, loss, 0.5))
    for n, d in ((200, 2_000), (200, 5_000), (300, 20_000)):
        for loss in ("squared", "logistic", "hinge"):
            rows[f"genes {n} x {d:,}, {loss}"] = Row(lambda n=n, d=d, loss=loss: genes(n, d, loss), slow=d > 2_000)
    rows["overlapping groups 2,000 x 1,000"] = Row(lambda: groups(2_000, 1_000))
    rows["words 15,935 x 62,061, logistic"] = Row(words, ("lbfgs",), slow=True)
    rows["many rows 465,000 x 54, hinge"] = Row(tall, ("rehline",), slow=True)
    return rows


ROWS = _rows()
