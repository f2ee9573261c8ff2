"""Footers of Parquet files: their proofs, the checks of tasks, and refusals, by hand.

The random layouts are in `test_files`, Spark itself in `test_files_on_spark`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.automata.plan import plan_to_bytes
from cerlab.cli import COMMANDS
from cerlab.cli import spark as command
from cerlab.compile.pattern import as_pattern
from cerlab.engine.row_order import ColumnNames
from cerlab.spark import footers
from cerlab.spark import tasks as task_files
from cerlab.spark.evaluation import Job
from cerlab.spark.footers import Columns, Layout, NoProof, layout, row_groups
from cerlab.spark.inputs import footer_schema, inputs_of
from cerlab.spark.packets import survey_packets
from cerlab.spark.plan import Mode, engine_column
from cerlab.spark.ranges import UnorderedFiles, ranges_in_files
from cerlab.spark.runs import runs_of_survey
from cerlab.spark.tasks import answers_of_range, packets_of_files, sample_of_files
from cerlab.spark.writer import refuse_input

QUERY = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 4 [t]")


def stream(**changed: Any) -> Any:
    """Eight events, A and B in turns, a time and a number each."""
    columns = {"type": list("ABABABAB"), "t": list(range(8)), "id": list(range(8))}
    return pa.table({**columns, **changed})


COLUMNS = Columns(("id",), True, "t", ("type", "t"), None)


def laid_out(paths: list[str], columns: Columns = COLUMNS) -> Layout:
    return layout(row_groups(paths, columns), columns)


def answers_in(paths: list[str], columns: Columns = COLUMNS, parts: int = 3) -> int:
    """Return the number of answers of all ranges."""
    labels = ColumnNames(columns.keys, columns.time)
    ranges = ranges_in_files(
        laid_out(paths, columns), columns, labels, QUERY.plan, None, Mode.RANGES, parts
    )
    job = Job(plan_to_bytes(QUERY.plan), None, columns.attributes)  # type: ignore[arg-type]  # all there
    batches = [b for part in range(ranges.parts) for b in answers_of_range(part, job, ranges)]
    return sum(batch.num_rows for batch in batches)


def write(folder: Path, table: Any, **options: Any) -> list[str]:
    path = folder / "events.parquet"
    pq.write_table(table, path, row_group_size=2, **options)
    return [str(path)]


@pytest.mark.parametrize(
    ("table", "options", "reason"),
    [
        (stream(id=[*range(7), None]), {}, "NULL"),
        (stream(t=[*range(7), None]), {}, "NULL"),
        (stream(), {"write_statistics": ["t"]}, "no statistics"),
        (stream(id=[f"{n}" for n in range(8)]), {}, "neither an integer nor a moment"),
        (stream(t=[n / 2 for n in range(8)]), {}, "neither an integer nor a moment"),
        (stream(id=pa.array(range(8), pa.uint64())), {}, "uint64"),
        (stream(t=pa.array(range(8), pa.decimal128(9, 2))), {}, "neither an integer nor a moment"),
        (
            stream(t=pa.array(range(8), pa.decimal128(9, 2))),
            {"store_decimal_as_integer": True},
            "is a decimal",
        ),
        (stream(type=pa.array([b"A"] * 8, pa.binary())), {}, "binary"),
        (stream(t=[0, 1, 2, 3, 0, 1, 2, 3]), {}, "goes back"),
        (stream().drop(["t"]), {}, "no column 't'"),
    ],
)
def test_what_footers_do_not_prove(
    table: Any, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    paths = write(tmp_path, table, **options)
    with pytest.raises(NoProof, match=reason):
        laid_out(paths)


def test_files_of_different_columns_are_not_one_stream(tmp_path: Path) -> None:
    paths = []
    for n, kind in enumerate((pa.int64(), pa.int32())):
        paths += [str(tmp_path / f"{n}.parquet")]
        pq.write_table(stream(t=pa.array(range(8), kind)), paths[-1])
    with pytest.raises(NoProof, match="different columns"):
        laid_out(paths)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (stream(id=[0, 1, 2, 3, 4, 5, 6, 6]), "CER0782"),
        (stream(t=[0, 1, 3, 2, 4, 5, 6, 7]), "CER0714"),
        (stream(type=[*"ABABABA", None]), "CER0701"),
        (stream(type=[*"ABABABA", ""]), "CER0701"),
    ],
)
def test_rows_that_are_no_stream_are_found_by_the_task(
    table: Any, code: str, tmp_path: Path
) -> None:
    with pytest.raises(cerlab.BadData, match=code):
        answers_in(write(tmp_path, table))


def test_equal_keys_across_row_groups_are_found(tmp_path: Path) -> None:
    columns = Columns(("id",), False, "t", ("type", "t"), None)
    paths = write(tmp_path, stream(id=[0, 1, 2, 3, 3, 5, 6, 7]))
    with pytest.raises(cerlab.BadData, match="CER0781: at position 4"):
        answers_in(paths, columns)


@pytest.mark.parametrize("change", [{"id": [*range(7), 70]}, {"t": [0, 1, 2, 3, 4, 5, 6, 60]}])
def test_a_footer_that_is_not_that_of_its_rows_is_found(
    change: dict[str, Any], tmp_path: Path
) -> None:
    """The file is another one when tasks read it than when the driver read its footer."""
    paths = write(tmp_path, stream())
    lie = laid_out(paths)
    write(tmp_path, stream(**change))
    labels = ColumnNames(COLUMNS.keys, COLUMNS.time)
    ranges = ranges_in_files(lie, COLUMNS, labels, QUERY.plan, None, Mode.RANGES, 3)
    job = Job(plan_to_bytes(QUERY.plan), None, ("type", "t"))
    with pytest.raises(cerlab.BadData, match="CER0783"):
        list(answers_of_range(ranges.parts - 1, job, ranges))


def test_a_type_that_no_column_has(tmp_path: Path) -> None:
    columns = Columns(("id",), True, "t", (None, "t"), "A")
    paths = write(tmp_path, stream().drop(["type"]))
    assert answers_in(paths, columns) == 0
    assert answers_in(write(tmp_path, stream())) == 7  # 0-1 0-3 2-3 2-5 4-5 4-7 6-7


def test_the_keys_of_answers_are_text_and_no_codes(tmp_path: Path) -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B PARTITION BY [name] WITHIN 4 [t]")
    columns = Columns(("id",), True, "t", ("type", "name", "t"), None)
    paths = write(tmp_path, stream(name=list("xxyyxxyy")))
    labels = ColumnNames(columns.keys, columns.time)
    ranges = ranges_in_files(
        laid_out(paths, columns), columns, labels, query.plan, None, Mode.RANGES, 2
    )
    job = Job(plan_to_bytes(query.plan), None, ("type", "name", "t"), with_partition=True)
    table = pa.Table.from_batches(
        b for part in range(ranges.parts) for b in answers_of_range(part, job, ranges)
    )
    keys = table.column("partition")
    assert keys.type == pa.struct([("name", pa.string())])
    assert sorted(key["name"] for key in keys.to_pylist()) == list("xxyy")
    numbers = pa.table({"id": pa.array(range(ranges.parts), pa.int64())}).to_batches()
    evaluate = partial(task_files.evaluate_files, job=job, ranges=ranges)
    reports = [*task_files.write_answers(numbers, evaluate, str(tmp_path), table.schema)]
    files = [tmp_path / name for batch in reports for name in batch.column("name").to_pylist()]
    assert pa.concat_tables(map(pq.read_table, files)).equals(table)
    chunk = pq.ParquetFile(files[0]).metadata.row_group(0).column
    encodings = {chunk(n).path_in_schema: set(chunk(n).encodings) & _WAYS for n in range(4)}
    assert {path for path, ways in encodings.items() if ways == {"DELTA_BINARY_PACKED"}} == _NUMBERS
    assert "RLE_DICTIONARY" in encodings["partition.name"]


_WAYS = {"PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED"}
_NUMBERS = {"start", "end", "positions.list.element"}


def test_answers_never_replace_the_events(tmp_path: Path) -> None:
    """Also by a link, and from a folder above them."""
    events = tmp_path / "events"
    events.mkdir()
    paths = write(events, stream())
    link = tmp_path / "link"
    link.symlink_to(events)
    for place in (events, tmp_path, link, events / "events.parquet"):
        with pytest.raises(cerlab.UsageError, match="CER0890"):
            refuse_input(str(place), paths)
    refuse_input(str(tmp_path / "answers"), paths)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (stream(id=[0, 1, 2, 3, 4, 5, 6, 6]), "CER0782"),
        (stream(t=[0, 1, 3, 2, 4, 5, 6, 7]), "CER0714"),
        (stream(type=[*"ABABABA", None]), "CER0701"),
    ],
)
def test_files_that_are_no_stream_prove_nothing_of_their_rows(
    table: Any, what: str, tmp_path: Path
) -> None:
    paths = write(tmp_path, table)
    labels = ColumnNames(COLUMNS.keys, COLUMNS.time)
    ranges = ranges_in_files(laid_out(paths), COLUMNS, labels, QUERY.plan, None, Mode.KEYS, 2)
    numbers = pa.table({"id": pa.array(range(ranges.parts), pa.int64())}).to_batches()
    rows = [row for b in task_files.runs_of_files(numbers, ranges) for row in b.to_pylist()]
    assert [row["text"][:7] for row in rows if row["text"]] == [what]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (stream(), None),
        (stream(id=[0, 1, 2, 3, 4, 5, 6, 6]), "CER0782"),
        (stream(t=[0, 1, 3, 2, 4, 5, 6, 7]), "CER0714"),
        (stream(type=[*"ABABABA", None]), "CER0780"),  # it is told as one without a place
        (stream(type=[*"ABABABA", ""]), "CER0780"),
    ],
)
def test_rows_in_no_order_are_surveyed(table: Any, what: str | None, tmp_path: Path) -> None:
    rows = table.take([5, 2, 7, 0, 3, 6, 1, 4])
    files = UnorderedFiles(row_groups(write(tmp_path, rows), COLUMNS).groups, COLUMNS)
    assert sample_of_files(files, 8) == [(n,) for n in sorted(table.column("id").to_pylist())]
    numbers = pa.table({"id": pa.array([0, 1], pa.int64())}).to_batches()
    packets = pa.Table.from_batches(packets_of_files(numbers, files, 2, [(3,), (6,)], 1))
    labels = ColumnNames(COLUMNS.keys, COLUMNS.time)
    by_part = packets.sort_by([("part", "ascending"), ("run", "ascending")]).to_batches()
    batches = survey_packets(by_part, labels, positions=True, fields=files.fields)
    reports = [r for b in batches for r in b.to_pylist()]
    if what is None:
        assert [run.rows for run in runs_of_survey(reports, labels, positions=True)] == [3, 3, 2]
    else:
        with pytest.raises(cerlab.BadData, match=what):
            runs_of_survey(reports, labels, positions=True)


@pytest.mark.parametrize("keys", [("t", "id"), ("v", "id")])
def test_a_survey_of_wide_keys_has_the_times_of_its_runs(
    keys: tuple[str, ...], tmp_path: Path
) -> None:
    """Also where keys and times together have no room in one integer."""
    wide = [n << 50 for n in range(8)]
    rows = stream(t=wide, v=wide).take([5, 2, 7, 0, 3, 6, 1, 4])
    columns = Columns(keys, True, "t", ("type",), None)
    files = UnorderedFiles(row_groups(write(tmp_path, rows), columns).groups, columns)
    assert files.key_fields is not None
    cuts = [(3 << 50, 3), (6 << 50, 6)]
    numbers = pa.table({"id": pa.array([0], pa.int64())}).to_batches()
    packets = pa.Table.from_batches(packets_of_files(numbers, files, 1, cuts, 1)).sort_by("run")
    labels = ColumnNames(keys, "t")
    batches = survey_packets(packets.to_batches(), labels, positions=True, fields=files.fields)
    runs = runs_of_survey([r for b in batches for r in b.to_pylist()], labels, positions=True)
    times = [(run.first_time, run.last_time) for run in runs]
    assert times == [(wide[0], wide[2]), (wide[3], wide[5]), (wide[6], wide[7])]


def test_groups_of_files_that_lie_among_one_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Few of their rows are a cluster, which one task sorts; more of them are not."""
    paths = write(tmp_path, stream().take([0, 4, 1, 5, 2, 6, 3, 7]))
    assert not row_groups(paths, COLUMNS).overlap_much
    assert [len(cluster) for cluster in laid_out(paths).clusters] == [4]
    monkeypatch.setattr(footers, "LONGEST", 8)
    assert not row_groups(paths, COLUMNS).overlap_much
    monkeypatch.setattr(footers, "LONGEST", 7)
    assert row_groups(paths, COLUMNS).overlap_much
    with pytest.raises(NoProof, match="4 row groups overlap"):
        laid_out(paths)
    monkeypatch.setattr(footers, "LONGEST", 1)
    assert [len(cluster) for cluster in laid_out(write(tmp_path, stream())).clusters] == [1] * 4


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("us", "Europe/Oslo")], ids=str
)
def test_engines_take_moments_in_nanoseconds_without_a_zone(kind: pa.DataType) -> None:
    day = pa.array([1], pa.int32()) if kind == pa.date32() else pa.array([86_400], pa.int64())
    column = day.cast(pa.timestamp("s")).cast(kind) if kind != pa.date32() else day.cast(kind)
    moments = engine_column(column, "t")
    assert moments.type == pa.timestamp("ns")
    assert moments.cast(pa.int64()).to_pylist() == [86_400 * 10**9]


