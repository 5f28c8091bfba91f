"""Multinomial logistic regression: the loss of several predictions, its certificates, and the solvers that take it."""

from __future__ import annotations

from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from adasadmm import (
    ADMM,
    ASVRGADMM,
    L1,
    RDASADMM,
    SADMM,
    SPDHG,
    SVRGADMM,
    AdaSADMM,
    Checkpoint,
    Full,
    GraphGuidedClassifier,
    GroupL2,
    Problem,
    Stack,
    Zero,
    graphs,
    losses,
    penalties,
    solve,
    solvers,
    sources,
)
from adasadmm.losses import Multinomial
from adasadmm.rows.matrices import WithIntercept, as_rows
from adasadmm.solvers import ProximalNewton, certify, check_fits, slopes_at

pytestmark = pytest.mark.kernels

# --- the loss --------------------------------------------------------------------------------------------------------

LOSS = Multinomial(4)


def random_row(rng):
    y = np.eye(4)[rng.integers(4)] if rng.random() < 0.7 else rng.dirichlet(np.ones(4))
    return rng.normal(size=4) * 10.0 ** rng.uniform(-2, 3), y, 10.0 ** rng.uniform(-3, 3)


def test_slopes_curvature_and_conjugate_agree_with_the_value():
    rng = np.random.default_rng(0)
    for _ in range(100):
        z, y, _ = random_row(rng)
        s, H, near = np.empty(4), np.empty((4, 4)), np.empty(4)
        losses.slope(LOSS, z, y, s)
        losses.second(LOSS, z, y, H)
        value = np.log(np.sum(np.exp(z - z.max()))) + z.max() - y @ z
        assert losses.value(LOSS, z, y) == pytest.approx(value, abs=1e-12 * (1.0 + abs(z).max()))
        assert losses.value(LOSS, z, y) + losses.conjugate(LOSS, s, y) == pytest.approx(s @ z, abs=1e-9 * abs(z).max())
        losses.domain(LOSS, s, y, near)
        np.testing.assert_allclose(near, s, atol=1e-15)
        e = 1e-6 * rng.normal(size=4)
        moved = np.empty(4)
        losses.slope(LOSS, z + e, y, moved)
        np.testing.assert_allclose(H @ e, moved - s, atol=1e-11)
        assert np.linalg.eigvalsh(H).max() <= losses.curvature(LOSS) + 1e-15


def test_the_prox_is_where_the_slope_balances_the_move():
    rng = np.random.default_rng(1)
    for _ in range(200):
        z, y, tau = random_row(rng)
        for u in (z.copy(), z - tau * rng.random(4), np.full(4, np.nan), np.full(4, 1e300)):  # guesses
            losses.prox(LOSS, z, tau, y, u)
            losses.slope(LOSS, u, y, s := np.empty(4))
            np.testing.assert_allclose(s, (z - u) / tau, atol=1e-13 * (1.0 + abs(z).max() / tau))


def test_the_domain_is_the_nearest_point_of_the_shifted_simplex():
    rng = np.random.default_rng(2)
    for _ in range(100):
        z, y, _ = random_row(rng)
        near = np.empty(4)
        losses.domain(LOSS, z, y, near)
        assert (near + y).min() >= -1e-15 and abs(near.sum()) <= 1e-12 * (1.0 + abs(z).max())
        assert max((z - near) @ (corner - y - near) for corner in np.eye(4)) <= 1e-9 * (1.0 + abs(z).max()) ** 2


def test_balanced_slopes_are_probabilities_with_the_frequencies_of_the_classes():
    rng = np.random.default_rng(3)
    targets, weight = np.eye(4)[rng.integers(3, size=50)], rng.random(50)  # class 3 never occurs
    p = rng.dirichlet(0.1 * np.ones(4), size=50)
    s = losses.balanced(LOSS, (p - targets).reshape(-1), targets.reshape(-1), np.repeat(weight, 4)).reshape(-1, 4)
    np.testing.assert_allclose(weight @ s, 0.0, atol=1e-13)
    assert (s + targets).min() >= 0.0
    np.testing.assert_allclose(s.sum(axis=1), 0.0, atol=1e-14)


