"""Paths, searches over strengths, degrees of freedom: what they choose, what they keep, what they say."""

import contextlib
import itertools
import pickle
import time
import warnings
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold

import adasadmm
from adasadmm import (
    ALM,
    IPM,
    L1,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    GroupL2,
    Hinge,
    L2Squared,
    Logistic,
    Poisson,
    Problem,
    Squared,
    StructuredClassifierCV,
    StructuredRegressor,
    StructuredRegressorCV,
    TotalVariationDenoiser,
    TrendFilter,
    TrendFilterCV,
    graphs,
    load_model,
    losses,
    path,
    save_model,
    solve,
    sources,
)
from adasadmm._solve import attempts
from adasadmm.regularization.alpha_max import alpha_max
from adasadmm.regularization.degrees import degrees_of_freedom
from adasadmm.solvers import Iterations, ProximalNewton

TIGHT = 1e-10


def regression(seed, n=60, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.repeat(rng.normal(size=(d + 2) // 3), 3)[:d] + rng.normal(size=n)


# --- path() ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson(), Hinge()])
@pytest.mark.parametrize("kind", ["chain", "lasso", "groups"])
def test_a_path_has_the_optimum_at_each_strength(loss, kind):
    X, y = regression(0, 50, 6)
    y = {Squared: y, Poisson: np.abs(y).round()}.get(type(loss), np.where(y > 0, 1.0, -1.0))
    A, penalty = (graphs.difference(6), L1(1.0)) if kind == "chain" else (np.eye(6), L1(1.0))
    if kind == "groups":
        A, rows = graphs.overlapping_groups([[0, 1, 2], [2, 3], [3, 4, 5]], 6)
        penalty = GroupL2(1.0, rows)
    problem = Problem(X, y, loss=loss, penalty=penalty, A=A, gamma=0.01)
    alphas = [0.3, 0.1, 0.03, 0.0]
    for alpha, result in zip(alphas, path(problem, alphas, tol=1e-7), strict=True):
        single = solve(problem.with_penalty(penalty._replace(nu=alpha)), IPM(), tol=1e-9)
        assert result.certificate.relative_gap <= 1e-7
        assert result.certificate.dual <= single.certificate.primal + 1e-12
        assert result.certificate.primal >= single.certificate.dual - 1e-12


def test_a_path_takes_a_share_of_the_l1_norm():
    X, y = regression(1)
    problem = Problem(X, y, loss=Squared(), penalty=L1(1.0), A=graphs.difference(8), gamma=0.1)
    for ratio in (0.4, 1.0):
        found = path(problem, [0.2, 0.1], l1_ratio=ratio, tol=TIGHT)[1]
        model = GraphGuidedRegressor("chain", alpha=0.1, l1_ratio=ratio, l2=0.1, tol=TIGHT, fit_intercept=False)
        np.testing.assert_allclose(found.w, model.fit(X, y).coef_, atol=1e-4)
    boxed = problem.with_penalty(adasadmm.NonNegative())
    with pytest.raises(ValueError, match=r"l1_ratio must be 0 unless the penalty is L1 or GroupL2.*NonNegative"):
        path(boxed, [1.0], l1_ratio=0.5)


@pytest.mark.parametrize("alphas", [[], [-1.0], [np.nan], [np.inf]])
def test_strengths_are_checked_before_any_work(alphas):
    problem = Problem(np.eye(2), [1.0, 2.0], loss=Squared(), penalty=L1(1.0), A=[[1.0, -1.0]])
    with pytest.raises(ValueError, match="alphas must contain at least one number, all finite and >= 0"):
        path(problem, alphas)
    with pytest.raises(ValueError, match="alphas must contain at least one number"):
        TrendFilterCV(alphas=alphas).fit([0, 1, 2, 3], [0, 1, 2, 3])


def test_an_interrupted_path_keeps_its_results(monkeypatch):
    problem = Problem(np.eye(2), [1.0, 2.0], loss=Squared(), penalty=L1(1.0), A=[[1.0, -1.0]])
    real, calls = attempts.solve_at_once, itertools.count()

    def interrupted(*args, **settings):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **settings)

    monkeypatch.setattr(attempts, "solve_at_once", interrupted)
    with pytest.raises(KeyboardInterrupt) as raised:
        path(problem, [1.0, 0.5, 0.1, 0.01])
    assert len(raised.value.results) == 2
    assert "2 of 4 strengths are done" in raised.value.__notes__[0]


@pytest.mark.parametrize("kind", ["chain", "grid", "trend", "groups"])
def test_everything_is_fused_at_the_largest_strength(kind):
    X, y = regression(2, 40, 6)
    if kind == "groups":
        A, rows = graphs.overlapping_groups([[0, 1, 2], [2, 3], [4, 5]], 6)
        penalty = GroupL2(1.0, rows)
    else:
        edges = graphs.grid(2, 3) if kind == "grid" else None
        A = graphs.difference(6, 2 if kind == "trend" else 1) if edges is None else graphs.incidence(edges, None, 6)
        penalty = L1(1.0)
    problem = Problem(X, y, loss=Squared(), penalty=penalty, A=A, gamma=0.01)
    top = alpha_max(problem)
    at, below = path(problem, [top, 0.3 * top], tol=1e-12)
    assert np.abs(sp.csr_array(A) @ at.w).max() < 1e-6 < np.abs(sp.csr_array(A) @ below.w).max()


def test_a_group_without_weight_leaves_the_largest_strength_of_the_others():
    X, y = regression(2, 40, 6)
    settings = {"loss": Squared(), "A": np.eye(6), "gamma": 0.01}
    problem = Problem(X, y, penalty=GroupL2(1.0, [[0, 1, 2], [3], [4, 5]], [1.0, 0.0, 2.0]), **settings)
    top = alpha_max(problem)
    at, below = path(problem, [top, 0.99 * top], tol=1e-12)
    assert not at.w[[0, 1, 2, 4, 5]].any() and at.w[3] != 0.0 and below.w[[0, 1, 2, 4, 5]].any()


@pytest.mark.parametrize("order", [1, 2])
def test_the_path_of_a_trend_starts_where_the_fit_is_one_polynomial(order):
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, 100.0, size=400))
    y = np.interp(t, [0.0, 40.0, 100.0], [0.0, 20.0, 5.0]) + rng.normal(size=400)
    found = TrendFilterCV(order, alphas=2, eps=0.9, selection="bic").fit(t, y)
    assert found.df_path_[0] == pytest.approx(order + 1) and found.df_path_[1] > order + 1.5


