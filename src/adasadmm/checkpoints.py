"""Checkpoints: a run saved on disk, from which it resumes after a crash and ends with the same bits.

A file is one line, ``adasadmm checkpoint <format> <sha256 of the rest>``, and an ``.npz`` archive without pickle: the
arrays of the run's state under their names, and ``about``, a JSON text with the run's fingerprint, the numbers of its
state, how far it is, and the points of its trace. The order of rows is a function of the seed, so the number of rows
visited so far determines the state of the generator.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import math
import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import __version__
from ._core.files import check_arrays, write_whole
from ._core.states import check_values
from .certificates.trace import Status, Trace
from .solvers import NamedState, Run

__all__ = ["Checkpoint", "CheckpointError", "Keeper", "Moment", "check_same_form", "fingerprint"]

FORMAT = 2
NAME = "checkpoint-{:08d}"
KEPT = 2  # the last one, and the one before
GROWING = ("history",)  # arrays of a state that have a row for each iteration
POSITIVE = ("beta", "beta_z", "beta_now", "eta_now", "soft")  # weights and steps: they are divided by, or under a root


class CheckpointError(ValueError):
    """Raised if a checkpoint cannot be written or is rejected; the message gives the reason.

    Attributes
    ----------
    older : Path or None
        The valid checkpoint before it, if there is one.
    """

    def __init__(self, message: str, older: Path | None = None) -> None:
        super().__init__(message)
        self.older = older


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Folder and frequency of periodic saves of a run.

    Parameters
    ----------
    path : path
        Folder for this run alone; created if it does not exist.
    every : float
        Seconds between two checkpoints; 0 writes one at every opportunity, about ten per second. The result does not
        depend on when they are written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from adasadmm import AdaSADMM, Checkpoint, Hinge, L1, Problem, solve
    >>> problem = Problem(np.eye(2), [1, -1], loss=Hinge(), penalty=L1(0.1), A=[[1.0, -1.0]])
    >>> checkpoint = Checkpoint(tempfile.mkdtemp())
    >>> first = solve(problem, AdaSADMM(), checkpoint=checkpoint)
    >>> again = solve(problem, AdaSADMM(), checkpoint=checkpoint, resume=True)  # already done: nothing is computed
    >>> bool((again.w == first.w).all())
    True
    """

    path: str | os.PathLike[str]
    every: float = 60.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)):
            raise TypeError(f"path of Checkpoint must be the path of a folder, got {self.path!r}")
        if not isinstance(self.every, (int, float)) or not 0.0 <= self.every < math.inf:
            raise ValueError(f"every of Checkpoint must be seconds >= 0, got {self.every!r}")

    def part(self, name: str) -> Checkpoint:
        """Return the checkpoint of one of several runs, a subfolder of this one."""
        return Checkpoint(Path(self.path) / name, self.every)


class Moment(NamedTuple):
    """A moment from which a run can resume: its state, how far it was, its trace until then, its status if it ended."""

    state: NamedState
    done: int
    seconds: float
    points: list[tuple]
    status: Status | None

    @classmethod
    def of(cls, run: Run) -> Moment:
        return cls(run.state(), run.done, run.seconds, [], None)

    def return_to(self, run: Run) -> None:
        run.restore(self.state)
        run.done, run.seconds = self.done, self.seconds


