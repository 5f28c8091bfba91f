"""Generated data sets that resemble real ones: rows, labels, edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from adasadmm import graphs


def likeness(n: int = 465_000, seed: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    """Similar to covtype: 10 correlated numbers and two one-hot groups of 4 and 40; one label in six is noise."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 10)) / 2.0 + 0.5 * rng.normal(size=(n, 10))
    areas, soils = np.eye(4)[rng.integers(4, size=n)], np.eye(40)[rng.choice(40, size=n, p=_falling(40))]
    X = np.hstack([numbers, areas, soils])
    w = np.concatenate([rng.normal(size=10), rng.normal(size=4), np.repeat(rng.normal(size=8), 5)])
    y = np.where(X @ w - np.median(X @ w) > 0.0, 1.0, -1.0)
    flipped = rng.random(n) < 0.17
    edges = np.concatenate([graphs.chain(10), 14 + graphs.chain(40)])
    return X, np.where(flipped, -y, y), edges


def few_features(n: int = 50_000, seed: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    """Similar to ijcnn1: 22 features, ten of them one-hot, one label in ten +1, and a chain."""
    rng = np.random.default_rng(seed)
    X = np.hstack([np.eye(10)[rng.integers(10, size=n)], rng.uniform(-1.0, 1.0, size=(n, 12))])
    z = X @ np.repeat(rng.normal(size=11), 2) + rng.logistic(scale=0.3, size=n)
    return X, np.where(z > np.quantile(z, 0.9), 1.0, -1.0), graphs.chain(22)


def images(n: int = 60_000, seed: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    """28 x 28 pictures of one or two blurred spots on a dark background, with most pixels exactly 0."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    rows, columns = np.mgrid[:28, :28]
    X = np.zeros((n, 28, 28))
    for spot in range(2):
        centre = 14 + rng.normal(scale=3.0, size=(n, 2)) + 2.0 * spot * y[:, None]
        width = rng.uniform(2.0, 4.0, size=n)
        far = (rows - centre[:, 0, None, None]) ** 2 + (columns - centre[:, 1, None, None]) ** 2
        X += np.exp(-far / (2.0 * width[:, None, None] ** 2))
    X[X < 0.1] = 0.0
    return sp.csr_array(X.reshape(n, -1)), y, graphs.grid(28, 28)


def _falling(count: int) -> np.ndarray:
    shares = 1.0 / np.arange(1, count + 1)
    return shares / shares.sum()
