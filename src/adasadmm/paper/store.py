"""What is finished is kept, so that a run that was stopped goes on where it was."""

from __future__ import annotations

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

# Stored figures stay valid when one of these files changes: they write the page and the texts, or run afterwards.
_PACKAGE = Path(__file__).parents[1]
_APART = {
    "cli",
    "report",
    "estimators",
    "distributed",
    "theory.py",
    "models.py",
    "_progress.py",
    "__init__.pyi",
    "demo.py",
    "bench.py",
    "peers.py",
    "claims.py",
    "reproduce.py",
    "store.py",
    "settings.py",
}


class Store:
    """A folder with a file for each finished cell, named and checked by all that its figures depend on."""

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
        """The figures of a cell; None where there are none, or the file is damaged or of another experiment."""
        try:
            content = json.loads(self._path(cell).read_text())
            known = content["of"] == self._key(cell) and content["digest"] == _digest(content["figures"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return content["figures"] if known else None

    def keep(self, cell: Cell, figures: dict[str, Any]) -> None:
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
    files = sorted(_PACKAGE.rglob("*.py"))
    used = [file for file in files if not _APART & set(file.relative_to(_PACKAGE).parts)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in used)).hexdigest()
