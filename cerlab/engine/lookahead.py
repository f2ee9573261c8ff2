"""Reading ahead by batches: the events that can matter, from one window before the batch on.

An answer inside a window is decided by the events of one window. So a batch is looked at together
with the last window before it, and nothing else is carried over: no run, no node, no state but the
idle one. All events of that window are kept, also those that changed nothing, since a symbol that
no event had yet can make them matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.clock import TimeColumn
from cerlab.engine.columns import of_streams, sliced, taken
from cerlab.engine.dense import Batch, Dense, dense, last_window, partitions
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.scan import waited
from cerlab.engine.prepared import Prepared
from cerlab.engine.program import Program
from cerlab.engine.tecs import CONSUMES
from cerlab.errors import BadData
from cerlab.model.clauses import EventWindow, Strategy
from cerlab.model.clock import Instant, TimeAxis
from cerlab.predicates.columns.key_codes import KeyCodes

Found = TypeVar("Found")

KEYS_KEPT = 4096
"""So many keys of PARTITION BY are not worth forgetting."""


def why_not(plan: Plan) -> str | None:
    """Why a query cannot be looked at in two phases; None if it can."""
    if plan.window is None:
        return "without WITHIN an answer may begin at any time, so nothing can be left out"
    if plan.partition and isinstance(plan.window, EventWindow):
        return "WITHIN n EVENTS counts all events of a partition, also those that change nothing"
    if plan.partition and plan.strategy not in (None, Strategy.STRICT):
        return f"{plan.strategy.value} remembers, in each partition, what came before the window"
    return None


class Looked(NamedTuple):
    """What was looked at last, for what comes after it."""

    program: Program | None
    batches: list[Batch]
    events: Dense
    ends: Any  # int32, indices of the events that ended answers


class Lookahead(ABC, Generic[Found]):
    """A plan on one stream, batch by batch, where `why_not` has no objection.

    What is found may be held back until as much has been read as one window has; `finish` gives the
    rest. Subclasses say what `_found` is.
    """

    def __init__(self, plan: Plan, known: Prepared, time: TimeAxis | None = None) -> None:
        self._plan = plan
        self._known = known
        self._clock: TimeColumn | None = None
        self._width: Instant
        if isinstance(plan.window, EventWindow):
            self._width = plan.window.width
        else:
            assert plan.window is not None
            self._clock = TimeColumn(plan.window, time)
            self._width = self._clock.width
        self._keys = KeyCodes(plan.partition) if plan.partition else None
        self._consume = CONSUMES[plan.consume]
        self._read = 0
        self._counted = 0
        self._waiting: list[Batch] = []
        self._looked: Looked | None = None
        self._again: Batch | None = None
        self._idle = known.machine.idle

    def begin_after(self, columns: Mapping[str, Any], length: int, position: int) -> None:
        """Begin in the middle of a stream, `position` being that of the first event given here.

        These events have been reported, and those before them are outside the window of all that
        will be pushed. Not for strategies and CONSUME BY, which remember more than a window.
        """
        self._read = position
        batch = self._batch(columns, length)
        if batch is not None:
            self._again = batch._replace(codes=partitions(batch, self._keys))

    def push(self, columns: Mapping[str, Any], length: int) -> Iterator[Found]:
        """Read `length` more events: what they complete; exhaust it before the next call.

        `columns` are as `SymbolStage.symbols` takes them. Raises `BadData` for a time that is
        missing or goes back, `ResourceLimit` where determinisation does.
        """
        before = self._read, self._counted, self._clock.last if self._clock else None
        try:
            batch = self._batch(columns, length)
        except BadData:
            self._read, self._counted, last = before
            if self._clock is not None:
                self._clock.last = last
            if length == 1:
                yield from self.finish()
                raise
            for n in range(length):  # what comes before the bad event, then the error
                yield from self.push({name: sliced(c, n, 1) for name, c in columns.items()}, 1)
            raise
        if batch is None:
            return
        self._remember()
        self._waiting.append(batch)
        carried = len(self._again.symbols) if self._again else 0
        if sum(len(waiting.symbols) for waiting in self._waiting) >= carried:
            yield from self._look()

    def _batch(self, columns: Mapping[str, Any], length: int) -> Batch | None:
        """The next events of the stream, those that FROM leaves; None if there are none."""
        start, self._read = self._read, self._read + length
        inside = of_streams(self._plan.streams, columns, length)
        positions = None
        if inside is not None:
            columns = {name: taken(column, inside) for name, column in columns.items()}
            positions, length = inside + start, len(inside)
        if not length:
            return None
        symbols = self._known.symbols(columns, length)
        keys = {name: columns[name] for name in self._plan.partition if name in columns}
        batch = Batch(symbols, None, start, positions, keys, None)
        if self._clock is not None:
            times = self._clock.read(columns, length, lambda i: int(batch.at(i)))
        else:  # it counts the events that FROM leaves
            times = np.arange(self._counted, self._counted + length)
        self._counted += length
        return batch._replace(times=times)

    def finish(self) -> Iterator[Found]:
        """What was held back."""
        if self._waiting:
            yield from self._look()

    def _look(self) -> Iterator[Found]:
        """The last window of what was looked at before, and what waits."""
        batches = [*([self._again] if self._again else []), *self._waiting]
        program = self._known.program()
        events = dense(program, batches, self._keys)
        again = len(events.parts[0].kept) if self._again else 0
        ends = yield from self._found(program, events, again)
        self._waiting = []
        self._looked = Looked(program, batches, events, ends)

    @abstractmethod
    def _found(
        self, program: Program | None, events: Dense, again: int
    ) -> Generator[Found, None, Any]:
        """What the events from number `again` on complete; returns those that end an answer."""

    @property
    def _partitions(self) -> int:
        return max(1, self._keys.count) if self._keys else 1

    def _remember(self) -> None:
        """What the next events may still have in their window, without what was consumed."""
        if self._looked is None:
            return
        program, batches, events, ends = self._looked
        again = last_window(batches, self._width, self._keys)
        at, codes = again.positions, again.codes
        assert at is not None
        assert codes is not None
        over = np.full(self._partitions, -1, np.int64)
        if self._consume == k.RESET_ALL and len(ends):
            over[:] = events.positions[ends[-1]]
        elif self._consume == k.RESET_PARTITION and len(ends):
            over[events.codes[ends]] = events.positions[ends]
        live = np.flatnonzero((codes != k.NONE) & (at > over[codes]))
        if program is not None and len(program.idle_of) > 1:
            stop = int(at[live[0]]) if len(live) else self._read
            self._idle = self._idle_at(program, batches, stop, int(over[0]))
        self._again = again.chosen(live)
        self._looked = None
        if program is not None:  # else partitions are kept from batch to batch, by number
            self._forget_keys()

    def _forget_keys(self) -> None:
        """Number the partitions anew if most of them have no event in the window any more."""
        if self._keys is None or self._again is None:
            return
        assert self._again.codes is not None
        live, codes = np.unique(self._again.codes, return_inverse=True)
        if self._keys.count > KEYS_KEPT + 2 * len(live):
            self._keys = self._keys.only(live.tolist())
            self._again = self._again._replace(codes=codes.astype(np.int32))

    def _idle_at(self, program: Program, batches: list[Batch], position: int, consumed: int) -> int:
        """The number of the idle state before a position; after `consumed` all begins anew."""
        idle = self._idle if consumed < 0 else self._known.machine.idle
        for batch in batches:
            at = batch.at(np.arange(len(batch.symbols)))
            between = batch.symbols[(consumed < at) & (at < position)]
            idle = waited(between, program.waits, idle)
        return int(idle)
