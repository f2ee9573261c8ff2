"""``cerlab run``: answers as they are found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from cerlab import io
from cerlab.cli.answer_warnings import AnswerWarnings
from cerlab.cli.command import OK
from cerlab.cli.live import Answers, Live, live_labels, live_run
from cerlab.cli.options import (
    WatchedStream,
    add_input,
    add_query,
    add_quiet,
    input_options,
    output,
    read_any,
    time_option,
    whole_stream,
)
from cerlab.cli.streaming import Enough, LimitSink, answers_on_file
from cerlab.compile.pattern import LANGUAGES, AnyPattern, Pattern, SremoPattern
from cerlab.errors import Unsupported, UsageError
from cerlab.evaluate import EVALUATORS, answers_of, evaluator_for, valuations_of
from cerlab.evaluate.labelled import shown_attributes
from cerlab.evaluate.protocol import SHORT
from cerlab.io import NdjsonSink, Sink, parquet_sink
from cerlab.io.sources import is_pipe
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, axis_of_options

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch


def add_options(parser: argparse.ArgumentParser) -> None:
    """QUERY, EVENTS, how to evaluate and what to write."""
    add_query(parser, languages=(*LANGUAGES, "rows"))
    parser.add_argument("events", metavar="EVENTS", help="a file, or - for standard input")
    parser.add_argument("--evaluator", default="auto", help=f"{', '.join(EVALUATORS)} or auto")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N answers in all")
    parser.add_argument("--labels", action="store_true", help="valuations instead of positions")
    parser.add_argument("--events", dest="show_events", action="store_true", help="with the events")
    parser.add_argument(
        "--columns",
        metavar="A.PRICE,B.NAME",
        help="rows with names; CSV has those of SELECT without",
    )
    parser.add_argument("--format", default="ndjson", choices=("ndjson", "csv", "table", "parquet"))
    parser.add_argument("-o", "--output", metavar="OUT", help="a file instead of standard output")
    add_input(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """``cerlab run``."""
    if arguments.limit is not None and arguments.limit < 0:
        hint = "leave it out for all answers"
        raise UsageError("CER0804", f"--limit is {arguments.limit}, a negative number", hint=hint)
    if arguments.limit is not None:
        arguments.limit = min(arguments.limit, sys.maxsize)
    if arguments.format == "parquet" and arguments.output is None:
        raise UsageError("CER0809", "Parquet needs a file", hint="add -o OUT.parquet")
    if arguments.format != "ndjson" and arguments.show_events:
        message = f"--format {arguments.format} does not carry the events"
        raise UsageError("CER0813", message, hint="--format ndjson does")
    query = read_any(arguments)
    if not isinstance(query, AnyPattern):
        from cerlab.cli import rows

        return rows.run(query, arguments)
    return run_pattern(query, arguments)


def run_pattern(query: AnyPattern, arguments: argparse.Namespace) -> int:
    """``cerlab run`` of a query."""
    has_totals = isinstance(query, Pattern) and query.ast.aggregates
    if has_totals or arguments.columns is not None or arguments.format == "csv":
        from cerlab.cli import named_rows

        return named_rows.run(query, arguments)
    if isinstance(query, SremoPattern) and arguments.labels:
        raise Unsupported("CER0482", "a SREMO has no labels", hint="leave --labels out")
    if is_pipe(arguments.events) and not arguments.sort:
        _run_on_pipe(query, arguments)
    elif isinstance(query, Pattern) and _in_batches(query, arguments):
        options, warnings = input_options(arguments, query), AnswerWarnings(query, arguments)
        answers = answers_on_file(
            query, arguments.events, _axis(arguments), options, warnings.batches
        )
        with _sink(query, arguments, None) as sink, suppress(Enough):
            limit_sink = LimitSink(sink, arguments.limit)
            for batch in answers:
                limit_sink.batch(batch)
            warnings.finish(limit_sink.count)
    else:
        _run_on_all(query, arguments)
    return OK


def _in_batches(query: Pattern, arguments: argparse.Namespace) -> bool:
    """Whether the compiled engine is asked for, or best: on files that are not known to be short.

    A file is not read for this; text is judged by its bytes.
    """
    if arguments.labels or arguments.show_events or arguments.sort:
        return False
    if arguments.evaluator == "auto":
        return query.has_automaton and io.estimated_length(arguments.events) > SHORT
    return bool(arguments.evaluator == "compiled" and query.has_automaton)


def _axis(arguments: argparse.Namespace) -> TimeAxis | None:
    return axis_of_options(*time_option(arguments))


def _run_on_pipe(query: AnyPattern, arguments: argparse.Namespace) -> None:
    """Answers while the events are still arriving; what cannot be run so reads all of them first.

    A window in hours, minutes or seconds needs ``--time`` here, or a schema with one timestamp.
    """
    history: list[Event] | None = [] if arguments.show_events else None
    warnings = AnswerWarnings(query, arguments)
    live = _live(query, arguments, history, warnings)
    if live is None:
        _run_on_all(query, arguments)
        return
    with _sink(query, arguments, history) as sink, suppress(Enough):
        limit_sink = LimitSink(sink, arguments.limit)
        live.into(limit_sink)
        warnings.finish(limit_sink.count)


def _live(
    query: AnyPattern,
    arguments: argparse.Namespace,
    history: list[Event] | None,
    warnings: AnswerWarnings,
) -> Live | None:
    options = {"path": arguments.events, **input_options(arguments, query)}
    options["watch"] = warnings.arriving
    live = live_labels if arguments.labels else live_run
    return live(query, arguments.evaluator, _axis(arguments), options, history)


def _run_on_all(query: AnyPattern, arguments: argparse.Namespace) -> None:
    """Answers on a stream that was read as a whole."""
    stream = whole_stream(query, arguments)
    evaluator = arguments.evaluator
    by_name: Any = evaluator_for(query, stream).name if evaluator == "auto" else evaluator
    passing: Stream = stream
    if by_name != "compiled":  # which reads whole columns
        passing = WatchedStream(stream.events, time=stream.time, schema=stream.schema)
    answers: Answers = answers_of(query, passing, by_name)
    if arguments.labels:
        answers = valuations_of(query, passing, evaluator)
    history = stream.events if arguments.show_events else None
    with _sink(query, arguments, history) as sink, suppress(Enough):
        limit_sink = LimitSink(sink, arguments.limit)
        for answer in answers:
            limit_sink.one(answer)
            limit_sink.flush()
        warnings = AnswerWarnings(query, arguments)
        warnings.read(stream)
        warnings.finish(limit_sink.count)


@contextmanager
def _sink(
    query: AnyPattern, arguments: argparse.Namespace, history: Sequence[Event] | None
) -> Iterator[Sink]:
    """Where the answers go; with the events of `history` if answers have them."""
    if arguments.format == "parquet":
        with parquet_sink(arguments.output, labels=arguments.labels) as sink:
            yield sink
        return

    def attributes_of(answer: ComplexEvent) -> dict[int, frozenset[str]]:
        if isinstance(query, SremoPattern) or history is None:
            return {}
        return shown_attributes(query, history, answer)

    with output(arguments.output) as file:
        if arguments.format == "ndjson":
            yield NdjsonSink(file, history, attributes_of)
            return
        collector = _Collector()
        yield collector
        _table(collector.answers, file, labels=arguments.labels)


class _Collector:
    """A sink that keeps all answers: a table needs them before its columns have a width."""

    def __init__(self) -> None:
        self.answers: list[ComplexEvent | Valuation] = []

    def one(self, answer: ComplexEvent | Valuation) -> None:
        self.answers.append(answer)

    def batch(self, answers: AnswerBatch) -> None:
        self.answers += answers

    def flush(self) -> None:
        """Nothing is shown before the end."""


def _table(answers: Iterable[ComplexEvent | Valuation], file: TextIO, *, labels: bool) -> None:
    """A table of the answers."""
    from rich.console import Console
    from rich.table import Table

    table = Table("start", "end", "labels" if labels else "positions")
    for answer in answers:
        if isinstance(answer, Valuation):
            cell = "  ".join(f"{label}: {_positions(D)}" for label, D in answer.labels.items())
        else:
            cell = _positions(answer.positions)
        table.add_row(str(answer.start), str(answer.end), cell)
    Console(file=file).print(table)


def _positions(positions: Iterable[int]) -> str:
    return ", ".join(map(str, positions))
