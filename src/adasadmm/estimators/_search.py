"""A search over strengths: scores on folds, the choice, and the table of results. It knows nothing of the models."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GroupKFold, check_cv

from .._core.threads import Halted, Together
from .._solve.progress import SearchProgress
from ._types import Folds

__all__ = ["Combination", "ScorePath", "Search", "Selected", "admitted", "folds_of", "scoring_tol", "selected"]

FEW_FOLDS = 5
DEFAULT_TOL, SCORING_TOL = 1e-6, 1e-3
MOST_DEGREES = 0.5  # of freedom, for each row

Fold = tuple[np.ndarray, np.ndarray]
ScorePath = Callable[["Combination", np.ndarray], Iterator[tuple[float, float]]]


class Combination(NamedTuple):
    """The settings that are fixed along a path."""

    l1_ratio: float
    l2: float


class Selected(NamedTuple):
    """The chosen combination, and the place of the chosen alpha."""

    combination: int
    alpha: int


def scoring_tol(tol: float) -> float:
    """The tolerance of fits to folds: a score needs less accuracy than the groups of the final model.

    A tolerance below the default one asks for accurate scores as well.
    """
    return max(tol, SCORING_TOL) if tol >= DEFAULT_TOL else tol


class Search:
    """The scores of all combinations and alphas on all folds, filled while the folds are fitted.

    Attributes
    ----------
    scores : ndarray of shape (n_combinations, n_alphas, n_folds)
        NaN for fits that failed or were not done.
    """

    def __init__(self, combinations: list[Combination], alphas: np.ndarray, folds: int) -> None:
        self.combinations, self.alphas, self.folds = combinations, alphas, folds
        self.scores = np.full((len(combinations), len(alphas), folds), np.nan)
        self.failures: list[tuple[tuple[int, int, int], str, Exception]] = []  # the place comes first
        self.done = 0
        self._lock = threading.Lock()

    def run(self, scorer_of: Callable[[int], ScorePath], n_jobs: int | None, show: bool) -> None:
        """Fit and score all folds, in threads: they share the scores and the fits to all rows.

        ``scorer_of(fold)`` prepares a fold and returns a function of a combination and alphas, which yields a score and
        a gap for each alpha. An alpha that fails gets NaN, and the path begins again after it. Ctrl-C ends the search,
        and the exception keeps what is done.
        """
        total = self.scores.size
        try:
            with Together() as together, SearchProgress(self.folds, len(self.alphas), total, show) as bar:
                work = functools.partial(self._run_fold, scorer_of, bar)
                tasks = (delayed(together)(work, fold) for fold in range(self.folds))
                Parallel(n_jobs=n_jobs, require="sharedmem")(tasks)
        except KeyboardInterrupt as error:
            error.kept = {"alphas_": self.alphas, "cv_results_": self.results()}  # type: ignore[attr-defined]
            error.add_note(
                f"{self.done} of {total} fits are done: their scores are kept in cv_results_, nan for the others; "
                "the model itself is not fitted"
            )
            raise
        if self.failures:
            self._report_failures(total)

    def _run_fold(self, scorer_of: Callable[[int], ScorePath], bar: SearchProgress, fold: int) -> None:
        score_path = scorer_of(fold)
        for c, combination in enumerate(self.combinations):
            done = 0
            while done < len(self.alphas):
                try:
                    for score, gap in score_path(combination, self.alphas[done:]):
                        self.scores[c, done, fold] = score
                        done += 1
                        with self._lock:
                            self.done += 1
                            bar.after(fold, done, gap)
                except Halted:
                    raise
                except Exception as error:
                    if done == len(self.alphas):
                        raise
                    with self._lock:
                        where = f"fold {fold + 1}, alpha={self.alphas[done]:.3g}, {_named(combination)}"
                        self.failures.append(((fold, c, done), where, error))
                    done += 1

    def _report_failures(self, total: int) -> None:
        _, where, error = min(self.failures, key=lambda failure: failure[0])
        if len(self.failures) == total:
            raise error
        warnings.warn(
            f"{len(self.failures)} of {total} fits failed and count as nan; the first ({where}): {error!r}",
            FitFailedWarning,
            stacklevel=6,
        )

    # --- results -----------------------------------------------------------------------------------------------------

    def results(self) -> dict[str, Any]:
        """The table in the form of scikit-learn's ``cv_results_``: a row for each combination and alpha."""
        table = parameters(self.combinations, self.alphas)
        scores = self.scores.reshape(-1, self.folds)
        mean = scores.mean(axis=1)
        table |= {f"split{k}_test_score": scores[:, k] for k in range(self.folds)}
        return table | {"mean_test_score": mean, "std_test_score": scores.std(axis=1), "rank_test_score": ranks(mean)}

    def choose(self, rule: str, scoring: object) -> Selected:
        """The best mean score, or the largest alpha within one standard error of it, for the same combination."""
        mean = self.scores.mean(axis=2)
        if np.isnan(mean).all():
            raise ValueError(
                f"scoring={scoring!r} gives nan in at least one fold for every combination of strengths: use a scorer "
                "that is defined on the held-out rows of each fold, or fewer folds"
            )
        mean = np.where(np.isnan(mean), -np.inf, mean)
        row, column = (int(i) for i in np.unravel_index(np.argmax(mean), mean.shape))
        if rule == "1se":
            error = self.scores[row, column].std(ddof=1) / np.sqrt(self.folds)
            column = int(np.flatnonzero(mean[row] >= mean[row, column] - error)[0])
        return Selected(row, column)


