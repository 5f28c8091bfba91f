"""Completion in the shell, by argcomplete: `adasadmm completion bash` prints the script that switches it on."""

from __future__ import annotations

import argparse
import os
from typing import Any

from .common import Failed, Parser, add_command as _add_command

__all__ = ["add_command", "answer"]

SHELLS = ("bash", "zsh", "fish")


def add_command(commands: Any) -> None:
    parser = _add_command(
        commands,
        "completion",
        _script,
        help="completion of commands, options and choices in your shell",
        about="""Prints a script for your shell, by argcomplete. The shell then asks the installed program for commands,
        options, choices and file names.""",
        examples=[
            "adasadmm completion bash >> ~/.bashrc",
            "adasadmm completion zsh >> ~/.zshrc        # behind compinit",
            "adasadmm completion fish > ~/.config/fish/completions/adasadmm.fish",
        ],
    )
    parser.add_argument("shell", nargs="?", choices=SHELLS, default="bash", help="default: bash")


def _script(options: argparse.Namespace) -> int:
    try:
        from argcomplete import shellcode
    except ImportError as error:
        raise Failed('completion needs argcomplete: pip install "adasadmm[cli]"') from error
    print(shellcode(["adasadmm"], shell=options.shell), end="")
    return 0


def answer(parser: Parser) -> None:
    """Where the script of a shell asks (it sets ``_ARGCOMPLETE``), send the candidates and end the process."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:  # removed since the script was written: nothing may appear in the middle of a command
        raise SystemExit(1) from None
    argcomplete.autocomplete(parser, always_complete_options=False, exclude=["-h"])
