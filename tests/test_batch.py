"""Batch ADMM is that of the dense oracle, a weight is a repetition, and what nothing determines stays where it was."""

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np
import oracle
import pytest
from cases import (
    BALL,
    BOX,
    INTERPRETED,
    LAYOUTS,
    LOSSES,
    MATRICES_B,
    PENALTIES,
    SAMPLES,
    Case,
    assert_close,
    assert_same_bits,
    assert_same_run,
    run_interpreted,
)

from adasadmm import ADMM, L1, Box, Problem, Squared, SquaredHinge, Stack, Status, Zero, penalties, solve
from adasadmm.solvers.admm import batch as admm

pytestmark = pytest.mark.kernels

BALANCING = oracle.Balancing(admm.FIRST_BETA, admm.BALANCED_AT, admm.BALANCE_LIMITS, admm.BALANCE_DEADBAND)


def twin(case, iterations=40, **settings):
    return oracle.batch(*case.data, **case.terms, iterations=iterations, balancing=BALANCING, **settings)


def whole_product():
    """Every loss with every penalty, B and layout; the other settings go round."""
    for k, (loss, penalty, B, layout) in enumerate(itertools.product(LOSSES, PENALTIES, MATRICES_B, LAYOUTS)):
        if B == "parts" and penalty != "stack":
            continue
        options = {
            "b": k // 3 % 2 == 0,
            "weights": k // 5 % 2 == 0,
            "gamma_each": k // 7 % 2 == 0,
            "w_set": (None, BOX, BALL)[k // 11 % 3],
        }
        yield Case(loss, penalty, layout=layout, B=B, w_step="exact", **options)


COVERING = [
    Case("hinge", "l1", layout="csr", w_step="exact"),
    Case("squared-hinge", "l1", w_step="exact", b=True, gamma_each=True),
    Case("logistic", "l1", layout="csr", w_step="exact", B="general", weights=True),
    Case("squared", "l1", w_step="exact", b=True, weights=True, gamma_each=True),
    Case("huber", "l1", layout="csr", w_step="exact", B="orthogonal", b=True),
    Case("epsilon", "l1", w_step="exact", B="general", b=True, gamma_each=True),
    Case("quantile", "l1", w_step="exact", w_set=BOX, weights=True),
    Case("poisson", "l1", layout="csr", w_step="exact", b=True),
]


@pytest.mark.parametrize("case", [*COVERING, *(whole_product() if INTERPRETED else ())], ids=str)
def test_batch_admm_is_that_of_the_oracle(uncertified, case):
    """After 40 iterations, with three changes of each beta on the way."""
    result, history = solve(case.problem, ADMM(), epochs=40, tol=0.0), twin(case)
    # The prox of the negative binomial loss is a root; the oracle finds it by bisection, with another rounding error.
    tolerance = 1e-8 if case.loss == "negative-binomial" else 1e-9
    assert_same_run(result, history, case.problem, tolerance)
    inside = history.V[-1][case.problem.p :] if case.w_set is not None else history.W[-1]
    assert_close(result.w_feasible, inside, tolerance)


if not INTERPRETED:

    @pytest.mark.slow
    def test_the_whole_product_interpreted():
        """All penalties, with all losses."""
        run = run_interpreted(__file__)
        assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("beta, relax", [("auto", 1.0), (0.3, 1.6), (2.0, 1.8)])
def test_its_settings(beta, relax):
    case = COVERING[3]
    result = solve(case.problem, ADMM(beta=beta, relax=relax), epochs=40, tol=0.0)
    assert_same_run(result, twin(case, beta=beta, relax=relax), case.problem)


def test_it_starts_where_another_solver_ended():
    case = COVERING[0]
    start = solve(case.problem, dataclasses.replace(case, w_step="linearized").solver, samples=SAMPLES)
    result = solve(case.problem, ADMM(), epochs=20, tol=0.0, start=start)
    assert_same_run(result, twin(case, 20, start=(start.w, start.v, start.theta)), case.problem)


@pytest.mark.parametrize("case", [COVERING[0], COVERING[2], COVERING[6]], ids=str)
def test_two_halves_are_one_run(case):
    whole = solve(case.problem, ADMM(), epochs=30, tol=0.0)
    problem = case.problem
    first = solve(problem, ADMM(), epochs=13, tol=0.0)
    assert_same_bits(whole, solve(problem, ADMM(), epochs=17, tol=0.0, start=first))
    assert_same_bits(whole, solve(problem, ADMM(), epochs=17, tol=0.0, start=first))  # the first half stays as it was


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [COVERING[0], COVERING[3]], ids=str)
def test_a_weight_is_a_repetition(case):
    """Whole weights, 0 among them, against rows that stand so often; n is another, the run is the same."""
    (X, y), weights = case.data, np.array([2, 1, 0, 3, 2, 2, 1, 4])
    settings = {"loss": LOSSES[case.loss], "gamma": case.gamma, **case.settings}
    weighted = Problem(LAYOUTS[case.layout](X), y, sample_weight=weights, **settings)
    repeated = Problem(LAYOUTS[case.layout](np.repeat(X, weights, axis=0)), np.repeat(y, weights), **settings)
    for options in ({"epochs": 40, "tol": 0.0}, {"tol": 1e-6}):
        one, other = (solve(problem, ADMM(), **options) for problem in (weighted, repeated))
        assert one.status is other.status is (Status.done if "epochs" in options else Status.converged)
        assert len(one.trace["iteration"]) == len(other.trace["iteration"])
        for name in ("w", "v", "theta", "w_mean"):
            assert_close(getattr(one, name), getattr(other, name))
        assert_close(np.array([one.certificate.primal]), np.array([other.certificate.primal]))


