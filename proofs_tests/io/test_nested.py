"""Nested values: what no query reads stops nothing, and a path reads a field of them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import cerlab
from cerlab import Stream
from cerlab.cli import main
from cerlab.io import batches
from proofs_tests.command import Cli

ROWS: list[dict[str, Any]] = [
    {"type": "A", "n": 1, "user": {"id": 3, "name": "ann", "home": {"city": "Ulm"}}, "tags": ["x"]},
    {"type": "B", "n": 2, "user": {"id": 4, "name": "bob", "home": {"city": None}}, "tags": []},
    {"type": "A", "n": 3, "user": None, "tags": [{"k": 1}]},
    {"type": "B", "n": 4, "user": {"id": 3, "labels": {"app.name": "web"}}},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        simple = [{**row, "tags": [1]} for row in rows]
        parquet.write_table(pa.Table.from_pylist(simple), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(params=["ndjson", "json.zst", "parquet", "long.ndjson"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The rows as a file; a long one is read by columns."""
    path = tmp_path / f"e.{request.param.removeprefix('long.')}"
    rows = ROWS * 200 if request.param.startswith("long") else ROWS
    if path.suffix == ".zst":
        text = "".join(json.dumps(row) + "\n" for row in rows)
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(text.encode())
        return path
    return written(path, rows)


def test_a_nested_value_that_no_query_reads_stops_nothing(source: Path) -> None:
    events = Stream.read(source)
    copies = len(events) // len(ROWS)
    assert cerlab.count("A FILTER A[n < 3]", events) == copies
    assert cerlab.count("A : B", source) == 2 * copies
    assert sum(len(batch) for batch in batches(source, size=3)) == len(events)
    assert [event.type for event in events] == [row["type"] for row in ROWS * copies]


def test_a_nested_column_itself_is_refused_by_its_name(source: Path) -> None:
    for query in ("A FILTER A[user = 3]", "A FILTER A[tags = 'x']"):
        with pytest.raises(cerlab.BadData, match=r"CER0741: column '(user|tags)'") as caught:
            cerlab.count(query, source)
        if "user" in query:
            assert "such as user.id" in caught.value.hint
    with pytest.raises(cerlab.BadData, match="column 'user'"):
        dict(Stream.read(source)[0].attributes)


@pytest.mark.parametrize("kind", ["csv", "ndjson", "core", "parquet", "arrow"])
def test_what_would_write_a_nested_column_is_refused_by_its_name(
    kind: str, source: Path, tmp_path: Path
) -> None:
    with pytest.raises(cerlab.BadData, match="'user'"):
        Stream.read(source).to_arrow()
    target = tmp_path / f"out.{kind}"
    assert main(["convert", str(source), str(target)]) == 2
    assert not target.exists()


def test_paths_are_attributes_of_events_and_columns_of_streams(source: Path) -> None:
    events = Stream.read(source)
    assert [events[n].attributes.get("user.id") for n in range(4)] == [3, 4, None, 3]
    assert list(events.columns["user.id"].to_pylist())[:4] == [3, 4, None, 3]
    assert events.columns["user.home.city"].to_pylist()[:4] == ["Ulm", None, None, None]
    assert events.columns["user.labels.`app.name`"].to_pylist()[:4] == [None, None, None, "web"]
    for name in ("user.nobody", "user.id.x", "n.x", "user..id", "user.labels.app.name"):
        assert name not in events.columns
        assert events[0].attributes.get(name) is None
    # an object at the end of a path is nothing
    assert events[0].attributes.get("user.home") is None
    assert events.columns["user.home"].null_count == len(events)


def test_a_path_into_a_list_is_refused_by_its_name(source: Path) -> None:
    with pytest.raises(cerlab.BadData, match=r"'tags\.k' goes into a list: 'tags'"):
        Stream.read(source).columns["tags.k"]


def test_a_column_with_dots_wins_over_a_path(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "A", "user.id": 1, "user": {"id": 2}},
        {"type": "B", "user": {"id": 5}},
    ]
    events = Stream.read(written(tmp_path / "e.ndjson", rows))
    assert [event.attributes.get("user.id") for event in events] == [1, 5]
    assert events.columns["user.id"].to_pylist() == [1, 5]
    one = Stream.read(written(tmp_path / "e.parquet", rows[:1]))
    assert one.columns["user.id"].to_pylist() == [1] == [one[0].attributes["user.id"]]


def test_events_with_nested_values_survive_a_pickle(source: Path) -> None:
    events = pickle.loads(pickle.dumps(Stream.read(source)))
    assert events[1].attributes["user.id"] == 4
    assert events.columns["user.id"].to_pylist()[:2] == [3, 4]