def test_proximal_newton_continues_from_a_saved_state():
    X, y = regression(3)
    problem = Problem(X, np.where(y > 0, 1.0, -1.0), loss=Logistic(), penalty=L1(0.01), A=graphs.difference(8))
    whole = solve(problem, ProximalNewton(), tol=0.0, epochs=6)
    half = solve(problem, ProximalNewton(), tol=0.0, epochs=3)
    state = half.run.state()
    again = solve(problem, ProximalNewton(), tol=0.0, epochs=3, start=half)
    np.testing.assert_allclose(again.w, whole.w, atol=1e-9)
    assert set(state) >= {"w", "theta", "v", "h"}
    with pytest.raises(TypeError, match="ProximalNewton takes the penalties L1"):
        solve(problem.with_penalty(adasadmm.NonNegative()), ProximalNewton())


def test_a_copy_of_a_proximal_newton_run_keeps_its_zeros_up_to_date():
    X, y = regression(3)
    problem = Problem(X, y, loss=Squared(), penalty=L1(0.01), A=graphs.difference(8))
    strong = solve(problem.with_penalty(L1(100.0)), ProximalNewton())
    run = strong.run.fork(problem).fork(problem)
    run.advance(Iterations(3))
    np.testing.assert_allclose(run.point.v, problem.times_A(run.point.w), atol=1e-6)


@pytest.mark.parametrize("solver", [ALM(), ProximalNewton()])
def test_the_next_solution_is_predicted_where_the_path_is_linear(solver):
    """With the squared loss and fixed signs of ``A w``, solution and multipliers are linear in alpha."""
    X, y = regression(5)
    first = Problem(X, y, loss=Squared(), penalty=L1(0.003), A=graphs.difference(8), gamma=0.01)
    before, last = path(first, [0.003, 0.002], solver=solver, tol=1e-13)
    problem = first.with_penalty(L1(0.001))
    run = last.run.fork(problem)
    kept = run.fork(problem)
    run.extrapolate(last.run, before.run, 1.0)
    exact = solve(problem, IPM(), tol=1e-13)
    assert (np.sign(exact.v) == np.sign(before.v)).all()
    np.testing.assert_allclose(run.point.w, exact.w, atol=1e-6)
    np.testing.assert_allclose(run.point.theta, exact.theta, atol=1e-6)
    assert np.abs(kept.point.w - exact.w).max() > 1e-4
    run.advance(Iterations(1))
    assert run.certify().relative_gap <= 1e-9


