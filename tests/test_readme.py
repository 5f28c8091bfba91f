"""What README and the docs show is run, so that it cannot drift from the code."""

import importlib
import pathlib
import re
import shlex

import pytest

from adasadmm.cli import main

pytestmark = pytest.mark.compiled  # too slow without the compiler

ROOT = pathlib.Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
SLOW = ("distributed.md", "estimators.md", "theory.md")  # they compile for workers, for many models, for many solvers


def blocks(page):
    """Kind and text of the blocks of Python and of commands, in order."""
    return re.findall(r"^```(python|sh)\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def shown(pages, slow=SLOW):
    return [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in slow else [])
        for page in pages
        if page.exists() and blocks(page)
    ]


@pytest.mark.parametrize("page", [*shown(PAGES), *shown(GUIDE, [page.name for page in GUIDE])])
def test_what_a_page_shows_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for number, (kind, block) in enumerate(blocks(page)):
        if kind == "python":
            exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            assert program == "adasadmm" and main(arguments) == 0, capsys.readouterr().err


def test_the_figures_of_the_readme_are_those_of_the_docs(monkeypatch):
    """Where this fails, docs/benchmarks.md was measured anew: python benchmarks/readme.py copies its figures."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    readme = importlib.import_module("readme")
    text = (ROOT / "README.md").read_text()
    assert readme.with_table(text, (ROOT / "docs" / "benchmarks.md").read_text()) == text


@pytest.mark.parametrize("page", [*PAGES, *GUIDE], ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"
