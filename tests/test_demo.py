"""The demo: its tables are there, its figures are what the algorithms give, its page stands alone."""

import contextlib
import io
import json
import re

import numpy as np
import pytest

from adasadmm.cli import main
from adasadmm.paper import demo
from adasadmm.paper.report.showcase import Line

pytestmark = [
    pytest.mark.slow,
    pytest.mark.compiled,
]  # a whole run; far too slow without the compiler


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A whole run: what it printed as JSON, and where it wrote."""
    out, printed = tmp_path_factory.mktemp("demo") / "new", io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["demo", "--json", "--out", str(out)]) == 0
    return json.loads(printed.getvalue()), out


def test_the_demo_prints_a_table_for_each_data_set(shown, tmp_path, capsys, monkeypatch):
    lines = [Line(**line) for line in shown[0]]
    monkeypatch.setattr(demo, "lines", lambda name, epochs: [line for line in lines if line.dataset == name])
    assert main(["demo", "--quiet", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for stage in demo.STAGES.values():
        assert stage.title in out
    assert out.count("Ada-SADMM, full") == len(demo.STAGES)
    assert str(tmp_path / "report.html") in out.replace("\n", "")


def test_the_figures_of_the_demo(shown):
    lines = {(line["dataset"], line["algorithm"]): line for line in shown[0]}
    assert len(lines) == sum(len(demo.solvers(stage)) for stage in demo.STAGES.values())
    assert all(line["above_optimum"] > -1e-6 for line in lines.values())
    for name in demo.STAGES:
        above = {algorithm: line["above_optimum"] for (dataset, algorithm), line in lines.items() if dataset == name}
        assert above["augmented Lagrangian"] < 1e-3 and above["batch ADMM"] < 1e-3
        assert above["Ada-SADMM, full"] < above["Ada-SADMM, diagonal"] < above["SADMM, c/sqrt(t)"]
        assert above["SADMM, c/sqrt(t)"] < above["SADMM, 1/(gamma t)"]


def test_the_graph_leaves_fewer_weights_at_nearly_the_same_error():
    for one in demo.weight_maps():
        assert one.groups[1] < 0.7 * one.groups[0]
        assert abs(one.test_errors[1] - one.test_errors[0]) < 0.01


def test_the_graph_finds_planted_weights_where_ridge_and_l1_do_not():
    found = demo.recovery()
    assert found.accuracies["grid"] > max(found.accuracies["ridge"], found.accuracies["L1"]) + 0.05
    assert np.mean(np.equal(found.weights["L1"], 0.0)) > 0.3 and np.all(found.weights["ridge"])
    likeness = {name: np.corrcoef(found.truth, weights)[0, 1] for name, weights in found.weights.items()}
    assert likeness["grid"] > 0.8 > max(likeness["ridge"], likeness["L1"])


def test_the_page_holds_its_pictures_and_asks_for_nothing(shown):
    page = (shown[1] / "report.html").read_text()
    assert len(re.findall(r'<img src="data:image/svg\+xml;base64,', page)) == 5
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    pictures = {file.name for file in shown[1].glob("*.png")}
    assert pictures >= {"overview.png", "curves_digits.png", "weights_digits.png", "weights_breast_cancer.png"}
    assert (shown[1] / "overview.png").stat().st_size < 150_000


def test_without_its_extras_the_demo_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("adasadmm.cli.experiments.find_spec", lambda name: None)
    assert main(["demo"]) == 1
    assert 'pip install "adasadmm[report]"' in capsys.readouterr().err
