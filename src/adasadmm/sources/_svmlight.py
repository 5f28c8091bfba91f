"""svmlight files: a label and the features that are not zero on each line."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..linalg.matrices import as_rows
from ._base import BadRow
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

        try:
            X, y = load_svmlight_file(io.BytesIO(data), zero_based=self.zero_based)
        except OverflowError:
            raise self._too_wide() from None
        except ValueError:
            if b"," in data.partition(b"\n")[0]:
                raise ValueError(
                    "no svmlight text; a table must have a name in .csv, .tsv, .parquet or .arrow"
                ) from None
            raise
        if X.shape[1] > (self.n_features or MOST_FEATURES):
            raise self._too_wide()
        if self.n_features is not None:
            X.resize(len(y), self.n_features)
        if not np.isfinite(y).all():
            raise ValueError("the label must be finite")
        return as_rows(X, "the values of a row"), y, None

    def _too_wide(self) -> BadRow:
        told = self.n_features is not None
        most = f"the {self.n_features:,} features" if told else f"{MOST_FEATURES:,}, the most features"
        return BadRow(f"an index beyond {most}" + ("" if told else "; give n_features for more"), "n_features")
