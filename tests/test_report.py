"""The report: every figure is there and right, one file holds the page, hostile text stays text."""

import html.parser
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import studies
from studies import ALGORITHMS, DATASETS, HOSTILE, KNOWN

from adasadmm.paper.report import Claim, LearntGraph, table, write_figure, write_page
from adasadmm.paper.report.compare import Compared, conclusion, optimum, rows
from adasadmm.paper.report.drawing import draw
from adasadmm.paper.report.figure import curves, horizon

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "input", "br", "link", "img"}


class Page(html.parser.HTMLParser):
    """The elements of a page with their attributes, and its texts but for scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.scripts, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        (self.scripts if self.open[-1:] in (["script"], ["style"]) else self.texts).append(data)

    def cells(self):
        return {
            (one["data-dataset"], one["data-algorithm"], one["data-figure"]): one
            for tag, one in self.elements
            if tag == "td"
        }


@pytest.fixture(scope="module")
def whole():
    return studies.study()


@pytest.fixture(scope="module")
def page_text(whole, tmp_path_factory):
    return written(whole, tmp_path_factory.mktemp("page"))


def written(study, folder):
    write_page(study, folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


def mean(study, dataset, algorithm, name):
    return np.mean([one[name] for one in study.cell(dataset, algorithm)])


# The comparison


def test_differences_are_relative_absolute_and_a_ratio():
    assert Compared("objective", 0.3621, 0.001, 0.3550, 0.0001).difference_text == "+2.0 %"
    assert Compared("test_error", 0.1496, 0.001, 0.1501, 0.0012).difference_text == "-0.0005"
    assert Compared("seconds", 0.5, 0.1, 56.0, None).difference_text == "112x faster"
    assert Compared("seconds", 3.0, 0.1, 2.0, None).difference_text == "1.5x slower"
    assert Compared("objective", 1.0, None, None, None).difference_text == "—"
    assert Compared("objective", float("inf"), None, 1.0, 0.1).difference_text == "—"


def test_means_and_deviations_are_those_of_the_seeds(whole):
    row = rows(whole, "a9a", whole.papers)[1]
    values = [one["objective"] for one in whole.cell("a9a", "ada-diag")]
    assert row.figures[0].ours == pytest.approx(np.mean(values))
    assert row.figures[0].ours_sd == pytest.approx(np.std(values, ddof=1))
    assert row.figures[0].difference == pytest.approx(np.mean(values) / 0.3550 - 1)


def test_the_optimum_is_the_mean_over_seeds(whole):
    assert optimum(whole, "a9a") == pytest.approx(0.352 * 1.002)
    unknown = studies.study(records=[{**one, "optimum": None} for one in whole.records])
    assert optimum(unknown, "a9a") is None


def test_the_conclusion_counts_the_claims(whole):
    assert conclusion(whole) == "3 claims checked on 6 data sets: 1 holds on all of them, 1 on some, 1 on none."
    assert conclusion(studies.study(claims=[])) == "No claim could be checked."
    two = [Claim("a", "", {"x": True}, {}), Claim("b", "", {"x": True}, {})]
    assert conclusion(studies.study(claims=two)) == "2 claims checked on 1 data set: 2 hold on all of them."


# The table


def test_the_table_has_every_cell(whole):
    text = table(whole)
    for dataset in DATASETS:
        block = text.split(f"## {dataset}\n")[1].split("\n## ")[0]
        for algorithm, label in ALGORITHMS.items():
            (line,) = [line for line in block.splitlines() if line.startswith(f"| {label}, eta = 0.5 ")]
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            assert len(cells) == 10
            assert cells[1].startswith(f"{mean(whole, dataset, algorithm, 'objective'):.4f} ± ")
            assert cells[4].startswith(f"{mean(whole, dataset, algorithm, 'test_error'):.4f} ± ")
            assert float(cells[7]) == pytest.approx(mean(whole, dataset, algorithm, "seconds"), rel=0.01)
            known = KNOWN.get(dataset, {}).get(algorithm)
            assert cells[2] == (f"{known.objective:.4f} ± {known.objective_sd:.4f}" if known else "—")
            assert (cells[3] == "—") == (known is None)


def test_the_table_shows_extras_apart_and_all_other_parts(whole):
    text = table(whole)
    block = text.split("## a9a\n")[1].split("\n## ")[0]
    before, after = block.split("Not in the paper:")
    assert "Ada-SADMM full" in before and "batch ADMM" in after and "batch ADMM" not in before
    for part in ["Optimum of the problem: 0.3527", "holds on 1 of 6", "no, w8a: 0.3552 against 1.31", "took longer"]:
        assert part in text
    for part in ["by cross validation", "postings of Roweis", "- machine: 2 cores of 3.4 GHz"]:
        assert part in text


def test_the_table_escapes_what_would_end_a_cell():
    text = table(studies.hostile_study())
    assert "<script" not in text
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")}
    assert widths == {11, 4, 5}  # figures, settings, failures


# The figure


@pytest.mark.slow
def test_the_figure_has_three_panels_for_each_data_set_and_is_the_same_each_time(whole, tmp_path):
    write_figure(whole, tmp_path / "one")
    write_figure(whole, tmp_path / "two")
    one, two = ((tmp_path / name / "figure.svg").read_bytes() for name in ("one", "two"))
    assert one == two
    groups = [group.get("id", "") for group in ET.fromstring(one).iter(f"{SVG}g")]
    assert sum(bool(re.fullmatch(r"axes_\d+", name)) for name in groups) == 18
    assert (tmp_path / "one" / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_figure_leaves_the_settings_of_matplotlib_alone(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    write_figure(studies.study(datasets=("a9a",)), tmp_path)
    assert dict(matplotlib.rcParams) == before


def test_curves_are_means_and_a_run_that_stopped_keeps_its_last_figure(whole):
    runs = [whole.cell("a9a", "sadmm")[0] for _ in range(2)]
    half = {name: values[:21] for name, values in runs[1]["trace"].items()}
    study = studies.study(records=[runs[0], {**runs[1], "seed": 1, "trace": half}])
    curve = curves(study, "a9a")["sadmm"]
    long = np.array(runs[0]["trace"]["objective"])
    assert curve.mean["objective"][:21] == pytest.approx(long[:21])
    assert curve.mean["objective"][-1] == pytest.approx((long[-1] + long[20]) / 2)
    assert np.all(curve.low["objective"] > 0)


def test_only_the_epochs_of_the_papers_algorithms_are_shown(whole):
    slow = whole.cell("a9a", "admm")[0]
    slow = {**slow, "trace": {**slow["trace"], "epoch": [100 * e for e in slow["trace"]["epoch"]]}}
    study = studies.study(records=[*whole.cell("a9a", "sadmm"), slow])
    assert horizon(study, curves(study, "a9a")) == 2.0


# The page


def test_the_page_has_every_cell_of_the_table(whole, page_text):
    cells = Page(page_text).cells()
    assert len(cells) == len(DATASETS) * len(ALGORITHMS) * 3
    for (dataset, algorithm, name), cell in cells.items():
        assert float(cell["data-ours"]) == pytest.approx(mean(whole, dataset, algorithm, name))
        known = KNOWN.get(dataset, {}).get(algorithm)
        assert ("data-paper" in cell) == ("data-difference" in cell) == (known is not None)
        assert known is None or float(cell["data-paper"]) == getattr(known, name)


def test_the_page_loads_nothing(page_text):
    page = Page(page_text)
    assert not page.open
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed")
        assert "src" not in attributes
        assert attributes.get("href", "#") in ("figure.svg", "figure.png") or attributes.get("href", "#")[0] == "#"
    style = page_text.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style


def test_the_page_shows_claims_failures_graphs_settings_and_the_run(page_text):
    page = Page(page_text)
    text = " ".join(" ".join(page.texts).split())
    for part in ["holds on 1 of 6", "took longer than 600 s", "by cross validation", "adasadmm reproduce --seeds 3"]:
        assert part in text
    assert "postings of Roweis" in text and "figure.svg" in text and "Optimum of the problem" in text
    assert sum("data-claim" in one for _, one in page.elements) == 4
    assert sum("data-graph" in one for _, one in page.elements) == 6
    assert sum(tag == "circle" for tag, _ in page.elements) == 6 * 60


def test_the_data_of_the_curves_are_in_the_page(whole, page_text):
    data = json.loads(page_text.split('id="study">')[1].split("</script>")[0])
    assert [one["name"] for one in data["datasets"]] == list(DATASETS)
    curve = data["datasets"][0]["curves"]["ada-diag"]
    assert len(curve["epoch"]) == len(curve["objective"]["mean"]) == 41
    assert curve["objective"]["mean"][-1] == pytest.approx(mean(whole, "a9a", "ada-diag", "objective"), rel=1e-5)


def test_hostile_text_stays_text(tmp_path):
    study = studies.hostile_study()
    text = written(study, tmp_path)
    page = Page(text)
    assert not page.open
    assert "<script>alert" not in text and "49" not in "".join(page.texts).split("seed 0")[0]
    assert not any("alert(1)" in script for script in page.scripts if "\\u003c" not in script)
    assert {key[0] for key in page.cells()} == {HOSTILE}
    data = json.loads(text.split('id="study">')[1].split("</script>")[0])
    assert data["datasets"][0]["name"] == HOSTILE
    write_figure(study, tmp_path)
    ET.parse(tmp_path / "figure.svg")


def small(**changes):
    return studies.study(**{"datasets": ("a9a", "mushrooms"), **changes})


def diverged():
    good = small().records
    trace = {**good[0]["trace"], "objective": [1.0] + [float("inf")] * 39 + [float("nan")]}
    return small(records=[{**good[0], "objective": float("inf"), "optimum": None, "trace": trace}, *good[1:]])


def untraced():
    one = studies.record("a9a", "sadmm", 0)
    return small(records=[{**one, "trace": {name: [] for name in one["trace"]}}])


NO_RESULT = {"records": [], "claims": [], "graphs": [], "known": {}}
NO_EDGES = [LearntGraph("a9a", "x", ["a", "b"], [], [0.0, 0.0]), LearntGraph("a9a", "x", [], [], [])]
MISSING = {
    "no figures of the paper": lambda: small(known={}),
    "no extras": lambda: small(algorithms=("sadmm", "ada-diag"), known={}),
    "nothing of the paper's": lambda: small(algorithms=("admm",), known={}),
    "one seed": lambda: small(seeds=(0,)),
    "one data set": lambda: small(datasets=("a9a",)),
    "no graphs": lambda: small(graphs=[]),
    "graphs without edges": lambda: small(graphs=NO_EDGES),
    "failures only": lambda: small(**NO_RESULT),
    "nothing": lambda: small(**NO_RESULT, settings=[], failures=[], about={}, notes={}),
    "a run that diverged": diverged,
    "no traces": untraced,
}


@pytest.mark.parametrize("study", MISSING.values(), ids=MISSING.keys())
def test_what_is_missing_is_left_out(study, tmp_path):
    study = study()
    assert table(study).startswith("# ")
    write_figure(study, tmp_path)
    page = Page(written(study, tmp_path))
    assert not page.open
    ours = {(one["dataset"], one["algorithm"]) for one in study.records}
    papers = {(dataset, name) for dataset in study.datasets for name in study.known.get(dataset, {})}
    assert len(page.cells()) == 3 * len(ours | papers)
    assert "nan" not in table(study)


def test_a_drawing_has_each_node_in_its_frame_and_leaves_out_only_the_smallest():
    drawing = draw(studies.graph("a9a"))
    assert len(drawing.nodes) == 60 and drawing.alone >= 8 and drawing.left_out == 0
    assert all(0 < node.x < drawing.width and 0 < node.y < drawing.height for node in drawing.nodes)
    large = draw(studies.graph("a9a", nodes=400, edges=600))
    assert len(large.nodes) == 300 and large.left_out == 100
    assert draw(studies.graph("a9a")) == drawing


@pytest.mark.parametrize(
    ("package", "call"), [("matplotlib", "write_figure"), ("plotly", "write_page"), ("jinja2", "write_page")]
)
def test_a_missing_package_is_named_with_what_to_install(package, call, tmp_path, monkeypatch):
    import adasadmm.paper.report

    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'needs {package}: pip install "adasadmm\[report\]"'):
        getattr(adasadmm.paper.report, call)(studies.study(datasets=("a9a",)), tmp_path / "report")


def test_importing_the_report_imports_none_of_its_extras():
    code = "import sys, adasadmm.paper.report; assert not {'matplotlib', 'plotly', 'jinja2'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
