"""Time to an accuracy by one command, and the benchmark that benchopt runs."""

import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from adasadmm import ADMM, datasets, solve

bench = pytest.importorskip("time_to_accuracy", reason="installed without the repository")
peers, timings = importlib.import_module("cvxpy_peers"), importlib.import_module("timings")
ACCURACIES, Timing = timings.ACCURACIES, timings.Timing

pytestmark = pytest.mark.compiled  # too slow without the compiler

BENCHMARK = pathlib.Path(__file__).parents[1] / "benchmarks" / "benchopt"
TIMES = ["1 %", "0.1 %", "0.01 %"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A whole run, small: what it found, and where it wrote."""
    out = tmp_path_factory.mktemp("bench")
    bench.main(["--datasets", "breast_cancer", "--epochs", "4", "--limit", "60", "--out", str(out)])
    return json.loads((out / "results.json").read_text()), out


@pytest.fixture
def drawn_lots(monkeypatch):
    """A race without running: two solvers, one of which never comes near."""
    good, bad = Timing("digits", "good", "ours", [1.0, 2.0], [0.5, 5e-4]), Timing("digits", "bad", "peer", [3.0], [0.2])
    problem = bench.problem_of(np.eye(4), np.ones(4), np.array([[0, 1]]), "hinge")
    optimum = solve(problem, ADMM()).certificate
    instance = bench.Instance("digits", np.eye(4), np.ones(4), np.array([[0, 1]]), "hinge", problem, optimum)
    monkeypatch.setattr(bench, "instance", lambda *_: instance)
    monkeypatch.setattr(bench, "timings", lambda *_: iter([good, bad]))


@pytest.mark.slow
def test_each_solver_has_a_record_whose_times_rise_with_the_accuracy(finished):
    (record,), _ = finished
    assert (record["dataset"], record["rows"], record["features"]) == ("breast_cancer", 569, 30)
    assert 0.0 < record["optimum_gap"] <= bench.OPTIMUM_TOL
    solvers = {one["solver"]: one for one in record["solvers"]}
    ours = ['solver="auto"', *(label for label, _ in bench.SOLVERS.values())]
    assert list(solvers) == ours + [f"CVXPY, {peers.CVXPY[name].label}" for name in peers.installed()]
    for one in solvers.values():
        times = [np.inf if one["seconds_to"][key] is None else one["seconds_to"][key] for key in TIMES]
        assert 0.0 < times[0] <= times[1] <= times[2]
        assert len(one["seconds"]) == len(one["above"]) > 0 and min(one["above"]) >= record["optimum_gap"]
    assert solvers['solver="auto"']["seconds_to"]["0.1 %"] is not None
    assert min(solvers["Ada-SADMM, diagonal"]["above"]) < min(solvers["SADMM, 1/(gamma t)"]["above"])


@pytest.mark.slow
def test_the_figure_is_written(finished):
    _, out = finished
    assert (out / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (out / "bench.svg").read_text()


def test_the_table_has_a_dash_where_an_accuracy_was_not_reached(drawn_lots, tmp_path, capsys):
    bench.main(["--datasets", "digits", "--out", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("digits: 4 rows, 4 features, 1 edges, hinge loss")
    assert [line.split() for line in lines[2:4]] == [["good", "2", "2", "—"], ["bad", "—", "—", "—"]]
    assert str(tmp_path / "bench.png") in lines[-1]


def test_without_matplotlib_and_cvxpy_it_says_what_is_left_out(drawn_lots, tmp_path, capsys, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in ("cvxpy", "matplotlib") else there(name)
    )
    bench.main(["--datasets", "digits", "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert "CVXPY is not installed" in said and "matplotlib is not installed" in said
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "breast"], "there is no data set 'breast'. Did you mean 'breast_cancer'?"),
        (["--datasets", "splice", "--data-dir", "/nowhere"], "data_dir is /nowhere, which does not exist"),
    ],
)
def test_a_wrong_data_set_is_one_sentence_and_exit_code_2(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        bench.main([*arguments, "--out", str(tmp_path / "out")])
    assert ended.value.code == 2 and message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("loss", bench.LOSSES)
def test_the_peers_solve_the_same_problem(loss):
    """What they call their optimum is that of batch ADMM."""
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    X, edges = rng.normal(size=(60, 5)), np.array([[0, 1], [1, 2], [3, 4]])
    y = np.where(X @ np.array([1.0, 1.0, 1.0, -1.0, 0.0]) + rng.normal(size=60) > 0.0, 1.0, -1.0)
    problem, find = bench.problem_of(X, y, edges, loss), peers.by_cvxpy(X, y, edges, loss)
    optimum = solve(problem, ADMM(), tol=1e-8, epochs=20_000).certificate
    assert ("OSQP" in peers.installed(loss)) == (loss == "hinge")
    for name in peers.installed(loss):
        assert problem.objective(find(name, 1e-7)) == pytest.approx(optimum.primal, rel=1e-4)


def test_a_time_is_the_least_at_which_the_accuracy_was_met():
    timing = Timing("digits", "one", "ours", [1.0, 2.0, 3.0], [5e-3, 2e-2, 5e-4])
    assert [timing.seconds_to(accuracy) for accuracy in ACCURACIES] == [1.0, 3.0, None]


@pytest.mark.slow
@pytest.mark.parametrize("loss", bench.LOSSES)
def test_benchopt_runs_every_solver(loss, tmp_path):
    for package in ("benchopt", "cvxpy", "admm", "copt"):
        pytest.importorskip(package, reason=f'no {package}: pip install "adasadmm[bench]"')
    if not BENCHMARK.exists():
        pytest.skip("installed without the repository")
    import pandas as pd

    path = tmp_path / "results.parquet"
    command = [sys.executable, "-m", "benchopt", "run", str(BENCHMARK), "--local", "--no-cache", "--no-plot"]
    chosen = ["-o", f"*[loss={loss}]", "-d", "Bundled[dataset=breast_cancer]", "-n", "8", "--output", str(path)]
    done = subprocess.run([*command, *chosen], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = pd.read_parquet(path)
    ours = {f"adasadmm[variant={name}]" for name in bench.SOLVERS} | {"adasadmm-auto"}
    others = {"admm", "copt-primal-dual", "CVXPY[solver=CLARABEL]"}
    if loss == "hinge" and importlib.util.find_spec("rehline"):  # it has no logistic loss
        others |= {"ReHLine"}
    assert set(runs["solver_name"]) >= ours | others
    start = bench.problem_of(*bench.rows_and_graph(datasets.BUNDLED[0]), loss).objective(np.zeros(30))
    best = runs.groupby("solver_name")["objective_value"].min()
    for name in {"adasadmm[variant=admm]", "adasadmm-auto", *others}:
        assert best[name] < 0.5 * start, name
    assert runs[runs["solver_name"] == "adasadmm-auto"]["objective_gap"].min() < 1e-2
