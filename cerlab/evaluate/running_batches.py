"""Running totals over large batches: by the kernel, from the totals so far and back to them.

Between batches the totals are those of `RunTotals`, which single events go on from and a saved
state is made of. Exponents, ranks and numbers of groups hold for one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from cerlab.automata.labelled import LabelledMachine
from cerlab.engine.answers import events_of_streams
from cerlab.engine.general import CONSUMES
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.measures import (
    MOST_INTEGER,
    NOTHING,
    AggregateInputs,
    EndTotals,
    Integers,
    group_rows,
    integers,
    largest,
    limbs,
)
from cerlab.engine.reference.driver import Driver, Substream, WindowPointer
from cerlab.engine.reference.totals import ANY_START, Greatest, Place, RunTotals, Total
from cerlab.engine.totals import (
    LIMB,
    KernelRun,
    Program,
    TooLarge,
    gains_of_runs,
    program_of,
    run_kernel,
    sums_of_digits,
)
from cerlab.engine.windows import Instants, TimeColumn, list_of, take_instants
from cerlab.evaluate.aggregates import EXPONENT, Request, numbers_in
from cerlab.model.clauses import AttributeWindow, TimeWindow, Window
from cerlab.model.columns import order_of, take_columns, values_of
from cerlab.model.event import Event, Value
from cerlab.model.stream import Instant, Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.truth import Key, partition_key


class GroupCodes(NamedTuple):
    """Makes a group of runs of the values of some attributes."""

    values: Callable[[int], tuple[Value, ...]]
    """The values of a group."""
    group: Callable[[Sequence[Value]], int]
    """The group of some values."""


class Ending(NamedTuple):
    """The total of the answers of one row of a batch."""

    end: int
    key: Key
    of_key: tuple[Value, ...]
    """The values of the request's attributes of the key, at its first event here."""
    place: Place
    total: Total


class _Partition(NamedTuple):
    key: Key
    group: Key
    """The key of the rows of its answers."""
    of_group: tuple[Value, ...]
    part: Substream[RunTotals]


class _Carried(NamedTuple):
    """The totals of some runs before a batch."""

    partition: int
    state: int
    place: Place
    total: Total


