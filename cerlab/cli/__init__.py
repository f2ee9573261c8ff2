"""The command line: data to stdout, everything else to stderr.

Exit status: 0, or 1 for a "no"; 2 for bad usage, queries, data and limits; 130 on interrupt, 143
when terminated; 70 for an internal error.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, NoReturn

from cerlab import __version__
from cerlab.cli.arguments import COMMANDS
from cerlab.cli.command import BAD, INTERNAL, INTERRUPTED, OK, within_limits
from cerlab.cli.streams import standard_streams
from cerlab.display import terminal
from cerlab.errors import CerlabError, CerlabWarning, nearest, on_command_line, printable

__all__ = ["COMMANDS", "main", "parser_of"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; only a bug can raise a traceback."""
    if "_ARGCOMPLETE" in os.environ:
        _complete(os.environ.get("COMP_LINE", ""))
    with standard_streams():
        return _status(sys.argv[1:] if argv is None else argv)


def _complete(line: str) -> NoReturn:
    """Complete the last word of a line for the shell, and end the process."""
    from argcomplete import autocomplete  # only completion by a shell needs it

    autocomplete(parser_of(line.split()))
    raise SystemExit(BAD)


def _parse_and_run(words: Sequence[str]) -> int:
    if not words:
        parser_of(()).print_help(sys.stderr)
        return BAD
    try:
        names = [word for word in words if not word.startswith("-")][:1]
        arguments = parser_of(names).parse_args(words)
    except SystemExit as stop:  # argparse has printed a message already
        return int(stop.code or 0)
    with warnings.catch_warnings(), _stopped_by_exceptions():
        warnings.showwarning = _show_warning
        quiet = getattr(arguments, "quiet", False)
        warnings.simplefilter("ignore" if quiet else "always", CerlabWarning)
        with within_limits(arguments):
            return _run(arguments)


@contextmanager
def _stopped_by_exceptions() -> Iterator[None]:
    """Turn signals that end the process into exceptions, so unfinished files are removed."""

    def stop(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    # Only the main thread may set handlers, and another thread may call `main`.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]  # Windows has one
    numbers = [n for n in signals if n is not None and signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _run(arguments: argparse.Namespace) -> int:
    """Run a command after checking that it writes to no file that it reads; return its status.

    Rows in quarantine go to their file.
    """
    from cerlab.cli.options import check_files, events_named
    from cerlab.io.options import open_quarantine
    from cerlab.io.output import whole_text

    check_files(arguments)
    if getattr(arguments, "format", "") is None:
        arguments.format = COMMANDS[arguments.called].format_of(arguments)
    options = vars(arguments)
    with open_quarantine(options.get("quarantine"), events_named(arguments)) as on_bad_row:
        arguments.quarantine = on_bad_row
        printed = whole_text(options.get("output") if arguments.prints else None)
        with printed as file, redirect_stdout(file):
            status: int = arguments.command(arguments)
    return status


def _coloured(text: str) -> str:
    """Return an error with a red code, a red caret and a bold hint; plain text off a terminal.

    `NO_COLOR` turns colours off, as in other programs. The escapes are written here because rich
    takes longer to load than most commands take.
    """
    if not sys.stderr.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return text
    text = re.sub(r"^(CER\d{4}:)", "\x1b[1;31m\\1\x1b[0m", text)
    text = re.sub(r"^( +\^+)$", "\x1b[31m\\1\x1b[0m", text, flags=re.M)
    return re.sub(r"^(hint:)", "\x1b[1;36m\\1\x1b[0m", text, flags=re.M)


def _status(words: Sequence[str]) -> int:
    try:
        status = _parse_and_run(words)
        sys.stdout.flush()
        return status
    except CerlabError as error:
        text = str(on_command_line(error))
        coloured = _coloured(text)
        # `sys.stderr` would escape colours; `cerlab.errors` has removed control characters from the
        # text.
        print(coloured, file=sys.stderr if coloured == text else terminal(sys.stderr))
        return BAD
    except BrokenPipeError:  # the reader has closed the pipe, as in `cerlab run .. | head`
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        print(f"CER0807: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        return BAD
    except MemoryError:
        print("CER0621: there is no more memory", file=sys.stderr)
        return BAD
    except Exception:
        traceback.print_exc()
        print("CER0700: an internal error; please report it with the lines above", file=sys.stderr)
        return INTERNAL


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    text = message.on_command_line() if isinstance(message, CerlabWarning) else str(message)
    print(f"warning: {text}", file=sys.stderr)


_VERBS = {"count": 'to count answers: cerlab run "SELECT COUNT(*) WHERE .." EVENTS'}
"""Hints for names of Python functions that are typed as commands."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors name the option or command nearest to an unknown one."""

    def parse_args(self, *args: Any, **kwargs: Any) -> Any:
        arguments, unknown = self.parse_known_args(*args, **kwargs)
        if unknown:
            of_commands = next(a for a in self._actions if a.dest == "called")
            command = dict(of_commands.choices or ())[arguments.called]
            options = [name for name in command._option_string_actions if name.startswith("--")]
            given = unknown[0].partition("=")[0].lstrip("-")
            given = {"engine": "evaluator"}.get(given, given)
            hint = nearest(given, (name.removeprefix("--") for name in options))
            hint = hint.replace("mean '", "mean '--")
            said = hint if hint.startswith("did you") else f"see {command.prog} --help"
            command.error(f"unrecognized arguments: {' '.join(unknown)}\nhint: {said}")
        return arguments

    def error(self, message: str) -> NoReturn:
        """Print the message and a hint with the command nearest to an unknown one, then exit."""
        if (
            unknown := re.search(r"COMMAND: invalid choice: '(.*?)' \(choose", message)
        ) is not None:
            hint = nearest(unknown[1], COMMANDS)
            if not hint.startswith("did you") or unknown[1] in _VERBS:
                hint = _VERBS.get(unknown[1], "to evaluate a query: cerlab run QUERY EVENTS")
            message = f"there is no command '{unknown[1]}'\nhint: {hint}; see cerlab --help"
        if "\nhint: " not in message:
            message += f"\nhint: see {self.prog} --help"
        self.exit(BAD, f"{self.prog}: error: {printable(message)}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(message, terminal(file))  # argparse uses colours from Python 3.14 on


def parser_of(names: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line, importing only the commands in `names`."""
    parser = _Parser(
        prog="cerlab",
        description="Find patterns in streams of events, and explain every answer.",
        epilog="First steps: cerlab demo. Options of a command: cerlab run --help.",
    )
    parser.add_argument("--version", action="version", version=f"cerlab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="called")
    for name, command in COMMANDS.items():
        of_command = commands.add_parser(name, help=command.purpose)
        if name in names:
            command.add_to(of_command)
    return parser
