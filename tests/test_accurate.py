"""Runs to high accuracy are those of the dense oracle, go on as one run, and reach what CVXPY finds."""

import dataclasses
import itertools

import numpy as np
import oracle_accurate
import pytest
import scipy.sparse as sp
from cases import (
    BALL,
    BOX,
    INTERPRETED,
    LAYOUTS,
    LOSSES,
    MATRICES_B,
    PENALTIES,
    Case,
    N,
    assert_close,
    assert_same_bits,
    assert_same_run,
    run_interpreted,
)
from references import NAMES, TOLERANCE, reference

from adasadmm import ASVRGADMM, L1, SPDHG, SVRGADMM, Hinge, Logistic, Problem, SquaredHinge, Status, losses, solve
from adasadmm._core.jit import is_registered
from adasadmm.certificates.scaling import scaling
from adasadmm.rows.matrices import WithIntercept, as_rows
from adasadmm.solvers import Batches, Point
from adasadmm.solvers.stochastic.variance_reduction import automatic_batch_size

pytestmark = pytest.mark.kernels

SMOOTH = ("squared-hinge", "logistic", "squared", "huber")
VISITS = np.random.default_rng(5).integers(N, size=70)  # 8 epochs and a part of one; batches of 3 leave a shorter one
SOLVERS = {"spdhg": SPDHG, "svrg": SVRGADMM, "asvrg": ASVRGADMM}


