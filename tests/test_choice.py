"""What solver="auto" runs for each shape of problem, what it says about it, and what it never returns."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    ALM,
    IPM,
    L1,
    SDCA,
    SPDHG,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    GroupL2,
    Hinge,
    L2Ball,
    Logistic,
    NonNegative,
    Poisson,
    Problem,
    Quantile,
    Squared,
    Stack,
    Status,
    StructuredRegressor,
    TotalVariation,
    graphs,
    path,
    solve,
)
from adasadmm._solve import attempts, solve_quietly
from adasadmm._solve.attempts import WINDOW, _stalls
from adasadmm._solve.null_model import null_model, null_unless_better
from adasadmm.auto import choices
from adasadmm.registry import Tuning
from adasadmm.solvers.alm.alm import AugmentedLagrangianMethod

RNG = np.random.default_rng(0)


def first(X, y, loss, A, penalty=None):
    problem = Problem(X, y, loss=loss, penalty=L1(0.01) if penalty is None else penalty, A=A, gamma=0.01)
    return next(choice for choice in choices(problem, Tuning()) if not choice.may_give_up)


def numbers(n, d):
    return RNG.normal(size=(n, d)), RNG.normal(size=n)


def signs(n):
    return np.where(np.arange(n) % 2, 1.0, -1.0)


STAR = graphs.incidence(np.array([[0, j] for j in range(1, 30)]), d=30)
COUNTS = np.arange(60.0 * 330) % 3, Poisson(), graphs.difference(330)
SHAPES = [
    (sp.eye_array(30), RNG.normal(size=30), Squared(), graphs.difference(30), TotalVariation),
    (np.eye(30), np.arange(30.0), Poisson(), graphs.difference(30), TotalVariation),
    (sp.eye_array(30), signs(30), Hinge(), graphs.difference(30), TotalVariation),
    (sp.eye_array(30), RNG.normal(size=30), Squared(), graphs.incidence(graphs.grid(5, 6), d=30), TotalVariation),
    (sp.eye_array(30), RNG.normal(size=30), Squared(), STAR, TotalVariation),
    (sp.eye_array(30), RNG.normal(size=30), Quantile(), STAR, TotalVariation),
    (sp.eye_array(30), RNG.normal(size=30), Squared(), graphs.difference(30, 2), IPM),
    (sp.eye_array(30), signs(30), Hinge(), graphs.difference(30, 3), IPM),
    (*numbers(20, 30), Squared(), graphs.difference(30), IPM),
    (numbers(20, 30)[0], signs(20), Hinge(), graphs.difference(30), IPM),
    (numbers(500, 30)[0], signs(500), Hinge(), graphs.difference(30), ALM),
    (numbers(500, 30)[0], signs(500), Logistic(), graphs.difference(30), IPM),
    (numbers(3000, 30)[0], signs(3000), Logistic(), graphs.difference(30), IPM),
    (numbers(17_000, 330)[0], signs(17_000), Logistic(), graphs.difference(330), ALM),
    (sp.kron(np.ones((60, 1)), sp.eye_array(330, format="csr") + sp.eye_array(330, k=9)).tocsr(), *COUNTS, IPM),
    (*numbers(3000, 30), Squared(), graphs.difference(30), IPM),
]


@pytest.mark.parametrize("X, y, loss, A, wanted", SHAPES, ids=lambda value: getattr(value, "__name__", ""))
def test_the_method_fits_the_shape(X, y, loss, A, wanted):
    choice = first(X, y, loss, A)
    assert type(choice.solver) is wanted
    assert choice.reason and not choice.reason.endswith(".")


def test_groups_are_solved_by_ipm_and_what_it_refuses_is_left_to_alm():
    X, y = numbers(20, 30)
    groups = GroupL2(0.1, [np.arange(15), np.arange(15, 30)])
    assert isinstance(first(X, y, Squared(), np.eye(30), groups).solver, IPM)
    assert isinstance(first(X, y, Squared(), np.eye(30), L2Ball(1.0)).solver, ALM)


def test_many_sparse_columns_with_kinks_are_left_to_dual_coordinates():
    X = sp.random_array((3000, 9000), density=0.005, format="csr", rng=0)
    grid = graphs.incidence(graphs.grid(90, 100), d=9000)
    assert isinstance(first(X, signs(3000), Hinge(), grid).solver, SPDHG)
    assert isinstance(first(X, signs(3000), Logistic(), grid).solver, IPM)


def test_along_chains_dual_ascent_is_the_first_for_large_sparse_data_unless_the_ridge_is_weak():
    X = sp.random_array((3000, 9000), density=0.005, format="csr", rng=0)
    chain, labels = graphs.difference(9000), signs(3000)
    assert isinstance(first(X, labels, Hinge(), chain).solver, SDCA)
    assert isinstance(first(X, labels, Logistic(), chain).solver, SDCA)
    assert isinstance(first(100.0 * X, labels, Logistic(), chain).solver, IPM)


def test_the_model_says_which_solver_ran_and_why():
    X, y = numbers(40, 3)
    model = GraphGuidedRegressor("chain").fit(X, y)
    assert isinstance(model.solver_, IPM) and model.solver_reason_.startswith("40 rows and 4 coefficients make a small")
    assert f"solver: IPM, because {model.solver_reason_}" in model.summary()
    given = GraphGuidedRegressor("chain", solver="admm").fit(X, y)
    assert given.solver_reason_ == "it was given"
    classes = GraphGuidedClassifier("chain").fit(X, np.arange(40) % 3)
    assert len(classes.solver_) == len(classes.solver_reason_) == 3


def test_another_method_follows_one_that_misses_tol(monkeypatch):
    X, y = numbers(40, 3)
    ran = []

    def hasty(problem, solver, **settings):
        ran.append(type(solver))
        if isinstance(solver, IPM):
            settings |= {"epochs": 1, "polish": False}
        return solve_quietly(problem, solver, **settings)

    monkeypatch.setattr(attempts, "solve_quietly", hasty)
    model = GraphGuidedRegressor("chain", tol=1e-6).fit(X, y)
    assert ran == [IPM, ALM] and isinstance(model.solver_, ALM) and model.dual_gap_ <= 1e-6


def counted(monkeypatch):
    """The iterations of ALM, as a list with an entry for each."""
    seen, advance = [], AugmentedLagrangianMethod.advance
    monkeypatch.setattr(AugmentedLagrangianMethod, "advance", lambda method: (seen.append(1), advance(method)))
    return seen


@pytest.mark.parametrize("column", [2.0**63 - np.arange(200.0), 1e5 + RNG.normal(size=200)], ids=["2^63", "1e5"])
def test_a_method_that_stalls_hands_over_early(column, monkeypatch):
    X, y = np.column_stack([column, RNG.normal(size=200)]), np.tile([-1, 1], 100)
    seen = counted(monkeypatch)
    model = GraphGuidedClassifier("chain").fit(X, y)
    assert model.solver_ == IPM() and model.status_ is Status.converged and model.dual_gap_ <= 1e-6
    assert WINDOW < len(seen) < 3 * WINDOW
    problem = Problem(X, y, loss=Hinge(), penalty=L1(1.0), A=graphs.difference(2), gamma=0.005)
    del seen[:]
    assert path(problem, [0.005])[0].status is Status.converged and len(seen) < 3 * WINDOW
    with pytest.warns(ConvergenceWarning):
        GraphGuidedClassifier("chain", solver="alm", max_iter=100).fit(X, y)  # as many as were asked for
    assert len(seen) >= 100


def test_a_method_that_stalls_says_so_if_no_other_is_better():
    X, y = np.column_stack([1e8 + RNG.normal(size=200), RNG.normal(size=200)]), np.tile([-1, 1], 100)
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        model = GraphGuidedClassifier("chain").fit(X, y)
    assert model.status_ in (Status.stalled, Status.done) and "stopped" not in model.summary()


@pytest.mark.parametrize(
    ("gaps", "lost"),
    [
        ([1.0] * WINDOW, False),  # too early to say
        ([1.0] * (WINDOW + 1), True),
        ([math.inf] * (WINDOW + 1), True),
        ([math.inf] * WINDOW + [0.5], False),
        (np.geomspace(1.0, 0.5, WINDOW + 1).tolist(), False),  # 1e-6 after 20 windows
        (np.geomspace(1.0, 0.7, WINDOW + 1).tolist(), True),  # 1e-6 after 39 windows
        ([1.0] * WINDOW + [1e-6], False),
    ],
    ids=range(7),
)
def test_a_run_stalls_if_at_its_pace_the_iterations_would_not_suffice(gaps, lost):
    assert _stalls(gaps, 1e-6, 1000) is lost


def test_the_null_model_has_the_best_intercept():
    X, y = numbers(50, 2)
    X = np.column_stack([X, np.ones(50)])
    problem = Problem(X, y + 1e3, loss=Squared(), penalty=L1(0.1), A=[[1.0, -1.0, 0.0]])
    np.testing.assert_allclose(null_model(problem, has_intercept=True), [0.0, 0.0, np.mean(y) + 1e3], rtol=1e-7)
    assert not null_model(problem, has_intercept=False).any()


def test_a_result_that_is_worse_than_the_null_model_is_replaced_by_it():
    X, y = numbers(50, 3)
    problem = Problem(X, y, loss=Squared(), penalty=L1(0.1), A=graphs.difference(3), gamma=0.1)
    good = solve(problem, ALM(), tol=1e-6)
    assert null_unless_better(problem, good, has_intercept=False) is good
    bad = dataclasses.replace(good, w=100.0 * good.w, w_average=100.0 * good.w)
    found = null_unless_better(problem, bad, has_intercept=False)
    assert not found.w_average.any()
    assert found.certificate.primal == problem.objective(np.zeros(3)) >= found.certificate.dual


def test_a_null_model_outside_a_set_is_no_replacement():
    X, y = numbers(50, 2)
    penalty = Stack(((NonNegative(), slice(0, 2)),))
    problem = Problem(X, y, loss=Squared(), penalty=penalty, A=np.eye(2), b=[1.0, 1.0])  # w >= 1
    good = solve(problem, ALM(), tol=1e-6)
    bad = dataclasses.replace(good, w=100.0 + good.w, w_average=100.0 + good.w)
    assert null_unless_better(problem, bad, has_intercept=False) is bad


@pytest.mark.slow
@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("upper", [np.inf, 100.0])
def test_fused_and_bounded_coefficients_reach_the_optimum(l2, upper):
    """Bounds beside a fused penalty once diverged to coefficients of 68,362."""
    cp = pytest.importorskip("cvxpy")
    from adasadmm import Box

    rng = np.random.default_rng(3)
    X, D = rng.normal(size=(300, 20)), graphs.difference(20)
    y = X @ np.repeat([1.0, 2.0, -0.5, 3.0], 5) + rng.normal(size=300)
    bounds = NonNegative() if upper == np.inf else Box(0.0, upper)
    penalty = Stack(((L1(0.05), slice(0, 19)), (bounds, slice(19, 39))))
    model = StructuredRegressor(sp.vstack([D, sp.eye_array(20)]), penalty=penalty, l2=l2, tol=1e-6).fit(X, y)
    w, intercept = cp.Variable(20), cp.Variable()
    loss = cp.sum_squares(X @ w + intercept - y) / 600 + l2 / 2 * cp.sum_squares(w) + 0.05 * cp.norm1(D @ w)
    optimum = cp.Problem(cp.Minimize(loss), [w >= 0, w <= min(upper, 1e3)]).solve(solver=cp.CLARABEL)
    assert model._objectives[0] == pytest.approx(optimum, rel=2e-6)
    assert model.coef_.min() >= -1e-12


def test_a_null_model_that_is_the_optimum_needs_no_warning():
    X = np.random.default_rng(0).normal(size=(20, 4))
    model = GraphGuidedRegressor("chain", loss="poisson").fit(X, np.zeros(20))
    assert model.dual_gap_ <= model.tol


@pytest.mark.slow
def test_coefficients_are_not_exactly_equal_after_partial_fit():
    X = np.random.default_rng(0).normal(size=(60, 6))
    model = GraphGuidedRegressor("chain").fit(X, X[:, 0]).partial_fit(X, X[:, 0])
    model.coef_ = np.array([1.0, 1.0 + 1e-6, 1.0, 2.0, 2.0, 2.0 - 1e-6])  # equal up to the error of a stochastic method
    assert model.clusters_.tolist() == [0, 0, 0, 1, 1, 1]


def test_an_error_inside_a_check_is_not_taken_for_a_refusal(monkeypatch):
    def broken(solver, problem):
        raise TypeError("a mistake in the check")

    monkeypatch.setattr(IPM, "check", broken)
    with pytest.raises(TypeError, match="a mistake in the check"):
        list(choices(Problem(*numbers(20, 4), loss=Squared(), penalty=L1(0.1), A=graphs.difference(4)), Tuning()))
