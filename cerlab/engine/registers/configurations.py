"""Live configurations of a transducer and their matches, in arrays that grow and are compacted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.engine.answers import AnswerBatch, Buffer, arena_of, double_room, paces
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import registers as r
from cerlab.engine.kernels.enumeration import collect
from cerlab.engine.kernels.register_runs import ENTRY_HEADER, read_events
from cerlab.engine.kernels.registers import move_over, restart, sweep
from cerlab.errors import ResourceLimit
from cerlab.kernel_cache import RepeatedCalls

MAX_CONFIGURATIONS = 1 << 24
"""The maximum number of active configurations."""


class Configurations:
    """The configurations of a transducer on one stream, and the buffer of answers.

    `key_slot` is int32 (lists, states); `slots` is the number of slots. `room` for configurations,
    `arena` nodes, `answers` of a handed-over batch are starting sizes, which grow as needed.
    """

    def __init__(
        self,
        key_slot: k.Int32s,
        slots: int,
        *,
        limit: int | None,
        consume: int,
        room: int = 1 << 8,
        arena: int = 1 << 12,
        answers: int = 1 << 15,
    ) -> None:
        self._limits, self._limit = k.Limits(k.NO_LIMIT, consume, k.NONE), limit
        self._counters = np.zeros(r.ALL, np.int64)
        self._live = _live(key_slot, slots, room)
        self._counters[r.FREE] = room
        self._empty = np.full((1, slots), k.NONE, np.int64)
        restart(self._live, self._counters, self._empty)
        self._arrivals = _arrivals(16, slots, room)
        self._pool = np.zeros(ENTRY_HEADER + 16, np.int32)
        self._arena, self._memo = arena_of(arena), _memo(arena)
        self._table, self._accepting = _final(), _entry()
        self._stack = _stack(64)
        self._scratch = _scratch()
        self._answers = Buffer(answers)
        self._lacked_at = (-1, k.DONE)
        self._read_events = RepeatedCalls(read_events)

    @property
    def visits(self) -> int:
        """The number of visits to configurations, which measures the cost of events."""
        return int(self._counters[r.VISITS])

    @property
    def steps(self) -> int:
        """The number of nodes that listing answers has visited."""
        return int(self._counters[k.STEPS])

    @property
    def live(self) -> int:
        """The number of configurations, including those outside the window."""
        return len(self._live.state) - int(self._counters[r.FREE])

    def slots(self) -> k.Int64s:
        """Return the register values of all configurations: int64 (configurations, slots)."""
        return self._live.slots[~self._is_free()]

    def recode(self, new: Callable[[k.Int64s], None]) -> None:
        """Change the register values in place by the function `new`, then rebuild the lists."""
        contents = self._live.slots
        new(contents)
        self._rebuild(self._live.key_slot, len(self._live.state))

    def arrays(self, lowest: int) -> dict[str, NDArray[Any]]:
        """Return the configurations and nodes as arrays by name, for `resume`.

        Configurations are in the order of their lists, with the contents of each in `slots`.
        """
        self.collect(lowest)
        self._rebuild(self._live.key_slot, len(self._live.state))
        count, head = (
            len(self._live.state) - int(self._counters[r.FREE]),
            int(self._counters[k.HEAD]),
        )
        live = {name: getattr(self._live, name)[:count] for name in ("state", "node", "slots")}
        return live | {name: column[:head] for name, column in self._arena._asdict().items()}

    def named(self) -> k.Int64s:
        """Return the positions in nodes, sorted; call `arrays` first to drop dead nodes."""
        positions = np.unique(self._arena.position[: int(self._counters[k.HEAD])])
        return positions[positions >= 0].astype(np.int64)

    def resume(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the result of `arrays`."""
        count, head = len(arrays["state"]), len(arrays["left"])
        self._arena = arena_of(max(len(self._arena.left), 2 * head))
        self._memo = _memo(len(self._arena.left))
        for name, column in self._arena._asdict().items():
            column[:head] = arrays[name]
        self._counters[k.HEAD] = head
        key_slot, slots = self._live.key_slot, self._live.slots.shape[1]
        before = _live(key_slot[: r.BY_KEY], slots, max(count, 1))
        for name in ("state", "node", "slots"):
            getattr(before, name)[:count] = arrays[name]
        before.next[r.BY_STATE, : count - 1] = np.where(
            np.diff(arrays["state"]) == 0, np.arange(1, count), k.NONE
        )
        states, first = np.unique(arrays["state"], return_index=True)
        before.head[r.BY_STATE, states] = first
        room = max(len(self._live.state), 1 << (2 * count - 1).bit_length())
        self._live = before
        self._rebuild(key_slot, room)
        self._arrivals = _arrivals(len(self._arrivals.move), slots, room)

    def list_by(self, key_slot: k.Int32s) -> None:
        """Rebuild the lists if rules now look configurations up by other slots."""
        if not np.array_equal(key_slot, self._live.key_slot):
            self._rebuild(key_slot, len(self._live.state))

    @property
    def room(self) -> tuple[int, int]:
        """The capacity of the arrays of configurations, and that of the arena."""
        return len(self._live.state), len(self._arena.left)

    def read(
        self, rules: r.Rules, events: r.Events, total: r.Floats | None = None
    ) -> Iterator[AnswerBatch]:
        """Yield the answers at more events, each batch as soon as the buffer is full.

        Raises `ResourceLimit` above `MAX_CONFIGURATIONS`.
        """
        self._counters[k.EVENT], self._lacked_at = 0, (-1, k.DONE)
        if len(events.symbol) == 1:
            yield from self._read(rules, events, total)
        else:
            for part in paces(len(events.symbol), careful=True):
                some = events._replace(symbol=events.symbol[: part.stop])
                yield from self._read(rules, some, total)
        if self._counters[k.ANSWERS]:
            yield self._answers.flush(self._counters, k.ANSWERS, k.POSITIONS)

    def _read(
        self, rules: r.Rules, events: r.Events, total: r.Floats | None
    ) -> Iterator[AnswerBatch]:
        """Yield the full buffers of answers at more events; the last buffer keeps the rest."""
        while True:
            arrays = self._arrays()
            status = self._read_events(rules, events, *arrays, self._limits, self._limit, total)
            if status == k.DONE:
                return
            poll()
            if status == k.FULL:
                yield from self._answers.make_room(self._counters, k.ANSWERS, k.POSITIONS)
            else:
                self._provide(status, int(events.lowest[self._counters[k.EVENT]]))

    def _arrays(self) -> tuple[r.Configurations, k.Tecs]:
        configurations = r.Configurations(self._live, self._arrivals, self._memo, self._empty)
        tecs = k.Tecs(
            self._arena,
            self._counters,
            self._table,
            self._accepting,
            self._pool,
            self._scratch,
            self._stack,
            self._answers.arrays,
        )
        return configurations, tecs

    def _provide(self, status: int, lowest: int) -> None:
        """Provide the room that a kernel lacked, twice as much if the same event lacks it again."""
        now = (int(self._counters[k.EVENT]), status)
        again, self._lacked_at = self._lacked_at == now, now
        match status:
            case k.NEED_ARENA:
                self.collect(lowest)
                # compaction reads the whole arena, so it must free at least half of it
                if again or 2 * self._counters[k.HEAD] > len(self._arena.left):
                    self._arena = double_room(self._arena)
                    self._memo = _memo(len(self._arena.left))
            case k.NEED_POOL:
                sweep(self._live, self._counters, self._arena, lowest)
                if again or 2 * self._counters[r.FREE] < len(self._live.state):
                    self._more_configurations()
            case k.NEED_SCRATCH:
                arrivals = 2 * len(self._arrivals.move)
                room, slots = self._live.slots.shape
                self._arrivals = _arrivals(arrivals, slots, room)
                self._pool = np.zeros(ENTRY_HEADER + arrivals, np.int32)
            case k.NEED_STACK:
                self._stack = double_room(self._stack)
            case _:
                raise AssertionError(f"unknown status {status}")

    def _more_configurations(self) -> None:
        room = 2 * len(self._live.state)
        if room > MAX_CONFIGURATIONS:
            raise ResourceLimit(
                "CER0685",
                f"more than {MAX_CONFIGURATIONS:,} configurations are active together",
                hint="use a window, or compare fewer values",
            )
        self._rebuild(self._live.key_slot, room)
        self._arrivals = _arrivals(len(self._arrivals.move), self._live.slots.shape[1], room)

    def _rebuild(self, key_slot: k.Int32s, room: int) -> None:
        """Copy all configurations into new arrays and lists, numbered in list order."""
        slots = self._live.slots.shape[1]
        # bytes per configuration: indices, slots, and links and buckets of each list
        poll(room * (20 + 8 * slots + 24 * len(key_slot)))
        fresh, counters = _live(key_slot, slots, room), np.zeros(r.ALL, np.int64)
        counters[r.FREE] = room
        move_over(self._live, self._counters, fresh, counters)
        self._live = fresh

    def _is_free(self) -> NDArray[np.bool_]:
        """Return whether each index is free: bool (indices,)."""
        is_free = np.zeros(len(self._live.state), np.bool_)
        is_free[self._live.free[: self._counters[r.FREE]]] = True
        return is_free

    def collect(self, lowest: int) -> None:
        """Delete configurations outside all windows, and nodes that only they reach."""
        live, counters = self._live, self._counters
        sweep(live, counters, self._arena, lowest)
        (survivors,) = np.nonzero(~self._is_free() & (live.node != k.NONE))
        roots = np.concatenate(([0, len(survivors)], live.node[survivors])).astype(np.int32)
        self._accepting.length[0] = len(roots)
        number = np.zeros(len(self._arena.left), np.int64)
        collect(self._arena, counters, self._accepting, roots, np.array([lowest]), number)
        live.node[survivors] = roots[ENTRY_HEADER:]
        # nodes have new ids now, so the cached ids in `latest` are invalid
        live.latest[:] = k.NONE