@pytest.mark.parametrize(
    ("kind", "nanoseconds"),
    [
        (pa.date32(), 24 * 3600 * 10**9),
        (pa.timestamp("ms"), 10**6),
        (pa.timestamp("us"), 1000),
        (pa.timestamp("ns"), 1),
        (pa.int64(), None),
        (None, None),
    ],
    ids=str,
)
def test_the_unit_of_moments_in_nanoseconds(kind: Any, nanoseconds: int | None) -> None:
    assert footers.unit_of(kind) == nanoseconds


def test_footers_tell_the_types_of_the_columns(tmp_path: Path) -> None:
    columns = Columns(("id",), True, "t", ("type", "t", None), None)
    groups = row_groups(write(tmp_path, stream()), columns)
    assert groups.kinds == (("id", pa.int64()), ("t", pa.int64()), ("type", pa.string()))
    assert row_groups([], columns).kinds == ()


def test_row_groups_without_rows_are_passed_over(tmp_path: Path) -> None:
    path, table = tmp_path / "events.parquet", stream()
    with pq.ParquetWriter(path, table.schema) as writer:
        for part in (table[:3], table[:0], table[3:]):
            writer.write_table(part)
    assert pq.ParquetFile(path).metadata.num_row_groups == 3
    assert [group.rows for group in row_groups([str(path)], COLUMNS).groups] == [3, 5]


