"""The interior-point method against CVXPY, and what it shows of the structure."""

import dataclasses
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from references import NAMES, chain, graph, optimum, reference, steps, targets

from adasadmm import (
    ALM,
    IPM,
    L1,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    GraphGuidedRegressor,
    GroupL2,
    Hinge,
    Huber,
    L2Ball,
    Logistic,
    NonNegative,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    Stack,
    Status,
    Zero,
    graphs,
    losses,
    solve,
)
from adasadmm.solvers import Iterations, Point
from adasadmm.solvers.ipm.box_terms import loss_pieces, penalty_pieces, terms_of

pytestmark = pytest.mark.kernels

SMOOTH = [Squared(), Logistic(), Poisson(), SquaredHinge(), Huber(0.7)]
KINKED = [Hinge(), Quantile(0.3), EpsilonInsensitive(0.2), EpsilonInsensitive(0.0), SquaredHinge(), Huber(0.7)]


def targets_of(loss, rng, z):
    if losses.takes_labels(loss):
        return np.where(z > 0.0, 1.0, -1.0)
    return rng.poisson(np.exp(np.clip(z, -3.0, 3.0))).astype(float) if isinstance(loss, Poisson) else z


def best_of_box(piece, i, u):
    """The value of a box term at u, by the three candidates for t."""
    low, high, kink, flex = (np.broadcast_to(field, 2)[i] for field in piece)
    inside = (u - kink) / flex if flex > 0.0 else 0.0
    candidates = [t for t in (low, high, inside) if np.isfinite(t) and low <= t <= high]
    return max(t * (u - kink) - flex * t * t / 2 for t in candidates)


# --- the parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_second_is_the_derivative_of_the_slope(loss):
    step = 1e-6
    for y in (-1.0, 1.0) if losses.takes_labels(loss) else (0.0, 2.0):
        for z in (-3.1, -0.4, 0.3, 1.7, 2.9):
            chord = (losses.slope(loss, z + step, y) - losses.slope(loss, z - step, y)) / (2 * step)
            assert losses.second(loss, z, y) == pytest.approx(chord, rel=1e-6, abs=1e-8)


def test_second_does_not_overflow():
    assert losses.second(Logistic(), -1e4, 1.0) == 0.0 and losses.second(Poisson(), 1e4, 1.0) == np.inf


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_the_box_terms_of_a_loss_add_up_to_it(loss):
    y = np.array([1.0, -1.0])
    pieces = loss_pieces(loss, y)
    for i in range(2):
        for z in (-3.0, -1.0, -0.1, 0.0, 0.9, 1.1, 4.0):
            total = sum(best_of_box(piece, i, z) for piece in pieces)
            assert total == pytest.approx(losses.value(loss, z, y[i]), abs=1e-12)


def test_what_has_no_box_terms_has_none():
    assert loss_pieces(Squared(), np.zeros(2)) == ()
    assert penalty_pieces(L2Ball(1.0)) is None
    assert penalty_pieces(Zero()).pieces == ()


def test_a_group_of_one_coordinate_is_the_l1_norm():
    problem = fused_problem(Squared())
    groups = GroupL2(0.05, [[k] for k in range(problem.m)])
    ours, theirs = (dataclasses.asdict(terms_of(one)) for one in (problem.with_penalty(groups), problem))
    np.testing.assert_equal(ours, theirs)


def test_the_step_to_the_boundary_of_a_cone_ends_on_it():
    """The multiplier and the dual variable of a cone stay inside for all shorter steps, and leave it beyond."""
    problem = grouped_problem(Squared())
    method = IPM().method(problem, Point(np.zeros(20), np.zeros(26), np.zeros(26)))
    for _ in range(4):
        method.advance()
        with np.errstate(divide="ignore", invalid="ignore"):
            way = method._direction(method._residual(method._smooth()), method._smooth())
        x, step, cones = method.x.cones, method.step.cones, method.terms.cones
        starts = cones.starts[:-1]

        def least(length, x=x, step=step, cones=cones, starts=starts):
            t, tail = x.t + length * step.dt, x.tail + length * step.dtail
            sizes = (np.sqrt(np.add.reduceat(part**2, starts)) for part in (t, tail))
            rooms = (
                head - size for head, size in zip((cones.radius, x.head + length * step.dhead), sizes, strict=True)
            )
            return min(room.min() for room in rooms)

        assert least(0.999 * way.most) > 0.0 > least(1.001 * way.most)


