"""Certificates of the active set on random problems: true bounds, against the interior point at a gap of 1e-9."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import IPM, L1, Hinge, Huber, Logistic, Poisson, Problem, Quantile, Squared, Status, graphs, path, solve
from adasadmm.regularization.alpha_max import alpha_max
from adasadmm.solvers.active_set.active_set import ActiveSet

pytestmark = pytest.mark.kernels

FITS, PATHS, FAST_FITS, FAST_PATHS = 200, 50, 24, 6
LOSSES = [Squared(), Logistic(), Huber(), Poisson(), Hinge(), Quantile(0.3)]


def structure(rng, d):
    """The rows of A: a chain, a grid, single coefficients, a random graph, or two of them, in random order."""
    pairs = np.unique(np.sort(rng.integers(0, d, size=(2 * d, 2)), axis=1), axis=0)
    kinds = [
        graphs.difference(d),
        graphs.incidence(graphs.grid(2, d // 2), None, d),
        sp.eye_array(d, format="csr"),
        graphs.incidence([tuple(map(int, pair)) for pair in pairs if pair[0] != pair[1]], None, d),
    ]
    chosen = rng.choice(4, size=rng.integers(1, 3), replace=False)
    A = sp.vstack([rng.uniform(0.3, 2.0) * kinds[k] for k in chosen], format="csr")
    return sp.csr_array(A[rng.permutation(A.shape[0])])


def random_problem(seed):
    """Any loss and graph, weights of 0, offsets, an intercept, sparse and dense rows, with and without a ridge."""
    rng = np.random.default_rng(seed)
    loss, n, d = LOSSES[seed % len(LOSSES)], int(rng.integers(15, 80)), 2 * int(rng.integers(3, 20))
    X = rng.normal(size=(n, d))
    z = X @ np.repeat(rng.normal(size=d // 2), 2) / np.sqrt(d) + 0.5 * rng.normal(size=n)
    label = np.where(z + 2.0 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    y = {"Hinge": label, "Logistic": label, "Poisson": np.exp(z).round()}.get(type(loss).__name__, z)
    A, ridge = structure(rng, d), rng.choice([0.0, 1e-3, 0.1]) if seed % len(LOSSES) < 4 else rng.choice([1e-3, 0.1])
    gamma = np.full(d, ridge)
    if rng.random() < 0.5:
        X, gamma = np.hstack([X, np.ones((n, 1))]), np.append(gamma, 0.0)
        A = sp.hstack([A, sp.csr_array((A.shape[0], 1))], format="csr")
    weights = np.where(rng.random(A.shape[0]) < 0.1, 0.0, rng.uniform(0.5, 2.0, A.shape[0]))
    rows = {}
    if rng.random() < 0.5:
        rows["sample_weight"] = rng.uniform(0.1, 2.0, n) * (rng.random(n) < 0.9)
    if rng.random() < 0.5:
        rows["offset"] = 0.3 * rng.normal(size=n)
    if rng.random() < 0.3:
        X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    penalty = L1(1.0, weights if rng.random() < 0.5 else None)
    problem = Problem(X, y, loss=loss, penalty=penalty, A=A, gamma=gamma, **rows)
    top = alpha_max(problem)
    return problem, top * rng.choice([0.5, 0.1, 0.01, 0.001]), rng.choice([1e-3, 1e-6]), top


def is_true(problem, result):
    """Whether neither bound contradicts those of the interior point."""
    sharp, found = solve(problem, IPM(), tol=1e-9, epochs=200).certificate, result.certificate
    rounding = 1e-9 * (1.0 + abs(sharp.primal))
    return found.dual <= sharp.primal + rounding and found.primal >= sharp.dual - rounding


def check_fit(seed):
    problem, alpha, tol, _ = random_problem(seed)
    single = problem.with_strength(alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the active set alone may give up
        result = solve(single, ActiveSet(), tol=tol)
        assert is_true(single, result)
    assert result.certificate.relative_gap <= tol or result.status is not Status.converged


def check_path(seed):
    problem, _, tol, top = random_problem(seed)
    alphas = np.geomspace(top, 0.01 * top, 5)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="adasadmm")
        results = path(problem, alphas, tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other solver
        assert all(is_true(problem.with_strength(a), one) for a, one in zip(alphas, results, strict=True))


@pytest.mark.parametrize("seed", range(FAST_FITS))
def test_a_fit_has_true_bounds(seed):
    check_fit(seed)


@pytest.mark.parametrize("seed", range(FAST_PATHS))
def test_a_path_has_true_bounds(seed):
    check_path(1000 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FAST_FITS, FITS))
def test_more_fits_have_true_bounds(seed):
    check_fit(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FAST_PATHS, PATHS))
def test_more_paths_have_true_bounds(seed):
    check_path(1000 + seed)
