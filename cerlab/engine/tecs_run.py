"""The general engine: it runs every plan that has an automaton, with kernels on the tECS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.budget import poll
from cerlab.engine.answers import (
    AnswerBatch,
    Buffer,
    arena_of,
    double_room,
    events_of_streams,
    join_arrays,
    paces,
    until_bad,
)
from cerlab.engine.codec import axis_of_state
from cerlab.engine.instants import EventNumbers
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.enumeration import collect, move_together
from cerlab.engine.kernels.tecs import Events, read_batch
from cerlab.engine.run import AtOnce
from cerlab.engine.state import number_keys, state_from_bytes, state_to_bytes
from cerlab.engine.state_checks import reading_state
from cerlab.engine.symbol_tables import LearnedTables, learned_tables
from cerlab.engine.windows import WindowStarts
from cerlab.kernel_cache import RepeatedCalls
from cerlab.model.clauses import Consume, EventWindow
from cerlab.model.columns import slice_columns
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.pieces import narrow

CONSUMES = {Consume.NONE: k.KEEP, Consume.PARTITION: k.RESET_PARTITION, Consume.ANY: k.RESET_ALL}


SKIPS_KEPT = 4096
"""The most remembered cases of single events that are only counted."""


KEYS_KEPT = 4096
"""Below this many keys of PARTITION BY all are kept: forgetting them would cost more."""

MOST = k.NO_LIMIT - 1


def limit_of(plan: Plan) -> int:
    """Return the LIMIT of a plan, the most answers of one end."""
    return min(plan.limit.per_end, MOST) if plan.limit else k.NO_LIMIT


class Tecs:
    """The tECS of all partitions as growing arrays, and the buffer of answers.

    `width` is that of a window in events counted in partitions, otherwise NONE. `arena` nodes,
    `answers` of a handed-over batch are starting sizes, which grow as needed.
    """

    def __init__(
        self, plan: Plan, tables: LearnedTables, width: int, *, arena: int, answers: int
    ) -> None:
        self._tables = tables
        self._idle_states = 1
        self._limits = k.Limits(k.NO_LIMIT, CONSUMES[plan.consume], width)
        self._limit = limit_of(plan) if plan.limit else None
        self._idle = tables.machine.idle
        self._batches = 0
        self._collected_at = (0, -1)
        self._counters = np.zeros(k.REGISTERS, np.int64)
        self._arena = arena_of(arena)
        self.parts = _partitions(1, self._idle)
        self._pool = np.zeros(1 << 10, np.int32)
        self._scratch = _scratch(8, 8)
        depth, longest = np.zeros((2, 64), np.int32), np.zeros(64, np.int64)
        self._stack = k.Stack(depth[0], depth[1], longest)
        self._answers = Buffer(answers)
        self._read_batch = RepeatedCalls(read_batch)
        self._one: Events | None = None
        self._skipped: set[tuple[int, int, int]] = set()

    @property
    def steps(self) -> int:
        """The number of entries and nodes visited, which measures the cost."""
        return int(self._counters[k.STEPS])

    @property
    def nodes(self) -> int:
        """The number of nodes that fit into the arena at present."""
        return len(self._arena.position)

    def partitions(self, count: int) -> None:
        """Enlarge the arrays to `count` partitions."""
        have = len(self.parts.start)
        if count > have:
            more = _partitions(2 * count - have, self._idle)
            self.parts = join_arrays(self.parts, more)

    def read(self, events: Events, lowest: Int64s | None = None) -> Iterator[AnswerBatch]:
        """Read a batch of events with the kernel; yield the answers.

        With `lowest`, int64 (partitions,), each partition has its own window: the first start that
        its window allowed before these events. Exhaust it before the next call. Raises
        `ResourceLimit` if determinisation does.
        """
        if len(events.idles):
            self._idle_states = max(self._idle_states, int(events.idles.max()) + 1)
        for part in paces(len(events.symbols)):
            columns: list[Any] = [column[part] for column in events[:-1]]
            report_from = max(0, events.report_from - part.start)
            yield from self._read(Events._make((*columns, report_from)), lowest)

    def read_one(
        self,
        symbol: int,
        code: int,
        position: int,
        lowest: int,
        *,
        least: Int64s | None = None,
        is_silent: bool = False,
    ) -> Iterator[AnswerBatch]:
        """Read one event, reusing the arrays of the last call; yield the answers."""
        if self._one is None or self._one.symbols.dtype != self._tables.symbol_type:
            place, at, first = np.zeros((3, 1), np.int64)
            symbols, silent = np.zeros(1, self._tables.symbol_type), np.zeros(1, np.uint8)
            self._one = Events(symbols, place, at, first, silent=silent)
        one = self._one
        one.symbols[0], one.codes[0], one.positions[0], one.lowest[0] = (
            symbol,
            code,
            position,
            lowest,
        )
        one.silent[0] = is_silent
        return self._read(one, least)

    def _read(self, events: Events, lowest: Int64s | None) -> Iterator[AnswerBatch]:
        self._counters[k.EVENT] = 0
        self._batches += 1
        table = self._tables.take_table(self._idle_states)
        try:
            while True:
                own = self._pool, self._scratch, self._stack, self._answers.arrays
                arrays = k.Tecs(self._arena, self._counters, table.arrays, self.parts, *own)
                status = self._read_batch(arrays, events, self._limits, self._idle, self._limit)
                event = int(self._counters[k.EVENT])
                if status == k.DONE:
                    break
                if status == k.FULL:
                    yield from self._answers.make_room(self._counters, k.ANSWERS, k.POSITIONS)
                elif status == k.NEED_CELL:
                    p = int(events.codes[event])
                    symbol, idle = int(events.symbols[event]), int(self.parts.idle[p])
                    table.fill(symbol, self._states(p), idle)
                else:
                    self._provide(status, int(events.lowest[event]) if lowest is None else lowest)
            self._idle_states = len(table.arrays.wait)
        finally:
            self._tables.give_back(table)
        if self._counters[k.ANSWERS]:
            yield self._answers.flush(self._counters, k.ANSWERS, k.POSITIONS)

    def just_skips(self, symbol: int, p: int) -> bool:
        """Return whether an event changes only the count of events; if so, read it.

        The test is that of `kernels.tecs.next_that_matters`, without the cost of a kernel call.
        """
        if p == k.NONE:
            return True
        parts = self.parts
        if parts.epoch[p] != self._counters[k.EPOCH]:
            return False
        # a cached answer, since it depends only on the machine, and array cells are slow to read
        case = symbol, int(parts.idle[p]), int(parts.active[p])
        if case not in self._skipped:
            if not self._skips(*case):
                return False
            if len(self._skipped) >= SKIPS_KEPT:
                self._skipped.clear()
            self._skipped.add(case)
        parts.events[p] += 1
        return True

    def _skips(self, symbol: int, w: int, active: int) -> bool:
        """Return whether an event changes nothing in these active states and this idle state."""
        table = self._tables.take_table(self._idle_states)
        arrays = table.arrays
        skips = bool(
            not active & ~int(arrays.silent[symbol])
            and arrays.begin_take[w, symbol] == k.NONE
            and arrays.begin_skip[w, symbol] == k.NONE
            and arrays.wait[w, symbol] == w
        )
        self._tables.give_back(table)
        return skips

    def _provide(self, status: int, lowest: int | Int64s) -> None:
        """Provide the room or the table cell that a kernel lacked."""
        match status:
            case k.NEED_ARENA:
                self._room(lowest)
            case k.NEED_SCRATCH:
                entries, longest = self._scratch.nodes.shape
                self._scratch = _scratch(2 * entries, 2 * longest)
            case k.NEED_POOL:
                size = int(self.parts.length.sum())
                # each partition gets twice its length; three quarters of the new pool remain free
                poll(4 * max(2 * len(self._pool), 8 * size))
                pool = np.zeros(max(2 * len(self._pool), 8 * size), np.int32)
                move_together(self._counters, self.parts, self._pool, pool)
                self._pool = pool
            case k.NEED_STACK:
                self._stack = double_room(self._stack)
            case _:
                raise AssertionError(f"unknown status {status}")

    def _states(self, p: int) -> list[int]:
        at = int(self.parts.start[p])
        end = at + int(self.parts.length[p])
        states = []
        while at < end:
            states.append(int(self._pool[at]))
            at += 2 + int(self._pool[at + 1])
        return states

    def _room(self, lowest: int | Int64s) -> None:
        """Drop nodes outside the window; double the arena if that frees less than half of it."""
        self.forget(lowest)
        now = (self._batches, int(self._counters[k.EVENT]))
        again, self._collected_at = self._collected_at == now, now
        # compaction reads the whole arena, so it must free at least half of it
        if again or 2 * self._counters[k.HEAD] > self.nodes:
            self._arena = double_room(self._arena)

    def forget(self, lowest: int | Int64s) -> None:
        """Drop the nodes outside the window and those discarded by CONSUME BY ANY.

        `lowest` is the lowest start inside it, of all or of each of the first partitions; windows
        counted in partitions know their own.
        """
        parts = self.parts
        stale = parts.epoch != self._counters[k.EPOCH]
        parts.length[stale] = 0
        parts.idle[stale] = self._idle
        parts.active[stale] = 0
        parts.epoch[stale] = self._counters[k.EPOCH]
        limits = np.full(len(parts.start), -1, np.int64)
        limits[: np.size(lowest) if np.ndim(lowest) else None] = lowest
        if self._limits.width != k.NONE:
            limits = parts.events - self._limits.width
        number = np.zeros(self.nodes, np.int64)
        collect(self._arena, self._counters, parts, self._pool, limits, number)

    def live_partitions(self, count: int) -> Int64s:
        """Return the indices of the first `count` partitions that are not in their initial state.

        After `forget`.
        """
        parts = self.parts
        fresh = (parts.length[:count] == 0) & (parts.idle[:count] == self._idle)
        return np.flatnonzero(~fresh)

    def keep(self, partitions: Int64s) -> None:
        """Keep only some partitions, renumbered; all others must be in their initial state."""
        fresh = _partitions(max(1, 2 * len(partitions)), self._idle)
        pairs: Iterable[tuple[Any, Any]] = zip(self.parts, fresh, strict=True)
        for before, after in pairs:
            after[: len(partitions)] = before[partitions]
        fresh.epoch[len(partitions) :] = self._counters[k.EPOCH]
        self.parts = fresh

    def arrays(self, count: int) -> dict[str, Any]:
        """Return the first `count` partitions and the tECS as arrays; call `forget` first."""
        parts = self.parts
        length = parts.length[:count]
        before = np.cumsum(length) - length
        entries = np.arange(length.sum()) + np.repeat(parts.start[:count] - before, length)
        head = int(self._counters[k.HEAD])
        return {
            **{name: column[:head] for name, column in self._arena._asdict().items()},
            "pool": self._pool[entries],
            "length": length,
            "idle_state": parts.idle[:count],
            "seen": parts.events[:count],
        }

    def resume(self, arrays: Mapping[str, Any]) -> None:
        """Restore the result of `arrays`."""
        self._idle_states = int(max(arrays["idle_state"], default=0)) + 1
        count, head = len(arrays["length"]), len(arrays["position"])
        self._arena = arena_of(max(self.nodes, 2 * head))
        for name, column in self._arena._asdict().items():
            column[:head] = arrays[name]
        self._counters[k.HEAD] = head
        parts = self.parts = _partitions(max(count, 1), self._idle)
        parts.length[:count] = parts.room[:count] = arrays["length"]
        parts.start[:count] = np.cumsum(arrays["length"]) - arrays["length"]
        parts.idle[:count] = arrays["idle_state"]
        parts.events[:count] = arrays["seen"]
        parts.active[:count] = -1  # all bits set, so that the first event checks every state
        size = len(arrays["pool"])
        self._pool = np.zeros(max(1 << 10, 4 * size), np.int32)
        self._pool[:size] = arrays["pool"]
        self._counters[k.POOL_END] = size


def _partitions(count: int, idle: int) -> k.Partitions:
    return k.Partitions(
        start=np.zeros(count, np.int64),
        room=np.zeros(count, np.int64),
        length=np.zeros(count, np.int64),
        idle=np.full(count, idle, np.int32),
        epoch=np.zeros(count, np.int64),
        events=np.zeros(count, np.int64),
        active=np.zeros(count, np.int64),
    )


def _scratch(entries: int, longest: int) -> k.Scratch:
    return k.Scratch(
        np.zeros(entries, np.int32),
        np.zeros(entries, np.int32),
        np.zeros((entries, longest), np.int32),
    )


FEW = 32
"""Up to this many events cost less as values than as columns: half at 30 events (2026-11-28)."""

FEWER = 6
"""Up to this many events cost less one by one: 25 % to 50 % at 2 events, 50 % to 90 % at 5, but
twice as much at 30 if every event matters (2026-11-28)."""


class GeneralEvaluation(AtOnce[AnswerBatch]):
    """The general engine on one stream, batch by batch.

    Each answer comes with the batch that completes it, and the state can be saved. `arena` nodes,
    `answers` of a handed-over batch are starting sizes, which grow as needed.
    """

    def __init__(
        self,
        plan: Plan,
        machine: Machine | LearnedTables,
        time: TimeAxis | None = None,
        *,
        arena: int = 1 << 14,
        answers: int = 1 << 15,
        state: bytes | None = None,
    ) -> None:
        """Start a run, or continue from a saved state; invalid bytes raise `BadData`.

        Without `time`, the axis of the state applies; raises `UsageError` for another one.
        """
        self._plan = plan
        self._tables = learned_tables(machine)
        before = None if state is None else state_from_bytes(plan, self._tables.machine, state)
        if before is not None:
            time = axis_of_state(time, before[0]["time"])
        self._time = time
        self._keys = KeyCodes(plan.partition) if plan.partition else None
        self._starts = WindowStarts(plan.window, time)
        width = EventNumbers(plan.window).width if isinstance(plan.window, EventWindow) else NONE
        self._tecs = Tecs(plan, self._tables, width, arena=arena, answers=answers)
        self.position = 0
        """The number of events read: the position of the next one."""
        self._enough_keys = KEYS_KEPT
        if before is not None:
            self._resume(*before)

    @property
    def steps(self) -> int:
        """The number of entries and nodes visited, which measures the cost."""
        return self._tecs.steps

    @property
    def nodes(self) -> int:
        """The number of nodes that fit into the arena at present."""
        return self._tecs.nodes

    @property
    def lowest(self) -> int:
        """The lowest start position that a later answer may have; 0 if unknown."""
        window = self._plan.window
        if isinstance(window, EventWindow):
            alone = self._keys is None and not self._plan.streams
            return max(0, self.position - window.width) if alone else 0
        return max(0, self._starts.lowest)

    def state(self) -> bytes:
        """Return the state of the run as bytes (`cerlab.engine.codec`).

        Call it between batches, when their answers have been consumed.
        """
        self._tecs.forget(self._starts.lowest)
        keys = self._keys.keys() if self._keys else [()]
        arrays = self._tecs.arrays(len(keys))
        machine = self._tables.machine
        inside = self._starts.inside()
        return state_to_bytes(self._plan, machine, self._time, self.position, keys, inside, arrays)

    def _resume(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        self.position = values["read"]
        self._starts.resume(values["window"], self.position)
        with reading_state():
            number_keys(self._keys, values["keys"])
        self._tecs.resume(arrays)

    def push_columns(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        """Read a batch of `length` events; yield the answers, each as soon as the buffer is full.

        Exhaust it before the next call. `columns` are in the form of `SymbolStage.symbols`. Raises
        `BadData` for a time that is missing or goes back, after the answers before it, and
        `ResourceLimit` if determinisation does.
        """
        return until_bad(self._push, columns, length, slice_columns)

    def push(self, events: Stream) -> Iterator[AnswerBatch]:
        """Read a stream by columns, or by events if that costs less; yield the answers."""
        if not events.is_columnar and len(events) <= FEW:
            return self.push_events(events.events)
        return self.push_columns(events.columns, len(events))

    def push_events(self, events: Sequence[Event]) -> Iterator[AnswerBatch]:
        """Read a few events without columns; yield the answers as `push_columns` does."""
        if len(events) == 1:
            return self._push_event(events[0])
        if len(events) <= FEWER:
            return chain.from_iterable(map(self._push_event, events))
        return until_bad(
            self._push_events, events, len(events), lambda some, at, size: some[at : at + size]
        )

    def _push_events(self, events: Sequence[Event], length: int) -> Iterator[AnswerBatch]:
        if self._keys is not None:
            self._forget_keys(self._keys)
        rows = list(enumerate(events, self.position))
        if streams := self._plan.streams:
            rows = [(i, t) for i, t in rows if is_of_streams(t, streams)]
        positions, relevant = [i for i, _ in rows], [t for _, t in rows]
        symbols = [self._tables.symbol(t) for t in relevant]
        codes = [0] * len(relevant)
        if self._keys is not None:
            codes = [self._keys.code(t) for t in relevant]
            self._tecs.partitions(self._keys.count)
        # last, since it raises for a bad time; so far, only new keys were registered
        lowest = self._starts.read_events(relevant, positions)
        self.position += length
        return self._tecs.read(
            Events(
                narrow(symbols),
                np.array(codes, np.int64),
                np.array(positions, np.int64),
                np.array(lowest, np.int64),
            )
        )

    def _push_event(self, event: Event) -> Iterator[AnswerBatch]:
        """Read one event without columns; a bad time raises before any change."""
        if self._keys is not None:
            self._forget_keys(self._keys)
        position, code = self.position, 0
        if not is_of_streams(event, self._plan.streams):
            self.position += 1
            return iter(())
        symbol = self._tables.symbol(event)
        if self._keys is not None:
            code = self._keys.code(event)
            self._tecs.partitions(self._keys.count)
        # last, as in `_push_events`
        lowest = self._starts.read_event(event, position)
        self.position += 1
        if self._tecs.just_skips(symbol, code):
            return iter(())
        return self._tecs.read_one(symbol, code, position, lowest)

    def _push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        """Return the answers of a batch; if it has a bad event, raise before reading any.

        Raise before the first answer otherwise.
        """
        if self._keys is not None:
            self._forget_keys(self._keys)
        columns, positions = events_of_streams(self._plan.streams, columns, length)
        positions = positions + self.position
        symbols = self._tables.symbols(columns, len(positions))
        codes = np.zeros(len(positions), np.int64)
        if self._keys is not None:
            codes = self._keys.codes(columns, len(positions))
            self._tecs.partitions(self._keys.count)
        # last, as in `_push_events`
        lowest = self._starts.read(columns, positions)
        self.position += length
        return self._tecs.read(Events(symbols, codes, positions, lowest))

    def _forget_keys(self, keys: KeyCodes) -> None:
        """Drop most empty partitions' keys by renumbering the others."""
        if keys.count < self._enough_keys:
            return
        self._tecs.forget(self._starts.lowest)
        live = self._tecs.live_partitions(keys.count)
        self._keys = keys.only(live.tolist())
        self._tecs.keep(live)
        # reads every partition, so do it again only when their number has doubled
        self._enough_keys = KEYS_KEPT + 2 * len(live)
