"""The constructor's parameters of an estimator."""

from __future__ import annotations

import functools

from sklearn.base import BaseEstimator

__all__ = ["KnownParameters"]


class KnownParameters(BaseEstimator):
    """A base class whose parameters are looked up once for each class, not in each fit of a millisecond."""

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()
