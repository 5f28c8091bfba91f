"""Small problems of every kind with their optima by CVXPY: `reference(name)` for each name in `NAMES`.

The losses, penalties and sets are written here anew, in CVXPY's words; nothing of the solvers is used.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from adasadmm.losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    NegativeBinomial,
    Poisson,
    Quantile,
    Squared,
    SquaredHinge,
    Tweedie,
)
from adasadmm.penalties import L1, Box, ChainTV, ElasticNet, GroupL2, L2Ball, NonNegative, Simplex, Stack
from adasadmm.problem import Problem
from adasadmm.rows.matrices import plain

TOLERANCE = 1e-9  # the references are as good as this, relative to the optimum: Clarabel is asked for a tenth of it


class Reference(NamedTuple):
    """A problem, its optimum, and where that is attained; theta is the multiplier of ``A w + B v = b``."""

    problem: Problem
    optimum: float
    w: np.ndarray
    v: np.ndarray
    theta: np.ndarray


@functools.cache
def reference(name: str) -> Reference:
    """The problem of that name with its optimum, solved once in a session."""
    settings = _BUILDERS[name]()
    return Reference(Problem(**settings), *optimum(**settings))


# --- the same problem for CVXPY --------------------------------------------------------------------------------------


def optimum(
    X, y, *, loss, penalty, A, B=None, b=None, gamma=0.0, w_set=None, sample_weight=None, tolerance=TOLERANCE
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The optimal value, w, v and theta of the problem with these settings, by Clarabel."""
    n, d = X.shape
    m = A.shape[0]
    B = -sp.eye_array(m) if B is None else B
    b = np.zeros(m) if b is None else b
    c = np.ones(n) if sample_weight is None else sample_weight * (n / sample_weight.sum())
    w, v = cp.Variable(d), cp.Variable(B.shape[1])
    value, sets = _penalty(penalty, v)
    if w_set is not None:
        sets = sets + _penalty(w_set, w)[1]
    ridge = cp.sum(cp.multiply(np.broadcast_to(gamma, d) / 2, cp.square(w)))
    total = c @ TERMS[type(loss)](loss, X @ w, y) / n + ridge + value
    joined = A @ w + B @ v == b
    program = cp.Problem(cp.Minimize(total), [joined, *sets])
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 0.1 * tolerance)
    program.solve(solver=cp.CLARABEL, **tight)
    assert program.status == cp.OPTIMAL
    return float(program.value), w.value, v.value, -joined.dual_value  # CVXPY adds the multiplier, the paper takes it


def optimum_of(problem: Problem) -> float:
    """The optimal value of a problem with B = -I, b = 0 and without a set of w, by Clarabel.

    It is written without v, which Clarabel solves more accurately if the penalty is strong.
    """
    X, y, c = problem.rows
    w = cp.Variable(problem.d)
    value, sets = _penalty(problem.penalty, plain(problem.A) @ w)
    ridge = cp.sum_squares(cp.multiply(np.sqrt(problem.gamma), w)) / 2
    loss = c @ TERMS[type(problem.loss)](problem.loss, plain(X) @ w, y) / problem.n
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it is accurate enough, the tests see
        return float(cp.Problem(cp.Minimize(loss + ridge + value), sets).solve(solver=cp.CLARABEL))


TERMS: dict[type, Callable[..., Any]] = {
    Hinge: lambda loss, z, y: cp.pos(1 - cp.multiply(y, z)),
    SquaredHinge: lambda loss, z, y: cp.square(cp.pos(1 - cp.multiply(y, z))),
    Logistic: lambda loss, z, y: cp.logistic(-cp.multiply(y, z)),
    Squared: lambda loss, z, y: cp.square(z - y) / 2,
    Huber: lambda loss, z, y: cp.huber(z - y, loss.delta) / 2,
    EpsilonInsensitive: lambda loss, z, y: cp.pos(cp.abs(z - y) - loss.epsilon),
    Quantile: lambda loss, z, y: cp.maximum(loss.q * (y - z), (loss.q - 1) * (y - z)),
    Poisson: lambda loss, z, y: cp.exp(z) - cp.multiply(y, z),
    Gamma: lambda loss, z, y: z + cp.multiply(y, cp.exp(-z)),
    Tweedie: lambda loss, z, y: (
        cp.exp((2 - loss.power) * z) / (2 - loss.power)
        + cp.multiply(y, cp.exp((1 - loss.power) * z)) / (loss.power - 1)
    ),
    NegativeBinomial: lambda loss, z, y: (
        cp.multiply(y + 1 / loss.alpha, cp.logistic(z + np.log(loss.alpha))) - cp.multiply(y, z)
    ),
}


