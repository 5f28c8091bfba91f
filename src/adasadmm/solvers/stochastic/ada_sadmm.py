"""Ada-SADMM, the paper's method: Algorithm 1 with a metric that adapts to the gradients."""

from __future__ import annotations

import dataclasses

from .settings import Algorithm1Solver, Settings

__all__ = ["AdaSADMM"]


@dataclasses.dataclass(frozen=True)
class AdaSADMM(Algorithm1Solver):
    """Adaptive stochastic ADMM: Algorithm 1 with a metric that adapts to the gradients.

    The metric is ``H_t = a I + diag(|g_{1:t,j}|)`` (diagonal) or ``a I + (g_1 g_1' + ... + g_t g_t')^{1/2}`` (full).

    Parameters
    ----------
    metric : {"diagonal", "full", "identity"} or a metric, default="diagonal"
        "full" is ``Full(refresh=0)``, the paper's; ``Full(refresh=0.05)`` computes far fewer matrix roots.
    eta : "auto", float or a step size of `adasadmm.stepsizes`, default="auto"
        A number is a constant step size, as in the paper.
    a : float, default=1.0
        Added to the diagonal of the metric; with ``eta="auto"`` in units of the first non-zero gradient.
    beta : float or "auto", default=1.0
        The weight of the constraint. "auto" is a tenth of the square of the largest entry of the first non-zero
        gradient, over the loss at the start: 0.1 for a hinge loss and features of size 1.
    w_step : {"linearized", "exact"}, default="linearized"
        "linearized" replaces ``beta A'A`` by a diagonal majoriser, so that the w-step needs no linear solve.
    batch_size : int or "auto", default=1
        Rows of an iteration. "auto" is 1 unless there are so many rows that fewer iterations lose almost nothing.
    average : {"uniform", "auto", "polynomial", "step-weighted", "schedule-free", "last"}, default="uniform"
        Which average of the iterates ``result.w_average`` is. "uniform" is that of the theorems; with ``eta="auto"`` it
        is slow to forget the small first steps. "schedule-free" also takes the subgradients near the average, which the
        theorems do not cover. "auto" was the best overall: "schedule-free" with ``eta="auto"``, else "polynomial".

    References
    ----------
    Zhao, Yang, Zhang, Li: Adaptive Stochastic Alternating Direction Method of Multipliers. ICML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ALM, AdaSADMM, Hinge, L1, Problem, graphs, solve
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 4))
    >>> y = np.sign(X @ [1.0, 1.0, -1.0, -1.0])
    >>> A = graphs.incidence(graphs.chain(4), d=4)
    >>> problem = Problem(X, y, loss=Hinge(), penalty=L1(0.01), A=A, gamma=0.01)
    >>> result = solve(problem, AdaSADMM(average="auto"), epochs=5)
    >>> best = solve(problem, ALM(), tol=1e-8).certificate.primal
    >>> bool(problem.objective(result.w_average) < 1.01 * best)
    True
    """

    metric: str | tuple = "diagonal"
    eta: float | str | tuple = "auto"
    a: float = 1.0
    beta: float | str = 1.0
    w_step: str = "linearized"
    batch_size: int | str = 1
    average: str = "uniform"

    eta_words = ("auto",)

    @property
    def settings(self) -> Settings:
        return Settings(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})
