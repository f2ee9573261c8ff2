"""Engines over many keys together; each key has its own time and number.

`SequencesEngine` has one automaton for all keys. `RegisterSequences` has a run for each, of a query
whose filters compare labels: a window of registers has one clock, and each key has its own.
`RowSequences` has the state of a session for each partition of a row pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.compile.pattern import Pattern
from cerlab.engine import codec
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.instants import (
    EventNumbers,
    Instants,
    TimeColumn,
    first_in_group,
    join_instants,
    list_of,
    take_instants,
)
from cerlab.engine.kernels.arrays import NONE
from cerlab.engine.kernels.tecs import Events
from cerlab.engine.registers.evaluation import FEW, REGISTERS, RegisterRun
from cerlab.engine.state_checks import expect, reading_state
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import Tecs
from cerlab.evaluate.runs import pattern_digest
from cerlab.io import as_stream
from cerlab.model.arrays import order_of
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.stream import Stream, TimeAxis
from cerlab.rows.session import RowPatternSession

_NODES, _ANSWERS = 1 << 12, 1 << 13
"""Initial capacity of an engine, which grows as needed."""


@dataclass(frozen=True, slots=True)
class EventTable:
    """Events that were read, grouped by sequence, and numbered within a sequence.

    `sequence`, `number`, `position` are int64 (events,); `instants` are those of a window in time,
    otherwise zeros.
    """

    sequence: Any
    number: Any
    position: Any
    instants: Instants

    def __len__(self) -> int:
        return len(self.number)

    def take(self, rows: Any) -> EventTable:
        """Return the events at some rows."""
        times = take_instants(self.instants, rows)
        return EventTable(self.sequence[rows], self.number[rows], self.position[rows], times)

    def last(self) -> Any:
        """Return which events are the last of their sequences, bool (events,)."""
        return np.diff(self.sequence, append=-1) != 0


def no_events() -> EventTable:
    """Return an empty table."""
    none = np.zeros(0, np.int64)
    return EventTable(none, none, none, none)


@dataclass(frozen=True, slots=True)
class GivenEnds:
    """The last end that THROTTLE kept in each sequence, and the length of each sequence.

    `sequence`, `number` are int64 (ends,), and `instants` the times of these ends (ends,);
    `counts` is int64 (sequences,): the number of events read of each sequence.
    """

    sequence: Any
    number: Any
    instants: Instants
    counts: Any

    def __len__(self) -> int:
        return len(self.number)


def no_ends() -> GivenEnds:
    """Return the ends of no sequence."""
    none = np.zeros(0, np.int64)
    return GivenEnds(none, none, none, none)


class SequencesEngine:
    """The evaluation of a plan on several sequences of events, batch by batch.

    The partitions are those of the keys. A sequence has the events of the partition with its
    number, or `together` those of all partitions.
    """

    def __init__(
        self,
        plan: Plan,
        tables: LearnedTables,
        time: TimeAxis | None,
        *,
        together: bool,
        read: int,
        events: EventTable,
    ) -> None:
        """Continue after `read` events; later answers may need the `events`."""
        width = EventNumbers(plan.window).width if isinstance(plan.window, EventWindow) else NONE
        self.tecs = Tecs(plan, tables, width, arena=_NODES, answers=_ANSWERS)
        self._tables = tables
        self._counts = width != NONE
        self._together = together
        self._clock = (
            TimeColumn(plan.window, time)
            if isinstance(plan.window, AttributeWindow | TimeWindow)
            else None
        )
        self.read = read
        self._events = events
        self._lowest = self._window_starts(events)

    def positions(self, numbers: Any) -> Any:
        """Return the positions of events by number, for events that are still needed."""
        return _positions(self._by_number, numbers)

    def push(
        self, columns: Mapping[str, Any], sequence: Any, codes: Any, position: Any, partitions: int
    ) -> Iterator[AnswerBatch]:
        """Read events by sequence and in order; return answers with event numbers.

        `codes` are their partitions, NONE for none, and `partitions` their number. Exhaust the
        result before the next call. Raises `BadData` for a time that is missing or goes back.
        """
        length, begins = len(position), self.read
        numbers = np.arange(begins, begins + length)
        self.tecs.partitions(partitions)
        bounds = self._bounds(partitions)
        lowest = self._append(columns, EventTable(sequence, numbers, position, numbers))
        symbols = self._tables.symbols(columns, length)
        self._by_number = _by_number(self._events)
        self.read += length
        yield from self.tecs.read(Events(symbols, codes, numbers, lowest), bounds)

    def _append(self, columns: Mapping[str, Any], fresh: EventTable) -> Any:
        """Add events; return for each the number of the first event inside its window."""
        instants: Instants = np.zeros(len(fresh), np.int64)
        if self._clock is not None:
            instants = self._clock.instants(columns, len(fresh), lambda n: int(fresh.position[n]))
        count = len(self._events)
        self._events, order = _joined(self._events, replace(fresh, instants=instants))
        self._lowest = self._window_starts(self._events)
        # bring the bounds back to the order of arrival, after the earlier events
        lowest = np.empty(len(order), np.int64)
        lowest[order] = self._lowest
        return lowest[count:]

    def _window_starts(self, events: EventTable) -> Any:
        """Return for each event the number of the first event inside its window.

        NONE without time window.
        """
        if self._clock is None:
            return np.full(len(events), NONE, np.int64)
        times = events.instants
        first, back = first_in_group(events.sequence, times, self._clock.width)
        if back >= 0:
            before, now = list_of(times[back - 1 : back + 1])
            self._clock.check_order(before, now, int(events.position[back]))
        return events.number[first]

    def _bounds(self, partitions: int) -> Any:
        """Return for each partition the first start that the last event's window allows."""
        bounds = np.full(partitions, NONE, np.int64)
        if not self._together:
            # the bound of a sequence's last event overwrites earlier ones
            bounds[self._events.sequence] = self._lowest
        elif len(self._events):
            bounds[:] = self._lowest[-1]
        return bounds

    def arrays(self, partitions: int) -> Mapping[str, Any]:
        """Return the arrays of a state for `partitions` partitions, by name, for `resume`."""
        return self.tecs.arrays(partitions)

    def resume(self, arrays: Mapping[str, Any]) -> None:
        """Restore an engine from the result of `arrays`."""
        self.tecs.resume(arrays)

    def keep(self, partitions: int, sequences: Any) -> tuple[Any, EventTable]:
        """Drop all but some of the sequences; return the remaining partitions and events.

        Both are renumbered from 0. The events are those that later answers can contain, and with a
        window in time the last ones of their sequences.
        """
        self.tecs.partitions(partitions)
        bounds = self._bounds(partitions)
        if self._together:
            self.tecs.forget(bounds)
            left = self.tecs.live_partitions(partitions)
            self.tecs.keep(left)
        else:
            left = sequences
            self.tecs.keep(left)
            self.tecs.forget(bounds[left])
        events = self._events
        nodes = self.tecs.arrays(0)
        is_needed = np.isin(events.number, nodes["position"])
        if not self._counts:
            is_needed |= np.isin(events.number, nodes["max_start"])
        if self._clock is not None:
            is_needed |= events.last()
        return left, _only(events, is_needed, sequences)


