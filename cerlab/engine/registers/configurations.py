"""Live configurations with their matches: where arrays grow, and the window drops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cerlab.budget import poll
from cerlab.engine.answers import AnswerBatch, Buffer, arena_of, double_room, paces
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import registers as r
from cerlab.engine.kernels.enumeration import collect
from cerlab.engine.kernels.register_runs import ENTRY_HEADER, read_events
from cerlab.engine.kernels.registers import move_over, restart, sweep
from cerlab.errors import ResourceLimit

MAX_CONFIGURATIONS = 1 << 24
"""How many configurations may be active at once."""

NO_TOTAL = np.zeros(0, np.float64)
"""No total: answers are listed."""


class Configurations:
    """What the runs of a program on one stream have in common, and the answers that events end.

    `key_slot` int32 (lists, states), and how many `slots` there are. `room` for configurations,
    `arena` nodes, `answers` of a handed-over batch: starting sizes, which grow as needed.
    """

    def __init__(
        self,
        key_slot: k.Int32s,
        slots: int,
        *,
        limit: int,
        consume: int,
        room: int = 1 << 8,
        arena: int = 1 << 12,
        answers: int = 1 << 15,
    ) -> None:
        self._limits = k.Limits(limit, consume, k.NONE)
        self._reg = np.zeros(r.ALL, np.int64)
        self._live = _live(key_slot, slots, room)
        self._reg[r.FREE] = room
        self._empty = np.full((1, slots), k.NONE, np.int64)
        restart(self._live, self._reg, self._empty)
        self._arrivals = _arrivals(16, slots, room)
        self._pool = np.zeros(ENTRY_HEADER + 16, np.int32)
        self._arena, self._memo = arena_of(arena), _memo(arena)
        self._table, self._accepting = _final(), _entry()
        self._stack = _stack(64)
        self._scratch = _scratch()
        self._answers = Buffer(answers)
        self._lacked_at = (-1, k.DONE)

    @property
    def visits(self) -> int:
        """Configurations visited so far: the operations that the cost of an event is counted in."""
        return int(self._reg[r.VISITS])

    @property
    def steps(self) -> int:
        """Nodes visited by listing answers so far."""
        return int(self._reg[k.STEPS])

    @property
    def live(self) -> int:
        """How many configurations are kept, those that the window has passed among them."""
        return len(self._live.state) - int(self._reg[r.FREE])

    @property
    def room(self) -> tuple[int, int]:
        """Room for configurations, and for nodes in the arena."""
        return len(self._live.state), len(self._arena.left)

    def count(self, rules: r.Rules, events: r.Events) -> float:
        """How many answers events end; exact up to 2^53."""
        total = np.zeros(1, np.float64)
        for _ in self.read(rules, events, total):
            raise AssertionError("what is counted is not listed")
        return float(total[0])

    def read(
        self, rules: r.Rules, events: r.Events, total: r.Floats = NO_TOTAL
    ) -> Iterator[AnswerBatch]:
        """The answers that events end, as soon as a buffer is full; to be exhausted.

        Raises `ResourceLimit` above `MAX_CONFIGURATIONS`.
        """
        self._reg[k.EVENT] = 0
        for part in paces(len(events.symbol), careful=True):
            some = events._replace(symbol=events.symbol[: part.stop])
            yield from self._read(rules, some, total)
        if self._reg[k.ANSWERS]:
            yield self._answers.flush(self._reg, k.ANSWERS, k.POSITIONS)

    def _read(self, rules: r.Rules, events: r.Events, total: r.Floats) -> Iterator[AnswerBatch]:
        """The answers of some more events, but for the last ones, which are in the buffer."""
        while True:
            status = read_events(rules, events, *self._arrays(), self._limits, total)
            if status == k.DONE:
                return
            poll()
            if status == k.FULL:
                yield from self._answers.make_room(self._reg, k.ANSWERS, k.POSITIONS)
            else:
                self._provide(status, int(events.lowest[self._reg[k.EVENT]]))

    def _arrays(self) -> tuple[r.Configurations, k.Tecs]:
        configurations = r.Configurations(self._live, self._arrivals, self._memo, self._empty)
        tecs = k.Tecs(
            self._arena,
            self._reg,
            self._table,
            self._accepting,
            self._pool,
            self._scratch,
            self._stack,
            self._answers.arrays,
        )
        return configurations, tecs

    def _provide(self, status: int, lowest: int) -> None:
        """The room that a kernel lacked; more of it where that did not help the same event."""
        now = (int(self._reg[k.EVENT]), status)
        again, self._lacked_at = self._lacked_at == now, now
        match status:
            case k.NEED_ARENA:
                self._collect(lowest)
                if again or 2 * self._reg[k.HEAD] > len(self._arena.left):
                    self._arena = double_room(self._arena)
                    self._memo = _memo(len(self._arena.left))
            case k.NEED_POOL:
                sweep(self._live, self._reg, self._arena, lowest)
                if again or 2 * self._reg[r.FREE] < len(self._live.state):
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
                f"more than {MAX_CONFIGURATIONS:,} configurations are active at once",
                hint="a window bounds them, and registers that need not be told apart",
            )
        slots, chains = self._live.slots.shape[1], len(self._live.next)
        poll(room * (20 + 8 * slots + 24 * chains))
        larger, reg = _live(self._live.key_slot, slots, room), np.zeros(r.ALL, np.int64)
        reg[r.FREE] = room
        move_over(self._live, self._reg, larger, reg)
        self._live = larger
        self._arrivals = _arrivals(len(self._arrivals.move), slots, room)

    def _collect(self, lowest: int) -> None:
        """Drop the configurations that no window allows any more, and the nodes none reaches."""
        live, reg = self._live, self._reg
        sweep(live, reg, self._arena, lowest)
        free = np.zeros(len(live.state), np.bool_)
        free[live.free[: reg[r.FREE]]] = True
        (survivors,) = np.nonzero(~free & (live.node != k.NONE))
        roots = np.concatenate(([0, len(survivors)], live.node[survivors])).astype(np.int32)
        self._accepting.length[0] = len(roots)
        number = np.zeros(len(self._arena.left), np.int64)
        collect(self._arena, reg, self._accepting, roots, np.array([lowest]), number)
        live.node[survivors] = roots[ENTRY_HEADER:]
        live.latest[:] = k.NONE


def _live(key_slot: k.Int32s, slots: int, room: int) -> r.Live:
    chains, states = key_slot.shape
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
    """A table of which only this is read: that state 0, of what has ended, is final."""
    cell = np.zeros((1, 1), np.int32)
    return k.Table(cell, cell, cell, cell, cell, np.ones(1, np.uint8), np.zeros(1, np.int64))


def _scratch() -> k.Scratch:
    """None: configurations are the active states."""
    none = np.zeros(0, np.int32)
    return k.Scratch(none, none, np.zeros((0, 0), np.int32))


def _entry() -> k.Partitions:
    """One partition, whose list in the pool begins at its front."""
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
