"""Displays: what they draw is what was fitted, and one can read it."""

import itertools
import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adasadmm import (
    ConvergenceDisplay,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    GraphWeightsDisplay,
    PathDisplay,
    StructuredRegressor,
    TrendFilter,
    TrendFilterCV,
    graphs,
)
from adasadmm.estimators.displays._figures import GREY
from adasadmm.estimators.displays._labels import spread
from adasadmm.estimators.displays._layout import positions
from adasadmm.estimators.displays._search import searched

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def search(diabetes):
    return GraphGuidedRegressorCV("chain", alphas=8, l2s=[1e-4, 1e-2], cv=3, rule="1se").fit(*diabetes)


def invented_path(d, n_alphas=9, folds=4, **other):
    """A path on which coefficients leave their cluster one by one."""
    alphas = np.geomspace(1.0, 1e-3, n_alphas)
    common, own = np.repeat(RNG.normal(size=max(1, d // 10)), 10)[:d], RNG.normal(size=d)
    coefs = np.array([common + max(0.0, np.log10(0.05 / alpha)) * own for alpha in alphas])
    scores = -(np.log10(alphas)[:, None] ** 2) + 0.3 * RNG.normal(size=(n_alphas, folds))
    return PathDisplay(alphas, coefs, scores, alphas[n_alphas // 3], **other)


def boxes(texts):
    texts[0].figure.canvas.figure.draw_without_rendering()
    return [mpl.text.Text.get_window_extent(text) for text in texts]


def assert_apart(texts):
    assert len(texts) > 0
    for one, other in itertools.combinations(boxes(texts), 2):
        assert not one.overlaps(other)


def assert_nothing_is_clipped(figure):
    figure.canvas.figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 >= -0.01 and drawn.y0 >= -0.01 and drawn.x1 <= width + 0.01 and drawn.y1 <= height + 0.01


def vertical_line(ax):
    (line,) = [line for line in ax.lines if line.get_label().startswith("chosen")]
    return line.get_xdata()[0]


# --- paths -----------------------------------------------------------------------------------------------------------


def test_a_path_shows_each_coefficient_by_name_and_marks_the_chosen_alpha(search):
    display = PathDisplay.from_estimator(search)
    lines = {line.get_label(): line for line in display.ax_.lines}
    for k, name in enumerate(search.feature_names_in_):
        np.testing.assert_array_equal(lines[name].get_xdata(), search.alphas_)
        np.testing.assert_array_equal(lines[name].get_ydata(), search.coef_path_[0][:, k])
    assert vertical_line(display.ax_) == vertical_line(display.score_ax_) == search.alpha_
    assert display.score_ax_.get_xlabel() == "alpha" and display.score_ax_.get_ylabel() == "score"
    left, right = display.ax_.get_xlim()
    assert left > right and display.score_ax_.get_xlim() == (left, right)  # the strongest penalty on the left
    assert_nothing_is_clipped(display.figure_)


def test_lines_of_one_colour_are_one_cluster(search):
    display = PathDisplay.from_estimator(search)
    colour = [
        next(line for line in display.ax_.lines if line.get_label() == n).get_color() for n in search.feature_names_in_
    ]
    for i, j in itertools.combinations(range(10), 2):
        if colour[i] != GREY and colour[j] != GREY:
            assert (colour[i] == colour[j]) == (search.clusters_[i] == search.clusters_[j])


def test_scores_are_means_with_standard_errors_and_both_rules_are_marked(diabetes, search):
    best = GraphGuidedRegressorCV("chain", alphas=8, l2s=[1e-4, 1e-2], cv=3, rule="best").fit(*diabetes)
    display = PathDisplay.from_estimator(search)
    lines = {line.get_label(): line for line in display.score_ax_.lines}
    mean = display.scores.mean(axis=1)
    np.testing.assert_allclose(lines["mean of 3 folds"].get_ydata(), mean)
    assert lines["best mean"].get_xdata()[0] == best.alpha_
    assert lines["1 s.e. rule"].get_xdata()[0] == search.alpha_ > best.alpha_
    (band,) = [one for one in display.score_ax_.collections if one.get_label() == "± 1 s.e."]
    heights = band.get_paths()[0].get_extents().get_points()[:, 1]
    error = display.scores.std(axis=1, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(heights, [(mean - error).min(), (mean + error).max()])


@pytest.mark.parametrize("size", [(7.4, 5.4), (4.5, 3.2), (12, 9)])
@pytest.mark.parametrize("d", [3, 40, 60, 600])
def test_labels_of_lines_do_not_overlap(d, size):
    names = [f"a feature with quite a long name {k}" for k in range(d)]
    ax = plt.subplots(figsize=size, layout="constrained")[1]
    display = invented_path(d, names=names, df=np.linspace(1, d, 9)).plot(ax=ax)
    assert len(display.labels_) <= 12
    assert_apart(display.labels_)
    assert_nothing_is_clipped(display.figure_)
    assert len([line for line in display.ax_.lines if line.get_label() in names]) == min(d, 200)


def test_coloured_clusters_are_drawn_however_many_coefficients_there_are():
    display = invented_path(3000).plot()
    drawn = {line.get_color() for line in display.ax_.lines if line.get_label().startswith("x")}
    labels = {text.get_color() for text in display.labels_}
    assert len(labels) == 7 and labels <= drawn


def test_degrees_of_freedom_are_on_the_upper_axis():
    df = np.arange(9.0) + 2
    display = invented_path(5, df=df).plot()
    (top,) = display.ax_.child_axes
    assert top.get_xlabel() == "degrees of freedom"
    for where, text in zip(top.get_xticks(), top.get_xticklabels(), strict=True):
        assert float(text.get_text()) == df[np.argmin(np.abs(display.alphas - where))]


def test_a_loss_without_degrees_of_freedom_has_no_upper_axis():
    assert not invented_path(5, df=np.full(9, np.nan)).plot().ax_.child_axes


def test_coefficients_without_a_graph_are_clustered_by_their_values():
    display = PathDisplay(
        np.array([1.0, 0.1]), np.array([[2.0, 2.0, 0.0], [3.0, 2.5, 0.5]]), np.zeros((2, 3)), 1.0
    ).plot()
    one, other, zero = (next(line for line in display.ax_.lines if line.get_label() == f"x{k}") for k in range(3))
    assert one.get_color() == other.get_color() != zero.get_color() == GREY


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("alphas", [[0.5], [0.5, 0.0], [0.0]])
def test_a_single_alpha_and_an_alpha_of_zero_are_drawn(alphas):
    n = len(alphas)
    display = PathDisplay(np.array(alphas), np.ones((n, 2)), np.arange(2.0 * n).reshape(n, 2), alphas[-1]).plot()
    display.figure_.canvas.draw()
    assert ("0 is drawn" in display.score_ax_.get_xlabel()) == (0.0 in alphas)


@pytest.mark.filterwarnings("error")
def test_folds_without_a_score_leave_a_gap():
    display = invented_path(4)
    display.scores[2] = np.nan
    display.plot().figure_.canvas.draw()
    (mean,) = [line for line in display.score_ax_.lines if line.get_label().startswith("mean")]
    np.testing.assert_array_equal(np.isnan(mean.get_ydata()), np.arange(9) == 2)


def test_one_column_of_scores_has_no_standard_error():
    display = invented_path(4, folds=1).plot()
    assert {"± 1 s.e.", "1 s.e. rule"}.isdisjoint(display.score_ax_.get_legend_handles_labels()[1])


def test_a_trend_shows_the_fitted_curves_over_time():
    t = np.linspace(0, 10, 50)
    alphas = np.geomspace(1, 1e-3, 12)
    curves = np.array([np.minimum(t, 5 - np.log10(alpha)) for alpha in alphas])
    display = PathDisplay(alphas, curves, RNG.normal(size=(12, 3)), alphas[4], times=t).plot()
    *_, chosen = display.ax_.lines
    np.testing.assert_array_equal(chosen.get_ydata(), curves[4])
    np.testing.assert_array_equal(chosen.get_xdata(), t)
    assert display.ax_.get_xlabel() == "time" and len(display.ax_.lines) == 6
    assert_nothing_is_clipped(display.figure_)


# --- two strengths ---------------------------------------------------------------------------------------------------


def results(alphas, l1_ratios, l2s, folds=3):
    """``cv_results_`` as of `GridSearchCV`."""
    rows = [(alpha, ratio, l2) for ratio in l1_ratios for l2 in l2s for alpha in alphas]
    table = {
        f"param_{name}": np.ma.array(column)
        for name, column in zip(("alpha", "l1_ratio", "l2"), np.array(rows).T, strict=True)
    }
    scores = RNG.normal(size=(folds, len(rows)))
    return table | {f"split{k}_test_score": scores[k] for k in range(folds)} | {"mean_test_score": scores.mean(axis=0)}


def test_results_of_both_forms_are_read_alike():
    alphas, l2s = np.array([1.0, 0.5, 0.1]), [0.2, 0.4]
    table = results(alphas, [0.0], l2s)
    scores = np.array([table[f"split{k}_test_score"] for k in range(3)]).T.reshape(2, 3, 3)
    new = searched(SimpleNamespace(cv_results_=table, alpha_=0.5, l1_ratio_=0.0, l2_=0.4))
    old = searched(SimpleNamespace(cv_scores_=scores, alphas_=alphas, l2s=l2s, alpha_=0.5, l2_=0.4))
    np.testing.assert_array_equal(new.alphas, alphas)
    np.testing.assert_array_equal(new.scores, scores[1])
    np.testing.assert_array_equal(old.scores, new.scores)
    assert new.grid.name == old.grid.name == "l2"
    np.testing.assert_array_equal(new.grid.means, table["mean_test_score"].reshape(2, 3))


def test_of_three_strengths_the_third_is_at_its_chosen_value():
    table = results([1.0, 0.1], [0.0, 0.5, 1.0], [1e-3, 1e-2])
    found = searched(SimpleNamespace(cv_results_=table, alpha_=0.1, l1_ratio_=0.5, l2_=1e-2))
    means = table["mean_test_score"].reshape(3, 2, 2)
    assert found.grid.name == "l1_ratio" and found.grid.chosen == 0.5
    np.testing.assert_array_equal(found.grid.means, means[:, 1])
    np.testing.assert_allclose(found.scores.mean(axis=1), means[1, 1])


def test_a_heat_map_has_a_cell_for_each_pair_and_a_frame_around_the_chosen_one(search):
    display = PathDisplay.from_estimator(search, kind="heatmap")
    cells = [mesh.get_array() for mesh in display.ax_.collections]
    np.testing.assert_allclose(np.vstack(cells), searched(search).grid.means)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["0.0001", "0.01"]
    frame = display.ax_.patches[0]
    (x0, y0), (x1, y1) = sorted([frame.get_xy(), (frame.get_x() + frame.get_width(), frame.get_y() + 1.0)])
    assert x0 < search.alpha_ < x1
    assert min(y0, y1) + 0.5 == list(display.grid.values).index(search.l2_)
    assert display.ax_.get_xlabel() == "alpha" and display.ax_.get_ylabel() == "l2"
    assert_nothing_is_clipped(display.figure_)


def test_a_heat_map_needs_two_strengths(search):
    display = invented_path(3)
    with pytest.raises(ValueError, match="search over several l1_ratios or l2s"):
        display.plot(kind="heatmap")
    with pytest.raises(ValueError, match='kind must be "path" or "heatmap"'):
        PathDisplay.from_estimator(search, kind="3d")


# --- convergence -----------------------------------------------------------------------------------------------------


def test_convergence_ends_at_the_gap_of_the_model(diabetes):
    model = GraphGuidedRegressor("chain", tol=1e-6).fit(*diabetes)
    display = ConvergenceDisplay.from_estimator(model)
    distance, gap = display.ax_.lines
    assert display.ax_.get_xlabel() == "iteration" and display.ax_.get_yscale() == "log"
    assert gap.get_ydata()[-1] == max(model.dual_gap_, 1e-16)
    bound = np.max(model.trace_["lower_bound"])
    expected = (model.trace_["objective"] - bound) / model.trace_["objective"][-1]
    np.testing.assert_allclose(distance.get_ydata(), np.maximum(expected, 1e-16))
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "objective - lower bound",
        "relative duality gap",
    ]
    assert_nothing_is_clipped(display.figure_)


def test_a_stochastic_run_is_counted_in_epochs_and_its_distance_is_at_most_its_gap_too_large(diabetes):
    X, y = diabetes
    y = y > y.median()
    model = GraphGuidedClassifier("chain", solver="ada-diag", random_state=0).fit(X, y)
    optimum = GraphGuidedClassifier("chain", tol=1e-8).fit(X, y).trace_["lower_bound"][-1]
    display = ConvergenceDisplay.from_estimator(model)
    (distance,) = display.ax_.lines
    assert display.ax_.get_xlabel() == "epoch"
    objective = model.trace_["objective_mean"]
    beyond = distance.get_ydata() - (objective - optimum) / objective[-1]
    assert (beyond > -1e-7).all() and (beyond <= 1.01 * model.dual_gap_).all()
    assert ConvergenceDisplay.from_estimator(model, x="seconds").ax_.get_xlabel() == "seconds"
    with pytest.raises(ValueError, match="x must be"):
        ConvergenceDisplay.from_estimator(model, x="hours")


def test_the_last_fit_of_a_search_says_where_its_course_is(search, diabetes):
    display = ConvergenceDisplay.from_estimator(search)
    assert f"a fit with alpha={search.alpha_:.3g} outside of a search" in display.ax_.get_title()
    assert_nothing_is_clipped(display.figure_)
    alone = GraphGuidedRegressor("chain", alpha=search.alpha_).fit(*diabetes)
    assert len(alone.trace_["iteration"]) > 1
    assert ConvergenceDisplay.from_estimator(alone).ax_.get_title() == ""


def test_each_class_has_a_colour_and_a_name(diabetes):
    X, y = diabetes
    model = GraphGuidedClassifier("chain", loss="squared_hinge").fit(X, np.digitize(y, [80, 120, 200]))
    display = ConvergenceDisplay.from_estimator(model)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["class 0", "class 1", "class 2", "class 3"]
    assert len(display.ax_.lines) == 8 and len({line.get_color() for line in display.ax_.lines}) == 4
    assert_nothing_is_clipped(display.figure_)


def test_a_trace_without_a_bound_shows_the_objective(diabetes):
    trace = GraphGuidedRegressor("chain", max_iter=5).fit(*diabetes).trace_
    old = {name: trace[name] for name in trace if name not in ("lower_bound", "relative_gap")}
    display = ConvergenceDisplay([old], ["old"], all_rows=True).plot()
    (line,) = display.ax_.lines
    np.testing.assert_array_equal(line.get_ydata(), trace["objective"])
    assert display.ax_.get_ylabel() == "objective"


@pytest.mark.filterwarnings("error")
def test_a_direct_method_is_one_point():
    model = TrendFilter(order=0).fit(np.arange(20.0), np.repeat([0.0, 1.0], 10) + 0.1 * RNG.normal(size=20))
    display = ConvergenceDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    assert display.ax_.get_xlabel() == "iteration"


# --- graphs ----------------------------------------------------------------------------------------------------------


def communities(d):
    """A graph of communities of ten, joined here and there, and coefficients that are equal in most of them."""
    start = 10 * np.repeat(np.arange(d // 10), 20)
    inner = np.sort(start[:, None] + RNG.integers(10, size=(len(start), 2)), axis=1)
    edges = np.vstack([inner, RNG.integers(d // 2, size=(6, 2))])
    return np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0), np.repeat(RNG.normal(size=d // 10), 10)


def radius_of(display):
    (nodes,) = [one for one in display.ax_.collections if isinstance(one, mpl.collections.PathCollection)]
    return nodes, 0.5 * np.sqrt(nodes.get_sizes()[0]) * display.figure_.dpi / 72


@pytest.mark.parametrize("equal", [True, False], ids=["fused", "all different"])
@pytest.mark.parametrize("d", [20, 200, 600])
def test_labels_of_nodes_cover_neither_each_other_nor_a_node(d, equal):
    edges, coef = communities(d)
    coef = coef if equal else coef + RNG.normal(size=d)
    display = GraphWeightsDisplay(coef, edges, names=[f"feature_{k:03d}" for k in range(d)]).plot()
    assert 5 <= len(display.labels_) <= 30 or d == 20
    assert_apart(display.labels_)
    nodes, radius = radius_of(display)
    centres = display.ax_.transData.transform(display.positions_)
    for box in boxes(display.labels_):
        near = box.padded(radius)
        inside = (centres > [near.x0, near.y0]) & (centres < [near.x1, near.y1])
        assert not inside.all(axis=1).any()
    assert nodes.get_clim()[0] == -nodes.get_clim()[1] == -np.abs(coef).max()
    assert_nothing_is_clipped(display.figure_)


def test_the_largest_coefficients_are_named_first():
    edges, coef = communities(40)
    names = np.array([f"f{k}" for k in range(40)])
    display = GraphWeightsDisplay(coef + 1e-3 * np.arange(40), edges, names=names).plot(max_labels=3)
    largest = names[np.argsort(-np.abs(coef + 1e-3 * np.arange(40)))[:3]]
    assert {text.get_text() for text in display.labels_} <= set(largest)
    assert GraphWeightsDisplay(coef, edges, names=names).plot(max_labels=0).labels_ == []


def test_a_layout_is_always_the_same_and_puts_neighbours_close():
    edges = graphs.grid(12, 9)
    edges = np.asarray(getattr(edges, "edges", edges))
    placed = positions(edges, 108)
    np.testing.assert_array_equal(placed, positions(edges, 108))
    lengths = np.linalg.norm(placed[edges[:, 0]] - placed[edges[:, 1]], axis=1)
    distances = np.linalg.norm(placed[:, None] - placed, axis=2) + 9 * np.eye(108)
    assert 0.7 < lengths.min() and lengths.max() < 1.5  # the grid is unfolded
    assert distances.min() > 0.7


def test_components_and_isolated_nodes_are_beside_each_other():
    edges = np.array([[0, 1], [1, 2], [2, 0], [5, 6], [6, 7]])
    placed = positions(edges, 10)
    distances = np.linalg.norm(placed[:, None] - placed, axis=2) + 9 * np.eye(10)
    assert distances.min() > 0.9 and np.isfinite(placed).all()
    assert positions(np.empty((0, 2), dtype=int), 5).shape == (5, 2)


def test_a_chain_is_a_profile_and_a_grid_an_image(diabetes):
    X, y = diabetes
    chain = GraphWeightsDisplay.from_estimator(model := GraphGuidedRegressor("chain").fit(X, y))
    np.testing.assert_array_equal(chain.positions_, np.column_stack([np.arange(10), model.coef_]))
    assert chain.ax_.get_xlabel() == "position in the chain"
    grid = GraphWeightsDisplay.from_estimator(model := GraphGuidedRegressor(("grid", 2, 5)).fit(X, y))
    (image,) = grid.ax_.images
    np.testing.assert_array_equal(image.get_array(), model.coef_.reshape(2, 5))
    assert image.get_clim() == (-np.abs(model.coef_).max(), np.abs(model.coef_).max())
    with pytest.raises(ValueError, match="a model with a graph"):
        GraphWeightsDisplay.from_estimator(StructuredRegressor("trend").fit(X, y))


# --- axes, labels, matplotlib ----------------------------------------------------------------------------------------


def test_displays_draw_on_given_axes(search):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4))
    free = figure.add_axes((0.4, 0.9, 0.1, 0.05))
    path = PathDisplay.from_estimator(search, ax=left)
    assert path.ax_ is left and path.figure_ is figure
    assert path.score_ax_.get_position().x1 < right.get_position().x0 and not right.lines
    assert ConvergenceDisplay.from_estimator(search, ax=right).ax_ is right
    assert GraphWeightsDisplay.from_estimator(search, ax=free).ax_ is free
    assert len(plt.get_fignums()) == 1


def test_displays_draw_in_subfigures_and_on_axes_without_a_grid(search):
    one, _ = plt.figure(figsize=(14, 5), layout="constrained").subfigures(1, 2)
    display = PathDisplay.from_estimator(search, ax=one.subplots())
    assert_apart(display.labels_)
    ax = plt.figure(figsize=(8, 5)).add_axes((0.1, 0.1, 0.8, 0.8))
    display = PathDisplay.from_estimator(search, ax=ax)
    assert_apart(display.labels_)
    assert_nothing_is_clipped(display.figure_)


def test_labels_move_as_little_as_possible():
    apart = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(spread(apart, 0.1, 0.0, 1.0), apart)
    np.testing.assert_allclose(spread(np.array([0.5, 0.5, 0.1]), 0.2, 0.0, 1.0), [0.4, 0.6, 0.1])
    crowded = spread(np.full(5, 0.95), 0.2, 0.1, 0.9)
    np.testing.assert_allclose(np.sort(crowded), [0.1, 0.3, 0.5, 0.7, 0.9])


def test_without_matplotlib_the_error_says_what_to_install(search, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for display in (PathDisplay, ConvergenceDisplay, GraphWeightsDisplay):
        with pytest.raises(ImportError, match=r'pip install "adasadmm\[report\]"'):
            display.from_estimator(search)


def test_a_pipeline_is_drawn_by_its_last_step_with_the_names_of_its_first(diabetes):
    model = GraphGuidedRegressorCV("chain", alphas=3, cv=2)
    pipeline = make_pipeline(StandardScaler(), model).fit(*diabetes)  # the scaler passes on an array without names
    assert list(PathDisplay.from_estimator(pipeline).names) == list(diabetes[0].columns)
    assert list(GraphWeightsDisplay.from_estimator(pipeline).names) == list(diabetes[0].columns)
    assert ConvergenceDisplay.from_estimator(pipeline).ax_.get_ylabel()


def test_the_path_of_a_trend_with_missing_targets_is_drawn_over_all_times():
    t, y = np.arange(30.0), np.repeat([0.0, 2.0], 15) + 0.1 * RNG.normal(size=30)
    y[3:6] = np.nan
    search = TrendFilterCV(order=0, alphas=4).fit(t, y)
    np.testing.assert_array_equal(PathDisplay.from_estimator(search).times, t)
    search.coef_path_ = search.coef_path_[:, :, ~np.isnan(y)]  # as models saved by 0.2 have it
    np.testing.assert_array_equal(PathDisplay.from_estimator(search).times, t[~np.isnan(y)])
