"""fit, predict and graph from the command line, on real files."""

import bz2
import importlib.metadata
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from adasadmm import GraphGuidedClassifier, sources
from adasadmm.cli import main
from adasadmm.models import load_model, save_model
from adasadmm.rows.matrices import plain

pytestmark = pytest.mark.compiled  # too slow without the compiler
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

N, D = 2000, 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import pyarrow.parquet

    path = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).round(5)
    X[:, 1] += X[:, 0].round(5)
    y = np.where(X @ [1, 1, 1, -1, -1, 0] + 0.5 * rng.normal(size=N) > 0, 1, -1)
    dump_svmlight_file(X, y, str(path / "train.svm"), zero_based=False)
    dump_svmlight_file(X[:300], y[:300], str(path / "valid.svm"), zero_based=False)
    (path / "train.svm.bz2").write_bytes(bz2.compress((path / "train.svm").read_bytes()))
    table = pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "label": np.where(y > 0, "yes", "no")})
    pyarrow.parquet.write_table(table, path / "train.parquet", row_group_size=700)
    return path


def test_fit_predict_and_valid_from_a_compressed_file(folder, tmp_path, capsys):
    model = tmp_path / "m.skops"
    command = ["fit", str(folder / "train.svm.bz2"), "--valid", str(folder / "valid.svm"), "--model", str(model)]
    assert main([*command, "--graph", "chain", "--loss", "hinge", "--epochs", "3", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["rows"], figures["features"], figures["epochs"], figures["edges"]) == (N, D, 3, D - 1)
    assert figures["valid"]["error"] < 0.15
    same = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=3, random_state=0)
    same.fit(sources.svmlight(folder / "train.svm.bz2"))
    np.testing.assert_array_equal(load_model(model).coef_, same.coef_)

    assert main(["predict", str(model), str(folder / "valid.svm"), "--out", str(tmp_path / "p.csv")]) == 0
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "prediction,score_1"
    assert len(lines) == 301
    labels, scores = np.array([line.split(",") for line in lines[1:]], dtype=float).T
    assert set(labels) == {-1.0, 1.0}
    np.testing.assert_array_equal(labels > 0, scores >= 0)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.skops", "p.csv"]

    assert main(["predict", str(model), str(folder / "train.parquet")]) == 0  # a table: its columns in their order
    out = capsys.readouterr().out.splitlines()
    assert out[1 : 1 + 300] == lines[1:]