def test_targets_are_classes_or_probabilities():
    X, A = np.eye(3), np.ones((1, 3))
    by_class = Problem(X, [0, 2, 1], loss=Multinomial(), penalty=Zero(), A=A)
    by_row = Problem(X, np.eye(3)[[0, 2, 1]], loss=Multinomial(), penalty=Zero(), A=A)
    w = np.arange(9.0)
    assert by_class.objective(w) == by_row.objective(w) and by_class.loss == by_row.loss == Multinomial(3)
    with pytest.raises(ValueError, match="whole numbers from 0 to 2, the classes of Multinomial"):
        Problem(X, [0, 0.5, 2], loss=Multinomial(), penalty=Zero(), A=A)
    with pytest.raises(ValueError, match="must be probabilities of the classes"):
        Problem(X, np.ones((3, 2)), loss=Multinomial(), penalty=Zero(), A=A)
    with pytest.raises(ValueError, match="y must have 1 or 4 columns"):
        Problem(X, np.eye(3), loss=Multinomial(4), penalty=Zero(), A=A)


ACCURATE = (SVRGADMM(), ASVRGADMM(), SPDHG())
EVERY = [
    getattr(solvers, name)(1.0) if name == "OADMM" else getattr(solvers, name)()
    for name in solvers.__all__
    if isinstance(getattr(solvers, name), type)
    and issubclass(getattr(solvers, name), solvers.Solver)
    and getattr(solvers, name) is not solvers.Solver
]


@pytest.mark.parametrize("solver", EVERY, ids=lambda one: type(one).__name__)
def test_every_solver_takes_a_softmax_or_says_so_before_any_work(solver):
    problem = Problem(np.eye(3), [0, 1, 2], loss=Multinomial(), penalty=L1(0.1), A=graphs.difference(3), gamma=1.0)
    if solver.takes_vector_losses:
        check_fits(solver, problem)
        return
    with pytest.raises(TypeError, match="takes losses of one prediction, got Multinomial; use ADMM"):
        solve(problem, solver)


# --- against scikit-learn --------------------------------------------------------------------------------------------


def ridge_problem(X, y, C=1.0):
    n, d = X.shape
    gamma = np.append(np.full(d, 1.0 / (C * n)), 0.0)
    rows = WithIntercept(as_rows(np.ascontiguousarray(X)))
    return Problem(rows, y, loss=Multinomial(), penalty=Zero(), A=np.zeros((1, d + 1)), gamma=gamma)