@pytest.mark.parametrize("loss", [SquaredHinge(), Quantile(0.3)], ids=repr)
def test_the_step_to_the_boundary_of_boxes_ends_on_it(loss):
    """So do the distances to all finite ends and their multipliers; an infinite end stays far away without any."""
    problem = fused_problem(loss).with_penalty(Stack(((L1(0.05), slice(0, 19)), (NonNegative(), slice(19, 39)))))
    method = IPM().method(problem, Point(np.zeros(20), np.zeros(39), np.zeros(39)))
    for _ in range(4):
        method.advance()
        with np.errstate(divide="ignore", invalid="ignore"):
            way = method._direction(method._residual(method._smooth()), method._smooth())
        x, step, ends = method.x, method.step, method.terms.ends

        def least(length, x=x, step=step, ends=ends):
            room, force = x.room + length * np.stack([-step.dt, step.dt]), x.force + length * step.dforce
            return min(room[ends].min(), force[ends].min())

        assert least(0.999 * way.most) > 0.0 > least(1.001 * way.most)
        assert not ends.all() and not x.force[~ends].any() and np.ptp(x.room[~ends]) == 0.0


# --- the optimum -----------------------------------------------------------------------------------------------------

POSSIBLE = [name for name in NAMES if name not in ("squared_simplex", "logistic_ball")]
POSSIBLE = [name for name in POSSIBLE if not name.endswith(("_B", "_dictionary"))]


@pytest.mark.compiled
@pytest.mark.parametrize("name", POSSIBLE)
def test_ipm_reaches_the_optimum_of_every_kind_of_problem_and_proves_it(name):
    known = reference(name)
    result = solve(known.problem, IPM(), tol=1e-8)
    assert result.status is Status.converged and result.epochs <= 40
    slack = 1e-8 * abs(known.optimum)
    assert result.certificate.dual - slack <= known.optimum <= result.certificate.primal + slack
    assert result.certificate.primal <= known.optimum + 2e-8 * abs(known.optimum)


