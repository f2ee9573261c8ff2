"""Places on other file systems: resolved in each process; written files are never lost.

The other file system is a folder under another name here; an S3 store is in `test_object_store`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from cerlab import BadData, UsageError
from cerlab.spark import footers as places
from cerlab.spark.footers import files_in, inside, resolve, why_not_opened
from cerlab.spark.inputs import inputs_of
from cerlab.spark.plan import Mode
from cerlab.spark.tasks import rows_of_files, write_answers
from cerlab.spark.writer import publish_files, refuse_input, write_folder
from proofs_tests.spark import test_files
from proofs_tests.suite import Suite


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that ``other://host`` is: a bucket by its name, as in S3."""
    root = tmp_path / "other"
    root.mkdir()

    def open_address(address: str) -> tuple[Any, str]:
        if not address.startswith("other://host"):
            return FileSystem.from_uri(address)  # type: ignore[no-any-return]
        path = address.removeprefix("other://host").partition("?")[0]
        return SubTreeFileSystem(str(tmp_path), LocalFileSystem()), f"other{path}"

    monkeypatch.setattr(places, "_from_address", open_address)
    return root


@pytest.mark.parametrize(
    ("folder", "name", "place"),
    [
        ("/a b", "c", "/a b/c"),
        ("file:///a%20b", "c", "/a b/c"),
        ("s3://bucket", "c", "s3://bucket/c"),
        (
            "s3://bucket/a/?region=x&scheme=http",
            "c d?",
            "s3://bucket/a/c%20d%3F?region=x&scheme=http",
        ),
    ],
)
def test_the_place_of_a_file_in_a_folder(folder: str, name: str, place: str) -> None:
    assert inside(folder, name) == place


def test_all_files_of_a_folder_have_one_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: list[str] = []

    def open_address(address: str) -> tuple[str, str]:
        addresses.append(address)
        return "files", address.partition("?")[0].removeprefix("s3://")

    monkeypatch.setattr(places, "_from_address", open_address)
    assert resolve("s3://bucket/a/b%20c?region=x") == ("files", "bucket/a/b c")
    assert resolve("s3://bucket/d") == ("files", "bucket/d")
    assert resolve("s3://bucket/") == ("files", "bucket")
    assert addresses == ["s3://bucket/a?region=x", "s3://bucket", "s3://bucket/"]


def test_what_pyarrow_does_not_open_is_left_to_spark() -> None:
    assert "nowhere" in str(why_not_opened("nowhere://x/y"))
    assert "s3a" in str(why_not_opened("s3a://x/y"))
    places = ("nowhere://b/e.csv?a=b.c", "nowhere://b/e.json.gz", "nowhere://b/e")
    found = [inputs_of(place) for place in places]
    assert [each.files for each in found] == [()] * 3
    assert [each.format for each in found] == ["csv", "ndjson", "parquet"]
    with pytest.raises(UsageError, match="CER0899"):
        inputs_of([places[0], "/tmp"])


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(UsageError, match="CER0899"):
        inputs_of("s3://name:secret@bucket/events")


def test_a_folder_of_files(other: Path) -> None:
    names = ("b.parquet", "a b.parquet", "a b/c", "day=a%2Fb/e", "_SUCCESS", ".crc", "_d/e", "f/_g")
    for name in names:
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).touch()
    found = files_in("other://host?x=y")
    here = [Path(file.path).relative_to(other) for file in files_in(str(other))]
    assert [inside("other://host?x=y", str(path)) for path in here] == [f.path for f in found]
    assert [file.keys for file in found] == [{}, {}, {}, {"day": "a/b"}]
    assert found[0].path == "other://host/a%20b/c?x=y"
    assert files_in(str(found[1].path)) == found[1:2]
    (other / "none").mkdir()
    for place in ("other://host/c", "other://host/none", "other://host/_d/none"):
        with pytest.raises(BadData, match="CER0743"):
            files_in(place)


