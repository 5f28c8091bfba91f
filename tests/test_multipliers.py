"""The augmented Lagrangian method: what only it does. That it reaches CVXPY's optima is shown in test_optimum."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    ADMM,
    ALM,
    L1,
    AdaSADMM,
    GroupL2,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    Status,
    graphs,
    solve,
)
from adasadmm.linalg.line_search import step_length
from adasadmm.linalg.sparse_systems import ConjugateGradients
from adasadmm.solvers.alm import row_terms

pytestmark = pytest.mark.kernels

LOSSES = (Hinge(), Logistic(), Squared())
ids = {"ids": lambda part: type(part).__name__}


def problem(loss=LOSSES[0], n=120, d=12, scale=1.0, sparse=False, seed=0, **settings):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    y = np.where(X @ np.repeat([1.0, -1.0], d // 2) + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    settings = {"penalty": L1(0.02 * scale), "A": graphs.incidence(graphs.chain(d), d=d), "gamma": 1e-2} | settings
    settings["gamma"] = np.asarray(settings["gamma"]) * scale**2
    X = scale * X
    return Problem(sp.csr_array(X) if sparse else X, y, loss=loss, **settings)


def state_of(result):
    return result.w, result.v, result.theta, result.run.method.u, result.trace["objective"]


@pytest.mark.parametrize("loss", LOSSES, **ids)
def test_it_agrees_with_batch_admm_in_far_fewer_iterations(loss):
    one, other = problem(loss), problem(loss, sparse=True)
    slow, fast = solve(one, ADMM(), tol=1e-9, epochs=20000), solve(other, ALM(), tol=1e-9)
    assert fast.status is Status.converged and fast.certificate.relative_gap <= 1e-9
    assert fast.certificate.primal == pytest.approx(slow.certificate.primal, rel=3e-9)
    assert fast.w == pytest.approx(slow.w, abs=1e-4)
    assert fast.run.monitor().iteration <= 20


def test_fused_coefficients_are_as_good_as_equal():
    result = solve(problem(penalty=L1(10.0)), ALM(), tol=1e-8)
    assert np.ptp(result.w) <= 1e-8 and not result.v.any()


@pytest.mark.parametrize("loss", LOSSES, **ids)
@pytest.mark.parametrize("way", ["products", "a part of the rows"])
def test_products_and_a_part_of_the_rows_lead_to_the_same_point(monkeypatch, limits, way, loss):
    wanted = solve(problem(loss, n=400), ALM(), tol=1e-8)
    if way == "products":
        monkeypatch.setattr("adasadmm.problem.system_for", lambda X, A, groups: ConjugateGradients(X, A, None))
    else:
        limits(passes_before_rows_are_chosen=0)
        limits(rows_that_are_not_chosen_from=50)
    found = solve(problem(loss, n=400), ALM(), tol=1e-8)
    assert found.status is Status.converged
    assert found.certificate.primal == pytest.approx(wanted.certificate.primal, rel=2e-8)


@pytest.mark.parametrize("loss", LOSSES, **ids)
def test_a_start_on_a_sample_of_many_rows_leads_to_the_same_point_in_fewer_iterations(limits, loss):
    limits(rows_of_a_sample=200)
    weight = np.random.default_rng(1).integers(3, size=4000)
    many = problem(loss, n=4000, gamma=1e-3, sample_weight=weight)
    sampled = solve(many, ALM(), tol=1e-8)
    limits(rows_before_a_sample_is_taken=np.inf)
    plain = solve(many, ALM(), tol=1e-8)
    assert sampled.status is Status.converged
    assert sampled.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-8)
    assert sampled.epochs < plain.epochs


def test_columns_that_a_sample_misses_are_found(limits):
    limits(rows_of_a_sample=200)
    rng = np.random.default_rng(0)
    kind = rng.integers(8, size=4000)
    kind[:8] = 8 + np.arange(8) % 4  # rare ones
    X, y = np.eye(12)[kind], kind + rng.normal(size=4000)
    case = Problem(X, y, loss=Quantile(0.5), penalty=L1(1e-5), A=graphs.incidence(graphs.chain(12)), gamma=0.0)
    assert solve(case, ALM(), tol=1e-3).epochs <= 12


def test_a_sample_that_is_too_easy_or_ends_in_overflow_does_no_harm(limits):
    limits(rows_of_a_sample=200)
    X = np.random.default_rng(0).normal(size=(4000, 4))
    y = -np.ones(4000)
    y[[5, 2001]] = 1.0
    parts = {"loss": Hinge(), "penalty": L1(1e-4), "A": graphs.incidence(graphs.chain(4)), "gamma": 1e-5}
    rare = solve(Problem(np.c_[X, np.ones(4000)], y, **{**parts, "A": np.eye(3, 5) - np.eye(3, 5, 1)}), ALM())
    assert rare.status is Status.converged and rare.run.method.newton_steps <= 40
    with pytest.warns(ConvergenceWarning, match="the run diverged"):
        assert solve(Problem(1e160 * X, np.sign(X[:, 0]), **parts), ALM()).status is Status.diverged


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_keep_their_slopes_are_left_out_and_change_nothing(monkeypatch, limits, sparse):
    case, sizes, near = problem(n=2000, sparse=sparse, gamma=1e-4), [], row_terms.RowTerms.near

    def watched(self, step, pull):
        found = near(self, step, pull)
        sizes.append(len(found.z))
        assert found.pull(found.slopes()) == pytest.approx(pull, abs=1e-9 * case.n)
        return found

    monkeypatch.setattr(row_terms.RowTerms, "near", watched)
    with_few = solve(case, ALM(), tol=1e-9)
    assert min(sizes) < 0.2 * case.n
    limits(share_of_rows_near_a_kink=0.0)
    with_all = solve(case, ALM(), tol=1e-9)
    assert with_few.certificate.primal == pytest.approx(with_all.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("gamma", [1e-2, [0.0] + [1e-2] * 11])
def test_dual_ascent_is_a_start(limits, gamma, sparse):
    limits(features_of_a_dual_start=0)
    case = problem(n=400, gamma=gamma, sparse=sparse)
    rough, exact = solve(case, ALM(), tol=1e-2), solve(case, ALM(), tol=1e-9)
    assert rough.run.method.ascending and rough.run.method.newton_steps == 0
    assert rough.certificate.dual <= exact.certificate.primal <= rough.certificate.primal
    assert rough.certificate.relative_gap <= 1e-2 and exact.certificate.relative_gap <= 1e-9
    limits(reach_of_a_dual_start=0.0)
    without = solve(case, ALM(), tol=1e-9)
    assert without.run.method.newton_steps > exact.run.method.newton_steps
    assert without.certificate.primal == pytest.approx(exact.certificate.primal, rel=2e-9)


def test_a_start_that_is_no_use_is_dropped(limits):
    limits(features_of_a_dual_start=0, reach_of_a_dual_start=np.inf)
    result = solve(problem(gamma=1e-9), ALM(), tol=1e-8)
    assert result.status is Status.converged and not result.run.method.ascending


def test_a_loss_whose_curvature_has_no_bound_is_smooth_all_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = rng.poisson(np.exp(0.1 * X[:, 0])).astype(float)
    case = Problem(X, y, loss=Poisson(), penalty=L1(1e-2), A=np.eye(3, 4) - np.eye(3, 4, 1), gamma=1.0)
    result = solve(case, ALM(), tol=1e-6)
    assert result.status is Status.converged and result.run.method.newton_steps > 0


def test_counts_of_any_size():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 4)), rng.poisson(1e6, 1000).astype(float)
    A = sp.csr_array(np.eye(3, 5) - np.eye(3, 5, 1))
    case = Problem(np.c_[X, np.ones(1000)], y, loss=Poisson(), penalty=L1(1e-4), A=A, gamma=[1e-4] * 4 + [0.0])
    result = solve(case, ALM(), tol=1e-6)
    assert result.status is Status.converged
    assert result.w[-1] == pytest.approx(np.log(y.mean()), abs=0.01)  # a gap of 1e-6 of 1.3e7 allows 0.005


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_unit_of_the_features_does_not_matter(scale):
    one, other = solve(problem(), ALM(), tol=1e-6), solve(problem(scale=scale), ALM(), tol=1e-6)
    assert scale * other.w == pytest.approx(one.w, rel=1e-6, abs=1e-9)
    assert other.run.method.newton_steps == one.run.method.newton_steps


def test_a_run_in_two_parts_has_the_same_bits():
    case = problem()
    whole, first = solve(case, ALM(), epochs=7, tol=0.0), solve(case, ALM(), epochs=3, tol=0.0)
    for _ in range(2):  # the first part stays as it was
        second = solve(case, ALM(), epochs=4, tol=0.0, start=first)
        for a, b in zip(state_of(whole), state_of(second), strict=True):
            np.testing.assert_array_equal(a[-len(b) :], b)


def test_a_start_near_the_answer_saves_steps():
    case = problem()
    cold = solve(case, ALM(), tol=1e-6)
    near = case.with_penalty(L1(0.019))
    warm = solve(near, ALM(), tol=1e-6, start=cold)
    assert warm.certificate.relative_gap <= 1e-6
    assert warm.epochs < solve(near, ALM(), tol=1e-6).epochs
    elsewhere = solve(problem(seed=1), ALM(), tol=1e-6, start=cold)  # other rows: only the point counts
    assert elsewhere.certificate.relative_gap <= 1e-6
    stochastic = solve(case, AdaSADMM(), epochs=5)
    assert solve(case, ALM(), tol=1e-6, start=stochastic).certificate.relative_gap <= 1e-6


def test_groups_and_an_intercept_without_ridge():
    gamma = np.full(12, 1e-2)
    gamma[-1] = 0.0
    groups = [range(0, 4), range(4, 11)]
    result = solve(problem(penalty=GroupL2(0.05, groups), gamma=gamma), ALM(), tol=1e-8)
    assert result.status is Status.converged and result.certificate.reason == ""


@pytest.mark.parametrize("gamma", [0.0, 1e-2])
def test_data_that_a_plane_separates(gamma):
    X = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [-2.0, -1.0]])
    case = Problem(X, [1, 1, -1, -1], loss=Logistic(), penalty=L1(0.0), A=[[1.0, -1.0]], gamma=gamma)
    with nullcontext() if gamma > 0.0 else pytest.warns(ConvergenceWarning, match="above tol=1e-06"):
        result = solve(case, ALM(), tol=1e-6, epochs=50)
    assert np.isfinite(result.w).all()
    assert result.certificate.primal >= result.certificate.dual
    assert (result.certificate.relative_gap <= 1e-6) == (gamma > 0.0)  # without ridge there is no minimiser


def test_a_general_B_is_refused():
    case = problem(B=sp.eye_array(11) * 2.0)
    with pytest.raises(ValueError, match=r"ALM\(\) needs B = None.*use ADMM"):
        solve(case, ALM())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_problems_of_all_sizes_and_scales_end_with_a_proof(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([5, 30, 200, 1500])), int(rng.choice([2, 8, 30]))
    X = rng.normal(size=(n, d))
    X = [X, X * 10.0 ** rng.integers(-4, 5, size=d), X + 10.0, (X > 1.0).astype(float), X[:, rng.integers(d, size=d)]][
        rng.integers(5)
    ]
    loss = [Hinge(), Logistic(), Squared(), Huber(), SquaredHinge(), Quantile(0.3)][rng.integers(6)]
    z = X @ rng.normal(size=d) / np.abs(X).max() + 0.5 * rng.normal(size=n)
    y = np.where(z > np.median(z), 1.0, -1.0) if isinstance(loss, (Hinge, Logistic, SquaredHinge)) else 100.0 * z
    A = graphs.incidence(graphs.chain(d), d=d) if rng.random() < 0.5 else np.eye(d)
    gamma = rng.choice([1e-8, 1.0 / n, 0.1])
    case = Problem(X, y, loss=loss, penalty=L1(10.0 ** rng.uniform(-5, 1)), A=A, gamma=gamma)
    result = solve(case, ALM(), tol=1e-6, epochs=200)
    assert result.status is Status.converged
    assert -1e-12 <= result.certificate.gap / max(abs(result.certificate.primal), 1e-300) <= 1e-6


def test_no_step_along_a_direction_that_does_not_fall():
    assert step_length(lambda length: 1e-71, 1e-71) == 0.0
