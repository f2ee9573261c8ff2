"""Waits over whole streams: where each answer is carried to, by columns, and then the tECS.

The events lie group by group, one group for each substream, in the order of the stream. For each
event j where an answer of the body may end, arrays say to which event of its group it is carried,
the least event that it may begin with, and whether it is given at all. All three depend on j alone,
and the least beginning does not decrease in a group; so the engines take it as they take a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.labelled import PLACE, first_place, last_place
from cerlab.automata.plan import CorrelatedPlan, Delay, HoldWithin, Plan, WaitBranch, WaitPlan
from cerlab.budget import poll
from cerlab.computed import cached_property
from cerlab.engine.answers import (
    BATCH,
    AnswerBatch,
    batched_answers,
    events_of_streams,
    join_answers,
    paces,
)
from cerlab.engine.general import Tecs
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import windowed as e
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.kernels.tecs import NO_IDLE_STATES, NO_RESTARTS, Events
from cerlab.engine.kernels.totals import Options
from cerlab.engine.learned import LearnedTables
from cerlab.engine.reference import waiting as in_steps
from cerlab.engine.reference.totals import counting
from cerlab.engine.reference.waiting import LatestStart
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.engine.registers.program import NotTaken
from cerlab.engine.totals import TooLarge, counts, total_of
from cerlab.engine.windows import (
    Doubles,
    TimeColumn,
    first_in_group,
    last_in_group,
    list_of,
    take_instants,
)
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.columns import Columns, array_from, order_of
from cerlab.model.event import Event, with_values
from cerlab.model.stream import Instant, Stream, TimeAxis, events_at, promised
from cerlab.predicates.columns.key_codes import KeyCodes

_SOME = 1 << 12
"""Answers in a batch where they are merged one by one."""


class Carried(NamedTuple):
    """The fate of the answers that end at each event of `Groups`; shape (events,) each."""

    to: Int64s  # the event that they are carried to
    lowest: Int64s  # the least event that they may begin with
    given: NDArray[np.bool_]


class Groups:
    """The events of all substreams, one substream after the other."""

    def __init__(self, plan: WaitPlan, stream: Stream, time: TimeAxis | None) -> None:
        """Raises `BadData` for a time that is missing or goes back."""
        self._plan = plan
        self.stream = stream
        length = len(stream)
        poll(64 * length)
        self.columns, places = events_of_streams(plan.streams, stream.columns, length)
        self.read = len(places)
        """The number of events that FROM leaves."""
        self._clocks = {
            window: TimeColumn(window, time)
            for window in plan.windows
            if not isinstance(window, EventWindow)
        }
        times = {
            window: clock.read(self.columns, self.read, lambda n: int(places[n]))
            for window, clock in self._clocks.items()
        }
        self._now = {length: self._clock_of(length, time) for length in plan.waits}
        codes = np.zeros(self.read, np.int64)
        self.keys = 1
        if plan.partition:
            keys = KeyCodes(plan.partition)
            codes = keys.codes(self.columns, self.read)
            self.keys = max(1, keys.count)
        order = order_of(codes)
        self.order = order[np.count_nonzero(codes == k.NONE) :]
        """The rows of `columns` that are in some substream, one substream after the other."""
        self.codes = codes[self.order]
        self.positions = places[self.order]
        self._times = {window: take_instants(times[window], self.order) for window in times}

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def begins(self) -> Int64s:
        """The first event of the group of each event."""
        every = np.arange(len(self))
        is_first = np.ones(len(self), np.bool_)
        is_first[1:] = self.codes[1:] != self.codes[:-1]
        return np.maximum.accumulate(np.where(is_first, every, 0))

    def _clock_of(
        self, length: TimeWindow | AttributeWindow, time: TimeAxis | None
    ) -> Instant | None:
        """The time that all waits with an earlier end are over by; None if all are over."""
        until, last = self.stream.until, self._clocks[length].last
        if until == "end":
            return None
        if until is not None:
            return promised(until, self._plan.waits, time, [] if last is None else [last])
        return last

    def carried(self, branch: WaitBranch, tables: Mapping[int, LearnedTables]) -> Carried:
        """Return the ends that a branch gives to answers of its body, and which of them stand."""
        every = np.arange(len(self))
        to, lowest = every, self.begins
        given = np.ones(len(self), np.bool_)
        for step in branch.steps:
            if isinstance(step, Delay):
                given &= self._is_over(step.length)[to]
                to = self._ends(step.length)[to]
                continue
            if isinstance(step, HoldWithin):
                bound = self._starts(step.window)[to]
            else:
                bound = self._latest(tables[step.rival])[to] + 1
            if step.of_last:
                given &= bound <= every
            else:
                lowest = np.maximum(lowest, bound)
        return Carried(to, lowest, given & (lowest <= every))

    def _is_over(self, length: TimeWindow | AttributeWindow) -> NDArray[np.bool_]:
        """Whether the clock has passed a wait from each event on."""
        now, width, times = self._now[length], self._clocks[length].width, self._times[length]
        if now is None:
            return np.ones(len(self), np.bool_)
        begun = now - width
        if isinstance(times, Doubles):
            return times.below(begun)
        if isinstance(times, np.ndarray) and isinstance(begun, int):
            return times < begun
        return np.array([t < begun for t in list_of(times)], np.bool_)

    def _ends(self, length: TimeWindow | AttributeWindow) -> Int64s:
        """The last event of its group that is not after a wait from each event on."""
        return last_in_group(self.codes, self._times[length], self._clocks[length].width)

    def _starts(self, window: TimeWindow | AttributeWindow | EventWindow) -> Int64s:
        """The first event of its group inside the window that ends at each event."""
        if isinstance(window, EventWindow):
            return np.maximum(self.begins, np.arange(len(self)) - min(window.width, len(self)))
        first, _ = first_in_group(self.codes, self._times[window], self._clocks[window].width)
        return first

    def symbols(self, tables: LearnedTables) -> k.Symbols:
        """The symbol of each event."""
        symbols: k.Symbols = tables.symbols(self.columns, self.read)[self.order]
        return symbols

    def _latest(self, tables: LearnedTables) -> Int64s:
        """The latest start of an answer of a rival that has ended by each event, in its group.

        Where there is none, an event before the group.
        """
        symbols, begins = self.symbols(tables), self.begins
        program = tables.program()
        best = np.full(len(self), k.NONE, np.int32)
        if program is None:
            reader = LatestStart(tables.machine)
            for n, symbol in enumerate(symbols.tolist()):
                if begins[n] == n:
                    reader = LatestStart(tables.machine)
                best[n] = reader.read(tables.vectors[symbol], n)
        else:
            moves, reg = program.moves, np.zeros(e.REGISTERS, np.int64)
            latest = e.Latest(
                start=np.full(moves.states, k.NONE, np.int32),
                epoch=np.zeros(1, np.int64),
                idle=np.zeros(1, np.int32),
                scratch=np.empty(len(moves.move.source), np.int32),
                idle_before=NO_IDLE_STATES,
                best=best,
            )
            events = self._grouped(program.action[symbols], begins)
            ends = np.empty(len(self), np.int32)
            for part in paces(len(self)):
                read = events._replace(actions=events.actions[: part.stop])
                e.find_ends(moves, read, _NO_LIMITS, latest, ends, reg)
        return np.maximum(np.maximum.accumulate(best), begins - 1)

    def _grouped(self, actions: k.Symbols, lowest: Int64s) -> e.Events:
        """The events as one partition: nothing begins before `lowest`, so not in another group."""
        codes, first = np.zeros(len(self), np.int32), lowest.astype(np.int32)
        return e.Events(actions, codes, np.zeros(0, np.int64), first, 0)

    def counts(self, carried: Carried, tables: LearnedTables) -> int | None:
        """Return the number of answers that a body gives; None where the kernel cannot."""
        symbols, program = self.symbols(tables), tables.program()
        every = np.arange(len(self))
        if program is None:
            return None
        events = {
            "actions": program.action[symbols].astype(np.int64),
            "codes": np.zeros(len(self), np.int64),
            "order": every,
            "lowest": carried.lowest,
            "positions": every,
        }
        try:
            ends = counts(Options(k.KEEP, True, False), program.moves, events, 1)
        except TooLarge:
            return None
        return total_of(ends.runs[carried.given[ends.end]])

    def counts_by_runs(self, carried: Carried, tables: LearnedTables) -> int:
        """The same by integers of any size, event by event."""
        total, events = 0, self.stream.events
        runs = counting(tables.machine, by_start=True)
        for n, position in enumerate(self.positions.tolist()):
            if self.begins[n] == n:
                runs = counting(tables.machine, by_start=True)
            runs.forget(int(carried.lowest[n]))
            runs.advance(events[position], n)
            if carried.given[n]:
                total += sum(runs.totals_of_end(int(carried.lowest[n])).values())
        return total

    def answers(self, plan: Plan, carried: Carried, tables: LearnedTables) -> Iterator[AnswerBatch]:
        """The answers of a body, carried on, by end."""
        positions, to, lowest = self.positions, carried.to, carried.lowest
        order = np.arange(len(self))
        if self.keys > 1:  # the answers of several substreams come by the events they end at
            order = order_of(positions[to])
        symbols = self.symbols(tables)
        tecs = Tecs(plan, tables, k.NONE, arena=1 << 14, answers=1 << 15)
        tecs.partitions(self.keys)
        least = np.zeros(self.keys, np.int64)
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            silent = (~carried.given[some]).astype(np.uint8)
            events = Events(
                *(symbols[some], self.codes[some], some, lowest[some]),
                *(NO_RESTARTS, NO_IDLE_STATES),
                silent,
            )
            for batch in tecs.read(events, least):
                inside = batch.positions[: int(batch.offsets[-1])]
                begin, end = positions[batch.start], positions[to[batch.end]]
                yield AnswerBatch(begin, end, batch.offsets, positions[inside])
            np.maximum.at(least, self.codes[some], lowest[some])

    def placed(self, timed: Iterable[Delay | HoldWithin]) -> Stream:
        """The stream, with the attributes that a transducer reads for the waits and windows inside.

        Places are positions. Events of no substream have none.
        """
        every = np.arange(len(self))
        places = {PLACE.name: (every, np.ones(len(self), np.bool_))}
        for step in timed:
            if isinstance(step, HoldWithin):
                assert not isinstance(step.window, EventWindow), "automata count events"
                first, name = self._starts(step.window), first_place(step.window).name
                places[name] = first, np.ones(len(self), np.bool_)
            else:
                name = last_place(step.length).name
                places[name] = self._ends(step.length), self._is_over(step.length)
        if len(places) == 1:
            return self.stream
        return _with_columns(self.stream, {n: self._column(*p) for n, p in places.items()})

    def _column(self, place: Int64s, is_there: NDArray[np.bool_]) -> Any:
        """The positions of some events, by position in the stream."""
        values, lacks = np.zeros(len(self.stream), np.int64), np.ones(len(self.stream), np.bool_)
        values[self.positions] = self.positions[place]
        lacks[self.positions] = ~is_there
        return array_from(values, lacks)

    def runs(self, plan: CorrelatedPlan, carried: Carried) -> Runs:
        """The evaluation of a body that is a transducer, over the groups one after the other.

        No run goes on from one group to the next, as nothing may begin before its own group. What
        comes after the last answer of a group that is given is left out. Raises `NotTaken`.
        """
        every = np.arange(len(self))
        given_later = np.where(carried.given, every, len(self))
        given_later = np.minimum.accumulate(given_later[::-1])[::-1]
        (read,) = np.nonzero(given_later < np.searchsorted(self.begins, self.begins, "right"))
        stream = events_at(self.placed(plan.timed), self.positions[read])
        bounds = np.searchsorted(read, carried.lowest[read])
        return Runs(RegisterEvaluation(plan, stream, bounds=bounds), read, carried)

    def run_answers(self, runs: Runs) -> Iterator[AnswerBatch]:
        """The answers of such a body, carried on, by end; held where substreams are several."""
        held = self._run_answers(runs)
        if self.keys == 1:
            yield from held
            return
        whole = join_answers([*held])
        order = order_of(whole.end)
        for start in range(0, len(order), BATCH):
            yield whole.take(order[start : start + BATCH])

    def _run_answers(self, runs: Runs) -> Iterator[AnswerBatch]:
        """The same, group by group."""
        positions, (evaluation, read, carried) = self.positions, runs
        for batch in evaluation.answers():
            ends = read[batch.end]
            given = batch.take(np.nonzero(carried.given[ends])[0])
            ends = carried.to[read[given.end]]
            marks = positions[read[given.positions]]
            yield AnswerBatch(positions[read[given.start]], positions[ends], given.offsets, marks)

    def run_counts(self, runs: Runs) -> int:
        """The number of such answers, listed where some that end are not given."""
        _, read, carried = runs
        if (carried.given | (carried.lowest > np.arange(len(self))))[read].all():
            return runs.evaluation.count()
        return sum(map(len, self._run_answers(runs)))


class Runs(NamedTuple):
    """The runs of a transducer over some events of `Groups`."""

    evaluation: RegisterEvaluation
    read: Int64s
    """The events."""
    carried: Carried


def _with_columns(stream: Stream, more: Mapping[str, Any]) -> Stream:
    """The stream with further columns of attributes."""
    columns = stream.columns

    def load() -> Iterator[Event]:
        values = zip(*(column.to_pylist() for column in more.values()), strict=True)
        for event, row in zip(stream.events, values, strict=True):
            own = {name: value for name, value in zip(more, row, strict=True) if value is not None}
            yield with_values(event, own)

    every = Columns((*columns, *more), lambda name: more[name] if name in more else columns[name])
    return Stream.from_columns(every, len(stream), load, time=stream.time)


_NO_LIMITS = k.Limits(k.NO_LIMIT, k.KEEP, 0)


def waited_answers(
    plan: WaitPlan, tables: Mapping[int, LearnedTables], stream: Stream, time: TimeAxis | None
) -> Iterator[AnswerBatch]:
    """The answers of a plan on a whole stream, by end; `tables` are those of its automata.

    Raises `BadData` for a time that is missing or goes back, `UsageError` for a time that is none.
    """
    groups = Groups(plan, stream, time)
    if plan.selects:
        return _selected(groups, plan, time)
    try:
        parts = [_answers(groups, plan, branch, tables) for branch in plan.branches]
    except NotTaken:
        answers = in_steps.waited_answers(plan, _machines(plan, tables), stream, time)
        return batched_answers(answers, BATCH)
    return _merged(parts) if plan.repeats else parts[0]


def _answers(
    groups: Groups, plan: WaitPlan, branch: WaitBranch, tables: Mapping[int, LearnedTables]
) -> Iterator[AnswerBatch]:
    """The answers of a branch; raises `NotTaken` at once."""
    body, carried = plan.plans[branch.body], groups.carried(branch, tables)
    if isinstance(body, CorrelatedPlan):
        return groups.run_answers(groups.runs(body, carried))
    return groups.answers(body, carried, tables[branch.body])


def _selected(groups: Groups, plan: WaitPlan, time: TimeAxis | None) -> Iterator[AnswerBatch]:
    """The answers of a plan that selects: those of a transducer with all its clauses."""
    (body,) = plan.plans
    assert isinstance(body, CorrelatedPlan), "what selects is a transducer"
    events = groups.placed(body.timed)
    try:
        return RegisterEvaluation(body, events, time).answers()
    except NotTaken:
        return batched_answers(in_steps.selected_answers(plan, events, time), BATCH)


def _machines(plan: WaitPlan, tables: Mapping[int, LearnedTables]) -> list[in_steps.AnyMachine]:
    return [
        each if isinstance(each, CorrelatedPlan) else tables[n].machine
        for n, each in enumerate(plan.plans)
    ]


def waited_count(
    plan: WaitPlan, tables: Mapping[int, LearnedTables], stream: Stream, time: TimeAxis | None
) -> int:
    """Return the number of answers, listing them where one may come twice, or runs may share one.

    Raises the same, and `ResourceLimit` for 2^53 answers of a transducer and more.
    """
    if plan.repeats or plan.selects:
        return sum(map(len, waited_answers(plan, tables, stream, time)))
    (branch,) = plan.branches
    groups = Groups(plan, stream, time)
    body, carried = plan.plans[branch.body], groups.carried(branch, tables)
    if isinstance(body, CorrelatedPlan):
        try:
            return groups.run_counts(groups.runs(body, carried))
        except NotTaken:
            return in_steps.waited_count(plan, _machines(plan, tables), stream, time)
    of = tables[branch.body]
    count = groups.counts(carried, of)
    return groups.counts_by_runs(carried, of) if count is None else count


def _merged(parts: Sequence[Iterator[AnswerBatch]]) -> Iterator[AnswerBatch]:
    """The answers of some parts that come by end, each once, by end.

    What ends before the last end that every part has shown is all there.
    """
    no, zero = np.zeros(0, np.int64), np.zeros(1, np.int64)
    nothing = AnswerBatch(no, no, zero, no)
    held = [nothing for _ in parts]
    going_on = [*range(len(parts))]

    def last(n: int) -> int:
        return int(held[n].end[-1]) if len(held[n]) else -1

    while going_on:
        behind = min(going_on, key=last)
        if (batch := next(parts[behind], None)) is None:
            going_on.remove(behind)
        else:
            held[behind] = join_answers([held[behind], batch])
        until = min(map(last, going_on), default=k.NO_LIMIT)
        cuts = [int(np.searchsorted(each.end, until)) for each in held]
        if any(cuts):
            some = {a for each, cut in zip(held, cuts, strict=True) for a in each.first(cut)}
            yield from batched_answers(sorted(some, key=by_end), _SOME)
            held = [each.after(cut) for each, cut in zip(held, cuts, strict=True)]
