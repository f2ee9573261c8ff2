"""``cerlab completion``: what a shell needs to complete commands, options and files (shtab)."""

from __future__ import annotations

import argparse
import sys

from cerlab.cli.status import OK

FILES = ("query", "events", "a", "b", "schema", "output", "quarantine", "input", "data")
"""The arguments that are files, or may be."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """SHELL."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(arguments: argparse.Namespace) -> int:
    """``cerlab completion``: the script on standard output."""
    import shtab

    from cerlab.cli import COMMANDS, parser_of

    parser = parser_of(COMMANDS)
    for command in _commands(parser):
        for action in command._actions:
            if action.dest in FILES and action.choices is None and action.nargs != 0:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # what shtab looks for
    sys.stdout.write(shtab.complete(parser, arguments.shell))
    return OK


def _commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    action = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return list(action.choices.values())
