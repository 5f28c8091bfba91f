"""The file format of a cache: blocks of numbers, mapped into memory when they are read.

A file is a line with the version; blocks that start at multiples of `ALIGNMENT`; an index as JSON with the totals, the
place, size and checksum of each block; and, in the last `TRAILER` bytes, where the index is and its digest. The index
comes last, so a file that was cut anywhere has none.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import operator
import os
import struct
import weakref
import zlib
from typing import Any, BinaryIO

import numpy as np

from ..rows.matrices import CSR, UNSIGNED, Dense, all_finite
from ._faults import RawBlock
from ._gate import is_valid
from ._summary import Summary

__all__ = ["CacheFault", "Store", "Writer"]

MAGIC = b"adasadmm rows 1\n"
ALIGNMENT = 2**16  # the granularity of memory maps on all systems
TRAILER = struct.Struct("<QQ32s16s")
END = b"end of the rows\n"
NOT_OF_THIS_FORM = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, OSError)


class CacheFault(Exception):
    """A cache cannot be used: it is missing, of other rows, or damaged."""


class Writer:
    """Writes blocks to a file, then their index."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.blocks = file, list[dict[str, Any]]()
        self.partitions: list[list[int]] = []
        file.write(MAGIC)

    def start_partition(self) -> None:
        self.partitions.append([])

    def add(self, block: RawBlock) -> None:
        """Write a block of the current partition."""
        at = -(-self.file.tell() // ALIGNMENT) * ALIGNMENT
        self.file.seek(at)
        arrays, labels = _arrays_of(block)
        described, size, checksum = [], 0, 0
        for name, array in arrays.items():
            data = np.ascontiguousarray(array).tobytes()
            filled = bytes(-len(data) % 8)
            described.append([name, array.dtype.str, list(array.shape), size])
            for piece in (data, filled):
                self.file.write(piece)
                checksum = zlib.crc32(piece, checksum)
            size += len(data) + len(filled)
        record = {"at": at, "size": size, "crc": checksum, "arrays": described, "labels": labels, "place": block.place}
        self.partitions[-1].append(len(self.blocks))
        self.blocks.append(record)

    def finish(self, key: str, summary: Summary) -> None:
        """Write the index."""
        totals = summary._asdict()
        if summary.labels is not None:
            totals["labels"] = [[label, *known] for label, known in summary.labels.items()]
        index = {"key": key, "summary": totals, "partitions": self.partitions, "blocks": self.blocks}
        data = json.dumps(index).encode()
        at = self.file.tell()
        self.file.write(data)
        self.file.write(TRAILER.pack(at, len(data), hashlib.sha256(data).digest(), END))


def _arrays_of(block: RawBlock) -> tuple[dict[str, np.ndarray], list[Any] | None]:
    """The arrays of a block by name; targets that are not numbers become positions in a list of labels."""
    X, labels = block.X, None
    arrays = {"values": X.values} if isinstance(X, Dense) else {name: getattr(X, name) for name in X._fields[:3]}
    if block.y is not None:
        arrays["y"] = block.y
        if block.y.dtype.kind not in "fiub":
            found, arrays["y"] = np.unique(block.y.astype(str), return_inverse=True)
            labels = found.tolist()
    others = {"weight": block.weight, "offset": block.offset}
    return arrays | {name: array for name, array in others.items() if array is not None}, labels


class Store:
    """An open cache.

    Parameters
    ----------
    path : str
    key : str
        What the rows must be: the key with which they were written.

    Raises
    ------
    CacheFault
        If there is no such file, if it has another key, or if it is damaged.
    """

    def __init__(self, path: str, key: str) -> None:
        try:
            self._handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            raise CacheFault("missing") from None
        weakref.finalize(self, os.close, self._handle)
        try:
            index = self._index()
            if index["key"] != key:
                raise CacheFault("the files or their settings have changed")
            totals, self.partitions, self._blocks = index["summary"], index["partitions"], index["blocks"]
            if sorted(k for numbers in self.partitions for k in numbers) != list(range(len(self._blocks))):
                raise CacheFault("its index is damaged: it names blocks that it has not")
            _check_totals(totals, self._blocks)
            if totals["labels"] is not None:
                totals["labels"] = {label: (rows, weight) for label, rows, weight in totals["labels"]}
            self.summary = Summary(**{**totals, "faults": tuple(totals["faults"])})
        except NOT_OF_THIS_FORM as error:
            raise CacheFault(f"its index is damaged: {error}") from None
        self._checked: set[int] = set()  # blocks whose checksum this process has compared

    def _index(self) -> Any:
        with os.fdopen(os.dup(self._handle), "rb") as file:
            size = os.fstat(self._handle).st_size
            if size < len(MAGIC) + TRAILER.size:
                raise CacheFault("it is cut off")
            if file.read(len(MAGIC)) != MAGIC:
                raise CacheFault("it is not a cache of this version")
            file.seek(size - TRAILER.size)
            at, length, digest, end = TRAILER.unpack(file.read(TRAILER.size))
            if end != END or at + length + TRAILER.size != size:
                raise CacheFault("it is cut off")
            file.seek(at)
            data = file.read(length)
        if hashlib.sha256(data).digest() != digest:
            raise CacheFault("its index is damaged")
        return json.loads(data)

    def block(self, number: int) -> RawBlock:
        """A block, mapped into memory. It is checked when this process reads it first."""
        try:
            return self._mapped(number)
        except NOT_OF_THIS_FORM as error:
            raise CacheFault(f"block {number}: {error}") from None

    def _mapped(self, number: int) -> RawBlock:
        record = self._blocks[number]
        mapped = mmap.mmap(self._handle, max(record["size"], 1), access=mmap.ACCESS_COPY, offset=record["at"])
        if hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_WILLNEED)
        if number in self._checked:
            return self._block_of(record, mapped)
        if zlib.crc32(memoryview(mapped)[: record["size"]]) != record["crc"]:
            raise CacheFault(f"block {number} is damaged")
        block = self._block_of(record, mapped)
        if not _is_sound(block.X, self.summary.features):
            raise CacheFault(f"block {number} is not a matrix")
        if not all(_is_column(column, block.X.shape[0]) for column in (block.y, block.weight, block.offset)):
            raise CacheFault(f"block {number} has targets, weights or offsets that do not belong to its rows")
        if block.weight is not None and (block.weight < 0.0).any():
            raise CacheFault(f"block {number} has negative weights")
        self._checked.add(number)
        return block

    def _block_of(self, record: dict[str, Any], mapped: mmap.mmap) -> RawBlock:
        arrays = {name: _array(mapped, *of) for name, *of in record["arrays"]}
        if record["labels"] is not None:
            arrays["y"] = np.array(record["labels"], dtype=object)[arrays["y"]]
        if "values" in arrays:
            X: Dense | CSR = Dense(arrays["values"])
        else:
            X = CSR(arrays["data"], arrays["indices"], arrays["indptr"], self.summary.features)
        return RawBlock(X, arrays.get("y"), arrays.get("weight"), record["place"], offset=arrays.get("offset"))


