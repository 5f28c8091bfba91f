"""Files, globs and folders."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from ._base import SourceError

__all__ = ["kind_of", "resolved"]

_KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
}
_PACKED = (".gz", ".bz2")
_OTHERS = (".xlsx", ".xls", ".ods", ".json", ".jsonl", ".npy", ".npz", ".pkl", ".mat", ".h5", ".zip", ".xz", ".zst")


def resolved(paths: Any, kind: str | None = None) -> list[str]:
    """All files that paths, globs and folders stand for, sorted within each; of a folder those of one kind."""
    given: list[Any] = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise SourceError("no file was given")
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
                said = (
                    "there is no such file or folder, and no match of a glob; check the name, and the folder you are in"
                )
                raise FileNotFoundError(2, said, path)
        found += some
    return found


def kind_of(paths: Any) -> str:
    """The kind that all files have."""
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
    """Names that begin with . or _ are marks that other programs leave."""
    return not any(part[0] in "._" for part in file.relative_to(folder).parts)
