"""Numbers of all kinds end in the right answer or in a clear error."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    ADMM,
    ALM,
    L1,
    OADMM,
    SADMM,
    SPDHG,
    AdaSADMM,
    Full,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    Hinge,
    Logistic,
    Problem,
    Squared,
    Status,
    StructuredRegressor,
    graphs,
    solve,
)
from adasadmm.rows import matrices

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
TRUTH = np.array([2.0, 2.0, 2.0, -1.0, -1.0])
Y = X @ TRUTH + 0.1 * RNG.normal(size=200)
SIGN = np.where(Y > 0.3, 1.0, -1.0)
CHAIN = graphs.incidence(graphs.chain(5))
STOCHASTIC = [
    AdaSADMM(),
    AdaSADMM(w_step="exact", beta="auto"),
    AdaSADMM(metric=Full(refresh=0.05)),
    SADMM(eta=0.1),
    OADMM(1.0),
]


# --- width -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["admm", "ada-diag"])
def test_single_precision_gives_what_the_same_numbers_give_in_double(layout, solver):
    single = X.astype(np.float32)
    model = GraphGuidedClassifier("chain", solver=solver, random_state=0, tol=1e-3)
    coef = model.fit(layout(single), SIGN).coef_.copy()
    assert coef.dtype == np.float64
    np.testing.assert_array_equal(model.fit(layout(single.astype(float)), SIGN.astype(np.float32)).coef_, coef)
    assert model.predict(single).dtype == SIGN.astype(np.float32).dtype


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool, np.float16])
def test_whole_numbers_booleans_and_halves_are_numbers(dtype):
    counts = RNG.integers(0, 2, size=(50, 3)).astype(dtype)
    y = np.where(counts[:, 0] > 0, 1, -1)
    one, other = (
        solve(Problem(data, y, loss=Hinge(), penalty=L1(0.01), A=np.eye(3), gamma=0.1), ADMM()).w
        for data in (counts, counts.astype(float))
    )
    np.testing.assert_array_equal(one, other)


def test_complex_numbers_and_words_are_refused():
    parts = {"loss": Squared(), "penalty": L1(0.1), "A": np.eye(1)}
    with pytest.raises(ValueError, match="X must hold numbers"):
        Problem([["a"]], [1.0], **parts)
    for matrix in (np.array([[1j]]), sp.csr_array([[1j]]), [[1j]]):
        with pytest.raises(ValueError, match="X must hold real numbers, got complex ones"):
            Problem(matrix, [1.0], **parts)
    with pytest.raises(ValueError, match="y must hold real numbers, got complex ones"):
        Problem([[1.0]], [1j], **parts)


# --- scale -----------------------------------------------------------------------------------------------------------

SCALES = np.array([1e-8, 1e8, 1.0, 1e4, 1e-4])


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", [Squared(), Hinge(), Logistic()])
def test_features_of_scales_1e_minus_8_to_1e8_in_one_matrix_have_the_right_answer(layout, loss):
    """Without a ridge, features c times as large mean coefficients c times as small.

    For the hinge loss batch ADMM comes to 3e-4 in 1000 iterations, scaled or not.
    """
    close, tol = (1e-3, 1e-3) if isinstance(loss, Hinge) else (1e-6, 1e-7)
    y = Y if isinstance(loss, Squared) else SIGN
    parts = {"loss": loss, "penalty": L1(0.02)}
    plain = solve(Problem(X, y, A=np.eye(5), **parts), ADMM(), tol=tol)
    scaled = solve(Problem(layout(X * SCALES), y, A=np.diag(SCALES), **parts), ADMM(), tol=tol)
    assert plain.certificate.relative_gap < close and scaled.certificate.relative_gap < close
    np.testing.assert_allclose(scaled.w * SCALES, plain.w, rtol=1e-2, atol=1e-3)
    assert scaled.certificate.primal == pytest.approx(plain.certificate.primal, rel=close)


@pytest.mark.parametrize("factor", [1e-150, 1e-8, 1e8, 1e150])
def test_all_features_of_one_odd_scale_have_the_right_answer(factor):
    parts = {"loss": Squared(), "penalty": L1(0.02)}
    plain = solve(Problem(X, Y, A=np.eye(5), **parts), ADMM(), tol=1e-8)
    scaled = solve(Problem(X * factor, Y, A=factor * np.eye(5), **parts), ADMM(), tol=1e-8)
    np.testing.assert_allclose(scaled.w * factor, plain.w, rtol=1e-3)


@pytest.mark.slow  # every solver compiles
@pytest.mark.parametrize("solver", STOCHASTIC, ids=repr)
def test_a_stochastic_run_on_mixed_scales_is_finite_or_says_that_it_diverged(solver):
    problem = Problem(X * SCALES, SIGN, loss=Hinge(), penalty=L1(0.01), A=CHAIN, gamma=1e-2)
    result = solve(problem, solver)
    for name in ("w", "v", "theta", "w_mean", "w_average"):
        assert np.isfinite(getattr(result, name)).all()
    assert result.status.name in ("done", "diverged")


@pytest.mark.parametrize("solver", [*STOCHASTIC, ADMM(), ALM(), SPDHG()], ids=repr)
@pytest.mark.slow
def test_subnormal_numbers_are_as_good_as_zeros(solver):
    tiny = X.copy()
    tiny[:, 2] = 5e-324 * np.sign(X[:, 2])
    zero = np.where(np.arange(5) == 2, 0.0, X)
    found = []
    for data in (tiny, zero):
        problem = Problem(data, SIGN, loss=Hinge(), penalty=L1(0.01), A=CHAIN, gamma=1e-2)
        found.append(solve(problem, solver).w)
    assert np.isfinite(found[0]).all()
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", ["admm", "ada-diag", "auto"])
def test_numbers_whose_squares_overflow_or_vanish_end_in_a_clear_word(solver):
    model = GraphGuidedRegressor("chain", solver=solver, max_iter=20, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="stopped being finite"):
        model.fit(X * 1e200, Y)
    assert np.isfinite(model.coef_).all() and model.status_ is Status.diverged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 20 iterations are few
        model.fit(X * 1e-200, Y)  # beside a ridge such features are worth nothing
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-100)
    if solver != "ada-diag":  # whose mean of 20 epochs is still on its way
        assert model.intercept_ == pytest.approx(Y.mean(), rel=1e-3)


@pytest.mark.parametrize(("power", "loss"), [(50, "squared"), (62, "squared"), (63, "squared"), (40, "quantile")])
def test_a_column_of_huge_numbers_does_not_hide_the_optimum(power, loss):
    """The coefficient of the huge column costs neither ridge nor penalty: the fit without both is the same."""
    huge = X * np.where(np.arange(X.shape[1]) == 1, 2.0**power, 1.0)
    model = GraphGuidedRegressor("chain", loss=loss, tol=1e-6).fit(huge, Y)
    assert model.dual_gap_ <= 1e-6
    w, intercept = cp.Variable(X.shape[1]), cp.Variable()
    small = cp.multiply(w, np.where(np.arange(X.shape[1]) == 1, 0.0, 1.0))
    r = Y - X @ w - intercept
    fit = cp.sum_squares(r) / 2 if loss == "squared" else cp.sum(cp.abs(r)) / 2
    cp.Problem(cp.Minimize(fit + cp.norm1(cp.diff(small)) + cp.sum_squares(small) / 2)).solve(solver="CLARABEL")
    found = model.coef_ * np.where(np.arange(X.shape[1]) == 1, 2.0**power, 1.0)
    np.testing.assert_allclose(found, w.value, atol=2e-3 * np.abs(w.value).max())


def test_weights_so_large_that_nothing_but_the_rows_counts():
    """The default strengths are 1 / (sum of the weights), so they vanish beside the rows: least squares remain."""
    for weight in (1e100, 1e300):
        model = GraphGuidedRegressor("chain", tol=1e-9).fit(X, Y, sample_weight=np.full(len(Y), weight))
        wanted, *_ = np.linalg.lstsq(np.c_[X, np.ones(len(Y))], Y, rcond=None)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), wanted, rtol=1e-6)
        assert model.dual_gap_ <= 1e-9


# --- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        ("no", "yes"),
        (False, True),
        (0, 1),
        (-7, 3),
        (np.uint8(200), np.uint8(255)),
        (-(2**62), 2**62),
        (1.0, 2.0),
    ],
    ids=repr,
)
def test_labels_of_any_kind_are_kept(labels):
    y = np.array(labels)[(SIGN > 0).astype(int)]
    model = GraphGuidedClassifier("chain").fit(X, y)
    plain = GraphGuidedClassifier("chain").fit(X, SIGN)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[(plain.predict(X) > 0).astype(int)])
    assert model.predict(X).dtype == y.dtype


def test_labels_that_are_measurements_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        GraphGuidedClassifier("chain").fit(X, Y)


def test_a_block_with_one_class_only_is_taken_up():
    blocks = [SIGN > 0, SIGN < 0]
    model = GraphGuidedClassifier("chain", random_state=0)
    for rows in blocks:
        model.partial_fit(X[rows], np.where(SIGN[rows] > 0, "yes", "no"), classes=["no", "yes"])
        assert np.isfinite(model.coef_).all()
    assert set(model.classes_) == {"no", "yes"}


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nnz", "largest", "wanted"),
    [
        (0, 0, np.int32),
        (2**31 - 1, 10, np.int32),
        (2**31, 10, np.int64),
        (10, 2**31 - 1, np.int32),
        (10, 2**31, np.int64),
        (2**40, 2**40, np.int64),
    ],
)
def test_indices_are_64_bit_from_2_to_the_31_on(nnz, largest, wanted):
    assert matrices.index_type(nnz, largest) is wanted


@pytest.mark.slow  # each width is compiled for itself
def test_64_bit_indices_give_the_same_bits(monkeypatch):
    found = []
    for width in (np.int32, np.int64):
        monkeypatch.setattr(matrices, "index_type", lambda nnz, largest, width=width: width)
        problem = Problem(sp.csr_array(X), SIGN, loss=Hinge(), penalty=L1(0.01), A=CHAIN, gamma=1e-2)
        assert problem.rows.X.indptr.dtype == width
        found.append([solve(problem, solver).w for solver in (AdaSADMM(), ADMM())])
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("noise", [1.0, 0.0])
def test_targets_far_from_zero_need_no_other_accuracy(noise):
    """An intercept takes up a shift of the targets; the gap must not be measured against it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    y = X @ np.repeat([1.0, -1.0], 5) + noise * rng.normal(size=300)
    near, far = (GraphGuidedRegressor("chain", tol=1e-4).fit(X, y + shift) for shift in (0.0, 1e7))
    assert far.dual_gap_ <= 1e-4
    assert far.coef_ == pytest.approx(near.coef_, abs=0.02)
    assert far.intercept_ - 1e7 == pytest.approx(near.intercept_, abs=0.02)