def random_settings(seed):
    """A random problem: losses, structures, shapes, weights, columns without data, and penalties of any strength."""
    rng = np.random.default_rng(seed)
    n, d = [(30, 8), (12, 25), (20, 20), (40, 2), (60, 15)][rng.integers(5)]
    X = np.eye(d) if n == d else rng.normal(size=(n, d))
    if rng.random() < 0.3 and n != d:
        X[:, rng.integers(d)] = 0.0
    loss = [*SMOOTH, *KINKED][rng.integers(len(SMOOTH) + len(KINKED))]
    y = targets_of(loss, rng, X @ (rng.normal(size=d) * (rng.random(d) < 0.5)) + 0.5 * rng.normal(size=n))
    order = 2 if d > 2 else 1
    structures = [sp.eye_array(d), chain(d), chain(d)[: d // 2], sp.vstack([chain(d), sp.eye_array(d)])]
    structures += [chain(d, order), graph(d, 1 + d // 3, seed), sp.csr_array(rng.normal(size=(d, d)))]
    A = sp.csr_array(structures[rng.integers(len(structures))])
    m, nu = A.shape[0], 10.0 ** rng.uniform(-3.0, 0.0)
    if rng.random() < 0.3:
        nu *= 10.0 ** rng.uniform(-6.0, 6.0)
    half = m // 2
    chosen = [L1(nu), L1(nu, rng.uniform(0.0, 2.0, m) * (rng.random(m) < 0.8)), ElasticNet(nu), NonNegative()]
    chosen += [Box(-0.1, 0.3), Stack(((L1(nu), slice(0, half)), (NonNegative(), slice(half, m))))]
    gamma = 0.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-6.0, 1.0)
    weight = None if rng.random() < 0.7 else np.append(1.0, rng.uniform(0.0, 2.0, n - 1) * (rng.random(n - 1) < 0.8))
    w_set = Box(-0.5, 0.5) if rng.random() < 0.1 else None
    penalty = chosen[rng.integers(len(chosen))]
    if seed % 3 == 0:
        groups = GroupL2(nu, np.array_split(rng.permutation(m), 1 + m // 4))
        bounded = (GroupL2(nu, [range(half)]), slice(0, half)), (Box(-0.1, 0.3), slice(half, m))
        penalty = groups if rng.random() < 0.7 else Stack(bounded)
    settings = {"loss": loss, "penalty": penalty, "A": A, "gamma": gamma, "w_set": w_set, "sample_weight": weight}
    return {"X": X, "y": y, **settings}


def agrees_with_cvxpy(settings, tol=1e-6):
    """Compare a run with CVXPY's optimum; False if there is nothing to compare with."""
    try:
        known = optimum(**settings)
    except (cp.SolverError, UserWarning):  # CVXPY fails, or says that the optimum is inaccurate, on extreme strengths
        return False
    problem = Problem(**settings)
    if known[0] < 1e-6 * abs(problem.loss_at_zero) or np.max(np.abs(known[1])) > 1e4:
        return False  # a perfect fit, or no minimiser: a relative gap says little
    found = solve(problem, IPM(), tol=tol)
    assert found.status is Status.converged
    slack = 1e-6 * abs(known[0])
    assert found.certificate.dual - slack <= known[0] <= found.certificate.primal + slack
    assert found.certificate.primal <= known[0] + tol * abs(known[0]) + slack
    return True


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6, 7, 8])
def test_random_problems(seed):
    assert agrees_with_cvxpy(random_settings(seed))


@pytest.mark.slow
@pytest.mark.compiled
def test_many_random_problems():
    compared = [agrees_with_cvxpy(random_settings(seed)) for seed in range(100, 260)]
    assert sum(compared) >= 130


# --- units, edges of what is possible --------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=repr)
def test_units_of_columns_do_not_matter(loss):
    rng = np.random.default_rng(3)
    X, S = rng.normal(size=(30, 12)), 10.0 ** rng.uniform(-8.0, 8.0, 12)
    X[:, 4] = 0.0
    y = targets_of(loss, rng, X @ steps(12) + 0.3 * rng.normal(size=30))
    plain = solve(Problem(X, y, loss=loss, penalty=L1(0.05), A=chain(12)), IPM(), tol=1e-9)
    scaled = solve(Problem(X * S, y, loss=loss, penalty=L1(0.05), A=chain(12) @ sp.diags_array(S)), IPM(), tol=1e-9)
    assert scaled.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-8)
    assert scaled.w * S == pytest.approx(plain.w, abs=1e-4)


def test_coordinates_without_data_penalty_or_ridge_stay_at_zero():
    problem = Problem([[1.0, 0.0], [1.0, 0.0]], [1.0, 3.0], loss=Squared(), penalty=Zero(), A=np.zeros((0, 2)))
    assert solve(problem, IPM(), tol=1e-9).w == pytest.approx([2.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.1)], ids=repr)
def test_targets_that_zero_fits_are_solved_at_once(loss):
    problem = Problem(np.eye(3), np.zeros(3), loss=loss, penalty=L1(1.0), A=chain(3))
    result = solve(problem, IPM(), tol=1e-9)
    assert result.status is Status.converged and not result.w.any()


def test_equal_bounds_are_equations():
    problem = Problem(np.eye(3), [1.0, 2.0, 6.0], loss=Squared(), penalty=Box(0.0, 0.0), A=chain(3))
    assert solve(problem, IPM(), tol=1e-9).w == pytest.approx([3.0, 3.0, 3.0], abs=1e-6)


# --- structure, states, refusals -------------------------------------------------------------------------------------


def fused_problem(loss, nu=0.05):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 20))
    y = targets_of(loss, rng, X @ steps(20) + 0.3 * rng.normal(size=60))
    return Problem(X, y, loss=loss, penalty=L1(nu), A=sp.vstack([chain(20), sp.eye_array(20)]))


@pytest.mark.compiled
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
def test_zeros_and_fusions_are_exact_and_those_of_alm(loss):
    problem = fused_problem(loss)
    ours, other = (solve(problem, solver, tol=1e-6, polish=True) for solver in (IPM(), ALM()))
    exact = problem.v_of(ours.w) == 0.0
    assert ours.certificate.relative_gap <= 1e-8 and 5 <= exact.sum() < problem.m
    assert np.array_equal(exact, ours.v == 0.0)
    assert np.array_equal(exact, other.v == 0.0)


