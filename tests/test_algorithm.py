"""Each run of the package is the run of the dense oracle on the same rows, whatever parts it is made of.

Interpreted (``NUMBA_DISABLE_JIT=1``) the whole product of losses, penalties, metrics, w-steps and layouts is run;
compiled, some combinations in which each part occurs.
"""

import dataclasses
import itertools
import os
import subprocess
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import oracle
import pytest
import scipy.sparse as sp

from adasadmm import (
    L1,
    OADMM,
    SADMM,
    AdaSADMM,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    Full,
    GroupL2,
    Hinge,
    Huber,
    L2Ball,
    L2Squared,
    Logistic,
    NonNegative,
    Poisson,
    Problem,
    Quantile,
    Simplex,
    Squared,
    SquaredHinge,
    Stack,
    Status,
    Zero,
    metrics,
    quadratics,
    solve,
    stepsizes,
)

INTERPRETED = bool(numba.config.DISABLE_JIT)
N, D, M, P = 8, 4, 8, 7
SAMPLES = np.array([3, 1, 4, 1, 5, 0, 2, 6, 7, 3, 5])  # two rows come twice; batches of 3 leave a shorter one


# --- a metric of a user's own ----------------------------------------------------------------------------------------


class SumOfSquares(NamedTuple):
    """``H_t = scale G_t``: no root is taken."""

    scale: float


class SumOfSquaresState(NamedTuple):
    scale: float
    G: np.ndarray


@metrics.start.register
def _(metric: SumOfSquares, d):
    return SumOfSquaresState(metric.scale, np.zeros((d, d)))


@metrics.observe.register
def _(H: SumOfSquaresState, g):
    for i in range(len(g)):
        for j in range(len(g)):
            H.G[i, j] += H.scale * g[i] * g[j]


@metrics.apply.register
def _(H: SumOfSquaresState, x, out):
    for i in range(len(x)):
        out[i] = 0.0
        for j in range(len(x)):
            out[i] += H.G[i, j] * x[j]


def sum_of_squares(gradients, a, kept):
    return a * np.eye(D) + 0.3 * np.transpose(gradients) @ gradients


# --- the parts -------------------------------------------------------------------------------------------------------

LOSSES = {
    "hinge": Hinge(),
    "squared-hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared": Squared(),
    "huber": Huber(0.8),
    "epsilon": EpsilonInsensitive(0.3),
    "quantile": Quantile(0.3),
    "poisson": Poisson(),
}
PENALTIES = {  # each for v of length p
    "l1": lambda p: L1(0.05),
    "weighted-l1": lambda p: L1(0.1, np.linspace(0.0, 2.0, p)),
    "elastic-net": lambda p: ElasticNet(0.2, 0.3),
    "group": lambda p: GroupL2(0.1, [[2, 0], [1]]),
    "weighted-group": lambda p: GroupL2(0.1, [[0], [1, 2]], [0.5, 2.0]),
    "l2-squared": lambda p: L2Squared(0.4),
    "zero": lambda p: Zero(),
    "non-negative": lambda p: NonNegative(),
    "box": lambda p: Box(-0.1, 0.2),
    "box-each": lambda p: Box(np.linspace(-0.3, 0.0, p), np.append(np.linspace(0.1, 0.2, p - 1), np.inf)),
    "ball": lambda p: L2Ball(0.2),
    "simplex": lambda p: Simplex(0.5),
    "stack": lambda p: Stack(  # where v has an eighth coordinate, it is free
        (
            (ElasticNet(0.2, 0.3), [4, 0]),
            (GroupL2(0.1, [[1], [0]], [0.5, 2.0]), slice(1, 3)),
            (NonNegative(), [3]),
            (Box(-0.1, 0.2), [5]),
            (L2Squared(0.4), [6]),
        )
    ),
}
METRICS = {  # the package's, and the oracle's
    "identity": ("identity", oracle.identity),
    "diagonal": ("diagonal", oracle.diagonal),
    "full": ("full", oracle.full),
    "lagging": (Full(refresh=0.05), oracle.lagging(0.05)),
    "own": (SumOfSquares(0.3), sum_of_squares),
}
STEPS = {
    "constant": (0.4, oracle.constant(0.4)),
    "1/t": (stepsizes.InverseTime(0.6), oracle.inverse_time(0.6)),
    "1/sqrt(t)": (stepsizes.InverseSqrt(0.9), oracle.inverse_sqrt(0.9)),
}
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}
BOX, BALL = Box(-0.05, 0.1), L2Ball(0.1)


def orthonormal(rows, columns):
    return np.linalg.qr(np.random.default_rng(rows * columns).normal(size=(rows, columns)))[0]