def test_files_on_another_file_system_have_the_answers_of_the_whole(
    suite: Suite, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The random layouts of `test_files`, whose tasks get addresses."""
    here = test_files.write

    def write(rng: Random, table: Any, folder: Path) -> list[str]:
        place = tempfile.mkdtemp(dir=other)
        paths = here(rng, table, Path(place))
        return [f"other://host/{Path(path).relative_to(other)}?x=y" for path in paths]

    monkeypatch.setattr(test_files, "write", write)
    suite.run(lambda rng: test_files.check(rng, Mode.RANGES, other), deep_count=300)


def test_rows_that_tasks_read_for_spark(other: Path) -> None:
    table = pa.table({"type": ["A", "B"], "n": [1, 2]})
    pq.write_table(table, other / "0.parquet")
    pq.write_table(table.select(["n", "type"]), other / "1.parquet")
    pq.write_table(table.select(["n"]), other / "2.parquet")
    files = inputs_of("other://host").files
    numbers = pa.table({"id": [1, 0]}).to_batches()
    rows = pa.Table.from_batches(rows_of_files(numbers, files, table.schema))
    assert rows == pa.concat_tables([table, table])
    (rows,) = rows_of_files(pa.table({"id": [2]}).to_batches(), files, table.schema)
    assert rows.to_pylist() == [{"type": None, "n": 1}, {"type": None, "n": 2}]
    pq.write_table(pa.table({"n": [1000]}), other / "2.parquet")
    narrow = pa.schema([("n", pa.int8())])
    with pytest.raises(BadData, match=r"CER0742.*2\.parquet"):
        list(rows_of_files(pa.table({"id": [2]}).to_batches(), files, narrow))


class Store:
    """A folder in which nothing but files is moved; the step `last` stops it, or fails."""

    def __init__(
        self, root: Path, last: int = 1_000, error: type[BaseException] = SystemExit
    ) -> None:
        self._files = SubTreeFileSystem(str(root), LocalFileSystem())
        self._last, self._error, self.steps = last, error, 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._files, name)
        return value if name == "get_file_info" else lambda *places: self._step(value, *places)

    def _step(self, run: Any, *places: str) -> Any:
        assert run.__name__ != "move" or self._files.get_file_info(places[0]).is_file
        self.steps += 1
        if self.steps == self._last or (self._error is SystemExit and self.steps > self._last):
            raise self._error(f"step {self.steps}")
        return run(*places)


def folder_of(root: Path, name: str, *files: str) -> Path:
    place = root / name
    place.mkdir(parents=True)
    for file in files:
        (place / file).write_text(file)
    return place


def is_whole(root: Path, *files: str) -> bool:
    """Whether a reader of Parquet sees just these files."""
    paths = [path for path in (root / "answers").iterdir() if path.name[0] not in "._"]
    return (root / "answers" / "_SUCCESS").exists() and {path.name for path in paths} == {*files}


@pytest.mark.parametrize("before", [(), ("old 1", "old 2", "_SUCCESS")])
def test_files_are_moved_and_those_of_before_removed(
    tmp_path: Path, before: tuple[str, ...]
) -> None:
    folder_of(tmp_path, "answers", *before)
    folder_of(tmp_path, "answers/_made", "new 1", "new 2", "of a task that ran twice")
    publish_files(Store(tmp_path), "answers/_made", "answers", ["new 1", "new 2"])
    assert is_whole(tmp_path, "new 1", "new 2")
    assert len(list((tmp_path / "answers").iterdir())) == 3


def test_a_stop_at_any_step_loses_nothing(tmp_path: Path) -> None:
    """As a kill does: nothing is put back. What is not whole has no ``_SUCCESS``."""
    for stop in range(1, 8):
        root = tmp_path / str(stop)
        folder_of(root, "answers", "old 1", "old 2", "_SUCCESS")
        folder_of(root, "answers/_made", "new 1", "new 2")
        store = Store(root, stop)
        with pytest.raises(SystemExit):
            publish_files(store, "answers/_made", "answers", ["new 1", "new 2"])
        there = {path.name for path in root.rglob("*") if path.is_file()}
        assert {"old 1", "old 2"} <= there or {"new 1", "new 2"} <= there
        has_mark = (root / "answers" / "_SUCCESS").exists()
        assert has_mark == (is_whole(root, "old 1", "old 2") or is_whole(root, "new 1", "new 2"))
    assert store.steps == 7, "the last one"


@pytest.mark.parametrize("step", [2, 3])
def test_where_a_move_fails_all_is_as_before(tmp_path: Path, step: int) -> None:
    folder_of(tmp_path, "answers", "old", "_SUCCESS")
    folder_of(tmp_path, "answers/_made", "new 1", "new 2")
    with pytest.raises(OSError, match=f"step {step}"):
        publish_files(
            Store(tmp_path, step, OSError), "answers/_made", "answers", ["new 1", "new 2"]
        )
    assert is_whole(tmp_path, "old")


class Tasks:
    """A DataFrame whose tasks write into a folder, a table each; the last one runs twice."""

    def __init__(self, tables: list[Any], folder: str, fails: bool) -> None:
        self._tables, self._folder, self._fails = tables, folder, fails

    def collect(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for table in [*self._tables, self._tables[-1]]:
            (batch,) = write_answers(table.to_batches(), iter, self._folder, table.schema)
            rows += batch.to_pylist()
        if self._fails:
            raise OSError("no more room")
        return rows[:-1]


@pytest.mark.parametrize("output", ["other://host/made/answers?x=y", "{}/made/answers"])
def test_what_tasks_return_is_there_and_nothing_else(other: Path, output: str) -> None:
    output = output.format(other)
    tables = [pa.table({"start": [n], "end": [n]}) for n in range(3)]

    def write(*, fails: bool = False, overwrite: bool = False) -> int:
        def by_tasks(folder: str) -> Any:
            return Tasks(tables, folder, fails)

        return write_folder(by_tasks, output, ["other://host/events"], overwrite=overwrite)

    with pytest.raises(OSError, match="no more room"):
        write(fails=True)
    assert not (other / "made" / "answers").exists()
    for overwrite in (False, True):
        assert write(overwrite=overwrite) == 3
        table = pq.read_table(other / "made" / "answers").sort_by("start")
        assert table == pa.concat_tables(tables)
        assert is_whole(other / "made", *_names(other / "made" / "answers"))
    with pytest.raises(UsageError, match="CER0889"):
        write()
    with pytest.raises(OSError, match="no more room"):
        write(fails=True, overwrite=True)
    assert pq.read_table(other / "made" / "answers").num_rows == 3
    assert len(list((other / "made").iterdir())) == 1


def _names(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.iterdir() if path.suffix == ".parquet")


def test_answers_never_replace_the_events_elsewhere(other: Path) -> None:
    events = ["other://host/a/events/0.parquet?x=y"]
    for place in ("other://host/a/events", "other://host/a", "other://host", events[0]):
        with pytest.raises(UsageError, match="CER0890"):
            refuse_input(place, events)
    refuse_input("other://host/a/event", events)
    refuse_input(str(other / "a" / "events"), events)
