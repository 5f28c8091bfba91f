"""`solve` without a solver: it gives the answer of `fit`, says which solver ran and why, and finishes the result."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from random_problems import random_case

from adasadmm import (
    ADMM,
    ALM,
    IPM,
    L1,
    AdaSADMM,
    Hinge,
    Logistic,
    Problem,
    Squared,
    Status,
    StructuredClassifier,
    StructuredRegressor,
    TotalVariation,
    graphs,
    losses,
    path,
    solve,
    sources,
)
from adasadmm.auto import RULES, candidates, choices, shape_of
from adasadmm.registry import SOLVERS, Tuning
from adasadmm.solvers import ActiveSet

RNG = np.random.default_rng(0)


def by_estimator(settings):
    """The estimator of a random problem, without an intercept."""
    classifies = losses.takes_labels(settings["loss"])
    parts = {"penalty": settings["penalty"], "loss": settings["loss"], "l2": settings["gamma"]}
    model = (StructuredClassifier if classifies else StructuredRegressor)(settings["A"], **parts, fit_intercept=False)
    y = settings["y"].astype(int) if classifies else settings["y"]
    return model.fit(settings["X"], y, sample_weight=settings["sample_weight"])


def agree(numbers, largest):
    for number in numbers:
        name, settings = random_case(number, largest)
        if losses.takes_labels(settings["loss"]) and len(np.unique(settings["y"])) < 2:
            continue  # classifiers need two classes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # both say so where an optimum is not attained
            model, result = by_estimator(settings), solve(Problem(**settings))
        assert (repr(result.solver), result.solver_reason) == (repr(model.solver_), model.solver_reason_), name
        np.testing.assert_array_equal(result.w_average, np.ravel(model.coef_), name)
        assert result.certificate.relative_gap == model.dual_gap_, name


@pytest.mark.kernels
@pytest.mark.parametrize("numbers", [range(0, 30)], ids=str)
def test_solve_gives_the_answer_of_fit(numbers):
    agree(numbers, 60)


@pytest.mark.slow
@pytest.mark.kernels
@pytest.mark.parametrize("numbers", [range(30, 65), range(65, 105)], ids=str)
def test_solve_gives_the_answer_of_fit_on_larger_problems(numbers):
    agree(numbers, 300)


def chain(n=30, d=6, **others):
    X = RNG.normal(size=(n, d))
    y = X @ np.repeat([1.0, -2.0], [2, d - 2]) + RNG.normal(size=n)
    return Problem(X, y, **{"loss": Squared(), "penalty": L1(0.3), "A": graphs.difference(d)} | others)


def test_the_result_says_which_solver_ran_and_why_and_has_exact_structure():
    result = solve(problem := chain())
    assert result.solver == IPM() and result.solver_reason.startswith("30 rows and 6 coefficients make a small")
    assert (np.diff(result.w_average) == 0.0).any() and (problem.times_A(result.w_average) == result.v).all()
    given = solve(problem, IPM())
    assert given.solver == IPM() and given.solver_reason == "it was given"
    assert [one.solver_reason for one in path(problem, [0.3], solver="ipm")] == ["it was given"]


def test_a_solver_may_be_given_by_name():
    problem = chain()
    assert solve(problem, "alm").solver == ALM()
    with pytest.raises(ValueError, match=r"solver must be 'auto', one of 'ada-diag'.*got 'almost'"):
        solve(problem, "almost")


def test_the_number_of_epochs_is_that_of_the_first_solver():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # epochs says how many to do
        result = solve(chain(), epochs=2)
    assert result.solver == IPM() and result.epochs == 2


def test_a_stream_is_read_by_the_stochastic_method():
    X, y = RNG.normal(size=(200, 4)), np.tile([1.0, -1.0], 100)
    problem = Problem(sources.arrays(X, y), loss=Hinge(), penalty=L1(0.01), A=graphs.difference(4))
    result = solve(problem)
    assert (
        isinstance(result.solver, AdaSADMM)
        and result.solver_reason == "the rows arrive as a stream"
        and result.epochs == 2
    )


def test_any_b_is_left_to_admm():
    problem = chain(B=-2.0 * np.eye(5))
    result = solve(problem)
    assert result.solver == ADMM() and result.solver_reason == "ADMM takes any B"
    assert result.certificate.relative_gap <= 1e-6


def test_a_result_that_missed_tol_is_not_worse_than_nothing():
    problem = chain(n=8, penalty=L1(1e4))
    with pytest.warns(UserWarning):
        result = solve(problem, epochs=1, tol=1e-12)
    assert problem.objective(result.w_average) <= problem.objective(np.zeros(problem.d))


# --- the table -------------------------------------------------------------------------------------------------------


def test_the_facts_of_a_shape_are_computed_once():
    problem = chain()
    assert shape_of(problem) is shape_of(problem) and shape_of(problem).problem is problem
    assert shape_of(problem.with_penalty(L1(0.1))) is not shape_of(problem)


def test_a_problem_is_freed_with_its_shape():
    import gc
    import weakref

    gc.disable()
    try:
        problem = chain()
        list(choices(problem))
        gone = weakref.ref(problem)
        del problem
        assert gone() is None
    finally:
        gc.enable()


def test_a_choice_does_not_depend_on_what_was_asked_before():
    X = sp.random_array((300, 900), density=0.02, format="csr", rng=0)
    problem = Problem(X, np.ones(300), loss=Squared(), penalty=L1(0.1), A=graphs.difference(900))
    twice = [list(choices(problem)), list(choices(problem))]
    shape = shape_of(again := Problem(X, np.ones(300), loss=Squared(), penalty=L1(0.1), A=graphs.difference(900)))
    backwards = [rule for rule in reversed(RULES) if rule.applies(shape)]
    assert twice[0] == twice[1] == list(choices(again)) and backwards


def test_every_rule_says_when_and_why():
    for rule in RULES:
        assert rule.case and rule.reason and not rule.reason.endswith(".")
        assert type(rule.solver(Tuning())).__name__


def test_a_given_solver_is_the_only_candidate():
    problem = chain()
    assert [one.solver for one in candidates(TotalVariation(), problem)] == [TotalVariation()]
    assert [one.solver for one in candidates("admm", problem)] == [SOLVERS["admm"](Tuning())]


def test_a_callback_that_stops_a_run_stops_the_solve():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    y = np.where(X @ rng.normal(size=30) > 0.0, 1.0, -1.0)
    problem = Problem(X, y, loss=Logistic(), penalty=L1(0.05), A=graphs.difference(30), gamma=0.01)
    seen = []
    result = solve(problem, callback=lambda snapshot: seen.append(snapshot.iteration) or len(seen) == 2)
    assert result.status is Status.stopped and len(seen) == 2


def test_the_path_of_a_design_whose_squares_overflow_is_no_error():
    rng = np.random.default_rng(0)
    problem = Problem(
        1e160 * rng.normal(size=(30, 5)), rng.normal(size=30), loss=Squared(), penalty=L1(1.0), A=graphs.difference(5)
    )
    assert len(path(problem, [1.0, 0.1])) == 2


@pytest.mark.parametrize("share", [-1.0, 0.0, math.nan, "a"])
def test_a_share_is_a_positive_number(share):
    with pytest.raises(ValueError, match="share must be a number > 0"):
        ActiveSet(share)
