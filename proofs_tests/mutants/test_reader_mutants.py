"""Wrong versions of the readers of text, which tables by hand see."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from cerlab import BadData, Stream
from cerlab.io import batches, column_types, ndjson, text_reader
from cerlab.io.nested import Nested, NestedColumns
from cerlab.model.columns import values_of
from proofs_tests.io.test_column_types import CASES, Case, check, csv_lines
from proofs_tests.mutants.driver import kills, mutant, on_rows


def is_right(case: Case) -> bool:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "e.csv"
        path.write_text("\n".join(csv_lines(case.cells)) + "\n")
        for stream in ([Stream.read(path)], batches(path, size=1)):
            check(case, [event.attributes["v"] for part in stream for event in part])
    return True


def hexadecimals(texts: Any, characters: bytes) -> bool:
    """``0x10`` is 16."""
    return characters != b"xX" and _HOLD(texts, characters)


_HOLD = column_types._hold


def infinite(cell: str | None) -> bool:
    """``1e400`` and long integers are the doubles that are next."""
    return True


def lower_case(words: Any) -> Any:
    """``TRUE`` is not a boolean."""
    return _TRUTHS(words) if set(words.to_pylist()) <= {"true", "false"} else None


_TRUTHS = column_types._truths


def without_zone(words: Any) -> Any:
    """Moments with a zone are text."""
    return column_types._cast(words, column_types.MOMENT)


MUTANTS = [
    mutant(on_rows(is_right, CASES), column_types, name, wrong)
    for name, wrong in [
        ("_hold", hexadecimals),
        ("is_double", infinite),
        ("_truths", lower_case),
        ("_moments", without_zone),
    ]
]


class Text(NamedTuple):
    """A text of events, and their values of ``v``, or the row and attribute of a bad one."""

    suffix: str
    lines: list[str]
    values: list[Any]
    bad: tuple[int, str | None] | None = None


TEXTS = [
    Text("csv", ["type,v", "A,1", "A,2.5"], [1.0, 2.5]),
    Text("csv", ["type,v", "A,2.5", "A,1"], [2.5, 1.0]),
    Text("csv", ["type,v", "A,", "A,7"], [None, 7]),
    Text("csv", ["type,v", "A,1", "A,x"], ["1", "x"]),
    Text("csv", ["type,v", "A,1", "A,true"], ["1", "true"]),
    Text("csv", ["type,v", "A,1", "A,2", "A,3,4"], [], (4, None)),
    Text("core", ["A(v=1)", "A(v=2.5)"], [1.0, 2.5]),
    Text("core", ["A(v=1)", "A(v=)", "A(v=NULL)"], [1, None, None]),
    Text("core", ["A(v='x')", "A(v='7')"], ["x", "7"]),
    Text("core", ["# a comment", "A(v=x)", "", "-- another", "A(v=y)"], ["x", "y"]),
    Text("core", ["A(v=1)", "B(u=2)", "A(v=3)"], [1, None, 3]),
    Text("core", ["A(v=x)", "A(v=y)", "A(v=z"], [], (3, None)),
    Text("core", ["A(v=x)", "A(v=y)", "A(v=y,v=z)", "A(v=z)"], [], (3, "v")),
    Text("ndjson", ['{"type":"A","v":1}', '{"type":"A","v":2.5}'], [1, 2.5]),
    Text("ndjson", ['{"type":"A","v":1.0}', '{"type":"A","v":2.5}'], [1.0, 2.5]),
    Text("ndjson", ['{"type":"A","v":9007199254740993}', '{"type":"A","v":0.5}'], [2**53 + 1, 0.5]),
    Text("ndjson", ['{"type":"A","v":"2020-01-02"}'], ["2020-01-02"]),
    Text("ndjson", ['{"type":"A","v":true}', '{"type":"A","v":null}'], [True, None]),
    Text("ndjson", ['{"type":"A","v":1}', '{"type":"B"}'], [1, None]),
    Text("ndjson", ['{"type":"A","v":1}', '{"type":"A","v":2', '{"type":"A"}'], [], (2, None)),
    Text("ndjson", ['{"type":"A","v":1}', '{"type":"A","v":2}', '{"v":3}'], [], (3, None)),
]


def is_read(case: Text) -> bool:
    """Whole, by lines that end alone, and by blocks of a line each."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / f"e.{case.suffix}"
        path.write_text("\n".join(case.lines) + "\n")
        for block in (text_reader.BLOCK, 1):
            patch.setattr(text_reader, "BLOCK", block)
            try:
                events = list(Stream.read(path))
            except BadData as error:
                where = error.row, case.bad and case.bad[1] and error.column
                if where != case.bad:
                    raise AssertionError(f"it is said of {where}") from error
                continue
            assert case.bad is None
            values = [event.attributes.get("v") for event in events]
            assert [(type(v), v) for v in values] == [(type(v), v) for v in case.values]
    return True


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: " ".join(case.lines)[:40])
def test_each_text_is_read_as_its_events(case: Text) -> None:
    assert is_read(case)