class Batches:
    """Reads batches into the substreams of a driver."""

    def __init__(
        self,
        driver: Driver[RunTotals],
        machine: LabelledMachine,
        stage: SymbolStage,
        request: Request,
        groups: GroupCodes,
    ) -> None:
        self._driver = driver
        self._machine = machine
        self._stage = stage
        self._request = request
        self._groups = groups
        self._program: Program | None = None
        self._symbols = 0
        self._places = 64

    def read(
        self, stream: Stream, first: int, time: TimeAxis | None, doubles: Collection[str]
    ) -> Iterator[Ending]:
        """Read events, the first one at position `first`: the rows that they complete.

        In the order of their ends; where ends do not matter one row for each group. `doubles` are
        the attributes that have had some. Raises `TooLarge` and `BadData`, and then nothing is
        read.
        """
        plan, request, driver = self._driver.plan, self._request, self._driver
        columns, inside = events_of_streams(plan.streams, stream.columns, len(stream))
        positions = inside + first
        times = window_times(plan.window, time, columns, positions, driver.now)
        codes, partitions = self._partitions(columns, len(inside))
        parts = [each.part for each in partitions]
        pointers = [part.pointer and part.pointer.copy() for part in parts]
        lowest = _lowest_starts(pointers, codes, times, positions)
        symbols = self._stage.symbols(columns, len(inside))
        program = self._program_over(parts)
        carried = [each for each in _carried(partitions) if each.state in program.number]
        numbering = Numbering(request, stream, carried, doubles, self._groups)
        some = np.flatnonzero(program.matters[symbols] & (codes != NONE))
        by_start = "start" in request.groups
        separate = by_start or plan.window is not None
        starts = _Starts(carried, len(parts), positions[some], separate=separate)
        read = k.Read(
            symbols=symbols[some].astype(np.int64),
            codes=codes[some],
            order=positions[some],
            lowest=lowest[some],
            **numbering.gains(self._machine.marks, inside[some]),
        )

        def begin(totals: k.RunTotals) -> None:
            totals.epoch[:] = 0
            totals.idle[:] = [program.idles[part.recogniser.idle] for part in parts]
            starts.write(totals)
            states = [program.number[each.state] for each in carried]
            of_partitions = [each.partition for each in carried]
            numbering.write(totals, (of_partitions, states, starts.places(carried)))

        # a power of two, since places in the ring are masked, with room for more starts
        places = max(self._places, 1 << starts.most.bit_length()) if separate else 1
        shape = (len(parts), places, numbering.groups)
        options = k.Options(CONSUMES[plan.consume], separate, by_start)
        run = run_kernel(program, read, shape, options, begin)
        # From here on nothing is refused.
        self._places = max(run.state.order.shape[1], self._places)
        if run.epoch:
            for part in driver.substreams.values():
                part.recogniser.reset()
        for each, pointer in zip(partitions, pointers, strict=True):
            each.part.pointer = pointer
            driver.substreams[each.key] = each.part
        self._write_back(run, parts, starts, numbering, program)
        if len(times) and isinstance(plan.window, AttributeWindow | TimeWindow):
            (driver.now,) = list_of(times[-1:])
        return self._endings(run.rows, read, starts, numbering, partitions)

    def _partitions(self, columns: Any, length: int) -> tuple[Int64s, list[_Partition]]:
        """The partition of each event, NONE for none, and the partitions."""
        driver = self._driver
        attributes, grouped = driver.plan.partition, self._request.key
        codes = np.zeros(length, np.int64)
        if attributes:
            codes = KeyCodes(attributes).codes(columns, length)
        ids, first = np.unique(codes, return_index=True)
        first = first[ids != NONE]
        of_first = take_columns(columns, first)
        values = {name: values_of(of_first[name], name) for name in attributes if len(first)}
        partitions = []
        for n in range(len(first)):
            event = Event("?", {name: of[n] for name, of in values.items()})
            key, group = partition_key(event, attributes), partition_key(event, grouped)
            assert key is not None, "its events are in a partition"
            assert group is not None, "its events are in a group"
            of_group = tuple(values[name][n] for name in grouped)
            part = driver.substreams.get(key)
            if part is None:
                part = Substream(driver.recogniser(), driver.plan.window)
            partitions.append(_Partition(key, group, of_group, part))
        return codes, partitions

    def _program_over(self, parts: Sequence[Substream[RunTotals]]) -> Program:
        """The program over all symbols so far, from all states that runs are in."""
        states = {q for part in parts for q in part.recogniser.runs}
        idles = {part.recogniser.idle for part in parts}
        program = self._program
        known = program is not None and states <= program.reached and idles <= program.idles.keys()
        if program is None or not known or self._symbols != len(self._stage.vectors):
            self._symbols = len(self._stage.vectors)
            program = program_of(
                self._machine, self._stage.vectors, sorted(states), sorted(idles), more=True
            )
            self._program = program
        return program

    def _write_back(
        self,
        run: KernelRun,
        parts: Sequence[Substream[RunTotals]],
        starts: _Starts,
        numbering: Numbering,
        program: Program,
    ) -> None:
        """The totals and idle states of the kernel into the substreams."""
        totals, idles, states = run.state, list(program.idles), list(program.number)
        for part, idle, of in zip(parts, totals.idle.tolist(), totals.epoch.tolist(), strict=True):
            part.recogniser.reset()
            if of == run.epoch:
                part.recogniser.idle = idles[idle]
        live = starts.live(totals, run.epoch)
        at = np.nonzero((totals.runs > 0) & live[:, np.newaxis, :, np.newaxis])
        p, q, s, g = at
        begun = starts.of(totals.start[p, s]).tolist()
        sums = numbering.sums_of(totals.sums[at])
        ended = EndTotals(p, s, g, totals.runs[at], sums, tuple(totals.least[at].T))
        cells = zip(p.tolist(), q.tolist(), begun, numbering.groups_of(g), strict=True)
        for (n, state, start, group), total in zip(cells, numbering.totals(ended), strict=True):
            pointer, runs = parts[n].pointer, parts[n].recogniser.runs
            if pointer is None or start >= pointer.lowest:
                runs.setdefault(states[state], {})[start, group] = total

    def _endings(
        self,
        rows: k.Rows,
        read: k.Read,
        starts: _Starts,
        numbering: Numbering,
        partitions: Sequence[_Partition],
    ) -> Iterator[Ending]:
        """The rows of the kernel; one for each group where ends do not matter."""
        groups = self._request.groups
        start = np.full(len(rows.start), ANY_START)
        if "start" in groups:
            start = starts.of(rows.start)
        sums, least = numbering.sums_of(rows.sums), tuple(rows.least.T)
        totals = EndTotals(rows.event, start, rows.group, rows.runs, sums, least)
        if "end" not in groups:
            number: dict[Key, int] = {}
            of_part = [number.setdefault(part.group, len(number)) for part in partitions]
            by = np.array(of_part, np.int64)[read.codes[rows.event]]
            totals = group_rows(totals, [by, totals.start, totals.group])
        return (
            Ending(end, partitions[p].group, partitions[p].of_group, (begun, group), total)
            for end, p, begun, group, total in zip(
                read.order[totals.end].tolist(),
                read.codes[totals.end].tolist(),
                totals.start.tolist(),
                numbering.groups_of(totals.group),
                numbering.totals(totals),
                strict=True,
            )
        )