class RegisterSequences:
    """The runs of a query that compares labels, on several sequences, batch by batch.

    All sequences share one `RegisterRun`, which continues from the state of each. Its positions are
    the numbers of events, which increase along a sequence.
    """

    def __init__(
        self, query: Pattern, time: TimeAxis | None, *, read: int, events: EventTable
    ) -> None:
        """Continue after `read` events; `query` is for one sequence. Raises `NotTaken`."""
        self._digest, self._time = pattern_digest(query), time
        self._run = RegisterRun(query.registers, time)
        self._first = self._run.state()
        self._states: dict[int, bytes] = {}
        self._named: dict[int, Any] = {}
        self.read = read
        self._events = events

    def positions(self, numbers: Any) -> Any:
        """Return the positions of events by number, for events that are still needed."""
        return _positions(self._by_number, numbers)

    def push(
        self, columns: Mapping[str, Any], sequence: Any, codes: Any, position: Any, partitions: int
    ) -> Iterator[AnswerBatch]:
        """Read events by sequence and in order; return answers with event numbers.

        Exhaust the result before the next call. Raises `BadData` for a time that is missing or goes
        back, and for a damaged state.
        """
        import pyarrow as pa

        length, begins = len(position), self.read
        numbers = np.arange(begins, begins + length)
        zeros = np.zeros(length, np.int64)
        self._events, _ = _joined(self._events, EventTable(sequence, numbers, position, zeros))
        self._by_number = _by_number(self._events)
        self.read += length
        stream = as_stream(pa.table(dict(columns)))
        cuts = [0, *(np.flatnonzero(np.diff(sequence)) + 1).tolist(), length]
        for begin, end in pairwise(cuts):
            # a few events are read faster one by one than by columns
            is_short = end - begin <= FEW
            part = Stream(stream.events[begin:end]) if is_short else stream[begin:end]
            yield from self._read(int(sequence[begin]), part, begins + begin)

    def _read(self, sequence: int, events: Stream, number: int) -> Iterator[AnswerBatch]:
        """Yield the answers of a sequence's next events, numbered from `number` on."""
        run, before = self._run, self._states.get(sequence)
        with reading_state():
            known = None if before is None else codec.read(REGISTERS, self._digest, before)
            run.resume(*(known or self._first))
            expect(np.isin(run.named(), self._by_number[0]).all(), "an event that a node names")
        run.position = number
        yield from run.push(events)
        values, arrays = run.state()
        values["time"] = self._time
        self._states[sequence] = codec.write(REGISTERS, self._digest, values, arrays)
        self._named[sequence] = run.named()

    def arrays(self, partitions: int) -> Mapping[str, Any]:
        """Return the states of the runs that `keep` has left, by sequence, for `resume`."""
        return {"run": [self._states.get(n, b"") for n in range(self._count)]}

    def resume(self, arrays: Mapping[str, Any]) -> None:
        """Restore the runs from the result of `arrays`."""
        self._states = {n: state for n, state in enumerate(arrays["run"]) if state}

    def keep(self, partitions: int, sequences: Any) -> tuple[Any, EventTable]:
        """Drop all but some of the sequences.

        Return these, and the events that later answers can contain.

        Both are renumbered from 0.
        """
        events = self._events
        # a sequence without new events still needs all of its kept events
        is_needed = ~np.isin(events.sequence, [*self._named])
        if self._named:
            is_needed |= np.isin(events.number, np.concatenate([*self._named.values()]))
        kept = enumerate(sequences.tolist())
        self._states = {n: self._states[s] for n, s in kept if s in self._states}
        self._count = len(sequences)
        return sequences, _only(events, is_needed, sequences)


