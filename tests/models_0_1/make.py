"""Models saved by adasadmm 0.1.0, and what they answered: run with adasadmm 0.1.0, and with no later version.

It wrote the four ``.skops`` files and ``expected.npz`` beside it, from generated data alone. The arrays of
``expected.npz`` (no pickle) are

- ``{model}_X``: rows to predict; those of the classifier belong to the columns ``classifier_columns``;
- ``{model}_predict``, and ``{model}_coef`` and ``{model}_intercept`` as they were when the model was saved;
- ``classifier_predict_proba`` and ``cv_decision_function``;
- ``stream_next_X``, ``stream_next_y``: one more block for ``partial_fit``; ``stream_next_coef``,
  ``stream_next_intercept`` and ``stream_next_predict`` (of ``stream_X``) are what 0.1.0 has after it.
"""

import pathlib

import numpy as np
import pandas as pd
import scipy.sparse as sp

import adasadmm
from adasadmm import (
    ALM,
    L1,
    AdaSADMM,
    Full,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GroupL2,
    Huber,
    Stack,
    StructuredRegressor,
    load_model,
    save_model,
)

HERE = pathlib.Path(__file__).parent
COLUMNS = ["age", "height", "weight", "north", "east", "up"]


def classifier(rng):
    """Two classes, features with names, a solver and a metric as objects."""
    X = rng.normal(size=(40, 6))
    y = np.where(X @ [1, 1, 1, -1, -1, -1] + 0.5 * rng.normal(size=40) > 0, "yes", "no")
    solver = AdaSADMM(metric=Full(refresh=0.05), beta="auto", average="polynomial")
    model = GraphGuidedClassifier(
        ("grid", 2, 3), loss="logistic", alpha=0.01, solver=solver, max_iter=3, random_state=0
    )
    return model.fit(pd.DataFrame(X, columns=COLUMNS), y)


def stream(rng):
    """Two blocks of a stream, with the run to go on from."""
    model = GraphGuidedRegressor("chain", solver="ada-diag", random_state=0)
    for _ in range(2):
        model.partial_fit(*block(rng, 200))
    return model


def block(rng, n):
    """Rows and targets of a regression."""
    X = rng.normal(size=(n, 5))
    return X, X @ [1.0, 1.0, 1.0, -2.0, -2.0] + 0.1 * rng.normal(size=n)


def structured(rng):
    """A sparse A, and penalty, loss and solver as objects."""
    X, y = block(rng, 20)
    A = sp.vstack([sp.eye_array(5), sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(4, 5))], format="csr")
    penalty = Stack([(GroupL2(0.05, [[0, 1, 2], [3, 4]]), np.arange(5)), (L1(0.02), slice(5, 9))])
    return StructuredRegressor(A, penalty=penalty, loss=Huber(0.5), solver=ALM(), l2=0.01).fit(X, y)


def cv(rng):
    """Three classes, three strengths."""
    X = rng.normal(size=(45, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=45), [-0.6, 0.6])]
    return GraphGuidedClassifierCV("chain", alphas=[0.1, 0.03, 0.01], cv=3, random_state=0).fit(X, y)


def frame(model, X):
    """The rows as the model wants them, with names where it has seen names."""
    return pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X


def main():
    if adasadmm.__version__ != "0.1.0":
        raise SystemExit(f"run with adasadmm 0.1.0, this is {adasadmm.__version__}")
    expected = {"classifier_columns": np.array(COLUMNS)}
    for seed, make in enumerate((classifier, stream, structured, cv)):
        rng, name = np.random.default_rng(seed), make.__name__
        model = make(rng)
        save_model(model, HERE / f"{name}.skops")
        X = rng.normal(size=(8, model.n_features_in_))
        expected |= {f"{name}_X": X, f"{name}_predict": model.predict(frame(model, X))}
        expected |= {f"{name}_coef": model.coef_, f"{name}_intercept": np.asarray(model.intercept_)}
        if name == "classifier":
            expected["classifier_predict_proba"] = model.predict_proba(frame(model, X))
        if name == "cv":
            expected["cv_decision_function"] = model.decision_function(X)
        if name == "stream":
            expected["stream_next_X"], expected["stream_next_y"] = block(rng, 20)
            model.partial_fit(expected["stream_next_X"], expected["stream_next_y"])
            expected |= {"stream_next_coef": model.coef_, "stream_next_intercept": np.asarray(model.intercept_)}
            expected["stream_next_predict"] = model.predict(X)
        np.testing.assert_array_equal(
            load_model(HERE / f"{name}.skops").predict(frame(model, X)), expected[f"{name}_predict"]
        )
    np.savez_compressed(HERE / "expected.npz", **expected)


if __name__ == "__main__":
    main()