MATRICES_B = {
    "-I": None,
    "orthogonal": 2.0 * orthonormal(M, P),
    "parts": orthonormal(M, M) * [2.0, 3.0, 3.0, 0.5, 2.0, 0.7, 1.5, 4.0],  # B'B is c I, with a c for each part
    "general": np.random.default_rng(3).normal(size=(M, P)),
}


def rows_of_data(loss):
    """Rows with zeros, one of them empty, and targets that the loss accepts."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    X[6] = 0.0
    y = rng.normal(size=N)
    if isinstance(loss, (Hinge, SquaredHinge, Logistic)):
        y = np.where(y > 0.0, 1.0, -1.0)
    return X, np.round(np.exp(y)) if isinstance(loss, Poisson) else y


@dataclasses.dataclass(frozen=True)
class Case:
    """One combination, by the names of its parts."""

    loss: str = "hinge"
    penalty: str = "l1"
    metric: str = "diagonal"
    w_step: str = "linearized"
    layout: str = "dense"
    B: str = "-I"
    b: bool = False
    batch_size: int = 1
    weights: bool = False
    gamma_each: bool = False
    step: str = "constant"
    w_set: Any = None
    average: str = "uniform"

    def __str__(self):
        return "-".join(
            str(getattr(self, field.name)) if isinstance(field.default, str) else field.name
            for field in dataclasses.fields(self)
            if (isinstance(field.default, str) and field.name not in ("B", "step", "average"))
            or getattr(self, field.name) != field.default
        )

    @property
    def gamma(self):
        return np.array([0.3, 0.0, 0.1, 0.6]) if self.gamma_each else 0.2

    @property
    def data(self):
        return rows_of_data(LOSSES[self.loss])

    @property
    def settings(self):
        """What both the package and the oracle are given."""
        rng = np.random.default_rng(2)
        A = 0.4 * rng.normal(size=(M, D)) * (rng.random((M, D)) < 0.6)
        B = MATRICES_B[self.B]
        p = M if B is None else B.shape[1]
        return {
            "penalty": PENALTIES[self.penalty](p),
            "A": A,
            "B": B,
            "b": rng.normal(size=M) if self.b else None,
        }

    @property
    def sample_weight(self):
        return np.random.default_rng(4).integers(0, 4, size=N) + 0.5 if self.weights else None

    @property
    def problem(self):
        X, y = self.data
        return Problem(
            LAYOUTS[self.layout](X),
            y,
            loss=LOSSES[self.loss],
            gamma=self.gamma,
            w_set=self.w_set,
            sample_weight=self.sample_weight,
            **self.settings,
        )

    @property
    def keeps_w_set(self):
        return isinstance(self.w_set, Box) and self.w_step == "linearized" and self.metric in ("identity", "diagonal")

    @property
    def constraint(self):
        return oracle.constraint_of(**self.settings, split_set=None if self.keeps_w_set else self.w_set)

    @property
    def solver(self):
        return AdaSADMM(
            METRICS[self.metric][0],
            eta=STEPS[self.step][0],
            a=0.7,
            beta=1.3,
            w_step=self.w_step,
            batch_size=self.batch_size,
            average=self.average,
        )

    def history(self, **changes):
        """The oracle's run."""
        settings = {
            "loss": LOSSES[self.loss],
            "constraint": self.constraint,
            "samples": SAMPLES,
            "gamma": self.gamma,
            "weights": 1.0 if self.sample_weight is None else self.sample_weight,
            "batch_size": self.batch_size,
            "metric": METRICS[self.metric][1],
            "a": 0.7,
            "eta": STEPS[self.step][1],
            "beta": 1.3,
            "w_step": self.w_step,
            "box": self.w_set if self.keeps_w_set else None,
        }
        return oracle.algorithm1(*self.data, **{**settings, **changes})

    @property
    def tolerance(self):
        """The root of a rank-deficient G turns a rounding of 1e-16 into one of 1e-8."""
        return 1e-6 if self.metric in ("full", "lagging") else 1e-9


def assert_same_run(result, history, problem, tolerance=1e-9):
    """All iterates and means are those of the oracle."""
    for got, wanted in (
        (result.w, history.W[-1]),
        (result.v, history.V[-1][: problem.p]),
        (result.theta, history.Theta[-1][: problem.m]),
        (result.w_mean, history.w_mean),
        (result.v_mean, history.v_mean[: problem.p]),
    ):
        assert_close(got, wanted, tolerance)