def test_rows_without_a_time_lie_in_the_order_of_their_keys(tmp_path: Path) -> None:
    columns = Columns(("id",), True, None, ("type",), None)
    files = laid_out(write(tmp_path, stream()), columns)
    assert [(run.first, run.last) for run in files.runs] == [((n,), (n + 1,)) for n in (0, 2, 4, 6)]


def test_moments_in_the_calendar_of_spark_2_are_refused(tmp_path: Path) -> None:
    moments = stream(t=pa.array(range(8), pa.timestamp("us")))
    for table, said, int96, is_old in (
        (stream(), {"legacyDateTime": ""}, False, True),
        (moments, {"legacyINT96": ""}, True, True),
        (moments, {"version": "2.4.8"}, True, True),
        (moments, {"version": "3.0.1-amzn"}, True, True),
        (moments, {"version": "2.4.8"}, False, True),
        (moments, {"version": "3.0.1"}, False, False),
        (moments, {"version": "3.1.0"}, True, False),
        (moments, {"version": "4.0.0"}, True, False),
        (moments, {}, True, False),
    ):
        metadata = {f"org.apache.spark.{name}": value for name, value in said.items()}
        paths = write(
            tmp_path,
            table.replace_schema_metadata(metadata),
            use_deprecated_int96_timestamps=int96,
        )
        reason = "the calendar of an old Spark" if is_old else "INT96" if int96 else None
        if reason is None:
            assert len(row_groups(paths, COLUMNS).groups) == 4
            continue
        with pytest.raises(NoProof, match=reason):
            row_groups(paths, COLUMNS)
    assert len(row_groups(write(tmp_path, stream(), store_schema=False), COLUMNS).groups) == 4


