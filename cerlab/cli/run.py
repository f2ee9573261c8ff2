"""``cerlab run``: answers as they are found, in batches if the engine supports the query."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from warnings import warn

from cerlab import io
from cerlab.cli.answer_warnings import AnswerWarnings
from cerlab.cli.answers import Answers, Enough, Results, Totals
from cerlab.cli.command import OK
from cerlab.cli.options import (
    WatchedStream,
    about,
    bar,
    check_result,
    columns_of,
    in_columns,
    input_options,
    read_any,
    source_of,
    time_option,
    until_of,
    whole_stream,
)
from cerlab.compile.pattern import (
    AnyPattern,
    Pattern,
    SremoPattern,
)
from cerlab.errors import AnswerWarning, BadData, Unsupported, UsageError
from cerlab.evaluate import (
    AUTO,
    answers_of,
    choose,
    remark_on_waiting,
    remarks_on_waits,
    thresholds,
    valuations_of,
)
from cerlab.evaluate.evaluators import Compiled
from cerlab.evaluate.labelled import has_labels, in_batches, named_columns
from cerlab.evaluate.missing_names import requirements_of
from cerlab.evaluate.physical import compiled, gives_when_known, labels_by_machine
from cerlab.io.options import FileOptions
from cerlab.io.sink import open_sink
from cerlab.logic.cel.syntax import waits
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, axis_of_options
from cerlab.threads import using

if TYPE_CHECKING:
    from cerlab.engine.run import Run


def run(arguments: argparse.Namespace) -> int:
    """Run ``cerlab run``."""
    if arguments.limit is not None and arguments.limit < 0:
        hint = "leave it out for all answers"
        raise UsageError("CER0804", f"--limit is {arguments.limit}, a negative number", hint=hint)
    if arguments.limit is not None:
        # `islice` and slices of Arrow accept no number above sys.maxsize.
        arguments.limit = min(arguments.limit, sys.maxsize)
    check_result(arguments)
    if arguments.format != "ndjson" and arguments.show_events:
        message = f"--format {arguments.format} does not carry the events"
        raise UsageError("CER0813", message, hint="--format ndjson does")
    query = read_any(arguments)
    if not isinstance(query, AnyPattern):
        from cerlab.cli import rows

        return rows.run(query, arguments)
    return run_pattern(query, arguments)


def run_pattern(query: AnyPattern, arguments: argparse.Namespace) -> int:
    """Run ``cerlab run`` of a query."""
    with_columns = in_columns(arguments)
    has_totals = isinstance(query, Pattern) and bool(query.ast.aggregates)
    if isinstance(query, SremoPattern) and (arguments.labels or with_columns):
        option = "--labels" if arguments.labels and not with_columns else "--columns"
        raise Unsupported("CER0482", "a SREMO has no labels", hint=f"leave {option} out")
    if with_columns or has_totals:
        for option, value in (("--labels", arguments.labels), ("--events", arguments.show_events)):
            if value:
                message = f"rows with names do not carry what {option} adds"
                raise UsageError("CER0865", message, hint=f"leave {option} out, or --columns")
    if has_totals and isinstance(query, Pattern):
        _totals(query, arguments)
        return OK
    warnings = AnswerWarnings(query, arguments)
    _check_lateness(arguments)
    axis, until = _axis(arguments), until_of(arguments)
    whole = arguments.sort or (until is not None and not _waits_live(query, arguments, axis))
    vary = with_columns and _parts_vary(query, arguments)
    if vary and not whole:
        whole = not _names_columns(query, arguments)
    opened = open_sink(
        arguments.output, arguments.format, types_grow=vary, of_positions=not with_columns
    )
    with opened as out, suppress(Enough):
        source = source_of(arguments)
        open_run = _run_of_pipe if source.is_pipe else _run_of_file
        run = None if whole else open_run(query, arguments)
        if run is None:
            if arguments.lateness is not None:
                raise _no_lateness("a query that reads all events first")
            _run_on_all(query, arguments, Answers(query, arguments, out), warnings)
            return OK
        by_columns = source.holds_columns
        answers = Answers(query, arguments, out, by_columns=by_columns, types_grow=vary)
        if source.is_pipe:
            if answers.recent is not None:
                answers.recent.time = _axis_of_pipe(query, arguments)
            _feed_pipe(query, arguments, run, answers, warnings)
        else:
            _feed_file(query, arguments, run, answers, warnings)
            answers.finish()
            warnings.finish(answers.count)
    return OK


def _check_lateness(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for ``--lateness`` with files, or with ``--sort``."""
    if arguments.lateness is None:
        return
    if not source_of(arguments).is_pipe:
        raise _no_lateness("files, which are complete")
    if arguments.sort:
        raise _no_lateness("--sort, which reads all events first")


def _no_lateness(why: str) -> UsageError:
    message = f"--lateness does not go with {why}"
    return UsageError("CER0865", message, hint="leave --lateness out; --sort sorts all events")


