"""Columns that a query does not read are never looked at, whatever they hold."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import cerlab
from cerlab.io import arrow
from cerlab.io.arrow_ipc import IpcColumns
from cerlab.io.parquet import ParquetColumns
from proofs_tests.command import Cli

EVALUATORS = ("reference", "automaton", "lists", "tecs", "compiled", "registers", "auto")
QUERY = "A ; B FILTER B[v > 1]"
ANSWERS = [cerlab.ComplexEvent(0, 1, (0, 1))]

NO_VALUES: dict[str, Any] = {
    "lists": pa.array([[1], None]),
    "structs": pa.array([{"x": 1}, None]),
    "bytes": pa.array([b"x", b"y"]),
    "times of day": pa.array([1, 2], pa.time64("us")),
    "moments far away": pa.array([2**53, 0], pa.timestamp("s")),
}
VALUES: dict[str, Any] = {
    "durations": pa.array([1, 2**62], pa.duration("s")),
    "long unsigned integers": pa.array([2**64 - 1, 1], pa.uint64()),
    "decimals": pa.array([Decimal("1.5"), None], pa.decimal128(5, 2)),
    "wide decimals": pa.array([Decimal(10**30), None], pa.decimal128(38, 0)),
    "half floats": pa.array(np.array([1.5, 2.5], np.float16)),
    "a dictionary with NULL": pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), pa.array([None, "x"])
    ),
}


def table_with(column: Any) -> Any:
    return pa.table({"type": ["A", "B"], "v": [1, 2], "w": column})


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("name", [*NO_VALUES, *VALUES])
def test_they_change_no_answer(name: str, evaluator: Any, tmp_path: Path) -> None:
    table = table_with({**NO_VALUES, **VALUES}[name])
    path = tmp_path / "e.arrow"
    with pa.OSFile(str(path), "wb") as raw, pa.ipc.new_stream(raw, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    for events in (table, cerlab.Stream.read([path, path])[:2], str(path)):
        try:
            answers = cerlab.evaluate(QUERY, events, evaluator=evaluator)
        except cerlab.Unsupported:
            return
        assert answers == ANSWERS


@pytest.mark.parametrize("evaluator", ["reference", "tecs", "compiled"])
@pytest.mark.parametrize("name", NO_VALUES)
def test_who_reads_them_is_told(name: str, evaluator: Any) -> None:
    with pytest.raises(cerlab.BadData, match=r"CER074[01]") as caught:
        cerlab.evaluate("A FILTER A[w = 1]", table_with(NO_VALUES[name]), evaluator=evaluator)
    assert caught.value.column == "w"


def test_events_without_them_are_pickled() -> None:
    (event, _) = cerlab.Stream.from_arrow(table_with(NO_VALUES["lists"]))
    again = pickle.loads(pickle.dumps(event))
    assert again == event
    assert (list(again.attributes), again.attributes["v"]) == (["v", "w"], 1)
    for read in (lambda: again.attributes["w"], lambda: dict(again.attributes)):
        with pytest.raises(cerlab.BadData, match="CER0741"):
            read()


def test_null_in_the_dictionaries_of_several_chunks() -> None:
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array([None, text]))
        for codes, text in (([1, 0], "x"), ([0, 1], "y"), ([1, None], "x"))
    ]
    table = pa.table({"type": ["A"] * 6, "n": pa.chunked_array(chunks)})
    for evaluator in ("tecs", "compiled"):
        assert len(cerlab.evaluate("A FILTER A[n = 'x']", table, evaluator=evaluator)) == 2


def test_a_name_that_ends_polars() -> None:
    frame = pl.DataFrame({"type": ["A"], "a\0b": [1]})
    with pytest.raises(cerlab.BadData, match="NUL"):
        cerlab.evaluate("A", frame)


ROWS = 12_000
EVENTS = pa.table(
    {
        "type": ["A", "B", "C"] * (ROWS // 3),
        "user": [f"user {n % 40}" for n in range(ROWS)],
        "note": [f"note {n}" for n in range(ROWS)],
        "t": pa.array(range(ROWS)),
        "v": pa.array([n % 7 for n in range(ROWS)]),
        "w": pa.array([n / 4 for n in range(ROWS)]),
        "a.b": pa.array(range(ROWS)),
        "a": pa.array([{"b": n} for n in range(ROWS)]),
    }
)
WITH_VALUES = [name for name in EVENTS.column_names if name != "a"]
WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "parquet": lambda table, path: parquet.write_table(table, path, row_group_size=5_000),
    "arrow": lambda table, path: feather.write_feather(table, str(path), chunksize=5_000),
}


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"e.{request.param}"
    WRITERS[request.param](EVENTS, path)
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns that are read of files, one entry for each pass over a column."""
    names_read: list[str] = []
    for kind in (ParquetColumns, IpcColumns):
        read_of_kind = kind._batches

        def batches(
            self: Any,
            size: int,
            names: Sequence[str] | None,
            texts: Sequence[str] | None,
            part: Any = None,
            read_of_kind: Any = read_of_kind,
        ) -> Iterator[Any]:
            if size:  # without, the rows are counted
                names_read.extend(self.fields.names if names is None else names)
            yield from read_of_kind(self, size, names, texts, part)

        monkeypatch.setattr(kind, "_batches", batches)
    return names_read


