"""Trends: banded factors, and the interior-point method on them, held against dense solutions and CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from references import optimum_of

from adasadmm import (
    L1,
    BandedIPM,
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
from adasadmm.linalg import banded
from adasadmm.linalg.matrices import as_csr

pytestmark = pytest.mark.compiled
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


# --- the banded system -----------------------------------------------------------------------------------------------


def saddle(n, order, rng, uneven=False):
    positions = np.cumsum(rng.uniform(0.2, 2.0, n)) if uneven else None
    A = graphs.difference(n, order, positions)
    return A, banded.saddle_of(banded.bands_of(as_csr(A, "A")))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("order", [1, 2, *(pytest.param(order, marks=pytest.mark.slow) for order in (3, 4))])
def test_both_factors_give_the_dense_solution(order, whole):
    rng = np.random.default_rng(order)
    A, s = saddle(12, order, rng, uneven=True)
    s.H[:], s.J[:], s.is_whole[0] = rng.uniform(0.5, 2.0, 12), rng.uniform(0.01, 1.0, 12 - order), whole
    f, g = rng.normal(size=12), rng.normal(size=12 - order)
    dw, dt = np.zeros(12), np.zeros(12 - order)
    banded.factor(s)
    banded.solve(s, f, g, dw, dt)
    K = np.block([[np.diag(s.H), A.T.toarray()], [A.toarray(), -np.diag(s.J)]])
    np.testing.assert_allclose(np.append(dw, dt), np.linalg.solve(K, np.append(f, g)), rtol=1e-8, atol=1e-10)


def test_points_without_data_need_the_whole_system():
    rng = np.random.default_rng(0)
    A, s = saddle(15, 2, rng)
    s.H[:] = 1.0
    s.H[[0, 5, 6, 7, 14]] = 0.0
    s.J[:] = 1e-9
    w, t, dw, dt = rng.normal(size=15), rng.normal(size=13), np.zeros(15), np.zeros(13)
    banded.factor(s)
    banded.solve(s, s.H * w + A.T @ t, A @ w - s.J * t, dw, dt)
    assert s.is_whole[0]
    np.testing.assert_allclose(dw, w, atol=1e-9)
    np.testing.assert_allclose(dt, t, atol=1e-9)


def test_the_whole_system_is_accurate_where_the_other_is_not():
    """Third differences of 1,000 points: squaring their condition number, 1e8, leaves no digit."""
    rng = np.random.default_rng(0)
    A, s = saddle(1000, 3, rng)
    s.H[:], s.J[:] = 1e-3, 1e-16
    w, t = np.cumsum(rng.normal(size=1000)), rng.normal(size=997)
    off = []
    for whole in (False, True):
        s.is_whole[0] = whole
        dw, dt = np.zeros(1000), np.zeros(997)
        banded.factor(s)
        banded.solve(s, s.H * w + A.T @ t, A @ w - s.J * t, dw, dt)
        off.append(np.abs(dw - w).max() / np.abs(w).max())
    assert off[1] < 1e-3 * off[0] and off[1] < 1e-6, off


def test_other_matrices_have_no_bands():
    wide = sp.csr_array(([1.0, -1.0], ([0, 0], [0, 40])), shape=(1, 50))
    assert banded.bands_of(as_csr(wide, "A")) is None
    backwards = graphs.difference(10, 2)[::-1]
    assert banded.bands_of(as_csr(backwards, "A")) is None
    A = sp.vstack([graphs.difference(10, 1), graphs.difference(10, 2)]).tocsr()[
        np.argsort(np.append(np.arange(9), np.arange(8)), kind="stable")
    ]
    bands = banded.bands_of(as_csr(A, "A"))
    out, w = np.zeros(17), np.arange(10.0) ** 2
    banded.times(bands, w, out)
    np.testing.assert_allclose(out, A @ w)


# --- the method ------------------------------------------------------------------------------------------------------


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
    result = solve(problem, BandedIPM(), tol=1e-6)
    found = result.certificate
    assert result.status.name == "converged", found
    try:
        best = optimum_of(problem)
    except cp.SolverError:  # Clarabel fails on one of these 384 problems
        return
    scale = max(abs(best), 1e-3)
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
    result = solve(problem, BandedIPM(), tol=1e-9)
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
    assert isinstance(model.solver_, BandedIPM)
    assert 0 < len(model.change_points_) < 60


@pytest.mark.slow
def test_a_gap_that_rounding_errors_leave_is_explained():
    rng = np.random.default_rng(0)
    n = 200
    A = graphs.difference(n, 4, np.cumsum(rng.exponential(size=n)))
    problem = Problem(sp.eye_array(n), rng.normal(size=n), loss=Squared(), penalty=L1(1e9), A=A)
    found = solve(problem, BandedIPM(), tol=1e-12).certificate
    assert found.relative_gap > 1e-12
    assert "rounding errors" in found.reason


def test_zeros_of_v_are_zeros_of_A_w():
    problem = random_problem(2, Logistic(), 3, 1.0)
    result = solve(problem, BandedIPM())
    assert result.certificate.primal_residual == 0.0
    assert 0 < np.count_nonzero(result.v) < len(result.v) / 2
    assert np.linalg.norm(problem.times_A(result.w) - result.v) <= 1e-12 * np.abs(result.w).max()


def test_a_dense_diagonal_is_the_same_problem():
    y, A = np.arange(9.0) ** 2, graphs.difference(9, 2)
    sparse, dense = (
        solve(Problem(X, y, loss=Squared(), penalty=L1(0.5), A=A), BandedIPM()) for X in (sp.eye_array(9), np.eye(9))
    )
    np.testing.assert_array_equal(sparse.w, dense.w)


def test_a_saved_run_is_not_solved_again():
    problem = random_problem(1, Squared(), 2, 1.0)
    run = solve(problem, BandedIPM()).run
    fork = run.fork(problem)
    assert fork.method.done[0] == 1.0
    np.testing.assert_array_equal(fork.method.w, run.method.w)
    np.testing.assert_array_equal(fork.dual_point()[0], run.dual_point()[0])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"penalty": L2Squared(1.0)}, "the penalty is not L1"),
        ({"penalty": L1(0.0)}, "has a weight of 0"),
        ({"X": np.ones((9, 9))}, "one entry in each row"),
        ({"A": np.ones((2, 9))[:, ::-1] * np.arange(1.0, 3.0)[:, None], "b": np.ones(2)}, "b is not 0"),
        ({"A": sp.csr_array(([1.0, 1.0], ([0, 1], [5, 2])), shape=(2, 9))}, "A is not banded"),
    ],
)
def test_unfit_problems_are_refused(change, message):
    given = {"X": np.eye(9), "loss": Squared(), "penalty": L1(1.0), "A": graphs.difference(9, 2)} | change
    problem = Problem(given.pop("X"), np.arange(9.0), **given)
    with pytest.raises(ValueError, match=message):
        solve(problem, BandedIPM())