def parameters(combinations: list[Combination], alphas: np.ndarray) -> dict[str, Any]:
    """The columns of parameters: those of a combination change slowest, alpha changes fastest."""
    rows = [(alpha, *combination) for combination in combinations for alpha in alphas.tolist()]
    names = ("alpha", "l1_ratio", "l2")
    params = [dict(zip(names, row, strict=True)) for row in rows]
    columns = np.array(rows, dtype=float).reshape(-1, len(names))
    return {"params": params} | {f"param_{name}": columns[:, k] for k, name in enumerate(names)}


def ranks(scores: np.ndarray) -> np.ndarray:
    """1 for the highest score; NaN ranks last."""
    return rankdata(-np.where(np.isnan(scores), -np.inf, scores), method="min").astype(np.int32)


def admitted(values: np.ndarray, df: np.ndarray, n: int) -> np.ndarray:
    """AIC or BIC, NaN for fits with more degrees of freedom than half of the rows, unless all fits have.

    Both criteria fall without bound as the residuals of a saturated model vanish.
    """
    plain = df <= MOST_DEGREES * n
    return np.where(plain, values, np.nan) if plain.any() else values


def selected(values: np.ndarray, criterion: str, reason: str) -> Selected:
    """The place of the least AIC or BIC, of shape (n_combinations, n_alphas)."""
    if np.isnan(values).all():
        raise ValueError(f'selection="{criterion}" needs the likelihood of each fit: {reason}; use selection="cv"')
    best = np.nanargmin(values)
    row, column = np.unravel_index(best, values.shape)
    return Selected(int(row), int(column))


def _named(combination: Combination) -> str:
    return f"l1_ratio={combination.l1_ratio:.3g}, l2={combination.l2:.3g}"


# --- folds -----------------------------------------------------------------------------------------------------------


def folds_of(
    estimator: Any, cv: Folds, y: np.ndarray, groups: npt.ArrayLike | None, whole_groups: bool = False
) -> list[Fold]:
    """Training and test rows of each fold; None means 5 folds, or fewer if a class or the data set is too small.

    With ``whole_groups``, the groups are those of the rows of a source, and a number of folds does not split them.
    """
    classifies = is_classifier(estimator)
    if whole_groups and (cv is None or isinstance(cv, (int, np.integer))):
        number = len(np.unique(np.asarray(groups)))
        if number < 2:
            raise ValueError(f"groups must have at least 2 values to make folds, got {np.asarray(groups)[0]!r} only")
        splits = min(FEW_FOLDS, number) if cv is None else int(cv)
        if not 2 <= splits <= number:
            raise ValueError(
                f"cv must be between 2 and {number}, the number of partitions of the source or of values of the column "
                f"groups, got {splits}: these rows stay together; read the rows into arrays to split them"
            )
        cv = GroupKFold(splits)
    elif cv is None:
        smallest = np.unique(y, return_counts=True)[1].min() if classifies else len(y) // 2
        cv = int(max(2, min(FEW_FOLDS, smallest)))
    folds = list(check_cv(cv, y, classifier=classifies).split(np.zeros(len(y)), y, groups))
    if not folds:
        raise ValueError(f"cv must give at least 1 fold, got none from {cv!r}")
    if classifies:
        for k, (train, _) in enumerate(folds):
            if len(found := np.unique(y[train])) < len(np.unique(y)):
                raise ValueError(
                    f"cv gives fold {k + 1} training rows of the classes {found.tolist()} only: use StratifiedKFold, "
                    "fewer folds, or shuffle the rows"
                )
    return folds
