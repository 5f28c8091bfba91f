"""Every kind of problem, solved to the optimum that CVXPY finds."""

import numpy as np
import pytest
from references import NAMES, TOLERANCE, reference

from adasadmm import ADMM, ALM, OADMM, SADMM, AdaSADMM, Status, penalties, solve, stepsizes

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]  # too slow without the compiler

AUTO = AdaSADMM(average="polynomial")
CONSTANT = AdaSADMM(eta=0.5, average="polynomial")
FULL = AdaSADMM("full", eta=0.5, w_step="exact", average="polynomial")
FALLING = SADMM(eta=0.3)
ONLINE = OADMM(eta=stepsizes.InverseSqrt(0.5))
# A solver and a problem are compiled together, which takes seconds: each problem has one, each solver several.
STOCHASTIC = {
    "hinge_graph": FALLING,
    "logistic_chain": FULL,
    "squared_trend": CONSTANT,
    "squared_overlapping_groups": CONSTANT,
    "quantile_chain": ONLINE,
    "hinge_box": AUTO,
    "squared_nonnegative": CONSTANT,
    "squared_simplex": FALLING,
    "logistic_ball": AUTO,
    "squared_invertible_B": CONSTANT,
    "huber_tall_B": ONLINE,
    "squared_dictionary": CONSTANT,
    "logistic_orthogonal_B": FALLING,
    "hinge_weights": AUTO,
    "hinge_intercept": AUTO,
    "squared_intercept": CONSTANT,
    "huber_chain": AUTO,
    "epsilon_insensitive_chain": AUTO,
    "poisson_chain": CONSTANT,
    "squared_hinge_elastic_net": CONSTANT,
    "squared_monotone": CONSTANT,
    "squared_unobserved_nodes": CONSTANT,
    "logistic_fused_and_sparse": ONLINE,
}

for_each_problem = pytest.mark.parametrize("name", NAMES)


def suboptimality(known, w, v):
    """How far above the optimum, relative to it; v counts only where the constraint does not give it."""
    own = known.problem.v_of(w)
    return (known.problem.objective(w, v if own is None else own) - known.optimum) / abs(known.optimum)


def assert_brackets(certificate, known):
    slack = (1e-9 + TOLERANCE) * abs(known.optimum)
    assert certificate.dual - slack <= known.optimum <= certificate.primal + slack


def test_every_problem_has_a_stochastic_solver():
    assert set(STOCHASTIC) == set(NAMES)


@for_each_problem
def test_objective_is_what_cvxpy_says_at_its_optimum(name):
    known = reference(name)
    problem = known.problem
    assert np.max(np.abs(problem.residual(known.w, known.v))) <= TOLERANCE
    assert problem.objective(known.w, known.v) == pytest.approx(known.optimum, rel=TOLERANCE)
    if problem.v_of(known.w) is not None:
        assert problem.objective(known.w) == pytest.approx(known.optimum, rel=TOLERANCE)


@for_each_problem
@pytest.mark.parametrize("solver", [ADMM(), ALM()], ids=lambda solver: type(solver).__name__)
def test_the_solvers_over_all_rows_reach_the_optimum_and_prove_it(name, solver):
    known = reference(name)
    if isinstance(solver, ALM) and known.problem.B is not None:
        pytest.skip("ALM needs B = -I")
    result = solve(known.problem, solver, tol=1e-10, epochs=20000)
    assert result.status is Status.converged
    assert abs(suboptimality(known, result.w_feasible, result.v)) <= 1e-6
    assert_brackets(result.certificate, known)
    assert result.certificate.relative_gap <= 1e-10
    assert result.certificate.reason == ""
    if known.problem.w_set is not None:
        assert penalties.violation(known.problem.w_set, result.w_feasible) <= 1e-12
    if name != "squared_unobserved_nodes" or isinstance(solver, ADMM):  # between the nodes any slope will do
        assert result.w == pytest.approx(known.w, abs=1e-4)


@for_each_problem
def test_no_certificate_on_the_way_lies(name):
    known = reference(name)
    for iterations in (1, 5, 30):
        assert_brackets(solve(known.problem, ADMM(), tol=0.0, epochs=iterations).certificate, known)
        if known.problem.B is None:
            assert_brackets(solve(known.problem, ALM(), tol=0.0, epochs=iterations).certificate, known)


@pytest.mark.slow
@for_each_problem
def test_stochastic_solvers_come_within_a_hundredth_of_the_optimum(name):
    known = reference(name)
    problem = known.problem
    result = solve(problem, STOCHASTIC[name], epochs=50 if STOCHASTIC[name] is FULL else 100, trace_every=1.0)
    assert result.status is Status.done
    # Where v is not a function of w, only the theorems' means belong together.
    w = result.w_mean if problem.v_of(result.w) is None else result.w_average
    if problem.w_set is not None and penalties.violation(problem.w_set, w) > 1e-12:
        w = result.w_feasible
    assert abs(suboptimality(known, w, result.v_mean)) <= 0.01
    assert_brackets(result.certificate, known)
    # The iterates' residuals fall as the steps do, with the root of the time; those of the means with time itself.
    for column in ("primal_residual", "dual_residual"):
        residual = result.trace[column]
        assert np.mean(residual[-len(residual) // 10 :]) <= 0.4 * np.max(residual)
    following = result.w_mean + result.w / result.trace["iteration"][-1]  # the mean of w_2..w_{T+1}, for w_1 = 0
    assert np.max(np.abs(problem.residual(following, result.v_mean))) <= 1e-3
