"""The results of a cross-validated estimator, read from ``cv_results_`` or ``cv_scores_``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["Grid", "one_standard_error", "searched"]


class Grid(NamedTuple):
    """Mean scores for a second strength beside alpha; each value of it may have alphas of its own."""

    name: str
    values: np.ndarray  # (k,)
    alphas: list[np.ndarray]  # for each value, decreasing
    means: list[np.ndarray]  # for each value and each of its alphas
    chosen: float


class Search(NamedTuple):
    """The scores along alpha, at the chosen value of all other strengths."""

    alphas: np.ndarray  # (n_alphas,), decreasing
    scores: np.ndarray  # (n_alphas, n_folds)
    grid: Grid | None


def searched(estimator: BaseEstimator) -> Search:
    """The search of a fitted estimator."""
    results: dict[str, Any] = getattr(estimator, "cv_results_", None) or _from_scores(estimator)
    strengths = {
        name: np.asarray(results[f"param_{name}"], dtype=float)
        for name in ("alpha", "l1_ratio", "l2")
        if f"param_{name}" in results
    }
    chosen = {name: float(getattr(estimator, f"{name}_")) for name in strengths if hasattr(estimator, f"{name}_")}
    folds = [key for key in results if key.startswith("split") and key.endswith("_test_score")]
    scores = np.column_stack([np.asarray(results[key], dtype=float) for key in folds or ["mean_test_score"]])
    others = [name for name in strengths if name != "alpha"]
    rows = _rows(strengths, chosen, others)
    varied = next((name for name in others if len(np.unique(strengths[name])) > 1), None)
    grid = None
    if varied is not None:
        fixed = [name for name in others if name != varied]
        grid = _grid(varied, strengths, scores.mean(axis=1), chosen, _rows(strengths, chosen, fixed))
    return Search(strengths["alpha"][rows], scores[rows], grid)


def _rows(strengths: dict[str, np.ndarray], chosen: dict[str, float], fixed: list[str]) -> np.ndarray:
    """The positions at which these strengths have their chosen value, in the order of decreasing alpha."""
    same = [np.isclose(strengths[name], chosen[name], rtol=1e-9, atol=0.0) for name in fixed]
    rows = np.flatnonzero(np.logical_and.reduce([np.ones(len(strengths["alpha"]), dtype=bool), *same]))
    return rows[np.argsort(-strengths["alpha"][rows], kind="stable")]


def _grid(
    name: str, strengths: dict[str, np.ndarray], means: np.ndarray, chosen: dict[str, float], rows: np.ndarray
) -> Grid:
    values = np.unique(strengths[name][rows])
    parts = [rows[strengths[name][rows] == value] for value in values]
    return Grid(
        name, values, [strengths["alpha"][part] for part in parts], [means[part] for part in parts], chosen[name]
    )


def _from_scores(estimator: BaseEstimator) -> dict[str, Any]:
    """The same table from scores of shape (n_l2s, n_alphas, n_folds)."""
    scores, alphas = estimator.cv_scores_, estimator.alphas_
    given = getattr(estimator, "l2s", None)
    l2s = np.array([estimator.l2_]) if given is None else np.asarray(given, dtype=float).reshape(-1)
    table = {f"split{k}_test_score": scores[:, :, k].reshape(-1) for k in range(scores.shape[2])}
    return table | {"param_alpha": np.tile(alphas, len(l2s)), "param_l2": np.repeat(l2s, len(alphas))}


def one_standard_error(scores: np.ndarray) -> tuple[int, int, np.ndarray, np.ndarray]:
    """Positions of the best mean and of the first mean within one standard error of it; all means and errors.

    With a single column there is no standard error, and both positions are the same.
    """
    mean, folds = scores.mean(axis=1), scores.shape[1]
    error = scores.std(axis=1, ddof=1) / np.sqrt(folds) if folds > 1 else np.zeros(len(mean))
    finite = np.where(np.isnan(mean), -np.inf, mean)
    best = int(np.argmax(finite))
    simplest = int(np.flatnonzero(finite >= finite[best] - np.nan_to_num(error[best]))[0])
    return best, simplest, mean, error