@pytest.mark.parametrize(
    ("order", "options", "is_read_by_tasks"),
    [
        (range(1_000), [], True),
        (range(1_000), ["--mode", "keys"], True),
        (range(999, -1, -1), [], True),
        (range(1_000), ["--order-by", "missing"], False),
        (range(1_000), ["--order-by", "ts"], True),  # moments, in order
        (range(999, -1, -1), ["--order-by", "ts"], False),
        ([*range(500), *range(400, 900)], ["--order-by", "ts"], True),  # one task sorts them
        (range(1_000), ["--order-by", "ts", "--mode", "keys"], False),
    ],
)
def test_the_java_machine_is_chosen_by_the_footers(
    order: Sequence[int], options: list[str], is_read_by_tasks: bool, tmp_path: Path
) -> None:
    """Rows that Spark moves need a JVM that is made for it; ones that tasks read do not."""
    for n in range(2):
        part = list(order)[500 * n : 500 * n + 500]
        moments = pa.array(part, pa.timestamp("us"))
        columns = {"t": part, "p": range(500 * n, 500 * n + 500), "ts": moments}
        pq.write_table(pa.table({"type": ["A"] * 500, **columns}), tmp_path / f"{n}.parquet")
    parser = argparse.ArgumentParser()
    COMMANDS["spark"].add_to(parser)
    query = as_pattern("SELECT * WHERE A ; B PARTITION BY [p] WITHIN 5 [t]")
    words = ["QUERY", "--input", str(tmp_path), "--order-by", "t", "--position", "p", *options]
    found = inputs_of(str(tmp_path))
    assert command._tasks_read(query, parser.parse_args(words), found) is is_read_by_tasks


def test_durations_of_arrow_are_refused_by_name(tmp_path: Path) -> None:
    """Parquet holds them as integers, and Spark reads these: comparisons would be false."""
    table = pa.table({"type": ["A"], "d": pa.array([1], pa.duration("s"))})
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(cerlab.BadData, match="column 'd' is duration") as caught:
        footer_schema([str(tmp_path / "e.parquet")])
    assert caught.value.code == "CER0741"
