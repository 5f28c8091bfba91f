"""`adasadmm demo`: tables that grow as the algorithms end, then a page with pictures."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any

from .common import Failed, add_command, add_experiment, check_folder

__all__ = ["add_demo"]

NEEDS = ("rich", "matplotlib", "jinja2")


def add_demo(commands: Any) -> None:
    parser = add_command(
        commands,
        "demo",
        _demo,
        help="see it work: the paper's algorithms on real data, a page with pictures; under a minute",
        about="Runs the paper's algorithms on handwritten digits with the grid of pixels as graph, and on breast "
        "cancer with a graph that is learnt. Tells a table as it goes, and writes report.html and pictures.",
        examples=["adasadmm demo", "adasadmm demo --epochs 5 --out longer", "adasadmm demo --json > figures.json"],
    )
    add_experiment(parser, "", 2.0, "passes of the stochastic algorithms", "demo")


def _demo(options: argparse.Namespace) -> int:
    missing = [package for package in NEEDS if find_spec(package) is None]
    if missing:
        raise Failed(f'the demo needs {" and ".join(missing)}: pip install "adasadmm[cli,report]"')
    check_folder(options.out, "--out")
    begin = time.perf_counter()
    from ..paper import demo
    from ..paper.report.showcase import Showcase, write_showcase

    show = _Terminal(silent=options.json, still=options.quiet)
    show.say("Each algorithm is compiled when it is first used; later runs take it from the cache.")
    lines = [line for name in demo.STAGES for line in show.table(name, demo, options.epochs)]
    maps = list(show.waiting("weights with and without the graph", demo.weight_maps()))
    about = {"command": options.command, "seconds": f"{time.perf_counter() - begin:.0f}, with compiling"}
    titles = {name: (stage.title, stage.graph) for name, stage in demo.STAGES.items()}
    files = write_showcase(Showcase(titles, lines, maps, about), options.out)
    if options.json:
        print(json.dumps([line._asdict() for line in lines], indent=1))
    for one in maps:
        (without, with_graph), (before, after) = one.groups, one.test_errors
        show.say(
            f"{one.title}: {with_graph} different weights in place of {without}, "
            f"test error {after:.1%} against {before:.1%}."
        )
    show.say(
        f"\n{time.perf_counter() - begin:.0f} seconds. Open {files[0]} in a browser: pictures, and what to try next."
    )
    return 0


class _Terminal:
    """What is shown on the way, by rich; nothing where only figures are wanted."""

    def __init__(self, silent: bool, still: bool) -> None:
        from rich.console import Console

        self.console = Console(quiet=silent, highlight=False)
        self.moves = self.console.is_terminal and not still

    def say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, markup=False)

    def table(self, name: str, demo: Any, epochs: float) -> Any:
        """The lines of a data set, each shown when it is there."""
        from rich.live import Live
        from rich.table import Table

        stage = demo.STAGES[name]
        self.say(f"\n{stage.title}; the graph: {stage.graph}; {epochs:g} passes of the stochastic algorithms")
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("algorithm", min_width=22)
        for head in ("objective", "above optimum", "test error", "seconds"):
            table.add_column(head, justify="right")
        waiting = iter([*demo.solvers(stage), ""])
        with Live(table, console=self.console) if self.moves else nullcontext():
            table.caption = f"running {next(waiting)} ..."
            for line in demo.lines(name, epochs):
                figures = f"{line.objective:.4f}", f"{line.above_optimum:.2%}", f"{line.test_error:.1%}"
                table.add_row(line.algorithm, *figures, f"{line.seconds:.3f}")
                following = next(waiting)
                table.caption = f"running {following} ..." if following else None
                yield line
        if not self.moves:
            self.console.print(table)

    def waiting(self, what: str, work: Any) -> Any:
        with self.console.status(what) if self.moves else nullcontext():
            yield from work
        self.say("")