class Keeper:
    """Saves one run to the folder of its checkpoint; without a checkpoint it saves nothing.

    Parameters
    ----------
    checkpoint : Checkpoint or None
    of : dict
        The run's `fingerprint`.
    """

    def __init__(self, checkpoint: Checkpoint | None, of: dict[str, str]) -> None:
        self.checkpoint, self.of = checkpoint, of
        self.points: list[tuple] = []
        self._last: Moment | None = None
        self._count = 0  # points of the trace at that moment
        self._written = time.monotonic()

    # --- writing -----------------------------------------------------------------------------------------------------

    def note(self, run: Run) -> Moment:
        """Remember the current moment of a run, and write it if the time has come."""
        moment = Moment.of(run)
        self._last, self._count = moment, len(self.points)
        if self.checkpoint is not None and time.monotonic() - self._written >= self.checkpoint.every:
            self.write()
        return moment

    def write(self, status: Status | None = None) -> None:
        """Write the moment that was remembered last."""
        if self.checkpoint is None or self._last is None:
            return
        content = _packed(self.of, self._last._replace(points=self.points[: self._count], status=status))
        before = self._files()
        number = 1 + (int(before[-1].name[-8:]) if before else 0)
        path = Path(self.checkpoint.path) / NAME.format(number)
        try:
            write_whole(path, content)
            for file in before[: 1 - KEPT]:
                file.unlink()
        except OSError as error:
            last = before[-1] if before else None
            rest = f"; {last.name}, the last one, is complete" if last else ""
            raise CheckpointError(f"cannot write the checkpoint {path}: {error.strerror}{rest}", last) from error
        self._written = time.monotonic()

    def _files(self) -> list[Path]:
        return sorted(Path(self.checkpoint.path).glob("checkpoint-" + "[0-9]" * 8)) if self.checkpoint else []

    # --- resuming ----------------------------------------------------------------------------------------------------

    def open(self, resume: bool) -> Moment | None:
        """Prepare the folder; return the moment to resume from, or None if there is no checkpoint."""
        if self.checkpoint is None:
            return None
        folder = Path(self.checkpoint.path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"cannot make the folder {folder}: {error.strerror}") from error
        for file in folder.glob(".checkpoint-*.part"):  # of a process that was killed while it wrote
            with contextlib.suppress(OSError):
                file.unlink()
        files = self._files()
        if not files:
            return None
        if not resume:
            raise CheckpointError(
                f"{folder} already holds a checkpoint: pass resume=True to continue from it, or choose another folder"
            )
        moment = self._found(files)
        self.points = moment.points
        return moment

    def _found(self, files: list[Path]) -> Moment:
        """Return the last checkpoint; if it is rejected, raise an error with the reason and the last valid one."""
        reason = None
        for file in reversed(files):
            try:
                moment = _unpacked(file, self.of)
            except CheckpointError as error:
                reason = reason or error
                continue
            if reason is None:
                return moment
            offer = f"{file.name}, the one before, is valid: delete {files[-1].name} to resume from it"
            raise CheckpointError(f"{reason}. {offer}", file)
        raise CheckpointError(f"{reason}. There is no valid checkpoint before it: start again in another folder")


def fingerprint(**parts: object) -> dict[str, str]:
    """Return the digests of all that a run depends on, and the version, since another one may round differently."""
    found = {"adasadmm": __version__}
    for name, part in parts.items():
        digest = hashlib.sha256()
        _feed(digest, part)
        found[name] = digest.hexdigest()[:32]
    return found


def _feed(digest: Any, part: object) -> None:
    if isinstance(part, np.ndarray):
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8))
    elif isinstance(part, (tuple, list)):  # also records
        digest.update(f"{type(part).__name__} {len(part)}".encode())
        for field in part:
            _feed(digest, field)
    elif isinstance(part, Mapping):
        _feed(digest, list(part.items()))
    elif dataclasses.is_dataclass(part):
        digest.update(type(part).__name__.encode())
        _feed(digest, [getattr(part, field.name) for field in dataclasses.fields(part)])
    else:
        digest.update(f"{part!r};".encode())


def _packed(of: dict[str, str], moment: Moment) -> bytes:
    arrays = {name: value for name, value in moment.state.items() if isinstance(value, np.ndarray)}
    about = {
        "of": of,
        "numbers": {name: value for name, value in moment.state.items() if name not in arrays},
        "done": moment.done,
        "seconds": moment.seconds,
        "points": [point[: len(Trace.columns)] for point in moment.points],
        "status": None if moment.status is None else moment.status.name,
    }
    body = io.BytesIO()
    named: Any = {f"state.{name}": array for name, array in arrays.items()}
    np.savez(body, about=np.frombuffer(json.dumps(about, default=np.generic.item).encode(), np.uint8), **named)
    content = body.getvalue()
    return f"adasadmm checkpoint {FORMAT} {hashlib.sha256(content).hexdigest()}\n".encode() + content


