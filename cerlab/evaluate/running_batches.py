"""Running totals over large batches, as arrays that persist from batch to batch.

Small batches are read event by event, with the totals of `RunTotals`; a saved state consists of
these, too. Changing the form moves all totals. So the form changes only at the first large batch,
for a state, and after as many small batches as compensate the cost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from cerlab.automata.labelled import LabelledMachine
from cerlab.compile.pattern import Pattern
from cerlab.engine.answers import AnswerBatch, events_of_streams, join_answers
from cerlab.engine.array_totals import ArrayTotals, OpenRuns
from cerlab.engine.flat_program import Program, TooLarge
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.measures import (
    EndTotals,
    group_rows,
    integers,
    totals_of_rows,
)
from cerlab.engine.reference.driver import Driver, Substream
from cerlab.engine.reference.totals import Place, RunTotals, Total
from cerlab.engine.state_checks import MOST_EVENTS
from cerlab.engine.tecs_run import CONSUMES
from cerlab.engine.totals import Places, read_of
from cerlab.errors import BadData
from cerlab.evaluate.aggregates import Request
from cerlab.evaluate.groups import Groups
from cerlab.evaluate.labelled import labelled_answers
from cerlab.evaluate.numbering import Numbering
from cerlab.evaluate.recent import WithEvents
from cerlab.model.columns import take_rows, values_of
from cerlab.model.event import Event, Value
from cerlab.model.stream import Stream, TimeAxis, Until
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.truth import Key, key_of, partition_key


class Ending(NamedTuple):
    """A group of answers that end at one event, with its key, start and total."""

    end: int
    key: Key
    of_key: tuple[Value, ...]
    """Values of the grouping attributes of the key, at the key's first event in the batch."""
    place: Place
    total: Total


class Query(NamedTuple):
    """The machine, symbols, totals and groups of a session's query."""

    machine: LabelledMachine
    stage: SymbolStage
    request: Request
    groups: Groups
    time: TimeAxis | None


class _Open(NamedTuple):
    """The total of the open runs in one state, with equal start and group."""

    partition: int
    state: int
    start: int
    group: int
    total: Total


