"""The pages of the case studies show the stored figures, and nothing else."""

import importlib
import json
import pathlib
import re
import sys

import pytest

from adasadmm import datasets

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
    assert name in datasets.case_names()
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
