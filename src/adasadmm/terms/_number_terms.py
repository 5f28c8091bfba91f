"""The terms of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ._given import Term, check_choice, check_strength, plain_columns, plain_weights

__all__ = ["group", "linear"]

MISSING = ("error", "indicator", "ignore")


@dataclass(frozen=True, eq=False, repr=False)
class linear(Term):
    """Numbers and flags with a coefficient each.

    The penalty applies to the coefficients of the standardised columns; the model reports them in the units of the
    columns.

    Parameters
    ----------
    columns : str or sequence of str
        Names of the columns, with numbers or booleans.
    penalty : {"l1", "l2", "none"}, default="l1"
        ``"l1"`` drops columns that do not help, ``"l2"`` shrinks them, ``"none"`` leaves them free.
    weights : frame or sequence, default=None
        The weight of each column: a frame with the columns ``level_a`` (the name of the column), ``level_b`` (empty)
        and ``weight``, or such triples. None takes the weights of the model.
    strength : float, default=1.0
        Factor of the weights of the model for this term.
    missing : {"error", "indicator", "ignore"}, default="error"
        Missing values raise ``ValueError``, or are replaced by the mean; ``"indicator"`` adds a column that is 1 where
        a value is missing.
    name : str, default=None
        Name of the term in tables. None takes the names of the columns.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.linear(["mileage", "price"]).columns
    ('mileage', 'price')
    """

    columns: str | Sequence[str]
    _: KW_ONLY
    penalty: str = "l1"
    weights: Any = None
    strength: float = 1.0
    missing: str = "error"
    name: str | None = None

    def __post_init__(self) -> None:
        check_choice(self, "penalty", ("l1", "l2", "none"))
        check_strength(self)
        check_choice(self, "missing", MISSING)
        object.__setattr__(self, "columns", plain_columns(self.columns, "linear"))
        object.__setattr__(self, "weights", plain_weights(self.weights, "linear"))


@dataclass(frozen=True, eq=False, repr=False)
class group(Term):
    """Numbers that are selected together: their coefficients are all 0, or none of them is.

    The penalty is ``weight`` times the Euclidean norm of the coefficients of the standardised columns. The weight is
    the root of the number of columns, times the adaptive weight if the model has them.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    strength, missing, name
        As for `linear`.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.group(["x1", "x2", "x3"]).columns
    ('x1', 'x2', 'x3')
    """

    columns: str | Sequence[str]
    _: KW_ONLY
    strength: float = 1.0
    missing: str = "error"
    name: str | None = None

    def __post_init__(self) -> None:
        check_strength(self)
        check_choice(self, "missing", MISSING)
        object.__setattr__(self, "columns", plain_columns(self.columns, "group"))
