"""Folders, patterns and folders called ``key=value``: one stream, whichever door it goes in by."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.cli import main
from cerlab.io.names import NULL_KEY, files_of
from proofs_tests.command import Cli
from proofs_tests.suite import random_suite

EVERY_ROW = "MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A))"
FORMATS = ("csv", "ndjson", "core", "parquet", "arrow")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows with a type, all of the same columns, as the suffix of a path tells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
        case ".arrow":
            feather.write_feather(pa.Table.from_pylist(rows), path)
        case ".ndjson":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".csv":
            cells = [[*rows[0]], *([*row.values()] for row in rows)]
            path.write_text("".join(",".join(map(str, line)) + "\n" for line in cells))
        case _:
            texts = (",".join(f"{n}={v}" for n, v in r.items() if n != "type") for r in rows)
            lines = [f"{row['type']}({text})" for row, text in zip(rows, texts, strict=True)]
            path.write_text("\n".join(lines) + "\n")


def events(source: Any, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(e.type, dict(e.attributes)) for e in cerlab.Stream.read(source, **options)]


def test_the_files_of_a_folder_come_by_name(tmp_path: Path) -> None:
    names = ("b.csv", "a/z.csv", "a/b/c.csv", "B.csv", "é.csv", "a.csv")
    for name in (*names, "_SUCCESS", ".hidden.csv", "_old/e.csv", ".git/e.csv", "a/_e.csv"):
        write(tmp_path / name, [{"type": "A", "v": 1}])
    found = [Path(f.path).relative_to(tmp_path).as_posix() for f in files_of(tmp_path)]
    assert found == ["B.csv", "a/b/c.csv", "a/z.csv", "a.csv", "b.csv", "é.csv"]
    by_pattern = [Path(f.path).relative_to(tmp_path).as_posix() for f in files_of(f"{tmp_path}/*")]
    assert by_pattern == found
    deep = [Path(f.path).name for f in files_of(f"{tmp_path}/**/*.csv")]
    assert sorted(deep) == sorted(Path(name).name for name in names)
    (tmp_path / "none").mkdir()
    for nothing in (tmp_path / "none", f"{tmp_path}/*.json"):
        with pytest.raises(cerlab.BadData, match="CER0743"):
            files_of(nothing)


@pytest.mark.parametrize("form", FORMATS)
def test_keys_are_columns_with_the_types_of_text(form: str, tmp_path: Path) -> None:
    keys = {"007": 7, "-3": -3, "__HIVE_DEFAULT_PARTITION__": None}
    for n, key in enumerate(keys):
        write(tmp_path / f"n={key}" / f"w=a%2Fb%20{n}" / f"e.{form}", [{"type": "A", "v": n}] * 2)
    expected = [
        ("A", {"v": n, "n": keys[key], "w": f"a/b {n}"})
        for n, key in sorted(enumerate(keys), key=lambda pair: f"n={pair[1]}")
        for _ in range(2)
    ]
    for source in (tmp_path, f"{tmp_path}/n=*", f"{tmp_path}/*/*/e.{form}"):
        assert events(source) == expected
        assert [
            (e.type, dict(e.attributes)) for b in cerlab.io.batches(source, size=1) for e in b
        ] == expected
        rows = cerlab.match_recognize(EVERY_ROW, source).to_pylist()
        assert rows == [{"type": "A", **attributes} for _, attributes in expected]
    write(tmp_path / "n=1.5" / "w=" / f"e.{form}", [{"type": "A", "v": 9}])
    values = [attributes["n"] for _, attributes in events(tmp_path)]
    assert {type(value) for value in values} == {float, type(None)}
    assert events(tmp_path / "n=007") == [("A", {"v": 0, "w": "a/b 0"})] * 2


@pytest.mark.parametrize("form", FORMATS)
def test_a_key_that_is_also_a_column_is_refused(form: str, tmp_path: Path) -> None:
    write(tmp_path / "v=1" / f"e.{form}", [{"type": "A", "v": 1}])
    for ask in (
        cerlab.Stream.read,
        lambda p: list(cerlab.io.batches(p)),
        lambda p: cerlab.match_recognize(EVERY_ROW, p),
        lambda p: cerlab.count("A", p),
    ):
        with pytest.raises(cerlab.BadData, match="CER0732"):
            ask(tmp_path)
    write(tmp_path / "w=1/w=2/e.csv", [{"type": "A"}])
    with pytest.raises(cerlab.BadData, match="CER0732"):
        files_of(tmp_path)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "arrow"])
def test_a_key_may_be_the_type(form: str, tmp_path: Path) -> None:
    rows = [{"kind": "x", "v": 1}]
    for key in ("type=A", "type=7"):
        write(tmp_path / key / f"e.{form}", rows)
    assert events(tmp_path) == [("7", rows[0]), ("A", rows[0])]
    (tmp_path / "type=7").rename(tmp_path / "sort=7")
    (tmp_path / "type=A").rename(tmp_path / "sort=A")
    assert events(tmp_path, type_column="sort") == [("7", rows[0]), ("A", rows[0])]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("kind", "value"), [("int", 7), ("string", "007"), ("double", 7.0)])
def test_a_schema_declares_a_key(form: str, kind: str, value: Any, tmp_path: Path) -> None:
    write(tmp_path / "k=007" / f"e.{form}", [{"type": "A", "v": 1}])
    schema = f"CREATE STREAM S {{ EVENT A {{ v:int, k:{kind} }} }}"
    ((_, attributes),) = events(tmp_path, schema=schema)
    assert (attributes["k"], type(attributes["k"])) == (value, type(value))


def test_columns_that_differ_are_united_or_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [{"type": "A", "v": 1}])
    write(tmp_path / "b.parquet", [{"type": "B", "v": 1.5, "w": "x"}])
    assert events(tmp_path) == [("A", {"v": 1}), ("B", {"v": 1.5, "w": "x"})]
    assert cerlab.match_recognize(EVERY_ROW, tmp_path).to_pylist() == [
        {"type": "A", "v": 1.0, "w": None},
        {"type": "B", "v": 1.5, "w": "x"},
    ]
    write(tmp_path / "c.arrow", [{"type": "C", "w": 7}])
    for ask in (events, lambda p: cerlab.match_recognize(EVERY_ROW, p)):
        with pytest.raises(cerlab.BadData, match="CER0784") as caught:
            ask(tmp_path)
        assert caught.value.column == "w"
        assert "c.arrow" in str(caught.value.place)


def doors(source: Any) -> list[Callable[[], int]]:
    """Count the events of a source by each function of Python that takes files."""
    query = cerlab.parse_query("SELECT * WHERE A")
    return [
        lambda: cerlab.count("A", source),
        lambda: len(cerlab.evaluate("A", source)),
        lambda: query.run(source).count(),
        lambda: len(cerlab.Stream(source)),
        lambda: len(cerlab.Stream.read(source)),
        lambda: cerlab.match_recognize(EVERY_ROW, source).num_rows,
        lambda: cerlab.sql(f"SELECT * FROM t {EVERY_ROW}", {"t": source}).num_rows,
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_every_door_takes_files_folders_and_patterns(form: str, tmp_path: Path, cli: Cli) -> None:
    first, last = tmp_path / "k=1" / f"a.{form}", tmp_path / "k=2" / f"b.{form}"
    write(first, [{"type": "A", "v": 1}] * 2)
    write(last, [{"type": "A", "v": 2}])
    lists = ([str(first), last], [tmp_path / "k=1", last])
    for source in (*lists, tmp_path, f"{tmp_path}/*/*.{form}"):
        assert [count() for count in doors(source)] == [3] * 7
        words = [str(each) for each in (source if isinstance(source, list) else [source])]
        assert len(cli("run", "A", *words).lines) == 3
        assert len(cli("run", EVERY_ROW, *words).lines) == 3
        assert "a match" in cli("why", "A", *words, "--positions", "2").out
        lines = cli("convert", *words, "-", "--to", "ndjson").rows
        assert [line["v"] for line in lines] == [1, 1, 2]
        has_keys = source == tmp_path or isinstance(source, str)
        assert all(("k" in line) == has_keys for line in lines)
        out = cli("run", "A FILTER A[v = 2]", *words, "--columns", "A.v", "--limit", "1").out
        assert json.loads(out)["A.v"] == 2
    assert len(cli("run", "A FILTER A[k = 2]", tmp_path).lines) == 1
    assert "CER0825" in cli("run", "A", tmp_path, "-o", last, status=2).err


KEYS = ("1", "02", "x y", "a/b", "1.5", "true", "2020-01-01", "é%", "")


@random_suite(2_000)
def test_a_folder_is_the_file_with_its_keys_as_cells(rng: Random, tmp_path: Path) -> bool:
    """Read a drawn tree, and one CSV that has the keys as its last columns."""
    folder = tmp_path / str(rng.getrandbits(64))
    names = rng.sample(("k", "day", "site"), rng.randrange(1, 3))
    pools = {name: rng.sample(KEYS, rng.choice((1, 2, 2, 3))) for name in names}
    every: dict[str, list[list[str]]] = {}
    for _ in range(rng.randrange(1, 5)):
        keys = [rng.choice(pools[name]) for name in names]
        values = [quote(key, safe="") or NULL_KEY for key in keys]
        parts = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
        form = rng.choice(("csv", "csv", "core"))
        path = folder.joinpath(*parts, f"e{rng.randrange(3)}.{form}")
        cells = [str(rng.choice((1, 2, "x", 2.5))) for _ in range(rng.randrange(1, 4))]
        write(path, [{"type": "A", "v": cell} for cell in cells])
        every[str(path)] = [["A", cell, *keys] for cell in cells]
    ordered = [every[str(file.path)] for file in files_of(folder)]
    lines = [["type", "v", *names], *(row for rows in ordered for row in rows)]
    (tmp_path / "one.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    assert typed(events(folder)) == typed(events(tmp_path / "one.csv")), lines
    return len(every) > 1


def typed(some: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    return [(kind, [(n, type(v), str(v)) for n, v in row.items()]) for kind, row in some]


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "arrow"])
def test_texts_of_any_arrow_type_are_one_column(form: str, tmp_path: Path) -> None:
    coded = pa.dictionary(pa.int8(), pa.string())
    kinds = (pa.string(), pa.large_string(), coded, pa.null(), pa.string_view())
    for n, kind in enumerate(kinds):
        words = ["x", None, "x"] if kind != pa.null() else [None] * 3
        column = pa.array(words).dictionary_encode() if pa.types.is_dictionary(kind) else words
        table = pa.table({"type": ["A"] * 3, "w": pa.array(column, kind)})
        feather.write_feather(table, tmp_path / f"{n}.arrow")
    out = tmp_path / f"out.{form}"
    assert main(["convert", str(tmp_path), str(out)]) == 0
    found = [attributes.get("w") for _, attributes in events(out)]
    assert found == [None if n == 3 else word for n in range(5) for word in ("x", None, "x")]
    clause = "MATCH_RECOGNIZE (MEASURES 1 AS one ALL ROWS PER MATCH PATTERN (A))"
    rows = cerlab.match_recognize(clause, str(tmp_path / "[0-9].arrow"))
    assert rows.column("w").to_pylist() == found
    assert pa.types.is_dictionary(cerlab.Stream.read(tmp_path).columns["w"].type)


def test_moments_of_any_zone_are_one_column(tmp_path: Path) -> None:
    for n, zone in enumerate(("America/New_York", "UTC", None)):
        moments = pa.array([n], pa.int64()).cast(pa.timestamp("us", zone))
        table = pa.table({"type": ["A"], "at": moments})
        feather.write_feather(table, tmp_path / f"{n}.arrow")
    clause = "MATCH_RECOGNIZE (MEASURES 1 AS one ALL ROWS PER MATCH PATTERN (A))"
    rows = cerlab.match_recognize(clause, tmp_path).column("at")
    assert rows.cast(pa.int64()).to_pylist() == [0, 1, 2]
    found = [event.attributes["at"] for event in cerlab.Stream.read(tmp_path)]
    assert found == [cerlab.Timestamp(1_000 * n) for n in range(3)]
