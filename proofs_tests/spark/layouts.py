"""The batch pipeline over rows that Spark reads, with the work of Spark done by hand.

A stream lies in files, which tasks read some of, in any order and in random batches; its rows may
lie in no order at all. The second pass may have other tasks than the first. What runs in tasks is
the code of `cerlab.spark`; predicates are decided by `cerlab.predicates.truth`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from cerlab import ComplexEvent, satisfies
from cerlab.automata.plan import plan_to_bytes
from cerlab.engine.row_order import ColumnNames
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.predicates.truth import partition_key
from cerlab.spark import packets as tasks
from cerlab.spark import ranges as plans
from cerlab.spark.ends import EndsIn
from cerlab.spark.evaluation import Job
from cerlab.spark.packets import Placing
from cerlab.spark.plan import (
    Mode,
    attributes_of_job,
    attributes_tested,
    time_attribute,
    window_width,
)
from cerlab.spark.ranges import BitFields, RangeAssignment, bit_fields
from cerlab.spark.relevant_events import PlanOverBits, plan_over_bits
from cerlab.spark.runs import (
    SortedRun,
    in_order,
    quantiles,
    run_in,
    run_table,
    runs_in,
    runs_of,
    runs_of_survey,
)
from cerlab.spark.task_outputs import GroupRows, RowNames
from proofs_tests.spark import cases
from proofs_tests.spark.cases import TIME, SparkCase

BUCKETS = 3


@dataclass(frozen=True)
class Layout:
    """The rows of a stream as tasks read them, by number."""

    tasks: tuple[tuple[int, ...], ...]
    longest: int
    """Longest run."""
    size: int
    parts: int

    def batches(self, table: Any, task: int, rng: Random) -> Iterator[Any]:
        """Yield the rows of a task, in record batches of random lengths, some of them empty."""
        rows = [row for row in self.tasks[task] if row < table.num_rows]
        yield from in_batches(table.take(pa.array(rows, pa.int64())), rng)


def in_batches(table: Any, rng: Random) -> Iterator[Any]:
    """Record batches of random lengths, some of them empty."""
    rest = table.combine_chunks()
    while rest.num_rows:
        rows = rng.choice((0, 1, 2, 5, 9, 40))
        yield from rest.slice(0, rows).to_batches()
        rest = rest.slice(rows)


def random_files(rng: Random, rows: int, *, ordered: bool) -> list[list[int]]:
    """A stream cut into files, some of them empty; in order inside, or in none."""
    count = rng.choice((0, 1, 2, 4))
    cuts = sorted(rng.randrange(rows + 1) for _ in range(count))
    order = list(range(rows)) if ordered else rng.sample(range(rows), rows)
    return [order[start:end] for start, end in pairwise((0, *cuts, rows))]


def random_layout(rng: Random, files: list[list[int]]) -> Layout:
    """Files spread over tasks."""
    some = rng.sample(files, len(files))
    ends = sorted(rng.randrange(len(files) + 1) for _ in range(rng.choice((0, 1, 3))))
    parts = tuple(
        tuple(row for file in some[start:end] for row in file)
        for start, end in pairwise((0, *ends, len(files)))
    )
    longest, size = rng.choice((1, 3, 8, 100)), rng.choice((1, 4, 20, 1000))
    return Layout(parts, longest, size, rng.randrange(1, 7))


def keys_of(case: SparkCase, rng: Random) -> dict[str, Any]:
    """One or two keys that order the rows; the last is the position, where there is one."""
    rows = case.table.num_rows
    last = pa.array(range(rows) if case.positions is None else case.positions, pa.int64())
    coarse = pa.array([n // 4 for n in range(rows)], pa.int64())
    kind = rng.choice((None, pa.int64(), pa.float64(), pa.string()))
    if kind is None:
        return {"k0": last}
    if kind == pa.string():
        coarse = pa.array([f"{n:09}" for n in coarse.to_pylist()], kind)
    return {"k0": coarse.cast(kind), "k1": last}


def first_pass(
    case: SparkCase, keys: dict[str, Any], lie: Layout, rng: Random
) -> tuple[SortedRun, ...]:
    """The runs as they lie, else those of the survey."""
    plan, positions = case.query.plan, case.positions is not None
    types = case.table.column("type").to_pylist()
    columns = {**keys, "named": pa.array([bool(name) for name in types])}
    if plan.streams:
        columns["kept"] = pa.array(cases._rows_of_streams(case, plan))
    if isinstance(plan.window, AttributeWindow | TimeWindow):
        columns["time"] = case.table.column("t")
    table, rows = pa.table(columns), []
    for task in range(len(lie.tasks)):
        batches = lie.batches(table, task, rng)
        summaries = runs_of(batches, positions=positions, longest=lie.longest, size=lie.size)
        rows += [row for batch in summaries for row in batch.to_pylist()]
    lying = runs_in(rows, len(keys))
    runs = None if lying is None else in_order(lying, positions=positions)
    return survey(case, table, len(keys), lie, rng) if runs is None else runs


def survey(
    case: SparkCase, table: Any, keys: int, lie: Layout, rng: Random
) -> tuple[SortedRun, ...]:
    """The runs of rows in any order, between quantiles of a sample."""
    places = list(zip(*(table.column(f"k{n}").to_pylist() for n in range(keys)), strict=True))
    sample = sorted(rng.sample(places, rng.randrange(len(places) + 1)))
    cuts = quantiles(sample, rng.choice((1, 3, 10)))
    positions = case.positions is not None
    packets = shuffle(
        lambda batches: tasks.packets_of_cuts(batches, cuts, lie.parts, lie.size), table, lie, rng
    )
    labels = ColumnNames(
        tuple(f"key {n}" for n in range(keys)), time_attribute(case.query.plan.window, TIME)
    )
    rows = [
        row
        for batches in packets
        for batch in tasks.survey_packets(batches, labels, positions=positions)
        for row in batch.to_pylist()
    ]
    return runs_of_survey(rows, labels, positions=positions)


def shuffle(
    make: Callable[[Iterator[Any]], Iterator[Any]], table: Any, lie: Layout, rng: Random
) -> Iterator[Iterator[Any]]:
    """Yield the packets that tasks make of a table, one task for each part."""
    packets = [b for task in range(len(lie.tasks)) for b in make(lie.batches(table, task, rng))]
    yield from by_part(packets, rng)


def by_part(units_of_parts: list[Any], rng: Random) -> Iterator[Iterator[Any]]:
    """Units in any order, then by part and run."""
    if not units_of_parts:
        return
    every = pa.Table.from_batches(rng.sample(units_of_parts, len(units_of_parts)))
    for part in sorted(set(every.column("part").to_pylist())):
        packets = every.filter(pa.array(np.equal(every.column("part").to_numpy(), part)))
        yield in_batches(packets.sort_by([("run", "ascending")]), rng)


def assign(
    case: SparkCase, mode: Mode, runs: tuple[SortedRun, ...], lie: Layout, before: int = 0
) -> RangeAssignment:
    """Who reads which run."""
    coarse_runs = plans.coarser(runs, lie.longest)
    return plans.assign_ranges(coarse_runs, case.query.plan, TIME, mode, lie.parts, 1, before)


def begins_of(case: SparkCase, mode: Mode, runs: list[SortedRun], starts: list[int]) -> list[int]:
    """The first run that each part reads."""
    plan = case.query.plan
    if mode is not Mode.RANGES or plan.window is None:
        return starts
    if isinstance(plan.window, EventWindow):
        return plans.begins_in_events(runs, starts, plan.window.width)
    return plans.begins_in_time(runs, starts, window_width(plan.window, TIME, 1))


def anywhere(case: SparkCase, mode: Mode, rng: Random, *, ordered: bool) -> list[ComplexEvent]:
    """The answers of rows that other tasks read in the second pass than in the first."""
    return sorted(cases._answers(in_packets(case, mode, rng, ordered=ordered)), key=cases._place)


def in_packets(
    case: SparkCase,
    mode: Mode,
    rng: Random,
    names: RowNames | GroupRows | None = None,
    *,
    ordered: bool,
    ends: EndsIn | None = None,
    before: int = 0,
) -> Iterator[Any]:
    """The record batches of the pipeline in a mode: of answers, rows with names or aggregates.

    `before` rows of the stream precede the table.
    """
    files = random_files(rng, case.table.num_rows, ordered=ordered)
    first, second = random_layout(rng, files), random_layout(rng, files)
    keys = keys_of(case, rng)
    assignment = assign(case, mode, first_pass(case, keys, first, rng), first, before)
    return second_pass(case, mode, keys, assignment, second, rng, names, ends)


def cut_at(case: SparkCase, mode: Mode, cut: tuple[int, ...]) -> list[ComplexEvent]:
    """The answers of a stream that is cut before some rows, each of them a run."""
    rows, rng = case.table.num_rows, Random(1)
    keys = {"k0": pa.array(range(rows), pa.int64())}
    (batch,) = pa.table({**keys, "time": case.table.column("t")}).combine_chunks().to_batches()
    runs = [run_in(row, 1) for row in run_table(batch, list(range(rows))).to_pylist()]
    part = np.searchsorted(np.array(cut, np.int64), np.arange(rows), side="right").tolist()
    begins = begins_of(case, mode, runs, plans.starts_of(part))
    assignment = plans.range_assignment(runs, part, begins)
    lie = Layout((tuple(range(rows)),), 1, 1, assignment.parts)
    return evaluate(case, mode, keys, assignment, lie, rng)


def evaluate(
    case: SparkCase,
    mode: Mode,
    keys: dict[str, Any],
    assignment: RangeAssignment,
    second: Layout,
    rng: Random,
) -> list[ComplexEvent]:
    """The answers of the second pass."""
    batches = second_pass(case, mode, keys, assignment, second, rng)
    return sorted(cases._answers(batches), key=cases._place)


def second_pass(
    case: SparkCase,
    mode: Mode,
    keys: dict[str, Any],
    assignment: RangeAssignment,
    second: Layout,
    rng: Random,
    row_names: RowNames | GroupRows | None = None,
    ends: EndsIn | None = None,
) -> Iterator[Any]:
    """The record batches of the second pass."""
    plan = case.query.plan
    with_bits = row_names is None
    bit_plan = plan_over_bits(replace(plan, streams=()), lambda _: with_bits and rng.random() < 0.7)
    time = TIME if isinstance(plan.window, TimeWindow) else None
    names = tuple(dict.fromkeys((bit_plan.bits, *attributes_tested(bit_plan.plan, time))))
    if row_names is not None:
        names = attributes_of_job(plan, time, row_names.attributes)
    job = Job(plan_to_bytes(bit_plan.plan), time, names, names=row_names, ends=ends)
    has_numbers = case.positions is None and (mode is Mode.KEYS or bool(plan.streams))
    whole = bit_plan.why_all is not None or case.positions is None or not with_bits
    placing = Placing(case.positions is not None, has_numbers, whole)
    table = columns_of_spark(case, bit_plan, names, keys, rng, has_numbers=has_numbers, whole=whole)
    if row_names is None and case.positions is not None and rng.random() < 0.7:
        fields = fields_of(case, names, keys, assignment, len(bit_plan.tests), mode)
        if fields is not None:
            table, placing = table.pack(fields), placing._replace(fields=fields)
            assignment = fields.over(assignment)
    if mode is Mode.KEYS:
        yield from _by_keys(case, table, job, assignment, placing, second, rng)
    else:
        table = table.drop([name for name in table.table.column_names if name == "group"])
        packets = shuffle(
            lambda batches: tasks.packets_of_ranges(batches, assignment, second.size),
            table,
            second,
            rng,
        )
        for batches in packets:
            yield from tasks.evaluate_ranges(batches, job, assignment, placing, second.size)


def columns_of_spark(
    case: SparkCase,
    bit_plan: PlanOverBits,
    names: tuple[str, ...],
    keys: dict[str, Any],
    rng: Random,
    *,
    has_numbers: bool,
    whole: bool,
) -> Any:
    """The columns that leave the JVM, and those rows that do; by number of the row."""
    events, rows = case.stream.events, case.table.num_rows
    bits = [
        sum(1 << k for k, P in enumerate(bit_plan.tests) if satisfies(event, P)) for event in events
    ]
    above = [
        bool(bits[n]) or any(satisfies(t, P) or rng.random() < 0.3 for P in bit_plan.others)
        for n, t in enumerate(events)
    ]
    columns = dict(keys)
    for n, name in enumerate(names):
        has_column = name in case.table.column_names
        columns[f"a{n}"] = case.table.column(name) if has_column else pa.nulls(rows, pa.string())
        if name == bit_plan.bits:
            columns[f"a{n}"] = pa.array(bits, pa.int64())
    in_streams = cases._rows_of_streams(case, case.query.plan)
    if has_numbers and case.query.plan.streams:
        columns["kept"] = pa.array(in_streams)
    columns["group"] = pa.array(_groups(case), pa.int64())
    selection = np.ones(rows, bool) if has_numbers else in_streams
    if not whole:
        selection = selection & np.array(above, bool)
    table = pa.table(columns)
    return SelectedRows(table, selection)


def fields_of(
    case: SparkCase,
    names: tuple[str, ...],
    keys: dict[str, Any],
    assignment: RangeAssignment,
    tests: int,
    mode: Mode,
) -> BitFields | None:
    """Return the fields of an event that are one integer, by the result of the first pass."""
    if not assignment.first or any(not pa.types.is_int64(key.type) for key in keys.values()):
        return None
    ends = zip(keys, assignment.first[0], assignment.last[-1], strict=True)
    others = [("a0", 0, (1 << tests) - 1)]
    if mode is Mode.KEYS:
        others.append(("group", 0, BUCKETS - 1))
    time = time_attribute(case.query.plan.window, TIME)
    whole = time is not None and pa.types.is_int64(case.table.schema.field(time).type)
    if time is not None and whole and assignment.times is not None:
        others.append((f"a{names.index(time)}", *assignment.times))
    return bit_fields([*ends], others)


@dataclass(frozen=True)
class SelectedRows:
    """A table of which only some rows are read; by their numbers in the whole."""

    table: Any
    selection: Any

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    def drop(self, names: list[str]) -> SelectedRows:
        return SelectedRows(self.table.drop(names), self.selection)

    def pack(self, fields: BitFields) -> SelectedRows:
        """The same rows with some columns as one, as Spark makes it; those of a key alone."""
        table, rows = self.table.combine_chunks(), self.selection
        if "group" in fields.names:
            group = table.column("group")
            rows = rows & group.is_valid().to_numpy()
            buckets = pa.array(np.mod(group.fill_null(0).to_numpy(), BUCKETS))
            table = table.set_column(table.column_names.index("group"), "group", buckets)
        columns = {name: table.column(name).combine_chunks() for name in fields.names}
        rest = table.drop(fields.names)
        return SelectedRows(rest.append_column("k0", fields.encode(columns)), rows)

    def take(self, numbers: Any) -> Any:
        at = numbers.to_numpy()
        return self.table.take(pa.array(at[self.selection[at]]))


def _groups(case: SparkCase) -> list[int | None]:
    """Keys in a few groups, as a hash would have them; negative ones too."""
    numbers: dict[Any, int] = {}
    keys = [partition_key(event, case.query.plan.partition) for event in case.stream.events]
    return [None if key is None else numbers.setdefault(key, -len(numbers)) for key in keys]


def _by_keys(
    case: SparkCase,
    table: Any,
    job: Job,
    assignment: RangeAssignment,
    placing: Placing,
    lie: Layout,
    rng: Random,
) -> Iterator[Any]:
    if not placing.is_numbered:
        buckets = shuffle(
            lambda batches: tasks.packets_of_buckets(
                batches, assignment, BUCKETS, placing.fields, lie.size
            ),
            table,
            lie,
            rng,
        )
    else:
        ranges = shuffle(
            lambda batches: tasks.packets_of_ranges(batches, assignment, lie.size), table, lie, rng
        )
        packets = [
            packet
            for batches in ranges
            for packet in tasks.number_packets(batches, assignment, BUCKETS, placing)
        ]
        buckets = by_part(packets, rng)
    for batches in buckets:
        yield from tasks.evaluate_buckets(batches, job, placing.fields, lie.size)
