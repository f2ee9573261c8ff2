"""Event types in a column of another name, in every form of events."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.cli import main
from cerlab.io import batches
from cerlab.io.text_reader import SHORT
from proofs_tests.command import Cli

ROWS: list[dict[str, Any]] = [{"kind": "AB"[n % 2], "v": n, "w": n / 2} for n in range(6)]
KIND = cerlab.TypeColumn("kind")
EXPECTED = [("AB"[n % 2], {"v": n, "w": n / 2}) for n in range(6)]
QUERY = "SELECT * WHERE A ; B FILTER B[v = 5]"


def csv(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n".join(["kind,v,w", *(f"{r['kind']},{r['v']},{r['w']}" for r in rows)]))


def array(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows))


def ndjson(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n".join(map(json.dumps, rows)))


def tables(write: Callable[..., Any]) -> Callable[[Path, list[dict[str, Any]]], None]:
    return lambda path, rows: write(pa.Table.from_pylist(rows), path)


WRITERS = {
    "csv": csv,
    "ndjson": ndjson,
    "json": array,
    "parquet": tables(parquet.write_table),
    "arrow": tables(feather.write_feather),
}


def plain(stream: Any) -> list[Any]:
    return [(event.type, dict(event.attributes)) for event in stream]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_may_name_the_column_of_types(kind: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / f"e.{kind}"
    WRITERS[kind](path, ROWS)
    assert plain(cerlab.Stream.read(path, type=KIND)) == EXPECTED
    assert [e for part in batches(path, type=KIND, size=2) for e in plain(part)] == EXPECTED
    parts = batches(path, type=KIND, attributes=["v"])
    assert [(e.type, e.attributes["v"]) for part in parts for e in part] == [
        (t, values["v"]) for t, values in EXPECTED
    ]
    for more in ([], ["--evaluator", "compiled"], ["--columns", "B.v"]):
        assert len(cli("run", QUERY, path, "--type-column", "kind", *more).lines) == 3
    for wrong in ("kin", "type"):
        with pytest.raises(cerlab.BadData, match=f"no column '{wrong}'"):
            cerlab.Stream.read(path, type=cerlab.TypeColumn(wrong))


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_long_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"e.{kind}"
    rows = [{"kind": "AB"[n % 2], "v": n, "w": 0.5} for n in range(SHORT)]
    WRITERS[kind](path, rows)
    assert path.stat().st_size > SHORT
    stream = cerlab.Stream.read(path, type=KIND)
    assert plain(stream) == [(r["kind"], {"v": r["v"], "w": 0.5}) for r in rows]


def test_tables_dicts_and_pipes(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    for events in (ROWS, pa.Table.from_pylist(ROWS)):
        assert len(cerlab.evaluate(QUERY, events, type=KIND)) == 3
    assert plain(cerlab.Stream(ROWS, type=KIND)) == EXPECTED
    text = "\n".join(map(json.dumps, ROWS)).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert len(cli("run", QUERY, "-", "--type-column", "kind").lines) == 3


def test_two_columns_that_could_be_the_type(tmp_path: Path) -> None:
    for kind in ("csv", "ndjson", "parquet"):
        path = tmp_path / f"e.{kind}"
        WRITERS[kind](path, [{**row, "type": "C"} for row in ROWS])
        if kind == "csv":
            path.write_text("kind,type\nA,C\n")
        with pytest.raises(cerlab.BadData, match="'kind' holds the event types, and"):
            cerlab.Stream.read(path, type=KIND)


def test_the_command_that_is_named_has_the_column(tmp_path: Path, cli: Cli) -> None:
    csv(tmp_path / "e.csv", ROWS)
    path = str(tmp_path / "e.csv")
    assert "--type-column=kind says why" in cli("run", "B ; C", path, "--type-column", "kind").err
    assert main(["why", "B ; C", path, "--type-column=kind"]) == 1
    assert '"type": "A"' in cli("convert", path, "-", "--to", "ndjson", "--type-column", "kind").out


READ: dict[str, Any] = {"type": KIND, "time": "v", "unit": "s"}


@pytest.mark.parametrize(
    "ask",
    [
        cerlab.evaluate,
        cerlab.count,
        cerlab.valuations,
        cerlab.timeline,
        cerlab.step,
        cerlab.why_none,
        lambda query, events, **how: cerlab.why(query, events, [0, 1], **how),
        lambda query, events, **how: cerlab.matches("<type = 'A'>^ . <TRUE>*", events, **how),
        lambda query, events, **how: cerlab.parse_query(query).run(events, **how).table(),
        lambda query, events, **how: cerlab.parse_query(query).why_none(events, **how),
        lambda query, events, **how: cerlab.parse_query(query).why_not(events, [0, 1], **how),
        lambda query, events, **how: cerlab.parse_query(query).explain(events, **how),
        lambda query, events, **how: (
            cerlab.parse_query(query).open(time="v", unit="s").push(events, **how)
        ),
        lambda query, events, **how: (
            cerlab.parse_query(query).aggregating(time="v", unit="s").push(events, **how)
        ),
    ],
)
def test_whatever_takes_events_takes_how_to_read_them(ask: Callable[..., Any]) -> None:
    query = "SELECT * WHERE A ; B WITHIN 2 SECONDS"
    assert ask(query, ROWS, **READ) is not None
    with pytest.raises(cerlab.BadData, match="type"):
        ask(query, ROWS, time="v", unit="s")
