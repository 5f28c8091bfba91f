"""Theorems 2 and 3 as printed and as the proofs establish them, the smallest cases, and what is not covered."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
from random_rows import drawn
from references import reference

from adasadmm import losses, theory
from adasadmm._solve import solve
from adasadmm.losses import Quantile
from adasadmm.penalties import L1
from adasadmm.problem import Problem
from adasadmm.solvers import ADMM, OADMM, AdaSADMM

pytestmark = pytest.mark.compiled  # too slow without the compiler


@pytest.mark.slow
def test_printed_theorems_2_and_3_fail_without_a():
    """``l = 1e-3 |w - 1|``, a = eta = 1, T = 100."""
    problem = Problem([[0.002]], [0.002], loss=Quantile(0.5), penalty=L1(1.0), A=[[0.0]])
    assert problem.objective([0.0]) == pytest.approx(1e-3) and problem.objective([1.0]) == 0.0
    samples, u_star = np.zeros(100, np.int64), ([1.0], [0.0])
    diagonal = theory.bounds(problem, AdaSADMM("diagonal", eta=1.0), samples, *u_star, rho=1e-3)
    full = theory.bounds(problem, AdaSADMM("full", eta=1.0), samples, *u_star, rho=1e-3)
    assert diagonal.theorem2_printed < diagonal.lhs <= diagonal.theorem1 <= diagonal.theorem2
    assert full.theorem3_printed < full.lhs <= full.theorem1 <= full.theorem3
    assert diagonal.lhs == pytest.approx(9.5e-4, rel=1e-2)
    assert diagonal.theorem2_printed == pytest.approx(2e-4, rel=1e-2)


@pytest.mark.parametrize("metric, theorem", [("diagonal", "theorem2"), ("full", "theorem3")])
@pytest.mark.slow
def test_what_a_linearised_step_adds_is_needed(metric, theorem):
    """``1e-3 (|w_1 - 1| + |w_2 - 1|)`` with a fused pair: the linearised step is slow where A w = 0."""
    problem = Problem(0.004 * np.eye(2), [0.004, 0.004], loss=Quantile(0.5), penalty=L1(1.0), A=[[1.0, -1.0]])
    solver = AdaSADMM(metric, eta=1.0, a=1e-3, batch_size=2)
    found = theory.bounds(problem, solver, np.tile([0, 1], 100), [1.0, 1.0], [0.0], rho=1e-3)
    bound = getattr(found, theorem)
    assert bound - found.linearization / 200 < found.lhs <= found.theorem1 <= bound


def test_what_a_majorised_v_step_adds_is_needed():
    """``|v|_1 / 10`` with ``v_1 = 1, 30 v_2 = 0``: one curvature for both is slow along the first."""
    B, nothing = np.diag([1.0, 30.0]), [[0.0]]
    problem = Problem(nothing, [0.0], loss=losses.Huber(0.8), penalty=L1(0.1), A=2 * nothing, B=B, b=[1.0, 0.0])
    solver = AdaSADMM(eta=1.0)
    found = theory.bounds(problem, solver, np.zeros(10, np.int64), [0.0], [1.0, 0.0], rho=1.0)
    assert found.theorem1_printed < found.lhs <= found.theorem1 <= found.theorem2
    assert found.theorem1 - found.theorem1_printed == pytest.approx(found.majorization / 20)
    assert found.theorem2_eta == math.inf and found.theorem2_best <= found.theorem2  # no gradient, no step too long


@pytest.mark.parametrize("start", [{"v": [10.0]}, {"theta": [10.0]}], ids=str)
def test_a_start_away_from_zero_counts(start):
    """``|v|`` alone, with v = w: the optimum is 0, where the paper starts."""
    problem = Problem([[0.0]], [0.0], loss=Quantile(0.5), penalty=L1(1.0), A=[[1.0]])
    solver = AdaSADMM(eta=1e3)
    first = dataclasses.replace(solve(problem, solver, epochs=0), **{k: np.array(v) for k, v in start.items()})
    found = theory.bounds(problem, solver, [0], [0.0], [0.0], rho=1.0, start=first)
    assert found.theorem1_printed < found.lhs <= found.theorem1 <= found.theorem2


# --- one feature, and what is not covered ----------------------------------------------------------------------------


@pytest.mark.slow
def test_full_is_diagonal_for_one_feature():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 1))
    problem = Problem(X, X[:, 0] + rng.standard_normal(60), loss=Quantile(0.3), penalty=L1(0.1), A=[[1.0], [2.0]])
    runs: dict = {"diagonal": [], "full": []}
    for metric, seen in runs.items():
        solver = AdaSADMM(metric, eta=0.5)
        solve(problem, solver, order="replace", trace_every=1 / 60, callback=lambda now, seen=seen: seen.append(now.w))
    assert len(runs["full"]) == 120
    np.testing.assert_allclose(runs["full"], runs["diagonal"], rtol=1e-9)
    diagonal, full = (
        theory.bounds(problem, AdaSADMM(metric, eta=0.5), drawn(problem, 0), [0.8], [0.8, 1.6], rho=1.0)
        for metric in ("diagonal", "full")
    )
    assert full.theorem1 == pytest.approx(diagonal.theorem1)
    assert full.theorem3 == pytest.approx(diagonal.theorem2)
    assert full.theorem3_eta == pytest.approx(diagonal.theorem2_eta)


def test_a_varying_step_leaves_theorem_1_only():
    problem, _, w_star, v_star, _ = reference("quantile_chain")
    found = theory.bounds(problem, AdaSADMM(), drawn(problem, 0), w_star, v_star, rho=0.5)
    assert found.lhs <= found.theorem1
    assert math.isnan(found.eta) and math.isnan(found.theorem1_printed) and math.isnan(found.theorem2)


@pytest.mark.parametrize("solver", [ADMM(), OADMM(eta=1.0)], ids=lambda solver: type(solver).__name__)
def test_other_algorithms_are_refused(solver):
    problem, _, w_star, v_star, _ = reference("quantile_chain")
    with pytest.raises(TypeError, match="methods that linearise the loss"):
        theory.bounds(problem, solver, [0], w_star, v_star, rho=1.0)


@pytest.mark.parametrize("average", ["schedule-free", "auto"])
def test_subgradients_at_the_mean_are_refused(average):
    problem, _, w_star, v_star, _ = reference("quantile_chain")
    with pytest.raises(ValueError, match="subgradients at w_t"):
        theory.bounds(problem, AdaSADMM(average=average), [0], w_star, v_star, rho=1.0)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"samples": []}, "one or more row indices"),
        ({"samples": [100]}, "between 0 and 99"),
        ({"rho": -1.0}, "rho must be >= 0 and finite, got -1.0"),
        ({"v_star": np.ones(7)}, r"A w \+ B v = b"),
        (
            {"w_star": np.full(8, 0.7), "v_star": np.zeros(7)},
            "w_star must lie in Box, got a point that violates it by 0.1",
        ),
        ({"w_star": np.zeros(3)}, r"w_star must have shape \(8,\)"),
    ],
)
def test_wrong_arguments(change, message):
    arguments = {"samples": [0], "w_star": np.zeros(8), "v_star": np.zeros(7), "rho": 1.0} | change
    with pytest.raises(ValueError, match=message):
        theory.bounds(reference("hinge_box").problem, AdaSADMM(eta=1.0), **arguments)


def test_loading_theory_leaves_solve_a_function():
    code = "from adasadmm import theory, solve; assert callable(solve)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
