"""Atomic writes, checks of folders, and checks of archives that are not trusted."""

from __future__ import annotations

import contextlib
import errno
import glob
import io
import math
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["MOST_EXPANSION", "check_arrays", "check_writable", "most_unpacked", "write_whole", "written_whole"]

MOST_EXPANSION = 200  # compressed text of rows usually has a tenth of its size, rarely less than a thirtieth
PART = ".part"  # the ending of a file that is being written
ABANDONED = 60.0  # seconds after which an unlocked part belongs to no process
FREE = 2**26  # bytes that may be unpacked in any case


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file atomically: under a temporary name, flushed to disk, then renamed.

    After a full disk or a killed process, the file is the old one or the new one.
    """
    with written_whole(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` if the block succeeds, and is removed if it fails."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no folder for this file; create it first", str(path))
    _remove_abandoned(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
    try:
        with os.fdopen(handle, "wb") as file:
            _lock(file)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # the error of a full disk does not name the file
        raise
    _sync_folder(path.parent)


def _remove_abandoned(path: Path) -> None:
    """Remove parts of this file that killed processes left behind: not locked, and not recent."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*{PART}"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > ABANDONED:
                with part.open("rb") as file:
                    if _lock(file):
                        part.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed or the process ends; return False if another process holds it, or on failure."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _umask() -> int:
    """Return the mask of ordinary files; a temporary file is readable by its owner only."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Flush the new name to disk as well, if the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Raise ``OSError`` if files cannot be written to a folder, or it cannot be created; leave nothing behind."""
    folder = Path(folder).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    handle, path = tempfile.mkstemp(dir=folder, prefix=".adasadmm.")
    os.close(handle)
    os.unlink(path)


# --- archives --------------------------------------------------------------------------------------------------------


def most_unpacked(size: int, most_expansion: float) -> float:
    """Return the number of bytes to which a file may unpack before it counts as a decompression bomb."""
    return max(FREE, most_expansion * size)


def check_arrays(archive: zipfile.ZipFile, most: float) -> None:
    """Reject arrays whose headers exceed their content, and sparse ones that unpack to more than ``most`` bytes.

    Call it before NumPy reads them, because NumPy allocates the memory that a header declares.
    """
    for member in archive.infolist():
        if member.filename.endswith(".npz"):  # a sparse matrix: a compressed archive inside the archive
            with zipfile.ZipFile(io.BytesIO(archive.read(member))) as inner:
                unpacked = sum(part.file_size for part in inner.infolist())
                if unpacked > most:
                    raise ValueError(f"{member.filename} would unpack to {unpacked:,} bytes, more than {most:,.0f}")
                _check_headers(inner)
    _check_headers(archive)


def _check_headers(archive: zipfile.ZipFile) -> None:
    from numpy.lib import format as npy

    for member in archive.infolist():
        if not member.filename.endswith(".npy"):
            continue
        with archive.open(member) as stream:
            readers: Any = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
            shape, _, dtype = readers[npy.read_magic(stream)](stream)
        if dtype.hasobject or math.prod(shape) * dtype.itemsize > member.file_size:
            raise ValueError(f"{member.filename} claims to be an array of shape {shape} of {dtype}, but is not")
