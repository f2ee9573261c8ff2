"""A register plan on a stream, from columns to answers: in the engine, or by the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cerlab.automata.plan import CorrelatedPlan
from cerlab.budget import poll
from cerlab.engine.answers import AnswerBatch, BatchedAnswers
from cerlab.engine.clock import TimeColumn, first_inside
from cerlab.engine.columns import Indices, events_of_streams, take_rows
from cerlab.engine.general.tecs import CONSUMES, MOST
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.registers.arrays import Events
from cerlab.engine.registers.codes import codes_of
from cerlab.engine.registers.configurations import Configurations
from cerlab.engine.registers.operands import Names, computes, event_atoms, names_of
from cerlab.engine.registers.program import PARTITION, AnyPlan, register_program
from cerlab.engine.registers.residual import NotTaken
from cerlab.engine.registers.rules import tables
from cerlab.engine.windowed.counts import CountOverflow
from cerlab.errors import BadData, ResourceLimit
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Consume, EventWindow, Window
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage, relevant_indices
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.lookup_tables import Codes

MAX_RULES = 1 << 20
"""The most moves times symbols that tables are made for."""

EXACT = 2.0**53
"""Beyond this, floats are no longer counts."""


def register_answers(
    plan: AnyPlan,
    stream: Stream,
    reference: Callable[[], Iterator[ComplexEvent]],
    time: TimeAxis | None = None,
) -> Iterator[ComplexEvent]:
    """The answers of a plan on a stream, each once, by end; by `reference` what is not taken here.

    That is also a stream whose time is missing somewhere or goes back: there the reference gives
    what comes before, and raises `BadData`.
    """
    try:
        run = RegisterEvaluation(plan, stream, time)
    except (NotTaken, BadData):
        return reference()
    return BatchedAnswers(run.answers())


def register_count(
    plan: AnyPlan,
    stream: Stream,
    reference: Callable[[], Iterator[ComplexEvent]],
    time: TimeAxis | None = None,
) -> int:
    """How many answers there are; not listed where the engine takes the plan and each has one run.

    Raises `ResourceLimit` for 2^53 answers and more.
    """
    try:
        return RegisterEvaluation(plan, stream, time).count()
    except (NotTaken, BadData):
        return sum(1 for _ in reference())
    except CountOverflow:
        raise ResourceLimit(
            "CER0618", "answers on registers are counted up to 2^53", hint="a window has fewer"
        ) from None


class RegisterEvaluation:
    """A plan on one stream, which is read as a whole; the sizes are those of `Configurations`."""

    def __init__(
        self, plan: AnyPlan, stream: Stream, time: TimeAxis | None = None, **sizes: int
    ) -> None:
        """Raises `NotTaken`, and `BadData` for a time that is missing or goes back."""
        if (reason := why_not(plan)) is not None:
            raise NotTaken(reason)
        try:
            program = register_program(plan)
        except ResourceLimit as error:
            poll()
            raise NotTaken(error.message) from None
        poll(32 * len(stream))
        columns, positions = _of_plan(plan, stream)
        lowest = _lowest(_windows(plan), columns, positions, time)
        atoms = event_atoms(program)
        stage = SymbolStage(atoms)
        symbols = stage.symbols(columns, len(positions))
        names = names_of(program)
        if len(program.moves) * len(stage.vectors) > MAX_RULES:
            raise NotTaken("there are too many kinds of events")
        self.tables = tables(program, names, atoms, stage.vectors)
        indices = relevant_indices(symbols, self.tables.keep)
        if program.is_partitioned:
            assert isinstance(plan, CorrelatedPlan)
            keys = KeyCodes(plan.partition).codes(columns, len(positions))
            indices = indices[keys[indices] >= 0]
            columns = {**columns, PARTITION.attribute: keys}
        self.events = _events(names, columns, indices, symbols, positions, lowest)
        self._limit = _limit(plan)
        self.configurations = Configurations(
            self.tables.key_slot,
            len(program.slots),
            limit=self._limit,
            consume=_consume(plan),
            **sizes,
        )

    def answers(self) -> Iterator[AnswerBatch]:
        """The answers, each once, by end; to be asked for once."""
        batches = self.configurations.read(self.tables.rules, self.events)
        each_once = self.tables.unambiguous or self._limit != k.NO_LIMIT
        return batches if each_once else distinct(batches)

    def count(self) -> int:
        """How many answers there are; not listed where each has one run. To be asked for once.

        Raises `CountOverflow` beyond 2^53.
        """
        if not self.tables.unambiguous:
            return sum(map(len, self.answers()))
        total = self.estimate()
        if total >= EXACT:
            raise CountOverflow("there are 2^53 answers or more")
        return int(total)

    def estimate(self) -> float:
        """The same as a float, exact below 2^53, where each answer has one run."""
        assert self.tables.unambiguous
        return self.configurations.count(self.tables.rules, self.events)


def why_not(plan: AnyPlan) -> str | None:
    """Why the engine does not take a plan; None if it does."""
    if isinstance(plan, CorrelatedPlan):
        if plan.partition and isinstance(plan.window, EventWindow):
            return "WITHIN n EVENTS counts the events of each partition"
        if plan.partition and plan.consume is Consume.PARTITION:
            return "CONSUME BY PARTITION ends the partial matches of one partition"
        if plan.strategy is not None:
            return f"{plan.strategy.value} compares the answers of one end"
    if any(computes(t.guard) for t in plan.srt.Delta):
        return "a guard computes with what it compares with a register"
    return None


def _windows(plan: AnyPlan) -> tuple[Window, ...]:
    if isinstance(plan, CorrelatedPlan):
        return () if plan.window is None else (plan.window,)
    return plan.windows


def _limit(plan: AnyPlan) -> int:
    limit = plan.limit if isinstance(plan, CorrelatedPlan) else None
    return min(limit.per_end, MOST) if limit else k.NO_LIMIT


def _consume(plan: AnyPlan) -> int:
    return CONSUMES[plan.consume] if isinstance(plan, CorrelatedPlan) else k.KEEP


def _of_plan(plan: AnyPlan, stream: Stream) -> tuple[Mapping[str, Any], k.Int64s]:
    """The columns of the events that FROM leaves, and their positions in the stream."""
    streams = plan.streams if isinstance(plan, CorrelatedPlan) else ()
    return events_of_streams(streams, stream.columns, len(stream))


def _lowest(
    windows: Sequence[Window],
    columns: Mapping[str, Any],
    positions: k.Int64s,
    time: TimeAxis | None,
) -> k.Int64s:
    """For each event the number of the first one that all windows allow with it."""
    numbers = np.arange(len(positions), dtype=np.int64)
    lowest = np.zeros(len(positions), np.int64)
    first: Indices
    for window in windows:
        if isinstance(window, EventWindow):
            first = numbers - min(window.width, len(positions))
        else:
            clock = TimeColumn(window, time)
            times = clock.read(columns, len(positions), lambda i: int(positions[i]))
            first = first_inside(times, clock.width, 0)
        np.maximum(lowest, first, out=lowest)
    return lowest


def _events(
    names: Names,
    columns: Mapping[str, Any],
    indices: k.Int64s,
    symbols: Codes,
    positions: k.Int64s,
    lowest: k.Int64s,
) -> Events:
    """The events at `indices`, with the codes of what they bring."""
    relevant = {name: take_rows(columns[name], indices) for name in names.values if name in columns}
    constants = [constant.value for constant in names.constants]
    of_events = [name for name in names.values if name != PARTITION.attribute]
    values, codes = codes_of(relevant, of_events, constants, len(indices))
    if len(of_events) < len(names.values):
        values.insert(names.values.index(PARTITION.attribute), relevant[PARTITION.attribute])
    return Events(
        symbol=symbols[indices].astype(np.int32),
        values=np.stack(values, axis=1) if values else np.zeros((len(indices), 0), np.int64),
        position=positions[indices],
        order=indices,
        lowest=lowest[indices],
        constants=np.array(codes, np.int64),
    )


MAX_ANSWERS = 1_000_000
"""The answers of one end that are kept to give each once."""


def distinct(batches: Iterable[AnswerBatch]) -> Iterator[AnswerBatch]:
    """The answers without those that came before; `batches` are by end, one end maybe over several.

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