def test_types_of_events_may_be_at_a_path(tmp_path: Path) -> None:
    rows = [{"event": {"action": "in"}, "n": 1}, {"event": {"action": "out"}, "n": 2}]
    for name in ("e.ndjson", "e.parquet"):
        path = written(tmp_path / name, rows) if name.endswith("n") else tmp_path / name
        if name == "e.parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
        events = Stream.read(path, type_column="event.action")
        assert [event.type for event in events] == ["in", "out"]
        assert cerlab.count("`in` : out", events) == 1
        assert cerlab.count("`in` : out", path, type_column="event.action") == 1
    with pytest.raises(cerlab.BadData, match="CER0736"):
        Stream.read(path, type_column="event.nothing")


def test_numbers_and_moments_of_ndjson_stay_as_they_are_written(tmp_path: Path) -> None:
    """pyarrow would round integers beside doubles, and read texts as moments."""
    values = [2.5, 9007199254740993, 3, "2024-01-01T00:00:00Z", None, True]
    for some in ([2.5, 9007199254740993, 3, 3.0], [2.5, 4.25], values[3:4] * 3, values):
        rows = [{"type": "A", "v": {"w": value}} for value in some]
        events = Stream.read(written(tmp_path / "e.ndjson", rows * 100))
        read = [event.attributes["v.w"] for event in events]
        assert [*map(repr, read)] == [*map(repr, some)] * 100


QUERIES = {
    "A FILTER A[user.id = 3]": 1,
    "(A ; B) FILTER A.user.id = B.user.id": 1,
    "(A ; B) FILTER A[user.home.city = 'Ulm'] AND B[user.labels.`app.name` LIKE 'w.*']": 1,
    "(A ; B) PARTITION BY [user.id]": 1,
    "A ; B WITHIN 1 [user.id]": None,
    "(A ; B+ AS b) FILTER COUNT(DISTINCT b.user.id) >= 2": 1,
    "A FILTER A[user.home = 'Ulm' OR user.nothing > 3]": 0,
}


def ceql(text: str) -> str:
    formula, *clause = text.split(" PARTITION ")
    return f"SELECT * WHERE {formula}" + "".join(f" PARTITION {each}" for each in clause)


@pytest.mark.filterwarnings("ignore:CER09")
@pytest.mark.parametrize("text", [t for t in QUERIES if QUERIES[t] is not None])
@pytest.mark.parametrize("kind", ["ndjson", "parquet"])
def test_queries_read_paths_by_every_evaluator(text: str, kind: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"e.{kind}", ROWS)
    query = cerlab.parse_query(ceql(text))
    assert cerlab.parse_query(str(query)).ast == query.ast
    events = Stream.read(path)
    for door in (path, events, list(events)):
        assert cerlab.count(query, door) == QUERIES[text], door
    found = {
        tuple(
            sorted(
                (a.start, a.end, a.positions) for a in cerlab.evaluate(query, door, evaluator=name)
            )
        )
        for name in ("auto", "reference")
        for door in (path, events, list(events))
    }
    assert len(found) == 1
    session = query.open()
    assert sum(len(session.push([event])) for event in events) == QUERIES[text]


def test_text_of_a_path_in_every_place_of_a_query() -> None:
    text = (
        "SELECT x[user.id, v] WHERE (A AS x ; B) FILTER x[user.id = 3 AND a.`b.c` > .5] "
        "AND x.user.id = B.user.home.city PARTITION BY [user.id] WITHIN 3 [time.s]"
    )
    query = cerlab.parse_query(text)
    assert cerlab.parse_query(str(query)).ast == query.ast
    for sum_text in ("SUM(b.user.n)", "MAX(b.user.n)", "COUNT(*), SUM(b.user.n)"):
        cerlab.parse_query(f"SELECT {sum_text} WHERE B+ AS b GROUP BY c, b.user.id")
    for bad in ("A FILTER A[user. = 3]", "A FILTER A..x = 3", "A FILTER A[.x = 1]"):
        with pytest.raises(cerlab.QuerySyntaxError):
            cerlab.parse_query(bad)


def test_columns_of_answers_read_paths(source: Path) -> None:
    events = Stream.read(source)[:4]
    matches = cerlab.parse_query("SELECT * WHERE A AS x : B AS y").run(events)
    table = matches.table(columns=["x.user.id", "y.user.labels.`app.name`"])
    assert table.to_pylist() == [
        {
            "start": start,
            "end": start + 1,
            "x.user.id": id,
            "y.user.labels.`app.name`": name,
        }
        for start, id, name in ((0, 3, None), (2, None, "web"))
    ]
    with pytest.raises(cerlab.UsageError, match="CER0864"):
        matches.table(columns=["x.user.nobody"])


