"""The generic functions of a penalty, and the naming of rows of ``v``."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .._core.arrays import array_form
from .._core.jit import by_class, compiled, generic


@generic
def value(penalty, v):
    """The penalty at ``v``; 0 for a set.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, penalties
    >>> float(penalties.value(L1(2.0), np.array([3.0, -4.0])))
    14.0
    """


@generic
def prox(penalty, x, tau, out):
    """``argmin_v penalty(v) + |v - x|^2 / (2 tau)``, written to ``out`` (which may be ``x`` itself).

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, penalties
    >>> v = np.array([3.0, 0.5, -2.0])
    >>> penalties.prox(L1(1.0), v, 1.0, v)
    >>> v
    array([ 2.,  0., -1.])
    """


@generic
def prox_at(penalty, k, x, tau):
    """The prox of coordinate k alone, at the number ``x``: for penalties that are a sum over coordinates.

    Examples
    --------
    >>> from adasadmm import L1, penalties
    >>> penalties.prox_at(L1(1.0), 0, 3.0, 0.5)
    2.5
    """


@generic
def dual_prox_at(penalty, k, x, beta):
    """``x + beta v`` with the v that is the prox at ``-x / beta``: theta_{t+1} for ``x = theta_t - beta (A w - b)``.

    Examples
    --------
    >>> from adasadmm import L1, penalties
    >>> penalties.dual_prox_at(L1(1.0), 0, 3.0, 0.5)
    1.0
    """


@dual_prox_at.register(object)
def default_dual_prox_at(penalty, k, x, beta):
    return x + beta * prox_at(penalty, k, -x / beta, 1.0 / beta)


@prox.register(object)
def elementwise(penalty, x, tau, out):
    """The prox of a sum over coordinates: it serves all penalties that have a `prox_at` and no `prox` of their own."""
    for k in range(len(x)):
        out[k] = prox_at(penalty, k, x[k], tau)


# --- on whole arrays -------------------------------------------------------------------------------------------------


def total_value(penalty, v):
    """The value for a caller in Python: by NumPy, or by compiled code for a penalty without forms for arrays.

    A stack comes linked.
    """
    form = array_form(value, penalty)
    return float(compiled_value(penalty, v) if form is None else form(penalty, v))


def whole_prox(penalty, x, tau, out):
    """The same for the prox, written to ``out``, which may be ``x`` itself."""
    of_vector, of_entries = array_form(prox, penalty), array_form(prox_at, penalty)
    if of_vector is not None:
        of_vector(penalty, x, tau, out)
    elif of_entries is not None and prox.dispatch(type(penalty)) is elementwise:
        out[:] = of_entries(penalty, slice(None), x, tau)
    else:
        compiled_prox(penalty, x, tau, out)


@compiled
def compiled_value(penalty, v):
    return value(penalty, v)


@compiled
def compiled_prox(penalty, x, tau, out):
    prox(penalty, x, tau, out)


# --- conjugate and its domain (NumPy: they serve the certificate, not the loop) --------------------------------------


@by_class
def conjugate(penalty, s):
    """``sup_v <s, v> - penalty(v)`` for ``s`` inside the domain.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L2Squared, penalties
    >>> penalties.conjugate(L2Squared(2.0), np.array([3.0, -4.0]))
    6.25
    """


@by_class
def domain(penalty, s):
    """The point nearest to ``s`` where the conjugate is finite: ``s`` itself if it is finite everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, penalties
    >>> penalties.domain(L1(1.0), np.array([3.0, -0.5]))
    array([ 1. , -0.5])
    """


def everywhere(penalty, s):
    """The domain of a conjugate that is finite everywhere."""
    return s


# --- parameters and rows ---------------------------------------------------------------------------------------------


@functools.singledispatch
def check(penalty, m: int) -> None:
    """Raise ``ValueError`` if a penalty of ``m`` rows has an impossible parameter or shape.

    Examples
    --------
    >>> from adasadmm import L1, penalties
    >>> penalties.check(L1(-1.0), 3)
    Traceback (most recent call last):
    ValueError: nu of L1 must be >= 0 and finite, got -1.0
    """


def indices(rows: Any, name: str, m: int | None = None) -> np.ndarray:
    """Rows given as a slice (of m, where that is known), a mask or numbers, as an array of whole numbers."""
    if isinstance(rows, slice) and m is not None:
        return np.arange(m)[rows]
    array = np.asarray(rows).reshape(-1)
    if array.dtype == bool:
        return np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got {rows!r}")
    return array.astype(np.int64)


def joined(pieces: list[np.ndarray]) -> np.ndarray:
    """Several arrays of indices, or none, as one."""
    return np.concatenate([*pieces, np.empty(0, np.int64)])


def check_rows(name: str, rows: np.ndarray, m: int) -> None:
    """Raise ``ValueError`` where an index is not one of ``m``, or comes twice."""
    if rows.size and not (0 <= rows.min() and rows.max() < m):
        raise ValueError(f"{name} must lie between 0 and {m - 1}, got {rows.min()} to {rows.max()}")
    values, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{name} must be disjoint, {values[counts > 1][0]} is taken more than once")
