"""Newton's system by structure, against a dense solution."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from adasadmm.linalg import systems
from adasadmm.linalg.banded_system import BandedSystem, bands_of
from adasadmm.linalg.coupling import Groups
from adasadmm.linalg.dense_systems import DenseSystem, RowSpace
from adasadmm.linalg.joined import components
from adasadmm.linalg.sparse_factor import GramFactor, gram_pattern
from adasadmm.linalg.sparse_systems import Bordered, ConjugateGradients, EdgeSpace, SparseSystem
from adasadmm.rows.matrices import WithIntercept, as_csr, as_rows, plain, to_scipy

pytestmark = pytest.mark.kernels


def chain(d):
    return sp.diags_array([np.ones(d - 1), -np.ones(d - 1)], offsets=[0, 1], shape=(d - 1, d))


def grid(d):
    side = int(np.sqrt(d))
    line, one = chain(side), sp.eye_array(side)
    A = sp.vstack([sp.kron(one, line), sp.kron(line, one)])
    return sp.hstack([A, sp.csr_array((A.shape[0], d - side * side))])  # the rest are nodes without edges


def trend(d):
    return chain(d - 1) @ chain(d)


def random_graph(d, seed=0):
    random = np.random.default_rng(seed)
    ends = random.integers(0, d, (d, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    row = np.repeat(np.arange(len(ends)), 2)
    return sp.csr_array((np.tile([1.0, -1.0], len(ends)), (row, ends.ravel())), shape=(len(ends), d))


def fused_and_sparse(d):
    return sp.vstack([0.7 * chain(d), sp.eye_array(d)])


GRAPHS = {"chain": chain, "grid": grid, "trend": trend, "random": random_graph, "fused and sparse": fused_and_sparse}


def rows_of(kind, n, d, seed=0):
    random = np.random.default_rng(seed)
    if kind == "diagonal":
        X = sp.diags_array(random.uniform(0.5, 2.0, d))
    elif kind == "sparse":
        X = sp.random_array((n, d), density=min(1.0, 4.0 / d), rng=random, data_sampler=random.standard_normal)
    else:
        X = random.standard_normal((n, d))
    return as_rows(X)


def every_system(X, A):
    """One system of each kind that is possible, whatever its cost."""
    if isinstance(X, WithIntercept):
        inner = as_csr(to_scipy(A)[:, :-1], "A")
        return [DenseSystem(X, A), *(Bordered(X, A, system) for system in every_system(X.rows, inner)[1:])]
    found = [DenseSystem(X, A), ConjugateGradients(X, A, gram_pattern([A], np.inf))]
    found.append(RowSpace(X, A, gram_pattern([A], np.inf)))
    if not hasattr(X, "values"):
        found.append(SparseSystem(X, A, gram_pattern([X, A], np.inf)))
        if (np.diff(X.indptr) <= 1).all():
            transposed = as_csr(to_scipy(A).T.tocsr(), "A")
            found.append(EdgeSpace(X, A, transposed, gram_pattern([transposed], np.inf)))
            if bands := bands_of(A):
                found.append(BandedSystem(X, A, bands))
    return found


def matrix_of(X, A, rows, edges, ridge):
    X, A = plain(X), to_scipy(A).toarray()
    X = X.toarray() if sp.issparse(X) else X
    return X.T @ (rows[:, None] * X) + A.T @ (edges[:, None] * A) + np.diag(ridge)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "diagonal"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(12, 40), (60, 30)])
def test_every_way_gives_the_solution(graph, kind, intercept, shape):
    n, d = shape
    random = np.random.default_rng(1)
    X, A = rows_of(kind, n, d), as_csr(GRAPHS[graph](d), "A")
    if intercept:
        X, A = WithIntercept(X), as_csr(sp.hstack([to_scipy(A), sp.csr_array((A.shape[0], 1))]), "A")
    for decades in (0.0, 8.0):
        weights = [10.0 ** random.uniform(-decades, decades, length) for length in (X.shape[0], A.shape[0])]
        ridge = 10.0 ** random.uniform(-2.0, 0.0, X.shape[1])
        if intercept:
            ridge[-1] = 0.0
        M, rhs = matrix_of(X, A, *weights, ridge), random.standard_normal(X.shape[1])
        expected = np.linalg.solve(M, rhs)
        for system in [*every_system(X, A), systems.system_for(X, A)]:
            system.factor(*weights, ridge)
            found = system.solve(rhs)
            kindly = decades == 0.0
            assert np.linalg.norm(M @ found - rhs) <= 1e-8 * np.linalg.norm(rhs) or not kindly, system.name
            size = np.sqrt(np.diag(M))
            off = np.linalg.norm(size * (found - expected)) / np.linalg.norm(size * expected)
            assert off <= (1e-8 if kindly else 1e-3) or system.name == "conjugate gradients", system.name
            np.testing.assert_allclose(system.diagonal, np.diag(M), rtol=1e-10)


# --- coupled rows of A ---------------------------------------------------------------------------------------------


def overlapping(d):
    return sp.eye_array(d, format="csr")[np.minimum(np.arange(2 * d) % (d + 1), d - 1)]


def coupled_matrix(X, A, rows, edges, ridge, groups, bends):
    of_groups = np.zeros((len(edges), len(edges)))
    for group in groups:
        of_groups[np.ix_(group, group)] = np.outer(bends[group], bends[group])
    dense = to_scipy(A).toarray()
    return matrix_of(X, A, rows, edges, ridge) - dense.T @ of_groups @ dense


@pytest.mark.parametrize("structure", [sp.eye_array, chain, trend, overlapping], ids=lambda make: make.__name__)
@pytest.mark.parametrize("kind", ["dense", "sparse", "diagonal"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("widest", [0, 100])
@pytest.mark.parametrize("shape", [(12, 40), (60, 30)])
def test_groups_of_rows_may_be_coupled(structure, kind, intercept, widest, shape, limits):
    n, d = shape
    random = np.random.default_rng(2)
    X, A = rows_of(kind, n, d), as_csr(structure(d), "A")
    if intercept:
        X, A = WithIntercept(X), as_csr(sp.hstack([to_scipy(A), sp.csr_array((A.shape[0], 1))]), "A")
    m = A.shape[0]
    groups = np.array_split(random.permutation(m)[: m - 3], 6)
    limits(columns_of_a_sparse_group=widest)
    limits(flops_of_a_cheap_factor=0.0)
    for most_dense in (0, 2000):
        limits(features_of_a_dense_factor=most_dense)
        system = systems.system_for(X, A, Groups.of(groups))
        for _ in range(2):
            rows, edges, bends = (random.uniform(0.5, 2.0, size) for size in (X.shape[0], m, m))
            for group in groups:
                bends[group] *= np.sqrt(0.99 / np.sum(bends[group] ** 2 / edges[group]))
            ridge, rhs = random.uniform(0.1, 1.0, X.shape[1]), random.standard_normal(X.shape[1])
            M = coupled_matrix(X, A, rows, edges, ridge, groups, bends)
            system.factor(rows, edges, ridge, bends)
            np.testing.assert_allclose(system.solve(rhs), np.linalg.solve(M, rhs), rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(system.diagonal, np.diag(M), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(system.times(rhs), M @ rhs, rtol=1e-9, atol=1e-9)


# --- extreme weights -------------------------------------------------------------------------------------------------


def exact_solution(M, rhs):
    """Gaussian elimination in rational numbers."""
    rows = [[*row, Fraction(value)] for row, value in zip(M, rhs, strict=True)]
    for k in range(len(rows)):
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    x = [Fraction(0)] * len(rows)
    for k in reversed(range(len(rows))):
        x[k] = (rows[k][-1] - sum(rows[k][j] * x[j] for j in range(k + 1, len(rows)))) / rows[k][k]
    return np.array([float(value) for value in x])


def exact_matrix(matrices, ridge):
    """``sum_k G' diag(weights) G + diag(ridge)`` in rational numbers."""
    d = len(ridge)
    M = [[Fraction(ridge[i]) if i == j else Fraction(0) for j in range(d)] for i in range(d)]
    for G, weights in matrices:
        for row, weight in zip(G, weights, strict=True):
            for i in np.flatnonzero(row):
                for j in np.flatnonzero(row):
                    M[i][j] += Fraction(weight) * Fraction(row[i]) * Fraction(row[j])
    return M


