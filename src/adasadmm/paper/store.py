"""Finished cells are saved, so that an interrupted experiment resumes where it stopped."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import datasets
from .._core.files import write_whole
from . import cells, settings
from .cells import OPTIMUM_TOL, Cell
from .contest import Options
from .settings import GRID, PENALTY, POINTS_AN_EPOCH, SCALED, TEST_PART

__all__ = ["Store"]

_PACKAGE = Path(__file__).parents[1]
_CELLS = Path(cells.__file__).relative_to(_PACKAGE)
# Not counted as code: the digests of the data and the values of the settings are in every key themselves.
_IN_KEY = {Path(datasets.__file__).parent.relative_to(_PACKAGE), Path(settings.__file__).relative_to(_PACKAGE)}


class Store:
    """A folder with one file for each finished cell.

    The key of a cell holds everything that its figures depend on: options, settings, code and data. It is saved with
    the figures, and its digest is part of the file name.
    """

    def __init__(self, folder: Path, options: Options, data: dict[str, str]) -> None:
        self.folder = folder
        self.data = data  # digest of each data set
        self.common = {
            "options": options._asdict(),
            "settings": [GRID, PENALTY, SCALED, POINTS_AN_EPOCH, TEST_PART, OPTIMUM_TOL],
            "code": _digest_of_code(),
        }
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, cell: Cell) -> dict[str, Any] | None:
        """Return the figures of a cell, or None if there is no file, or it is damaged or has another key."""
        try:
            content = json.loads(self._path(cell).read_text())
            known = content["of"] == self._key(cell) and content["digest"] == _digest(content["figures"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return content["figures"] if known else None

    def keep(self, cell: Cell, figures: dict[str, Any]) -> None:
        """Save the figures of a cell."""
        content = {"of": self._key(cell), "digest": _digest(figures), "figures": figures}
        write_whole(self._path(cell), json.dumps(content))

    def _key(self, cell: Cell) -> dict[str, Any]:
        return json.loads(json.dumps({**self.common, "cell": cell._asdict(), "data": self.data[cell.dataset]}))

    def _path(self, cell: Cell) -> Path:
        name = re.sub(r"[^a-z0-9.]+", "-", f"{cell.kind} {cell}".lower())
        return self.folder / f"{name}-{_digest(self._key(cell))[:8]}.json"


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _digest_of_code() -> str:
    """Hash the syntax trees of the files that cells run; comments, docstrings and layout do not count."""
    trees: dict[Path, ast.Module] = {}
    waiting = [_PACKAGE / _CELLS]
    while waiting:
        file = waiting.pop()
        name = file.relative_to(_PACKAGE)
        if file not in trees and not _IN_KEY.intersection((name, *name.parents)):
            trees[file] = ast.parse(file.read_bytes())
            waiting += _imported(file, trees[file])
    found = (ast.dump(_without_docstrings(trees[file])) for file in sorted(trees))
    return hashlib.sha256("".join(found).encode()).hexdigest()


def _imported(file: Path, tree: ast.Module) -> Iterator[Path]:
    """The files of the package that a file imports anywhere in its code, or lists in its stub to be loaded lazily.

    The package itself is left out: files import modules from it, and its stub lists all there are.
    """
    stub = file.with_suffix(".pyi")
    for one in (tree, ast.parse(stub.read_bytes())) if stub.is_file() else (tree,):
        for node in ast.walk(one):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                for module in (base, *(base / alias.name for alias in node.names)):
                    paths = module.with_suffix(".py"), module / "__init__.py"
                    yield from (path for path in paths if path.is_file() and module != _PACKAGE)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
    return tree
