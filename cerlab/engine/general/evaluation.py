"""A plan on one stream by the general engine: batches of columns in, answers out, state kept.

The same stream gives the same answers however it is cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.batches import until_bad
from cerlab.engine.clock import SAFE, WindowStarts
from cerlab.engine.columns import events_of_streams, slice_columns
from cerlab.engine.general.state import axis_of_state, state_from_bytes, state_to_bytes
from cerlab.engine.general.state_check import bad_state
from cerlab.engine.general.tecs import Tecs
from cerlab.engine.kernels.arrays import NONE
from cerlab.engine.kernels.tecs.batch import Events
from cerlab.engine.learned import LearnedTables, learned_tables
from cerlab.engine.windowed.scan import KEYS_KEPT
from cerlab.model.clauses import EventWindow
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.pieces import narrow

FEW = 32
"""Up to so many events cost less one by one than as columns."""


class GeneralEvaluation:
    """The evaluation of a plan on one stream, batch by batch, by the general engine.

    Each answer comes with the batch that completes it, and the state can be kept. `arena` nodes,
    `answers` of a handed-over batch: starting sizes, which grow as needed.
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
        """A fresh run, or with `state` one that goes on; raises `BadData` for other bytes.

        Without `time` it is that of the state; raises `UsageError` for another one.
        """
        self._plan = plan
        self._tables = learned_tables(machine)
        before = None if state is None else state_from_bytes(plan, self._tables.machine, state)
        if before is not None:
            time = axis_of_state(time, before[0]["time"])
        self._time = time
        self._keys = KeyCodes(plan.partition) if plan.partition else None
        self._starts = WindowStarts(plan.window, time)
        width = min(plan.window.width, SAFE) if isinstance(plan.window, EventWindow) else NONE
        self._tecs = Tecs(plan, self._tables, width, arena=arena, answers=answers)
        self.position = 0
        """How many events of the stream have been read: the position of the next one."""
        self._enough_keys = KEYS_KEPT
        if before is not None:
            self._resume(*before)

    @property
    def steps(self) -> int:
        """Entries and nodes visited so far: the operations that complexity is counted in."""
        return self._tecs.steps

    @property
    def nodes(self) -> int:
        """Room for nodes in the arena."""
        return self._tecs.nodes

    @property
    def lowest(self) -> int:
        """Answers to come start here or later; 0 where nothing says so."""
        window = self._plan.window
        if isinstance(window, EventWindow):
            alone = self._keys is None and not self._plan.streams
            return max(0, self.position - window.width) if alone else 0
        return max(0, self._starts.lowest())

    def state(self) -> bytes:
        """All that has to be known to go on, as bytes (`engine.state` says how).

        To be asked for between batches, when their answers have been taken.
        """
        self._tecs.forget(self._starts.lowest())
        keys = self._keys.keys() if self._keys else [()]
        arrays = self._tecs.arrays(len(keys))
        machine = self._tables.machine
        inside = self._starts.inside()
        return state_to_bytes(self._plan, machine, self._time, self.position, keys, inside, arrays)

    def _resume(self, header: Mapping[str, Any], arrays: dict[str, Any]) -> None:
        self.position = header["read"]
        self._starts.resume(*header["window"])
        count = len(arrays["length"])
        if self._keys is not None and header["keys"]:
            columns = dict(
                zip(self._plan.partition, zip(*header["keys"], strict=True), strict=True)
            )
            codes = self._keys.codes({name: list(v) for name, v in columns.items()}, count)
            if codes.tolist() != list(range(count)):
                raise bad_state("equal keys")
        self._tecs.resume(arrays)

    def push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        """Read `length` more events; yields their answers, each as soon as a buffer is full.

        To be exhausted before the next call. `columns` are as `SymbolStage.symbols` takes them.
        Raises `BadData` for a time that is missing or goes back, after the answers before it, and
        `ResourceLimit` where determinisation does.
        """
        return until_bad(self._push, columns, length, slice_columns)

    def push_stream(self, stream: Stream) -> Iterator[AnswerBatch]:
        """The same for the events of a stream, in the way that costs less."""
        if not stream.is_columnar and len(stream) <= FEW:
            return self.push_events(stream.events)
        return self.push(stream.columns, len(stream))

    def push_events(self, events: Sequence[Event]) -> Iterator[AnswerBatch]:
        """The same for a few events: what they are is decided one by one, without columns."""
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
        lowest = self._starts.read_events(relevant, positions)
        self.position += length
        if len(rows) == 1:
            if self._tecs.just_skips(symbols[0], codes[0]):
                return iter(())
            return self._tecs.read_one(symbols[0], codes[0], positions[0], lowest[0])
        return self._tecs.read(
            Events(
                narrow(symbols),
                np.array(codes, np.int64),
                np.array(positions, np.int64),
                np.array(lowest, np.int64),
            )
        )

    def _push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        """The answers of a batch without a bad event; raises at once for others."""
        if self._keys is not None:
            self._forget_keys(self._keys)
        columns, positions = events_of_streams(self._plan.streams, columns, length)
        positions = positions + self.position
        symbols = self._tables.symbols(columns, len(positions))
        codes = np.zeros(len(positions), np.int64)
        if self._keys is not None:
            codes = self._keys.codes(columns, len(positions))
            self._tecs.partitions(self._keys.count)
        lowest = self._starts.read(columns, positions)
        self.position += length
        return self._tecs.read(Events(symbols, codes, positions, lowest))

    def _forget_keys(self, keys: KeyCodes) -> None:
        """Number the partitions anew if most of them have nothing in the window any more."""
        if keys.count < self._enough_keys:
            return
        self._tecs.forget(self._starts.lowest())
        live = self._tecs.live_partitions(keys.count)
        self._keys = keys.only(live.tolist())
        self._tecs.keep(live)
        self._enough_keys = KEYS_KEPT + 2 * len(live)

    def finish(self) -> Iterator[AnswerBatch]:
        """Nothing is ever held back."""
        return iter(())
