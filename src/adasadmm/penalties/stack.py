"""Several penalties, each on its own rows of ``v``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import on_arrays
from .._core.jit import inlined
from ._generic import check, check_rows, conjugate, domain, indices, joined, prox, total_value, value, whole_prox
from .chain import ChainTV
from .norms import NORMS, GroupL2, Zero
from .sets import SETS

PENALTIES = (*NORMS, ChainTV)  # all that are not sets; they are 0 at v = 0

# --- as a user writes it ---------------------------------------------------------------------------------------------


class Stack(NamedTuple):
    """Several penalties, each on its own rows of ``v``; rows that belong to none of them are free.

    Parameters
    ----------
    parts : sequence of (penalty, rows)
        ``rows`` is an index array, a mask or a slice. No row may belong to two parts.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, L2Squared, Stack, penalties
    >>> both = Stack([(L1(1.0), slice(0, 2)), (L2Squared(1.0), [2])])
    >>> float(penalties.value(both, np.array([3.0, -4.0, 2.0])))
    9.0
    """

    parts: Sequence


@value.register
def stack_value(penalty: Stack, v):
    return value(linked(penalty, len(v)), v)


@prox.register
def stack_prox(penalty: Stack, x, tau, out):
    prox(linked(penalty, len(x)), x, tau, out)


@conjugate.register
def stack_conjugate(penalty: Stack, s):
    return sum(conjugate(part, s[rows]) for part, rows in penalty.parts)


@domain.register
def stack_domain(penalty: Stack, s):
    inside = np.zeros_like(s)
    for part, rows in penalty.parts:
        inside[rows] = domain(part, s[rows])
    return inside


@check.register(Stack)
def stack_check(penalty, m):
    rows_of_parts = [indices(rows, "rows of Stack", m) for _, rows in penalty.parts]
    check_rows("rows of Stack", joined(rows_of_parts), m)
    for (part, _), rows in zip(penalty.parts, rows_of_parts, strict=True):
        check(part, len(rows))


def parts_of(penalty: Any, p: int) -> list[tuple[Any, np.ndarray]]:
    """A penalty of p coordinates as the parts of a stack."""
    return list(penalty.parts) if isinstance(penalty, Stack) else [(penalty, np.arange(p))]


def with_strength(penalty: Any, nu: float) -> Any:
    """The same penalty with another strength of all its parts; sets have none."""
    if isinstance(penalty, Stack):
        return Stack(tuple((with_strength(part, nu), rows) for part, rows in penalty.parts))
    return penalty._replace(nu=float(nu)) if hasattr(penalty, "nu") else penalty


def groups_of(penalty: Any, p: int) -> list[np.ndarray]:
    """The groups of two or more coordinates of v that a penalty couples by their norm."""
    groups = []
    for part, rows in parts_of(penalty, p):
        if isinstance(part, GroupL2):
            coordinates = indices(rows, "rows of Stack", p)
            groups += [coordinates[group] for group in part.groups if len(group) > 1]
    return groups


def violation(penalty: Any, v: np.ndarray) -> float:
    """How far a point lies outside a set: the largest coordinate of the difference; 0 for a penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, NonNegative, penalties
    >>> v = np.array([3.0, -4.0])
    >>> penalties.violation(NonNegative(), v), penalties.violation(L1(1.0), v)
    (4.0, 0.0)
    """
    return float(np.max(np.abs(v - nearest(penalty, v)), initial=0.0))


def nearest(penalty: Any, v: np.ndarray) -> np.ndarray:
    """The projection onto a set; v itself for a penalty."""
    if isinstance(penalty, Stack):
        projection = v.copy()
        for part, rows in penalty.parts:
            projection[rows] = nearest(part, v[rows])
        return projection
    if isinstance(penalty, PENALTIES) or not len(v):
        return v
    prox(penalty, v, 1.0, projection := np.empty(len(v)))
    # Only a set moves a point without making its value smaller: that tells a user's own sets from own penalties.
    return v if not isinstance(penalty, SETS) and value(penalty, projection) < value(penalty, v) else projection


# --- as compiled code walks through it -------------------------------------------------------------------------------


class Part(NamedTuple):
    """One penalty of a stack, the rows it takes, what its ``tau`` is multiplied by, and the rest of the stack."""

    penalty: Any
    rows: np.ndarray
    scale: float
    rest: Any


def linked(stack: Stack, m: int, scales: Sequence[float] | None = None) -> Part | Zero:
    """A stack over ``m`` rows as a chain of parts, the form that compiled code walks through."""
    chain: Part | Zero = Zero()
    scales = [1.0] * len(stack.parts) if scales is None else scales
    for (penalty, rows), scale in zip(reversed(tuple(stack.parts)), reversed(scales), strict=True):
        chain = Part(penalty, indices(rows, "rows of Stack", m), float(scale), chain)
    return chain


@value.register
def part_value(penalty: Part, v):
    return value(penalty.penalty, _entries(v, penalty.rows)) + value(penalty.rest, v)


@on_arrays(part_value)
def value_of_part(penalty, v):
    return total_value(penalty.penalty, v[penalty.rows]) + total_value(penalty.rest, v)


@prox.register
def part_prox(penalty: Part, x, tau, out):
    piece = _entries(x, penalty.rows)
    prox(penalty.rest, x, tau, out)
    prox(penalty.penalty, piece, tau * penalty.scale, piece)
    for p in range(len(piece)):
        out[penalty.rows[p]] = piece[p]


@on_arrays(part_prox)
def proxes_of_part(penalty, x, tau, out):
    whole_prox(penalty.penalty, piece := x[penalty.rows], tau * penalty.scale, piece)
    whole_prox(penalty.rest, x, tau, out)
    out[penalty.rows] = piece


@inlined
def _entries(x, rows):
    piece = np.empty(len(rows))
    for p in range(len(rows)):
        piece[p] = x[rows[p]]
    return piece
