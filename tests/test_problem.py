"""A problem and its variants: what is cached is never stale, and what stays valid is not computed twice."""

import dataclasses
import doctest
import functools

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import (
    ALM,
    L1,
    Box,
    ElasticNet,
    Hinge,
    Logistic,
    NonNegative,
    Poisson,
    Problem,
    graphs,
    losses,
    problem as problem_module,
    solve,
    sources,
)
from adasadmm.certificates import BestDual, certify, duality, trace
from adasadmm.certificates.domains import bounds_of
from adasadmm.problem import DEPENDS_ON, DERIVED, INPUTS, Block
from adasadmm.rows.matrices import as_rows

N, D = 60, 4
RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(N, D)), RNG.normal(size=D)
Y = np.where(X @ W + 0.5 * RNG.normal(size=N) > 0.0, 1.0, -1.0)
WEIGHT = RNG.integers(1, 4, size=N).astype(float)
A = graphs.incidence(graphs.chain(D), d=D)
INPUT = {"loss": Hinge(), "penalty": L1(0.1), "A": A, "B": 2.0 * np.eye(3), "b": np.full(3, 0.1), "gamma": 0.01}
CHANGES = {
    "penalty": ElasticNet(0.3, 0.5),
    "gamma": np.linspace(0.0, 1.0, D),
    "loss": Logistic(),
    "A": sp.vstack([A[:2], A[:1]]),
    "B": np.diag([1.0, 2.0, 3.0]),
    "b": np.array([0.0, 1.0, 2.0]),
    "w_set": Box(-1.0, 1.0),
}


def problem(X=X, y=Y, **changed):
    return Problem(X, y, **{"sample_weight": WEIGHT, "w_set": NonNegative(), **INPUT, **changed})


def known(case):
    """All that a problem computes once."""
    split, inverse = case.w_set_split, case._inverse_B
    B, penalty, factor = case.v_step
    of_split = (split.objective(np.ones(D), np.ones(split.p)), split.gamma, split.rows.c)
    of_B = (getattr(B, "curvature", 0.0), factor, np.concatenate([np.ravel(x) for x in penalty]))
    return [
        *(
            case.loss_at_zero,
            case.loss_at_mean_target,
            case.predictions(W),
            case.objective(W),
            *case.column_sizes,
            *bounds_of(case),  # in `of_coordinates`
            inverse,
            case.last_X_transposed.of(np.ones(case.n)),
            *of_B,
            *of_split,
        ),
        *(
            case.diagonal,
            case.is_identity,
            case.is_plain,
            case.paths is None,
            case.bands is None,
            case.families is None,
            case.condensed is case,
            case.system.flops,
        ),
        *(
            case.value_at_zero,
            case.has_ridge,
            case.has_b,
            case.rates,
            case.last_A_products.of(W),
            case.last_A_transposed.of(np.ones(case.m)),
        ),
        *(split.v_step[0].curvature, split.loss_at_zero, *split.column_sizes),
    ]