class RowSequences:
    """The sessions of a row pattern on several partitions of rows, batch by batch.

    The rows of all partitions go through one session, which resumes the state of each.
    """

    def __init__(self, query: str, *, read: int) -> None:
        self._session = RowPatternSession(query)
        self._session.read = self.read = read
        self._states: dict[int, bytes] = {}

    def push(self, rows: Any, sequence: Any) -> Any:
        """Return the result rows that are certain after further rows, as a table.

        `rows` are by sequence and in order. Raises `BadData` for a match that AFTER MATCH cannot
        leave, and for a damaged state.
        """
        for number in np.unique(sequence).tolist():
            if (state := self._states.get(number)) is not None:
                self._session.resume(state)
        result = self._session.push(rows)
        for last, state in self._session.states():
            # each of these partitions has a row of this batch
            self._states[int(sequence[last - self.read])] = state
        self.read += rows.num_rows
        return result

    def arrays(self, partitions: int) -> Mapping[str, Any]:
        """Return the states of the partitions that `keep` has left, by sequence, for `resume`."""
        return {"run": [self._states.get(n, b"") for n in range(self._count)]}

    def resume(self, arrays: Mapping[str, Any]) -> None:
        """Restore the sessions from the result of `arrays`."""
        self._states = {n: state for n, state in enumerate(arrays["run"]) if state}

    def keep(self, partitions: int, sequences: Any) -> tuple[Any, EventTable]:
        """Drop all but some of the sequences, numbered from 0 on; no event is kept."""
        kept = enumerate(sequences.tolist())
        self._states = {n: self._states[s] for n, s in kept if s in self._states}
        self._count = len(sequences)
        return sequences, no_events()


