"""Problems with an answer known by hand, and problems without a good one: both end well."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from references import optimum

from adasadmm import (
    ADMM,
    ALM,
    L1,
    AdaSADMM,
    Box,
    EpsilonInsensitive,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    GroupL2,
    Hinge,
    Huber,
    Logistic,
    NonNegative,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    Stack,
    StructuredRegressor,
    graphs,
    penalties,
    solve,
)

RNG = np.random.default_rng(0)
Y = RNG.normal(size=12) + 2.0
CHAIN = graphs.incidence(graphs.chain(12), d=12)
ONES = np.ones((12, 1))
QUICK = AdaSADMM(average="auto", beta="auto")

# --- optima in closed form -------------------------------------------------------------------------------------------


def shrunk(y, nu):
    """The optimum of ``|w - y|^2 / (2 n) + nu |w|_1``."""
    w = np.sign(y) * np.maximum(np.abs(y) - len(y) * nu, 0.0)
    return np.sum((w - y) ** 2) / (2 * len(y)) + nu * np.abs(w).sum()


def of_groups(y, nu, groups):
    """The same with the 2-norm of each group."""
    return sum(
        np.sum(y[g] ** 2) / (2 * len(y))
        if np.linalg.norm(y[g]) <= len(y) * nu
        else nu * np.linalg.norm(y[g]) - len(y) * nu**2 / 2
        for g in groups
    )


def with_ridge(gamma):
    """The optimum of ``|w - y|^2 / (2 n) + gamma / 2 |w|^2``."""
    return np.sum(Y**2) * gamma / (2 * (1 + gamma * len(Y)))


def fused(gamma):
    """The optimum of the same where all w are one number."""
    m = Y.mean() / (1 + gamma * len(Y))
    return np.mean((m - Y) ** 2) / 2 + gamma / 2 * len(Y) * m**2


GROUPS = [range(0, 4), range(4, 12)]
CLOSED_FORMS = {
    "ridge": (dict(X=np.eye(12), y=Y, loss=Squared(), penalty=L1(0.0), A=CHAIN, gamma=0.1), with_ridge(0.1)),
    "lasso": (dict(X=np.eye(12), y=Y, loss=Squared(), penalty=L1(0.15), A=np.eye(12)), shrunk(Y, 0.15)),
    "all fused": (dict(X=np.eye(12), y=Y, loss=Squared(), penalty=L1(9.0), A=CHAIN, gamma=0.1), fused(0.1)),
    "groups": (
        dict(X=np.eye(12), y=Y, loss=Squared(), penalty=GroupL2(0.4, GROUPS), A=np.eye(12)),
        of_groups(Y, 0.4, GROUPS),
    ),
    "median": (
        dict(X=ONES, y=Y, loss=Quantile(0.5), penalty=L1(0.0), A=[[0.0]]),
        np.mean(np.abs(Y - np.median(Y))) / 2,
    ),
    "one margin": (dict(X=[[2.0]], y=[1], loss=Hinge(), penalty=L1(0.0), A=[[1.0]], gamma=0.5), 0.5 * 0.5 / 4),
    "one squared margin": (  # (1 - w)^2 + w^2 / 2 at w = 2/3
        dict(X=[[1.0]], y=[1], loss=SquaredHinge(), penalty=L1(0.0), A=[[1.0]], gamma=1.0),
        1.0 / 3.0,
    ),
    "odds": (  # three of four are +1: the entropy
        dict(X=np.ones((4, 1)), y=[1, 1, 1, -1], loss=Logistic(), penalty=L1(0.0), A=[[0.0]]),
        -0.75 * math.log(0.75) - 0.25 * math.log(0.25),
    ),
    "counts": (
        dict(X=np.ones((4, 1)), y=[0, 1, 2, 5], loss=Poisson(), penalty=L1(0.0), A=[[0.0]]),
        2.0 - 2.0 * math.log(2.0),
    ),
}
STOCHASTIC = ("ridge", "all fused", *(pytest.param(name, marks=pytest.mark.slow) for name in ("one margin", "median")))


def assert_brackets(certificate, optimum):
    slack = 1e-9 * abs(optimum)
    assert certificate.dual - slack <= optimum <= certificate.primal + slack


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("solver", [ADMM(), ALM()], ids=lambda solver: type(solver).__name__)
def test_primal_and_dual_hold_a_known_optimum_between_them(name, solver):
    parts, optimum = CLOSED_FORMS[name]
    certificate = solve(Problem(**parts), solver, tol=1e-10, epochs=20000).certificate
    assert_brackets(certificate, optimum)
    assert certificate.primal == pytest.approx(optimum, rel=1e-8)


@pytest.mark.parametrize("name", STOCHASTIC)
@pytest.mark.parametrize("epochs", [1, 300])  # of one row some of them: so many iterations in all
def test_so_do_those_of_a_stochastic_run(name, epochs):
    parts, optimum = CLOSED_FORMS[name]
    result = solve(Problem(**parts), QUICK, epochs=epochs)
    assert_brackets(result.certificate, optimum)
    if epochs > 1:
        assert result.certificate.primal == pytest.approx(optimum, rel=0.05)


# --- ill-posed -------------------------------------------------------------------------------------------------------

X, SIGNS = RNG.normal(size=(60, 6)), np.repeat([-1.0, 1.0], 30)
APART = X + 10.0 * SIGNS[:, None] * np.eye(6)[0]  # a plane separates the classes
each_solver = pytest.mark.parametrize("solver", [ADMM(), ALM(), QUICK], ids=lambda solver: type(solver).__name__)


@each_solver
def test_separable_data_without_ridge_end_finite_and_with_a_true_bound(solver):
    """The infimum is 0, which no model attains."""
    A = graphs.incidence(graphs.chain(6), d=6)
    case = Problem(APART, SIGNS, loss=Logistic(), penalty=L1(0.0), A=A)
    result = solve(case, solver, epochs=50)
    assert np.isfinite(result.w).all()
    assert result.certificate.dual <= 0.0 <= result.certificate.primal
    assert case.objective(result.w) <= 0.05 * case.objective(np.zeros(6))


@each_solver
@pytest.mark.filterwarnings("ignore:the relative duality gap:sklearn.exceptions.ConvergenceWarning")  # of AdaSADMM
def test_a_penalty_that_fuses_all_leaves_the_model_of_the_sum(solver):
    """One coefficient for all features is a model of one feature, their sum."""
    A = graphs.incidence(graphs.chain(6), d=6)
    case = Problem(X, SIGNS, loss=Logistic(), penalty=L1(1e3), A=A, gamma=0.1)
    one = Problem(X.sum(axis=1, keepdims=True), SIGNS, loss=Logistic(), penalty=L1(0.0), A=[[0.0]], gamma=0.6)
    known = solve(one, ALM(), tol=1e-9)
    result = solve(case, solver, epochs=200, tol=1e-6)
    assert_brackets(result.certificate, known.certificate.primal)
    exact = not isinstance(solver, AdaSADMM)
    assert result.w == pytest.approx(np.full(6, known.w[0]), abs=1e-4 if exact else 0.02)


@each_solver
def test_duplicate_columns_have_the_objective_of_one(solver):
    """Two copies that a graph joins share the ridge: half of gamma for one column twice as large."""
    twice, A = np.repeat(X, 2, axis=1), graphs.incidence([[0, 1]], d=12)
    case = Problem(twice, SIGNS, loss=Logistic(), penalty=L1(0.1), A=A, gamma=0.1)
    one = Problem(2.0 * X, SIGNS, loss=Logistic(), penalty=L1(0.0), A=np.zeros((1, 6)), gamma=0.2)
    known = solve(one, ALM(), tol=1e-9).certificate
    result = solve(case, solver, epochs=200, tol=1e-6)
    assert_brackets(result.certificate, known.primal)
    assert case.objective(result.w_average) == pytest.approx(known.primal, rel=1e-5 if solver is not QUICK else 0.01)


@each_solver
@pytest.mark.filterwarnings("ignore:the relative duality gap:sklearn.exceptions.ConvergenceWarning")  # of AdaSADMM
def test_a_graph_in_many_components_is_as_many_problems(solver):
    """Rows of their own for each pair of features: the objective is the mean of the parts'."""
    blocks = sp.block_diag([X[:20, :2], X[20:40, 2:4], X[40:, 4:]]).toarray()
    A = graphs.incidence([[0, 1], [2, 3], [4, 5]], d=6)
    case = Problem(blocks, SIGNS, loss=Squared(), penalty=L1(0.03), A=A, gamma=0.1)
    parts = [
        solve(
            Problem(
                X[20 * k : 20 * k + 20, 2 * k : 2 * k + 2],
                SIGNS[20 * k : 20 * k + 20],
                loss=Squared(),
                penalty=L1(0.09),
                A=[[1.0, -1.0]],
                gamma=0.3,
            ),
            ALM(),
            tol=1e-10,
        )
        for k in range(3)
    ]
    optimum = np.mean([part.certificate.primal for part in parts])
    result = solve(case, solver, epochs=200, tol=1e-6)
    assert_brackets(result.certificate, optimum)
    exact = not isinstance(solver, AdaSADMM)
    assert result.w == pytest.approx(np.concatenate([part.w for part in parts]), abs=1e-3 if exact else 0.05)