def test_the_command_line_reads_paths(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.ndjson"
    argv = ["run", "A AS x : B AS y", str(source), "--columns", "x.user.id,y.n", "-o", str(out)]
    assert main([*argv, "--limit", "1"]) == 0
    assert json.loads(out.read_text()) == {"start": 0, "end": 1, "x.user.id": 3, "y.n": 2}
    query = "SELECT x[user.id] WHERE (A AS x ; B) FILTER x[user.id = 3]"
    argv = [
        "run",
        query,
        str(source),
        "--events",
        "--limit",
        "1",
        "-o",
        str(out),
    ]
    assert main(argv) == 0
    events = json.loads(out.read_text())["events"]
    assert events[0] == {"position": 0, "type": "A", "user.id": 3}


RECORDS = [{"eventName": name, "user": {"id": n}} for n, name in enumerate(["A", "B", "A"])]
AROUND: dict[str, tuple[str, int]] = {
    "one line": (json.dumps({"Records": RECORDS}), 3),
    "several lines": (json.dumps({"Records": RECORDS}, indent=2), 3),
    "several objects": (2 * (json.dumps({"Records": RECORDS, "v": [1]}) + "\n"), 6),
    "many lines": (json.dumps({"v": 1, "Records": RECORDS * 3_000}, indent=1), 9_000),
}


@pytest.mark.parametrize("form", AROUND)
def test_records_are_the_rows_of_a_list_inside_an_object(form: str, tmp_path: Path) -> None:
    text, length = AROUND[form]
    path = tmp_path / "e.json"
    path.write_text(text)
    query = "A : B FILTER B[user.id = 1]"
    events = Stream.read(path, records="Records", type_column="eventName")
    assert len(events) == length
    assert events[1].attributes["user.id"] == 1
    how: Any = {"records": "Records", "type_column": "eventName"}
    assert cerlab.count(query, path, **how) == length // 3
    assert sum(map(len, batches(path, size=7, **how))) == length
    out = tmp_path / "out.csv"
    argv = ["run", query, str(path), "--records", "Records", "--type-column", "eventName"]
    assert main([*argv, "-o", str(out), "--columns", "B.user.id"]) == 0
    assert len(out.read_text().splitlines()) == length // 3 + 1
    clause = "MATCH_RECOGNIZE (MEASURES U.user.id AS v PATTERN (D U) DEFINE U AS U.user.id = 1)"
    argv = ["run", clause, str(path), "--records", "Records", "-o", str(out)]
    assert main(argv) == 0
    assert len(out.read_text().splitlines()) == length // 3 + 1


def test_records_are_read_through_lists(tmp_path: Path) -> None:
    """As the exporter of OpenTelemetry nests them."""
    path = tmp_path / "e.json"
    scopes = [{"logRecords": RECORDS[:1]}, {"logRecords": RECORDS[1:]}]
    path.write_text(json.dumps({"resourceLogs": [{"scopeLogs": scopes}]}))
    how: Any = {"records": "resourceLogs.scopeLogs.logRecords", "type_column": "eventName"}
    assert [event.type for event in Stream.read(path, **how)] == ["A", "B", "A"]


@pytest.mark.parametrize("form", AROUND)
@pytest.mark.parametrize("options", [{}, {"type_column": "eventName"}])
def test_without_the_option_the_error_shows_it(
    form: str, options: dict[str, Any], tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "e.json"
    path.write_text(AROUND[form][0])
    with pytest.raises(cerlab.BadData) as caught:
        Stream.read(path, **options)
    assert "use records='Records'" in str(caught.value)
    assert "use --records Records" in cli("run", "A", path, status=2).err


def test_records_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"Records": RECORDS}))
    with pytest.raises(cerlab.BadData, match="no list 'records'") as caught:
        Stream.read(path, records="records")
    assert "Records" in caught.value.hint
    path.write_text('{"Records": [1, {"type": "A"}]}')
    with pytest.raises(cerlab.BadData, match=r"CER0734.*row 1"):
        Stream.read(path, records="Records")
    aside = tmp_path / "aside"
    assert len(Stream.read(path, records="Records", quarantine=aside)) == 1
    assert json.loads(aside.read_text())["row"] == "1"
    for name in ("e.csv", "e.parquet"):
        other = tmp_path / name
        if name == "e.csv":
            other.write_text("type\nA\n")
        else:
            written(other, ROWS)
        with pytest.raises(cerlab.UsageError, match="CER0837"):
            Stream.read(other, records="Records")


