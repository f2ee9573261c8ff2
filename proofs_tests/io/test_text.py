"""Text read by pyarrow gives what reading it line by line gives, errors included."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import Event, Stream
from cerlab.io import batches, core_text, delimited, ndjson, readers, source, text_reader
from cerlab.io.parts import Refused
from cerlab.model.columns import values_of
from cerlab.model.event import NO_VALUE, shown, value_of
from proofs_tests.suite import Suite

INTEGERS = ("0", "7", "-12", "+5", "007", "123456789012345678", "25263126")
DECIMALS = (
    "0.5",
    "27.8500",
    "-1e-3",
    "3.",
    ".25",
    "+2.5E+2",
    "0.30000000000000004",
    "9007199254740993.0",
    "0.1234567890123456789",
    "1e23",
)
LARGE = ("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e400", "0e999")
WORDS = ("TRUE", "false", "NULL", "Null", "nan", "inf", "e5", "-", "+", ".", "1e", "1.5.2", "0x1")
TEXTS = ("INTC", "a b", "é", "São Paulo", "北京", "x=y", "a/b", "it", "-x", "12a", "12:30", "")
ODD = (
    "١٢",
    "falſe",
    "\u00a0x",
    "x\u2003",
    "\u2028",
    "a\\b",
    "a\tb",
    "(x)",
    " x",
    "x ",
    "\x1f",
    "`",
)
QUOTATIONS = (
    "'x'",
    "'it''s'",
    '"a ""b"" c"',
    '"a, b"',
    "'a, b'",
    "''",
    '""',
    '"7"',
    "'7'",
    '"é"',
    "'",
)
POOLS = (
    INTEGERS,
    DECIMALS,
    INTEGERS + DECIMALS,
    TEXTS,
    WORDS,
    INTEGERS + TEXTS,
    QUOTATIONS + TEXTS,
)
EVERY = (*INTEGERS, *DECIMALS, *LARGE, *WORDS, *TEXTS, *ODD, *QUOTATIONS)


def cell(rng: Random, pool: tuple[str, ...], odd: float) -> str:
    return rng.choice(EVERY if rng.random() < odd else pool)


def core_line(rng: Random, shape: Any, odd: float) -> str:
    head, names, pools, (equals, comma, close) = shape
    pairs = (f"{n}{equals}{cell(rng, pool, odd)}" for n, pool in zip(names, pools, strict=True))
    return f"{head}({comma.join(pairs)}{close}"


def core_shape(rng: Random) -> Any:
    names = rng.sample(("v", "w", "größe", "n_1", "id", "stream"), rng.randrange(4))
    spaces = rng.choice((("=", ",", ")"), ("=", ",", ")"), (" = ", " , ", " ) ")))
    head = rng.choice(("BUY", "SELL", "S>A", "S > A", "É"))
    return head, names, [rng.choice(POOLS) for _ in names], spaces


JSON_ODD = (
    '"a\\nb"',
    "[1]",
    "{}",
    '{"a": 1, "a": 2}',
    '{"a": 99999999999999999999}',
    "NaN",
    "-Infinity",
    "01",
    "+1",
    "1.",
    ".5",
    "1e",
    "2.e1",
    "-",
    "1e5x",
    "'x'",
    '"',
    "tru",
)
JSON_POOLS = (
    ("0", "-7", "12", "123456789012345678", "-0"),
    ("0.5", "1e3", "-2.5E-2", "0.1234567890123456789", "12"),
    ("true", "false", "null"),
    ('"x"', '"é"', '"a, b"', '""', '" x "', '"7"', "null"),
    (
        '{"a": 1, "b": {"c": "x"}}',
        '{"b": {"c": null}}',
        '{"a": 7, "v": null, "w": 3}',
        "null",
        "{}",
    ),
    ('{"a": 2.5}', '{"a": 3}', '{"a": 3.0}', '{"a": 9007199254740993}', '{"b": {"d.e": true}}'),
    ('{"a": "2024-01-01"}', '{"a": "x"}', '{"a": "\\u00e9", "b": [{"c": 1}]}', '{"b": []}'),
    ("[]", "[1]", '[{"a": 1}]', '[{"v": null}]'),
)
PATHS = ("v.a", "w.a", "größe.a", "v.b.c", "w.b.c", "v.b", "v.b.`d.e`", "a b.a", "v.z", "w.b.c.d")
"""Paths into the nested values of these columns."""


JSON_TOKENS = (("{", ": ", ", ", "}"), ("{", ":", ",", "}"), (" { ", " : ", " , ", " } "))


def json_line(rng: Random, shape: Any, odd: float) -> str:
    names, pools, (open_, colon, comma, close) = shape
    bad = (*JSON_ODD, "9223372036854775808", "1e400", "null", '""')
    values = [rng.choice(bad if rng.random() < odd else pool) for pool in pools]
    pairs = (f'"{n}"{colon}{v}' for n, v in zip(names, values, strict=True))
    return f"{open_}{comma.join(pairs)}{close}"


def json_shape(rng: Random) -> Any:
    names = rng.sample(("v", "w", "größe", "a b", "stream"), rng.randrange(4))
    if rng.random() < 0.95:
        names.insert(rng.randrange(len(names) + 1), "type")
    types = *[('"A"', '"B"')] * 9, ('"A"', "7", "true")
    streams = (('"S"', "null", '""'),)
    own = {"type": types, "stream": streams}
    tokens = rng.choice(JSON_TOKENS)
    return names, [rng.choice(own.get(n, JSON_POOLS)) for n in names], tokens


def csv_file(rng: Random, odd: float) -> list[str]:
    names = rng.sample(("v", "w", "größe", " x ", "stream", "type"), rng.randrange(1, 5))
    pools: dict[str, Any] = {"type": ("A", "B", "7", '"C"'), "stream": ("S", "", '""', "NULL")}
    pools_of_columns = [pools.get(name, rng.choice(POOLS)) for name in names]
    lines = [",".join(names)]
    for _ in range(rng.randrange(40)):
        cells = [cell(rng, pool, odd) for pool in pools_of_columns]
        if rng.random() < odd / 2:
            cells = rng.choice((cells[1:], [*cells, "1"], ['"two\nlines"', *cells[1:]], []))
        lines.append(",".join(cells))
    return lines


ODD_LINES = ("", "# x", "-- y", "  ", "?", "A(", "A(v=1,)", '{"type": "A", "type": 1}')


def lines_of(rng: Random, shape: Callable[[Random], Any], line: Any, odd: float) -> list[str]:
    shapes = [shape(rng) for _ in range(rng.choice((1, 1, 2, 20)))]
    lines = []
    for _ in range(rng.randrange(40)):
        lines.append(line(rng, rng.choice(shapes), odd))
        if rng.random() < odd:
            lines.append(rng.choice(ODD_LINES))
    return lines


FORMATS: dict[str, Callable[[Random, float], list[str]]] = {
    "core": lambda rng, odd: lines_of(rng, core_shape, core_line, odd),
    "ndjson": lambda rng, odd: lines_of(rng, json_shape, json_line, odd),
    "csv": csv_file,
}


def write(rng: Random, kind: str, path: Path) -> dict[str, Any]:
    """A random file, most of whose lines have few shapes; returns options to read it."""
    odd = rng.choice((0, 0, 0.01, 0.05, 0.5))
    ends = rng.choice((("\n",), ("\r\n",), ("\n", "\r\n", "\r")))
    content_text = "".join(line + rng.choice(ends) for line in FORMATS[kind](rng, odd))
    content = (rng.choice(("", "", "\ufeff")) + content_text).encode()
    if rng.random() < 0.3:
        content = content.rstrip()
    if rng.random() < odd:
        at = rng.randrange(len(content) + 1)
        content = content[:at] + rng.choice((b"\xff", b"\0", b"\xc3", b"\r")) + content[at:]
    path.write_bytes(content)
    return {"type": "Z"} if rng.random() < 0.3 else {}


def refuse(*_: Any) -> Any:
    raise Refused


@contextmanager
def reading(rng: Random, *, at_once: bool) -> Iterator[None]:
    """The settings under which a small file is read as a large one is, or line by line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_reader, "BLOCK", rng.choice((8, 64, 1 << 22)))
        patch.setattr(text_reader, "SHORT", rng.choice((1, 20, 1 << 16)))
        patch.setattr(text_reader, "LINES", rng.choice((1, 3, 1 << 16)))
        kept = rng.choice((0, 1 << 22))
        patch.setattr(source, "KEPT", kept)
        patch.setattr(readers, "KEPT", kept)
        if not at_once:
            patch.setattr(delimited, "text_columns", refuse)
            patch.setattr(core_text, "line_columns", refuse)
            patch.setattr(ndjson.Reader, "rows", refuse)
        yield


