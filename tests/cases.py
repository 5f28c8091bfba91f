"""The parts of which runs are made, by name, and their combinations, for the package and for the oracle."""

import dataclasses
import os
import subprocess
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import oracle
import scipy.sparse as sp

from adasadmm import (
    L1,
    AdaSADMM,
    Box,
    ChainTV,
    ElasticNet,
    EpsilonInsensitive,
    Full,
    Gamma,
    GroupL2,
    Hinge,
    Huber,
    L2Ball,
    L2Squared,
    Logistic,
    NegativeBinomial,
    NonNegative,
    Poisson,
    Problem,
    Quantile,
    Simplex,
    Squared,
    SquaredHinge,
    Stack,
    Tweedie,
    Zero,
    losses,
    metrics,
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
def sum_of_squares_start(metric: SumOfSquares, d):
    return SumOfSquaresState(metric.scale, np.zeros((d, d)))


@metrics.observe.register
def sum_of_squares_observe(H: SumOfSquaresState, g):
    for i in range(len(g)):
        for j in range(len(g)):
            H.G[i, j] += H.scale * g[i] * g[j]


@metrics.apply.register
def sum_of_squares_apply(H: SumOfSquaresState, x, out):
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
    "gamma": Gamma(),
    "tweedie": Tweedie(1.3),
    "negative-binomial": NegativeBinomial(0.5),
}
PENALTIES = {  # each for v of length p
    "l1": lambda p: L1(0.05),
    "weighted-l1": lambda p: L1(0.1, np.linspace(0.0, 2.0, p)),
    "elastic-net": lambda p: ElasticNet(0.2, 0.3),
    "group": lambda p: GroupL2(0.1, [[2, 0], [1]]),
    "weighted-group": lambda p: GroupL2(0.1, [[0], [1, 2]], [0.5, 2.0]),
    "chain": lambda p: ChainTV(0.1),
    "weighted-chain": lambda p: ChainTV(0.05, np.linspace(0.5, 2.0, p - 1)),
    "l2-squared": lambda p: L2Squared(0.4),
    "zero": lambda p: Zero(),
    "non-negative": lambda p: NonNegative(),
    "box": lambda p: Box(-0.1, 0.2),
    "box-each": lambda p: Box(np.linspace(-0.3, 0.0, p), np.append(np.linspace(0.1, 0.2, p - 1), np.inf)),
    "ball": lambda p: L2Ball(0.2),
    "simplex": lambda p: Simplex(0.5),
    "stack": lambda p: Stack(  # where v has an eighth coordinate, it is free
        (
            (GroupL2(0.1, [[1], [0]], [0.5, 2.0]), slice(1, 3)),
            (NonNegative(), [4, 0]),
            (Box(-0.1, 0.2), [3, 5, 6]),
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
    "parts": orthonormal(M, M) * [2.0, 3.0, 3.0, 0.5, 2.0, 0.5, 0.5, 4.0],  # B'B is c I, with a c for each part
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
    if losses.has_log_link(loss):
        y = np.exp(y) if isinstance(loss, Gamma) else np.round(np.exp(y))
    return X, y


@dataclasses.dataclass(frozen=True)
class Case:
    """One combination, by the names of its parts."""

    loss: str = "hinge"
    penalty: str = "l1"
    metric: str = "diagonal"
    w_step: str = "linearized"
    layout: str = "dense"
    A: str = "general"
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
            if (isinstance(field.default, str) and field.name not in ("A", "B", "step", "average"))
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
        if self.A != "general":  # edges in no order, some twice, and of both directions
            A = np.array([np.eye(D)[i] - np.eye(D)[j] for i, j in (rng.permutation(D)[:2] for _ in range(M))])
            A *= rng.uniform(0.2, 0.9, size=(M, 1)) if self.A == "weighted graph" else 1.0
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

    @property
    def terms(self):
        """The problem in the words of the oracle."""
        return {
            "loss": LOSSES[self.loss],
            "constraint": self.constraint,
            "gamma": self.gamma,
            "weights": 1.0 if self.sample_weight is None else self.sample_weight,
        }

    def history(self, data=None, **changes):
        """The oracle's run."""
        settings = {
            **self.terms,
            "samples": SAMPLES,
            "batch_size": self.batch_size,
            "metric": METRICS[self.metric][1],
            "a": 0.7,
            "eta": STEPS[self.step][1],
            "beta": 1.3,
            "w_step": self.w_step,
            "box": self.w_set if self.keeps_w_set else None,
        }
        return oracle.algorithm1(*(data or self.data), **{**settings, **changes})

    def objective(self, w, v):
        """The objective at w and the v that the constraint makes of it; at this v where there is no such."""
        A, B, b, *_ = oracle.constraint_of(**self.settings)
        v = np.linalg.solve(B, b - A @ w) if len(B) == len(B.T) else v
        (X, y), weights = self.data, self.terms["weights"]
        data = np.mean(weights / np.mean(weights) * oracle.value(LOSSES[self.loss], X @ w, y))
        return data + np.sum(self.gamma * w**2) / 2 + oracle.penalty_value(self.settings["penalty"], v)

    @property
    def tolerance(self):
        """The root of a rank-deficient G turns a rounding of 1e-16 into one of 1e-8."""
        return 1e-6 if self.metric in ("full", "lagging") else 1e-9


COVERING = [  # the full and the lagging metric are one in compiled code
    Case("hinge", "l1", "diagonal", "linearized", "csr"),
    Case("poisson", "l2-squared", "full", "exact", "dense", b=True),
    Case("poisson", "l2-squared", "lagging", "exact", "dense", gamma_each=True, weights=True),
    Case("squared-hinge", "weighted-l1", "identity", "exact", "csr", step="1/t", batch_size=3),
    Case("logistic", "elastic-net", "diagonal", "exact", "csr", B="general", b=True, weights=True),
    Case("huber", "group", "own", "exact", "dense", b=True, batch_size=3),
    Case("squared", "ball", "identity", "linearized", "csr", B="orthogonal", step="1/sqrt(t)", gamma_each=True),
    Case("epsilon", "simplex", "diagonal", "linearized", "dense", w_set=BALL),
    Case("quantile", "box-each", "diagonal", "linearized", "dense", w_set=BOX, weights=True, average="polynomial"),
    Case("squared", "stack", "diagonal", "linearized", "dense", B="parts", b=True, gamma_each=True),
    Case("hinge", "l1", "diagonal", "linearized", "csr", A="graph"),
    Case("logistic", "elastic-net", "diagonal", "exact", "dense", A="weighted graph", b=True, w_set=BOX),
    Case("squared", "weighted-l1", "lagging", "linearized", "dense", A="weighted graph", b=True, batch_size=3),
    Case("squared", "chain", "diagonal", "linearized", "csr", b=True),
    Case("hinge", "weighted-chain", "identity", "exact", "dense", step="1/sqrt(t)"),
    Case("gamma", "l1", "diagonal", "linearized", "csr", batch_size=3, weights=True),
    Case("tweedie", "weighted-l1", "diagonal", "linearized", "dense", b=True, gamma_each=True),
    Case("negative-binomial", "l1", "diagonal", "exact", "csr", A="graph"),
]


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


def assert_same_bits(one, other):
    for name in ("w", "v", "theta", "w_mean", "v_mean", "w_average", "w_feasible"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def run_interpreted(file):
    """Run a file of tests in a process of its own in which nothing is compiled."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", file],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