def _unpacked(path: Path, of: dict[str, str]) -> Moment:
    """Return the moment stored in a file, if it belongs to this run."""
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise CheckpointError(f"cannot read the checkpoint {path}: {error.strerror}") from error
    words = head.split(b" ")
    if len(words) != 4 or words[:2] != [b"adasadmm", b"checkpoint"]:
        raise CheckpointError(f"{path} is damaged, or not a checkpoint: its first line is not that of a checkpoint")
    if words[2] != str(FORMAT).encode():
        raise CheckpointError(
            f"{path} is of format {words[2].decode(errors='replace')}, written by another version of adasadmm; this "
            f"version reads format {FORMAT}: start the run again in another folder, or resume it with that version"
        )
    if words[3] != hashlib.sha256(body).hexdigest().encode():
        raise CheckpointError(f"{path} is damaged: its digest does not match its content")
    try:
        about, state = _read(body)
        differing = [name for name in {**of, **about["of"]} if of.get(name) != about["of"].get(name)]
        status = None if about["status"] is None else Status[about["status"]]
        points = [tuple(point) for point in about["points"]]
        moment = Moment(state, about["done"], about["seconds"], points, status)
    except Exception as error:  # the digest is right, so somebody else has written the file
        raise CheckpointError(f"{path} is not a valid checkpoint: {type(error).__name__}: {error}") from error
    if "adasadmm" in differing:
        made_by = about["of"].get("adasadmm")
        raise CheckpointError(
            f"{path} was written by adasadmm {made_by}, this is {__version__}: results may differ in the last bits. "
            "Start the run again in another folder, or resume it with that version"
        )
    if differing:
        raise CheckpointError(f"{path} belongs to another run: it differs in {', '.join(differing)}")
    return moment


def _read(body: bytes) -> tuple[dict, NamedState]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("compressed members")
        check_arrays(archive, len(body))
    with np.load(io.BytesIO(body), allow_pickle=False) as stored:
        about = json.loads(stored["about"].tobytes())
        arrays = {name.removeprefix("state."): stored[name] for name in stored.files if name != "about"}
    if not all(isinstance(array, np.ndarray) and array.dtype.kind in "fiub" for array in arrays.values()):
        raise ValueError("members that are not arrays of numbers")
    numbers = [*about["numbers"].values(), about["seconds"], *(number for point in about["points"] for number in point)]
    if not all(isinstance(number, (int, float)) for number in numbers):
        raise ValueError("values that are not numbers")
    if type(about["done"]) is not int or not 0 <= about["done"] < 2**62:
        raise ValueError("a count that is not a whole number >= 0")
    if not 0.0 <= about["seconds"] < math.inf:
        raise ValueError("a time that is not a number of seconds >= 0")
    if any(len(point) != len(Trace.columns) for point in about["points"]):
        raise ValueError("points that do not belong to a trace")
    return about, arrays | about["numbers"]


def check_same_form(own: NamedState, kept: NamedState) -> None:
    """Raise ``CheckpointError`` if a saved state cannot be that of a run: other names, shapes or types, or NaN.

    ``own`` is the state of the run before its first iteration. A number that is finite there must be finite.
    """
    if set(own) != set(kept):
        raise CheckpointError(f"the checkpoint does not fit the run: it differs in {', '.join(set(own) ^ set(kept))}")
    for name, value in own.items():
        other: Any = kept[name]
        if isinstance(value, np.ndarray):
            same = isinstance(other, np.ndarray) and other.dtype == value.dtype and other.ndim == value.ndim
            if not same or other.shape[name in GROWING :] != value.shape[name in GROWING :]:
                raise CheckpointError(f"the checkpoint holds arrays of another shape than the run: {name}")
        elif isinstance(other, np.ndarray) or isinstance(value, int) > isinstance(other, int):
            raise CheckpointError(f"the checkpoint does not fit the run: {name} is not a whole number")
        try:
            check_values(np.asarray(value), np.asarray(other), name)
        except ValueError as error:
            raise CheckpointError(f"the checkpoint does not fit the run: {error}") from None
        if name in POSITIVE and not (other > 0.0 or other == value == 0.0):  # 0 stands for none yet
            raise CheckpointError(f"the checkpoint does not fit the run: {name} must be positive, got {other}")