class Batches:
    """Running totals in arrays, which read whole batches of events in place of the driver."""

    def __init__(
        self,
        driver: Driver[RunTotals[Total]],
        query: Query,
        stream: Stream,
        doubles: Collection[str],
    ) -> None:
        """Move the totals of a driver into arrays; raise the errors of `read`."""
        plan, request = driver.plan, query.request
        self._driver, self._query = driver, query
        self._owners: dict[int, tuple[Key, tuple[Value, ...]]] = {}
        """The key of each partition that has had answers, and its values."""
        parts = [*driver.substreams.values()]
        keys = [tuple(value for _, value in key) for key in driver.substreams]
        pointers = [part.pointer.state() if part.pointer else (0, []) for part in parts]
        self._places = Places(plan, query.time)
        self._places.resume(keys, pointers, driver.now)
        idles = [part.recogniser.idle for part in parts]
        states = {state for part in parts for state in part.recogniser.runs}
        program = self._program = self._program_over(sorted(states), sorted({*idles}))
        carried = [
            _Open(n, program.number[state], *place, total)
            for n, part in enumerate(parts)
            for state, runs in part.recogniser.runs.items()
            # a run in a state that the program omits contributes to no answer
            if state in program.number
            for place, total in runs.items()
            if part.pointer is None or place[0] >= part.pointer.lowest
        ]
        totals, groups = [each.total for each in carried], [each.group for each in carried]
        self._numbering = Numbering(request, stream, doubles, query.groups, totals, groups)
        by_start = "start" in request.groups
        options = k.Options(CONSUMES[plan.consume], by_start or plan.window is not None, by_start)
        sums, least = 2 * len(request.summands), len(request.extremes)
        self._totals = ArrayTotals(options, sums=sums, least=least)
        self._small, self._size = 0, len(carried) + len(parts)
        if parts:
            partitions = [each.partition for each in carried]
            starts = [each.start for each in carried]
            of_runs = self._numbering.columns(partitions, starts, groups, totals)
            order = self._places.order(partitions, starts)
            runs = OpenRuns(integers([each.state for each in carried]), order, of_runs)
            of_parts = [program.idle_of[idle] for idle in idles]
            self._totals.begin(runs, of_parts, program.moves.states, self._numbering.groups)

    def read(self, stream: Stream, first: int, doubles: Collection[str]) -> Iterator[Ending]:
        """Read events, the first at position `first`; return the rows that they complete.

        The rows are in the order of their ends; if ends do not matter, there is one row for each
        group. `doubles` are the attributes that have had some. Raise `TooLarge`, `BadData`, and
        `Unfit` for values that need other arrays; then no event is read.
        """
        plan, machine, stage = self._driver.plan, self._query.machine, self._query.stage
        numbering, places, totals = copy(self._numbering), self._places.copy(), self._totals
        inputs = numbering.inputs(stream, doubles)
        columns, inside = events_of_streams(plan.streams, stream.columns, len(stream))
        symbols, program = stage.symbols(columns, len(inside)), self._program
        if len(stage.vectors) != len(program.action):
            program = self._program_over([*program.number], program.idles)
        events = places.read(columns, inside + first, symbols, program)
        read = read_of(events, machine.marks, inputs, events["positions"] - first)
        partitions, groups = places.partitions, numbering.groups
        room = {"partitions": partitions, "groups": groups}
        undo = totals.mark(np.unique(events["codes"]))
        try:
            ends = totals.read(program.moves, read, **room, more=True)
        except TooLarge:
            undo()
            raise
        # From here on no batch is refused; errors other than a refusal end the session.
        self._numbering, self._places, self._program = numbering, places, program
        return self._endings(ends._replace(end=read.positions[ends.end]), read.codes[ends.end])

    def takes(self, *, large: bool) -> bool:
        """Return whether arrays read this batch: it is large, or few small batches came before.

        A small batch costs as much as moving some totals to another form.
        """
        self._small = 0 if large else self._small + 1
        return self._small * PAID <= self._size

    def write_back(self) -> None:
        """Copy the totals from the arrays back to the substreams of the driver."""
        driver, program, places = self._driver, self._program, self._places
        runs, states = self._totals.runs(), [*program.number]
        of = runs.totals
        pointers = places.state(of.end, of.start, runs.order)
        keys, names, partition = places.keys(), program.idles, driver.plan.partition
        of_parts = [dict[int, dict[Place, Total]]() for _ in keys]
        cells = zip(
            *(of.end.tolist(), runs.state.tolist(), of.start.tolist()),
            *(self._numbering.groups_of(of.group), self._numbering.totals(of)),
            strict=True,
        )
        for n, state, start, group, total in cells:
            if places.is_inside(start):
                of_parts[n].setdefault(states[state], {})[start, group] = total
        substreams = {}
        for values, idle, of_part, pointer in zip(
            keys, self._totals.idles(len(keys)), of_parts, pointers, strict=True
        ):
            part = Substream(driver.recogniser(), driver.plan.window)
            part.recogniser.begin(names[idle], of_part)
            if part.pointer is not None:
                part.pointer.resume(pointer, MOST_EVENTS - 1)
            substreams[_key(partition, values, partition)] = part
        driver.substreams, driver.now = substreams, places.last

    def _program_over(self, states: Sequence[int], idles: Sequence[int]) -> Program:
        """Return the program for all symbols so far, which runs may enter in any of `states`."""
        machine, vectors = self._query.machine, self._query.stage.vectors
        # totals of two states cannot be separated once the states are merged
        return Program(machine, vectors, states, idles, merges=False)

    def _endings(self, totals: EndTotals, partitions: Int64s) -> Iterator[Ending]:
        """Yield the kernel's totals; if the groups have no "end", one row for each group."""
        request, numbering = self._query.request, self._numbering
        # reads only partitions whose answers end in this batch: there may be a million others
        some, place = np.unique(partitions, return_inverse=True)
        ended = some.tolist()
        if fresh := [p for p in ended if p not in self._owners]:
            names = self._driver.plan.partition
            for p, key in zip(fresh, self._places.keys_of(fresh), strict=True):
                of_key = dict(zip(names, key, strict=True))
                owner = tuple(of_key[name] for name in request.key)
                self._owners[p] = _key(names, key, request.key), owner
        if "end" not in request.groups:
            number: dict[Key, int] = {}
            of_owners = [number.setdefault(self._owners[p][0], len(number)) for p in ended]
            by = np.array(of_owners, np.int64)[place]
            every = np.arange(len(partitions))
            rows = group_rows(totals._replace(end=every), [by, totals.start, totals.group])
            partitions, totals = partitions[rows.end], rows._replace(end=totals.end[rows.end])
        return endings_of(totals, [self._owners[p] for p in partitions.tolist()], numbering)


