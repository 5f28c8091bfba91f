"""Dual coordinate ascent: the optimum of other methods, a true certificate, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import IPM, L1, SDCA, ChainTV, GraphGuidedClassifier, Hinge, Logistic, Problem, Squared, graphs, solve
from adasadmm.certificates import duality
from adasadmm.rows.matrices import WithIntercept, as_rows
from adasadmm.solvers import Iterations, Point

pytestmark = pytest.mark.kernels

N, D = 60, 25
RNG = np.random.default_rng(0)
X = sp.random_array((N, D), density=0.3, format="csr", rng=0)
Z = X @ np.repeat(RNG.normal(size=5), 5)
LABELS = np.where(Z + 0.3 * RNG.normal(size=N) > 0.0, 1.0, -1.0)
CASES = [(Logistic(), LABELS), (Hinge(), LABELS), (Squared(), Z + 0.3 * RNG.normal(size=N))]


def problem_with(loss, y, intercept=False, order=None, gamma=0.05):
    """A chain, possibly with its edges and nodes in another order, and an intercept without ridge."""
    edges = graphs.chain(D) if order is None else order[graphs.chain(D)][::-1]
    A, rows, ridge = graphs.incidence(edges, d=D), as_rows(X), np.full(D, gamma)
    if intercept:
        A, rows, ridge = (
            sp.hstack([A, sp.csr_array((D - 1, 1))], format="csr"),
            WithIntercept(rows),
            np.append(ridge, 0.0),
        )
    weights = RNG.integers(1, 3, size=N).astype(float)
    return Problem(rows, y, loss=loss, penalty=L1(0.01), A=A, gamma=ridge, sample_weight=weights)


@pytest.mark.parametrize("order", [None, np.random.default_rng(1).permutation(D)], ids=["in order", "permuted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("loss, y", CASES, ids=lambda value: type(value).__name__)
def test_the_optimum_is_that_of_the_interior_point_method(loss, y, intercept, order):
    problem = problem_with(loss, y, intercept, order)
    result, other = solve(problem, SDCA(), tol=1e-5, epochs=2000), solve(problem, IPM(), tol=1e-9)
    assert result.status.name == "converged" and result.certificate.primal_residual == 0.0
    optimum, certificate = problem.objective(other.w), result.certificate
    assert certificate.dual <= optimum * (1.0 + 1e-9) and optimum <= certificate.primal * (1.0 + 1e-9)
    assert problem.objective(result.w) == pytest.approx(optimum, rel=1e-5)


def test_the_dual_value_never_falls():
    problem = problem_with(Hinge(), LABELS)
    run = SDCA().begin(problem, Point(np.zeros(D), np.zeros(D - 1), np.zeros(D - 1)))
    found = []
    for _ in range(50):
        run.advance(Iterations(1))
        found.append(duality.dual_value(problem, run.answer, *run.dual_point()).value)
    assert found[-1] > found[0] and np.all(np.diff(found) >= -1e-14)


def test_a_penalty_of_the_chain_itself_is_the_same_problem():
    problem = problem_with(Logistic(), LABELS)
    same = Problem(
        X, LABELS, loss=Logistic(), penalty=ChainTV(0.01), A=np.eye(D), gamma=0.05, sample_weight=problem.rows.c
    )
    results = [solve(each, SDCA(), tol=1e-8, epochs=1000) for each in (problem, same)]
    np.testing.assert_allclose(results[0].w, results[1].w, atol=1e-6)


def test_what_it_cannot_solve_is_refused_with_a_reason():
    y, A = LABELS, graphs.difference(D)
    for change, reason in [
        ({"gamma": 0.0}, "no ridge"),
        ({"A": graphs.difference(D, 2)}, "disjoint paths"),
        ({"b": np.ones(D - 1)}, "b is not 0"),
    ]:
        given = {"loss": Hinge(), "penalty": L1(0.1), "A": A, "gamma": 0.1} | change
        with pytest.raises(ValueError, match=reason):
            solve(Problem(X, y, **given), SDCA())


def test_a_fit_continues_from_a_warm_start():
    model = GraphGuidedClassifier(
        "chain", solver=SDCA(), l2=0.05, alpha=0.01, loss="logistic", tol=1e-6, warm_start=True
    )
    first = model.fit(X, LABELS).n_iter_
    assert model.fit(X, LABELS).n_iter_ < first