def typed_events(events: Any) -> list[Any]:
    """Events with the types of their values."""
    return [
        (e.type, e.stream, sorted((n, type(v).__name__, repr(v)) for n, v in shown(e).items()))
        for e in events
    ]


def read_paths(stream: Stream, found: dict[str, Any]) -> None:
    """Add the values of `PATHS`, as columns have them; a refusal stands for a whole path."""
    for name in PATHS:
        try:
            column = stream.columns.get(name, [None] * len(stream))
            values = [*map(repr, values_of(column, name))]
        except cerlab.BadData:
            found[name] = "refused"
            continue
        # one by one, as the reference reads them
        assert values == [repr(value_of(event, name)) for event in stream]
        if isinstance(before := found.setdefault(name, []), list):
            before += values


def outcome(path: Path, how: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the events that were read, then the error with its place, if any."""
    events: list[Event] = []
    paths: dict[str, Any] = {}
    try:
        for stream in how(path, **options):
            events.extend(stream)
            read_paths(stream, paths)
            check_columns(stream)
    except cerlab.BadData as error:
        last = (error.code, error.message, str(error.place), error.hint)
        return typed_events(events), paths, last
    return typed_events(events), paths, None


def whole(path: Path, **options: Any) -> Iterator[Stream]:
    yield Stream.read(path, **options)


def check_columns(stream: Stream) -> None:
    """The columns of a stream are the values of its events."""
    nested = {name for event in stream for name, value in shown(event).items() if value is NO_VALUE}
    for name in stream.columns:
        if name in nested:
            with pytest.raises(cerlab.BadData, match="CER0741"):
                stream.columns[name]
            continue
        column = stream.columns[name]
        assert len(column) == len(stream)
        values = [value_of(event, name) for event in stream]
        assert list(map(repr, values_of(column, name))) == list(map(repr, values)), name


@pytest.mark.filterwarnings("ignore:CER092")
@pytest.mark.parametrize("kind", FORMATS)
def test_both_ways_to_read_a_text_are_one(
    kind: str, tmp_path: Path, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once_count, count = [0], [0]
    format: Any = {
        "core": core_text._CoreReader,
        "csv": delimited._CsvReader,
        "ndjson": ndjson._NdjsonReader,
    }[kind]
    read_at_once = format.rows

    def counting(self: Any, data: bytes) -> Any:
        rows = read_at_once(self, data)
        at_once_count[0] += rows.count
        return rows

    monkeypatch.setattr(format, "rows", counting)

    def case(rng: Random) -> bool:
        path = tmp_path / f"e.{kind}"
        options = write(rng, kind, path)
        if rng.random() < 0.3:
            options["quarantine"] = tmp_path / "aside"
        outcomes = []
        how = rng.choice((whole, lambda path, **o: batches(path, size=rng.choice((1, 7)), **o)))
        for at_once in (False, True):
            with reading(rng, at_once=at_once):
                events, paths, error = outcome(path, how, options)
            aside = options.get("quarantine")
            outcomes.append(
                (events, paths, error, aside.read_text() if aside and aside.exists() else None)
            )
        assert outcomes[1] == outcomes[0], path.read_bytes()
        count[0] += len(outcomes[0][0])
        return bool(outcomes[0][0])

    suite.run(case, deep_count=5_000, needs_answers=0.3)
    assert at_once_count[0] > count[0] / 5, "lines are read at once"


@pytest.mark.parametrize("plain", [["0", "7", "-12"], ["0.5", "7", "1e3"], ["a", "b", "7"]])
@pytest.mark.parametrize("odd", [*LARGE, *INTEGERS, *WORDS, " 7", "9007199254740993", "0XF", "b"])
def test_an_odd_cell_after_the_types_are_known(
    odd: str, plain: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyarrow reads later blocks by the types of the first one, as it reads their texts."""
    cells = [*plain * 10, odd, *plain * 3]
    path = tmp_path / "e.csv"
    path.write_text("".join(f"{line}\n" for line in ("type,v", *(f"A,{cell}" for cell in cells))))
    monkeypatch.setattr(text_reader, "BLOCK", 40)
    monkeypatch.setattr(text_reader, "SHORT", 20)
    found = []
    for by_line in (False, True):
        if by_line:
            monkeypatch.setattr(delimited, "text_columns", refuse)
        with warnings.catch_warnings(record=True, action="always") as caught:
            found.append((outcome(path, whole, {}), [str(each.message) for each in caught]))
    assert found[0] == found[1]
