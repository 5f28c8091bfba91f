"""The command line. Heavy imports happen inside the commands, so that ``--help`` is fast."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Sequence

from .. import __version__
from .command import Failed, Parser, Wrong, in_options, plain_warnings
from .info import complete

__all__ = ["main"]

COMMANDS = ("fit", "predict", "experiments", "info")  # files with `add_commands`, in the order of the help

ABOUT = """Linear models with structured coefficients: fused along a graph or by levels of a table, sparse, constrained.
Exit codes: 0 success; 1 failed while running (unreadable rows, a missing package, a full disk); 2 called with invalid
options, names or paths; 130 stopped by Ctrl-C."""
EXAMPLES = """Examples:
  adasadmm demo                                          run a demonstration, half a minute
  adasadmm fit rows.csv --target y --graph edges.csv --model m.skops
  adasadmm predict m.skops new.csv --out predictions.csv
  adasadmm COMMAND --help                                options and examples of a command
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    The code is 0 on success, 1 if the command failed while running, 2 if it was called wrongly, 130 after Ctrl-C, and
    141 if the reader of its output went away.
    """
    parser = _parser()
    complete(parser)
    options = parser.parse_args(arguments)
    options.command = shlex.join(["adasadmm", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        with plain_warnings(options):
            return options.run(options)
    except BrokenPipeError:  # `adasadmm ... | head`: the pipe was closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("\nadasadmm: stopped", file=sys.stderr)
        return 130
    except Exception as error:
        if options.debug:
            raise
        code, message = _explained(error)
        print(f"adasadmm: {in_options(message, options)}", file=sys.stderr)
        return code


def _explained(error: Exception) -> tuple[int, str]:
    """Return the exit code and the one-line message of an error."""
    if isinstance(error, Wrong):
        return 2, str(error)
    if isinstance(error, FileNotFoundError):
        return 2, f"there is no file {error.filename}: check the name and the current folder"
    if isinstance(error, OSError):
        return 1, f"{error.strerror or error}: {error.filename or 'while writing'}"
    if isinstance(error, (Failed, ImportError)):
        return 1, str(error)
    if isinstance(error, MemoryError):
        return 1, f"not enough memory: {error or 'use fewer rows or features'}"
    advice = "this is a bug in adasadmm: please report it with the output of --debug and of adasadmm info"
    return 1, f"{type(error).__name__}: {error}; {advice}"


def _parser() -> Parser:
    parser = Parser(prog="adasadmm", description=ABOUT, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"adasadmm {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in COMMANDS:
        importlib.import_module(f".{module}", __name__).add_commands(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
