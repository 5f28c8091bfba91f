"""Models on disk: nothing lost, nothing run; and models for those who have only scikit-learn."""

import doctest
import io
import json
import pickle
import sys
import warnings
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adasadmm import (
    L1,
    AdaSADMM,
    Full,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    StructuredClassifier,
    StructuredRegressor,
    load_model,
    models as models_on_disk,
    save_model,
)
from adasadmm.models import MEMBER, ModelError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 5))
TWO = np.where(X[:, 0] + X[:, 1] > 0.2, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * RNG.normal(size=90), [-0.4, 0.4])]
TRIANGLE = sp.csr_array(np.triu(np.ones((5, 5)), 1))

MODELS = {
    "hinge, two classes": (GraphGuidedClassifier("chain"), TWO),
    "logistic, two classes": (GraphGuidedClassifier("chain", loss="logistic"), TWO),
    "hinge, three classes": (GraphGuidedClassifier("chain"), THREE),
    "logistic, three classes": (GraphGuidedClassifier("chain", loss="logistic", fit_intercept=False), THREE),
    "one softmax of three classes": (GraphGuidedClassifier("chain", loss="multinomial", joint=True), THREE),
    "one softmax of two classes": (GraphGuidedClassifier("chain", loss="multinomial"), TWO),
    "squared hinge, booleans": (StructuredClassifier(loss="squared_hinge", penalty=L1(0.1)), TWO == "yes"),
    "a full metric, a sparse graph": (
        GraphGuidedClassifier(TRIANGLE, solver=AdaSADMM(metric=Full(0.05), w_step="exact"), max_iter=2),
        TWO,
    ),
    "cross-validated": (GraphGuidedClassifierCV("chain", alphas=3, cv=2), TWO),
    "squared": (GraphGuidedRegressor("chain"), X[:, 0] + X[:, 1]),
    "huber": (StructuredRegressor(loss="huber"), X[:, 0] + X[:, 1]),
    "poisson": (GraphGuidedRegressor("chain", loss="poisson"), RNG.poisson(np.exp(0.3 * X[:, 0])).astype(float)),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    estimator, y = MODELS[request.param]
    return estimator.fit(X, y)


def assert_same(one, other):
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    for name in ("coef_", "intercept_", "classes_", "graph_", "n_iter_", "dual_gap_"):
        np.testing.assert_array_equal(getattr(one, name, 0), getattr(other, name, 0))
    assert one.summary() == other.summary()
    assert repr(one) == repr(other)


def test_a_model_comes_back_from_its_file(model, tmp_path):
    save_model(model, tmp_path / "model.skops")
    assert_same(model, load_model(tmp_path / "model.skops"))
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]


def test_pickle_and_joblib_go_on_working(model, tmp_path):
    assert_same(model, pickle.loads(pickle.dumps(model)))
    joblib.dump(model, tmp_path / "model.joblib")
    assert_same(model, joblib.load(tmp_path / "model.joblib"))


def test_the_graph_and_the_names_of_features_are_inside(tmp_path):
    frame = pd.DataFrame(X, columns=["age", "height", "weight", "north", "east"])
    fitted = GraphGuidedClassifier([["age", "height"], ["north", "east"]]).fit(frame, TWO)
    save_model(fitted, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert list(loaded.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(loaded.graph_, [[0, 1], [3, 4]])
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"age": "years"}))


def test_a_stream_goes_on_from_its_file(tmp_path):
    one = GraphGuidedClassifier("chain").partial_fit(X[:40], TWO[:40], classes=["no", "yes"])
    save_model(one, tmp_path / "model")
    other = load_model(tmp_path / "model").partial_fit(X[40:], TWO[40:])
    np.testing.assert_array_equal(one.partial_fit(X[40:], TWO[40:]).coef_, other.coef_)


def test_a_pipeline_is_saved_as_a_whole(tmp_path):
    pipeline = make_pipeline(StandardScaler(), GraphGuidedClassifier("chain")).fit(X, TWO)
    save_model(pipeline, tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), pipeline.predict(X))


# --- what is refused -------------------------------------------------------------------------------------------------


