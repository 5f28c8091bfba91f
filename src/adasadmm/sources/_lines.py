"""svmlight lines to rows, in compiled code: the common form of the format, as fast as memory allows.

Lines of any other form (a value such as ``nan`` or ``1_000``, a ``qid``, a mistake) make the kernel give up. The caller
then reads all lines again with scikit-learn, which knows the other forms and the errors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, inlined
from ..rows.matrices import CSR
from ._decimals import EXACT, NOT_DECIDED, powers, to_bits

__all__ = ["Lines", "parsed_lines"]

NEWLINE, HASH, COLON, POINT, PLUS, MINUS, ZERO = (ord(c) for c in "\n#:.+-0")
GOOD, UNDECIDED, FAILED = 0, 1, 2  # what became of a number
MOST_UNDECIDED = 4096  # numbers in a block that only Python can read
MOST_DIGITS = 19  # of an integer that surely fits in 64 bits
_TEN, _NOUGHT = np.uint64(10), np.uint64(0)
_EXACT_INTEGERS = np.uint64(2**53)
_SIGN = np.uint64(1 << 63)


class Lines(NamedTuple):
    """The labels and the rows of some lines."""

    y: np.ndarray
    X: CSR


def parsed_lines(data: bytes, n_features: int | None, most_features: int, zero_based: bool) -> Lines | None:
    """The rows of whole lines; None if some line is not of the common form, or has an index that is too large.

    Without ``n_features`` the rows are as wide as their largest index.
    """
    text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
    rows, entries = _counted(text)
    y, values = np.empty(rows), np.empty(entries)
    indices, starts = np.empty(entries, np.uint32), np.zeros(rows + 1, np.int32)
    undecided = np.empty((MOST_UNDECIDED, 4), np.int64)
    most = most_features if n_features is None else n_features
    out = y, y.view(np.uint64), values, values.view(np.uint64), indices, starts, undecided
    rows, entries, largest, slow = _parsed(text, 0 if zero_based else 1, most, powers(), *out)
    if rows < 0:
        return None
    for column, place, first, last in undecided[:slow].tolist():
        number = float(text[first:last].tobytes())
        if not math.isfinite(number):
            return None
        (values if column else y)[place] = number
    width = largest + 1 if n_features is None else n_features
    return Lines(_cut(y, rows), CSR(_cut(values, entries), _cut(indices, entries), _cut(starts, rows + 1), width))


def _cut(array: np.ndarray, length: int) -> np.ndarray:
    """The first entries; a copy only if there are others, which a view would keep in memory."""
    return array if len(array) == length else array[:length].copy()


@compiled
def _counted(text):
    """The most rows and entries that the text can hold: its line ends and colons."""
    rows, entries = 0, 0
    for k in range(len(text)):
        rows += text[k] == NEWLINE
        entries += text[k] == COLON
    return rows, entries


@inlined
def _is_blank(c):
    """Whether a byte separates two tokens of a line."""
    return c <= 32 and (c == 32 or (9 <= c <= 13 and c != NEWLINE))


@inlined
def _digits(text, at, m, many):
    """Read digits onto m, and count those that count."""
    while True:
        digit = np.uint64(text[at]) - np.uint64(ZERO)
        if digit > np.uint64(9):
            return at, m, many
        many += (m | digit) > _NOUGHT  # leading zeros do not count
        m = m * _TEN + digit
        at += 1


@inlined
def _number(text, at, floats, bits, k, tables):
    """Read a number into place k; its end, and whether it is one and is decided."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    first = at
    at, m, many = _digits(text, at, _NOUGHT, 0)
    read, q = at - first, np.int64(0)
    if text[at] == POINT:
        point = at + 1
        at, m, many = _digits(text, point, m, many)
        read, q = read + at - point, point - at
    if read == 0:
        return at, FAILED
    if (text[at] | 32) == 101:  # e or E
        at += 1
        down = text[at] == MINUS
        if down or text[at] == PLUS:
            at += 1
        begin = at
        at, power, _ = _digits(text, at, _NOUGHT, 0)
        if at == begin or at - begin > 6:
            return at, FAILED
        q += -np.int64(power) if down else np.int64(power)
    if many > MOST_DIGITS:
        return at, UNDECIDED
    if m <= _EXACT_INTEGERS and -EXACT <= q <= EXACT:  # one operation, rounded once
        value = np.float64(m) * tables[2][q] if q > 0 else np.float64(m) / tables[2][-q]
        floats[k] = -value if negative else value
        return at, GOOD
    found = to_bits(m, q, tables[0], tables[1])
    bits[k] = found | _SIGN if negative else found
    return at, UNDECIDED if found == NOT_DECIDED else GOOD


@compiled
def _parsed(text, base, most, tables, y, y_bits, values, value_bits, indices, starts, undecided):
    """The numbers of rows and entries, the largest index, and how many numbers are undecided; -1 rows: not parsed.

    The text ends with a line end, so a token ends before the text does.
    """
    at, rows, entries, largest, slow = 0, 0, 0, 0, 0
    while at < len(text):
        while _is_blank(text[at]):
            at += 1
        if text[at] != NEWLINE and text[at] != HASH:
            first = at
            at, status = _number(text, at, y, y_bits, rows, tables)
            if status == FAILED or slow == MOST_UNDECIDED:
                return -1, 0, 0, 0
            if status == UNDECIDED:
                undecided[slow] = 0, rows, first, at
                slow += 1
            before = -1
            while True:
                if not (_is_blank(text[at]) or text[at] == NEWLINE or text[at] == HASH):
                    return -1, 0, 0, 0
                while _is_blank(text[at]):
                    at += 1
                if text[at] == NEWLINE or text[at] == HASH:
                    break
                first = at
                at, number, _ = _digits(text, at, _NOUGHT, 0)
                if at == first or at - first > 10 or text[at] != COLON:
                    return -1, 0, 0, 0
                index = np.int64(number) - base
                if index <= before or index >= most:
                    return -1, 0, 0, 0
                before = index
                first = at + 1
                at, status = _number(text, first, values, value_bits, entries, tables)
                if status == FAILED or slow == MOST_UNDECIDED:
                    return -1, 0, 0, 0
                indices[entries] = index
                if status == UNDECIDED:
                    undecided[slow] = 1, entries, first, at
                    slow += 1
                entries += 1
            largest = max(largest, before)
            rows += 1
            starts[rows] = entries
        while text[at] != NEWLINE:
            at += 1
        at += 1
    return rows, entries, largest, slow
