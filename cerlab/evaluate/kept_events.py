"""Runs whose answers need their events: for rows with names, and for totals of listed rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from cerlab.compile.pattern import Pattern
from cerlab.engine.state_checks import bad_state, expect, is_value, is_whole
from cerlab.errors import BadData
from cerlab.evaluate.labelled import labelled_answers
from cerlab.evaluate.open_runs import (
    UNREADABLE,
    open_run,
    pattern_digest,
    promised_answers,
    state_from_bytes,
    state_to_bytes,
)
from cerlab.model.event import Event, value_of
from cerlab.model.stream import Stream, TimeAxis, Until
from cerlab.predicates.truth import partition_key

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch
    from cerlab.evaluate.aggregates import Request
    from cerlab.evaluate.running_batches import Ending, GroupCodes


SOME = 1 << 12
"""Answers that a promise makes known are put into batches of so many."""


class RunWithEvents:
    """The compiled evaluation of a pattern, and the events that answers to come may have.

    These are the events of the window; without WITHIN, of a query that waits, and with WITHIN n
    EVENTS under PARTITION BY or FROM, all of them.
    """

    def __init__(self, pattern: Pattern, time: TimeAxis | None, state: bytes | None) -> None:
        """With a `state` it goes on from there; raises as `open_run`."""
        self._pattern = pattern
        self.offset, self.events = 0, list[Event]()
        """The events that are kept, and the position of the first one."""
        inner = None if state is None else self._resume(state)
        self._run = open_run(pattern, time, inner)
        expect(self.offset + len(self.events) == self._run.position, "how many events were read")

    @property
    def position(self) -> int:
        """The number of events read."""
        return self._run.position

    def push(self, stream: Stream) -> tuple[AnswerBatch, BadData | None]:
        """Read events: the answers they complete, and the error of one that cannot be read.

        None of the events are forgotten before `forget`, and no answer is listed later.
        """
        from cerlab.engine.answers import join_answers  # NumPy loads here

        before, batches, error = self._run.position, list[Any](), None
        try:
            for batch in self._run.push_stream(stream):
                batches.append(batch)
        except BadData as caught:
            error = caught
        self.events += stream.events[: self._run.position - before]
        return join_answers(batches), error

    def advance(self, until: Until) -> AnswerBatch:
        """The answers that a promise makes known; raises as `Waits.advance`."""
        from cerlab.engine.answers import batched_answers, join_answers  # NumPy loads here

        return join_answers([*batched_answers(promised_answers(self._run, until), SOME)])

    def forget(self) -> None:
        """Drop the events before those of all answers to come."""
        # More have to leave than stay: what is moved then was paid for by what leaves.
        leaves = self._run.lowest - self.offset
        if leaves > len(self.events) // 2:
            del self.events[:leaves]
            self.offset += leaves

    def state(self) -> bytes:
        """The state of the run, and the events."""
        kept = [(e.type, e.stream, list(e.attributes.items())) for e in self.events]
        body = self._run.state().hex(), self.offset, kept
        return state_to_bytes("rows", pattern_digest(self._pattern), None, body)

    def _resume(self, state: bytes) -> bytes:
        """Take the events of a state, and return that of the run; raises `BadData` for others."""
        _, body = state_from_bytes("rows", pattern_digest(self._pattern), state)
        try:
            run, self.offset, rows = body
            expect(is_whole(self.offset), "the first event")
            self.events = [_event(*row) for row in rows]
            return bytes.fromhex(run)
        except UNREADABLE as error:
            raise bad_state(str(error)) from None


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
        """With a `state` it goes on from there; raises as `open_run`."""
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

    def _endings(self, answers: AnswerBatch, doubles: Collection[str]) -> Iterator[Ending]:
        from cerlab.engine.measures import totals_of_rows  # NumPy loads here
        from cerlab.engine.reference.totals import ANY_START
        from cerlab.evaluate.running_batches import Ending, Numbering

        request, offset, events = self._request, self._run.offset, self._run.events
        part, by_start = Stream(events), "start" in request.groups
        numbering = Numbering(request, part, (), doubles, self._codes)
        near, labels = answers.shift_positions(-offset), numbering.inputs.labels
        rows = labelled_answers(self._pattern, part, [near], labels)
        totals = totals_of_rows(rows, numbering.inputs, by_start=by_start)
        starts = totals.start + offset if by_start else totals.start
        groups = numbering.groups_of(totals.group)
        of_row = zip(totals.end.tolist(), starts.tolist(), groups, strict=True)
        for (end, start, group), total in zip(of_row, numbering.totals(totals), strict=True):
            key = partition_key(events[end], request.key)
            assert key is not None, "its events are in a partition"
            values = tuple(value_of(events[end], name) for name in request.key)
            place = (start if by_start else ANY_START, group)
            yield Ending(end + offset, key, values, place, total)
