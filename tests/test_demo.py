"""The demo: its table is there, its figures are what the algorithms give."""

import json

import pytest

from adasadmm.cli import main
from adasadmm.experiments import demo

pytestmark = pytest.mark.compiled  # too slow without the compiler


def test_the_demo_prints_a_table(capsys):
    assert main(["demo", "--epochs", "1"]) == 0
    out = capsys.readouterr().out
    for name in demo.SOLVERS:
        assert name in out


def test_the_figures_of_the_demo(capsys):
    assert main(["demo", "--json"]) == 0
    lines = {line["algorithm"]: line for line in json.loads(capsys.readouterr().out)}
    assert lines["batch ADMM"]["above_optimum"] < 1e-3
    assert all(line["above_optimum"] > -1e-6 for line in lines.values())
    adaptive = lines["Ada-SADMM, no step to tune"]
    assert adaptive["above_optimum"] < 0.2 < lines["SADMM, 1/(gamma t)"]["above_optimum"]
    assert adaptive["test_error"] < 0.13