def _waits_live(query: AnyPattern, arguments: argparse.Namespace, axis: TimeAxis | None) -> bool:
    """Return whether a run on a pipe can write each answer as soon as its wait ends."""
    if arguments.labels or not gives_when_known(query, arguments.evaluator):
        return False
    waiting = query.waits
    assert waiting is not None, "the query waits"
    return axis is not None or not any(isinstance(w, TimeWindow) for w in waiting.plan.windows)


def _axis(arguments: argparse.Namespace) -> TimeAxis | None:
    return axis_of_options(*time_option(arguments))


def _parts_vary(query: AnyPattern, arguments: argparse.Namespace) -> bool:
    """Return whether parts of the events have columns and types that other parts lack.

    False for a file with columns. Declarations name the columns of CORE's CSV by event type.
    """
    source = source_of(arguments)
    if source.is_pipe or not source.has_whole_columns:
        return True
    return query.schema is not None and not source.holds_columns


def _names_columns(query: AnyPattern, arguments: argparse.Namespace) -> bool:
    """Return whether the columns of rows are known before the events."""
    if columns_of(arguments) is not None or query.schema is not None:
        return True
    items = query.ast.items if isinstance(query, Pattern) else None
    return bool(items) and all(item.attributes for item in items or ())


def _run_of_file(query: AnyPattern, arguments: argparse.Namespace) -> Run[Any] | None:
    """Return the run of the compiled engine on a file if it is requested or faster, otherwise None.

    It is faster on files that are not known to be short. The file is not read for this decision:
    the length of a text file is estimated from its bytes.
    """
    if arguments.evaluator not in ("auto", "compiled"):
        return None
    if query.machine_kind not in ("automaton", "registers"):
        return None
    source = source_of(arguments)
    if arguments.evaluator == "auto" and source.estimated_length <= thresholds.SHORT:
        return None
    return compiled(query).run_of_file(_axis_of_file(query, arguments))


def _axis_of_file(query: AnyPattern, arguments: argparse.Namespace) -> TimeAxis | None:
    options = FileOptions(**input_options(arguments, query))
    return _axis(arguments) or source_of(arguments).time_axis(options)


def _feed_file(
    query: AnyPattern,
    arguments: argparse.Namespace,
    run: Run[Any],
    answers: Answers,
    warnings: AnswerWarnings,
) -> None:
    """Read a file in batches, keeping only one batch and the window in memory."""
    source, options = source_of(arguments), input_options(arguments, query)
    attributes = _attributes(query, arguments, _axis_of_file(query, arguments))
    parts = io.batches(source, attributes=attributes, **options)
    watched = warnings.batches(bar(parts, "evaluating", about(source), len))
    try:
        for part in watched:
            _push(run, part, answers)
            answers.settle(run.lowest)
    except BadData:
        _finish(run, answers)
        raise
    _finish(run, answers)


def _finish(run: Run[Any], answers: Answers) -> None:
    for batch in run.finish():
        answers.take(batch)
    answers.settle(final=True)


def _push(run: Run[Any], part: Stream, to: Results) -> None:
    to.read(part)
    for results in run.push(part):
        to.take(results)


def _axis_of_pipe(query: AnyPattern, arguments: argparse.Namespace) -> TimeAxis | None:
    return _axis(arguments) or io.time_of_schema(query.schema)


def _run_of_pipe(query: AnyPattern, arguments: argparse.Namespace) -> Run[Any] | None:
    """Return the run that yields answers of a pipe when they are known.

    None if it must be read first.

    It must be read first for a transducer that the engine cannot run in batches but that is
    requested by name, and for columns of answers that no machine labels. Raises `Unsupported` and
    `UsageError` as `answers_of`, before anything is read.
    """
    name, axis = arguments.evaluator, _axis_of_pipe(query, arguments)
    if in_columns(arguments) and isinstance(query, Pattern) and not _labels_as_they_come(query):
        return None
    by = choose(query, name)
    if isinstance(by, Compiled) and not by.takes_batches:
        return None
    if arguments.labels and not labels_by_machine(query, name):
        return by.labelled_run(axis)
    return by.run(axis)


def _labels_as_they_come(query: Pattern) -> bool:
    """Return whether the events up to the end of an answer determine its labels."""
    if not waits(query.ast.formula):
        return True
    return gives_when_known(query) and has_labels(query, live=True)


def _feed_pipe(
    query: AnyPattern,
    arguments: argparse.Namespace,
    run: Run[Any],
    to: Results,
    warnings: AnswerWarnings,
) -> None:
    """Read a pipe as it arrives, writing each answer before waiting for the next event.

    Answers before a bad event are written before its error.
    """
    options = input_options(arguments, query)
    parts = io.batches(source_of(arguments), before_reading=to.flush, **options)
    try:
        for part in _in_order(warnings.batches(parts), query, arguments):
            _push(run, part, to)
    except BadData:
        to.flush()
        raise
    to.flush()
    if (until := until_of(arguments)) is not None:
        for results in run.advance(until):
            to.take(results)
        to.flush()
    if until != "end":
        for remark in remark_on_waiting(run.waiting()):
            warn(AnswerWarning(remark), stacklevel=2)
    to.finish()
    warnings.finish(to.count)