def assert_same(one, other):
    for got, wanted in zip(known(one), known(other), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", CHANGES)
def test_a_variant_equals_a_problem_from_scratch(name):
    case = problem()
    known(case)  # whatever can be cached is cached now
    assert_same(case.replaced(**{name: CHANGES[name]}), problem(**{name: CHANGES[name]}))
    assert_same(case, problem())


def test_variants_by_name():
    case = problem()
    known(case)
    assert_same(case.with_penalty(CHANGES["penalty"]), problem(penalty=CHANGES["penalty"]))
    assert_same(case.with_gamma(0.5), problem(gamma=0.5))
    assert_same(case.with_weights(case.rows.c), case)
    few = case.sampled(20)
    assert (few.n, len(few.rows.y)) == (20, 20)
    chosen = [np.flatnonzero((X == row).all(axis=1))[0] for row in few.rows.X.values]
    assert_same(few, problem(X[chosen], Y[chosen], sample_weight=case.rows.c[chosen]))


def test_weights_are_taken_as_they_are():
    case = problem().with_weights(3.0 * WEIGHT)
    assert case.loss_at_zero == pytest.approx(3.0 * WEIGHT.mean())  # the hinge loss at 0 is 1
    with pytest.raises(ValueError, match="c must be >= 0, got -1"):
        case.with_weights(-np.ones(N))
    with pytest.raises(ValueError, match="rows in memory"):
        problem(sources.arrays(X, Y), None, sample_weight=None).with_weights(WEIGHT)


def test_what_a_variant_shares():
    case = problem()
    known(case)
    other = case.with_penalty(L1(1.0))
    assert other.rows is case.rows and other.A is case.A
    for name in ("_loss_levels", "column_sizes", "last_products", "_inverse_B"):
        assert vars(other)[name] is vars(case)[name]
    assert "v_step" not in vars(other) and "v_step" in vars(case.with_gamma(0.1))


def test_every_cached_quantity_says_what_it_depends_on():
    case, streamed = problem(), problem(sources.arrays(X, Y, WEIGHT), None, sample_weight=None)
    known(case)
    streamed.objective(W)
    assert streamed.by_passes.rows.y.tobytes() == case.rows.y.tobytes()
    cached = {name for name in dir(Problem) if isinstance(getattr(Problem, name), functools.cached_property)}
    assert cached <= DEPENDS_ON.keys()
    assert vars(case).keys() | vars(streamed).keys() == INPUTS | DEPENDS_ON.keys() | DERIVED


def test_whether_b_and_the_ridge_are_zero_follows_the_inputs():
    case = problem(b=None, gamma=0.0)
    assert (case.has_b, case.has_ridge) == (False, False)
    other = case.replaced(b=np.ones(case.m)).with_gamma(np.eye(case.d)[0])
    assert (other.has_b, other.has_ridge) == (True, True)
    assert (other.replaced(b=np.zeros(case.m)).has_b, other.with_gamma(0.0).has_ridge) == (False, False)


def test_a_variant_must_fit():
    case = problem()
    with pytest.raises(TypeError, match="no input 'nu'"):
        case.replaced(nu=1.0)
    with pytest.raises(ValueError, match="gamma must be >= 0"):
        case.with_gamma(-1.0)
    with pytest.raises(ValueError, match="B must have as many rows as A"):
        case.replaced(A=A[:2])
    with pytest.raises(ValueError, match="a column for each of the 2 features"):
        case.replaced(rows=Block(as_rows(X[:, :2]), Y, WEIGHT))


# --- certificates ----------------------------------------------------------------------------------------------------


def slopes_at_w(block, remembered):
    """The slope of each row's loss at W."""
    s = np.empty(len(block.y))
    losses.all_slopes(Hinge(), block.X.values @ W, block.y, s)
    return s


def test_one_entry_point_wherever_the_rows_are():
    case = problem(w_set=None, gamma=0.1)
    streamed = problem(sources.arrays(X, Y, WEIGHT, block_rows=25), None, sample_weight=None, w_set=None, gamma=0.1)
    v, theta = case.v_of(W), np.full(3, 0.1)
    given = certify(case, W, v, slopes_at_w(case.rows, {}), theta)
    assert given.dual < given.primal == case.objective(W)
    assert certify(case, W, v, slopes_at_w, theta) == given
    asked = []

    def each(function, *common):
        asked.append(function)
        return streamed.each(function, *common)

    found = certify(streamed, W, v, slopes_at_w, theta, each)
    assert asked
    for name in ("primal", "dual", "gap", "relative_gap", "primal_residual", "dual_residual"):
        assert getattr(found, name) == pytest.approx(getattr(given, name), rel=1e-12, abs=1e-12)
    with pytest.raises(TypeError, match="function of a block"):
        certify(streamed, W, v, slopes_at_w(case.rows, {}), theta)


def test_the_best_dual_value_of_a_run():
    case, record, calls = problem(w_set=None, gamma=0.1), BestDual(), []
    certificates = [
        certify(case, W, case.v_of(W), scale * slopes_at_w(case.rows, {}), np.zeros(3)) for scale in (1.0, 0.0)
    ]
    good, bad = sorted(certificates, key=lambda one: -one.dual)

    def compute(found):
        calls.append(found)
        return found

    assert record.find(case, 3, lambda: compute(good)) == good
    assert record.find(case, 3, lambda: compute(bad)) == good  # the same iteration: not computed
    later = record.find(case, 4, lambda: compute(bad))
    assert calls == [good, bad]
    assert later == duality.with_dual(case, bad, good.dual) and record.best == good.dual > bad.dual
    record.find(case, 5, lambda: dataclasses.replace(bad, dual=np.nan))
    assert record.best == good.dual  # the dual value of an iterate may be NaN
    assert record.find(case, 4, lambda: bad) == later
    record.forget()
    assert record.find(case, 4, lambda: compute(bad)) == later and len(calls) == 3
    record.reset()
    assert record.best == -np.inf
    assert record.find(case, 4, lambda: compute(bad)) == bad


@pytest.mark.parametrize("module", [problem_module, trace], ids=lambda module: module.__name__)
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_the_relative_gap_of_counts_does_not_depend_on_their_constant():
    # The Poisson loss of y is negative and has the least value y - y log y; the gap is relative to what is above it.
    y = np.array([3.0, 5.0, 40.0, 42.0])
    problem = Problem(np.eye(4), y, loss=Poisson(), penalty=L1(0.1), A=np.eye(4)[1:] - np.eye(4)[:-1])
    assert np.isclose(problem.least_loss, np.mean(y - y * np.log(y)), rtol=1e-15)
    found = solve(problem, ALM(), tol=1e-6).certificate
    assert np.isclose(found.relative_gap, found.gap / (found.primal - problem.least_loss))