@pytest.mark.parametrize("graph", ["chain", "grid", "random", "fused and sparse"])
@pytest.mark.parametrize("seed", range(3))
def test_a_graph_beside_a_diagonal_is_accurate_in_each_entry(graph, seed):
    """M itself, formed in floating point, would not even be positive definite."""
    random = np.random.default_rng(seed)
    d = 16
    X, A = rows_of("diagonal", d, d, seed), as_csr(GRAPHS[graph](d), "A")
    rows, edges = (10.0 ** random.uniform(-10.0, 10.0, length) for length in (d, A.shape[0]))
    ridge, rhs = 10.0 ** random.uniform(-12.0, -8.0, d), random.uniform(0.0, 1.0, d)
    M = exact_matrix([(plain(X).toarray(), rows), (to_scipy(A).toarray(), edges)], ridge)
    system = systems.system_for(X, A)
    system.factor(rows, edges, ridge)
    np.testing.assert_allclose(system.approximate(rhs), exact_solution(M, rhs), rtol=1e-12)
    np.testing.assert_allclose(system.solve(rhs), exact_solution(M, rhs), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_trends_with_strong_weights_are_accurate(seed):
    random = np.random.default_rng(seed)
    d = 14
    X, A = rows_of("diagonal", d, d, seed), as_csr(trend(d), "A")
    rows, edges, ridge = np.full(d, 1.0 / d), 10.0 ** random.uniform(-8.0, 14.0, d - 2), np.zeros(d)
    rhs = random.standard_normal(d)
    system = systems.system_for(X, A)
    assert system.name == "banded"
    system.factor(rows, edges, ridge)
    M = exact_matrix([(plain(X).toarray(), rows), (to_scipy(A).toarray(), edges)], ridge)
    expected = exact_solution(M, rhs)
    np.testing.assert_allclose(system.solve(rhs), expected, atol=1e-9 * np.abs(expected).max())


# --- no ridge --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True])
def test_more_features_than_rows_without_ridge(kind, intercept):
    """The graph has three components, of which one is a single node: data alone fix the level of each."""
    random = np.random.default_rng(0)
    n, d = 25, 301
    X = rows_of("dense", n, d) if kind == "dense" else as_rows(sp.random_array((n, d), density=0.3, rng=random))
    A = as_csr(sp.hstack([sp.block_diag([chain(100), chain(200)]), sp.csr_array((298, 1 + intercept))]), "A")
    X = WithIntercept(X) if intercept else X
    rows, edges = 10.0 ** random.uniform(-3.0, 3.0, n), 10.0 ** random.uniform(-3.0, 3.0, 298)
    ridge, rhs = np.zeros(d + intercept), random.standard_normal(d + intercept)
    M = matrix_of(X, A, rows, edges, ridge)
    expected = np.linalg.solve(M, rhs)
    for system in every_system(X, A):
        if system.name == "conjugate gradients":
            continue
        system.factor(rows, edges, ridge)
        np.testing.assert_allclose(system.solve(rhs), expected, atol=1e-6 * np.abs(expected).max(), err_msg=system.name)


def test_zero_weights_and_empty_columns_with_a_weak_ridge():
    random = np.random.default_rng(0)
    X, A = as_rows(np.where(np.arange(40) == 7, 0.0, random.standard_normal((10, 40)))), as_csr(grid(40), "A")
    rows, edges, ridge = np.ones(10), np.ones(A.shape[0]), np.full(40, 1e-8)
    rows[3:6], edges[::2] = 0.0, 0.0
    M, rhs = matrix_of(X, A, rows, edges, ridge), random.standard_normal(40)
    for system in every_system(X, A):
        system.factor(rows, edges, ridge)
        if system.name != "conjugate gradients":  # which is for large problems
            x = system.solve(rhs)
            assert np.linalg.norm(M @ x - rhs) <= 1e-6 * np.linalg.norm(rhs), system.name


@pytest.mark.parametrize("X", [sp.csr_array((3, 0)), sp.eye_array(3), np.ones((3, 1))], ids=["none", "diagonal", "one"])
def test_hardly_any_features(X):
    X = WithIntercept(as_rows(X))
    A = as_csr(sp.csr_array((0, X.shape[1])), "A")
    system = systems.system_for(X, A)
    ridge = np.append(np.ones(X.shape[1] - 1), 0.0)
    system.factor(np.ones(3), np.empty(0), ridge)
    M = matrix_of(X, A, np.ones(3), np.empty(0), ridge)
    np.testing.assert_allclose(system.solve(np.ones(len(M))), np.linalg.solve(M, np.ones(len(M))), atol=1e-9)


# --- choice and memory -----------------------------------------------------------------------------------------------

D = 20_000


@pytest.mark.compiled
@pytest.mark.parametrize(
    "kind, n, graph, name",
    [
        ("diagonal", D, chain, "banded"),
        ("diagonal", D, trend, "banded"),
        ("diagonal", D, grid, "sparse"),
        ("dense", 20, random_graph, "n-space"),
        ("text", 3000, chain, "conjugate gradients"),
    ],
    ids=["chain", "trend", "grid", "n-space", "text"],
)
def test_no_square_array_of_many_features_is_made(kind, n, graph, name):
    random = np.random.default_rng(0)
    if kind == "text":
        X = as_rows(sp.csr_array((random.uniform(size=90 * n), random.integers(0, D, (90 * n)), 90 * np.arange(n + 1))))
        X = X._replace(columns=D)
    else:
        X = rows_of(kind, n, D)
    A = as_csr(graph(D), "A")
    rhs = random.standard_normal(D)
    tracemalloc.start()
    system = systems.system_for(X, A)
    system.factor(np.full(n, 1.0 / n), np.ones(A.shape[0]), np.full(D, 1e-2))
    x = system.solve(rhs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert system.name == name
    assert peak < 8 * D * D / 20
    assert np.linalg.norm(system.times(x) - rhs) <= 1e-8 * np.linalg.norm(rhs)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_no_row_needs_to_have_a_weight(kind):
    """A Newton step may find no row with curvature."""
    X, A = rows_of(kind, 5, 8), as_csr(random_graph(8), "A")
    rows, edges, ridge, rhs = np.zeros(5), np.ones(A.shape[0]), np.full(8, 0.1), np.arange(8.0)
    exact = np.linalg.solve(matrix_of(X, A, rows, edges, ridge), rhs)
    for system in every_system(X, A):
        system.factor(rows, edges, ridge)
        assert system.solve(rhs, 1e-12) == pytest.approx(exact, abs=1e-9), system.name


# --- sparse factors --------------------------------------------------------------------------------------------------


def edges_of(ends, d):
    m = len(ends)
    signs = np.tile([1.0, -1.0], m)
    return as_csr(sp.csr_array((signs, (np.repeat(np.arange(m), 2), np.ravel(ends))), (m, d)), "A")


@pytest.mark.parametrize("tree", ["chain", "star", "two hubs", "random", "forest"])
def test_trees_have_no_fill_in(tree):
    """A hub with very many neighbours is no exception."""
    d, random = 3000, np.random.default_rng(0)
    child = np.arange(1, d)
    parent = {
        "chain": child - 1,
        "star": np.zeros(d - 1, int),
        "two hubs": np.where(child == 1, 0, child % 2),
        "random": random.integers(0, child),
        "forest": child - 1,
    }[tree]
    kept = child % 10 > 0 if tree == "forest" else child > 0
    pattern = gram_pattern([edges_of(np.stack([child, parent], axis=1)[kept], d)], np.inf)
    assert pattern.nnz == d + np.count_nonzero(kept)
    assert sorted(pattern.order) == list(range(d))


def test_a_factor_beyond_the_limit_is_refused():
    A = as_csr(grid(900), "A")
    nnz = gram_pattern([A], np.inf).nnz
    assert nnz < 900 * 60  # a band would have 30 rows below each diagonal entry and as many steps
    assert gram_pattern([A], nnz).nnz == nnz
    assert gram_pattern([A], nnz - 1) is None
    assert gram_pattern([A], nnz / 20) is None  # by a rough order alone


@pytest.mark.parametrize("d", [0, 1, 2])
def test_a_factor_of_hardly_anything(d):
    A = as_csr(sp.csr_array((0, d)), "A")
    factor = GramFactor([A], gram_pattern([A], np.inf))
    factor.factor([np.empty(0)], np.full(d, 4.0))
    np.testing.assert_array_equal(factor.solve(np.ones(d)), np.full(d, 0.25))


@pytest.mark.parametrize("graph", ["grid", "random", "trend", "fused and sparse"])
@pytest.mark.parametrize("count", [0, 1, 70])
def test_half_a_solution_gives_the_inner_products(graph, count):
    random, d = np.random.default_rng(0), 49
    A, ridge, rows = as_csr(GRAPHS[graph](d), "A"), random.uniform(0.1, 1.0, d), random.standard_normal((count, d))
    weights = 10.0 ** random.uniform(-3.0, 3.0, A.shape[0])
    factor = GramFactor([A], gram_pattern([A], np.inf))
    for _ in range(2):  # the second factor overwrites the first one
        factor.factor([weights], ridge)
        half = factor.half_solve(rows)
        M = matrix_of(as_rows(sp.csr_array((0, d))), A, np.empty(0), weights, ridge)
        np.testing.assert_allclose(half.T @ half, rows @ np.linalg.solve(M, rows.T), rtol=1e-8, atol=1e-8)
        weights = weights[::-1].copy()


@pytest.mark.parametrize("graph", ["random", "trend"])
def test_dense_columns_are_factored_in_blocks(graph, limits):
    """With or without pivots from row sums; with them, each entry is accurate for weights of any size."""
    random, d = np.random.default_rng(0), 150
    A = as_csr(GRAPHS["trend"](d) if graph == "trend" else two_thirds(d), "A")
    decades = 8.0 if graph == "random" else 1.0
    weights, ridge = 10.0 ** random.uniform(-decades, decades, A.shape[0]), random.uniform(0.1, 1.0, d)
    rhs, found = random.uniform(0.0, 1.0, d), []
    for overhead in (1.0, 1e9):
        limits(overhead_of_a_dense_column=overhead)
        factor = GramFactor([A], gram_pattern([A], np.inf))
        assert (factor.dense < d) == (overhead == 1.0)
        factor.factor([weights], ridge)
        found.append(factor.solve(rhs))
    np.testing.assert_allclose(*found, rtol=1e-12 if graph == "random" else 1e-9)


def two_thirds(d):
    """A graph with two thirds of all edges."""
    return to_scipy(edges_of(np.array([[i, j] for i in range(d) for j in range(i) if (i + j) % 3]), d))


@pytest.mark.parametrize("often", [False, True])
@pytest.mark.parametrize("graph", ["none", "parts of a chain", "random"])
def test_components_are_numbered_in_the_order_of_their_first_nodes(graph, often):
    random = np.random.default_rng(0)
    first = np.flatnonzero(random.uniform(size=29) < 0.6) if graph == "parts of a chain" else random.integers(0, 30, 20)
    second = first + 1 if graph == "parts of a chain" else random.integers(0, 30, 20)
    if graph == "none":
        first, second = first[:0], second[:0]
    number, label = components(first, second, 30, often)
    edges = sp.coo_array((np.ones(len(first)), (first, second)), shape=(30, 30))
    expected_number, expected = csgraph.connected_components(edges, directed=False)
    assert number == expected_number
    np.testing.assert_array_equal(label, expected)
    assert (np.diff(np.unique(label, return_index=True)[1]) > 0).all()
