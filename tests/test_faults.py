"""Hostile and damaged files end in a result or in an error of our own; nothing grows that should not."""

import bz2
import gzip
import hashlib
import io
import json
import re
import tomllib
import tracemalloc
import weakref
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from audit import NOTHING, verdict
from fuzz import KINDS, MEMORY, PROBLEM, fuzz
from lowest import PYPROJECT, constraints
from steady import FEWER, SOLVERS, growth

from adasadmm import (
    ADMM,
    ALM,
    AdaSADMM,
    Checkpoint,
    GraphGuidedClassifier,
    load_model,
    models,
    save_model,
    solve,
    sources,
)
from adasadmm.checkpoints import CheckpointError
from adasadmm.cli import main
from adasadmm.models import MEMBER, ModelError
from adasadmm.paper.cells import Cell
from adasadmm.paper.contest import Options
from adasadmm.paper.store import Store
from adasadmm.sources import SourceError, _text

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


# --- damaged at random -----------------------------------------------------------------------------------------------


def assert_no_fault(name, count):
    found = fuzz(name, count)
    assert found.faults == []
    assert found.results + found.refused == count
    assert found.refused > 0 and found.mebibytes * 2**20 < MEMORY


@forks
@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_read_or_refused_with_a_sentence(name):
    assert_no_fault(name, 40)


@forks
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_damaged_files_are_read_or_refused(name):
    assert_no_fault(name, 500)


# --- bombs -----------------------------------------------------------------------------------------------------------

ROW = b"1 1:1 2:0.5\n"


@pytest.mark.parametrize(("module", "suffix"), [(gzip, "gz"), (bz2, "bz2")])
def test_a_file_that_unpacks_to_far_too_much_is_refused_unless_it_is_meant(module, suffix, tmp_path, limits, capsys):
    limits(bytes_without_a_look_at_the_disc=2**20)
    bomb = tmp_path / f"rows.svm.{suffix}"
    bomb.write_bytes(module.compress(ROW * 400_000))
    with pytest.raises(SourceError, match=r"unpacks to more than .* bytes, .* larger most_expansion"):
        sources.svmlight(bomb, block_bytes=2**18).summary
    assert sources.svmlight(bomb, block_bytes=2**18, most_expansion=1e5).shape == (400_000, 2)
    assert main(["graph", str(bomb), "--out", str(tmp_path / "edges.csv")]) == 2
    assert "unpacks to more than" in capsys.readouterr().err
    table = tmp_path / f"rows.csv.{suffix}"
    table.write_bytes(module.compress(b"a,b,y\n" + b"1,2,1\n" * 800_000))
    with pytest.raises(SourceError, match="unpacks to more than"):
        sources.csv(table, block_bytes=2**18).summary
    with pytest.raises(ValueError, match="most_expansion must be > 0, got 0"):
        sources.svmlight(bomb, most_expansion=0)


@pytest.mark.parametrize("name", ["svmlight", "csv"])
def test_a_line_without_end_is_refused_in_little_memory(name, tmp_path):
    endless = tmp_path / "rows.gz"
    endless.write_bytes(gzip.compress(b"1" * (3 * _text.LONGEST_LINE), compresslevel=1))
    tracemalloc.start()
    with pytest.raises(SourceError, match="a line of more than 64 MiB"):
        getattr(sources, name)(endless).summary
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * _text.LONGEST_LINE


def test_a_stream_comes_in_little_pieces_whatever_its_lines(monkeypatch):
    monkeypatch.setattr(_text, "BLOCK_BYTES", 100)
    monkeypatch.setattr(_text, "LONGEST_LINE", 1000)
    stream = io.BytesIO(b"1 1:1\n" * 7 + b"x" * 110 + b"\n" + b"1\n" * 5 + b"y" * 2000)
    pieces = _text.chunks_of_lines(stream, 3, "standard input")
    found = [next(pieces) for _ in range(4)]
    assert [(chunk.line(), chunk.data.count(b"\n")) for chunk in found] == [(1, 3), (4, 3), (7, 2), (9, 3)]
    with pytest.raises(SourceError, match="standard input has a line of more than"):
        next(pieces)