@pytest.mark.parametrize("load", [load_iris, load_wine, pytest.param(load_digits, marks=pytest.mark.slow)])
def test_without_structure_it_is_scikit_learns_model(load):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    problem = ridge_problem(X, y, C=0.1)
    peer = LogisticRegression(C=0.1, solver="newton-cg", tol=1e-12, max_iter=1000).fit(X, y)
    result = solve(problem, ProximalNewton(), tol=1e-11)  # rounding errors leave a gap of 1.01e-12
    W = result.w.reshape(-1, problem.outputs)
    np.testing.assert_allclose(W[:-1].T, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(W[-1] - W[-1].mean(), peer.intercept_ - peer.intercept_.mean(), atol=1e-6)


# --- against CVXPY ---------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    settings: dict[str, Any]
    has_intercept: bool


def random_case(number: int) -> Case:
    """Problem number ``number``: any structure, with or without weights, offsets, intercept and a joint penalty."""
    rng = np.random.default_rng(number)
    n, d, k = int(rng.integers(15, 40)), int(rng.integers(2, 6)), int(rng.integers(2, 5))
    X, y = rng.normal(size=(n, d)), np.append(np.arange(k), rng.integers(k, size=n - k))
    kind = number % 5
    A = sp.vstack([graphs.difference(d), sp.eye_array(d)]) if kind in (1, 3) else graphs.difference(d)
    m, nu = A.shape[0], 10.0 ** rng.uniform(-3, -0.5)
    one: Any = L1(nu, rng.uniform(0.5, 2.0, m)) if kind == 2 else L1(nu)
    if kind == 3:
        one = Stack([(L1(nu), np.arange(d - 1)), (GroupL2(0.5 * nu, [np.arange(d)]), np.arange(d - 1, m))])
    penalty = penalties.for_outputs(one, m, k, joint=bool(rng.integers(2)))
    has_intercept = bool(rng.integers(2))
    gamma = np.full(d, 10.0 ** rng.uniform(-3, 0))
    if has_intercept:
        X, A, gamma = np.column_stack([X, np.ones(n)]), sp.hstack([A, sp.csr_array((m, 1))]), np.append(gamma, 0.0)
    settings = {"X": X, "y": y, "penalty": penalty, "A": sp.csr_array(A), "gamma": gamma}
    if rng.random() < 0.5:
        settings["sample_weight"] = rng.integers(0, 3, n) + (np.arange(n) < k)
    if rng.random() < 0.5:
        settings["offset"] = rng.normal(size=(n, k))
    return Case(settings, has_intercept)


def problem_of(case: Case) -> Problem:
    settings = dict(case.settings)
    X = settings.pop("X")
    rows = WithIntercept(as_rows(np.ascontiguousarray(X[:, :-1]))) if case.has_intercept else X
    return Problem(rows, loss=Multinomial(), **settings)


def optimum(X, y, *, penalty, A, gamma, sample_weight=None, offset=0.0) -> float:
    """The optimal value by Clarabel."""
    n, k = len(y), int(y.max()) + 1
    c = np.ones(n) if sample_weight is None else sample_weight / sample_weight.mean()
    W = cp.Variable((X.shape[1], k))
    Z, v = X @ W + offset, cp.reshape(A @ W, (A.shape[0] * k,), order="C")
    loss = c @ (cp.log_sum_exp(Z, axis=1) - cp.sum(cp.multiply(np.eye(k)[y], Z), axis=1)) / n
    total = loss + cp.sum(cp.multiply(gamma[:, None] / 2, cp.square(W)))
    for part, rows in penalties.parts_of(penalty, A.shape[0] * k):
        own = v[np.asarray(rows)]
        if isinstance(part, L1):
            total += part.nu * cp.norm1(own if part.weights is None else cp.multiply(part.weights, own))
        else:
            weights = np.ones(len(part.groups)) if part.weights is None else part.weights
            total += part.nu * sum(
                weight * cp.norm(own[group]) for weight, group in zip(weights, part.groups, strict=True)
            )
    program = cp.Problem(cp.Minimize(total))
    program.solve(solver=cp.CLARABEL, **dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9))
    return float(program.value)


def check_against_cvxpy(number: int) -> None:
    case = random_case(number)
    problem, best = problem_of(case), optimum(**case.settings)
    for solver, tol in ((ProximalNewton(), 1e-10), (ADMM(), 1e-6)):
        result = solve(problem, solver, tol=tol, epochs=5000)
        proved = result.certificate
        assert proved.relative_gap <= tol, (number, solver, proved)
        assert proved.dual <= best + 1e-8 * (1.0 + best) and best <= proved.primal + 1e-8 * (1.0 + best)
        assert problem.objective(result.w) <= best + tol * best + 1e-8


@pytest.mark.parametrize("number", range(3))
def test_with_structure_it_is_cvxpys_optimum(number):
    check_against_cvxpy(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3, 50))
def test_with_structure_it_is_cvxpys_optimum_on_many_problems(number):
    check_against_cvxpy(number)


# --- against the dense twin ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param("identity", marks=pytest.mark.slow),
        pytest.param("diagonal", marks=pytest.mark.slow),
        pytest.param(Full(), marks=pytest.mark.slow),
    ],
)
def test_algorithm_1_follows_its_dense_twin(metric):
    rng = np.random.default_rng(4)
    X, y, A = rng.normal(size=(12, 3)), rng.integers(3, size=12), graphs.difference(3).toarray()
    weight, samples = rng.random(12) + 0.5, rng.integers(12, size=30)
    problem = Problem(X, y, loss=Multinomial(), penalty=L1(0.05), A=A, gamma=0.01, sample_weight=weight)
    solver = AdaSADMM(metric=metric, eta=0.5, a=1.0, beta=0.7, w_step="exact", batch_size=2)
    result = solve(problem, solver, samples=samples)
    targets, c = np.eye(3)[y], weight / weight.mean()
    w = oracle.ada_sadmm_of_vectors(X, targets, c, np.kron(A, np.eye(3)), 0.05, 0.01, samples, 2, metric, 0.5, 1.0, 0.7)
    np.testing.assert_allclose(result.w, w, atol=1e-6 if isinstance(metric, Full) else 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [SADMM(eta=1.0), RDASADMM(), AdaSADMM(), AdaSADMM(Full(refresh=0.05))], ids=repr)
