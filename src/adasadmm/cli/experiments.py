"""`adasadmm demo` and `adasadmm reproduce`: the paper's algorithms on named data sets."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .command import Commands, Failed, Parser, Wrong, add_command, add_output, as_json, count, names_of, positive
from .files import check_folder

if TYPE_CHECKING:
    from ..paper.report.showcase import Line

__all__ = ["add_commands"]

NEEDS = ("matplotlib", "jinja2")  # of the demo


def add_commands(commands: Commands) -> None:
    """Add the commands ``demo`` and ``reproduce``."""
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
    _add_experiment(parser, "passes of the stochastic algorithms over the rows", "demo")
    parser = add_command(
        commands,
        "reproduce",
        _reproduce,
        help="rerun the paper's experiment: table, figure and claims",
        about="Run the experiment of section 3 of the paper and write results.json, table.md, figure.svg, figure.png "
        "and report.html. An interrupted run resumes if --out is the same.",
        examples=[
            "adasadmm reproduce --datasets breast_cancer,digits --seeds 2     # bundled data, a minute",
            "adasadmm reproduce --datasets splice,news20 --seeds 2 --out quick",
            "adasadmm reproduce --data-dir DIR                                # all six, five seeds",
        ],
    )
    group = _add_experiment(parser, "passes over the rows", "reproduction")
    group.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder with the data files (default: $ADASADMM_DATA, then the user's cache; else they are downloaded)",
    )
    group.add_argument(
        "--datasets",
        metavar="A,B",
        help="names among the paper's six, breast_cancer and digits (default: the paper's six)",
    )
    group.add_argument(
        "--algorithms",
        metavar="A,B",
        help="default: sadmm,ada-diag,ada-full,sadmm-sqrt; sadmm-sqrt is SADMM with a tuned step size c/sqrt(t). Also: "
        "ada-diag-linearized, ada-diag-auto, oadmm, admm, sgd",
    )
    group.add_argument("--seeds", type=count, default=5, metavar="N", help="number of random splits (default: 5)")
    group.add_argument("--jobs", type=count, metavar="N", help="runs in parallel (default: one per core)")
    group.add_argument(
        "--w-step", choices=("exact", "linearized"), default="exact", help="w-step (default: exact, as in the paper)"
    )
    root = "recompute the root of the full matrix at every step, as in the paper; takes hours on w8a"
    group.add_argument("--exact-root", action="store_true", help=root)


def _add_experiment(parser: Parser, epochs_are: str, out: str) -> Any:
    """Add the options that both commands have; returns the group of those of the experiment."""
    group = parser.add_argument_group("experiment")
    group.add_argument("--epochs", type=positive, default=2.0, metavar="N", help=f"{epochs_are} (default: 2)")
    group.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"output folder (default: {out})")
    add_output(parser)
    return group


# --- the demo --------------------------------------------------------------------------------------------------------


def _demo(options: argparse.Namespace) -> int:
    missing = [package for package in NEEDS if find_spec(package) is None]
    if missing:
        raise Failed(f'the demo needs {" and ".join(missing)}: pip install "adasadmm[report]"')
    check_folder(options.out, "--out")
    begin = time.perf_counter()
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from ..paper import demo
    from ..paper.report.showcase import Showcase, write_showcase

    say: Callable[[str], None] = (lambda text: None) if options.json else partial(print, flush=True)
    say("Each algorithm is compiled the first time it is used; later runs load it from the cache.")
    with ProcessPoolExecutor(1, get_context("spawn")) as beside:  # most of a first run is compilation, on one core
        waiting = beside.submit(demo.pictures, next(iter(demo.STAGES)))
        lines = [line for name in demo.STAGES for line in _table(name, options.epochs, say)]
        recovery, maps = waiting.result()
    about = {"command": options.command, "seconds": f"{time.perf_counter() - begin:.0f}, including compilation"}
    titles = {name: (stage.title, stage.graph) for name, stage in demo.STAGES.items()}
    files = write_showcase(Showcase(titles, recovery, lines, maps, about), options.out)
    if options.json:
        print(as_json([line._asdict() for line in lines], indent=1))
    accuracies = recovery.accuracies
    say(
        f"\nWhich of {len(recovery.truth)} pixels decide, from 300 images: {accuracies['grid']:.1%} accuracy with the "
        f"pixel grid, {accuracies['ridge']:.1%} by ridge, {accuracies['L1']:.1%} by L1."
    )
    for one in maps:
        (without, with_graph), (before, after) = one.groups, one.test_errors
        say(
            f"{one.title}: {with_graph} distinct weights with the graph, {without} without; "
            f"test error {after:.1%} with, {before:.1%} without."
        )
    say(f"\nDone in {time.perf_counter() - begin:.0f} s. Open {files[0]} in a browser: figures, and what to try next.")
    return 0


def _table(name: str, epochs: float, say: Callable[[str], None]) -> Iterator[Line]:
    """Run the algorithms on a data set; each line is printed as soon as it is known."""
    from ..paper import demo

    stage = demo.STAGES[name]
    say(f"\n{stage.title}. Graph: {stage.graph}. Stochastic algorithms: {epochs:g} passes.")
    say(f"{'algorithm':<24}{'objective':>11}{'above optimum':>15}{'test error':>12}{'seconds':>9}")
    for line in demo.lines(name, epochs):
        figures = f"{line.objective:>11.4f}{line.above_optimum:>15.2%}{line.test_error:>12.1%}{line.seconds:>9.3f}"
        say(f"{line.algorithm:<24}{figures}")
        yield line


# --- the paper's experiment ------------------------------------------------------------------------------------------


def _reproduce(options: argparse.Namespace) -> int:
    from concurrent.futures import BrokenExecutor

    from ..paper import contest, reproduce

    plan = reproduce.Plan(
        datasets=names_of(options.datasets, "data set", (*reproduce.PAPER, *reproduce.BUNDLED), reproduce.PAPER),
        algorithms=names_of(options.algorithms, "algorithm", tuple(contest.ALGORITHMS), contest.DEFAULT),
        seeds=options.seeds,
        out=options.out,
        options=contest.Options(options.epochs, options.w_step, options.exact_root),
        data_dir=options.data_dir,
        jobs=options.jobs or reproduce.cpu_count(),
        command=options.command,
    )
    check_folder(plan.out, "--out")
    try:
        plan, available = reproduce.checked(plan, chosen=options.datasets is not None)
    except ValueError as error:
        raise Wrong(str(error)) from None
    if plan.datasets == reproduce.BUNDLED and options.datasets is None:
        print(
            "The paper's data sets were not found and could not be downloaded, so the experiment uses two that are "
            f"bundled with scikit-learn: {' and '.join(reproduce.BUNDLED)}. To use the paper's, give --data-dir DIR; "
            'downloading them needs pip install "adasadmm[data]" and a network connection.',
            file=sys.stderr,
        )
    try:
        outcome = reproduce.reproduce(plan, available, progress=not options.quiet)
    except KeyboardInterrupt:
        print(f"\nStopped. Finished runs are saved in {plan.out}; the same command resumes there.", file=sys.stderr)
        return 130
    except BrokenExecutor:
        raise Failed(
            "the system killed one of the processes, probably for lack of memory. Finished runs are saved in "
            f"{plan.out}; the same command resumes there. A smaller --jobs needs less memory"
        ) from None
    study = outcome.study
    if options.json:
        print(as_json(study.records))
    else:
        width = max(len(claim.verdict) for claim in study.claims)
        for claim in study.claims:
            print(f"{claim.verdict:<{width}}  {claim.text}")
        print("Written: " + ", ".join(str(file) for file in outcome.files))
    for failure in study.failures:
        print(f"failed: {failure.where}: {failure.message}", file=sys.stderr)
    return 1 if study.failures else 0
