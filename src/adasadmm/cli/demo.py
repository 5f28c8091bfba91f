"""`adasadmm demo`: tables that fill as the algorithms finish, then a page with figures."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from .common import Commands, Failed, add_command, add_experiment, as_json, check_folder

if TYPE_CHECKING:
    from ..paper.report.showcase import Line

__all__ = ["add_commands"]

NEEDS = ("rich", "matplotlib", "jinja2")
T = TypeVar("T")


def add_commands(commands: Commands) -> None:
    """Add the command ``demo``."""
    parser = add_command(
        commands,
        "demo",
        _demo,
        help="show what structure gains, run the paper's algorithms, and write a page with figures; half a minute",
        about="Recover the planted weights of an image with and without its pixel grid, and run the paper's algorithms "
        "on handwritten digits and breast cancer data with a learnt graph. Print a table of results, and write "
        "report.html with its figures.",
        examples=["adasadmm demo", "adasadmm demo --epochs 5 --out longer", "adasadmm demo --json > figures.json"],
    )
    add_experiment(parser, "", 2.0, "passes of the stochastic algorithms over the rows", "demo")


def _demo(options: argparse.Namespace) -> int:
    missing = [package for package in NEEDS if find_spec(package) is None]
    if missing:
        raise Failed(f'the demo needs {" and ".join(missing)}: pip install "adasadmm[cli,report]"')
    check_folder(options.out, "--out")
    begin = time.perf_counter()
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from ..paper import demo
    from ..paper.report.showcase import Showcase, write_showcase

    show = _Terminal(silent=options.json, still=options.quiet)
    show.say("Each algorithm is compiled the first time it is used; later runs load it from the cache.")
    with ProcessPoolExecutor(1, get_context("spawn")) as beside:  # most of a first run is compilation, on one core
        pictures = beside.submit(demo.pictures, next(iter(demo.STAGES)))
        lines = [line for name in demo.STAGES for line in show.table(name, options.epochs)]
        ((recovery, maps),) = show.waiting("weights with and without the graph", (one.result() for one in [pictures]))
    about = {"command": options.command, "seconds": f"{time.perf_counter() - begin:.0f}, including compilation"}
    titles = {name: (stage.title, stage.graph) for name, stage in demo.STAGES.items()}
    files = write_showcase(Showcase(titles, recovery, lines, maps, about), options.out)
    if options.json:
        print(as_json([line._asdict() for line in lines], indent=1))
    accuracies = recovery.accuracies
    show.say(
        f"Which of {len(recovery.truth)} pixels decide, from 300 images: {accuracies['grid']:.1%} accuracy with the "
        f"pixel grid, {accuracies['ridge']:.1%} by ridge, {accuracies['L1']:.1%} by L1."
    )
    for one in maps:
        (without, with_graph), (before, after) = one.groups, one.test_errors
        show.say(
            f"{one.title}: {with_graph} distinct weights with the graph, {without} without; "
            f"test error {after:.1%} with, {before:.1%} without."
        )
    show.say(
        f"\nDone in {time.perf_counter() - begin:.0f} s. Open {files[0]} in a browser: figures, and what to try next."
    )
    return 0


class _Terminal:
    """Progress in the terminal, drawn by rich; silent if only JSON is wanted."""

    def __init__(self, silent: bool, still: bool) -> None:
        from rich.console import Console

        self.console = Console(quiet=silent, highlight=False)
        self.moves = self.console.is_terminal and not still

    def say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, markup=False)

    def table(self, name: str, epochs: float) -> Iterator[Line]:
        """Run the algorithms on a data set; each line is shown as soon as it is known."""
        from rich.live import Live
        from rich.table import Table

        from ..paper import demo

        stage = demo.STAGES[name]
        self.say(f"\n{stage.title}. Graph: {stage.graph}. Stochastic algorithms: {epochs:g} passes.")
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

    def waiting(self, what: str, work: Iterable[T]) -> Iterator[T]:
        """Show a spinner while work is done."""
        with self.console.status(what) if self.moves else nullcontext():
            yield from work
        self.say("")