# --- the choice ------------------------------------------------------------------------------------------------------


def agrees_with_a_grid_search(searched, plain, X, y, alphas, ratios):
    folds = KFold(3, shuffle=True, random_state=0)
    found = searched.set_params(alphas=alphas, l1_ratios=ratios, l2s=[0.05], cv=folds, tol=TIGHT).fit(X, y)
    grid = GridSearchCV(plain.set_params(l2=0.05, tol=TIGHT), {"alpha": alphas, "l1_ratio": ratios}, cv=folds)
    grid.fit(X, y)
    assert (found.alpha_, found.l1_ratio_) == (grid.best_params_["alpha"], grid.best_params_["l1_ratio"])
    theirs = {tuple(one.values()): k for k, one in enumerate(grid.cv_results_["params"])}
    for k, one in enumerate(found.cv_results_["params"]):
        at = theirs[one["alpha"], one["l1_ratio"]]
        for split in range(3):
            name = f"split{split}_test_score"
            assert found.cv_results_[name][k] == pytest.approx(grid.cv_results_[name][at], abs=1e-6)
    assert found.cv_results_["rank_test_score"].min() == 1


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 15))])
def test_a_search_chooses_what_a_grid_search_chooses(seed):
    X, y = regression(seed)
    alphas, ratios = [0.5, 0.1, 0.02], [0.0, 0.5, 1.0]
    agrees_with_a_grid_search(GraphGuidedRegressorCV("chain"), GraphGuidedRegressor("chain"), X, y, alphas, ratios)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_a_search_of_a_classifier_chooses_what_a_grid_search_chooses(seed):
    X, y = regression(seed)
    pair = GraphGuidedClassifierCV("chain", loss="logistic"), GraphGuidedClassifier("chain", loss="logistic")
    agrees_with_a_grid_search(*(model.set_params(tol=TIGHT) for model in pair), X, y > 0, [0.1, 0.02], [0.0, 0.5])