def whole_product():
    """Every loss with every penalty, B and layout; the other settings go round."""
    for k, (loss, penalty, B, layout) in enumerate(itertools.product(LOSSES, PENALTIES, MATRICES_B, LAYOUTS)):
        if B == "parts" and penalty != "stack":
            continue
        options = {
            "A": ("general", "graph", "weighted graph")[k // 2 % 3],
            "b": k // 3 % 2 == 0,
            "batch_size": (1, 3)[k // 5 % 2],
            "weights": k // 7 % 2 == 0,
            "gamma_each": k // 11 % 2 == 0,
            "w_set": (None, BOX, BALL)[k // 13 % 3],
        }
        name = ("spdhg", "asvrg", "svrg")[k % 3] if loss in SMOOTH else "spdhg"
        yield name, Case(loss, penalty, layout=layout, B=B, **options)


COVERING = [
    ("spdhg", Case("hinge", "l1", layout="csr", A="graph", batch_size=3)),
    ("spdhg", Case("quantile", "l1", w_set=BOX, b=True, weights=True)),
    ("spdhg", Case("poisson", "l1", B="general", b=True, gamma_each=True)),
    ("svrg", Case("squared", "l1", layout="csr", A="weighted graph", b=True, weights=True, gamma_each=True)),
    ("asvrg", Case("logistic", "l1", layout="csr", A="graph", batch_size=3)),
    ("asvrg", Case("huber", "elastic-net", w_set=BALL, B="orthogonal", weights=True)),
]
SLOW_TO_COMPILE = () if INTERPRETED else ("poisson", "huber")
EVERY_CASE = [
    pytest.param(name, case, marks=pytest.mark.slow) if case.loss in SLOW_TO_COMPILE else (name, case)
    for name, case in COVERING
]
some = pytest.mark.parametrize("name, case", COVERING[:1] + COVERING[4:5], ids=str)


def twin(name, case, samples=VISITS, data=None, **changes):
    settings = {
        **case.terms,
        "samples": samples,
        "batch_size": case.batch_size,
        "box": case.w_set if case.w_set is BOX else None,
    }
    if name == "spdhg":
        return oracle_accurate.spdhg(*(data or case.data), **settings, **changes)
    return oracle_accurate.svrg(*(data or case.data), **settings, momentum=SOLVERS[name].momentum, **changes)


def constraint_terms(case):
    """A box is kept in the w-step here; any other set is split off."""
    return dataclasses.replace(case, metric="identity", w_step="linearized")


def run(name, case, samples=VISITS, beta="auto", problem=None, **options):
    solver = SOLVERS[name](batch_size=case.batch_size, beta=beta)
    return solve(problem or case.problem, solver, samples=samples, tol=0.0, trace_every=100.0, **options)


@pytest.mark.parametrize("name, case", [*EVERY_CASE, *(whole_product() if INTERPRETED else ())], ids=str)
def test_run_is_that_of_the_oracle(uncertified, name, case):
    """Over 8 epochs, with four changes of eta and beta, and the means that depend on them."""
    case = constraint_terms(case)
    result, (history, answer) = run(name, case), twin(name, case)
    assert_same_run(result, history, case.problem, 1e-8)
    if name == "spdhg":
        assert_close(result.run.dual_point()[0], answer, 1e-8)
        answer = history.W[-1]
    assert_close(result.w_average, answer, 1e-8)


if not INTERPRETED:

    @pytest.mark.slow
    def test_the_whole_product_interpreted():
        """All penalties, with all losses."""
        done = run_interpreted(__file__)
        assert done.returncode == 0, done.stdout + done.stderr


@some
def test_a_beta_of_ones_own_is_kept(uncertified, name, case):
    result, (history, _) = run(name, case, beta=0.3), twin(name, case, beta=0.3)
    assert_same_run(result, history, case.problem, 1e-8)
    assert result.run.beta == 0.3


# --- one run ---------------------------------------------------------------------------------------------------------


@some
def test_two_halves_are_one_run(name, case):
    problem = case.problem
    first = run(name, case, VISITS[:30], problem=problem)
    second = run(name, case, VISITS[30:], problem=problem, start=first)
    assert_same_bits(second, run(name, case))
    assert_same_bits(second, run(name, case, VISITS[30:], problem=problem, start=first))  # the first stays as it was


@some
def test_what_was_saved_is_gone_on_from(name, case):
    one = run(name, case, VISITS[:30]).run
    saved = one.state()
    work = Batches(one.problem.rows, VISITS[30:], one.batch_size)
    one.advance(work)
    w, mean, answer = one.point.w.copy(), one.means[1], one.answer
    one.restore(saved)
    one.advance(work)
    for got, wanted in ((one.point.w, w), (one.means[1], mean), (one.answer, answer)):
        np.testing.assert_array_equal(got, wanted)


@some
def test_other_rows_begin_a_new_run_from_the_same_point(uncertified, name, case):
    first = run(name, case)
    X, y = case.data
    settings = {"loss": LOSSES[case.loss], "gamma": case.gamma, **case.settings}
    other = Problem(LAYOUTS[case.layout](X[::-1]), y[::-1], **settings)
    solver = SOLVERS[name](batch_size=case.batch_size)
    result = solve(other, solver, samples=VISITS, tol=0.0, start=first)
    point = (first.w_average, first.v, first.theta)
    history, _ = twin(name, case, start=point, data=(X[::-1], y[::-1]))
    assert_same_run(result, history, other, 1e-8)


@pytest.mark.parametrize("solver", [SPDHG(), SVRGADMM(), ASVRGADMM()], ids=lambda one: type(one).__name__)
def test_another_loss_begins_a_new_run_from_the_same_point(solver):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(200, 5)), np.eye(4, 5) - np.eye(4, 5, 1)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0.0, 1.0, -1.0)
    logistic = Problem(X, y, loss=Logistic(), penalty=L1(0.01), A=A, gamma=0.01)
    first, other = solve(logistic, solver, tol=1e-3), logistic.replaced(loss=SquaredHinge())
    point = Point(first.w_average, first.v, first.theta)
    new, result = solver.begin(other, point), solve(other, solver, epochs=0, start=first)
    assert result.run.monitor().eta == new.monitor().eta
    np.testing.assert_array_equal(result.run.dual_point()[0], new.dual_point()[0])
    assert solve(other, solver, tol=1e-6, start=first).status is Status.converged


# --- what it takes from rows and columns -----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rare_is_fast", [True, False])
def test_scaling_is_that_of_the_columns(layout, rare_is_fast):
    case = Case(loss="squared", weights=True)
    X, y = case.data
    X[:, 2] = 0.0
    rows = WithIntercept(as_rows(LAYOUTS[layout](X)))
    problem = Problem(rows, y, loss=LOSSES["squared"], penalty=L1(0.1), A=np.eye(5), sample_weight=case.sample_weight)
    c = case.sample_weight / case.sample_weight.mean()
    wanted = oracle_accurate.scales(np.column_stack([X, np.ones(N)]), c, 3, rare_is_fast)
    for got, value in zip(scaling(problem, 3, rare_is_fast), wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-12)


@some
def test_units_do_not_matter(name, case):
    """Features a thousand times as large, with gamma and the penalty to match: the same run in other units."""
    X, y = case.data
    settings = {**case.settings, "loss": LOSSES[case.loss]}
    scaled = {**settings, "penalty": L1(1e3 * settings["penalty"].nu)}
    solver = SOLVERS[name](batch_size=3)
    rows = LAYOUTS[case.layout]
    one = solve(Problem(rows(X), y, gamma=0.2, **settings), solver, samples=VISITS, tol=0.0)
    other = solve(Problem(rows(1e3 * X), y, gamma=0.2e6, **scaled), solver, samples=VISITS, tol=0.0)
    assert_close(1e3 * other.w, one.w)
    assert_close(other.theta, 1e3 * one.theta)


@pytest.mark.parametrize("n, columns, wanted", [(100_000, 20_000, 999), (100_000, 20, 1), (2_000, 20_000, 20)])
def test_a_batch_of_its_own_choice_matches_the_work_over_coordinates(n, columns, wanted):
    entries = np.arange(20 * n) % columns  # 20 in each row
    X = sp.csr_array((np.ones(20 * n), entries, np.arange(0, 20 * n + 1, 20)), shape=(n, columns))
    A = sp.eye_array(columns - 1, columns) - sp.eye_array(columns - 1, columns, k=1)
    problem = Problem(X, np.ones(n), loss=Hinge(), penalty=L1(0.1), A=A)
    assert automatic_batch_size(problem) == wanted
    start = Point(np.zeros(columns), np.zeros(columns - 1), np.zeros(columns - 1))
    assert SPDHG(batch_size=7).begin(problem, start).batch_size == 7


def test_a_loss_with_kinks_is_refused_with_a_better_idea():
    problem = Case("hinge").problem
    with pytest.raises(TypeError, match=r"ASVRGADMM needs losses.curvature for Hinge, which has none; use SPDHG\(\)"):
        solve(problem, ASVRGADMM())


# --- the optimum -----------------------------------------------------------------------------------------------------

QUICK = ("hinge_graph", "hinge_intercept", "logistic_chain")  # the others are compiled for a quarter of a minute each


def each_problem(names):
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.compiled
@pytest.mark.parametrize("name", each_problem(NAMES))
def test_spdhg_reaches_the_optimum_and_proves_it(name):
    assert_reaches_the_optimum(name, SPDHG())


@pytest.mark.compiled
@pytest.mark.parametrize("solver", [SVRGADMM(), ASVRGADMM()], ids=str)
@pytest.mark.parametrize("name", each_problem(NAMES))
def test_variance_reduction_reaches_the_optimum_and_proves_it(name, solver):
    loss = reference(name).problem.loss
    if not is_registered(losses.curvature, loss):
        with pytest.raises(TypeError, match=r"needs losses\.curvature"):
            solve(reference(name).problem, solver)
        return
    assert_reaches_the_optimum(name, solver)


def assert_reaches_the_optimum(name, solver):
    known = reference(name)
    result = solve(known.problem, solver, tol=1e-8, epochs=2000, trace_every=1.0)
    assert result.status is Status.converged
    slack = (1e-9 + TOLERANCE) * abs(known.optimum)
    assert result.certificate.dual - slack <= known.optimum <= result.certificate.primal + slack
    assert result.certificate.relative_gap <= 1e-8
    w, predictions = result.w_average, known.problem.predictions  # nodes that no row shows have no w of their own
    assert predictions(w) == pytest.approx(predictions(known.w), abs=1e-3)


@pytest.mark.compiled
@pytest.mark.parametrize("name", QUICK)
def test_no_certificate_on_the_way_lies(name):
    known = reference(name)
    slack = (1e-9 + TOLERANCE) * abs(known.optimum)
    for epochs in (0, 0.5, 1, 3, 10):
        certificate = solve(known.problem, SPDHG(), tol=0.0, epochs=epochs).certificate
        assert certificate.dual - slack <= known.optimum <= certificate.primal + slack


def test_it_stops_at_the_tolerance_without_being_asked():
    problem = Case("logistic", "l1", layout="csr", A="graph").problem
    result = solve(problem, ASVRGADMM(batch_size=3))
    assert result.status is Status.converged and result.certificate.relative_gap <= 1e-3
    assert isinstance(problem.loss, Logistic)