def _joined(before: EventTable, fresh: EventTable) -> tuple[EventTable, Any]:
    """Return earlier and new events by sequence, and the former index of each."""
    whole = EventTable(
        np.concatenate((before.sequence, fresh.sequence)),
        np.concatenate((before.number, fresh.number)),
        np.concatenate((before.position, fresh.position)),
        join_instants((before.instants, fresh.instants)),
    )
    order = order_of(whole.sequence)
    return whole.take(order), order


def _by_number(events: EventTable) -> tuple[Any, Any]:
    """Return the numbers of events in order, and their positions."""
    order = order_of(events.number)
    return events.number[order], events.position[order]


def _positions(by_number: tuple[Any, Any], numbers: Any) -> Any:
    number, position = by_number
    return position[np.searchsorted(number, numbers)]


def _only(events: EventTable, is_needed: Any, sequences: Any) -> EventTable:
    """Return the needed events of some sequences, which are renumbered from 0."""
    left = events.take(np.flatnonzero(is_needed & np.isin(events.sequence, sequences)))
    return replace(left, sequence=np.searchsorted(sequences, left.sequence))


def number_keys(
    keys: Any, columns: Sequence[Any], length: int, *, null_is_key: bool = False
) -> tuple[Any, Any]:
    """Return the number of each row's key (-1 for none), and the table of all keys so far.

    NULL and NaN are no keys, or with `null_is_key` two keys, as those of PARTITION BY in SQL.

    `keys` is the table of those before, which are numbered by row and keep their numbers. New ones
    are numbered in the order in which they come. `columns` are those of the key, of `length` rows.
    Raises `BadData` where known keys are equal, or none.
    """
    import pyarrow as pa

    if not columns:
        return np.zeros(length, np.int64), keys
    before = keys.num_rows
    codes = None
    for name, column in zip(keys.column_names, columns, strict=True):
        whole = pa.chunked_array([*keys.column(name).chunks, *_chunks(column)])
        part = _codes(whole, null_is_key=null_is_key)
        if codes is not None:
            absent = (codes < 0) | (part < 0)
            both = codes * (part.max(initial=0) + 1) + part
            # renumber pairs, so that the numbers stay below the number of rows
            part = _codes(pa.chunked_array([pa.array(both, mask=absent)]))
        codes = part
    assert codes is not None
    expect((codes[:before] == np.arange(before)).all(), "equal keys")
    fresh = codes[before:]
    values, first = np.unique(fresh, return_index=True)
    new = first[values >= before]  # in the order of their numbers
    rows = pa.table(list(columns), names=keys.column_names).take(pa.array(new, pa.int64()))
    return fresh, pa.concat_tables([keys, rows]).combine_chunks()


def _codes(column: Any, *, null_is_key: bool = False) -> Any:
    """Return a number for each value, in the order of appearance; -1 for NULL and NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        plain = pc.add(column, 0.0)  # adding 0 makes -0.0 equal to 0.0
        column = plain if null_is_key else pc.if_else(pc.is_nan(plain), None, plain)
    whole = pa.chunked_array(_chunks(column), column.type).combine_chunks()
    if pa.types.is_null(whole.type):
        return np.full(len(whole), 0 if null_is_key else -1, np.int64)
    indices = whole.dictionary_encode("encode" if null_is_key else "mask").indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _chunks(column: Any) -> list[Any]:
    return column.chunks if hasattr(column, "chunks") else [column]
