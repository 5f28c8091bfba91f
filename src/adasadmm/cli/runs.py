"""`adasadmm reproduce`: the paper's experiment."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import BrokenExecutor

from .common import (
    Commands,
    Failed,
    Wrong,
    add_command,
    add_experiment,
    as_json,
    check_folder,
    count,
    names_of,
)

__all__ = ["add_commands"]


def add_commands(commands: Commands) -> None:
    """Add the command ``reproduce``."""
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
    sets = "names among the paper's six, breast_cancer and digits (default: the paper's six)"
    add_experiment(parser, sets, 2.0, "passes over the rows", "reproduction")
    parser.add_argument(
        "--algorithms",
        metavar="A,B",
        help="default: sadmm,ada-diag,ada-full,sadmm-sqrt; sadmm-sqrt is SADMM with a tuned step size c/sqrt(t). Also: "
        "ada-diag-linearized, ada-diag-auto, oadmm, admm, sgd",
    )
    parser.add_argument("--seeds", type=count, default=5, metavar="N", help="number of random splits (default: 5)")
    parser.add_argument("--jobs", type=count, metavar="N", help="runs in parallel (default: one per core)")
    parser.add_argument(
        "--w-step", choices=("exact", "linearized"), default="exact", help="w-step (default: exact, as in the paper)"
    )
    root = "recompute the root of the full matrix at every step, as in the paper; takes hours on w8a"
    parser.add_argument("--exact-root", action="store_true", help=root)


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
