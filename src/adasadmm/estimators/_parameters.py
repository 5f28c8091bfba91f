"""The constructor's parameters of an estimator, and their checks."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

__all__ = ["KnownParameters", "LossAmong"]


class KnownParameters(BaseEstimator):
    """A base class whose parameters are looked up once for each class, not in each fit of a millisecond."""

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()


class LossAmong(StrOptions):
    """The constraint of ``loss``: one of these names, or an instance of a loss."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(set(names))

    def is_satisfied_by(self, val: Any) -> bool:
        return isinstance(val, tuple) or super().is_satisfied_by(val)

    def __str__(self) -> str:
        return f"one of {', '.join(map(repr, sorted(self.options)))}, or an instance of a loss (adasadmm.losses)"
