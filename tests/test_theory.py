"""The paper's inequalities: of its metrics and propositions, and of whole runs against Theorems 1 to 3."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from random_rows import drawn
from references import reference

from adasadmm import metrics, penalties, theory
from adasadmm._solve import solve
from adasadmm.metrics import Diagonal, Full
from adasadmm.rows.matrices import to_scipy
from adasadmm.solvers import SADMM, AdaSADMM

pytestmark = pytest.mark.compiled  # too slow without the compiler

ROUNDING = 1e-6  # of a root: an eigenvalue 0 that comes out as 1e-16 has the root 1e-8

examples = settings(deadline=None, max_examples=50)
few_examples = settings(deadline=None, max_examples=15)
for_each_metric = pytest.mark.parametrize("metric", [Diagonal(), Full(), Full(refresh=0.3)], ids=str)
sizes = st.floats(-2.0, 2.0).map(lambda exponent: 10.0**exponent)


@st.composite
def gradients(draw):
    """g_1..g_T as rows, some of them zero, many of them dependent."""
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    entries = st.sampled_from([0.0, 1.0, -1.0, 0.5]) | st.floats(-10.0, 10.0, allow_subnormal=False)
    return draw(arrays(float, shape, elements=entries))


def metrics_seen(metric, g, a):
    """H_1, ..., H_T for these gradients, as matrices."""
    T, d = g.shape
    state = metrics.start(metric, d)
    state = state._replace(a=a) if isinstance(metric, Full) else state
    found = np.empty((T, d, d))
    for t in range(T):
        metrics.observe(state, g[t])
        for j in range(d):
            metrics.apply(state, np.eye(d)[j], found[t, j])
    return found + a * np.eye(d)


# --- the metrics and the propositions --------------------------------------------------------------------------------


@for_each_metric
@examples
@given(g=gradients(), a=sizes)
def test_metrics_never_decrease(metric, g, a):
    H = metrics_seen(metric, g, a)
    changes = np.diff(H, axis=0, prepend=[a * np.eye(g.shape[1])])
    assert np.linalg.eigvalsh(changes).min() >= -ROUNDING * np.abs(H).max()


@for_each_metric
@examples
@given(g=gradients(), a=sizes)
def test_gradients_measured_in_the_metric_sum_to_at_most_twice_its_trace(metric, g, a):
    total = sum(g_t @ np.linalg.solve(H, g_t) for H, g_t in zip(metrics_seen(metric, g, a), g, strict=True))
    if isinstance(metric, Diagonal):
        most = 2 * np.linalg.norm(g, axis=0).sum()
    else:
        most = 2 * math.sqrt(1 + metric.refresh * g.shape[1]) * np.linalg.norm(g, "nuc")
    assert total <= most * (1 + ROUNDING)


@examples
@given(g=gradients(), a=sizes, refresh=st.floats(0.01, 3.0))
def test_a_lagging_metric_stays_near_the_full_one(g, a, refresh):
    d = g.shape[1]
    for t, P in enumerate(metrics_seen(Full(refresh), g, a), start=1):
        room = (1 + refresh * d) * P @ P - g[:t].T @ g[:t]
        assert np.linalg.eigvalsh(room).min() >= -ROUNDING * np.abs(P).max() ** 2


@examples
@given(g=gradients(), c=sizes, seed=st.integers(0, 99))
def test_proposition_1(g, c, seed):
    norms = np.diag(metrics_seen(Diagonal(), g, 0.0)[-1])
    assume(norms.sum() > 1e-3)
    squares, least = np.sum(g**2, axis=0), norms.sum() ** 2 / c

    def value(s):  # sum_t |g_t|^2 in diag(s)^{-1}
        return np.sum(squares[squares > 0] / s[squares > 0])

    assert value(c * norms / norms.sum()) == pytest.approx(least)
    for s in np.random.default_rng(seed).dirichlet(np.ones(g.shape[1]), size=20):
        assert value(c * np.maximum(s, 1e-300)) >= least * (1 - 1e-12)


@examples
@given(g=gradients(), c=sizes, seed=st.integers(0, 99))
def test_proposition_2(g, c, seed):
    root, rng = metrics_seen(Full(), g, 0.0)[-1], np.random.default_rng(seed)
    assume(np.trace(root) > 1e-3)
    d, least = len(root), np.trace(root) ** 2 / c

    def value(inverse):  # sum_t |g_t|^2 in S^{-1}
        return np.sum((g @ inverse) * g)

    S = c * root / np.trace(root)
    assert value(np.linalg.pinv(S, rcond=ROUNDING, hermitian=True)) == pytest.approx(least, rel=100 * ROUNDING)
    for directions in rng.standard_normal((20, d, d)):
        S = directions @ directions.T
        assert value(np.linalg.inv(S * c / np.trace(S))) >= least * (1 - ROUNDING)


# --- runs ------------------------------------------------------------------------------------------------------------


class Loudest(NamedTuple):
    """An own metric: the largest entry of a gradient so far, times I."""


class LoudestState(NamedTuple):
    largest: np.ndarray


@metrics.start.register
def loudest_start(metric: Loudest, d):
    return LoudestState(np.zeros(1))


@metrics.observe.register
def loudest_observe(H: LoudestState, g):
    H.largest[0] = max(H.largest[0], np.max(np.abs(g)))


@metrics.apply.register
def loudest_apply(H: LoudestState, x, out):
    out[:] = H.largest[0] * x


def loudest(g, a, kept):
    return (a + np.max(np.abs(g))) * np.eye(len(g[0]))


class Case(NamedTuple):
    """A problem of `references`, a solver, and what the oracle calls its metric and its step size."""

    name: str
    solver: Any
    metric: Any
    eta: Any
    theorem: str = "theorem1"


HALF = oracle.constant(0.5)
LAGGING = AdaSADMM(Full(refresh=0.05), eta=0.5, a=0.3, beta=0.2)
CASES = (
    Case("hinge_graph", AdaSADMM("full", eta=0.5, w_step="exact"), oracle.full, HALF, "theorem3"),
    Case("quantile_chain", AdaSADMM(eta=0.5, beta=0.1, batch_size=4), oracle.diagonal, HALF, "theorem2"),
    Case("quantile_chain", LAGGING, oracle.lagging(0.05), HALF, "theorem3"),
    Case("squared_overlapping_groups", SADMM(eta=0.5), oracle.identity, oracle.inverse_sqrt(0.5)),
    Case("huber_tall_B", AdaSADMM(eta=0.5), oracle.diagonal, HALF, "theorem2"),
    Case("hinge_box", AdaSADMM(eta=0.5), oracle.diagonal, HALF, "theorem2"),  # the w-step keeps the box
    Case("hinge_box", AdaSADMM(Loudest(), eta=0.5), loudest, HALF),  # the box is split off
)
for_each_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.name}-{getattr(case.solver, 'metric', 'identity')}"
)


def dense(matrix):
    return to_scipy(matrix).toarray() if hasattr(matrix, "indptr") else matrix.values


def at_most(one, other):
    return one <= other + ROUNDING * abs(other) + 1e-9


@pytest.mark.slow
@for_each_case
def test_bounds_hold_in_the_mean_over_rows_drawn_with_replacement(case):
    problem, _, w_star, v_star, _ = reference(case.name)
    found = [theory.bounds(problem, case.solver, drawn(problem, seed), w_star, v_star, rho=0.5) for seed in range(20)]

    def mean(field):
        return np.mean([getattr(each, field) for each in found])

    assert 0.0 <= mean("lhs") <= mean("theorem1") <= mean(case.theorem)
    for name in {"theorem2", "theorem3"} - {case.theorem}:
        assert all(math.isnan(mean(name + ending)) for ending in ("", "_printed", "_eta", "_best"))


@pytest.mark.slow  # every case compiles
@for_each_case
@few_examples
@given(data=st.data(), T=st.integers(1, 20), eta=sizes, a=sizes, beta=sizes, rho=sizes, seed=st.integers(0, 2**16))
def test_with_all_rows_in_each_batch_every_run_obeys(case, data, T, eta, a, beta, rho, seed):
    """From any start, against any feasible point."""
    problem, rng = reference(case.name).problem, np.random.default_rng(seed)
    changes = {"eta": eta, "beta": beta, "batch_size": problem.n}
    adaptive = isinstance(case.solver, AdaSADMM)
    solver = dataclasses.replace(case.solver, **changes, **({"a": a} if adaptive else {}))
    u_star, first = feasible_point(problem, rng), solve(problem, solver, epochs=0)
    if data.draw(st.booleans(), label="start anywhere"):
        w, v, theta = (data.draw(sizes, label="scale") * rng.standard_normal(len(x)) for x in first_of(first))
        first = dataclasses.replace(first, w=w, v=v, theta=theta)
    found = theory.bounds(problem, solver, np.tile(np.arange(problem.n), T), *u_star, rho, start=first)
    assert at_most(found.lhs, found.theorem1)
    if case.theorem != "theorem1":
        assert at_most(found.theorem1, getattr(found, case.theorem))


def first_of(result):
    return result.w, result.v, result.theta


def feasible_point(problem, rng):
    """Any w in W, and what the constraint makes of it; with the tall B any v, and its w."""
    if problem.B is not None:
        v = rng.standard_normal(problem.p)
        return problem.b - problem.times_B(v), v  # A is I there
    w = rng.standard_normal(problem.d)
    if problem.w_set is not None:
        penalties.prox(problem.w_set, w, 1.0, w)
    return w, problem.v_of(w)


# --- the sums, against dense NumPy -----------------------------------------------------------------------------------


@pytest.mark.slow
@for_each_case
def test_both_sides_are_what_dense_numpy_makes_of_the_run(case):
    problem, optimum, w_star, v_star, _ = reference(case.name)
    samples, rho, solver = drawn(problem, 0), 0.7, case.solver
    found = theory.bounds(problem, solver, samples, w_star, v_star, rho)

    split = None if isinstance(solver, SADMM) or solver.metric == "diagonal" else problem.w_set
    (X, y, c), beta, a, size = problem.rows, solver.beta, getattr(solver, "a", 1.0), solver.batch_size
    X, own_A, own_B = dense(X), dense(problem.A), None if problem.B is None else dense(problem.B)
    constraint = oracle.constraint_of(problem.penalty, own_A, own_B, problem.b, split)
    run = dict(constraint=constraint, samples=samples, gamma=problem.gamma, weights=c, batch_size=size, a=a, beta=beta)
    box = problem.w_set if split is None else None
    W, V, _, etas = oracle.algorithm1(
        X, y, loss=problem.loss, metric=case.metric, eta=case.eta, w_step=solver.w_step, box=box, **run
    )
    A, B, b, _, curvatures = constraint
    v_star = v_star if split is None else np.append(v_star, w_star)
    slopes = c * np.array([oracle.slope(problem.loss, X @ w, y) for w in W[:-1]])
    batches = [samples[first : first + size] for first in range(0, len(samples), size)]
    g = [s[rows] @ X[rows] / len(rows) + problem.gamma * w for s, rows, w in zip(slopes, batches, W, strict=False)]
    kept: dict = {}
    H = [case.metric(g[: t + 1], a, kept) for t in range(len(g))]
    excess = np.zeros_like(H[0])
    if solver.w_step == "linearized":
        excess = beta * (np.diag(np.abs(A).T @ np.abs(A).sum(axis=1)) - A.T @ A)
    far = W - w_star

    def square(x, M):
        return x @ M @ x

    bregman = square(far[0], excess) - square(far[-1], excess)
    bregman += sum((square(far[t], H[t]) - square(far[t + 1], H[t])) / etas[t] for t in range(len(g)))
    steps = sum(etas[t] * square(g[t], np.linalg.inv(H[t] + etas[t] * excess)) for t in range(len(g)))
    C = np.concatenate([np.full(len(rows), k) for (_, rows), k in zip(constraint.parts, curvatures, strict=True)])
    gain = beta * square(v_star, np.diag(C) - B.T @ B)
    start = beta * np.sum((B @ v_star) ** 2) + rho**2 / beta
    T = len(g)
    close = pytest.approx
    assert found.theorem1 == close((bregman + steps + start + gain) / (2 * T), rel=ROUNDING)
    if found.eta == found.eta:
        assert found.theorem1_printed == close((bregman + steps + start) / (2 * T), rel=ROUNDING)
    else:
        assert math.isnan(found.theorem1_printed)
    assert found.gradient_sum == close(sum(square(g[t], np.linalg.inv(H[t])) for t in range(T)), rel=ROUNDING)

    eta, rest = etas[0], square(far[0], excess) + start + gain + a * np.sum(far[0] ** 2) / etas[0]
    if case.theorem == "theorem2":
        S, D = np.linalg.norm(g, axis=0).sum(), np.abs(far[:-1]).max()
        assert found.theorem2 == close((2 * eta * S + D**2 * S / eta + rest) / (2 * T))
        assert found.theorem2_printed == close((2 * eta * S + 2 * D**2 * S / eta + start) / (2 * T))
    if case.theorem == "theorem3":
        S, D = np.linalg.norm(g, "nuc"), np.linalg.norm(far[:-1], axis=1).max()
        k = math.sqrt(1 + solver.metric.refresh * problem.d) if isinstance(solver.metric, Full) else 1.0
        assert found.theorem3 == close((2 * eta * k * S + D**2 * S / eta + rest) / (2 * T), rel=ROUNDING)
        assert found.theorem3_printed == close((2 * eta * S + D**2 * S / eta + start) / (2 * T), rel=ROUNDING)

    w_mean, v_mean, residual = W[:-1].mean(axis=0), V[1:].mean(axis=0), A @ W[1:].T + B @ V[1:].T - b[:, None]
    lhs = problem.objective(w_mean, v_mean[: problem.p]) - optimum + rho * np.linalg.norm(residual.mean(axis=1))
    assert found.lhs == close(lhs, rel=ROUNDING)
    # Lemma 1 path by path: what the rows of a batch tell wrongly about the slope is all that the expectation hides.
    wrongly = [g_t - s @ X / problem.n - problem.gamma * w for g_t, s, w in zip(g, slopes, W, strict=False)]
    assert at_most(found.lhs, found.theorem1 - np.sum(wrongly * far[:-1]) / T)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.theorem != "theorem1"], ids=lambda case: case.name)
def test_second_halves_give_the_best_step(case):
    problem, _, w_star, v_star, _ = reference(case.name)
    found = theory.bounds(problem, case.solver, drawn(problem, 0), w_star, v_star, rho=0.5)
    S, D = (found.column_norms, found.far_inf) if case.theorem == "theorem2" else (found.root_trace, found.far_2)
    refresh = case.solver.metric.refresh if isinstance(case.solver.metric, Full) else 0.0
    d = problem.d

    def changing(eta):
        return 2 * eta * math.sqrt(1 + refresh * d) * S + (D**2 * S + case.solver.a * found.first_w**2) / eta

    bound, best = getattr(found, case.theorem), getattr(found, f"{case.theorem}_best")
    fixed = 2 * found.iterations * bound - changing(found.eta)
    assert best == pytest.approx((fixed + changing(getattr(found, f"{case.theorem}_eta"))) / (2 * found.iterations))
    for eta in np.geomspace(1e-3, 1e3, 25):
        assert best <= (fixed + changing(eta)) / (2 * found.iterations) * (1 + 1e-12)
