"""Completion in the shell: `adasadmm completion bash` prints a few lines that ask this file for candidates."""

from __future__ import annotations

import argparse
from typing import Any

from .common import Parser, add_command as _add_command

__all__ = ["add_command", "candidates"]

SCRIPTS = {
    "bash": """_adasadmm() {
  local IFS=$'\\n'
  COMPREPLY=($(adasadmm completion --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _adasadmm adasadmm
""",
    "zsh": """_adasadmm() {
  local -a found
  found=("${(@f)$(adasadmm completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- $found || _files
}
compdef _adasadmm adasadmm
""",
    "fish": """function __adasadmm
  set -l words (commandline -opc) (commandline -ct)
  adasadmm completion --words $words[2..-1] 2>/dev/null
end
complete -c adasadmm -a '(__adasadmm)'
""",
}


def add_command(commands: Any, root: Parser) -> None:
    def run(options: argparse.Namespace) -> int:
        print(
            "\n".join(candidates(root, options.words)) if options.words is not None else SCRIPTS[options.shell], end=""
        )
        return 0

    parser = _add_command(
        commands,
        "completion",
        run,
        help="completion of commands, options and choices in your shell",
        about="Prints a script for your shell; what it completes is asked from the program itself.",
        examples=[
            "adasadmm completion bash >> ~/.bashrc",
            "adasadmm completion zsh >> ~/.zshrc        # behind compinit",
            "adasadmm completion fish > ~/.config/fish/completions/adasadmm.fish",
        ],
    )
    parser.add_argument("shell", nargs="?", choices=tuple(SCRIPTS), default="bash", help="default: bash")
    parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def candidates(root: Parser, words: list[str]) -> list[str]:
    """What the last word may become; nothing where a file name is wanted, which the shell knows better."""
    *before, begun = words or [""]
    commands = _commands(root)
    if not before:
        found = [*commands, "--help", "--version"]
    elif before[0] in commands:
        found = _of_command(commands[before[0]], before[-1], begun)
    else:
        found = []
    return [word for word in found if word.startswith(begun)]


def _of_command(parser: Parser, last: str, begun: str) -> list[str]:
    """The choices of the option that stands before, or the options."""
    wanted = parser._option_string_actions.get(last)
    if wanted is not None and wanted.nargs != 0:
        return [str(choice) for choice in wanted.choices or ()]
    if begun.startswith("-"):
        shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        return [option for action in shown for option in action.option_strings if option.startswith("--")]
    places = [action for action in parser._actions if not action.option_strings]
    return [str(choice) for action in places for choice in action.choices or ()]


def _commands(root: Parser) -> dict[str, Any]:
    (found,) = [action for action in root._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found.choices)
