"""Totals over the answers at each end, computed without listing the answers.

By the kernel (`engine.kernels.totals`); on short streams by the reference, whose integers have any
size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from cerlab.automata.labelled import LabelledMachine
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.budget import poll, step_budget
from cerlab.engine.answers import (
    events_of_streams,
)
from cerlab.engine.array_totals import ArrayTotals
from cerlab.engine.flat_program import Program, TooLarge
from cerlab.engine.instants import join_arrays, list_of, take_instants
from cerlab.engine.kernels import blocks as b
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import (
    NONE,
    RESET_ALL,
    Bytes,
    Int64s,
    Moves,
    Symbols,
)
from cerlab.engine.kernels.limbs import BITS
from cerlab.engine.kernels.windowed import relevant
from cerlab.engine.measures import (
    MOST_INTEGER,
    AggregateInputs,
    EndTotals,
    columns_of,
    join_totals,
    largest,
    limbs,
)
from cerlab.engine.reference import totals as reference
from cerlab.engine.reference.driver import Clauses
from cerlab.engine.reference.totals import ANY_START, FEWER, Gain, Place, Total
from cerlab.engine.state_checks import MOST_EVENTS
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import CONSUMES
from cerlab.engine.windows import WindowStarts
from cerlab.errors import ResourceLimit
from cerlab.model.arrays import array_from, numbers_of
from cerlab.model.clauses import EventWindow
from cerlab.model.columns import take_columns
from cerlab.model.event import Value
from cerlab.model.stream import Instant, Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.grouped_rows import GroupedRows, temporary_file
from cerlab.predicates.columns.key_codes import KeyCodes, rows_by_code
from cerlab.threads import in_threads

SHORT = 256
"""Up to this many events, totals run without kernels, whose loading would cost more."""


def totals_of_ends(
    plan: Plan,
    machine: Machine,
    stream: Stream,
    time: TimeAxis | None,
    inputs: AggregateInputs,
    *,
    by_start: bool,
) -> EndTotals:
    """Return the totals over the answers that end at each event, by start and group.

    They are over rows: a row is an answer with the labels of `inputs`; an answer with several
    labellings has several rows. Starts are separated if `by_start`. The number of a group has mixed
    digits, one for each column of `inputs.groups`, the first one lowest.
    """
    with_labels = LabelledMachine(machine, plan.vcea, inputs.labels)
    short = len(stream) <= SHORT

    def exactly(share: int) -> EndTotals:
        with step_budget("totals by start and group", FEWER, own=share) if short else nullcontext():
            totals_by_end = _exactly(plan, with_labels, stream, time, inputs, by_start=by_start)
            return columns_of(totals_by_end, inputs)

    if short:
        try:
            # an eighth of the budget takes 0.25 s, about as long as loading the kernels
            return exactly(8)
        except ResourceLimit as error:
            if error.code != "CER0605":
                raise
    try:
        evaluation = Evaluation(plan, with_labels, stream, time)
        return evaluation.totals(next(evaluation.groups), inputs, by_start=by_start)
    except TooLarge:
        return exactly(1)


def _exactly(
    plan: Plan,
    machine: LabelledMachine,
    stream: Stream,
    time: TimeAxis | None,
    inputs: AggregateInputs,
    *,
    by_start: bool,
) -> Iterator[tuple[int, dict[Place, Total]]]:
    stage = SymbolStage(machine.predicates)
    symbols = stage.symbols(stream.columns, len(stream)).tolist()
    vectors = [stage.vectors[s] for s in symbols]
    separate = by_start or plan.window is not None
    algebra = reference.sums(_gain_of(machine, inputs), len(inputs.sums), len(inputs.least))
    totals_by_end = reference.end_totals(
        plan, machine, lambda _, n: vectors[n], algebra, stream, time, by_start=separate
    )
    for end, totals in totals_by_end:
        yield end, totals if by_start else _without_starts(totals)


def _without_starts(totals: dict[Place, Total]) -> dict[Place, Total]:
    groups: dict[Place, Total] = {}
    for (_, group), total in totals.items():
        place = (ANY_START, group)
        groups[place] = reference.add_totals(groups[place], total) if place in groups else total
    return groups


def _gain_of(machine: LabelledMachine, inputs: AggregateInputs) -> reference.GainOf:
    """Return a function from the position of an event and a mark to the `Gain` of a run."""
    groups = list(zip(inputs.groups, inputs.strides, strict=True))

    @cache
    def of(position: int, mark: int) -> Gain:
        labels = machine.marks[mark]
        sums = [int(x[position]) if label in labels else 0 for label, x in inputs.sums]
        least = [
            int(x[position]) if label in labels and x[position] >= 0 else None
            for label, x in inputs.least
        ]
        grows = (int(x[position]) * stride for (label, x, _), stride in groups if label in labels)
        return Gain(sums, least, sum(grows))

    return lambda _, n, mark: of(n, mark)


def read_of(
    events: Mapping[str, Any],
    marks: Sequence[frozenset[str]],
    inputs: AggregateInputs,
    positions: Int64s,
) -> b.Read:
    """Return the input of the kernel: `events` with the integers that each event adds."""
    length, groups = len(positions), zip(inputs.groups, inputs.strides, strict=True)
    digits = [limbs(x[positions], BITS) for _, x in inputs.sums]
    least = [x[positions] for _, x in inputs.least]
    return b.Read(
        **{**events, "actions": events["actions"].astype(np.int64, copy=False)},
        sums=_rows([digit for of in digits for digit in of], length),
        limbs=np.concatenate(([0], np.cumsum([*map(len, digits)], dtype=np.int64))),
        least=_rows([np.where(x < 0, b.NOTHING, x) for x in least], length),
        groups=_rows([x[positions] * stride for (_, x, _), stride in groups], length),
        adds=_has(marks, [label for label, _ in inputs.sums]),
        lessens=_has(marks, [label for label, _ in inputs.least]),
        divides=_has(marks, [label for label, _, _ in inputs.groups]),
    )


class Places:
    """The partition of each event, and its number in it or in the stream, as the window counts."""

    def __init__(self, plan: Clauses, time: TimeAxis | None) -> None:
        self._window = plan.window
        self._starts = WindowStarts(plan.window, time)
        """The relevant events inside a window in time."""
        self._keys = KeyCodes(plan.partition)
        self._seen = np.zeros(0, np.int64)

    @property
    def partitions(self) -> int:
        """The number of partitions seen."""
        return max(1, self._keys.count)

    @property
    def last(self) -> Instant | None:
        """The instant of the last event, if the window is in time."""
        return None if self._starts.clock is None else self._starts.clock.last

    def keys(self) -> list[tuple[Value, ...]]:
        """Return the keys of all partitions."""
        return self._keys.keys() if self._keys.attributes else [()]

    def keys_of(self, partitions: Sequence[int]) -> list[tuple[Value, ...]]:
        """Return the keys of the given partitions."""
        return self._keys.only(partitions).keys() if self._keys.attributes else self.keys()

    def copy(self) -> Places:
        """Return a copy that continues at the present event."""
        other = copy(self)
        other._starts = self._starts.copy()
        return other

    def resume(
        self, keys: Sequence[tuple[Value, ...]], pointers: Sequence[Any], last: Instant | None
    ) -> None:
        """Restore the events of partitions from the states of their `WindowPointer`s."""
        if self._keys.attributes:
            columns = dict(zip(self._keys.attributes, zip(*keys, strict=True), strict=False))
            self._keys.codes(columns, len(keys))
        self._seen = np.array([seen for seen, _ in pointers], np.int64)
        self._ordinal = {
            (n, position): at for n, (_, inside) in enumerate(pointers) for at, position in inside
        }
        if self._starts.clock is not None:
            inside = sorted({p: t for _, some in pointers for t, p in some}.items())
            times = [time for _, time in inside]
            self._starts.resume((times, [p for p, _ in inside]), MOST_EVENTS)
            self._starts.clock.last = last

    def order(self, partitions: Sequence[int], starts: Sequence[int]) -> Int64s:
        """Return the number of each start as the window counts events; call `resume` first."""
        if not isinstance(self._window, EventWindow):
            return np.array(starts, np.int64)
        pairs = zip(partitions, starts, strict=True)
        return np.array([self._ordinal[pair] for pair in pairs], np.int64)

    def is_inside(self, start: int) -> bool:
        """Return whether the last event's window contains a start."""
        return self._starts.clock is None or start >= self._starts.lowest

    def state(self, partitions: Int64s, starts: Int64s, order: Int64s) -> list[Any]:
        """Return the `WindowPointer` state of each partition, which contains the given starts."""
        count = len(self.keys())
        seen = [*self._seen.tolist(), *([0] * count)][:count]
        inside: list[dict[int, Instant]] = [{} for _ in seen]
        times, inside_now = self._starts.inside()
        instants = dict(zip(inside_now.tolist(), list_of(times), strict=True))
        cells = zip(partitions.tolist(), starts.tolist(), order.tolist(), strict=True)
        for n, start, at in sorted(cells):
            if self.is_inside(start):
                inside[n][start] = at if self._starts.clock is None else instants[start]
        pairs = ([(at, start) for start, at in some.items()] for some in inside)
        return list(zip(seen, pairs, strict=True))

    def read(
        self,
        columns: Mapping[str, Any],
        positions: Int64s,
        symbols: Symbols,
        program: Program,
    ) -> dict[str, Any]:
        """Return the relevant events of a batch, as fields of `b.Read`.

        The columns and `symbols` are of all events of a batch, `positions` those in the stream.
        Raises `BadData` for a time that is missing or goes back.
        """
        count = len(positions)
        indices, actions = np.empty(count + 1, np.int32), np.empty(count + 1, program.action.dtype)
        found = relevant(symbols, program.read, program.action, indices, actions)
        some, actions = indices[:found], actions[:found]
        of_some, codes = np.zeros(found, np.int64), None
        if self._keys.attributes:
            if isinstance(self._window, EventWindow):
                codes = self._keys.codes(columns, count)
                of_some = codes[some]
            else:
                of_keys = take_columns(columns, some, self._keys.attributes)
                of_some = self._keys.codes(of_keys, found)
            if len(some) and of_some.min() == NONE:
                inside = of_some != NONE
                some, actions, of_some = some[inside], actions[inside], of_some[inside]
        order = at = positions[some]
        if isinstance(self._window, EventWindow):
            order = self._ordinals(codes, count)[some]
            lowest = order - min(self._window.width, MOST_EVENTS)
        elif self._starts.clock is not None:
            times = self._starts.clock.read(columns, count, lambda n: int(positions[n]))
            lowest = self._starts.take(take_instants(times, some), at)
        else:
            lowest = np.full(len(some), NONE, np.int64)
        return {
            "actions": actions,
            "codes": of_some,
            "order": order,
            "lowest": lowest,
            "positions": at,
        }

    def _ordinals(self, codes: Int64s | None, count: int) -> Int64s:
        """Return, for each event, the number of earlier events in its partition."""
        more = np.zeros(max(0, self.partitions - len(self._seen)), np.int64)
        self._seen = np.concatenate((self._seen, more))
        if codes is None:
            self._seen = self._seen + count
            return np.arange(int(self._seen[0]) - count, int(self._seen[0]))
        order: Int64s = _order_in_partition(codes) + self._seen[codes]
        self._seen = self._seen + np.bincount(codes[codes != NONE], minlength=len(self._seen))
        return order


