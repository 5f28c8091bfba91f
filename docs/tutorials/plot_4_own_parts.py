"""
Add your own loss, penalty, metric
==================================

A plug-in (a loss, penalty or metric) is a ``NamedTuple`` with short functions registered for its class. They are
compiled together with the loop, so your own plug-in is as fast as a built-in one (measured in
:ref:`sphx_glr_gallery_plot_own_loss.py`). They are also plain Python: with ``NUMBA_DISABLE_JIT=1`` you can step through
them with a debugger.
"""

# %%
# What each solver needs
# ----------------------
#
# .. list-table::
#    :header-rows: 1
#
#    * -
#      - ``losses.value``, ``.slope``
#      - ``losses.prox``
#      - ``losses.curvature``
#      - ``losses.conjugate``, ``.domain``
#    * - ``AdaSADMM``, ``SADMM``, ``RDASADMM``
#      - yes
#      -
#      -
#      - for a certificate
#    * - ``OADMM``
#      - yes
#      - yes
#      -
#      - for a certificate
#    * - ``ADMM``, ``ALM``, ``SPDHG``
#      - yes
#      - yes
#      -
#      - for a certificate, which is how they stop
#    * - ``SVRGADMM``, ``ASVRGADMM``
#      - yes
#      -
#      - yes
#      - for a certificate, which is how they stop
#
# .. list-table::
#    :header-rows: 1
#
#    * -
#      - a penalty
#    * - all solvers
#      - ``penalties.value``, ``penalties.prox``
#    * - a loop edge by edge (faster)
#      - ``penalties.prox_at`` in place of ``prox``, for a sum over coordinates
#    * - a certificate
#      - ``penalties.conjugate``, ``penalties.domain``
#
# :doc:`/guide/support` has the other solvers. If a function is missing, an error names it before anything is compiled.
# The first problem with an instance of your class also tries the functions at a few points: the slope against the
# values, the prox against other points, the conjugate by Fenchel's inequality. If they contradict each other,
# ``Problem`` raises an error that names the function.
#
# A loss
# ------
#
# This is the complete hinge loss, from ``src/adasadmm/losses/margin.py``. It is decorated with ``serves_arrays`` and
# written with ``maximum``, ``minimum`` and ``where`` in place of ``max``, ``min`` and ``if``, so that the same formulas
# serve one row in compiled code and all rows at once in NumPy. A loss of your own needs neither: methods that use all
# rows get a compiled loop over its functions.
#
# .. literalinclude:: /../src/adasadmm/losses/margin.py
#    :start-at: class Hinge(NamedTuple)
#    :end-before: # --- squared hinge
#
#
# ``value`` and ``slope`` are functions of one prediction ``z = <x, w>``, ``prox`` is the scalar proximal operator,
# ``conjugate`` is :math:`\sup_z s z - \ell(z, y)`, and ``domain`` is the interval on which it is finite. A loss of your
# own can be defined in a script or a notebook:

from typing import NamedTuple

import numpy as np

from adasadmm import losses


class Exponential(NamedTuple):
    """exp(-y z), the loss of AdaBoost; with a steepness."""

    steepness: float = 1.0


@losses.value.register
def exponential_value(loss: Exponential, z, y):
    return np.exp(-loss.steepness * y * z)


@losses.slope.register
def exponential_slope(loss: Exponential, z, y):
    return -loss.steepness * y * np.exp(-loss.steepness * y * z)


# %%
# It can be used like any other loss, in a problem or in an estimator:

from adasadmm import L1, AdaSADMM, GraphGuidedClassifier, Problem, graphs, solve

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 10))
y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=500) > 0, 1.0, -1.0)
A = graphs.incidence(graphs.chain(10))
problem = Problem(X, y, loss=Exponential(0.5), penalty=L1(1e-3), A=A, gamma=1e-3)
result = solve(problem, AdaSADMM(average="step-weighted"), epochs=5)
print(problem.objective(np.zeros(10)), problem.objective(result.w_average))

model = GraphGuidedClassifier(
    "chain", loss=Exponential(0.5), solver="ada-diag", fit_intercept=False, random_state=0
).fit(X, y)
print(model.score(X, y))

# %%
# Check the slope against a difference quotient:

z, y_one, h = 0.3, -1.0, 1e-6
quotient = (losses.value(Exponential(), z + h, y_one) - losses.value(Exponential(), z - h, y_one)) / (2 * h)
assert abs(quotient - losses.slope(Exponential(), z, y_one)) < 1e-6

# %%
# ``IPM`` and ``TotalVariation`` ask for ``second``, the second derivative in ``z``. A piecewise linear or quadratic
# loss states its ``pieces`` instead, functions :math:`\max_{low \le t \le high} t (z - kink) - flex\,t^2 / 2` that add
# up to it, for an array of targets. A loss that costs nothing up to 0.5 above its target, for example:


class DeadZone(NamedTuple):
    """max(0, z - y - 0.5, (y - z) / 4)."""


