"""Queries of nested logs at every door, against plain Python over the files as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import cerlab
from cerlab import Stream
from cerlab.cli import main
from cerlab.io import batches
from proofs_tests.io.nested_logs import COPIES, FOLDER, FORMATS, log, name_of

Row = dict[str, Any]


class Questions(NamedTuple):
    """The options to read a format, and what is asked of it; a path is a tuple of fields."""

    how: dict[str, Any]
    kind: tuple[str, ...]
    """The path of the event type."""
    a: str
    b: str
    same: tuple[str, ...]
    """The path whose values two events share."""
    key: tuple[str, ...]
    """A path that every event has, for PARTITION BY."""
    tested: tuple[str, ...]
    value: str | int | float
    shown: tuple[str, ...]
    kinds: tuple[str, ...]
    """All event types."""


QUESTIONS = {
    "cloudtrail": Questions(
        {"records": "Records", "type_column": "eventName"},
        ("eventName",),
        *("AssumeRole", "GetObject"),
        ("userIdentity", "sessionContext", "attributes", "mfaAuthenticated"),
        ("userIdentity", "userName"),
        *(("requestParameters", "maxItems"), 3),
        ("userIdentity", "arn"),
        ("ConsoleLogin", "AssumeRole", "GetObject", "DeleteObject"),
    ),
    "kubernetes": Questions(
        {"type_column": "verb"},
        ("verb",),
        *("create", "delete"),
        ("objectRef", "namespace"),
        ("user", "username"),
        *(("annotations", "authorization.k8s.io/decision"), "forbid"),
        ("responseStatus", "code"),
        ("get", "create", "delete"),
    ),
    "opentelemetry": Questions(
        {"records": "resourceLogs.scopeLogs.logRecords", "type_column": "severityText"},
        ("severityText",),
        *("WARN", "ERROR"),
        ("body", "stringValue"),
        ("context", "trace", "id"),
        *(("context", "trace", "flags"), 1),
        ("context", "trace", "id"),
        ("INFO", "WARN", "ERROR"),
    ),
    "elastic": Questions(
        {"type_column": "event.action"},
        ("event", "action"),
        *("login", "exec"),
        ("process", "parent", "name"),
        ("source", "ip"),
        *(("event", "duration"), 9007199254740993),
        ("user", "name"),
        ("login", "logout", "exec"),
    ),
}
LOGS = [(kind, copy) for kind in FORMATS for copy in range(COPIES)]


# -- the answers, by plain Python --------------------------------------------------------------


def rows_in(kind: str, path: Path) -> list[Row]:
    """The rows of a log."""
    with path.open() as file:
        if kind == "cloudtrail":
            return list(json.load(file)["Records"])
        objects = [json.loads(line) for line in file]
    if kind == "opentelemetry":
        scopes = [s for each in objects for r in each["resourceLogs"] for s in r["scopeLogs"]]
        return [row for scope in scopes for row in scope["logRecords"]]
    return objects


def get(row: Any, path: tuple[str, ...]) -> Any:
    """The value at a path; None for none, and for an object or a list."""
    if (whole := ".".join(path)) in row:
        return row[whole]
    for field in path:
        row = row.get(field) if isinstance(row, dict) else None
    return None if isinstance(row, dict | list) else row


def pairs(rows: list[Row], q: Questions) -> list[tuple[int, int]]:
    """The positions of an event of type a and a later one of type b with the same value."""
    return [
        (i, j)
        for j, later in enumerate(rows)
        for i, row in enumerate(rows[:j])
        if get(row, q.kind) == q.a
        and get(later, q.kind) == q.b
        and get(row, q.same) is not None
        and get(row, q.same) == get(later, q.same)
    ]


def neighbours(rows: list[Row], q: Questions) -> list[tuple[int, int]]:
    """The positions of an a and a b that follow each other among the events of one key."""
    numbered = sorted(enumerate(rows), key=lambda pair: str(get(pair[1], q.key)))
    found: list[tuple[int, int]] = []
    for _, group in groupby(numbered, key=lambda pair: get(pair[1], q.key)):
        found += [
            (i, j)
            for (i, row), (j, later) in pairwise(group)
            if get(row, q.kind) == q.a and get(later, q.kind) == q.b
        ]
    return sorted(found)


def matching(rows: list[Row], q: Questions) -> list[int]:
    """The positions of the events with a value at a path."""
    return [n for n, row in enumerate(rows) if get(row, q.tested) == q.value]


# -- the same in queries -----------------------------------------------------------------------


def text(path: tuple[str, ...], quote: str = "`") -> str:
    """A path as queries write it."""
    plain = (field.replace("_", "").isalnum() for field in path)
    return ".".join(f if ok else f"{quote}{f}{quote}" for f, ok in zip(path, plain, strict=True))


def literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def ceql(q: Questions) -> dict[str, str]:
    """The queries of a format, by the functions above."""
    same, tested = text(q.same), f"{text(q.tested)} = {literal(q.value)}"
    kinds = " OR ".join(f"{each} AS x" for each in q.kinds)
    return {
        "pairs": f"SELECT * WHERE ({q.a} ; {q.b}) FILTER {q.a}.{same} = {q.b}.{same}",
        "neighbours": f"SELECT * WHERE {q.a} : {q.b} PARTITION BY [{text(q.key)}]",
        "matching": f"SELECT * WHERE ({kinds}) FILTER x[{tested}]",
    }


def flags(q: Questions) -> Iterator[str]:
    """The options to read a format on the command line."""
    for name, value in q.how.items():
        yield from (f"--{name.replace('_', '-')}", value)


def answers(q: Questions, rows: list[Row]) -> dict[str, list[list[int]]]:
    """The positions of the answers of each query."""
    return {
        "pairs": sorted([list(pair) for pair in pairs(rows, q)]),
        "neighbours": [list(pair) for pair in neighbours(rows, q)],
        "matching": [[n] for n in matching(rows, q)],
    }


# -- tests -------------------------------------------------------------------------------------


def test_the_logs_are_those_of_the_generator() -> None:
    assert sorted(p.name for p in FOLDER.iterdir()) == sorted(name_of(*each) for each in LOGS)
    for kind, copy in LOGS:
        assert (FOLDER / name_of(kind, copy)).read_text() == log(kind, copy)


@pytest.mark.parametrize("kind", FORMATS)
def test_each_query_has_answers_in_some_logs(kind: str) -> None:
    q = QUESTIONS[kind]
    found = [answers(q, rows_in(kind, FOLDER / name_of(kind, n))) for n in range(COPIES)]
    for name in ceql(q):
        assert any(each[name] for each in found), name


@pytest.mark.filterwarnings("ignore:CER09")
@pytest.mark.parametrize(("kind", "copy"), LOGS)
def test_logs_read_by_python(kind: str, copy: int) -> None:
    q, path = QUESTIONS[kind], FOLDER / name_of(kind, copy)
    rows = rows_in(kind, path)
    expected = answers(q, rows)
    events = Stream.read(path, **q.how)
    assert [event.type for event in events] == [get(row, q.kind) for row in rows]
    shown = text(q.shown)
    values = [get(row, q.shown) for row in rows]
    assert [event.attributes.get(".".join(q.shown)) for event in events] == values
    assert sum(map(len, batches(path, size=2, **q.how))) == len(rows)
    for name, query in ceql(q).items():
        parsed = cerlab.parse_query(query)
        for door in (events, list(events)):
            for evaluator in ("auto", "reference", "compiled"):
                given = cerlab.evaluate(parsed, door, evaluator=evaluator)
                assert sorted(list(each.positions) for each in given) == expected[name]
        assert cerlab.count(parsed, path, **q.how) == len(expected[name])
        session = parsed.open()
        pushed = [each for event in events for each in session.push([event])]
        assert sorted(list(each.positions) for each in pushed) == expected[name]
    table = cerlab.parse_query(ceql(q)["pairs"]).run(events).table([f"{q.b}.{shown}"])
    assert sorted(map(str, table.column(f"{q.b}.{shown}").to_pylist())) == sorted(
        str(values[j]) for _, j in expected["pairs"]
    )


def clause(q: Questions) -> str:
    """A row pattern of the events with a value at a path, and what it shows of them."""
    shown, tested = text(q.shown, '"'), text(q.tested, '"')
    return (
        f"MATCH_RECOGNIZE (MEASURES U.{shown} AS shown PATTERN (U) "
        f"DEFINE U AS U.{tested} = {literal(q.value)})"
    )


@pytest.mark.parametrize(("kind", "copy"), LOGS)
def test_logs_read_by_row_patterns(kind: str, copy: int, tmp_path: Path) -> None:
    q, path = QUESTIONS[kind], FOLDER / name_of(kind, copy)
    rows = rows_in(kind, path)
    if kind == "elastic":
        # a column of one type holds no large integers beside doubles, and some rows have a column
        # that is called as the path
        q = q._replace(tested=("event", "action"), value="exec", shown=("source", "ip"))
    if not all(any(get(row, p) is not None for row in rows) for p in (q.tested, q.shown)):
        with pytest.raises(cerlab.CerlabError):
            cerlab.match_recognize(clause(q).replace(" U.", " U.nothing."), rows)
        return
    expected = [{"shown": get(rows[n], q.shown)} for n in matching(rows, q)]
    doors: list[Any] = [Stream.read(path, **q.how), rows]
    for door in doors:
        assert cerlab.match_recognize(clause(q), door).to_pylist() == expected
        assert (
            cerlab.match_recognize(clause(q), door, evaluator="reference").to_pylist() == expected
        )
        assert cerlab.sql(f"SELECT shown FROM t {clause(q)}", {"t": door}).to_pylist() == expected
    out = tmp_path / "out.ndjson"
    records = ["--records", q.how["records"]] if "records" in q.how else []
    assert main(["run", clause(q), str(path), *records, "-o", str(out)]) == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == expected


@pytest.mark.filterwarnings("ignore:CER09")
@pytest.mark.parametrize(("kind", "copy"), LOGS)
def test_logs_read_by_the_command_line(kind: str, copy: int, tmp_path: Path) -> None:
    q, path = QUESTIONS[kind], FOLDER / name_of(kind, copy)
    rows = rows_in(kind, path)
    out = tmp_path / "out.ndjson"
    for name, query in ceql(q).items():
        expected = answers(q, rows)[name]
        assert main(["run", query, str(path), *flags(q), "-o", str(out)]) == 0
        given = [json.loads(line)["positions"] for line in out.read_text().splitlines()]
        assert sorted(given) == expected
    column = f"{q.b}.{text(q.shown)}"
    argv = ["run", ceql(q)["neighbours"], str(path), *flags(q), "--columns", column]
    assert main([*argv, "-o", str(out)]) == 0
    given = [json.loads(line)[column] for line in out.read_text().splitlines()]
    expected_values = [get(rows[j], q.shown) for _, j in neighbours(rows, q)]
    assert sorted(map(str, given)) == sorted(map(str, expected_values))


@pytest.mark.parametrize("kind", FORMATS)
def test_logs_read_from_a_pipe(kind: str) -> None:
    q = QUESTIONS[kind]
    for copy in range(3):
        path = FOLDER / name_of(kind, copy)
        expected = answers(q, rows_in(kind, path))["pairs"]
        argv = [sys.executable, "-m", "cerlab", "run", ceql(q)["pairs"], "-", *flags(q)]
        with path.open() as file:
            done = subprocess.run(argv, stdin=file, capture_output=True, text=True)
        given = [json.loads(line)["positions"] for line in done.stdout.splitlines()]
        assert sorted(given) == expected, done.stderr


@pytest.mark.filterwarnings("ignore:CER09")
@pytest.mark.parametrize("kind", ["cloudtrail", "opentelemetry"])
def test_logs_as_tables(kind: str) -> None:
    """Structs of Arrow, as Parquet has them."""
    q = QUESTIONS[kind]
    for copy in range(COPIES):
        rows = rows_in(kind, FOLDER / name_of(kind, copy))
        table = pa.Table.from_pylist(rows)
        for name, query in ceql(q).items():
            given = cerlab.count(query, table, type_column=q.how["type_column"])
            assert given == len(answers(q, rows)[name])
