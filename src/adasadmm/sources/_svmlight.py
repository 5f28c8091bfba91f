"""svmlight files: a label and the features that are not zero on each line."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..matrices import as_rows
from ._text import TextSource

__all__ = ["MOST_FEATURES", "SvmlightSource"]

MOST_FEATURES = 2**24  # unless n_features says more: a vector of so many takes 128 MiB


class SvmlightSource(TextSource):
    """svmlight text, parsed by scikit-learn."""

    def __init__(self, paths: list[str], zero_based: bool = False, **settings: Any) -> None:
        super().__init__(paths, **settings)
        self.zero_based = zero_based

    def _parse(self, data: bytes, path: str) -> tuple[Any, Any, Any]:
        from sklearn.datasets import load_svmlight_file

        most = self.n_features or MOST_FEATURES
        try:
            X, y = load_svmlight_file(io.BytesIO(data), n_features=self.n_features, zero_based=self.zero_based)
        except OverflowError:
            raise ValueError(f"an index beyond {most:,}, the most features; give n_features for more") from None
        except ValueError:
            if b"," in data.partition(b"\n")[0]:
                raise ValueError(
                    "no svmlight text; a table must have a name in .csv, .tsv, .parquet or .arrow"
                ) from None
            raise
        if self.n_features is None and X.shape[1] > most:
            raise ValueError(f"index {X.shape[1]:,} is beyond {most:,}, the most features; give n_features for more")
        if not np.isfinite(y).all():
            raise ValueError("the label must be finite")
        return as_rows(X, "the values of a row"), y, None