def _penalty(penalty: Any, v: Any) -> tuple[Any, list]:
    """The penalty's value and the constraints that it stands for."""
    match penalty:
        case L1(nu, None):
            return nu * cp.norm1(v), []
        case L1(nu, weights):
            return nu * cp.sum(cp.multiply(weights, cp.abs(v))), []
        case ElasticNet(nu, l1_ratio):
            return nu * (l1_ratio * cp.norm1(v) + (1 - l1_ratio) / 2 * cp.sum_squares(v)), []
        case ChainTV(nu, weights):
            return _penalty(L1(nu, weights), cp.diff(v))
        case GroupL2():
            weights = np.ones(len(penalty.groups)) if penalty.weights is None else penalty.weights
            norms = [cp.norm2(v[members]) for members in penalty.groups]
            return penalty.nu * sum(weight * norm for weight, norm in zip(weights, norms, strict=True)), []
        case NonNegative():
            return 0.0, [v >= 0]
        case Box(lower, upper):
            return 0.0, [v >= lower, v <= upper]
        case L2Ball(radius):
            return 0.0, [cp.norm2(v) <= radius]
        case Simplex(total):
            return 0.0, [v >= 0, cp.sum(v) == total]
        case Stack(parts):
            pieces = [_penalty(part, v[rows]) for part, rows in parts]
            return sum(value for value, _ in pieces), [one for _, sets in pieces for one in sets]
    raise TypeError(f"{type(penalty).__name__} is not written in CVXPY's words here")


# --- matrices and data -----------------------------------------------------------------------------------------------


def chain(d: int, order: int = 1) -> sp.csr_array:
    """Differences of neighbours; of order 2, of the differences."""
    return sp.csr_array(np.diff(np.eye(d), n=order, axis=0))


def graph(d: int, edges: int, seed: int) -> sp.csr_array:
    """The incidence matrix of a random graph."""
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(d, 1))
    chosen = pairs[rng.choice(len(pairs), edges, replace=False)]
    rows = np.arange(edges).repeat(2)
    return sp.csr_array((np.tile([1.0, -1.0], edges), (rows, chosen.reshape(-1))), shape=(edges, d))


def steps(d: int) -> np.ndarray:
    """Coefficients that are constant on pieces."""
    return np.repeat([1.0, -0.5, 0.0, 2.0], -(-d // 4))[:d]


def labels(rng, X, w, bias=0.0):
    """Labels with some noise."""
    score = X @ w + bias + rng.normal(size=X.shape[0])
    return np.where(score > 0, 1.0, -1.0)


def targets(rng, X, w, noise=0.5):
    return X @ w + noise * rng.normal(size=X.shape[0])


def sparse_rows(rng, n, d, density=0.4):
    """Rows in CSR, the first of them empty."""
    kept = rng.random((n, d)) < density
    kept[0] = False
    return sp.csr_array(np.where(kept, rng.normal(size=(n, d)), 0.0))


# --- the problems ----------------------------------------------------------------------------------------------------

_BUILDERS: dict[str, Callable[[], dict[str, Any]]] = {}


def _problem(build: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    _BUILDERS[build.__name__] = build
    return build


@_problem
def hinge_graph():
    rng = np.random.default_rng(1)
    X = sparse_rows(rng, 120, 12)
    return dict(X=X, y=labels(rng, X, steps(12)), loss=Hinge(), penalty=L1(0.02), A=graph(12, 18, seed=1), gamma=0.01)


@_problem
def logistic_chain():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 10))
    return dict(X=X, y=labels(rng, X, steps(10)), loss=Logistic(), penalty=L1(0.02), A=chain(10), gamma=0.01)


@_problem
def squared_trend():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 9))
    slow = np.abs(np.arange(9.0) - 4) / 2
    return dict(X=X, y=targets(rng, X, slow), loss=Squared(), penalty=L1(0.05), A=chain(9, order=2))