@pytest.mark.parametrize(
    "solver", [*(pytest.param(one, marks=pytest.mark.slow) for one in STOCHASTIC), ADMM(), ALM(), SPDHG()], ids=repr
)
def test_one_row(solver):
    problem = Problem([[1.0, 2.0]], [1.0], loss=Hinge(), penalty=L1(0.0), A=[[1.0, -1.0]], gamma=1e-3)
    result = solve(problem, solver, epochs=200)
    assert result.w @ [1.0, 2.0] > 0.5


def test_one_row_is_a_clear_error_for_a_classifier_and_works_for_a_regression():
    with pytest.raises(ValueError, match="one class only"):
        GraphGuidedClassifier("chain").fit([[1.0, 2.0]], [1])
    model = GraphGuidedRegressor("chain", l2=0.0, alpha=0.0, tol=1e-8).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[1.0, 2.0]]) == pytest.approx([3.0], rel=1e-3)


@pytest.mark.parametrize("graph", ["glasso", "chain", "knn", [[0, 0]][:0]], ids=str)
def test_one_feature(graph):
    model = GraphGuidedClassifier(np.array(graph).reshape(-1, 2) if isinstance(graph, list) else graph)
    model.fit(X[:, :1], np.where(X[:, 0] > 0, "up", "down"))
    assert model.score(X[:, :1], np.where(X[:, 0] > 0, "up", "down")) > 0.95
    assert model.graph_.shape == (0, 2)
    assert StructuredRegressor("trend").fit(X[:, :1], X[:, 0]).coef_[0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("graph", ["glasso", "knn", "chain"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.filterwarnings("ignore:the graph has no edges")
def test_rows_and_columns_of_zeros(graph, layout):
    data = X.copy()
    data[::3] = 0.0
    data[:, 3] = 0.0
    model = GraphGuidedClassifier(graph).fit(layout(data), SIGN)
    assert np.isfinite(model.coef_).all() and model.dual_gap_ <= 1e-3
    nothing = GraphGuidedRegressor(graph, tol=1e-6).fit(layout(np.zeros((20, 4))), np.arange(20.0))
    np.testing.assert_allclose(nothing.coef_, 0.0, atol=1e-12)
    assert nothing.intercept_ == pytest.approx(9.5, rel=1e-3)