class _Starts:
    """The places in the kernel's ring of the starts of runs: those carried, then new ones."""

    def __init__(
        self,
        carried: Sequence[_Carried],
        partitions: int,
        positions: Int64s,
        *,
        separate: bool,
    ) -> None:
        self._separate = separate
        starts: list[set[int]] = [set() for _ in range(partitions)]
        for each in carried:
            starts[each.partition].add(each.place[0])
        self._starts = [sorted(of) for of in starts]
        self._new = len(positions)
        old = np.array([start for of in self._starts for start in of], np.int64)
        self._positions = np.concatenate((positions, old))

    @property
    def most(self) -> int:
        """The maximum number of starts of a partition."""
        return max(map(len, self._starts), default=0)

    def write(self, totals: k.RunTotals) -> None:
        """Write the starts into the ring, which has room for them."""
        totals.live[:, 1] = 1
        if self._separate:
            n = self._new
            for p, starts in enumerate(self._starts):
                totals.order[p, : len(starts)] = starts
                totals.start[p, : len(starts)] = np.arange(n, n + len(starts))
                totals.live[p, 1] = len(starts)
                n += len(starts)

    def places(self, carried: Sequence[_Carried]) -> list[int]:
        """The places of the starts of some runs."""
        if not self._separate:
            return [0] * len(carried)
        place = [{start: n for n, start in enumerate(of)} for of in self._starts]
        return [place[each.partition][each.place[0]] for each in carried]

    def of(self, events: Int64s) -> Int64s:
        """The starts that the kernel knows by these events."""
        return self._positions[events] if self._separate else np.full(len(events), ANY_START)

    def live(self, totals: k.RunTotals, epoch: int) -> Any:
        """Which places hold runs: bool (partitions, places)."""
        places = totals.order.shape[1]
        first, after = totals.live[:, :1], totals.live[:, 1:]
        return ((np.arange(places) - first) % places < after - first) & (totals.epoch == epoch)[
            :, np.newaxis
        ]