def endings_of(
    totals: EndTotals, owners: Iterable[tuple[Key, tuple[Value, ...]]], numbering: Numbering
) -> Iterator[Ending]:
    """Yield each row of `totals` as an `Ending`; `owners` has each row's key and its values."""
    rows = zip(
        *(totals.end.tolist(), owners, totals.start.tolist()),
        *(numbering.groups_of(totals.group), numbering.totals(totals)),
        strict=True,
    )
    return (Ending(end, *owner, (start, group), total) for end, owner, start, group, total in rows)


class Listed:
    """Running totals of a query whose answers are listed."""

    def __init__(self, pattern: Pattern, request: Request, groups: Groups, run: WithEvents) -> None:
        self.run = run
        self._pattern, self._request, self._groups = pattern, request, groups

    def read(self, stream: Stream, doubles: Collection[str]) -> Iterator[Ending]:
        """Read events; yield the rows that they complete, sorted by end.

        `doubles` are the attributes that have had some. Raise `BadData` after the rows of the
        events before a bad one.
        """
        batches, error = list[AnswerBatch](), None
        try:
            batches.extend(self.run.push(stream))
        except BadData as caught:
            error = caught
        yield from self._endings(batches, doubles)
        self.run.forget()
        if error is not None:
            raise error

    def advance(self, until: Until, doubles: Collection[str]) -> Iterator[Ending]:
        """Return the rows that a declared time completes; raise as `WaitRun.advance`."""
        return self._endings([*self.run.advance(until)], doubles)

    def _endings(
        self, batches: Sequence[AnswerBatch], doubles: Collection[str]
    ) -> Iterator[Ending]:
        """Yield the totals of answers; an end whose answers come in two batches has two rows."""
        answers = join_answers(batches)
        if not len(answers):
            return
        request, by_start = self._request, "start" in self._request.groups
        part, offset = self.run.recent.part_of(self._pattern, answers)
        numbering = Numbering(request, part, doubles, self._groups)
        inputs = numbering.inputs(part, doubles)
        near, labels = answers.shift_positions(-offset), inputs.labels
        rows = labelled_answers(self._pattern, part, [near], labels)
        totals = totals_of_rows(rows, inputs, by_start=by_start)
        columns = [values_of(take_rows(part.columns[a], totals.end), a) for a in request.key]
        keys = zip(*columns, strict=True) if columns else [()] * len(totals.end)
        owners = [(key_of(values) or (), values) for values in keys]
        start = totals.start + offset if by_start else totals.start
        far = totals._replace(end=totals.end + offset, start=start)
        yield from endings_of(far, owners, numbering)


PAID = 16
"""Number of totals that can be moved in the time that arrays lose on a small batch."""


def _key(names: Sequence[str], values: Sequence[Value], of: tuple[str, ...]) -> Key:
    """Return the partition key of events with the given values."""
    key = partition_key(Event("?", dict(zip(names, values, strict=True))), of)
    assert key is not None, "its events are in a partition"
    return key
