"""The command line: data to stdout, everything else to stderr.

Exit status: 0, or 1 for a "no"; 2 for bad usage, queries, data and limits; 130 on interrupt, 143
when terminated; 70 for an internal error.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from cerlab import __version__
from cerlab.cli.command import BAD, EXAMPLES, INTERNAL, INTERRUPTED, OK, add_limits, within_limits
from cerlab.cli.streams import standard_streams
from cerlab.display import terminal
from cerlab.errors import CerlabError, CerlabWarning, nearest, printable

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status and never lets a traceback out, but for bugs."""
    with standard_streams():
        return _status(sys.argv[1:] if argv is None else argv)


def _parse_and_run(words: Sequence[str]) -> int:
    if not words:
        parser_of(()).print_help(sys.stderr)
        return BAD
    try:
        names = [word for word in words if not word.startswith("-")][:1]
        arguments = parser_of(names).parse_args(words)
    except SystemExit as stop:  # argparse has printed its own message
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

    # The main thread alone may set handlers, and `main` may be called in another.
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
    """Run a command that writes to no file that it reads, with what takes rows aside."""
    from cerlab.cli.options import check_files
    from cerlab.io.sources import open_quarantine

    check_files(arguments)
    options = vars(arguments)
    with open_quarantine(options.get("quarantine"), options.get("events") or "-") as on_bad_row:
        arguments.quarantine = on_bad_row
        status: int = arguments.command(arguments)
    return status


def _status(words: Sequence[str]) -> int:
    try:
        status = _parse_and_run(words)
        sys.stdout.flush()
        return status
    except CerlabError as error:
        print(error, file=sys.stderr)
        return BAD
    except BrokenPipeError:  # the reader of our output has gone, as in `cerlab run .. | head`
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
    print(f"warning: {message}", file=sys.stderr)


COMMANDS = {
    "run": ("run", "add_options", "run", "evaluate a query on events"),
    "check": ("decide", "check_options", "check", "what can be said of a query without events"),
    "show": ("show", "add_options", "show", "draw a query and its automata"),
    "equivalent": (
        "decide",
        "pair_options",
        "compare",
        "decide: have A and B the same answers on every stream",
    ),
    "contained": (
        "decide",
        "pair_options",
        "compare",
        "decide: is each answer of A one of B, on every stream",
    ),
    "why": ("why", "add_options", "run", "why positions are an answer, or why not"),
    "fuzz": (
        "comparisons",
        "fuzz_options",
        "run_fuzz",
        "compare another engine with the reference",
    ),
    "conformance": (
        "comparisons",
        "conformance_options",
        "run_conformance",
        "judge an engine by cases whose answers are known",
    ),
    "trial": ("comparisons", "trial_options", "run_trial", "compare many engines side by side"),
    "sql": ("rows", "sql_options", "run_sql", "evaluate SQL that has MATCH_RECOGNIZE on files"),
    "spark": ("spark", "add_options", "run", "evaluate a query on files by Spark"),
    "convert": ("tools", "convert_options", "convert", "events from one format to another"),
    "explain": (
        "tools",
        "explain_options",
        "explain",
        "what an error code means, with an example and its mend",
    ),
    "lab": ("tools", "lab_options", "lab", "a page to try queries on, in the browser"),
    "fmt": ("show", "fmt_options", "fmt", "print a query in its canonical form"),
    "demo": ("tools", "no_options", "tour", "the tour that the README starts with"),
    "completion": (
        "tools",
        "completion_options",
        "completion",
        "a script by which a shell completes what is typed",
    ),
}
"""The commands: the module of each, what adds its options, what runs it, and its purpose."""


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
        """Print the usage and the message, and name the command nearest to an unknown one."""
        if (
            unknown := re.search(r"COMMAND: invalid choice: '(.*?)' \(choose", message)
        ) is not None:
            hint = nearest(unknown[1], COMMANDS)
            hint = hint if hint.startswith("did you") else "answers are: cerlab run QUERY EVENTS"
            message = f"there is no command '{unknown[1]}'\nhint: {hint}; see cerlab --help"
        super().error(printable(message))

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(message, terminal(file))  # in colour from Python 3.14 on


def parser_of(names: Collection[str]) -> argparse.ArgumentParser:
    """The parser; of the commands only these are imported."""
    parser = _Parser(
        prog="cerlab",
        description="A research workbench for complex event recognition.",
        epilog="begin with: cerlab demo; answers: cerlab run QUERY EVENTS; "
        "the options of a command: cerlab run --help",
    )
    parser.add_argument("--version", action="version", version=f"cerlab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="called")
    for name, (module, options, function, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose)
        if name in names:
            implementation = import_module(f"cerlab.cli.{module}")
            getattr(implementation, options)(command)
            add_limits(command)
            add_examples(command, name)
            command.set_defaults(command=getattr(implementation, function))
    return parser


def add_examples(command: argparse.ArgumentParser, name: str) -> None:
    """Examples at the end of the help of a command."""
    if name in EXAMPLES:
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        command.epilog = f"examples:{EXAMPLES[name]}"
