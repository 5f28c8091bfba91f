"""A penalty of the rows of A for several outputs: each row of A is there once for each output.

Entry ``r * outputs + c`` of v belongs to row r of A and output c (`rows.matrices.Repeated`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._generic import indices
from .norms import L1, ElasticNet, GroupL2, L2Squared, Zero
from .sets import Box, NonNegative
from .stack import Stack, parts_of


def for_outputs(penalty: Any, rows: int, outputs: int, joint: bool = False) -> Any:
    """The penalty of the rows of A, as one of ``rows * outputs`` entries of v.

    Parameters
    ----------
    penalty : NamedTuple
        A penalty or a set for one output.
    rows, outputs : int
        The number of rows that it penalises, and of outputs.
    joint : bool, default=False
        False penalises each output on its own. True takes the L2 norm over the outputs of each row that `L1`
        penalises, and of all rows of a group of `GroupL2`: a difference is then zero for all outputs or for none.
        Sets and squares stay as they are; any other penalty raises ``ValueError``.

    Returns
    -------
    penalty : NamedTuple

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, penalties
    >>> v = np.array([3.0, -4.0, 0.0, 0.0])  # two rows of A, two outputs
    >>> float(penalties.value(penalties.for_outputs(L1(1.0), 2, 2), v))
    7.0
    >>> float(penalties.value(penalties.for_outputs(L1(1.0), 2, 2, joint=True), v))
    5.0
    """
    if outputs == 1 or isinstance(penalty, (Zero, L2Squared, NonNegative)):
        return penalty
    if isinstance(penalty, Stack):
        parts = [(part, indices(rows_of_part, "rows of Stack", rows)) for part, rows_of_part in penalty.parts]
        return Stack([entry for part in parts for entry in _parts(*part, outputs, joint)])
    if isinstance(penalty, L1) and joint:
        return GroupL2(penalty.nu, list(np.arange(rows * outputs).reshape(rows, outputs)), penalty.weights)
    if isinstance(penalty, GroupL2) and joint:
        return GroupL2(penalty.nu, [_flat(group, outputs) for group in penalty.groups], penalty.weights)
    if isinstance(penalty, Box):
        return Box(_repeated(penalty.lower, outputs), _repeated(penalty.upper, outputs))
    if joint:
        raise ValueError(
            f"joint=True joins the penalties L1 and GroupL2, not {type(penalty).__name__}: set joint=False"
        )
    if isinstance(penalty, ElasticNet):
        return penalty
    if isinstance(penalty, GroupL2):
        alone = [group * outputs + output for group in penalty.groups for output in range(outputs)]
        return GroupL2(penalty.nu, alone, _repeated(penalty.weights, outputs))
    if isinstance(penalty, L1):
        return penalty._replace(weights=_repeated(penalty.weights, outputs))
    return Stack([(penalty, np.arange(output, rows * outputs, outputs)) for output in range(outputs)])


def _parts(part: Any, rows: np.ndarray, outputs: int, joint: bool) -> list[tuple[Any, np.ndarray]]:
    """A part of a stack for several outputs, with its entries of v."""
    entries = _flat(rows, outputs)
    of_outputs = for_outputs(part, len(rows), outputs, joint)
    return [(inner, entries[places]) for inner, places in parts_of(of_outputs, len(entries))]


def _flat(rows: np.ndarray, outputs: int) -> np.ndarray:
    """The entries of v that belong to these rows."""
    return (rows[:, None] * outputs + np.arange(outputs)).reshape(-1)


def _repeated(values: Any, outputs: int) -> Any:
    return np.repeat(values, outputs) if np.ndim(values) else values