@losses.value.register
def dead_zone_value(loss: DeadZone, z, y):
    return max(0.0, z - y - 0.5, 0.25 * (y - z))


@losses.slope.register
def dead_zone_slope(loss: DeadZone, z, y):
    return 1.0 if z > y + 0.5 else -0.25 if z < y else 0.0


@losses.conjugate.register
def dead_zone_conjugate(loss: DeadZone, s, y):
    return max(s * y, s * (y + 0.5))


@losses.domain.register
def dead_zone_domain(loss: DeadZone, y):
    return -0.25, 1.0


@losses.pieces.register
def dead_zone_pieces(loss: DeadZone, y):
    return losses.Piece(-0.25, 0.0, y), losses.Piece(0.0, 1.0, y + 0.5)


from adasadmm import IPM

problem = Problem(X, X[:, 0] + rng.normal(size=500), loss=DeadZone(), penalty=L1(0.1), A=A, gamma=1e-3)
print(solve(problem, IPM(), tol=1e-6).certificate.relative_gap)

# %%
# A penalty
# ---------
#
# This is the L1 norm, a separable penalty, from ``src/adasadmm/penalties/norms.py``:
#
# .. literalinclude:: /../src/adasadmm/penalties/norms.py
#    :start-at: class L1(NamedTuple)
#    :end-before: # --- l2 squared
#
#
# A penalty of your own needs ``value`` and ``prox``, which writes :math:`\arg\min_v \varphi(v) + |v - x|^2 / (2 \tau)`
# into ``out``:

from adasadmm import penalties


class Largest(NamedTuple):
    """nu max_k |v_k|: the largest difference along an edge, and no other, is penalised."""

    nu: float


@penalties.value.register
def largest_value(penalty: Largest, v):
    return penalty.nu * np.max(np.abs(v))


@penalties.prox.register
def largest_prox(penalty: Largest, x, tau, out):
    # Moreau: x less its projection onto the l1 ball of radius tau nu, found by sorting.
    radius = tau * penalty.nu
    sizes = np.sort(np.abs(x))[::-1]
    level, total = 0.0, 0.0
    if sizes.sum() > radius:
        for k in range(len(sizes)):
            total += sizes[k]
            if sizes[k] * (k + 1) > total - radius:
                level = (total - radius) / (k + 1)
    for k in range(len(x)):
        out[k] = min(max(x[k], -level), level)


problem = Problem(X, y, loss=Exponential(0.5), penalty=Largest(0.5), A=A, gamma=1e-3)
result = solve(problem, AdaSADMM(average="step-weighted"), epochs=20)
print(np.abs(A @ result.w_average).max(), "with the penalty, the largest difference along an edge")

# %%
# A metric
# --------
#
# A metric has three functions: ``start`` creates the state, ``observe`` updates it in place by a gradient, and
# ``apply`` writes :math:`H x`; the solver adds :math:`a I`. This is the diagonal metric, from
# ``src/adasadmm/metrics/diagonal.py``:
#
# .. literalinclude:: /../src/adasadmm/metrics/diagonal.py
#    :start-at: (metric: Diagonal, d)
#    :lines: 1-2
#
#
#
#
# .. literalinclude:: /../src/adasadmm/metrics/diagonal.py
#    :start-at: (H: DiagonalState, g)
#    :lines: 1-3
#
#
# The following metric forgets old gradients, so it can follow a stream in which their magnitude changes:

from adasadmm import metrics


class Forgetting(NamedTuple):
    keep: float = 0.999


class ForgettingState(NamedTuple):
    keep: float
    squares: np.ndarray


@metrics.start.register
def forgetting_start(metric: Forgetting, d):
    return ForgettingState(metric.keep, np.zeros(d))


@metrics.observe.register
def forgetting_observe(H: ForgettingState, g):
    for j in range(len(g)):
        H.squares[j] = H.keep * H.squares[j] + g[j] * g[j]


@metrics.apply.register
def forgetting_apply(H: ForgettingState, x, out):
    for j in range(len(x)):
        out[j] = np.sqrt(H.squares[j]) * x[j]


problem = Problem(X, y, loss=Exponential(0.5), penalty=L1(1e-3), A=A, gamma=1e-3)
result = solve(problem, AdaSADMM(metric=Forgetting(), eta=0.1), epochs=2)
print(problem.objective(result.w_mean))

# %%
# If only ``apply`` is defined, the w-step is solved by conjugate gradients, which cost more than the built-in
# diagonal step. Theorem 1 holds for any positive definite metric; Theorems 2 and 3 are about the paper's two metrics.
#
# Notes
# -----
#
# - The functions receive numbers and NumPy arrays, and may use whatever numba compiles: ``math``, NumPy and loops, but
#   not pandas or the printing of objects.
# - A notebook cell that defines a class can be run again: code compiled with the old functions is discarded.
# - If a class is defined inside a function under ``from __future__ import annotations``, use ``.register(MyLoss)``.
# - To save a model with a plug-in of your own, see :doc:`/persistence`.