def test_stochastic_solvers_approach_the_optimum_with_true_certificates(solver):
    X, y = load_iris(return_X_y=True)
    problem = ridge_problem((X - X.mean(axis=0)) / X.std(axis=0), y, C=0.1)
    best = solve(problem, ProximalNewton(), tol=1e-12).certificate.primal
    result = solve(problem, solver, epochs=50, seed=1)
    assert result.certificate.dual <= best * (1.0 + 1e-12) <= problem.objective(result.w_average) * (1.0 + 1e-9)
    assert problem.objective(result.w_average) <= 1.05 * best


@pytest.mark.slow
@pytest.mark.parametrize("solver", ACCURATE, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_solvers_for_high_accuracy_reach_the_optimum(solver, weighted, flowers):
    X, y = flowers
    weight, offset = (
        (np.arange(len(y)) % 3, np.sin(np.arange(3.0 * len(y))).reshape(-1, 3)) if weighted else (None, None)
    )
    of_rows = {"sample_weight": weight, "offset": offset}  # some rows have no weight
    parts = {"loss": Multinomial(), "penalty": L1(0.02), "A": graphs.difference(4), "gamma": 0.02}
    problem = Problem(X, np.searchsorted(np.unique(y), y), **parts, **of_rows)
    best = solve(problem, ProximalNewton(), tol=1e-12).certificate.primal
    result = solve(problem, solver, tol=1e-7)
    assert result.status.name == "converged"
    assert result.certificate.dual <= best * (1.0 + 1e-12) and result.certificate.primal <= best * (1.0 + 1e-7)


@pytest.mark.parametrize(
    "solver",
    [ADMM(), AdaSADMM(batch_size=4), ProximalNewton(), *(pytest.param(s, marks=pytest.mark.slow) for s in ACCURATE)],
    ids=lambda one: type(one).__name__,
)
def test_a_resumed_run_has_the_same_bits(solver, flowers, tmp_path):
    X, y = flowers
    problem = ridge_problem(X, np.searchsorted(np.unique(y), y), C=0.1)
    whole = solve(problem, solver, epochs=6, tol=0.0 if solver.knows_gap else None)
    kept = Checkpoint(tmp_path / "kept")
    solve(problem, solver, epochs=6, tol=0.0 if solver.knows_gap else None, checkpoint=kept, callback=stop_early())
    resumed = solve(problem, solver, epochs=6, tol=0.0 if solver.knows_gap else None, checkpoint=kept, resume=True)
    np.testing.assert_array_equal(whole.w_average, resumed.w_average)


def stop_early():
    calls = []
    return lambda snapshot: calls.append(snapshot) or len(calls) == 2


# --- a loss of a user's own ------------------------------------------------------------------------------------------


class Graded(NamedTuple):
    """The multinomial loss of grades, which raises the score of a wrong grade by its distance from the true one."""

    grades: int
    price: float = 1.0


@losses.width.register(Graded)
def width_of_graded(loss):
    return loss.grades


@losses.value.register(Graded)
def value_of_graded(loss, z, y):
    raised = z + loss.price * np.abs(np.arange(loss.grades) - y[0])
    return raised.max() + np.log(np.sum(np.exp(raised - raised.max()))) - z[int(y[0])]


@losses.slope.register(Graded)
def slope_of_graded(loss, z, y, out):
    raised = z + loss.price * np.abs(np.arange(loss.grades) - y[0])
    out[:] = np.exp(raised - raised.max())
    out /= out.sum()
    out[int(y[0])] -= 1.0


@pytest.mark.slow  # compiles for seconds
def test_a_vector_loss_of_ones_own_follows_the_built_in_one(flowers):
    X, y = flowers
    grade, settings = np.searchsorted(np.unique(y), y), {"penalty": L1(0.01), "A": graphs.difference(4), "gamma": 0.01}
    own, built_in = (Problem(X, grade, loss=loss, **settings) for loss in (Graded(3, 0.0), Multinomial(3)))
    w = np.random.default_rng(0).normal(size=12)
    assert own.objective(w) == pytest.approx(built_in.objective(w), rel=1e-12)
    one, other = (solve(problem, RDASADMM(), epochs=1, order="given") for problem in (own, built_in))
    np.testing.assert_allclose(one.w, other.w, atol=1e-12)
    assert "Graded has no losses.conjugate" in one.certificate.reason
    with pytest.raises(TypeError, match=r"ProximalNewton needs losses.second for Graded"):
        solve(own, ProximalNewton())


class Wrong(NamedTuple):
    """A loss with functions that contradict each other."""

    sign: float = 1.0


def test_functions_of_a_vector_loss_that_contradict_each_other_are_rejected():
    losses.width.register(Wrong, lambda loss: 2)
    losses.value.register(Wrong, lambda loss, z, y: 0.5 * float(np.sum((z - y) ** 2)))
    losses.slope.register(Wrong, lambda loss, z, y, out: np.subtract(y, z, out=out))
    X, y = np.eye(2), [0.0, 1.0]
    settings = {"loss": Wrong(), "penalty": L1(0.1), "A": [[1.0, -1.0]]}
    with pytest.raises(ValueError, match=r"losses.slope of Wrong is wrong: at z="):
        Problem(X, y, **settings)
    losses.slope.register(Wrong, lambda loss, z, y, out: np.subtract(z, y, out=out))
    losses.prox.register(Wrong, lambda loss, z, tau, y, out: np.add(z, 0.0, out=out))
    with pytest.raises(ValueError, match=r"losses.prox of Wrong is wrong"):
        Problem(X, y, **settings)
    losses.prox.register(Wrong, lambda loss, z, tau, y, out: np.divide(z + tau * y, 1.0 + tau, out=out))
    losses.conjugate.register(Wrong, lambda loss, s, y: 0.25 * float(s @ s) + float(s @ y))
    losses.domain.register(Wrong, lambda loss, s, y, out: np.add(s, 0.0, out=out))
    with pytest.raises(ValueError, match=r"losses.conjugate of Wrong is wrong"):
        Problem(X, y, **settings)
    losses.conjugate.register(Wrong, lambda loss, s, y: 0.5 * float(s @ s) + float(s @ y))
    assert Problem(X, y, **settings).outputs == 2


def test_without_a_ridge_the_certificate_is_still_tight(flowers):
    X, y = flowers
    noisy, settings = np.where(np.arange(len(y)) % 5 == 0, np.roll(y, 60), y), {"alpha": 0.01, "l2": 0.0, "tol": 1e-8}
    for intercept in (True, False):
        model = GraphGuidedClassifier("chain", loss="multinomial", fit_intercept=intercept, **settings)
        assert model.fit(X, noisy).dual_gap_ <= 1e-8


@pytest.mark.parametrize("weighted", [False, True])
def test_a_lower_bound_of_streamed_rows_with_one_free_coordinate_is_below_the_optimum(weighted):
    rng = np.random.default_rng(1)
    X, y, gamma = np.abs(rng.normal(size=(6, 2))), np.array([0, 1, 2, 0, 1, 1]), np.full((2, 3), 0.05)
    gamma[1, 2] = 0.0
    weight = rng.uniform(0.5, 2.0, 6) if weighted else None
    settings = {"loss": Multinomial(3), "penalty": Zero(), "A": [[1.0, 0.0]], "gamma": gamma}
    whole, problem = Problem(X, y, sample_weight=weight, **settings), Problem(sources.arrays(X, y, weight), **settings)
    best = solve(whole, ProximalNewton(), tol=1e-12).w
    for _ in range(300):
        w = best + rng.normal(scale=10.0 ** rng.uniform(-4, 0), size=6)
        found = certify(problem, w, problem.times_A(w), slopes_at(problem, w), np.zeros(3))
        assert -np.inf < found.dual <= whole.objective(best) * (1.0 + 1e-12)