class Numbering:
    """The values of a batch, and of the runs before it, as integers of the kernel."""

    def __init__(
        self,
        request: Request,
        stream: Stream,
        carried: Sequence[_Carried],
        doubles: Collection[str],
        codes: GroupCodes,
    ) -> None:
        self._carried = carried
        self._codes = codes
        self._places = request.summands
        self._extremes = request.extremes
        self._units = [0 if attribute in doubles else None for _, attribute in self._places]
        columns: dict[str, Any] = {}

        def values(attribute: str) -> list[Value]:
            if attribute not in columns:
                of = stream.columns.get(attribute)
                columns[attribute] = (
                    [None] * len(stream) if of is None else values_of(of, attribute)
                )
            return [math.nan if v != v else v for v in columns[attribute]]

        self._sums: list[tuple[Integers, Integers]] = []
        for n, (_, attribute) in enumerate(self._places):
            of = numbers_in(stream, attribute)
            parts = [each.total.sums[3 * n : 3 * n + 3] for each in carried]
            before = [whole for _, whole, _ in parts]
            events = of.integers
            if attribute in doubles:
                before = [(whole << EXPONENT) + rest for _, whole, rest in parts]
                unit = min((_zeros(x) - EXPONENT for x in before if x), default=of.exponent)
                unit = self._units[n] = min(unit, of.exponent)
                before = [x >> unit + EXPONENT for x in before]
                events = _shifted(events, of.exponent - unit)
            self._sums += (events, integers(before)), (of.present, integers([c for c, *_ in parts]))
        self._ordered: list[list[Any]] = []
        ranks: list[Int64s] = []
        self._ranks_before: list[list[int]] = []
        for n, measure in enumerate(self._extremes):
            extremes = (each.total.least[n] for each in carried)
            plain = [x.value if isinstance(x, Greatest) else x for x in extremes]
            read = [None if v != v else v for v in values(measure.place[1])]
            known = dict.fromkeys(v for v in (*plain, *read) if v is not None)
            ordered: list[Any] = sorted(known, reverse=measure.function == "max")
            rank: dict[Value, int] = {value: n for n, value in enumerate(ordered)}
            ranks.append(np.array([rank.get(value, -1) for value in read], np.int64))
            self._ranks_before.append([rank.get(value, NOTHING) for value in plain])
            self._ordered.append(ordered)
        self._values: list[list[Value]] = []
        groups: list[Int64s] = []
        of_groups = {each.place[1]: codes.values(each.place[1]) for each in carried}
        strides: list[int] = []
        local = dict.fromkeys(of_groups, 0)
        for n, column in enumerate(request.labelled):
            number: dict[Value, int] = {None: 0}
            strides.append(prod(map(len, self._values)))
            read = values(str(column.attribute))
            groups.append(np.array([number.setdefault(v, len(number)) for v in read], np.int64))
            for group, of_group in of_groups.items():
                local[group] += strides[n] * number.setdefault(of_group[n], len(number))
            self._values.append(list(number))
        self._local = local
        self.groups = prod(map(len, self._values))
        """The number of groups."""
        sums = [label for label, _ in self._places for _ in range(2)]
        self.inputs = AggregateInputs(
            tuple((label, of) for label, (of, _) in zip(sums, self._sums, strict=True)),
            tuple((m.place[0], of) for m, of in zip(self._extremes, ranks, strict=True)),
            tuple(
                (column.label, of, len(known))
                for column, of, known in zip(request.labelled, groups, self._values, strict=True)
            ),
        )
        """The integers that runs carry, by event."""
        self._widths: list[int] = []
        self._digits_before: list[Int64s] = []

    def gains(self, marks: Sequence[frozenset[str]], events: Int64s) -> dict[str, Any]:
        """The gains of runs by some events, as fields of `k.Read`; for `write` too."""
        digits: list[list[Int64s]] = []
        for of_events, before in self._sums:
            of, earlier = limbs(of_events[events], LIMB), limbs(before, LIMB)
            width = max(len(of), len(earlier))
            self._widths.append(width)
            digits.append(of + [np.zeros(len(events), np.int64)] * (width - len(of)))
            nothing = [np.zeros(len(before), np.int64)] * (width - len(earlier))
            self._digits_before += [*earlier, *nothing]
        return gains_of_runs(marks, self.inputs, digits, events)

    def write(self, totals: k.RunTotals, at: tuple[Sequence[int], ...]) -> None:
        """Write the totals carried to partitions, states and places."""
        if self._carried:
            groups = [self._local[each.place[1]] for each in self._carried]
            cells: Any = (*(np.array(axis) for axis in at), np.array(groups))
            totals.runs[cells] = [each.total.runs for each in self._carried]
            for n, digits in enumerate(self._digits_before):
                totals.sums[*cells, n] = digits
            for n, ranks in enumerate(self._ranks_before):
                totals.least[*cells, n] = ranks

    def sums_of(self, digits: Int64s) -> tuple[Integers, ...]:
        """The sums of digits of the kernel, shape (rows, digits)."""
        return sums_of_digits(digits, self._widths)

    def totals(self, ends: EndTotals) -> list[Total]:
        """The totals that the integers of some rows stand for."""
        runs = ends.runs.tolist()
        sums: list[list[int]] = []
        for n, unit in enumerate(self._units):
            values, counts = (ends.sums[2 * n + m].tolist() for m in range(2))
            nothing = [0] * len(values)
            if unit is None:
                sums += counts, values, nothing
            else:
                sums += counts, nothing, [x << unit + EXPONENT for x in values]
        least: list[Sequence[Any]] = []
        for measure, ordered, ranks in zip(self._extremes, self._ordered, ends.least, strict=True):
            values = [None if n == NOTHING else ordered[n] for n in ranks.tolist()]
            if measure.function == "max":
                least.append([None if value is None else Greatest(value) for value in values])
            else:
                least.append(values)
        of_row = zip(*sums, strict=True) if sums else ((),) * len(runs)
        least_of_row = zip(*least, strict=True) if least else ((),) * len(runs)
        return [Total(*each) for each in zip(runs, of_row, least_of_row, strict=True)]

    def groups_of(self, groups: Int64s) -> list[int]:
        """The groups of runs that numbers of the kernel stand for."""
        of: dict[int, int] = {}
        for group in np.unique(groups).tolist():
            rest, values = group, list[Value]()
            for known in self._values:
                values.append(known[rest % len(known)])
                rest //= len(known)
            of[group] = self._codes.group(values)
        return [of[group] for group in groups.tolist()]


