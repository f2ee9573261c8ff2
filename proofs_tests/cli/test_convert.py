"""``cerlab convert``: events from one format to another, equal or refused."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings

import cerlab
from cerlab import Event, io
from cerlab.cli import main
from cerlab.io.sink import open_sink
from proofs_tests.command import Cli
from proofs_tests.io.test_round_trips import EVENTS

SUFFIXES = {"csv": ".csv", "ndjson": ".ndjson", "core": ".core", "arrow": ".arrow"} | {
    "parquet": ".parquet"
}
ROWS: list[dict[str, object]] = [
    {"type": "BUY", "price": 3.5, "name": "x, y", "n": 1, "b": True},
    {"type": "SELL", "price": 1e16, "name": "it's", "n": -2, "b": False},
    {"type": "SELL", "price": None, "name": None, "n": None, "b": None},
]


def plain(event: Event) -> tuple[object, ...]:
    """An integer among doubles may become one."""
    numbers = {int: "number", float: "number"}
    attributes = {
        (a, numbers.get(type(v), type(v)), v) for a, v in event.attributes.items() if v is not None
    }
    return event.type, event.stream, attributes


@pytest.mark.parametrize("source", SUFFIXES)
@pytest.mark.parametrize("target", SUFFIXES)
def test_from_every_format_to_every_other(source: str, target: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"in{SUFFIXES[source]}", tmp_path / f"out{SUFFIXES[target]}"
    stream = cerlab.Stream.from_events(ROWS)
    with open_sink(first, source) as out:
        out.events(stream)
    assert main(["convert", str(first), str(second)]) == 0
    assert [plain(e) for e in io.read(second)] == [plain(e) for e in stream]


@pytest.mark.parametrize("kind", SUFFIXES)
@settings(max_examples=60)
@given(events=EVENTS)
def test_what_is_written_reads_back_or_is_refused(
    kind: str, events: list[Event], tmp_path_factory: pytest.TempPathFactory
) -> None:
    usable = [e for e in events if not {"type", "stream"} & set(e.attributes)]
    path = tmp_path_factory.mktemp("written") / f"events{SUFFIXES[kind]}"
    try:
        with open_sink(path, kind) as out:
            out.events(cerlab.Stream(usable))
    except cerlab.BadData:
        assert not path.exists()
        return
    if usable or kind == "csv":
        assert [plain(e) for e in io.read(path)] == [plain(e) for e in usable]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"type": "A", "n": "12"}, "csv"),
        ({"type": "A", "n": "TRUE"}, "csv"),
        ({"type": "A", "n": ""}, "csv"),
        ({"type": "A", "n": "a\0b"}, "csv"),
        ({"type": "A", "n": datetime(2020, 1, 1)}, "ndjson"),
        ({"type": "A", "n": timedelta(1)}, "ndjson"),
        ({"type": "A", "n": timedelta(1)}, "csv"),
        ({"type": "A", "n": timedelta(1)}, "core"),
        ({"type": "A", "n": "a\nb"}, "core"),
        ({"type": "a b", "n": 1}, "core"),
        ({"type": "A", "n": float("nan")}, "ndjson"),
        ({"type": "A", "n": float("inf")}, "ndjson"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_with_its_place(
    row: dict[str, object], kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    with pytest.raises(cerlab.BadData, match="row 1") as caught, open_sink(path, kind) as out:
        out.events(cerlab.Stream.from_events([row]))
    assert caught.value.code == "CER0749"
    assert not path.exists()


def test_to_standard_output_and_with_a_type(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n\n1\n2\n")
    lines = cli("convert", path, "-", "--to", "ndjson", "--type", "A").lines
    assert [json.loads(line) for line in lines] == [{"type": "A", "n": 1}, {"type": "A", "n": 2}]


def test_a_place_that_tells_no_format(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("type\nA\n")
    assert "CER0867" in cli("convert", path, tmp_path / "out", status=2).err


def test_declarations_that_are_no_text(tmp_path: Path, cli: Cli) -> None:
    declarations, events = tmp_path / "s.ceql", tmp_path / "e.ndjson"
    declarations.write_bytes("CREATE STREAM S { EVENT A { é:int } }".encode("latin-1"))
    events.write_text('{"type": "A"}\n')
    out = tmp_path / "o.csv"
    assert "CER0715" in cli("convert", events, out, "--schema", declarations, status=2).err
    assert not out.exists()
