"""The commands that run algorithms on known data sets and compare them: reproduce, bench."""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import BrokenExecutor
from typing import Any

from .common import Failed, Wrong, add_command, add_experiment, check_folder, count, names_of, positive

__all__ = ["add_bench", "add_reproduce"]


def add_reproduce(commands: Any) -> None:
    parser = add_command(
        commands,
        "reproduce",
        _reproduce,
        help="the paper's experiment: its table, its figure, its claims",
        about="Runs section 3 of the paper and writes results.json, table.md, figure.svg, figure.png and report.html. "
        "A run that was stopped goes on where it was, given the same --out.",
        examples=[
            "adasadmm reproduce --datasets breast_cancer,digits --seeds 2     # no data needed, a minute",
            "adasadmm reproduce --datasets splice,news20 --seeds 2 --out quick",
            "adasadmm reproduce --data-dir DIR                                # all six, five seeds",
        ],
    )
    add_experiment(
        parser, "some of the six, or breast_cancer, digits (default: the six)", 2.0, "passes", "reproduction"
    )
    parser.add_argument(
        "--algorithms", metavar="A,B", help="default: sadmm,ada-diag,ada-full and sadmm-sqrt, a fair baseline; more: "
        "ada-diag-linearized, ada-diag-auto, oadmm, admm, sgd"
    )  # fmt: skip
    parser.add_argument("--seeds", type=count, default=5, metavar="N", help="default: 5")
    parser.add_argument("--jobs", type=count, metavar="N", help="runs at a time (default: one for each core)")
    parser.add_argument(
        "--w-step", choices=("exact", "linearized"), default="exact", help="default: exact, the paper's"
    )
    parser.add_argument("--exact-root", action="store_true", help="root of the full matrix at every step: hours on w8a")


def add_bench(commands: Any) -> None:
    parser = add_command(
        commands,
        "bench",
        _bench,
        help="time to an accuracy: our solvers, and CVXPY's where it is installed",
        about="Prints the seconds that each solver takes to come within 1 %, 0.1 % and 0.01 % of the optimum, and "
        "writes results.json and a picture, bench.svg and bench.png. About a minute.",
        examples=["adasadmm bench", "adasadmm bench --datasets a9a,w8a --loss logistic --limit 30 --out larger"],
    )
    sets = "of breast_cancer, digits and the paper's six (default: the first two)"
    add_experiment(parser, sets, 100.0, "of stochastic solvers, at most", "bench")
    parser.add_argument("--loss", choices=("hinge", "logistic"), default="hinge", help="default: hinge")
    parser.add_argument("--limit", type=positive, default=5.0, metavar="SECONDS", help="for each run (default: 5)")


def _reproduce(options: argparse.Namespace) -> int:
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
            "None of the paper's data sets is here, and none could be downloaded: this runs on two that come with "
            f"scikit-learn, {' and '.join(reproduce.BUNDLED)}. For the paper's give --data-dir DIR, or let them be "
            'downloaded: pip install "adasadmm[data]" and a network.',
            file=sys.stderr,
        )
    try:
        outcome = reproduce.reproduce(plan, available, progress=not options.quiet)
    except KeyboardInterrupt:
        print(f"\nStopped. What is finished is in {plan.out}; the same command goes on there.", file=sys.stderr)
        return 130
    except BrokenExecutor:
        raise Failed(
            "the system ended one of the processes, mostly for lack of memory. What is finished is in "
            f"{plan.out}; the same command goes on there, and with a smaller --jobs needs less memory"
        ) from None
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
    from .. import datasets
    from ..paper import bench

    names = names_of(options.datasets, "data set", (*datasets.BUNDLED, *datasets.PAPER), bench.PRESET)
    limits = bench.Limits(options.epochs, options.limit)
    check_folder(options.out, "--out")
    show = (lambda *_, **__: None) if options.json else print
    records, found = [], []
    for name in names:
        try:
            course = bench.course(name, options.data_dir, options.loss)
        except datasets.DatasetError as error:
            raise Wrong(str(error)) from None
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
    elif not options.quiet:
        print("Written: " + ", ".join(map(str, files)))
    for hint in bench.missing(options.loss):
        print(hint, file=sys.stderr)
    return 0
