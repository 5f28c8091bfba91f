"""The algorithms of the experiment: the paper's three and further ones, and how one of them is run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core.threads import one_blas_thread
from .._solve import solve_quietly
from ..certificates.trace import Snapshot
from ..metrics import Full
from ..problem import Problem
from ..rows import matrices
from ..solvers import ADMM, OADMM, SADMM, AdaSADMM, Solver
from .settings import POINTS_AN_EPOCH

__all__ = ["ALGORITHMS", "DEFAULT", "PAPERS", "Algorithm", "Options", "follow"]

Eta = float | str | None  # a step size or the name of a schedule; None: none chosen yet
# note(epoch, seconds, w_mean, w_last)
Note = Callable[[float, float, np.ndarray, np.ndarray], None]


class Options(NamedTuple):
    """The settings of a run of the experiment."""

    epochs: float = 2.0
    w_step: str = "exact"
    exact_root: bool = False

    @property
    def metric(self) -> Full:
        return Full(refresh=0.0 if self.exact_root else 0.05)


class Algorithm(NamedTuple):
    """An algorithm: its label, its fixed step size (None: chosen from the grid), and its solver for a step size."""

    label: str
    eta: Eta
    solver: Callable[[Options, Any], Solver | None]  # None: not a solver of this package


PAPERS = ("sadmm", "ada-diag", "ada-full")
DEFAULT = (*PAPERS, "sadmm-sqrt")
ALGORITHMS = {
    "sadmm": Algorithm("SADMM, 1/(gamma t)", "1/(gamma t)", lambda o, eta: SADMM(eta=eta, w_step=o.w_step)),
    "ada-diag": Algorithm("Ada-SADMM, diagonal", None, lambda o, eta: AdaSADMM(eta=eta, w_step=o.w_step)),
    "ada-full": Algorithm("Ada-SADMM, full", None, lambda o, eta: AdaSADMM(o.metric, eta=eta, w_step=o.w_step)),
    "sadmm-sqrt": Algorithm("SADMM, tuned c/sqrt(t)", None, lambda o, eta: SADMM(eta=eta, w_step=o.w_step)),
    "ada-diag-linearized": Algorithm("Ada-SADMM, diagonal, linearised", None, lambda o, eta: AdaSADMM(eta=eta)),
    "ada-diag-auto": Algorithm(
        "Ada-SADMM, diagonal, automatic step size", "auto", lambda o, eta: AdaSADMM(average="step-weighted")
    ),
    "oadmm": Algorithm("OADMM", None, lambda o, eta: OADMM(eta=eta)),
    "admm": Algorithm("batch ADMM", "none", lambda o, eta: ADMM()),
    "sgd": Algorithm("averaged SGD, no graph", "optimal", lambda o, eta: None),
}


def label(name: str, options: Options) -> str:
    """Return the label of an algorithm with these options; it says if the matrix root is refreshed only rarely."""
    kinds = {"ada-full": ", exact root" if options.exact_root else ", root refreshed at 0.05"}
    linearised = ", linearised" if options.w_step == "linearized" and name in DEFAULT else ""
    return ALGORITHMS[name].label + kinds.get(name, "") + linearised


def follow(name: str, problem: Problem, options: Options, seed: int, eta: Eta, note: Note) -> str:
    """Run an algorithm, call ``note`` along the way, and return its final status."""
    if name == "sgd":
        return _follow_sgd(problem, options.epochs, seed, note)
    solver = ALGORITHMS[name].solver(options, eta)
    assert solver is not None
    note(0.0, 0.0, np.zeros(problem.d), np.zeros(problem.d))

    def callback(snapshot: Snapshot) -> None:
        note(snapshot.epoch, snapshot.seconds, snapshot.w_average, snapshot.w)

    batch = solver.uses_all_rows
    result = solve_quietly(
        problem,
        solver,
        epochs=None if batch else options.epochs,
        seed=seed,
        trace_every=1.0 if batch else 1.0 / POINTS_AN_EPOCH,
        callback=callback,
    )
    return result.status.name


def _follow_sgd(problem: Problem, epochs: float, seed: int, note: Note) -> str:
    """Run scikit-learn's averaged SGD: the same loss and ridge penalty, but no graph penalty."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(alpha=float(problem.gamma[0]), average=True, fit_intercept=False, shuffle=False)
    X, y = matrices.plain(problem.rows.X), problem.rows.y
    rng = np.random.default_rng(seed)
    visits, seconds, total = 0, 0.0, round(epochs * problem.n)
    note(0.0, 0.0, np.zeros(problem.d), np.zeros(problem.d))
    with one_blas_thread():
        while visits < total:
            order = rng.permutation(problem.n)[: total - visits]
            for rows in np.array_split(order, POINTS_AN_EPOCH):
                if not len(rows):
                    continue
                X_rows, y_rows = X[rows], y[rows]
                start = time.perf_counter()
                model.partial_fit(X_rows, y_rows, classes=[-1.0, 1.0])
                seconds += time.perf_counter() - start
                visits += len(rows)
                note(visits / problem.n, seconds, model.coef_[0].copy(), model.coef_[0].copy())
    return "done"