@_problem
def squared_overlapping_groups():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 9))
    groups = [np.arange(3 * k, 3 * k + 3) for k in range(4)]
    copies = np.concatenate([[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]])
    A = sp.eye_array(9, format="csr")[copies]
    penalty = GroupL2(0.2, groups, weights=[1.0, 2.0, 1.0, 0.5])
    return dict(X=X, y=targets(rng, X, np.r_[1.0, 1.0, np.zeros(7)]), loss=Squared(), penalty=penalty, A=A, gamma=0.01)


@_problem
def quantile_chain():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 8))
    return dict(X=X, y=targets(rng, X, steps(8)), loss=Quantile(0.3), penalty=L1(0.02), A=chain(8), gamma=0.01)


@_problem
def hinge_box():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(100, 8))
    return dict(
        X=X,
        y=labels(rng, X, steps(8)),
        loss=Hinge(),
        penalty=L1(0.01),
        A=chain(8),
        gamma=0.02,
        w_set=Box(np.full(8, -0.3), np.full(8, 0.6)),
    )


@_problem
def squared_nonnegative():
    rng = np.random.default_rng(7)
    X = sparse_rows(rng, 100, 8, density=0.6)
    y = targets(rng, X, steps(8))
    return dict(X=X, y=y, loss=Squared(), penalty=L1(0.01), A=chain(8), w_set=NonNegative())


@_problem
def squared_simplex():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 7))
    y = targets(rng, X, np.r_[0.5, 0.4, 0.1, np.zeros(4)])
    return dict(X=X, y=y, loss=Squared(), penalty=L1(0.01), A=chain(7), w_set=Simplex(1.0))


@_problem
def logistic_ball():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(100, 8))
    y = labels(rng, X, steps(8))
    return dict(X=X, y=y, loss=Logistic(), penalty=L1(0.01), A=chain(8), gamma=0.01, w_set=L2Ball(1.2))


@_problem
def squared_invertible_B():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(80, 6))
    y = targets(rng, X, steps(6))
    B = -np.eye(5) + 0.3 * rng.normal(size=(5, 5))
    return dict(X=X, y=y, loss=Squared(), penalty=L1(0.05), A=chain(6), B=B, b=0.3 * rng.normal(size=5), gamma=0.1)


@_problem
def huber_tall_B():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(80, 8))
    B = -np.kron(np.eye(4), np.ones((2, 1))) + 0.1 * rng.normal(size=(8, 4))  # w = b - B v: four numbers for eight
    y = targets(rng, X, steps(8), noise=1.0)
    return dict(X=X, y=y, loss=Huber(0.8), penalty=L1(0.05), A=np.eye(8), B=B, b=0.1 * rng.normal(size=8), gamma=0.05)


@_problem
def squared_dictionary():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(80, 6))
    y = targets(rng, X, steps(6))
    B = -rng.normal(size=(6, 10))  # w is a sparse mixture of ten atoms
    return dict(X=X, y=y, loss=Squared(), penalty=L1(0.05), A=np.eye(6), B=B, gamma=0.05)


@_problem
def logistic_orthogonal_B():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(80, 6))
    B = 1.5 * np.linalg.qr(rng.normal(size=(5, 5)))[0]
    b = 0.2 * rng.normal(size=5)
    return dict(X=X, y=labels(rng, X, steps(6)), loss=Logistic(), penalty=L1(0.03), A=chain(6), B=B, b=b, gamma=0.05)


