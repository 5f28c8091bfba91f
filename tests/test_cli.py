"""The command line as a stranger meets it: help, errors in one sentence, exit codes, completion, a table of one's own.

Of the shells only bash is asked whether it understands its script: it is everywhere.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from adasadmm import cli, load_model
from adasadmm.cli import main
from adasadmm.cli.command import in_options
from adasadmm.cli.info import SHELLS

COMMANDS = ("fit", "predict", "graph", "demo", "reproduce", "info", "completion")
compiled = pytest.mark.compiled  # too slow without the compiler


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Rows with names, units that differ, an identifier and a class in words; edges under a header of one's own."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("skops", reason="skops is not installed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1.0, 1000.0, 0.01, 5.0] + [0.0, 5000.0, 3.0, -2.0]
    good = (X[:, 0] + (X[:, 1] - 5000.0) / 1000.0 + 0.3 * rng.normal(size=300)) > 0
    lines = [
        f"p{i},{','.join(map(str, x))},{'good' if g else 'bad'}" for i, (x, g) in enumerate(zip(X, good, strict=True))
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["id,age,income,rate,debt,outcome", *lines]) + "\n")
    (tmp_path / "edges.csv").write_text("from,to\nage,income\nrate,debt\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *command):
    """The exit code, and the one line on standard error."""
    try:
        code = main(list(command))
    except SystemExit as stop:
        code = stop.code
    (line,) = capsys.readouterr().err.strip().splitlines()
    return code, line


FIT = ("fit", "rows.csv", "--target", "outcome", "--drop", "id", "--graph", "edges.csv", "--model", "m.skops")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_a_command_does_and_shows_examples(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert f"  adasadmm {command}" in out.partition("Examples:\n")[2]
    assert "--debug" in out


def test_the_examples_in_help_can_be_parsed():
    import shlex

    parser = cli._parser()
    commands = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction)).choices
    for command in commands.values():
        for line in command.epilog.splitlines()[1:]:
            example = (
                line.partition("  #")[0].rpartition("| adasadmm")[2].removeprefix("  adasadmm").partition(" > ")[0]
            )
            example = example.partition(" >> ")[0].partition(" | ")[0]
            assert parser.parse_args(shlex.split(example)).run is command.get_default("run")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["nothing"], "invalid choice: 'nothing'"),
        (["fit", "rows.csv"], "the following arguments are required: --model"),
        (["fit", "rows.csv", "--model", "m", "--alpha", "-1"], "--alpha: must be a number >= 0, got -1"),
        (["demo", "--epochs", "0"], "--epochs: must be a positive number, got 0"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(command, message, capsys):
    code, line = said(capsys, *command)
    assert code == 2 and message in line and line.endswith("--help")


@compiled
@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["fit", "none.csv", "--model", "m"], 2, "there is no file none.csv"),
        (["fit", "rows.xlsx", "--model", "m"], 2, "rows.xlsx cannot be read: save the rows as .csv"),
        (["fit", "rows.csv", "--model", "m"], 2, "name the target column"),
        (
            ["fit", "rows.csv", "--target", "outcome", "--model", "m"],
            1,
            "column 'id' holds 'p0', which is not a number",
        ),
        (["fit", "rows.txt", "--model", "m"], 1, "not svmlight text; the name of a table must end in .csv"),
        (["fit", "hole.csv", "--target", "y", "--model", "m"], 1, "line 3: column 'b' is empty"),
        ([*FIT, "--loss", "squared"], 2, "are text, such as 'bad': use --loss hinge or logistic for classes"),
        (
            ["fit", "rows.csv", "--target", "debt", "--drop", "id,outcome", "--model", "m"],
            2,
            "use --loss squared for a regression",
        ),
        ([*FIT, "--columns", "age,outcome"], 2, "column 'outcome' of rows.csv is the target, which is not a feature"),
        ([*FIT, "--columns", "age,debt,age"], 2, "column 'age' of rows.csv is among the features twice"),
        ([*FIT, "--drop", "ident"], 2, "rows.csv has no column 'ident' to drop"),
        ([*FIT, "--graph", "chian"], 2, "Did you mean 'chain'?"),
        ([*FIT, "--graph", "wrong.csv"], 2, "did you mean 'income'?"),
        ([*FIT, "--model", "rows.csv/m.skops"], 2, "choose another file with --model"),
        (["predict", "rows.csv", "rows.csv"], 1, "rows.csv is not a model: "),
        (["reproduce", "--out", "rows.csv/out"], 2, "cannot write to rows.csv/out"),
        (["demo", "--out", "rows.csv/out"], 2, "cannot write to rows.csv/out"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(table, command, code, message, capsys):
    (table / "rows.xlsx").write_bytes(b"PK")
    (table / "rows.txt").write_text((table / "rows.csv").read_text())
    (table / "hole.csv").write_text("a,b,y\n1,2,0\n3,,1\n")
    (table / "wrong.csv").write_text("source,target\nage,incom\n")
    found, line = said(capsys, *command)
    assert (found, message in line) == (code, True), line
    assert not (table / "m").exists() and not (table / "m.skops").exists()


def test_options_that_do_not_apply_are_refused_with_the_reason(table, capsys, monkeypatch):
    (table / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1:1\n")))
    lines, stream = ["fit", "rows.svm", "--model", "m"], ["fit", "-", "--n-features", "2", "--model", "m"]
    for command, message in (
        ([*FIT, "--zero-based"], "--zero-based is for svmlight files"),
        ([*FIT, "--n-features", "4"], "--n-features is for svmlight files"),
        ([*FIT, "--classes", "0,1"], "--classes is for rows from standard input"),
        ([*lines, "--drop", "a"], "--drop names columns: svmlight files have none"),
        ([*lines, "--target", "y"], "--target names a column: svmlight files have none"),
        ([*stream, "--graph", "chain", "--columns", "a"], "--columns names columns"),
        ([*stream, "--checkpoint", "run"], "--checkpoint needs files: standard input can be read only once"),
        ([*stream, "--alpha", "cv"], "--alpha cv needs files"),
        ([*FIT, "--alpha", "cv", "--resume", "--checkpoint", "run"], "does not work with --alpha cv"),
        (["graph", "rows.csv", "--graph", "knn", "--edges", "3", "--out", "-"], "--edges needs --graph glasso"),
    ):
        code, line = said(capsys, *command)
        assert code == 2 and message in line, line
    assert not (table / "m").exists() and not (table / "m.skops").exists()


def test_a_fault_of_our_own_is_one_line_and_with_debug_a_traceback(monkeypatch, capsys):
    def broken():
        raise RuntimeError("oh no")

    monkeypatch.setattr("adasadmm.cli.info.about", broken)
    code, line = said(capsys, "info")
    assert code == 1 and "RuntimeError: oh no" in line and "--debug" in line
    with pytest.raises(RuntimeError):
        main(["info", "--debug"])


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("a folder holds a run: resume=True continues it", "a folder holds a run: --resume continues it"),
        ("say n_features=6", "say --n-features 6"),
        ("data_dir is /data/n_features.csv", "--data-dir is /data/n_features.csv"),
        ("column 'tol' of total", "column 'tol' of total"),
        ("the gap is above tol=0.001: raise tol.", "the gap is above --tol 0.001: raise --tol."),
    ],
)
def test_messages_name_options_instead_of_python_parameters(message, shown):
    options = cli._parser().parse_args(["fit", "rows.csv", "--model", "m"])
    options.data_dir = None  # an option of reproduce
    assert in_options(message, options) == shown
    assert in_options(message, argparse.Namespace()) == message


def test_ctrl_c_is_130(monkeypatch, capsys):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr("adasadmm.cli.info.about", stopped)
    assert said(capsys, "info") == (130, "adasadmm: stopped")


@compiled
def test_a_table_of_ones_own_from_fit_to_predictions(table, capsys):
    assert main([*FIT, "--scale", "--valid", "rows.csv", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["rows"], figures["features"], figures["edges"]) == (300, 4, 2)
    assert figures["relative_gap"] <= 1e-3 and figures["valid"]["error"] < 0.1
    fitted = load_model("m.skops")
    assert fitted.feature_names_in_.tolist() == ["age", "income", "rate", "debt"]
    assert fitted[-1].graph_.tolist() == [[0, 1], [2, 3]]
    assert main(["predict", "m.skops", "rows.csv", "--out", "p.csv"]) == 0
    guessed = [line.partition(",")[0] for line in (table / "p.csv").read_text().splitlines()[1:]]
    truth = [line.rpartition(",")[2] for line in (table / "rows.csv").read_text().splitlines()[1:]]
    assert np.mean([one != other for one, other in zip(guessed, truth, strict=True)]) == figures["valid"]["error"]


@compiled
def test_units_do_not_spoil_a_fit_in_memory(table, capsys):
    assert main([*FIT, "--valid", "rows.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"]["error"] < 0.1


@compiled
def test_rows_that_do_not_fit_in_memory_are_streamed(table, capsys, limits):
    limits(share_of_memory=1e-12)
    assert main([*FIT, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["epochs"] == 2 and figures["place"] == "stream"
    assert "streamed, because they would take 14.1 KiB, more than" in figures["reason"]
    assert main([*FIT, "--scale", "--valid", "rows.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"]["error"] < 0.1


@pytest.fixture
def completed(tmp_path, monkeypatch, capsys):
    """What bash offers for a line that is begun, with the script that `adasadmm completion bash` prints."""
    pytest.importorskip("argcomplete", reason="argcomplete is not installed")
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    program = tmp_path / "bin" / "adasadmm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m adasadmm "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)

    def ask(line):
        done = subprocess.run(["bash", "-c", ASK, "bash", line], capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == ""
        return [word.strip() for word in done.stdout.splitlines()]

    return ask


ASK = """
source ./script
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9
function=$(complete -p adasadmm | sed 's/.* -F \\([^ ]*\\).*/\\1/')
"$function" adasadmm
[[ ${#COMPREPLY[@]} == 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_bash_completes_commands_options_choices_and_files(completed, tmp_path):
    (tmp_path / "rows.csv").touch()
    assert completed("adasadmm de") == ["demo"]
    assert completed("adasadmm ") == list(COMMANDS)
    assert completed("adasadmm --v") == ["--version"]
    assert completed("adasadmm fit rows.csv --lo") == ["--loss"]
    assert completed("adasadmm fit rows.csv --loss h") == ["hinge", "huber"]
    assert completed("adasadmm completion z") == ["zsh"]
    assert completed("adasadmm fit ro") == ["rows.csv"]
    assert completed("adasadmm nothing --lo") == []
    assert "-h" not in completed("adasadmm info -")


def test_a_request_without_argcomplete_prints_nothing(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert said(capsys, "completion", "bash") == (
        1,
        'adasadmm: completion needs argcomplete: pip install "adasadmm[cli]"',
    )
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    with pytest.raises(SystemExit) as stop:
        main(["demo"])  # does not run
    assert stop.value.code == 1 and capsys.readouterr() == ("", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_is_understood_by_it(shell, capsys):
    pytest.importorskip("argcomplete", reason="argcomplete is not installed")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_ARGCOMPLETE" in script and "adasadmm" in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True).returncode == 0


def test_the_strength_by_cross_validation(tmp_path, capsys):
    from adasadmm.cli import main

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    rows = np.column_stack([X, X @ [1, 1, -1, -1] + rng.normal(size=80)])
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="a,b,c,d,y", comments="")
    common = ["fit", str(tmp_path / "rows.csv"), "--target", "y", "--loss", "squared", "--graph", "chain"]
    model = ["--model", str(tmp_path / "m.skops"), "--json"]
    assert main([*common, "--alpha", "cv", "--folds", "3", "--rule", "1se", *model]) == 0
    lines = (tmp_path / "m.path.csv").read_text().splitlines()
    assert len(lines) == 21 and lines[0].endswith("df,relative_gap,a,b,c,d")
    assert sum(line.split(",")[1] == "1" for line in lines[1:]) == 1
    (tmp_path / "edges.csv").write_text("a,b\nc,d\n")  # named features
    common[-1] = str(tmp_path / "edges.csv")
    assert main([*common, "--alpha", "cv", "--folds", "3", "--scale", *model]) == 0
    assert main([*common, "--alpha", "cv", "--folds", "3", *model]) == 0
    assert load_model(tmp_path / "m.skops").graph_.tolist() == [[0, 1], [2, 3]]
    assert main([*common, "--folds", "3", *model]) == 2
    assert "--folds needs --alpha cv" in capsys.readouterr().err
