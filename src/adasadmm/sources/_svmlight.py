"""svmlight files: each line holds a label and the features that are not zero."""

from __future__ import annotations

import io
from typing import Unpack

import numpy as np

from .._core.jit import IS_COMPILED
from ..rows.matrices import as_rows
from ._faults import BadRow
from ._lines import parsed_lines
from ._text import Parsed, TextSettings, TextSource

__all__ = ["MAX_FEATURES", "SvmlightSource"]

MAX_FEATURES = 2**24  # unless n_features is larger: a vector of this length takes 128 MiB


class SvmlightSource(TextSource):
    """svmlight text. Compiled code parses the common form; scikit-learn all other lines, and it words the errors."""

    def __init__(self, paths: list[str], zero_based: bool = False, **settings: Unpack[TextSettings]) -> None:
        super().__init__(paths, **settings)
        self.zero_based = zero_based

    def _format(self) -> tuple:
        return (self.zero_based,)

    def _parse(self, data: bytes, path: str) -> Parsed:
        found = parsed_lines(data, self.n_features, MAX_FEATURES, self.zero_based) if data and IS_COMPILED else None
        return Parsed(found.X, found.y, None) if found is not None else self._parse_with_sklearn(data)

    def _parse_with_sklearn(self, data: bytes) -> Parsed:
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(io.BytesIO(data), zero_based=self.zero_based)
        except OverflowError:
            raise self._too_wide() from None
        except ValueError as error:
            if "Invalid index 0" in str(error):
                raise BadRow("an index 0, but indices start at 1 unless zero_based is True", "zero_based") from None
            if b"," in data.partition(b"\n")[0]:
                raise ValueError(
                    "not svmlight text; the name of a table must end in .csv, .tsv, .parquet or .arrow"
                ) from None
            raise
        if X.shape[1] > (self.n_features or MAX_FEATURES):
            raise self._too_wide()
        if self.n_features is not None:
            X.resize(len(y), self.n_features)
        if not np.isfinite(y).all():
            raise ValueError("the label must be finite")
        return Parsed(as_rows(X, "the values of a row"), y, None)

    def _too_wide(self) -> BadRow:
        if self.n_features is not None:
            return BadRow(f"an index beyond the {self.n_features:,} features", "n_features")
        return BadRow(f"an index beyond {MAX_FEATURES:,}, the most features; give n_features for more", "n_features")
