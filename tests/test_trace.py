"""The trace of a run: the objectives of its points are the same whether they are evaluated at once or later."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from adasadmm import ALM, L1, AdaSADMM, Box, GraphGuidedRegressor, Logistic, Problem, Squared, Status, graphs, solve
from adasadmm.certificates import duality
from adasadmm.certificates.flow import Flow
from adasadmm.certificates.intercept import balanced, only_intercept_is_free
from adasadmm.certificates.repair import free_coordinates, repair
from adasadmm.rows import products
from adasadmm.rows.matrices import WithIntercept, as_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = np.sign(X @ [1.0, 1.0, 1.0, -1.0, -1.0] + 0.5 * RNG.normal(size=60))
A = graphs.incidence(graphs.chain(5))


def case(**other):
    return Problem(X, Y, **({"loss": Logistic(), "penalty": L1(0.01), "A": A, "gamma": 0.1} | other))


@pytest.fixture
def passes(monkeypatch):
    """The passes over X of pairs of points."""
    count, plain = [], products.product_pair

    def counted(*args):
        count.append(args)
        plain(*args)

    monkeypatch.setattr(products, "product_pair", counted)
    return count


@pytest.mark.parametrize("w_set", [None, Box(-0.1, 0.1)], ids=["free", "box"])
def test_objectives_are_those_of_a_run_that_evaluates_them_at_once(w_set):
    seen = []
    at_once = solve(case(w_set=w_set), AdaSADMM(), callback=lambda snapshot: seen.append(snapshot))
    later = solve(case(w_set=w_set), AdaSADMM())
    assert len(seen) == len(later.trace["epoch"]) == 8
    for name in at_once.trace:
        if name != "seconds":
            np.testing.assert_array_equal(later.trace[name], at_once.trace[name])
    np.testing.assert_array_equal(later.trace["objective"], [snapshot.objective for snapshot in seen])


def test_a_run_that_nobody_watches_evaluates_no_point_twice_and_none_before_it_is_asked_for(passes):
    result = solve(case(), AdaSADMM())
    result.trace["epoch"], result.trace["primal_residual"]
    assert len(passes) == 0
    result.trace["objective"], result.trace["objective_mean"], result.trace["objective"]
    assert len(passes) == 8  # one pass for both objectives of a point


def test_points_wait_only_while_they_are_few(passes, limits):
    limits(iterates_kept_for_objectives=0)
    trace = solve(case(), AdaSADMM(), epochs=20.0).trace
    kept = X.size // (2 * 5 + 2 * len(A.toarray()))
    assert len(passes) >= 80 - kept
    assert np.isfinite(trace["objective"]).all() and len(trace["objective"]) == 80


def test_a_trace_that_was_saved_or_fitted_holds_only_numbers():
    trace = pickle.loads(pickle.dumps(solve(case(), AdaSADMM()).trace))
    assert np.isfinite(trace["objective"]).all()
    fitted = GraphGuidedRegressor("chain", solver="ada-diag", random_state=0).fit(X, Y)
    assert fitted.trace_._later is None
    assert np.isfinite(fitted.trace_["objective_mean"]).all()


def test_a_run_that_stops_by_its_gap_has_bounds_and_gaps_in_its_trace():
    seen = []
    result = solve(case(), ALM(), tol=1e-9, callback=lambda snapshot: seen.append(snapshot.relative_gap))
    bound, gap = result.trace["lower_bound"], result.trace["relative_gap"]
    assert gap[-1] == result.certificate.relative_gap <= 1e-9 < gap[0]
    assert bound[-1] == result.certificate.dual
    assert (bound <= result.certificate.primal + 1e-12).all() and (np.diff(bound) >= 0.0).all()
    np.testing.assert_array_equal(seen, gap)
    assert np.isnan(solve(case(), AdaSADMM()).trace["relative_gap"]).all()  # nothing needs it


@pytest.mark.filterwarnings("error")
def test_a_run_that_nobody_watches_still_says_that_it_diverged():
    with pytest.warns(ConvergenceWarning, match="the run diverged: .* a smaller eta may help"):
        result = solve(case(loss=Squared(), gamma=0.0), AdaSADMM("identity", eta=1e3, w_step="exact"), epochs=200)
    assert result.status is Status.diverged
    assert np.isfinite(result.w).all()


# --- the intercept ---------------------------------------------------------------------------------------------------


def test_slopes_are_balanced_as_the_general_repair_balances_them():
    free = np.append(np.full(5, 0.1), 0.0)
    wide = graphs.incidence(graphs.chain(5), d=6)
    problem = Problem(WithIntercept(as_rows(X)), Y, loss=Logistic(), penalty=L1(0.01), A=wide, gamma=free)
    s = duality.slopes(problem, X @ RNG.normal(size=5) + 0.7)
    domain, bounds = (np.minimum(-Y, 0.0), np.maximum(-Y, 0.0)), duality.bounds_of(problem)
    assert only_intercept_is_free(problem, bounds)
    found = balanced(problem, np.zeros(problem.d), s, domain)
    wanted, _ = repair(problem, s, np.zeros(problem.m), domain, bounds)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-12)
    assert abs(found.sum()) <= 1e-10 * np.abs(found).sum()


def test_a_constraint_on_the_intercept_needs_the_general_repair():
    problem = Problem(
        WithIntercept(as_rows(X)), Y, loss=Logistic(), penalty=L1(0.01), A=np.eye(6), gamma=np.append(np.ones(5), 0.0)
    )
    assert not only_intercept_is_free(problem, duality.bounds_of(problem))


@pytest.mark.parametrize("loose", [1, 2], ids=["one component", "two components"])
def test_along_a_graph_q_is_repaired_as_a_flow(loose):
    """More features than rows and no ridge: theta carries q, and s only the sum over each component."""
    rng = np.random.default_rng(1)
    d = 12
    edges = np.array([(i, j) for i, j in graphs.chain(d) if loose == 1 or j != d // 2])
    wide = rng.normal(size=(8, d))
    problem = Problem(
        wide, rng.normal(size=8), loss=Squared(), penalty=L1(0.1), A=graphs.incidence(edges, d=d), gamma=0.0
    )
    bounds, s, theta = duality.bounds_of(problem), rng.normal(size=8), 0.01 * rng.normal(size=problem.m)
    s, theta = repair(problem, s, theta, (np.full(8, -np.inf), np.full(8, np.inf)), bounds)
    assert isinstance(free_coordinates(problem, bounds).steps, Flow)
    q = duality.data_pull(problem, s) - problem.times_A_transposed(theta)
    assert np.abs(q).max() <= 1e-12 * (np.abs(s).max() + np.abs(theta).max())