def _live(key_slot: k.Int32s, slots: int, room: int) -> r.Live:
    chains, states = key_slot.shape
    # a power of two, so that a mask replaces a division; at most half full
    buckets = 1 << (max(2 * room, states) - 1).bit_length()

    def numbers(*shape: int) -> k.Int32s:
        return np.full(shape, k.NONE, np.int32)

    return r.Live(
        state=numbers(room),
        node=numbers(room),
        latest=numbers(room),
        slots=np.full((room, slots), k.NONE, np.int64),
        next=numbers(chains, room),
        previous=numbers(chains, room),
        head=numbers(chains, buckets),
        tail=numbers(chains, buckets),
        free=np.arange(room, dtype=np.int32)[::-1].copy(),
        key_slot=key_slot,
    )


def _arrivals(arrivals: int, slots: int, room: int) -> r.Arrivals:
    return r.Arrivals(
        np.zeros(arrivals, np.int32),
        np.zeros(arrivals, np.int32),
        np.zeros((arrivals, slots), np.int64),
        np.zeros(room, np.int32),
    )


def _memo(nodes: int) -> r.NodeMemo:
    return r.NodeMemo(
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.float64),
    )


def _stack(depth: int) -> k.Stack:
    return k.Stack(np.zeros(depth, np.int32), np.zeros(depth, np.int32), np.zeros(depth, np.int64))


def _final() -> k.Table:
    """Return a table with one state, which accepts, for the kernel that lists answers."""
    cell = np.zeros((1, 1), np.int32)
    return k.Table(cell, cell, cell, cell, cell, np.ones(1, np.uint8), np.zeros(1, np.int64))


def _scratch() -> k.Scratch:
    """Return an empty `Scratch`, because transducers use none."""
    none = np.zeros(0, np.int32)
    return k.Scratch(none, none, np.zeros((0, 0), np.int32))


def _entry() -> k.Partitions:
    """Return one partition, for the kernel that lists answers; its entries begin the pool."""
    zero = np.zeros(1, np.int64)
    return k.Partitions(
        start=zero,
        room=zero,
        length=np.zeros(1, np.int64),
        idle=np.zeros(1, np.int32),
        epoch=zero,
        events=zero,
        active=np.zeros(1, np.int64),
    )
