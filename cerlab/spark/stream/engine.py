"""The general engine over many keys at once, each with its time and a stable number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.clock import Instants, TimeColumn, join_instants
from cerlab.engine.general import Tecs
from cerlab.engine.kernels.arrays import NONE
from cerlab.engine.kernels.tecs import Events
from cerlab.engine.kernels.windowed import window_starts_by_group
from cerlab.engine.learned import LearnedTables
from cerlab.engine.state_checks import expect
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.stream import TimeAxis, check_order

_NODES, _ANSWERS = 1 << 12, 1 << 13
"""Room that an engine begins with; it grows as needed."""


@dataclass(frozen=True, slots=True)
class EventTable:
    """Events that have been read, by sequence, and in a sequence by number.

    `sequence`, `number`, `position` are int64 (events,); `instants` are those of a window in time,
    else zeros.
    """

    sequence: Any
    number: Any
    position: Any
    instants: Instants

    def __len__(self) -> int:
        return len(self.number)

    def take(self, rows: Any) -> EventTable:
        """Some of them."""
        times = self.instants
        whole = isinstance(times, np.ndarray)
        some = times[rows] if whole else [times[n] for n in rows.tolist()]
        return EventTable(self.sequence[rows], self.number[rows], self.position[rows], some)

    def last(self) -> Any:
        """Which are the last ones of their sequences, bool (events,)."""
        return np.diff(self.sequence, append=-1) != 0


def no_events() -> EventTable:
    """None at all."""
    none = np.zeros(0, np.int64)
    return EventTable(none, none, none, none)


class SequencesEngine:
    """The evaluation of a plan on some sequences of events, batch by batch.

    The partitions are those of the keys. A sequence holds the events of the partition with its
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
        """`read` events have been read, `events` are those of them that can still matter."""
        width = plan.window.width if isinstance(plan.window, EventWindow) else NONE
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
        """The positions of events by number: of the last `push`, and of all that still matter."""
        number, position = self._by_number
        return position[np.searchsorted(number, numbers)]

    def push(
        self, columns: Mapping[str, Any], sequence: Any, codes: Any, position: Any, partitions: int
    ) -> Iterator[AnswerBatch]:
        """Read some events, by sequence and in order; the answers hold the numbers of events.

        `codes` are their partitions, NONE for none, and `partitions` how many there are. To be
        exhausted before the next call. Raises `BadData` for a time that is missing or goes back.
        """
        length, begins = len(position), self.read
        numbers = np.arange(begins, begins + length)
        self.tecs.partitions(partitions)
        bounds = self._bounds(partitions)
        lowest = self._append(columns, EventTable(sequence, numbers, position, numbers))
        symbols = self._tables.symbols(columns, length)
        by_number = np.argsort(self._events.number)
        self._by_number = self._events.number[by_number], self._events.position[by_number]
        self.read += length
        yield from self.tecs.read(Events(symbols, codes, numbers, lowest), bounds)

    def _append(self, columns: Mapping[str, Any], fresh: EventTable) -> Any:
        """Take in events: the number of the first one inside the window of each."""
        instants: Instants = np.zeros(len(fresh), np.int64)
        if self._clock is not None:
            instants = self._clock.instants(columns, len(fresh), lambda n: int(fresh.position[n]))
        before = self._events
        whole = EventTable(
            np.concatenate((before.sequence, fresh.sequence)),
            np.concatenate((before.number, fresh.number)),
            np.concatenate((before.position, fresh.position)),
            join_instants((before.instants, instants)),
        )
        order = np.argsort(whole.sequence, kind="stable")
        self._events = whole.take(order)
        self._lowest = self._window_starts(self._events)
        # Back in the order in which the events came, behind those of before.
        lowest = np.empty(len(order), np.int64)
        lowest[order] = self._lowest
        return lowest[len(before) :]

    def _window_starts(self, events: EventTable) -> Any:
        """The number of the first event inside the window of each, NONE for no window in time."""
        if self._clock is None:
            return np.full(len(events), NONE, np.int64)
        times: Any = events.instants
        find: Any = window_starts_by_group
        if not (isinstance(times, np.ndarray) and isinstance(self._clock.width, int)):
            # Compiled code takes no fractions, so the same function runs as Python.
            times = np.array(times, object)
            find = getattr(find, "py_func", find)
        first = np.empty(len(events), np.int64)
        back = find(events.sequence, times, self._clock.width, first)
        if back >= 0:
            before, now = times[back - 1 : back + 1].tolist()
            check_order(before, now, int(events.position[back]))
        return events.number[first]

    def _bounds(self, partitions: int) -> Any:
        """The first start that the window of the last event of each partition allows."""
        bounds = np.full(partitions, NONE, np.int64)
        if not self._together:
            bounds[self._events.sequence] = self._lowest  # that of the last event stays
        elif len(self._events):
            bounds[:] = self._lowest[-1]
        return bounds

    def keep(self, partitions: int, sequences: Any) -> tuple[Any, EventTable]:
        """Drop all but some of the sequences: which partitions are left, and the events to keep.

        Both are numbered anew from 0. Those are the events that answers to come can name, and with
        a window in time the last ones of their sequences.
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
        survivors = events.take(np.flatnonzero(is_needed & np.isin(events.sequence, sequences)))
        numbers = np.searchsorted(sequences, survivors.sequence)
        return left, EventTable(numbers, survivors.number, survivors.position, survivors.instants)


def number_keys(keys: Any, columns: Sequence[Any], length: int) -> tuple[Any, Any]:
    """The number of each row's key, -1 for none, and the table of all keys so far.

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
        part = _codes(pa.chunked_array([*keys.column(name).chunks, *_chunks(column)]))
        if codes is not None:
            absent = (codes < 0) | (part < 0)
            both = codes * (part.max(initial=0) + 1) + part
            # Pairs are numbered anew, so that the numbers stay below that of the rows.
            part = _codes(pa.chunked_array([pa.array(both, mask=absent)]))
        codes = part
    assert codes is not None
    expect((codes[:before] == np.arange(before)).all(), "equal keys")
    fresh = codes[before:]
    values, first = np.unique(fresh, return_index=True)
    new = first[values >= before]  # numbers are in the order of the first rows, so these are too
    rows = pa.table(list(columns), names=keys.column_names).take(pa.array(new, pa.int64()))
    return fresh, pa.concat_tables([keys, rows]).combine_chunks()


def _codes(column: Any) -> Any:
    """A number for each value, in the order in which they come; -1 for NULL and NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        plain = pc.add(column, 0.0)  # the two zeros are one
        column = pc.if_else(pc.is_nan(plain), None, plain)
    whole = pa.chunked_array(_chunks(column), column.type).combine_chunks()
    if pa.types.is_null(whole.type):
        return np.full(len(whole), -1, np.int64)
    indices = whole.dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _chunks(column: Any) -> list[Any]:
    return column.chunks if hasattr(column, "chunks") else [column]