def of_a_function(data):
    return [[0, 1], [1, 2]]


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    fitted = GraphGuidedClassifier(of_a_function).fit(X, TWO)
    with pytest.raises(
        ModelError, match=r"contains test_models\.of_a_function.*set_params\(graph=\(model\.graph_, model"
    ):
        save_model(fitted, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    save_model(fitted, tmp_path / "named", trusted=["test_models.of_a_function"])
    with pytest.raises(ModelError, match=r"not trusted.*of_a_function"):
        load_model(tmp_path / "named")
    assert load_model(tmp_path / "named", trusted=["test_models.of_a_function"]).graph is of_a_function
    save_model(fitted.set_params(graph=(fitted.graph_, fitted.graph_weights_)), tmp_path / "model")


def test_a_networkx_graph_is_refused_at_once_and_its_weights_are_kept_by_the_remedy(tmp_path):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.Graph()
    graph.add_weighted_edges_from((k, k + 1, 1.0 + k) for k in range(4))
    fitted = GraphGuidedClassifier(graph).fit(X, TWO)
    remedy = r"networkx graph, .*: model\.set_params\(graph=\(model\.graph_, model\.graph_weights_\)\)"
    for model in (fitted, make_pipeline(StandardScaler(), GraphGuidedClassifier(graph)).fit(X, TWO)):
        with pytest.raises(ModelError, match=remedy):
            save_model(model, tmp_path / "model")
    fitted.set_params(graph=(fitted.graph_, fitted.graph_weights_))
    save_model(fitted, tmp_path / "model")
    again = load_model(tmp_path / "model").fit(X, TWO)
    np.testing.assert_array_equal(again.graph_weights_, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_only_fitted_estimators_are_saved(tmp_path):
    with pytest.raises(ModelError, match="must be an estimator, got dict"):
        save_model({}, tmp_path / "model")
    with pytest.raises(NotFittedError):
        save_model(GraphGuidedClassifier(), tmp_path / "model")


class Evil:
    ran = False

    def __setstate__(self, state):
        Evil.ran = True


def test_loading_makes_no_type_that_is_not_trusted(tmp_path):
    evil = GraphGuidedClassifier("chain").fit(X, TWO)
    evil.graph = Evil()
    evil.graph.field = 1
    content = io.BytesIO(skops.io.dumps(evil))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(MEMBER, json.dumps({"format": 1, "adasadmm": "0"}))
    (tmp_path / "model").write_bytes(content.getvalue())
    with pytest.raises(ModelError, match=r"not trusted.*Evil"):
        load_model(tmp_path / "model")
    assert not Evil.ran


def rewritten(path, compression=zipfile.ZIP_STORED, **members):
    """The archive at a path with other members."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", compression) as new:
        for name in old.namelist():
            text = members.get(name.split(".")[0], old.read(name))
            if text is not None:
                new.writestr(name, text)
    return out.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda path: rewritten(path, adasadmm='{"format": 2, "adasadmm": "9.0"}'),
            "format 2, written by adasadmm 9.0",
        ),
        (lambda path: rewritten(path, adasadmm=None), "not written by save_model"),
        (lambda path: rewritten(path, adasadmm="[]"), "damaged"),
        (lambda path: rewritten(path, schema=None), "damaged"),
        (lambda path: rewritten(path, schema="[" * 100_000), "damaged"),
        (lambda path: rewritten(path, schema='{"protocol": 0}'), "damaged"),
        (lambda path: rewritten(path, zipfile.ZIP_DEFLATED), "compressed members"),
        (lambda path: b"", "is not a model: save_model"),
        (lambda path: path.read_bytes()[:-100], "damaged"),
        (lambda path: pickle.dumps([1]), "is not a model: save_model"),
    ],
)
def test_a_file_that_is_no_model_is_refused_with_the_reason(change, message, tmp_path):
    path = tmp_path / "model"
    save_model(GraphGuidedRegressor("chain").fit(X, X[:, 0]), path)
    path.write_bytes(change(path))
    with pytest.raises(ModelError, match=message):
        load_model(path)


@pytest.mark.parametrize("name", ["coef_", "intercept_", "n_features_in_", "classes_"])
def test_a_model_without_one_of_its_attributes_is_refused(name, tmp_path, monkeypatch):
    fitted = GraphGuidedClassifier("chain").fit(X, TWO)
    delattr(fitted, name)
    monkeypatch.setattr(models_on_disk, "_check_model", lambda model: None)
    save_model(fitted, tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ModelError, match="is damaged"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_coefficients_that_are_not_finite_are_neither_saved_nor_loaded(value, tmp_path, monkeypatch):
    fitted = GraphGuidedRegressor("chain").fit(X, X[:, 0])
    fitted.coef_ = np.full(5, value)
    with pytest.raises(ModelError, match=r"cannot be saved: .* are not finite numbers"):
        save_model(fitted, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    monkeypatch.setattr(models_on_disk, "_check_model", lambda model: None)
    save_model(fitted, tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ModelError, match=r"is damaged .* are not finite numbers"):
        load_model(tmp_path / "model")


def test_a_class_stays_in_its_module_though_another_has_the_same_name():
    homes, classes = models_on_disk._homes(), models_on_disk._own_classes()
    names = [cls.__name__ for cls in classes]
    assert any(names.count(name) > 1 for name in names), "the test needs two records of one name"
    for cls in classes:
        node = {"__module__": cls.__module__, "__class__": cls.__name__}
        models_on_disk._renew_node(node, homes)
        assert node["__module__"] == cls.__module__
        moved = {"__module__": "adasadmm.somewhere", "__class__": cls.__name__}
        models_on_disk._renew_node(moved, homes)
        alone = names.count(cls.__name__) == 1
        assert moved["__module__"] == (cls.__module__ if alone else "adasadmm.somewhere")


def test_damage_anywhere_is_a_model_error_or_harmless(tmp_path):
    path = tmp_path / "model"
    fitted = GraphGuidedRegressor("chain").fit(X, X[:, 0])
    save_model(fitted, path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaded = load_model(path)
        except ModelError:
            refused += 1
        else:  # a date or another byte that nobody reads
            np.testing.assert_array_equal(loaded.coef_, fitted.coef_)
    assert refused > 150


def test_the_example_holds():
    assert doctest.testmod(models_on_disk).failed == 0


def test_without_skops_the_message_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"pip install 'adasadmm\[models\]'"):
        load_model(tmp_path / "model")


# --- for those who have only scikit-learn ----------------------------------------------------------------------------


def test_a_plain_model_predicts_the_same(model):
    plain = model.to_sklearn()
    assert type(plain).__module__.startswith("sklearn.")
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(plain.predict(X), model.predict(X))
        scores, rounding = model.decision_function(X), 1e-14
        if scores.shape == (len(X), 2):  # a softmax of two classes, for which scikit-learn has one score
            scores, rounding = scores[:, 1] - scores[:, 0], 1e-12
        np.testing.assert_allclose(plain.decision_function(X), scores, rtol=rounding, atol=1e-14)
    else:
        np.testing.assert_allclose(plain.predict(X), model.predict(X), rtol=1e-12)
    if hasattr(model, "predict_proba"):
        # The exponential turns rounding of a score of size 10 into a relative error of ten times that size.
        np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), rtol=1e-11)


def test_a_plain_model_keeps_names_and_the_class_of_empty_rows():
    frame = pd.DataFrame(X, columns=list("abcde"))
    for loss in ("hinge", "logistic"):
        fitted = GraphGuidedClassifier("chain", loss=loss, fit_intercept=False).fit(frame, TWO)
        plain = fitted.to_sklearn()
        empty = pd.DataFrame(np.zeros((1, 5)), columns=list("abcde"))
        assert plain.predict(empty) == fitted.predict(empty) == ["yes"]
        assert list(plain.feature_names_in_) == list("abcde")
    with pytest.raises(NotFittedError):
        GraphGuidedClassifier().to_sklearn()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_onnx_predicts_the_same(model):
    convert = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed").to_onnx
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    rows = X.astype(np.float32)
    options = {"options": {"zipmap": False}} if hasattr(model, "predict_proba") else {}
    session = runtime.InferenceSession(convert(model.to_sklearn(), rows[:1], **options).SerializeToString())
    found, *probabilities = session.run(None, {session.get_inputs()[0].name: rows})
    found, wanted = found.reshape(-1), model.predict(rows)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(probabilities[0], model.predict_proba(rows), rtol=1e-4, atol=1e-5)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(found.astype(wanted.dtype), wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
