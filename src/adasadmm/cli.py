"""The command line. Nothing heavy is imported before a command asks for it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any

from . import __version__, cli_files, cli_info
from .cli_files import Wrong as _Wrong
from .cli_files import count as _count

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 1 where something failed on the way, 2 where it was called wrongly."""
    options = _parser().parse_args(arguments)
    options.command = shlex.join(["adasadmm", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        return options.run(options)
    except _Wrong as error:
        print(f"adasadmm: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `adasadmm ... | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"adasadmm: {error.strerror or error}: {error.filename or 'writing'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nadasadmm: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="adasadmm", description="Linear models whose coefficients follow a graph, by adaptive stochastic ADMM."
    )
    parser.add_argument("--version", action="version", version=f"adasadmm {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="the paper's algorithms side by side on handwritten digits")
    demo.add_argument("--epochs", type=float, default=2.0, help="passes of the stochastic algorithms (default: 2)")
    demo.add_argument("--json", action="store_true", help="print figures as JSON")
    demo.set_defaults(run=_demo)
    cli_files.add_commands(commands)
    _add_reproduce(commands)
    _add_bench(commands)
    cli_info.add_command(commands)
    return parser


def _add_reproduce(commands: Any) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="the paper's experiment: its table, its figure, its claims",
        description="Runs section 3 of the paper and writes results.json, table.md, figure.svg, figure.png and "
        "report.html. A run that was stopped goes on where it was, given the same --out.",
        epilog="Example: adasadmm reproduce --datasets splice,news20 --seeds 2 --out quick",
    )
    parser.add_argument("--data-dir", metavar="DIR", help="folder with the data sets (default: $ADASADMM_DATA)")
    parser.add_argument(
        "--datasets", metavar="A,B", help="some of the six, or breast_cancer, digits (default: the six)"
    )
    parser.add_argument(
        "--algorithms", metavar="A,B", help="default: sadmm,ada-diag,ada-full and sadmm-sqrt, a fair baseline; more: "
        "ada-diag-linearized, ada-diag-auto, oadmm, admm, sgd"
    )  # fmt: skip
    parser.add_argument("--seeds", type=_count, default=5, metavar="N", help="default: 5")
    parser.add_argument("--epochs", type=_positive, default=2.0, metavar="N", help="default: 2")
    parser.add_argument("--jobs", type=_count, metavar="N", help="runs at a time (default: one for each core)")
    parser.add_argument("--out", type=Path, default=Path("reproduction"), metavar="DIR", help="default: reproduction")
    parser.add_argument("--json", action="store_true", help="print the records of results.json")
    parser.add_argument(
        "--w-step", choices=("exact", "linearized"), default="exact", help="default: exact, the paper's"
    )
    parser.add_argument("--exact-root", action="store_true", help="root of the full matrix at every step: hours on w8a")
    parser.set_defaults(run=_reproduce)


def _add_bench(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="time to an accuracy: our solvers, and CVXPY's where it is installed",
        description="Prints the seconds that each solver takes to come within 1 %, 0.1 % and 0.01 % of the optimum, "
        "and writes results.json and a picture, bench.svg and bench.png. About a minute.",
        epilog="Example: adasadmm bench --datasets splice --loss logistic --out quick",
    )
    parser.add_argument("--data-dir", metavar="DIR", help="folder with the data sets (default: $ADASADMM_DATA)")
    parser.add_argument(
        "--datasets", metavar="A,B", help="of breast_cancer, digits and the paper's six (default: the first two)"
    )
    parser.add_argument("--loss", choices=("hinge", "logistic"), default="hinge", help="default: hinge")
    parser.add_argument(
        "--epochs", type=_positive, default=100.0, metavar="N", help="of stochastic solvers, at most (default: 100)"
    )
    parser.add_argument("--limit", type=_positive, default=5.0, metavar="SECONDS", help="for each run (default: 5)")
    parser.add_argument("--out", type=Path, default=Path("bench"), metavar="DIR", help="default: bench")
    parser.add_argument("--json", action="store_true", help="print the records of results.json")
    parser.set_defaults(run=_bench)


def _positive(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0.0 < (number := float(text)) < float("inf"):
            return number
    raise argparse.ArgumentTypeError(f"must be a positive number, got {text}")


def _demo(options: argparse.Namespace) -> int:
    from .experiments import demo

    if options.json:
        print(json.dumps([line._asdict() for line in demo.lines(options.epochs)], indent=2))
        return 0
    print("Handwritten digits, even against odd: hinge loss, the 8 x 8 pixel grid as graph, gamma = nu = 1/n.")
    print(
        f"Stochastic algorithms: {options.epochs:g} epochs, the mean of the iterates, c = eta = 1 (best powers of 2)."
    )
    print("The optimum is proved to 1e-8; the last two stop at a proved 1e-3. Compiling is not in the times.\n")
    print(f"{'algorithm':<28}{'objective':>11}{'above optimum':>15}{'test error':>12}{'seconds':>9}")
    for line in demo.lines(options.epochs):
        print(
            f"{line.algorithm:<28}{line.objective:>11.4f}{line.above_optimum:>15.2%}"
            f"{line.test_error:>12.3f}{line.seconds:>9.3f}",
            flush=True,
        )
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    from .experiments import contest, reproduce

    plan = reproduce.Plan(
        datasets=_names(options.datasets, "data set", (*reproduce.PAPER, *reproduce.BUNDLED), reproduce.PAPER),
        algorithms=_names(options.algorithms, "algorithm", tuple(contest.ALGORITHMS), contest.DEFAULT),
        seeds=options.seeds,
        out=options.out,
        options=contest.Options(options.epochs, options.w_step, options.exact_root),
        data_dir=options.data_dir,
        jobs=options.jobs or reproduce.cpu_count(),
        command=options.command,
    )
    try:
        plan, available = reproduce.checked(plan, chosen=options.datasets is not None)
    except (ValueError, ImportError) as error:
        raise _Wrong(str(error)) from None
    if plan.datasets == reproduce.BUNDLED and options.datasets is None:
        print(
            "None of the paper's data sets is here, and none could be downloaded: this runs on two that come with "
            f"scikit-learn, {' and '.join(reproduce.BUNDLED)}. For the paper's give --data-dir DIR, or let them be "
            'downloaded: pip install "adasadmm[data]" and a network.',
            file=sys.stderr,
        )
    try:
        outcome = reproduce.reproduce(plan, available)
    except KeyboardInterrupt:
        print(f"\nStopped. What is finished is in {plan.out}; the same command goes on there.", file=sys.stderr)
        return 130
    except BrokenExecutor:
        print(
            "\nadasadmm: the system ended one of the processes, mostly for lack of memory. What is finished is in "
            f"{plan.out}; the same command goes on there, and with a smaller --jobs needs less memory.",
            file=sys.stderr,
        )
        return 1
    study = outcome.study
    if options.json:
        print(json.dumps(study.records))
    else:
        width = max(len(claim.verdict) for claim in study.claims)
        for claim in study.claims:
            print(f"{claim.verdict:<{width}}  {claim.text}")
        print("Written: " + ", ".join(str(file) for file in outcome.files))
    for failure in study.failures:
        print(f"failed: {failure.where}: {failure.message}", file=sys.stderr)
    return 1 if study.failures else 0


def _bench(options: argparse.Namespace) -> int:
    from . import datasets
    from .experiments import bench

    names = _names(options.datasets, "data set", (*datasets.BUNDLED, *datasets.PAPER), bench.PRESET)
    limits = bench.Limits(options.epochs, options.limit)
    show = (lambda *_, **__: None) if options.json else print
    records, found = [], []
    for name in names:
        try:
            course = bench.course(name, options.data_dir, options.loss)
        except datasets.DatasetError as error:
            raise _Wrong(str(error)) from None
        show(bench.heading(course), flush=True)
        lanes = []
        for lane in bench.lanes(course, limits):
            show(bench.line(lane), flush=True)
            lanes.append(lane)
        show()
        records.append(bench.record(course, lanes))
        found += lanes
    files = bench.write(records, found, options.out)
    if options.json:
        print(json.dumps(records))
    else:
        print("Written: " + ", ".join(map(str, files)))
    for hint in bench.missing(options.loss):
        print(hint, file=sys.stderr)
    return 0


def _names(text: str | None, what: str, known: tuple[str, ...], default: tuple[str, ...]) -> tuple[str, ...]:
    """The names in a list with commas, each known and once."""
    from .datasets import check_name

    if text is None:
        return default
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        return tuple(dict.fromkeys(check_name(name, known, what) for name in names)) or default
    except ValueError as error:
        raise _Wrong(str(error)) from None


if __name__ == "__main__":
    sys.exit(main())
