"""Aggregates without listing are those of the listed rows (CORE Sec. 4.3)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from io import BytesIO, StringIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent, Event, Valuation
from cerlab.cli import main
from cerlab.engine import totals
from cerlab.engine.reference import totals as reference
from cerlab.evaluate import labelled, thresholds
from cerlab.evaluate.labelled import repeatable_labels, selected_labels
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import Aggregate as Asked
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.model.answer import complex_event, in_order
from cerlab.model.columns import is_arrow, values_of
from cerlab.model.decimals import Decimals
from cerlab.model.event import Value, value_of
from cerlab.model.stream import Stream, TimeUnit
from cerlab.testing import ATTRIBUTES, Shape
from proofs_tests.cli.run_cases import answers_of_lines, ndjson_lines
from proofs_tests.random_cases import Case, random_case
from proofs_tests.srt.correlated_cases import directed_case, under_clauses
from proofs_tests.suite import Suite, random_suite

Group = tuple[Value, ...]
Row = tuple[int, int, tuple[tuple[Value, ...], ...]]


def by_definition(
    case: Case, columns: Sequence[tuple[str, str]], groups: Sequence[str]
) -> dict[Group, list[Row]]:
    """The rows of each group, listed from the valuations of the reference."""
    key = partition_attributes(case.ast)
    labels = {label for label, _ in columns} | {g.partition(".")[0] for g in groups if "." in g}
    by_group: dict[Group, dict[Any, Valuation]] = {}
    for V in query_valuations(case.ast, case.stream):
        positions = {X: D for X, D in V.labels.items() if X in labels}
        group = tuple(_group_value(case.stream, V, g, key) for g in groups)
        identity = (complex_event(V), tuple(sorted(positions.items())))
        by_group.setdefault(group, {})[identity] = V
    return {
        group: [
            (V.start, V.end, tuple(_values(case.stream, V, *column) for column in columns))
            for V in rows.values()
        ]
        for group, rows in by_group.items()
    }


def _group_value(stream: Stream, V: Valuation, group: str, key: Sequence[str]) -> Value:
    if group in ("start", "end"):
        return V.start if group == "start" else V.end
    if group in key:
        return value_of(stream[V.end], group)
    label, _, attribute = group.partition(".")
    values = [value_of(stream[p], attribute) for p in V.labels.get(label, ())]
    return _comparable(values[0]) if values else None


def _values(stream: Stream, V: Valuation, label: str, attribute: str) -> tuple[Value, ...]:
    """The values of a label that have a total: no NULL, no NaN."""
    values = [value_of(stream[p], attribute) for p in V.labels.get(label, ())]
    return tuple(value for value in values if value is not None and value == value)


def _comparable(value: Value) -> Value:
    """A value that equals itself: NaN is one group, and no other value is this text."""
    return "not a number" if value != value else value


FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": lambda values: sum(map(Fraction, values)),
    "avg": lambda values: sum(map(Fraction, values)) / len(values),
    "min": min,
    "max": max,
}


Aggregate = Callable[..., dict[Group, dict[str, Any]]]
"""The rows by group that a query has on a stream, of the arguments of `Matches.aggregate`."""


def of_matches(query: cerlab.Query, stream: Stream, group_by: list[str], **measures: Any) -> Any:
    table = query.run(stream).aggregate(group_by=group_by, **measures)
    by_group = {tuple(_comparable(row[g]) for g in group_by): row for row in table.to_pylist()}
    assert len(by_group) == table.num_rows
    return by_group


def slid(
    by_group: dict[Group, list[Row]], groups: Sequence[str], width: int, times: Sequence[Any]
) -> dict[Group, list[Row]]:
    """Return, for each group, the rows that differ in the end alone and end within the width.

    It is in the `times` of the events.
    """
    at = groups.index("end")

    def others(group: Group) -> Group:
        return group[:at] + group[at + 1 :]

    def inside(group: Group, before: Group) -> bool:
        ends: Any = group[at], before[at]
        is_before = ends[1] <= ends[0]
        return others(group) == others(before) and is_before and since(*ends) <= width

    def since(end: int, before: int) -> Any:
        return times[end] - times[before]

    return {g: [r for b, rows in by_group.items() if inside(g, b) for r in rows] for g in by_group}


def agrees(case: Case, rng: Random, aggregate: Aggregate = of_matches) -> bool:
    """Random measures and groups of a case, against the listed rows."""
    query = case.query
    labels = sorted(selected_labels(query))
    columns = [(X, a) for X in dict.fromkeys(labels) for a in usable(case.stream)]
    rng.shuffle(columns)
    columns = columns[: rng.randrange(3)]
    single = sorted(set(labels) - repeatable_labels(query))
    key = [a for a in partition_attributes(case.ast) if a in usable(case.stream)]
    choices = ["start", "end", *key, *(f"{X}.{a}" for X in single for a in usable(case.stream))]
    groups = rng.sample(choices, rng.randrange(min(3, len(choices)) + 1))
    names = [f"{X}.{a}" for X, a in columns]
    functions = dict.fromkeys(FUNCTIONS, names)
    width = rng.randrange(5) if "end" in groups and rng.random() < 0.5 else None
    unit, times = rng.choice(lengths_of(case.stream))
    sliding = None if width is None else f"{width} {unit}"
    totals_of = aggregate(query, case.stream, groups, sliding=sliding, **functions)
    expected = by_definition(case, columns, groups)
    if width is not None:
        expected = slid(expected, groups, width, times)
    if not groups:
        expected.setdefault((), [])
        totals_of.setdefault(
            (), {"count": 0} | dict.fromkeys(f"{f}({c})" for f in FUNCTIONS for c in names)
        )
    assert totals_of.keys() == expected.keys(), (groups, case.describe())
    for group, rows in expected.items():
        row = totals_of[group]
        assert row["count"] == len(rows), (groups, columns, case.describe())
        for n, column in enumerate(names):
            values = [value for _, _, cells in rows for value in cells[n]]
            for name, function in FUNCTIONS.items():
                exact: Any = function(values) if values else None
                cell = row[f"{name}({column})"]
                right = float(exact) if isinstance(cell, float) and values else exact
                assert cell == right, (name, column, groups, case.describe())
    return bool(expected.get((), True)) and bool(expected)


def lengths_of(stream: Stream) -> list[tuple[str, Sequence[Any]]]:
    """The units that the length of a stream is told in, and the place of each event there.

    The first value is compared with itself, because NaN is no place.
    """
    lengths: list[tuple[str, Sequence[Any]]] = [("EVENTS", range(len(stream)))]
    for name in usable(stream):
        values: Sequence[Any] = values_of(stream.columns[name], name)
        if None not in values and all(a <= b for a, b in pairwise([*values[:1], *values])):
            lengths.append((f"[{name}]", values))
            if stream.time is not None and stream.time.attribute == name:
                assert stream.time.unit is TimeUnit.S
                lengths.append(("SECONDS", values))
    return lengths


def usable(stream: Stream) -> list[str]:
    """The attributes that hold numbers of one type."""
    columns = stream.columns
    kinds = {a: getattr(columns[a], "type", type(columns[a]).__name__) for a in columns}
    return [a for a, kind in kinds.items() if str(kind) in ("int64", "double", "null", "Decimals")]


def cases(rng: Random, shape: Shape | None = None) -> Iterator[Case]:
    shape = shape or rng.choice((Shape(), Shape(depth=3, events=7), ATTRIBUTES))
    while True:
        case = random_case(rng, shape)
        if case.ast.limit is None and case.query.machine_kind == "automaton":
            yield case


def by_session(rng: Random) -> Aggregate:
    """The same of a session, in batches as they may come; it may stop and go on elsewhere."""

    def aggregate(query: cerlab.Query, stream: Stream, group_by: list[str], **measures: Any) -> Any:
        time = stream.time
        how: dict[str, Any] = {} if time is None else {"time": time.attribute, "unit": time.unit}
        session = query.aggregating(group_by=group_by, **measures, **how)
        by_group: dict[Group, dict[str, Any]] = {}
        while session.pushed < len(stream):
            size = 1 + rng.randrange(4)
            for row in session.push(stream[session.pushed :][:size]).to_pylist():
                group = tuple(_comparable(row[g]) for g in group_by)
                assert "end" not in group_by or group not in by_group
                by_group[group] = row
            if rng.random() < 0.1:
                state = session.state()
                elsewhere = cerlab.Query(query.ast)
                session = elsewhere.aggregating(group_by=group_by, **measures, state=state)
        return by_group

    return aggregate


@pytest.mark.parametrize("fewest", [1, 3, 1000], ids=["kernel", "either", "exact"])
def test_aggregates_of_a_session_are_those_of_the_listed_rows(
    fewest: int, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of `fewest` events or more go to the kernel, others are read event by event."""
    monkeypatch.setattr(thresholds, "FEWEST", fewest)

    def case(rng: Random) -> bool:
        return agrees(with_doubles(next(cases(rng)), rng), rng, by_session(rng))

    suite.run(case, deep_count=20_000)


