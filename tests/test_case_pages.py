"""The pages of the case studies show the stored figures, and nothing else."""

import ast
import importlib
import json
import pathlib
import re
import sys

import joblib
import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

ROOT = pathlib.Path(__file__).parents[1]
CASES = ROOT / "docs" / "cases"
SCRIPTS = sorted(path.stem.removeprefix("case_") for path in (ROOT / "examples").glob("case_*.py"))
PAGES = sorted(path for path in CASES.glob("*.md") if path.stem != "index")
CODE = re.compile(r"^```.*?^```|`[^`]*`", flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def results():
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        yield importlib.import_module("results")
    finally:
        sys.path.remove(str(ROOT / "docs" / "_ext"))


def test_every_script_has_a_page_and_every_page_a_script():
    assert [page.stem for page in PAGES] == SCRIPTS
    index = (CASES / "index.md").read_text()
    assert [name for name in SCRIPTS if f"\n{name}\n" not in index] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_stored_its_results(name):
    found = json.loads((CASES / "results" / f"{name}.json").read_text())
    assert found["case"] == name and found["tables"]["main"]
    assert name in importlib.import_module("casedata").case_names()
    for picture in found["pictures"]:
        content = (CASES / "results" / picture).read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) < 200_000
        assert f"(results/{picture})" in (CASES / f"{name}.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_stored_figures(page, results):
    text = page.read_text()
    for part in ("table.main", "about"):
        assert f"{page.stem}.{part}" in text
    for row in results.stored()[page.stem]["tables"]["main"]:
        assert str(next(iter(row.values()))) in text


def test_all_figures_are_the_stored_ones(results):
    """Also the support tables, which come from the code."""
    assert {path.stem for path in results.pages()} >= {*SCRIPTS, "support"}
    for path in results.pages():
        text = path.read_text()
        assert results.filled(text, results.stored()) == text, "run python docs/_ext/results.py"
        assert len(results.PLACE.findall(text)) == text.count("<!-- / -->")
        for place in results.PLACE.finditer(text):  # a line that begins with a comment is not read as Markdown
            assert place.start() > 0 and (text[place.start() - 1] != "\n" or "\n" in place[0])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_no_measured_figure_of_its_own(page, results):
    """Decimal numbers are results: they are read from the stored ones, so that both cannot differ."""
    prose = CODE.sub("", results.PLACE.sub("", page.read_text()))
    prose = re.sub(r"https?://\S+|CC BY(-SA)? \d\.\d|arXiv:\S+|doi:\S+", "", prose)
    assert re.findall(r"\d+\.\d+", prose) == []


def test_a_figure_that_is_not_stored_is_an_error(results):
    stored = {"rent": {"facts": {"error": 3.97249, "levels": 57}, "tables": {"main": [{"model": "a", "x": None}]}}}
    end = "<!-- / -->"
    text = results.filled(f"<!-- rent.error:.2f -->4{end} of <!-- rent.levels -->{end}", stored)
    assert text == f"<!-- rent.error:.2f -->3.97{end} of <!-- rent.levels -->57{end}"
    table = results.filled(f"<!-- rent.table.main -->{end}", stored)
    assert table == f"<!-- rent.table.main -->\n\n| model | x |\n| --- | ---: |\n| a |  |\n\n{end}"
    for name in ("rent.other", "flats.error"):
        with pytest.raises(KeyError):
            results.filled(f"<!-- {name} -->{end}", stored)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_what_it_does(name):
    text = (ROOT / "examples" / f"case_{name}.py").read_text()
    assert text.startswith('"""') and f'casebook.main("{name}", study)' in text


# --- packages to compare with ----------------------------------------------------------------------------------------


@pytest.fixture
def scripts(monkeypatch):
    """Import a case study, with none of the packages that it compares itself with."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for folder in ("benchmarks", "examples"):
        monkeypatch.syspath_prepend(ROOT / folder)
    for package in importlib.import_module("page").PEERS:
        monkeypatch.setitem(sys.modules, package, None)
    return importlib.import_module


def test_a_missing_package_is_named_in_the_table(scripts, monkeypatch):
    brain, rng = scripts("case_brain"), np.random.default_rng(0)
    monkeypatch.setattr(brain, "picture", lambda *_: None)
    for name in set(brain.MODELS) - {brain.SPACENET}:
        monkeypatch.setitem(brain.MODELS, name, lambda train: RidgeClassifier().fit(train.signal, train.seen))
    volumes = brain.Volumes(
        rng.normal(size=(60, 4)), np.tile(["face", "house", "cat"], 20), np.repeat(range(4), 15), np.argwhere(np.eye(4))
    )
    monkeypatch.setattr(brain, "prepared", lambda _: volumes)
    case = scripts("casedata").Case("brain", {"volumes": None}, "", "", "", "", "")
    with joblib.parallel_config("threading"):
        outcome = brain.study(case)
    *others, spacenet = outcome.tables["main"]
    assert set(spacenet.values()) == {brain.SPACENET, "not installed"} and list(spacenet) == list(others[0])
    assert outcome.facts["accuracy_spacenet"] == "not installed"
    assert all(isinstance(row["accuracy"], float) for row in others)


def test_facts_of_a_missing_package_are_not_stored(scripts, monkeypatch, tmp_path, capsys):
    casebook, study = scripts("casebook"), scripts("case_copy_number")
    facts = casebook.facts_of(study.beside_clarabel, np.zeros(3), 1.0, 0.0, None)
    assert facts == {"beside_clarabel": "not installed"}
    monkeypatch.setattr(casebook, "RESULTS", tmp_path)
    monkeypatch.setattr(
        casebook.casedata, "fetch_case", lambda name: scripts("casedata").Case(name, {}, "", "", "", "", "")
    )
    monkeypatch.setattr(sys, "argv", ["case_copy_number.py", "--store"])
    with pytest.raises(SystemExit, match="nothing is stored"):
        casebook.main("copy_number", lambda case: casebook.Outcome(facts, {"main": [{"model": "a"}]}))
    assert list(tmp_path.iterdir()) == [] and "cvxpy is not installed: pip install" in capsys.readouterr().err


def test_another_missing_package_is_an_error(scripts):
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        scripts("page").attempted(importlib.import_module, "no_such_package")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("case_*.py")), ids=lambda path: path.stem)
def test_a_script_can_be_imported_without_the_packages_it_compares_with(path, scripts):
    """They are imported where they are used, so that only their own figures are missing."""
    scripts(path.stem)
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    own = {"adasadmm", "casebook", "housing", "insurance", "joblib", "numpy", "scipy", "sklearn"}
    assert {name.partition(".")[0] for name in names} <= own | {*scripts("page").PEERS} | sys.stdlib_module_names