class KeyGroup(NamedTuple):
    """The relevant events of some partitions: of all, or of a group of keys."""

    events: dict[str, Any]
    """Fields of `b.Read`, with the positions in the stream."""
    partitions: int
    columns: Any | None
    """The attributes of these events as a table, None for the columns of the whole stream."""


class _Parts:
    """The events of a stream that are in FROM, read as columns part by part.

    It is read twice, since all symbols are needed to decide which events are relevant.
    """

    def __init__(self, plan: Plan, stream: Stream) -> None:
        self._plan, self._stream = plan, stream

    def __iter__(self) -> Iterator[tuple[Mapping[str, Any], Int64s]]:
        start = 0
        for columns, length in self._stream.parts():
            poll(64 * length)
            some, positions = events_of_streams(self._plan.streams, columns, length)
            yield some, positions + start
            start += length

    def groups(
        self,
        places: Places,
        symbols: list[Symbols],
        program: Program,
        attributes: Collection[str] | None = (),
    ) -> Iterator[KeyGroup]:
        """Yield the relevant events: those of more than `MANY` by groups of keys.

        Groups have the given attributes, which must be plain Arrow columns; None asks for a single
        group. Raises as `Places.read`, and `OSError` without room on the disk.
        """
        count = sum(int(np.count_nonzero(program.read[some])) for some in symbols)
        is_one = not self._plan.partition or CONSUMES[self._plan.consume] == RESET_ALL
        if is_one or attributes is None or count <= MANY:
            events = self._read(places, symbols, program)
            yield KeyGroup(events, places.partitions, None)
            return
        groups = -(-count // OF_A_GROUP)
        with temporary_file() as file:
            rows = GroupedRows(file, groups)
            for columns, positions, part in self._parts(places, symbols, program):
                at = np.searchsorted(positions, part["positions"])
                some = take_columns(columns, at, attributes)
                fields = {name: array_from(column) for name, column in part.items()}
                read = {f".{name}": some[name] for name in some}
                rows.write(fields | read, part["codes"] % groups)
            for group, table in enumerate(rows.tables()):
                if not table.num_rows:
                    continue
                events = {name: _numbers(table.column(name)) for name in _FIELDS}
                events["codes"] = events["codes"] // groups
                names = [name for name in table.column_names if name not in _FIELDS]
                own = table.select(names).rename_columns([name[1:] for name in names])
                yield KeyGroup(events, -(-(places.partitions - group) // groups), own)

    def _parts(
        self, places: Places, symbols: list[Symbols], program: Program
    ) -> Iterator[tuple[Mapping[str, Any], Int64s, dict[str, Any]]]:
        """Yield the columns, the positions and the relevant events of each part.

        Numbers of fewer than `NARROW` events by key have 32 bits: the kernel reads shares of them.
        """
        kind = np.int32 if self._plan.partition and len(self._stream) < NARROW else np.int64
        for n, (columns, positions) in enumerate(self):
            part = places.read(columns, positions, symbols[n], program)
            symbols[n] = np.zeros(0, symbols[n].dtype)  # nobody reads them again
            actions, is_order = part.pop("actions"), part["order"] is part["positions"]
            # no start is before the first event, so any bound below it is the same
            narrow = {n: np.maximum(c, NONE).astype(kind, copy=False) for n, c in part.items()}
            if is_order:
                narrow["order"] = narrow["positions"]
            yield columns, positions, {"actions": actions} | narrow

    def _read(self, places: Places, symbols: list[Symbols], program: Program) -> dict[str, Any]:
        """Return the relevant events as fields of `b.Read`."""
        parts = [part for _, _, part in self._parts(places, symbols, program)]
        of_positions = all(part["order"] is part["positions"] for part in parts)
        events: dict[str, Any] = {}
        for name in _FIELDS:
            if name == "positions" and of_positions:
                events[name] = events["order"]
            else:
                events[name] = join_arrays([part.pop(name) for part in parts])
        return events


_FIELDS = ("actions", "codes", "order", "lowest", "positions")
"""The fields of events that `Places.read` returns."""

MANY = 1 << 22
"""Up to this many relevant events stay in memory, at 50 bytes for each; more are put together by
groups of keys on the disk."""

OF_A_GROUP = 1 << 20
"""The events of a group of keys, on average."""


def _numbers(column: Any) -> Any:
    """Return the numbers of a column in chunks as one array."""
    return join_arrays([numbers_of(chunk) for chunk in column.chunks])


class Evaluation:
    """The evaluation of a plan by the kernel, on a stream that is read by parts."""

    def __init__(
        self,
        plan: Plan,
        machine: LabelledMachine,
        stream: Stream,
        time: TimeAxis | None,
        attributes: Collection[str] | None = None,
    ) -> None:
        """Read the whole stream; raise `TooLarge` if kernels cannot hold the machine or totals."""
        self._plan, self._machine = plan, machine
        stage, places, events_of = (
            SymbolStage(machine.predicates),
            Places(plan, time),
            _Parts(plan, stream),
        )
        symbols = [stage.symbols(columns, len(positions)) for columns, positions in events_of]
        try:
            self._program = Program(machine, stage.vectors)
        except TooLarge:
            self._program = Program(machine, stage.vectors, merges=False)
        self.groups = events_of.groups(places, symbols, self._program, attributes)
        """The groups of events, each read once."""

    def totals(self, group: KeyGroup, inputs: AggregateInputs, *, by_start: bool) -> EndTotals:
        """Return the totals of the ends of a group; raises `TooLarge`.

        The inputs are by event of the group if it has columns, by position in the stream otherwise;
        so are ends and starts.
        """
        events, plan = group.events, self._plan
        if group.columns is not None:
            events = events | {"positions": np.arange(len(events["codes"]))}
        separate = by_start or plan.window is not None
        options = k.Options(CONSUMES[plan.consume], separate, by_start)
        moves, marks = self._program.moves, self._machine.marks
        parts = _by_share(options, moves, events, group.partitions, marks, inputs)
        ends = join_totals(parts)
        if len(parts) > 1:
            ends = ends.rows(rows_by_code(ends.end, len(events["codes"])))
        return ends._replace(end=events["positions"][ends.end].astype(np.int64, copy=False))


def total_of(numbers: Any) -> int:
    """Return the exact sum of an array of integers."""
    fits = largest(numbers) * len(numbers) <= MOST_INTEGER
    return int(numbers.sum()) if fits else sum(numbers.tolist())


NO_INPUTS = AggregateInputs((), (), ())


def counts_of_ends(
    plan: Plan, tables: LearnedTables, stream: Stream, time: TimeAxis | None
) -> Iterator[tuple[Int64s, Any]]:
    """Yield the ends of a stream, and the number of answers of each, at most the LIMIT.

    Each pair has the ends of some partitions, in order. Raises `TooLarge` for too many counts.
    """
    places, events_of = Places(plan, time), _Parts(plan, stream)
    symbols = [tables.symbols(columns, len(positions)) for columns, positions in events_of]
    if (program := tables.program()) is None:
        raise TooLarge("the machine is too large for a program")
    options = k.Options(CONSUMES[plan.consume], plan.window is not None, False)
    for events, partitions, _ in events_of.groups(places, symbols, program):
        positions = events["positions"]
        for part in counts(options, program.moves, events, partitions):
            runs = part.runs if plan.limit is None else np.minimum(part.runs, plan.limit.per_end)
            yield positions[part.end].astype(np.int64, copy=False), runs


def counts(
    options: k.Options, moves: Moves, events: Mapping[str, Int64s], partitions: int
) -> list[EndTotals]:
    """Return the number of answers at each end of a whole stream, for groups of partitions."""
    return _by_share(options, moves, events, partitions, [frozenset()], NO_INPUTS)


NARROW = 1 << 31
"""Numbers of fewer events fit 32 bits, which takes half of the memory."""

SHARE = 1 << 18
"""The number of events, in whole partitions, that the kernel reads together.

Their totals fit the processor's cache: 8.5 million events of 100,000 partitions take 20 % of the
time of a single call (2026-11-28).
"""


def _by_share(
    options: k.Options,
    moves: Moves,
    events: Mapping[str, Int64s],
    partitions: int,
    marks: Sequence[frozenset[str]],
    inputs: AggregateInputs,
) -> list[EndTotals]:
    """Return the totals of a whole stream, for groups of whole partitions.

    Each part has the ends of some partitions, in order. Raises `TooLarge`.
    """

    def read(some: Mapping[str, Int64s], partitions: int) -> EndTotals:
        totals = ArrayTotals(options, sums=len(inputs.sums), least=len(inputs.least))
        wide = {name: column.astype(np.int64, copy=False) for name, column in some.items()}
        its_events = read_of(wide, marks, inputs, wide["positions"])
        groups = prod(size for _, _, size in inputs.groups)
        return totals.read(moves, its_events, partitions=partitions, groups=groups)

    if options.consume == RESET_ALL or partitions == 1 or len(events["codes"]) <= SHARE:
        return [read(events, partitions)]
    kind = events["codes"].dtype
    by_partition = rows_by_code(events["codes"].astype(np.int64, copy=False), partitions)
    by_partition = by_partition.astype(kind, copy=False)
    codes = events["codes"][by_partition]

    def read_share(share: slice) -> EndTotals:
        rows, its_codes = by_partition[share], codes[share]
        some = {name: column[rows] for name, column in events.items()}
        some["codes"] = its_codes - its_codes[0]
        ends = read(some, int(its_codes[-1] - its_codes[0]) + 1)
        return ends._replace(end=rows[ends.end].astype(np.int64, copy=False))

    return in_threads(read_share, [*_shares(codes)])


def _shares(codes: Int64s) -> Iterator[slice]:
    """Yield slices of events sorted by partition, each with whole partitions."""
    start = 0
    while start < len(codes):
        last = codes[min(start + SHARE, len(codes)) - 1]
        end = int(np.searchsorted(codes, last, side="right"))
        yield slice(start, end)
        start = end


def _rows(columns: Sequence[Any], length: int) -> Int64s:
    return np.array(columns, np.int64).reshape(len(columns), length)


def _has(marks: Sequence[frozenset[str]], labels: Sequence[str]) -> Bytes:
    cells = [label in mark for mark in marks for label in labels]
    return np.array(cells, np.uint8).reshape(len(marks), len(labels))


def _order_in_partition(codes: Int64s) -> Int64s:
    """Return, for each event, the number of earlier events in its partition."""
    order = rows_by_code(codes + 1, int(codes.max(initial=NONE)) + 2)
    sorted_codes = codes[order]
    first = np.searchsorted(sorted_codes, sorted_codes, side="left")
    number = np.empty(len(codes), np.int64)
    number[order] = np.arange(len(codes)) - first
    return number
