"""Random folders, compressed files, pipes, quarantines and schemas: one stream by every door.

The doors are `Stream.read`, `batches`, pipes, row patterns, ``cerlab convert`` and ``cerlab run``.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import cerlab
from cerlab import Stream
from cerlab.io import batches, row_text
from cerlab.model.columns import values_of
from proofs_tests.command import command
from proofs_tests.io.test_text import reading, typed_events
from proofs_tests.suite import Suite

COLUMNS = {
    "i": ["0", "7", "-12", "+5", "007", "9007199254740993"],
    "l": ["7", "9223372036854775808", "18446744073709551617", "9007199254740992"],
    "d": ["1.5", "1e3", "7", "nan", "9007199254740993", "9223372036854775809"],
    "b": ["true", "FALSE", "True"],
    "t": ["2020-01-02", "2020-01-02T10:00:00.5", "2020-01-02 10:00"],
    "z": ["2020-01-02T10:00:00Z", "2020-01-02T10:00:00.000000001+01:00"],
    "o": ["9999-12-31", "2020-01-02", "0001-01-01"],
    "x": ["2020-01-02", "2020-02-30"],
    "s": ["a", " b ", "é", "x y", "7", "TRUE"],
    "m": ["7", "x", "1.5", "true"],
}
"""Columns by what they hold: integers, some beyond 64 bits, decimals, booleans, moments, text."""

TYPES = {"i": "int", "d": "double", "b": "boolean", "t": "timestamp", "z": "timestamp"}
TYPES |= {"o": "timestamp"}
BAD = {
    "csv": ["A", "A,1,2,3,4,5,6,7,8,9", ',"a,b"', 'A,"x"y', "A,\0", "A,\udcff"],
    "core": ["A(v=1", "A(i=1,i=2)", "A(1)", "no event", "A(i='x)", "A(s=\udcff)"],
    "ndjson": ['{"type": "A"', "[1]", '{"i": 1}', '{"type": "A", "i": 1, "i": 2}', "\udcff"],
}


class Files(NamedTuple):
    """The lines of some files of one format; `bad` are the rows that cannot be read."""

    kind: str
    files: list[list[str]]
    bad: list[str]
    names: list[str]
    schema: str | None


def quoted(rng: Random, cell: str) -> str:
    return f'"{cell}"' if "," in cell or '"' in cell or rng.random() < 0.1 else cell


def line_of(rng: Random, kind: str, type: str, cells: dict[str, str]) -> str:
    if kind == "csv":
        return ",".join([type, *(quoted(rng, cell) for cell in cells.values())])
    held = {name: cell for name, cell in cells.items() if cell}
    if kind == "core":
        pairs = (f"{n}='{c}'" if n == "s" else f"{n}={c}" for n, c in held.items())
        return f"{type}({','.join(pairs)})"
    values = {n: c.strip() if n in "tzo" else c for n, c in held.items()}
    for name in values.keys() & {"i", "d", "b"}:
        text = values[name].lower().lstrip("+")
        if name == "b" or text not in ("nan", "9223372036854775809", "007"):
            values[name] = json.loads(text)
        else:
            values[name] = 7  # type: ignore[assignment]
    return json.dumps({"type": type, **values}, ensure_ascii=rng.random() < 0.5)


def files_of(rng: Random) -> Files:
    kind = rng.choice(("csv", "core", "ndjson"))
    names = rng.sample([*COLUMNS], rng.randrange(1, 5))
    schema = None
    if rng.random() < 0.4:
        names = [name for name in names if name in TYPES or name in "sm"] or ["i"]
        declared = ", ".join(f"{name}:{TYPES.get(name, 'string')}?" for name in names)
        events = ", ".join(f"EVENT {each} {{ {declared} }}" for each in "AB")
        schema = f"CREATE STREAM S {{ {events} }}"
    pools = {name: rng.sample(COLUMNS[name], rng.randrange(1, 3)) for name in names}
    empty = rng.choice((0.0, 0.2))
    files, bad = [], []
    for _ in range(rng.choice((1, 1, 2, 3))):
        head = ["# prices"] * (rng.random() < 0.2) + [""] * (rng.random() < 0.2)
        lines = [*head, ",".join(["type", *names])] if kind == "csv" else head * (kind == "core")
        for _ in range(rng.choice((1, 2, 5, 30))):
            cells = {n: "" if rng.random() < empty else rng.choice(pools[n]) for n in names}
            lines.append(line_of(rng, kind, rng.choice("AB"), cells))
            if rng.random() < 0.05:
                lines.append("")
            if rng.random() < 0.05:
                lines.append(rng.choice(BAD[kind]))
                bad.append(lines[-1])
        files.append(lines)
    return Files(kind, files, bad, names, schema)


def written(rng: Random, case: Files, folder: Path, end: str) -> list[Path]:
    """The files, some of them compressed."""
    paths = []
    for path in folder.iterdir():
        path.unlink()
    for n, lines in enumerate(case.files):
        last = end if case.bad or rng.random() < 0.7 else ""
        data = (end.join(lines) + last).encode("utf-8", "surrogateescape")
        path = folder / f"part-{n}.{case.kind}"
        match rng.choice(("", "", ".gz", ".zst")):
            case ".gz":
                path = folder / f"{path.name}.gz"
                path.write_bytes(gzip.compress(data, mtime=0))
            case ".zst":
                path = folder / f"{path.name}.zst"
                path.write_bytes(pa.compress(data, codec="zstd", asbytes=True))
            case _:
                path.write_bytes(data)
        paths.append(path)
    return paths


def outcome(read: Callable[..., Any], options: dict[str, Any], *, quarantine: bool) -> Any:
    """The events, rows set aside and warnings of a door; or the code and the place of its error."""
    aside: list[tuple[str, str]] = []
    if quarantine:
        options = {
            **options,
            "quarantine": lambda row, e: aside.append((row.rstrip("\r\n"), e.code)),
        }
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            events = typed_events([event for part in read(options) for event in part])
        except cerlab.BadData as error:
            return error.code, error.row, error.column
    return events, aside, sorted({str(each.message)[:60] for each in caught})


def from_pipe(lines: Sequence[str], kind: str, end: str, whole: bool) -> Callable[..., Any]:
    data = (end.join(lines) + end).encode("utf-8", "surrogateescape")

    def read(options: dict[str, Any]) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            return [Stream.read("-", **options)] if whole else list(batches("-", **options))

    return read


EVERY_ROW = "MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (X))"


SEVERAL_TYPES = (cerlab.TypeMismatch, cerlab.BadData)


def check_rows(paths: list[Path], expected: Any, *, mixed: bool = False) -> None:
    """Check that row patterns have the rows of the events, or the error of reading them.

    `mixed`: a column is of integers in one file and of doubles in another, perhaps without rows.
    """
    with warnings.catch_warnings(action="ignore"):
        doors: tuple[Callable[[], pa.Table], ...] = (
            lambda: cerlab.match_recognize(EVERY_ROW, paths),
            lambda: cerlab.sql(f"SELECT * FROM e {EVERY_ROW}", {"e": paths}),
        )
        for read in doors:
            if expected[0] == "CER0701":  # a row needs no event type
                continue
            if isinstance(expected[0], str):
                with pytest.raises(cerlab.BadData) as caught:
                    read()
                error = caught.value
                assert (error.code, error.row, error.column) == expected
                continue
            try:
                table = read()
            except SEVERAL_TYPES:  # as in a column of NDJSON, or of integers beside doubles
                values = [(n, kind) for _, _, row in expected[0] for n, kind, _ in row]
                assert mixed or len(set(values)) > len({n for n, _ in values})
                continue
            if not table.num_rows:  # of types that hold no values of events, too
                assert not expected[0]
                continue
            names = [name for name in table.column_names if name not in ("type", "stream")]
            columns = [values_of(table.column(name), name) for name in names]
            rows = zip(*columns, strict=True) if names else [()] * table.num_rows
            found = [sorted(zip(names, row, strict=True)) for row in rows]
            doubles = {n for _, _, row in expected[0] for n, kind, _ in row if kind == "float"}
            assert [as_doubles(("", None, present(row)), doubles) for row in found] == [
                as_doubles(("", None, row), doubles) for _, _, row in expected[0]
            ]
            assert table.column("type").to_pylist() == [kind for kind, *_ in expected[0]]


def present(row: list[tuple[str, Any]]) -> list[tuple[str, str, str]]:
    return [(name, type(v).__name__, repr(v)) for name, v in row if v is not None]


def check_commands(
    rng: Random, case: Files, paths: list[Path], expected: Any, quarantine: bool, folder: Path
) -> None:
    """Check that ``convert`` and ``run`` have the events, or the error of reading them."""
    kind = rng.choice(("csv", "ndjson", "core", "parquet", "arrow"))
    declared, aside, out = folder / "s.ceql", folder / "aside.ndjson", folder / f"out.{kind}"
    out.unlink(missing_ok=True)
    words: list[object] = []
    options: dict[str, Any] = {}
    if case.schema is not None:
        declared.write_text(case.schema)
        words, options = ["--schema", declared], {"schema": case.schema}
    if quarantine:
        words += ["--quarantine", aside]
    converted = command("convert", *paths, out, *words)
    query = ["SELECT * WHERE A OR B", *paths, "--events", *words]
    ran = command("run", *query, *rng.choice(([], ["--evaluator", "compiled"])))
    if isinstance(expected[0], str):
        code, row, _ = expected
        for status, _, errors in (converted, ran):
            assert status == 2, errors
            assert f"{code}: " in errors
            assert row is None or f"row {row}" in errors, errors
        assert not out.exists()
        return
    if quarantine:
        set_aside = [json.loads(line) for line in aside.read_text().splitlines()]
        assert [(each["row"], each["code"]) for each in set_aside] == expected[1]
    check_run(ran, paths, {**options, **({"quarantine": aside} if quarantine else {})})
    check_converted(converted, kind, case, out, options, expected[0])


def check_run(ran: tuple[int, str, str], paths: list[Path], options: dict[str, Any]) -> None:
    """Check that each event is an answer, with its attributes."""
    with warnings.catch_warnings(action="ignore"), redirect_stderr(io.StringIO()):
        events = list(Stream.read(paths, **options))
    status, lines, errors = ran
    assert status == 0, errors
    found = [event for line in lines.split("\n") if line for event in json.loads(line)["events"]]
    texts = [
        row_text({"position": n, "type": e.type, **e.attributes}) for n, e in enumerate(events)
    ]
    assert [present_text(event) for event in found] == [present_text(json.loads(t)) for t in texts]


def present_text(event: dict[str, Any]) -> str:
    return json.dumps({name: v for name, v in event.items() if v is not None}, sort_keys=True)


def check_converted(
    converted: tuple[int, str, str],
    kind: str,
    case: Files,
    out: Path,
    options: dict[str, Any],
    events: list[Any],
) -> None:
    """Check that a file has the events, or that its format cannot hold them."""
    status, _, errors = converted
    kinds = {(n, each) for _, _, row in events for n, each, _ in row if each != "NoneType"}
    several = len(kinds) > len({name for name, _ in kinds})
    if status:
        assert not out.exists()
        assert re.search("CER07(40|41|47|49): ", errors), errors
        if kind in ("parquet", "arrow"):
            # a column without rows may be of a type that holds no values of events
            assert several or (not events and "CER0741" in errors), errors
        else:
            assert kind != case.kind, errors
        return
    if not events and kind != "csv":  # a file without lines has no events to read
        return
    with warnings.catch_warnings(action="ignore"):
        back = typed_events(Stream.read(out, **options))
    doubles = {n for n, each in kinds if each == "float"}
    assert [as_doubles(event, doubles) for event in back] == [
        as_doubles(event, doubles) for event in events
    ]


def as_doubles(event: tuple[Any, ...], doubles: set[str]) -> Any:
    """An event without NULL; integers in a column with doubles are doubles."""
    kind, stream, row = event
    return (
        kind,
        stream,
        [
            (n, "float", repr(float(text))) if n in doubles else (n, each, text)
            for n, each, text in row
            if each != "NoneType"
        ],
    )


def test_the_same_events_by_every_door(
    suite: Suite, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("converted")

    def case(rng: Random) -> bool:
        files, end = files_of(rng), rng.choice(("\n", "\n", "\r\n"))
        paths = written(rng, files, tmp_path, end)
        quarantine = bool(files.bad) and rng.random() < 0.8
        options: dict[str, Any] = {} if files.schema is None else {"schema": files.schema}
        size = rng.choice((1, 3, 1 << 16))
        doors: list[Callable[..., Any]] = [
            lambda o: [Stream.read(paths, **o)],
            lambda o: [Stream.read(str(tmp_path / "part-*"), **o)],
            lambda o: batches(paths, size=size, **o),
        ]
        if len(paths) == 1:
            doors += [lambda o: [Stream.read(paths[0], **o)]]
        expected = outcome(doors[0], options, quarantine=quarantine)
        for door in doors[1:]:
            assert outcome(door, options, quarantine=quarantine) == expected, files
        for at_once in (False, True):
            with reading(rng, at_once=at_once):
                assert outcome(doors[0], options, quarantine=quarantine) == expected, files
        if files.schema is None and not quarantine:
            check_rows(paths, expected)
        check_commands(rng, files, paths, expected, quarantine, folder)
        if len(paths) == 1:
            for whole in (False, True):
                pipe = from_pipe(files.files[0], files.kind, end, whole)
                assert outcome(pipe, options, quarantine=quarantine) == expected, files
        if files.bad and not quarantine:
            assert len(expected) == 3
            assert isinstance(expected[0], str)
            return True
        if isinstance(expected[0], str):
            return False
        assert [row for row, _ in expected[1]] == files.bad, files
        # the rows that cannot be read count neither for types nor for positions
        clean = files._replace(
            files=[[line for line in lines if line not in files.bad] for lines in files.files]
        )
        written(rng, clean._replace(bad=[]), tmp_path, "\n")
        glob = str(tmp_path / "part-*")
        alone = outcome(lambda o: [Stream.read(glob, **o)], options, quarantine=False)
        assert alone == (expected[0], [], expected[2]), files
        return bool(expected[0])

    suite.run(case, deep_count=3_300)
