"""Files as people have them: other delimiters, comments, arrays of JSON, ISO times."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from proofs_tests.suite import random_suite

EVENTS: list[dict[str, Any]] = [
    {"type": "A", "n": "x; y", "v": 1},
    {"type": "B", "n": "it's, so", "v": None},
    {"type": "A", "n": 'a "b"', "v": 2.5},
]


def rows(events: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(event.type, dict(event.attributes)) for event in events]


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("before", ["", "# made by hand\n#\n", "\n", "#"])
@pytest.mark.parametrize("format", [None, "csv"])
def test_delimiters_and_comments(
    delimiter: str, before: str, format: str | None, tmp_path: Path
) -> None:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerows([("type", "n", "v"), *(tuple(each.values()) for each in EVENTS)])
    suffix = "tsv" if delimiter == "\t" else "csv"
    path = tmp_path / (f"e.{suffix}" if format is None else "e.txt")
    path.write_text(before + file.getvalue())
    assert rows(cerlab.Stream.read(path, format=format)) == rows(cerlab.Stream(EVENTS))


@pytest.mark.parametrize(
    ("header", "row", "values"),
    [
        ("type,a;b;c;d", "A,x;y", {"a;b;c;d": "x;y"}),
        ("a\tb\tc,type", "x,A", {"a\tb\tc": "x"}),
        ("type;a|b;c", "A;x,y;z", {"a|b": "x,y", "c": "z"}),
        ("type\ta;b\tc", "A\tx;y\tz", {"a;b": "x;y", "c": "z"}),
        ("type|a;b|c\td", "A|x|y", {"a;b": "x", "c\td": "y"}),
    ],
)
def test_a_header_with_several_delimiters_has_the_comma_or_the_most_frequent(
    header: str, row: str, values: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "e.csv").write_text(f"{header}\n{row}\n")
    assert rows(cerlab.Stream.read(tmp_path / "e.csv")) == [("A", values)]


@pytest.mark.parametrize("indent", [None, 2])
@random_suite(400)
def test_an_array_of_json(indent: int | None, tmp_path: Path, rng: Random) -> bool:
    events = [
        {"type": "A", "v": rng.choice([1, 2.5, "], [", "\n{", None, True]), "n": f"é{k}"}
        for k in range(rng.randrange(4))
    ]
    path = tmp_path / "e.json"
    path.write_text(json.dumps(events, indent=indent))
    assert rows(cerlab.Stream.read(path)) == rows(cerlab.Stream(events))
    return bool(events)


@pytest.mark.parametrize(
    ("text", "code", "row"),
    [
        ('[{"type": "A"} {"type": "B"}]', "CER0733", 1),
        ('[{"type": "A"},]', "CER0733", 1),
        ('[{"type": "A"}', "CER0733", 1),
        ('[{"type": "A"}] x', "CER0733", 1),
        ('[{"type": "A"}, 3]', "CER0734", 2),
        ('[{"type": "A", "type": "B"}]', "CER0732", 1),
        ('[{"type": "A"}, {"v": 1}]', "CER0701", 2),
    ],
)
def test_what_is_no_array_of_events(text: str, code: str, row: int, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(cerlab.BadData, match=code) as caught:
        cerlab.Stream.read(tmp_path / "e.json")
    assert caught.value.row == row


def test_options_where_events_go_in() -> None:
    rows_of: list[dict[str, Any]] = [{"t": 1}, {"type": "B", "t": 6}]
    query = "SELECT * WHERE A ; B WITHIN 5 SECONDS"
    how: Any = {"type": "A", "time": "t", "unit": "s"}
    stream = cerlab.Stream(rows_of, **how)
    assert cerlab.count(query, stream) == 1
    assert len(cerlab.evaluate(query, rows_of, **how)) == 1
    assert cerlab.count(query, rows_of, **how) == 1
    assert len(cerlab.valuations(query, rows_of, **how)) == 1
    assert cerlab.parse_query(query).run(rows_of, **how).count() == 1
    assert "●" in str(cerlab.timeline(query, rows_of, **how))
    assert not cerlab.evaluate(query, stream, time="t", unit="ms", limit=0)
    assert len(cerlab.evaluate(query, stream, time="t", unit="ms")) == 1
    assert not cerlab.count("SELECT * WHERE A ; B WITHIN 4 SECONDS", stream)
    assert cerlab.count("SELECT * WHERE A ; B WITHIN 4 SECONDS", stream, time="t", unit="ms") == 1
