"""``cerlab run``: answers as they are found."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TextIO

from cerlab import io
from cerlab.cli.options import OK, input_options, output, read_query, time_option
from cerlab.errors import UsageError
from cerlab.evaluators import SHORT
from cerlab.model.answer import ComplexEvent
from cerlab.model.clock import time_axis
from cerlab.model.event import Event
from cerlab.progress import WatchedStream, watched
from cerlab.workbench import answers_of, live_answers, shown_attributes, valuations_of


def run(arguments: argparse.Namespace) -> int:
    """``cerlab run``."""
    if arguments.limit is not None and arguments.limit < 0:
        raise UsageError("CER0804", f"--limit is {arguments.limit}, a negative number")
    if arguments.format == "parquet" and arguments.output is None:
        raise UsageError("CER0809", "Parquet needs a file", hint="add -o OUT.parquet")
    if arguments.format != "ndjson" and arguments.show_events:
        raise UsageError("CER0813", f"--format {arguments.format} does not carry the events")
    query = read_query(arguments)
    options = input_options(arguments, query)
    column, unit = time_option(arguments)
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

        engine = arguments.evaluator == "compiled" or (
            arguments.evaluator == "auto" and query.has_automaton and len(stream) > SHORT
        )
        passing = stream if engine else WatchedStream(stream)  # it reads whole columns
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
    with output(arguments.output) as file:
        if arguments.format == "table":
            _table(answers, file, labels=arguments.labels)
        else:
            io.write_ndjson(answers, file, events=events, shown=shown)


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
