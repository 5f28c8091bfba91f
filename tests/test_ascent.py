"""Dual coordinate steps, and what the certificate of a stochastic run proves with them."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import (
    ALM,
    IPM,
    L1,
    AdaSADMM,
    GraphGuidedClassifier,
    GroupL2,
    Hinge,
    Logistic,
    Problem,
    Quantile,
    Squared,
    graphs,
    path,
    solve,
)
from adasadmm.certificates import ascent, duality
from adasadmm.solvers import Iterations
from adasadmm.solvers.alm import starts

pytestmark = pytest.mark.kernels

ids = {"ids": lambda part: type(part).__name__}


def problem(seed=0, loss=Hinge(), n=200, d=8, intercept=False, weights=False, gamma=None, nu=0.02, sparse=False):  # noqa: B008
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    z = X @ np.repeat(rng.normal(size=2), d // 2) + 0.5 * rng.normal(size=n) + 0.3
    y = np.where(z > 0.0, 1.0, -1.0) if isinstance(loss, (Hinge, Logistic)) else z
    A = graphs.incidence(graphs.chain(d), d=d)
    ridge = np.full(d, 1.0 / n if gamma is None else gamma)
    if intercept:
        X, A = np.hstack([X, np.ones((n, 1))]), sp.hstack([A, sp.csr_array((d - 1, 1))])
        ridge = np.append(ridge, 0.0)
    X = sp.csr_array(X) if sparse else X
    weight = rng.integers(0, 4, size=n).astype(float) if weights else None
    return Problem(X, y, loss=loss, penalty=L1(nu), A=A, gamma=ridge, sample_weight=weight)


def start(case):
    """Slopes at 0, and no theta."""
    return duality.slopes(case, np.zeros(case.n)), np.zeros(case.m)


@pytest.mark.parametrize("loss, sparse", [(Hinge(), False), (Squared(), True)])
def test_many_steps_lead_to_the_optimum(loss, sparse):
    case = problem(loss=loss, gamma=0.1, sparse=sparse)
    s, theta = start(case)
    ascent.ascend(case, np.zeros(case.d), s, theta, 300)
    best = solve(case, ALM(), tol=1e-10)
    assert duality.dual_value(case, best.w, s, theta)[0] == pytest.approx(best.certificate.dual, rel=1e-6)


def test_each_pass_raises_the_dual_value():
    case = problem()
    values = []
    for passes in (0, 1, 2, 4, 8):
        s, theta = start(case)
        ascent.ascend(case, np.zeros(case.d), s, theta, passes)
        values.append(duality.dual_value(case, np.zeros(case.d), s, theta)[0])
    assert values == sorted(set(values))


def test_one_step_is_the_best_for_its_coordinate():
    """No other s_i, and no other theta_k, has a larger dual value."""
    case = problem(n=30, gamma=0.05)
    s, theta = start(case)
    ascent.ascend(case, np.zeros(case.d), s, theta, 10)
    steps = ascent.Ascent(case)
    w = steps.minimiser(np.zeros(case.d), s, theta)
    ascent.alternate(steps.rows, None, np.array([7]), w, s, theta, 0)
    assert w == pytest.approx(steps.minimiser(np.zeros(case.d), s, theta), abs=1e-12)
    best = duality.dual_value(case, np.zeros(8), s, theta)[0]
    for other in np.linspace(-1.0, 0.0, 21) * case.rows.y[7]:
        moved = s.copy()
        moved[7] = other
        assert duality.dual_value(case, np.zeros(8), moved, theta)[0] <= best + 1e-12


def test_where_it_cannot_be_it_is_not_tried():
    one = {"loss": Hinge(), "penalty": L1(0.1), "A": np.eye(2)}
    assert ascent.is_possible(Problem(np.eye(2), [1, -1], gamma=[0.0, 1.0], **one))
    assert not ascent.is_possible(Problem(np.eye(2), [1, -1], gamma=0.0, **one))


def test_a_penalty_of_groups_keeps_its_theta():
    case = problem(gamma=0.1).with_penalty(GroupL2(0.05, [range(0, 3), range(3, 7)]))
    s, theta = start(case)
    ascent.ascend(case, np.zeros(case.d), s, theta, 10)
    assert not theta.any() and s.any()


def assert_true(case, certificate):
    """The optimum, known to 1e-10, lies between primal and dual."""
    known = solve(case, ALM(), tol=1e-10, epochs=200).certificate
    assert known.relative_gap <= 1e-9
    slack = 1e-9 * abs(known.primal)
    assert certificate.primal >= known.dual - slack
    assert certificate.dual <= known.primal + slack
    assert certificate.reason == ""


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "loss", [Hinge(), Logistic(), Squared(), pytest.param(Quantile(0.3), marks=pytest.mark.slow)], **ids
)
@pytest.mark.slow
def test_the_certificate_of_a_stochastic_run_is_true_and_worth_something(loss, intercept):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, nu = int(rng.choice([20, 100, 400])), 10.0 ** rng.uniform(-3, 0)
        case = problem(seed, loss, n, intercept=intercept, weights=seed % 2 == 1, nu=nu)
        for epochs in (1, 10):
            certificate = solve(case, AdaSADMM(average="auto", beta="auto"), epochs=epochs).certificate
            assert_true(case, certificate)
        assert certificate.relative_gap <= 1.0


def test_the_certificate_of_an_estimator_with_an_intercept_is_worth_something():
    case = problem(2, n=300)
    model = GraphGuidedClassifier("chain", solver="ada-diag", random_state=0).fit(case.rows.X.values, case.rows.y)
    assert 0.0 < model.dual_gap_ <= 0.2


@pytest.mark.compiled  # a minute without the compiler
def test_the_certificate_is_true_with_many_rows():
    case = problem(1, n=12_000, d=20, intercept=True, weights=True, nu=1 / 12_000)
    certificate = solve(case, AdaSADMM(average="auto", beta="auto")).certificate
    assert_true(case, certificate)
    assert certificate.relative_gap <= 0.2


@pytest.mark.parametrize("n", [1, 16, 17, 1000])
def test_the_first_round_visits_each_row_once(n):
    order = starts._shuffled(n)
    assert np.array_equal(np.sort(order), np.arange(n))
    assert n < 20 or not np.array_equal(order, np.arange(n))


@pytest.mark.parametrize("loss", [Hinge(), Quantile(0.3)], **ids)
@pytest.mark.parametrize("intercept", [False, True])
def test_dual_ascent_along_a_path_proves_the_optimum_of_each_strength(loss, intercept, limits):
    """A strength that ascent solves ends with a true certificate, and the same bits each time."""
    limits(steps_of_a_hard_strength=0, features_of_a_dual_start=0)  # ascent is tried at each strength
    of = problem(1, loss, n=600, intercept=intercept, sparse=True)
    alphas = np.geomspace(0.02, 1e-4, 12)
    found, again = (path(of, alphas, solver=ALM(), tol=1e-3) for _ in range(2))
    assert sum(result.run.method.ascending for result in found) >= 3
    for alpha, result, same in zip(alphas, found, again, strict=True):
        best = solve(of.with_penalty(L1(alpha)), IPM(), tol=1e-9).certificate
        proved = result.certificate
        assert proved.relative_gap <= 1e-3
        assert proved.dual <= best.primal * (1.0 + 1e-9) and best.dual <= proved.primal * (1.0 + 1e-9)
        assert result.run.problem.objective(result.w_average) == pytest.approx(proved.primal, rel=1e-12)
        np.testing.assert_array_equal(result.w_average, same.w_average)


def test_a_copy_of_a_run_that_ascends_takes_the_same_steps(limits):
    limits(features_of_a_dual_start=0)
    of = problem(1, n=600, sparse=True)
    before, last = path(of, [0.002, 0.0018], solver=ALM(), tol=1e-3)
    weaker = of.with_penalty(L1(0.0016))
    run = last.run.fork(weaker)
    run.extrapolate(last.run, before.run, 1.0)
    copy, state = run.fork(weaker), run.state()
    for each in (run, copy):
        each.advance(Iterations(3))
    restored = ALM().begin(weaker, run.point)
    restored.restore(state)
    restored.advance(Iterations(3))
    for other in (copy, restored):
        np.testing.assert_array_equal(run.answer, other.answer)
        np.testing.assert_array_equal(run.point.theta, other.point.theta)
