"""The events of the batches read so far that later answers may contain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine import codec
from cerlab.engine.codec import Layout
from cerlab.engine.run import Around, OpenRun
from cerlab.engine.state_checks import expect, reading_state
from cerlab.evaluate import thresholds
from cerlab.evaluate.runs import OpenWaits, pattern_digest
from cerlab.model.columns import Columns, concat_columns
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, Until

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch


class Recent:
    """The latest events of a stream, which later answers may contain."""

    def __init__(self, events: Sequence[Event] = (), offset: int = 0) -> None:
        """Start with `events`, the first of which has position `offset`."""
        self._parts = [Stream(events)] if events else []
        self.offset, self.length = offset, offset + len(events)
        """The position of the first event that is kept, and the number of events so far."""
        self.time: TimeAxis | None = None
        """The axis by which the events are read, if inner windows and waits need one."""

    def append(self, part: Stream) -> None:
        """Add the next events."""
        self._parts.append(part)
        self.length += len(part)

    def forget(self, before: int) -> None:
        """Drop the parts that end before a position."""
        while self._parts and self.offset + len(self._parts[0]) <= before:
            self.offset += len(self._parts.pop(0))

    def events(self) -> list[Event]:
        """Return all kept events as one stream."""
        return [event for part in self._parts for event in part.events]

    def part(self, first: int, until: int) -> tuple[Stream, int]:
        """Return stored parts that include events `first` to `until - 1`, and their position."""
        at, parts = self.offset, list[Stream]()
        begin = at
        for part in self._parts:
            if at + len(part) > first and at < until:
                begin = begin if parts else at
                parts.append(part)
            at += len(part)
        return self.timed(joined(parts)), begin

    def timed(self, part: Stream) -> Stream:
        """Return a part of the events with the time axis, if there is one."""
        if self.time is None:
            return part
        part = copy(part)
        part.time = self.time
        return part

    def part_of(self, pattern: AnyPattern, answers: AnswerBatch) -> tuple[Stream, int]:
        """Return the events of answers, with all earlier ones if no machine labels answers."""
        has_machine = pattern.machine_kind in ("automaton", "registers")
        first = int(answers.start.min()) if has_machine else 0
        return self.part(first, int(answers.end.max()) + 1)


def joined(parts: Sequence[Stream]) -> Stream:
    """Return streams concatenated, by columns if all of them have columns."""
    if len(parts) == 1:
        return parts[0]
    if not all(part.is_columnar for part in parts):
        return Stream([event for part in parts for event in part.events])

    def column(name: str) -> Any:
        import pyarrow as pa

        columns = (p.columns[name] if name in p.columns else pa.nulls(len(p)) for p in parts)
        return concat_columns([chunk for c in columns for chunk in getattr(c, "chunks", [c])])

    names = dict.fromkeys(name for part in parts for name in part.columns)
    length = sum(map(len, parts))
    return Stream.from_columns(
        Columns(names, column, _source(parts)),
        length,
        lambda: (t for part in parts for t in part.events),
    )


def _source(parts: Sequence[Stream]) -> Any:
    """Return the schema that the tables of all parts share, None if they differ."""
    first = parts[0].columns.source
    return first if all(part.columns.source == first for part in parts) else None


ROWS = Layout("cerlab-rows", 4, {"first": int, "events": tuple}, {"run": "|u1 bytes"})


class WithEvents(Around):
    """A run of the compiled engine that keeps the events of later answers.

    These are the events of the window. All events are kept without WITHIN, of a query that waits,
    and with WITHIN n EVENTS under PARTITION BY or FROM.
    """

    def __init__(
        self,
        pattern: Pattern,
        opened: Callable[[TimeAxis | None, bytes | None], OpenRun],
        time: TimeAxis | None,
        state: bytes | None,
    ) -> None:
        """Open the run that the function `opened` returns; raise as `Compiled.run`."""
        self._pattern = pattern
        self.recent = Recent()
        inner = None if state is None else self._resume(state)
        self._run: OpenRun = opened(time, inner)
        if isinstance(self._run, OpenWaits):
            self.recent.time = self._run.time
        expect(self.recent.length == self._run.position, "how many events were read")

    def push(self, events: Stream) -> Iterator[AnswerBatch]:
        """Read more events and keep them until `forget`; yield the answers that they complete."""
        from cerlab.engine.answers import one_batch  # NumPy loads here

        first = self._run.position
        try:
            yield from map(one_batch, self._run.push(events))
        finally:
            count = self._run.position - first
            read = events if count == len(events) else events[:count]
            # keep the events of a short batch, not its original columns, which take more memory
            self.recent.append(read if count >= thresholds.FEWEST else Stream(read.events))

    def advance(self, until: Until) -> Iterator[AnswerBatch]:
        """Declare that all events before a time have arrived; raise as the inner run."""
        from cerlab.engine.answers import one_batch  # NumPy loads here

        return map(one_batch, self._run.advance(until))

    def finish(self) -> Iterator[AnswerBatch]:
        """Return no answers, because waiting answers need `advance`."""
        return iter(())

    def waiting(self) -> int:
        """Return the number of answers that wait for the clock."""
        return self._run.waiting()

    def forget(self) -> None:
        """Drop the batches before the events of all later answers."""
        self.recent.forget(self._run.lowest)

    def state(self) -> bytes:
        """Return the state of the inner run together with the kept events."""
        from numpy import frombuffer, uint8  # NumPy loads here

        offset = max(self.recent.offset, self._run.lowest)
        events = self.recent.events()[offset - self.recent.offset :]
        kept = [*map(codec.event_to_values, events)]
        values = {"first": offset, "events": kept}
        arrays = {"run": frombuffer(self._run.state(), uint8)}
        return codec.write(ROWS, pattern_digest(self._pattern), values, arrays)

    def _resume(self, state: bytes) -> bytes:
        """Restore the events of a state, and return the state of the inner run; raise `BadData`."""
        values, arrays = codec.read(ROWS, pattern_digest(self._pattern), state)
        with reading_state():
            events = [codec.event_from_values(*row) for row in values["events"]]
            self.recent = Recent(events, values["first"])
            return arrays["run"].tobytes()
