"""Aggregates: of any cut tasks give parts that are those of `Matches.aggregate` on the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cerlab import ResourceLimit, count, parse_query
from cerlab.automata.plan import plan_to_bytes
from cerlab.evaluate import aggregates as aggregated
from cerlab.evaluate.aggregates import Request, selected_request
from cerlab.evaluate.labelled import repeatable_labels, selected_labels
from cerlab.logic.ceql.syntax import Aggregate, partition_attributes
from cerlab.spark import task_outputs as tasks
from cerlab.spark.evaluation import Job, new_evaluation
from cerlab.spark.footers import NoProof
from cerlab.spark.plan import Mode, attributes_of_job
from cerlab.spark.task_outputs import GroupRows, merge_parts
from proofs_tests.spark.cases import SparkCase
from proofs_tests.spark.layouts import in_packets
from proofs_tests.spark.test_any_split import case_for, fails
from proofs_tests.spark.test_files import batches_in_files
from proofs_tests.suite import Suite

NAN = float("nan")
DOUBLES = (0.1, 27.85, -3.3, 1e16, 2.5e-10, 5e-324, NAN, None)


def asking(rng: Random, case: SparkCase) -> SparkCase:
    """The same pattern with random aggregates and groups, and an attribute of doubles."""
    doubles = pa.array([rng.choice(DOUBLES) for _ in range(case.table.num_rows)], pa.float64())
    table = case.table.append_column("d", doubles)
    numbers = [n for n in ("v", "w", "k", "d") if not pa.types.is_string(table.field(n).type)]
    labels = sorted(selected_labels(case.query))
    items = [Aggregate("count")] if rng.random() < 0.8 or not labels else []
    for _ in range(rng.randrange(3) if labels else 0):
        label = rng.choice(labels)
        items.append(Aggregate(rng.choice(("sum", "avg")), label, rng.choice(numbers)))
        items.append(Aggregate(rng.choice(("min", "max")), label, rng.choice((*"vwkdt", "type"))))
    single = sorted(set(labels) - repeatable_labels(case.query))
    groups: list[tuple[str, ...]] = [("start",), ("end",)]
    groups += [(a,) for a in partition_attributes(case.ast)]
    groups += [(label, rng.choice("vwkd")) for label in single]
    by = tuple(dict.fromkeys(rng.sample(groups, rng.randrange(min(3, len(groups)) + 1))))
    measures = tuple(dict.fromkeys(items)) or (Aggregate("count"),)
    ast = replace(case.ast, limit=None, items=None, aggregates=measures, groups=by)
    return SparkCase(ast, table, case.positions)


def expected(case: SparkCase) -> Any:
    """The table of the local engine, at the given positions."""
    table = case.query.run(case.stream).aggregate()
    for name in ("start", "end"):
        if case.positions is not None and name in table.column_names:
            at = [case.positions[n] for n in table.column(name).to_pylist()]
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(at, pa.int64()))
    return table


def as_spark(batches: Iterable[Any], request: Request, schema: Any) -> Any:
    """Combine parts as Spark does: lists by group, and the least and greatest values.

    Spark groups every NaN as one value; the keys of a Python dict are as many as its objects.
    """
    groups = [f"g{n}" for n in range(len(request.groups))]
    by_group: dict[tuple[Any, ...], list[dict[str, Any]]] = {} if groups else {(): []}
    for batch in batches:
        for part in batch.to_pylist():
            group = (part[name] for name in groups)
            by_group.setdefault(tuple(NAN if g != g else g for g in group), []).append(part)
    names = ["runs", *(f"{name}{n}" for n in range(len(request.summands)) for name in "sp")]
    columns: dict[str, Any] = {
        name: [group[n] for group in by_group] for n, name in enumerate(groups)
    }
    for name in names:
        lists = [[part[name] for part in parts] for parts in by_group.values()]
        columns[name] = pa.array(lists, pa.list_(pa.binary()))
    for n, measure in enumerate(request.extremes):
        least: Callable[..., Any] = min if measure.function == "min" else max
        of = ([v for p in parts if (v := p[f"m{n}"]) is not None] for parts in by_group.values())
        columns[f"m{n}"] = [least(values, default=None) for values in of]
    rest = pa.table(columns)
    return list(merge_parts(rest.to_batches(max_chunksize=2), GroupRows(request, schema)))


def rows_of(batches: Iterable[Any]) -> list[str]:
    """The rows of some batches in one order; the two zeros are one."""
    rows = (row for batch in batches for row in batch.to_pylist())
    plain = ({name: v + 0.0 if type(v) is float else v for name, v in r.items()} for r in rows)
    return sorted(map(repr, plain))


def check(rng: Random, mode: Mode, batches: Callable[[SparkCase, GroupRows], Any]) -> bool:
    case = asking(rng, case_for(rng, mode))
    request = selected_request(case.query)
    rows, table = GroupRows(request), expected(case)
    parts = batches(case, rows)
    lines = rows_of(parts if rows.are_final else as_spark(parts, request, table.schema))
    if lines != rows_of(table.to_batches()):
        pytest.fail(f"{mode}: {request}\n{table.to_pylist()[:3]}\n{lines[:3]}\n{case.describe()}")
    return bool(table.num_rows) and (
        bool(request.groups) or case.query.run(case.stream).count() > 0
    )


def in_any_packets(rng: Random, mode: Mode) -> bool:
    ordered = rng.random() < 0.5
    return check(rng, mode, lambda case, rows: in_packets(case, mode, rng, rows, ordered=ordered))


@pytest.mark.parametrize("mode", list(Mode))
def test_a_stream_in_parts_has_the_aggregates_of_the_whole(suite: Suite, mode: Mode) -> None:
    suite.run(lambda rng: in_any_packets(rng, mode), deep_count=1_000)


def test_a_stream_in_files_has_the_aggregates_of_the_whole(suite: Suite, tmp_path: Path) -> None:
    def case(rng: Random) -> bool:
        mode = rng.choice((Mode.RANGES, Mode.ONE))
        while True:
            try:
                batches = lambda case, rows: batches_in_files(case, mode, rng, tmp_path, rows)  # noqa: E731
                return check(rng, mode, batches)
            except NoProof:
                continue

    suite.run(case, deep_count=500)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_task_that_aggregates_a_few_rows_at_a_time_has_the_aggregates_of_the_whole(
    suite: Suite, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "ROWS_TOGETHER", 1)
    suite.run(lambda rng: in_any_packets(rng, mode), deep_count=1_000)


@pytest.mark.parametrize(("width", "most"), [(10, 111), (2_000, 4_100)])
@pytest.mark.parametrize("key", ["", "PARTITION BY [k]"])
def test_the_rows_in_memory_do_not_grow_with_the_stream(
    key: str, width: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task has the rows of a part and of one window; it reads each of them twice at most."""
    monkeypatch.setattr(tasks, "ROWS_TOGETHER", 100)
    together: list[int] = []
    right = tasks.GroupEvaluation._aggregate

    def aggregate(self: Any) -> Any:
        together.append(sum(table.num_rows for table in self._tables))
        return right(self)

    monkeypatch.setattr(tasks.GroupEvaluation, "_aggregate", aggregate)
    query = parse_query(f"SELECT COUNT(*) WHERE A ; B {key} WITHIN {width} [t]")
    request = selected_request(query)
    names = attributes_of_job(query.plan, None, ())
    for size in (10_000, 40_000):
        together.clear()
        columns = {"type": ["A", "B"] * (size // 2), "k": [0, 0, 1, 1] * (size // 4)}
        rows = pa.table({**columns, "t": range(size)})
        run = new_evaluation(Job(plan_to_bytes(query.plan), None, names, names=GroupRows(request)))
        events = rows.select(names).rename_columns([f"a{n}" for n in range(len(names))])
        pushed = (run.push(events.slice(begin, 50)) for begin in range(0, size, 50))
        parts = [part for some in pushed for part in some]
        parts += run.finish()
        (total,) = as_spark(parts, request, pa.schema({"count": pa.int64()}))
        assert total.to_pylist() == [{"count": count(query, rows)}]
        assert max(together) <= most
        assert sum(together) <= 2.2 * size


def some_case_fails(mode: Mode) -> bool:
    """Whether one of 100 cases fails."""
    return any(fails(lambda rng: in_any_packets(rng, mode), seed) for seed in range(100))


def test_answers_that_end_before_the_range_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = aggregated.GroupTotals.__init__
    whole = lambda *given, own=0, **more: right(*given, **more)  # noqa: E731
    monkeypatch.setattr(aggregated.GroupTotals, "__init__", whole)
    assert some_case_fails(Mode.RANGES)


def test_a_part_that_lacks_a_row_of_its_window_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tasks.GroupEvaluation._first_needed
    monkeypatch.setattr(tasks, "ROWS_TOGETHER", 1)
    monkeypatch.setattr(
        tasks.GroupEvaluation, "_first_needed", lambda *given: min(right(*given) + 1, len(given[1]))
    )
    assert some_case_fails(Mode.RANGES)


def test_parts_of_answers_that_depend_on_others_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """NEXT, LAST, MAX, CONSUME BY, no window and one in events of a key need all rows."""
    monkeypatch.setattr(tasks, "ROWS_TOGETHER", 1)
    monkeypatch.setattr(tasks, "why_not", lambda plan, mode: None)
    assert some_case_fails(Mode.KEYS)


def test_sums_that_are_rounded_in_each_part_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tasks._binary

    def as_double(n: int) -> int:
        beyond = max(0, n.bit_length() - 53)
        return n >> beyond << beyond

    monkeypatch.setattr(tasks, "_binary", lambda integers: right(map(as_double, integers)))
    assert some_case_fails(Mode.RANGES)


@pytest.mark.parametrize("mode", list(Mode))
def test_positions_that_are_numbers_of_rows_are_seen(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = aggregated.GroupTotals.__init__
    without_positions = lambda *given, positions=None, **more: right(*given, **more)  # noqa: E731
    monkeypatch.setattr(aggregated.GroupTotals, "__init__", without_positions)
    assert some_case_fails(mode)


def test_a_total_beyond_64_bits_is_refused_by_name() -> None:
    table = pa.table({"count": pa.array([2**64], pa.decimal128(38))})
    assert tasks._fitting(table, None) == table
    with pytest.raises(ResourceLimit, match="'count' needs more than the 64 bits"):
        tasks._fitting(table, pa.schema({"count": pa.int64()}))