def assert_close(got, wanted, tolerance=1e-9):
    """Relative to the largest entry; a vector that is all but 0 counts as one of the size of 1e-3."""
    size = max(np.abs(wanted).max(), 1e-3)
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * size)


def whole_product():
    """Every combination of the five parts; the other settings go round, each with its own period."""
    names = itertools.product(LOSSES, PENALTIES, METRICS, ("linearized", "exact"), LAYOUTS)
    for k, (loss, penalty, metric, w_step, layout) in enumerate(names):
        options = {
            "B": ("-I", "orthogonal", "general")[k // 20 % 3],
            "b": k // 7 % 2 == 0,
            "batch_size": (1, 3)[k // 3 % 2],
            "weights": k // 11 % 2 == 0,
            "gamma_each": k // 13 % 2 == 0,
            "step": tuple(STEPS)[k // 4 % 3],
            "w_set": (None, BOX, BALL)[k // 17 % 3],
        }
        yield Case(loss, penalty, metric, w_step, layout, **options)


COVERING = [  # the full and the lagging metric are one in compiled code
    Case("hinge", "l1", "diagonal", "linearized", "csr"),
    Case("poisson", "l1", "full", "exact", "dense", b=True),
    Case("poisson", "l1", "lagging", "exact", "dense", gamma_each=True, weights=True),
    Case("squared-hinge", "weighted-l1", "identity", "exact", "csr", step="1/t", batch_size=3),
    Case("logistic", "zero", "diagonal", "exact", "csr", B="general", b=True, weights=True),
    Case("huber", "group", "own", "exact", "dense", b=True, batch_size=3),
    Case("squared", "ball", "identity", "linearized", "csr", B="orthogonal", step="1/sqrt(t)", gamma_each=True),
    Case("epsilon", "simplex", "diagonal", "linearized", "dense", w_set=BALL),
    Case("quantile", "box-each", "diagonal", "linearized", "dense", w_set=BOX, weights=True, average="polynomial"),
    Case("squared", "stack", "diagonal", "linearized", "dense", B="parts", b=True, gamma_each=True),
]
IN_STACK = {"elastic-net", "weighted-group", "l2-squared", "non-negative", "box"}
each_case = pytest.mark.parametrize("case", COVERING, ids=str)


@pytest.mark.parametrize("case", [*COVERING, *(whole_product() if INTERPRETED else ())], ids=str)
def test_run_is_that_of_the_oracle(case):
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
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__],
            env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
        )
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
    history = case.history(a=0.7 * unit, beta=unit**2, eta=oracle.travelled(1e-3 / unit, np.inf))
    assert_same_run(result, history, case.problem)
    squares = np.square(history.etas)
    assert_close(result.w_average, history.w_average(squares / np.cumsum(squares)))


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
        B, w_step = ("-I", "general")[k // 3 % 2], ("spectral", "exact")[k // 5 % 2]
        yield Case(loss, penalty, layout=layout, B=B, w_step=w_step)


ONLINE = [Case("logistic", "l1", layout="csr", w_step="spectral")]


@pytest.mark.parametrize("case", [*ONLINE, *(online_product() if INTERPRETED else ())], ids=str)
def test_oadmm_is_that_of_the_oracle(monkeypatch, case):
    """The rows hold an empty one, along which the loss cannot pull."""
    case = dataclasses.replace(case, b=True, weights=True, gamma_each=True)
    if case.w_step == "exact":
        monkeypatch.setattr(quadratics, "SPECTRAL_MOST", 0)  # as for more features: conjugate gradients
    result = solve(case.problem, OADMM(0.4, beta=1.3), samples=SAMPLES)
    history = oracle.online(
        *case.data,
        loss=LOSSES[case.loss],
        constraint=case.constraint,
        samples=SAMPLES,
        gamma=case.gamma,
        weights=case.sample_weight,
        eta=oracle.constant(0.4),
        beta=1.3,
    )
    assert_same_run(result, history, case.problem)


# --- the order of rows, and going on ---------------------------------------------------------------------------------


def assert_same_bits(one, other):
    for name in ("w", "v", "theta", "w_mean", "v_mean", "w_average", "w_feasible"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


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


@pytest.mark.parametrize("change", ["A", "b", "gamma", "metric"])
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


# --- how a run ends --------------------------------------------------------------------------------------------------


def diverging(name):
    """A problem, a solver and the oracle's run, all of which leave the floating point numbers."""
    case = {"squared": COVERING[6], "poisson": COVERING[1]}[name]
    X, y = case.data
    X = 1e3 * X
    problem = Problem(LAYOUTS[case.layout](X), y, loss=LOSSES[case.loss], gamma=case.gamma, **case.settings)
    eta = stepsizes.InverseSqrt(1e6) if case.step == "1/sqrt(t)" else 1e6
    return problem, dataclasses.replace(case.solver, eta=eta)


@pytest.mark.parametrize("name", ["squared", "poisson"])
def test_a_diverging_run_ends_with_its_last_finite_iterate(name):
    problem, solver = diverging(name)
    samples = np.tile(np.arange(6), 50)
    result = solve(problem, solver, samples=samples, trace_every=100.0)
    assert result.status is Status.diverged
    assert np.isfinite(result.w).all() and np.isfinite(result.v).all() and np.isfinite(result.theta).all()
    assert not np.isfinite(result.certificate.relative_gap)
    finite = result.run.iteration
    assert 0 < finite < len(samples)
    assert_same_bits(result, solve(problem, solver, samples=samples[:finite], trace_every=100.0))
    following = solve(problem, solver, samples=samples[: finite + 1], trace_every=100.0)
    assert following.status is Status.diverged
    assert_same_bits(result, following)


def test_the_last_finite_iterate_is_also_the_oracles():
    problem, solver = diverging("squared")
    case = COVERING[6]
    X, y = case.data
    samples = np.tile(np.arange(6), 50)
    result = solve(problem, solver, samples=samples, trace_every=100.0)
    with np.errstate(over="ignore", invalid="ignore"):
        history = oracle.algorithm1(
            1e3 * X,
            y,
            loss=Squared(),
            constraint=case.constraint,
            samples=samples[: result.run.iteration + 1],
            gamma=case.gamma,
            metric=oracle.identity,
            eta=oracle.inverse_sqrt(1e6),
            beta=1.3,
            w_step="linearized",
        )
    np.testing.assert_allclose(result.w, history.W[-2], rtol=1e-6)
    assert not np.isfinite([*history.W[-1], *history.Theta[-1]]).all()


def test_the_callback_can_stop_the_run():
    case, seen = COVERING[0], []

    def stop_at_the_third(snapshot):
        seen.append(snapshot)
        return len(seen) == 3

    result = solve(case.problem, case.solver, epochs=4, trace_every=0.5, order="given", callback=stop_at_the_third)
    assert result.status is Status.stopped
    assert [snapshot.epoch for snapshot in seen] == [0.5, 1.0, 1.5]
    assert_same_bits(result, solve(case.problem, case.solver, epochs=1.5, order="given"))
    np.testing.assert_array_equal(seen[-1].w, result.w)
    np.testing.assert_array_equal(seen[-1].w_mean, result.w_mean)
    assert (seen[0].w != seen[1].w).any()  # each snapshot holds copies


@pytest.mark.parametrize("case", [COVERING[0], COVERING[3], COVERING[4], COVERING[9]], ids=str)
def test_what_the_trace_says(case):
    """Each column, from the oracle's iterates; the objective at the v that the constraint makes of w, if it does."""
    problem, history = case.problem, case.history()
    trace = solve(problem, case.solver, samples=SAMPLES, trace_every=3 / N).trace
    A, B, b, *_ = case.constraint
    (X, y), loss, gamma = case.data, LOSSES[case.loss], case.gamma
    c = np.ones(N) if case.sample_weight is None else case.sample_weight / case.sample_weight.mean()

    def objective(w, v):
        v = np.linalg.solve(B, b - A @ w) if len(B) == len(B.T) else v
        data = np.mean(c * oracle.value(loss, X @ w, y)) + np.sum(gamma * w**2) / 2
        return data + oracle.penalty_value(case.settings["penalty"], v)

    visits = [3, 6, 9, 11]
    iterations = [-(-visit // case.batch_size) for visit in visits]
    np.testing.assert_array_equal(trace["iteration"], iterations)
    assert_close(trace["epoch"], np.array(visits) / N)
    assert (np.diff(trace["seconds"]) > 0.0).all()
    for k, t in enumerate(iterations):
        w, v, before = history.W[t], history.V[t], history.V[t - 1]
        assert_close(trace["objective"][k], objective(w, v))
        means = history.W[:t].mean(axis=0), history.V[1 : t + 1].mean(axis=0)
        assert_close(trace["objective_mean"][k], objective(*means))
        assert_close(trace["primal_residual"][k], np.linalg.norm(A @ w + B @ v - b))
        assert_close(trace["dual_residual"][k], 1.3 * np.linalg.norm(A.T @ B @ (v - before)))
        assert_close(trace["eta"][k], history.etas[t - 1])
    with pytest.raises(ValueError, match="read-only"):
        trace["objective"][0] = 0.0
