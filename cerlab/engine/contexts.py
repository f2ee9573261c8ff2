"""The contexts of strategies inside a formula as columns (`cerlab.automata.context`).

Without CONSUME BY a context depends on the events alone, and not on answers. So it is a column that
is read before the machine is, and every verb of the compiled engine takes the stream with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cerlab.automata.context import Context
from cerlab.automata.plan import Plan
from cerlab.budget import poll
from cerlab.engine.answers import AnswerBatch, events_of_streams
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.contexts import states_before
from cerlab.engine.reference.driver import Clauses
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.errors import BadData, Unsupported
from cerlab.model.columns import Columns
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes


class ContextColumns:
    """The contexts of events, batch by batch; each substream goes on from batch to batch."""

    def __init__(self, plan: Clauses, contexts: Sequence[Context]) -> None:
        self._streams, self._keys = plan.streams, KeyCodes(plan.partition)
        self._walks = [_Walk(context) for context in contexts]

    def read(self, columns: Columns, length: int) -> dict[str, Any]:
        """Return the columns of the contexts: Arrow, int64, NULL for events of no substream."""
        import pyarrow as pa

        some, positions = events_of_streams(self._streams, columns, length)
        assert isinstance(some, Columns), "of columns come columns"
        codes, substreams = np.zeros(len(positions), np.int64), 1
        if self._keys.attributes:
            codes = self._keys.codes(some, len(positions))
            substreams = self._keys.count
        found: dict[str, Any] = {}
        for walk in self._walks:  # an inner context comes first, and outer ones read it
            before = walk.read(some, codes, substreams)
            some = some.with_more({walk.name: pa.array(before, mask=before == NONE)})
            of_all = np.full(length, NONE, np.int64)
            of_all[positions] = before
            found[walk.name] = pa.array(of_all, mask=of_all == NONE)
        return found

    def states(self) -> list[Int64s]:
        """Return what `go_back` takes."""
        return [walk.states.copy() for walk in self._walks]

    def go_back(self, states: Sequence[Int64s]) -> None:
        """Go back to earlier states; substreams that came later begin again."""
        for walk, of_walk in zip(self._walks, states, strict=True):
            walk.states = of_walk


class _Walk:
    """One context of all substreams."""

    def __init__(self, context: Context) -> None:
        self.name, self._machine = context
        self._stage = SymbolStage(self._machine.predicates)
        self._after = np.full((1, 1), NONE, np.int64)
        self.states = np.zeros(0, np.int64)
        """The state of each substream."""

    def read(self, columns: Mapping[str, Any], codes: Int64s, substreams: int) -> Int64s:
        """Return the state before each of some events, and go on to the one after them."""
        symbols = self._stage.symbols(columns, len(codes)).astype(np.int64)
        new = np.full(substreams - len(self.states), self._machine.idle, np.int64)
        self.states = np.concatenate((self.states, new))
        before = np.empty(len(codes), np.int64)
        i = 0
        while True:
            self._grow()
            poll(len(codes) - i)
            i = states_before(codes, symbols, self._after, self.states, i, before)
            if i == len(codes):
                return before
            state, symbol = int(before[i]), int(symbols[i])
            following = self._machine.wait(state, self._stage.vectors[symbol])
            self._after[state, symbol] = following

    def _grow(self) -> None:
        """Make room for all states and symbols that there are; what lacks room is doubled."""
        rows, columns = self._after.shape
        states, symbols = len(self._machine.idle_states), len(self._stage.vectors)
        if states <= rows and symbols <= columns:
            return
        known = self._after
        more_rows = rows if states <= rows else max(states, 2 * rows)
        more_columns = columns if symbols <= columns else max(symbols, 2 * columns)
        self._after = np.full((more_rows, more_columns), NONE, np.int64)
        self._after[:rows, :columns] = known


class EvaluationInContext(GeneralEvaluation):
    """The general engine on events that get their contexts as they come."""

    def __init__(
        self,
        plan: Plan,
        machine: LearnedTables,
        contexts: Sequence[Context],
        time: TimeAxis | None,
        state: bytes | None,
    ) -> None:
        """Raises `Unsupported` for a `state`."""
        if state is not None:
            raise _no_state()
        super().__init__(plan, machine, time)
        self._contexts = ContextColumns(plan, contexts)

    def state(self) -> bytes:
        """Raise `Unsupported`: contexts have no bytes."""
        raise _no_state()

    def push(self, events: Stream) -> Iterator[AnswerBatch]:
        """Read the events of a stream, by columns; yield and raise as `push_columns`."""
        return self.push_columns(events.columns, len(events))

    def _push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        before = self._contexts.states()
        try:
            assert isinstance(columns, Columns), "batches of streams"
            own = self._contexts.read(columns, length)
            return super()._push(columns.with_more(own), length)
        except BadData:  # nothing of the batch is read: it is halved to find the event
            self._contexts.go_back(before)
            raise


def _no_state() -> Unsupported:
    return Unsupported(
        "CER0403",
        "the state of a session does not hold what a strategy inside a formula has read",
        hint="put the strategy into SELECT, or read the events again",
    )


def with_contexts(stream: Stream, plan: Clauses, contexts: Sequence[Context]) -> Stream:
    """Return a stream whose events have their contexts."""
    return stream.with_columns(ContextColumns(plan, contexts).read(stream.columns, len(stream)))