ASKED: dict[str, tuple[Callable[[Any], Any], set[str]]] = {
    "count": (lambda events: cerlab.count("SELECT * WHERE A ; B WITHIN 5 [t]", events), {"t"}),
    "count by key": (
        lambda events: cerlab.count(
            "SELECT * WHERE A AS a ; B FILTER a[v > 2] PARTITION BY [user] WITHIN 99 [t]", events
        ),
        {"user", "t", "v"},
    ),
    "count that waits": (
        lambda events: cerlab.count("SELECT * WHERE (A WAIT 5 [t]) UNLESS B", events, until="end"),
        {"t"},
    ),
    "count of compared labels": (
        lambda events: cerlab.count(
            "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 9 [t]", events
        ),
        {"v", "t"},
    ),
    "aggregate by key": (
        lambda events: (
            cerlab.parse_query("SELECT * WHERE A ; B AS b PARTITION BY [user] WITHIN 99 [t]")
            .run(events)
            .aggregate(sum="b.w", group_by="key")
            .to_pylist()
        ),
        {"user", "t", "w"},
    ),
    "answers": (lambda events: cerlab.evaluate("SELECT * WHERE A ; B WITHIN 5 [t]", events), {"t"}),
    "to_arrow": (
        lambda events: (
            cerlab.parse_query("SELECT * WHERE A : B").run(events).to_arrow().to_pylist()
        ),
        set(),
    ),
    "table": (
        lambda events: (
            cerlab.parse_query("SELECT a[w, `a.b`] WHERE A AS a : B")
            .run(events)
            .table()
            .to_pylist()
        ),
        {"w", "a.b"},
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_only_the_columns_that_a_query_uses_are_read(
    name: str, path: Path, read: list[str]
) -> None:
    ask, used = ASKED[name]
    found = ask(path)
    assert sorted(read) == sorted({"type"} | used)
    assert found == ask(EVENTS)


def test_a_command_for_totals_reads_the_columns_that_it_uses(
    path: Path, read: list[str], cli: Cli
) -> None:
    query = "SELECT COUNT(*), SUM(b.w) WHERE A AS a ; B AS b FILTER a[v > 2] WITHIN 5 [t]"
    assert cli("run", query, path).out.startswith("{")
    assert sorted(read) == ["t", "type", "v", "w"]


def test_a_row_pattern_reads_the_columns_that_it_uses(path: Path, read: list[str]) -> None:
    of_rows = "PARTITION BY user ORDER BY t MEASURES LAST(d.v) AS x"
    pattern = "PATTERN (s d+) DEFINE d AS v < PREV(v)"
    clauses = {
        f"MATCH_RECOGNIZE ({of_rows} {pattern})": {"user", "t", "v"},
        f"MATCH_RECOGNIZE ({of_rows} ALL ROWS PER MATCH {pattern})": {*WITH_VALUES},
    }
    table = EVENTS.select(WITH_VALUES)
    WRITERS[path.suffix[1:]](table, path)
    for clause, used in clauses.items():
        read.clear()
        found = cerlab.match_recognize(clause, path)
        assert sorted(read) == sorted(used)
        assert found.num_rows > 100
        assert found == cerlab.match_recognize(clause, table)


def test_a_schema_is_checked_against_all_columns(tmp_path: Path, read: list[str]) -> None:
    path = tmp_path / "e.parquet"
    parquet.write_table(EVENTS.select(["type", "t", "note"]), path)
    declared = "CREATE STREAM S { EVENT A { t:int, note:string }, EVENT B { t:int, note:string } "
    text = "SELECT * WHERE A : B"
    whole = cerlab.Stream.read(path, schema=declared + ", EVENT C { t:int, note:string } }")
    assert cerlab.parse_query(text).run(whole).count() > 0
    assert sorted(read) == ["note", "t", "type"]
    with pytest.raises(cerlab.BadData, match="note"):
        list(cerlab.Stream.read(path, schema=declared + ", EVENT C { t:int } }"))


def test_a_stream_that_is_read_holds_all_columns(path: Path, read: list[str]) -> None:
    stream = cerlab.Stream.read(path)
    path.write_bytes(b"")
    assert sorted(read) == sorted(EVENTS.column_names)
    assert cerlab.count("SELECT * WHERE A ; B WITHIN 5 [t]", stream) == cerlab.count(
        "SELECT * WHERE A ; B WITHIN 5 [t]", EVENTS
    )
    assert [event.attributes["note"] for event in stream] == EVENTS["note"].to_pylist()


def test_the_events_of_a_file_are_those_of_its_table(path: Path, read: list[str]) -> None:
    stream = cerlab.io.as_stream(path)
    assert [event.attributes["w"] for event in stream] == EVENTS["w"].to_pylist()
    assert sorted(read) == sorted(EVENTS.column_names)
    for name in WITH_VALUES:
        assert stream.columns[name].to_pylist() == EVENTS[name].to_pylist()
    assert len(read) == len(EVENTS.column_names)


def test_the_columns_of_a_wide_file_are_not_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    of_columns = ParquetColumns._batches

    def batches(self: Any, size: int, names: Any, texts: Any, part: Any) -> Iterator[Any]:
        passes.append(len(names))
        return of_columns(self, size, names, texts, part)

    monkeypatch.setattr(ParquetColumns, "_batches", batches)
    path = tmp_path / "wide.parquet"
    parquet.write_table(pa.table({"type": ["A"], **{f"c{n}": [n] for n in range(200)}}), path)
    stream = cerlab.io.as_stream(path)
    assert [stream.columns[f"c{n}"].to_pylist() for n in range(200)] == [[n] for n in range(200)]
    assert sum(passes) == 201
    assert len(passes) == arrow._LOOKS + 1


def test_a_file_that_is_written_to_is_not_mixed_with_what_was_read(path: Path) -> None:
    matches = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 5 [t]").run(path)
    count = matches.count()
    other = EVENTS.slice(1)
    WRITERS[path.suffix[1:]](other, path)
    os.utime(path, ns=(1, 1))  # clocks of file systems may be coarse
    assert matches.count() == count
    with pytest.raises(cerlab.BadData, match="CER0742: the file was changed") as caught:
        matches.aggregate(sum="A.w")
    assert caught.value.hint is not None


def test_a_file_that_is_deleted_or_replaced_is_read_on(path: Path) -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 5 [t]")
    expected = query.run(EVENTS).aggregate(sum="A.w").to_pylist()
    matches = query.run(path)
    new = path.with_name("new")
    new.write_bytes(b"something else")
    new.replace(path)
    assert matches.aggregate(sum="A.w").to_pylist() == expected
    path.unlink()
    assert matches.table(["A.note"]).num_rows == expected[0]["count"]


def test_threads_share_a_file(path: Path) -> None:
    stream = cerlab.io.as_stream(path)
    names = WITH_VALUES * 5
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda name: stream.columns[name].to_pylist(), names)
        assert [*found] == [EVENTS[name].to_pylist() for name in names]


def test_errors_are_those_of_a_table(tmp_path: Path) -> None:
    bad = {
        "CER0714": EVENTS.set_column(3, "t", pa.array(range(ROWS, 0, -1))),
        "CER0712": EVENTS.set_column(
            3, "t", pa.array([None if n == 9 else n for n in range(ROWS)])
        ),
        "CER0741": EVENTS.set_column(4, "v", pa.array([[n] for n in range(ROWS)])),
    }
    query = "SELECT * WHERE A AS a ; B FILTER a[v > 2] WITHIN 5 [t]"
    for code, table in bad.items():
        for form, write in WRITERS.items():
            path = tmp_path / f"e.{form}"
            write(table, path)
            errors = []
            for events in (path, cerlab.Stream.read(path)):
                with pytest.raises(cerlab.BadData, match=code) as caught:
                    cerlab.count(query, events)
                errors.append(str(caught.value))
            assert errors[0] == errors[1]
