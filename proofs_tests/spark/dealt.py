"""The batch pipeline with the work of Spark done by hand: random cuts, sorted rows, random batches.

What runs in tasks is the code of `cerlab.spark`; what Spark does between tasks is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from cerlab.api import Query
from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_to_bytes
from cerlab.io import Stream
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import query_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.clock import TimeAxis, TimeUnit
from cerlab.model.event import Value
from cerlab.predicates.keys import partition_key
from cerlab.spark.plan import cuts
from cerlab.spark.plan.modes import Mode
from cerlab.spark.plan.order import Labels
from cerlab.spark.plan.reads import attributes_read, window_width
from cerlab.spark.plan.survey import Summary, summaries
from cerlab.spark.tasks import ranges_and_keys as tasks
from cerlab.spark.tasks.evaluation import Job
from cerlab.spark.tasks.named_rows import RowNames
from cerlab.testing import Shape
from proofs_tests.random_cases import Case, random_case

TIME = TimeAxis("t", TimeUnit.S)
SHAPE = Shape(depth=2, events=30)


@dataclass(frozen=True)
class Typed:
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
        found = sorted(self.query.run(self.stream), key=_place)
        if self.positions is None:
            return found
        at = self.positions
        return [
            ComplexEvent(at[a.start], at[a.end], tuple(at[p] for p in a.positions)) for a in found
        ]

    def describe(self) -> str:
        return f"{query_text(self.ast)}\non {self.table.to_pylist()}\nat {self.positions}"


def _place(answer: ComplexEvent) -> tuple[int, int, tuple[int, ...]]:
    return answer.end, answer.start, answer.positions


def typed_case(rng: Random, shape: Shape = SHAPE) -> Typed:
    """A query that compiles, on a stream biased to its answers."""
    while not (case := random_case(rng, shape)).query.has_automaton:
        pass
    events = case.stream.events
    columns: dict[str, Any] = {
        "type": pa.array([event.type for event in events], pa.string()),
        "stream": pa.array([event.stream for event in events], pa.string()),
    }
    for name in ("v", "w", "k", "t"):
        kinds = [pa.int64(), pa.int64(), pa.float64()]
        kind = rng.choice(kinds if name == "t" else [*kinds, pa.string()])
        columns[name] = _column([event.attributes.get(name) for event in events], kind)
    gaps = np.cumsum([rng.choice((1, 1, 2, 50)) for _ in events]).tolist()
    return Typed(case.ast, pa.table(columns), rng.choice((None, tuple(gaps))))


def _column(values: list[Value], kind: Any) -> Any:
    """The values that a type has, NULL for the others; a float may be NaN or -0.0."""
    if pa.types.is_string(kind):
        return pa.array([v if isinstance(v, str) else None for v in values], kind)
    numbers = [v if type(v) in (int, float) else None for v in values]
    if kind == pa.float64():
        return pa.array([-0.0 if v == 0 and n % 2 else v for n, v in enumerate(numbers)], kind)
    return pa.array([v if isinstance(v, int) else None for v in numbers], kind)


@dataclass(frozen=True)
class Cut:
    """A stream cut at rows, and the ways of a task with its batches."""

    at: tuple[int, ...]
    rng: Random
    size: int

    def part(self, rows: int) -> Any:
        return np.searchsorted(np.array(self.at, np.int64), np.arange(rows), side="right")

    def batches(self, table: Any) -> Iterator[Any]:
        """The rows in record batches of random lengths."""
        rest = table.combine_chunks()
        while rest.num_rows:
            rows = self.rng.randrange(1, 8)
            yield from rest.slice(0, rows).to_batches()
            rest = rest.slice(rows)


def random_cut(rng: Random, rows: int) -> Cut:
    """A few cuts anywhere, so some parts are empty."""
    count = rng.choice((0, 1, 2, 5, rows))
    at = sorted(rng.randrange(rows + 1) for _ in range(count))
    return Cut(tuple(at), rng, rng.choice((1, 3, 10, 1000)))


def surveyed(case: Typed, plan: Plan, cut: Cut) -> list[Summary]:
    """The first pass over the cut stream, checked."""
    rows = case.table.num_rows
    columns: dict[str, Any] = {"part": pa.array(cut.part(rows), pa.int64())}
    places = pa.array(range(rows)) if case.positions is None else pa.array(case.positions)
    columns["k0"] = places.cast(pa.int64())
    if case.positions is not None:
        columns["position"] = columns["k0"]
    columns["type"] = case.table.column("type")
    if plan.streams:
        columns["kept"] = pa.array(_kept(case, plan))
    if isinstance(plan.window, AttributeWindow | TimeWindow):
        columns["time"] = case.table.column("t")
    width = plan.window.width if isinstance(plan.window, EventWindow) else 0
    labels = Labels(("place",), "t" if "time" in columns else None)
    whole = pa.types.is_integer(case.table.schema.field("t").type)
    made = summaries(
        cut.batches(pa.table(columns)), labels, whole_times=whole, width=width, size=cut.size
    )
    found = [Summary(**row) for batch in made for row in batch.to_pylist()]
    found = cuts.complete(found, len(cut.at) + 1)
    cuts.check(found, positions=case.positions is not None)
    return found


def _kept(case: Typed, plan: Plan) -> Any:
    streams = case.table.column("stream").to_pylist()
    return np.array([not plan.streams or s is None or s in plan.streams for s in streams], bool)


def _job(plan: Plan, names: RowNames | None = None) -> Job:
    time = TIME if isinstance(plan.window, TimeWindow) else None
    whole = replace(plan, streams=())
    read = attributes_read(whole, time)
    if names is not None:
        read = names.read(plan, read)
    return Job(plan_to_bytes(whole), time, read, names=names)


def dealt(case: Typed, mode: Mode, cut: Cut) -> list[ComplexEvent]:
    """The answers of the pipeline in a mode, with rows that are sorted one by one."""
    return sorted(_answers(dealt_batches(case, mode, cut)), key=_place)


def dealt_batches(
    case: Typed, mode: Mode, cut: Cut, names: RowNames | None = None
) -> Iterable[Any]:
    """The record batches of answers, or of rows with names."""
    plan = case.query.plan
    found = surveyed(case, plan, cut)
    job = _job(plan, names)
    rows = _rows(case, plan, mode, found, job, cut)
    match mode:
        case Mode.KEYS:
            return tasks.evaluate_keys(cut.batches(_by_group(case, plan, rows)), job, cut.size)
        case Mode.RANGES:
            return _ranges(case, plan, found, rows, job, cut)
        case Mode.ONE:
            one = rows.drop(["part"]).append_column("part", pa.array(np.zeros(rows.num_rows, int)))
            one = one.append_column("own", pa.array(np.ones(rows.num_rows, bool)))
            kept = (sum(each.kept for each in found),)
            return tasks.evaluate_ranges(cut.batches(one), job, (0,), kept, cut.size)


def _answers(batches: Iterable[Any]) -> Iterator[ComplexEvent]:
    for batch in batches:
        for row in batch.to_pylist():
            yield ComplexEvent(row["start"], row["end"], tuple(row["positions"]))


def _rows(case: Typed, plan: Plan, mode: Mode, found: list[Summary], job: Job, cut: Cut) -> Any:
    """Part, what the engine reads, and positions where they are given or have to be made."""
    rows = case.table.num_rows
    made = pa.table({"part": pa.array(cut.part(rows), pa.int64()), **_values(case, job)})
    in_events = mode is Mode.RANGES and isinstance(plan.window, EventWindow)
    if case.positions is None and (mode is Mode.KEYS or plan.streams or in_events):
        counts = tuple(each.rows for each in found)
        offsets = tuple(cuts.offsets(found))
        numbered = list(tasks.number(cut.batches(made), offsets, counts, cut.size))
        made = (
            pa.Table.from_batches(numbered)
            if numbered
            else made.append_column("position", pa.array([], pa.int64()))
        )
    return made.filter(pa.array(_kept(case, plan)))


def _values(case: Typed, job: Job) -> dict[str, Any]:
    """What is read of each row, with its number, and its position where that is given."""
    rows = case.table.num_rows
    columns: dict[str, Any] = {"row": pa.array(range(rows), pa.int64())}
    if case.positions is not None:
        columns["position"] = pa.array(case.positions, pa.int64())
    for n, name in enumerate(job.attributes):
        known = name in case.table.column_names
        columns[f"a{n}"] = case.table.column(name) if known else pa.nulls(rows, pa.string())
    return columns


def _by_group(case: Typed, plan: Plan, rows: Any) -> Any:
    """Rows that have a key, in three groups, sorted by group and position."""
    events = case.stream.events
    keys = [partition_key(events[row], plan.partition) for row in rows.column("row").to_pylist()]
    numbers: dict[Any, int] = {}
    groups = np.array(
        [-1 if key is None else numbers.setdefault(key, len(numbers)) % 3 for key in keys], np.int64
    )
    grouped = rows.append_column("group", pa.array(groups)).filter(pa.array(groups >= 0))
    return grouped.sort_by([("group", "ascending"), ("position", "ascending")])


def _ranges(
    case: Typed, plan: Plan, found: list[Summary], rows: Any, job: Job, cut: Cut
) -> Iterator[Any]:
    if isinstance(plan.window, EventWindow):
        positions = case.positions is not None
        halo = cuts.halo_in_events(found, plan.window.width, positions=positions)
        place = rows.column("position").to_numpy()
    else:
        halo = cuts.halo_in_time(found, window_width(plan, job.time, 1))
        place = case.table.column("t").take(rows.column("row")).to_numpy().astype(float)
    assert list(halo.bounds) == sorted(halo.bounds)
    part = rows.column("part").to_numpy()
    last = np.maximum(part, np.searchsorted(np.array(halo.bounds), place, side="right"))
    pieces = []
    for number in range(len(found)):
        inside = rows.filter(pa.array((part <= number) & (number <= last)))
        own = pa.array(inside.column("part").to_numpy() == number)
        parts = pa.array([number] * inside.num_rows, pa.int64())
        inside = inside.drop(["part"]).append_column("own", own).append_column("part", parts)
        pieces.append(inside)
    return tasks.evaluate_ranges(
        cut.batches(pa.concat_tables(pieces)),
        job,
        tuple(cuts.offsets(found)),
        tuple(each.kept for each in found),
        cut.size,
    )
