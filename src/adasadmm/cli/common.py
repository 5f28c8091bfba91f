"""What all commands share: how they are declared, what their options may be, errors in one line."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

__all__ = [
    *(
        "Failed",
        "Parser",
        "Registered",
        "Wrong",
        "add_command",
        "add_experiment",
        "add_output",
        "check_file",
        "check_folder",
        "names_of",
    ),
    *("count", "not_negative", "plain_warnings", "positive", "tell", "written"),
]

Run = Callable[[argparse.Namespace], int]


class Wrong(Exception):
    """A command was called wrongly; the message says how, and what to do. Exit code 2."""


class Failed(Exception):
    """A command failed on its way; the message says why, and what to do. Exit code 1."""


class Parser(argparse.ArgumentParser):
    """argparse with errors of one line, and with examples that stand as they are written."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class Registered:
    """The names of a table of `adasadmm.registry` as choices; the table is imported when the choices are needed."""

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


def add_command(commands: Any, name: str, run: Run, help: str, about: str, examples: Sequence[str]) -> Parser:
    """A command whose ``--help`` says what it is about and ends with examples."""
    shown = "Examples:\n" + "".join(f"  {example}\n" for example in examples)
    parser: Parser = commands.add_parser(name, help=help, description=about, epilog=shown)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=run)
    return parser


def add_output(parser: Parser, what: str = "figures") -> None:
    """How a command tells what it found."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON, and nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress, only what came out")


def add_experiment(parser: Parser, sets: str, epochs: float, epochs_are: str, out: str) -> None:
    """What the commands that run algorithms on known data sets have in common; ``sets`` tells of the data sets."""
    if sets:
        where = "folder with the data sets (default: $ADASADMM_DATA, then the user's cache, then their homes)"
        parser.add_argument("--data-dir", metavar="DIR", help=where)
        parser.add_argument("--datasets", metavar="A,B", help=sets)
    says = f"{epochs_are} (default: {epochs:g})"
    parser.add_argument("--epochs", type=positive, default=epochs, metavar="N", help=says)
    parser.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"where to write (default: {out})")
    add_output(parser)


# --- numbers and names -----------------------------------------------------------------------------------------------


def count(text: str) -> int:
    with contextlib.suppress(ValueError):
        if (number := int(text)) >= 1:
            return number
    raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, got {text}")


def positive(text: str) -> float:
    if (number := _number(text)) > 0.0:
        return number
    raise argparse.ArgumentTypeError(f"must be a positive number, got {text}")


def not_negative(text: str) -> float:
    if (number := _number(text)) >= 0.0:
        return number
    raise argparse.ArgumentTypeError(f"must be a number, at least 0, got {text}")


def _number(text: str) -> float:
    """A finite number, or NaN, which is neither above nor below anything."""
    with contextlib.suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    return math.nan


def names_of(text: str | None, what: str, known: Sequence[str], default: tuple[str, ...]) -> tuple[str, ...]:
    """The names in a list with commas, each known and once."""
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
    """Fail before hours of work, not behind them: a folder that is there, or can be made, and can be written to."""
    from .._core.files import check_writable

    try:
        check_writable(folder)
    except OSError as error:
        raise Wrong(f"cannot write into {folder}: {error.strerror}; choose another place with {option}") from None


def check_file(path: Path, option: str) -> None:
    """Fail before hours of work, not behind them."""
    if not path.parent.is_dir():
        raise Wrong(f"the folder of {path} does not exist: make it, or choose another place with {option}")
    if path.is_dir():
        raise Wrong(f"{path} is a folder: name a file in it with {option}")
    check_folder(path.parent, option)


@contextlib.contextmanager
def written(path: str) -> Iterator[Any]:
    """A text file that has its name only when it is whole; - is standard output."""
    if path == "-":
        yield sys.stdout
        return
    check_file(Path(path), "--out")
    part = f"{path}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            yield file
        os.replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def tell(figures: dict[str, Any], as_json: bool) -> None:
    """Figures as JSON, or a line for each."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {number:,.6g}" for key, number in value.items())
        elif isinstance(value, list):  # one for each class
            value = ", ".join("none" if number is None else f"{number:.6g}" for number in value)
        elif isinstance(value, float):
            value = f"{value:.6g}"
        print(
            f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name.replace('_', ' ')}: {value}"
        )


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings in one line, without the line of code that they come from."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_: print(f"adasadmm: warning: {message}", file=sys.stderr)
        yield