# --- what nothing determines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_coordinate_without_data_ridge_and_constraint_stays_at_its_start(layout):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(20, 5)), rng.normal(size=(3, 5))
    X[:, [1, 3]] = A[:, [1, 3]] = 0.0
    gamma = np.array([0.0, 0.0, 0.2, 0.0, 0.1])
    problem = Problem(LAYOUTS[layout](X), rng.normal(size=20), loss=Squared(), penalty=L1(0.1), A=A, gamma=gamma)
    from_zero = solve(problem, ADMM(), tol=1e-9)
    np.testing.assert_array_equal(from_zero.w[[1, 3]], 0.0)
    placed = dataclasses.replace(from_zero, w=from_zero.w + np.array([0.0, 7.0, 0.0, -1e-3, 0.0]), run=None)
    result = solve(problem, ADMM(), tol=1e-9, start=placed)
    np.testing.assert_allclose(result.w[[1, 3]], [7.0, -1e-3], rtol=1e-12)
    result = solve(problem, ADMM(), epochs=100, tol=0.0, start=result)
    np.testing.assert_allclose(result.w[[1, 3]], [7.0, -1e-3], rtol=1e-12)
    np.testing.assert_allclose(result.w[[0, 2, 4]], from_zero.w[[0, 2, 4]], rtol=1e-4)


# --- the trace -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every, wanted", [(7, [7, 14, 21, 28, 30]), (15, [15, 30]), (0.25, [10, 20, 30])])
def test_what_the_trace_says(every, wanted):
    """Each column, from the oracle's iterates; a point for each span of iterations and for the last."""
    case = COVERING[3]
    solver, history = ADMM(beta=0.3), twin(case, 30, beta=0.3)
    trace = solve(case.problem, solver, epochs=30, tol=0.0, trace_every=every).trace
    A, B, b, *_ = case.constraint
    np.testing.assert_array_equal(trace["iteration"], wanted)
    np.testing.assert_array_equal(trace["epoch"], wanted)
    assert np.isnan(trace["eta"]).all()
    for k, t in enumerate(wanted):
        w, v, before = history.W[t], history.V[t], history.V[t - 1]
        assert_close(trace["objective"][k], case.objective(w, v))
        assert_close(trace["objective_mean"][k], case.objective(history.W[:t].mean(axis=0), None))
        assert_close(trace["primal_residual"][k], np.linalg.norm(A @ w + B @ v - b))
        assert_close(trace["dual_residual"][k], 0.3 * np.linalg.norm(A.T @ B @ (v - before)))


def test_the_callback_can_stop_the_run():
    case = COVERING[0]
    result = solve(case.problem, ADMM(), tol=0.0, trace_every=5, callback=lambda snapshot: snapshot.iteration >= 10)
    assert result.status is Status.stopped
    assert_same_bits(result, solve(case.problem, ADMM(), epochs=10, tol=0.0))


def test_sparse_and_dense_rows_are_the_same_run():
    case = COVERING[1]
    dense, sparse = (solve(dataclasses.replace(case, layout=layout).problem, ADMM(), tol=1e-8) for layout in LAYOUTS)
    assert_close(dense.w, sparse.w)
    assert dense.status is sparse.status is Status.converged


# --- certificates ----------------------------------------------------------------------------------------------------


ROWS = np.random.default_rng(0).normal(size=(8, 2)), np.random.default_rng(1).normal(size=8)


class AtMost(NamedTuple):
    """A set of a user's own."""

    top: float


@penalties.value.register
def at_most_value(penalty: AtMost, v):
    return 0.0


@penalties.prox.register
def at_most_prox(penalty: AtMost, x, tau, out):
    for k in range(len(x)):
        out[k] = min(x[k], penalty.top)


@penalties.conjugate.register
def at_most_conjugate(penalty: AtMost, s):
    return float(penalty.top * s.sum())


@penalties.domain.register
def at_most_domain(penalty: AtMost, s):
    return np.maximum(s, 0.0)


def test_a_point_outside_a_set_of_ones_own_is_not_taken_for_feasible():
    X, y = ROWS
    for iterations in (3, 200):
        mine, box = (
            solve(Problem(X, y, loss=Squared(), penalty=p, A=np.eye(2), gamma=0.1), ADMM(), epochs=iterations, tol=0.0)
            for p in (AtMost(0.1), Box(-np.inf, 0.1))
        )
        assert mine.certificate == box.certificate


def test_a_set_of_some_coordinates_of_w():
    X, y = ROWS
    terms = {"loss": Squared(), "penalty": L1(0.1), "A": np.eye(2), "gamma": 0.1}
    stack = Stack(((Box(-np.inf, 0.2), [1]),))
    some, box = (
        solve(Problem(X, y, **terms, w_set=w_set), ADMM(), tol=1e-8, epochs=5000)
        for w_set in (stack, Box(-np.inf, np.array([np.inf, 0.2])))
    )
    assert some.status is Status.converged
    assert_close(some.w_feasible, box.w_feasible, 1e-3)


def test_0_is_a_dual_point_where_none_else_is_found():
    X, _ = ROWS
    problem = Problem(X, np.sign(X[:, 0]), loss=SquaredHinge(), penalty=L1(0.0), A=np.eye(2))  # separable, no ridge
    certificate = solve(problem, ADMM()).certificate
    assert certificate.dual == 0.0 and certificate.relative_gap <= 1e-3


def test_rounding_of_a_tall_B_does_not_hide_a_dual_point():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    X, y = ROWS
    problem = Problem(X, y, loss=Squared(), penalty=Zero(), A=A, B=B, b=rng.normal(size=3), gamma=1e-3)
    assert solve(problem, ADMM(), tol=1e-8, epochs=5000).status is Status.converged
