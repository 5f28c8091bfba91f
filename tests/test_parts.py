"""Parts that are empty or equal tuples, parts that lack a function: what must not go wrong with NamedTuples."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest

from adasadmm import (
    ADMM,
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
