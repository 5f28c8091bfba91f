"""Trends: the interior-point method on banded factors, held against CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from references import optimum_of
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    IPM,
    L1,
    EpsilonInsensitive,
    Hinge,
    Huber,
    L2Squared,
    Logistic,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    TrendFilter,
    graphs,
    solve,
)
from adasadmm.solvers.ipm.banded import is_trend
from adasadmm.solvers.ipm.ipm import InteriorPointMethod

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]
LOSSES = {
    "squared": Squared(),
    "logistic": Logistic(),
    "poisson": Poisson(),
    "huber": Huber(0.5),
    "quantile": Quantile(0.3),
    "epsilon": EpsilonInsensitive(0.2),
    "hinge": Hinge(),
    "squared hinge": SquaredHinge(),
}


def random_problem(seed, loss, order, strength):
    """Weights, missing points, several rows for one point, uneven positions, and a ridge, in turn."""
    rng = np.random.default_rng(seed)
    d = 40
    column = np.sort(rng.integers(0, d, 60)) if seed % 2 else np.arange(d)
    z = np.interp(np.arange(d), [0, 12, 30, d - 1], 2.0 * rng.normal(size=4))[column] + 0.3 * rng.normal(
        size=len(column)
    )
    y = z
    if isinstance(loss, (Logistic, Hinge, SquaredHinge)):
        y = np.where(z + rng.logistic(size=len(z)) > 0.0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    elif isinstance(loss, Poisson):
        y = rng.poisson(np.exp(np.clip(z, -3.0, 3.0))) + 1.0  # where many are 0, no fit may be the best
    X = sp.csr_array((rng.uniform(0.5, 2.0, len(column)), (np.arange(len(column)), column)), shape=(len(column), d))
    weight = np.where(rng.random(len(column)) < 0.2, 0.0, rng.uniform(0.5, 2.0, len(column))) if seed % 3 else None
    A = graphs.difference(d, order, np.cumsum(rng.uniform(0.3, 2.0, d)) if seed % 4 > 1 else None)
    gamma = 0.1 if seed % 5 == 0 else 0.0
    return Problem(X, y, loss=loss, penalty=L1(strength / d), A=A, gamma=gamma, sample_weight=weight)


def check(seed, name, order, strength):
    problem = random_problem(seed, LOSSES[name], order, strength)
    result = solve(problem, IPM(), tol=1e-6)
    assert result.status.name == "converged", result.certificate
    try:
        best = optimum_of(problem)
    except cp.SolverError:  # Clarabel fails on one of these 384 problems
        return
    scale = max(abs(best), 1e-3)
    found = result.certificate
    assert found.dual <= best + 1e-6 * scale
    assert problem.objective(result.w) == pytest.approx(best, abs=1e-5 * scale)
    assert found.primal == pytest.approx(problem.objective(result.w), rel=1e-12)


# Each loss takes seconds to compile.
@pytest.mark.parametrize(
    "name",
    [name if name in ("squared", "quantile") else pytest.param(name, marks=pytest.mark.slow) for name in LOSSES],
)
@pytest.mark.parametrize("order", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_loss_against_cvxpy(name, order):
    check(order + len(name), name, order, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(12))
def test_random_trends_against_cvxpy(name, seed):
    for strength in (1e-2, 1.0, 1e2, 1e6):
        check(seed, name, 1 + seed % 4, strength)


@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e3, 1e6])
def test_any_strength_of_a_linear_trend(strength):
    rng = np.random.default_rng(0)
    n = 500
    y = np.interp(np.arange(n), [0, 150, 300, n - 1], [0.0, 3.0, -1.0, 2.0]) + 0.3 * rng.normal(size=n)
    problem = Problem(sp.eye_array(n), y, loss=Squared(), penalty=L1(strength / n), A=graphs.difference(n, 2))
    result = solve(problem, IPM(), tol=1e-9)
    assert result.status.name == "converged"
    assert np.abs(problem.times_A(result.w))[result.v == 0.0].max(initial=0.0) <= 1e-14 * np.abs(result.w).max()
    if strength == 1e6:
        line = np.polyval(np.polyfit(np.arange(n), y, 1), np.arange(n))
        np.testing.assert_allclose(result.w, line, atol=1e-7)


@pytest.mark.parametrize("order", [1, *(pytest.param(order, marks=pytest.mark.slow) for order in (2, 3))])
def test_trends_at_random_times(order):
    rng = np.random.default_rng(order)
    t = np.cumsum(rng.exponential(size=300))
    y = np.sin(6.0 * t / t[-1]) + 0.2 * rng.normal(size=300)
    model = TrendFilter(order, alpha=1.0, tol=1e-6).fit(t, y)
    assert model.dual_gap_ <= 1e-6
    assert isinstance(model.solver_, IPM)
    assert 0 < len(model.change_points_) < 60


@pytest.mark.slow
def test_a_gap_that_rounding_errors_leave_is_explained():
    rng = np.random.default_rng(0)
    n = 200
    A = graphs.difference(n, 4, np.cumsum(rng.exponential(size=n)))
    problem = Problem(sp.eye_array(n), rng.normal(size=n), loss=Squared(), penalty=L1(1e9), A=A)
    with pytest.warns(ConvergenceWarning, match="rounding errors"):
        found = solve(problem, IPM(), tol=1e-12).certificate
    assert found.relative_gap > 1e-12
    assert "rounding errors" in found.reason


def test_zeros_of_v_are_zeros_of_A_w():
    problem = random_problem(2, Logistic(), 3, 1.0)
    result = solve(problem, IPM())
    assert result.certificate.primal_residual == 0.0
    assert 0 < np.count_nonzero(result.v) < len(result.v) / 2
    assert np.linalg.norm(problem.times_A(result.w) - result.v) <= 1e-12 * np.abs(result.w).max()


def test_a_dense_diagonal_is_the_same_problem():
    y, A = np.arange(9.0) ** 2, graphs.difference(9, 2)
    sparse, dense = (
        solve(Problem(X, y, loss=Squared(), penalty=L1(0.5), A=A), IPM()) for X in (sp.eye_array(9), np.eye(9))
    )
    np.testing.assert_array_equal(sparse.w, dense.w)


def test_a_saved_run_is_not_solved_again():
    problem = random_problem(1, Squared(), 2, 1.0)
    run = solve(problem, IPM()).run
    fork = run.fork(problem)
    assert fork.ended
    np.testing.assert_array_equal(fork.method.w, run.method.w)
    np.testing.assert_array_equal(fork.dual_point()[0], run.dual_point()[0])


@pytest.mark.parametrize(
    "change",
    [
        {"penalty": L2Squared(1.0)},
        {"penalty": L1(0.0)},
        {"X": np.ones((9, 9))},
        {"b": np.ones(7)},
        {"A": sp.csr_array(([1.0, 1.0], ([0, 1], [5, 2])), shape=(2, 9))},
    ],
    ids=["penalty", "no strength", "dense X", "b", "no bands"],
)
def test_what_is_no_trend_is_solved_by_the_general_iteration(change):
    given = {"X": np.eye(9), "loss": Squared(), "penalty": L1(1.0), "A": graphs.difference(9, 2)}
    changed = given | change
    trend, other = (Problem(one.pop("X"), np.arange(9.0), **one) for one in (given, changed))
    assert is_trend(trend) and not is_trend(other)
    result = solve(other, IPM(), tol=1e-6)
    assert result.status.name == "converged" and isinstance(result.run.method, InteriorPointMethod)
