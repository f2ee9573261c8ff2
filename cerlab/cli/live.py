"""Standard input as it comes: an answer is out before the event after its last is waited for."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any
from warnings import warn

from cerlab import io
from cerlab.cli.answers import Answers, Enough, Writer
from cerlab.cli.options import in_columns, input_options, time_option
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import AnswerWarning, BadData, CerlabError, TypeMismatch
from cerlab.evaluate import (
    AUTO,
    answers_of,
    names_that_take,
    physical,
    remark_on_waiting,
    remarks_on_waits,
    valuations_of,
)
from cerlab.evaluate.labelled import has_labels
from cerlab.evaluate.physical import compiled
from cerlab.evaluate.requirements import requirements_of
from cerlab.evaluate.separation import warn_of_pairs
from cerlab.evaluate.thresholds import SHORT
from cerlab.io.sources import is_pipe
from cerlab.logic.cel.syntax import waits
from cerlab.model.event import Event, TypeColumn
from cerlab.model.stream import Stream, TimeAxis, Until, axis_of_options

if TYPE_CHECKING:
    from cerlab.evaluate.aggregates import Request
    from cerlab.evaluate.evaluators import Compiled
    from cerlab.evaluate.open_runs import OpenRun

LONGEST_BACKLOG = 1 << 14
"""Events that have arrived are pushed at once up to this many, so answers are not late."""


_WHY_OPTIONS = ("language", "schema", "type", "time", "until")
"""Options that the question why is to be asked with too."""

MANY = 1 << 20
"""From this many events a query without a window holds much: 270 bytes each, measured for A ; B."""


class AnswerWarnings:
    """Looks at the events of a run as they pass; silent before their end."""

    def __init__(self, query: AnyPattern, arguments: argparse.Namespace) -> None:
        self._query = query
        self._arguments = arguments
        self._requirements = requirements_of(query, axis_of_options(*time_option(arguments)))
        self._some = False
        self._read = 0 if _holds_events(query) else None

    def batches(self, batches: Iterable[Stream]) -> Iterator[Stream]:
        """The same batches."""
        for batch in batches:
            self.read(batch)
            yield batch

    def read(self, stream: Stream) -> None:
        """Read a part of the stream, or all of it."""
        self._some = self._some or bool(len(stream))
        self._requirements.read(stream)
        self._count(len(stream))

    def arriving(self, events: Iterator[Event]) -> Iterator[Event]:
        """The same events, one by one."""
        observed = self._requirements.observing(events)
        for event in observed:
            self._some = True
            yield event
            break
        yield from islice(observed, MANY - 1)
        for event in observed:
            self._count(MANY + 1)
            yield event
            break
        yield from observed

    def _count(self, events: int) -> None:
        if self._read is None:
            return
        self._read += events
        if self._read > MANY:
            self._read = None  # said once
            text = "CER0914: without WITHIN the events of all unfinished answers stay in memory"
            warn(AnswerWarning(f"{text}, and {MANY:,} were read"), stacklevel=2)

    def finish(self, answers: int | None) -> None:
        """Say what there is to say; all events were read. None for answers that nobody counted."""
        arguments = self._arguments
        if (self._requirements.attributes or self._requirements.types) and not is_pipe(
            arguments.events
        ):
            self._all_names(arguments.events)
        values = {name: value for name in _WHY_OPTIONS if (value := getattr(arguments, name))}
        if isinstance(values.get("type"), TypeColumn):
            values["type-column"] = values.pop("type")
        options = [f"--{name}={value}" for name, value in values.items()]
        events = "EVENTS" if arguments.events == "-" else arguments.events
        command = shlex.join(["cerlab", "why", arguments.query, events, *options])
        if not isinstance(self._query, Pattern):
            command += " --positions .."
        self._requirements.warn(self._some, answers, f"{command} says why")

    def _all_names(self, path: str) -> None:
        """Note the names of all columns, of which the needed ones alone may have been read."""
        try:
            # One row tells the columns of a table; of NDJSON it tells its own names.
            first = next(io.batches(path, type=self._arguments.type, size=1), None)
        except CerlabError:
            return  # the rows that could be read were
        if first is not None:
            self._requirements.note(first.columns)


def _holds_events(query: AnyPattern) -> bool:
    """Return whether an unfinished answer may wait for ever: it has no window, and a loop."""
    if not isinstance(query, Pattern) or query.ast.window is not None:
        return False
    match query.machine_kind:
        case "automaton":
            return any(t.source == t.target for t in query.plan.vcea.Delta)
        case "registers":
            return any(t.source == t.target for t in query.registers.srt.Delta)
    return False


MACHINES = ("auto", "compiled", "registers")
"""The evaluators whose answers are labelled by a machine."""


WAITING = ("auto", "tecs", "compiled", "registers")
"""The evaluators that give answers when the clock has passed their wait."""


def live_run(
    query: AnyPattern,
    arguments: argparse.Namespace,
    axis: TimeAxis | None,
    answers: Answers,
    warnings: AnswerWarnings,
    until: Until | None,
) -> Callable[[], None] | None:
    """Return what reads a pipe to its end and gives answers out as they complete.

    `until` is promised after the last event, to answers that wait. None for what has to read
    everything first: a transducer that the engine does not take batch by batch, where it was asked
    for by name, and columns of answers that no machine labels. Raises `Unsupported` and
    `UsageError` as `answers_of`, before anything is read.
    """
    axis, name = axis or io.time_of_schema(query.schema), arguments.evaluator
    options = {"path": arguments.events, **input_options(arguments, query)}
    options["watch"] = warnings.arriving
    if answers.recent is not None:
        answers.recent.time = axis
    if in_columns(arguments) and isinstance(query, Pattern) and not _labels_as_they_come(query):
        return None
    has_machine = query.machine_kind in ("automaton", "registers")
    if arguments.labels and not (has_machine and name in MACHINES):
        if query.machine_kind == "automaton" and name == "automaton":
            by = physical(query, name)
            by.live((), axis)  # raises for a window without a time
            return _one_by_one(lambda S: by.valuations(S, axis), options, answers)
        return _again(query, lambda S: valuations_of(query, S, name), axis, options, answers)
    if waits_live(query, name):
        return _waiting(query, until, axis, options, answers)
    if name in ("auto", "compiled") and has_machine:
        return _compiled(query, name, axis, options, answers)
    if name in ("auto", "reference"):
        return _again(query, lambda S: answers_of(query, S, name), axis, options, answers)
    return _one_by_one(lambda S: physical(query, name).live(S, axis), options, answers)


def waits_live(query: AnyPattern, name: str) -> bool:
    """Whether an evaluator gives each answer when the clock makes it known."""
    if query.machine_kind != "waits" or query.waits is None or not query.waits.is_live:
        return False
    return name == AUTO or (name in WAITING and name in names_that_take(query))


def _labels_as_they_come(query: Pattern) -> bool:
    """Whether the events up to the end of an answer tell its labels."""
    if not waits(query.ast.formula):
        return True
    return waits_live(query, AUTO) and has_labels(query, live=True)


def _waiting(
    query: AnyPattern,
    until: Until | None,
    axis: TimeAxis | None,
    options: dict[str, Any],
    answers: Answers,
) -> Callable[[], None]:
    """Answers that wait, each when the clock has passed its wait."""
    from cerlab.evaluate.open_runs import OpenWaits, promised_answers

    run = compiled(query).open(axis)
    assert isinstance(run, OpenWaits), "the query waits"
    backlog: list[Event] = []

    def give_out() -> None:
        if backlog:
            stream = Stream(backlog)
            backlog.clear()
            answers.read(stream)
            for batch in run.push_stream(stream):
                answers.batch(batch)
        answers.flush()

    def read() -> None:
        try:
            for event in io.read_events(before_reading=give_out, **options):
                backlog.append(event)
                if len(backlog) >= LONGEST_BACKLOG:
                    give_out()
        except BadData:
            give_out()
            raise
        give_out()
        if until is not None:
            for answer in promised_answers(run, until):
                answers.one(answer)
            answers.flush()
        if until != "end" and run.waits:
            for remark in remark_on_waiting(sum(1 for _ in promised_answers(run, "end"))):
                warn(AnswerWarning(remark), stacklevel=2)

    return read


def _one_by_one(
    evaluate: Callable[[Iterable[Event]], Iterable[Any]], options: dict[str, Any], answers: Answers
) -> Callable[[], None]:
    """Answers that come out of the events one by one, as machines give them."""
    events = io.read_events(before_reading=answers.flush, **options)
    some = evaluate(_noted(events, answers))  # raises for what cannot be evaluated

    def read() -> None:
        try:
            for answer in some:
                answers.one(answer)
        except BadData:
            answers.flush()
            raise
        answers.flush()

    return read


def _noted(events: Iterable[Event], answers: Answers) -> Iterator[Event]:
    for event in events:
        if answers.recent is not None:
            answers.read(Stream([event]))
        yield event


def _again(
    query: AnyPattern,
    evaluate: Callable[[Stream], Iterable[Any]],
    axis: TimeAxis | None,
    options: dict[str, Any],
    answers: Answers,
) -> Callable[[], None]:
    """An evaluation that wants the stream as a whole, done anew before each wait.

    Exact, since an answer that is given stays one whatever comes. It is for the reference, which
    takes short streams only.
    """
    history: list[Event] = []
    done, given = 0, set[Any]()

    def give_out() -> None:
        nonlocal done
        if len(history) > done:
            for answer in evaluate(Stream(history, time=axis)):
                if answer not in given:
                    given.add(answer)
                    answers.one(answer)
            done = len(history)
        answers.flush()

    def read() -> None:
        try:
            for event in _noted(io.read_events(before_reading=give_out, **options), answers):
                history.append(event)
        except BadData:
            give_out()
            raise
        give_out()
        for remark in remarks_on_waits(query, Stream(history, time=axis)):
            warn(AnswerWarning(remark), stacklevel=2)

    evaluate(Stream((), time=axis))  # raises for what cannot be evaluated
    return read


def _compiled(
    query: AnyPattern,
    name: str,
    axis: TimeAxis | None,
    options: dict[str, Any],
    answers: Answers,
) -> Callable[[], None] | None:
    """The compiled engine; ``auto`` begins with an evaluator in Python.

    Its first `SHORT` events are evaluated by what needs no second to load; a short or slow pipe
    never wants more. If more come the engine reads those again, from memory, and goes on. That is
    exact: answers are given by whole ends, and what is kept after an event depends on the events
    and the query alone.
    """
    engine, by = compiled(query), physical(query)
    by.live((), axis)  # raises for a window without a time
    if name == "compiled" and not engine.takes_batches:
        return None
    run: OpenRun | None = None
    backlog: list[Event] = []

    def give_out() -> None:
        if run is not None and backlog:
            stream = Stream(backlog)
            backlog.clear()
            answers.read(stream)
            for batch in run.push_stream(stream):
                answers.batch(batch)
            answers.settle(run.lowest, final=True)
        answers.flush()

    def read() -> None:
        nonlocal run
        events = io.read_events(before_reading=give_out, **options)
        try:
            if name == "auto":
                first = list[Event]()
                for answer in by.live(_until_long(_noted(events, answers), first), axis):
                    answers.one(answer)
            # A pipe that ended before is answered, and Numba was never loaded.
            if name == "compiled" or (len(first) == SHORT and engine.takes_batches):
                run = _started(engine, axis, first if name == "auto" else [])
            for event in events:
                backlog.append(event)
                if len(backlog) >= LONGEST_BACKLOG:
                    give_out()
        except BadData:
            give_out()
            raise
        give_out()

    def _until_long(events: Iterable[Event], first: list[Event]) -> Iterator[Event]:
        for event in events:
            if len(first) == SHORT:  # what the engine does not take goes on one by one
                yield event
                continue
            first.append(event)
            yield event
            if len(first) == SHORT:
                if engine.takes_batches:
                    return
                warn_of_pairs(query)

    return read


def _started(engine: Compiled, axis: TimeAxis | None, events: list[Event]) -> OpenRun:
    """The engine after some events, whose answers have been given."""
    run = engine.open(axis)
    for _ in run.push_stream(Stream(events)):
        pass
    return run


def live_totals(
    query: Pattern,
    request: Request,
    arguments: argparse.Namespace,
    axis: TimeAxis | None,
    out: Writer,
    warnings: AnswerWarnings,
) -> None:
    """Write aggregates by end of a pipe: the row of an end is out before the next wait.

    Raises `BadData` after the rows of what came before it. An attribute that no event has had is a
    `UsageError` after all rows.
    """
    from cerlab.evaluate.aggregates import check_attributes
    from cerlab.evaluate.running import RunningTotals

    totals = RunningTotals(query, request, axis or io.time_of_schema(query.schema))
    options = {"path": arguments.events, **input_options(arguments, query)}
    options["watch"] = warnings.arriving
    backlog: list[Event] = []
    names: set[str] = set()
    left, count = arguments.limit, 0

    def write(table: Any) -> None:
        nonlocal left, count
        table = table.slice(0, left)
        out.table(table)
        out.flush()
        count += table.num_rows
        if left is not None:
            left -= table.num_rows
            if not left:
                raise Enough

    def give_out() -> None:
        events = list(backlog)
        backlog.clear()
        names.update(*(event.attributes for event in events))
        before = totals.position
        try:
            write(totals.push(Stream(events)))
        except (BadData, TypeMismatch) as error:
            if isinstance(error, BadData) and totals.position != before:
                write(error.matches)
                raise
            for event in events:  # up to the one that has no total, none was read
                write(totals.push(Stream([event])))

    with suppress(Enough):
        write(totals.push(Stream(())))
        try:
            for event in io.read_events(before_reading=give_out, **options):
                backlog.append(event)
        except BadData:
            give_out()
            raise
        give_out()
        if names:
            check_attributes(request, query, names)
        warnings.finish(count)