def test_a_pipe_reads_paths_and_records(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    for text, options in ((lines, []), (json.dumps({"R": ROWS}, indent=1), ["--records", "R"])):
        argv = ["run", "A : B FILTER A[user.id = 3]", "-", "--columns", "B.user.id", *options]
        done = subprocess.run(
            [sys.executable, "-m", "cerlab", *argv], input=text, capture_output=True, text=True
        )
        assert json.loads(done.stdout) == {"start": 0, "end": 1, "B.user.id": 4}, done.stderr


@pytest.mark.parametrize("query", ["A ; B FILTER B[user.id = 3]", "(A+ ; B) FILTER A[n < 3]"])
def test_sessions_keep_nested_values_in_their_state(query: str, tmp_path: Path) -> None:
    events = Stream.read(written(tmp_path / "e.ndjson", ROWS))
    parsed = cerlab.parse_query(f"SELECT * WHERE {query}")
    expected = parsed.run(events).table(["B.user.id"]).to_pylist()
    assert expected
    for parts in ([events[:1], events[1:]], [events[:3], events[3:]], [[e] for e in events]):
        state, rows = None, list[Any]()
        for part in parts:
            session = parsed.tabulating(["B.user.id"], state=state)
            rows += session.push(part).to_pylist()
            state = session.state()
        assert rows == expected


def test_a_repeated_key_inside_is_refused_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "e.ndjson"
    path.write_text('{"type": "A", "v": {"a": 1, "a": 2, "b": 3}, "n": 1}\n')
    assert cerlab.count("A FILTER A[n = 1 AND v.b = 3]", path) == 1
    with pytest.raises(cerlab.BadData, match=r"CER0732: 'v\.a' occurs twice"):
        cerlab.count("A FILTER A[v.a = 1]", path)


@pytest.mark.parametrize("inside", ["%s", '{"w": %s}', "[%s]"])
def test_row_patterns_refuse_a_repeated_key_when_they_read_it(inside: str, tmp_path: Path) -> None:
    line = '{"type": "A", "n": 1, "v": %s}\n' % (inside % '{"a": 1, "a": 2, "b": 3}')
    path = tmp_path / "e.ndjson"
    path.write_text(line)
    field = {"%s": "v", '{"w": %s}': "v.w"}.get(inside)
    texts = {"n": "A.n", "b": f"A.{field}.b", "a": f"A.{field}.a"}
    queries = {
        name: f"MATCH_RECOGNIZE (ORDER BY n MEASURES {x} AS x PATTERN (A) DEFINE A AS A.n = 1)"
        for name, x in texts.items()
        if field is not None or name == "n"
    }
    for name, expected in (("n", 1), ("b", 3)):
        if name in queries:
            assert cerlab.match_recognize(queries[name], path).to_pylist() == [{"x": expected}]
    if "a" in queries:
        with pytest.raises(cerlab.BadData, match=r"CER0732: 'v.*\.a' occurs twice"):
            cerlab.match_recognize(queries["a"], path)
        argv = [sys.executable, "-m", "cerlab", "run", queries["a"], "-"]
        done = subprocess.run(argv, input=line, capture_output=True, text=True)
        assert done.returncode == 2
        assert "occurs twice" in done.stderr


def test_a_path_in_brackets_does_not_begin_with_a_label() -> None:
    with pytest.raises(cerlab.QuerySyntaxError) as caught:
        cerlab.parse_query("SELECT * WHERE A ; B FILTER B[price > A.price]")
    assert "write FILTER B.price > A.price" in caught.value.hint
    cerlab.parse_query("SELECT * WHERE A ; B FILTER B[price > `A.price`]")


def test_a_key_inside_an_object_is_not_that_of_the_row(tmp_path: Path) -> None:
    """Numbers are integers, and keys are there or missing, by the row's own keys."""
    lines = ['{"type": "A", "v": 3.0, "o": {"v": 3}}', '{"type": "A", "o": {"v": null}}']
    path = tmp_path / "e.ndjson"
    path.write_text("".join(f"{line}\n" for line in lines) * 1_000)
    events = Stream.read(path)
    assert repr(events[0].attributes["v"]) == "3.0"
    assert list(events[1].attributes) == ["o"]


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a": ', "}")])
@pytest.mark.parametrize("depth", [100, 600, 30_000])
def test_deep_values_are_read_or_refused(
    depth: int, brackets: tuple[str, str], tmp_path: Path
) -> None:
    """Deep values end the process where a parser recurses without a bound."""
    path = tmp_path / "e.ndjson"
    opening, closing = brackets
    path.write_text(f'{{"type": "A", "v": {opening * depth}1{closing * depth}}}\n' * 2)
    if depth > 1_000:
        with pytest.raises(cerlab.BadData, match="CER0733"):
            cerlab.count("A", path)
    else:
        assert cerlab.count("A", path) == 2
