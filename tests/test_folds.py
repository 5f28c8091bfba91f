"""The fits of a fold start from the solution for all rows, where that is the better start."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from adasadmm import (
    ALM,
    IPM,
    L1,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    Hinge,
    Logistic,
    NonNegative,
    Problem,
    Quantile,
    graphs,
    path,
    solve,
)
from adasadmm.regularization.along import MoreRows
from adasadmm.solvers import ProximalNewton

N, D = 400, 12


def data(seed, n=N, d=D):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ np.repeat(rng.normal(size=d // 4), 4) + rng.normal(size=n) > 0.0, 1.0, -1.0)


def problem(X, y, loss=Hinge(), alpha=0.02, **settings):  # noqa: B008
    A = settings.pop("A", graphs.difference(X.shape[1]))
    return Problem(X, y, loss=loss, penalty=L1(alpha), A=A, gamma=1e-3, **settings)


@pytest.mark.parametrize("loss", [Hinge(), Quantile(0.3)], ids=repr)
@pytest.mark.parametrize("alpha", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("ascends", [False, True])
def test_a_fold_reaches_its_own_optimum_from_the_solution_for_all_rows(loss, alpha, ascends, limits):
    if ascends:
        limits(features_of_a_dual_start=0)
    X, y = data(1)
    rows = np.flatnonzero(np.arange(N) % 5)
    of_all = path(problem(X, y, loss), [2.0 * alpha, alpha], solver=ALM())
    fold = problem(X[rows], y[rows], loss, alpha)
    before = of_all[1].run.state()
    start = MoreRows(lambda alpha: of_all[1], rows).start(fold, ALM(), alpha)
    if of_all[1].run.method.ascending:
        assert start is None
        return
    found, best = solve(fold, ALM(), start=start, tol=1e-4), solve(fold, IPM(), tol=1e-10).certificate
    proved = found.certificate
    assert proved.relative_gap <= 1e-4
    assert proved.dual <= best.primal * (1.0 + 1e-9) and best.dual <= proved.primal * (1.0 + 1e-9)
    assert fold.objective(found.w_average) == pytest.approx(proved.primal, rel=1e-12)
    for name, value in of_all[1].run.state().items():  # the run for all rows is as it was before
        np.testing.assert_array_equal(value, before[name])


def test_a_start_that_does_not_belong_to_the_fold_is_refused():
    X, y = data(2)
    rows = np.arange(0, N, 2)
    more = MoreRows(lambda alpha: solve(problem(X, y), ALM()), rows)
    assert more.start(problem(X[rows], y[rows]), ALM(), 0.02) is not None
    assert more.start(problem(X[rows], y[rows], A=graphs.difference(D, 2)), ALM(), 0.02) is None
    assert more.start(problem(X[rows], -y[rows]), ALM(), 0.02) is None
    assert more.start(problem(X[rows], y[rows], w_set=NonNegative()), ALM(), 0.02) is None
    assert more.start(problem(X[rows], y[rows], Logistic()), ProximalNewton(), 0.02) is None


@pytest.mark.parametrize("settings", [{}, {"graph": "knn"}, {"l1_ratios": [0.0, 0.5]}], ids=["chain", "learnt", "l1"])
def test_a_search_with_kinks_scores_like_a_grid_search(settings):
    """Predictions of a fold are those of its own optimum, wherever the fit started."""
    X, y = data(3, 150, 8)
    alphas, folds = [0.1, 0.02, 0.004], KFold(3)
    graph, ratios = settings.get("graph", "chain"), settings.get("l1_ratios", [0.0])
    own = {"loss": "hinge", "tol": 1e-9, "l2": 0.01}
    found = GraphGuidedClassifierCV(
        graph, loss="hinge", alphas=alphas, l1_ratios=ratios, l2s=[0.01], cv=folds, tol=1e-9, scoring="roc_auc"
    ).fit(X, y)
    plain = GraphGuidedClassifier(graph, **own)
    grid = GridSearchCV(plain, {"alpha": alphas, "l1_ratio": ratios}, cv=folds, scoring="roc_auc").fit(X, y)
    theirs = {(one["alpha"], one["l1_ratio"]): k for k, one in enumerate(grid.cv_results_["params"])}
    order = [theirs[one["alpha"], one["l1_ratio"]] for one in found.cv_results_["params"]]
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"][order], atol=1e-6
    )
