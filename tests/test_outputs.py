"""Several outputs: a matrix of coefficients, flat and row by row, in every product and solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import (
    ADMM,
    ALM,
    ASVRGADMM,
    IPM,
    L1,
    SPDHG,
    GroupL2,
    L2Squared,
    Problem,
    Squared,
    Stack,
    penalties,
    solve,
)
from adasadmm.rows import matrices, products, selections
from adasadmm.rows.matrices import Repeated, WithIntercept, as_rows
from adasadmm.solvers import ProximalNewton

pytestmark = pytest.mark.kernels

K = 3
CHAIN = np.eye(5)[:-1] - np.eye(5)[1:]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    return X, X @ rng.normal(size=(5, K)) + 0.1 * rng.normal(size=(40, K))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_repeated_rows_are_a_kronecker_product(make):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(7, 4)) * (rng.random((7, 4)) < 0.7)
    M = Repeated(WithIntercept(as_rows(make(X))), K)
    full = np.kron(np.column_stack([X, np.ones(7)]), np.eye(K))
    w, s, weights = rng.normal(size=5 * K), rng.normal(size=7 * K), rng.random(7 * K)
    products.product(M, w, z := np.empty(7 * K))
    products.transposed_product(M, s, pull := np.empty(5 * K))
    np.testing.assert_allclose(z, full @ w, atol=1e-14)
    np.testing.assert_allclose(pull, full.T @ s, atol=1e-14)
    np.testing.assert_allclose(products.gram(M, weights), full.T @ (weights[:, None] * full), atol=1e-13)
    np.testing.assert_allclose(products.gram_diagonal(M, weights), weights @ full**2, atol=1e-13)
    np.testing.assert_allclose(products.column_sums(M, weights, 1), weights @ np.abs(full), atol=1e-13)
    np.testing.assert_allclose(products.gram_product(M, weights, w), full.T @ (weights * (full @ w)), atol=1e-13)
    np.testing.assert_allclose(sp.csr_array(matrices.plain(M)).toarray(), full)
    np.testing.assert_allclose(matrices.dense_block(M, slice(4, 11)), full[4:11])
    for rows in (np.arange(6, 12), np.array([2, 4, 17])):
        np.testing.assert_allclose(sp.csr_array(matrices.plain(selections.taken(M, rows))).toarray(), full[rows])
    for chosen in (np.repeat([True, False, True, True, False], K), rng.random(5 * K) < 0.5):
        found = matrices.plain(selections.columns(M, chosen))
        np.testing.assert_allclose(sp.csr_array(found).toarray(), full[:, chosen])
    assert all(piece.start % K == piece.stop % K == 0 for piece in products.pieces(M))


def test_A_for_one_output_is_found_again():
    A = matrices.as_csr(CHAIN, "A")
    again = matrices.not_repeated(matrices.repeated(A, K), K)
    assert again is not None and all(map(np.array_equal, again, A))
    assert matrices.not_repeated(matrices.as_csr(np.ones((6, 6)), "A"), K) is None


def separate(X, Y, nu):
    problems = [Problem(X, y, loss=Squared(), penalty=L1(nu), A=CHAIN, gamma=0.01) for y in Y.T]
    return np.stack([solve(problem, ProximalNewton(), tol=1e-12).w for problem in problems], axis=1)


def test_outputs_without_a_joint_penalty_are_separate_problems(data):
    X, Y = data
    problem = Problem(X, Y, loss=Squared(), penalty=L1(0.1), A=CHAIN, gamma=0.01)
    assert (problem.n, problem.d, problem.m, problem.outputs) == (40 * K, 5 * K, 4 * K, K)
    found = solve(problem, ProximalNewton(), tol=1e-12).w.reshape(5, K)
    expected = separate(X, Y, 0.1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    sums = [Problem(X, y, loss=Squared(), penalty=L1(0.1), A=CHAIN, gamma=0.01) for y in Y.T]
    total = sum(one.objective(w) for one, w in zip(sums, expected.T, strict=True))
    np.testing.assert_allclose(problem.objective(expected.reshape(-1)), total)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [ADMM(), ALM(), IPM(), SPDHG(), ASVRGADMM()], ids=lambda one: type(one).__name__)
def test_every_solver_takes_several_outputs(solver, data):
    X, Y = data
    problem = Problem(X, Y, loss=Squared(), penalty=L1(0.1), A=CHAIN, gamma=0.01)
    result = solve(problem, solver, tol=1e-7)
    assert result.certificate.relative_gap <= 1e-7
    np.testing.assert_allclose(result.w_average.reshape(5, K), separate(X, Y, 0.1), atol=1e-4)


def test_a_joint_penalty_fuses_all_outputs_or_none(data):
    X, Y = data
    penalty = penalties.for_outputs(L1(1.2), 4, K, joint=True)
    result = solve(Problem(X, Y, loss=Squared(), penalty=penalty, A=CHAIN, gamma=0.01), ProximalNewton(), tol=1e-8)
    fused = result.v.reshape(4, K) == 0.0
    assert 0 < fused.all(axis=1).sum() < 4 and (fused.all(axis=1) == fused.any(axis=1)).all()


def test_a_penalty_for_outputs_is_the_sum_over_outputs():
    rng = np.random.default_rng(2)
    V, groups = rng.normal(size=(6, K)), GroupL2(0.7, [[0, 1], [2, 4]], np.array([1.0, 2.0]))
    for one in (L1(0.3, np.arange(6.0)), groups, Stack([(groups, slice(0, 5)), (L2Squared(2.0), [5])])):
        total = sum(penalties.value(one, V[:, output].copy()) for output in range(K))
        assert penalties.value(penalties.for_outputs(one, 6, K), V.reshape(-1)) == pytest.approx(total)
    joint = penalties.for_outputs(groups, 6, K, joint=True)
    expected = 0.7 * (np.linalg.norm(V[[0, 1]]) + 2.0 * np.linalg.norm(V[[2, 4]]))
    assert penalties.value(joint, V.reshape(-1)) == pytest.approx(expected)
