"""Each figure that the command line prints, computed again from the saved model and the files."""

import csv
import errno
import io
import json
import math

import numpy as np
import pytest

from adasadmm import L1, Hinge, Logistic, Problem, Squared, graphs, losses, sources
from adasadmm.cli import main
from adasadmm.cli.command import print_figures
from adasadmm.models import load_model

pytestmark = pytest.mark.compiled  # too slow without the compiler
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("skops", reason="skops is not installed")

N, D = 400, 4
LOSSES = {"hinge": Hinge(), "logistic": Logistic(), "squared": Squared()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).round(4) * [1.0, 10.0, 0.1, 1.0]
    y = np.where(X @ [1.0, 0.1, -10.0, 0.0] + rng.normal(size=N) > 0.0, 1, -1)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), "%.17g", ",", header="a,b,c,d,y", comments="")
    np.savetxt(tmp_path / "valid.csv", np.column_stack([X, y])[:90], "%.17g", ",", header="a,b,c,d,y", comments="")
    with (tmp_path / "bad.csv").open("w") as file:
        file.write((tmp_path / "rows.csv").read_text() + "1,2,3,x,1\n")
    monkeypatch.chdir(tmp_path)
    return X, y.astype(float)


def figures_of(capsys, *options):
    assert main(["fit", "rows.csv", "--graph", "chain", "--model", "m.skops", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def parts_of(model, X):
    """The linear model of what was saved, and the rows as it sees them."""
    return (model[-1], (X - model[0].mean_) / model[0].scale_) if hasattr(model, "steps") else (model, X)


WAYS = {
    "memory": [],
    "stream": ["--epochs", "2"],
    "scaled": ["--scale"],
    "scaled stream": ["--scale", "--epochs", "2"],
    "admm": ["--solver", "admm"],
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("way", WAYS)
def test_every_figure_is_that_of_the_saved_model(way, loss, folder, capsys):
    X, y = folder
    figures = figures_of(capsys, "--loss", loss, "--valid", "valid.csv", *WAYS[way])
    saved = load_model("m.skops")
    linear, rows = parts_of(saved, X)
    w = np.append(linear.coef_.reshape(-1), linear.intercept_)
    problem = Problem(
        np.column_stack([rows, np.ones(N)]),
        y,
        loss=LOSSES[loss],
        penalty=L1(1.0 / N),
        A=np.column_stack([graphs.incidence(graphs.chain(D)).toarray(), np.zeros(D - 1)]),
        gamma=np.append(np.full(D, 1.0 / N), 0.0),
    )
    assert figures["objective"] == pytest.approx(problem.objective(w), rel=1e-6)
    assert (figures["rows"], figures["features"], figures["skipped"]) == (N, D, 0)
    assert figures["edges"] == len(linear.graph_) == D - 1
    assert figures["model"] == "m.skops" and figures["solver"] == type(linear.solver_).__name__
    assert figures.get("epochs", figures.get("iterations")) == linear.n_iter_
    gap = linear.dual_gap_
    assert figures["relative_gap"] == (pytest.approx(gap, rel=1e-6) if gap < 1.0 else None)
    assert figures["place"] == ("memory" if way in ("memory", "scaled") else "stream")
    if "stream" in way:  # the file is one block, before which nothing is learnt; `test_progressive` has several blocks
        at_zero = losses.mean_value(LOSSES[loss], np.zeros(N), y, np.ones(N))
        assert figures["progressive_loss"] == pytest.approx(at_zero, rel=1e-6)
    else:
        assert "progressive_loss" not in figures
    scores = (rows @ w[:-1] + w[-1])[:90]
    valid = figures["valid"]
    assert valid["loss"] == pytest.approx(losses.mean_value(LOSSES[loss], scores, y[:90], np.ones(90)), rel=1e-6)
    if loss == "squared":
        assert valid["rmse"] == pytest.approx(np.sqrt(np.mean((scores - y[:90]) ** 2)), rel=1e-6)
    else:
        assert valid["error"] == pytest.approx(np.mean(np.where(scores >= 0.0, 1.0, -1.0) != y[:90]), abs=1e-6)


@pytest.mark.parametrize("way", ["memory", "stream"])
def test_the_validation_loss_is_that_of_the_rows_held_out(way, folder, capsys):
    from adasadmm.sources._held_out import is_held_out

    X, y = folder
    figures = figures_of(capsys, "--loss", "logistic", "--validation-fraction", "0.2", *WAYS[way])
    held, model = is_held_out(0, N, 0.2), load_model("m.skops")
    scores = X[held] @ model.coef_[0] + model.intercept_[0]
    assert figures["validation_loss"] == pytest.approx(np.mean(np.logaddexp(0.0, -y[held] * scores)), rel=1e-6)
    assert figures["validation_rows"] == held.sum() and figures["rows"] == N
    assert f"{held.sum()} rows held out" in model.summary()
    command = ["fit", "rows.csv", "--graph", "chain", "--model", "m.skops", "--alpha", "cv"]
    assert main([*command, "--validation-fraction", "0.2"]) == 2


def test_a_gap_is_a_true_bound_and_a_useless_one_is_not_printed(folder, capsys):
    best = figures_of(capsys, "--tol", "1e-8")["objective"]
    figures = figures_of(capsys)
    assert (figures["objective"] - best) / figures["objective"] <= figures["relative_gap"] <= 1e-3
    assert figures_of(capsys, "--epochs", "1")["relative_gap"] is None
    assert main(["fit", "rows.csv", "--graph", "chain", "--model", "m.skops", "--epochs", "1", "--quiet"]) == 0
    assert "relative gap: no useful bound\n" in capsys.readouterr().out
    assert "no useful bound" in load_model("m.skops").summary()


def test_skipped_rows_are_counted(folder, capsys):
    command = ["fit", "bad.csv", "--graph", "chain", "--model", "m.skops", "--json", "--on-bad-row", "skip"]
    assert main(command) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["rows"], figures["skipped"]) == (N, 1)


def test_the_command_and_python_fit_the_same_model(folder, capsys):
    from adasadmm import GraphGuidedClassifier

    figures_of(capsys, "--tol", "1e-6")
    here = GraphGuidedClassifier("chain", tol=1e-6, random_state=0).fit(sources.csv("rows.csv"))
    np.testing.assert_allclose(load_model("m.skops").coef_, here.coef_, rtol=0, atol=1e-6)
    assert load_model("m.skops").summary() == here.summary()


@pytest.mark.slow
def test_a_cluster_fits_the_same_model(folder, capsys):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    from distributed import Client

    from adasadmm import GraphGuidedClassifier, distributed

    figures = figures_of(capsys, "--tol", "1e-6", "--loss", "logistic")
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        spread = distributed.spread(sources.csv("rows.csv", block_bytes=5000), client=client)
        here = GraphGuidedClassifier("chain", tol=1e-6, loss="logistic").fit(spread)
        there = GraphGuidedClassifier("chain", tol=1e-6, loss="logistic", solver="alm").fit(spread)
    np.testing.assert_allclose(load_model("m.skops").coef_, here.coef_, rtol=0, atol=1e-6)
    # Another solver stops elsewhere: a gap bounds the objective, and the coefficients only by its square root.
    assert there._place[0] == "cluster"
    assert there._objectives[0] == pytest.approx(figures["objective"], rel=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_scaled_model_keeps_the_names_and_does_not_warn(folder, capsys):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    figures_of(capsys, "--scale")
    model = load_model("m.skops")
    frame = pd.read_csv("rows.csv")
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.score(frame[list("abcd")], frame["y"]) > 0.7


# --- the cache -------------------------------------------------------------------------------------------------------


def test_a_cache_changes_nothing_but_the_time(folder, tmp_path, capsys):
    plain = figures_of(capsys, "--epochs", "2")
    coef = load_model("m.skops").coef_
    for _ in range(2):
        cached = figures_of(capsys, "--epochs", "2", "--cache", "rows.cache")
        np.testing.assert_array_equal(load_model("m.skops").coef_, coef)
        assert {**cached, "seconds": 0} == {**plain, "seconds": 0}
    assert (tmp_path / "rows.cache").stat().st_size > 8 * N * D
    (tmp_path / "rows.cache").write_bytes(b"nonsense")
    figures_of(capsys, "--epochs", "2", "--cache", "rows.cache")
    np.testing.assert_array_equal(load_model("m.skops").coef_, coef)
    assert main(["fit", "rows.csv", "--model", "m.skops", "--cache", "none/rows.cache"]) == 2
    assert "choose another file with --cache" in capsys.readouterr().err


# --- predictions -----------------------------------------------------------------------------------------------------


def predicted(capsys, *options):
    assert main(["predict", "m.skops", *options]) == 0
    return list(csv.reader(io.StringIO(capsys.readouterr().out)))


HOSTILE = ("b,c", 'say "no"', "=cmd|' /C calc'!A0")


@pytest.fixture
def hostile(folder, tmp_path):
    """Rows whose labels and identifiers need escaping."""
    import pyarrow.parquet

    X, _ = folder
    labels = np.array(HOSTILE)[np.argmax(X[:, :3] / [1.0, 10.0, 0.1], axis=1)]
    names = [f"@{k}\n" if k % 2 else f"-{k}" for k in range(N)]
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    pyarrow.parquet.write_table(pa.table({"id": names, **columns, "y": labels, "when": range(N)}), "rows.parquet")
    command = ["fit", "rows.parquet", "--drop", "id,when", "--graph", "chain", "--loss", "logistic"]
    assert main([*command, "--model", "m.skops", "--quiet"]) == 0
    return labels


def test_the_output_can_be_read_by_any_reader_of_csv(hostile, capsys):
    capsys.readouterr()
    header, *rows = predicted(capsys, "rows.parquet", "--keep", "id,when,a")
    labels = [label if label != HOSTILE[2] else "'" + label for label in sorted(HOSTILE)]
    assert header == ["id", "when", "a", "prediction", *(f"score_{label}" for label in sorted(HOSTILE))]
    assert len(rows) == N and {len(row) for row in rows} == {len(header)}
    assert rows[0][:2] == ["-0", "0"] and rows[1][:2] == ["'@1\n", "1"]  # -0 is a number, @1 a formula
    assert {row[3] for row in rows} <= set(labels)
    best = np.argmax([[float(score) for score in row[4:]] for row in rows], axis=1)
    assert [row[3] for row in rows] == [labels[k] for k in best]


def test_the_path_of_a_search_runs_no_formula(hostile, capsys):
    from pyarrow import parquet

    table = parquet.read_table("rows.parquet").rename_columns(["id", "=a", "b", "c", "+d", "y", "when"])
    parquet.write_table(table, "names.parquet")
    command = ["fit", "names.parquet", "--drop", "id,when", "--graph", "chain", "--alpha", "cv", "--folds", "2"]
    assert main([*command, "--loss", "squared_hinge", "--model", "m.skops", "--quiet"]) == 0
    with open("m.path.csv", newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    assert len(header) > 12 and not [name for name in header if name.startswith(("=", "+", "-", "@"))]


def test_an_output_follows_no_link_to_another_file(folder, tmp_path, capsys):
    figures_of(capsys, "--loss", "squared")
    (tmp_path / "other.txt").write_text("precious")
    for name in ("p.csv.part", "m.path.csv", "m.path.png"):
        (tmp_path / name).symlink_to("other.txt")
    assert main(["predict", "m.skops", "rows.csv", "--out", "p.csv"]) == 0
    figures_of(capsys, "--loss", "squared", "--alpha", "cv", "--folds", "2")
    assert (tmp_path / "other.txt").read_text() == "precious"
    assert (tmp_path / "p.csv.part").is_symlink() and (tmp_path / "p.csv").read_text().startswith("prediction\n")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_probabilities_are_those_of_the_model(hostile, folder, capsys):
    capsys.readouterr()
    header, *rows = predicted(capsys, "rows.parquet", "--proba")
    assert header[1:] == [f"probability_{label}" for label in sorted(HOSTILE)]
    found = np.array([row[1:] for row in rows], dtype=float)
    np.testing.assert_allclose(found, load_model("m.skops").predict_proba(folder[0]), rtol=1e-6)


def test_columns_are_kept_from_csv_also_beside_bad_rows(folder, tmp_path, capsys):
    figures_of(capsys, "--loss", "squared")
    (tmp_path / "new.csv").write_text("id,a,b,c,d\n007,1,2,3,4\n008,1,x,3,4\n,1,2,3,5\n")
    header, *rows = predicted(capsys, "new.csv", "--keep", "id", "--on-bad-row", "skip")
    assert header == ["id", "prediction"]
    assert [row[0] for row in rows] == ["007", "", ""] and rows[1][1] == "" and rows[2][1] != ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["rows.csv", "--keep", "none"], "rows.csv has no column 'none' to keep"),
        (
            ["rows.csv", "--proba"],
            "--proba needs a model that was fitted with --loss logistic or multinomial; this one has loss hinge",
        ),
        (["rows.svm", "--keep", "a"], "--keep names columns: svmlight files have none"),
    ],
)
def test_what_cannot_be_predicted_is_said(options, said, folder, tmp_path, capsys):
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    figures_of(capsys)
    assert main(["predict", "m.skops", *options]) == 2
    assert said in capsys.readouterr().err


# --- messages --------------------------------------------------------------------------------------------------------


def said(capsys, *command):
    code = main(list(command))
    return code, capsys.readouterr().err


def test_an_index_0_suggests_zero_based(tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_text("1 0:1 3:2\n-1 1:1\n" * 9)
    command = ["fit", str(path), "--graph", "chain", "--model", str(tmp_path / "m")]
    code, message = said(capsys, *command)
    assert code == 1 and "line 1: an index 0, but indices start at 1 unless --zero-based is given" in message
    assert "use --zero-based if indices start at 0 or --on-bad-row skip" in message
    assert main([*command, "--zero-based", "--quiet"]) == 0


def test_the_bomb_names_the_option(tmp_path, capsys, limits):
    import gzip

    limits(bytes_without_a_look_at_the_disc=2**10)
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:1 2:0.5\n" * 400_000))
    code, message = said(capsys, "fit", str(path), "--graph", "chain", "--model", str(tmp_path / "m"))
    assert code == 2 and "give a larger --most-expansion" in message and "most_expansion" not in message


def test_resume_and_checkpoint_every_ask_for_the_folder(folder, capsys):
    fit = ["fit", "rows.csv", "--model", "m.skops"]
    assert said(capsys, *fit, "--resume")[1].startswith("adasadmm: --resume needs --checkpoint DIR")
    assert said(capsys, *fit, "--checkpoint-every", "5")[1].startswith(
        "adasadmm: --checkpoint-every needs --checkpoint"
    )


def test_a_full_disc_at_a_checkpoint_is_a_failure_of_the_run(folder, capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("adasadmm.checkpoints.write_whole", full)
    code, message = said(
        capsys, "fit", "rows.csv", "--graph", "chain", "--model", "m.skops", "--checkpoint", "run", "--epochs", "2"
    )
    assert code == 1 and "cannot write the checkpoint" in message and "No space left" in message


def test_checkpoint_every_sets_the_time_between_two_saves(folder, capsys, monkeypatch):
    from adasadmm import checkpoints

    seen = []
    write = checkpoints.write_whole
    monkeypatch.setattr(checkpoints, "write_whole", lambda path, content: (seen.append(path), write(path, content)))
    figures_of(capsys, "--checkpoint", "often", "--checkpoint-every", "0", "--epochs", "3")
    often = len(seen)
    figures_of(capsys, "--checkpoint", "seldom", "--checkpoint-every", "1e6", "--epochs", "3")
    assert often > len(seen) - often


def test_json_has_null_for_what_is_not_finite(capsys):
    figures = {"objective": math.inf, "valid": {"loss": math.nan, "error": 0.5}, "relative_gap": [-math.inf, 0.1]}
    print_figures(figures, True)
    found = {"objective": None, "valid": {"loss": None, "error": 0.5}, "relative_gap": [None, 0.1]}
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == found


def test_the_figures_of_many_classes_are_a_range(capsys):
    print_figures({"objective": [0.1 * k for k in range(1, 20)], "relative_gap": [None] + [0.5] * 18}, False)
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "objective: 0.1 to 1.9 over 19 classes",
        "relative gap: 0.5 to 0.5 over 19 classes, no useful bound for 1",
    ]
