"""Exact structure after a run: what is fused is equal, what is 0 is 0, and the certificate still holds."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import (
    ADMM,
    ALM,
    L1,
    AdaSADMM,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    Hinge,
    Logistic,
    NonNegative,
    Problem,
    Squared,
    graphs,
    solve,
)
from adasadmm.certificates import polish
from adasadmm.certificates.contraction import contracted
from adasadmm.linalg.projections import nearest
from adasadmm.rows.matrices import WithIntercept

D = 12
CHAIN = graphs.incidence(graphs.chain(D), d=D)


def problem(loss=Squared(), A=CHAIN, nu=0.05, **settings):  # noqa: B008 (a record)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, D))
    z = X @ np.repeat([1.0, 0.0, -1.0], 4) + 0.3 * rng.normal(size=300)
    y = z if isinstance(loss, Squared) else np.where(z > 0.0, 1.0, -1.0)
    return Problem(X, y, loss=loss, penalty=L1(nu), A=A, gamma=1e-3, **settings)


@pytest.mark.parametrize("loss", [Squared(), Hinge(), Logistic()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("solver", [ALM(), ADMM(), AdaSADMM()], ids=lambda solver: type(solver).__name__)
def test_fused_coefficients_are_equal_to_the_last_bit(loss, solver):
    case = problem(loss)
    result = solve(case, solver, polish=True)
    joined = result.v == 0.0
    assert 0 < joined.sum() < len(joined)
    assert not (case.times_A(result.w)[joined]).any()
    assert (np.abs(result.v[~joined]) > 1e-6).all()
    assert result.certificate.relative_gap <= 1e-8
    assert case.objective(result.w) == result.certificate.primal
    np.testing.assert_array_equal(result.w, result.w_average)


def test_zeros_are_zeros_and_reach_along_edges():
    case = problem(A=sp.vstack([CHAIN, sp.eye_array(D)]), nu=0.1)
    result = solve(case, ALM(), polish=True)
    np.testing.assert_array_equal(result.w[4:8], 0.0)
    assert len(np.unique(result.w)) == 3


def test_kinks_of_a_trend_and_sets_of_w():
    trend = problem(A=graphs.trend(D))
    result = solve(trend, ALM(), polish=True)
    assert np.abs(trend.times_A(result.w)[result.v == 0.0]).max() <= 1e-14
    positive = problem(w_set=NonNegative())
    result = solve(positive, ALM(), polish=True)
    assert (result.w >= 0.0).all() and result.certificate.relative_gap <= 1e-8


def test_where_it_cannot_polish_it_says_so():
    case = problem(B=2.0 * sp.eye_array(CHAIN.shape[0]))
    with pytest.raises(ValueError, match=r"ALM\(\) needs B = None"):
        solve(case, ADMM(), polish=True)


def test_clusters_are_exact_for_a_small_tolerance():
    case = problem(Hinge())
    X, y = case.rows.X.values, case.rows.y
    model = GraphGuidedClassifier("chain", alpha=0.05, l2=1e-3, tol=1e-6).fit(X, y)
    for group in np.unique(model.clusters_):
        assert len(np.unique(model.coef_[0, model.clusters_ == group])) == 1
    assert len(np.unique(model.coef_)) == len(np.unique(model.clusters_)) < D
    assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_structure_is_exact_with_more_features_than_rows(loss, tol):
    """The interior-point method itself gives no zeros, and with a kinked loss the nearest fused point is not enough."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 120))
    y = np.sign(X @ np.repeat(rng.normal(size=12), 10))
    estimator = GraphGuidedRegressor if loss == "squared" else GraphGuidedClassifier
    coef, sharp = (
        estimator("chain", loss=loss, alpha=0.02, l2=0.01, tol=gap).fit(X, y).coef_.reshape(-1) for gap in (tol, 1e-9)
    )
    fused, truly = np.diff(coef) == 0.0, np.diff(sharp) == 0.0
    assert truly.sum() > 60
    assert (fused & truly).sum() >= (0.9 if tol > 1e-6 else 1.0) * truly.sum()
    assert (fused & ~truly).sum() <= 0.05 * len(fused)


@pytest.mark.parametrize("loss", [Squared(), Hinge(), Logistic()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_contracted_problem_has_the_same_objective(loss, intercept):
    case = problem(loss, A=sp.vstack([CHAIN, sp.eye_array(D)]), sample_weight=np.arange(1.0, 301.0))
    if intercept:
        rows = case.rows._replace(X=WithIntercept(case.rows.X))
        A = sp.hstack([sp.vstack([CHAIN, sp.eye_array(D)]), sp.csr_array((2 * D - 1, 1))])
        case = case.replaced(rows=rows, A=A, gamma=np.append(np.full(D, 1e-3), 0.0), penalty=L1(0.05))
    w = np.append(np.repeat([1.0, 0.0, -1.0], 4), [0.7] * intercept)
    small = contracted(case, case.v_of(w))
    assert small.problem.d == 2 + intercept
    u = np.array([1.0, -1.0] + [0.7] * intercept)
    np.testing.assert_array_equal(small.expanded(u), w)
    np.testing.assert_allclose(small.problem.objective(u), case.objective(w), rtol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_nearest_trend_is_the_projection(order):
    """By a banded system where rows are differences of consecutive entries; by LSQR where they are in another order."""
    rng = np.random.default_rng(order)
    x = np.cumsum(rng.uniform(0.2, 2.0, 40))
    A = graphs.difference(40, order, positions=x)[np.flatnonzero(rng.random(40 - order) < 0.9)]
    w, b = rng.normal(size=40), 0.1 * rng.normal(size=A.shape[0])
    found = nearest(A, b, w)
    np.testing.assert_allclose(A @ found, b, atol=1e-12)
    np.testing.assert_allclose(found, w - np.linalg.pinv(A.toarray()) @ (A @ w - b), atol=1e-9)
    if order < 3:
        np.testing.assert_allclose(nearest(A[::-1], b[::-1], w), found, atol=1e-6)


def test_a_false_zero_beside_an_open_edge_joins_no_clusters():
    A = graphs.incidence(np.array([(0, 1), (1, 2), (0, 2)]), d=3)
    case = Problem(np.eye(3), [0.0, 0.0, 3.0], loss=Squared(), penalty=L1(0.1), A=A, gamma=1e-3)
    w, v = np.array([0.2, 0.21, 2.5]), np.array([0.0, 0.0, -2.3])  # the zero of edge (1, 2) is false
    found, zeros = polish._with_pattern(case, w, v, 0.1 * np.array([0.1, 0.95, -1.0]))
    assert found[0] == found[1] and found[2] == 2.5
    assert zeros.tolist() == [True, False, False]
    found, zeros = polish._with_pattern(case, w, v, 0.1 * np.array([0.1, 0.5, -1.0]))  # both zeros are certain
    assert found[0] == found[1] == found[2] and zeros.tolist() == [True, True, False]
