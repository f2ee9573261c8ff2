"""Queries with waits on whole streams, which the stage reads as one batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.labelled import PLACE, first_place, last_place
from cerlab.automata.plan import (
    CorrelatedPlan,
    Delay,
    HoldWithin,
    Plan,
    WaitBranch,
    WaitPlan,
)
from cerlab.budget import poll
from cerlab.engine.answers import (
    BATCH,
    AnswerBatch,
    ListsAt,
    batched_answers,
    join_answers,
)
from cerlab.engine.flat_program import TooLarge
from cerlab.engine.kernels.arrays import KEEP, NO_LIMIT, NONE, Int64s
from cerlab.engine.kernels.totals import Options
from cerlab.engine.reference import waiting as as_written
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.engine.registers.program import NotTaken, warn_of_python
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.totals import counts, total_of
from cerlab.engine.waits.bodies import AutomatonBody, SelectingBody
from cerlab.engine.waits.bounds import begins_of, first_starts
from cerlab.engine.waits.reading import EventReader
from cerlab.engine.waits.stage import NO_PLACES, SOME, Ends, Now, Stage
from cerlab.model.answer import by_end
from cerlab.model.arrays import array_from, order_of
from cerlab.model.clauses import EventWindow
from cerlab.model.stream import (
    Stream,
    TimeAxis,
    events_at,
)


class WholeStream:
    """A whole stream, read as one batch by a `Stage`."""

    def __init__(
        self,
        plan: WaitPlan,
        tables: Mapping[int, LearnedTables],
        stream: Stream,
        time: TimeAxis | None,
    ) -> None:
        """Read the stream; raise `BadData` if a time is missing or goes back."""
        self.stream = stream
        self._waits = plan.waits
        poll(64 * len(stream))
        reader = EventReader(plan, tables, time)
        self.events = reader.read(stream.columns, len(stream), whole=True)
        self.keys = max(1, reader.keys)
        self.look_backs = reader.look_backs
        if stream.until not in (None, "end") and plan.waits:
            reader.promise(stream.until)
        self.now: Now = None if stream.until == "end" else reader.now

    def ends(self, branches: Sequence[WaitBranch]) -> list[Ends]:
        """Return, for each branch, the ends of answers and the events to which waits move them."""
        return Stage(branches, self._waits).read(self.events, self.now)

    def answers(
        self, plan: Plan, tables: LearnedTables, ends: Ends, lists: ListsAt | None
    ) -> Iterator[AnswerBatch]:
        """Yield the answers of an automaton before a wait, by end."""
        if plan.strategy is not None:
            grouped = ends.some(order_of(ends.keys)) if self.keys > 1 else ends
            return SelectingBody(plan, tables).answers(grouped, lists)
        if self.keys > 1:
            ends = ends.some(order_of(ends.to))
        return AutomatonBody(plan, tables).read(ends, self.keys)

    def count(self, tables: LearnedTables, ends: Ends) -> int | None:
        """Return the number of answers of an automaton before a wait.

        None if the kernel cannot count them.
        """
        if (program := tables.program()) is None:
            return None
        if self.keys > 1:
            ends = ends.some(order_of(ends.keys))
        every = np.arange(len(ends.of))
        events = {
            "actions": program.action[ends.symbols].astype(np.int64),
            # treat all substreams as one partition: `lowest` keeps runs inside their substream
            "codes": np.zeros(len(every), np.int64),
            "order": every,
            "lowest": first_starts(ends),
            "positions": every,
        }
        try:
            (found,) = counts(Options(KEEP, True, False), program.moves, events, 1)
        except TooLarge:
            return None
        return total_of(found.runs[ends.given[found.end]])

    def placed(self, timed: Iterable[Delay | HoldWithin]) -> Stream:
        """Return the stream with the positions that a transducer compares, as attributes.

        Places are positions. Events in no substream have none.
        """
        events, inside = self.events, self.events.keys != NONE
        places = {PLACE.name: (events.positions, inside)}
        at = np.flatnonzero(inside)
        every = events._replace(ends=[(at, np.zeros(len(at), np.int64))])
        for step in timed:
            if isinstance(step, Delay):
                branch = WaitBranch(0, (step,))
                (known,) = Stage([branch], self._waits).read(every, self.now)
                places[last_place(step.length).name] = self._scattered(known)
            else:
                assert not isinstance(step.window, EventWindow), "automata count events"
                places[first_place(step.window).name] = events.bounds[step.window], inside
        if len(places) == 1:
            return self.stream
        return self.stream.with_columns({n: self._column(*p) for n, p in places.items()})

    def _scattered(self, ends: Ends) -> tuple[Int64s, NDArray[np.bool_]]:
        """Return, for each event, the later end of its answers, and whether there is one."""
        to = np.zeros(len(self.events.keys), np.int64)
        known = np.zeros(len(to), np.bool_)
        at = np.searchsorted(self.events.positions, ends.of)
        to[at], known[at] = ends.to, True
        return to, known

    def _column(self, place: Int64s, is_there: NDArray[np.bool_]) -> Any:
        """Return positions as an Arrow column of the stream; NULL where there is none."""
        values, lacks = np.zeros(len(self.stream), np.int64), np.ones(len(self.stream), np.bool_)
        values[self.events.positions], lacks[self.events.positions] = place, ~is_there
        return array_from(values, lacks)

    def runs(self, plan: CorrelatedPlan, ends: Ends) -> TransducerRuns:
        """Return the evaluation of a transducer before a wait, on one substream after the other.

        Events after the last given end of a substream are left out. Raises `NotTaken`.
        """
        if self.keys > 1:
            ends = ends.some(order_of(ends.keys))
        begins = begins_of(ends.keys)
        given_later = np.where(ends.given, np.arange(len(ends.of)), len(ends.of))
        given_later = np.minimum.accumulate(given_later[::-1])[::-1]
        read = ends.some(given_later < np.searchsorted(begins, begins, "right"))
        stream = events_at(self.placed(plan.timed), read.of)
        # no start is before the first event of its substream
        return TransducerRuns(RegisterEvaluation(plan, stream, bounds=first_starts(read)), read)

    def run_answers(self, runs: TransducerRuns) -> Iterator[AnswerBatch]:
        """Yield the answers of a transducer before a wait, by end.

        Sorted first if there are several substreams.
        """
        if self.keys == 1:
            yield from runs.answers()
            return
        whole = join_answers([*runs.answers()])
        order = order_of(whole.end)
        for start in range(0, len(order), BATCH):
            yield whole.take(order[start : start + BATCH])


class TransducerRuns(NamedTuple):
    """A transducer before a wait, with the ends of its answers that the waits keep."""

    evaluation: RegisterEvaluation
    ends: Ends

    def answers(self) -> Iterator[AnswerBatch]:
        """Yield the answers, moved to their later ends, one substream after the other."""
        places = self.ends.of
        for batch in self.evaluation.answers():
            given = batch.take(np.flatnonzero(self.ends.given[batch.end]))
            start, marks = places[given.start], places[given.positions]
            yield AnswerBatch(start, self.ends.to[given.end], given.offsets, marks)

    def total(self) -> int:
        """Return the number of answers; list them if the steps drop some ends."""
        if (self.ends.given | (self.ends.lowest > self.ends.of)).all():
            return self.evaluation.count()
        return sum(map(len, self.answers()))


def waited_answers(
    plan: WaitPlan,
    tables: Mapping[int, LearnedTables],
    stream: Stream,
    time: TimeAxis | None,
    lists: ListsAt | None = None,
) -> Iterator[AnswerBatch]:
    """Return the answers of a query with waits on a whole stream, by end.

    Answers of ends that `lists` excludes may be missing if nothing waits. `tables` are those of the
    plan's automata. Raises `BadData` for a time that is missing or goes back, `UsageError` for an
    invalid time.
    """
    whole = WholeStream(plan, tables, stream, time)
    if plan.selects:
        return _selected(whole, plan, time, lists)
    try:
        parts = [
            whole.run_answers(whole.runs(body, ends))
            if isinstance(body := plan.plans[branch.body], CorrelatedPlan)
            else whole.answers(body, tables[branch.body], ends, lists)
            for branch, ends in zip(plan.branches, whole.ends(plan.branches), strict=True)
        ]
        parts = [
            part if looks is None else map(looks.move, part)
            for part, looks in zip(parts, whole.look_backs, strict=True)
        ]
    except NotTaken as refusal:
        warn_of_python(refusal, len(stream))
        answers = as_written.waited_answers(plan, _machines(plan, tables), stream, time)
        return batched_answers(answers, BATCH)
    return _merged(parts) if plan.repeats else parts[0]


def _selected(
    whole: WholeStream, plan: WaitPlan, time: TimeAxis | None, lists: ListsAt | None
) -> Iterator[AnswerBatch]:
    """Return the answers of a query with waits and a strategy, LIMIT or CONSUME BY."""
    (body,) = plan.plans
    assert isinstance(body, CorrelatedPlan), "what selects is a transducer"
    placed = whole.placed(body.timed)
    try:
        return RegisterEvaluation(body, placed, time, lists=lists).answers()
    except NotTaken as refusal:
        warn_of_python(refusal, len(placed))
        return batched_answers(as_written.selected_answers(plan, placed, time), BATCH)


def _machines(plan: WaitPlan, tables: Mapping[int, LearnedTables]) -> list[as_written.AnyMachine]:
    return [
        each if isinstance(each, CorrelatedPlan) else tables[n].machine
        for n, each in enumerate(plan.plans)
    ]


def waited_count(
    plan: WaitPlan, tables: Mapping[int, LearnedTables], stream: Stream, time: TimeAxis | None
) -> int:
    """Return the number of answers; list them if one may be found twice.

    Raises as `waited_answers`, and `ResourceLimit` for 2^53 answers of a transducer and more.
    """
    if plan.repeats or plan.selects or plan.plans[plan.branches[0].body].strategy is not None:
        return sum(map(len, waited_answers(plan, tables, stream, time)))
    (branch,) = plan.branches
    whole = WholeStream(plan, tables, stream, time)
    body, (ends,) = plan.plans[branch.body], whole.ends(plan.branches)
    count = None
    try:
        if isinstance(body, CorrelatedPlan):
            count = whole.runs(body, ends).total()
        else:
            count = whole.count(tables[branch.body], ends)
    except NotTaken as refusal:
        warn_of_python(refusal, len(stream))
    if count is None:
        return as_written.waited_count(plan, _machines(plan, tables), stream, time)
    return count


def _merged(parts: Sequence[Iterator[AnswerBatch]]) -> Iterator[AnswerBatch]:
    """Yield the answers of several iterators sorted by end, each answer once.

    An end is complete if every part has passed it.
    """
    nothing = AnswerBatch(NO_PLACES, NO_PLACES, np.zeros(1, np.int64), NO_PLACES)
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
        until = min(map(last, going_on), default=NO_LIMIT)
        cuts = [int(np.searchsorted(each.end, until)) for each in held]
        if any(cuts):
            some = {a for each, cut in zip(held, cuts, strict=True) for a in each.first(cut)}
            yield from batched_answers(sorted(some, key=by_end), SOME)
            held = [each.after(cut) for each, cut in zip(held, cuts, strict=True)]
