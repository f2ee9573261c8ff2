"""A store for objects as S3 is one, on this machine: no package of Spark knows it, tasks do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector

from cerlab.cli import main
from cerlab.spark.batch import answers
from cerlab.spark.first_pass import RowRanges, first_pass
from cerlab.spark.footers import inside, resolve
from cerlab.spark.inputs import frame_of, inputs_of
from cerlab.spark.ranges import FileRanges
from cerlab.spark.request import request_of
from proofs_tests.command import Cli
from proofs_tests.spark.streams import Answers, triples
from proofs_tests.spark.test_files_on_spark import QUERY, ROWS, expected, table

SCHEMA = "CREATE STREAM S { " + ", ".join(f"EVENT {e} {{ t:long, v:long, id:long }}" for e in "ABC")
SCHEMA += " }"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}


@pytest.fixture(scope="module")
def store(spark: Any) -> Iterator[str]:
    """The address of a bucket, with the endpoint; the tasks of the session have credentials."""
    moto = pytest.importorskip("moto.server", reason="moto is in the extra 'dev'")
    server = moto.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in CREDENTIALS.items():
                patch.setenv(name, value)
            _, port = server.get_host_and_port()
            where = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
            place = f"s3://lake?{where}&allow_bucket_creation=true"
            files, bucket = resolve(place)
            files.create_dir(bucket)
            yield place
    finally:
        server.stop()


@pytest.fixture(scope="module")
def events(store: str) -> str:
    """Three files of a stream in a folder of the bucket, the last written first."""
    folder = inside(store, "a folder")
    for n, (start, end) in enumerate(((300, ROWS), (100, 300), (0, 100))):
        files, path = resolve(inside(folder, f"{n}.parquet"))
        rows = table().slice(start, end - start)
        pq.write_table(rows, path, row_group_size=40, filesystem=files)
    return folder


def test_tasks_read_the_objects_and_find_the_same(spark: Any, events: str) -> None:
    found = inputs_of(events)
    files = found.ordered_by_tasks
    assert len(files) == 3
    frame = frame_of(spark, found)
    for order in ({"position": "id"}, {"order_by": ["t", "id"]}):
        request = request_of(frame, QUERY, files=files, **order)
        ranges = first_pass(request)
        assert isinstance(ranges, FileRanges)
        assert triples(answers(request, ranges).collect()) == expected() != []
    filtered_request = request_of(frame.where("v >= 0"), QUERY, position="id")
    ranges = first_pass(filtered_request)
    assert isinstance(ranges, RowRanges)
    assert triples(answers(filtered_request, ranges).collect()) == expected()


def rows_at(place: str) -> Answers:
    """Return the rows that a reader of Parquet finds; it passes over hidden files."""
    files, path = resolve(place)
    rows = pq.read_table(path, filesystem=files).to_pylist()
    return sorted((row["start"], row["end"], tuple(row["positions"])) for row in rows)


def names_in(place: str) -> list[str]:
    files, path = resolve(place)
    infos = files.get_file_info(FileSelector(path, recursive=True))
    return sorted(each.base_name for each in infos)


@pytest.mark.parametrize("by_spark", [False, True])
def test_from_objects_to_objects(
    store: str, events: str, tmp_path: Path, cli: Cli, by_spark: bool
) -> None:
    """Under a schema all rows are checked first; tasks read them for Spark then."""
    place = inside(store, f"answers-{by_spark}")
    command = ["spark", QUERY, "--input", events, "--position", "id", "--parts", "3"]
    if by_spark:
        (tmp_path / "schema").write_text(SCHEMA)
        command += ["--schema", str(tmp_path / "schema")]
    assert ("not read by the tasks" in cli(*command, "--explain").out) == by_spark
    for more in ([], ["--overwrite"]):
        cli(*command, "--output", place, *more)
        assert rows_at(place) == expected()
        *parts, success = [*names_in(place)[1:], names_in(place)[0]]
        assert success == "_SUCCESS"
        assert all(name.startswith("part-") for name in parts)
    assert "CER0889" in cli(*command, "--output", place, status=2).err
    assert "CER0890" in cli(*command, "--output", events, "--overwrite", status=2).err
    assert len(inputs_of(events).files) == 3


def test_what_fails_leaves_nothing(store: str, events: str, cli: Cli) -> None:
    bad = pa.table({**{n: table().column(n) for n in ("type", "v", "id")}, "t": [0, 1] * 200})
    files, path = resolve(inside(store, "bad.parquet"))
    pq.write_table(bad, path, filesystem=files)
    places = ["--input", inside(store, "bad.parquet"), "--output", inside(store, "never")]
    assert "CER0714" in cli("spark", QUERY, *places, "--position", "id", status=2).err
    assert "never" not in names_in(store)
    nowhere = ["--input", inside(store, "nothing"), "--output", inside(store, "never")]
    assert "CER0743" in cli("spark", QUERY, *nowhere, "--position", "id", status=2).err


def test_rows_with_names_and_aggregates(store: str, events: str, cli: Cli) -> None:
    command = ["spark", "--input", events, "--position", "id"]
    place = inside(store, "named")
    assert main([*command, QUERY, "--columns", "a.v,b.id", "--output", place]) == 0
    files, path = resolve(place)
    rows = pq.read_table(path, filesystem=files)
    assert rows.column_names == ["start", "end", "a.v", "b.id"]
    assert rows.num_rows == len(expected())
    totals = QUERY.replace("SELECT *", "SELECT COUNT(*), SUM(a.v)")
    place = inside(store, "totals")
    cli(*command, totals, "--output", place)
    files, path = resolve(place)
    (row,) = pq.read_table(path, filesystem=files).to_pylist()
    assert row["count"] == len(expected())
