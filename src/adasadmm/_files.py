"""Files written whole or not at all, and folders that can be written to."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["check_writable", "write_whole"]


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file under another name, see it to the disc, then give it its name.

    Whatever happens on the way, a full disc or a killed process, the file is the old one or the new one.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disc does not say which file it was
        raise
    _sync_folder(path.parent)


def _umask() -> int:
    """The mask that ordinary files get; a temporary file is made for its owner's eyes only."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """See the name to the disc as well, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_writable(folder: str | os.PathLike[str]) -> None:
    """An OSError where files cannot be written into a folder, or it could not be made; nothing is left behind."""
    folder = Path(folder).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    handle, path = tempfile.mkstemp(dir=folder, prefix=".adasadmm.")
    os.close(handle)
    os.unlink(path)
