"""What all commands share: how they are declared, what they refuse, and how they print."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

__all__ = [
    "Commands",
    "Failed",
    "Parser",
    "Registered",
    "Run",
    "Wrong",
    "add_command",
    "add_output",
    "as_json",
    "count",
    "in_options",
    "names_of",
    "not_negative",
    "plain_warnings",
    "positive",
    "print_figures",
    "refuse",
    "share",
]

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


# --- declaring a command ---------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors and examples that are not reflowed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Formatter(argparse.HelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("Examples") else super()._fill_text(text, width, indent)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += 2  # argparse does not count the indentation of commands


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


def add_command(commands: Commands, name: str, run: Run, help: str, about: str, examples: Sequence[str]) -> Parser:
    """Add a command whose ``--help`` has a description and examples."""
    shown = "Examples:\n" + "".join(f"  {example}\n" for example in examples)
    parser = commands.add_parser(name, help=help, description=about, epilog=shown)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_output(parser: Parser) -> None:
    """Add the options that control what a command prints."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print only the results, as JSON")
    group.add_argument("--quiet", action="store_true", help="print results only")


# --- values of options -----------------------------------------------------------------------------------------------


def _number(convert: Callable[[str], Any], allowed: Callable[[Any], bool], what: str) -> Callable[[str], Any]:
    """A parser of numbers. NaN fails every comparison, and with it ``allowed``."""

    def parse(text: str) -> Any:
        with contextlib.suppress(ValueError):
            if allowed(number := convert(text)):
                return number
        raise argparse.ArgumentTypeError(f"must be {what}, got {text}")

    return parse


count = _number(int, lambda number: number >= 1, "an integer >= 1")
positive = _number(float, lambda number: 0.0 < number < math.inf, "a positive number")
not_negative = _number(float, lambda number: 0.0 <= number < math.inf, "a number >= 0")
share = _number(float, lambda number: 0.0 <= number <= 1.0, "a number between 0 and 1")


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


def refuse(options: argparse.Namespace, reasons: Mapping[str, str]) -> None:
    """Raise `Wrong` if an option is set that does not apply: ``reasons`` says why, or what it needs."""
    default = options.parser.get_default
    for name, reason in reasons.items():
        value = getattr(options, name, None)
        if value is not None and value != default(name):
            raise Wrong(f"--{name.replace('_', '-')} {reason}")


# --- messages and figures --------------------------------------------------------------------------------------------


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
        print(f"{name.replace('_', ' ')}: {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {number:,.6g}" for key, number in value.items())
    if isinstance(value, list):
        return _of_classes(value)
    if value is None:
        return "no useful bound"
    return f"{value:.6g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _of_classes(values: list[float | None]) -> str:
    """The figures of the classes; of many classes only the range, since --json has them all."""
    known = [number for number in values if number is not None]
    if len(values) > MOST_PRINTED and known:
        rest = f", no useful bound for {len(values) - len(known)}" if len(known) < len(values) else ""
        return f"{min(known):.6g} to {max(known):.6g} over {len(values)} classes{rest}"
    return ", ".join("no useful bound" if number is None else f"{number:.6g}" for number in values)
