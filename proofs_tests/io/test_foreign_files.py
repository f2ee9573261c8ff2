"""Files of other programs get a hint that names them, and works when it is followed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import cerlab

EVENTS: list[dict[str, Any]] = [{"type": "A", "t": 1}, {"type": "B", "t": 2}]
QUERY = "SELECT * WHERE A ; B"


def test_an_archive_and_a_workbook_are_named(tmp_path: Path) -> None:
    for name, words in (("e.zip", "a ZIP archive"), ("e.xlsx", "a workbook")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("e.csv", "type,t\nA,1\nB,2\n")
        with pytest.raises(cerlab.BadData, match=f"CER0742: this is {words}"):
            cerlab.count(QUERY, str(tmp_path / name))
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        archive.extractall(tmp_path)
    assert cerlab.count(QUERY, str(tmp_path / "e.csv")) == 1


@pytest.mark.parametrize(
    ("name", "head", "words"),
    [
        ("e.avro", b"Obj\x01\x04\x14avro.codec\x08null", "an Avro file"),
        ("e.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a workbook of Excel 97"),
        ("e.db", b"SQLite format 3\x00", "a database of SQLite"),
    ],
)
def test_a_binary_file_is_named(name: str, head: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(head)
    with pytest.raises(cerlab.BadData, match=f"CER0742: this is {words}"):
        cerlab.count(QUERY, str(tmp_path / name))


def lines_from(first: int) -> Callable[[str], str]:
    return lambda text: "".join(text.splitlines(keepends=True)[first:])


def same(text: str) -> str:
    return text


def compact(text: str) -> str:
    """Return the objects of a text one a line, as ``jq -c .`` does."""
    objects, at, decoder = [], 0, json.JSONDecoder()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        read, at = decoder.raw_decode(text, at)
        objects.append(json.dumps(read))
    return "\n".join(objects)


PRETTY = "\n".join(json.dumps(event, indent=2) for event in EVENTS)
JOINED = "".join(map(json.dumps, EVENTS))
LOGGED = [{"id": f"e{n}", **event, "attributes": []} for n, event in enumerate(EVENTS)]
OCEL = json.dumps({"events": LOGGED, "objects": [], "eventTypes": []})
CASES = [
    ("sep.csv", "sep=;\ntype;t\nA;1\nB;2\n", "delete the line sep=", lines_from(1), {}),
    ("title.csv", "Export of events\n\ntype,t\nA,1\nB,2\n", "above the header", lines_from(2), {}),
    ("kind.csv", "event,t\nA,1\nB,2\n", "type_column='event'", same, {"type_column": "event"}),
    (
        "xes.csv",
        "case,concept:name\n1,A\n1,B\n",
        "type_column='concept:name'",
        same,
        {"type_column": "concept:name"},
    ),
    (
        "kind.ndjson",
        '{"activity": "A"}\n{"activity": "B"}\n',
        "type_column='activity'",
        same,
        {"type_column": "activity"},
    ),
    ("pretty.json", PRETTY, "an object goes over several lines; jq -c .", compact, {}),
    ("pretty.ndjson", PRETTY, "an object goes over several lines; jq -c .", compact, {}),
    ("joined.ndjson", JOINED, "several objects are in one line; jq -c .", compact, {}),
    ("ocel.json", OCEL, "use records='events'", same, {"records": "events"}),
    ("whole.json", json.dumps({"events": EVENTS}), "use records=", same, {"records": "events"}),
]


@pytest.mark.parametrize(
    ("name", "text", "words", "follow", "how"), CASES, ids=lambda x: str(x)[:20]
)
def test_a_hint_works_when_it_is_followed(
    name: str, text: str, words: str, follow: Callable[[str], str], how: Any, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(cerlab.BadData) as caught:
        cerlab.count(QUERY, str(path))
    assert words in caught.value.hint
    path.with_suffix(".ndjson" if "json" in name else ".csv").write_text(follow(text), "utf-8")
    mended = path.with_suffix(".ndjson" if "json" in name else ".csv")
    assert cerlab.count(QUERY, str(mended), **how) == 1


@pytest.mark.parametrize(
    "line",
    [
        "Jan 31 10:00:00 host sshd[12]: Failed password for ana",
        "<34>1 2003-10-11T22:14:15.003Z host su - ID47 - failed",
    ],
)
def test_syslog_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "e.log"
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(cerlab.BadData) as caught:
        cerlab.count(QUERY, str(path))
    assert "this is syslog" in caught.value.hint


def test_a_lazy_frame_is_to_be_collected() -> None:
    frame = pl.LazyFrame(EVENTS)
    with pytest.raises(cerlab.UsageError) as caught:
        cerlab.count(QUERY, frame)
    assert "frame.collect()" in caught.value.hint
    assert cerlab.count(QUERY, frame.collect()) == 1


def test_periods_are_to_be_moments() -> None:
    frame = pd.DataFrame({"type": ["A", "B"], "t": pd.period_range("2024-01", periods=2, freq="M")})
    with pytest.raises(cerlab.BadData) as caught:
        cerlab.count(QUERY, frame)
    assert "frame['t'].dt.to_timestamp()" in caught.value.hint
    frame["t"] = frame["t"].dt.to_timestamp()
    assert cerlab.count(QUERY, frame) == 1


def test_a_column_with_an_odd_name_is_written_in_back_quotes() -> None:
    matches = cerlab.parse_query("SELECT * WHERE A").run([{"type": "A", "org:resource": "x"}])
    with pytest.raises(cerlab.UsageError) as caught:
        matches.table(["A.org:resource"])
    assert caught.value.hint == "write A.`org:resource`"
    assert matches.table(["A.`org:resource`"]).num_rows == 1


@pytest.mark.parametrize("written", ["t", "ts", "tst", "tstam", "tstampp", "tstmap", "Tstamp"])
def test_a_mistyped_name_is_corrected_at_every_length(written: str) -> None:
    events = [{"type": "A", "tstamp": 1, "price": 2}]
    with pytest.warns(cerlab.CerlabWarning, match="did you mean 'tstamp'"):
        cerlab.evaluate("SELECT * WHERE A", events, time=written)
    with pytest.raises(cerlab.UsageError) as caught:
        cerlab.parse_query("SELECT * WHERE A").run(events).table([f"A.{written}"])
    assert caught.value.hint == "did you mean 'tstamp'?"