@pytest.mark.parametrize("solver", ["auto", "admm", "ada-diag", "sadmm"])
def test_one_class_only_is_a_clear_error(solver):
    with pytest.raises(ValueError, match="needs at least 2 classes, y has one class only"):
        GraphGuidedClassifier("chain", solver=solver).fit(X, np.ones(60))


@pytest.mark.parametrize("solver", ["auto", "admm", "ada-diag"])
@pytest.mark.parametrize("y", [0.0, 5.0])
def test_a_constant_target_is_the_intercept(solver, y):
    model = GraphGuidedRegressor("chain", solver=solver, max_iter=200, random_state=0).fit(X, np.full(60, y))
    off = 1e-2 if solver == "ada-diag" else 1e-3
    assert model.predict(X) == pytest.approx(np.full(60, y), abs=off * (1.0 + y))


# --- sets beside penalties -------------------------------------------------------------------------------------------


def beside(penalty, extra, d):
    """A chain with one penalty, and a copy of w in a set."""
    A = sp.vstack([graphs.incidence(graphs.chain(d), d=d), sp.eye_array(d)], format="csr")
    return {"A": A, "penalty": Stack(((penalty, slice(0, d - 1)), (extra, slice(d - 1, 2 * d - 1))))}


def steps_of(d, n=300):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    return X, X @ np.repeat([1.0, -0.5, 0.0, 2.0], d // 4) + 0.5 * rng.normal(size=n)


WITH_SETS = {
    "fused, non-negative": (Squared(), beside(L1(0.05), NonNegative(), 20)),
    "fused, in a box": (Squared(), beside(L1(0.05), Box(0.0, 1.0), 20)),
    "fused, in a wide box": (Squared(), beside(L1(0.05), Box(0.0, 100.0), 20)),
    "falling and sparse": (Squared(), beside(NonNegative(), L1(0.05), 20)),
    "logistic, in a box": (Logistic(), {"A": np.eye(20), "penalty": Box(-0.1, 0.3)}),
    "falling and non-negative": (Hinge(), beside(NonNegative(), NonNegative(), 20)),  # more rows than features
    "a cone that holds only 0": (
        Squared(),
        {"A": np.random.default_rng(1).normal(size=(60, 20)), "penalty": NonNegative()},
    ),
}


@pytest.mark.compiled
@pytest.mark.parametrize("gamma", [0.0, 1e-3])
@pytest.mark.parametrize("name", WITH_SETS)
def test_sets_beside_penalties_converge_to_a_feasible_point(name, gamma):
    loss, structure = WITH_SETS[name]
    X, y = steps_of(20)
    parts = {"loss": loss, "gamma": gamma, **structure}
    y = y if isinstance(loss, Squared) else np.sign(y)
    known = optimum(X, y, **parts)[0]
    case = Problem(X, y, **parts)
    result = solve(case, ALM(), tol=1e-7, epochs=30)
    assert result.certificate.relative_gap <= 1e-7
    assert_brackets(result.certificate, known)
    assert case.objective(result.w_average) == pytest.approx(result.certificate.primal, rel=1e-12)
    assert penalties.violation(case.penalty, case.v_of(result.w_average)) <= 1e-11


def test_the_answer_is_never_worse_than_an_earlier_one():
    X, y = steps_of(20)
    case = Problem(X, y, loss=Squared(), **beside(L1(0.05), Box(0.0, 1.0), 20))
    found = []
    solve(case, ALM(), tol=1e-8, callback=lambda snapshot: found.append(case.objective(snapshot.w_average)))
    assert all(np.diff(found) <= 0.0)


# --- units -----------------------------------------------------------------------------------------------------------


def unobserved(loss, scale):
    """Features of any unit, one of them always 0, and no ridge."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1.0, 1.0, 1.0, 0.0]
    y = X @ [1.0, 1.0, 1.0, 0.0] + 0.1 * rng.normal(size=200)
    A = np.eye(3, 5) - np.eye(3, 5, 1)  # the last column is an intercept
    A[:, 4] = 0.0
    y = y if isinstance(loss, Squared) else np.sign(y)
    return Problem(np.c_[scale * X, np.ones(200)], y, loss=loss, penalty=L1(0.05 * scale), A=A)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e8])
@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=lambda loss: type(loss).__name__)
def test_a_column_of_zeros_without_ridge_does_no_harm_in_any_unit(loss, scale):
    one, other = (solve(unobserved(loss, s), ALM(), tol=1e-7) for s in (1.0, scale))
    assert other.certificate.relative_gap <= 1e-7
    assert other.certificate.primal == pytest.approx(one.certificate.primal, rel=2e-7)
    assert other.run.method.newton_steps == one.run.method.newton_steps


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_duplicate_columns_without_ridge_share_one_coefficient_in_any_unit(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))[:, [0, 1, 2, 2]]
    y = X @ [1.0, 1.0, 0.5, 0.5] + 0.1 * rng.normal(size=200)
    model, other = (GraphGuidedRegressor("chain", alpha=0.05 * s, l2=0.0).fit(s * X, y) for s in (1.0, scale))
    assert scale * other.coef_ == pytest.approx(model.coef_, rel=1e-6)


def in_other_units(parts, S):
    """The equivalent problem whose solution is w / S."""
    scaled = {"X": parts["X"] * S, "A": sp.csr_array(parts["A"]) @ sp.diags_array(S), "gamma": parts["gamma"] * S**2}
    return parts | scaled


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Squared()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("gamma", [0.0, 1e-2])
def test_each_feature_may_have_a_unit_of_its_own(loss, gamma):
    X, y = steps_of(8, n=100)
    S = 10.0 ** np.random.default_rng(2).uniform(-8, 8, size=8)
    y = y if isinstance(loss, Squared) else np.sign(y)
    parts = {"X": X, "y": y, "loss": loss, "gamma": gamma, **beside(L1(0.02), Box(-0.5, 1.0), 8)}
    one, other = (solve(Problem(**which), ALM(), tol=1e-9) for which in (parts, in_other_units(parts, S)))
    assert one.certificate.relative_gap <= 1e-9 and other.certificate.relative_gap <= 1e-9
    assert S * other.w_average == pytest.approx(one.w_average, rel=1e-6, abs=1e-6 * np.abs(one.w_average).max())


def test_bounds_may_have_units_of_their_own():
    X, y = steps_of(8, n=100)
    S = 10.0 ** np.random.default_rng(2).uniform(-8, 8, size=8)
    one, other = (
        solve(Problem(X * s, y, loss=Squared(), penalty=Box(-0.5 / s, 1.0 / s), A=np.eye(8)), ALM(), tol=1e-11)
        for s in (np.ones(8), S)
    )
    assert other.certificate.relative_gap <= 1e-11
    assert S * other.w_average == pytest.approx(one.w_average, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "poisson"])
def test_weights_that_leave_one_row_leave_no_gap(loss):
    X, y = steps_of(8, n=40)
    model = GraphGuidedRegressor("chain", loss=loss).fit(X, np.abs(y), sample_weight=np.eye(40)[0])
    assert 0.0 <= model.dual_gap_ <= model.tol
    assert model.predict(X[:1])[0] == pytest.approx(abs(y[0]), rel=1e-6)


@pytest.mark.parametrize("seed", [5, 7])
def test_a_log_link_far_from_its_optimum_overflows_in_silence(seed):
    rng = np.random.default_rng(seed)
    X = 100.0 + rng.normal(size=(60, 50))
    predictions = X @ np.r_[rng.normal(size=25), np.zeros(25)]
    y = rng.poisson(np.exp(2.0 * predictions / np.abs(predictions).max()))
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=60)
    model = StructuredRegressor(np.eye(50), loss="poisson", alpha=3e-5, l2=0.0, fit_intercept=False)
    assert model.fit(X, y, sample_weight=weight).dual_gap_ <= model.tol


# --- many problems ---------------------------------------------------------------------------------------------------

ALL_LOSSES = (
    Hinge(),
    SquaredHinge(),
    Logistic(),
    Squared(),
    Huber(),
    EpsilonInsensitive(),
    Quantile(0.3),
    Poisson(),
)
ALL_SETS = (NonNegative(), Box(-0.2, 0.3), Box(0.0, 100.0), Box(0.05, math.inf))


def drawn(seed):
    """A random problem with a set beside a penalty: any loss, columns of zeros, equal columns, ridge or none."""
    rng = np.random.default_rng(seed)
    n, d, loss = int(rng.choice([10, 40, 150, 600])), int(rng.choice([2, 6, 15, 30])), ALL_LOSSES[rng.integers(8)]
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 3.0])
    X = (X > 1.0).astype(float) if rng.random() < 0.2 else X
    X[:, rng.integers(d, size=rng.integers(2))] = 0.0
    X[:, 0] = X[:, rng.integers(2)]
    z = X @ np.repeat(rng.normal(size=d), 2)[:d] / np.sqrt(d) + 0.5 * rng.normal(size=n)
    if isinstance(loss, (Hinge, SquaredHinge, Logistic)):
        z = np.where(z > np.median(z), 1.0, -1.0)
    elif isinstance(loss, Poisson):
        z = rng.poisson(np.exp(np.clip(z, -3.0, 3.0))).astype(float)
    parts = L1(10.0 ** rng.uniform(-3, 0)), ALL_SETS[rng.integers(4)]
    structure = beside(*parts, d) if rng.random() < 0.5 else beside(NonNegative(), parts[0], d)
    return {"X": X, "y": z, "loss": loss, "gamma": float(rng.choice([0.0, 1e-3, 0.1])), **structure}


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(k, marks=pytest.mark.slow) for k in range(10, 150))])
def test_random_problems_with_sets_end_with_the_same_proof_in_all_units(seed):
    parts = drawn(seed)
    S = 10.0 ** np.random.default_rng(seed).uniform(-8, 8, size=parts["X"].shape[1])
    one, other = (solve(Problem(**which), ALM(), tol=1e-6, epochs=60) for which in (parts, in_other_units(parts, S)))
    for result in (one, other):
        assert result.certificate.relative_gap <= 1e-6
    assert other.certificate.primal == pytest.approx(one.certificate.primal, rel=2e-6)
