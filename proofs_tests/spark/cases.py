"""The batch pipeline with the work of Spark done by hand: random cuts, sorted rows, random batches.

What runs in tasks is the code of `cerlab.spark`; what Spark does between tasks is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from cerlab import ComplexEvent, Event, Query, ResourceLimit, Stream, Unsupported
from cerlab.automata.plan import Plan, plan_to_bytes
from cerlab.computed import cached_property
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Value
from cerlab.model.stream import TimeAxis, TimeUnit
from cerlab.spark.evaluation import Job
from cerlab.spark.plan import Mode, attributes_read, why_not
from cerlab.spark.stream.request import refuse_runs
from cerlab.testing import Shape
from proofs_tests.random_cases import Case, random_case
from proofs_tests.srt.correlated_cases import under_clauses

TIME = TimeAxis("t", TimeUnit.S)
SHAPE = Shape(depth=2, events=30)


@dataclass(frozen=True)
class SparkCase:
    """A query and a stream whose columns have one type each, as in Spark."""

    ast: CeqlQuery
    table: Any
    """Columns type, stream, v, w, k, t."""
    positions: tuple[int, ...] | None
    """Given ones, else they are counted."""

    @cached_property
    def query(self) -> Query:
        return Case(self.ast, self.stream).query

    @cached_property
    def stream(self) -> Stream:
        return Stream.from_arrow(self.table, time="t", unit="s")

    def expected(self) -> list[ComplexEvent]:
        """The answers of the local engine, at the given positions."""
        answers = sorted(self.query.run(self.stream), key=_place)
        if self.positions is None:
            return answers
        at = self.positions
        return [
            ComplexEvent(at[a.start], at[a.end], tuple(at[p] for p in a.positions)) for a in answers
        ]

    def describe(self) -> str:
        return f"{query_text(self.ast)}\non {self.table.to_pylist()}\nat {self.positions}"


def _place(answer: ComplexEvent) -> tuple[int, int, tuple[int, ...]]:
    return answer.end, answer.start, answer.positions


def _compiles(case: Case) -> bool:
    """Whether it is an automaton; a formula with too many copies is about the compiler."""
    try:
        return case.query.machine_kind == "automaton"
    except ResourceLimit:
        return False


def typed_case(rng: Random, shape: Shape = SHAPE) -> SparkCase:
    """A query that compiles, on a stream biased to its answers."""
    while not _compiles(case := random_case(rng, shape)):
        pass
    table = typed_table(rng, case.stream.events)
    gaps = np.cumsum([rng.choice((1, 1, 2, 50)) for _ in range(table.num_rows)]).tolist()
    return SparkCase(case.ast, table, rng.choice((None, tuple(gaps))))


def register_case(rng: Random, shape: Shape = SHAPE) -> SparkCase:
    """A query that compares labels and runs on streams, on a stream biased to its answers.

    Most have a key, whose values mostly repeat.
    """
    while True:
        case = under_clauses(rng, shape)
        if by_k := rng.random() < 0.7:
            case = Case(replace(case.ast, partition=(("k",),)), case.stream)
        if case.query.machine_kind != "registers":
            continue
        by_key = why_not(case.query.registers, Mode.KEYS) is None
        try:
            refuse_runs(case.query, by_key=by_key)
        except Unsupported:
            continue
        table = typed_table(rng, case.stream.events)
        if by_k:
            keys = [rng.choice("xxxyz") for _ in range(table.num_rows)]
            table = table.set_column(table.column_names.index("k"), "k", pa.array(keys))
        gaps = np.cumsum([rng.choice((1, 1, 2, 50)) for _ in range(table.num_rows)]).tolist()
        drawn = SparkCase(case.ast, table, rng.choice((None, tuple(gaps))))
        if rng.random() < 0.2 or drawn.query.run(drawn.stream):
            return drawn


def typed_table(rng: Random, events: Sequence[Event]) -> Any:
    """The events as a table whose columns have one type each."""
    columns: dict[str, Any] = {
        "type": pa.array([event.type for event in events], pa.string()),
        "stream": pa.array([event.stream for event in events], pa.string()),
    }
    for name in ("v", "w", "k", "t"):
        kinds = [pa.int64(), pa.int64(), pa.float64()]
        kind = rng.choice(kinds if name == "t" else [*kinds, pa.string()])
        columns[name] = _column([event.attributes.get(name) for event in events], kind)
    return pa.table(columns)


def _column(values: list[Value], kind: Any) -> Any:
    """The values that a type has, NULL for the others; a float may be NaN or -0.0."""
    if pa.types.is_string(kind):
        return pa.array([v if isinstance(v, str) else None for v in values], kind)
    numbers = [
        v if isinstance(v, int | float) and not isinstance(v, bool) else None for v in values
    ]
    if kind == pa.float64():
        floats = [None if v is None else float(v) for v in numbers]
        return pa.array([-0.0 if v == 0 and n % 2 else v for n, v in enumerate(floats)], kind)
    return pa.array([v if isinstance(v, int) else None for v in numbers], kind)


def _rows_of_streams(case: SparkCase, plan: Plan) -> Any:
    streams = case.table.column("stream").to_pylist()
    return np.array([not plan.streams or s is None or s in plan.streams for s in streams], bool)


def _job(plan: Plan) -> Job:
    time = TIME if isinstance(plan.window, TimeWindow) else None
    whole = replace(plan, streams=())
    return Job(plan_to_bytes(whole), time, attributes_read(whole, time))


def _answers(batches: Iterable[Any]) -> Iterator[ComplexEvent]:
    for batch in batches:
        for row in batch.to_pylist():
            yield ComplexEvent(row["start"], row["end"], tuple(row["positions"]))
