"""``cerlab run``: answers as they are found."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from cerlab import io
from cerlab.cli.options import OK, input_options, output, read_pattern, time_option
from cerlab.cli.streaming import Enough, Limited, LiveRun, answers_on_file
from cerlab.errors import Unsupported, UsageError
from cerlab.evaluators import SHORT
from cerlab.expressions import sremo_answers
from cerlab.io import NdjsonSink, Sink, parquet_sink
from cerlab.model.answer import ComplexEvent
from cerlab.model.clock import TimeAxis, time_axis
from cerlab.model.event import Event
from cerlab.progress import WatchedStream, watched
from cerlab.workbench import Query, Sremo, answers_of, live_answers, shown_attributes, valuations_of

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch


def run(arguments: argparse.Namespace) -> int:
    """``cerlab run``."""
    if arguments.limit is not None and arguments.limit < 0:
        raise UsageError("CER0804", f"--limit is {arguments.limit}, a negative number")
    if arguments.format == "parquet" and arguments.output is None:
        raise UsageError("CER0809", "Parquet needs a file", hint="add -o OUT.parquet")
    if arguments.format != "ndjson" and arguments.show_events:
        raise UsageError("CER0813", f"--format {arguments.format} does not carry the events")
    query = read_pattern(arguments)
    if isinstance(query, Sremo):
        _run_sremo(query, arguments)
    elif arguments.labels or arguments.show_events or arguments.sort:
        _run_on_all(query, arguments)
    elif arguments.events == "-":
        _run_on_pipe(query, arguments)
    elif _in_batches(query, arguments):
        options = input_options(arguments, query)
        answers = answers_on_file(query, arguments.events, _axis(arguments), options)
        with _sink(arguments) as sink, suppress(Enough):
            limited = Limited(sink, arguments.limit)
            for batch in answers:
                limited.batch(batch)
    else:
        _run_on_all(query, arguments)
    return OK


def _in_batches(query: Query, arguments: argparse.Namespace) -> bool:
    """Whether the compiled engine is asked for, or best: on files that are not known to be short.

    A file is not read for this; text is judged by its bytes.
    """
    if arguments.evaluator == "auto":
        return query.has_automaton and io.estimated_length(arguments.events) > SHORT
    return bool(arguments.evaluator == "compiled" and not query.on_registers)


def _axis(arguments: argparse.Namespace) -> TimeAxis | None:
    column, unit = time_option(arguments)
    return time_axis(column, unit) if column else None


def _run_on_pipe(query: Query, arguments: argparse.Namespace) -> None:
    """Answers while the events are still arriving; evaluators that cannot do that read all first.

    A window in hours, minutes or seconds needs ``--time`` here, or a schema with one timestamp.
    """
    options = input_options(arguments, query)
    evaluator = arguments.evaluator
    on_registers = query.on_registers and evaluator in ("auto", "registers")
    if evaluator == "tecs" or on_registers:
        axis = _axis(arguments) or io.time_of_file("-", query.schema)
        answers = live_answers(query, io.read_events("-", **options), axis)
        _write(islice(answers, arguments.limit), arguments, None, None)
    elif not query.on_registers and (
        evaluator == "compiled" or (evaluator == "auto" and query.has_automaton)
    ):
        by_tecs = SHORT if evaluator == "auto" else 0
        live = LiveRun(query, _axis(arguments), options, by_tecs=by_tecs)
        with _sink(arguments) as sink, suppress(Enough):
            live.into(Limited(sink, arguments.limit))
    else:
        _run_on_all(query, arguments)


def _run_sremo(e: Sremo, arguments: argparse.Namespace) -> None:
    """What a stream, read as a whole, shows of a SREMO."""
    if arguments.labels:
        raise Unsupported("CER0482", "a SREMO has no labels", hint="leave --labels out")
    column, unit = time_option(arguments)
    stream = io.read(
        arguments.events,
        time=column,
        unit=unit,
        sort=arguments.sort,
        watch=lambda events: watched(events, "reading"),
        **input_options(arguments, e),
    )
    answers = sremo_answers(e, stream, arguments.evaluator)
    seen = stream.events if arguments.show_events else None
    _write(islice(answers, arguments.limit), arguments, seen, None)


def _run_on_all(query: Query, arguments: argparse.Namespace) -> None:
    """Answers on a stream that was read as a whole."""
    column, unit = time_option(arguments)
    stream = io.read(
        arguments.events,
        time=column,
        unit=unit,
        sort=arguments.sort,
        watch=lambda events: watched(events, "reading"),
        **input_options(arguments, query),
    )
    shown = None
    seen: tuple[Event, ...] | None = None
    answers: Iterator[Any]
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


@contextmanager
def _sink(arguments: argparse.Namespace) -> Iterator[Sink]:
    """Where the compiled engine puts its answers."""
    if arguments.format == "parquet":
        with parquet_sink(arguments.output) as sink:
            yield sink
        return
    with output(arguments.output) as file:
        if arguments.format == "ndjson":
            yield NdjsonSink(file)
            return
        kept = _Kept()
        yield kept
        _table(iter(kept.answers), file, labels=False)


class _Kept:
    """A sink that keeps all answers: a table needs them before its columns have a width."""

    def __init__(self) -> None:
        self.answers: list[ComplexEvent] = []

    def one(self, answer: ComplexEvent) -> None:
        self.answers.append(answer)

    def batch(self, answers: AnswerBatch) -> None:
        self.answers += answers

    def flush(self) -> None:
        """Nothing is shown before the end."""


def _table(answers: Iterator[Any], file: TextIO, *, labels: bool) -> None:
    """A table of the answers."""
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
