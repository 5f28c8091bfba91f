"""Bad input gets an error that names the argument and the value, before any work; odd but legal input works."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from adasadmm import (
    ADMM,
    L1,
    OADMM,
    SADMM,
    AdaSADMM,
    Box,
    Full,
    GroupL2,
    Hinge,
    Huber,
    Poisson,
    Problem,
    Simplex,
    Squared,
    Stack,
    Status,
    metrics,
    solve,
)
from adasadmm._core import machine

X = np.array([[1.0, 2.0], [0.5, -1.0], [-1.0, 0.3]])
Y = np.array([1.0, -1.0, 1.0])
GOOD = {"X": X, "y": Y, "loss": Hinge(), "penalty": L1(0.1), "A": np.eye(2), "gamma": 0.1}


def build(**changes):
    given = {**GOOD, **changes}
    return Problem(given.pop("X"), given.pop("y"), **given)


def spoilt(array, value):
    copy = np.array(array, dtype=float)
    copy.flat[-1] = value
    return copy


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": spoilt(X, np.nan)}, r"X must be finite, got nan at position \(2, 1\)"),
        ({"X": spoilt(X, np.inf)}, r"X must be finite, got inf at position \(2, 1\)"),
        ({"X": sp.csr_array(spoilt(X, np.nan))}, r"X must be finite, got nan"),
        ({"X": X[0]}, r"X must be two-dimensional, got shape \(2,\)"),
        ({"X": X[:0], "y": Y[:0]}, r"X must have at least one row and one column, got shape \(0, 2\)"),
        ({"X": X[:, :0], "A": np.zeros((1, 0))}, r"X must have at least one row and one column, got shape \(3, 0\)"),
        ({"X": [["a", "b"]]}, r"X must hold numbers"),
        ({"y": None}, r"y is missing"),
        ({"y": spoilt(Y, np.nan)}, r"y must be finite, got nan at position \(2,\)"),
        ({"y": Y[:2]}, r"y must have shape \(3,\), got \(2,\)"),
        ({"y": [0, 1, 1]}, r"y must hold labels -1 and \+1 for Hinge, got 0"),
        ({"y": [0, -3, 1], "loss": Poisson()}, r"y must hold counts >= 0 for Poisson, got -3"),
        ({"loss": Huber(0.0)}, r"delta of Huber must be > 0, got 0\.0"),
        ({"A": spoilt(np.eye(2), np.nan)}, r"A must be finite, got nan"),
        ({"A": np.eye(3)}, r"A must have a column for each of the 2 features, got shape \(3, 3\)"),
        ({"B": spoilt(np.eye(2), np.inf)}, r"B must be finite, got inf"),
        ({"B": np.eye(3)}, r"B must have as many rows as A, 2, got shape \(3, 3\)"),
        ({"b": [0.0, np.nan]}, r"b must be finite, got nan at position \(1,\)"),
        ({"b": [0.0]}, r"b must have shape \(2,\), got \(1,\)"),
        ({"gamma": -1.0}, r"gamma must be >= 0 and finite, got -1\.0"),
        ({"gamma": np.nan}, r"gamma must be >= 0 and finite, got nan"),
        ({"gamma": [0.1, -0.5]}, r"gamma must be >= 0 and finite, got -0\.5"),
        ({"gamma": [0.1]}, r"gamma must have shape \(2,\), got \(1,\)"),
        ({"sample_weight": [1.0, np.inf, 1.0]}, r"sample_weight must be finite, got inf"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, r"sample_weight must be >= 0, got -1\.0"),
        ({"sample_weight": [0.0, 0.0, 0.0]}, r"sample_weight must not be 0 for all rows"),
        ({"sample_weight": [1.0]}, r"sample_weight must have shape \(3,\), got \(1,\)"),
        ({"penalty": L1(-1.0)}, r"nu of L1 must be >= 0 and finite, got -1\.0"),
        ({"penalty": L1(1.0, [1.0])}, r"weights of L1 must be 2 finite numbers >= 0"),
        ({"penalty": GroupL2(1.0, [[0, 5]])}, r"groups of GroupL2 must lie between 0 and 1, got 0 to 5"),
        ({"penalty": GroupL2(1.0, [[0], [0]])}, r"groups of GroupL2 must be disjoint, 0 is taken more than once"),
        ({"penalty": Stack(((L1(1.0), [0, 2]),))}, r"rows of Stack must lie between 0 and 1, got 0 to 2"),
        ({"penalty": Box(1.0, 0.0)}, r"lower of Box must not exceed upper"),
        ({"w_set": Simplex(-1.0)}, r"total of Simplex must be >= 0, got -1\.0"),
    ],
)
def test_a_bad_problem_is_refused_with_the_argument_and_the_value(changes, message):
    with pytest.raises(ValueError, match=message):
        build(**changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdaSADMM(eta=0.0), r"eta must be a number > 0, got 0\.0"),
        (lambda: AdaSADMM(eta=np.nan), r"eta must be a number > 0, got nan"),
        (lambda: AdaSADMM(eta="fast"), r"eta must be one of 'auto', got 'fast'"),
        (lambda: AdaSADMM(a=-1.0), r"a must be a number > 0, got -1\.0"),
        (lambda: AdaSADMM(beta=0), r"beta must be a number > 0, got 0"),
        (lambda: AdaSADMM(metric="round"), r"metric must be one of 'identity', 'diagonal', 'full', got 'round'"),
        (lambda: AdaSADMM(metric=Full(-1.0)), r"refresh of Full must be >= 0, got -1\.0"),
        (lambda: AdaSADMM(w_step="long"), r"w_step must be one of 'exact', 'linearized', got 'long'"),
        (lambda: AdaSADMM(batch_size=0), r'batch_size must be "auto" or a whole number >= 1, got 0'),
        (lambda: AdaSADMM(average="best"), r"average must be one of .* got 'best'"),
        (lambda: SADMM(eta=-1), r"eta must be a number > 0, got -1"),
        (lambda: OADMM(0.0), r"eta must be a number > 0, got 0\.0"),
        (lambda: ADMM(beta=-1.0), r"beta must be a number > 0, got -1\.0"),
        (lambda: ADMM(relax=2.0), r"relax must lie between 0 and 2, got 2\.0"),
        (lambda: ADMM(relax="1.6"), r"relax must lie between 0 and 2, got '1\.6'"),
        (lambda: AdaSADMM(metric=Full("fast")), r"refresh of Full must be >= 0, got 'fast'"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": -1}, r"epochs must be >= 0 and finite, got -1"),
        ({"order": "random"}, r"order must be one of 'permute', 'replace', 'given', got 'random'"),
        ({"samples": [0, 7]}, r"samples must lie between 0 and 2, got 0 to 7"),
        ({"tol": -1.0}, r"tol must be >= 0, got -1\.0"),
        ({"trace_every": 0}, r"trace_every must be > 0, got 0"),
        ({"seed": -1}, r"seed must be >= 0, got -1"),
    ],
)
def test_bad_options_of_a_run_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        solve(build(), AdaSADMM(eta=1.0), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": "2"}, r"epochs must be a number or None, got '2'"),
        ({"epochs": [2]}, r"epochs must be a number or None, got \[2\]"),
        ({"tol": "1e-3"}, r"tol must be a number or None, got '1e-3'"),
        ({"trace_every": None}, r"trace_every must be a number, got None"),
        ({"seed": "0"}, r"seed must be a whole number, so that a run can be repeated, got '0'"),
        ({"seed": None}, r"seed must be a whole number, so that a run can be repeated, got None"),
        ({"callback": 3}, r"callback must be a function of a Snapshot, got 3"),
    ],
)
def test_options_of_the_wrong_kind_say_what_to_pass(options, message):
    for solver in (AdaSADMM(eta=1.0), ADMM()):
        with pytest.raises(TypeError, match=message):
            solve(build(), solver, **options)


def test_the_step_of_sadmm_needs_a_ridge():
    with pytest.raises(ValueError, match=r"needs gamma > 0; give a number c for the step c/sqrt\(t\)"):
        solve(build(gamma=0.0), SADMM())


def test_things_that_are_no_problem_or_solver_are_refused():
    with pytest.raises(TypeError, match=r"problem must be a Problem, got list"):
        solve([], AdaSADMM())
    with pytest.raises(TypeError, match=r"solver must be a solver of adasadmm, such as AdaSADMM\(\)"):
        solve(build(), AdaSADMM)
    with pytest.raises(ValueError, match=r"solver must be 'auto', one of .*'admm'.*, or a solver, got 'adam'"):
        solve(build(), "adam")


def test_a_full_metric_that_would_not_fit_in_memory_says_its_size(monkeypatch):
    monkeypatch.setattr(machine, "memory", lambda: 100.0)
    with pytest.raises(ValueError, match=r'full metric of 2 features needs .* GiB.* use metric="diagonal"'):
        solve(build(), AdaSADMM(metric="full"))


@pytest.mark.parametrize("solver", [AdaSADMM(eta=1.0), AdaSADMM(), SADMM(), OADMM(1.0), ADMM()], ids=repr)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_empty_rows_and_columns_are_legal(solver, layout):
    data = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.5]])
    A = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    problem = Problem(layout(data), Y, loss=Hinge(), penalty=L1(0.1), A=A, gamma=0.1)
    result = solve(problem, solver)
    assert np.isfinite(result.w).all() and abs(result.w[1]) < 1e-15
    assert result.status in (Status.done, Status.converged)


def test_one_row_one_column_and_no_constraint_are_legal():
    for A in (np.eye(1), np.zeros((0, 1))):
        problem = Problem([[2.0]], [4.0], loss=Squared(), penalty=L1(0.0), A=A)
        assert solve(problem, ADMM(), tol=1e-10).w == pytest.approx([2.0], rel=1e-4)
        assert np.isfinite(solve(problem, AdaSADMM(eta=1.0)).w).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": None}, r"gamma must be a number or 2 numbers, got None"),
        ({"penalty": L1(None)}, r"nu of penalty must be a number, got None"),
        ({"loss": Huber("a")}, r"delta of loss must be a number, got 'a'"),
        ({"penalty": Box(None, 1.0)}, r"lower of Box must be a number or 2 numbers, got None"),
        ({"w_set": L1(1.0)}, r"w_set must be a set, such as .* got L1"),
    ],
)
def test_a_parameter_of_the_wrong_kind_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        build(**changes)


def test_a_slice_is_no_group():
    with pytest.raises(ValueError, match=r"groups of GroupL2 must be whole numbers, got slice"):
        GroupL2(1.0, [slice(0, 2)])


@pytest.mark.parametrize("samples", [[0.7, 1.2], np.ones(3, dtype=bool)])
def test_samples_are_whole_numbers(samples):
    with pytest.raises(ValueError, match=r"samples must be numbers of rows, whole numbers"):
        solve(build(), AdaSADMM(eta=1.0), samples=samples)


def test_a_start_is_a_result():
    with pytest.raises(TypeError, match=r"start must be a Result of solve, got ndarray"):
        solve(build(), ADMM(), start=np.zeros(2))


def test_matrices_of_a_problem_and_series_pass_the_gate():
    series = pd.Series([1.0, 2.0])
    assert build(A=build().A, penalty=L1(0.1, series)).objective([1.0, 1.0]) == pytest.approx(
        build(penalty=L1(0.1, [1.0, 2.0])).objective([1.0, 1.0])
    )


def test_a_metric_without_all_its_functions_says_which():
    class Mine(NamedTuple):
        pass

    class State(NamedTuple):
        h: np.ndarray

    metrics.start.register(Mine, lambda metric, d: State(np.ones(d)))
    with pytest.raises(TypeError, match=r"metric: State, its state, has no metrics\.observe"):
        solve(build(), AdaSADMM(metric=Mine()))
