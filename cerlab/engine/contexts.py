"""Strategies inside a formula: the contexts of events (`cerlab.automata.context`) as extra columns.

Without CONSUME BY, a context depends on the events alone, not on answers. So it is a column that
is computed before the machine runs, and every verb of the compiled engine reads it with the stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cerlab.automata.context import Context
from cerlab.automata.plan import Plan, plan_digest
from cerlab.automata.strategy import Rivals, name_of_idle
from cerlab.budget import poll
from cerlab.computed import cached_property
from cerlab.engine import codec
from cerlab.engine.answers import AnswerBatch, events_of_streams
from cerlab.engine.codec import Layout
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.contexts import states_before
from cerlab.engine.reference.driver import Clauses
from cerlab.engine.state import number_keys
from cerlab.engine.state_checks import expect, is_inside, reading_state
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.errors import BadData
from cerlab.model.columns import Columns
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes


class ContextColumns:
    """The contexts of events as columns; each substream continues from batch to batch."""

    def __init__(self, plan: Clauses, contexts: Sequence[Context]) -> None:
        self._streams, self._keys = plan.streams, KeyCodes(plan.partition)
        self._walks = [_Walk(context) for context in contexts]

    def read(self, columns: Columns, length: int) -> dict[str, Any]:
        """Return a column of each context as Arrow int64, NULL for events in no substream."""
        import pyarrow as pa

        some, positions = events_of_streams(self._streams, columns, length)
        assert isinstance(some, Columns), "of columns come columns"
        codes, substreams = np.zeros(len(positions), np.int64), 1
        if self._keys.attributes:
            codes = self._keys.codes(some, len(positions))
            substreams = self._keys.count
        found: dict[str, Any] = {}
        for walk in self._walks:  # inner contexts first: outer ones read them as attributes
            before = walk.read(some, codes, substreams)
            some = some.with_more({walk.name: pa.array(before, mask=before == NONE)})
            of_all = np.full(length, NONE, np.int64)
            of_all[positions] = before
            found[walk.name] = pa.array(of_all, mask=of_all == NONE)
        return found

    def states(self) -> list[Int64s]:
        """Return a copy of the current states, for `go_back`."""
        return [walk.states.copy() for walk in self._walks]

    def state(self) -> tuple[dict[str, Any], Int64s]:
        """Return the machines' states by name, for saving; only of substreams that have begun."""
        keys = self._keys.keys() if self._keys.attributes else [()]
        states = np.stack([walk.padded(len(keys)) for walk in self._walks])
        initial = np.array([[walk.initial] for walk in self._walks])
        live = np.flatnonzero((states != initial).any(axis=0))
        names = [walk.names_of(row) for walk, row in zip(self._walks, states[:, live], strict=True)]
        numbers = [np.unique(row, return_inverse=True)[1] for row in states[:, live]]
        return {"keys": [keys[n] for n in live], "names": names}, np.stack(numbers)

    def resume(self, values: Mapping[str, Any], rivals: Int64s) -> None:
        """Restore a saved state; damaged values raise `BadData` or another error."""
        keys, names = values["keys"], values["names"]
        expect(self._keys.attributes or len(keys) <= 1, "the keys of contexts")
        number_keys(self._keys if self._keys.attributes else None, keys)
        expect(rivals.shape == (len(self._walks), len(keys)), "the contexts")
        for walk, row, of_walk in zip(self._walks, rivals, names, strict=True):
            expect(is_inside(row, 0, len(of_walk)), "a context")
            walk.states = walk.numbers_of(of_walk)[row]

    def go_back(self, states: Sequence[Int64s]) -> None:
        """Restore a copy from `states`; substreams that began later restart."""
        for walk, of_walk in zip(self._walks, states, strict=True):
            walk.states = of_walk


