"""Finished cells are saved, so that an interrupted experiment resumes where it stopped."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from .._core.files import write_whole
from .cells import OPTIMUM_TOL, Cell
from .contest import Options
from .settings import GRID, PENALTY, POINTS_AN_EPOCH, SCALED, TEST_PART

__all__ = ["Store"]

_PACKAGE = Path(__file__).parents[1]

# Files and folders that do not influence the figures of a cell: commands, pages, estimators, and code that runs
# before or after the cells. Saved cells stay valid when these change. The experiment's settings and the digests of
# its data are part of every key, so settings.py and datasets need not be.
_IRRELEVANT = {
    "cli",
    "report",
    "estimators",
    "distributed",
    "datasets",
    "__main__.py",
    "registry.py",
    "theory.py",
    "models.py",
    "progress.py",
    "demo.py",
    "claims.py",
    "reproduce.py",
    "store.py",
    "settings.py",
}


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
    """Hash the syntax trees of the relevant files; comments, docstrings and layout do not count."""
    files = sorted(_PACKAGE.rglob("*.py"))
    used = [file for file in files if not _IRRELEVANT.intersection(file.relative_to(_PACKAGE).parts)]
    trees = (ast.dump(_without_docstrings(ast.parse(file.read_bytes()))) for file in used)
    return hashlib.sha256("".join(trees).encode()).hexdigest()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
    return tree
