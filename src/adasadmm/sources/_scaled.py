"""Columns of mean 0 and variance 1, by the moments that the first scan of a source finds."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rows import matrices
from ..rows.matrices import CSR, Dense
from ._base import ConvertedSource, Source
from ._faults import RawBlock
from ._summary import Summary

__all__ = ["ScaledSource", "scaled"]


def scaled(source: Source) -> ScaledSource:
    """Scale the columns of a source to variance 1 and, if the rows are dense, to mean 0.

    The first scan of the source, which counts its rows, finds the moments: no pass is added. Columns without variance
    are not scaled. Sparse rows are not centred, which would make them dense.

    Parameters
    ----------
    source : Source
        Rows of any number, also on the workers of a cluster. To keep them in a cache, put `cached` inside:
        ``scaled(cached(source, path))``.

    Returns
    -------
    Source
        Its attribute ``scaler`` is a fitted `sklearn.preprocessing.StandardScaler`, which knows the feature names. In a
        pipeline with the model, it scales the rows to predict.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from adasadmm import GraphGuidedRegressor, sources
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 1e3, 1e-3]
    >>> source = sources.scaled(sources.arrays(X, X @ [1.0, 1e-3, 1e3], block_rows=100))
    >>> model = GraphGuidedRegressor("chain").fit(source)
    >>> make_pipeline(source.scaler, model).score(X, X @ [1.0, 1e-3, 1e3]) > 0.99
    True
    """
    if not isinstance(source, Source):
        raise TypeError(f"source must be a Source, such as sources.open(path), got {type(source).__name__}")
    return ScaledSource(source)


class Moments:
    """The weighted mean and the sum of squares about it of each column; blocks are added by Chan's formula."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.rows, self.weight, self.dense = 0, 0.0, False
        self.mean, self.squares = np.zeros(0), np.zeros(0)

    def add(self, block: RawBlock, partition: int = 0) -> None:
        c = np.ones(block.X.shape[0]) if block.weight is None else block.weight
        if len(c):
            self.join(_moments_of(block.X, c))

    def join(self, other: Moments) -> None:
        """Add the moments of other rows, which may have more columns: those of the earlier rows were 0."""
        self.rows, self.dense = self.rows + other.rows, self.dense or other.dense
        if not other.weight > 0.0:
            return
        d = max(len(self.mean), len(other.mean))
        for part in (self, other):
            part.mean, part.squares = (np.pad(values, (0, d - len(values))) for values in (part.mean, part.squares))
        weight, apart = self.weight + other.weight, other.mean - self.mean
        self.squares += other.squares + apart**2 * (self.weight * other.weight / weight)
        self.mean = self.mean + apart * (other.weight / weight)
        self.weight = weight


def _moments_of(X: Any, c: np.ndarray) -> Moments:
    found = Moments()
    found.rows, found.weight, found.dense = len(c), float(c.sum()), isinstance(X, Dense)
    if not found.weight > 0.0:
        return found
    if isinstance(X, Dense):
        found.mean = c @ X.values / found.weight
        found.squares = c @ (X.values - found.mean) ** 2
        return found
    rows, d = matrices.to_scipy(X), X.columns
    of_entry = np.repeat(c, np.diff(rows.indptr))
    found.mean = np.bincount(rows.indices, of_entry * rows.data, d) / found.weight
    squares = np.bincount(rows.indices, of_entry * (rows.data - found.mean[rows.indices]) ** 2, d)
    found.squares = squares + (found.weight - np.bincount(rows.indices, of_entry, d)) * found.mean**2
    return found


def moments_of_block(block: RawBlock, remembered: dict) -> Moments:
    """The moments of one block, where it is."""
    moments = Moments()
    moments.add(block)
    return moments


@dataclass(frozen=True)
class Scales:
    """The change that scaling makes to each block."""

    mean: np.ndarray
    scale: np.ndarray

    def __call__(self, block: RawBlock) -> RawBlock:
        X = block.X
        if isinstance(X, CSR):
            return block._replace(X=X._replace(data=X.data / self.scale[X.indices]))
        return block._replace(X=Dense((X.values - self.mean) / self.scale))


class ScaledSource(ConvertedSource):
    """The rows of another source, with scaled columns."""

    def __init__(self, inner: Source) -> None:
        super().__init__(inner)
        self._observed = Moments()
        self._shares_scan = inner.observe(self._observed)

    @functools.cached_property
    def summary(self) -> Summary:
        """That of the inner source: scaling changes no count."""
        found = self.inner.summary
        self.n_features = found.features
        return found

    @functools.cached_property
    def moments(self) -> Moments:
        """The moments of all rows, from the scan if it had not been made before."""
        self.summary
        if self._shares_scan:
            return self._observed
        found = Moments()
        for of_block in self.inner.each(moments_of_block):
            found.join(of_block)
        return found

    @functools.cached_property
    def convert(self) -> Scales:  # type: ignore[override]
        d, moments = self.summary.features, self.moments
        mean, squares = (np.pad(values, (0, d - len(values))) for values in (moments.mean, moments.squares))
        variance, n = squares / max(moments.weight, 1e-300), moments.rows
        rounding = n * np.finfo(float).eps
        varies = variance > rounding * variance + (rounding * mean) ** 2  # as scikit-learn decides it
        return Scales(mean if moments.dense else np.zeros(d), np.where(varies, np.sqrt(variance), 1.0))

    @property
    def scaler(self) -> Any:
        """A `StandardScaler` that scales other rows as these."""
        from sklearn.preprocessing import StandardScaler

        mean, scale = self.convert.mean, self.convert.scale
        scaler = StandardScaler(with_mean=self.moments.dense)
        scaler.mean_, scaler.scale_, scaler.var_ = mean, scale, scale**2
        scaler.n_samples_seen_, scaler.n_features_in_ = self.moments.rows, len(scale)
        if self.feature_names is not None:
            scaler.feature_names_in_ = np.array(self.feature_names, dtype=object)
        return scaler