def test_a_search_of_trends_chooses_what_a_grid_search_chooses():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(size=60))
    y = np.abs(t - 0.5) + 0.05 * rng.normal(size=60)
    alphas, folds = [1e-1, 1e-2, 1e-3, 1e-4], KFold(3, shuffle=True, random_state=1)
    found = TrendFilterCV(alphas=alphas, cv=folds, tol=1e-9).fit(t, y)
    grid = GridSearchCV(TrendFilter(tol=1e-9), {"alpha": alphas}, cv=folds).fit(t, y)
    assert found.alpha_ == grid.best_params_["alpha"]
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-6)
    single = TrendFilter(alpha=found.alpha_, tol=1e-9).fit(t, y)
    np.testing.assert_allclose(found.predict(t), single.predict(t), atol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_any_number_of_threads_gives_the_same_bits(loss):
    X, y = regression(4, 90)
    model = GraphGuidedClassifierCV("chain", loss=loss, alphas=5, l2s=[0.01, 0.1], cv=3)
    one, two = (clone(model).set_params(n_jobs=jobs).fit(X, y > 0) for jobs in (1, 2))
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@contextlib.contextmanager
def backend(name):
    """A backend of joblib with two workers, as a user may set it around any code."""
    with contextlib.ExitStack() as stack:
        if name == "dask":
            distributed = pytest.importorskip("distributed", reason="distributed is not installed")
            settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
            stack.enter_context(distributed.Client(**settings))
        stack.enter_context(parallel_config(name, n_jobs=2))
        yield


BACKENDS = pytest.mark.parametrize("name", ["loky", "threading", "dask"])


def late_score(model, X, y):
    """A score that gives other folds the time to fit in between."""
    time.sleep(0.002)
    return model.score(X, y)


BACKEND_MODELS = [
    GraphGuidedRegressorCV("knn", alphas=4, l1_ratios=[0.0, 0.5]),
    GraphGuidedRegressorCV("chain", alphas=4, n_jobs=2),
    TrendFilterCV(0, alphas=10, scoring=late_score),
]


@BACKENDS
@pytest.mark.parametrize("model", BACKEND_MODELS, ids=["from the context", "n_jobs=2", "trend"])
def test_any_backend_of_joblib_gives_the_same_scores(model, name):
    X, y = regression(4, 400)
    rows = np.arange(400.0) if isinstance(model, TrendFilterCV) else X
    alone = clone(model).set_params(**({"n_jobs": 1} if "n_jobs" in model.get_params() else {})).fit(rows, y)
    with backend(name):
        found = clone(model).fit(rows, y)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(found.coef_, alone.coef_)


@BACKENDS
def test_several_classes_are_fitted_under_any_backend(name):
    X, y = regression(4)
    with backend(name):
        model = GraphGuidedClassifier("chain").fit(X, np.digitize(y, [-1.0, 1.0]))
    assert model.coef_.shape == (3, 8)


def test_a_graph_is_learnt_once_for_each_fold():
    X, y = regression(5)
    learnt = []

    def graph(rows):
        learnt.append(len(rows))
        return graphs.chain(8)

    GraphGuidedRegressorCV(graph, alphas=3, l1_ratios=[0.0, 0.5, 1.0], l2s=[0.0, 0.1], cv=3).fit(X, y)
    assert sorted(learnt) == [40, 40, 40, 60]


@pytest.mark.parametrize(
    "settings",
    [
        {"alphas": "many"},
        {"alphas": [-1.0]},
        {"l1_ratios": [2.0]},
        {"l2s": [np.nan]},
        {"cv": "five"},
        {"rule": "1se", "selection": "bic"},
    ],
    ids=str,
)
def test_wrong_settings_are_an_error_before_a_source_is_read(settings):
    def blocks():
        raise AssertionError("the source was read")
        yield

    with pytest.raises(ValueError, match=f"{min(settings)}"):
        GraphGuidedRegressorCV("chain", **settings).fit(sources.iterator(blocks))


def test_the_table_of_results_has_scikit_learns_form():
    X, y = regression(5)
    model = StructuredRegressorCV("chain", alphas=4, l1_ratios=[0.0, 0.5, 1.0], l2s=[0.0, 0.1], cv=2).fit(X, y)
    assert model.cv_scores_.shape == (3, 2, 4, 2)
    assert len(model.cv_results_["params"]) == 24 and set(model.cv_results_["param_l2"]) == {0.0, 0.1}
    best = model.cv_results_["params"][int(np.argmin(model.cv_results_["rank_test_score"]))]
    assert best == {"alpha": model.alpha_, "l1_ratio": model.l1_ratio_, "l2": model.l2_}
    np.testing.assert_array_equal(model.cv_results_["split1_test_score"], model.cv_scores_[..., 1].ravel())
    assert model.coef_path_.shape == (1, 4, 8) and model.df_path_.shape == model.dual_gap_path_.shape == (4,)
    assert "l1_ratio" not in vars(model) or model.get_params()["l1_ratio"] == 0.0


@pytest.mark.parametrize("model", [GraphGuidedRegressorCV("chain", alphas=4), TrendFilterCV(0, alphas=4)], ids=repr)
def test_the_degrees_of_freedom_of_a_path_are_computed_on_demand(model):
    X, y = regression(5)
    rows = X if isinstance(model, GraphGuidedRegressorCV) else np.arange(60.0)
    with pytest.raises(AttributeError):
        clone(model).df_path_
    searched = clone(model).fit(rows, y)
    unpickled = pickle.loads(pickle.dumps(searched))  # without the rows that they are computed from
    assert unpickled._path_judgements is None
    criterion = clone(model).set_params(selection="bic", alphas=searched.alphas_).fit(rows, y)
    np.testing.assert_array_equal(searched.df_path_, unpickled.df_path_)
    np.testing.assert_array_equal(searched.df_path_, criterion.df_path_)
    assert searched.df_ == searched.df_path_[list(searched.alphas_).index(searched.alpha_)]


def test_groups_of_rows_are_not_split():
    X, y = regression(6)
    groups = np.repeat(np.arange(6), 10)
    by_groups = GraphGuidedRegressorCV("chain", alphas=3, cv=GroupKFold(3)).fit(X, y, groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    by_folds = GraphGuidedRegressorCV("chain", alphas=3, cv=folds).fit(X, y)
    np.testing.assert_array_equal(by_groups.cv_scores_, by_folds.cv_scores_)


def test_the_partitions_of_a_source_are_the_folds(tmp_path):
    X, y = regression(7)
    for k in range(3):
        rows = np.column_stack([X, y])[20 * k : 20 * (k + 1)]
        np.savetxt(tmp_path / f"{k}.csv", rows, delimiter=",", header=",".join([*"abcdefgh", "y"]), comments="")
    source = sources.csv([str(tmp_path / f"{k}.csv") for k in range(3)], target="y")
    model = GraphGuidedRegressorCV("chain", alphas=3).fit(source)
    partitions = np.repeat(np.arange(3), 20)
    arrays = GraphGuidedRegressorCV("chain", alphas=3, cv=GroupKFold(3)).fit(X, y, groups=partitions)
    np.testing.assert_allclose(model.cv_scores_, arrays.cv_scores_, rtol=1e-12)
    assert list(model.feature_names_in_) == list("abcdefgh")
    with pytest.raises(ValueError, match="cv must be between 2 and 3, the number of partitions"):
        GraphGuidedRegressorCV("chain", cv=4).fit(source)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_a_source_holds_the_folds(kind, tmp_path):
    X, y = regression(7)
    fold, features = np.random.default_rng(0).choice(["x", "y", "z"], len(y)), list("abcdefgh")
    table = pa.table({name: X[:, k] for k, name in enumerate(features)} | {"fold": fold, "target": y})
    if kind == "csv":
        pyarrow.csv.write_csv(table, path := tmp_path / "rows.csv")
    else:
        pyarrow.parquet.write_table(table, path := tmp_path / "rows.parquet")
    source = getattr(sources, kind)(path, target="target", columns=features)
    model = GraphGuidedRegressorCV("chain", alphas=3).fit(source, groups="fold")
    arrays = GraphGuidedRegressorCV("chain", alphas=3, cv=GroupKFold(3)).fit(X, y, groups=fold)
    np.testing.assert_allclose(model.cv_scores_, arrays.cv_scores_, rtol=1e-9)
    with pytest.raises(ValueError, match=r"groups='a' is a feature of .*: give the names of the features"):
        GraphGuidedRegressorCV("chain").fit(source, groups="a")
    with pytest.raises(ValueError, match="has no column 'week' to keep"):
        GraphGuidedRegressorCV("chain").fit(source, groups="week")
    with pytest.raises(ValueError, match=r"groups must hold the group of each row unless X is a source.*'fold'"):
        GraphGuidedRegressorCV("chain").fit(X, y, groups="fold")


def test_weights_and_offsets_reach_the_folds():
    X, y = regression(8)
    weight = np.random.default_rng(0).integers(1, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    offset = X[:, 0]
    folds = list(KFold(3).split(X))
    place = [(np.flatnonzero(np.isin(rows, a)), np.flatnonzero(np.isin(rows, b))) for a, b in folds]
    settings = {"alphas": [0.1, 0.01], "l2s": [0.1], "tol": TIGHT}
    weighted = GraphGuidedRegressorCV("chain", cv=folds, **settings).fit(X, y, sample_weight=weight, offset=offset)
    repeated = GraphGuidedRegressorCV("chain", cv=place, **settings).fit(X[rows], y[rows], offset=offset[rows])
    np.testing.assert_allclose(weighted.cv_scores_, repeated.cv_scores_, atol=1e-6)


# --- what fails ------------------------------------------------------------------------------------------------------


def test_a_fold_with_one_class_is_an_error_before_any_fit():
    X, y = regression(9)
    with pytest.raises(ValueError, match=r"fold 1 training rows of the classes \[True\] only: use StratifiedKFold"):
        GraphGuidedClassifierCV("chain", cv=[(np.flatnonzero(y > 0), np.arange(5))]).fit(X, y > 0)


def test_a_constant_target_is_no_reason_to_fail():
    X, _ = regression(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GraphGuidedRegressorCV("chain", alphas=[0.1, 0.01], cv=3).fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, atol=1e-3)


def test_a_strength_that_fails_counts_as_nan_and_is_reported(monkeypatch):
    X, y = regression(11)
    real = attempts.solve_quietly

    def failing(problem, solver, **settings):
        if problem.penalty.nu == 0.1 and problem.n < len(X):
            raise FloatingPointError("no factor")
        return real(problem, solver, **settings)

    monkeypatch.setattr(attempts, "solve_quietly", failing)
    with pytest.warns(FitFailedWarning, match=r"3 of 9 fits failed and count as nan.*alpha=0.1.*no factor"):
        model = GraphGuidedRegressorCV("chain", alphas=[1.0, 0.1, 0.01], cv=3, solver="alm").fit(X, y)
    assert np.isnan(model.cv_results_["mean_test_score"][1]) and model.alpha_ != 0.1
    assert model.cv_results_["rank_test_score"][1] == 3
    with pytest.raises(FloatingPointError):
        GraphGuidedRegressorCV("chain", alphas=[0.1], cv=3, solver="alm").fit(X, y)


def test_an_interrupted_search_keeps_its_scores(monkeypatch):
    X, y = regression(12)
    real, calls = attempts.solve_quietly, itertools.count()

    def interrupted(*args, **settings):
        if next(calls) == 3 + 5:  # the three of all rows come first, since folds start from them
            raise KeyboardInterrupt
        return real(*args, **settings)

    monkeypatch.setattr(attempts, "solve_quietly", interrupted)
    model = GraphGuidedRegressorCV("chain", alphas=[1.0, 0.1, 0.01], cv=3, solver="alm")
    with pytest.raises(KeyboardInterrupt) as raised:
        model.fit(X, y)
    assert "5 of 9 fits are done" in raised.value.__notes__[0]
    assert np.isfinite(model.cv_results_["split0_test_score"]).all()
    assert np.isnan(model.cv_results_["split2_test_score"]).all()
    assert not hasattr(model, "coef_")


class OnlySlope(NamedTuple):
    """A loss of one's own that no solver over all rows takes."""


@losses.value.register(OnlySlope)
def only_slope_value(loss, z, y):
    return abs(z - y)


@losses.slope.register(OnlySlope)
def only_slope_slope(loss, z, y):
    return 1.0 if z > y else -1.0


def test_a_loss_without_a_prox_needs_given_strengths():
    X, y = regression(13)
    problem = Problem(X, y, loss=OnlySlope(), penalty=L1(1.0), A=graphs.difference(8))
    with pytest.raises(TypeError, match=r"ADMM needs losses\.prox for OnlySlope"):
        alpha_max(problem)


def test_what_a_search_cannot_do_is_said():
    X, y = regression(13)
    with pytest.raises(ValueError, match="l1_ratios must be between 0 and 1"):
        GraphGuidedRegressorCV("chain", l1_ratios=[2.0]).fit(X, y)
    with pytest.raises(ValueError, match="penalty must be 'l1' or 'group'"):
        StructuredRegressorCV("chain", penalty=L1(1.0)).fit(X, y)
    with pytest.raises(ValueError, match='rule must be "best" with selection="aic"'):
        GraphGuidedRegressorCV("chain", selection="aic", rule="1se").fit(X, y)
    with pytest.raises(ValueError, match='selection="bic" needs the likelihood of each fit: Hinge is not a likelihood'):
        GraphGuidedClassifierCV("chain", selection="bic", alphas=2).fit(X, y > 0)


def test_one_labelled_bar_follows_a_search(capsys):
    X, y = regression(14)
    GraphGuidedRegressorCV("chain", alphas=3, cv=2, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "fold 2/2, alpha 3/3, gap" in shown and "6/6 fits" in shown
    assert "epochs" not in shown


# --- degrees of freedom and criteria ---------------------------------------------------------------------------------


def test_degrees_of_freedom_of_known_fits():
    X, y = regression(15, 80, 6)
    least_squares = StructuredRegressor("chain", alpha=0.0, l2=0.0, tol=TIGHT).fit(X, y)
    assert least_squares.df_ == 7.0  # six coefficients and the intercept
    centred = X - X.mean(axis=0)
    ridge = StructuredRegressor("chain", alpha=0.0, l2=0.3, tol=TIGHT).fit(X, y)
    hat = centred @ np.linalg.solve(centred.T @ centred + 80 * 0.3 * np.eye(6), centred.T)
    assert ridge.df_ == pytest.approx(1.0 + np.trace(hat), rel=1e-9)
    wide = StructuredRegressor("chain", alpha=0.0, l2=0.3, tol=TIGHT).fit(X[:4], y[:4])
    few = X[:4] - X[:4].mean(axis=0)
    hat = few @ np.linalg.solve(few.T @ few + 4 * 0.3 * np.eye(6), few.T)
    assert wide.df_ == pytest.approx(1.0 + np.trace(hat), rel=1e-6)


def test_a_ridge_of_the_differences_counts_where_they_are_0_too():
    X, nu, A = regression(2, 40, 6)[0], 0.1, graphs.difference(6)
    problem = Problem(X, np.zeros(40), loss=Squared(), penalty=L2Squared(nu), A=A)
    gram, bent = X.T @ X, 40 * nu * (A.T @ A).toarray()
    shrunk = np.trace(np.linalg.solve(gram + bent, gram))
    assert degrees_of_freedom(problem, np.zeros(6))[0] == pytest.approx(shrunk)
    assert degrees_of_freedom(problem, np.zeros(6), refitted=True)[0] == pytest.approx(6)


def test_degrees_of_freedom_of_signals_count_pieces():
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 3.0, 1.0], 30) + 0.1 * rng.normal(size=90)
    steps = TrendFilter(order=0, alpha=0.01).fit(np.arange(90.0), y)
    assert steps.df_ == steps.n_pieces_
    lines = TrendFilter(order=1, alpha=0.1, tol=1e-9).fit(np.arange(90.0), y)
    assert lines.df_ == lines.n_pieces_ + 1
    image = TotalVariationDenoiser(alpha=0.01).fit(y.reshape(9, 10))
    assert image.df_ == image.n_pieces_
    assert image.aic_ < image.bic_


def test_criteria_are_those_of_the_likelihood():
    X, y = regression(16, 80, 4)
    model = StructuredRegressor("chain", alpha=0.0, l2=0.0, tol=TIGHT).fit(X, y)
    deviance = np.sum((y - model.predict(X)) ** 2)
    assert model.aic_ == pytest.approx(80 * (np.log(2 * np.pi * deviance / 80) + 1) + 2 * 6)
    assert model.bic_ == pytest.approx(80 * (np.log(2 * np.pi * deviance / 80) + 1) + np.log(80) * 6)
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * X[:, 0]))
    poisson = StructuredRegressor("chain", loss="poisson", alpha=0.0, l2=0.0, tol=1e-9).fit(X, counts)
    from scipy.stats import gamma, nbinom, poisson as of_counts

    likelihood = of_counts.logpmf(counts, poisson.predict(X)).sum()
    assert poisson.aic_ == pytest.approx(-2 * likelihood + 2 * 5)
    spread = StructuredRegressor("chain", loss="negative_binomial", alpha=0.0, l2=0.0, tol=1e-9).fit(X, counts)
    mean = spread.predict(X)
    assert spread.aic_ == pytest.approx(-2 * nbinom.logpmf(counts, 1.0, 1.0 / (1.0 + mean)).sum() + 2 * 5)
    amounts = counts + 0.5
    sizes = StructuredRegressor("chain", loss="gamma", alpha=0.0, l2=0.0, tol=1e-9).fit(X, amounts)
    mean = sizes.predict(X)
    scale = 2.0 * np.mean(amounts / mean - 1.0 - np.log(amounts / mean))
    likelihood = gamma.logpdf(amounts, 1.0 / scale, scale=mean * scale).sum()
    assert sizes.aic_ == pytest.approx(-2 * likelihood + 2 * 6)


