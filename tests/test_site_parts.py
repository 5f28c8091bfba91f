"""Parts of the site that are made when it is built: the support matrix, the pictures of benchmarks, the report."""

import importlib
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def extensions():
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    yield
    sys.path.remove(str(ROOT / "docs" / "_ext"))


def lines(table):
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
    return {row[0].strip("`"): dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_the_support_matrix_is_asked_of_the_code():
    support = importlib.import_module("support")
    by_loss, by_penalty, by_rows = lines(support.by_loss()), lines(support.by_penalty()), lines(support.by_rows())
    estimators = support.by_estimator()
    assert re.search(r"`StructuredRegressor`.*yes", estimators) and "| `TrendFilter` |  |" in estimators
    assert by_loss["ALM"]["Hinge"] == "yes" and by_loss["ASVRGADMM"]["Hinge"] == ""  # it needs curvature
    assert set(by_loss["ADMM"].values()) == {"yes"}
    assert by_penalty["IPM"]["L1"] == "yes" and by_penalty["IPM"]["Simplex"] == ""
    assert by_rows["AdaSADMM"]["rows from files"] == "yes" and by_rows["IPM"]["rows from files"] == ""
    assert by_rows["TotalVariation"]["dense X"] == "" and by_rows["ADMM"]["any B"] == "yes"


def test_the_pictures_show_the_figures_of_the_tables():
    pictures = importlib.import_module("benchmark_pictures")
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    shapes = pictures.shapes(text)
    assert set(shapes) == set(pictures.SHAPES)
    assert all(isinstance(row["adasadmm"], float) for row in shapes.values())
    assert "not supported" in shapes["chain 10,000, poisson"].values()
    assert all(len(seconds) == 3 for solvers in pictures.accuracies(text).values() for seconds in solvers.values())


def test_the_stored_report_is_whole_but_for_its_library():
    report = importlib.import_module("report")
    stored = report.STORED.read_text()
    assert len(stored) < 400_000 and stored.count(report.PLACE) == 1 and 'id="study"' in stored
    pytest.importorskip("plotly")
    assert report.without_library(report.with_library(stored)) == stored
    with pytest.raises(ValueError, match="0 copies"):
        report.without_library(stored)


def test_every_formula_can_be_shown():
    """MathML is made by docutils, which knows fewer commands than TeX."""
    convert = pytest.importorskip("docutils.utils.math.latex2mathml", reason="docutils is not installed").tex2mathml
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for formula in re.findall(r"\$\$(.+?)\$\$", text, flags=re.DOTALL):
            assert convert(formula, as_block=True)
