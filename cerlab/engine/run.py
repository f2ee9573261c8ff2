"""The compiled engine at work: batches of columns in, answers out, state kept between them.

The kernels say what they lack; here is where arrays grow, cells are determinised, and full buffers
are handed over. The same stream gives the same answers however it is cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerlab.automata.naming import Machine
from cerlab.automata.plan import Plan
from cerlab.engine.clock import WindowStarts
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.batch import read_batch
from cerlab.engine.kernels.collect import collect, move_together
from cerlab.engine.state import packed, unpacked
from cerlab.engine.table import GrowingTable
from cerlab.errors import BadData
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Consume, EventWindow
from cerlab.model.clock import TimeAxis
from cerlab.model.stream import Stream
from cerlab.predicates.bitvector import SymbolStage
from cerlab.predicates.key_codes import KeyCodes

UNLIMITED = np.iinfo(np.int64).max
CONSUMES = {
    Consume.NONE: k.KEEP,
    Consume.PARTITION: k.RESET_PARTITION,
    Consume.ANY: k.RESET_ALL,
}


@dataclass(frozen=True, slots=True)
class AnswerBatch:
    """Complex events as flat arrays: number n is ``positions[offsets[n]:offsets[n + 1]]``.

    `start`, `end`: int64 (answers,). `offsets`: int64 (answers + 1,). `positions`: int64.
    """

    start: Any
    end: Any
    offsets: Any
    positions: Any

    def __len__(self) -> int:
        return len(self.start)

    def __iter__(self) -> Iterator[ComplexEvent]:
        starts, ends = self.start.tolist(), self.end.tolist()
        offsets, positions = self.offsets.tolist(), self.positions.tolist()
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            yield ComplexEvent(start, end, tuple(positions[offsets[n] : offsets[n + 1]]))


class CompiledRun:
    """The evaluation of a plan on one stream, batch by batch.

    `arena` nodes, `answers` of a handed-over batch: starting sizes, which grow as needed.
    """

    def __init__(
        self,
        plan: Plan,
        machine: Machine,
        time: TimeAxis | None = None,
        *,
        arena: int = 1 << 14,
        answers: int = 1 << 15,
        state: bytes | None = None,
    ) -> None:
        """A fresh run, or with `state` one that goes on; raises `BadData` for other bytes."""
        self._plan = plan
        self._machine = machine
        self._table = GrowingTable(machine)
        self._stage = SymbolStage(machine.predicates)
        self._keys = KeyCodes(plan.partition) if plan.partition else None
        self._starts = WindowStarts(plan.window, time)
        self._read = 0
        self._collected_at = (0, -1)
        self._reg = np.zeros(k.REGISTERS, np.int64)
        self._idle = machine.idle
        self._arena = _arena(arena)
        self._parts = _partitions(1, self._idle)
        self._pool = np.zeros(1 << 10, np.int32)
        self._scratch = _scratch(8, 8)
        self._stack = _stack(64, 64)
        self._answers = k.Answers(
            np.zeros(answers, np.int64),
            np.zeros(answers, np.int64),
            np.zeros(answers + 1, np.int64),
            np.zeros(8 * answers, np.int64),
        )
        if state is not None:
            self._resume(state)

    @property
    def steps(self) -> int:
        """Entries and nodes visited so far: the operations that complexity is counted in."""
        return int(self._reg[k.STEPS])

    @property
    def nodes(self) -> int:
        """Room for nodes in the arena."""
        return len(self._arena.position)

    def state(self) -> bytes:
        """All that has to be known to go on, as bytes (`engine.state` says how).

        To be asked for between batches, when their answers have been taken.
        """
        parts, count = self._parts, self._keys.count if self._keys else 1
        self._drop_what_is_over()
        where = [slice(int(a), int(a + n)) for a, n in zip(parts.start, parts.length, strict=True)]
        used = np.concatenate([self._pool[each] for each in where])
        head = int(self._reg[k.HEAD])
        arrays = {
            **{name: column[:head] for name, column in self._arena._asdict().items()},
            "pool": used,
            "length": parts.length[:count],
            "idle_state": parts.idle[:count],
            "seen": parts.seen[:count],
        }
        keys = self._keys.keys() if self._keys else [()]
        return packed(self._plan, self._machine, self._read, keys, self._starts.inside(), arrays)

    def _drop_what_is_over(self) -> None:
        """Nodes outside the window go; partitions that CONSUME BY ANY has reset are so now."""
        stale = self._parts.epoch != self._reg[k.EPOCH]
        self._parts.length[stale] = 0
        self._parts.idle[stale] = self._idle
        self._parts.active[stale] = 0
        self._parts.epoch[:] = self._reg[k.EPOCH]
        limits = self._limits(self._starts.lowest())
        number = np.zeros(self.nodes, np.int64)
        collect(self._arena, self._reg, self._parts, self._pool, limits, number)

    def _resume(self, state: bytes) -> None:
        header, arrays = unpacked(self._plan, self._machine, state)
        self._read = header["read"]
        self._starts.resume(*header["window"])
        count = len(arrays["length"])
        if self._keys is not None and header["keys"]:
            columns = dict(
                zip(self._plan.partition, zip(*header["keys"], strict=True), strict=True)
            )
            codes = self._keys.codes({name: list(v) for name, v in columns.items()}, count)
            if codes.tolist() != list(range(count)):
                raise BadData("CER0771", "these bytes are no state of an engine: equal keys")
        head = len(arrays["position"])
        room = max(self.nodes, 2 * head)
        self._arena = _arena(room)
        for name, column in self._arena._asdict().items():
            column[:head] = arrays[name]
        self._reg[k.HEAD] = head
        self._parts = _partitions(max(count, 1), self._idle)
        self._parts.length[:count] = self._parts.room[:count] = arrays["length"]
        self._parts.start[:count] = np.cumsum(arrays["length"]) - arrays["length"]
        self._parts.idle[:count] = arrays["idle_state"]
        self._parts.seen[:count] = arrays["seen"]
        self._parts.active[:count] = -1  # all bits: the first event looks at every state
        used = len(arrays["pool"])
        self._pool = np.zeros(max(1 << 10, 4 * used), np.int32)
        self._pool[:used] = arrays["pool"]
        self._reg[k.POOL_END] = used

    def push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        """Read `length` more events; yields their answers, each as soon as a buffer is full.

        To be exhausted before the next call. `columns` are as `SymbolStage.symbols` takes them.
        Raises `BadData` for a time that is missing or goes back, `ResourceLimit` where
        determinisation does.
        """
        positions = np.arange(self._read, self._read + length, dtype=np.int64)
        self._read += length
        if (kept := self._from(columns, length)) is not None:
            positions = positions[kept]
            columns = {name: _taken(column, kept) for name, column in columns.items()}
        lowest = self._starts.read(columns, positions)
        symbols = self._stage.symbols(columns, len(positions))
        self._table.know(self._stage.vectors)
        codes = self._codes(columns, len(positions))
        self._reg[k.EVENT] = 0
        yield from self._drive(symbols, codes, positions, lowest)

    def _from(self, columns: Mapping[str, Any], length: int) -> Any | None:
        """The indices of the events that FROM leaves, None for all."""
        streams = self._plan.streams
        if not streams or "stream" not in columns:
            return None
        listed = columns["stream"]
        values = listed.to_pylist() if hasattr(listed, "to_pylist") else listed
        inside = [n for n, name in enumerate(values) if name is None or name in streams]
        return None if len(inside) == length else np.array(inside, np.int64)

    def _codes(self, columns: Mapping[str, Any], length: int) -> Any:
        if self._keys is None:
            return np.zeros(length, np.int64)
        codes = self._keys.codes(columns, length)
        have = len(self._parts.start)
        if self._keys.count > have:
            more = _partitions(2 * self._keys.count - have, self._idle)
            self._parts = k.Partitions(
                *(np.concatenate(pair) for pair in zip(self._parts, more, strict=True))
            )
        return codes

    def _drive(
        self, symbols: Any, codes: Any, positions: Any, lowest: Any
    ) -> Iterator[AnswerBatch]:
        window = self._plan.window
        width = window.width if isinstance(window, EventWindow) else k.NONE
        limit = self._plan.limit.per_end if self._plan.limit else UNLIMITED
        consume = CONSUMES[self._plan.consume]
        while True:
            status = read_batch(
                self._arena,
                self._reg,
                self._table.arrays,
                self._parts,
                self._pool,
                self._scratch,
                self._stack,
                self._answers,
                symbols,
                codes,
                positions,
                lowest,
                width,
                limit,
                consume,
                self._idle,
            )
            event = int(self._reg[k.EVENT])
            if status == k.DONE:
                break
            if status == k.FULL:
                if self._reg[k.LISTED]:
                    yield self._handed_over()
                else:  # one answer is longer than the buffer
                    self._answers = self._answers._replace(
                        positions=np.zeros(2 * len(self._answers.positions), np.int64)
                    )
                continue
            self._provide(status, int(symbols[event]), int(codes[event]), int(lowest[event]))
        if self._reg[k.LISTED]:
            yield self._handed_over()

    def _handed_over(self) -> AnswerBatch:
        listed, taken = int(self._reg[k.LISTED]), int(self._reg[k.TAKEN])
        a = self._answers
        made = AnswerBatch(
            a.start[:listed].copy(),
            a.end[:listed].copy(),
            a.offsets[: listed + 1].copy(),
            a.positions[:taken].copy(),
        )
        self._reg[k.LISTED] = self._reg[k.TAKEN] = 0
        return made

    def _provide(self, status: int, symbol: int, p: int, lowest: int) -> None:
        """What a kernel lacked."""
        match status:
            case k.NEED_CELL:
                self._table.fill(symbol, self._states(p), int(self._parts.idle[p]))
            case k.NEED_ARENA:
                self._collect(lowest)
            case k.NEED_SCRATCH:
                entries, longest = self._scratch.nodes.shape
                self._scratch = _scratch(2 * entries, 2 * longest)
            case k.NEED_POOL:
                used = int(self._parts.length.sum())
                pool = np.zeros(max(2 * len(self._pool), 8 * used), np.int32)
                move_together(self._reg, self._parts, self._pool, pool)
                self._pool = pool
            case k.NEED_STACK:
                self._stack = k.Stack(*(np.concatenate((a, np.zeros_like(a))) for a in self._stack))
            case _:
                raise AssertionError(f"unknown status {status}")

    def _states(self, p: int) -> list[int]:
        at = int(self._parts.start[p])
        end = at + int(self._parts.length[p])
        states = []
        while at < end:
            states.append(int(self._pool[at]))
            at += 2 + int(self._pool[at + 1])
        return states

    def _collect(self, lowest: int) -> None:
        """Room in the arena: drop what no window allows; grow if that leaves little."""
        limits = self._limits(lowest)
        stale = self._parts.epoch != self._reg[k.EPOCH]
        self._parts.length[stale] = 0
        number = np.zeros(self.nodes, np.int64)
        collect(self._arena, self._reg, self._parts, self._pool, limits, number)
        asked_again = self._collected_at == (self._read, int(self._reg[k.EVENT]))
        self._collected_at = (self._read, int(self._reg[k.EVENT]))
        if asked_again or 2 * self._reg[k.HEAD] > self.nodes:
            self._arena = k.Arena(*(np.concatenate((a, np.zeros_like(a))) for a in self._arena))

    def _limits(self, lowest: int) -> Any:
        """By partition the lowest start inside the window; `lowest` is that of one in time."""
        window = self._plan.window
        if isinstance(window, EventWindow):
            return self._parts.seen - window.width
        return np.full(len(self._parts.start), lowest, np.int64)


BATCH = 1 << 20
"""How many events of a whole stream are read at once."""


def compiled_answers(
    plan: Plan, machine: Machine, stream: Stream, time: TimeAxis | None
) -> Iterator[AnswerBatch]:
    """The answers of a plan on a stream, in batches, by end."""
    run = CompiledRun(plan, machine, time)
    columns, length = stream.columns, len(stream)
    for start in range(0, length, BATCH):
        size = min(BATCH, length - start)
        part = {name: _sliced(column, start, size) for name, column in columns.items()}
        yield from run.push(part, size)


def _sliced(column: Any, start: int, size: int) -> Any:
    if hasattr(column, "slice"):
        return column.slice(start, size)
    return column[start : start + size]


def _arena(nodes: int) -> k.Arena:
    return k.Arena(
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int64),
    )


def _partitions(count: int, idle: int) -> k.Partitions:
    return k.Partitions(
        start=np.zeros(count, np.int64),
        room=np.zeros(count, np.int64),
        length=np.zeros(count, np.int64),
        idle=np.full(count, idle, np.int32),
        epoch=np.zeros(count, np.int64),
        seen=np.zeros(count, np.int64),
        active=np.zeros(count, np.int64),
    )


def _scratch(entries: int, longest: int) -> k.Scratch:
    return k.Scratch(
        np.zeros(entries, np.int32),
        np.zeros(entries, np.int32),
        np.zeros((entries, longest), np.int32),
    )


def _stack(depth: int, longest: int) -> k.Stack:
    return k.Stack(
        np.zeros(depth, np.int32), np.zeros(depth, np.int32), np.zeros(longest, np.int64)
    )


def _taken(column: Any, kept: Any) -> Any:
    if hasattr(column, "take"):
        return column.take(kept)
    return [column[n] for n in kept.tolist()]