def test_criteria_that_do_not_exist_say_why(tmp_path):
    X, y = regression(17)
    model = GraphGuidedClassifier("chain").fit(X, y > 0)
    assert model.df_ is None and model.aic_ is None and model.df_reason_ == "Hinge is not a likelihood"
    kept = GraphGuidedRegressor("chain").fit(X, y)
    save_model(kept, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert again.df_ == kept.df_ and again.bic_ == kept.bic_
    several = GraphGuidedRegressor("chain").fit(X, np.column_stack([y, -y, y**2]))
    assert several.df_.shape == several.aic_.shape == (3,)
    softmax = GraphGuidedClassifier("chain", loss="logistic").fit(X, np.digitize(y, [-1, 1]))
    assert softmax.df_ is None and "several outputs" in softmax.df_reason_


def divergence(fit, mean, sigma, draws, rng):
    """The degrees of freedom by Stein's formula, sum_i cov(fit_i, y_i) / sigma^2, with its standard error."""
    found = []
    for _ in range(draws):
        noise = sigma * rng.normal(size=len(mean))
        found.append(fit(mean + noise) @ noise / sigma**2)
    return np.mean(found), np.std(found) / np.sqrt(draws)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["chain", "grid", "trend", "sparse fused"])
def test_degrees_of_freedom_agree_with_the_divergence(kind):
    rng, sigma, draws = np.random.default_rng(0), 0.5, 2000
    if kind == "sparse fused":
        X = rng.normal(size=(40, 10))
        mean = X @ np.repeat([0.0, 1.0, 0.0, -1.0, 0.0], 2)
        A, penalty, gamma = sp.vstack([graphs.difference(10), sp.eye_array(10)]), L1(0.05), 0.02
    else:
        X, mean, gamma = np.eye(36), np.repeat([0.0, 2.0, 1.0], 12), 0.0
        A = {
            "chain": graphs.difference(36),
            "grid": graphs.incidence(graphs.grid(6, 6), None, 36),
            "trend": graphs.difference(36, 2),
        }[kind]
        penalty = L1({"chain": 0.02, "grid": 0.01, "trend": 0.02}[kind])
    first = Problem(X, mean, loss=Squared(), penalty=penalty, A=A, gamma=gamma)
    df = []

    def fit(y):
        problem = first.replaced(rows=first.rows._replace(y=y))
        result = path(problem, [penalty.nu], tol=1e-8)[0]
        df.append(degrees_of_freedom(problem, result.w_average, 1e-6)[0])
        return X @ result.w_average

    expected, error = divergence(fit, mean, sigma, draws, rng)
    both = np.hypot(error, np.std(df) / np.sqrt(draws))
    assert abs(np.mean(df) - expected) <= 3.0 * both


