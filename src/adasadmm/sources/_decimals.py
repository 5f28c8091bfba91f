"""Decimal numbers in text to the nearest float64, in compiled code.

A number is ``m * 10^q`` with an integer m. Where both are small, one operation gives the result (`EXACT`). Otherwise
the product of m and a 128-bit approximation of ``5^q`` has its bits (Lemire, "Number parsing at a gigabyte per second",
2021). The rare numbers that it cannot decide, those below the normal range, and those that overflow are left to the
caller.
"""

from __future__ import annotations

import functools

import numpy as np

from .._core.jit import inlined

__all__ = ["EXACT", "NOT_DECIDED", "powers", "to_bits"]

LEAST, MOST = -342, 308  # powers of ten beyond which every number is 0 or infinite
EXACT = 22  # 10^22 is the largest power of ten that is a float64
NOT_DECIDED = np.uint64(0xFFFFFFFFFFFFFFFF)  # the bits of a NaN, which no number has

_1, _9, _32, _63, _64 = (np.uint64(k) for k in (1, 9, 32, 63, 64))
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_UNSURE = np.uint64(0x1FF)
_HIDDEN = np.uint64(1 << 52)
_3 = np.uint64(3)


@functools.cache
def powers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The high and the low 64 bits of ``5^q`` for each q, scaled to 128 bits, and the exact powers of ten."""
    high, low = [], []
    for q in range(LEAST, MOST + 1):
        if q < 0:
            size = (5**-q - 1).bit_length()
            bits = (1 << (size + 127 if q >= -27 else 2 * size + 128)) // 5**-q + 1
        else:
            bits = 5**q << 127
        bits >>= max(0, bits.bit_length() - 128)
        high.append(bits >> 64)
        low.append(bits & (2**64 - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64), np.array([10.0**k for k in range(EXACT + 1)])


@inlined
def _product(a, b):
    """The low and the high 64 bits of a product."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _32, b & _LOW, b >> _32
    low, middle = a_low * b_low, a_high * b_low
    first = (low >> _32) + middle
    second = (first & _LOW) + a_low * b_high
    return (second << _32) | (low & _LOW), a_high * b_high + (first >> _32) + (second >> _32)


@inlined
def _leading_zeros(m):
    zeros = np.uint64(0)
    for step in (32, 16, 8, 4, 2, 1):
        width = np.uint64(step)
        if m >> (_64 - width) == np.uint64(0):
            m = m << width
            zeros = zeros + width
    return zeros


@inlined
def to_bits(m, q, high, low):
    """The bits of the float64 nearest to ``m * 10^q``; `NOT_DECIDED` if it is not a normal number, or is a tie."""
    if m == np.uint64(0) or q < LEAST:
        return np.uint64(0)
    if q > MOST:
        return NOT_DECIDED
    zeros = _leading_zeros(m)
    m = m << zeros
    lower, upper = _product(m, high[q - LEAST])
    if (upper & _UNSURE) == _UNSURE:
        _, carried = _product(m, low[q - LEAST])
        lower = lower + carried
        if carried > lower:
            upper = upper + _1
    if lower == _ALL and (q < -27 or q > 55):
        return NOT_DECIDED
    top = upper >> _63
    mantissa = upper >> (top + _9)
    exponent = ((217706 * q) >> 16) + 63 + 1023 + np.int64(top) - np.int64(zeros)
    if exponent <= 0:
        return NOT_DECIDED
    if lower <= _1 and -4 <= q <= 23 and (mantissa & _3) == _1 and (mantissa << (top + _9)) == upper:
        mantissa = mantissa & ~_1  # halfway between two numbers: to the even one
    mantissa = (mantissa + (mantissa & _1)) >> _1
    if mantissa >= _HIDDEN << _1:
        mantissa = _HIDDEN
        exponent += 1
    if exponent >= 0x7FF:
        return NOT_DECIDED
    return (mantissa & ~_HIDDEN) | (np.uint64(exponent) << np.uint64(52))
