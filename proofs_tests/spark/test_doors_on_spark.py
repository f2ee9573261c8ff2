"""Files, folders, patterns and keys on Spark: the events that `cerlab.Stream.read` has of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.model.columns import is_text
from proofs_tests.command import Cli
from proofs_tests.io.test_column_doors import tables_of, writable
from proofs_tests.io.test_column_doors import write as write_tables
from proofs_tests.io.test_doors import as_doubles, files_of, written
from proofs_tests.io.test_folders import FORMATS, write
from proofs_tests.io.test_text import typed_events
from proofs_tests.suite import random_suite


def events_of(events: Any) -> list[Any]:
    """Return events with the types of their values, but for NULL, in an order that rows lack."""
    typed = typed_events(events)
    doubles = {n for _, _, row in typed for n, kind, _ in row if kind == "float"}
    return sorted((as_doubles(event, doubles) for event in typed), key=repr)


def on_spark(spark: Any, source: Any, **options: Any) -> list[Any]:
    frame = cerlab.spark.read(spark, source, **options)
    return events_of(cerlab.Stream.from_arrow(frame.toArrow()))


def here(source: Any, **options: Any) -> list[Any]:
    return events_of(cerlab.Stream.read(source, **options))


@pytest.mark.parametrize("form", FORMATS)
def test_keys_are_columns_with_the_types_of_text(spark: Any, form: str, tmp_path: Path) -> None:
    for n, key in enumerate(("007", "-3", "__HIVE_DEFAULT_PARTITION__")):
        write(tmp_path / f"n={key}" / f"w=a%2Fb%20{n}" / f"e.{form}", [{"type": "A", "v": n}] * 2)
    write(tmp_path / "_old" / f"e.{form}", [{"type": "A", "x": 9}])
    expected = here(tmp_path)
    assert len(expected) == 6
    several = [tmp_path / "n=-3", tmp_path / "n=007"]
    for source in (tmp_path, f"{tmp_path}/n=*", f"{tmp_path}/*/*/e.{form}", several):
        assert on_spark(spark, source) == here(source)
    write(tmp_path / "n=1.5" / "w=" / f"e.{form}", [{"type": "A", "v": 9}])
    assert on_spark(spark, tmp_path) == here(tmp_path)
    assert {kind for _, _, row in here(tmp_path) for n, kind, _ in row if n == "n"} == {"float"}
    write(tmp_path / "n=x" / "w=" / f"e.{form}", [{"type": "A", "v": 9}])
    assert on_spark(spark, tmp_path) == here(tmp_path)
    declared = "CREATE STREAM S { EVENT A { v:int, n:string?, w:string? } }"
    schema = cerlab.parse_schema(declared)
    assert on_spark(spark, tmp_path, schema=schema) == here(tmp_path, schema=declared)


@pytest.mark.parametrize("form", FORMATS)
def test_a_key_that_is_also_a_column_is_refused(spark: Any, form: str, tmp_path: Path) -> None:
    write(tmp_path / "v=1" / f"e.{form}", [{"type": "A", "v": 1}])
    with pytest.raises(cerlab.BadData, match=r"CER0732.*'v' occurs twice"):
        on_spark_or_error(spark, tmp_path)


def on_spark_or_error(spark: Any, source: Any) -> list[Any]:
    try:
        return on_spark(spark, source)
    except cerlab.CerlabError:
        raise
    except Exception as error:
        raise cerlab.spark.error_of(error) from None


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "arrow"])
def test_a_key_may_be_the_type(spark: Any, form: str, tmp_path: Path) -> None:
    for key in ("type=A", "type=7"):
        write(tmp_path / key / f"e.{form}", [{"kind": "x", "v": 1}])
    assert on_spark(spark, tmp_path) == here(tmp_path)


def test_columns_that_differ_are_united_or_refused_by_name(spark: Any, tmp_path: Path) -> None:
    for suffix in ("parquet", "arrow"):
        folder = tmp_path / suffix
        write(folder / f"a.{suffix}", [{"type": "A", "v": 1}])
        write(folder / f"b.{suffix}", [{"type": "B", "v": 2, "w": "x"}])
        assert on_spark(spark, folder) == here(folder)
        with pytest.raises(cerlab.UsageError, match=r"CER0811.*b\.parquet|CER0811.*b\.arrow"):
            cerlab.spark.read(spark, [folder, *folder_of_text(tmp_path)])
    both = [tmp_path / "arrow", tmp_path / "parquet"]
    assert on_spark(spark, both) == here(both)
    write(tmp_path / "arrow" / "c.arrow", [{"type": "C", "w": 7}])
    with pytest.raises(cerlab.BadData, match="CER0784") as caught:
        cerlab.spark.read(spark, tmp_path / "arrow")
    assert caught.value.column == "w"
    assert "c.arrow" in str(caught.value.place)


def test_texts_of_any_arrow_type_are_one_column(spark: Any, tmp_path: Path) -> None:
    coded = pa.dictionary(pa.int8(), pa.string())
    for n, kind in enumerate((pa.string(), pa.string_view(), pa.large_string(), coded)):
        words = pa.array(["x", None]).dictionary_encode() if kind == coded else ["x", None]
        table = pa.table({"type": ["A", "A"], "w": pa.array(words, kind)})
        feather.write_feather(table, tmp_path / f"{n}.arrow")
    assert on_spark(spark, tmp_path) == here(tmp_path)


def folder_of_text(folder: Path) -> list[Path]:
    write(folder / "text" / "e.csv", [{"type": "A", "v": 1}])
    return [folder / "text"]


def test_formats_are_told_by_the_files(spark: Any, tmp_path: Path) -> None:
    for n, form in enumerate(("csv", "ndjson", "core")):
        write(tmp_path / "texts" / f"{n}.{form}", [{"type": "A", "v": n, "w": "x"}])
    assert on_spark(spark, tmp_path / "texts") == here(tmp_path / "texts")
    for form in FORMATS:
        write(tmp_path / f"e.{form}", [{"type": "A", "v": 1}])
        (tmp_path / f"e.{form}").rename(tmp_path / "without a suffix")
        assert on_spark(spark, tmp_path / "without a suffix") == here(tmp_path / "without a suffix")


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_takes_files_folders_and_patterns(
    spark: Any, form: str, tmp_path: Path, cli: Cli
) -> None:
    first, last = tmp_path / "in" / "k=1" / f"a.{form}", tmp_path / "in" / "k=2" / f"b.{form}"
    write(first, [{"type": "A", "v": 1, "n": n} for n in range(2)])
    write(last, [{"type": "A", "v": 2, "n": 2}])
    sources = (
        [first, last],
        [tmp_path / "in"],
        [tmp_path / "in" / "*" / f"*.{form}"],
        [last.parent],
    )
    for number, words in enumerate(sources):
        for query in ("A", "A FILTER A[k = 2]")[: 1 + (number in (1, 2))]:
            out = tmp_path / f"out {number} {len(query)}"
            command = ["spark", query, "--position", "n", "--input", *map(str, words)]
            with warnings.catch_warnings(action="ignore"):
                cli(*command, "--output", out)
            found = sorted(row["start"] for row in pq.read_table(out).to_pylist())
            expected = [m.start for m in cerlab.evaluate(query, [*map(str, words)])]
            assert len(found) == len(expected) > 0
            assert found[-1] == 2
    if form == "parquet":  # footers prove the order, and folders hold the key
        command = [
            "spark",
            "SELECT * WHERE A PARTITION BY [k] WITHIN 2 [n]",
            "--position",
            "n",
            "--explain",
        ]
        assert "which the tasks read themselves" in cli(*command, "--input", tmp_path / "in").out
    error = cli(
        "spark", "A", "--input", tmp_path / "no*", "--position", "n", "--explain", status=2
    ).err
    assert "CER0743" in error


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_arrive_in_folders_with_keys(spark: Any, form: str, tmp_path: Path) -> None:
    folder, later = tmp_path / "in", tmp_path / "later"
    write(folder / "k=07" / f"a.{form}", [{"type": "A", "v": 1}])
    write(later / f"b.{form}", [{"type": "A", "v": 2}])
    frame = cerlab.spark.read_stream(spark, str(folder), format=form, files=1)
    (folder / "k=8").mkdir()
    (later / f"b.{form}").rename(folder / "k=8" / f"b.{form}")
    rows: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert sorted((row["v"], row["k"]) for row in rows) == [(1, 7), (2, 8)]


REFUSED = ("CER0741", "CER0742", "CER0784")
"""Codes of errors for values that Spark has no type for, although events have them."""


def draw(rng: Random, form: str, folder: Path) -> bool:
    """Write random files of a format; return whether they hold what Spark has no type for."""
    if form in ("parquet", "arrow"):
        tables = tables_of(rng)
        while not writable(tables, form) or (is_beyond(tables, form) and rng.random() < 0.8):
            tables = tables_of(rng)
        write_tables(rng, tables, form, folder)
        return is_beyond(tables, form)
    texts = files_of(rng)
    # rows without a type are refused with the order of the stream, after all are read
    while texts.kind != form or texts.schema or {*texts.bad} & {',"a,b"', '{"i": 1}'}:
        texts = files_of(rng)
    written(rng, texts, folder, rng.choice(("\n", "\r\n")))
    return False


def is_beyond(tables: list[pa.Table], form: str) -> bool:
    """Return whether a column has a type that Spark has not, or types that it does not unite."""
    kinds: dict[str, set[str]] = {}
    for table in tables:
        for field, column in zip(table.schema, table.columns, strict=True):
            kind = field.type
            if pa.types.is_duration(kind) or getattr(kind, "precision", 0) > 38:
                return True
            if pa.types.is_timestamp(kind) and kind.unit == "ns":
                whole = column.cast(pa.int64()).drop_null().to_pylist()
                if form == "parquet" or any(n % 1000 for n in whole):
                    return True
            if not pa.types.is_null(kind):
                kinds.setdefault(field.name, set()).add(_words(kind))
    return any(len(words) > 1 for words in kinds.values())


def _words(kind: Any) -> str:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_timestamp(value):
        return f"moments {value.tz is None}"
    tests = (pa.types.is_integer, pa.types.is_floating, is_text)
    return next((test.__name__ for test in tests if test(value)), str(value))


def has_no_type(events: list[Any]) -> bool:
    """Return whether an attribute has values of several types, or finer moments than Spark."""
    values = [value for _, _, row in events for value in row]
    kinds = {(name, kind) for name, kind, _ in values}
    moments = [int(text[22:-1]) for _, kind, text in values if kind == "Timestamp"]
    return len(kinds) > len({name for name, _ in kinds}) or any(n % 1000 for n in moments)


def said(read: Callable[[Any], list[Any]], source: Any) -> tuple[str, list[Any]]:
    """Return the first line of the error, and the events."""
    try:
        return "", read(source)
    except cerlab.BadData as error:
        return str(error).splitlines()[0], []


@pytest.mark.parametrize("form", FORMATS)
@random_suite(400)
def test_random_files_have_the_same_events_and_errors(
    spark: Any, rng: Random, form: str, tmp_path: Path
) -> bool:
    beyond = draw(rng, form, tmp_path)
    with warnings.catch_warnings(action="ignore"):
        error, expected = said(here, tmp_path)
        found_error, found = said(partial(on_spark_or_error, spark), tmp_path)
        if error[:7] == found_error[:7] == "CER0741":  # Spark names no file for such a column
            return True
        if error and found_error != error:
            # tasks read files in parallel: each may be the first to fail
            errors = [said(here, path)[0] for path in tmp_path.iterdir()]
            assert found_error in errors or beyond, (error, found_error)
            return True
    # an integer beyond 2^53 beside doubles would be rounded in a column of Spark
    is_rounded = "outside of the range exactly" in found_error
    if beyond or is_rounded or has_no_type(expected):
        assert found == expected or found_error.startswith(REFUSED), found_error
        return not found_error
    assert (found_error, found) == (error, expected)
    return bool(expected or error)
