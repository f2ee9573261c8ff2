"""A register plan on a stream, from columns to answers: in the engine, or by the reference."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.plan import CorrelatedPlan
from cerlab.budget import poll
from cerlab.engine.answers import AnswerBatch, BatchedAnswers, Indices, events_of_streams, take_rows
from cerlab.engine.clock import TimeColumn, first_inside
from cerlab.engine.general import CONSUMES, MOST
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.kernels.registers import KIND, Events
from cerlab.engine.registers.configurations import Configurations
from cerlab.engine.registers.program import PARTITION, AnyPlan, NotTaken, register_program
from cerlab.engine.registers.rules import Names, computes, event_atoms, names_of, tables
from cerlab.engine.windowed import CountOverflow
from cerlab.errors import BadData, ResourceLimit
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Consume, EventWindow, Window
from cerlab.model.columns import Column, values_of
from cerlab.model.event import Timestamp, Value
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage, relevant_indices
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.lookup_tables import Codes
from cerlab.predicates.columns.pieces import DictionaryCodes, Numbers, Piece, pieces
from cerlab.predicates.truth import kind_of

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


KINDS = ("boolean", "number", "text", "timestamp")


NOTHING = -1
"""The code of what compares with nothing."""


_Distinct: TypeAlias = tuple[Sequence[Value], NDArray[np.integer[Any]]]
"""Some values, and for each event the place of its own among them."""


def codes_of(
    columns: Mapping[str, Column], names: Sequence[str], constants: Sequence[Value], length: int
) -> tuple[list[Int64s], list[int]]:
    """The codes of some columns, each int64 (length,), and of constants; all are comparable.

    A name without a column is missing in every event. Raises `BadData` for columns of types that
    hold no values of events.

    >>> a, b = [True, 2, 0.5, None], [0.5, 2.0, "x", float("nan")]
    >>> (of_a, of_b), _ = codes_of({"a": a, "b": b}, ["a", "b"], [], 4)
    >>> [int(x) & 7 for x in of_a], [int(x) & 7 for x in of_b]
    ([0, 1, 0, 7], [0, 1, 0, 7])
    """
    parts = [
        list(pieces(columns[n], n, numeric=True)) if n in columns and length else [] for n in names
    ]
    if not constants and (whole := _of_one_dtype(parts)) is not None:
        return _with_nothing(whole, length), []
    pairs = zip(parts, names, strict=True)
    distinct = [[_distinct(piece, name) for piece in part] for part, name in pairs]
    every = (value for part in distinct for values, _ in part for value in values)
    rank = _ranks([*every, *constants])
    codes = [_column_codes(part, rank) for part in distinct]
    return _with_nothing(codes, length), [_code(value, rank) for value in constants]


def _with_nothing(codes: list[Int64s | None], length: int) -> list[Int64s]:
    return [np.full(length, NOTHING, np.int64) if c is None else c for c in codes]


def _of_one_dtype(parts: Sequence[Sequence[Piece]]) -> list[Int64s | None] | None:
    """The codes where all columns are numbers of one dtype, or all moments; None if not."""
    whole = [piece for part in parts for piece in part if isinstance(piece, Numbers)]
    if len(whole) < sum(map(len, parts)) or not whole:
        return None
    if len({(piece.values.dtype, piece.moments) for piece in whole}) > 1:
        return None
    values = np.concatenate([piece.values for piece in whole])
    _, rank = np.unique(values, return_inverse=True)
    kind = KINDS.index("timestamp" if whole[0].moments else "number")
    codes = (kind << KIND) + rank.astype(np.int64)
    codes[values != values] = NOTHING
    codes[np.concatenate([_nulls(piece) for piece in whole])] = NOTHING
    ends = np.cumsum([sum(len(piece.values) for piece in part) for part in map(_numbers, parts)])
    by_column = np.split(codes, ends[:-1])
    return [each if part else None for each, part in zip(by_column, parts, strict=True)]


def _numbers(part: Iterable[Piece]) -> list[Numbers]:
    return [piece for piece in part if isinstance(piece, Numbers)]


def _nulls(piece: Numbers) -> NDArray[np.bool_]:
    return np.zeros(len(piece.values), np.bool_) if piece.nulls is None else piece.nulls


def _distinct(piece: Piece, name: str) -> _Distinct:
    """The values of a piece, each once where that is known, and where each event's is."""
    match piece:
        case Numbers(values, nulls, moments):
            distinct, inverse = np.unique(values, return_inverse=True)
            inverse = inverse.astype(np.int64)
            if nulls is not None:
                inverse[nulls] = len(distinct)
            objects = distinct.tolist()
            return [*(map(Timestamp, objects) if moments else objects), None], inverse
        case DictionaryCodes(codes, dictionary):
            return [*values_of(dictionary, name), None], codes
        case _:
            return piece.values, np.arange(len(piece.values))


def _key(value: Value) -> tuple[str, Hashable] | None:
    kind = kind_of(value)
    return None if kind is None else (kind, value)


def _ranks(values: Iterable[Value]) -> dict[tuple[str, Hashable], int]:
    """The code of each value, by kind and value."""
    keys = {key for value in values if (key := _key(value)) is not None}
    rank: dict[tuple[str, Hashable], int] = {}
    for n, kind in enumerate(KINDS):
        of_kind: list[Any] = sorted(key[1] for key in keys if key[0] == kind)
        rank |= {(kind, value): (n << KIND) + place for place, value in enumerate(of_kind)}
    return rank


def _code(value: Value, rank: Mapping[tuple[str, Hashable], int]) -> int:
    key = _key(value)
    return NOTHING if key is None else rank[key]


def _column_codes(
    part: Sequence[_Distinct], rank: Mapping[tuple[str, Hashable], int]
) -> Int64s | None:
    """The codes of a column in pieces; None of a column that is not there."""
    arrays = [np.array([_code(v, rank) for v in values], np.int64)[at] for values, at in part]
    return np.concatenate(arrays) if arrays else None
