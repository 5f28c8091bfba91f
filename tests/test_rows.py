"""Row kernels and products: each form of a matrix does what the same dense matrix does in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm.rows import kernels as rows, products
from adasadmm.rows.matrices import WithIntercept, as_rows, plain

pytestmark = pytest.mark.kernels

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(40, 5)) * (RNG.random((40, 5)) < 0.5)
FORMS = {
    "dense": as_rows(DENSE),
    "sparse": as_rows(sp.csr_array(DENSE)),
    "dense, intercept": WithIntercept(as_rows(DENSE)),
    "sparse, intercept": WithIntercept(as_rows(sp.csr_array(DENSE))),
}


@pytest.fixture(params=FORMS)
def matrix(request):
    """A matrix in one of its forms, and the same as an array."""
    M = FORMS[request.param]
    array = plain(M)
    return M, array.toarray() if sp.issparse(array) else array


def test_one_row(matrix):
    M, array = matrix
    weight, x = RNG.random(array.shape[1]), RNG.normal(size=array.shape[1])
    for i in (0, 7, 39):
        assert rows.row_dot(M, i, x) == pytest.approx(array[i] @ x, rel=1e-13, abs=1e-15)
        pair = rows.row_dots(M, i, x, weight)
        assert pair == pytest.approx((array[i] @ x, array[i] @ weight), rel=1e-13, abs=1e-15)
        out = x.copy()
        rows.add_row(M, i, 0.5, out)
        np.testing.assert_allclose(out, x + 0.5 * array[i], rtol=1e-14)


def test_sizes_of_rows_and_columns(matrix):
    M, array = matrix
    n, d = array.shape
    c, weight = RNG.random(n), RNG.random(d)
    np.testing.assert_allclose(rows.weighted_squares(M, weight), array**2 @ weight, rtol=1e-13)
    mean, most, share = np.zeros((3, d))
    rows.measure_columns(M, c, mean, most, share)
    np.testing.assert_allclose(mean, c @ array**2 / n, rtol=1e-13)
    np.testing.assert_array_equal(most, np.max(array**2, axis=0))
    np.testing.assert_allclose(share, np.mean(array != 0.0, axis=0), rtol=1e-15)


def test_products_and_gram(matrix):
    M, array = matrix
    n, d = array.shape
    x, y, weights = RNG.normal(size=d), RNG.normal(size=n), RNG.random(n)
    along, back = np.empty(n), np.empty(d)
    products.product(M, x, along)
    products.transposed_product(M, y, back)
    both = np.empty((2, n))
    products.product_pair(M, (x, 2.0 * x), both)
    np.testing.assert_allclose(both, [array @ x, 2.0 * (array @ x)], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(along, array @ x, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(back, array.T @ y, rtol=1e-12, atol=1e-14)
    wanted = array.T @ (weights[:, None] * array)
    np.testing.assert_allclose(products.gram(M, weights), wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(products.gram_diagonal(M, weights), np.diag(wanted), rtol=1e-12)
    np.testing.assert_allclose(products.column_sums(M, weights, 1), weights @ np.abs(array), rtol=1e-12)


@pytest.mark.parametrize("used", [0, 1, 40, 3_000])
def test_a_product_with_few_rows_of_many(used):
    """The rows that a large sparse matrix is multiplied with are chosen where most entries of the vector are 0."""
    random = np.random.default_rng(0)
    M, x = sp.random_array((3_000, 60), density=0.5, rng=random, format="csr"), np.zeros(3_000)
    x[:used] = random.standard_normal(used)
    for X in (as_rows(M), WithIntercept(as_rows(M))):
        products.transposed_product(X, x, out := np.empty(X.shape[1]))
        np.testing.assert_allclose(out, plain(X).T @ x, rtol=1e-12, atol=1e-12)
