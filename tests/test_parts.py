"""Parts that are empty or equal tuples, parts that lack a function: what must not go wrong with NamedTuples."""

import pickle
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest

from adasadmm import (
    ADMM,
    IPM,
    L1,
    OADMM,
    AdaSADMM,
    Diagonal,
    Hinge,
    Identity,
    L2Ball,
    L2Squared,
    Logistic,
    Problem,
    Squared,
    Status,
    TotalVariation,
    graphs,
    losses,
    penalties,
    solve,
)

X = np.array([[1.0, 2.0], [0.5, -1.0], [-1.0, 0.3]])
Y = np.array([1.0, -1.0, 1.0])


def problem(loss, penalty, y=Y):
    return Problem(X, y, loss=loss, penalty=penalty, A=np.eye(2), gamma=0.1)


def test_parts_that_are_equal_as_tuples_are_not_mixed_up():
    assert Hinge() == Logistic() and not Hinge() and L2Ball(0.1) == L2Squared(0.1)
    w = np.array([0.3, 0.7])
    margins = Y * (X @ w)
    hinge = problem(Hinge(), L1(0.1)).objective(w)
    logistic = problem(Logistic(), L1(0.1)).objective(w)
    assert hinge - logistic == pytest.approx(np.mean(np.maximum(0, 1 - margins) - np.log1p(np.exp(-margins))))
    assert problem(Hinge(), L2Squared(0.1)).objective(w) != problem(Hinge(), L2Ball(0.1)).objective(w)
    run = [solve(problem(loss, L1(0.1)), AdaSADMM(eta=1.0), samples=[0, 1, 2]).w for loss in (Hinge(), Logistic())]
    assert not np.allclose(*run)


def test_going_on_with_another_metric_is_another_run():
    first = solve(problem(Hinge(), L1(0.1)), AdaSADMM(metric=Identity(), eta=1.0), samples=[0, 1])
    other = solve(problem(Hinge(), L1(0.1)), AdaSADMM(metric=Diagonal(), eta=1.0), samples=[2], start=first)
    assert other.trace["iteration"][-1] == 1
    same = solve(problem(Hinge(), L1(0.1)), AdaSADMM(metric=Identity(), eta=1.0), samples=[2], start=first)
    assert same.trace["iteration"][-1] == 3


def test_fields_are_cast_so_that_an_integer_is_a_number_like_any_other():
    cast = problem(Squared(), L1(1, [1, 2])).penalty
    assert type(cast.nu) is float
    assert cast.weights.dtype == np.float64


class Lacking(NamedTuple):
    pass


class NoProx(NamedTuple):
    pass


losses.value.register(Lacking, lambda loss, z, y: 0.0)
losses.value.register(NoProx, lambda loss, z, y: 0.0)
losses.slope.register(NoProx, lambda loss, z, y: 0.0)
penalties.value.register(Lacking, lambda penalty, v: 0.0)


def test_a_part_that_lacks_a_function_fails_before_compiling_and_names_it():
    with pytest.raises(TypeError, match=r"Lacking has no losses\.slope"):
        problem(Lacking(), L1(0.1))
    with pytest.raises(TypeError, match=r"Lacking has no penalties\.prox"):
        problem(Hinge(), Lacking())
    for solver in (ADMM(), OADMM(1.0)):
        with pytest.raises(TypeError, match=r"needs losses\.prox for NoProx"):
            solve(problem(NoProx(), L1(0.1)), solver)
    with pytest.raises(TypeError, match=r"has no metrics\.start"):
        AdaSADMM(metric=Lacking())


def test_a_class_or_a_string_in_place_of_a_part_is_a_clear_error():
    with pytest.raises(TypeError, match=r"loss must be an instance .* write Hinge\(\.\.\.\)"):
        problem(Hinge, L1(0.1))
    with pytest.raises(TypeError, match=r"penalty must be an instance of a NamedTuple class, got 'l1'"):
        problem(Hinge(), "l1")


def test_a_result_can_be_pickled():
    result = solve(problem(Hinge(), L1(0.1)), AdaSADMM(eta=1.0))
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.w, result.w)
    assert again.status is result.status
    np.testing.assert_array_equal(again.trace["objective"], result.trace["objective"])


def test_progress_shows_the_objective(capsys):
    solve(problem(Hinge(), L1(0.1)), AdaSADMM(eta=1.0), progress=True)
    shown = capsys.readouterr().err
    assert "objective" in shown and "2.00/2.00 epochs" in shown


# --- a piecewise loss ------------------------------------------------------------------------------------------------


class DeadZone(NamedTuple):
    """``max(0, z - y - width, share (y - z))``: nothing inside a zone above the target."""

    width: float = 0.5
    share: float = 0.25


@losses.value.register
def dead_zone_value(loss: DeadZone, z, y):
    return max(0.0, z - y - loss.width, loss.share * (y - z))


@losses.slope.register
def dead_zone_slope(loss: DeadZone, z, y):
    return 1.0 if z > y + loss.width else -loss.share if z < y else 0.0


@losses.conjugate.register
def dead_zone_conjugate(loss: DeadZone, s, y):
    return s * (y + loss.width) if s > 0.0 else s * y


@losses.domain.register
def dead_zone_domain(loss: DeadZone, y):
    return -loss.share, 1.0


@losses.pieces.register
def dead_zone_pieces(loss: DeadZone, y):
    return losses.Piece(-loss.share, 0.0, y), losses.Piece(0.0, 1.0, y + loss.width)


@pytest.mark.compiled
@pytest.mark.parametrize("solver", [IPM(), TotalVariation()], ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("offset", [None, np.linspace(-1.0, 1.0, 40)], ids=["plain", "offset"])
def test_the_pieces_of_an_own_loss_are_enough_for_interior_points_and_chains(solver, offset):
    y, n = np.sin(np.arange(40.0)), 40
    chain = graphs.incidence(graphs.chain(n))
    series = Problem(np.eye(n), y, loss=DeadZone(), penalty=L1(0.2 / n), A=chain, offset=offset, gamma=1e-3)
    result = solve(series, solver, tol=1e-8)
    assert result.status is Status.converged
    w = cp.Variable(n)
    r = w + (0.0 if offset is None else offset) - y
    terms = cp.maximum(0.0, r - 0.5, -0.25 * r)
    objective = cp.sum(terms) / n + 0.2 / n * cp.norm1(cp.diff(w)) + 5e-4 * cp.sum_squares(w)
    assert series.objective(result.w) == pytest.approx(cp.Problem(cp.Minimize(objective)).solve("CLARABEL"), rel=1e-7)
