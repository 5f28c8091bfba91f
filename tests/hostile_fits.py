"""Random fits with hostile numbers, judged in extended precision against an optimum that CVXPY finds in kind ones.

Weights with zeros and ratios of 1e12, offsets, scales from 1e-12 to 1e12, equal and nearly equal columns, targets far
from 0, weighted graphs of several components, tolerances from 1e-2 to 1e-9. Each fit is an exact transformation
``w = T u`` of a problem in u whose numbers are of order one: scales are powers of 2, and a column that agrees with
another in all but its last digits is replaced by the difference of the two, which is exact. CVXPY solves the problem in
u, and both answers are evaluated there. A point that CVXPY finds is an upper bound of the optimum, however inaccurate.

Fit number k is a function of k, so that a failure can be repeated. Used by the tests and by benchmarks/hostile.py.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pandas as pd
import references
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    GroupL2,
    NetworkLassoClassifier,
    NetworkLassoRegressor,
    StructuredClassifier,
    StructuredClassifierCV,
    StructuredRegressor,
    StructuredRegressorCV,
    TermsClassifier,
    TermsClassifierCV,
    TermsRegressor,
    TermsRegressorCV,
    TotalVariationDenoiser,
    TrendFilter,
    TrendFilterCV,
    graphs,
    terms,
)
from adasadmm.registry import CLASSIFICATION_LOSSES, LOSSES

NAMES = sorted(name for name in LOSSES if type(LOSSES[name]) in references.TERMS)
OF_RESIDUAL = ("squared", "huber", "epsilon_insensitive", "quantile")
HOMOGENEOUS = {"squared": 2.0, "quantile": 1.0}  # of which degree the loss is in y and z together
SEARCHES: dict[type, type] = {
    GraphGuidedClassifier: GraphGuidedClassifierCV,
    GraphGuidedRegressor: GraphGuidedRegressorCV,
    StructuredClassifier: StructuredClassifierCV,
    StructuredRegressor: StructuredRegressorCV,
    TermsClassifier: TermsClassifierCV,
    TermsRegressor: TermsRegressorCV,
    TrendFilter: TrendFilterCV,
}
Long = np.longdouble


class Kind(NamedTuple):
    """The problem in u, all of whose numbers are of order one; the last columns of Z may be an intercept.

    With the loss "multinomial" the rows of Z come in blocks, one row for each class, and y holds the class.
    """

    loss: str
    Z: np.ndarray
    y: np.ndarray
    c: np.ndarray
    offset: np.ndarray
    A: Any
    nu: np.ndarray
    groups: list[np.ndarray] | None  # of rows of A; None for an L1 norm
    gamma: np.ndarray


class Fit(NamedTuple):
    """An estimator, how to fit it, its problem in u, and how its coefficients become u."""

    name: str
    model: Any
    fit: Callable[[Any], Any]
    kind: Kind
    to_kind: Callable[[Any], np.ndarray]


# --- the objective in extended precision -----------------------------------------------------------------------------


def _log1pexp(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _losses(name: str, z, y):
    if name == "multinomial":
        z = z.reshape(len(y), -1)
        most = z.max(axis=1)
        return most + np.log(np.exp(z - most[:, None]).sum(axis=1)) - z[np.arange(len(y)), y.astype(int)]
    loss, r = LOSSES[name], y - z
    return {
        "hinge": lambda: np.maximum(0, 1 - y * z),
        "squared_hinge": lambda: np.maximum(0, 1 - y * z) ** 2,
        "logistic": lambda: _log1pexp(-y * z),
        "squared": lambda: r * r / 2,
        "huber": lambda: np.where(np.abs(r) <= loss.delta, r * r / 2, loss.delta * (np.abs(r) - loss.delta / 2)),
        "epsilon_insensitive": lambda: np.maximum(0, np.abs(r) - Long(loss.epsilon)),
        "quantile": lambda: np.maximum(loss.q * r, (loss.q - 1) * r),
        "poisson": lambda: np.exp(z) - y * z,
        "gamma": lambda: z + y * np.exp(-z),
        "tweedie": lambda: (
            np.exp((2 - loss.power) * z) / (2 - loss.power) + y * np.exp((1 - loss.power) * z) / (loss.power - 1)
        ),
        "negative_binomial": lambda: (y + 1 / loss.alpha) * _log1pexp(z + math.log(loss.alpha)) - y * z,
    }[name]()


def _least(kind: Kind) -> Long:
    """The least possible mean loss."""
    y = kind.y
    if kind.loss in ("poisson", "gamma", "tweedie", "negative_binomial"):
        with np.errstate(divide="ignore"):
            best = np.log(np.maximum(y, Long(1e-300)))
        each = np.where(y > 0, _losses(kind.loss, best, y), 0)
        return (kind.c * each).mean()
    return Long(0)


def objective(kind: Kind, u: np.ndarray) -> Long:
    u = np.asarray(u, dtype=Long)
    with np.errstate(over="ignore"):
        loss = (kind.c * _losses(kind.loss, kind.Z @ u + kind.offset, kind.y)).mean()
    v = kind.A.astype(Long) @ u if kind.A.shape[0] else np.zeros(0, dtype=Long)
    norms = np.abs(v) if kind.groups is None else np.array([np.sqrt((v[g] ** 2).sum()) for g in kind.groups])
    return loss + (kind.nu * norms).sum() + (kind.gamma * u * u).sum() / 2


def best_known(kind: Kind) -> Long:
    """The objective of CVXPY's answer; infinite if it has none."""
    u = cp.Variable(kind.Z.shape[1])
    z = kind.Z.astype(float) @ u + kind.offset.astype(float)
    total = kind.c.astype(float) @ _terms(kind.loss, z, kind.y.astype(float)) / len(kind.y)
    if kind.A.shape[0]:
        v = sp.csr_array(kind.A.astype(float)) @ u
        norms = [cp.abs(v)] if kind.groups is None else [cp.hstack([cp.norm2(v[g]) for g in kind.groups])]
        total += kind.nu.astype(float) @ norms[0]
    total += cp.sum_squares(cp.multiply(np.sqrt(kind.gamma.astype(float)), u)) / 2
    best = Long(math.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cp.Problem(cp.Minimize(total)).solve(
                solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
            )
        except (cp.SolverError, ValueError):
            return best
    return best if u.value is None else objective(kind, u.value)


def _terms(name: str, z: Any, y: np.ndarray) -> Any:
    """The loss of each row in CVXPY."""
    if name == "multinomial":
        of_class = cp.reshape(z, (len(y), z.size // len(y)), order="C")
        own = np.eye(of_class.shape[1])[y.astype(int)]
        return cp.log_sum_exp(of_class, axis=1) - cp.sum(cp.multiply(own, of_class), axis=1)
    return references.TERMS[type(LOSSES[name])](LOSSES[name], z, y)


def _null(kind: Kind, intercept: bool) -> Long:
    """The objective of the null model: 0, and the best constant of a few if there is an intercept."""
    u = np.zeros(kind.Z.shape[1], dtype=Long)
    values = [objective(kind, u)]
    if intercept and not kind.offset.any():
        mean = np.average(kind.y, weights=kind.c)
        for constant in (mean, np.median(kind.y[kind.c > 0]), np.log(mean) if mean > 0 else 0):
            values.append(objective(kind, np.append(u[:-1], constant)))
    return min(values)


# --- random fits -----------------------------------------------------------------------------------------------------


def random_fit(number: int) -> Fit:
    """Fit number ``number``."""
    rng = np.random.default_rng([number, 31])
    makers = [_linear] * 6 + [_structured] * 3 + [_trend] * 3 + [_image, _network, _tariff, _softmax]
    case = makers[number % len(makers)](number, rng)
    return _searched(case) if rng.random() < 0.15 else case


def _searched(case: Fit) -> Fit:
    """The fit as the only strength of a search, if there is one; train and test rows are the same."""
    given = case.model.get_params(deep=False)
    if type(case.model) not in SEARCHES or not given["alpha"] or given.get("penalty", "l1") != "l1":
        return case
    given.pop("validation_fraction", None)  # a search has none
    n = int(case.kind.c.size)
    given |= {"alphas": [given.pop("alpha")], "cv": [(np.arange(n), np.arange(n))]}
    if not isinstance(case.model, TrendFilter):
        given["l2s"] = [given.pop("l2")]
    return case._replace(name=case.name.replace(":", ": search,", 1), model=SEARCHES[type(case.model)](**given))


def _tol(rng: np.random.Generator) -> float:
    return 10.0 ** -float(rng.integers(2, 10))


def _power(rng: np.random.Generator, largest: int = 40) -> float:
    """A power of 2, often 1."""
    return 1.0 if rng.random() < 0.5 else 2.0 ** int(rng.integers(-largest, largest + 1))


def _weight(n: int, rng: np.random.Generator) -> np.ndarray | None:
    if rng.random() < 0.5:
        return None
    weight = 10.0 ** rng.uniform(-6.0, 6.0, size=n) if rng.random() < 0.5 else rng.integers(0, 3, size=n).astype(float)
    weight[: 2 + n // 2] = np.maximum(weight[: 2 + n // 2], 1.0)
    return weight


def _rates(weight: np.ndarray | None, n: int) -> np.ndarray:
    return np.ones(n, dtype=Long) if weight is None else weight.astype(Long) / weight.astype(Long).mean()


def _targets(loss: str, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noisy = z + rng.normal(size=z.shape)
    if loss in CLASSIFICATION_LOSSES:
        y = np.where(noisy > 0.0, 1.0, -1.0)
        y.reshape(-1)[:4] = -1.0, 1.0, -1.0, 1.0
        return y
    if loss in OF_RESIDUAL:
        return noisy
    y = rng.poisson(np.exp(np.clip(0.4 * z, -2.0, 2.0))) + (0.5 if loss in ("gamma", "tweedie") else 0.0)
    y.reshape(-1)[:2] = 1.0, 2.0
    return y


def _graph(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Edges of a random graph, often of several components, and their weights."""
    first, second = np.triu_indices(d, 1)
    chosen = rng.random(len(first)) < 1.5 / max(d - 1, 1)
    edges = np.column_stack([first[chosen], second[chosen]])
    if len(edges) == 0:
        edges = np.array([[0, 1]])
    weights = 10.0 ** rng.uniform(-3.0, 3.0, size=len(edges)) if rng.random() < 0.4 else np.ones(len(edges))
    return edges, weights


def _nearly_equal(X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X with columns made nearly equal, the columns in u, and T with ``w = T u``."""
    n, d = X.shape
    T, Z = np.eye(d, dtype=Long), X.astype(Long)
    for j in range(1, min(d, 1 + int(rng.integers(1, 3)))):
        apart = 0.0 if rng.random() < 0.2 else 10.0 ** rng.uniform(-16.0, -4.0)
        X[:, j] = X[:, 0] + apart * rng.normal(size=n)
        rest = X[:, j] - X[:, 0]  # exact
        scale = 2.0 ** math.floor(math.log2(np.abs(rest).max())) if rest.any() else 1.0
        Z[:, j] = rest / scale
        T[0, j], T[j, j] = -1.0 / Long(scale), 1.0 / Long(scale)
    return X, Z, T


def _linear(number: int, rng: np.random.Generator) -> Fit:
    """A graph-guided model of any loss."""
    loss = NAMES[number // 3 % len(NAMES)]
    labels = loss in CLASSIFICATION_LOSSES
    n, d = int(rng.integers(6, 60)), int(rng.integers(2, 20))
    X, T, near = rng.normal(size=(n, d)), np.eye(d, dtype=Long), rng.random() < 0.4
    Z = X.astype(Long)
    if near:
        X, Z, T = _nearly_equal(X, rng)
    y = _targets(loss, X @ rng.normal(size=d) / 2, rng)
    offset = rng.normal(size=n) if rng.random() < 0.3 else np.zeros(n)
    weight, (edges, weights), intercept = _weight(n, rng), _graph(d, rng), bool(rng.random() < 0.7)
    alpha = 0.0 if rng.random() < 0.3 else 10.0 ** rng.uniform(-4.0, 0.0)
    l2 = 0.0 if near or rng.random() < 0.5 else 10.0 ** rng.uniform(-6.0, -1.0)
    if l2 == 0.0 and not near and loss in ("logistic", "squared_hinge"):
        l2 = 1e-6  # separable classes have no optimum
    shift = 10.0 ** rng.uniform(0, 10) if intercept and loss in OF_RESIDUAL and rng.random() < 0.4 else 0.0
    far = y + shift
    y = far.astype(Long) - shift
    scale, size = _power(rng), _power(rng) if loss in HOMOGENEOUS and not shift and not offset.any() else 1.0
    degree = HOMOGENEOUS.get(loss, 1.0)
    given = {
        "alpha": alpha * scale * size ** (degree - 1.0),
        "l2": l2 * scale**2 * size ** (degree - 2.0),
        "fit_intercept": intercept,
        "tol": _tol(rng),
    }
    make = GraphGuidedClassifier if labels else GraphGuidedRegressor
    model = make((edges, weights), loss=loss, **given)
    A = graphs.incidence(edges, weights, d)
    A = (A.toarray().astype(Long)) @ T
    if intercept:
        Z, A = np.column_stack([Z, np.ones(n)]), np.column_stack([A, np.zeros(len(A))])
    gamma = np.append(np.full(d, l2), 0.0)[: d + intercept]
    kind = Kind(loss, Z, y, _rates(weight, n), offset.astype(Long), A, np.full(len(A), alpha), None, gamma)
    back = np.linalg.inv(T.astype(float)).astype(Long) if not near else None

    def to_kind(model: Any) -> np.ndarray:
        w = np.ravel(model.coef_).astype(Long) * scale / size
        u = _from_equal(T, w) if near else back @ w
        return np.append(u, (Long(np.ravel(model.intercept_)[0]) - shift) / size) if intercept else u

    def fit(model: Any) -> Any:
        used = offset if offset.any() else None
        return model.fit(X * scale, far * size if not labels else far, sample_weight=weight, offset=used)

    name = f"{number}: {make.__name__}, {loss}, {n} x {d}, alpha {alpha:.1e}, l2 {l2:.1e}, near {near}, "
    name += f"shift {shift:.1e}, scale {scale:.1e}, size {size:.1e}, tol {model.tol:.0e}"
    return Fit(name, model, fit, kind, to_kind)


def _from_equal(T: np.ndarray, w: np.ndarray) -> np.ndarray:
    """u for ``w = T u``, where T has entries in its diagonal and its first row only."""
    u = w / np.diag(T)
    u[0] = w[0] - (T[0, 1:] * u[1:]).sum()
    return u


def _structured(number: int, rng: np.random.Generator) -> Fit:
    """Any matrix A, with an L1 norm or groups, and a scale of each column."""
    loss = NAMES[number % len(NAMES)]
    labels = loss in CLASSIFICATION_LOSSES
    n, d = int(rng.integers(6, 60)), int(rng.integers(2, 16))
    X, m = rng.normal(size=(n, d)), int(rng.integers(1, 20))
    A = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.4)
    A[A.any(axis=1) == 0, 0] = 1.0
    y, weight = _targets(loss, X @ rng.normal(size=d) / 2, rng), _weight(n, rng)
    alpha, l2 = 10.0 ** rng.uniform(-4.0, 0.0), 10.0 ** rng.uniform(-6.0, -1.0)
    scales = 2.0 ** rng.integers(-20, 20, size=d) if rng.random() < 0.5 else np.ones(d)
    one = np.full(d, scales[0]) if rng.random() < 0.5 else scales
    if not (one == one[0]).all():
        l2 = 0.0 if loss not in ("logistic", "squared_hinge") else l2
        one = one if l2 == 0.0 else np.ones(d)
    grouped = bool(rng.random() < 0.5)
    make = StructuredClassifier if labels else StructuredRegressor
    penalty = "l1"
    groups = None
    if grouped:
        groups = np.array_split(rng.permutation(m), max(1, m // 3))
        penalty = GroupL2(alpha, tuple(groups))
    given = {"l2": l2 * one[0] ** 2, "tol": _tol(rng)} | ({} if grouped else {"alpha": alpha})
    model = make(sp.csr_array(A * one), penalty=penalty, loss=loss, **given)
    Z, nice = np.column_stack([X, np.ones(n)]).astype(Long), np.column_stack([A, np.zeros(m)]).astype(Long)
    nu = np.full(m if groups is None else len(groups), alpha)
    gamma = np.append(np.full(d, l2), 0.0)
    kind = Kind(loss, Z, y.astype(Long), _rates(weight, n), np.zeros(n, dtype=Long), nice, nu, groups, gamma)

    def to_kind(model: Any) -> np.ndarray:
        return np.append(np.ravel(model.coef_).astype(Long) * one, np.ravel(model.intercept_)[0])

    name = f"{number}: {make.__name__}, {loss}, {n} x {d}, m {m}, grouped {grouped}, alpha {alpha:.1e}, l2 {l2:.1e}, "
    name += f"tol {model.tol:.0e}"
    return Fit(name, model, lambda model: model.fit(X * one, y, sample_weight=weight), kind, to_kind)


def _trend(number: int, rng: np.random.Generator) -> Fit:
    """A trend of any order at uneven times, in units of any size, far from 0."""
    loss, order = NAMES[number // 5 % len(NAMES)], int(rng.integers(0, 4))
    n, unit = int(rng.integers(order + 3, 60)), _power(rng, 20)
    steps = np.cumsum(rng.integers(1, 5, size=n)).astype(float) if rng.random() < 0.5 else np.arange(n) + 0.0
    start = 10.0 ** int(rng.integers(0, 10)) if rng.random() < 0.5 else 0.0
    t = (start + steps) * unit
    t -= t[0] if len(np.unique(t)) < n else 0.0
    z = np.sin(steps / 4.0) + 0.5
    y = _targets(loss, z, rng)
    shift = 10.0 ** rng.uniform(0, 10) if loss in OF_RESIDUAL and rng.random() < 0.4 else 0.0
    far = y + shift
    y, weight = far.astype(Long) - shift, _weight(n, rng)
    alpha = 10.0 ** rng.uniform(-5.0, 1.0)
    needs = loss in CLASSIFICATION_LOSSES or loss in ("poisson", "negative_binomial")
    l2 = 1e-3 if needs and not shift else 0.0
    model = TrendFilter(order=order, alpha=alpha * unit**order, loss=loss, l2=l2, tol=_tol(rng))
    D = graphs.difference(n, order + 1, positions=steps if order else None).toarray().astype(Long)
    D = D if order == 0 else _differences(steps.astype(Long), order + 1)
    if weight is not None:
        keep = weight > 0
        if not keep.all():
            weight = np.maximum(weight, 1e-3)
    kind = Kind(
        loss,
        np.eye(n, dtype=Long),
        y,
        _rates(weight, n),
        np.zeros(n, dtype=Long),
        D,
        np.full(len(D), alpha),
        None,
        np.full(n, l2),
    )
    name = f"{number}: TrendFilter, {loss}, order {order}, {n} times, unit {unit:.1e}, start {start:.0e}, "
    name += f"shift {shift:.1e}, alpha {alpha:.1e}, tol {model.tol:.0e}"
    return Fit(
        name,
        model,
        lambda model: model.fit(t, far, sample_weight=weight),
        kind,
        lambda model: model.coef_.astype(Long) - Long(shift),
    )


def _differences(x: np.ndarray, order: int) -> np.ndarray:
    """Divided differences at uneven positions, by their definition."""
    n = len(x)
    D = np.eye(n - 1, n, dtype=Long) - np.eye(n - 1, n, 1, dtype=Long)
    for k in range(1, order):
        D = (k / (x[k:] - x[:-k]))[:, None] * D
        D = D[:-1] - D[1:]
    return D


def _image(number: int, rng: np.random.Generator) -> Fit:
    loss = ("squared", "huber", "quantile", "poisson")[number // 16 % 4]
    shape = tuple(rng.integers(3, 9, size=2))
    n = int(np.prod(shape))
    y = _targets(loss, rng.normal(size=shape).cumsum(axis=0) / 2, rng)
    shift = 10.0 ** rng.uniform(0, 10) if loss in OF_RESIDUAL and rng.random() < 0.4 else 0.0
    far = y + shift
    y = far.astype(Long).reshape(-1) - shift
    alpha, weight = 10.0 ** rng.uniform(-4.0, 0.0), _weight(n, rng)
    weight = None if weight is None else np.maximum(weight, 1e-3)
    model = TotalVariationDenoiser(alpha=alpha, loss=loss, tol=_tol(rng), l2=1e-3 if loss == "poisson" else 0.0)
    A = graphs.incidence(graphs.grid(*map(int, shape)), d=n).toarray().astype(Long)
    gamma = np.full(n, model.l2)
    eye = np.eye(n, dtype=Long)
    kind = Kind(loss, eye, y, _rates(weight, n), np.zeros(n, dtype=Long), A, np.full(len(A), alpha), None, gamma)
    given = None if weight is None else weight.reshape(shape)
    name = f"{number}: TotalVariationDenoiser, {loss}, {shape}, shift {shift:.1e}, alpha {alpha:.1e}"
    return Fit(
        f"{name}, tol {model.tol:.0e}",
        model,
        lambda model: model.fit(far, sample_weight=given),
        kind,
        lambda model: model.coef_.astype(Long).reshape(-1) - Long(shift),
    )


def _network(number: int, rng: np.random.Generator) -> Fit:
    nodes, d = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    n = int(rng.integers(4 * nodes, 60))
    node = np.append(np.arange(nodes), rng.integers(nodes, size=n - nodes))
    X = rng.normal(size=(n, d))
    loss = ("squared", "logistic", "hinge")[number // 16 % 3]
    y = _targets(loss, X.sum(axis=1) + node - nodes / 2, rng)
    alpha, l2 = 10.0 ** rng.uniform(-3.0, 0.0), 10.0 ** rng.uniform(-4.0, -1.0)
    edges, weights = graphs.chain(nodes), 10.0 ** rng.uniform(-3.0, 3.0, size=nodes - 1)
    make = NetworkLassoRegressor if loss == "squared" else NetworkLassoClassifier
    model = make((edges, weights), alpha=alpha, loss=loss, l2=l2, tol=_tol(rng))
    width = d + 1
    Z = np.zeros((n, nodes * width), dtype=Long)
    for i in range(n):
        Z[i, node[i] * width : (node[i] + 1) * width] = np.append(X[i], 1.0)
    A = np.kron(graphs.incidence(edges, weights, nodes).toarray(), np.eye(width)).astype(Long)
    groups = [np.arange(k * width, (k + 1) * width) for k in range(len(edges))]
    gamma = np.tile(np.append(np.full(d, l2), 0.0), nodes)
    nu = np.full(len(edges), alpha)
    kind = Kind(loss, Z, y.astype(Long), np.ones(n, dtype=Long), np.zeros(n, dtype=Long), A, nu, groups, gamma)

    def to_kind(model: Any) -> np.ndarray:
        return np.column_stack([model.coef_, model.intercept_]).reshape(-1).astype(Long)

    name = f"{number}: {make.__name__}, {loss}, {n} x {d}, {nodes} nodes, alpha {alpha:.1e}, tol {model.tol:.0e}"
    return Fit(name, model, lambda model: model.fit(X, y, node), kind, to_kind)


def _tariff(number: int, rng: np.random.Generator) -> Fit:
    """Two factors with ordered levels, of which the first is the base, without a ridge."""
    loss = ("poisson", "squared", "gamma", "quantile", "logistic")[number // 16 % 5]
    n, counts = int(rng.integers(30, 120)), rng.integers(3, 9, size=2)
    codes = [np.append(np.arange(k), rng.integers(k, size=n - k)) for k in counts]
    y = _targets(loss, np.floor(codes[0] / 3.0) / 2 + 0.1 * codes[1], rng)
    alpha, weight = 10.0 ** rng.uniform(-3.0, -0.5), _weight(n, rng)
    parts = [terms.ordered(name, base=0) for name in ("age", "power")]
    make = TermsClassifier if loss in CLASSIFICATION_LOSSES else TermsRegressor
    model = make(parts, loss=loss, alpha=alpha, l2=0.0, weights=None, tol=_tol(rng))
    Z = np.column_stack([*(np.eye(k)[code][:, 1:] for k, code in zip(counts, codes, strict=True)), np.ones(n)])
    steps = [np.eye(k - 1) - np.eye(k - 1, k=-1) for k in counts]
    A = np.column_stack([sp.block_diag(steps).toarray(), np.zeros(len(Z.T) - 1)]).astype(Long)
    nu, gamma, rates = np.full(len(A), alpha), np.zeros(len(Z.T)), _rates(weight, n)
    kind = Kind(loss, Z.astype(Long), y.astype(Long), rates, np.zeros(n, dtype=Long), A, nu, None, gamma)
    frame = pd.DataFrame(dict(zip(("age", "power"), codes, strict=True)))

    def to_kind(model: Any) -> np.ndarray:
        return np.append(np.ravel(model.coef_), model.intercept_).astype(Long)

    name = f"{number}: {make.__name__}, {loss}, {n} rows, {counts} levels, alpha {alpha:.1e}, tol {model.tol:.0e}"
    return Fit(name, model, lambda model: model.fit(frame, y, sample_weight=weight), kind, to_kind)


def _softmax(number: int, rng: np.random.Generator) -> Fit:
    """One softmax of two to four classes, with and without a ridge."""
    n, d, k = int(rng.integers(12, 60)), int(rng.integers(2, 8)), int(rng.integers(2, 5))
    X, weight, (edges, weights) = rng.normal(size=(n, d)), _weight(n, rng), _graph(d, rng)
    y = np.argmax(X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k)), axis=1)
    y[:k] = np.arange(k)
    alpha, l2 = 10.0 ** rng.uniform(-3.0, 0.0), 10.0 ** rng.uniform(-6.0, -1.0)
    given = {"alpha": alpha, "l2": l2, "tol": _tol(rng)}
    model = GraphGuidedClassifier((edges, weights), loss="multinomial", **given)
    A = np.column_stack([graphs.incidence(edges, weights, d).toarray(), np.zeros(len(edges))])
    Z, A = (np.kron(M, np.eye(k)).astype(Long) for M in (np.column_stack([X, np.ones(n)]), A))
    gamma = np.repeat(np.append(np.full(d, l2), 0.0), k)
    offset = np.zeros(n * k, dtype=Long)
    kind = Kind("multinomial", Z, y.astype(Long), _rates(weight, n), offset, A, np.full(len(A), alpha), None, gamma)

    def to_kind(model: Any) -> np.ndarray:
        coef, intercept = (_of_classes(part, k) for part in (model.coef_, np.reshape(model.intercept_, (-1, 1))))
        return np.column_stack([coef, intercept]).T.reshape(-1).astype(Long)

    name = f"{number}: softmax, {n} x {d}, {k} classes, alpha {alpha:.1e}, l2 {l2:.1e}, tol {model.tol:.0e}"
    return Fit(name, model, lambda model: model.fit(X, y, sample_weight=weight), kind, to_kind)


def _of_classes(part: np.ndarray, k: int) -> np.ndarray:
    """A row for each class; two classes may have one score, which is the difference of theirs."""
    return np.vstack([-part / 2, part / 2]) if len(part) == 1 and k == 2 else part


# --- the verdict -----------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """What is wrong with a fit, and whether it reached its tolerance."""

    false: str = ""
    worse: str = ""
    silent: str = ""
    converged: bool = False


def judged(case: Fit) -> Verdict:
    """Fit, and compare with the best known objective."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = case.fit(case.model)
    kind, u = case.kind, case.to_kind(model)
    own, known = objective(kind, u), best_known(kind)
    gap, excess = float(np.max(model.dual_gap_)), own - _least(kind)
    intercept = getattr(model, "fit_intercept", False) and bool((kind.Z[:, -1] == 1.0).all())
    null = _null(kind, intercept)
    # Rounding errors of the objective itself, and the floor of the relative gap.
    at_zero = objective(kind, np.zeros(len(u)))
    slack = 1e-14 * (np.abs(own) + np.abs(_least(kind))) + 1e-12 * gap * (at_zero - _least(kind))
    false = worse = silent = ""
    if own - known > gap * excess * (1 + 1e-9) + slack:
        false = f"gap {gap:.3e}, but at least {float((own - known) / excess):.3e} above"
    if own - null > (model.tol if gap <= model.tol else 1e-9) * np.abs(null - _least(kind)):
        worse = f"objective {float(own):.12g}, the null model's {float(null):.12g}"
    if not gap <= model.tol and not any(issubclass(one.category, ConvergenceWarning) for one in said):
        silent = f"gap {gap:.1e} above tol {model.tol:.0e} without a warning"
    return Verdict(false, worse, silent, gap <= model.tol)