@pytest.mark.parametrize("index", [2**24 + 1, 2**31, 2**40, 2**63, 10**30])
def test_a_huge_index_takes_no_memory(index, tmp_path):
    (tmp_path / "rows.svm").write_bytes(ROW + f"1 {index}:1\n".encode())
    tracemalloc.start()
    with pytest.raises(SourceError, match=r"rows\.svm, line 2: .*the most features; give n_features for more"):
        sources.svmlight(tmp_path / "rows.svm").summary
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**25  # a block is read at once, whatever is in it


def liar(shape=(2**40,)):
    """An array of NumPy whose header claims far more numbers than there are."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue() + bytes(80)


def archive(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


def changed(path, change):
    """The members of the archive at a path, some of them changed."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    path.write_bytes(archive(change(members)))


@pytest.fixture
def model(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    save_model(GraphGuidedClassifier(sp.csr_array(np.eye(3, k=1))).fit(X, X[:, 0] > 0), tmp_path / "model")
    assert load_model(tmp_path / "model").n_features_in_ == 3
    return tmp_path / "model"


def test_a_sparse_graph_in_a_model_is_no_bomb(model, limits):
    limits(bytes_without_a_look_at_the_disc=2**20)
    zeros = io.BytesIO()
    np.save(zeros, np.zeros(2**20))
    bomb = archive({"data.npy": zeros.getvalue()}, zipfile.ZIP_DEFLATED)
    changed(model, lambda members: {n: bomb if n.endswith(".npz") else c for n, c in members.items()})
    with pytest.raises(ModelError, match=r"npz would unpack to 8,388,736 bytes, more than"):
        load_model(model, most_expansion=10)
    with pytest.raises(ModelError, match="damaged"):  # it may unpack, and is no matrix
        load_model(model, most_expansion=1e6)


@pytest.mark.parametrize("kind", [".npy", ".npz"])
def test_an_array_of_a_model_that_claims_more_than_it_holds_is_refused(kind, model):
    lie = liar() if kind == ".npy" else archive({"data.npy": liar()})
    changed(model, lambda members: {n: lie if n.endswith(kind) else c for n, c in members.items()})
    with pytest.raises(ModelError, match=r"npy claims to be an array of shape \(1099511627776,\) of float64"):
        load_model(model)


@pytest.mark.parametrize(
    "changes",
    [
        {"classes_": np.array([])},
        {"coef_": np.zeros((2, 3))},
        {"coef_": np.zeros((1, 4))},
        {"intercept_": np.zeros(5)},
        {"coef_": np.array([["a", "b", "c"]])},
        {"n_features_in_": "3"},
    ],
    ids=str,
)
def test_a_model_whose_parts_do_not_fit_each_other_is_refused(changes, model, monkeypatch):
    fitted = load_model(model)
    vars(fitted).update(changes)
    with pytest.raises(ModelError, match=r"cannot be saved: .* do not match"):
        save_model(fitted, model)
    with monkeypatch.context() as forger:
        forger.setattr(models, "_check_model", lambda model: None)
        save_model(fitted, model)
    with pytest.raises(ModelError, match="do not match"):
        load_model(model)


def signed(path, change):
    """A checkpoint changed by somebody who knows how its digest is made."""
    body = path.read_bytes().partition(b"\n")[2]
    with zipfile.ZipFile(io.BytesIO(body)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    body = archive(change(members))
    path.write_bytes(f"adasadmm checkpoint 2 {hashlib.sha256(body).hexdigest()}\n".encode() + body)


def with_about(**changes):
    def change(members):
        out, stored = io.BytesIO(), np.load(io.BytesIO(members["about.npy"]))
        about = {**json.loads(stored.tobytes()), **changes}
        np.save(out, np.frombuffer(json.dumps(about).encode(), np.uint8))
        return {**members, "about.npy": out.getvalue()}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda members: {**members, "array0.npy": liar()}, "claims to be an array"),
        (lambda members: {**members, "array0": b"no array"}, "not arrays of numbers|is not a valid checkpoint"),
        (with_about(numbers={"eta": "many"}), "values that are not numbers"),
        (with_about(numbers=[0.5, 0.0]), "is not a valid checkpoint"),
        (with_about(done=0.5), "a count that is not a whole number"),
        (with_about(numbers={"steps": 1}), "does not fit the run"),
        (with_about(points=[[1, 2, 3]]), "points that do not belong to a trace"),
        (with_about(status="lost"), "is not a valid checkpoint"),
    ],
)
def test_a_forged_checkpoint_is_refused_before_it_does_harm(change, message, tmp_path):
    solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(tmp_path), callback=lambda snapshot: True)
    (path,) = tmp_path.iterdir()
    signed(path, change)
    with pytest.raises(CheckpointError, match=message):
        solve(PROBLEM, AdaSADMM(), checkpoint=Checkpoint(tmp_path), resume=True)