@_problem
def hinge_weights():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(120, 8))
    weight = rng.integers(0, 4, size=120) * 0.7
    y = labels(rng, X, steps(8))
    return dict(X=X, y=y, loss=Hinge(), penalty=L1(0.02), A=chain(8), gamma=0.02, sample_weight=weight)


def _with_intercept(X, A):
    """A column of ones that neither the ridge nor the constraint touches."""
    d = X.shape[1]
    return np.hstack([X, np.ones((len(X), 1))]), sp.hstack([A, sp.csr_array((A.shape[0], 1))]), np.r_[np.ones(d), 0.0]


@_problem
def hinge_intercept():
    rng = np.random.default_rng(15)
    features = rng.normal(size=(110, 8))
    X, A, penalised = _with_intercept(features, chain(8))
    y = labels(rng, features, steps(8), bias=1.0)
    return dict(X=X, y=y, loss=Hinge(), penalty=L1(0.02), A=A, gamma=0.02 * penalised)


@_problem
def squared_intercept():
    rng = np.random.default_rng(16)
    features = rng.normal(size=(90, 7))
    X, A, penalised = _with_intercept(features, chain(7))
    y = targets(rng, features, steps(7)) + 3.0
    return dict(X=X, y=y, loss=Squared(), penalty=L1(0.05), A=A, gamma=0.05 * penalised)


@_problem
def huber_chain():
    rng = np.random.default_rng(17)
    X = rng.normal(size=(100, 9))
    y = targets(rng, X, steps(9)) + np.where(rng.random(100) < 0.1, 8.0, 0.0)
    return dict(X=X, y=y, loss=Huber(0.7), penalty=L1(0.03, weights=np.linspace(0.5, 1.5, 8)), A=chain(9), gamma=0.01)


@_problem
def epsilon_insensitive_chain():
    rng = np.random.default_rng(18)
    X = rng.normal(size=(80, 7))
    y = targets(rng, X, steps(7))
    return dict(X=X, y=y, loss=EpsilonInsensitive(0.3), penalty=L1(0.02), A=chain(7))  # no ridge anywhere


@_problem
def poisson_chain():
    rng = np.random.default_rng(19)
    X = sparse_rows(rng, 150, 8) * 0.7
    y = rng.poisson(np.exp(X @ steps(8))).astype(float)
    return dict(X=X, y=y, loss=Poisson(), penalty=L1(0.02), A=chain(8), gamma=0.01)


@_problem
def squared_hinge_elastic_net():
    rng = np.random.default_rng(20)
    X = rng.normal(size=(100, 8))
    y = labels(rng, X, steps(8))
    return dict(X=X, y=y, loss=SquaredHinge(), penalty=ElasticNet(0.1, 0.6), A=np.eye(8), gamma=0.01)


@_problem
def squared_monotone():
    rng = np.random.default_rng(21)
    X = rng.normal(size=(80, 8))
    y = targets(rng, X, np.array([-1.0, -1.0, 0.0, 0.2, 0.1, 0.3, 1.0, 0.9]), noise=1.0)
    return dict(X=X, y=y, loss=Squared(), penalty=NonNegative(), A=chain(8), gamma=0.01)


@_problem
def squared_unobserved_nodes():
    rng = np.random.default_rng(23)
    seen = rng.choice([1, 2, 4, 5, 6, 9, 10], size=60)  # every row shows one node of a chain of twelve, five never
    X = sp.eye_array(12, format="csr")[seen]
    return dict(X=X, y=targets(rng, X, steps(12)), loss=Squared(), penalty=L1(0.02), A=chain(12))


@_problem
def logistic_fused_and_sparse():
    rng = np.random.default_rng(22)
    X = sparse_rows(rng, 140, 10, density=0.5)
    A = sp.vstack([chain(10), sp.eye_array(10)])
    penalty = Stack(((L1(0.02), slice(0, 9)), (L1(0.01), np.arange(9, 19))))
    return dict(X=X, y=labels(rng, X, steps(10)), loss=Logistic(), penalty=penalty, A=A, gamma=0.005)


NAMES = tuple(_BUILDERS)