def join_to_text(one: Any, other: Any) -> Any:
    """Integers in a block and doubles in the next are text."""
    if {one, other} == {column_types.INTEGER, column_types.DOUBLE}:
        return column_types.TEXT
    return _JOIN(one, other)


_JOIN = column_types.join


def join_to_the_first(one: Any, other: Any) -> Any:
    """The type is that of the first block."""
    return other if one == column_types.NULL else one


def lines_from_the_first(data: bytes) -> int:
    """Rows count from the beginning of their block."""
    return 0


def one_too_many(data: bytes) -> int:
    """The line after the last one counts."""
    return _LINE_COUNT(data) + 1


_LINE_COUNT = text_reader._line_count


def rounded(array: Any, key: str, lines: Any) -> Any:
    """Integers beside doubles are doubles."""
    return array if str(array.type) == "double" else _COLUMN(array, key, lines)


_COLUMN = ndjson._column


def comments_stay(data: bytes) -> bytes:
    """A comment and a blank line are not taken out, so pyarrow reads them as bad events."""
    return data


MUTANTS += [
    mutant(on_rows(is_read, TEXTS), owner, name, wrong)
    for owner, name, wrong in [
        (column_types, "join", join_to_text),
        (column_types, "join", join_to_the_first),
        (text_reader, "_line_count", lines_from_the_first),
        (text_reader, "_line_count", one_too_many),
        (ndjson, "_column", rounded),
    ]
]


class Inside(NamedTuple):
    """A text of events with nested values, and what a path reads in each of them."""

    lines: list[str]
    path: str
    values: list[Any]


INSIDE = [
    Inside(['{"type":"A","v":{"w":1}}', '{"type":"A","v":{"w":2}}'], "v.w", [1, 2]),
    Inside(['{"type":"A","v":{"w":"x"}}', '{"type":"A","v":null}'], "v.w", ["x", None]),
    Inside(['{"type":"A","v":{"w":1}}', '{"type":"A","v":{"w":2.5}}'], "v.w", [1, 2.5]),
    Inside(
        ['{"type":"A","v":{"w":9007199254740993}}', '{"type":"A","v":{"w":0.5}}'],
        "v.w",
        [2**53 + 1, 0.5],
    ),
    Inside(['{"type":"A","v":{"w":"2020-01-02"}}'], "v.w", ["2020-01-02"]),
    Inside(['{"type":"A","v":{"w":{"u":1}}}', '{"type":"A","v":{"w":{}}}'], "v.w.u", [1, None]),
    Inside(['{"type":"A","v":{"w":{"u":1}}}'], "v.w", [None]),
    Inside(['{"type":"A","v":{"w.u":1}}', '{"type":"A","v":{"w":{"u":2}}}'], "v.`w.u`", [1, None]),
    Inside(['{"type":"A","v":{"w":1},"v.w":2}', '{"type":"A","v":{"w":3}}'], "v.w", [2, 3]),
    Inside(
        ['{"type":"A","v":3.0,"o":{"v":3}}', '{"type":"A","v":2.5,"o":{"v":1}}'], "v", [3.0, 2.5]
    ),
]


def is_read_inside(case: Inside) -> bool:
    """The events and the columns have the values."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "e.ndjson"
        path.write_text("\n".join(case.lines) + "\n")
        events = Stream.read(path)
        column = values_of(events.columns.get(case.path, [None] * len(events)), case.path)
        for values in (column, [event.attributes.get(case.path) for event in events]):
            assert [(type(v), v) for v in values] == [(type(v), v) for v in case.values]
    return True


@pytest.mark.parametrize("case", INSIDE, ids=lambda case: " ".join(case.lines)[:40])
def test_each_path_reads_its_field(case: Inside) -> None:
    assert is_read_inside(case)


def no_lines(lines: Any, data: bytes, *, has_nested: bool) -> None:
    """The first text of a key in a line is that of the row, also inside an object."""
    _LINES(lines, data, has_nested=False)


_LINES = ndjson._Lines.__init__


def short_paths(columns: Any, name: str) -> bool:
    """A path has two fields at most."""
    return name.count(".") < 2 and _HAS_PATH(columns, name)


_HAS_PATH = NestedColumns.has_path


MUTANTS += [
    mutant(on_rows(is_read_inside, INSIDE), owner, name, wrong)
    for owner, name, wrong in [
        (ndjson._JsonNested, "_path", Nested._path),
        (ndjson._Lines, "__init__", no_lines),
        (NestedColumns, "has_path", short_paths),
    ]
]


test_the_mutant_is_killed = pytest.mark.filterwarnings("ignore:CER092")(kills(MUTANTS))