def test_bic_finds_the_steps_of_a_signal():
    rng = np.random.default_rng(1)
    y = np.repeat([0.0, 2.0, -1.0], 40) + 0.2 * rng.normal(size=120)
    found = TrendFilterCV(order=0, selection="bic", alphas=40).fit(np.arange(120.0), y)
    assert {40.0, 80.0} <= set(found.change_points_)
    assert found.df_ <= 12
    assert found.cv_results_["rank_test_score"][list(found.alphas_).index(found.alpha_)] == 1


def test_a_classifier_with_groups_is_searched():
    X, y = regression(18, 120, 6)
    A = graphs.overlapping_groups([[0, 1, 2], [3, 4, 5]], 6)
    model = StructuredClassifierCV(A, penalty="group", loss="logistic", alphas=4, cv=StratifiedKFold(3))
    model.fit(X, y > 0)
    assert model.score(X, y > 0) > 0.7 and (model.dual_gap_path_ <= 1e-3).all()


def test_a_search_of_trends_with_exposures_is_that_of_shifted_targets():
    rng = np.random.default_rng(1)
    t, shift = np.arange(50.0), rng.normal(size=50)
    y = np.abs(t / 50 - 0.5) + 0.05 * rng.normal(size=50)
    model = TrendFilterCV(alphas=[1e-1, 1e-2, 1e-3], cv=3, tol=1e-9, scoring=None)
    plain, shifted = clone(model).fit(t, y), clone(model).fit(t, y + shift, offset=shift)
    assert shifted.alpha_ == plain.alpha_
    np.testing.assert_allclose(shifted.coef_, plain.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="scoring must be None with an offset"):
        clone(model).set_params(scoring="r2").fit(t, y, offset=shift)


@pytest.mark.parametrize("order", [0, 1])
def test_a_scorer_of_trends_may_use_other_weights_times_and_attributes(order):
    rng = np.random.default_rng(1)
    t, weight = np.arange(60.0), rng.uniform(0.5, 2.0, size=60)
    y = np.repeat([0.0, 1.0, -1.0], 20) + 0.1 * rng.normal(size=60)

    def scorer(model, t, y, sample_weight):
        assert model.score(t, y, sample_weight) == pytest.approx(model.score(t.copy(), y.copy(), sample_weight.copy()))
        assert model.score(t, y) == pytest.approx(r2_score(y, model.predict(t)))
        assert model.score(t[:5], y[:5]) == pytest.approx(r2_score(y[:5], model.predict(t[:5])))
        assert model.n_pieces_ == len(model.change_points_) + 1 and len(model.coef_) == len(model.times_)
        return model.score(t, y, sample_weight)

    search = TrendFilterCV(order, alphas=4, cv=3)
    plain, own = (clone(search).set_params(scoring=one).fit(t, y, weight) for one in (None, scorer))
    np.testing.assert_array_equal(plain.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"])
