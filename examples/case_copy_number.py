"""Copy numbers along a chromosome: the sparse fused lasso finds exact pieces.

Each of 990 probes has a log ratio of copy numbers. The model has one value for each probe, penalises differences of
neighbours and, with the share ``l1_ratio``, the values themselves.
Every fifth probe is held out in turn; the strengths are chosen on the others, by holding out every fifth of them.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import casebook
import numpy as np
from scipy.ndimage import gaussian_filter1d

from adasadmm import TotalVariationDenoiser

FOLDS = INNER = 5
STRENGTHS = np.geomspace(1.0, 10.0, 6)  # lambda of 1/2 sum (y - w)^2 + lambda (...)
RATIOS = (0.0, 0.02, 0.05)
WIDTHS = np.geomspace(0.5, 30.0, 8)  # of a Gaussian kernel, in probes


def denoised(y: np.ndarray, seen: np.ndarray, strength: float, ratio: float) -> TotalVariationDenoiser:
    model = TotalVariationDenoiser(alpha=strength / seen.sum(), l1_ratio=ratio, tol=1e-6)
    return model.fit(np.where(seen, y, np.nan))


def by_pieces(y: np.ndarray, seen: np.ndarray, setting: tuple[float, float]) -> np.ndarray:
    return denoised(y, seen, *setting).image_


def by_kernel(y: np.ndarray, seen: np.ndarray, width: float) -> np.ndarray:
    total = gaussian_filter1d(np.where(seen, y, 0.0), width)
    return total / np.maximum(gaussian_filter1d(seen.astype(float), width), 1e-12)


def least(errors: dict[Any, list[float]]) -> Any:
    return min(errors, key=lambda setting: np.mean(errors[setting]))


def simplest(errors: dict[Any, list[float]]) -> Any:
    """The strongest penalty whose error is within one standard error of the least."""
    best = errors[least(errors)]
    limit = np.mean(best) + np.std(best, ddof=1) / np.sqrt(len(best))
    return max(setting for setting, values in errors.items() if np.mean(values) <= limit)


FUSED = list(itertools.product(STRENGTHS, RATIOS))
METHODS: dict[str, tuple[Any, list, Any]] = {
    "sparse fused lasso, one-standard-error rule": (by_pieces, FUSED, simplest),
    "sparse fused lasso, least error": (by_pieces, FUSED, least),
    "Gaussian kernel, least error": (by_kernel, list(WIDTHS), least),
}


def held_out_error(method: Any, y: np.ndarray, pool: np.ndarray, held: np.ndarray, setting: Any) -> float:
    return float(np.mean((method(y, pool & ~held, setting) - y)[held] ** 2))


def inner_errors(method: Any, settings: list, y: np.ndarray, pool: np.ndarray) -> dict[Any, list[float]]:
    """Errors of each setting on probes held out from the pool."""
    order = np.cumsum(pool) % INNER
    parts = [pool & (order == fold) for fold in range(INNER)]
    return {setting: [held_out_error(method, y, pool, held, setting) for held in parts] for setting in settings}


def study(case: Any) -> casebook.Outcome:
    y = case.tables["probes"]["y"].to_numpy(float)
    everything = np.ones(len(y), dtype=bool)
    folds = [np.arange(len(y)) % FOLDS == fold for fold in range(FOLDS)]
    measured: dict[Any, list] = {}
    for method, settings in ((by_pieces, FUSED), (by_kernel, list(WIDTHS))):
        casebook.progress(method.__name__)
        measured[method] = [
            inner_errors(method, settings, y, pool) for pool in [everything, *(~fold for fold in folds)]
        ]
    rows = []
    for name, (method, _, rule) in METHODS.items():
        for_all, *for_folds = [rule(errors) for errors in measured[method]]
        pairs = zip(folds, for_folds, strict=True)
        errors = [held_out_error(method, y, everything, held, setting) for held, setting in pairs]
        final = method(y, everything, for_all)
        rows.append(
            {
                "model": name,
                "held-out mean squared error": np.mean(errors),
                "standard error": np.std(errors, ddof=1) / np.sqrt(FOLDS),
                "pieces": int(np.sum(np.diff(final) != 0.0)) + 1,
                "probes that are exactly 0": int(np.sum(final == 0.0)),
            }
        )
    strength, ratio = simplest(measured[by_pieces][0])
    model = denoised(y, everything, strength, ratio)
    facts = {
        "strength": strength,
        "l1_ratio": ratio,
        "pieces": int(model.n_pieces_),
        "gap": max(float(model.dual_gap_), 0.0),
        **casebook.facts_of(beside_clarabel, y, strength, ratio, model),
        "error": rows[0]["held-out mean squared error"],
        "least_error": rows[1]["held-out mean squared error"],
        "kernel_error": rows[2]["held-out mean squared error"],
        "zeros": rows[0]["probes that are exactly 0"],
    }
    return casebook.Outcome(facts, {"main": rows}, {"": picture(y, model)})


def beside_clarabel(y: np.ndarray, strength: float, ratio: float, model: Any) -> dict[str, float]:
    """The same convex problem by CVXPY and Clarabel: objectives and seconds."""
    import cvxpy as cp

    w = cp.Variable(len(y))
    penalty = (1.0 - ratio) * cp.norm1(cp.diff(w)) + ratio * cp.norm1(w)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w - y) + strength * penalty))
    theirs = problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    begin = time.perf_counter()
    denoised(y, np.ones(len(y), dtype=bool), strength, ratio)
    seconds = time.perf_counter() - begin
    ours = model.objective_ * len(y)
    return {
        "objective": ours,
        "clarabel_objective": float(theirs),
        "relative_difference": abs(ours / theirs - 1.0),
        "milliseconds": 1e3 * seconds,
        "clarabel_milliseconds": 1e3 * problem.solver_stats.solve_time,
    }


def picture(y: np.ndarray, model: TotalVariationDenoiser) -> Any:
    figure, axes = casebook.new_figure(size=(9.0, 3.6))
    axes.plot(y, ".", color="0.7", markersize=3, label="log ratio of a probe")
    axes.plot(model.image_, color="C0", drawstyle="steps-mid", linewidth=2, label="sparse fused lasso")
    axes.axhline(0.0, color="0.4", linewidth=0.6)
    axes.set(xlabel="probe, in the order of the chromosome", ylabel="log ratio", xlim=(0, len(y)))
    axes.legend(loc="upper right")
    return figure


if __name__ == "__main__":
    casebook.main("copy_number", study)
