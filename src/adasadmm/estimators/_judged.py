"""Degrees of freedom, AIC and BIC of a fitted model, computed when they are first asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..problem import Problem
from ..regularization.criteria import Criteria, criteria
from ..regularization.degrees import MOST, TooLarge
from ..rows import matrices

__all__ = ["Judged", "JudgedPath", "Judgement", "by_function"]

SMALL = 1_000_000  # entries of X up to which a model keeps the rows until the criteria are computed
MOST_FLOPS = 2e9  # for more rows, the criteria are computed with the fit if that takes no more than this
EASY = 400  # rows and columns of a dense matrix whose eigenvalues take less than 0.1 s
LATER = "they take long to compute, and the model was pickled, saved or copied without them: read df_ before"


class Judgement(NamedTuple):
    """A fit to be judged: which entries of ``A w`` count as 0, and whether w was estimated again."""

    problem: Problem
    w: np.ndarray
    apart: float = 0.0
    refitted: bool = False
    merged: bool = False  # rows are means of several targets, and their likelihood is not that of the targets

    def made(self, most: int = MOST) -> Criteria:
        """The criteria; ``most`` limits the size of dense matrices, as in `degrees_of_freedom`."""
        if self.problem.outputs > 1:
            return Criteria(None, None, None, "several outputs are fitted together")
        found = criteria(self.problem, self.w, self.apart, self.refitted, most)
        if not self.merged or found.df is None:
            return found
        return Criteria(found.df, None, None, "several targets at one time were replaced by their mean")

    def attempted(self, most: int = MOST) -> Criteria:
        """The criteria, or the reason why there are none: a fit that is returned or saved must not fail with them."""
        try:
            return self.made(most)
        except TooLarge:
            return Criteria(None, None, None, LATER)
        except Exception as error:  # any, since the loss and the penalty may be a user's
            return Criteria(None, None, None, f"their computation failed: {error}")

    @property
    def flops(self) -> float:
        n, d = self.problem.n, self.problem.d
        return float(n) * d * min(n, d)


class Judged:
    """A base class of fitted models that have degrees of freedom."""

    _judgements: list[Judgement] | None = None
    _criteria: dict[str, Any] | None = None

    def _judge_later(self, judgements: list[Judgement]) -> None:
        """Keep small rows until the criteria are asked for; a model must not keep large ones alive."""
        self._criteria, self._judgements = None, None
        if any(one.problem.source is not None for one in judgements):
            self._keep([Criteria(None, None, None, "the rows are in a source: they are needed in memory")])
        elif sum(matrices.size(one.problem.rows.X) for one in judgements) <= SMALL:
            self._judgements = judgements
        elif sum(one.flops for one in judgements) <= MOST_FLOPS:
            self._keep([one.attempted() for one in judgements])
        else:
            self._keep([Criteria(None, None, None, "the rows are too many to compute them with every fit")])

    def _keep(self, found: list[Criteria]) -> None:
        self._criteria, self._judgements = _by_name(found), None

    def _criterion(self, name: str) -> Any:
        check_is_fitted(self, "coef_")
        if self._criteria is None:
            if self._judgements is None:
                raise AttributeError(f"{name}_ is known after fit only: partial_fit and saved older models have none")
            self._keep([one.made() for one in self._judgements])
        assert self._criteria is not None
        found = self._criteria[name]
        if isinstance(found, list) and None not in found:
            return np.array(found)
        return found

    @property
    def df_(self) -> float | np.ndarray | None:
        """Degrees of freedom of the fit, with the intercept; None if they are not defined, see ``df_reason_``."""
        return self._criterion("df")

    @property
    def aic_(self) -> float | np.ndarray | None:
        """Akaike's information criterion: -2 log likelihood + 2 (df + scale parameters); None as ``df_``."""
        return self._criterion("aic")

    @property
    def bic_(self) -> float | np.ndarray | None:
        """The Bayesian information criterion: as ``aic_``, with log n in place of 2."""
        return self._criterion("bic")

    @property
    def df_reason_(self) -> str:
        """Why ``df_``, ``aic_`` or ``bic_`` are None; empty if they are not."""
        return self._criterion("reason")

    def __getstate__(self) -> dict[str, Any]:
        """The state with the criteria in place of the rows that they are computed from, if that takes little time.

        The model itself does not change: it keeps its rows until its criteria are read.
        """
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        if self._judgements is not None:
            most = _easy(len(self._judgements))
            state.update(_criteria=_by_name([one.attempted(most) for one in self._judgements]), _judgements=None)
        return state


class JudgedPath(Judged):
    """A base class of searches: the fits along the path on all rows have degrees of freedom, too."""

    _path_judgements: list[list[Judgement]] | None = None  # at each alpha, those of the linear functions
    _df_path: np.ndarray | None = None

    def _judge_path_later(self, judgements: list[list[Judgement]]) -> None:
        """Keep small rows, which all fits share, until the degrees of freedom are asked for."""
        self._df_path, self._path_judgements = None, judgements
        if sum(matrices.size(one.problem.rows.X) for one in judgements[0]) > SMALL:
            self._keep_df_path([[one.attempted().df for one in fits] for fits in judgements])

    def _keep_df_path(self, found: list[Any]) -> None:
        self._df_path, self._path_judgements = by_function(found), None

    @property
    def df_path_(self) -> np.ndarray:
        """Degrees of freedom along the path on all rows; NaN where ``df_`` is None."""
        check_is_fitted(self, "coef_path_")
        if self._df_path is None:
            assert self._path_judgements is not None
            self._keep_df_path([[one.made().df for one in fits] for fits in self._path_judgements])
        assert self._df_path is not None
        return self._df_path

    def __getstate__(self) -> dict[str, Any]:
        """The state with the degrees of freedom in place of the rows, as in `Judged`; NaN where they take long."""
        state = super().__getstate__()
        if self._path_judgements is not None:
            most = _easy(sum(map(len, self._path_judgements)))
            found = [[one.attempted(most).df for one in fits] for fits in self._path_judgements]
            state.update(_df_path=by_function(found), _path_judgements=None)
        return state


def by_function(values: list[Any]) -> np.ndarray:
    """Values along a path, of shape (n_alphas,) for one linear function, else (n_classes, n_alphas)."""
    found = np.array(values, dtype=float).T
    return found[0] if len(found) == 1 else found


def _by_name(found: list[Criteria]) -> dict[str, Any]:
    """The criteria of each linear function by their names; a list of them if there are several functions."""
    known = {name: [getattr(one, name) for one in found] for name in ("df", "aic", "bic")}
    by_name: dict[str, Any] = {name: values[0] if len(values) == 1 else values for name, values in known.items()}
    return {**by_name, "reason": next((one.reason for one in found if one.reason), "")}


def _easy(fits: int) -> int:
    """The size of the matrices that take, for so many fits together, as long as one of size ``EASY``."""
    return int(EASY / fits ** (1.0 / 3.0))
