"""The command line. Nothing heavy is imported before a command asks for it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

from .. import __version__
from . import complete, demo, files, info, runs
from .common import Failed, Parser, Wrong, plain_warnings

__all__ = ["main"]

ABOUT = """Linear models whose coefficients follow a graph, by adaptive stochastic ADMM. Exit codes: 0 done;
1 failed on the way (rows that cannot be read, a missing package, a full disc); 2 called wrongly; 130 stopped by
Ctrl-C."""
EXAMPLES = """Examples:
  adasadmm demo                                          see it work, in a minute
  adasadmm fit rows.csv --target y --graph edges.csv --model m.skops
  adasadmm predict m.skops new.csv --out predictions.csv
  adasadmm COMMAND --help                                options and examples of a command
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 1 where something failed on the way, 2 where it was called wrongly."""
    parser = _parser()
    complete.answer(parser)
    options = parser.parse_args(arguments)
    options.command = shlex.join(["adasadmm", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        with plain_warnings():
            return options.run(options)
    except BrokenPipeError:  # `adasadmm ... | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("\nadasadmm: stopped", file=sys.stderr)
        return 130
    except Exception as error:
        if options.debug:
            raise
        code, message = _told(error)
        print(f"adasadmm: {message}", file=sys.stderr)
        return code


def _told(error: Exception) -> tuple[int, str]:
    """The exit code of an error, and what to say of it in one sentence."""
    if isinstance(error, Wrong):
        return 2, str(error)
    if isinstance(error, FileNotFoundError):
        return 2, f"there is no file {error.filename}: check the name, and the folder that you are in"
    if isinstance(error, OSError):
        return 1, f"{error.strerror or error}: {error.filename or 'writing'}"
    if isinstance(error, (Failed, ImportError)):
        return 1, str(error)
    if isinstance(error, MemoryError):
        return 1, f"not enough memory: {error or 'give fewer rows or features'}"
    advice = "this is a fault of adasadmm: please report it with the output of --debug and of adasadmm info"
    return 1, f"{type(error).__name__}: {error}; {advice}"


def _parser() -> Parser:
    parser = Parser(prog="adasadmm", description=ABOUT, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"adasadmm {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo.add_demo(commands)
    files.add_commands(commands)
    runs.add_reproduce(commands)
    runs.add_bench(commands)
    info.add_command(commands)
    complete.add_command(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
