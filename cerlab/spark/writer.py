"""Answers from tasks, and the folder of Parquet files that tasks write for the driver.

Tasks write into a hidden folder, under unique names. Only the files that they return are answers: a
task that runs twice or is killed neither repeats nor loses any. On this machine the hidden folder
is next to the final one, and is renamed at the end. Elsewhere a folder may not be renamable, and a
file is renamed by a copy: the hidden folder is inside the final one, where its name hides it from
readers of Parquet; the driver moves the files out of it one by one, and then writes ``_SUCCESS``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cerlab.errors import UsageError
from cerlab.spark.footers import inside, local_path, resolve, why_not_opened
from cerlab.spark.frame import arrow_schema, map_batches
from cerlab.spark.tasks import write_answers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


FILE_SCHEMA = "name string, answers bigint"
"""Columns by which a task names each file that it writes."""

_SUCCESS = "_SUCCESS"


@dataclass(frozen=True)
class TaskAnswers:
    """Answers as rows of Spark, and the function of record batches that computes them."""

    rows: DataFrame
    evaluate: Callable[[Iterable[Any]], Iterator[Any]]
    schema: StructType
    read_files: bool = False
    """True if tasks read files directly, so that they can also access this machine's folders."""

    @property
    def frame(self) -> DataFrame:
        """The answers as a DataFrame."""
        return map_batches(self.rows, self.evaluate, self.schema)

    def write(self, output: str, events: Iterable[str], *, overwrite: bool = False) -> int:
        """Write the answers as a folder of Parquet files; return the number of answers.

        The tasks write them; Spark does if pyarrow cannot open the place, or if tasks may not find
        a folder of this machine. Raises as `write_folder`.
        """
        is_found = self.read_files or local_path(output) is None
        if is_found and why_not_opened(output) is None:
            schema = arrow_schema(self.schema)

            def by_tasks(folder: str) -> DataFrame:
                write = partial(write_answers, evaluate=self.evaluate, folder=folder, schema=schema)
                return map_batches(self.rows, write, FILE_SCHEMA)

            return write_folder(by_tasks, output, events, overwrite=overwrite)
        from pyspark.sql import Observation
        from pyspark.sql import functions as fn

        observation = Observation("cerlab")
        frame = self.frame.observe(observation, fn.count(fn.lit(1)).alias("rows"))
        frame.write.mode("overwrite" if overwrite else "error").parquet(output)
        return int(observation.get["rows"])


def write_folder(
    write: Callable[[str], DataFrame],
    output: str,
    events: Iterable[str],
    *,
    overwrite: bool = False,
) -> int:
    """Write answers to an address and return their number; `write` makes tasks write a folder.

    Raises `UsageError` if the place exists, or contains the files of the events.
    """
    from pyarrow.fs import FileType

    files, path = resolve(output)
    is_new = files.get_file_info(path).type == FileType.NotFound
    if not overwrite:
        refuse_existing(output)
    refuse_input(output, events)
    folder = local_path(output)
    if folder is None:
        staging = inside(output, f"_{uuid4().hex}")
    else:
        staging = str(folder.with_name(f".{folder.name}.{uuid4().hex}"))
    _, staging_path = resolve(staging)
    files.create_dir(staging_path)
    try:
        counts = {row["name"]: row["answers"] for row in write(staging).collect()}
        if folder is None:
            publish_files(files, staging_path, path, counts)
        else:
            # files of tasks that ran twice or were abandoned are not answers
            for stray in set(Path(staging).iterdir()) - {Path(staging, name) for name in counts}:
                stray.unlink()
            Path(staging, _SUCCESS).touch()
            publish(Path(staging), folder)
    except BaseException:
        with suppress(OSError):
            files.delete_dir(staging_path)
        if folder is None and is_new:
            _delete_if_empty(files, path)
        raise
    return sum(counts.values())


def refuse_existing(output: str) -> None:
    """Raise `UsageError` if the output already exists."""
    from pyarrow.fs import FileType

    files, path = resolve(output)
    if files.get_file_info(path).type != FileType.NotFound:
        hint = "give another place, or --overwrite"
        raise UsageError("CER0889", f"the output {output} already exists", hint=hint)


def publish(staging: Path, folder: Path) -> None:
    """Rename a folder to another, whose old content is removed afterwards.

    Until then the old content exists under its name or, between two renames, under a hidden one
    next to it.
    """
    aside = folder.with_name(f".{folder.name}.{uuid4().hex}.before")
    replaces = folder.exists()
    if replaces:
        folder.rename(aside)
    try:
        staging.rename(folder)
    except BaseException:
        if replaces:
            aside.rename(folder)
        raise
    if replaces:
        shutil.rmtree(aside) if aside.is_dir() else aside.unlink()


def publish_files(files: Any, staging: str, folder: str, names: Collection[str]) -> None:
    """Move files out of a folder into its parent, where they replace all content.

    The old content is removed when the new files are there. From the first move to the last removal
    there is no ``_SUCCESS``; if moving fails, the old state is restored.
    """
    before = [path for path in _paths_in(files, folder) if not path.startswith(f"{staging}/")]
    success = f"{folder}/{_SUCCESS}"
    if was_whole := success in before:
        before.remove(success)
        files.delete_file(success)
    try:
        for name in names:
            files.move(f"{staging}/{name}", f"{folder}/{name}")
    except BaseException:
        for name in names:
            with suppress(OSError):
                files.delete_file(f"{folder}/{name}")
        if was_whole:
            files.open_output_stream(success).close()
        raise
    for path in before:
        files.delete_file(path)
    files.open_output_stream(success).close()
    files.delete_dir(staging)


def _paths_in(files: Any, folder: str) -> list[str]:
    from pyarrow.fs import FileSelector, FileType

    entries = files.get_file_info(FileSelector(folder, recursive=True))
    return [each.path for each in entries if each.type == FileType.File]


def _delete_if_empty(files: Any, folder: str) -> None:
    with suppress(OSError):
        if not _paths_in(files, folder):
            files.delete_dir(folder)


def refuse_input(output: str, events: Iterable[str]) -> None:
    """Raise `UsageError` if a folder of answers would replace the files of events."""
    kind, place = _real(output)
    for event in events:
        other, path = _real(event)
        if other == kind and path.is_relative_to(place):
            raise UsageError(
                "CER0890",
                f"the answers would replace the events at {output}",
                hint="write the answers to another place",
            )


def _real(place: str) -> tuple[str, PurePath]:
    """Return a name of an address's file system, and the path in it with links resolved."""
    if (path := local_path(place)) is not None:
        return "local", path.resolve()
    files, there = resolve(place)
    return str(files.type_name), PurePosixPath(there)