def _in_order(
    parts: Iterable[Stream], query: AnyPattern, arguments: argparse.Namespace
) -> Iterator[Stream]:
    """Yield the events of a pipe in time order, as far as ``--lateness`` allows, then the rest."""
    if arguments.lateness is None:
        yield from parts
        return
    from cerlab.engine.late_events import InOrder

    aside = None
    if (on_bad_row := arguments.quarantine) is not None:

        def aside(event: Event, error: BadData) -> None:
            stream = {} if event.stream is None else {"stream": event.stream}
            row = {"type": event.type, **stream, **event.attributes}
            on_bad_row(json.dumps(row, default=str, ensure_ascii=False), error)

    order = InOrder(_axis_of_pipe(query, arguments), arguments.lateness, aside)
    for part in parts:
        yield from order.push(part)
    yield order.advance("end")


def _attributes(
    query: AnyPattern, arguments: argparse.Namespace, axis: TimeAxis | None
) -> frozenset[str] | None:
    """Return the attributes that are read; None for all."""
    if arguments.show_events:
        return None
    names = {*requirements_of(query).attributes}
    if isinstance(query, SremoPattern):
        windows = query.registers.windows
        names |= {w.attribute for w in windows if isinstance(w, AttributeWindow)}
    elif in_columns(arguments):
        if not _names_columns(query, arguments):
            return None
        columns = columns_of(arguments)
        named = named_columns(query, columns, (), empty=True)
        names |= {column.attribute for column in named if column.attribute is not None}
    if axis is not None:
        names.add(axis.attribute)
    return frozenset(names)


def _run_on_all(
    query: AnyPattern, arguments: argparse.Namespace, answers: Answers, warnings: AnswerWarnings
) -> None:
    """Write the answers on a stream that is read as a whole."""
    stream = whole_stream(query, arguments)
    answers.read(stream)
    evaluator = arguments.evaluator
    way = choose(query).on(stream) if evaluator == AUTO else evaluator
    by_columns = evaluator == "compiled" or isinstance(way, Compiled)
    passing: Stream = stream
    if not by_columns:
        passing = WatchedStream(
            stream.events, time=stream.time, schema=stream.schema, until=stream.until
        )
    if arguments.labels and not labels_by_machine(query, evaluator):
        some: Iterable[Any] = ([V] for V in valuations_of(query, passing, evaluator))
    elif by_columns:
        some = in_batches(answers_of(query, passing, way))
    else:
        some = ([answer] for answer in answers_of(query, passing, way))
    for results in some:
        answers.take(results)
        if not answers.needs_events:
            answers.flush()
    answers.finish()
    _say_what_waits(query, stream)
    warnings.read(stream)
    warnings.finish(answers.count)


def _say_what_waits(query: AnyPattern, stream: Stream) -> None:
    for remark in remarks_on_waits(query, stream):
        warn(AnswerWarning(remark), stacklevel=3)


def _totals(query: Pattern, arguments: argparse.Namespace) -> None:
    """Write the table of ``SELECT COUNT(*), ..``; on a pipe, totals by end as they arrive."""
    from cerlab.evaluate.aggregates import selected_request
    from cerlab.evaluate.totals import group_totals

    conflicts = {
        "--columns": arguments.columns,
        "--evaluator": arguments.evaluator not in ("auto", "compiled"),
    }
    for option in (name for name, value in conflicts.items() if value):
        message = f"{option} does not go with SELECT COUNT(*) and sums"
        raise UsageError("CER0865", message, hint=f"leave {option} out")
    request, warnings = selected_request(query), AnswerWarnings(query, arguments)
    _check_lateness(arguments)
    comes = source_of(arguments).is_pipe and not arguments.sort and "end" in request.groups
    # without a machine, answers on the whole stream are listed instead
    comes = comes and query.machine_kind in ("automaton", "registers")
    comes = comes and compiled(query).takes_batches
    if comes and arguments.format in ("ndjson", "csv"):
        from cerlab.evaluate.running import TotalsUpToBadValues

        run = TotalsUpToBadValues(query, request, _axis_of_pipe(query, arguments))
        with open_sink(arguments.output, arguments.format) as out, suppress(Enough):
            to = Totals(query, request, arguments.limit, out)
            _push(run, Stream(()), to)  # an empty push writes the head of the table
            _feed_pipe(query, arguments, run, to, warnings)
        return
    if arguments.lateness is not None:
        raise _no_lateness("totals that are known only after all events")
    stream = whole_stream(query, arguments)
    with using(arguments.threads):
        warnings.read(stream)
        totals = group_totals(query, stream, request)
    with open_sink(arguments.output, arguments.format) as out:
        out.table(totals.table().slice(0, arguments.limit))
    _say_what_waits(query, stream)
    warnings.finish(None if totals.some or arguments.limit == 0 else 0)
