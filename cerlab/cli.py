"""The command line (DESIGN 2.2): data to stdout, everything else to stderr.

Exit status: 0, or 1 for a "no"; 2 for bad usage, queries, data and limits; 130 on interrupt; 70
for an internal error.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from cerlab import __version__, io
from cerlab.errors import (
    BadData,
    CerlabError,
    CerlabWarning,
    ResourceLimit,
    Unsupported,
    UsageError,
)
from cerlab.logic.cel.syntax import defined_labels, size
from cerlab.logic.ceql.parser import parse_schema
from cerlab.logic.focel.report import describe_fo
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import EventWindow
from cerlab.model.clock import time_axis
from cerlab.model.event import Event
from cerlab.model.schema import Schema
from cerlab.progress import WatchedStream, watched
from cerlab.viz import dot, text
from cerlab.viz.macro import explored, shortest_answer
from cerlab.workbench import (
    AVAILABLE,
    Query,
    answers_of,
    as_query,
    live_answers,
    shown_attributes,
    valuations_of,
)

OK, NO, BAD, INTERRUPTED, INTERNAL = 0, 1, 2, 130, 70

_QUERY_SUFFIXES = (".ceql", ".cel", ".txt", ".query", ".sql")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status and never lets a traceback out, but for bugs."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed its own message
        return int(stop.code or 0)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", CerlabWarning)
        return _status(arguments)


def _status(arguments: argparse.Namespace) -> int:
    try:
        status: int = arguments.command(arguments)
        sys.stdout.flush()
        return status
    except CerlabError as error:
        print(error, file=sys.stderr)
        return BAD
    except BrokenPipeError:  # the reader of our output has gone, as in `cerlab run .. | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        print(f"CER0807: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        return BAD
    except Exception:
        traceback.print_exc()
        print("CER0700: an internal error; please report it with the lines above", file=sys.stderr)
        return INTERNAL


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cerlab", description="A research workbench for complex event recognition."
    )
    parser.add_argument("--version", action="version", version=f"cerlab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="evaluate a query on events")
    _add_query(run)
    run.add_argument("events", metavar="EVENTS", help="a file, or - for standard input")
    run.add_argument("--evaluator", default="auto", help=f"{', '.join(AVAILABLE)} or auto")
    run.add_argument("--limit", type=int, metavar="N", help="at most N answers in all")
    run.add_argument("--labels", action="store_true", help="valuations instead of positions")
    run.add_argument("--events", dest="show_events", action="store_true", help="with the events")
    run.add_argument("--format", default="ndjson", choices=("ndjson", "table", "parquet"))
    run.add_argument("-o", "--output", metavar="OUT", help="a file instead of standard output")
    _add_input(run)
    run.set_defaults(command=_run)

    check = commands.add_parser("check", help="what can be said of a query without events")
    _add_query(check)
    check.set_defaults(command=_check)

    show = commands.add_parser("show", help="draw a query and its automata")
    _add_query(show)
    show.add_argument("--what", default="ast", choices=("ast", "vcea", "cea", "det"))
    show.add_argument("--format", default="text", choices=("text", "dot"))
    show.add_argument("-o", "--output", metavar="OUT", help="a file instead of standard output")
    show.set_defaults(command=_show)

    fmt = commands.add_parser("fmt", help="print a query in its canonical form")
    _add_query(fmt)
    fmt.set_defaults(command=_fmt)

    tour = commands.add_parser("demo", help="the tour that the README starts with")
    tour.set_defaults(command=_demo)
    return parser


def _add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="a file or the text itself")
    parser.add_argument("--language", choices=("ceql", "cel"), help="if the text does not tell")
    parser.add_argument(
        "--schema", metavar="FILE", help="CREATE STREAM declarations for the query and the data"
    )


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--type", metavar="NAME", help="the event type, if no column has it")
    parser.add_argument(
        "--time", metavar="COLUMN[:UNIT]", help="the time, its unit ns, us, ms or s"
    )
    parser.add_argument("--sort", action="store_true", help="sort the events by time first")
    parser.add_argument(
        "--quarantine", metavar="FILE", help="write rows that cannot be read there, and go on"
    )


def _read_query(arguments: argparse.Namespace) -> Query:
    schema = _schema(arguments)
    given: str = arguments.query
    path = Path(given) if len(given) < 1024 and "\n" not in given else None
    if path is not None and (path.is_file() or path.suffix.lower() in _QUERY_SUFFIXES):
        if not path.is_file():
            raise UsageError("CER0808", f"there is no query file '{given}'")
        given = _text_of(path)
    return as_query(given, arguments.language, schema)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadData("CER0715", f"'{path}' is not UTF-8: {error.reason}") from None


def _schema(arguments: argparse.Namespace) -> Schema | None:
    if arguments.schema is None:
        return None
    return parse_schema(_text_of(Path(arguments.schema)))


def _input_options(arguments: argparse.Namespace, query: Query) -> dict[str, Any]:
    return {
        "type": arguments.type,
        "schema": query.schema,
        "quarantine": arguments.quarantine,
    }


def _time(arguments: argparse.Namespace) -> tuple[str | None, str | None]:
    column, _, unit = (arguments.time or "").partition(":")
    return column or None, unit or None


def _run(arguments: argparse.Namespace) -> int:
    if arguments.limit is not None and arguments.limit < 0:
        raise UsageError("CER0804", f"--limit is {arguments.limit}, a negative number")
    if arguments.format == "parquet" and arguments.output is None:
        raise UsageError("CER0809", "Parquet needs a file", hint="add -o OUT.parquet")
    if arguments.format != "ndjson" and arguments.show_events:
        raise UsageError("CER0813", f"--format {arguments.format} does not carry the events")
    query = _read_query(arguments)
    options = _input_options(arguments, query)
    column, unit = _time(arguments)
    shown = None
    seen: tuple[Event, ...] | None = None
    answers: Iterator[Any]
    whole = arguments.labels or arguments.show_events or arguments.sort
    by_tecs = arguments.evaluator == "tecs" or (
        arguments.evaluator == "auto" and query.has_automaton
    )
    if arguments.events == "-" and by_tecs and not whole:
        axis = time_axis(column, unit) if column else None
        answers = live_answers(query, io.read_events("-", **options), axis)
    else:
        stream = io.read(
            arguments.events,
            time=column,
            unit=unit,
            sort=arguments.sort,
            watch=lambda events: watched(events, "reading"),
            **options,
        )
        if arguments.show_events:
            seen = stream.events

            def shown(answer: ComplexEvent) -> dict[int, frozenset[str]]:
                return shown_attributes(query, stream, answer)

        passing = WatchedStream(stream)
        if arguments.labels:
            answers = valuations_of(query, passing, arguments.evaluator)
        else:
            answers = answers_of(query, passing, arguments.evaluator)
    _write(islice(answers, arguments.limit), arguments, seen, shown)
    return OK


def _write(
    answers: Iterator[Any],
    arguments: argparse.Namespace,
    events: tuple[Event, ...] | None,
    shown: Any,
) -> None:
    if arguments.format == "parquet":
        io.write_parquet(answers, arguments.output, labels=arguments.labels)
        return
    with _output(arguments.output) as file:
        if arguments.format == "table":
            _table(answers, file, labels=arguments.labels)
        else:
            io.write_ndjson(answers, file, events=events, shown=shown)


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with open(path, "w", encoding="utf-8") as file:
        yield file


def _table(answers: Iterator[Any], file: TextIO, *, labels: bool) -> None:
    """A table of the answers; it needs all of them before its columns have a width."""
    from rich.console import Console
    from rich.table import Table

    table = Table("start", "end", "labels" if labels else "positions")
    for answer in answers:
        what = answer.labels if labels else answer.positions
        listed = (
            "  ".join(f"{label}: {_positions(D)}" for label, D in what.items())
            if labels
            else _positions(what)
        )
        table.add_row(str(answer.start), str(answer.end), listed)
    Console(file=file).print(table)


def _positions(positions: Iterable[int]) -> str:
    return ", ".join(map(str, positions))


def _check(arguments: argparse.Namespace) -> int:
    """Report what is known without events; what is not decided yet is said so."""
    query = _read_query(arguments)
    lines = [
        ("text", f"{size(query.formula)} operators and atoms"),
        ("schema", "checked" if query.schema else "none given: names and types are not checked"),
        ("labels", ", ".join(sorted(defined_labels(query.formula))) or "none"),
    ]
    satisfiable: bool | None = None
    try:
        lines += [
            ("automaton", f"{query.cea.states} states, {len(query.cea.Delta)} transitions"),
            ("evaluators", ", ".join(AVAILABLE)),
        ]
        satisfiable, reason = _satisfiable(query)
    except Unsupported as error:
        lines += [("automaton", error.message), ("evaluators", "reference")]
        reason = "not decided: there is no automaton"
    lines.append(("fo-cel", describe_fo(query.formula)))
    for name, value in [*lines, ("satisfiable", reason)]:
        print(f"{name + ':':<13}{value}")
    return NO if satisfiable is False else OK


def _satisfiable(query: Query) -> tuple[bool | None, str]:
    """Whether some stream has an answer, as far as the minterms tell, and why."""
    try:
        machine = explored(query.det)
    except ResourceLimit as error:
        return None, f"not decided: {error.message}"
    shortest = shortest_answer(machine)
    window = query.plan.window
    if shortest is None:
        return False, "no: its filters contradict each other on every way to an answer"
    if isinstance(window, EventWindow) and shortest - 1 > window.width:
        return False, f"no: an answer spans at least {shortest} events, the window is smaller"
    if not machine.exact or query.schema is not None or query.plan.partition:
        return None, "not decided: LIKE, arithmetic, PARTITION BY and schemas are not looked into"
    return True, f"yes: an answer spans at least {shortest} events"


def _show(arguments: argparse.Namespace) -> int:
    query = _read_query(arguments)
    renderers: dict[tuple[str, str], Any] = {
        ("ast", "text"): lambda: text.tree_text(query.formula),
        ("ast", "dot"): lambda: dot.formula_dot(query.formula),
        ("vcea", "text"): lambda: text.vcea_text(query.vcea),
        ("vcea", "dot"): lambda: dot.vcea_dot(query.vcea),
        ("cea", "text"): lambda: text.cea_text(query.cea),
        ("cea", "dot"): lambda: dot.cea_dot(query.cea),
        ("det", "text"): lambda: text.det_text(query.det),
        ("det", "dot"): lambda: dot.det_dot(query.det),
    }
    drawn = renderers[arguments.what, arguments.format]()
    with _output(arguments.output) as file:
        file.write(drawn if drawn.endswith("\n") else drawn + "\n")
    return OK


def _demo(_: argparse.Namespace) -> int:
    from cerlab import demo

    demo.run(sys.stdout)
    return OK


def _fmt(arguments: argparse.Namespace) -> int:
    query = _read_query(arguments)
    if re.search(r"--|/\*", query.source.text):
        print("warning: comments are not part of the canonical form", file=sys.stderr)
    if query.schema is not None and arguments.schema is None:
        print(query.schema)
    print(query if query.source.is_query else query.formula)
    return OK