def grouped_problem(loss):
    """Overlapping groups of four features, of which the first ones matter."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 20))
    y = targets_of(loss, rng, X @ (np.arange(20) < 7) + 0.3 * rng.normal(size=60))
    A, groups = graphs.overlapping_groups([range(k, min(k + 4, 20)) for k in range(0, 20, 3)], 20)
    return Problem(X, y, loss=loss, penalty=GroupL2(0.15, groups), A=A)


@pytest.mark.compiled
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
def test_dropped_groups_are_exactly_zero_and_those_of_alm(loss):
    problem = grouped_problem(loss)
    ours, other = (solve(problem, solver, tol=1e-8, polish=True) for solver in (IPM(), ALM()))
    dropped = [not ours.v[group].any() for group in problem.penalty.groups]
    assert 0 < sum(dropped) < len(dropped)
    assert dropped == [not other.v[group].any() for group in problem.penalty.groups]
    assert not problem.v_of(ours.w)[ours.v == 0.0].any() and ours.certificate.relative_gap <= 1e-8


@pytest.mark.compiled
def test_a_path_of_strengths_analyses_the_system_of_groups_once():
    problem = grouped_problem(Squared())
    analysed = problem.system
    assert problem.with_penalty(GroupL2(0.01, problem.penalty.groups)).system is analysed
    assert problem.with_penalty(L1(0.1)).system is not analysed


@pytest.mark.compiled
def test_a_restored_run_continues_to_the_same_bits():
    plain = fused_problem(Logistic())
    half = Stack(((L1(0.05), slice(0, 19)), (GroupL2(0.05, [range(8), range(8, 20)]), slice(19, 39))))
    problem = plain.with_penalty(half)
    first, second = (IPM().begin(problem, Point(np.zeros(20), np.zeros(39), np.zeros(39))) for _ in range(2))
    first.advance(Iterations(3))
    second.restore(first.state())
    for run in (first, second, fork := first.fork(problem)):
        run.advance(Iterations(2))
    assert np.array_equal(first.answer, second.answer) and np.array_equal(first.answer, fork.answer)
    assert first.certify() == second.certify() == fork.certify()


@pytest.mark.compiled
def test_a_run_continues_with_another_penalty():
    problem = fused_problem(Squared())
    before = solve(problem, IPM(), tol=1e-6)
    other = problem.with_penalty(L1(0.2))
    warm, cold = solve(other, IPM(), tol=1e-6, start=before), solve(other, IPM(), tol=1e-6)
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=2e-6)


def test_what_it_cannot_solve_is_refused_with_an_alternative():
    with pytest.raises(TypeError, match=r"got L2Ball; use ALM\(\) or ADMM\(\)"):
        solve(Problem(np.eye(2), [1.0, 2.0], loss=Squared(), penalty=L2Ball(1.0), A=np.eye(2)), IPM())
    with pytest.raises(ValueError, match=r"IPM\(\) needs B = None"):
        solve(Problem(np.eye(2), [1.0, 2.0], loss=Squared(), penalty=L1(1.0), A=np.eye(2), B=np.eye(2)), IPM())


class Cosh(NamedTuple):
    """A smooth loss of a user's own."""


@losses.value.register(Cosh)
def value_of_cosh(loss, z, y):
    return np.cosh(z - y) - 1.0


@losses.slope.register(Cosh)
def slope_of_cosh(loss, z, y):
    return np.sinh(z - y)


def test_a_loss_of_ones_own_needs_its_second_derivative():
    problem = Problem(np.eye(2), [1.0, 3.0], loss=Cosh(), penalty=L1(10.0), A=[[1.0, -1.0]])
    if not losses.second.dispatch(Cosh).__name__ == "second_of_cosh":
        with pytest.raises(TypeError, match=r"losses.second for Cosh; register one"):
            solve(problem, IPM())
    losses.second.register(Cosh, second_of_cosh)
    assert solve(problem, IPM(), epochs=15, tol=0.0).w == pytest.approx([2.0, 2.0], abs=1e-6)


def second_of_cosh(loss, z, y):
    return np.cosh(z - y)


@pytest.mark.compiled
def test_the_estimators_take_it_by_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 40))
    y = targets(rng, X, steps(40))
    by_name = GraphGuidedRegressor("chain", alpha=0.1, l2=1e-3, solver="ipm", tol=1e-5).fit(X, y)
    other = GraphGuidedRegressor("chain", alpha=0.1, l2=1e-3, solver="alm", tol=1e-5).fit(X, y)
    assert by_name.coef_ == pytest.approx(other.coef_, abs=1e-2)


def test_without_a_kinked_penalty_each_iteration_is_one_newton_system(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    problem = Problem(X, y, loss=Poisson(), penalty=L1(0.0), A=graphs.difference(5), gamma=0.01)
    factored, factor = [], type(problem.system).factor
    monkeypatch.setattr(type(problem.system), "factor", lambda *given: (factored.append(1), factor(*given))[1])
    result = solve(problem, IPM(), tol=1e-10)
    assert result.status is Status.converged
    assert len(factored) == result.trace["iteration"][-1]
