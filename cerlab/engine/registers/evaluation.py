"""Evaluation of a transducer with registers on one stream, batch by batch.

The answers do not depend on how the stream is cut into batches. Between batches the evaluation
keeps the configurations with their matches, the values in their registers, and the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from cerlab.automata.plan import CorrelatedPlan
from cerlab.budget import poll
from cerlab.engine.answers import (
    BATCH,
    PART_OF_LISTED,
    AnswerBatch,
    BatchedAnswers,
    ListsAt,
    batched_answers,
    events_of_streams,
    join_answers,
    until_bad,
    whole,
)
from cerlab.engine.codec import AXIS, Layout
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import selection as s
from cerlab.engine.kernels.registers import Events
from cerlab.engine.registers.configurations import Configurations
from cerlab.engine.registers.program import PARTITION, AnyPlan, NotTaken, mixes, register_program
from cerlab.engine.registers.rules import event_atoms, names_of, tables
from cerlab.engine.state import NODES, check_nodes, number_keys
from cerlab.engine.state_checks import expect, is_inside, is_whole
from cerlab.engine.tecs_run import CONSUMES, KEYS_KEPT, MOST
from cerlab.engine.windows import Windows
from cerlab.errors import ResourceLimit
from cerlab.model.answer import ComplexEvent, latest_first
from cerlab.model.clauses import Consume, EventWindow, Strategy, Window
from cerlab.model.columns import slice_columns, take_columns
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import PART, Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage, relevant_indices
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.ranks import KIND, NOTHING, Ranks
from cerlab.predicates.syntax import attributes_in

MAX_RULES = 1 << 20
"""The maximum number of cells, moves times symbols, of the tables."""

EXACT = 2.0**53
"""The limit up to which a float holds every count exactly."""

FEW = 16
"""Up to this many events are read one by one: columns have a higher start-up cost."""

VALUES_KEPT = 1 << 17
"""Below this many values, codes of unused values are kept: forgetting them would cost more."""


def register_answers(
    plan: AnyPlan,
    stream: Stream,
    reference: Callable[[NotTaken], Iterator[ComplexEvent]],
    time: TimeAxis | None = None,
    lists: ListsAt | None = None,
) -> Iterator[ComplexEvent]:
    """Yield the answers of a plan with registers on a stream, each once, by end.

    `reference` evaluates other plans.

    Answers of ends that `lists` excludes may be missing. Raises `BadData` for a time that is
    missing or goes back, after the answers before it.
    """
    try:
        return BatchedAnswers(RegisterEvaluation(plan, stream, time, lists=lists).answers())
    except NotTaken as refusal:
        return reference(refusal)


def register_count(
    plan: AnyPlan,
    stream: Stream,
    reference: Callable[[NotTaken], Iterator[ComplexEvent]],
    time: TimeAxis | None = None,
) -> int:
    """Return the number of answers; list them only if several runs may have one answer.

    Raises `ResourceLimit` for 2^53 answers and more.
    """
    try:
        return RegisterEvaluation(plan, stream, time).count()
    except NotTaken as refusal:
        return sum(1 for _ in reference(refusal))


class RegisterRun:
    """The evaluation of a plan on one stream, batch by batch.

    Each answer comes once, with the batch that completes it. The sizes are those of
    `Configurations`.
    """

    def __init__(
        self,
        plan: AnyPlan,
        time: TimeAxis | None = None,
        bounds: k.Int64s | None = None,
        lists: ListsAt | None = None,
        **sizes: int,
    ) -> None:
        """Compile the plan; raise `NotTaken` if the engine does not support it.

        `bounds` and `lists` are as in `RegisterEvaluation`.
        """
        self._lists = lists
        if (reason := why_not(plan)) is not None:
            raise NotTaken(reason)
        try:
            self._program = program = register_program(plan)
        except ResourceLimit as error:
            poll()
            raise NotTaken(error.message) from None
        self._atoms, self._names = event_atoms(program), names_of(program)
        self._stage = SymbolStage(self._atoms)
        self._known: dict[int, tuple[int, Any]] = {}
        """The length and the symbols of batches to come, by position."""
        self._codes = Ranks(self._names.of_constants())
        self._values = [value for value in self._names.values if value != PARTITION.value]
        self._attributes = attributes_in(self._values)
        self._streams: Sequence[str] = ()
        self._keys: KeyCodes | None = None
        self._limit, consume = None, k.KEEP
        self._selection: Selection | None = None
        if isinstance(plan, CorrelatedPlan):
            self._streams, consume = plan.streams, CONSUMES[plan.consume]
            self._keys = KeyCodes(plan.partition) if plan.partition else None
            self._limit = min(plan.limit.per_end, MOST) if plan.limit else None
            if plan.strategy is not None:
                self._selection = Selection(plan.strategy, self._limit)
                self._limit = None  # LIMIT applies after the strategy
        self._windows = Windows(_windows(plan), self._streams, time, bounds)
        self._learn()
        self.configurations = Configurations(
            self.tables.key_slot, len(program.slots), limit=self._limit, consume=consume, **sizes
        )
        self._events = _room(1, len(self._names.values), len(self._codes.constants))
        self._enough_keys, self._enough_values = KEYS_KEPT, VALUES_KEPT
        self.position = 0
        """The number of events read: the position of the next one."""

    def _learn(self) -> None:
        """Build the tables for all symbols seen; raise `NotTaken` if they would be too large."""
        vectors = self._stage.vectors
        if len(self._program.moves) * len(vectors) > MAX_RULES:
            raise NotTaken("there are too many kinds of events")
        self.tables = tables(self._program, self._names, self._atoms, vectors)
        self._symbols = len(vectors)

    @property
    def selects(self) -> bool:
        """True if the query has a strategy, which selects among the answers of an end."""
        return self._selection is not None

    def learn(self, stream: Stream, part: int) -> None:
        """Find the symbols of a whole stream before reading it; raise `NotTaken` for too many."""
        start = self.position
        for columns, length in stream.parts(part):
            some, positions = events_of_streams(self._streams, columns, length)
            self._known[start] = length, self._stage.symbols(some, len(positions))
            start += length
        self._with_new_symbols()

    def _with_new_symbols(self) -> None:
        if len(self._stage.vectors) > self._symbols:
            self._learn()
            self.configurations.list_by(self.tables.key_slot)

    def _lowest_order(self) -> int:
        """Return the lowest order of a start that can still matter; 0 under a strategy."""
        return self._windows.lowest_order(self.position) if self._selection is None else 0

    @property
    def lowest(self) -> int:
        """The lowest start that a later answer may have; 0 if unknown."""
        return self._windows.lowest(self.position)

    def state(self) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Return the values and arrays of a saved state (`REGISTERS`), except the time axis.

        Call it between batches, when their answers have been consumed.
        """
        arrays = self.configurations.arrays(self._lowest_order())
        contents = arrays["slots"].copy()
        of_values = [n for n, slot in enumerate(self._names.slots) if slot != PARTITION]
        cells = contents[:, of_values]
        codes = np.unique(cells)
        codes = codes[codes >= 0]
        contents[:, of_values] = np.where(cells < 0, cells, np.searchsorted(codes, cells))
        values = {
            "read": self.position,
            "kinds": list(self._stage.vectors),
            "windows": self._windows.state(),
            "keys": [] if self._keys is None else self._keys.keys(),
            "held": self._codes.values(codes),
        }
        return values, {**arrays, "slots": contents}

    def named(self) -> k.Int64s:
        """Return the positions that later answers may contain; call `state` first."""
        return self.configurations.named()

    def resume(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Restore a saved state, to read another stream from its next event on.

        Raises `BadData`, ValueError, TypeError and others for other values.
        """
        vectors, keys, held = values["kinds"], values["keys"], values["held"]
        self.position = values["read"]
        # needs all symbols seen so far, to decide whether runs share answers
        expect(len(self._program.moves) * len(vectors) <= MAX_RULES, "the kinds of events")
        expect(all(is_whole(v, 0, 1 << len(self._atoms)) for v in vectors), "a kind of events")
        self._stage.know(vectors)
        self._with_new_symbols()
        self._windows.resume(values["windows"], self.position)
        contents = arrays["slots"].copy()
        number_keys(self._keys, keys)
        known = np.array([*self._codes.of_values(held), NOTHING], np.int64)
        expect((np.diff(known[:-1]) > 0).all(), "the order of values")
        expect(contents.shape[1] == len(self._names.slots), "the slots of a configuration")
        for n, slot in enumerate(self._names.slots):
            most = len(keys if slot == PARTITION else held)
            expect(is_inside(contents[:, n], NOTHING, most), "what a configuration holds")
            if slot != PARTITION:
                contents[:, n] = known[contents[:, n]]
        order = self._windows.order(self.position)
        check_configurations(arrays, self._program.states, order, self.position)
        # codes of constants and saved values may have gaps, but no run holds older codes
        self._codes.take_moves()
        self.configurations.resume({**arrays, "slots": contents})

    def push_columns(
        self, columns: Mapping[str, Any], length: int, total: Any = None
    ) -> Iterator[AnswerBatch]:
        """Read `length` more events; yield their answers, each as soon as a buffer is full.

        Exhaust it before the next call. Raises `BadData` for a time that is missing or goes back,
        after the answers before it, and `NotTaken` for too many kinds of events. With a `total`,
        float64 (1,), answers are counted there and none is listed.
        """
        return until_bad(
            lambda some, count: self._push(some, count, total), columns, length, slice_columns
        )

    def push(self, events: Stream) -> Iterator[AnswerBatch]:
        """Read the events of a stream, by columns or one by one, whichever costs less."""
        if not events.is_columnar and len(events) <= FEW:
            return self.push_events(events.events)
        return self.push_columns(events.columns, len(events))

    def push_events(self, events: Sequence[Event]) -> Iterator[AnswerBatch]:
        """Read a few events without columns; yield their answers as `push_columns` does."""
        return until_bad(
            self._push_events, events, len(events), lambda some, at, size: some[at : at + size]
        )

    def finish(self) -> Iterator[AnswerBatch]:
        """Yield no answer: all answers were yielded at their ends."""
        return iter(())

    def _push(self, columns: Mapping[str, Any], length: int, total: Any) -> Iterator[AnswerBatch]:
        """Return the answers at the events of a batch; raise at its first bad event.

        Raise before the first answer otherwise.
        """
        if self._has_much():
            self._forget()
        known, symbols = self._known.pop(self.position, (-1, None))
        columns, positions = events_of_streams(self._streams, columns, length)
        positions = positions + self.position
        if known != length:  # read a batch with a bad event again, in smaller batches
            symbols = self._stage.symbols(columns, len(positions))
            self._with_new_symbols()
        indices = relevant_indices(symbols, self.tables.keep)
        if self._keys is not None:
            of_keys = take_columns(columns, indices, self._keys.attributes)
            keys = self._keys.codes(of_keys, len(indices))
            indices, keys = indices[keys >= 0], keys[keys >= 0]
        relevant = {**take_columns(columns, indices, self._attributes)}
        values = self._codes.of_columns(relevant, self._values, len(indices))
        if self._keys is not None:
            values.insert(self._names.values.index(PARTITION.value), keys)
        order, lowest = self._windows.read(columns, positions)
        self.position += length
        return self._read(
            Events(
                symbol=symbols[indices].astype(np.int32),
                values=np.stack(values, axis=1)
                if values
                else np.zeros((len(indices), 0), np.int64),
                position=positions[indices],
                order=order[indices],
                lowest=lowest[indices],
                constants=self._with_new_codes(),
                lists=self._listed(positions[indices]),
            ),
            total,
        )

    def _listed(self, ends: k.Int64s) -> k.Bytes:
        if self._lists is None:
            return np.ones(len(ends), np.uint8)
        return self._lists(ends).view(np.uint8)

    def _push_events(self, events: Sequence[Event], length: int) -> Iterator[AnswerBatch]:
        if self._has_much():
            self._forget()
        rows, positions = events, list(range(self.position, self.position + length))
        if self._streams:
            inside = [n for n, t in enumerate(events) if is_of_streams(t, self._streams)]
            rows, positions = [events[n] for n in inside], [positions[n] for n in inside]
        symbols = [self._stage.symbol(t) for t in rows]
        self._with_new_symbols()
        keep = self.tables.keep
        relevant = [n for n, symbol in enumerate(symbols) if keep[symbol]]
        keys = dict.fromkeys(relevant, 0)
        if self._keys is not None:
            keys = {n: self._keys.code(rows[n]) for n in relevant}
            relevant = [n for n in relevant if keys[n] >= 0]
        values = self._codes.of_events([rows[n] for n in relevant], self._values)
        if self._keys is not None:
            at = self._names.values.index(PARTITION.value)
            values.insert(at, [keys[n] for n in relevant])
        order, lowest = self._windows.read_events(rows, positions)
        self.position += length
        if not relevant:
            return iter(())
        fresh = self._events if len(relevant) == 1 else _room(len(relevant), len(values))
        for place, n in enumerate(relevant):
            fresh.symbol[place] = symbols[n]
            fresh.position[place], fresh.order[place] = positions[n], order[n]
            fresh.lowest[place] = lowest[n]
        for column, of_events in enumerate(values):
            fresh.values[:, column] = of_events
        constants = self._with_new_codes()
        if len(relevant) == 1:
            fresh.constants[:] = constants
            return self._read(fresh, None)
        return self._read(fresh._replace(constants=constants), None)

    def _read(self, events: Events, total: Any) -> Iterator[AnswerBatch]:
        every = events
        if self._selection is not None:
            every = events._replace(lowest=np.zeros(len(events.lowest), np.int64))
        batches = self.configurations.read(self.tables.rules, every, total)
        # with LIMIT, the enumeration already lists each answer once
        if not self.tables.unambiguous and self._limit is None:
            batches = distinct(batches)
        if self._selection is None:
            return batches
        return self._selection.of(batches, events.position, events.lowest)

    def _with_new_codes(self) -> k.Int64s:
        """Recode the values in registers after changes; return the codes of constants."""
        if moves := self._codes.take_moves():

            def move(contents: k.Int64s) -> None:
                for kind, (before, after) in moves.items():
                    is_of_kind = (contents >= 0) & (contents >> KIND == kind)
                    at = np.searchsorted(before, contents[is_of_kind])
                    contents[is_of_kind] = after[np.minimum(at, len(after) - 1)]

            self.configurations.recode(move)
        return self._codes.constants

    def _has_much(self) -> bool:
        """Return whether enough keys or values are stored that most may be unused."""
        keys = self._keys
        return len(self._codes) > self._enough_values or (
            keys is not None and keys.count > self._enough_keys
        )

    def _forget(self) -> None:
        """Forget the keys and values that no configuration holds."""
        keys, codes = self._keys, self._codes
        self.configurations.collect(self._lowest_order())
        contents = self.configurations.slots()
        codes.keep(contents)
        # forgetting sorts all stored values, so do it again only when their number has doubled
        self._enough_values = VALUES_KEPT + 2 * len(codes)
        if keys is not None:
            column = self._names.slots.index(PARTITION)
            live = np.unique(contents[:, column])
            live = live[live >= 0]
            self._keys = keys.only(live.tolist())
            self._enough_keys = KEYS_KEPT + 2 * len(live)

            def renumber(slots: k.Int64s) -> None:
                of = slots[:, column]
                # free rows hold arbitrary codes, perhaps above all live ones
                at = np.minimum(np.searchsorted(live, of), max(len(live) - 1, 0))
                slots[:, column] = np.where(of < 0, of, at)

            self.configurations.recode(renumber)


class RegisterEvaluation:
    """Evaluation of a plan on a complete stream."""

    def __init__(
        self,
        plan: AnyPlan,
        stream: Stream,
        time: TimeAxis | None = None,
        bounds: k.Int64s | None = None,
        lists: ListsAt | None = None,
        **sizes: int,
    ) -> None:
        """Compile the plan and learn the stream's symbols; raise `NotTaken`.

        With `bounds`, in place of windows, an answer that ends at event n begins at ``bounds[n]``
        or later; they do not decrease. Ends that `lists` excludes have no answers.
        """
        poll(32 * len(stream))
        self._run = RegisterRun(plan, time, bounds, lists, **sizes)
        self._stream, self._part = stream, PART if lists is None else PART_OF_LISTED
        self._run.learn(stream, self._part)

    @property
    def configurations(self) -> Configurations:
        """The configurations, with counts of their operations."""
        return self._run.configurations

    @property
    def is_unambiguous(self) -> bool:
        """True if each answer has exactly one run."""
        return self._run.tables.unambiguous

    def answers(self) -> Iterator[AnswerBatch]:
        """Return the answers, each once, by end; may be called once."""
        return whole(self._run, self._stream, self._part)

    def count(self) -> int:
        """Return the number of answers, without listing if each has one run; call only once.

        Raises `ResourceLimit` for 2^53 answers and more.
        """
        if not self.is_unambiguous or self._run.selects:
            return sum(map(len, self.answers()))
        total = self.estimate()
        # doubles do not represent all integers above 2^53
        if total >= EXACT:
            raise ResourceLimit(
                "CER0618", "cannot count over 2^53 answers of a transducer", hint="use a window"
            )
        return int(total)

    def estimate(self) -> float:
        """Return the number of answers as a double, exact below 2^53; each must have one run."""
        assert self.is_unambiguous
        total = np.zeros(1, np.float64)
        for columns, length in self._stream.parts():
            for _ in self._run.push_columns(columns, length, total):
                raise AssertionError("the kernel lists answers that it should only count")
        return float(total[0])


REGISTERS = Layout(
    "cerlab-registers",
    4,
    {"time": AXIS, "read": int, "kinds": tuple, "windows": tuple, "keys": tuple, "held": tuple},
    {
        "state": "<i4 configurations",
        "node": "<i4 configurations",
        "slots": "<i8 configurations slots",
        **NODES,
    },
)
"""The saved values: the axis of a window in hours, minutes or seconds; the number of events; the
kinds of events that were read; the windows; the keys of the partitions, and the values in
configurations, both of which the slots number from 0."""


def check_configurations(arrays: Mapping[str, Any], states: int, starts: int, read: int) -> None:
    """Raise `BadData` if saved arrays might keep a kernel from terminating.

    A kernel trusts its arrays: a number out of range would read foreign memory, and a node that is
    not after its children might be on a cycle.
    """
    state, node = arrays["state"], arrays["node"]
    expect(is_inside(state, 0, states), "a state")
    expect((np.diff(state) >= 0).all(), "the order of configurations")
    # the initial state may have no move: then the first event leaves no configuration
    first = not len(state) or (state[0] == 0 and node[0] == k.NONE)
    expect(first, "the first configuration")
    expect(is_inside(node, k.NONE, len(arrays["left"])), "the node of a configuration")
    check_nodes(arrays, starts, read)


def why_not(plan: AnyPlan) -> str | None:
    """Return why the compiled engine does not support a plan with registers; None if it does."""
    if isinstance(plan, CorrelatedPlan):
        if plan.partition and isinstance(plan.window, EventWindow):
            return "WITHIN n EVENTS counts the events of each partition"
        if plan.partition and plan.consume is Consume.PARTITION:
            return "CONSUME BY PARTITION ends the partial matches of one partition"
        if plan.strategy is not None and (reason := _why_not_select(plan, plan.strategy)):
            return reason
    if any(mixes(t.guard) for t in plan.srt.Delta):
        return "one side of a comparison computes with values of two events"
    return None


def _why_not_select(plan: CorrelatedPlan, strategy: Strategy) -> str | None:
    if strategy is Strategy.STRICT:
        return "STRICT counts the events of each partition"
    if plan.window is not None and plan.consume is not Consume.NONE:
        return f"CONSUME BY depends on the answers that {strategy.value} selects inside WITHIN"
    if plan.streams and isinstance(plan.window, EventWindow):
        return f"{strategy.value} compares answers longer than WITHIN, which counts events of FROM"
    return None


def _windows(plan: AnyPlan) -> tuple[Window, ...]:
    if isinstance(plan, CorrelatedPlan):
        return () if plan.window is None else (plan.window,)
    return plan.windows


def _room(events: int, values: int, constants: int = 0) -> Events:
    """Return empty `Events` with room for a number of events."""
    position, order, lowest = np.zeros((3, events), np.int64)
    cells, codes = np.zeros((events, values), np.int64), np.zeros(constants, np.int64)
    symbol, lists = np.zeros(events, np.int32), np.ones(events, np.uint8)
    return Events(symbol, cells, position, order, lowest, codes, lists)


class Selection:
    """Selection by a strategy, then LIMIT, among the answers of each end (FOUND Sec. 4)."""

    def __init__(self, strategy: Strategy, limit: int | None) -> None:
        self._strategy, self._limit = s.NUMBERS[strategy], limit

    def of(
        self, batches: Iterable[AnswerBatch], positions: k.Int64s, lowest: k.Int64s
    ) -> Iterator[AnswerBatch]:
        """Yield the selected answers of batches that come by end.

        An answer that ends at ``positions[n]`` is inside the window if it begins at ``lowest[n]``
        or later.
        """
        held: list[AnswerBatch] = []
        for batch in filter(len, batches):
            cut = int(np.searchsorted(batch.end, batch.end[-1]))
            if held and held[-1].end[-1] == batch.end[-1]:
                held.append(batch)  # more answers of the end that the last batch stopped at
                continue
            if cut or held:
                whole_ends = join_answers([*held, batch.first(cut)])
                yield from self._selected(whole_ends, positions, lowest)
            held = [batch.after(cut)]
        if held:
            yield from self._selected(join_answers(held), positions, lowest)

    def _selected(
        self, answers: AnswerBatch, positions: k.Int64s, lowest: k.Int64s
    ) -> Iterator[AnswerBatch]:
        keep, order = np.zeros(len(answers), np.bool_), np.empty(len(answers), np.int64)
        offsets, begin = answers.offsets.astype(np.int64), 0
        while begin < len(answers):
            poll()
            begin = s.select(
                self._strategy, answers.end, offsets, answers.positions, begin, order, keep
            )
        at = np.searchsorted(positions, answers.end)
        kept = answers.take(np.flatnonzero(keep & (answers.start >= lowest[at])))
        if self._limit is None:
            yield kept
            return
        first = (
            answer
            for _, some in groupby(kept, key=attrgetter("end"))
            for answer in sorted(some, key=latest_first)[: self._limit]
        )
        yield from batched_answers(first, BATCH)


MAX_ANSWERS = 1_000_000
"""The most answers of one end that are kept to remove repetitions."""


def distinct(batches: Iterable[AnswerBatch]) -> Iterator[AnswerBatch]:
    """Yield each answer once, of batches that come by end.

    Keeps the answers of one end; raises `ResourceLimit` if there are more than `MAX_ANSWERS`.
    """
    end, answers = -1, set[tuple[int, bytes]]()
    for batch in batches:
        starts, ends, offsets = batch.start.tolist(), batch.end.tolist(), batch.offsets.tolist()
        indices = []
        for n in range(len(batch)):
            if ends[n] != end:
                end, answers = ends[n], set()
            answer = (starts[n], batch.positions[offsets[n] : offsets[n + 1]].tobytes())
            if answer not in answers:
                answers.add(answer)
                indices.append(n)
        if len(answers) > MAX_ANSWERS:
            raise ResourceLimit(
                "CER0688",
                f"more than {MAX_ANSWERS:,} answers end at event {end}, and runs may share them",
                hint="use a window, or LIMIT",
            )
        yield batch.take(np.array(indices, np.int64))