def _array(mapped: mmap.mmap, dtype: str, shape: list[int], at: int) -> np.ndarray:
    if np.dtype(dtype).kind not in "fiub":
        raise CacheFault(f"it holds {dtype}, not numbers")
    size = math.prod(map(operator.index, shape)) * np.dtype(dtype).itemsize
    if not 0 <= operator.index(at) <= at + size <= len(mapped) or at % 8:  # NumPy does not mind a negative offset
        raise CacheFault("its index is damaged: an array lies outside its block")
    return np.ndarray(shape, dtype, mapped, at)


def _check_totals(totals: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
    """Raise `CacheFault` if the totals are not those of the blocks: arrays of all rows are made by them."""
    if not all(0 <= operator.index(totals[name]) < 2**62 for name in ("rows", "features", "entries", "skipped")):
        raise CacheFault("its index is damaged: its totals are none")
    shapes = [{name: shape for name, _, shape, _ in record["arrays"]} for record in blocks]
    rows = sum(found["values"][0] if "values" in found else found["indptr"][0] - 1 for found in shapes)
    entries = sum(math.prod(found["values" if "values" in found else "data"]) for found in shapes)
    if (rows, entries) != (totals["rows"], totals["entries"]) or not 0.0 <= totals["weight"] < math.inf:
        raise CacheFault("its index is damaged: its totals are not those of its blocks")


def _is_sound(X: Dense | CSR, features: int) -> bool:
    """Whether compiled code, which does not check indices, can use the rows."""
    if isinstance(X, Dense):
        return X.values.dtype == np.float64 and X.values.ndim == 2 and X.shape[1] <= features and all_finite(X.values)
    known = [[np.dtype(kind) for kind in (np.float64, unsigned, signed)] for signed, unsigned in UNSIGNED.items()]
    if [array.dtype for array in X[:3]] not in known or any(array.ndim != 1 for array in X[:3]):
        return False  # also for bytes in another order, which is another type
    if not len(X.indptr) or not all_finite(X.data):
        return False
    ordered = X.indptr[0] == 0 and X.indptr[-1] == len(X.data) == len(X.indices) and (np.diff(X.indptr) >= 0).all()
    return bool(ordered and np.max(X.indices, initial=0) < max(X.columns, 1))


def _is_column(values: np.ndarray | None, rows: int) -> bool:
    """Whether there is a label or a finite number for each row."""
    return values is None or (values.shape == (rows,) and bool(is_valid(values).all()))