class _Walk:
    """The deterministic machine of one context, run on all substreams."""

    def __init__(self, context: Context) -> None:
        self.name, self._machine = context
        self._stage = SymbolStage(self._machine.predicates)
        self._after = np.full((1, 1), NONE, np.int64)
        self.states = np.zeros(0, np.int64)
        """The state of each substream."""

    @property
    def initial(self) -> int:
        """The number of the machine's initial state."""
        return self._machine.idle

    def padded(self, substreams: int) -> Int64s:
        """Return the state of each of `substreams` substreams, initially the first state."""
        new = np.full(substreams - len(self.states), self._machine.idle, np.int64)
        return np.concatenate((self.states, new))

    def names_of(self, states: Int64s) -> list[Any]:
        """Return the name of each distinct state, in order of the numbers."""
        return [name_of_idle(self._machine, n) for n in np.unique(states).tolist()]

    def numbers_of(self, names: Sequence[Any]) -> Int64s:
        """Return the numbers of named states; raise ValueError or another error if unknown."""
        # all states were numbered when the context was made: an unknown name is damaged data
        known = self._machine.idle_states
        found = [known.index(Rivals(*map(frozenset, name))) for name in names]
        return np.array(found, np.int64)

    def read(self, columns: Mapping[str, Any], codes: Int64s, substreams: int) -> Int64s:
        """Return the machine's state before each event, and read the events."""
        symbols = self._stage.symbols(columns, len(codes)).astype(np.int64)
        self.states = self.padded(substreams)
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
        """Enlarge the transition array to all known states and symbols."""
        rows, columns = self._after.shape
        states, symbols = len(self._machine.idle_states), len(self._stage.vectors)
        if states <= rows and symbols <= columns:
            return
        known = self._after
        more_rows = rows if states <= rows else max(states, 2 * rows)
        more_columns = columns if symbols <= columns else max(symbols, 2 * columns)
        self._after = np.full((more_rows, more_columns), NONE, np.int64)
        self._after[:rows, :columns] = known


CONTEXTS = Layout(
    "cerlab-contexts",
    1,
    {"keys": tuple, "names": tuple},
    {"run": "|u1 bytes", "rivals": "<i8 contexts partitions"},
)
"""The saved values: the keys of the substreams that are not in their initial state; for each
context the names of its states, which ``rivals`` numbers. The array ``run`` is a state of the
general engine."""


class EvaluationInContext(GeneralEvaluation):
    """The general engine for formulas with strategies inside: it adds contexts to each event."""

    def __init__(
        self,
        plan: Plan,
        machine: LearnedTables,
        contexts: Sequence[Context],
        time: TimeAxis | None,
        state: bytes | None,
    ) -> None:
        """Start a run, or continue a saved one; raise the errors of `GeneralEvaluation`."""
        self._contexts = ContextColumns(plan, contexts)
        self._outer, self._strategies = plan, [context.machine for context in contexts]
        own = None
        if state is not None:
            values, arrays = codec.read(CONTEXTS, self._digest, state)
            own = arrays["run"].tobytes()
            with reading_state():
                self._contexts.resume(values, arrays["rivals"])
        super().__init__(plan, machine, time, state=own)

    @cached_property
    def _digest(self) -> str:
        """A digest of the contexts for saved states, computed at its first use."""
        plans = (replace(self._outer, cea=m.cea, strategy=m.strategy) for m in self._strategies)
        return " ".join(map(plan_digest, plans))

    def state(self) -> bytes:
        """Return the run and its contexts as bytes."""
        values, rivals = self._contexts.state()
        arrays = {"run": np.frombuffer(super().state(), np.uint8), "rivals": rivals}
        return codec.write(CONTEXTS, self._digest, values, arrays)

    def push(self, events: Stream) -> Iterator[AnswerBatch]:
        """Read the events of a stream as columns; yield their answers."""
        return self.push_columns(events.columns, len(events))

    def _push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        before = self._contexts.states()
        try:
            assert isinstance(columns, Columns), "batches of streams"
            own = self._contexts.read(columns, length)
            return super()._push(columns.with_more(own), length)
        except BadData:  # the batch is read again in halves to find the bad event
            self._contexts.go_back(before)
            raise


def with_contexts(stream: Stream, plan: Clauses, contexts: Sequence[Context]) -> Stream:
    """Return the stream with the contexts of its events as further attributes."""
    return stream.with_columns(ContextColumns(plan, contexts).read(stream.columns, len(stream)))
