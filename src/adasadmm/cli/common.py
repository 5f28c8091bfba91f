"""Shared by all commands: declaring them, checking option values and output paths, printing errors and figures."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeAlias

__all__ = [
    "Commands",
    "CsvWriter",
    "Failed",
    "Parser",
    "Registered",
    "Run",
    "Wrong",
    "add_command",
    "add_experiment",
    "add_output",
    "as_json",
    "check_file",
    "check_folder",
    "count",
    "given",
    "in_options",
    "names_of",
    "not_negative",
    "open_output",
    "plain_warnings",
    "positive",
    "print_figures",
    "share",
]

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a text begins that a spreadsheet takes for a formula
MOST_PRINTED = 10  # figures of classes on one line
Run = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"

# Parameters of Python functions that error messages name, the options that set them, and their attributes.
OPTIONS = {
    "resume=True": ("--resume", "resume"),
    "max_iter": ("--epochs (with --solver)", "solver"),
    "tol": ("--tol", "tol"),
    "data_dir": ("--data-dir", "data_dir"),
    "n_features": ("--n-features", "n_features"),
    "most_expansion": ("--most-expansion", "most_expansion"),
    "zero_based is True": ("--zero-based is given", "zero_based"),
}


class Wrong(Exception):
    """Invalid options, names or paths; the message says what to change. Exit code 2."""


class Failed(Exception):
    """A command failed while it ran; the message gives the reason and a remedy. Exit code 1."""


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors and examples that are not reflowed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class Registered:
    """The names in a table of `adasadmm.registry` as choices.

    The table is imported only when the choices are needed, so that ``--help`` of other commands stays fast.
    """

    def __init__(self, table: str, *others: str) -> None:
        self.table, self.others = table, others

    def __iter__(self) -> Iterator[str]:
        from .. import registry

        return iter((*self.others, *getattr(registry, self.table)))

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


class _Formatter(argparse.HelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("Examples") else super()._fill_text(text, width, indent)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += 2  # argparse does not count the indentation of commands


def add_command(commands: Commands, name: str, run: Run, help: str, about: str, examples: Sequence[str]) -> Parser:
    """Add a command whose ``--help`` has a description and examples."""
    shown = "Examples:\n" + "".join(f"  {example}\n" for example in examples)
    parser = commands.add_parser(name, help=help, description=about, epilog=shown)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_output(parser: Parser, what: str = "results") -> None:
    """Add the options that control what a command prints."""
    parser.add_argument("--json", action="store_true", help=f"print only the {what}, as JSON")
    parser.add_argument("--quiet", action="store_true", help="print results only")


def add_experiment(parser: Parser, sets: str, epochs: float, epochs_are: str, out: str) -> None:
    """Add the options shared by the commands that run algorithms on named data sets.

    ``sets`` is the help text of ``--datasets``; if it is empty, the command has fixed data sets.
    """
    if sets:
        where = "folder with the data files (default: $ADASADMM_DATA, then the user's cache; else they are downloaded)"
        parser.add_argument("--data-dir", metavar="DIR", help=where)
        parser.add_argument("--datasets", metavar="A,B", help=sets)
    passes = f"{epochs_are} (default: {epochs:g})"
    parser.add_argument("--epochs", type=positive, default=epochs, metavar="N", help=passes)
    parser.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"output folder (default: {out})")
    add_output(parser)


# --- numbers and names -----------------------------------------------------------------------------------------------


def count(text: str) -> int:
    """Parse an integer >= 1."""
    with contextlib.suppress(ValueError):
        if (number := int(text)) >= 1:
            return number
    raise argparse.ArgumentTypeError(f"must be an integer >= 1, got {text}")


def positive(text: str) -> float:
    """Parse a number > 0."""
    if (number := _number(text)) > 0.0:
        return number
    raise argparse.ArgumentTypeError(f"must be a positive number, got {text}")


def not_negative(text: str) -> float:
    """Parse a number >= 0."""
    if (number := _number(text)) >= 0.0:
        return number
    raise argparse.ArgumentTypeError(f"must be a number >= 0, got {text}")


def share(text: str) -> float:
    """Parse a number between 0 and 1."""
    if 0.0 <= (number := _number(text)) <= 1.0:
        return number
    raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, got {text}")


def _number(text: str) -> float:
    """Parse a finite number; anything else becomes NaN, which fails every comparison."""
    with contextlib.suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    return math.nan


def given(options: argparse.Namespace) -> list[str]:
    """The names of the options whose values differ from their defaults."""
    default = options.parser.get_default
    return [name for name, value in vars(options).items() if name != "command" and value != default(name)]


def names_of(text: str | None, what: str, known: Sequence[str], default: tuple[str, ...]) -> tuple[str, ...]:
    """Split a comma-separated list of known names, without duplicates."""
    from ..datasets import check_name

    if text is None:
        return default
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        return tuple(dict.fromkeys(check_name(name, known, what) for name in names)) or default
    except ValueError as error:
        raise Wrong(str(error)) from None


# --- files and messages ----------------------------------------------------------------------------------------------


def check_folder(folder: Path, option: str) -> None:
    """Raise `Wrong` before any work starts if a folder cannot be created or written to."""
    from .._core.files import check_writable

    try:
        check_writable(folder)
    except OSError as error:
        raise Wrong(f"cannot write to {folder}: {error.strerror}; choose another folder with {option}") from None


def check_file(path: Path, option: str) -> None:
    """Raise `Wrong` before any work starts if a file cannot be written."""
    if not path.parent.is_dir():
        raise Wrong(f"the folder of {path} does not exist: create it, or choose another file with {option}")
    if path.is_dir():
        raise Wrong(f"{path} is a folder: give a file name with {option}")
    check_folder(path.parent, option)


@contextlib.contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Open a text file that replaces ``path`` only when it is complete; - is standard output."""
    if path == "-":
        yield sys.stdout
        return
    from .._core.files import written_whole

    check_file(Path(path), "--out")
    with written_whole(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.detach()  # flushes, and leaves the file open for `written_whole`


class CsvWriter:
    """Writes lines of CSV. A text that a spreadsheet would run as a formula gets an apostrophe in front."""

    def __init__(self, file: TextIO) -> None:
        self._lines = csv.writer(file, lineterminator="\n")

    def line(self, cells: Iterable[Any]) -> None:
        self._lines.writerow([_safe(cell) if isinstance(cell, str) else cell for cell in cells])

    def lines(self, rows: Iterable[Iterable[Any]]) -> None:
        for cells in rows:
            self.line(cells)


def _safe(text: str) -> str:
    """The text, with an apostrophe in front if it is a formula; a number stays as it is."""
    if not text.startswith(FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def as_json(value: Any, indent: int | None = None) -> str:
    """The value as JSON, which has neither infinity nor NaN: null stands for them."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value


def print_figures(figures: dict[str, Any], in_json: bool) -> None:
    """Print figures as JSON, or one to a line."""
    if in_json:
        print(as_json(figures))
        return
    for name, value in figures.items():
        if value is None:
            value = "no useful bound"
        elif isinstance(value, dict):
            value = ", ".join(f"{key} {number:,.6g}" for key, number in value.items())
        elif isinstance(value, list):  # one number per class
            value = _of_classes(value)
        elif isinstance(value, float):
            value = f"{value:.6g}"
        elif isinstance(value, int):
            value = f"{value:,}"
        print(f"{name.replace('_', ' ')}: {value}")


def _of_classes(values: list[float | None]) -> str:
    """The figures of the classes; of many classes only the range, since --json has them all."""
    known = [number for number in values if number is not None]
    if len(values) > MOST_PRINTED and known:
        rest = f", no useful bound for {len(values) - len(known)}" if len(known) < len(values) else ""
        return f"{min(known):.6g} to {max(known):.6g} over {len(values)} classes{rest}"
    return ", ".join("no useful bound" if number is None else f"{number:.6g}" for number in values)


def in_options(message: str, options: argparse.Namespace) -> str:
    """Replace the Python parameters in a message by the options of the command: "resume=True" by "--resume"."""
    known = {name: option for name, (option, attribute) in OPTIONS.items() if hasattr(options, attribute)}
    if not known:
        return message

    def option(found: re.Match[str]) -> str:
        name, equals = found.groups()
        return known[name] + (" " if equals else "")

    names = "|".join(map(re.escape, known))
    # Not inside paths, quotes or longer names.
    return re.sub(rf"(?<![\w/.'\"-])({names})(?![\w/'\"-])(?!\.\w)(=)?", option, message)


@contextlib.contextmanager
def plain_warnings(options: argparse.Namespace) -> Iterator[None]:
    """Print warnings on one line each, without their source code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_: print(
            f"adasadmm: warning: {in_options(str(message), options)}", file=sys.stderr
        )
        yield
