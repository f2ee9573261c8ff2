"""Runs whose answers need their events: for rows with names, and for totals of listed rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from cerlab.compile.pattern import Pattern
from cerlab.engine import codec
from cerlab.engine.codec import Layout
from cerlab.engine.state_checks import expect, is_value, reading_state
from cerlab.errors import BadData
from cerlab.evaluate.labelled import Recent, labelled_answers
from cerlab.evaluate.physical import compiled
from cerlab.evaluate.runs import OpenWaits, pattern_digest
from cerlab.model.columns import take_rows, values_of
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, Until
from cerlab.predicates.truth import key_of

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch
    from cerlab.evaluate.aggregates import Request
    from cerlab.evaluate.running_batches import Ending, GroupCodes


SHORT = 128
"""Shorter batches are kept as events: to join their columns would cost more than it saves."""


ROWS = Layout("cerlab-rows", 3, {"first": int, "events": tuple}, {"run": "|u1 bytes"})


class RunWithEvents:
    """The compiled evaluation of a pattern, and the events that answers to come may have.

    These are the events of the window; without WITHIN, of a query that waits, and with WITHIN n
    EVENTS under PARTITION BY or FROM, all of them.
    """

    def __init__(self, pattern: Pattern, time: TimeAxis | None, state: bytes | None) -> None:
        """With a `state` it goes on from there; raises as `Compiled.open`."""
        self._pattern = pattern
        self.recent = Recent()
        inner = None if state is None else self._resume(state)
        self._run = compiled(pattern).run(time, inner)
        if isinstance(self._run, OpenWaits):
            self.recent.time = self._run.time
        expect(self.recent.length == self._run.position, "how many events were read")

    @property
    def position(self) -> int:
        """The number of events read."""
        return self._run.position

    def push(self, stream: Stream) -> tuple[AnswerBatch, BadData | None]:
        """Read events: the answers they complete, and the error of one that cannot be read.

        None of the events are forgotten before `forget`, and no answer is listed later.
        """
        from cerlab.engine.answers import join_answers, one_batch  # NumPy loads here

        before, batches, error = self._run.position, list[Any](), None
        try:
            for batch in self._run.push(stream):
                batches.append(one_batch(batch))
        except BadData as caught:
            error = caught
        count = self._run.position - before
        read = stream if count == len(stream) else stream[:count]
        # A short batch without the form it came in, which takes more memory than its events.
        self.recent.append(read if len(read) >= SHORT else Stream(read.events))
        return join_answers(batches), error

    def advance(self, until: Until) -> AnswerBatch:
        """The answers that a promise makes known; raises as `WaitRun.advance`."""
        from cerlab.engine.answers import join_answers, one_batch  # NumPy loads here

        return join_answers([*map(one_batch, self._run.advance(until))])

    def forget(self) -> None:
        """Drop the batches before the events of all answers to come."""
        self.recent.forget(self._run.lowest)

    def state(self) -> bytes:
        """Return the state of the run, and the events."""
        from numpy import frombuffer, uint8  # NumPy loads here

        offset = max(self.recent.offset, self._run.lowest)
        events = self.recent.events()[offset - self.recent.offset :]
        kept = [(e.type, e.stream, list(e.attributes.items())) for e in events]
        values = {"first": offset, "events": kept}
        arrays = {"run": frombuffer(self._run.state(), uint8)}
        return codec.write(ROWS, pattern_digest(self._pattern), values, arrays)

    def _resume(self, state: bytes) -> bytes:
        """Take the events of a state, and return that of the run; raises `BadData` for others."""
        values, arrays = codec.read(ROWS, pattern_digest(self._pattern), state)
        with reading_state():
            events = [_event(*row) for row in values["events"]]
            self.recent = Recent(events, values["first"])
            return arrays["run"].tobytes()


def _event(kind: Any, stream: Any, attributes: Any) -> Event:
    expect(isinstance(kind, str) and isinstance(stream, str | None), "an event")
    pairs = dict(attributes)
    expect(all(isinstance(name, str) for name in pairs), "an attribute")
    expect(all(map(is_value, pairs.values())), "a value")
    return Event(kind, pairs, stream)


class ListedTotals:
    """The totals of the answers of arriving events, which are listed: batches in, endings out."""

    def __init__(
        self,
        pattern: Pattern,
        request: Request,
        time: TimeAxis | None,
        codes: GroupCodes,
        state: bytes | None,
    ) -> None:
        """With a `state` it goes on from there; raises as `Compiled.open`."""
        self._pattern = pattern
        self._request = request
        self._codes = codes
        self._run = RunWithEvents(pattern, time, state)
        self.state = self._run.state

    @property
    def position(self) -> int:
        """The number of events read."""
        return self._run.position

    def read(self, stream: Stream, doubles: Collection[str]) -> tuple[list[Ending], BadData | None]:
        """Read events: the rows they complete by end, and the error of one that cannot be read.

        `doubles` are the attributes that have had some.
        """
        answers, error = self._run.push(stream)
        endings = [*self._endings(answers, doubles)] if len(answers) else []
        self._run.forget()
        return endings, error

    def advance(self, until: Until, doubles: Collection[str]) -> list[Ending]:
        """The rows that a promise completes; raises as `WaitRun.advance`."""
        answers = self._run.advance(until)
        return [*self._endings(answers, doubles)] if len(answers) else []

    def _endings(self, answers: AnswerBatch, doubles: Collection[str]) -> Iterator[Ending]:
        from cerlab.engine.measures import totals_of_rows  # NumPy loads here
        from cerlab.evaluate.running_batches import Numbering, endings_of

        request, by_start = self._request, "start" in self._request.groups
        part, offset = self._run.recent.part_of(self._pattern, answers)
        numbering = Numbering(request, part, doubles, self._codes)
        inputs = numbering.inputs(part, doubles)
        near, labels = answers.shift_positions(-offset), inputs.labels
        rows = labelled_answers(self._pattern, part, [near], labels)
        totals = totals_of_rows(rows, inputs, by_start=by_start)
        columns = [values_of(take_rows(part.columns[a], totals.end), a) for a in request.key]
        keys = zip(*columns, strict=True) if columns else [()] * len(totals.end)
        owners = [(key_of(values) or (), values) for values in keys]
        start = totals.start + offset if by_start else totals.start
        return endings_of(totals._replace(end=totals.end + offset, start=start), owners, numbering)
