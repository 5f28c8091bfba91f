"""The full metric: the root that is followed, the root that lags, and runs long enough to tell."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from cases import INTERPRETED, METRICS, STEPS, assert_close

from adasadmm import L1, AdaSADMM, Full, Hinge, L2Squared, Poisson, Problem, datasets, graphs, metrics, solve
from adasadmm.linalg import dense
from adasadmm.rows.matrices import to_scipy

pytestmark = pytest.mark.kernels


def root(G):
    values, vectors = np.linalg.eigh(G)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def seen(metric, g, a=1.0):
    """H_t without ``a I`` as a matrix, and the state, after each row of g."""
    d = g.shape[1]
    state = metrics.start(metric, d)._replace(a=a)
    for row in g:
        metrics.observe(state, row)
        S = np.empty((d, d))
        for j in range(d):
            metrics.apply(state, np.eye(d)[j], S[j])
        yield S, state


def gradients(kind, T=90, d=17):
    rng = np.random.default_rng(5)
    g = rng.normal(size=(T, d))
    if kind == "sparse, the ridge in every entry":
        return g * (rng.random((T, d)) < 0.2) + 1e-5 * rng.normal(size=d)
    if kind == "of low rank":
        return g[:, :3] @ rng.normal(size=(3, d))
    if kind == "one again and again":
        return np.tile(g[0], (T, 1))
    if kind == "few after many of no size":
        return np.concatenate([np.zeros((T // 2, d)), g[: T // 2]])
    if kind == "every other one zero":
        return g * (np.arange(T) % 2)[:, None]
    if kind == "of all sizes":
        return g * 10.0 ** rng.uniform(-6.0, 3.0, size=(T, 1))
    if kind == "columns of all sizes":
        return g * np.logspace(-5.0, 2.0, d)
    return {"dense": g, "huge": 1e120 * g, "tiny": 1e-120 * g, "one number": g[:, :1]}[kind]


KINDS = [
    "dense",
    "sparse, the ridge in every entry",
    "of low rank",
    "one again and again",
    "few after many of no size",
    "every other one zero",
    "of all sizes",
    "columns of all sizes",
    "huge",
    "tiny",
    "one number",
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_root_that_is_followed_is_the_root(kind):
    """Relative to its largest entry, as far as an eigendecomposition knows it: the root of 1e-16 is 1e-8."""
    g = gradients(kind)
    G = np.zeros((g.shape[1], g.shape[1]))
    for row, (S, _) in zip(g, seen(Full(), g), strict=True):
        G += np.outer(row, row)
        size = np.sqrt(np.trace(G))
        assert np.abs(S - root(G / (size or 1.0) ** 2) * size).max() <= 3e-8 * size


def test_a_root_is_followed_for_several_steps():
    g = gradients("dense")
    *_, (_, state) = seen(Full(), g)
    assert state.counts[1] <= len(g) / 6


def test_zero_gradients_change_nothing():
    g = gradients("dense", T=20)
    states = [S for S, _ in seen(Full(), np.concatenate([g, np.zeros((50, g.shape[1]))]))]
    np.testing.assert_array_equal(states[-1], states[len(g) - 1])


def test_the_rule_gives_roots_of_all_sizes():
    u, c = dense.root_rule(metrics.full.QUADRATURE_NODES)
    x = np.logspace(np.log10(dense.LEAST), 0.0, 500)
    found = (x[:, None] / (x[:, None] + u**2)) @ c
    assert np.abs(found / np.sqrt(x) - 1.0).max() < 1e-7


# --- the lagging root ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS[:-3])
@pytest.mark.parametrize("refresh", [0.05, 0.5])
def test_the_lagging_root_is_that_of_an_earlier_sum_and_near_this_one(kind, refresh):
    """What Theorem 3 needs of it, also where small entries were only bounded."""
    g, a = gradients(kind), 0.3
    d, roots, states = g.shape[1], [], seen(Full(refresh), g, a)
    for t, (S, state) in enumerate(states, start=1):
        G = g[:t].T @ g[:t]
        roots.append(root(G))
        size = 1.0 + np.sqrt(np.trace(G))
        assert min(np.abs(S - earlier).max() for earlier in roots) <= 1e-7 * size
        P = a * np.eye(d) + S
        assert np.linalg.eigvalsh((1.0 + refresh * d) * P @ P - G).min() >= -1e-7 * size**2
        assert state.counts[1] <= t


def test_bounding_small_entries_costs_next_to_no_roots():
    """The rule itself, by the oracle, beside the bound of it."""
    g, d = gradients("sparse, the ridge in every entry", T=2000), 17
    *_, (_, state) = seen(Full(0.05), g)
    G, P, drift, roots = np.zeros((d, d)), None, np.inf, 0
    for row in g:
        G += np.outer(row, row)
        drift += np.inf if P is None else np.sum(np.linalg.solve(P, row) ** 2)
        if drift > 0.05 * d:
            P, drift, roots = np.eye(d) + root(G), 0.0, roots + 1
    assert roots <= state.counts[1] <= 1.02 * roots + 1


# --- runs ------------------------------------------------------------------------------------------------------------

LONG = [("constant", "exact")]  # compiled for other tests, too
if INTERPRETED:
    LONG = [(step, w_step) for step in STEPS for w_step in ("linearized", "exact")]


@pytest.mark.parametrize("step, w_step", LONG)
@pytest.mark.parametrize("metric", ["full", "lagging"])
def test_a_long_run_is_that_of_the_oracle(metric, step, w_step):
    rng = np.random.default_rng(8)
    n, d = 60, 14
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    X[:, 3] = X[:, 4]  # twins, and a column without data: G stays singular
    X[:, 9] = 0.0
    y = np.round(np.exp(0.5 * rng.normal(size=n)))
    terms = {"penalty": L2Squared(0.4), "A": rng.normal(size=(9, d)), "B": None, "b": None}
    problem = Problem(X, y, loss=Poisson(), gamma=1e-3, **terms)
    samples = rng.integers(n, size=300)
    (ours, theirs), (eta, same_eta) = METRICS[metric], STEPS[step]
    result = solve(problem, AdaSADMM(ours, eta=eta, w_step=w_step), samples=samples)
    constraint = oracle.constraint_of(**terms)
    settings = {"metric": theirs, "eta": same_eta, "w_step": w_step, "gamma": 1e-3, "samples": samples}
    history = oracle.algorithm1(X, y, loss=Poisson(), constraint=constraint, **settings)
    for got, wanted in ((result.w, history.W[-1]), (result.w_mean, history.w_mean)):
        assert_close(got, wanted, 1e-6)


@pytest.mark.slow
@pytest.mark.data
def test_two_epochs_of_news20_are_those_of_a_root_at_each_step():
    data = datasets.load("news20")
    n, d = data.X.shape
    edges = graphs.glasso(data.X, penalty=0.01).edges
    A = graphs.incidence(edges, d=d)
    problem = Problem(data.X, data.y, loss=Hinge(), penalty=L1(1 / n), A=A, gamma=1 / n)
    rng = np.random.default_rng(0)
    samples = np.concatenate([rng.permutation(n), rng.permutation(n)])
    wanted = two_epochs(data, to_scipy(problem.A).toarray(), samples)
    found = solve(problem, AdaSADMM("full", eta=1.0), samples=samples).w
    assert_close(found, wanted, 1e-6)


def two_epochs(data, A, samples):
    """The last w of Algorithm 1 with eta = beta = a = 1 and the linearised step: the oracle's lines, for one row."""
    n, d = data.X.shape
    X, M = sp.csr_array(data.X).toarray(), np.diag(np.abs(A).T @ np.abs(A).sum(axis=1))
    w, v, theta, G = np.zeros(d), np.zeros(len(A)), np.zeros(len(A)), np.zeros((d, d))
    for i in samples:
        g = oracle.slope(Hinge(), X[i] @ w, data.y[i]) * X[i] + w / n
        G += np.outer(g, g)
        w = w - np.linalg.solve(np.eye(d) + root(G) + M, g - A.T @ (theta - (A @ w - v)))
        x = A @ w - theta
        v = np.sign(x) * np.maximum(np.abs(x) - 1 / n, 0.0)
        theta = theta - (A @ w - v)
    return w