def window_times(
    window: Window | None,
    axis: TimeAxis | None,
    columns: Any,
    positions: Int64s,
    last: Instant | None,
) -> Instants:
    """The instants of events, 0 where no window asks for them.

    Raises `BadData` for one that is missing or goes back.
    """
    if not isinstance(window, AttributeWindow | TimeWindow):
        return np.zeros(len(positions), np.int64)
    column = TimeColumn(window, axis)
    column.last = last
    return column.read(columns, len(positions), lambda n: int(positions[n]))


def _lowest_starts(
    pointers: Sequence[WindowPointer | None], codes: Int64s, times: Instants, positions: Int64s
) -> Int64s:
    """The lowest start that the window of each event's partition allows; 0 where nothing asks."""
    lowest = np.zeros(len(codes), np.int64)
    by_partition = order_of(codes)
    bounds = np.searchsorted(codes[by_partition], np.arange(len(pointers) + 1)).tolist()
    for pointer, begin, end in zip(pointers, bounds, bounds[1:], strict=False):
        if pointer is not None:
            at = by_partition[begin:end]
            some = list_of(take_instants(times, at))
            lowest[at] = pointer.advance_all(some, positions[at].tolist())
    return lowest


def _carried(partitions: Sequence[_Partition]) -> Iterator[_Carried]:
    for n, (_, _, _, part) in enumerate(partitions):
        for state, runs in part.recogniser.runs.items():
            for place, total in runs.items():
                if total.runs > k.MOST_RUNS:
                    raise TooLarge("there are too many runs")
                yield _Carried(n, state, place, total)


def _zeros(x: int) -> int:
    """Return the number of zeros at the end of the binary digits of a number."""
    return (x & -x).bit_length() - 1


def _shifted(numbers: Integers, by: int) -> Integers:
    fits = largest(numbers) << by <= MOST_INTEGER
    return (numbers if fits else numbers.astype(object)) << by
