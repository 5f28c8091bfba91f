"""Newton's system of trends by banded factors, held against dense solutions."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import graphs
from adasadmm.linalg.banded_system import BandedSystem, bands_of
from adasadmm.rows.matrices import as_csr, as_rows


def system_of(X, A):
    rows = as_csr(A, "A")
    return BandedSystem(as_rows(sp.csr_array(X)), rows, bands_of(rows))


def jointly(system, f, pull, careful=False):
    """The solution x of ``M x = f - A' pull``, and ``t = edges (A x) + pull``."""
    system.saddle.is_whole = careful
    return system.saddle.solve(f, -system.saddle.J * pull)


def differences(n, order, rng, uneven=True):
    return graphs.difference(n, order, np.cumsum(rng.uniform(0.2, 2.0, n)) if uneven else None)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_both_factors_give_the_dense_solution(order, careful):
    rng = np.random.default_rng(order)
    n = 12
    A = differences(n, order, rng)
    # Several rows for one coordinate, in any order, and a row without entries.
    column, x = rng.permutation(np.append(np.arange(n), rng.integers(0, n, 6))), rng.uniform(0.5, 2.0, 18)
    X = sp.csr_array((x, column, np.append(np.arange(19), 18)), shape=(19, n))
    rows, edges, ridge = rng.uniform(0.5, 2.0, 19), 10.0 ** rng.uniform(-2.0, 2.0, n - order), rng.uniform(0.0, 1.0, n)
    edges[0] = 0.0
    system = system_of(X, A)
    system.factor(rows, edges, ridge)
    f, pull = rng.normal(size=n), rng.normal(size=n - order)
    found, t = jointly(system, f, edges * pull, careful)
    M = X.T @ (rows[:, None] * X.toarray()) + A.T @ (edges[:, None] * A.toarray()) + np.diag(ridge)
    expected = np.linalg.solve(M, f - A.T @ (edges * pull))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(t, edges * (A @ expected + pull), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(system.diagonal, np.diag(M))
    np.testing.assert_allclose(system.solve(f), np.linalg.solve(M, f), rtol=1e-8)


def test_points_without_data_need_the_whole_system():
    rng = np.random.default_rng(0)
    A, H, J = differences(15, 2, rng, uneven=False), np.ones(15), np.full(13, 1e-9)
    H[[0, 5, 6, 7, 14]] = 0.0
    w, t = rng.normal(size=15), rng.normal(size=13)
    system = system_of(sp.eye_array(15), A)
    system.factor(H, 1.0 / J, np.zeros(15))
    dw, dt = jointly(system, H * w + A.T @ t, t - A @ w / J)
    np.testing.assert_allclose(dw, w, atol=1e-8)
    np.testing.assert_allclose(dt, t, atol=1e-8)


def test_the_whole_system_is_accurate_where_the_other_is_not():
    """Third differences of 1,000 points: squaring their condition number, 1e8, costs three digits more."""
    H, J, off = 1e-3, 1e-16, []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A = differences(1000, 3, rng, uneven=False)
        w, t = np.cumsum(rng.normal(size=1000)), rng.normal(size=997)
        system = system_of(sp.eye_array(1000), A)
        system.factor(np.full(1000, H), np.full(997, 1.0 / J), np.zeros(1000))
        found = [jointly(system, H * w + A.T @ t, t - A @ w / J, careful)[0] for careful in (False, True)]
        off.append([np.abs(dw - w).max() / np.abs(w).max() for dw in found])
    squared, whole = np.max(off, axis=0)
    assert whole < 1e-9 < squared


def test_multipliers_keep_their_digits_where_edges_are_strong():
    """From ``A x``, whose rounding errors the edges enlarge, t would not have a digit."""
    rng = np.random.default_rng(1)
    A, E = differences(200, 2, rng), np.full(198, 1e18)
    system = system_of(sp.eye_array(200), A)
    system.factor(np.ones(200), E, np.zeros(200))
    f = 1e3 + rng.normal(size=200)
    x, t = jointly(system, f, np.zeros(198), careful=True)
    expected = np.linalg.lstsq(A.T.toarray(), f - x)[0]
    np.testing.assert_allclose(x + A.T @ t, f, rtol=1e-12)
    np.testing.assert_allclose(t, expected, atol=1e-7 * np.abs(expected).max())
    assert np.abs(E * (A @ x) - expected).max() > np.abs(expected).max()


def test_matrices_with_and_without_bands():
    wide = sp.csr_array(([1.0, -1.0], ([0, 0], [0, 40])), shape=(1, 50))
    empty_row = sp.csr_array(([1.0], ([1], [0])), shape=(2, 5))
    for other in (wide, graphs.difference(10, 2)[::-1], empty_row, sp.csr_array((0, 3))):
        assert bands_of(as_csr(other, "A")) is None
    mixed = sp.vstack([graphs.difference(10, 1), graphs.difference(10, 2)]).tocsr()
    mixed = mixed[np.argsort(np.append(np.arange(9), np.arange(8)), kind="stable")]
    bands = bands_of(as_csr(mixed, "A"))
    dense = np.zeros((17, 10))
    np.put_along_axis(dense, bands.columns, bands.values, axis=1)
    np.testing.assert_array_equal(dense, mixed.toarray())
    assert bands.span == 6  # row 16, the last one, begins in column 7 as row 14 does