@random_suite(2_000)
def test_aggregates_of_decimals_are_those_of_the_listed_rows(rng: Random) -> bool:
    sample = next(cases(rng))
    numbers = rng.choice(([0.1, 27.85, -3.3, 8.0, None], [5.0, -2.0, None]))
    decimals = Decimals(pa.array(rng.choices(numbers, k=len(sample.stream)), pa.float64()))
    return agrees(Case(sample.ast, sample.stream.with_columns({"d": decimals})), rng)


def with_doubles(case: Case, rng: Random) -> Case:
    """The same with an attribute of doubles that no query reads."""
    doubles = [0.1, 27.85, -3.3, 1e16, 2.5e-10, float("nan"), None]
    events = [
        Event(e.type, {**e.attributes, "d": rng.choice(doubles)}, e.stream) for e in case.stream
    ]
    return Case(case.ast, Stream(events, time=case.stream.time))


@pytest.mark.parametrize("way", ["kernel", "exact"])
def test_aggregates_are_those_of_the_listed_rows(
    way: str, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "SHORT", -1 if way == "kernel" else 10**9)

    def case(rng: Random) -> bool:
        return agrees(with_doubles(next(cases(rng)), rng), rng)

    suite.run(case, deep_count=10_000)


def comparing(rng: Random) -> Case:
    while True:
        case = rng.choice((directed_case, under_clauses))(rng)
        if case.ast.limit is None and case.query.machine_kind != "automaton":
            return with_doubles(case, rng)