def test_tables_with_names_and_a_learnt_graph(folder, tmp_path, capsys):
    train, edges, model = folder / "train.parquet", tmp_path / "edges.csv", tmp_path / "m.skops"
    assert main(["graph", str(train), "--out", str(edges), "--edges", "3"]) == 0
    assert edges.read_text().startswith("source,target\nx0,x1\n")
    assert main(["fit", str(folder / "*.parquet"), "--model", str(model), "--graph", str(edges), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "rows: 2,000\n" in out
    fitted = load_model(model)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.feature_names_in_.tolist() == [f"x{j}" for j in range(D)]
    assert main(["predict", str(model), str(train)]) == 0
    assert {line.split(",")[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"no", "yes"}


def test_a_regression(folder, tmp_path, capsys):
    command = ["fit", str(folder / "train.svm"), "--valid", str(folder / "valid.svm"), "--loss", "squared"]
    assert main([*command, "--graph", "knn", "--model", str(tmp_path / "m"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"]["rmse"] < 0.8
    assert main(["predict", str(tmp_path / "m"), str(folder / "valid.svm")]) == 0
    assert capsys.readouterr().out.startswith("prediction\n")


def feed(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_stream_tells_its_progressive_loss_and_is_partial_fit(folder, tmp_path, capsys, monkeypatch):
    content = (folder / "train.svm").read_bytes()
    feed(monkeypatch, content)
    strengths = ["--alpha", "0.001", "--l2", "0.001", "--n-features", str(D), "--graph", "chain"]
    assert main(["fit", "-", *strengths, "--model", str(tmp_path / "m")]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["average", "loss", "since", "last", "error", "rows", "rows/s"]
    first, second = out[1].split(), out[2].split()
    assert first[0] == "1.000000"  # nothing was known of the first block
    assert float(second[1]) < 0.4
    assert second[3] == "2,000"
    same = GraphGuidedClassifier("chain", solver="ada-diag", alpha=0.001, l2=0.001, max_iter=2, random_state=0)
    for piece in sources.svmlight(folder / "train.svm").raw_blocks():
        X = plain(piece.X)
        for half in (slice(0, 1000), slice(1000, 2000)):
            same.partial_fit(X[half], piece.y[half], classes=[-1, 1])
    np.testing.assert_array_equal(load_model(tmp_path / "m").coef_, same.coef_)
    feed(monkeypatch, content)
    assert main(["predict", str(tmp_path / "m"), "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == N + 1


def test_what_is_wrong_is_said_in_one_line(folder, tmp_path, capsys, monkeypatch):
    model = ["--model", str(tmp_path / "m"), "--graph", "chain"]

    def wrong(*command):
        code = main([str(part) for part in command])
        said = capsys.readouterr().err.strip().splitlines()
        assert code in (1, 2)
        assert len(said) == 1
        return said[0]

    bad = tmp_path / "bad.svm"
    bad.write_bytes((folder / "train.svm").read_bytes() + b"1 2:x\n")
    assert f"bad.svm, line {N + 1}: " in wrong("fit", bad, *model)
    assert "there is no file" in wrong("fit", tmp_path / "none.svm", *model)
    assert "the folder of" in wrong("fit", bad, "--model", tmp_path / "none" / "m")
    assert "has 5 features, but the model has 6" in _of_other_width(folder, tmp_path, wrong)
    assert "has no column 'z'" in wrong("fit", folder / "train.parquet", "--columns", "x0,z", *model)
    assert "grid:ROWSxCOLS" in wrong("fit", bad, "--model", tmp_path / "m", "--graph", "grid:ax3")
    feed(monkeypatch, b"1 1:1\n")
    assert "give --n-features" in wrong("fit", "-", *model)
    feed(monkeypatch, b"1 1:1\n1 1:2\n")
    assert "has no row of class -1" in wrong("fit", "-", *model, "--n-features", 2, "--quiet")
    feed(monkeypatch, b"")
    assert "has no rows" in wrong("fit", "-", *model, "--n-features", 2, "--quiet")
    assert not (tmp_path / "m").exists()
    assert main(["fit", str(bad), *model, "--on-bad-row", "skip", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["skipped"] == 1
    assert f"1 bad rows skipped: {bad}, line {N + 1}" in captured.err


def _of_other_width(folder, tmp_path, wrong):
    model = GraphGuidedClassifier("chain", max_iter=1, solver="ada-diag").fit(sources.svmlight(folder / "train.svm"))
    save_model(model, tmp_path / "m6")
    five = tmp_path / "five.csv"
    five.write_text("a,b,c,d,e\n1,2,3,4,5\n")
    return wrong("predict", tmp_path / "m6", five)


def test_help_imports_nothing_heavy():
    # The help of `fit` lists the losses and solvers of the registry, which needs them imported.
    code = (
        "import sys\nfrom adasadmm.cli import main\n"
        "for command in ('demo', 'predict', 'graph', 'info'):\n"
        "    try: main([command, '--help'])\n    except SystemExit: pass\n"
        "assert 'numba' not in sys.modules and 'sklearn' not in sys.modules and 'numpy' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_a_fit_of_files_is_kept_and_taken_up(folder, tmp_path, capsys):
    kept = ["--checkpoint", str(tmp_path / "run"), "--graph", "chain", "--json"]
    first = ["fit", str(folder / "train.svm"), "--model", str(tmp_path / "a.skops"), *kept]
    assert main(first) == 0
    assert main(first) == 2
    said = capsys.readouterr().err
    assert "already holds a checkpoint" in said and "--resume" in said and "resume=True" not in said
    again = ["fit", str(folder / "train.svm"), "--model", str(tmp_path / "b.skops"), *kept, "--resume"]
    assert main(again) == 0
    one, other = load_model(tmp_path / "a.skops"), load_model(tmp_path / "b.skops")
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert main(["fit", "-", "--model", str(tmp_path / "c.skops"), "--checkpoint", str(tmp_path / "run")]) == 2


def test_resume_alone_asks_for_the_checkpoint(folder, tmp_path, capsys):
    assert main(["fit", str(folder / "train.svm"), "--model", str(tmp_path / "m"), "--resume"]) == 2
    assert capsys.readouterr().err == ("adasadmm: --resume needs --checkpoint DIR, the folder of the run to resume\n")


@pytest.mark.slow  # compiles for seconds
def test_a_batch_solver_counts_iterations(folder, tmp_path, capsys):
    command = ["fit", str(folder / "valid.svm"), "--graph", "chain", "--model", str(tmp_path / "m"), "--json"]
    for solver, unit in (("alm", "iterations"), ("admm", "iterations"), ("sadmm", "epochs")):
        assert main([*command, "--solver", solver]) == 0
        assert unit in json.loads(capsys.readouterr().out)


def test_info_tells_versions_extras_and_data_sets(capsys):
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["versions"]["numpy"] == np.__version__
    requirements = importlib.metadata.requires("adasadmm")
    assert {re.match(r"[\w-]+", line)[0] for line in requirements if "extra" not in line} <= set(found["versions"])
    assert found["versions"]["narwhals"] == importlib.metadata.version("narwhals")
    assert f"pyarrow {pa.__version__}" in found["extras"]["arrow"] and "dev" not in found["extras"]
    assert found["data sets"]["digits"] == "bundled with scikit-learn"
    assert main(["info"]) == 0
    assert "adasadmm" in capsys.readouterr().out


def test_drop_leaves_out_a_column_of_texts_of_any_table(tmp_path, capsys):
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"id": list("abcdef"), "x": range(6), "z": [1, 0, 1, 0, 1, 1], "y": [0, 1] * 3})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "a.feather"), compression="uncompressed")
    for path in (tmp_path / "a.parquet", tmp_path / "a.feather"):
        command = ["fit", str(path), "--graph", "chain", "--model", str(tmp_path / "m"), "--json"]
        assert main(command) == 2
        assert "--columns A,B, or --drop id)" in capsys.readouterr().err
        assert main([*command, "--drop", "none"]) == 2
        assert "has no column 'none' to drop" in capsys.readouterr().err
        assert main([*command, "--drop", "id"]) == 0
        assert json.loads(capsys.readouterr().out)["features"] == 2


def test_a_skipped_row_has_an_empty_prediction(tmp_path, capsys):
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)).round(3)
    save_model(GraphGuidedClassifier("chain").fit(X, X[:, 0] > 0), tmp_path / "m")
    lines = [f"{a},{b}" for a, b in X]
    assert main(["predict", str(tmp_path / "m"), str(_written(tmp_path / "good.csv", ["a,b", *lines]))]) == 0
    expected = capsys.readouterr().out.splitlines()
    for k in (0, 5, 6, 19):
        X[k, 1], lines[k], expected[k + 1] = np.nan, f"{X[k, 0]},none", ","
    lines.insert(3, "")  # no row
    table = tmp_path / "bad.parquet"
    pyarrow.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), table, row_group_size=7)
    for path in (table, _written(tmp_path / "bad.csv", ["a,b", *lines])):
        assert main(["predict", str(tmp_path / "m"), str(path), "--on-bad-row", "skip"]) == 0
        captured = capsys.readouterr()
        assert captured.out.splitlines() == expected
        assert "4 bad rows skipped" in captured.err


def _written(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


TERMS = "--terms FILE to describe columns with levels"
SKIP = "--on-bad-row skip to skip such rows"


@pytest.mark.parametrize(
    ("name", "lines", "options", "said"),
    [
        ("a.csv", ["a,y", "x,1", "2,0"], [], f"'x,1'; use --drop A,B to ignore columns or {TERMS} or {SKIP}"),
        ("a.csv", ["a,y", "1,1", "2,"], [], f"line 3: column 'y' is empty: '2,'; use {SKIP}"),
        ("a.csv", ["a,y", "1,1", "2,x"], [], f"line 3: column 'y' holds 'x', which is not a number: '2,x'; use {SKIP}"),
        ("a.csv", ["a,y", "1,1", "2"], [], f"Expected 2 columns, got 1: 2: '2'; use {SKIP}"),
        (
            "a.svm",
            ["1 1:1", "-1 9:1"],
            ["--n-features", "2"],
            f"'-1 9:1'; use --n-features N to set the number of features or {SKIP}",
        ),
    ],
)
def test_a_hint_fits_the_fault(name, lines, options, said, tmp_path, capsys):
    path = _written(tmp_path / name, lines)
    assert main(["fit", str(path), "--model", str(tmp_path / "m"), "--graph", "chain", *options]) == 1
    assert capsys.readouterr().err.endswith(f"{said}\n")


def test_hints_of_predict_name_only_what_it_takes(tmp_path, capsys):
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    save_model(GraphGuidedClassifier("chain").fit(X, [0, 1]), tmp_path / "m")
    for path in (_written(tmp_path / "a.csv", ["a,b", "x,1"]), _written(tmp_path / "a.svm", ["1 9:1"])):
        assert main(["predict", str(tmp_path / "m"), str(path)]) == 1
        said = capsys.readouterr().err
        assert SKIP in said and "--drop" not in said and "n-features" not in said
    with pytest.raises(SystemExit, match="2"):
        main(["predict", str(tmp_path / "m"), str(path), "--drop", "a"])


def test_a_column_without_a_name_can_be_dropped(tmp_path, capsys):
    path = _written(tmp_path / "a.csv", [",a,b,y", *(f"{k},{k % 3},{k % 2},{k % 2}" for k in range(9))])
    command = ["fit", str(path), "--model", str(tmp_path / "m"), "--graph", "chain", "--json"]
    assert main([*command, "--drop", ""]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == 2


def test_a_label_of_a_stream_that_is_no_class_is_said(tmp_path, capsys, monkeypatch):
    feed(monkeypatch, b"1 1:1\n0 1:2\n")
    assert main(["fit", "-", "--n-features", "2", "--graph", "chain", "--model", str(tmp_path / "m"), "--quiet"]) == 2
    assert "has the label 0, which is not in --classes -1,1: list all labels there" in capsys.readouterr().err


def test_a_fit_in_memory_tells_iterations_and_one_by_blocks_epochs(folder, tmp_path, capsys):
    command = ["fit", str(folder / "valid.svm"), "--graph", "chain", "--model", str(tmp_path / "m"), "--quiet"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "\niterations: " in out and "epochs" not in out
    assert main([*command, "--epochs", "2"]) == 0
    out = capsys.readouterr().out
    assert "\nepochs: 2\n" in out and "iterations" not in out


def test_python_m_adasadmm_is_the_command():
    run = subprocess.run([sys.executable, "-m", "adasadmm", "--version"], capture_output=True, text=True)
    assert run.returncode == 0
    assert run.stdout.startswith("adasadmm ")