# --- long runs -------------------------------------------------------------------------------------------------------


def test_the_trace_lets_go_of_the_iterates():
    seen = []
    solve(PROBLEM, AdaSADMM(), epochs=3, callback=lambda snapshot: seen.append(weakref.ref(snapshot.w)))
    assert len(seen) == 12 and all(w() is None for w in seen)


@pytest.mark.parametrize(
    ("solver", "points"), [(AdaSADMM(), [4, 8, 10]), (ADMM(), [4, 8, 10]), (ALM(), [4, 8, 10])], ids=repr
)
def test_the_trace_has_as_many_points_as_were_asked_for(solver, points):
    trace = solve(PROBLEM, solver, epochs=10, trace_every=4, tol=0.0).trace
    assert trace["epoch"].tolist() == points
    whole, short = (solve(PROBLEM, solver, epochs=10, trace_every=every, tol=0.0) for every in (1, 4))
    np.testing.assert_array_equal(whole.w, short.w)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", SOLVERS)
def test_a_long_run_holds_its_memory(name):
    iterations = 200_000 // FEWER.get(name, 1)
    found = growth(SOLVERS[name], iterations)
    assert found.iterations == iterations
    assert found.traced < 2**17 and found.resident < 2**22


def test_every_dependency_has_a_lower_bound():
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    found = constraints(project)
    assert len(found) > 20 and all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in found)
    names = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}
    assert names <= {line.split("==")[0] for line in found}


def test_an_audit_tells_what_it_knows_and_what_it_does_not():
    weak = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}
    unknown = {"name": "b", "skip_reason": "not found"}
    assert verdict([unknown]) == (0, NOTHING)
    code, text = verdict([weak, unknown, {"name": "c", "version": "2", "vulns": []}])
    assert code == 1 and text == "a 1: CVE-1\n2 of 3 packages audited, 1 with known weaknesses"


# --- paths -----------------------------------------------------------------------------------------------------------


def test_a_model_with_members_outside_writes_nothing(model):
    before = sorted(model.parent.parent.rglob("*"))
    changed(model, lambda members: {**members, "../../evil": b"1", "/tmp/evil": b"1"})
    assert load_model(model).n_features_in_ == 3
    assert sorted(model.parent.parent.rglob("*")) == before and MEMBER in zipfile.ZipFile(model).namelist()


def test_no_name_climbs_out_of_the_folder_of_a_reproduction(tmp_path, capsys):
    store = Store(tmp_path / "cells", Options(2.0, "exact", False), {"../../evil": "digest"})
    fields = dict.fromkeys(Cell._fields, "../../evil")
    assert store._path(Cell(**fields)).parent == tmp_path / "cells"
    assert "/" not in store._path(Cell(**fields)).name
    assert main(["reproduce", "--datasets", "../../evil", "--out", str(tmp_path / "out")]) == 2
    assert "there is no data set '../../evil'" in capsys.readouterr().err
