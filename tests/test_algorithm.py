"""Each run of the package is the run of the dense oracle on the same rows, whatever parts it is made of.

Interpreted (``NUMBA_DISABLE_JIT=1``) the whole product of losses, penalties, metrics, w-steps and layouts is run;
compiled, some combinations in which each part occurs.
"""

import dataclasses
import itertools

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from cases import (
    BALL,
    BOX,
    COVERING,
    INTERPRETED,
    LAYOUTS,
    LOSSES,
    MATRICES_B,
    METRICS,
    PENALTIES,
    SAMPLES,
    STEPS,
    Case,
    D,
    M,
    N,
    assert_close,
    assert_same_bits,
    assert_same_run,
    run_interpreted,
)

from adasadmm import (
    L1,
    OADMM,
    SADMM,
    AdaSADMM,
    Full,
    Hinge,
    Problem,
    metrics,
    solve,
)
from adasadmm.solvers.stochastic import settings

pytestmark = pytest.mark.kernels


def whole_product():
    """Every combination of the five parts; the other settings go round, each with its own period."""
    names = itertools.product(LOSSES, PENALTIES, METRICS, ("linearized", "exact"), LAYOUTS)
    for k, (loss, penalty, metric, w_step, layout) in enumerate(names):
        options = {
            "A": ("general", "graph", "weighted graph")[k // 5 % 3],
            "B": ("-I", "orthogonal", "general")[k // 20 % 3],
            "b": k // 7 % 2 == 0,
            "batch_size": (1, 3)[k // 3 % 2],
            "weights": k // 11 % 2 == 0,
            "gamma_each": k // 13 % 2 == 0,
            "step": tuple(STEPS)[k // 4 % 3],
            "w_set": (None, BOX, BALL)[k // 17 % 3],
        }
        yield Case(loss, penalty, metric, w_step, layout, **options)


IN_STACK = {"weighted-group", "non-negative", "box", "zero"}  # which also ends each stack


def slow_to_compile(case):
    """Cases that take long to compile; without the compiler the whole product is tested."""
    heavy = case.metric in ("full", "own", "lagging") or case.penalty in ("simplex", "stack")
    return pytest.param(case, marks=pytest.mark.slow) if heavy and not INTERPRETED else case


each_case = pytest.mark.parametrize("case", [*map(slow_to_compile, COVERING)], ids=str)
EVERY_CASE = [*map(slow_to_compile, COVERING), *(whole_product() if INTERPRETED else ())]


@pytest.mark.parametrize("case", EVERY_CASE, ids=str)
def test_run_is_that_of_the_oracle(uncertified, case):
    problem = case.problem
    result = solve(problem, case.solver, samples=SAMPLES)
    history = case.history()
    assert_same_run(result, history, problem, case.tolerance)
    inside = history.V[-1][problem.p :] if len(history.V[-1]) > problem.p else history.W[-1]
    assert_close(result.w_feasible, inside, case.tolerance)
    steps = np.arange(1, len(history.W))
    wanted = history.w_mean if case.average == "uniform" else history.w_average(9.0 / (steps + 8.0))
    assert_close(result.w_average, wanted, case.tolerance)


def test_each_part_occurs_among_the_compiled_cases():
    parts = {"loss": LOSSES, "metric": METRICS, "layout": LAYOUTS, "step": STEPS, "B": MATRICES_B}
    for field, names in parts.items():
        assert {getattr(case, field) for case in COVERING} == set(names)
    assert {case.penalty for case in COVERING} == set(PENALTIES) - IN_STACK


if not INTERPRETED:

    @pytest.mark.slow
    def test_the_whole_product_interpreted():
        """Compiling all combinations would take hours; the same source runs interpreted."""
        run = run_interpreted(__file__)
        assert run.returncode == 0, run.stdout + run.stderr


# --- the solvers' own words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma_each", [False, True])
def test_sadmm_takes_its_step_from_gamma(gamma_each):
    """``1/(gamma t)``, for a vector with its smallest positive entry."""
    case = dataclasses.replace(COVERING[3], gamma_each=gamma_each)
    result = solve(case.problem, SADMM(beta=1.3, batch_size=3), samples=SAMPLES)
    eta = oracle.inverse_time(0.1 if gamma_each else 0.2)
    assert_same_run(result, case.history(eta=eta), case.problem)


def test_sadmm_with_a_number_falls_with_the_root_of_t():
    case = COVERING[6]
    result = solve(case.problem, SADMM(0.9, beta=1.3, w_step="linearized"), samples=SAMPLES)
    assert_same_run(result, case.history(), case.problem)


def test_auto_settings_are_in_units_of_the_first_gradient():
    case = Case("hinge", "l1", "diagonal", "linearized", "csr")
    X, y = case.data
    unit = np.abs(oracle.slope(Hinge(), 0.0, y[0]) * X[0]).max()
    solver = AdaSADMM(beta="auto", a=0.7, average="step-weighted")
    result = solve(case.problem, solver, samples=SAMPLES)
    history = case.history(a=0.7 * unit, beta=0.1 * unit**2, eta=oracle.travelled(1e-2 / unit, np.inf))
    assert_same_run(result, history, case.problem)
    squares = np.square(history.etas)
    assert_close(result.w_average, history.w_average(squares / np.cumsum(squares)))


def step_of_its_own(case, *distance):
    """What the oracle needs for ``eta="auto"``: a, and a step size."""
    X, y = case.data
    unit = np.abs(oracle.slope(Hinge(), 0.0, y[0]) * X[0]).max()
    return {"a": unit, "eta": oracle.travelled(1e-2 / unit, *distance)}


@pytest.mark.slow
@pytest.mark.parametrize("w_step", ["linearized", "exact"])
def test_sadmm_with_a_step_of_its_own_counts_the_gradients(w_step):
    case = Case("hinge", "l1", "identity", w_step, "csr")
    result = solve(case.problem, SADMM("auto", beta=1.3, w_step=w_step), samples=SAMPLES)
    history = case.history(metric=oracle.isotropic, **step_of_its_own(case, 2, 1.0))
    assert_same_run(result, history, case.problem)


@pytest.mark.parametrize("average", ["schedule-free", "auto"])
def test_schedule_free_takes_its_slopes_near_the_mean(average):
    case = Case("hinge", "l1", "diagonal", "linearized", "csr")
    result = solve(case.problem, AdaSADMM(beta=1.3, average=average), samples=SAMPLES)
    history = case.history(at_mean=settings.AT_MEAN, **step_of_its_own(case, np.inf))
    assert_same_run(result, history, case.problem)
    squares = np.square(history.etas)
    assert_close(result.w_average, history.w_average(squares / np.cumsum(squares)))


def test_units_are_those_of_the_first_gradient_that_is_not_zero_of_a_batch():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [3.0, -2.0]])
    problem = Problem(X, [1, 1, 1, 1], loss=Hinge(), penalty=L1(0.1), A=np.eye(2))
    start = np.zeros(2)
    assert [settings.units(problem, start, size)[0] for size in (1, 2, 9)] == [2.0, 2.0, 1.0]


@pytest.mark.parametrize(("metric", "share"), [("identity", 0.1), ("diagonal", 0.1), ("full", 1.0), (Full(0.05), 1.0)])
def test_beta_is_larger_where_only_beta_limits_the_steps(metric, share):
    X = np.array([[1.0, 2.0], [3.0, -2.0]])
    problem = Problem(X, [1, 1], loss=Hinge(), penalty=L1(0.1), A=np.eye(2))
    solver = AdaSADMM(metric, beta="auto")
    assert solver.settings.method(problem, np.zeros(2)).beta == share * 2.0**2 / 1.0


def test_with_a_given_step_auto_is_the_polynomial_mean():
    case = Case("hinge", "l1", "diagonal", "linearized", "csr")
    result = solve(case.problem, AdaSADMM(eta=0.4, a=0.7, beta=1.3, average="auto"), samples=SAMPLES)
    history = case.history()
    assert_same_run(result, history, case.problem)
    assert_close(result.w_average, history.w_average(9.0 / (np.arange(1, len(history.W)) + 8.0)))


@pytest.mark.parametrize(
    "metric", ["diagonal", *(pytest.param(metric, marks=pytest.mark.slow) for metric in ("identity", "lagging"))]
)
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_unit_of_the_features_does_not_matter_to_auto(metric, scale):
    """(c X, c^2 gamma, c nu) is the same problem in other words."""
    X, y = Case("hinge", "l1", "diagonal", "linearized", "dense").data
    solver = AdaSADMM(METRICS[metric][0], beta="auto", average="auto")

    def run(c):
        parts = {"loss": Hinge(), "penalty": L1(0.05 * c), "A": np.eye(D), "gamma": 0.01 * c**2}
        return solve(Problem(c * X, y, **parts), solver, samples=SAMPLES)

    assert_close(scale * run(scale).w_average, run(1.0).w_average, 1e-6)


def test_the_lagging_metric_takes_fewer_roots_and_another_way():
    case = Case("poisson", "l1", "lagging", "exact")
    taken = set()
    lagging = oracle.lagging(0.05)

    def counting(gradients, a, kept):
        H = lagging(gradients, a, kept)
        taken.add(kept["taken"])
        return H

    history = case.history(metric=counting)
    assert 1 < len(taken) < len(SAMPLES)
    assert np.abs(history.W[-1] - case.history(metric=oracle.full).W[-1]).max() > 1e-4


def online_product():
    """Every loss with every penalty and layout; general matrices B and conjugate gradients go round."""
    for k, (loss, penalty, layout) in enumerate(itertools.product(LOSSES, PENALTIES, LAYOUTS)):
        B, w_step = ("-I", "general")[k // 3 % 2], ("eliminated", "exact")[k // 5 % 2]
        yield Case(loss, penalty, layout=layout, B=B, w_step=w_step)


ONLINE = [Case("logistic", "l1", layout="csr", w_step="eliminated")]


@pytest.mark.parametrize("case", [*ONLINE, *(online_product() if INTERPRETED else ())], ids=str)
def test_oadmm_is_that_of_the_oracle(uncertified, limits, case):
    """The rows hold an empty one, along which the loss cannot pull."""
    case = dataclasses.replace(case, b=True, weights=True, gamma_each=True)
    if case.w_step == "exact":
        limits(entries_of_an_exact_w_step=-1)  # as for graphs that fill in: conjugate gradients
    result = solve(case.problem, OADMM(0.4, beta=1.3), samples=SAMPLES)
    history = oracle.online(*case.data, **case.terms, samples=SAMPLES, eta=oracle.constant(0.4), beta=1.3)
    assert_same_run(result, history, case.problem)


# --- the order of rows, and going on ---------------------------------------------------------------------------------


@each_case
def test_same_seed_same_bits(case):
    one, again, other = (solve(case.problem, case.solver, seed=seed) for seed in (5, 5, 6))
    assert_same_bits(one, again)
    assert (one.w != other.w).any()


def test_the_given_order_is_that_of_the_rows():
    case = COVERING[0]
    given = solve(case.problem, case.solver, epochs=2, order="given")
    assert_same_bits(given, solve(case.problem, case.solver, samples=np.tile(np.arange(N), 2)))


@pytest.mark.parametrize("order", ["permute", "replace"])
def test_the_drawn_order_is_that_of_the_seed(order):
    case, rng = COVERING[0], np.random.default_rng(11)
    draws = [rng.permutation(N) if order == "permute" else rng.integers(N, size=N) for _ in range(2)]
    drawn = solve(case.problem, case.solver, epochs=1.5, order=order, seed=11)
    assert_same_bits(drawn, solve(case.problem, case.solver, samples=np.concatenate(draws)[: N + N // 2]))


@each_case
def test_two_halves_are_one_run(case):
    problem, solver = case.problem, case.solver
    whole = solve(problem, solver, samples=SAMPLES, trace_every=0.1)
    first = solve(problem, solver, samples=SAMPLES[:6], trace_every=0.1)
    kept = dataclasses.replace(first, w=first.w.copy(), w_mean=first.w_mean.copy())
    second = solve(problem, solver, samples=SAMPLES[6:], start=first, trace_every=0.1)
    assert_same_bits(whole, second)
    for name in set(whole.trace) - {"seconds"}:
        np.testing.assert_array_equal(whole.trace[name], np.append(first.trace[name], second.trace[name]))
    np.testing.assert_array_equal(kept.w, first.w)  # a start can be gone on from more than once
    assert_same_bits(second, solve(problem, solver, samples=SAMPLES[6:], start=first))


def test_going_on_with_other_rows_is_one_run():
    """Blocks of a stream: each problem holds its own rows, the run is that over all of them."""
    case = COVERING[0]
    X, y = case.data
    blocks = [
        Problem(sp.csr_array(X[rows]), y[rows], loss=Hinge(), gamma=case.gamma, **case.settings)
        for rows in (slice(0, 3), slice(3, None))
    ]
    result = None
    for block in blocks:
        result = solve(block, case.solver, epochs=1, order="given", start=result)
    assert_same_bits(result, solve(case.problem, case.solver, epochs=1, order="given"))


@pytest.mark.parametrize("change", ["A", "b", "gamma", *(["metric"] if INTERPRETED else [])])
def test_going_on_with_another_quadratic_starts_a_new_run(change):
    """Only w, v and theta are taken over: what the old run knows of A, b and gamma does not hold any more."""
    case = COVERING[0]
    X, y = case.data
    first = solve(case.problem, case.solver, samples=SAMPLES)
    settings, gamma, solver, metric = case.settings, case.gamma, case.solver, oracle.diagonal
    if change == "A":
        settings["A"] = 7.0 * settings["A"][::-1]
    elif change == "b":
        settings["b"] = np.linspace(-1.0, 1.0, M)
    elif change == "gamma":
        gamma = np.linspace(0.0, 3.0, D)
    else:
        solver, metric = dataclasses.replace(solver, metric=metrics.Identity()), oracle.identity
        first = solve(case.problem, dataclasses.replace(solver, metric=metrics.Diagonal()), samples=SAMPLES)
    problem = Problem(sp.csr_array(X), y, loss=Hinge(), gamma=gamma, **settings)
    result = solve(problem, solver, samples=SAMPLES, start=first)
    history = case.history(
        constraint=oracle.constraint_of(**settings),
        gamma=gamma,
        metric=metric,
        start=(first.w, first.v, first.theta),
    )
    assert_same_run(result, history, problem)