def compares_labels(rng: Random) -> bool:
    """Aggregates of a query without an automaton are those of the listed rows."""
    return agrees(comparing(rng), rng)


@pytest.mark.parametrize("size", [1, 4096])
def test_aggregates_where_filters_compare_labels(
    size: int, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers come in batches of `size`, so that an end has some in several."""
    monkeypatch.setattr(labelled, "_SOME", size)
    suite.run(compares_labels, deep_count=4_000)


def compares_labels_in_a_session(rng: Random) -> bool | None:
    """The same of events that arrive, of queries that sessions take."""
    drawn = comparing(rng)
    if drawn.query.machine_kind != "registers":
        return None
    try:
        drawn.query.open(time="t", unit="s")
    except cerlab.Unsupported:
        return None
    return agrees(drawn, rng, by_session(rng))


@pytest.mark.parametrize("short", [1, 3, 1000], ids=["columns", "either", "events"])
def test_aggregates_of_a_session_where_filters_compare_labels(
    short: int, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of `short` events or more are checked, and kept, as columns."""
    monkeypatch.setattr(thresholds, "FEWEST", short)
    suite.run(compares_labels_in_a_session, deep_count=2_000)


@random_suite(2_000)
def test_both_ways_agree_on_longer_streams(rng: Random) -> bool:
    example = next(cases(rng, Shape(depth=3, events=40)))
    query, stream = example.query, with_doubles(example, rng).stream
    labels = sorted({label for t in query.plan.vcea.Delta for label in t.labels})
    names = [f"{label}.d" for label in labels[:2]]
    groups = rng.choice(([], ["end"], ["start", "end"]))
    tables = []
    for short in (-1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(totals, "SHORT", short)
            rows = query.run(stream).aggregate(sum=names, min=names, group_by=groups)
            tables.append(sorted(map(str, rows.to_pylist())))
    assert tables[0] == tables[1], example.describe()
    return bool(tables[0])


def asking(case: Case, rng: Random) -> Case:
    """The same query with random aggregates and groups in SELECT."""
    labels = sorted(selected_labels(case.query))
    columns = [(X, a) for X in labels for a in usable(case.stream)]
    single = set(labels) - repeatable_labels(case.query)
    groups = [("start",), ("end",), *((X, a) for X, a in columns if X in single)]
    asked = [Asked(rng.choice(list(FUNCTIONS)), *column) for column in columns]
    rng.shuffle(asked)
    ast = replace(
        case.ast,
        items=None,
        limit=None,
        aggregates=(Asked("count"), *asked[: rng.randrange(3)]),
        groups=tuple(rng.sample(groups, rng.randrange(3))),
    )
    return Case(ast, case.stream)


def of_rows(case: Case) -> dict[Group, dict[str, Any]]:
    """The aggregates that a query asks for, of the rows that `Matches.table` lists."""
    ast = case.ast
    names = [".".join(group) for group in ast.groups]
    measures = [(each.function, f"{each.label}.{each.attribute}") for each in ast.aggregates[1:]]
    columns = dict.fromkeys([*(n for n in names if "." in n), *(column for _, column in measures)])
    listed: dict[Group, list[dict[str, Any]]] = {} if names else {(): []}
    for row in case.query.run(case.stream).table(columns).to_pylist():
        listed.setdefault(tuple(row[name] for name in names), []).append(row)
    result = {}
    for group, rows in listed.items():
        result[group] = dict(zip(names, group, strict=True)) | {"count": len(rows)}
        for function, column in measures:
            cells = [row[column] for row in rows]
            values = [v for c in cells for v in (c if isinstance(c, list) else [c])]
            exact = [v for v in values if v is not None]
            total: Any = FUNCTIONS[function](exact) if exact else None
            is_whole = not isinstance(total, Fraction) or (
                total.denominator == 1 and function == "sum"
            )
            result[group][f"{function}({column})"] = total if is_whole else float(total)
    return result


def last_rows(session: Any, stream: Stream, names: list[str]) -> list[dict[str, Any]]:
    """The last row of each group from a session that reads two batches; without groups, the one."""
    rows: dict[Group, dict[str, Any]] = {}
    for batch in (stream[:3], stream[3:]):
        for row in session.push(batch).to_pylist():
            rows[tuple(row[name] for name in names)] = row
    return list(rows.values())


def written(case: Case, source: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> str:
    """The output of ``cerlab run`` of a query on a file, or on standard input."""
    out = StringIO()
    with monkeypatch.context() as patch:
        lines = "".join(ndjson_lines(case)).encode()
        patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(lines)))
        patch.setattr(sys, "stdout", out)
        assert main(["run", case.query.text, source, "--time", "t:s", "-q", *options]) == 0
    return out.getvalue()


@random_suite(1_600)
def test_every_door_has_the_same_aggregates_and_the_answers_that_they_are_over(
    rng: Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> bool | None:
    path = tmp_path / "events.ndjson"
    compares = rng.random() < 0.2
    drawn = directed_case(rng) if compares else next(cases(rng))
    columns = drawn.stream.columns
    if not all(a in columns and is_arrow(columns[a]) for a in partition_attributes(drawn.ast)):
        return None  # tables have columns of one type
    if any(isinstance(v, cerlab.Timestamp) for e in drawn.stream for v in e.attributes.values()):
        return None  # which are texts in JSON
    if not len(drawn.stream):
        return None  # an empty file is an error
    asked = asking(drawn, rng)
    query, stream, names = asked.query, asked.stream, [".".join(g) for g in asked.ast.groups]
    path.write_text("".join(ndjson_lines(asked)))

    expected, nothing = of_rows(asked), of_rows(Case(asked.ast, stream[:0])).get(())
    by_words: dict[str, Any] = {f: [] for f in FUNCTIONS}
    for each in asked.ast.aggregates[1:]:
        by_words[each.function].append(f"{each.label}.{each.attribute}")
    plain = Case(replace(asked.ast, aggregates=(), groups=()), stream)
    doors = {
        "run": query.run(stream).aggregate().to_pylist(),
        "in words": plain.query.run(stream).aggregate(group_by=names, **by_words).to_pylist(),
        "file": list(map(json.loads, written(asked, str(path), monkeypatch).splitlines())),
        "pipe": list(map(json.loads, written(asked, "-", monkeypatch).splitlines())),
    }
    if not compares:  # few of those have sessions, which have a suite above
        how: dict[str, Any] = {"time": "t", "unit": "s"}
        doors["session"] = last_rows(query.aggregating(**how), stream, names)
        session = plain.query.aggregating(group_by=names, **by_words, **how)
        doors["session, in words"] = last_rows(session, stream, names)
    for door, rows in doors.items():
        of_door = {tuple(row[name] for name in names): row for row in rows}
        assert len(of_door) == len(rows), (door, asked.describe())
        if not rows and not names and "session" in door:
            of_door = {(): nothing}  # no push changed it
        assert of_door == expected, (door, asked.describe())

    answers = cerlab.evaluate(plain.query, stream)
    lists: dict[str, Iterable[ComplexEvent]] = {
        "evaluate": cerlab.evaluate(query, stream),
        "run": query.run(stream),
        "by number": [query.run(stream)[k] for k in range(len(answers))],
        "file": answers_of_lines(written(plain, str(path), monkeypatch)),
    }
    for door, listed in lists.items():
        assert in_order(listed) == answers, (door, asked.describe())
    assert cerlab.count(query, stream) == query.run(stream).count() == len(answers)
    if len(asked.ast.aggregates) == 1 and not any("." in name for name in names):
        assert sum(row["count"] for row in expected.values()) == len(answers)
    return bool(answers)


class TotalsCounter:
    """Count the totals that the reference writes."""

    def __init__(self) -> None:
        self.total = 0
        before = reference.RunTotals._count

        def add(runs: reference.RunTotals[Any], totals: int) -> None:
            self.total += totals
            before(runs, totals)

        self.add = add
