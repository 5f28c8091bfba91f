"""The command line. Nothing heavy is imported before a command asks for it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from . import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 2 where it was called wrongly."""
    options = _parser().parse_args(arguments)
    return options.run(options)


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
    return parser


def _demo(options: argparse.Namespace) -> int:
    from .experiments import demo

    if options.json:
        print(json.dumps([line._asdict() for line in demo.lines(options.epochs)], indent=2))
        return 0
    print("Handwritten digits, even against odd: hinge loss, the 8 x 8 pixel grid as graph, gamma = nu = 1/n.")
    print(
        f"Stochastic algorithms: {options.epochs:g} epochs, the mean of the iterates, c = eta = 1 (best powers of 2)."
    )
    print("The optimum is that of batch ADMM at a duality gap of 1e-6. Compiling is not in the times.\n")
    print(f"{'algorithm':<28}{'objective':>11}{'above optimum':>15}{'test error':>12}{'seconds':>9}")
    for line in demo.lines(options.epochs):
        print(
            f"{line.algorithm:<28}{line.objective:>11.4f}{line.above_optimum:>15.2%}"
            f"{line.test_error:>12.3f}{line.seconds:>9.3f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
