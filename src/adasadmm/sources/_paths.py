"""Files, glob patterns and folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from ._faults import SourceError

__all__ = ["Paths", "kind_of", "resolved"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
}
NOT_FOUND = "no such file or folder, and no file matches it as a pattern; check the name and the working directory"
_PACKED = (".gz", ".bz2")
_OTHERS = (".xlsx", ".xls", ".ods", ".json", ".jsonl", ".npy", ".npz", ".pkl", ".mat", ".h5", ".zip", ".xz", ".zst")


def resolved(paths: Paths, kind: str | None = None) -> list[str]:
    """The files behind paths, glob patterns and folders, sorted within each; of a folder only files of one kind."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise SourceError("paths is empty: give at least one file")
    found: list[str] = []
    for path in (os.fspath(each) for each in given):
        if os.path.isdir(path):
            inside = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and _is_visible(file, path))
            some = [file for file in inside if kind in (None, _kind(file)) or (kind == "csv" and _kind(file) == "tsv")]
            if not some:
                raise SourceError(f"the folder {path} has no {kind or ''} files".replace("  ", " "))
        elif os.path.exists(path):
            some = [path]
        else:
            some = sorted(glob.glob(path, recursive=True))
            if not some:
                raise FileNotFoundError(2, NOT_FOUND, path)
        found += some
    return found


def kind_of(paths: Paths) -> str:
    """The format that all files have, by their names."""
    found = resolved(paths)
    for path in found:
        if path.lower().endswith(_OTHERS):
            raise SourceError(f"{path} cannot be read: save the rows as .csv, .parquet, .arrow or svmlight text")
    kinds = {_kind(path): path for path in found}
    if len(kinds) > 1:
        (one, first), (other, second), *_ = kinds.items()
        raise SourceError(f"files of several kinds: {first} is {one}, {second} is {other}; give files of one kind")
    return next(iter(kinds))


def _kind(path: str) -> str:
    name = path.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return _KINDS.get(Path(name).suffix, "svmlight")


def _is_visible(file: Path, folder: str) -> bool:
    """Whether no name on the way starts with . or _, as the marker files of other programs do."""
    return not any(part[0] in "._" for part in file.relative_to(folder).parts)
